"""A witness for three variables or more, where that of one variable against the others does not separate.

A line is a value a of one variable s; placing it means choosing g_s(a). With some lines of every variable placed, the
cells where they meet fix h at the sums of their places. A line that is not placed yet can go where none of its cells
meets an h that is fixed to another value. The line with the fewest such places is next; it tries first the places that
fix the least of h anew. Without loss of generality the first line of each variable is at 0: h takes up the shifts.
After so many lines that did not lead to the end, all begins again with other choices. Only witnesses are found; that
nothing was found proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Int

from modgrok.separable.budget import Budget, steps_for
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import absorbable_values, spread
from modgrok.separable.verdict import Witness

LARGEST = 1 << 15
"""Cells of the largest table that is searched; one more line looks at all of them for every element of the group."""
PATIENCE = 4
"""Trials of a line, for each line there is, before all begins again."""

Lines = list[np.ndarray]
Board = Int[np.ndarray, "p ..."]


def find_several(table: Board, group: Group, absorbing: bool, budget: Budget) -> Witness | None:
    """A witness, unless the table is too large or has unknown cells; raises `LimitReached` when the steps are spent."""
    if table.size > LARGEST or (table < 0).any():
        return None
    absorbed: list[int | None] = [*absorbable_values(table)] if absorbing else []
    places = [(w, finite_lines(table, w)) for w in absorbed or [None]]
    for trial in range(budget.limit):
        w, lines = places[trial % len(places)]
        if all(map(len, lines)):
            found = Placing(table[np.ix_(*lines)], group, budget, trial).run()
            if found is not None:
                return witness_of(table.shape, lines, found, w, group)
        budget.spend()
    return None


def finite_lines(table: Board, absorbed: int | None) -> Lines:
    """The lines of each variable that do not consist of the absorbed value."""
    others = [tuple(k for k in range(table.ndim) if k != s) for s in range(table.ndim)]
    if absorbed is None:
        return [np.arange(size) for size in table.shape]
    return [np.flatnonzero((table != absorbed).any(axis=rest)) for rest in others]


def witness_of(
    shape: tuple[int, ...], lines: Lines, found: tuple[Lines, np.ndarray], absorbed: int | None, group: Group
) -> Witness:
    """The placement as a witness, with all other lines at ∞; h is None at elements that no cell reaches."""
    g, h = found
    values = tuple(None if v < 0 else v for v in h.tolist())
    moduli = () if group.cyclic else group.moduli
    return Witness(group.order, tuple(map(spread, shape, lines, g)), values, absorbed, moduli=moduli)


class Placing:
    """One attempt to place all lines, with choices drawn by its number."""

    def __init__(self, table: Board, group: Group, budget: Budget, trial: int) -> None:
        self.table, self.group, self.budget = table, group, budget
        self.random = np.random.default_rng(trial)
        self.patience = PATIENCE * sum(table.shape)
        firsts = [int(self.random.integers(size)) for size in table.shape]
        self.g = [np.full(size, -1) for size in table.shape]
        for part, first in zip(self.g, firsts, strict=True):
            part[first] = 0
        self.h = np.full(group.order, -1)
        self.h[0] = table[tuple(firsts)]

    def run(self) -> tuple[Lines, np.ndarray] | None:
        return (self.g, self.h) if self.extend() else None

    def extend(self) -> bool:
        """Place the line with the fewest places, then the rest."""
        choice = self.tightest()
        if choice is None:
            return True
        s, a, sums, cells, places = choice
        before = self.h
        for t in places:
            self.patience -= 1
            if self.patience < 0:
                return False
            self.h = before.copy()
            self.h[self.group.sums[t, sums]] = cells
            self.g[s][a] = t
            if (self.h[self.group.sums[t, sums]] == cells).all() and self.extend():
                return True
        self.g[s][a], self.h = -1, before
        return False

    def tightest(self) -> tuple[int, int, np.ndarray, np.ndarray, list[int]] | None:
        """The unplaced line with the fewest places: its variable, its number, sums and values of its cells, places."""
        best = None
        for s, sums, cells in self.fronts():
            self.budget.spend(steps_for(cells.size * self.group.order))
            open_lines = np.flatnonzero(self.g[s] < 0)
            reached = self.h[self.group.sums[:, sums]]
            free = reached < 0
            allowed = (free | (reached == cells[open_lines][:, None, :])).all(axis=2)
            counts = allowed.sum(axis=1)
            k = int(counts.argmin())
            if best is None or counts[k] < best[0]:
                a = int(open_lines[k])
                best = counts[k], (s, a, sums, cells[a], self.ranked(allowed[k], free))
        return best[1] if best else None

    def fronts(self) -> Iterator[tuple[int, np.ndarray, Board]]:
        """For each variable with unplaced lines: the sums of the others' placed lines, and the cells met there."""
        for s, part in enumerate(self.g):
            if (part >= 0).all():
                continue
            placed = [np.flatnonzero(other >= 0) for other in self.g]
            placed[s] = np.arange(len(part))
            sums = np.zeros(1, dtype=np.int64)
            for k, other in enumerate(self.g):
                if k != s:
                    sums = self.group.sums[sums[:, None], other[placed[k]]].ravel()
            cells = np.moveaxis(self.table[np.ix_(*placed)], s, 0).reshape(len(part), -1)
            yield s, sums, cells

    def ranked(self, allowed: Bool[np.ndarray, "m"], free: Bool[np.ndarray, "m cell"]) -> list[int]:
        """The places, those first that fix the least of h anew; equals in an order drawn at random."""
        places = self.random.permutation(np.flatnonzero(allowed))
        found: list[int] = places[np.argsort(free[places].sum(axis=1), kind="stable")].tolist()
        return found
