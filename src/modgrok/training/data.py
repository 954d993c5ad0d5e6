"""The whole value table as training data: its rows in one fixed order, and splits of them by key.

Row i of the table of V variables modulo p is the input (n1, …, nV) whose digits in base p spell i, n1 first:
i = Σ_v n_v p^(V-1-v). A split shuffles the rows that are known and gives the first ones to training.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from modgrok.algebra.expression import parse
from modgrok.algebra.polynomial import value_table
from modgrok.base.errors import InputError


def function_table(text: str, modulus: int) -> tuple[Int[np.ndarray, "row"], int]:
    """The values of an expression on every row, and the number of variables that occur in it."""
    tree = parse(text, modulus)
    table = value_table(tree, modulus)
    return table.reshape(-1).astype(np.int32), table.ndim


def table_inputs(
    rows: Int[np.ndarray, "*batch"] | Int[Array, "*batch"], residues: Sequence[int]
) -> Int[Array, "*batch variable"]:
    """The inputs n1 … nV of some rows of the table: their digits, n1 first; variable v has residues[v] values."""
    strides = [prod(residues[v + 1 :]) for v in range(len(residues))]
    return jnp.stack([rows // stride % count for stride, count in zip(strides, residues, strict=True)], axis=-1)


def train_count(fraction: float, rows: int) -> int:
    """How many of the rows a fraction gives to training: at least one."""
    if not (isinstance(fraction, (int, float)) and 0 < fraction <= 1):
        raise InputError(f"fraction must be above 0 and at most 1, got {fraction!r}; 0.5 trains on half of the table")
    return max(1, round(fraction * rows))


def shuffled_rows(key: Array, rows: int) -> Int[Array, "row"]:
    """A permutation of the rows; a split into a larger training set with the same key contains the smaller one."""
    return jax.random.permutation(key, rows).astype(jnp.int32)


def known_rows(table: Int[Array, "row"], known: int) -> Int[Array, "known"]:
    """The rows of a table whose values are known (not negative); there must be `known` of them."""
    return jnp.flatnonzero(table >= 0, size=known).astype(jnp.int32)
