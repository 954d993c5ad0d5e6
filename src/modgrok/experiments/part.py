"""A part: networks that train side by side, are written as one file, and are lost together if killed.

A network's numbers depend in their last bits on how many others train beside it. So parts are fixed before the first
is trained, by the plan alone or by what was written down when it began, and an experiment that was stopped, moved or
shared out has the rows of one that was not.

All parts of a program have the same number of networks, its `size`; the last one is filled up with copies of its last
network when it trains, so that the program is compiled once.
"""

from __future__ import annotations

import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
from jaxtyping import PyTree

from modgrok.base.errors import InputError
from modgrok.base.progress import Progress
from modgrok.base.provenance import Made, provenance
from modgrok.networks.models import Model, Power, Transformer
from modgrok.training.config import Ensemble
from modgrok.training.ensemble import chunk_size, compiled_programs, pick, train_ensemble
from modgrok.training.steps import Metrics, Shape

CODE = ("modgrok.experiments.part",)
"""What trains every part; its own module says what it is."""


@dataclass(frozen=True)
class Part(ABC):
    """Networks of one program, with metrics at `steps`, of which the last ends the training; `number` names its file.

    `networks` are its networks by their numbers in the plan. A part is a plain value that can be trained by any
    process, of this machine or another.
    """

    memory: ClassVar[int | None] = None
    """Bytes of a chunk of it (`train_chunks`); None is what the device has."""

    number: int
    shape: Shape
    size: int
    steps: tuple[int, ...]
    networks: tuple[int, ...]
    keep_weights: bool = field(default=False, kw_only=True)

    @abstractmethod
    def ensemble(self) -> Ensemble:
        """Its networks, ready to begin; they may need fewer training rows than the program has room for."""

    @abstractmethod
    def rows(self, metrics: Metrics) -> pa.Table:
        """What is kept of its networks, whose metrics have the axes (net, measured step)."""

    @property
    def program(self) -> dict[str, int]:
        """The settings with which a single run has the bits of its rows (`training.ensemble`)."""
        return {"beside": chunk_size(self.shape, self.size, self.memory), "room": self.shape.train_rows}

    @property
    def network_steps(self) -> int:
        """Steps of all its networks together."""
        return self.steps[-1] * len(self.networks)

    @property
    def cost(self) -> float:
        """Multiplications and additions, those of copies too."""
        return work(self.shape, self.steps[-1]) * self.size


AnyPart = TypeVar("AnyPart", bound=Part)


class TrainedPart(NamedTuple):
    """The rows of a part and, where they are kept, its weights with an axis `net`.

    Who trained it, when its device did by that process's clock (`time.monotonic`), how many programs were compiled, and
    where the rows come from.
    """

    rows: pa.Table
    params: PyTree
    worker: str
    stretches: tuple[tuple[float, float], ...]
    compilations: int
    made: Made = ()


def train_part(part: Part, progress: Progress | None = None) -> TrainedPart:
    """The rows of a part, from nothing but the part: what any worker does."""
    began, compiled = time.perf_counter(), compiled_programs()
    stretches: list[tuple[float, float]] = []
    _, settings, tables, orders = part.ensemble()
    nets = np.minimum(np.arange(part.size), len(tables) - 1)
    metrics, params = train_ensemble(
        part.shape,
        pick(settings, nets),
        tables[nets],
        steps=part.steps,
        orders=[orders[net] for net in nets],
        memory=part.memory,
        progress=progress,
        on_device=lambda *stretch: stretches.append(stretch),
    )
    own = slice(len(tables))
    return TrainedPart(
        part.rows(pick(metrics, own)),
        pick(params, own) if part.keep_weights else None,
        f"{platform.node()} {os.getpid()}",
        tuple(stretches),
        compiled_programs() - compiled,
        (provenance(began, {}, *CODE, type(part).__module__),),
    )


def work(shape: Shape, steps: int) -> float:
    """Multiplications and additions of a training: two for each weight of a row, forward once and backward twice."""
    return 6.0 * steps * shape.train_rows * multiplied(shape.model)


@lru_cache(maxsize=256)
def multiplied(model: Model) -> int:
    """Weights that a row is multiplied with: the readout of an x² network, whose columns are gathered; all of another.

    A transformer has them once for each variable and once for the answer.
    """
    if isinstance(model, Power):
        return model.width * model.classes
    weights = jax.tree.leaves(jax.eval_shape(lambda: model.init(jnp.ones(()), key=jax.random.key(0))))
    times = model.variables + 1 if isinstance(model, Transformer) else 1
    return times * sum(int(weight.size) for weight in weights)


def slice_numbers(text: str) -> tuple[int, int]:
    """K and N of "K/N"."""
    try:
        k, n = (int(word) for word in text.split("/"))
    except ValueError:
        k, n = 0, 0
    if not 1 <= k <= n:
        raise InputError(f"a part is K/N, slice K of N with 1 <= K <= N, for example 3/8; got {text!r}")
    return k, n


def slice_of(whole: Sequence[AnyPart], text: str) -> list[AnyPart]:
    """Slice K of N of the parts, "K/N": neighbours, which share programs, and about as much work as in any other."""
    k, n = slice_numbers(text)
    total, before, chosen = sum(part.cost for part in whole), 0.0, []
    for part in whole:
        if min(n, 1 + int(n * (before + part.cost / 2) / total)) == k:
            chosen.append(part)
        before += part.cost
    return chosen
