"""Value tables and reduced polynomials against Python integers and python-flint."""

from __future__ import annotations

from itertools import product
from math import prod

import flint
import numpy as np
import pytest
from cases import VALID
from hypothesis import given, strategies as st

from modgrok.algebra import polynomial as module
from modgrok.algebra.expression import parse
from modgrok.algebra.polynomial import (
    ExpansionTooLong,
    Polynomial,
    evaluate,
    expand,
    from_table,
    polynomial,
    reduce,
    table_work,
    value_table,
)
from modgrok.algebra.trees import variables
from modgrok.base.errors import InputError

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)
CELLS = 2_000
"""Tables of the property tests stay below this size, so that Python integers can walk through them."""

Spelled = tuple[str, int, int, list[tuple[int, tuple[int, ...]]]]


@st.composite
def spelled_polynomials(draw: st.DrawFn) -> Spelled:
    """(text, prime, variables, [(coefficient, exponents)]): a sum of monomials, spelled in a random way."""
    p = draw(st.sampled_from(PRIMES))
    count = draw(st.integers(1, max(n for n in (1, 2, 3, 4) if p**n <= CELLS or n == 1)))
    monomial = st.tuples(st.integers(-50, 50), st.tuples(*[st.integers(0, 2 * p + 3)] * count))
    terms = draw(st.lists(monomial, min_size=1, max_size=5))
    power, times = draw(st.sampled_from(["^", "**", " ^ "])), draw(st.sampled_from(["*", " * ", " ", "·"]))
    text = ""
    for c, exponents in terms:
        factors = [f"n{v}{power}{e}" for v, e in enumerate(exponents, start=1) if e or draw(st.booleans())]
        text += " + " if c >= 0 else " - "
        text += times.join([str(abs(c)), *factors]) if factors else str(abs(c))
    text += "".join(f" + 0 n{v}" for v in range(1, count + 1))  # every variable occurs
    return text, p, count, terms


def python_value(terms: list[tuple[int, tuple[int, ...]]], point: tuple[int, ...]) -> int:
    return sum(c * prod(x**e for x, e in zip(point, exponents, strict=True)) for c, exponents in terms)


@given(spelled_polynomials())
def test_tables_agree_with_python_integers(spelled):
    text, p, count, terms = spelled
    table = value_table(parse(text), p)
    assert table.shape == (p,) * count
    assert table.dtype == np.int64
    for point in product(range(p), repeat=count):
        assert table[point] == python_value(terms, point) % p


@given(spelled_polynomials())
def test_tables_agree_with_flint(spelled):
    text, p, count, terms = spelled
    ring = flint.nmod_mpoly_ctx.get([f"n{v}" for v in range(1, count + 1)], modulus=p)
    oracle = ring.from_dict({})
    for c, exponents in terms:
        oracle += ring.from_dict({exponents: c % p})
    table = value_table(parse(text), p)
    for point in product(range(p), repeat=count):
        assert table[point] == int(oracle(*point))


@given(spelled_polynomials())
def test_the_reduced_polynomial_is_found_in_both_ways(spelled):
    text, p, _, terms = spelled
    tree = parse(text)
    table = value_table(tree, p)
    expanded, recovered = expand(tree, p), from_table(table, p, variables(tree))
    assert expanded == recovered
    assert all(0 < c < p and max(exponents) < p for exponents, c in expanded.terms)
    by_hand: dict[tuple[int, ...], int] = {}
    for c, exponents in terms:
        reduced = tuple(e if e < p else (e - 1) % (p - 1) + 1 for e in exponents)
        by_hand[reduced] = (by_hand.get(reduced, 0) + c) % p
    assert dict(expanded.terms) == {exponents: c for exponents, c in by_hand.items() if c}
    assert np.array_equal(value_table(expanded.tree, p, variables(tree)), table)
    assert np.array_equal(value_table(parse(str(expanded)), p, variables(tree)), table)


