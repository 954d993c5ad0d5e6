"""Rows at s·a^k and columns at c·b^e for small exponents, over Z_m for any m; or their logarithms where p is a prime.

These are what is left of `algebraic` where equal lines tell no exponent: moduli that are no primes, tables of any
shape (a - b, a > b, |a - b|: a function of a difference fits every m that holds all of them), and tables with
unknown cells.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Int

from modgrok.algebra.field import is_prime, log_table, powers
from modgrok.separable.budget import Budget
from modgrok.separable.procedures.search import Solution
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Reduced, Table

LARGEST_EXPONENT = 12
COMPARISONS_OF_STEP = 5000

Places = Int[np.ndarray, "row"]
Guesses = Int[np.ndarray, "guess column"]


def guess_small_powers(
    reduced: Reduced, group: Group, absorbing: bool, shape: tuple[int, ...], budget: Budget
) -> Solution | None:
    """A solution in which rows and columns are at powers, if every known cell agrees."""
    if not group.cyclic:
        return None
    cells, m = reduced.cells, group.order
    for x, y in guesses(reduced, m, absorbing, shape):
        budget.spend(1 + min(len(x), 4) * y.size // COMPARISONS_OF_STEP)
        for guess in y[agreeing(cells, m, x, y)]:
            return Solution(x, guess)
    return None


def guesses(reduced: Reduced, m: int, absorbing: bool, shape: tuple[int, ...]) -> Iterator[tuple[Places, Guesses]]:
    """Places of the rows with many guesses of the columns, small exponents first."""
    rows, columns = reduced.row_source, reduced.column_source
    steps = [(k, total - k) for total in range(2, 1 + 2 * LARGEST_EXPONENT) for k in range(1, total)]
    exponents = [(k, e) for k, e in steps if max(k, e) <= LARGEST_EXPONENT]
    if absorbing:
        if set(shape) != {m + 1} or not is_prime(m + 1) or not (rows.all() and columns.all()):
            return  # 0 has no logarithm
        logarithm = log_table(m + 1)
        for k, e in exponents:
            yield k * logarithm[rows] % m, (e * logarithm[columns] % m)[None, :]
        return
    factors = np.arange(1, m)[:, None]
    for k, e in exponents:
        y = factors * powers(columns, e, m)[None, :] % m
        for s in [1, *(d for d in range(2, m) if m % d == 0)]:
            yield s * powers(rows, k, m) % m, y


def agreeing(cells: Table, order: int, x: Places, y: Guesses) -> Int[np.ndarray, "good"]:
    """Which guesses give different places to different lines, and equal values to known cells with equal sums."""
    all_known = bool((cells >= 0).all())  # then all lines differ
    if all_known and len(np.unique(x)) < len(x):
        return np.empty(0, dtype=np.int64)
    left = np.arange(len(y))
    h = np.full((len(y), order), -1)
    for a in range(len(cells)):
        known = np.flatnonzero(cells[a] >= 0)
        z, values = (x[a] + y[left][:, known]) % order, cells[a, known]
        found = h[left[:, None], z]
        left, z = (part[fits(found, values)] for part in (left, z))
        h[left[:, None], z] = values
        left = left[(h[left[:, None], z] == values).all(axis=1)]
        if not len(left):
            break
    if all_known:
        left = np.array([k for k in left if len(np.unique(y[k])) == y.shape[1]], dtype=np.int64)
    return left


def fits(found: Int[np.ndarray, "guess cell"], values: Int[np.ndarray, "cell"]) -> Bool[np.ndarray, "guess"]:
    return np.asarray(((found < 0) | (found == values)).all(axis=1))
