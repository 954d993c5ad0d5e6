"""The loss law: the test accuracy that a stationary training loss stands for.

A two-layer network with weight decay, trained until it rests, keeps a training loss that measures how complex its
table is: what a network can only memorise costs norm, and weight decay makes norm cost loss. Complex tables do not
follow from some of their cells, so the training loss alone tells the test accuracy, along a falling curve.

Each setting has its own curve over the loss L. One curve serves all of them over the ratio

    odds(L) / odds(L of a random table at the same settings),    odds(L) = pL / (1 - pL).

1/p is the loss of the network that always answers 0, so pL is the share of the one-hot tensor that is not explained
and the odds set it against the explained share; a random table is what nothing but memory can fit.

`calibration.json` beside this module holds the curves, the odds of random tables and cross-validated errors; its key
`made_by` is the command that wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int, Shaped

from modgrok.algebra.expression import parse, variables
from modgrok.files import read_json
from modgrok.separable.complexity import effective_rank

FOLDS = 10
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Predicted accuracies between which errors are averaged."""


@dataclass(frozen=True)
class Prediction:
    """An accuracy expected from a training loss; `error` is the mean absolute error near that value.

    Where the settings are not `covered`, value and error are None and `reason` says why.
    """

    value: float | None
    error: float | None
    covered: bool
    reason: str

    def json(self) -> dict[str, Any]:
        return {"value": self.value, "error": self.error, "covered": self.covered, "reason": self.reason}

    def __str__(self) -> str:
        if not self.covered:
            return f"no accuracy expected from the training loss: {self.reason}"
        return f"expected test accuracy from the training loss alone: {self.value:.2f} ± {self.error:.2f}"


@dataclass(frozen=True)
class Curve:
    """A falling curve through knots, straight between them, and its mean absolute error in each of the `BINS`."""

    x: tuple[float, ...]
    accuracy: tuple[float, ...]
    errors: tuple[float, ...] = (0.0,) * (len(BINS) - 1)

    def at(self, x: Any) -> Any:
        return np.interp(x, self.x, self.accuracy)

    def error(self, accuracy: float) -> float:
        return self.errors[min(int(np.searchsorted(BINS, accuracy, side="right")) - 1, len(self.errors) - 1)]

    def json(self) -> dict[str, list[float]]:
        return {name: [float(f"{value:.6g}") for value in values] for name, values in vars(self).items()}


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
    predicted = np.empty(len(x))
    for k in range(FOLDS):
        if (fold == k).any():
            predicted[fold == k] = fit_curve(x[fold != k], accuracy[fold != k]).at(x[fold == k])
    return predicted


def with_errors(curve: Curve, predicted: Float[np.ndarray, "row"], accuracy: Float[np.ndarray, "row"]) -> Curve:
    """The curve with the mean absolute error in every bin of predicted accuracies; of all rows where a bin is empty."""
    bins = np.clip(np.searchsorted(BINS, predicted, side="right") - 1, 0, len(BINS) - 2)
    missed = np.abs(predicted - accuracy)
    errors = [missed[bins == k].mean() if (bins == k).any() else missed.mean() for k in range(len(BINS) - 1)]
    return Curve(curve.x, curve.accuracy, tuple(float(error) for error in errors))


# ----------------------------------------------------------------------------------- one curve for all settings


@runtime_checkable
class Settings(Protocol):
    """What a prediction needs to know of a training; a `TrainConfig` has it all."""

    @property
    def expression(self) -> str: ...
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


def odds(train_loss: Any, modulus: Any) -> Any:
    """The unexplained share of the one-hot tensor against the explained one."""
    unexplained = np.clip(np.multiply(modulus, train_loss), 1e-12, 1 - 1e-6)
    return unexplained / (1 - unexplained)


