"""The loss law: curves, normalisation, what is covered, and expectations from the table alone."""

import dataclasses

import numpy as np
import pytest

from modgrok.files import write_json
from modgrok.loss_law.calibration import calibration, read_calibration
from modgrok.loss_law.curve import BINS, cross_validated, fit_curve, with_errors
from modgrok.loss_law.expectation import Expectation
from modgrok.loss_law.from_table import at_least_twins, complexity, expected_from_table
from modgrok.loss_law.law import expected_from_loss, odds, random_features
from modgrok.separable.complexity import effective_rank
from modgrok.training.config import TrainConfig
from modgrok.training.data import function_table

CONFIG = TrainConfig("n1 n2", 97)


def brute_force_error(x, y):
    """The least absolute error of a falling sequence, over all sequences with levels among the values."""
    order = np.argsort(x)
    levels = sorted(set(y.tolist()), reverse=True)
    best = [0.0] * len(levels)  # best[l]: least error so far with the last level at or above levels[l]
    for value in y[order]:
        costs = [best[k] + abs(value - level) for k, level in enumerate(levels)]
        best = list(np.minimum.accumulate(costs))
    return best[-1]


def test_the_curve_falls_with_the_least_absolute_error():
    rng = np.random.default_rng(1)
    for _ in range(20):
        x, y = rng.random(12), rng.random(12).round(1)
        curve = fit_curve(x, y)
        assert list(curve.x) == sorted(curve.x) and list(curve.accuracy) == sorted(curve.accuracy, reverse=True)
        assert level_error(x, y, curve) == pytest.approx(brute_force_error(x, y))


def level_error(x, y, curve):
    """The error of the curve's levels, when each row has the level that suits it best in order."""
    order, levels = np.argsort(x), curve.accuracy
    best = [0.0] * len(levels)
    for value in y[order]:
        best = list(np.minimum.accumulate([best[k] + abs(value - level) for k, level in enumerate(levels)]))
    return best[-1]


def test_equal_losses_share_a_level():
    curve = fit_curve(np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.2, 0.9, 1.0, 0.1]))
    assert curve.x == (0.0, 1.0) and curve.accuracy == (0.9, 0.1)


def test_a_planted_law_is_found_and_its_error_is_that_of_the_noise():
    rng = np.random.default_rng(0)
    loss = rng.random(600)
    accuracy = 1 - loss**2 + rng.uniform(-0.02, 0.02, 600)
    predicted = cross_validated(loss, accuracy, np.arange(600))
    assert np.abs(predicted - accuracy).mean() == pytest.approx(0.01, abs=0.003)
    curve = with_errors(fit_curve(loss, accuracy), predicted, accuracy)
    assert curve.at(0.5) == pytest.approx(0.75, abs=0.02) and 0.005 < curve.error(0.75) < 0.02


def test_a_group_is_never_predicted_from_itself():
    x = np.repeat(np.arange(20.0), 30)
    accuracy = np.repeat(np.linspace(1, 0, 20), 30)
    alone = cross_validated(x, accuracy, np.arange(600))
    together = cross_validated(x, accuracy, np.repeat(np.arange(20), 30))
    assert np.array_equal(alone, accuracy)
    assert together[0] < 1 and together[-1] > 0  # from the groups beside the first and the last one


def test_odds_set_the_unexplained_share_against_the_explained_one():
    assert odds(0.2 / 97, 97) == pytest.approx(0.25)
    assert odds(0.0, 97) < 1e-9 and odds(1.0, 97) > 1e5
    assert random_features(61, 250, 0.5, 1000).tolist() == [1.0] + [0.0] * 10


def test_low_losses_mean_that_a_network_has_generalised_and_high_ones_that_it_has_not():
    learned, not_learned = expected_from_loss(0.0002, CONFIG), expected_from_loss(0.00505, CONFIG)
    assert learned.covered and learned.value > 0.99 and learned.error < 0.01
    assert not_learned.covered and not_learned.value < 0.05
    assert learned.summary().startswith("expected test accuracy 99.") and "from the training loss alone" in str(learned)
    assert "at exactly these settings" in learned.reason
    assert learned.to_json() == {
        "value": learned.value, "error": learned.error, "reason": learned.reason, "source": "training loss"
    }  # fmt: skip


