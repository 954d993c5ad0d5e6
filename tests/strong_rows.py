"""Made-up networks of the strong hypothesis, for the tests of its result, its figure and the report."""

from __future__ import annotations

from typing import Any

import numpy as np

ACCURACY = {"n1 + n2": 1.0, "n1 n2": 1.0, "(2n1 + 3n2)^4": 1.0, "(2n1 + 3n2)^4 - n1^2": 0.05}
"""A sum, a product, a polynomial in the class and one that is not, modulo 23."""


def network(setting: str, polynomial: str, accuracies: list[float], **known: Any) -> dict[str, Any]:
    """A network that is measured every ten steps; training and test loss are 1 - accuracy."""
    losses = 1 - np.array(accuracies) + 0.001 * known["seed"]
    return {
        "setting": setting,
        "modulus": 23,
        "polynomial": polynomial,
        "fraction": 0.5,
        "weight_decay": 1.0,
        "init_scale": 0.5,
        "steps": 10,
        "width": 8,
        "beside": 16,
        "room": 264,
        "device": "cpu",
        "curves": {
            "step": 10 * np.arange(1, len(accuracies) + 1),
            "train_loss": losses,
            "test_loss": losses,
            "train_accuracy": np.ones(len(accuracies)),
            "test_accuracy": np.array(accuracies),
        },
        **known,
    }


def strong_rows(
    setting: str, accuracies: dict[str, float] | None = None, *, rate: float = 0.01, seeds: int = 2
) -> list[dict[str, Any]]:
    """The networks of a first look with one variant, by the accuracies of polynomials after the usual ten steps."""
    return [
        network(setting, polynomial, [accuracy], seed=seed, learning_rate=rate)
        for polynomial, accuracy in (ACCURACY | (accuracies or {})).items()
        for seed in range(seeds)
    ]


def strong_points(
    setting: str,
    accuracies: list[float],
    *,
    polynomial: str = "(2n1 + 3n2)^4",
    rate: float = 0.01,
    seed: int = 0,
    fraction: float = 0.5,
) -> list[dict[str, Any]]:
    """One network of a later look."""
    return [network(setting, polynomial, accuracies, seed=seed, learning_rate=rate, fraction=fraction)]
