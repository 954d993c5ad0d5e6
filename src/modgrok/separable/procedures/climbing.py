"""Guesses by climbing: many placements at once, each moved to explain more cells, and shaken when nothing moves.

A placement of rows and columns explains a cell if h, taken as the most frequent value among the cells with one sum,
gives the cell's value. Moving every row, then every column, to where most of its cells are right never hurts and soon
ends in a placement that no single move improves. Then a few lines are put at random places and the climb begins
again; it goes on from the better of the two. A placement that explains every known cell is a solution. Few-valued h
with g on a part of the group are the tables for which counting and propagation see little, and climbing is best.

Guesses from phases: places read off a power iteration on the tensor of a table.

For f in the class, the tensor [f(a, b) = v] is a sum over characters χ of Z_m of χ(x(a))·χ(y(b))·ĥ_v(χ). So there are
phases u on rows, v on columns and weights w on values with w[f(a, b)] ≈ u(a)·v(b), and alternating least squares finds
such a triple; if its character generates the dual group, the angles are the places, up to a unit. Rounded, they start a
climb (see `climbing`). This is what finds g that are spread over the group, and many-valued h, at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Complex, Int

from modgrok.separable.budget import Budget, steps_for
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


STARTS = 32
"""Random starts of the power iteration that are worked on together."""
STEPS_OF_BATCH = 64
"""What a batch costs beside the comparisons of its ascent."""
CENTRED_STEPS, FREE_STEPS = 40, 25
LARGEST_ASCENT = 1 << 24
"""Most comparisons that one sweep of the ascent may take: m for every cell and start."""


def guess_phases(cells: Table, group: Group, rng: np.random.Generator, budget: Budget) -> Solution | None:
    """Places read off phases, improved cell by cell; a solution if every cell comes out right."""
    board, order = Board(cells, group), group.order
    batch = min(STARTS, LARGEST_ASCENT // (cells.size * order))
    price = steps_for(cells.size * order // 2)
    while batch:
        batch = max(1, min(batch, (budget.left - STEPS_OF_BATCH) // price))
        budget.spend(STEPS_OF_BATCH + batch * price)
        for rows, columns in phases(cells, rng, batch):
            x, y, right = board.ascend(places(rows, order), places(columns, order))
            for k in np.flatnonzero(right == cells.size):
                return Solution(x[k], y[k])
    return None


def unit(z: Complex[np.ndarray, "start line"]) -> Complex[np.ndarray, "start line"]:
    return np.asarray(z / np.maximum(np.abs(z), 1e-12))


def phases(
    cells: Table, rng: np.random.Generator, batch: int
) -> Iterator[tuple[Complex[np.ndarray, "start row"], Complex[np.ndarray, "start column"]]]:
    """Phases of rows and columns, first without the constant character, then as they settle when it is allowed."""
    values = int(cells.max()) + 1
    often = np.maximum(np.bincount(cells.ravel(), minlength=values), 1)
    weight = rng.standard_normal((batch, values)) + 1j * rng.standard_normal((batch, values))
    columns = np.exp(2j * np.pi * rng.random((batch, cells.shape[1])))
    keys = (np.arange(batch)[:, None] * values + cells.ravel()).ravel()
    for centred, steps in ((True, CENTRED_STEPS), (False, FREE_STEPS)):
        for _ in range(steps):
            matrix = weight[:, cells]
            if centred:
                matrix = matrix - matrix.mean(axis=1, keepdims=True)
                matrix = matrix - matrix.mean(axis=2, keepdims=True)
            rows = unit((matrix @ columns.conj()[:, :, None])[:, :, 0])
            columns = unit((rows.conj()[:, None, :] @ matrix)[:, 0])
            product = (rows[:, :, None] * columns[:, None, :]).ravel()
            sums = [np.bincount(keys, part, batch * values) for part in (product.real, product.imag)]
            weight = (sums[0] + 1j * sums[1]).reshape(batch, values) / often
        yield rows, columns


def places(phase: Complex[np.ndarray, "start line"], order: int) -> Int[np.ndarray, "start line"]:
    """The nearest multiples of a full turn over m, after the turn that fits them best."""
    angle = np.angle(phase)
    turn = np.angle(np.exp(1j * order * angle).sum(axis=1, keepdims=True)) / order
    return np.asarray(np.rint((angle - turn) * order / (2 * np.pi)).astype(np.int64) % order)
