"""The loss law: the test accuracy that a stationary training loss stands for.

A two-layer network with weight decay, trained until it rests, keeps a training loss that measures how complex its
table is: what a network can only memorise costs norm, and weight decay makes norm cost loss. Complex tables do not
follow from some of their cells, so the training loss alone tells the test accuracy, along a falling curve.

One curve serves moduli, widths and fractions of all kinds, over the ratio

    odds(L) / odds(L of a random table at the same settings),    odds(L) = pL / (1 - pL).

1/p is the loss of the network that always answers 0, so pL is the share of the one-hot tensor that is not explained
and the odds set it against the explained share; a random table is what nothing but memory can fit.

Where a network memorises even random tables almost for free, its loss measures nothing, and neither does it from very
little of a table: there the law is silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from modgrok.algebra.function import Function
from modgrok.base.results import percent
from modgrok.loss_law.calibration import SettingOdds, calibration
from modgrok.loss_law.expectation import Expectation, not_covered

SETTING = ("modulus", "width", "fraction")
"""What a census varies: together they tell the odds of random tables."""
FREE = 0.05
"""Below this share unexplained, a random table counts as memorised for free."""
LEAST_FRACTION = 0.2
"""From less of a table, low losses come with any accuracy."""
DRIFT = 0.038
"""With more steps random tables are memorised a little better: their odds fall as steps^-DRIFT, as the older census
measured between 1000 and 1500 steps. The curve is steep where they lie, so that 2 % count."""
NEAR = 0.3
"""Settings so far apart in their logarithms still tell of each other's random tables."""


@runtime_checkable
class Settings(Protocol):
    """What the law needs to know of a training; a `TrainConfig` has it all."""

    @property
    def function(self) -> Function: ...
    @property
    def modulus(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def power(self) -> int | None: ...
    @property
    def fraction(self) -> float: ...
    @property
    def steps(self) -> int: ...


def odds(train_loss: ArrayLike, modulus: ArrayLike) -> np.ndarray:
    """The unexplained share of the one-hot tensor against the explained one."""
    unexplained = np.clip(np.multiply(modulus, train_loss), 1e-12, 1 - 1e-6)
    return np.asarray(unexplained / (1 - unexplained))


def random_odds(setting: Mapping[str, float], settings: Sequence[SettingOdds]) -> float:
    """The odds of random tables at a setting: as they were measured, or read off the settings around it.

    Their logarithm is fitted there by a quadratic in the logarithms of modulus, width and fraction, in which settings
    count by how near they are.
    """
    for known in settings:
        if all(getattr(known, name) == setting[name] for name in SETTING):
            return known.random_odds
    places = np.log([[getattr(known, name) for name in SETTING] for known in settings])
    away = places - np.log([setting[name] for name in SETTING])
    weights = np.sqrt(np.exp(-np.square(away / NEAR).sum(axis=1) / 2) + 1e-12)
    i, j = np.triu_indices(len(SETTING))
    terms = np.hstack([np.ones((len(away), 1)), away, away[:, i] * away[:, j]])
    logs = np.log([known.random_odds for known in settings])
    return float(np.exp(np.linalg.lstsq(terms * weights[:, None], logs * weights, rcond=1e-6)[0][0]))


def reference_odds(setting: Mapping[str, float], steps: float) -> float:
    """The odds of random tables at a setting after so many steps; the calibration has them after the fewest."""
    known = calibration()
    return random_odds(setting, known.settings) * drift(steps, known.covers["steps"][0])


def drift(steps: float, since: float) -> float:
    """By what the odds of random tables change between two numbers of steps."""
    return float((steps / since) ** -DRIFT)


def holds(random: float, fraction: float) -> bool:
    """Whether losses tell accuracies where random tables have these odds."""
    return random / (1 + random) >= FREE and fraction >= LEAST_FRACTION


def expected_from_loss(train_loss: float | None, config: Settings) -> Expectation:
    """The test accuracy to expect of a training with this config that ended with this loss on its training rows.

    A loss that is None or not finite, as after a training that diverged, tells nothing.
    """
    reason = why_not_covered(config)
    if reason:
        return not_covered(reason, "training loss")
    if train_loss is None or not isfinite(train_loss):
        return not_covered("the training loss is not a finite number", "training loss")
    known = calibration()
    setting = {name: getattr(config, name) for name in SETTING}
    random = reference_odds(setting, config.steps)
    if not holds(random, config.fraction):
        return not_covered(
            "at these settings even a random table is memorised almost for free (about "
            f"{percent(random / (1 + random), 1)} of it stays unexplained), so a training loss tells nothing",
            "training loss",
        )
    value = float(known.curve.at(float(odds(train_loss, config.modulus)) / random))
    reason = f"from {known.networks:,} networks, by the odds of its loss against those of random tables"
    return Expectation(value, *known.curve.interval(value), reason, "training loss")


def why_not_covered(config: Settings) -> str:
    """What puts a training outside the calibration, and what that covers; empty if nothing does."""
    if not config.function.square or config.function.known is not None:
        return f"the law was measured for whole tables modulo one number, not for {config.function.summary()}"
    known = calibration()
    for name, value in sorted(known.fixed.items(), key=lambda each: not isinstance(each[1], str)):  # kinds, then rates
        if getattr(config, name, value) != value:
            return f"the law was measured with {name} {value}, not {getattr(config, name)}"
    for name, (low, high) in known.covers.items():
        if not low <= getattr(config, name) <= high:
            return f"the law was measured for {name} {low:g} to {high:g}, not {getattr(config, name):g}"
    if config.power not in (None, 2) or len(config.function.variables) != 2:
        return "the law was measured for x² networks on functions of two variables"
    return ""
