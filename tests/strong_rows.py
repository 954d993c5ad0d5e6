"""Made-up networks of the strong hypothesis, for the tests of its result, its figure and the report."""

from __future__ import annotations

from typing import Any

ACCURACY = {"n1 + n2": 1.0, "n1 n2": 1.0, "(2n1 + 3n2)^4": 1.0, "(2n1 + 3n2)^4 - n1^2": 0.05}
"""A sum, a product, a polynomial in the class and one that is not, modulo 23."""


def strong_rows(
    setting: str,
    accuracies: dict[str, float] | None = None,
    *,
    rate: float = 0.01,
    seeds: int = 2,
    steps: int = 10,
    fraction: float = 0.5,
) -> list[dict[str, Any]]:
    """A row for each polynomial and seed; a lower training loss where the accuracy is higher."""
    return [
        {
            "setting": setting,
            "modulus": 23,
            "polynomial": polynomial,
            "seed": seed,
            "fraction": fraction,
            "learning_rate": rate,
            "weight_decay": 1.0,
            "steps": steps,
            "width": 8,
            "train_loss": 1 - accuracy + 0.001 * seed,
            "test_loss": 1.0,
            "train_accuracy": 1.0,
            "test_accuracy": accuracy,
            "seconds": 1.0,
            "device": "cpu",
        }
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
    every: int = 10,
) -> list[dict[str, Any]]:
    """The curve of one network of a second look: a point every so many steps; the test loss is 1 - accuracy."""
    return [
        {
            "setting": setting,
            "modulus": 23,
            "polynomial": polynomial,
            "seed": seed,
            "fraction": fraction,
            "learning_rate": rate,
            "weight_decay": 1.0,
            "width": 8,
            "step": every * (k + 1),
            "device": "cpu",
            "train_loss": 0.1,
            "test_loss": 1 - accuracy,
            "train_accuracy": 1.0,
            "test_accuracy": accuracy,
        }
        for k, accuracy in enumerate(accuracies)
    ]