@given(st.sampled_from(PRIMES), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_any_table_has_a_polynomial(p, count, seed):
    table = np.random.default_rng(seed).integers(p, size=(p,) * count)
    found = from_table(table, p, range(1, count + 1))
    assert np.array_equal(value_table(found.tree, p, range(1, count + 1)), table)


@given(spelled_polynomials(), st.integers(0, 40), st.integers(0, 40))
def test_nested_expressions_are_expanded_correctly(spelled, outer, inner):
    text, p, _, _ = spelled
    tree = parse(f"(({text})^{inner} - n1)^{outer} * (n1 + 2)")
    assert reduce(tree, p) == from_table(value_table(tree, p), p, variables(tree))


@pytest.mark.parametrize("case", VALID, ids=lambda case: case.text[:40])
def test_the_table_of_cases(case):
    tree = parse(case.text)
    table = value_table(tree, case.modulus)
    for point in product(range(case.modulus), repeat=len(case.variables)):
        assert table[point] == case.value(*point) % case.modulus
    reduced = reduce(tree, case.modulus)
    assert reduced.variables == case.variables
    assert np.array_equal(value_table(reduced.tree, case.modulus, case.variables), table)


def test_two_spellings_of_one_function_are_one_polynomial():
    written_out = reduce(parse("16n1^4 + 96n1^3 n2 + 216n1^2 n2^2 + 216n1 n2^3 + 81n2^4"), 97)
    assert reduce(parse("(2n1 + 3n2)^4"), 97) == written_out
    assert str(written_out) == "16 n1^4 + 96 n1^3 n2 + 22 n1^2 n2^2 + 22 n1 n2^3 + 81 n2^4"
    assert reduce(parse("n1^97 - n1"), 97) == Polynomial(97, (1,), ())
    assert str(Polynomial(97, (1,), ())) == "0"


def test_long_expansions_go_through_the_table(monkeypatch):
    tree = parse("(n1 + n2 + 1)^22")
    short = reduce(tree, 23)
    monkeypatch.setattr(module, "LARGEST_EXPANSION", 10)
    with pytest.raises(ExpansionTooLong):
        expand(tree, 23)
    assert reduce(tree, 23) == short
    with pytest.raises(InputError, match="expanding takes more than 10 products, which a composite modulus needs"):
        reduce(tree, 24)


def test_dense_polynomials_of_a_large_prime():
    """(x + 1)^5000 has binomial coefficients; they come from exact float64 sums over 10,007 values."""
    p, coefficients, c = 10_007, [], 1
    for k in range(5001):
        coefficients.append(c % p)
        c = c * (5000 - k) // (k + 1)
    found = dict(from_table(value_table(parse("(n1+1)^5000"), p), p, (1,)).terms)
    assert [found.get((e,), 0) for e in range(5001)] == coefficients
    assert max(found) == (5000,)


def test_arrays_of_several_variables_are_broadcast_together():
    tree = parse("n2 - n1")
    rows = {1: np.arange(5)[:, None], 2: np.arange(5)[None, :]}
    assert evaluate(tree, rows, 5).tolist() == [[(b - a) % 5 for b in range(5)] for a in range(5)]
    assert value_table(tree, 5, over=(2, 1)).tolist() == [[(b - a) % 5 for a in range(5)] for b in range(5)]
    assert value_table(parse("3"), 5, over=(1, 2)).tolist() == [[3] * 5] * 5


def test_order_of_terms_and_unreduced_coefficients():
    assert str(polynomial(7, (1, 2), {(0, 0): 8, (1, 1): -1, (2, 0): 14, (0, 2): 3})) == "6 n1 n2 + 3 n2^2 + 1"


def test_work_counts_only_the_variables_of_a_part():
    assert table_work(parse("n1^2 + n2^2"), 10) == 10 + 10 + 10 + 10 + 100


@pytest.mark.parametrize(
    "text, modulus, message",
    [
        ("n1 + n2 + n3", 499, r"a table of 499\^3 values is above the limit of 16,777,216"),
        ("n1 n2" + " + n1 n2" * 9, 4001, "filling the table of 16,008,001 values takes .* operations, above the limit"),
        ("n1", 1, "modulus must be at least 2"),
    ],
)
def test_tables_that_are_too_large(text, modulus, message):
    with pytest.raises(InputError, match=message):
        value_table(parse(text), modulus)


def test_polynomials_that_are_too_large():
    with pytest.raises(InputError, match=r"modulus must be a prime to have a reduced polynomial, got 6 = 2 · 3"):
        from_table(np.zeros(6, int), 6, (1,))
    with pytest.raises(InputError, match=r"recovering a polynomial from 4001\^2 values takes more multiplications"):
        from_table(np.zeros((4001, 4001), np.int8), 4001, (1, 2))
    dense = np.random.default_rng(0).integers(499, size=(499, 499))
    with pytest.raises(InputError, match=r"the reduced polynomial has .* terms, above the limit of 200,000"):
        from_table(dense, 499, (1, 2))
