"""When the places of the rows are guessed: can the columns be placed, and what is h? Quick tests, then the rules.

Column b is the row places read off h from y(b) on: two columns are two windows of one h. So for a right guess each
column has a shift at which it agrees with the first one wherever the two windows overlap. Wrong guesses fail this for
some column at once when the rows fill a good part of the group. What passes is given to the rules of the search.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from modgrok.separable.budget import Budget, LimitReached, steps_for
from modgrok.separable.procedures.propagation import COLUMN, ROW, Conflict
from modgrok.separable.procedures.search import Frame, Search, Solution
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Table

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
