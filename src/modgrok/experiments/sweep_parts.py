"""The parts of a sweep: networks of one program, as many as fit the device, with a row and curves for each.

What fits depends on the device. So parts are written down when a sweep begins, and a network is computed in the same
part whenever that happens: a sweep that was killed and started again ends with the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from modgrok.experiments.part import Part
from modgrok.experiments.sweep_plan import SweepPlan
from modgrok.experiments.sweep_result import CURVE
from modgrok.training.checkpoints import CURVES
from modgrok.training.config import Ensemble, Task, TrainConfig, side_by_side
from modgrok.training.diagnosis import diagnose
from modgrok.training.ensemble import chunk_size, network_bytes, pick
from modgrok.training.settings import SETTINGS
from modgrok.training.steps import Metrics, Shape

LARGEST_PART = 64
"""Most networks in a part: what a kill can lose at most."""


@dataclass(frozen=True)
class SweepPart(Part):
    """A part of a sweep, by the numbers of its networks in the plan."""

    memory: ClassVar[int | None] = 2**62  # all of it at once

    configs: tuple[TrainConfig, ...]
    tasks: tuple[Task, ...]

    def ensemble(self) -> Ensemble:
        return side_by_side(self.shape, self.tasks)

    def rows(self, metrics: Metrics) -> pa.Table:
        """One row for each network: its number, settings, last metrics, outcome, and curves as lists."""
        curves = [{"step": np.array(self.steps), **pick(metrics, k)._asdict()} for k in range(len(self.networks))]
        found = zip(self.networks, self.configs, curves, strict=True)
        return pa.Table.from_pylist([row_of(*each) | self.program for each in found], schema=ROWS)


def row_of(number: int, config: TrainConfig, curves: dict[str, np.ndarray]) -> dict[str, Any]:
    """A network by its number in the plan, with its curves."""
    told = diagnose(config, curves)
    return (
        {"network": number}
        | config.row()
        | {name: curves[name][-1].item() for name in Metrics._fields}
        | {name: getattr(told, name) for name in ("memorised_at", "grokked_at", "outcome")}
        | {f"{name}{CURVE}": column.tolist() for name, column in curves.items()}
    )


KINDS = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
"""Of settings."""

ROWS = pa.schema(
    [
        ("network", pa.int64()),
        ("expression", pa.string()),
        ("modulus", pa.int64()),
        *((name, KINDS[each.kind]) for name, each in SETTINGS.items()),
        *(field for field in CURVES if field.name != "step"),
        ("memorised_at", pa.int64()),
        ("grokked_at", pa.int64()),
        ("outcome", pa.string()),
        *((f"{field.name}{CURVE}", pa.list_(pa.field("element", field.type))) for field in CURVES),
    ]
)
"""Items of a list have the name that Parquet gives them: a table that was read is written as the same bytes."""


def groups_of(configs: Sequence[TrainConfig], tasks: Sequence[Task]) -> list[tuple[Shape, list[int]]]:
    """The networks that one compiled program can train, and its shape: with room for the largest training set."""
    found: dict[tuple[Shape, int, int], list[int]] = {}
    for number, (config, task) in enumerate(zip(configs, tasks, strict=True)):
        found.setdefault((replace(task.shape, train_rows=0), config.steps, config.metrics_every), []).append(number)
    rows = [max(tasks[k].shape.train_rows for k in numbers) for numbers in found.values()]
    return [
        (replace(shape, train_rows=largest), numbers)
        for ((shape, *_), numbers), largest in zip(found.items(), rows, strict=True)
    ]


Cut = tuple[tuple[int, ...], int]
"""Networks of a part, and its size."""
Groups = Sequence[tuple[Shape, Sequence[Cut]]]


def cuts_of(shape: Shape, numbers: Sequence[int], memory: int) -> list[Cut]:
    """A group cut into parts of equal size, of as many networks as the memory of a device holds."""
    size = chunk_size(shape, len(numbers), min(memory, LARGEST_PART * network_bytes(shape)))
    return [(tuple(numbers[first : first + size]), size) for first in range(0, len(numbers), size)]


def parts_of(plan: SweepPlan, tasks: Sequence[Task], groups: Groups, keep_weights: bool) -> Iterator[SweepPart]:
    """The parts of a plan, with all that is needed to train them."""
    for shape, cuts in groups:
        for numbers, size in cuts:
            yield SweepPart(
                numbers[0],
                shape,
                size,
                tuple(plan.configs[numbers[0]].measured_steps()),
                numbers,
                tuple(plan.configs[number] for number in numbers),
                tuple(tasks[number] for number in numbers),
                keep_weights=keep_weights,
            )
