"""The verbs train and resume: a training as it runs, in memory or in a folder where it can go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from inspect import cleandoc, signature
from pathlib import Path
from typing import Any

import jax
import numpy as np

from modgrok.algebra.fields import Field
from modgrok.algebra.function import FunctionLike
from modgrok.algebra.groups import GroupLike
from modgrok.base import printing
from modgrok.base.errors import InputError
from modgrok.base.files import write_parquet
from modgrok.base.provenance import KEY, Made, merged, provenance
from modgrok.base.results import plain
from modgrok.base.stores import DamagedError, set_aside, write_object
from modgrok.networks.losses import Loss
from modgrok.networks.models import Model
from modgrok.networks.models.base import on_cpu
from modgrok.networks.network import Network
from modgrok.training.checkpoints import CURVES, Training, begin, load_checkpoint, save_checkpoint
from modgrok.training.config import Task, TrainConfig, setting_word
from modgrok.training.ensemble import check_memory
from modgrok.training.live import OnPoint, Point, live_view
from modgrok.training.logs import check_log, logged
from modgrok.training.optimisers import Optimiser
from modgrok.training.run import Run, earlier_sittings, load_run, write_run
from modgrok.training.run_folder import CHECKPOINT, METRICS, SITTINGS, difference, going_on, is_finished, owned
from modgrok.training.settings import SETTINGS, check_names, described, parameters
from modgrok.training.snapshots import SNAPSHOTS, snapshot_steps, snapshots_in, usual_snapshots, write_snapshots
from modgrok.training.steps import MOST_SEGMENTS

SECONDS_BETWEEN_METRICS = 1.0
"""How often a folder shows to others (`modgrok watch`) how far its training is."""
SECONDS_OF_A_CALL = 0.1
"""How long the device of a training is left alone, where segments are shorter: nobody waits longer for it."""
LOOKS_PER_SECOND = 21.0
"""How often at least somebody who looks on is shown the training, where steps and looks are fast enough."""


def train(
    function: FunctionLike,
    mod: int | None = None,
    *,
    group: GroupLike | None = None,
    field: int | Field | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    checkpoint_seconds: float = 10.0,
    live: bool | None = None,
    log: str | None = None,
    on_point: OnPoint | None = None,
    stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> Run:
    """Train a network on a part of a function's table, and measure what it learns.

    Args:
        function: an expression such as "n1 n2", which may end with its modulus; a table of values, as an array or as a
            .csv, .npy or .parquet file; or a Python function of residues (`algebra.function`). Cells of a table that
            are unknown neither train nor test: the network predicts them.
        mod: the modulus; of a table, the number of its values.
        group: the finite group of a word such as "a b a^-1": "S5", say, or an `mg.group`.
        field: the number of elements of the finite field of an expression: 81, say.
        out: folder of the run, which goes on where an earlier sitting stopped; None keeps the run in memory.
        overwrite: replace the run that is in the folder.
        checkpoint_seconds: least time between checkpoints.
        live: whether to show how far it is; None does so in notebooks.
        log: "tensorboard" or "wandb": write the metrics for these tools into the folder, too.
        on_point: called at every measured step with a `Point`.
        stop: asked at every measured step whether to stop.
        settings: those of `TrainConfig`; None is what suits the model and the optimiser. Model, loss and optimiser are
            words, or objects: of a class that inherits from `mg.Model`, a function of (logits, targets), one of optax.

    Returns:
        The `Run`: `metrics`, `plot()`, `network`, `at(step)`, `inspect()`, `diagnosis`, `expected`, `final`.

    >>> run = train("n1 + n2", mod=5, width=16, steps=20, fraction=0.8)
    >>> run.step, run.network([1, 2]).shape
    (20, (5,))
    """
    check_names(settings, "train", (*SETTINGS, *OPTIONS))
    return train_config(
        TrainConfig.of(function, mod, group=group, field=field, **settings),
        out,
        overwrite=overwrite,
        checkpoint_seconds=checkpoint_seconds,
        live=live,
        log=log,
        on_point=on_point,
        stop=stop,
    )


def with_settings(verb: Callable[..., Run]) -> tuple[str, ...]:
    """Show every setting in the signature and the docstring of a verb; returns the verb's own options."""
    shown = signature(verb)
    own = [each for each in shown.parameters.values() if each.kind is not each.VAR_KEYWORD]
    inner = [each for each in own if each.kind is each.KEYWORD_ONLY]
    outer = [each for each in own if each.kind is not each.KEYWORD_ONLY]
    verb.__signature__ = shown.replace(parameters=[*outer, *parameters(), *inner])  # type: ignore[attr-defined]
    about = cleandoc(verb.__doc__ or "")  # from Python 3.13 on it is without its indentation as it is
    verb.__doc__ = about.replace("\nReturns:", f"\nSettings:\n{described()}\n\nReturns:")
    return tuple(each.name for each in own)


OPTIONS = with_settings(train)


