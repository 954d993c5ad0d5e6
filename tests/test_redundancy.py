"""Redundancy, against enumeration, sampling and a memoriser written out by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from separable_cases import CASES, table_of

from modgrok.base.errors import InputError
from modgrok.separable import redundancy, redundancy_of_split
from modgrok.separable.measures.redundancy import twins_and_guesses


def memoriser_accuracy(table: np.ndarray, train: np.ndarray) -> Fraction:
    """A lookup table keyed by the whole row and the whole column of a cell: what equal lines alone can answer."""
    rows = [tuple(row) for row in table.tolist()]
    columns = list(zip(*rows, strict=True))
    known = {(rows[a], columns[b]) for a, b in np.argwhere(train)}
    tested = [(rows[a], columns[b]) for a, b in np.argwhere(~train)]
    return Fraction(sum(cell in known for cell in tested), len(tested))


def test_exact_over_all_splits_of_a_small_table():
    table = np.array([[0, 1, 1], [0, 1, 1], [2, 0, 0]])
    for trained in range(1, 9):
        shares = []
        for cells in combinations(range(9), trained):
            train = np.zeros(9, dtype=bool)
            train[list(cells)] = True
            shares.append(memoriser_accuracy(table, train.reshape(3, 3)))
        assert redundancy(table, trained / 9) == pytest.approx(float(sum(shares) / len(shares)), abs=1e-12)


def test_unknown_cells_are_neither_trained_on_nor_tested():
    """Once they counted as cells with a value of their own: 97 % of a table with one known cell had twins."""
    table = np.array([[0, -1, 1], [0, -1, 1], [2, 0, -1]])
    known = [tuple(cell) for cell in np.argwhere(table >= 0).tolist()]
    rows, columns = ([tuple(line) for line in lines.tolist()] for lines in (table, table.T))
    for count in range(1, len(known)):
        shares = []
        for trained in combinations(known, count):
            seen = {(rows[a], columns[b]) for a, b in trained}
            shares.append(Fraction(sum((rows[a], columns[b]) in seen for a, b in known), 1) - count)
        expected = sum(shares) / (len(shares) * (len(known) - count))
        assert redundancy(table, count / len(known)) == pytest.approx(float(expected), abs=1e-12)
    alone = np.full((7, 7), -1)
    alone[3, 4] = 5
    assert redundancy(alone, 0.5) == 0.0


@pytest.mark.parametrize("case", [CASES[0], CASES[5], CASES[9]], ids=lambda case: case.text)
def test_a_given_split_agrees_with_the_memoriser_and_with_the_expectation(case):
    table = table_of(case.function, 97)
    train = np.random.default_rng(0).permutation(97 * 97).reshape(97, 97) < 97 * 97 // 2
    share = redundancy_of_split(table, train)
    assert share == float(memoriser_accuracy(table, train))
    assert share == pytest.approx(redundancy(table, 0.5), abs=0.02)


def test_no_twins_and_only_twins():
    assert redundancy(table_of(lambda a, b: a * b, 11), 0.5) == 0.0
    assert redundancy(np.zeros((11, 11), dtype=int), 0.5) == 1.0
    assert redundancy(np.zeros((2, 2), dtype=int), 0.25) == 1.0


def test_a_memoriser_that_guesses_is_right_on_twins_and_on_one_guess_in_p():
    table = table_of(lambda a, b: a**2 + b, 11)
    rng = np.random.default_rng(0)
    hits, tests = 0, 0
    for _ in range(300):
        train = rng.permutation(121).reshape(11, 11) < 60
        known = {(a * a % 11, b) for a, b in np.argwhere(train).tolist()}
        for a, b in np.argwhere(~train).tolist():
            hits += (a * a % 11, b) in known or rng.integers(11) == table[a, b]
            tests += 1
    assert hits / tests == pytest.approx(twins_and_guesses(redundancy(table, 60 / 121), 11), abs=0.01)
    assert twins_and_guesses(0.0, 97) == 1 / 97 and twins_and_guesses(1.0, 97) == 1.0


def test_three_axes_have_twins_too():
    a, b, c = np.meshgrid(*[np.arange(5)] * 3, indexing="ij")
    table = (a + b + c**2) % 5
    train = np.random.default_rng(1).random((5, 5, 5)) < 0.5
    known = {(x, y, z * z % 5) for x, y, z in np.argwhere(train).tolist()}
    tested = [(x, y, z * z % 5) for x, y, z in np.argwhere(~train).tolist()]
    assert redundancy_of_split(table, train) == sum(cell in known for cell in tested) / len(tested)


@pytest.mark.usefixtures("unchecked")
def test_splits_without_cells_on_both_sides_are_refused():
    table = table_of(lambda a, b: a + b, 5)
    for fraction in (0, 1, -0.5, 0.001, float("nan")):
        with pytest.raises(InputError, match="leave cells on both sides, got"):
            redundancy(table, fraction)
    with pytest.raises(InputError, match="boolean mask of shape"):
        redundancy_of_split(table, np.ones((5, 5), dtype=bool))
    with pytest.raises(InputError, match=r"got shape \(4, 4\)"):
        redundancy_of_split(table, np.zeros((4, 4), dtype=bool))
