"""A falling curve through measured points, fitted for the least absolute error and judged on points it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import ArrayLike

from modgrok.loss_law.expectation import INTERVAL

FOLDS = 10
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Expected accuracies between which errors are counted."""
MOST_LEVELS = 1000
"""Levels that a fit begins with; where there are more rows, neighbours share one."""
FEWEST_ROWS = 20
"""Rows that a bin needs for quantiles of its own; the others have those of all rows."""


@dataclass(frozen=True)
class Curve:
    """A falling curve through knots, straight between them.

    `below` and `above` say, for each of the `BINS`, how far the accuracies of networks that the curve was not fitted to
    lie from what it expects: nine in ten between the two.
    """

    x: tuple[float, ...]
    accuracy: tuple[float, ...]
    below: tuple[float, ...] = (0.0,) * (len(BINS) - 1)
    above: tuple[float, ...] = (0.0,) * (len(BINS) - 1)

    def at(self, x: ArrayLike) -> np.ndarray:
        return np.asarray(np.interp(np.asarray(x, float), self.x, self.accuracy))

    def interval(self, accuracy: float) -> tuple[float, float]:
        """Where nine in ten networks lie whose expected accuracy this is."""
        k = int(bin_of(accuracy))
        low, high = np.clip((accuracy + self.below[k], accuracy + self.above[k]), 0, 1).tolist()
        return min(low, accuracy), max(high, accuracy)

    def rounded(self) -> Curve:
        """The curve with six significant digits, as it is stored."""
        return Curve(*(tuple(float(f"{value:.6g}") for value in values) for values in vars(self).values()))


def bin_of(accuracy: ArrayLike) -> np.ndarray:
    """The place among the `BINS` of an expected accuracy; 1 belongs to the last."""
    return np.asarray(np.clip(np.searchsorted(BINS, accuracy, side="right") - 1, 0, len(BINS) - 2))


def fit_curve(x: Float[np.ndarray, "row"], accuracy: Float[np.ndarray, "row"]) -> Curve:
    """The falling curve of least absolute error: each of its levels becomes a knot at the level's mean x.

    By pooling adjacent violators: going through rising x, the last two levels are joined as long as they do not fall.
    The level of least absolute error is the median; that of two parts with equal medians is the same.
    """
    order = np.argsort(x, kind="stable")
    x, accuracy = x[order], accuracy[order]
    firsts = np.flatnonzero(np.diff(x, prepend=-np.inf))  # rows of equal x share a level
    firsts = firsts[:: -(-len(firsts) // MOST_LEVELS)]
    levels: list[tuple[int, float]] = []  # (first row, median)
    for first, end in pairwise([*firsts.tolist(), len(x)]):
        level = float(np.median(accuracy[first:end]))
        while levels and levels[-1][1] <= level:
            first, before = levels.pop()
            if before != level:
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


def with_interval(curve: Curve, expected: Float[np.ndarray, "row"], accuracy: Float[np.ndarray, "row"]) -> Curve:
    """The curve with the quantiles of what its expectations miss by, in every bin; of all rows where a bin has few."""
    bins, missed = bin_of(expected), accuracy - expected
    own = [missed[bins == k] if (bins == k).sum() >= FEWEST_ROWS else missed for k in range(len(BINS) - 1)]
    below, above = np.array([np.quantile(values, INTERVAL) for values in own]).T.tolist()
    return Curve(curve.x, curve.accuracy, tuple(below), tuple(above))
