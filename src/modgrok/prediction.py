"""The loss law: the test accuracy that a stationary training loss stands for.

A two-layer network with weight decay, trained until it rests, keeps a training loss that measures how complex its
table is: what a network can only memorise costs norm, and weight decay makes norm cost loss. Complex tables do not
follow from some of their cells, so the training loss alone tells the test accuracy. At one setting a falling curve
says how. Between settings the loss has another scale, that of a random table, which nothing but memory can fit:

    ratio = train loss / loss of a random table at the same settings

and accuracies fall with the ratio along nearly one curve. `calibration.json` holds that curve, a curve for each
setting of the census that made it, and the losses of random tables, all with cross-validated errors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import isotonic_regression

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


def fit_curve(x: Float[np.ndarray, "table"], accuracy: Float[np.ndarray, "table"]) -> Curve:
    """The falling curve of least squares: each level of the isotonic regression becomes a knot at its mean x."""
    order = np.argsort(x, kind="stable")
    levels = isotonic_regression(accuracy[order], increasing=False)
    edges = levels.blocks
    knots = np.add.reduceat(x[order], edges[:-1]) / np.diff(edges)
    return Curve(tuple(knots.tolist()), tuple(levels.x[edges[:-1]].tolist()))


def cross_validated(
    x: Float[np.ndarray, "row"], accuracy: Float[np.ndarray, "row"], groups: Int[np.ndarray, "row"]
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
