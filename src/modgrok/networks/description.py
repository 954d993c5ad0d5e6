"""What a network was made from, as data that its file holds: what each of its experts is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
    """An expert's plan from a file of format 2."""
    learned = stored.get("learned")
    return ExpertPlan(
        **{
            **stored,
            "inputs": tuple(stored["inputs"]),
            "frequencies": None if stored.get("frequencies") is None else tuple(stored["frequencies"]),
            "learned": None if learned is None else Learned(**learned),
        }
    )
