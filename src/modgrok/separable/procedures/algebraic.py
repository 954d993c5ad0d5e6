"""Guesses from the algebra of residues modulo a prime p: rows placed at x^k, or at log(x^k + a).

Functions that people write down are sums and products of powers. They are guessed from the table alone, so that any
spelling of them is recognised: over Z_p the rows are at x^k; over Z_{p-1} with ∞ at log(x^k + a), for the right k and
a. A factor in front is a unit (or a translation) and need not be guessed. Equal rows tell gcd(k, p - 1), since
x^k = x'^k there; where a row is at ∞, x^k = -a tells a. Then `columns` places the other side, whatever it is:
x^k + v(y) for any v. Where the rows are too few for that, both sides are guessed together.

A guess that places rows gives a solution only if every cell comes out right.

When the places of the rows are guessed: can the columns be placed, and what is h? Quick tests, then the rules.

Column b is the row places read off h from y(b) on: two columns are two windows of one h. So for a right guess each
column has a shift at which it agrees with the first one wherever the two windows overlap. Wrong guesses fail this for
some column at once when the rows fill a good part of the group. What passes is given to the rules of the search.

Rows at s·a^k and columns at c·b^e for small exponents, over Z_m for any m; or their logarithms where p is a prime.

These are what is left of `algebraic` where equal lines tell no exponent: moduli that are no primes, tables of any
shape (a - b, a > b, |a - b|: a function of a difference fits every m that holds all of them), and tables with
unknown cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np
from jaxtyping import Bool, Int

from modgrok.algebra.field import is_prime, log_table, powers
from modgrok.separable.budget import Budget, LimitReached, steps_for
from modgrok.separable.procedures.propagation import COLUMN, ROW, Conflict
from modgrok.separable.procedures.search import Frame, Search, Solution
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Reduced, Table

TESTED_COLUMNS, TESTED_ROWS = 12, 48
BRANCHES = 12
"""Nodes of the search for columns that the rows alone do not place."""


def column_shifts(cells: Table, order: int, x: Int[np.ndarray, "row"], columns: int) -> Int[np.ndarray, "some"] | None:
    """For some columns a shift at which they agree with the first one, over Z_order; -1 where several do.

    None if one of them agrees nowhere. x may be wrong.
    """
    window = np.full(order, -1)
    window[x] = cells[:, 0]
    rows = np.linspace(0, len(x) - 1, min(len(x), TESTED_ROWS)).astype(np.int64)
    met = window[(x[rows] + np.arange(order)[:, None]) % order]
    unknown = met < 0
    shifts = np.zeros(columns, dtype=np.int64)
    for b in range(1, columns):
        fitting = np.flatnonzero((unknown | (met == cells[rows, b])).all(axis=1))
        if not len(fitting):
            return None
        shifts[b] = fitting[0] if len(fitting) == 1 else -1
    return shifts


def place_all(
    cells: Table, group: Group, need: Int[np.ndarray, "value"], x: Int[np.ndarray, "row"], budget: Budget
) -> Solution | None:
    """A solution with the rows at x over a cyclic group, or None: most guesses fail at the first columns."""
    order = group.order
    if column_shifts(cells, order, x, min(cells.shape[1], TESTED_COLUMNS)) is None:
        return None
    budget.spend(steps_for(cells.size // 4))
    shifts = column_shifts(cells, order, x, cells.shape[1])
    if shifts is None:
        return None
    if (shifts >= 0).all():
        return Solution(x, shifts) if solves(cells, order, x, shifts) else None
    return place_columns(cells, group, need, x, budget)


def solves(cells: Table, order: int, x: Int[np.ndarray, "row"], y: Int[np.ndarray, "column"]) -> bool:
    """Whether equal sums have equal values, on every cell, over Z_order."""
    z = (x[:, None] + y) % order
    h = np.empty(order, dtype=np.int64)
    h[z] = cells
    return bool((h[z] == cells).all())


def place_columns(
    cells: Table, group: Group, need: Int[np.ndarray, "value"], x: Int[np.ndarray, "row"], budget: Budget
) -> Solution | None:
    """A solution with the rows at x, or None."""
    if len(np.unique(x)) < len(x):
        return None
    search = Search(cells, group, need)
    budget.spend(2 * steps_for(cells.size))
    state = search.rules.start(need.tolist(), search.ceiling.tolist())
    try:
        rows = [((ROW, a), int(place)) for a, place in enumerate(x)]
        search.rules.propagate(state, [*rows, ((COLUMN, 0), 0)])
    except Conflict:
        return None
    branch = search._choose(state)
    if branch is None:
        return Solution(np.array(state.at[ROW]), np.array(state.at[COLUMN]))
    try:
        options = iter(search._options(state, branch))
        return search._work(Frame(state, branch, options, {}), budget.part(BRANCHES * search.price))
    except LimitReached:
        return None


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
    for x in (shifted_powers if absorbing else sums_of_powers)(reduced, p):
        budget.spend()
        solution = place_all(cells, group, need, x, budget)
        if solution is not None:
            return solution
    return None


def sums_of_powers(reduced: Reduced, p: int) -> Iterator[Places]:
    """x^k, the smallest exponents first."""
    for k in exponents(reduced, p):
        yield powers(reduced.row_source, k, p)


def shifted_powers(reduced: Reduced, p: int) -> Iterator[Places]:
    """log(x^k + a), where the rows at ∞ are those with x^k = -a."""
    logarithm = log_table(p)
    at_infinity = np.flatnonzero(reduced.row_line < 0)
    for k in exponents(reduced, p):
        power = powers(reduced.row_source, k, p)
        missing = -powers(at_infinity[:1], k, p) % p if len(at_infinity) else np.arange(1, p)
        for a in missing.tolist():
            x = logarithm[(power + a) % p]
            if (x >= 0).all():
                yield x


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
    if absorbing:
        first, second = list(shifted_powers(reduced, p)), np.array(list(shifted_powers(flipped, p)))
    else:
        first = list(sums_of_powers(reduced, p))
        second = np.array([c * y % p for y in sums_of_powers(flipped, p) for c in range(1, p)])
    if not len(second):
        return None
    for x in first:
        budget.spend(1 + second.size // 20_000)
        for y in second[agreeing(cells, order, x, second)]:
            return Solution(x, y)
    return None


LARGEST_EXPONENT = 12
COMPARISONS_OF_STEP = 5000


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
