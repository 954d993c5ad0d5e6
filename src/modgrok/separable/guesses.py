"""Guesses that can only answer yes: fibre sizes taken from cell counts, and phases from a power iteration.

Sizes. When the bounds leave room, the complete search has to consider every way to share it out. If x and y are
spread evenly, the number of cells with value v is about proportional to the size of its fibre; a search that
takes such sizes for granted is fast when they are right.

Phases. For f in the class, the tensor [f(a, b) = v] is a sum over characters χ of Z_m of χ(x(a))·χ(y(b))·ĥ_v(χ). So
there are phases u on rows, v on columns and weights w on values with w[f(a, b)] ≈ u(a)·v(b), and alternating least
squares finds such a triple; if its character generates the dual group, the angles are the places, up to a unit.
Rounded, they start an ascent on the number of cells that some h explains.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Complex, Int

from modgrok.separable.budget import Budget, LimitReached, steps_for
from modgrok.separable.groups import Group
from modgrok.separable.reduction import Table
from modgrok.separable.search import Solution, search

SIZE_GUESSES = 5
STARTS = 12
"""Random starts of one call to the power iteration."""
STEPS_OF_START = 64
"""What a start costs beside the comparisons of its ascent."""
CENTRED_STEPS, FREE_STEPS, SWEEPS = 40, 25, 60
LARGEST_ASCENT = 1 << 26
"""Most comparisons that one sweep of the ascent may take: m for every cell."""


def guess_sizes(cells: Table, group: Group, need: Int[np.ndarray, "value"], budget: Budget) -> Solution | None:
    """Searches with the fibre sizes taken for granted, first those that use all the room, in both orientations."""
    guesses = list(likely_sizes(cells, group.order, need))[::-1]
    share = budget.limit // (2 * len(guesses))
    for sizes in guesses:
        for transposed in (False, True):
            try:
                result = search(cells, group, sizes, transposed, budget.part(share), sizes)
            except LimitReached:
                budget.check()
                continue
            if isinstance(result, Solution):
                return result
    return None


def likely_sizes(cells: Table, order: int, need: Int[np.ndarray, "value"]) -> Iterator[Int[np.ndarray, "value"]]:
    """The bounds plus more and more of the room, each element given to the value with most cells per member."""
    often = np.bincount(cells.ravel(), minlength=len(need))
    room = order - int(need.sum())
    shares = {round(room * k / (SIZE_GUESSES - 1)) for k in range(SIZE_GUESSES)}
    sizes = need.copy()
    for given in range(room + 1):
        if given in shares:
            yield sizes.copy()
        sizes[(often / sizes).argmax()] += 1


def guess_phases(cells: Table, order: int, rng: np.random.Generator, budget: Budget) -> Solution | None:
    """Places read off phases, improved cell by cell; a solution if every cell comes out right."""
    if cells.size * order > LARGEST_ASCENT:
        return None
    for _ in range(STARTS):
        budget.spend(STEPS_OF_START + 3 * steps_for(cells.size * order))
        for rows, columns in phases(cells, rng):
            x, y = ascend(cells, order, places(rows, order), places(columns, order))
            if explained(cells, order, x, y) == cells.size:
                return Solution(x, y)
    return None


def unit(z: Complex[np.ndarray, "line"]) -> Complex[np.ndarray, "line"]:
    return z / np.maximum(np.abs(z), 1e-12)


def phases(
    cells: Table, rng: np.random.Generator
) -> Iterator[tuple[Complex[np.ndarray, "row"], Complex[np.ndarray, "column"]]]:
    """Phases of rows and columns, first without the constant character, then as they settle when it is allowed."""
    values = int(cells.max()) + 1
    often = np.maximum(np.bincount(cells.ravel(), minlength=values), 1)
    weight = rng.standard_normal(values) + 1j * rng.standard_normal(values)
    columns = np.exp(2j * np.pi * rng.random(cells.shape[1]))
    for centred, steps in ((True, CENTRED_STEPS), (False, FREE_STEPS)):
        for _ in range(steps):
            matrix = weight[cells]
            if centred:
                matrix = matrix - matrix.mean(axis=0) - matrix.mean(axis=1, keepdims=True) + matrix.mean()
            rows = unit(matrix @ columns.conj())
            columns = unit(matrix.T @ rows.conj())
            product = np.outer(rows, columns).ravel()
            sums = [np.bincount(cells.ravel(), part, values) for part in (product.real, product.imag)]
            weight = (sums[0] + 1j * sums[1]) / often
        yield rows, columns


def places(phase: Complex[np.ndarray, "line"], order: int) -> Int[np.ndarray, "line"]:
    """The nearest multiples of a full turn over m, after the turn that fits them best."""
    angle = np.angle(phase)
    turn = np.angle(np.exp(1j * order * angle).sum()) / order
    return np.rint((angle - turn) * order / (2 * np.pi)).astype(np.int64) % order


def best_h(cells: Table, order: int, x: Int[np.ndarray, "row"], y: Int[np.ndarray, "column"]) -> np.ndarray:
    """For each element the value that most cells with that sum have."""
    values = int(cells.max()) + 1
    keys = (x[:, None] + y) % order * values + cells
    return np.bincount(keys.ravel(), minlength=order * values).reshape(order, values).argmax(axis=1)


def explained(cells: Table, order: int, x: Int[np.ndarray, "row"], y: Int[np.ndarray, "column"]) -> int:
    return int((best_h(cells, order, x, y)[(x[:, None] + y) % order] == cells).sum())


def ascend(
    cells: Table, order: int, x: Int[np.ndarray, "row"], y: Int[np.ndarray, "column"]
) -> tuple[Int[np.ndarray, "row"], Int[np.ndarray, "column"]]:
    """Move every row, then every column, to where most of its cells are right, until that stops helping."""
    before = -1
    for _ in range(SWEEPS):
        h = best_h(cells, order, x, y)
        x = np.stack([(h[(i + y) % order] == cells).sum(axis=1) for i in range(order)]).argmax(axis=0)
        h = best_h(cells, order, x, y)
        y = np.stack([(h[(j + x) % order][:, None] == cells).sum(axis=0) for j in range(order)]).argmax(axis=0)
        now = explained(cells, order, x, y)
        if now <= before:
            break
        before = now
    return x, y
