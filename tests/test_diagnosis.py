"""Diagnoses of made-up curves, rule by rule, and of real trainings that were made to fail."""

import re

import numpy as np
import pytest

from modgrok.training.config import TrainConfig
from modgrok.training.diagnosis import diagnose, passed_at
from modgrok.training.train import train

CONFIG = TrainConfig("n1 n2", 97, steps=90)
"""Its curves are measured to the end; `LONGER` was stopped there."""
LONGER, LATE = TrainConfig("n1 n2", 97, steps=3000), TrainConfig("n1 n2", 97, steps=1000)


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
        ({}, "grokked", r"99 % of it from step 80, of the training set from step 50"),
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
            r"nearly 0 .*loss 0\.0103, and 0 itself has 0\.0103\).* too strong \(5\).*try a weight decay of 1\.25",
        ),
        ({"test_accuracy": np.linspace(0, 0.5, 10)}, "improving", r"50\.00 % of the test set right.*go on to step 180"),
        (
            {
                "train_accuracy": np.linspace(0, 0.5, 10),
                "test_loss": np.geomspace(0.01, 0.02, 10),
                "test_accuracy": 0.05,
            },
            "improving",
            r"50\.00 % of the training set right, and the training loss is falling.*: too few steps; go on to step 180",
        ),
        (FLAT, "memorised", r"2\.00 % of the test set \(about chance\).*not h\(g1"),
        (FLAT | {"test_accuracy": 0.04}, "memorised", r"4\.00 % of the test set \(about chance\)"),  # 2 % of it are 0
        (FLAT | {"test_accuracy": 0.05}, "memorised", r"5\.00 % of the test set \(above chance\)"),
        (FLAT | {"test_accuracy": 0.74}, "memorised", r"74\.00 % of the test set \(above chance\)"),
        (
            FLAT | {"train_accuracy": 0.4},
            "underfit",
            r"Stuck: 40\.00 % of the training set right.*width 500.*try a width of 2000",
        ),
        (
            {"test_accuracy": [0.01] * 5 + [0.995] + [0.6] * 4, "test_loss": 0.01},
            "slipped",
            r"99 % of the test set right at step 50, 60\.00 % at step 90\. .*; try a learning rate of 0\.00125",
        ),
        (
            {"test_accuracy": [0.01] * 5 + [0.995] + [0.6] * 4},
            "slipped",
            r"60\.00 % at step 90\. .*: too few steps, or .*; go on to step 180, or try a learning rate of 0\.00125",
        ),
        (
            {"test_accuracy": [0.01] * 5 + [0.995] + [0.9849] * 4},
            "grokked",
            r"98\.49 % of the test set right; 99 % of it first at step 50, of the training set from step 50\.$",
        ),
        (
            {"test_accuracy": [0.01] * 5 + [0.995] * 2 + [0.01] * 3, "train_loss": [0.01] * 7 + [1.0] * 3},
            "diverged",
            r"Diverged after getting 99 % of the test set right at step 50: by step 70",
        ),
        (
            {"test_accuracy": [0.01] * 5 + [0.995, 0.98] + [1.0] * 3},
            "grokked",
            r"99 % of it first at step 50, of the tr",
        ),
        ({"embed_norm": [40.0] * 9 + [np.inf]}, "diverged", "Diverged after .* weights are no longer finite numbers"),
        ({"test_loss": np.nan, "test_accuracy": np.nan}, "fitted", "there is no test set"),
    ],
)
def test_outcome_and_words(columns, outcome, words):
    diagnosis = diagnose(CONFIG, curves(**columns))
    assert diagnosis.outcome == outcome
    assert re.search(words, diagnosis.text)


def test_what_the_settings_explain_is_not_blamed_on_others():
    stuck = curves(**FLAT | {"train_accuracy": 0.4})
    still = diagnose(TrainConfig("n1 n2", 97, learning_rate=0.0, steps=90), stuck)
    assert (still.because, still.advice) == ("a learning rate of 0", "try 0.005")
    wild = diagnose(TrainConfig("n1 n2", 97, learning_rate=1e9, steps=90), curves(train_loss=[0.01] * 4 + [np.nan] * 6))
    assert wild.advice == "try a learning rate of 0.005"
    short = diagnose(TrainConfig("n1 n2", 97, model="transformer", steps=90), stuck)
    assert short.text.startswith("Too early to tell: 40.00 % of the training set right, after 90 steps. Likely cause: ")
    assert (short.because, short.advice) == ("too few steps", "go on to step 3000")
    learned = diagnose(TrainConfig("n1 + n2", 23, steps=30), curves(**FLAT) | {"step": np.arange(10) * 3 + 3}, True)
    assert learned.text.startswith("Only memorised so far: 100 % of the training set right")
    assert (learned.because, learned.advice) == ("too few steps", "go on to step 1000")


