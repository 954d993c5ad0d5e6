"""A group behind a table with any h: symmetries that keep every value and take every row, and column, to every other.

Let f(a, b) = h(g1(a) · g2(b)) with g1 and g2 onto a group G. For every c the move "row x to x c⁻¹, column y to c y"
keeps all values, and these moves take every row to every other and every column too; where h does not tell some
elements apart, equal rows (columns) are one, and the moves are still there. Conversely let H be any group of symmetries
(ρ, κ) with f(ρ(a), κ(b)) = f(a, b) that takes row 0 to every row and column 0 to every column. Choose σ_a in H that
takes row 0 to row a, and τ_b that takes column 0 to column b. Then

    f(a, b) = f(σ_a(0), τ_b(0)) = f(0, σ_a⁻¹ τ_b (0)) = h(g1(a) · g2(b))

with g1(a) = σ_a⁻¹, g2(b) = τ_b and h(σ) = f(0, σ(0)). So a table is of this form with g1 and g2 onto (but for what h
does not tell apart) if and only if its symmetries are transitive on rows and on columns. If it has n rows and n
columns, no two alike, and the group has n elements, g1 and g2 must be onto: two rows that no symmetry exchanges refute
all of them.

A small H is looked for: one with a single element for every row. It is built up by a complete search: whatever H is, it
has exactly one element that takes row 0 to the first row that is not reached yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from jaxtyping import Int

from modgrok.separable.budget import Budget, LimitReached, steps_for
from modgrok.separable.procedures.quadrangles import Placed
from modgrok.separable.reductions.automorphisms import COLUMNS, ROWS, Symmetries, Symmetry
from modgrok.separable.reductions.reduction import Table
from modgrok.separable.verdict import Refutation

LARGEST_ORDER = 800
"""Elements of a group of symmetries; the kernel tests all products of three of them."""

Moves = Int[np.ndarray, "element line"]
"""One symmetry a row: where it takes every row and, numbered after these, every column."""


def group_of_symmetries(cells: Table, budget: Budget) -> Placed | Refutation | None:
    """A group over which the table is h(g1 · g2), or a line that no symmetry takes the first one to; None where there
    are more symmetries than can be looked through. `LimitReached` where the budget ends first."""
    rows, columns = cells.shape
    if rows < columns:
        found = group_of_symmetries(np.ascontiguousarray(cells.T), budget)
        return transposed(found) if isinstance(found, Placed) else other_side(found)
    moves: list[Int[np.ndarray, "line"]] = []
    symmetries = Symmetries(cells, budget, fix_values=True)
    for part, first, count in ((ROWS, 0, rows), (COLUMNS, rows, columns)):
        while len(missing := np.setdiff1d(np.arange(first, first + count), orbit(moves, first))):
            target = int(missing[0]) - first
            move = next(symmetries.carrying(part, 0, target), None)
            if move is None:
                return {"kind": "intransitive", "side": "row" if part == ROWS else "column", "line": target}
            moves.append(joined(move, rows))
    group: Moves | None = None
    with suppress(LimitReached):
        group = regular(cells, budget.part(budget.left // 2))
    if group is None:
        group = generated(moves, rows + columns, LARGEST_ORDER, budget)
    return None if group is None else placement(group, cells)


def joined(move: Symmetry, rows: int) -> Int[np.ndarray, "line"]:
    return np.concatenate([move.rows, rows + move.columns])


def orbit(moves: list[Int[np.ndarray, "line"]], line: int) -> list[int]:
    """Where moves take a line, one after the other."""
    reached = [line]
    for at in reached:
        reached += sorted({int(move[at]) for move in moves} - set(reached))
    return reached


def generated(
    moves: list[Int[np.ndarray, "line"]], lines: int, most: int, budget: Budget, *, free: int = 0
) -> Moves | None:
    """All products of moves, the identity first; None if they are more than `most`, or if one of them that is not the
    identity leaves one of the first `free` lines where it is."""
    everything = np.arange(lines)
    found, known = [everything], {everything.tobytes()}
    for move in found:
        for other in moves:
            budget.spend(steps_for(lines))
            product = move[other]
            if (key := product.tobytes()) in known:
                continue
            if len(found) == most or (product[:free] == everything[:free]).any():
                return None
            known.add(key)
            found.append(product)
    return np.array(found)


def regular(cells: Table, budget: Budget) -> Moves | None:
    """Symmetries that have one element for each row and are transitive on columns; None if there are none."""
    rows, columns = cells.shape
    lines = rows + columns
    free = lines if rows == columns else rows
    symmetries = Symmetries(cells, budget, fix_values=True)
    choices: dict[int, Choices] = {}

    def grown(moves: list[Int[np.ndarray, "line"]]) -> Moves | None:
        found = generated(moves, lines, rows, budget, free=free)
        if found is None:
            return None
        reached = set(found[:, 0].tolist())
        if len(reached) == rows:
            return found if len(np.unique(found[:, rows])) == columns else None
        target = next(a for a in range(rows) if a not in reached)
        if target not in choices:
            choices[target] = Choices(symmetries.carrying(ROWS, 0, target), rows)
        for move in choices[target]:
            if (larger := grown([*moves, move])) is not None:
                return larger
        return None

    return grown([])


class Choices:
    """The symmetries that take row 0 to one row, each enumerated once, when it is asked for."""

    def __init__(self, found: Iterator[Symmetry], rows: int) -> None:
        self.source, self.rows = found, rows
        self.kept: list[Int[np.ndarray, "line"]] = []

    def __iter__(self) -> Iterator[Int[np.ndarray, "line"]]:
        k = 0
        while True:
            while k >= len(self.kept):
                symmetry = next(self.source, None)
                if symmetry is None:
                    return
                self.kept.append(joined(symmetry, self.rows))
            yield self.kept[k]
            k += 1


def placement(moves: Moves, cells: Table) -> Placed:
    """g1, g2 and h for a group of symmetries that is transitive on rows and on columns."""
    rows, columns = cells.shape
    number = {move.tobytes(): k for k, move in enumerate(moves)}
    products = np.array([[number[move[other].tobytes()] for other in moves] for move in moves])
    inverses = (products == 0).argmax(axis=1)
    to_row, to_column = moves[:, 0], moves[:, rows] - rows
    first_to_row = np.array([int(np.argmax(to_row == a)) for a in range(rows)])
    first_to_column = np.array([int(np.argmax(to_column == b)) for b in range(columns)])
    return Placed(products, (inverses[first_to_row], first_to_column), cells[0, to_column])


def transposed(found: Placed) -> Placed:
    """f(b, a) = h(g1(b) · g2(a)) read the other way round: x ∘ y = y x is a group too."""
    return Placed(np.ascontiguousarray(found.products.T), (found.g[1], found.g[0]), found.h)


def other_side(found: Refutation | None) -> Refutation | None:
    if found is None:
        return None
    side = {"row": "column", "column": "row"}[found["side"]]
    return {"kind": "intransitive", "side": side, "line": found["line"]}
