"""The verb complexity: how simple a table is, between a sum and a random table, in one number.

**Closed form.** Let the table be h(g1(a) · g2(b)) in a group of order n, with one-to-one g1, g2 and h. Permutations
change no norm, so T is the tensor [ab = c] of the group, which is Σ_ρ d/n tr ρ(a) ρ(b) ρ(c)* over its complex
irreducible representations. The functions √(d/n) ρ_ij are orthonormal, so T is an orthogonal sum of √(n/d) times the
product of d × d matrices, a tensor of d³ unit atoms and spectral norm 1: its nuclear norm is d³, and ‖T‖ = √n Σ d^2.5
over complex numbers. Over real ones complex and quaternionic representations cost √2 more (docs/complexity.md has the
proof): r = Σ c d^2.5 / n with c = 1 or √2.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from jaxtyping import Bool, Int

from modgrok.algebra.fields import Field
from modgrok.algebra.function import Function, FunctionLike, read_function
from modgrok.algebra.groups import GroupLike
from modgrok.algebra.representations import real_irreducibles
from modgrok.base.errors import InputError
from modgrok.base.results import Result
from modgrok.recognition.latin import group_behind
from modgrok.separable.measures.nuclear import OneHot, estimate
from modgrok.separable.measures.nuclear_bounds import lower_bound, upper_bound

LARGEST = 128
"""Largest side of a table whose complexity is estimated."""
SUM = 2**0.5
"""What the complexity of n1 + n2 modulo n comes near to."""
LIKE_A_SUM, NEARLY_RANDOM = 1.03, 0.92
"""Times the complexity of a sum, and of a random table."""


@dataclass(frozen=True, repr=False)
class Complexity(Result):
    """How simple a table is: `value` is r, the nuclear norm of its one-hot tensor over √(n1 n2 n3).

    `exact` tells the closed form, for a group in disguise, from an estimate. `shrunk` is the norm as the strong
    components alone would have it, without the noise of single cells; the same where all are equally strong. `random`
    is the estimate of a random table of that size, with the same cells unknown. `lower` and `upper` are bounds, up to
    rounding and one chance in 10⁹; `lower_estimate` is the largest ⟨T, Y⟩ / σ(Y) where σ was searched for and not
    bounded. These three are None where they were not asked for; where they were, an estimate beyond a bound is moved to
    it.
    """

    value: float
    exact: bool
    shrunk: float
    random: float
    lower: float | None
    lower_estimate: float | None
    upper: float | None
    function: Function
    seconds: float

    @property
    def words(self) -> str:
        """In words: '1.41: as simple as a sum'."""
        if self.value >= NEARLY_RANDOM * self.random and self.value > LIKE_A_SUM * SUM:
            return f"{self.value:.2f} of {self.random:.2f}: nearly a random table"
        if self.value > LIKE_A_SUM * SUM:
            share = (self.value - SUM) / max(self.random - SUM, 1e-9)
            nearer = (
                "nearer to a sum than to a random table" if share < 0.5 else "nearer to a random table than to a sum"
            )
            return f"{self.value:.2f} of {self.random:.2f}: {nearer}"
        small = ", but so is a random table of its size" if self.value >= NEARLY_RANDOM * self.random else ""
        return f"{self.value:.2f}: {'simpler than a sum' if self.value < 0.99 else 'as simple as a sum'}{small}"

    def summary(self) -> str:
        between = "" if self.lower is None else f" (between {self.lower:.3f} and {self.upper:.3f})"
        return f"{self.function.title}: {self.words}{between}"


def complexity(
    function: FunctionLike,
    mod: int | None = None,
    *,
    group: GroupLike | None = None,
    field: int | Field | None = None,
    bounds: bool = False,
) -> Complexity:
    """How simple the table of a function of two variables is, by the nuclear norm of its one-hot tensor.

    Arguments:
        function: a polynomial, a table or its file, or a Python function, as for `classify`; some cells may be unknown.
        mod: the modulus, where the expression does not name it.
        group: the group that a word such as "a b" has its values in.
        field: the number of elements of the field that an expression has its values in.
        bounds: whether to bound the number from both sides too, which takes four times as long in all at 64 rows, and
            ten times at 113. Everything is computed by one core of the processor, never by a GPU.

    Returns:
        A `Complexity`: `.value`, `.words`, `.random`, `.lower`, `.upper`, …

    >>> found = complexity("n1 + n2", mod=7)
    >>> found.exact, round(found.value, 4), round((1 + 6 * 2**0.5) / 7, 4)
    (True, 1.355, 1.355)
    """
    asked = read_function(function, mod, group=group, field=field, at_least=2)
    if len(asked.sizes) != 2 or max(*asked.sizes, asked.values) > LARGEST:
        raise InputError(
            f"the complexity is that of a function of two variables with at most {LARGEST} values each, got "
            f"{asked.name} ({asked.shape_text}); give a smaller modulus or table, or fix the other variables"
        )
    return complexity_of(asked, bounds=bounds)


def complexity_of(asked: Function, *, bounds: bool = False) -> Complexity:
    """`complexity` of a function that was read, and has one."""
    started = time.perf_counter()
    table = np.asarray(asked.table if asked.known is None else np.where(asked.known, asked.table, -1))
    closed = group_ratio(table, asked.values)
    lower = below = upper = None
    value = shrunk = closed
    if closed is None or bounds:
        tensor = OneHot(table, asked.values)
        found = estimate(tensor)
        if closed is None:
            value, shrunk = found.value / tensor.scale, found.shrunk / tensor.scale
        if bounds:
            lower, below = (x / tensor.scale for x in (lower_bound(tensor, found), found.below))
            upper = upper_bound(tensor, found) / tensor.scale
            value = value if closed is not None or value is None else min(max(value, lower), upper)
    assert value is not None and shrunk is not None
    rows, columns = asked.sizes
    if asked.known is None:
        chance = random_ratio(rows, columns, asked.values)
    else:
        chance = estimated_random(rows, columns, asked.values, asked.known)
    seconds = time.perf_counter() - started
    return Complexity(value, closed is not None, shrunk, chance, lower, below, upper, asked, seconds)


def group_ratio(table: Int[np.ndarray, "n1 n2"], values: int) -> float | None:
    """r of a table that is a group in disguise, in closed form; None of any other."""
    n = len(table)
    if table.shape != (n, n) or values != n or not 2 < n <= LARGEST or table.min() < 0:
        return None
    ordered = np.arange(n)
    if not all((np.sort(lines, axis=1) == ordered).all() for lines in (table, table.T)):
        return None
    placed = group_behind(table)
    if placed is None or not np.array_equal(placed.table, table):
        return None
    return sum(weight_of(rho.kind, rho.degree) for rho in real_irreducibles(placed.products)) / n


def weight_of(kind: str, degree: int) -> float:
    """c d^2.5 of a real irreducible representation; one of complex kind stands for two that are conjugate."""
    return float(degree**2.5 * {"real": 1.0, "complex": 2 * 2**0.5, "quaternionic": 2**0.5}[kind])


@lru_cache(maxsize=64)
def random_ratio(rows: int, columns: int, values: int) -> float:
    """The estimate of one random table of a size: the same one each time. Those modulo their side are stored."""
    if rows == columns == values <= LARGEST:
        stored = (files("modgrok.answers") / "random_tables.json").read_text(encoding="utf-8")
        return float(json.loads(stored)["ratios"][str(values)])
    return estimated_random(rows, columns, values)


def estimated_random(rows: int, columns: int, values: int, known: Bool[np.ndarray, "n1 n2"] | None = None) -> float:
    """The estimate of a random table of a size, with these cells known: fewer cells, a smaller norm."""
    table = np.random.default_rng(rows * columns + values).integers(0, values, (rows, columns))
    tensor = OneHot(table if known is None else np.where(known, table, -1), values)
    return estimate(tensor).value / tensor.scale
