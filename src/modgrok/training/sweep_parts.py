"""A part of a sweep trained: its rows, and its weights where they are asked for, from nothing but what it is given.

So a part can be trained by any process, of this machine or another (`ray_workers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from modgrok.base.progress import Progress
from modgrok.training.checkpoints import COLUMNS
from modgrok.training.config import Task, TrainConfig, hyper
from modgrok.training.diagnosis import diagnose, passed_at
from modgrok.training.ensemble import pick, segment_all, train_chunks
from modgrok.training.steps import Hyper, Metrics, Shape
from modgrok.training.sweep_plan import Part
from modgrok.training.sweep_result import CURVE

HYPER = tuple(Hyper.__dataclass_fields__)


class Work(NamedTuple):
    """A part to train: the shape of its program, and the settings of its networks."""

    shape: Shape
    part: Part
    configs: tuple[TrainConfig, ...]
    tasks: tuple[Task, ...]
    keep_weights: bool

    @property
    def steps(self) -> int:
        """Steps of all its networks together."""
        return sum(config.steps for config in self.configs)


class TrainedPart(NamedTuple):
    """The rows of a part, its weights with an axis `net` if they are kept, and how many programs were compiled."""

    rows: pa.Table
    params: Any
    compilations: int


def train_part(work: Work, progress: Progress | None = None) -> TrainedPart:
    """A part in one chunk, filled up to its size with copies of its last network."""
    before = compiled_programs()
    filled = [*work.tasks, *[work.tasks[-1]] * (work.part.size - len(work.tasks))]
    settings = hyper(**{name: np.array([getattr(task.hyper, name) for task in filled]) for name in HYPER})
    (chunk,) = train_chunks(
        work.shape,
        settings,
        np.stack([task.table for task in filled]),
        steps=work.configs[0].measured_steps(),
        orders=[task.order for task in filled],
        memory=2**62,
        progress=progress,
    )
    kept = slice(len(work.tasks))
    rows = rows_of(work.part, work.configs, pick(chunk.metrics, kept))
    params = pick(chunk.params, kept) if work.keep_weights else None
    return TrainedPart(rows, params, compiled_programs() - before)


def compiled_programs() -> int:
    """How many training programs this process has compiled."""
    return int(segment_all._cache_size())  # type: ignore[attr-defined]


def rows_of(part: Part, configs: Sequence[TrainConfig], metrics: Metrics) -> pa.Table:
    """One row for each network: its number, settings, last metrics, outcome, and curves as lists."""
    rows = []
    for place, (number, config) in enumerate(zip(part.networks, configs, strict=True)):
        steps = np.array(config.measured_steps())
        curves = {"step": steps} | {name: np.asarray(values[place]) for name, values in metrics._asdict().items()}
        rows.append(
            {"network": number}
            | config.to_json()
            | {name: curves[name][-1].item() for name in Metrics._fields}
            | {"memorised_at": passed_at(curves, "train_accuracy"), "grokked_at": passed_at(curves, "test_accuracy")}
            | {"outcome": diagnose(config, curves).outcome}
            | {f"{name}{CURVE}": curves[name].tolist() for name in COLUMNS}
        )
    return pa.Table.from_pylist(rows, schema=ROWS)


def kind(value: Any) -> pa.DataType:
    return {int: pa.int64(), float: pa.float64()}.get(type(value), pa.string())


SETTINGS = [(name, kind(value)) for name, value in TrainConfig("n1", 2, power=1).to_json().items()]
MEASURED = [(name, pa.int64() if name in ("step", "alive") else pa.float32()) for name in COLUMNS]
ROWS = pa.schema(
    [
        ("network", pa.int64()),
        *SETTINGS,
        *MEASURED[1:],
        ("memorised_at", pa.int64()),
        ("grokked_at", pa.int64()),
        ("outcome", pa.string()),
        *(
            (f"{name}{CURVE}", pa.list_(pa.field("element", values))) for name, values in MEASURED
        ),  # as Parquet calls it
    ]
)
"""Items of a list have the name that Parquet gives them: a table that was read is written as the same bytes."""
