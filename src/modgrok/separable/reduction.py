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

    cells[i, j] numbers the value values[cells[i, j]]; row a of f is line row_line[a] of cells, or -1 at ∞;
    row_source[i] is the first row of f that became line i. The same for columns.
    """

    absorbed: int | None
    cells: Table
    values: Int[np.ndarray, "value"]
    row_line: Int[np.ndarray, "p"]
    column_line: Int[np.ndarray, "q"]
    row_source: Int[np.ndarray, "row"]
    column_source: Int[np.ndarray, "column"]

    def transposed(self) -> Reduced:
        return Reduced(
            absorbed=self.absorbed,
            cells=np.ascontiguousarray(self.cells.T),
            values=self.values,
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
        return np.maximum(self.row_counts.max(axis=0), self.column_counts.max(axis=0))


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


def absorbable_values(table: Table) -> list[int]:
    """The values of constant rows and columns: what ∞ can carry."""
    rows = table[(table == table[:, :1]).all(axis=1), 0]
    columns = table[0, (table == table[:1]).all(axis=0)]
    return sorted({int(w) for w in rows} | {int(w) for w in columns})


def reduce_table(table: Table, absorbed: int | None = None) -> Reduced:
    """Send the constant lines of value `absorbed` to ∞, then keep one of each class of equal lines."""
    rows, columns = np.arange(table.shape[0]), np.arange(table.shape[1])
    if absorbed is not None:
        rows = rows[(table != absorbed).any(axis=1)]
        columns = columns[(table != absorbed).any(axis=0)]
    rest = table[np.ix_(rows, columns)]
    row_first, row_class = line_classes(rest)
    column_first, column_class = line_classes(rest.T)
    values, cells = np.unique(rest[np.ix_(row_first, column_first)], return_inverse=True)
    row_line, column_line = np.full(table.shape[0], -1), np.full(table.shape[1], -1)
    row_line[rows], column_line[columns] = row_class, column_class
    return Reduced(
        absorbed=absorbed,
        cells=np.ascontiguousarray(cells.reshape(len(row_first), len(column_first)).astype(np.int64)),
        values=values,
        row_line=row_line,
        column_line=column_line,
        row_source=rows[row_first],
        column_source=columns[column_first],
    )
