"""A single training on the device, and the checkpoint that lets it go on bit for bit.

The checkpoint holds everything that training carries from step to step, and where a training is interrupted has no
influence on its numbers. So a killed run, started again, ends bit for bit where an unbroken one ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
from jaxtyping import Float, PyTree, Shaped

from modgrok.base.stores import open_tensors, write_tensors
from modgrok.inspection.order import Order
from modgrok.inspection.spectrum import Periodicity, periodicity
from modgrok.networks.description import ExpertPlan
from modgrok.networks.models import Power
from modgrok.networks.network import Network, named_leaves
from modgrok.training.config import Task, TrainConfig
from modgrok.training.ensemble import (
    as_trained,
    measure_all,
    pick,
    segment_all,
    segments_all,
    stacked_places,
    start_all,
)
from modgrok.training.steps import WHOLE_NUMBERS, Examples, Hyper, Metrics, Shape, State, batch_statistics

COLUMNS = ("step", *Metrics._fields)
CURVES = pa.schema([(name, pa.int64() if name in ("step", *WHOLE_NUMBERS) else pa.float32()) for name in COLUMNS])
"""What is measured, as columns of a file."""


class Training(NamedTuple):
    """A training on the device, as an ensemble of one or of copies, and its metrics (one row for each measured step).

    `latest` are the metrics where it is now, noted in the history or not.
    """

    shape: Shape
    hyper: Hyper
    examples: Examples
    state: State
    order: Order
    history: Float[np.ndarray, "point column"]
    latest: tuple[float, ...] = ()

    @property
    def step(self) -> int:
        return int(np.asarray(self.state.step)[0])

    @property
    def params(self) -> PyTree:
        return first_network(self.state.params)

    def segment(self, steps: int, *, noted: bool = True) -> Training:
        """Train on, measure, and add the row to the history, unless it is not to be noted."""
        state, metrics = segment_all(self.shape, self.hyper, self.examples, self.state, steps)
        return self.at(state, metrics, noted=noted)

    def at(self, state: State, metrics: Metrics, *, noted: bool = True) -> Training:
        """The same in a state that was measured."""
        row = tuple(float(value) for value in first_network((state.step, *metrics)))
        history = np.concatenate([self.history, [row]]) if noted else self.history
        return self._replace(state=state, history=history, latest=row)

    def segments(self, every: int, count: int) -> Training:
        """As many segments in one call, each measured and noted."""
        state, measured = segments_all(self.shape, every, self.hyper, self.examples, self.state, count)
        steps = self.step + every * np.arange(1, count + 1)
        rows = np.column_stack([steps, np.asarray(measured[0])[:count]])
        return self._replace(state=state, history=np.concatenate([self.history, rows]), latest=tuple(rows[-1].tolist()))

    def last_row(self) -> dict[str, float]:
        return dict(zip(COLUMNS, self.latest, strict=True))

    def rows_since(self, step: int) -> list[dict[str, float]]:
        """What was noted after a step."""
        later = self.history[self.history[:, 0] > step]
        return [dict(zip(COLUMNS, row.tolist(), strict=True)) for row in later]

    def compiled(self, every: int = 0) -> Training:
        """The same, measured at step 0 if it is there; afterwards the clock measures training alone.

        `every` are the steps of a segment where `segments` takes them, else 0.
        """
        if every:
            segments_all(self.shape, every, self.hyper, self.examples, self.state, 0)
            measured = self.at(self.state, measure_all(self.shape, self.hyper, self.examples, self.state.params))
        else:
            measured = self.segment(0)
        return measured if self.step == 0 else measured._replace(history=self.history)

    def curves(self) -> dict[str, np.ndarray]:
        """The history as columns; counts are whole numbers, unless some are not known."""
        columns = dict(zip(COLUMNS, self.history.T, strict=True))
        counts = {name for name in ("step", *WHOLE_NUMBERS) if not np.isnan(columns[name]).any()}
        return {name: column.astype(np.int64 if name in counts else np.float32) for name, column in columns.items()}

    def neurons(self) -> Periodicity:
        """How periodic each neuron is now, in the order of the function."""
        with np.errstate(over="ignore", invalid="ignore"):  # weights that diverged are no waves
            found = periodicity(self.shape.model.blocks(self.params), self.order.places)
        return found._replace(ipr=np.asarray(found.ipr, np.float32))

    def network(self, config: TrainConfig) -> Network:
        """The trained network as it is now."""
        function, model, statistics = config.function, self.shape.model, ()
        if model.sees_whole_batch:
            one = pick((self.hyper, self.examples, self.state.params), 0)
            statistics = jax.tree.map(np.asarray, jax.jit(batch_statistics, static_argnums=0)(self.shape, *one))
        about, settings = ExpertPlan("trained", config.expression, function.variables, model.width), config.to_json()
        plan = (about,) if type(model) is Power else ()
        return Network(model, self.params, function, "trained", plan=plan, settings=settings, statistics=statistics)


def first_network(tree: PyTree) -> PyTree:
    """The arrays of an ensemble's first network, on the host."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[0], tree)


