"""What `loss_law.from_table` needs of a census: the scales of its coordinates, how far it reaches, and its errors.

A training is always judged by others: its expectation is asked of the trainings of other tables, of other families, or
of other moduli. Scales are chosen on one half of the tables, and errors measured on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from modgrok.loss_law.expectation import INTERVAL
from modgrok.loss_law.from_table import COORDINATES

NEIGHBOURS = 40
STEPS = (0.5, 0.7, 1.4, 2.0)
"""Factors by which a scale is tried to change."""
ROUNDS = 2
MOST_TUNED = 1500
"""Trainings whose errors choose the scales."""
BLOCK = 512
"""Trainings that are compared with all others at once."""

Points = Float[np.ndarray, "row coordinate"]
Column = Float[np.ndarray, "row"]
Groups = Shaped[np.ndarray, "row"]


@dataclass(frozen=True)
class HeldOut:
    """For each training that was asked: the median and two quantiles of its neighbours, and how far the last one is."""

    median: Float[np.ndarray, "asked"]
    low: Float[np.ndarray, "asked"]
    high: Float[np.ndarray, "asked"]
    reach: Float[np.ndarray, "asked"]


def held_out(points: Points, accuracy: Column, groups: Groups, asked: Int[np.ndarray, "asked"]) -> HeldOut:
    """What the neighbours of each training say that are in other groups than it."""
    parts = [neighbour_quantiles(points, accuracy, groups, block) for block in blocks(asked)]
    return HeldOut(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def blocks(asked: Int[np.ndarray, "asked"]) -> Iterator[Int[np.ndarray, "block"]]:
    return (asked[first : first + BLOCK] for first in range(0, len(asked), BLOCK))


def neighbour_quantiles(
    points: Points, accuracy: Column, groups: Groups, asked: Int[np.ndarray, "block"]
) -> tuple[Float[np.ndarray, "block"], ...]:
    """|x - y|² = |x|² + |y|² - 2xy for all pairs at once; trainings of the same group are infinitely far."""
    places = points[asked]
    squares = np.square(places).sum(1)[:, None] + np.square(points).sum(1)[None, :] - 2 * places @ points.T
    squares[groups[asked][:, None] == groups[None, :]] = np.inf
    near = np.argpartition(squares, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
    low, median, high = np.quantile(accuracy[near], (INTERVAL[0], 0.5, INTERVAL[1]), axis=1)
    reach = np.sqrt(np.maximum(np.take_along_axis(squares, near, axis=1).max(axis=1), 0))
    return median, low, high, reach


def choose_scales(points: Points, accuracy: Column, groups: Groups, tuned: Bool[np.ndarray, "row"]) -> Column:
    """Scales of the coordinates with a small mean error on the tuned rows, one coordinate at a time."""
    spread = points.std(axis=0)
    scales = np.where(spread > 0, 1 / np.maximum(spread, 1e-9), 1.0)
    rows = np.flatnonzero(tuned)
    asked = np.random.default_rng(0).permutation(rows)[:MOST_TUNED]

    def error(tried: Column) -> float:
        return float(np.abs(held_out(points * tried, accuracy, groups, asked).median - accuracy[asked]).mean())

    best = error(scales)
    for k in list(range(len(COORDINATES))) * ROUNDS:
        for factor in STEPS:
            tried = scales * np.where(np.arange(len(scales)) == k, factor, 1.0)
            if (found := error(tried)) < best:
                best, scales = found, tried
    return scales


def widening(found: HeldOut, accuracy: Float[np.ndarray, "asked"]) -> float:
    """By how much both ends of every interval move so that nine in ten accuracies fall into theirs."""
    outside = np.maximum(found.low - accuracy, accuracy - found.high)
    return max(0.0, float(np.quantile(outside, INTERVAL[1] - INTERVAL[0])))