def resume(
    folder: str | Path,
    *,
    steps: int | None = None,
    model: Model | None = None,
    loss: Loss | None = None,
    optimiser: Optimiser | None = None,
    checkpoint_seconds: float = 10.0,
    live: bool | None = None,
    log: str | None = None,
    on_point: OnPoint | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Go on with the run in a folder, to more steps if they are given; the rest as in `train`.

    A run that was trained with an object in place of a word needs it again: `model`, `loss`, `optimiser`.
    """
    given: dict[str, Any] = {"model": model, "loss": loss, "optimiser": optimiser, "steps": steps}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        setting_word(name, value)  # now the config's words mean something
    config, again = going_on(Path(folder), **given)
    if words := difference(config, again):
        raise InputError(f"{folder} holds another {words}; give what it began with, or mg.register yours by that name")
    return train_config(
        again, folder, checkpoint_seconds=checkpoint_seconds, live=live, log=log, on_point=on_point, stop=stop
    )


def train_config(
    config: TrainConfig,
    out: str | Path | None = None,
    *,
    overwrite: bool = False,
    checkpoint_seconds: float = 10.0,
    live: bool | None = None,
    log: str | None = None,
    on_point: OnPoint | None = None,
    on_look: OnPoint | None = None,
    stop: Callable[[], bool] | None = None,
    figure: bool = True,
) -> Run:
    """`train` for a config. A checkpoint is written at the first measured step after `checkpoint_seconds`.

    `on_look` is called at the measured steps and between them, `LOOKS_PER_SECOND` times a second or more. A look costs
    a measurement and changes no number: what is trained and written is the same with it and without. Without `figure`
    the caller draws it (`draw_run`), after the answer has been told.
    """
    if not checkpoint_seconds >= 0:
        raise InputError(f"checkpoint_seconds must be 0 or more, got {checkpoint_seconds}; 10 is usual")
    folder = None if out is None else Path(out)
    if folder is not None and not overwrite and is_finished(config, folder):
        with suppress(DamagedError):  # then it is written again below, from its checkpoint
            return load_run(folder)
    check_log(log, folder)
    task = config.task()  # what cannot be trained makes no folder, and empties none
    check_memory(task.shape, config.beside)
    console = printing.console(stderr=True)
    shown = console.is_jupyter if live is None else live
    if folder is not None and (own := config.own_objects()):
        console.print(needed_again(config, folder, own), soft_wrap=True)
    with (
        nullcontext() if folder is None else owned(config, folder, overwrite=overwrite),
        live_view(config, console) if shown else nullcontext() as view,
        logged(log, config, folder) as logger,
    ):
        watchers = [watcher for watcher in (view, logger, on_point, on_look) if watcher is not None]
        one_by_one = on_cpu() or on_point is not None  # who asks for points may ask for their networks
        asked = stop or (lambda: False)
        return sitting(config, task, folder, checkpoint_seconds, watchers, on_look, asked, one_by_one, figure)


def needed_again(config: TrainConfig, folder: Path, own: Sequence[str]) -> str:
    """What the folder of a run cannot hold, and how it goes on all the same."""
    what = " and ".join(f"the {name} {getattr(config, name)}" for name in own)
    again = ", ".join(f"{name}=…" for name in own)
    return f"{what}: no file holds it; in another process go on with mg.resume({str(folder)!r}, {again})"


def sitting(
    config: TrainConfig,
    task: Task,
    folder: Path | None,
    checkpoint_seconds: float,
    watchers: list[OnPoint],
    on_look: OnPoint | None,
    stop: Callable[[], bool],
    one_by_one: bool,
    figure: bool,
) -> Run:
    """Train from the last checkpoint, or from the beginning, until all steps are taken or `stop` says so.

    On a GPU several measured segments are one call (`segments_ahead`), unless `one_by_one`.
    """
    fresh = begin(config, task)
    before = np.asarray(fresh.neurons().ipr)
    training = fresh if folder is None else last_checkpoint(config, folder, fresh)
    training = training.compiled(0 if one_by_one else config.metrics_every)
    first_step, began = training.step, time.perf_counter()
    earlier = earlier_sittings(folder, first_step)

    def made() -> Made:
        return merged(earlier, (provenance(began, {}, "modgrok.training.train"),))

    diary = Diary(config, folder, checkpoint_seconds, training, made)
    lap_step, lap_began = first_step, began

    def point_of(training: Training, measured: bool) -> Point:
        seconds = time.perf_counter() - began
        return Point(
            training.last_row(), training.step - first_step, seconds, partial(training.network, config), measured
        )

    while training.step < config.steps and not stop():
        now, speed = training.step, (training.step - lap_step) / max(time.perf_counter() - lap_began, 1e-9)
        lap_step, lap_began = now, time.perf_counter()
        due = [step for step in diary.planned if step > now]  # snapshots that are still to be taken
        count = 0 if one_by_one else segments_ahead(now, min(due, default=config.steps), config.metrics_every, speed)
        if count:
            training = training.segments(config.metrics_every, count)
            per_step = (time.perf_counter() - lap_began) / (training.step - now)
            for row in training.rows_since(now)[:-1]:
                step = int(row["step"])
                for watcher in watchers:
                    watcher(Point(row, step - first_step, lap_began - began + (step - now) * per_step))
            if training.step in diary.planned:
                diary.film(training)
        else:
            step = min(config.steps, (now // config.metrics_every + 1) * config.metrics_every)
            filmed = [each for each in due if each <= step]
            looks = [] if on_look is None else look_steps(now, step, speed)
            for until in sorted({*filmed, *looks, step}):
                training = training.segment(until - training.step, noted=until == step)
                if until in filmed:
                    diary.film(training)
                if on_look is not None and until != step:
                    on_look(point_of(training, measured=False))
        for watcher in watchers:
            watcher(point_of(training, measured=True))
        diary.write(training)
    seconds = time.perf_counter() - began
    rate = (training.step - first_step) / max(seconds, 1e-9)
    run = Run(
        config,
        training.network(config),
        training.curves(),
        neuron_columns(before, training),
        seconds,
        rate,
        jax.devices()[0].device_kind,
        folder,
        diary.snapshots,
        provenance=made(),
    )
    if folder is not None:
        diary.checkpoint(folder, training)
        write_run(run, folder, figure=figure)
    return run


def last_checkpoint(config: TrainConfig, folder: Path, fresh: Training) -> Training:
    """The training as its folder holds it; from the beginning where its checkpoint or its snapshots are damaged."""
    checkpoint = folder / CHECKPOINT
    try:
        if config.snapshots != 0:
            snapshots_in(folder)
    except DamagedError as error:
        checkpoint.unlink(missing_ok=True)  # those of earlier steps are made again, too
        set_aside(folder / SNAPSHOTS, error)
    try:
        return load_checkpoint(config, checkpoint, fresh)
    except DamagedError as error:
        set_aside(checkpoint, error)
        return fresh


def segments_ahead(now: int, film: int, every: int, speed: float) -> int:
    """How many measured segments to take in one call: as fill a tenth of a second, up to the next snapshot; 0 is none.

    >>> segments_ahead(0, 1000, 10, 8000.0), segments_ahead(960, 1000, 10, 8000.0), segments_ahead(995, 1000, 10, 8e3)
    (80, 4, 0)
    """
    fit = max(1, int(speed * SECONDS_OF_A_CALL / every))
    return 0 if now % every else min(fit, (film - now) // every, MOST_SEGMENTS)


def look_steps(now: int, until: int, speed: float) -> range:
    """Steps before the next measured one to look at; `speed` is how many steps a second there were since the last.

    >>> list(look_steps(40, 50, 65.0)), list(look_steps(0, 10, 0.0))
    ([43, 46, 49], [1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    stride = max(1, int(speed / LOOKS_PER_SECOND))
    return range(now + stride, until, stride)


class Diary:
    """What a training keeps as it goes: snapshots, and in its folder the metrics and a checkpoint now and then."""

    def __init__(
        self, config: TrainConfig, folder: Path | None, seconds: float, training: Training, made: Callable[[], Made]
    ) -> None:
        self.config, self.folder, self.seconds, self.made = config, folder, seconds, made
        kept = {} if folder is None or config.snapshots == 0 else snapshots_in(folder)
        self.snapshots: dict[int, Network] = {step: kept[step] for step in kept if step <= training.step}
        usual = usual_snapshots(sum(leaf.nbytes for leaf in jax.tree.leaves(training.params)))  # which take little room
        self.planned = snapshot_steps(config.steps, usual if config.snapshots is None else config.snapshots)
        self.unwritten = False
        if training.step in self.planned and training.step not in self.snapshots:
            self.film(training)
        self.metrics_at = self.checkpoint_at = time.perf_counter()
        if folder is not None:
            write_parquet(folder / METRICS, training.curves(), CURVES)

    def film(self, training: Training) -> None:
        """Keep the network as it is now."""
        self.snapshots[training.step] = training.network(self.config)
        self.unwritten = True

    def write(self, training: Training) -> None:
        """Metrics and a checkpoint, where it is time."""
        now = time.perf_counter()
        if self.folder is None:
            return
        if now - self.checkpoint_at >= self.seconds:
            self.checkpoint(self.folder, training)
        if now - self.metrics_at >= min(SECONDS_BETWEEN_METRICS, self.seconds):
            write_parquet(self.folder / METRICS, training.curves(), CURVES)
            self.metrics_at = time.perf_counter()

    def checkpoint(self, folder: Path, training: Training) -> None:
        """All that is needed to go on, the checkpoint last: what is of later steps than it is dropped."""
        if self.unwritten:
            write_snapshots(folder / SNAPSHOTS, self.snapshots)
            self.unwritten = False
        write_object(folder / SITTINGS, {KEY: plain(self.made())})
        save_checkpoint(self.config, folder / CHECKPOINT, training)
        self.checkpoint_at = time.perf_counter()


def neuron_columns(before: np.ndarray, training: Training) -> dict[str, np.ndarray]:
    """IPR of every neuron (in other models, of every column of the embedding) at the beginning and now."""
    now = training.neurons()
    count = np.arange(len(before))
    return {"neuron": count, "ipr_initial": before, "ipr_final": np.asarray(now.ipr), "alive": np.asarray(now.alive)}
