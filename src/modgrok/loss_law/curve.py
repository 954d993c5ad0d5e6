"""A falling curve through measured points, fitted for the least absolute error and judged on points it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

FOLDS = 10
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Expected accuracies between which errors are averaged."""


@dataclass(frozen=True)
class Curve:
    """A falling curve through knots, straight between them, and its mean absolute error in each of the `BINS`."""

    x: tuple[float, ...]
    accuracy: tuple[float, ...]
    errors: tuple[float, ...] = (0.0,) * (len(BINS) - 1)

    def at(self, x: Any) -> Any:
        return np.interp(x, self.x, self.accuracy)

    def error(self, accuracy: float) -> float:
        """The error of expectations near `accuracy`."""
        return self.errors[int(bin_of(accuracy))]

    def rounded(self) -> Curve:
        """The curve with six significant digits, as it is stored."""
        return Curve(*(tuple(float(f"{value:.6g}") for value in values) for values in vars(self).values()))


def bin_of(accuracy: Any) -> Any:
    """The place among the `BINS` of an expected accuracy; 1 belongs to the last."""
    return np.clip(np.searchsorted(BINS, accuracy, side="right") - 1, 0, len(BINS) - 2)


def fit_curve(x: Float[np.ndarray, "row"], accuracy: Float[np.ndarray, "row"]) -> Curve:
    """The falling curve of least absolute error: each of its levels becomes a knot at the level's mean x.

    By pooling adjacent violators: going through rising x, the last two levels are joined as long as they do not fall.
    The level of least absolute error is the median.
    """
    order = np.argsort(x, kind="stable")
    x, accuracy = x[order], accuracy[order]
    firsts = np.flatnonzero(np.diff(x, prepend=-np.inf))  # rows of equal x share a level
    levels: list[tuple[int, float]] = []  # (first row, median)
    for first, end in pairwise([*firsts.tolist(), len(x)]):
        level = float(np.median(accuracy[first:end]))
        while levels and levels[-1][1] <= level:
            first, _ = levels.pop()
            level = float(np.median(accuracy[first:end]))
        levels.append((first, level))
    starts = np.array([first for first, _ in levels])
    means = np.add.reduceat(x, starts) / np.diff([*starts, len(x)])
    return Curve(tuple(means.tolist()), tuple(level for _, level in levels))


def cross_validated(
    x: Float[np.ndarray, "row"], accuracy: Float[np.ndarray, "row"], groups: Shaped[np.ndarray, "row"]
) -> Float[np.ndarray, "row"]:
    """Each row's accuracy from a curve fitted to the other nine tenths; rows of one group stay together."""
    names, group = np.unique(groups, return_inverse=True)
    fold = np.random.default_rng(0).permutation(len(names))[group] % FOLDS
    expected = np.empty(len(x))
    for k in range(FOLDS):
        if (fold == k).any():
            expected[fold == k] = fit_curve(x[fold != k], accuracy[fold != k]).at(x[fold == k])
    return expected


def with_errors(curve: Curve, expected: Float[np.ndarray, "row"], accuracy: Float[np.ndarray, "row"]) -> Curve:
    """The curve with the mean absolute error in every bin of expected accuracies; of all rows where a bin is empty."""
    bins, missed = bin_of(expected), np.abs(expected - accuracy)
    errors = [missed[bins == k].mean() if (bins == k).any() else missed.mean() for k in range(len(BINS) - 1)]
    return Curve(curve.x, curve.accuracy, tuple(float(error) for error in errors))
