"""A run: one training with its settings, metrics and network; in memory, or in a folder that can go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from modgrok.algebra.function import FunctionLike
from modgrok.files import read_columns, read_json, write_json, write_parquet
from modgrok.inspection.order import Order, order_of
from modgrok.loss_law.expectation import Expectation
from modgrok.loss_law.law import expected_from_loss
from modgrok.networks.network import Network
from modgrok.networks.storage import WEIGHTS, load
from modgrok.results import Result, html_table, percent, plain
from modgrok.training.checkpoints import COLUMNS, Training, begin, load_checkpoint, save_checkpoint
from modgrok.training.config import TrainConfig
from modgrok.training.data import train_count
from modgrok.training.diagnosis import Diagnosis, diagnose, passed_at
from modgrok.training.run_folder import (
    CHECKPOINT,
    FILES,
    MADE_BY,
    METRICS,
    NEURONS,
    RESULT,
    claim,
    is_finished,
    load_config,
)
from modgrok.training.steps import Metrics


class Point(NamedTuple):
    """What a live view sees: the last row of the metrics, and the steps and seconds of this sitting."""

    row: dict[str, float]
    steps: int
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Run(Result):
    """A training that was made, or loaded from its folder.

    `metrics` and `neurons` are columns by name; `network` is the trained network; `folder` is None for a run that is
    in memory alone. `seconds` and `steps_per_second` are of the last sitting, without compilation; `reused` tells that
    the run had been finished before.
    """

    config: TrainConfig
    network: Network
    metrics: dict[str, np.ndarray]
    neurons: dict[str, np.ndarray]
    seconds: float
    steps_per_second: float
    device: str
    folder: Path | None = None
    reused: bool = False

    @property
    def step(self) -> int:
        return int(self.metrics["step"][-1])

    @property
    def finished(self) -> bool:
        return self.step == self.config.steps

    @property
    def final(self) -> dict[str, float]:
        """The last row of the metrics."""
        return {name: self.metrics[name][-1].item() for name in Metrics._fields}

    @property
    def memorised_at(self) -> int | None:
        """The first measured step with 99 % of the training rows right."""
        return passed_at(self.metrics, "train_accuracy")

    @property
    def grokked_at(self) -> int | None:
        """The first measured step with 99 % of the test rows right."""
        return passed_at(self.metrics, "test_accuracy")

    @property
    def train_rows(self) -> int:
        return train_count(self.config.fraction, self.network.known_rows)

    @property
    def residue_order(self) -> Order:
        """The order of residues in which periodicity was measured."""
        return order_of(self.config, self.config.order)

    @property
    def ipr_blocks(self) -> list[str]:
        """The variables, and the readout, whose weights the IPR is the mean over: those that have places."""
        used, names = self.network.model.blocks(self.network.params).places, [*self.network.variables, "readout"]
        with_places = self.residue_order.axes(self.network.variables)
        return [name for k, name in enumerate(names) if k in used and name in with_places]

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What became of the training, in words."""
        return diagnose(self.config, self.metrics)

    @cached_property
    def expected(self) -> Expectation:
        """The test accuracy that the training loss alone stands for: the loss law."""
        return expected_from_loss(self.final["train_loss"], replace(self.config, steps=max(1, self.step)))

    @property
    def files(self) -> list[Path]:
        paths = [] if self.folder is None else [self.folder / name for name in FILES]
        return [path for path in paths if path.name == RESULT or path.exists()]  # the summary, written last, is one

    def summary(self) -> str:
        final = self.final
        return (
            f"{self.config.title}, {self.config.model}, step {self.step}: "
            f"train {percent(final['train_accuracy'])}, test {percent(final['test_accuracy'])}, "
            f"{self.diagnosis.outcome}{self.predicted}"
        )

    @property
    def predicted(self) -> str:
        """Where the table has unknown cells, that the network predicts them."""
        unknown = self.network.rows - self.network.known_rows
        return f"; network.table() predicts the {unknown:,} unknown cells" if unknown else ""

    def to_json(self) -> dict[str, Any]:
        """The summary of the run; numbers that do not exist are null."""
        return plain(
            {
                "config": self.config.to_json(),
                "folder": self.folder,
                "finished": self.finished,
                "reused": self.reused,
                "step": self.step,
                "final": self.final,
                "memorised_at": self.memorised_at,
                "grokked_at": self.grokked_at,
                "order": self.residue_order.name,
                "ipr_blocks": self.ipr_blocks,
                "train_rows": self.train_rows,
                "test_rows": self.network.known_rows - self.train_rows,
                "unknown_cells": self.network.rows - self.network.known_rows,
                "seconds": self.seconds,
                "steps_per_second": self.steps_per_second,
                "device": self.device,
                "diagnosis": self.diagnosis,
                "expected_accuracy": self.expected,
                "files": self.files,
            }
        )

    def _repr_html_(self) -> str:
        final = self.final
        facts = {
            "step": f"{self.step} of {self.config.steps}",
            "training rows": f"{percent(final['train_accuracy'])}, loss {final['train_loss']:.3g}",
            "test rows": f"{percent(final['test_accuracy'])}, loss {final['test_loss']:.3g}",
            "mean IPR": f"{final['ipr']:.3f} ({self.residue_order.name} order)",
            "diagnosis": self.diagnosis.text,
        }
        if self.folder is not None:
            facts["folder"] = str(self.folder)
        return html_table(facts, f"{self.config.title}, {self.config.model}")


