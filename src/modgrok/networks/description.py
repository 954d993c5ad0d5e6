"""What a network was made from, as data that its file holds: its experts, its certificate.

The compiler computes certificates (`compiler.certificate`); here is what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from modgrok.errors import InputError
from modgrok.results import Result, field_values, plain


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


@dataclass(frozen=True)
class ExpertCertificate:
    """The margin in real arithmetic, a bound on the error of a logit, β chosen from both, the mass on other classes."""

    margin: float
    bound: float
    beta: float
    leak: float

    @property
    def holds(self) -> bool:
        return bool(self.margin > 2 * self.bound and np.isfinite(self.leak))


@dataclass(frozen=True, repr=False)
class Certificate(Result):
    """Whether a network is proved right on its whole table in its dtype, and by what margins."""

    dtype: str
    experts: tuple[ExpertCertificate, ...]

    @property
    def holds(self) -> bool:
        return all(expert.holds for expert in self.experts)

    @property
    def margin(self) -> float:
        return self.experts[-1].margin

    @property
    def error_bound(self) -> float:
        return self.experts[-1].bound

    def summary(self) -> str:
        proved = "proved right on every input" if self.holds else "not proved"
        return f"{proved} (margin {self.margin:.3g}, rounding in {self.dtype} at most {self.error_bound:.2g})"

    def to_json(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "dtype": self.dtype,
            "margin": plain(self.margin),
            "error_bound": plain(self.error_bound),
            "experts": [plain(field_values(expert)) for expert in self.experts],
        }


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


def certificate_from(stored: Mapping[str, Any] | None) -> Certificate | None:
    """A certificate from a file; infinite leaks are stored as null."""
    if stored is None:
        return None
    if not stored["experts"]:
        raise InputError("its certificate proves nothing: it speaks of no expert")
    experts = [{name: np.inf if value is None else value for name, value in e.items()} for e in stored["experts"]]
    return Certificate(stored["dtype"], tuple(ExpertCertificate(**expert) for expert in experts))
