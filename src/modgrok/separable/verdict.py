"""The answer as a value: a verdict with a witness or an obstruction, never a guess.

A function f on p1 × p2 residues is *in the class* of the cyclic group Z_m, optionally with an absorbing element ∞,
if f(a, b) = h(g1(a) + g2(b)) for some g1, g2 into Z_m ∪ {∞} and some h; ∞ plus anything is ∞.

Being in the class is known to be enough for a two-layer network to generalise. It is not necessary, so the
opposite of `in-class` is `not-in-class` and says nothing about what a network can reach.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["in-class", "not-in-class", "unknown"]

Certificate = dict[str, Any]
"""A refutation as plain data; `checkers.check_obstruction` says what each kind must contain."""


@dataclass(frozen=True)
class Witness:
    """f(n1, n2, …) = h[(g[0][n1] + g[1][n2] + …) % group_order], or h_absorbing where one of them is None.

    None stands for ∞ in g, and for a value that is free in h and h_absorbing.
    """

    group_order: int
    g: tuple[tuple[int | None, ...], ...]
    h: tuple[int | None, ...]
    h_absorbing: int | None = None

    @property
    def g1(self) -> tuple[int | None, ...]:
        return self.g[0]

    @property
    def g2(self) -> tuple[int | None, ...]:
        return self.g[1]

    def json(self) -> dict[str, Any]:
        parts = {f"g{s}": list(part) for s, part in enumerate(self.g, start=1)}
        return {**parts, "h": list(self.h), "h_absorbing": self.h_absorbing}


@dataclass(frozen=True)
class Obstruction:
    """Why no witness exists: one certificate for each value w that ∞ could carry (None: ∞ is not used).

    For three variables or more the certificates are about the table of variable `axis` against all others.
    """

    kind: str
    explanation: str
    cases: tuple[tuple[int | None, Certificate], ...] = field(repr=False)
    axis: int = 0

    def json(self) -> dict[str, Any]:
        return {"kind": self.kind, "explanation": self.explanation}


@dataclass(frozen=True)
class Verdict:
    """The decision for one group. `excluded` says what an `unknown` has ruled out before its limit."""

    status: Status
    group_order: int
    absorbing: bool
    witness: Witness | None = None
    obstruction: Obstruction | None = None
    excluded: str = ""
    nodes: int = 0

    @property
    def in_class(self) -> bool:
        return self.status == "in-class"

    def json(self) -> dict[str, Any]:
        return {
            "verdict": self.status,
            "group_order": self.group_order,
            "absorbing": self.absorbing,
            "witness": self.witness.json() if self.witness else None,
            "obstruction": self.obstruction.json() if self.obstruction else None,
            "excluded": self.excluded or None,
            "nodes": self.nodes,
        }
