"""The whole value table as training data: its rows in one fixed order, and splits of them by key.

Row i of the table of V variables modulo p is the input (n1, …, nV) whose digits in base p spell i, n1 first:
i = Σ_v n_v p^(V-1-v). A split shuffles the rows that are known and gives the first ones to training.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod, sqrt

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
        raise InputError(f"fraction must be above 0 and at most 1, got {fraction}; 0.5 trains on half of the table")
    return max(1, round(fraction * rows))


def shuffled_rows(key: Array, rows: int) -> Int[Array, "row"]:
    """A permutation of the rows; a split into a larger training set with the same key contains the smaller one."""
    return jax.random.permutation(key, rows).astype(jnp.int32)


def known_rows(table: Int[Array, "row"], known: int) -> Int[Array, "known"]:
    """The rows of a table whose values are known (not negative); there must be `known` of them."""
    return jnp.flatnonzero(table >= 0, size=known).astype(jnp.int32)


def group_capacity(train_rows: int, residues: Sequence[int], axis: int, rows: int | None = None) -> int:
    """A length that no list of training rows which share one residue of that variable exceeds.

    Of a table with unknown cells, of which `rows` are known, any residue may have as many of them as there are.
    Of a whole table the length X of a list is hypergeometric with mean μ = train_rows / p. It never exceeds the rows
    of the table that share the residue, and by Bernstein's inequality P(X ≥ μ + t) ≤ exp(-t² / (2μ + 2t/3)), which is
    e^-40 at the t taken here.
    """
    if rows is not None and rows < prod(residues):
        return min(prod(residues) // residues[axis], train_rows)
    mean = train_rows / residues[axis]
    t = 40 / 3 + sqrt((40 / 3) ** 2 + 80 * mean)
    return min(prod(residues) // residues[axis], train_rows, ceil(mean + t))


def residue_groups(
    shuffled: Int[Array, "row"], train_rows: int, residues: Sequence[int]
) -> Int[Array, "variable p slot"]:
    """groups[v, a] lists the training rows, by their place in the shuffled order, whose n_v is a.

    Lists are filled up with `train_rows`, one past the last place, and so are residues that a variable does not have.
    """
    place = jnp.full(prod(residues), train_rows, shuffled.dtype)
    place = place.at[shuffled].set(jnp.arange(shuffled.size, dtype=shuffled.dtype))
    grid = jnp.minimum(place, train_rows).reshape(tuple(residues))
    capacity = max(group_capacity(train_rows, residues, v, shuffled.size) for v in range(len(residues)))
    lists = []
    for v, count in enumerate(residues):
        by_residue = jnp.sort(jnp.moveaxis(grid, v, 0).reshape(count, -1), axis=-1)[:, :capacity]
        missing = ((0, max(residues) - count), (0, capacity - by_residue.shape[1]))
        lists.append(jnp.pad(by_residue, missing, constant_values=train_rows))
    return jnp.stack(lists)
