"""Guesses by climbing: many placements at once, each moved to explain more cells, and shaken when nothing moves.

A placement of rows and columns explains a cell if h, taken as the most frequent value among the cells with one sum,
gives the cell's value. Moving every row, then every column, to where most of its cells are right never hurts and soon
ends in a placement that no single move improves. Then a few lines are put at random places and the climb begins
again; it goes on from the better of the two. A placement that explains every known cell is a solution. Few-valued h
with g on a part of the group are the tables for which counting and propagation see little, and climbing is best.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from modgrok.separable.budget import Budget
from modgrok.separable.procedures.search import Solution
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Table

LARGEST_BATCH = 64
"""Placements that climb together."""
LARGEST_SWEEP = 1 << 21
"""Most comparisons of one sweep: m for every cell and placement."""
SWEEPS = 24
COMPARISONS_OF_STEP = 4000
SHAKES = (0.2, 0.3, 0.4)
"""Share of the lines that a shake moves: by turns of the placements."""

Rows = Int[np.ndarray, "start row"]
Columns = Int[np.ndarray, "start column"]


class Board:
    """The known cells of a table, and how well placements in a group explain them."""

    def __init__(self, cells: Table, group: Group) -> None:
        self.cells, self.group = cells, group
        self.across = np.ascontiguousarray(cells.T)
        self.values = int(cells.max(initial=0)) + 1
        self.rows, self.columns = np.nonzero(cells >= 0)
        self.known = cells[self.rows, self.columns]

    @property
    def total(self) -> int:
        return len(self.known)

    def sums(self, x: Rows, y: Columns) -> Int[np.ndarray, "start cell"]:
        """The element of each known cell."""
        return np.asarray(self.group.sums[x[:, self.rows], y[:, self.columns]])

    def best_h(self, x: Rows, y: Columns) -> Int[np.ndarray, "start m"]:
        """For each element the value that most cells with that sum have."""
        starts, m = len(x), self.group.order
        keys = (np.arange(starts)[:, None] * m + self.sums(x, y)) * self.values + self.known
        counts = np.bincount(keys.ravel(), minlength=starts * m * self.values)
        return np.asarray(counts.reshape(starts, m, self.values).argmax(axis=2))

    def explained(self, x: Rows, y: Columns) -> Int[np.ndarray, "start"]:
        """How many cells are right."""
        h = self.best_h(x, y)
        return np.asarray((np.take_along_axis(h, self.sums(x, y), axis=1) == self.known).sum(axis=1))

    def best_lines(self, cells: Table, h: Int[np.ndarray, "start m"], placed: Columns) -> Rows:
        """Each line of `cells` where most of its cells are right, given h and the places of the lines across."""
        seen = h[np.arange(len(h))[:, None, None], self.group.sums[:, placed].transpose(1, 0, 2)]
        right = np.zeros((len(h), len(cells), self.group.order), dtype=np.int32)
        for b, values in enumerate(cells.T):
            right += seen[:, None, :, b] == values[:, None]
        return np.asarray(right.argmax(axis=2))

    def ascend(self, x: Rows, y: Columns) -> tuple[Rows, Columns, Int[np.ndarray, "start"]]:
        """Placements that no move of one side improves, and what they explain."""
        before = np.full(len(x), -1)
        for _ in range(SWEEPS):
            x = self.best_lines(self.cells, self.best_h(x, y), y)
            y = self.best_lines(self.across, self.best_h(x, y), x)
            now = self.explained(x, y)
            if (now <= before).all() or (now == self.total).any():
                break
            before = np.maximum(now, before)
        return x, y, now


class Climb:
    """Placements that climb and are shaken, again and again; the next call goes on."""

    def __init__(self, cells: Table, group: Group) -> None:
        self.board = Board(cells, group)
        self.batch = min(LARGEST_BATCH, LARGEST_SWEEP // max(1, cells.size * group.order))
        self.price = 8 + self.batch * cells.size * group.order // COMPARISONS_OF_STEP
        self.random = np.random.default_rng(0)
        self.best: tuple[Rows, Columns, Int[np.ndarray, "start"]] | None = None

    def run(self, budget: Budget) -> Solution | None:
        """A solution, or None for a table that is too large to climb on."""
        while self.batch:
            budget.spend(self.price)
            x, y, right = self.board.ascend(*self._shaken())
            if self.best is not None:
                better = right >= self.best[2]
                x, y = (np.where(better[:, None], new, old) for new, old in ((x, self.best[0]), (y, self.best[1])))
                right = np.maximum(right, self.best[2])
            self.best = x, y, right
            for k in np.flatnonzero(right == self.board.total):
                return Solution(x[k], y[k])
        return None

    def _shaken(self) -> tuple[Rows, Columns]:
        """Random placements at first, then the best ones with some lines moved."""
        m = self.board.group.order
        x, y = (self.random.integers(0, m, (self.batch, lines)) for lines in self.board.cells.shape)
        if self.best is None:
            return x, y
        share = np.resize(SHAKES, self.batch)[:, None]
        moved = [self.random.random(part.shape) < share for part in (x, y)]
        return np.where(moved[0], x, self.best[0]), np.where(moved[1], y, self.best[1])
