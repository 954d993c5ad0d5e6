"""Metrics for other tools, as a training goes: TensorBoard's event files, or an offline run of Weights & Biases.

Both lie in the folder of the run and need no network: `tensorboard --logdir runs` shows them all, and `wandb sync`
sends them where WANDB_MODE does not say to do so at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import isfinite
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError, check_choice, optional
from modgrok.training.config import TrainConfig
from modgrok.training.live import OnPoint, Point


def package_of(log: str) -> Any:
    return optional({"tensorboard": "tensorboardX"}.get(log, log), f"logging to {log}", log)


@contextmanager
def tensorboard_log(config: TrainConfig, folder: Path) -> Iterator[OnPoint]:
    """Scalars of every measurement, in event files under FOLDER/tensorboard."""
    writer = package_of("tensorboard").SummaryWriter(str(folder / "tensorboard"))
    try:

        def on_point(point: Point) -> None:
            for name, value in scalars(point):
                writer.add_scalar(name, value, int(point.row["step"]))

        yield on_point
    finally:
        writer.close()


@contextmanager
def wandb_log(config: TrainConfig, folder: Path) -> Iterator[OnPoint]:
    """An offline run of Weights & Biases under FOLDER/wandb, with the settings; WANDB_MODE may say otherwise."""
    wandb = package_of("wandb")
    mode = os.environ.get("WANDB_MODE", "offline")
    about = {"project": "modgrok", "name": folder.name, "config": config.to_json()}
    run = wandb.init(**about, dir=str(folder), mode=mode, settings={"silent": True})
    try:
        yield lambda point: run.log(dict(scalars(point)), step=int(point.row["step"]))
    finally:
        run.finish()


LOGS: dict[str, Callable[[TrainConfig, Path], AbstractContextManager[OnPoint]]] = {
    "tensorboard": tensorboard_log,
    "wandb": wandb_log,
}


def scalars(point: Point) -> list[tuple[str, float]]:
    """The metrics of a measurement, as far as they are numbers."""
    return [(name, value) for name, value in point.row.items() if name != "step" and isfinite(value)]


def logged(log: str | None, config: TrainConfig, folder: Path | None) -> AbstractContextManager[OnPoint | None]:
    """What writes a training's measurements to the log that is asked for; None where none is."""
    return nullcontext() if log is None or folder is None else LOGS[log](config, folder)


def check_log(log: str | None, folder: Path | None) -> None:
    """An `InputError` where a log is asked for that cannot be written."""
    if log is None:
        return
    check_choice("log", log, LOGS)
    if folder is None:
        raise InputError("a log lies in the folder of its run; give one: out= (--out)")
    package_of(log)
