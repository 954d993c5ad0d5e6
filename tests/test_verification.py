"""Checks of networks, compared with plain NumPy loops; most on networks that are wrong on purpose."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.compiler.compiling import PaperSettings, compile_paper
from modgrok.networks import verification
from modgrok.networks.circuit import Expert, row_margins, single
from modgrok.networks.models import Power
from modgrok.networks.network import CHUNK_BYTES, Network, chunk_rows
from modgrok.networks.predicting import Prediction, Predictions, predict
from modgrok.networks.verification import row_chunks, verify


def loop(network, integer_answer, rows):
    """accuracy, mse, smallest margin, first error of a one-expert network, one row at a time in float64."""
    (expert,) = network.circuit.experts
    embed, readout = np.asarray(expert.embed, np.float64), np.asarray(expert.readout, np.float64)
    errors, squares, margins = [], [], []
    for row in rows:
        output = sum(embed[s, x] for s, x in enumerate(row)) ** expert.power @ readout
        answer = integer_answer(*row) % network.modulus
        wrong = max(output[q] for q in range(network.modulus) if q != answer)
        if output[answer] <= wrong:
            errors.append(tuple(row))
        margins.append(output[answer] - wrong)
        squares.extend((output[q] - (q == answer)) ** 2 for q in range(network.modulus))
    return 1 - len(errors) / len(margins), np.mean(squares), min(margins), errors


def wrong_network(width: int = 20) -> Network:
    """Too narrow for the paper's averaging: some of its answers are wrong."""
    return compile_paper("n1 + 2n2", 13, PaperSettings(add_width=width, seed=1, dtype="float64"))


def test_a_wrong_network_is_measured_as_by_hand():
    network = wrong_network()
    accuracy, mse, margin, errors = loop(network, lambda x, y: x + 2 * y, product(range(13), repeat=2))
    assert 0 < len(errors) < 169
    found = verify(network)
    assert found.accuracy == accuracy
    assert found.errors == len(errors)
    assert found.first_error == errors[0]
    assert found.mse == pytest.approx(mse, rel=1e-10)
    assert found.min_margin == pytest.approx(margin, rel=1e-10)
    assert (found.rows_checked, found.rows_total, found.exhaustive) == (169, 169, True)


def test_a_right_network_has_no_first_error():
    found = verify(compile_paper("n1 + 2n2", 13))
    assert (found.accuracy, found.errors, found.first_error) == (1.0, 0, None)
    assert found.min_margin > 0


