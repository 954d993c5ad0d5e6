"""The plan of a sweep: every combination of settings, with every seed, in parts that train side by side.

A setting that is traced (`steps.Hyper`: seed, rates, decays, scales, the share of the table) shares one compiled
program with all its values; any other (a model, a width, an optimiser) makes a group of its own. A group is cut into
parts: networks of one program, as many as fit the device, with a row and curves for each.

What fits depends on the device. So parts are written down when a sweep begins, and a network is computed in the same
part whenever that happens: a sweep that was killed and started again ends with the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from modgrok.algebra.fields import Field
from modgrok.algebra.function import FunctionLike, read_function
from modgrok.algebra.groups import GroupLike
from modgrok.base.errors import InputError
from modgrok.experiments.part import Part
from modgrok.experiments.row_store import TYPES
from modgrok.experiments.sweep_result import CURVE
from modgrok.training.checkpoints import CURVES
from modgrok.training.config import Ensemble, Task, TrainConfig, setting_word, side_by_side
from modgrok.training.diagnosis import diagnose
from modgrok.training.ensemble import chunk_size, network_bytes, pick
from modgrok.training.settings import SETTINGS, check_names
from modgrok.training.steps import Metrics, Shape

LARGEST_SWEEP = 100_000

SWEPT = {name: each for name, each in SETTINGS.items() if name != "snapshots"}
"""What may vary, beside the modulus; a film is made of a single run."""

RANGE = re.compile(r"([^:]+):([^:]+):(\d+)(log|lin)?")

Value = TypeVar("Value", int, float, str)


@dataclass(frozen=True)
class SweepPlan:
    """The trainings of a sweep, the settings that vary in it, and how many seeds each combination has."""

    configs: tuple[TrainConfig, ...]
    varied: Mapping[str, Sequence[Any]]
    seeds: Sequence[int]

    def to_json(self) -> dict[str, Any]:
        """What makes two sweeps the same."""
        return {
            "varied": {name: list(values) for name, values in self.varied.items()},
            "seeds": list(self.seeds),
            "configs": [config.to_json() for config in self.configs],
        }


def within(
    function: FunctionLike, mod: int | Iterable[int] | None, group: GroupLike | None, field: int | Field | None
) -> FunctionLike:
    """The function in the group or the field that is given, if one is."""
    if group is None and field is None:
        return function
    if mod is not None:
        raise InputError(f"an expression has its values modulo {mod}, or in a group or a field; leave one out")
    return read_function(function, group=group, field=field)


def plan_of(
    function: FunctionLike, mod: int | Iterable[int] | None, seeds: int | Iterable[int], **settings: Any
) -> SweepPlan:
    """The plan of a sweep; settings that are lists vary, and None is what suits the model."""
    check_names(settings, "a sweep", SWEPT)
    chosen = {"modulus": mod, **{name: value for name, value in settings.items() if value is not None}}
    first = chosen.pop("seed", 0)
    if is_list(first):
        if seeds != 1:
            raise InputError(
                f"seed lists the seeds, {list(first)}, and seeds counts them from one on; give one of both"
            )
        seeds = listed("seed", first)
    if seeds not in range(1, LARGEST_SWEEP + 1) if isinstance(seeds, int) else not (seeds := list(seeds)):
        raise InputError(f"seeds is how many trainings each setting has, from 1 to {LARGEST_SWEEP:,}, got {seeds}")
    numbers = list(range(first, first + seeds)) if isinstance(seeds, int) else [int(seed) for seed in seeds]
    varied = {name: listed(name, value) for name, value in chosen.items() if is_list(value)}
    words = {name: listed(name, [setting_word(name, value) for value in values]) for name, values in varied.items()}
    fixed = {name: value for name, value in chosen.items() if name not in varied}
    count = len(numbers) * int(np.prod([len(values) for values in varied.values()]))
    if count > LARGEST_SWEEP:
        raise InputError(f"the sweep has {count:,} trainings, more than {LARGEST_SWEEP:,}; take fewer values or seeds")
    moduli = varied.get("modulus", [mod])
    functions = {p: read_function(function, p) for p in moduli}
    configs = []
    for values in product(*varied.values()):
        setting = fixed | dict(zip(varied, values, strict=True))
        p = setting.pop("modulus")
        configs += [TrainConfig.of(functions[p], p, seed=seed, snapshots=0, **setting) for seed in numbers]
    return SweepPlan(tuple(configs), {name: values for name, values in words.items() if len(values) > 1}, numbers)


def seeds_of(config: TrainConfig, seeds: int) -> SweepPlan:
    """The plan of one training with so many seeds."""
    return plan_of(
        config.function,
        config.modulus,
        seeds,
        **{name: getattr(config, name) for name in SWEPT},
    )


def is_list(value: object) -> bool:
    """Whether a setting lists values; an optimiser of optax is a tuple with names, and one value."""
    return isinstance(value, Iterable) and not isinstance(value, str) and not hasattr(value, "_fields")


def listed(name: str, values: Iterable[Any]) -> list[Any]:
    """The values of a setting, as plain numbers and words; none may stand there twice."""
    found = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not found or len(set(found)) < len(found):
        raise InputError(f"{name} must list different values, got {found}")
    return found


KINDS = {int: ("a whole number", "100,200 or 100:400:4"), float: ("a number", "0.5,1,2 or 0.001:0.1:8log")}
"""What a value of a setting is, and how several are written."""


def read_values(text: str, kind: type[Value], name: str = "the setting") -> list[Value]:
    """The values that a word of the command line lists for a setting: numbers or words with commas, and ranges.

    >>> read_values("0.5,1,2", float), read_values("power,mlp", str)
    ([0.5, 1.0, 2.0], ['power', 'mlp'])
    >>> read_values("0.001:0.1:3log", float), read_values("100:400:4", int)
    ([0.001, 0.01, 0.1], [100, 200, 300, 400])
    """
    found: list[Any] = []
    for word in text.split(","):
        span = RANGE.fullmatch(word.strip()) if kind in KINDS else None
        try:
            found += [kind(word.strip())] if span is None else spaced(*span.groups())
        except ValueError:
            what, example = KINDS[kind]
            raise InputError(
                f"{name} takes {what}, several with commas, or a range FIRST:LAST:COUNT (or COUNTlog, from above 0), "
                f"got {word!r}; give {example}, for example"
            ) from None
    return list(dict.fromkeys(round(value) if kind is int else value for value in found))


def spaced(first: str, last: str, count: str, how: str | None) -> list[float]:
    """`count` values from first to last, evenly, or evenly in their logarithm; rounded to what can be typed."""
    ends = float(first), float(last)
    if int(count) < 1 or (how == "log" and min(ends) <= 0):
        raise ValueError("there is no value, or no logarithm")
    values = np.geomspace(*ends, int(count)) if how == "log" else np.linspace(*ends, int(count))
    return [float(f"{value:.3g}" if how == "log" else f"{value:.6g}") for value in values]


# ------------------------------------------------------------------------------------------ parts


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


ROWS = pa.schema(
    [
        ("network", pa.int64()),
        ("expression", pa.string()),
        ("modulus", pa.int64()),
        *((name, TYPES[each.kind]) for name, each in SETTINGS.items()),
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
