"""Which families a function belongs to, and what that predicts.

Families, in the order in which the best is chosen: constant; one-variable (any such function is h(g(n)), a
relabelling); additive, h(g1 + g2) over Z_p; multiplicative, the same over Z_{p-1} with an absorbing element, since
logarithms of non-zero residues add modulo p - 1 and 0 absorbs. For a composite modulus the non-zero residues are no
group, so only the additive family is decided.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import check_modulus, factors_text, is_prime
from modgrok.errors import InputError
from modgrok.separable.decision import TIME_LIMIT
from modgrok.separable.grouping import decide_grouped
from modgrok.separable.redundancy import redundancy
from modgrok.separable.verdict import Obstruction, Status, Verdict

SECOND_LOOK = 5.0
"""Seconds that a family gets at most once another is known to fit."""


@dataclass(frozen=True)
class FamilyVerdict:
    """The verdict for one family."""

    family: str
    verdict: Verdict

    @property
    def group(self) -> str:
        return f"Z_{self.verdict.group_order}" + (" with an absorbing element" if self.verdict.absorbing else "")

    def json(self) -> dict[str, Any]:
        return {"family": self.family, **self.verdict.json()}


@dataclass(frozen=True)
class Classification:
    """What is known about a function before any training."""

    modulus: int
    fraction: float
    families: tuple[FamilyVerdict, ...]
    redundancy: float
    notes: tuple[str, ...]
    seconds: float

    @property
    def best(self) -> FamilyVerdict | None:
        """The first family that fits."""
        return next((found for found in self.families if found.verdict.in_class), None)

    @property
    def status(self) -> Status:
        if self.best is not None:
            return "in-class"
        refuted = all(found.verdict.status == "not-in-class" for found in self.families)
        return "not-in-class" if refuted else "unknown"

    @property
    def obstruction(self) -> Obstruction | None:
        """The obstructions of all families as one, if none fits."""
        found = [(f, f.verdict.obstruction) for f in self.families if f.verdict.obstruction is not None]
        if self.status != "not-in-class":
            return None
        text = "; ".join(f"{f.family} over {f.group}: {obstruction.explanation}" for f, obstruction in found)
        return Obstruction(found[0][1].kind, text, found[0][1].cases)

    @property
    def predicted_test_accuracy(self) -> float:
        return 1.0 if self.status == "in-class" else self.redundancy

    @property
    def reasons(self) -> list[str]:
        floor = (
            f"{100 * self.redundancy:.1f} % of the cells outside a random {100 * self.fraction:g} % of the table have "
            "a twin inside it (through equal rows or columns), so sharing twins alone answers these"
        )
        if not self.redundancy:
            floor = "no two rows and no two columns are equal, so sharing them answers nothing"
        if self.best is not None:
            known = f"the function is {form(self.best)}: two-layer networks generalise on this form, given enough data"
            return [f"{known}; half of a small table can be too little", floor, *self.notes]
        known = (
            "no family fits: outside the class networks may still learn part or all of a function"
            if self.status == "not-in-class"
            else "undecided within the limit; " + "; ".join(open_question(f) for f in self.families)
        )
        return [known, f"{floor}: a floor for the test accuracy, not a ceiling", *self.notes]

    def json(self) -> dict[str, Any]:
        best, obstruction = self.best, self.obstruction
        return {
            "modulus": self.modulus,
            "verdict": self.status,
            "family": best.family if best else None,
            "group_order": best.verdict.group_order if best else None,
            "witness": best.verdict.witness.json() if best and best.verdict.witness else None,
            "obstruction": obstruction.json() if obstruction else None,
            "families": [found.json() for found in self.families],
            "fraction": self.fraction,
            "redundancy": self.redundancy,
            "predicted_test_accuracy": self.predicted_test_accuracy,
            "reasons": self.reasons,
            "seconds": self.seconds,
        }


def form(found: FamilyVerdict) -> str:
    if found.family == "constant":
        return "constant"
    if found.family == "one-variable":
        return "a function of one variable"
    return f"h(g1 + g2 + …) over {found.group}" if len_parts(found) > 2 else f"h(g1(n1) + g2(n2)) over {found.group}"


def len_parts(found: FamilyVerdict) -> int:
    return len(found.verdict.witness.g) if found.verdict.witness else 2


def open_question(found: FamilyVerdict) -> str:
    verdict = found.verdict
    text = verdict.obstruction.explanation if verdict.obstruction else verdict.excluded
    return f"{found.family} over {found.group}: {verdict.status}, {text}"


def classify_table(
    table: Int[np.ndarray, "p ..."], modulus: int, *, fraction: float = 0.5, time_limit: float = TIME_LIMIT
) -> Classification:
    """Decide every family for a value table with one axis per variable; the time limit holds for each family."""
    start = time.perf_counter()
    table = check_value_table(table, modulus)
    families: list[FamilyVerdict] = []
    notes: list[str] = []
    additive = decide_grouped(table, modulus, False, time_limit=time_limit)
    dependent = [axis for axis in range(table.ndim) if (table != table.take([0], axis)).any()]
    if len(dependent) < 2:
        families.append(FamilyVerdict("one-variable" if dependent else "constant", additive))
    families.append(FamilyVerdict("additive", additive))
    if is_prime(modulus):
        limit = min(time_limit, SECOND_LOOK) if additive.in_class else time_limit
        multiplicative = decide_grouped(table, modulus - 1, True, time_limit=limit)
        families.append(FamilyVerdict("multiplicative", multiplicative))
    else:
        notes.append(
            f"modulo {modulus} = {factors_text(modulus)} the non-zero residues are no group, so there is no "
            f"multiplicative family; only the additive family over Z_{modulus} was decided"
        )
    ceiling = redundancy(table, fraction)
    return Classification(modulus, fraction, tuple(families), ceiling, tuple(notes), time.perf_counter() - start)


def check_value_table(table: Int[np.ndarray, "p ..."], modulus: int) -> Int[np.ndarray, "p ..."]:
    """The table itself, if it is one of residues with an axis of p for each of two variables or more."""
    check_modulus(modulus)
    table = np.asarray(table)
    if table.ndim < 2 or set(table.shape) != {modulus} or not np.issubdtype(table.dtype, np.integer):
        raise InputError(
            f"a value table modulo {modulus} has two axes or more of length {modulus} and whole numbers, "
            f"got shape {table.shape} of {table.dtype}"
        )
    if table.min() < 0 or table.max() >= modulus:
        raise InputError(f"values must be residues 0 … {modulus - 1}, got {table.min()} … {table.max()}")
    return table.astype(np.int64)