@pytest.mark.parametrize("rows_at_a_time", [1, 7, 50, 168, 169])
def test_chunks_give_what_one_chunk_gives(monkeypatch, rows_at_a_time):
    network = wrong_network()
    whole = verify(network)
    monkeypatch.setattr(verification, "chunk_rows", lambda model, count, dtype: min(count, rows_at_a_time))
    reported = []
    found = verify(network, progress=lambda done, total: reported.append((done, total)))
    assert found.errors == whole.errors and found.first_error == whole.first_error
    assert found.min_margin == pytest.approx(whole.min_margin, rel=1e-12)
    assert found.mse == pytest.approx(whole.mse, rel=1e-12)
    chunks = -(-169 // rows_at_a_time)
    assert reported == [(min(rows_at_a_time * (k + 1), 169), 169) for k in range(chunks)]


def test_a_sample_is_drawn_from_its_seed():
    network = wrong_network()
    found = verify(network, sample=60, seed=4)
    assert (found.rows_checked, found.rows_total, found.exhaustive) == (60, 169, False)
    rows = next(row_chunks(network, 60, 60, np.random.default_rng(4)))
    accuracy, mse, margin, errors = loop(network, lambda x, y: x + 2 * y, rows)
    assert found.accuracy == pytest.approx(accuracy)
    assert found.first_error == errors[0]
    assert found.mse == pytest.approx(mse, rel=1e-10)
    assert found.min_margin == pytest.approx(margin, rel=1e-10)
    again, other = verify(network, sample=60, seed=4), verify(network, sample=60, seed=5)
    assert (again.mse, again.errors) == (found.mse, found.errors)
    assert other.mse != found.mse


def test_a_sample_reaches_the_whole_range():
    network = compile_paper("n1 + n2", 11, PaperSettings(add_width=5))
    rows = next(row_chunks(network, 100, 100, np.random.default_rng(0)))
    assert set(rows.ravel()) == set(range(11))


def test_a_sample_as_large_as_the_table_is_the_table():
    found = verify(wrong_network(), sample=10**9)
    assert (found.rows_checked, found.exhaustive) == (169, True)


def test_all_rows_come_once_and_in_order():
    network = compile_paper("n1 + n2 + n3", 3, PaperSettings(add_width=5))
    rows = np.concatenate(list(row_chunks(network, 27, 10, np.random.default_rng(0))))
    assert [tuple(row) for row in rows] == list(product(range(3), repeat=3))


def test_samples_and_tables_that_cannot_be_checked_are_refused():
    network = wrong_network()
    with pytest.raises(InputError, match="the sample must have at least 1 input, got 0; leave it out"):
        verify(network, sample=0)
    assert predict(network, np.int8(3), np.array(4)).row == (3, 4), "any kind of whole number will do"
    large = compile_paper("n1 + n2 + n3 + n4", 499, PaperSettings(add_width=2))
    with pytest.raises(
        InputError,
        match=r"the table has 499\^4 rows, .* not proved .*; check some of them: sample=100000",
    ):
        verify(large)
    assert verify(large, sample=100).rows_total == 499**4


def test_ties_are_errors():
    expert = Expert(np.ones((1, 3, 1)), np.ones((1, 3)), 1)
    found = verify(Network.of_circuit(single(expert), read_function("n1", 3), "paper"))
    assert (found.accuracy, found.errors, found.min_margin, found.first_error) == (0.0, 3, 0.0, (0,))


def test_weights_that_are_not_numbers_are_errors():
    expert = Expert(np.full((1, 3, 1), np.nan), np.ones((1, 3)), 1)
    found = verify(Network.of_circuit(single(expert), read_function("n1", 3), "paper"))
    assert found.errors == 3 and found.first_error == (0,)
    assert np.isnan(found.min_margin) and np.isnan(found.mse)


def test_answers_follow_the_expression_not_the_plan():
    """A network that computes a sum but claims a difference is found out."""
    right = compile_paper("n1 + n2", 7)
    found = verify(Network.of_circuit(right.circuit, read_function("n1 - n2", 7), "paper"))
    assert found.errors == sum((x + y) % 7 != (x - y) % 7 for x, y in product(range(7), repeat=2))
    assert found.first_error == (0, 1)


def test_variables_are_read_in_rising_order():
    network = compile_paper("n5 - 2n2", 11, PaperSettings(add_width=3000))
    assert network.variables == ["n2", "n5"]
    assert predict(network, 3, 4).expected == (4 - 2 * 3) % 11
    assert verify(network).accuracy == 1.0


@pytest.mark.parametrize("dtype, digits", [("float32", 1e-5), ("float64", 1e-11)])
def test_networks_are_evaluated_in_the_precision_of_their_weights(dtype, digits):
    network = compile_paper("n1 + 2n2", 13, PaperSettings(add_width=300, dtype=dtype))
    _, mse, margin, _ = loop(network, lambda x, y: x + 2 * y, product(range(13), repeat=2))
    found = verify(network)
    assert found.min_margin == pytest.approx(margin, rel=digits)
    assert found.mse == pytest.approx(mse, rel=digits)
    if dtype == "float32":
        assert found.min_margin != pytest.approx(margin, rel=1e-11)


def test_predictions_are_the_argmax_with_its_margin():
    network = wrong_network()
    (expert,) = network.circuit.experts
    for row in product(range(13), repeat=2):
        output = (expert.embed[0, row[0]] + expert.embed[1, row[1]]) ** 2 @ expert.readout
        answer = predict(network, *row)
        expected = (row[0] + 2 * row[1]) % 13
        assert (answer.row, answer.value, answer.expected) == (row, output.argmax(), expected)
        assert answer.margin == pytest.approx(output[expected] - np.delete(output, expected).max(), rel=1e-9)
        assert answer.correct == (output.argmax() == expected)
    assert Prediction((1,), 2, 2, 0.5).correct


@pytest.mark.parametrize(
    "values, message",
    [
        ((1,), r"this network takes 2 values \(n1, n2\), got 1"),
        ((1, 2, 3), r"this network takes 2 values \(n1, n2\), got 3"),
        ((13, 0), r"values must be residues 0 … 12, got 13; reduce it modulo 13"),
        ((-1, 0), "values must be residues 0 … 12, got -1"),
        ((1.5, 0), "values must be residues 0 … 12, got 1.5"),
        (("x", 0), "values must be residues 0 … 12, got x"),
        ((None, 0), "values must be residues 0 … 12, got None"),
        (([3], 0), r"values must be residues 0 … 12, got \[3\]"),
        (([[1, 13]],), "rows must hold residues 0 … 12, got 1 … 13; reduce them first"),
        (([[1, 2, 3]],), r"rows need 2 whole numbers each, got shape \(1, 3\) of int64"),
        (([[1, 2], [3]],), r"the rows differ in length; give an array of shape \(rows, variables\)"),
        (([[[1, 2]]],), r"rows must be an array of shape \(rows, variables\), got \(1, 1, 2\)"),
    ],
)
def test_predictions_that_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        predict(wrong_network(), *values)


def test_many_predictions_at_once():
    network, rows = wrong_network(), np.array([[0, 0], [5, 12], [12, 1]])
    many = predict(network, rows)
    assert isinstance(many, Predictions)
    assert many.expected.tolist() == [0, (5 + 24) % 13, (12 + 2) % 13]
    for k, row in enumerate(rows.tolist()):
        alone = predict(network, *row)
        assert (alone.value, alone.expected) == (many.values[k], many.expected[k])
        assert alone.margin == pytest.approx(many.margins[k], rel=1e-12)
    right = compile_paper("n1 + 2n2", 13)
    assert predict(right, rows.tolist()).correct and predict(right, rows).summary().startswith("3 of 3 inputs right")
    assert predict(right, np.empty((0, 2), int)).summary() == "0 of 0 inputs right, smallest margin inf"
    assert predict(right, rows[0].tolist()) == predict(right, *rows[0].tolist()), "one row, like its values"


def test_margins_are_over_the_best_wrong_class():
    logits = np.array([[0.0, 1.0, 0.25], [0.5, 0.0, 0.75]])
    np.testing.assert_allclose(row_margins(logits, np.array([1, 0])), [0.75, -0.25])


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_network_is_refused():
    with pytest.raises(InputError, match="a network, a run or a path is needed, got int"):
        verify(7)


def test_chunks_are_bounded():
    wide = Power((97,), 97, width=5000)
    rows = chunk_rows(wide, 10**9, np.dtype("float32"))
    assert rows >= 1 and rows * 5000 * 4 <= CHUNK_BYTES
    assert chunk_rows(wide, 3, np.dtype("float32")) == 3
    assert chunk_rows(Power((2,), 2, width=10**9), 10, np.dtype("float32")) == 1
