"""Guesses from the algebra of residues modulo a prime p: rows placed at x^k, or at log(x^k + a).

Functions that people write down are sums and products of powers. They are guessed from the table alone, so that any
spelling of them is recognised: over Z_p the rows are at x^k; over Z_{p-1} with ∞ at log(x^k + a), for the right k and
a. A factor in front is a unit (or a translation) and need not be guessed. Equal rows tell gcd(k, p - 1), since
x^k = x'^k there; where a row is at ∞, x^k = -a tells a. Then `columns` places the other side, whatever it is:
x^k + v(y) for any v. Where the rows are too few for that, both sides are guessed together.

A guess that places rows gives a solution only if every cell comes out right.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import is_prime, log_table, powers
from modgrok.separable.budget import Budget
from modgrok.separable.procedures.columns import place_all, solves
from modgrok.separable.procedures.search import Solution
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Reduced, Table

TELLING = 5
"""Rows tell the places of the columns if two windows overlap in so many elements on average."""
Places = Int[np.ndarray, "row"]


def guess_algebra(reduced: Reduced, group: Group, absorbing: bool, table: Table, budget: Budget) -> Solution | None:
    """A solution in which the places of residues are powers; None where the table has no such form."""
    p, shape = group.order + absorbing, table.shape
    if not group.cyclic or p not in shape or p < 3 or not is_prime(p):
        return None
    sides = [side for side in (0, 1) if shape[side] == p]
    if len(sides) == 2:
        solution = guess_both_sides(reduced, p, absorbing, budget)
        if solution is not None:
            return solution
    for side in sides:
        solution = guess_one_side(reduced if side == 0 else reduced.transposed(), group, p, absorbing, budget)
        if solution is not None:
            return solution if side == 0 else Solution(solution.y, solution.x)
    return None


def guess_one_side(reduced: Reduced, group: Group, p: int, absorbing: bool, budget: Budget) -> Solution | None:
    """Rows at powers, columns wherever they fit."""
    cells, need = reduced.cells, reduced.fibre_bounds
    if len(cells) ** 2 < TELLING * group.order:
        return None
    for x in row_guesses(reduced, p, absorbing):
        budget.spend()
        solution = place_all(cells, group, need, x, budget)
        if solution is not None:
            return solution
    return None


def row_guesses(reduced: Reduced, p: int, absorbing: bool) -> Iterator[Places]:
    """Places of the distinct rows, the smallest exponents first."""
    if not absorbing:
        yield from sums_of_powers(reduced, p)
        return
    for _, x in shifted_powers(reduced, p):
        yield x


def sums_of_powers(reduced: Reduced, p: int) -> Iterator[Places]:
    for k in exponents(reduced, p):
        yield powers(reduced.row_source, k, p)


def shifted_powers(reduced: Reduced, p: int) -> Iterator[tuple[int, Places]]:
    """log(x^k + a), where the rows at ∞ are those with x^k = -a; and k."""
    logarithm = log_table(p)
    at_infinity = np.flatnonzero(reduced.row_line < 0)
    for k in exponents(reduced, p):
        power = powers(reduced.row_source, k, p)
        missing = -powers(at_infinity[:1], k, p) % p if len(at_infinity) else np.arange(1, p)
        for a in missing.tolist():
            x = logarithm[(power + a) % p]
            if (x >= 0).all():
                yield k, x


def exponents(reduced: Reduced, p: int) -> list[int]:
    """Exponents k with x^k = x'^k where the rows x and x' are equal: those with the right gcd(k, p - 1)."""
    logarithm = log_table(p)
    line = reduced.row_line[np.argsort(logarithm)[1:]]  # by logarithm, without 0
    steps = p - 1
    period = min(d for d in range(1, steps + 1) if steps % d == 0 and (np.roll(line, d) == line).all())
    return [k for k in range(1, p) if gcd(k, steps) == steps // period]


def guess_both_sides(reduced: Reduced, p: int, absorbing: bool, budget: Budget) -> Solution | None:
    """Powers on both sides: c·x^k + y^l over Z_p, or (x^k + a)(y^l + b), where one side alone tells too little."""
    cells, flipped, order = reduced.cells, reduced.transposed(), p - absorbing
    if max(cells.shape) ** 2 >= TELLING * order:
        return None
    known_rows = np.argsort(-np.array([len(np.unique(row)) for row in cells]), kind="stable")[:6]
    if absorbing:
        first = [x for _, x in shifted_powers(reduced, p)]
        second = np.array([y for _, y in shifted_powers(flipped, p)])
    else:
        first = list(sums_of_powers(reduced, p))
        plain = [powers(flipped.row_source, k, p) for k in exponents(flipped, p)]
        second = np.array([c * y % p for y in plain for c in range(1, p)])
    if not len(second):
        return None
    for x in first:
        budget.spend(1 + second.size // 20_000)
        fits = second[agree(cells, order, x, second, known_rows)]
        for y in fits:
            if solves(cells, order, x, y):
                return Solution(x, y)
    return None


def agree(
    cells: Table, order: int, x: Places, y: Int[np.ndarray, "guess column"], some: Int[np.ndarray, "few"]
) -> Int[np.ndarray, "good"]:
    """Which guesses of the columns give equal sums equal values, as far as a few rows tell."""
    guesses = np.arange(len(y))
    h = np.full((len(y), order), -1)
    for a in some:
        z = (x[a] + y[guesses]) % order
        known = h[guesses[:, None], z]
        good = ((known < 0) | (known == cells[a])).all(axis=1)
        guesses, z = guesses[good], z[good]
        h[guesses[:, None], z] = cells[a]
    return guesses
