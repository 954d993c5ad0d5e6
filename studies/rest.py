"""Has a training come to rest? What a curve of test accuracies says about the steps that were not taken.

A level is the median of some measured points in a row, so that a single step of the optimiser says nothing. A network
has learned once its level is 99 %: a rate that throws it off again later is no matter of what can be learned. Where
that never happened, its level at the end is compared with the one at half of its steps: if twice the
steps made the accuracy rise, or the test loss fall, it is still rising; if they changed nothing, it is at rest. A
network at rest may still grok later, as one that has memorised may: no finite curve excludes that.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from modgrok.training.diagnosis import LEARNED, Curves

POINTS = 4
"""Measured points whose median is a level."""
RISE, FALL = 0.01, 0.05
"""A rise of the test accuracy (in itself), and a fall of the test loss (as a share of it), that are not rest."""


class Outcome(StrEnum):
    """The best first."""

    LEARNED = "learned"
    LATE = "learned late"
    RISING = "still rising"
    REST = "at rest below 99 %"


def level(curves: Curves, column: str, until: float = np.inf) -> float:
    """The median of a column's last points, of those up to a step."""
    return float(np.median(np.asarray(curves[column])[np.asarray(curves["step"]) <= until][-POINTS:]))


def learned_at(curves: Curves) -> int | None:
    """The first step at which the level of the test accuracy is 99 %."""
    values = np.asarray(curves["test_accuracy"])
    if not (values >= LEARNED).any():
        return None
    ends = range(1, len(values) + 1)
    return next((int(curves["step"][k - 1]) for k in ends if np.median(values[:k][-POINTS:]) >= LEARNED), None)


def outcome_of(curves: Curves, usual_steps: int) -> Outcome:
    """What became of a network whose test rows were to be learned within the usual steps."""
    learned = learned_at(curves)
    if learned is not None:
        return Outcome.LEARNED if learned <= usual_steps else Outcome.LATE
    half = float(curves["step"][-1]) / 2
    if curves["step"][0] > half:
        return Outcome.RISING
    rise = level(curves, "test_accuracy") - level(curves, "test_accuracy", half)
    lower = level(curves, "test_loss") < (1 - FALL) * level(curves, "test_loss", half)
    return Outcome.RISING if rise >= RISE or lower else Outcome.REST
