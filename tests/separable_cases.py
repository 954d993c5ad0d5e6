"""The polynomials whose verdicts are known, as text and as integer functions that share no code with the parser.

And `decide_checked`, which trusts no verdict that the independent checkers do not confirm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from modgrok.separable import Verdict, check_obstruction, check_witness, decide


class Case(NamedTuple):
    text: str
    function: Callable[[int, int], int]
    additive: str
    multiplicative: str
    redundancy: float
    """Kinds of obstruction at p = 97, or "yes"; and the redundancy at one half in per cent."""


CASES = (
    Case("(4n1 + n2^2)^3", lambda a, b: (4 * a + b**2) ** 3, "yes", "distinct-lines", 49.5),
    Case("(2n1 + 3n2)^4", lambda a, b: (2 * a + 3 * b) ** 4, "yes", "distinct-lines", 0.0),
    Case("(5n1^3 + 2n2^4)^2", lambda a, b: (5 * a**3 + 2 * b**4) ** 2, "yes", "symmetry", 99.6),
    Case("n1 n2", lambda a, b: a * b, "counting 193", "yes", 0.0),
    Case("n1^2 + n2^2", lambda a, b: a**2 + b**2, "yes", "counting 97", 86.7),
    Case("n1^2 n2^3", lambda a, b: a**2 * b**3, "counting 145", "yes", 96.2),
    Case("n1 n2 + n1 + n2", lambda a, b: a * b + a + b, "counting 193", "yes", 0.0),
    Case("(4n1 + n2^2)^3 + n1 n2", lambda a, b: (4 * a + b**2) ** 3 + a * b, "counting 387", "distinct-lines", 0.0),
    Case("(2n1 + 3n2)^4 - n1^2", lambda a, b: (2 * a + 3 * b) ** 4 - a**2, "counting 388", "distinct-lines", 0.0),
    Case("(5n1^3 + 2n2^4)^2 - n2", lambda a, b: (5 * a**3 + 2 * b**4) ** 2 - b, "counting 336", "distinct-lines", 74.2),
    Case("n1^2 + n1 n2 + n2^2", lambda a, b: a**2 + a * b + b**2, "counting 194", "distinct-lines", 0.0),
)


def table_of(function: Callable[[int, int], int], p: int) -> np.ndarray:
    return np.array([[function(a, b) % p for b in range(p)] for a in range(p)])


def decide_checked(table: np.ndarray, order: int, absorbing: bool, **limits: float) -> Verdict:
    """The verdict, after the independent checkers have agreed with it."""
    verdict = decide(table, order, absorbing, **limits)
    if verdict.status == "in-class":
        assert check_witness(table, order, absorbing, verdict.witness)
    elif verdict.status == "not-in-class":
        assert check_obstruction(table, order, absorbing, verdict.obstruction)
    return verdict