def train(
    function: FunctionLike,
    mod: int | None = None,
    *,
    model: str = "power",
    width: int | None = None,
    power: int | None = None,
    depth: int | None = None,
    activation: str | None = None,
    norm: str | None = None,
    dropout: float | None = None,
    loss: str | None = None,
    optimiser: str = "adamw",
    steps: int | None = None,
    learning_rate: float | None = None,
    weight_decay: float | None = None,
    beta1: float | None = None,
    beta2: float | None = None,
    eps: float | None = None,
    fraction: float | None = None,
    init_scale: float | None = None,
    seed: int | None = None,
    metrics_every: int | None = None,
    order: str | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    checkpoint_seconds: float = 10.0,
    on_point: Callable[[Point], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Train a network on a part of a function's table, and measure what it learns.

    Args:
        function: an expression such as "n1 n2", which may end with its modulus; a table of values, as an array or as a
            .csv, .npy or .parquet file; or a Python function of residues (`algebra.function`). Cells of a table that
            are unknown neither train nor test: the network predicts them.
        mod: the modulus; of a table, the number of its values.
        model: "power" (the paper's two-layer network), "mlp" or "transformer".
        width, power, depth, activation, norm, dropout: of the model; None is what suits it.
        loss: "mse" or "cross-entropy".
        optimiser: "adamw", "adam", "adam-l2", "sgd" or "muon".
        steps: full-batch steps.
        learning_rate, weight_decay, beta1, beta2, eps: of the optimiser.
        fraction: share of the table to train on; the rest is for testing.
        init_scale: size of the initial weights.
        seed: of the split and of the initial weights.
        metrics_every: steps between measurements.
        order: order of residues in which periodicity is measured; None finds the function's own.
        out: folder of the run, which goes on where an earlier sitting stopped; None keeps the run in memory.
        overwrite: replace the run that is in the folder.
        checkpoint_seconds: least time between checkpoints.
        on_point: called at every measured step with a `Point`.
        stop: asked at every measured step whether to stop.

    Returns:
        The `Run`: `metrics`, `network`, `diagnosis`, `expected`, `final`.

    >>> run = train("n1 + n2", mod=5, width=16, steps=20, fraction=0.8)
    >>> run.step, run.network([1, 2]).shape
    (20, (5,))
    """
    settings = {k: v for k, v in locals().items() if v is not None and k in TrainConfig.__dataclass_fields__}
    config = TrainConfig.of(settings.pop("function"), mod, **settings)
    return train_config(
        config, out, overwrite=overwrite, checkpoint_seconds=checkpoint_seconds, on_point=on_point, stop=stop
    )


def resume(
    folder: str | Path,
    *,
    steps: int | None = None,
    checkpoint_seconds: float = 10.0,
    on_point: Callable[[Point], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Go on with the run in a folder, to more steps if they are given."""
    config = load_config(Path(folder))
    config = config if steps is None else replace(config, steps=steps)
    return train_config(config, folder, checkpoint_seconds=checkpoint_seconds, on_point=on_point, stop=stop)


def load_run(folder: str | Path) -> Run:
    """The run in a folder, as far as it was written.

    Args:
        folder: a folder that `train` wrote.

    Returns:
        The `Run`; it is `reused`, and `resume` goes on with it.
    """
    folder = Path(folder)
    config, about = load_config(folder), read_json(folder / RESULT)
    metrics, neurons = read_columns(folder / METRICS, MADE_BY), read_columns(folder / NEURONS, MADE_BY)
    seconds, rate = (about.get(name) or 0.0 for name in ("seconds", "steps_per_second"))
    return Run(config, load(folder), metrics, neurons, seconds, rate, about.get("device", ""), folder, reused=True)


def train_config(
    config: TrainConfig,
    out: str | Path | None = None,
    *,
    overwrite: bool = False,
    checkpoint_seconds: float = 10.0,
    on_point: Callable[[Point], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """`train` for a config. A checkpoint is written at the first measured step after `checkpoint_seconds`."""
    folder = None if out is None else Path(out)
    if folder is not None and not overwrite and is_finished(config, folder):
        return load_run(folder)
    task = config.task()  # what cannot be trained makes no folder, and empties none
    if folder is not None:
        claim(config, folder, overwrite=overwrite)
    fresh = begin(config, task)
    before = np.asarray(fresh.neurons().ipr)
    training = fresh if folder is None else load_checkpoint(config, folder / CHECKPOINT, fresh)
    training = training.compiled()
    first_step, began = training.step, time.perf_counter()
    saved = began
    for step in (step for step in config.measured_steps() if step > first_step):
        if stop is not None and stop():
            break
        training = training.segment(step - training.step)
        now = time.perf_counter()
        if on_point is not None:
            row = dict(zip(COLUMNS, training.history[-1].tolist(), strict=True))
            on_point(Point(row, training.step - first_step, now - began))
        if folder is not None and now - saved >= checkpoint_seconds:
            save_checkpoint(config, folder / CHECKPOINT, training)
            write_parquet(folder / METRICS, training.curves())
            saved = time.perf_counter()
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
    )
    if folder is not None:
        save_checkpoint(config, folder / CHECKPOINT, training)
        write_run(run, folder)
    return run


def neuron_columns(before: np.ndarray, training: Training) -> dict[str, np.ndarray]:
    """IPR of every neuron (in other models, of every column of the embedding) at the beginning and now."""
    now = training.neurons()
    count = np.arange(len(before))
    return {"neuron": count, "ipr_initial": before, "ipr_final": np.asarray(now.ipr), "alive": np.asarray(now.alive)}


def write_run(run: Run, folder: Path) -> None:
    """Everything of a run but its checkpoint; the summary last, so that it stands for a folder that is whole."""
    from modgrok.figures.style import save_figure
    from modgrok.figures.training import training_figure

    write_parquet(folder / METRICS, run.metrics)
    write_parquet(folder / NEURONS, run.neurons)
    run.network.save(folder / WEIGHTS)
    save_figure(training_figure(run.metrics, run.neurons, run.config.title), folder / "curves")
    write_json(folder / RESULT, run.to_json())
