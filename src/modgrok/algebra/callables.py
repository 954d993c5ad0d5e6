"""Tables of Python functions, which are called with residues on every cell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from operator import index
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.cells import UNKNOWN
from modgrok.algebra.field import check_modulus
from modgrok.algebra.polynomial import LARGEST_TABLE
from modgrok.base.errors import InputError


def table_of(function: Callable[..., Any], modulus: int | None, sizes: Sequence[int] | None) -> Int[np.ndarray, "..."]:
    """The values on every cell, modulo `modulus` if given; each variable has `modulus` values, or `sizes`."""
    if sizes is not None:
        shape = tuple(map(check_modulus, sizes))
    elif modulus is not None:
        shape = (modulus,) * arguments(function)
    else:
        raise InputError(
            "a Python function needs a modulus: give mod=97, or sizes=(30, 40) for other numbers of values"
        )
    if (cells := prod(shape)) > LARGEST_TABLE:
        raise InputError(f"a table of {cells:,} values is above the limit of {LARGEST_TABLE:,}; use smaller sizes")
    flat = [value_at(function, cell, modulus) for cell in product(*map(range, shape))]
    return np.array(flat, dtype=np.int64).reshape(shape)


def arguments(function: Callable[..., Any]) -> int:
    """How many values a Python function takes."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        taken = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds and p.default is p.empty]
    except (TypeError, ValueError):
        taken = []
    if not taken:
        raise InputError(
            "the function does not say how many values it takes; give lambda a, b: f(a, b), or "
            "mg.read_function(f, sizes=(97, 97))"
        )
    return len(taken)


def value_at(function: Callable[..., Any], cell: tuple[int, ...], modulus: int | None) -> int:
    """The value at a cell as a whole number, modulo `modulus` if given; `UNKNOWN` where the function gives None."""
    try:
        value = function(*cell)
    except Exception as error:
        raise InputError(f"the function failed at {cell}: {type(error).__name__}: {error}") from error
    if value is None:
        return UNKNOWN
    try:
        number = index(value)
    except TypeError:
        raise InputError(f"values must be whole numbers, the function gives {value!r} at {cell}") from None
    if modulus is None and not 0 <= number < LARGEST_TABLE:
        raise InputError(f"values must be from 0 on, the function gives {number} at {cell}; give mod= to reduce them")
    return number if modulus is None else number % modulus
