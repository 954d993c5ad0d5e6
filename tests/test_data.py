"""Rows and splits against brute force."""

from itertools import product

import jax
import numpy as np
import pytest

from modgrok.base.errors import InputError
from modgrok.training import data


@pytest.mark.parametrize("modulus, variables", [(2, 1), (5, 2), (3, 4), (7, 3)])
def test_rows_count_up_with_n1_first(modulus, variables):
    inputs = data.table_inputs(np.arange(modulus**variables), (modulus,) * variables)
    assert np.array_equal(inputs, list(product(range(modulus), repeat=variables)))


def test_function_table_is_the_function():
    table, variables = data.function_table("2n1^3 n2 + n3", 5)
    assert variables == 3
    assert table.tolist() == [(2 * a**3 * b + c) % 5 for a, b, c in product(range(5), repeat=3)]


def test_a_table_too_large_to_train_on_is_refused():
    with pytest.raises(InputError, match=r"a table of 9700\^3 values is above the limit of 16,777,216"):
        data.function_table("n1 + n2 + n3", 9700)


@pytest.mark.parametrize("fraction, rows, count", [(0.5, 9409, 4704), (0.3, 10, 3), (1.0, 7, 7), (1e-9, 7, 1)])
def test_train_count(fraction, rows, count):
    assert data.train_count(fraction, rows) == count


@pytest.mark.parametrize("fraction", [0.0, -1.0, 1.5, float("nan")])
def test_a_fraction_outside_its_range_is_refused(fraction):
    with pytest.raises(InputError, match=r"fraction must be above 0 and at most 1, got .*; 0\.5 trains on half"):
        data.train_count(fraction, 10)


def test_shuffled_rows_are_a_permutation_that_depends_on_the_key():
    one, two = (np.asarray(data.shuffled_rows(jax.random.key(seed), 121)) for seed in (0, 1))
    assert sorted(one.tolist()) == list(range(121))
    assert not np.array_equal(one, two)
    assert np.array_equal(one, data.shuffled_rows(jax.random.key(0), 121))


def test_variables_may_have_different_numbers_of_residues():
    rows, residues = np.arange(30), (2, 5, 3)
    inputs = np.asarray(data.table_inputs(rows, residues))
    assert inputs.tolist() == [list(row) for row in product(*map(range, residues))]
