"""Cells of tables: whole numbers from 0 on, or unknown, in arrays and as people and programs write them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Int, Shaped

from modgrok.algebra.polynomial import LARGEST_TABLE
from modgrok.base.errors import InputError

UNKNOWN = -1
"""Stands for the value of a cell that is not known."""
UNKNOWN_WORDS = ("", "?", "-1", "nan", "na", "null", "none")


def whole_numbers(
    array: Shaped[np.ndarray, "..."], what: str, place: Callable[[tuple[int, ...]], str]
) -> Int[np.ndarray, "..."]:
    """Whole numbers from 0 on, with `UNKNOWN` where the array has a mask, NaN, None or -1.

    Anything else is an `InputError` about `what` that names the `place` of the first cell that is wrong.
    """
    hidden = np.ma.getmaskarray(array)
    plain = np.ma.getdata(array)
    if plain.dtype.kind in "OU":
        parsed = [whole_cell(cell) for cell in plain.reshape(-1)]
        wrong = np.array([number is None for number in parsed], dtype=bool).reshape(plain.shape)
        found = np.array([UNKNOWN if number is None else number for number in parsed], np.int64).reshape(plain.shape)
    elif plain.dtype.kind == "f":
        plain = plain.astype(np.promote_types(plain.dtype, np.float64))  # the limit is above what half precision holds
        missing = np.isnan(plain)
        wrong = ~missing & ((plain != np.round(plain)) | (plain < UNKNOWN) | (plain > LARGEST_TABLE))
        found = np.where(missing | wrong, UNKNOWN, plain).astype(np.int64)
    elif plain.dtype.kind in "iub":
        wrong = (plain > LARGEST_TABLE) | ((plain < UNKNOWN) if plain.dtype.kind == "i" else False)
        found = plain.astype(np.int64)
    else:
        raise InputError(f"{what} must hold whole numbers, got {plain.dtype}")
    if (wrong & ~hidden).any():
        cell = tuple(int(k) for k in np.argwhere(wrong & ~hidden)[0])
        raise InputError(f"{what}, {place(cell)}: {refusal(plain[cell])}")
    return np.where(hidden, UNKNOWN, found)


def whole_cell(cell: object) -> int | None:
    """The number in a cell, `UNKNOWN` for one that is empty, None for anything that is neither."""
    if cell is None or cell is np.ma.masked or (isinstance(cell, float) and cell != cell):
        return UNKNOWN
    text = str(cell).strip()
    if text.lower() in UNKNOWN_WORDS:
        return UNKNOWN
    if text.isascii() and text.isdigit():
        return int(text) if len(text) < 10 else None
    plain = set(text) <= set("0123456789.eE+-") and is_number(text)
    number = float(text) if plain else 0.5  # 3.0 and 3.000e+00, as programs write whole numbers, are 3
    return int(number) if number.is_integer() and UNKNOWN <= number < 1e9 else None


def refusal(cell: object) -> str:
    """Why a cell is refused, and what to do."""
    text = repr(cell.item() if isinstance(cell, np.generic) else cell)
    shown = text if len(text) <= 30 else f"{text[:29]}…"
    if text.strip("'").isdigit():
        return f"{shown} is too large for a value; number the values 0, 1, 2, …"
    return (
        f"{shown} is no whole number from 0 on; number the values 0, 1, 2, …, and leave unknown cells empty "
        "(-1 in an array)"
    )


def is_number(text: str) -> bool:
    """Numbers that are no whole ones are mistakes, not labels."""
    try:
        float(text)
    except ValueError:
        return False
    return True