def begin(config: TrainConfig, task: Task | None = None) -> Training:
    """The training of a config at step 0, nothing measured yet; `task` is the config's own, where it is known."""
    shape, hyper, table, order = config.task() if task is None else task
    copies = config.beside
    shape = as_trained(shape, copies)
    hyper = jax.tree.map(lambda leaf: jax.device_put(np.repeat(np.asarray(leaf)[None], copies)), hyper)
    places = stacked_places(shape, copies, [order] * copies)
    examples, state = start_all(shape, hyper, np.repeat(table[None], copies, axis=0), places, None)
    return Training(shape, hyper, examples, state, order, np.empty((0, len(COLUMNS))))


def save_checkpoint(config: TrainConfig, path: Path, training: Training) -> None:
    """Everything needed to go on, in one file that is replaced whole."""
    about = {"config": config.to_json(), "columns": COLUMNS}
    write_tensors(path, about, named_leaves(training.state) | {"history": training.history})


def load_checkpoint(config: TrainConfig, path: Path, beginning: Training) -> Training:
    """The training as a checkpoint holds it; `beginning` itself where there is none."""
    if not path.exists():
        return beginning
    with open_tensors(path, "a checkpoint") as file:
        leaves = [checked(file(name), leaf) for name, leaf in named_leaves(beginning.state).items()]
        state, history = jax.tree.unflatten(jax.tree.structure(beginning.state), leaves), file("history")
        history = named_history(history, file.about.get("columns", COLUMNS[: history.shape[-1]]))
    planned = np.isin(history[:, 0], config.measured_steps())
    return beginning._replace(state=state, history=history[planned])


def named_history(stored: Shaped[np.ndarray, "..."], names: Sequence[str]) -> Float[np.ndarray, "point column"]:
    """A history with the `COLUMNS` of this version: NaN in those that the file does not name.

    Up to 0.2.0 none is named: its columns are the first that there are now, since metrics are added at the end.
    """
    if stored.shape[1:] != (len(names),) or not len(stored) or "step" not in names:
        raise ValueError(f"its history has the shape {stored.shape}, and columns {names}")
    found = np.full((len(stored), len(COLUMNS)), np.nan)
    for place, name in enumerate(names):
        if name in COLUMNS:
            found[:, COLUMNS.index(name)] = stored[:, place]
    return found


def checked(tensor: Shaped[np.ndarray, "..."], like: Shaped[np.ndarray, "..."]) -> jax.Array:
    """A tensor of a file; a `ValueError` where it is not of the same networks as `like`."""
    if tensor.shape != like.shape or tensor.dtype != like.dtype:
        raise ValueError(f"expected shape {like.shape}, got {tensor.shape}")
    return jnp.asarray(tensor)
