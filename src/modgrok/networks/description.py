"""What a network was made from, as data that its file holds: what each of its experts is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.stores import finite_number, of_kind, whole_list, whole_number


@dataclass(frozen=True)
class Learned:
    """Where the weights of a trained expert come from: its task, the share of the task's table it saw, its accuracy."""

    task: str
    fraction: float
    task_accuracy: float


@dataclass(frozen=True)
class ExpertPlan:
    """What one expert of a network computes.

    `inputs` are names: variables, or e1, e2, … for experts. `group_order` and `absorbing` tell over which cyclic group
    it adds; `frequencies`, `margin` and `beta` are known where the weights were designed; `own_accuracy` is the share
    of the expert's own table that is right, where it was checked, and `learned` says how trained weights were found.
    """

    kind: str
    text: str
    inputs: tuple[str, ...]
    width: int
    group_order: int | None = None
    absorbing: bool = False
    frequencies: tuple[int, ...] | None = None
    margin: float | None = None
    beta: float | None = None
    own_accuracy: float | None = None
    learned: Learned | None = None


def expert_plan_from(stored: Mapping[str, Any]) -> ExpertPlan:
    """An expert's plan from a file of format 2, whose every number is of its type; null is one that is not known."""
    if unknown := sorted(set(stored) - set(ExpertPlan.__dataclass_fields__)):
        raise InputError(f"the plan of an expert has no {unknown[0]!r:.40}")
    return ExpertPlan(
        of_kind(stored["kind"], "kind", str),
        of_kind(stored["text"], "text", str),
        tuple(of_kind(name, "an input", str) for name in of_kind(stored["inputs"], "inputs", list)),
        whole_number(stored["width"], "width of an expert"),
        **{name: read(stored[name], name) for name, read in OPTIONAL.items() if stored.get(name) is not None},
    )


def learned_from(stored: Any, what: str) -> Learned:
    fraction, accuracy = (
        nan if stored[name] is None else finite_number(stored[name], name) for name in ("fraction", "task_accuracy")
    )
    return Learned(of_kind(stored["task"], f"task of {what}", str), fraction, accuracy)


OPTIONAL: dict[str, Callable[[Any, str], Any]] = {
    "group_order": whole_number,
    "absorbing": lambda found, name: of_kind(found, name, bool),
    "frequencies": whole_list,
    "margin": finite_number,
    "beta": finite_number,
    "own_accuracy": finite_number,
    "learned": learned_from,
}
"""How what need not be known of an expert is read from a file."""
