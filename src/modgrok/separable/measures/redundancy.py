"""Redundancy: the share of test cells with a twin in the training part.

Two cells are twins if their rows are equal as functions and their columns are equal as functions; twins have one
value. A memoriser that notices nothing but twins answers a test cell iff one of its twins was in the training set.
Redundancy is a fact about the table and the split. What a network reaches may lie above it, and below: that is for
`modgrok.loss_law` to say.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from modgrok.base.errors import InputError
from modgrok.separable.reductions.reduction import line_classes


def twin_classes(table: Int[np.ndarray, "p ..."]) -> Int[np.ndarray, "p ..."]:
    """The number of the class of twins that each cell belongs to."""
    numbers = np.zeros((1,) * table.ndim, dtype=np.int64)
    for axis, length in enumerate(table.shape):
        sources, classes = line_classes(np.moveaxis(table, axis, 0).reshape(length, -1))
        shape = [length if k == axis else 1 for k in range(table.ndim)]
        numbers = numbers * len(sources) + classes.reshape(shape)
    return numbers


def redundancy(table: Int[np.ndarray, "p ..."], fraction: float) -> float:
    """The expected share of test cells with a twin in a random training set of `fraction` of the cells.

    Unknown cells, which are negative, are in neither; rows are equal where they are unknown alike. 0 of a table whose
    known cells are too few for both.
    """
    known = table >= 0
    cells = int(known.sum())
    if cells < table.size and not 0 < round(fraction * cells) < cells:
        return 0.0
    return answered_share(twin_classes(table)[known], fraction)


def twins_and_guesses(redundancy: float, modulus: int) -> float:
    """The accuracy of a memoriser that answers twins, and guesses the other test cells among the `modulus` values."""
    return redundancy + (1 - redundancy) / modulus


def answered_share(classes: Int[np.ndarray, "p ..."], fraction: float) -> float:
    """The expected share of test cells one of whose class is in a random training set, exactly.

    Of N cells, T are tested. Given that a cell is tested, the k - 1 others of its class are all tested too with
    probability Π_{j=1}^{k-1} (T - j) / (N - j).
    """
    cells = classes.size
    trained = round(fraction * cells) if 0 < fraction < 1 else 0
    if not 0 < trained < cells:
        raise InputError(
            f"the training fraction must leave cells on both sides, got {fraction} of {cells}; give 0.5, for example"
        )
    tested = cells - trained
    sizes, counts = np.unique(np.bincount(classes.ravel()), return_counts=True)
    j = np.arange(1, sizes.max())
    missed = np.concatenate([[1.0], np.cumprod(np.maximum(tested - j, 0) / (cells - j))])
    unanswered = sum(int(k) * int(n) * missed[k - 1] for k, n in zip(sizes, counts, strict=True) if k)
    return float(1 - unanswered / cells)


def redundancy_of_split(table: Int[np.ndarray, "p ..."], train_mask: Bool[np.ndarray, "p ..."]) -> float:
    """The share of test cells of one given split that have a twin in its training set."""
    train_mask = np.asarray(train_mask)
    if train_mask.shape != table.shape or train_mask.dtype != bool or train_mask.all():
        raise InputError(
            f"a split is a boolean mask of shape {table.shape} with at least one test cell, "
            f"got shape {train_mask.shape} of {train_mask.dtype}"
        )
    numbers = twin_classes(table)
    trained = np.zeros(int(numbers.max()) + 1, dtype=bool)
    trained[numbers[train_mask]] = True
    return float(trained[numbers[~train_mask]].mean())
