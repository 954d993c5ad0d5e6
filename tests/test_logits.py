"""What the logits compute, on planted logits: the oracle is what was planted, and Python's integers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from lookup_model import lookup
from scipy.special import log_softmax

import modgrok as mg
from modgrok.inspection import logits as module
from modgrok.inspection.inspecting import inspect_network
from modgrok.inspection.logits import key_frequencies_of, logits_view
from modgrok.training.inspecting import inspect
from modgrok.training.train import train

P = 11


def waves(p=P, sign=1, **amplitudes):
    """Σ A_f cos(2πf (n1 ± n2 - q)/p), given as f2=3.0."""
    n1, n2, q = np.indices((p, p, p))
    return sum(a * np.cos(2 * np.pi * int(f[1:]) * (n1 + sign * n2 - q) / p) for f, a in amplitudes.items())


def one_hot(function, p, variables=2):
    """1 for the right answer by integer arithmetic, else 0."""
    table = np.zeros((p,) * (variables + 1))
    for row in product(range(p), repeat=variables):
        table[(*row, function(*row) % p)] = 1
    return table


def test_a_planted_analytical_form_is_found_with_its_coefficients():
    shared = np.random.default_rng(0).normal(size=(P, P, 1))  # softmax does not see what all classes share
    view = logits_view(lookup("n1 + n2", P, waves(f2=3.0, f5=1.0) + shared))
    assert view.analytical_share == pytest.approx(1) and view.sum_share == pytest.approx(1)
    np.testing.assert_allclose(view.coefficients[[1, 2, 5]], [0, 3, 1], atol=1e-12)
    np.testing.assert_allclose(view.shares[[1, 2, 5]], [0, 0.9, 0.1], atol=1e-12)
    assert view.key_frequencies == (2, 5) and view.key_share == pytest.approx(1)
    assert view.accuracies["restricted"]["all"] == 1


def test_the_share_is_that_of_what_was_planted_beside_other_things():
    """cos f(n1 - n2 - q) and a sine are orthogonal to the form; the second depends on the sum, the first does not."""
    n1, n2, q = np.indices((P, P, P))
    sine = np.sin(2 * np.pi * 3 * (n1 + n2 - q) / P)
    view = logits_view(lookup("n1 + n2", P, waves(f4=2.0) + waves(sign=-1, f4=1.0) + sine))
    assert view.analytical_share == pytest.approx(4 / 6)
    assert view.sum_share == pytest.approx(5 / 6)
    shares = view.input_spectrum.to_json()
    assert shares["sum"] == pytest.approx(5 / 6) and shares["difference"] == pytest.approx(1 / 6)
    assert shares["constant"] == pytest.approx(0) and shares["other"] == pytest.approx(0)


CASES = [
    ("3 n1 - 2 n2 + 4", 11, lambda a, b: 3 * a - 2 * b + 4, "additive", 11, 121, 11),
    ("5 n1 + n2", 15, lambda a, b: 5 * a + b, "additive", 15, 225, 15),
    ("n1 n2", 11, lambda a, b: a * b, "multiplicative", 10, 100, 10),
    ("2 n1^3 n2", 11, lambda a, b: 2 * a**3 * b, "multiplicative", 10, 100, 10),
    ("n1^2 n2^2", 11, lambda a, b: a * a * b * b, "multiplicative", 10, 100, 10),
    ("n1 n2 + 3", 11, lambda a, b: a * b + 3, "witness", 10, 100, 10),
    ("(n1 + n2^2)^3", 13, lambda a, b: (a + b * b) ** 3, "witness", 13, 169, 5),
    ("n1 + n2 + n3", 5, lambda a, b, c: a + b + c, "additive", 5, 125, 5),
]


@pytest.mark.parametrize("expression, p, function, order, group, rows, classes", CASES)
def test_the_right_answers_are_the_analytical_form_of_every_function_in_the_class(
    expression, p, function, order, group, rows, classes
):
    """One-hots of the answers are Σ_f K_f over all f; where zero is apart its rows may hold anything."""
    variables = 3 if "n3" in expression else 2
    table = one_hot(function, p, variables)
    if group == p - 1:
        table[0], table[:, 0] = 7.0, -5.0
    view = logits_view(lookup(expression, p, table))
    found = view.to_json()
    assert (found["order"], found["group_order"], found["rows_placed"], found["classes"]) == (
        order,
        group,
        rows,
        classes,
    )
    assert view.analytical_share == pytest.approx(1)
    assert view.accuracies["full"]["all"] == 1
    assert sum(found["shares"].values()) == pytest.approx(1)
    assert (found["input_spectrum"] is None) == (variables == 3)


def test_noise_has_the_share_that_chance_gives_it():
    draws = np.random.default_rng(1).normal(size=(30, 7, 7, 7))
    views = [logits_view(lookup("n1 + n2", 7, draw)) for draw in draws]
    expected = views[0].templates.noise_share
    assert expected == pytest.approx(3 / (49 * 6))  # three waves of 49 rows times 6 free logits
    assert np.mean([view.analytical_share for view in views]) == pytest.approx(expected, rel=0.4)


def test_restricted_and_excluded_losses_are_those_of_the_key_terms_and_of_the_rest():
    rng = np.random.default_rng(2)
    planted = waves(f3=6.0)
    rest = rng.normal(0, 0.3, (P, P, P))
    training = rng.random(P * P) < 0.4
    view = logits_view(lookup("n1 + n2", P, planted + rest), training=training, key_frequencies=(3,))
    n1, n2 = np.indices((P, P))
    answers = ((n1 + n2) % P).ravel()

    def loss(table, rows):
        return -log_softmax(table.reshape(-1, P), axis=1)[np.arange(P * P), answers][rows].mean()

    for part, rows in (("all", slice(None)), ("train", training), ("test", ~training)):
        assert view.losses["full"][part] == pytest.approx(loss(planted + rest, rows))
        assert view.losses["restricted"][part] == pytest.approx(loss(planted, rows), rel=0.05)
        assert view.losses["excluded"][part] == pytest.approx(loss(rest, rows), rel=0.05)
    assert view.losses["restricted"]["all"] < 1 < view.losses["excluded"]["all"]


def test_no_key_frequencies_are_named_where_noise_would_have_as_much():
    noise = np.random.default_rng(5).normal(size=(31, 31, 31))
    waves = np.cos(2 * np.pi * 3 * np.add.outer(np.add.outer(np.arange(31), np.arange(31)), -np.arange(31)) / 31)
    assert logits_view(mg.wrap(noise, "n1 + n2", mod=31)).key_frequencies == ()
    assert 3 in logits_view(mg.wrap(noise + waves, "n1 + n2", mod=31)).key_frequencies


def test_key_frequencies_are_the_fewest_that_hold_95_percent_with_positive_coefficients():
    shares = np.array([0.5, 0.2, 0.01, 0.1, 0.1, 0.005])
    assert key_frequencies_of(np.ones(6), shares) == (1, 3, 4)
    assert key_frequencies_of(np.array([1, 1, 1, 1, -1, 1.0]), shares) == (1, 3)
    assert key_frequencies_of(-np.ones(6), shares) == ()


def test_a_function_without_witness_is_told_and_gets_its_plain_spectrum():
    p = 11
    view = logits_view(lookup("n1^2 + n1 n2 + n2^2", p, one_hot(lambda a, b: a * a + a * b + b * b, p)))
    found = view.to_json()
    assert found["analytical_share"] is None and found["key_frequencies"] == [] and found["restricted_loss"] is None
    assert found["full_accuracy"] == {"all": 1}
    assert found["full_loss"]["all"] == pytest.approx(np.log(np.e + p - 1) - 1)  # a logit of 1 among zeros
    assert "no places g1, g2 and h are known" in found["why"] and found["why"] in view.summary()
    kinds = ("constant", "one_input", "sum", "difference", "other")
    assert sum(found["input_spectrum"][kind] for kind in kinds) == pytest.approx(1)
    assert found["input_spectrum"]["other"] > 0.5


def test_the_strongest_pairs_of_frequencies_are_named_once_and_with_their_sign():
    n1, n2, q = np.indices((P, P, P))
    table = np.cos(2 * np.pi * (2 * n1 - 3 * n2) / P) * np.cos(2 * np.pi * q / P)
    (pair,) = [
        pair for pair in logits_view(lookup("n1 + n2", P, table)).input_spectrum.strongest() if pair["share"] > 1e-9
    ]
    assert (pair["f1"], pair["f2"]) == (2, -3) and pair["share"] == pytest.approx(1)


def test_tables_that_are_too_large_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_LOGITS", 100)
    view = logits_view(lookup("n1 + n2", 5, one_hot(np.add, 5)))
    assert view.analytical_share is None and "125 logits, more than the 100" in view.why


def test_training_rows_are_those_of_the_training(capsys):
    """In a sum every row and class takes part, so the losses are those that the training measured."""
    run = train("n1 + n2", 7, width=12, steps=3, fraction=0.6)
    view = inspect(run).logits
    assert view.loss == "mse"
    for part in ("train", "test"):
        assert view.losses["full"][part] == pytest.approx(run.final[f"{part}_loss"], rel=1e-5)
        assert view.accuracies["full"][part] == pytest.approx(run.final[f"{part}_accuracy"])
    assert "train" not in inspect_network(run.network).logits.losses["full"]
