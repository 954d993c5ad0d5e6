"""The plan of a sweep: every combination of settings, with every seed, in parts that train side by side.

A setting that is traced (`steps.Hyper`: seed, rates, decays, scales, the share of the table) shares one compiled
program with all its values; any other (a model, a width, an optimiser) makes a group of its own. A group is cut into
parts of equal size that fit the device (`sweep_parts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np

from modgrok.algebra.fields import Field
from modgrok.algebra.function import FunctionLike, read_function
from modgrok.algebra.groups import GroupLike
from modgrok.base.errors import InputError
from modgrok.training.config import TrainConfig, setting_word
from modgrok.training.settings import check_names

LARGEST_SWEEP = 100_000

SETTINGS = set(TrainConfig.__dataclass_fields__) - {"expression", "modulus", "snapshots", "function"}
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
    check_names(settings, "a sweep", SETTINGS)
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
        **{name: getattr(config, name) for name in SETTINGS},
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
