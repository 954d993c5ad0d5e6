"""The loss law: the test accuracy that a stationary training loss stands for.

A two-layer network with weight decay, trained until it rests, keeps a training loss that measures how complex its
table is: what a network can only memorise costs norm, and weight decay makes norm cost loss. Complex tables do not
follow from some of their cells, so the training loss alone tells the test accuracy, along a falling curve.

Each setting has its own curve over the loss L. One curve serves all of them over the ratio

    odds(L) / odds(L of a random table at the same settings),    odds(L) = pL / (1 - pL).

1/p is the loss of the network that always answers 0, so pL is the share of the one-hot tensor that is not explained
and the odds set it against the explained share; a random table is what nothing but memory can fit.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from modgrok.algebra.expression import parse, variables
from modgrok.algebra.field import factors_text, is_prime
from modgrok.algebra.function import Given
from modgrok.loss_law.calibration import calibration
from modgrok.loss_law.expectation import Expectation, not_covered

SETTING = ("modulus", "width", "fraction", "steps")
"""What a census varies: together they choose a curve."""


@runtime_checkable
class Settings(Given, Protocol):
    """What the law needs to know of a training; a `TrainConfig` has it all."""

    @property
    def width(self) -> int: ...
    @property
    def power(self) -> int | None: ...
    @property
    def fraction(self) -> float: ...
    @property
    def steps(self) -> int: ...


def odds(train_loss: Any, modulus: Any) -> Any:
    """The unexplained share of the one-hot tensor against the explained one."""
    unexplained = np.clip(np.multiply(modulus, train_loss), 1e-12, 1 - 1e-6)
    return unexplained / (1 - unexplained)


def random_features(modulus: Any, width: Any, fraction: Any, steps: Any) -> Float[np.ndarray, "*row feature"]:
    """Terms in which the logarithm of the odds of random tables is interpolated: quadratic in logarithms."""
    units = {61: modulus, 250: width, 0.5: fraction, 1000: steps}
    a, b, c, d = np.broadcast_arrays(*(np.log(np.asarray(value, float) / unit) for unit, value in units.items()))
    return np.stack([np.ones_like(a), a, b, c, a * a, b * b, c * c, a * b, a * c, b * c, d], axis=-1)


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
    own = next((s for s in known.settings if all(getattr(s, name) == setting[name] for name in SETTING)), None)
    if own is not None:
        curve, x = own.curve, train_loss
        reason = f"from {own.tables} tables at exactly these settings"
    else:
        reference = float(np.exp(random_features(**setting) @ np.array(known.random_odds)))
        curve, x = known.curve, float(odds(train_loss, config.modulus)) / reference
        reason = f"from {len(known.settings)} other settings, by the odds of random tables between them"
    value = float(curve.at(x))
    return Expectation(value, *curve.interval(value), reason, "training loss")


def why_not_covered(config: Settings) -> str:
    """What puts a training outside the calibration, and what that covers; empty if nothing does."""
    if config.function is not None and (not config.function.square or config.function.known is not None):
        return f"the law was measured for whole tables modulo one number, not for {config.function.summary()}"
    known = calibration()
    for name, (low, high) in known.covers.items():
        if not low <= getattr(config, name) <= high:
            return f"the law was measured for {name} {low:g} to {high:g}, not {getattr(config, name):g}"
    if not is_prime(config.modulus):
        return f"the law was measured modulo primes, not {config.modulus} = {factors_text(config.modulus)}"
    for name, value in known.fixed.items():
        if getattr(config, name, value) != value:
            return f"the law was measured with {name} {value}, not {getattr(config, name)}"
    terms = config.function.variables if config.function else variables(parse(config.expression, config.modulus))
    if config.power not in (None, 2) or len(terms) != 2:
        return "the law was measured for x² networks on functions of two variables"
    return ""