def random_features(modulus: Any, width: Any, fraction: Any, steps: Any) -> Float[np.ndarray, "*row feature"]:
    """Terms in which the logarithm of the odds of random tables is interpolated: quadratic in logarithms."""
    units = {61: modulus, 250: width, 0.5: fraction, 1000: steps}
    a, b, c, d = np.broadcast_arrays(*(np.log(np.asarray(value, float) / unit) for unit, value in units.items()))
    return np.stack([np.ones_like(a), a, b, c, a * a, b * b, c * c, a * b, a * c, b * c, d], axis=-1)


# ------------------------------------------------------------------------------------------------ predicting


@lru_cache(maxsize=1)
def calibration() -> dict[str, Any]:
    """The calibration that the package ships."""
    with as_file(files("modgrok.loss_law") / "calibration.json") as path:
        return read_json(path)


def expected_accuracy(train_loss: float, config: Settings) -> Prediction:
    """The test accuracy to expect of a training with this config that ended with this loss on its training rows."""
    reason = why_not_covered(config)
    if reason:
        return Prediction(None, None, False, reason)
    known = calibration()
    setting = {name: getattr(config, name) for name in ("modulus", "width", "fraction", "steps")}
    for own in known["settings"]:
        if all(own[name] == value for name, value in setting.items()):
            curve, x = curve_from(own["curve"]), train_loss
            reason = f"from {own['tables']} tables at exactly these settings"
            break
    else:
        reference = float(np.exp(random_features(**setting) @ np.array(known["random_odds"])))
        curve, x = curve_from(known["curve"]), float(odds(train_loss, config.modulus)) / reference
        reason = f"from {len(known['settings'])} other settings, by the odds of random tables between them"
    value = float(curve.at(x))
    return Prediction(value, curve.error(value), True, reason)


def why_not_covered(config: Settings) -> str:
    """What puts a training outside the calibration; empty if nothing does."""
    known = calibration()
    for name, (low, high) in known["covers"].items():
        if not low <= getattr(config, name) <= high:
            return f"the law was measured for {name} {low:g} to {high:g}, not {getattr(config, name):g}"
    for name, value in known["fixed"].items():
        if getattr(config, name, value) != value:
            return f"the law was measured with {name} {value}, not {getattr(config, name)}"
    if config.power not in (None, 2) or len(variables(parse(config.expression, config.modulus))) != 2:
        return "the law was measured for x² networks on functions of two variables"
    return ""


# ------------------------------------------------------------------------------------------- from the table alone


def predict_from_table(
    table: Int[np.ndarray, "p ..."], modulus: int, *, fraction: float, in_class: bool, redundancy: float
) -> Prediction:
    """The test accuracy to expect from `fraction` of the table, without any training.

    A falling curve over the effective rank of the table's coincidences (see `complexity.effective_rank`), which counts
    as 0 in the class; and never less than the redundancy. Between the fractions of the census, straight.
    """
    known = calibration()["from_table"]
    low, high = known["modulus"]
    fractions = [entry["fraction"] for entry in known["curves"]]
    covered = table.ndim == 2 and low <= modulus <= high and fractions[0] <= fraction <= fractions[-1]
    if not covered:
        reason = (
            f"complexities were measured for two variables, moduli from {low} to {high} and fractions from "
            f"{fractions[0]:g} to {fractions[-1]:g}; this is what the verdict and the redundancy say"
        )
        return Prediction(1.0 if in_class else redundancy, None, False, reason)
    rank = 0.0 if in_class else effective_rank(np.asarray(table))
    curves = [curve_from(entry["curve"]) for entry in known["curves"]]
    value = max(redundancy, float(np.interp(fraction, fractions, [curve.at(rank) for curve in curves])))
    error = float(np.interp(fraction, fractions, [curve.error(value) for curve in curves]))
    reason = (
        "networks learned the functions in the class"
        if in_class
        else f"coincidences of values spread over {100 * rank:.1f} % of all directions (about 1 % for sums, 36 % for "
        "noise); of the census's tables with that share, half were learned better and half worse"
    )
    return Prediction(value, error, True, reason)


def curve_from(stored: dict[str, list[float]]) -> Curve:
    return Curve(**{name: tuple(values) for name, values in stored.items()})
