"""Families of tables: reproducible, what they say they are, and templates."""

import re
from collections import Counter

import numpy as np
import pytest

from modgrok.base.errors import InputError
from modgrok.censuses.families import FAMILIES, check_family, make_table
from modgrok.separable import classify_table

TEMPLATE = "{a}x^2 y + {b}y^2"


@pytest.mark.parametrize("family", [*FAMILIES, TEMPLATE])
def test_a_table_is_reproduced_from_family_modulus_and_seed(family):
    first, again, other = (make_table(family, 13, seed) for seed in (3, 3, 4))
    assert first.values.shape == (13, 13) and first.values.min() >= 0 and first.values.max() < 13
    assert np.array_equal(first.values, again.values) and first.expression == again.expression
    assert not np.array_equal(first.values, other.values)


def numbers(text):
    return [int(number) for number in re.findall(r"[0-9]+", text)]


@pytest.mark.parametrize("family, terms", [("two-monomials", 2), ("three-monomials", 3)])
def test_monomials_have_the_values_of_their_expression(family, terms):
    table = make_table(family, 11, 5)
    parts = table.expression.split(" + ")
    assert len(parts) == terms
    for x, y in [(0, 0), (1, 0), (2, 3), (10, 7)]:
        assert table.values[x, y] == sum(c * x**k * y**e for c, k, e in map(numbers, parts)) % 11


def test_compositions_have_the_values_of_their_expressions():
    for x, y in [(0, 0), (1, 0), (2, 3), (10, 7)]:
        table = make_table("composed-sum", 11, 5)
        a, k, b, e, m = numbers(table.expression)
        assert table.values[x, y] == (a * x**k + b * y**e) ** m % 11
        table = make_table("composed-product", 11, 5)
        a, k, b, c, e, d, m = numbers(table.expression)
        assert table.values[x, y] == ((a * x**k + b) * (c * y**e + d)) ** m % 11
        table = make_table("sum-plus-monomial", 11, 5)
        a, k, b, e, m, c, i, j = numbers(table.expression)
        assert table.values[x, y] == ((a * x**k + b * y**e) ** m + c * x**i * y**j) % 11
        table = make_table("product-of-sums", 11, 5)
        a, k, b, e, c, i, d, j = numbers(table.expression)
        assert table.values[x, y] == (a * x**k + b * y**e) * (c * x**i + d * y**j) % 11


@pytest.mark.parametrize("family", ["composed-sum", "relabelled-sum", "composed-product"])
def test_planted_families_are_in_the_class(family):
    found = Counter(classify_table(make_table(family, 13, seed).values, 13).status for seed in range(6))
    assert found["not-in-class"] == 0 and found["in-class"] >= 5


def test_random_tables_are_not_in_the_class():
    assert classify_table(make_table("random", 13, 0).values, 13).status == "not-in-class"


def test_a_noisy_sum_is_a_sum_but_for_some_cells():
    noisy = [make_table("noisy-sum", 31, seed).values for seed in range(24)]
    repeats = [np.mean([len(np.unique(row)) for row in values]) for values in noisy]
    assert max(repeats) > 27 > 23 > min(repeats)  # 31 without noise, 31 (1 - 1/e) = 19.6 with nothing else


def test_a_function_of_powers_repeats_the_rows_that_its_power_repeats():
    tables = [make_table("function-of-powers", 13, seed).values for seed in range(12)]
    rows = {len(np.unique(values, axis=0)) for values in tables}
    assert rows <= {13, 7, 5, 4, 3, 2} and len(rows) > 2  # 1 + 12 / gcd(k, 12)


def test_a_template_keeps_its_letters_and_its_braced_exponents():
    table = make_table("{a}x^{2} + {b}y + {a}", 17, 1)
    a, b = table.values[0, 0], (table.values[0, 1] - table.values[0, 0]) % 17
    x, y = np.indices((17, 17))
    assert a and b and np.array_equal(table.values, (a * x * x + b * y + a) % 17)


def test_names_that_are_neither_family_nor_template_are_refused():
    check_family("random")
    check_family(TEMPLATE)
    with pytest.raises(InputError, match="'two-monomial' is neither a family"):
        check_family("two-monomial")
    with pytest.raises(InputError, match="functions of n1 and n2"):
        check_family("{a}x + n3")
    with pytest.raises(InputError, match="modulus must be at least 2, got 1"):
        make_table("random", 1, 0)


def test_modulo_a_number_that_is_no_prime_a_table_has_the_values_of_its_expression():
    for modulus in (12, 16, 35):
        parts = (table := make_table("three-monomials", modulus, 2)).expression.split(" + ")
        for x, y in [(0, 0), (2, 3), (6, 10), (4, 9)]:
            assert table.values[x, y] == sum(c * x**k * y**e for c, k, e in map(numbers, parts)) % modulus
        values = make_table("function-of-powers", modulus, 1).values
        assert values.shape == (modulus, modulus) and values.min() >= 0 and values.max() < modulus
