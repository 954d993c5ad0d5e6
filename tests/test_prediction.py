"""The loss law: curves, normalisation, what is covered, and expectations from the table alone."""

import dataclasses

import numpy as np
import pytest

from modgrok.answers.classifying import classify
from modgrok.base.files import write_json
from modgrok.loss_law.calibration import SettingOdds, calibration, read_calibration
from modgrok.loss_law.curve import BINS, cross_validated, fit_curve, with_interval
from modgrok.loss_law.expectation import Expectation
from modgrok.loss_law.formula import expected_from_loss, odds, random_odds
from modgrok.training.config import TrainConfig

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
    curve = with_interval(fit_curve(loss, accuracy), predicted, accuracy)
    assert curve.at(0.5) == pytest.approx(0.75, abs=0.02)
    low, high = curve.interval(0.75)
    assert low == pytest.approx(0.75 - 0.018, abs=0.006) and high == pytest.approx(0.75 + 0.018, abs=0.006)


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


def test_the_odds_of_random_tables_are_measured_or_read_off_the_settings_around():
    """Planted: ln odds = 1 + 2 ln p - ln(p)² / 9 - ln width + ln(fraction)², of which a quadratic misses nothing."""

    def planted(modulus, width, fraction):
        p, f = np.log(modulus), np.log(fraction)
        return float(np.exp(1 + 2 * p - p**2 / 9 - np.log(width) + f**2))

    known = [
        SettingOdds(p, width, fraction, planted(p, width, fraction))
        for p in (31, 43, 61, 97)
        for width in (250, 350, 500)
        for fraction in (0.3, 0.5, 0.7)
    ]
    between = random_odds({"modulus": 53, "width": 300, "fraction": 0.4}, known)
    assert between == pytest.approx(planted(53, 300, 0.4), rel=1e-3)
    apart = [SettingOdds(61, 500, 0.5, 7.0), *known]
    assert random_odds({"modulus": 61, "width": 500, "fraction": 0.5}, apart) == 7.0


def test_low_losses_mean_that_a_network_has_generalised_and_high_ones_that_it_has_not():
    learned, not_learned = expected_from_loss(0.0002, CONFIG), expected_from_loss(0.00505, CONFIG)
    assert learned.covered and learned.value > 0.99 and learned.low > 0.95
    assert not_learned.covered and not_learned.value < 0.05
    assert learned.summary().startswith(
        "expected test accuracy 100 % (98 to"
    ) and "from the training loss alone" in str(learned)
    assert "by the odds of its loss against those of random tables" in learned.reason
    assert learned.to_json() == {
        "value": learned.value, "low": learned.low, "high": learned.high,
        "reason": learned.reason, "source": "training loss",
    }  # fmt: skip


def test_the_law_serves_settings_that_were_not_trained():
    found = expected_from_loss(0.0002, dataclasses.replace(CONFIG, modulus=87, width=300, steps=1200))
    assert found.covered and found.value > 0.97
    measured = [expected_from_loss(loss, CONFIG).value for loss in (0.002, 0.003, 0.004)]
    beside = [expected_from_loss(loss, dataclasses.replace(CONFIG, width=505)).value for loss in (0.002, 0.003, 0.004)]
    assert np.abs(np.subtract(measured, beside)).max() < 0.05


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"modulus": 11}, "for modulus 13 to 127, not 11"),
        ({"modulus": 23}, "even a random table is memorised almost for free"),
        ({"width": 5000}, "for width 100 to 1000, not 5000"),
        ({"fraction": 1.0}, "for fraction 0.2 to 0.9, not 1"),
        ({"fraction": 0.1}, "for fraction 0.2 to 0.9, not 0.1"),
        ({"steps": 100}, "for steps 1000 to 1500, not 100"),
        ({"weight_decay": 1.0}, "with weight_decay 5.0, not 1.0"),
        ({"optimiser": "sgd"}, "with optimiser adamw, not sgd"),
        ({"model": "mlp", "modulus": 11}, "with model power, not mlp"),
        ({"power": 3}, "for x² networks on functions of two variables"),
        ({"expression": "n1 n2 n3"}, "for x² networks on functions of two variables"),
    ],
)
def test_what_is_not_covered_says_so(change, reason):
    found = expected_from_loss(0.001, dataclasses.replace(CONFIG, **change))
    assert (found.value, found.low, found.high, found.covered) == (None, None, None, False)
    assert reason in found.reason and found.summary().startswith("no test accuracy to expect from the training loss: ")


@pytest.mark.parametrize("loss", [None, float("nan"), float("inf")])
def test_a_training_that_diverged_tells_nothing(loss):
    found = expected_from_loss(loss, CONFIG)
    assert not found.covered and "not a finite number" in found.reason


def expected(text, modulus=97, fraction=0.5):
    return classify(text, modulus, fraction=fraction).expected


@pytest.mark.parametrize("text, modulus, fraction, measured", [
    ("8x^5 y + 34x^9 y^5", 97, 0.5, 1.0),
    ("46x y^5 + 33x^3 y^10", 97, 0.5, 0.035),
    ("n1 n2", 97, 0.5, 1.0),
    ("n1 n2", 11, 0.5, 0.43),
    ("(29x^11 + 29y^7)^5", 31, 0.5, 0.085),
])  # fmt: skip
def test_a_table_is_enough_for_an_expectation(text, modulus, fraction, measured):
    """Beside what trainings at the default settings reached that belong to no census."""
    found = expected(text, modulus, fraction)
    assert found.covered and found.low <= measured <= found.high and abs(found.value - measured) < 0.2
    assert (
        0 <= found.low <= found.value <= found.high <= 1
        and "how well such a part of the table tells the rest" in found.reason
    )


def test_more_of_the_table_promises_more():
    shares = [expected("n1 n2", 13, fraction).value for fraction in (0.2, 0.4, 0.6, 0.8)]
    assert shares == sorted(shares) and shares[0] < 0.5 < shares[-1]


@pytest.mark.parametrize("text, modulus, fraction, reason", [
    ("n1^2 + n1 n2", 131, 0.5, "here the modulus is 131"),
    ("n1 + n2", 97, 0.02, "here the share is 0.02"),
    ("n1 + n2 + n3", 11, 0.5, "this one has 3 variables"),
    ("n1^2", 97, 0.5, "this one depends on one variable"),
    ("3", 97, 0.5, "this one is constant"),
])  # fmt: skip
def test_what_no_training_is_like_has_no_expectation(text, modulus, fraction, reason):
    found = expected(text, modulus, fraction)
    assert (found.value, found.low, found.high, found.covered) == (None, None, None, False)
    assert reason in found.reason


def test_an_expectation_in_one_line():
    assert (
        repr(Expectation(0.5, 0.4, 0.999, "", "probe"))
        == "<Expectation: expected test accuracy 50 % (40 to 99 %), from a probe>"
    )
    assert (
        repr(Expectation(None, None, None, "why", "table"))
        == "<Expectation: no test accuracy to expect from the table: why>"
    )


def test_the_calibration_says_how_it_was_made(tmp_path):
    known = calibration()
    assert known.made_by.startswith("modgrok census fit") and known.networks >= 5000
    assert len(known.curve.below) == len(known.curve.above) == len(BINS) - 1
    assert list(known.curve.accuracy) == sorted(known.curve.accuracy, reverse=True)
    write_json(tmp_path / "law.json", known.to_json())
    assert read_calibration(tmp_path / "law.json") == known
