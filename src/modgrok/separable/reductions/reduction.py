"""Reduction to distinct rows and distinct columns, where g1 and g2 must be injective.

If rows a and a' of f are equal, resetting g1(a') to g1(a) keeps f; and g1(a) = g1(a') forces equal rows. So f is
in the class iff the table of distinct rows × distinct columns admits *injective* x (on rows) and y (on columns).

∞ turns a whole row or column into one value w. For a fixed w, sending every constant-w row and column to ∞ only
removes constraints from the rest. So with an absorbing element it is enough to try each such w; if f has no
constant row or column, ∞ cannot be used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int

Table = Int[np.ndarray, "row column"]


@dataclass(frozen=True)
class Reduced:
    """The table of distinct lines left after the lines that go to ∞ (value `absorbed`) are taken away.

    Row a of the table is line row_line[a] of the reduced one, or -1 at ∞; row_source[i] is the row of the table that
    line i is. The same for columns. Cells below 0 are unknown.
    """

    absorbed: int | None
    table: Int[np.ndarray, "p q"]
    row_line: Int[np.ndarray, "p"]
    column_line: Int[np.ndarray, "q"]
    row_source: Int[np.ndarray, "row"]
    column_source: Int[np.ndarray, "column"]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.row_source), len(self.column_source)

    @cached_property
    def _lines(self) -> Table:
        return np.asarray(self.table[np.ix_(self.row_source, self.column_source)])

    @cached_property
    def values(self) -> Int[np.ndarray, "value"]:
        return np.unique(self._lines[self._lines >= 0])

    @cached_property
    def cells(self) -> Table:
        """The reduced table: cells[i, j] numbers the value values[cells[i, j]], and is -1 where nothing is known."""
        return np.where(self._lines < 0, -1, np.searchsorted(self.values, self._lines))

    def transposed(self) -> Reduced:
        return Reduced(
            absorbed=self.absorbed,
            table=self.table.T,
            row_line=self.column_line,
            column_line=self.row_line,
            row_source=self.column_source,
            column_source=self.row_source,
        )

    @cached_property
    def row_counts(self) -> Int[np.ndarray, "row value"]:
        """How often each value stands in each row."""
        return value_counts(self.cells, len(self.values))

    @cached_property
    def column_counts(self) -> Int[np.ndarray, "column value"]:
        return value_counts(self.cells.T, len(self.values))

    @cached_property
    def fibre_bounds(self) -> Int[np.ndarray, "value"]:
        """The least size of each fibre h⁻¹(v): cells of one line have different sums, so at least the most
        times v stands in one line."""
        return np.asarray(np.maximum(self.row_counts.max(axis=0), self.column_counts.max(axis=0)))


def value_counts(cells: Table, values: int) -> Int[np.ndarray, "row value"]:
    rows = len(cells)
    keys = np.arange(rows)[:, None] * values + cells
    return np.bincount(keys.ravel(), minlength=rows * values).reshape(rows, values)


def line_classes(table: Table) -> tuple[Int[np.ndarray, "line"], Int[np.ndarray, "row"]]:
    """(first row of each class of equal rows, class of each row), classes in order of first appearance."""
    table = np.ascontiguousarray(table)
    number: dict[bytes, int] = {}
    sources: list[int] = []
    classes = np.empty(len(table), dtype=np.int64)
    for a, row in enumerate(table):
        k = number.setdefault(row.tobytes(), len(sources))
        if k == len(sources):
            sources.append(a)
        classes[a] = k
    return np.array(sources, dtype=np.int64), classes


def absorbable_values(table: Int[np.ndarray, "p ..."]) -> list[int]:
    """The values that all known cells of some line have, a line being one value of one variable: what ∞ can carry."""
    found: set[int] = set()
    for axis, size in enumerate(table.shape):
        lines = np.moveaxis(table, axis, 0).reshape(size, -1)
        most = lines.max(axis=1, keepdims=True)
        found.update(most[(most >= 0).all(axis=1) & ((lines < 0) | (lines == most)).all(axis=1), 0].tolist())
    return sorted(found)


def reductions(table: Table, absorbed: list[int | None]) -> list[Reduced]:
    """For each value the table without the constant lines of that value, with one of each class of equal lines.

    Lines that differ do so outside of constant lines, so the classes are those of the whole table.
    """
    (row_first, row_class), (column_first, column_class) = line_classes(table), line_classes(table.T)
    found = []
    for w in absorbed:
        rows, columns = row_first, column_first
        if w is not None:
            rows = rows[(table[rows] != w).any(axis=1)]
            columns = columns[(table[:, columns] != w).any(axis=0)]
        found.append(
            Reduced(
                absorbed=w,
                table=table,
                row_line=renumbered(row_first, rows)[row_class],
                column_line=renumbered(column_first, columns)[column_class],
                row_source=rows,
                column_source=columns,
            )
        )
    return found


def renumbered(lines: Int[np.ndarray, "line"], kept: Int[np.ndarray, "kept"]) -> Int[np.ndarray, "line"]:
    """For each line its number among those kept, or -1."""
    return np.where(np.isin(lines, kept), np.searchsorted(kept, lines), -1)


def spread(size: int, kept: Int[np.ndarray, "kept"], places: Int[np.ndarray, "kept"]) -> tuple[int | None, ...]:
    """The places of all lines: of those that are kept, and None for the others, which are at ∞."""
    found: list[int | None] = [None] * size
    for line, place in zip(kept.tolist(), places.tolist(), strict=True):
        found[line] = place
    return tuple(found)


def reduce_table(table: Table, absorbed: int | None = None) -> Reduced:
    """The reduction for one value that ∞ carries, or for a group without ∞."""
    return reductions(table, [absorbed])[0]