def test_a_function_of_one_variable_is_not_said_to_be_outside_the_class():
    told = diagnose(TrainConfig("n1", 97, steps=90), curves(**FLAT))
    assert told.outcome == "memorised" and told.advice == ""
    assert told.because == "a function of one variable: nothing that is read in one cell is read in another"
    late = curves(**FLAT) | {"step": np.arange(1, 11) * 100}
    word = diagnose(TrainConfig.of("a b in S3", None, steps=1000), late)
    assert "h(g1 + g2)" not in word.text and "classify" not in word.text  # a product of no sums


def test_memorising_names_the_causes_that_the_settings_suggest():
    weak = diagnose(TrainConfig("n1 n2", 97, weight_decay=0.1, steps=90), curves(**FLAT)).text
    little = diagnose(TrainConfig("n1 n2", 97, fraction=0.2, steps=90), curves(**FLAT)).text
    assert "weight decay too weak (0.1" in weak and "too little data" not in weak
    assert "too little data (fraction 0.2" in little and "weight decay too weak" not in little
    much = diagnose(TrainConfig("n1 n2", 23, fraction=0.8, steps=90), curves(**FLAT))
    assert "try a fraction of 0.9" in much.advice and "0.7" not in much.text
    free = diagnose(TrainConfig("n1 n2", 97, weight_decay=0.0, steps=90), curves(**FLAT | {"train_accuracy": 0.4}))
    assert "weight decay" not in free.text


def test_what_is_known_of_the_class_is_no_longer_asked():
    unknown, outside, inside = (diagnose(CONFIG, curves(**FLAT), known) for known in (None, False, True))
    assert "ask `modgrok classify`" in unknown.advice and "a function that is not h(g1 + g2)" in unknown.because
    assert "the function, which is not h(g1 + g2)" in outside.because and "classify" not in outside.text
    assert "class" not in inside.text
    assert inside.because == "too few steps, or too little data (fraction 0.5 of the table)"
    enough = [diagnose(LATE, curves(**FLAT) | {"step": np.arange(1, 11) * 100}, True, share) for share in (0.4, 0.83)]
    assert [told.advice for told in enough] == ["", "try a fraction of 0.9"]


@pytest.mark.parametrize("columns", [{"test_accuracy": np.linspace(0, 0.5, 10)}, FLAT, FLAT | {"train_accuracy": 0.4}])
def test_a_training_that_was_stopped_is_told_to_go_on_to_its_own_end(columns):
    told = diagnose(LONGER, curves(**columns))
    assert (told.go_on_to, told.go_on, told.step) == (3000, "", 90)
    assert "only 90 of its 3000 steps were taken" in told.because and "go on to step 3000" in told.advice
    assert "6000" not in told.text and "no longer" not in told.text
    diverged = diagnose(LONGER, curves(train_loss=[0.01] * 4 + [np.nan] * 6))
    assert diverged.go_on_to is None and "go on" not in diverged.text


def test_a_training_that_needs_more_steps_than_it_had_gets_twice_as_many():
    told = diagnose(CONFIG, curves(test_accuracy=np.linspace(0, 0.5, 10)))
    assert (told.go_on_to, told.go_on, told.because) == (180, " --steps 180", "too few steps")


@pytest.mark.parametrize("reached, words", [(0.05, "; it reached less. "), (1.0, " (98 to 100 %) is expected.")])
def test_what_the_loss_stands_for_is_told_beside_what_was_measured(reached, words):
    config = TrainConfig("n1 n2", 97)
    measured = curves(test_accuracy=reached) | {"step": np.linspace(0, 1000, 10).astype(int)}
    told = diagnose(config, measured)
    assert told.expected.covered and words in told.expectation and told.expected.text in told.expectation
    assert diagnose(CONFIG, curves()).expectation == "", "of 90 steps nothing is known"


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
