"""Diagnoses of made-up curves, rule by rule, and of real trainings that were made to fail."""

import re

import numpy as np
import pytest

from modgrok.training.config import TrainConfig
from modgrok.training.diagnosis import diagnose, passed_at
from modgrok.training.train import train

CONFIG = TrainConfig("n1 n2", 97)


def curves(**columns):
    """A training that grokked, measured at ten steps, with some columns replaced."""
    base = {
        "step": np.arange(10) * 10,
        "train_loss": np.geomspace(0.01, 0.0001, 10),
        "test_loss": np.geomspace(0.01, 0.0002, 10),
        "train_accuracy": np.linspace(0.01, 2, 10).clip(0, 1),
        "test_accuracy": np.linspace(0.01, 1.2, 10).clip(0, 1),
        "embed_norm": np.full(10, 40.0),
        "readout_norm": np.full(10, 15.0),
    }
    return base | {name: np.broadcast_to(value, 10).astype(float) for name, value in columns.items()}


FLAT = {"train_loss": 0.002, "test_loss": 0.011, "test_accuracy": 0.02}


@pytest.mark.parametrize(
    "columns, outcome, words",
    [
        ({}, "grokked", r"99 % of them from step 80, the training rows from step 50"),
        (
            {"train_loss": [0.01] * 4 + [np.nan] * 6},
            "diverged",
            r"by step 40 .* learning rate too large.*try a learning rate of 0\.00125",
        ),
        (
            {
                "train_loss": 1 / 97,
                "test_loss": 1 / 97,
                "readout_norm": np.geomspace(10, 0.1, 10),
                "test_accuracy": 0.01,
            },
            "collapsed",
            r"nearly 0 .*loss 0\.01031, and 0 itself has 0\.01031\).* too strong \(5\).*try a weight decay of 1\.25",
        ),
        ({"test_accuracy": np.linspace(0, 0.5, 10)}, "improving", r"50\.00 % of the test rows.*go on to 2000 steps"),
        (FLAT, "memorised", r"2\.00 % of the test rows \(about chance\).*outside the class"),
        (FLAT | {"test_accuracy": 0.03}, "memorised", r"3\.00 % of the test rows \(above chance\)"),
        (FLAT | {"test_accuracy": 0.74}, "memorised", r"74\.00 % of the test rows \(above chance\)"),
        (FLAT | {"train_accuracy": 0.4}, "underfit", r"Stuck: 40\.00 % of the training rows.*width 500; try 2000"),
        ({"test_loss": np.nan, "test_accuracy": np.nan}, "fitted", "there are no test rows"),
    ],
)
def test_outcome_and_words(columns, outcome, words):
    diagnosis = diagnose(CONFIG, curves(**columns))
    assert diagnosis.outcome == outcome
    assert re.search(words, diagnosis.text)


def test_memorising_names_the_causes_that_the_settings_suggest():
    weak = diagnose(TrainConfig("n1 n2", 97, weight_decay=0.1), curves(**FLAT)).text
    little = diagnose(TrainConfig("n1 n2", 97, fraction=0.2), curves(**FLAT)).text
    assert "weight decay too weak (0.1" in weak and "too little data" not in weak
    assert "too little data (fraction 0.2" in little and "weight decay too weak" not in little


def test_passed_at_is_the_first_measured_step_or_none():
    assert passed_at(curves(), "test_accuracy") == 80
    assert passed_at(curves(test_accuracy=0.98), "test_accuracy") is None


@pytest.mark.parametrize(
    "settings, outcome",
    [
        ({"function": "n1 + n2", "fraction": 0.8, "steps": 300}, "grokked"),
        ({"function": "n1 + n2", "weight_decay": 100.0, "steps": 100}, "collapsed"),
        ({"function": "n1 + n2", "learning_rate": 1e2, "weight_decay": 0.0, "steps": 40}, "diverged"),
        ({"function": "n1 + n2", "learning_rate": 1e9, "weight_decay": 5.0, "steps": 40}, "diverged"),
        ({"function": "n1^3 + n1 n2^2 + n2", "steps": 400}, "memorised"),
        ({"function": "n1 + n2", "width": 3, "steps": 300}, "underfit"),
    ],
)
def test_real_trainings_are_diagnosed(settings, outcome):
    assert train(**({"mod": 13, "width": 60} | settings)).diagnosis.outcome == outcome
