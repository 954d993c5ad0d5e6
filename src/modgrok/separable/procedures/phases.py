"""Guesses from phases: places read off a power iteration on the tensor of a table.

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
from modgrok.separable.procedures.climbing import Board
from modgrok.separable.procedures.search import Solution
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Table

LARGEST_BATCH = 32
"""Random starts of the power iteration that are worked on together."""
STEPS_OF_BATCH = 64
"""What a batch costs beside the comparisons of its ascent."""
CENTRED_STEPS, FREE_STEPS = 40, 25
LARGEST_ASCENT = 1 << 24
"""Most comparisons that one sweep of the ascent may take: m for every cell and start."""


def guess_phases(cells: Table, group: Group, rng: np.random.Generator, budget: Budget) -> Solution | None:
    """Places read off phases, improved cell by cell; a solution if every cell comes out right."""
    board, order = Board(cells, group), group.order
    batch = min(LARGEST_BATCH, LARGEST_ASCENT // (cells.size * order))
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
