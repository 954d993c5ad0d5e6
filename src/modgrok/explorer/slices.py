"""What a page draws of a table: two of its axes at some values of the others, and of long axes every k-th value.

A cell that is drawn is a cell of the table, none is a mean of several: the mean of residues is no residue.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.function import Function
from modgrok.base.errors import InputError
from modgrok.explorer.encoding import UNKNOWN_CELL, encoded
from modgrok.explorer.limits import here


def slice_of(found: Function, at: str = "") -> dict[str, Any]:
    """Rows of the first variable and columns of the second, where the others have the values `at`, with commas."""
    if found.values > UNKNOWN_CELL:
        raise InputError(f"a picture has up to {UNKNOWN_CELL:,} values, this function has {found.values:,}")
    rest = asked_values(found, at)
    cells = here().cells
    every = 1 if found.sizes[0] * found.sizes[1] <= cells else -(-max(found.sizes[:2]) // int(cells**0.5))
    rows, columns = (np.arange(0, size, every) for size in found.sizes[:2])
    values = values_at(found, rows, columns, rest)
    return {
        "table": encoded(np.where(values < 0, UNKNOWN_CELL, values), "u16"),
        "shown": [len(rows), len(columns)],
        "every": every,
        "at": rest,
    }


def asked_values(found: Function, at: str) -> list[int]:
    """One value for each variable after the second; 1 where none are said, since a product at 0 is nothing to see."""
    others = found.sizes[2:]
    words = at.split(",") if at else ["1"] * len(others)
    if len(words) != len(others) or not all(word.strip().isdecimal() and len(word) <= 9 for word in words):
        raise InputError(
            f"at must have {len(others)} whole numbers, one for each variable after the second, got {at[:40]!r}"
        )
    for word, size in zip(words, others, strict=True):
        if int(word) >= size:
            raise InputError(f"at must have values from 0 to {size - 1}, got {int(word)}")
    return [int(word) for word in words]


def values_at(
    found: Function, rows: Int[np.ndarray, "row"], columns: Int[np.ndarray, "column"], rest: list[int]
) -> Int[np.ndarray, "row column"]:
    """The cells themselves, without the whole table where the function is written down."""
    grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    others = np.broadcast_to(np.array(rest, dtype=int), (len(grid), len(rest)))
    return np.asarray(found.at(np.hstack([grid, others]))).reshape(len(rows), len(columns))