def test_between_the_settings_of_the_census_one_curve_serves():
    found = expected_from_loss(0.0002, dataclasses.replace(CONFIG, modulus=83, width=300, steps=1200))
    assert found.covered and found.value > 0.97 and "by the odds of random tables" in found.reason
    own = [expected_from_loss(loss, CONFIG).value for loss in (0.002, 0.003, 0.004)]
    one = [expected_from_loss(loss, dataclasses.replace(CONFIG, steps=1001)).value for loss in (0.002, 0.003, 0.004)]
    assert np.abs(np.subtract(own, one)).max() < 0.15


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"modulus": 23}, "for modulus 43 to 113, not 23"),
        ({"modulus": 91}, "modulo primes, not 91 = 7 · 13"),
        ({"width": 5000}, "for width 250 to 500, not 5000"),
        ({"fraction": 1.0}, "for fraction 0.3 to 0.7, not 1"),
        ({"steps": 100}, "for steps 1000 to 1500, not 100"),
        ({"weight_decay": 1.0}, "with weight_decay 5.0, not 1.0"),
        ({"optimiser": "sgd"}, "with optimiser adamw, not sgd"),
        ({"power": 3}, "for x² networks on functions of two variables"),
        ({"expression": "n1 n2 n3"}, "for x² networks on functions of two variables"),
    ],
)
def test_what_is_not_covered_says_so(change, reason):
    found = expected_from_loss(0.001, dataclasses.replace(CONFIG, **change))
    assert (found.value, found.error, found.covered) == (None, None, False)
    assert reason in found.reason and found.summary().startswith("no test accuracy to expect from the training loss: ")


@pytest.mark.parametrize("loss", [None, float("nan"), float("inf")])
def test_a_training_that_diverged_tells_nothing(loss):
    found = expected_from_loss(loss, CONFIG)
    assert not found.covered and "not a finite number" in found.reason


def expected(text, modulus=97, *, fraction=0.5, in_class=False, redundancy=0.0):
    table, variables = function_table(text, modulus)
    grid = table.reshape((modulus,) * variables)
    return expected_from_table(grid, modulus, fraction=fraction, in_class=in_class, redundancy=redundancy)


def test_a_table_is_enough_for_an_expectation():
    """Measured on half of the table: 1.00 and 0.03 – 0.04 (width 500, 1500 steps)."""
    assert expected("8x^5 y + 34x^9 y^5").value > 0.7
    assert expected("46x y^5 + 33x^3 y^10").value < 0.1
    assert expected("n1 n2", in_class=True).value == 1.0
    raised = expected("46x y^5 + 33x^3 y^10", redundancy=0.4)
    assert raised.value == 0.4 and "the redundancy promises more" in raised.reason
    shares = [expected("x^2 y + y^2", fraction=fraction).value for fraction in (0.3, 0.4, 0.5, 0.7)]
    assert shares == sorted(shares) and shares[0] < shares[-1]


def test_a_table_outside_the_census_has_no_expectation():
    found = expected("n1^2 + n1 n2", 23, redundancy=0.3)
    assert (found.value, found.error, found.covered) == (None, None, False)
    assert "modulo primes from 43 to 113" in found.reason and "the modulus is 23" in found.reason
    assert expected("n1 + n2 + n3", 11, in_class=True).value is None
    assert expected("n1 + n2", 91, in_class=True).value is None
    assert expected("n1 n2", 97, fraction=0.9, in_class=True).value is None


def test_the_expectation_from_a_table_is_the_function_whose_errors_a_census_measures():
    text = "8x^5 y + 34x^9 y^5"
    grid = function_table(text, 97)[0].reshape(97, 97)
    (curve,) = (entry.curve for entry in calibration().from_table.curves if entry.fraction == 0.5)
    value = float(at_least_twins(curve.at(complexity(effective_rank(grid), False)), 0.1))
    found = expected(text, redundancy=0.1)
    assert (found.value, found.error) == (value, curve.error(value))


def test_an_expectation_in_one_line():
    assert (
        repr(Expectation(0.5, 0.1, "", "probe"))
        == "<Expectation: expected test accuracy 50.0 % ± 10.0 %, from a probe>"
    )
    assert (
        repr(Expectation(None, None, "why", "table")) == "<Expectation: no test accuracy to expect from the table: why>"
    )


def test_the_calibration_says_how_it_was_made(tmp_path):
    known = calibration()
    assert known.made_by.startswith("modgrok census fit") and known.networks >= 5000
    for own in known.settings:
        assert len(own.curve.errors) == len(BINS) - 1
        assert list(own.curve.accuracy) == sorted(own.curve.accuracy, reverse=True)
    write_json(tmp_path / "law.json", known.to_json())
    assert read_calibration(tmp_path / "law.json") == known
