"""Probe a table: train one small network on part of it, and read the loss law.

The probe's settings are among those of the calibration. The test rows play no part in the prediction, which follows
from the loss on the training rows alone. What the network reached on them is given beside it, to compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.errors import InputError
from modgrok.loss_law.law import Prediction, expected_accuracy
from modgrok.progress import Progress
from modgrok.training.data import train_count
from modgrok.training.ensemble import train_ensemble
from modgrok.training.steps import Shape, TrainConfig, hyper

WIDTH, STEPS, SEGMENT = 500, 1000, 50


@dataclass(frozen=True)
class Probe:
    """What one small network says about a table."""

    config: TrainConfig
    train_loss: float
    test_accuracy: float
    prediction: Prediction

    def json(self) -> dict[str, Any]:
        return {
            "predicted_test_accuracy": self.prediction.value,
            "error": self.prediction.error,
            "reason": self.prediction.reason,
            "train_loss": self.train_loss,
            "measured_test_accuracy": self.test_accuracy,
            "width": self.config.width,
            "steps": self.config.steps,
            "fraction": self.config.fraction,
        }


def probe_table(
    table: Int[np.ndarray, "p p"], modulus: int, *, fraction: float = 0.5, progress: Progress | None = None
) -> Probe:
    """Train on `fraction` of the table and predict; an `InputError` where the law was not measured."""
    if table.ndim != 2:
        raise InputError(f"a probe takes functions of two variables, got {table.ndim}")
    config = TrainConfig("n1 + n2", modulus, width=WIDTH, steps=STEPS, fraction=fraction)
    prediction = expected_accuracy(0.0, config)
    if not prediction.covered:
        raise InputError(f"a probe needs settings that the loss law covers: {prediction.reason}")
    train_rows = train_count(fraction, table.size)
    metrics, _ = train_ensemble(
        Shape(modulus, 2, WIDTH, 2, train_rows),
        hyper(seed=np.array([config.seed]), train_rows=train_rows),
        table.reshape(1, -1),
        steps=range(SEGMENT, STEPS + 1, SEGMENT),
        progress=progress,
    )
    loss = float(metrics.train_loss[0, -1])
    return Probe(config, loss, float(metrics.test_accuracy[0, -1]), expected_accuracy(loss, config))
