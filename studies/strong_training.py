"""A look of the strong hypothesis on the device: trained on by stretches, measured on the way, with a checkpoint.

The networks of a look train side by side, in chunks where the memory does not hold them all (`training.ensemble`); each
has the bits of its chunk's program, so its row says how many are in it (`beside`) and for how many training rows it
has `room`. A stretch that is killed or runs out of time goes on from the look's checkpoint, one file with the state of
every network and all points so far. Without one the look begins anew, and comes through the same points.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from modgrok.base.stores import DamagedError, open_tensors, write_tensors
from modgrok.networks.network import named_leaves
from modgrok.reproduction.item import Values
from modgrok.training.config import ensemble_of
from modgrok.training.ensemble import as_trained, check_memory, chunk_size, pick, segment_all, stacked_places, start_all
from modgrok.training.steps import Examples, Hyper, Shape, State
from studies.strong_plan import EVERY, MEASURED, Look, is_over, planned

SECONDS_BETWEEN_CHECKPOINTS = 60.0


class Stretch(NamedTuple):
    """A look to be trained on to `reach` times the usual steps, for `seconds` at most, by these things (`made_by`)."""

    look: Look
    reach: int
    made_by: Mapping[str, str]
    checkpoint: Path | None = None
    seconds: float | None = None


class Chunk(NamedTuple):
    """Networks of a look that train side by side."""

    hyper: Hyper
    examples: Examples
    state: State


class Training(NamedTuple):
    """A look on the device, and the points that it came through: their steps, and what was measured there."""

    look: Look
    shape: Shape
    beside: int
    chunks: tuple[Chunk, ...]
    steps: tuple[int, ...] = ()
    points: tuple[Float[np.ndarray, "metric net"], ...] = ()

    @property
    def states(self) -> tuple[State, ...]:
        return tuple(chunk.state for chunk in self.chunks)

    def with_states(self, states: tuple[State, ...]) -> Training:
        chunks = tuple(chunk._replace(state=state) for chunk, state in zip(self.chunks, states, strict=True))
        return self._replace(chunks=chunks)

    def advanced(self, steps: int) -> Training:
        """Trained for so many steps, and measured."""
        found = [segment_all(self.shape, *chunk, steps) for chunk in self.chunks]
        columns = [np.stack([np.asarray(getattr(metrics, name)) for name in MEASURED]) for _, metrics in found]
        networks = len(planned(self.look.settings()))
        return self.with_states(tuple(state for state, _ in found))._replace(
            steps=(*self.steps, (self.steps or (0,))[-1] + steps),
            points=(*self.points, np.hstack(columns)[:, :networks]),
        )

    def columns(self) -> Values:
        """The points, of a first look the last: a row for each network, and what the networks have in common."""
        kept = slice(-1, None) if self.look.is_first else slice(None)
        about = {"beside": self.beside, "room": self.shape.train_rows, "device": jax.devices()[0].device_kind}
        rows = zip(MEASURED, np.stack(self.points[kept], axis=-1), strict=True)
        return about | {"step": list(self.steps[kept])} | dict(rows)

    def is_over(self, reach: int) -> bool:
        return bool(self.steps) and is_over(self.look, self.columns(), reach)


def in_words(columns: Values) -> Values:
    """As a file has them: a text for each network, of the shortest decimals that are its numbers (`as_numbers`)."""
    arrays = {name: found for name, found in columns.items() if isinstance(found, np.ndarray)}
    return columns | {name: [" ".join(map(str, row)) for row in rows] for name, rows in arrays.items()}


def begin(look: Look) -> Training:
    """A look at step 0. The last chunk is filled up with copies of its last network, so all are one program."""
    shape, hyper, tables, orders = ensemble_of(look.configs())
    check_memory(shape)
    size = chunk_size(shape, len(tables))
    shape = as_trained(shape, size)
    places = stacked_places(shape, len(tables), orders)
    chunks = []
    for first in range(0, len(tables), size):
        nets = np.minimum(np.arange(first, first + size), len(tables) - 1)
        table = jnp.asarray(tables[nets], jnp.int32)
        chunks.append(Chunk(pick(hyper, nets), *start_all(shape, pick(hyper, nets), table, pick(places, nets), None)))
    return Training(look, shape, size, tuple(chunks))


def train_on(stretch: Stretch) -> Values | None:
    """The points of a look, up to the end of the stretch or of the time; None of a first one that was not in time."""
    look, reach, made_by, path, seconds = stretch
    end = float("inf") if seconds is None else time.perf_counter() + seconds
    training, saved = restored(begin(look), path, made_by), time.perf_counter()
    while not (over := training.is_over(reach)) and time.perf_counter() < end:
        training = training.advanced(max(1, look.base.steps // EVERY))
        if time.perf_counter() - saved > SECONDS_BETWEEN_CHECKPOINTS:
            save(training, path, made_by)
            saved = time.perf_counter()
    if not training.is_over(look.reaches[-1]):
        save(training, path, made_by)
    elif path is not None:
        path.unlink(missing_ok=True)
    return in_words(training.columns()) if training.steps and (over or not look.is_first) else None


# ------------------------------------------------------------------------------------------ checkpoints


def save(training: Training, path: Path | None, made_by: Mapping[str, str]) -> None:
    if path is not None and training.steps:
        about = {"look": training.look.settings(), "made_by": dict(made_by), "steps": training.steps}
        write_tensors(path, about, named_leaves(training.states) | {"points": np.stack(training.points)})


def restored(training: Training, path: Path | None, made_by: Mapping[str, str]) -> Training:
    """The look as its checkpoint holds it; as it is where there is none that is whole and made by the same things."""
    if path is None or not path.exists():
        return training
    like = named_leaves(training.states)
    with suppress(DamagedError), open_tensors(path, "the checkpoint of a look") as file:
        if file.about["look"] == training.look.settings() and file.about["made_by"] == dict(made_by):
            leaves: list[Any] = [jnp.asarray(file(name)) for name in like]
            if [leaf.shape for leaf in leaves] != [leaf.shape for leaf in like.values()]:
                raise ValueError("its networks have other shapes")
            states = jax.tree.unflatten(jax.tree.structure(training.states), leaves)
            return training.with_states(states)._replace(steps=tuple(file.about["steps"]), points=tuple(file("points")))
    return training
