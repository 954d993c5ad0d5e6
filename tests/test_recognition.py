"""Which function a table of answers is: formulas by Python's integers, groups of tuples, errors, random answers."""

from __future__ import annotations

from itertools import permutations
from math import log

import numpy as np
import pytest
from scipy.stats import binom

from modgrok.algebra.group_names import group_name
from modgrok.base.errors import InputError
from modgrok.recognition.chance import CHANCE, cells_needed, log_chance
from modgrok.recognition.recognising import recognise


def table(f, p):
    return np.array([[f(a, b) % p for b in range(p)] for a in range(p)])


def with_errors(values, share, seed=0):
    """The table with a share of its cells one too large; also which cells that are."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(values.shape) < share
    return np.where(wrong, (values + 1) % len(values), values), np.flatnonzero(wrong)


def products(elements, times):
    number = {element: k for k, element in enumerate(elements)}
    return np.array([[number[times(a, b)] for b in elements] for a in elements])


def dihedral(m):
    elements = [(i, s) for s in range(2) for i in range(m)]
    return products(elements, lambda a, b: ((a[0] + (-b[0] if a[1] else b[0])) % m, (a[1] + b[1]) % 2))


def direct(m, n):
    elements = [(a, b) for a in range(m) for b in range(n)]
    return products(elements, lambda x, y: ((x[0] + y[0]) % m, (x[1] + y[1]) % n))


SYMMETRIC = products(list(permutations(range(4))), lambda a, b: tuple(a[i] for i in b))

FORMULAS = {
    "n1 + n2 mod 13": (lambda a, b: a + b, 13),
    "n1 - n2 mod 12": (lambda a, b: a - b, 12),
    "5 n1 + 3 n2 + 7 mod 16": (lambda a, b: 5 * a + 3 * b + 7, 16),
    "n1 n2 mod 13": (lambda a, b: a * b, 13),
    "3 n1^2 n2 + 2 mod 17": (lambda a, b: 3 * a * a * b + 2, 17),
    "5 n1 n2 + 3 mod 12": (lambda a, b: 5 * a * b + 3, 12),
    "n1^2 + n1 n2 + n2^2 mod 17": (lambda a, b: a * a + a * b + b * b, 17),
    "n1^3 + n1 n2 + 4 mod 17": (lambda a, b: a**3 + a * b + 4, 17),
    "(2 n1 + 3 n2)^4 mod 23": (lambda a, b: (2 * a + 3 * b) ** 4, 23),
    "(4 n1 + n2^2)^3 mod 23": (lambda a, b: (4 * a + b * b) ** 3, 23),
    "(n1 n2)^3 + 2 (n1 n2) mod 23": (lambda a, b: (a * b) ** 3 + 2 * a * b, 23),
}


@pytest.mark.parametrize("errors", [0, 0.04])
@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_is_told_with_the_rows_that_err(name, errors):
    f, p = FORMULAS[name]
    right = table(f, p)
    answers, wrong = with_errors(right, errors)
    found = recognise(answers)
    assert found.function is not None and found.family is not None
    np.testing.assert_array_equal(found.function.table, right)
    np.testing.assert_array_equal(found.wrong, wrong)
    assert found.formula == name or (name.startswith("(") and found.function.tree is not None)
    assert found.log10_chance < log(CHANCE) / log(10)


def test_large_moduli_and_many_exponents_are_recognised_without_errors_or_with():
    answers, wrong = with_errors(table(lambda a, b: 5 * a + 3 * b + 7, 307), 0.04)
    found = recognise(answers)
    assert found.formula == "5 n1 + 3 n2 + 7 mod 307"
    np.testing.assert_array_equal(found.wrong, wrong)
    assert recognise(table(lambda a, b: 2 * a**5 * b, 307)).formula == "2 n1^5 n2 mod 307"
    assert recognise(table(lambda a, b: a**7 + 3 * a * b**9 + b, 17)).formula == "3 n1 n2^9 + n1^7 + n2 mod 17"


def test_three_variables_are_sums_and_products_too():
    n = np.indices((7, 7, 7))
    assert recognise((2 * n[0] + n[1] - n[2]) % 7).formula == "2 n1 + n2 - n3 mod 7"
    assert recognise(3 * n[0] * n[1] ** 2 * n[2] % 7).formula == "3 n1 n2^2 n3 mod 7"


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("Z2^4", np.bitwise_xor.outer(np.arange(16), np.arange(16))),
        ("D7", dihedral(7)),
        ("S4", SYMMETRIC),
        ("Z3xZ6", direct(3, 6)),
    ],
)
def test_the_table_of_a_group_is_told_by_name_in_any_disguise(name, group):
    answers, wrong = with_errors(group, 0.04)
    found = recognise(answers)
    assert (found.formula, found.group) == (f"n1 n2 in {name}", name)
    np.testing.assert_array_equal(found.wrong, wrong)
    rng = np.random.default_rng(1)
    a, b, h = (rng.permutation(len(group)) for _ in range(3))
    disguised = h[group[np.ix_(a, b)]]
    found = recognise(with_errors(disguised, 0.03)[0])
    assert found.formula == f"h(g1(n1) g2(n2)) in {name}"
    np.testing.assert_array_equal(found.function.table, disguised)
    inverse = np.argmax(group == np.flatnonzero((group == np.arange(len(group))).all(axis=1))[0], axis=1)
    expected = f"n1 n2 in {name}" if name == "Z2^4" else f"n1 n2^-1 in {name}"
    assert recognise(group[:, inverse]).formula == expected


def test_groups_with_the_same_orders_of_elements_are_told_apart():
    """Z4xZ4 and a group with an element that does not commute have three elements of order 2 and twelve of order 4."""
    elements = [(a, b) for a in range(4) for b in range(4)]
    twisted = products(elements, lambda x, y: ((x[0] + y[0] * (-1) ** x[1]) % 4, (x[1] + y[1]) % 4))
    assert group_name(twisted) == "a non-commutative group of order 16"
    assert group_name(direct(4, 4)) == "Z4^2"


def test_any_places_are_found_where_no_formula_is():
    rng = np.random.default_rng(3)
    g1, g2, h = (rng.integers(0, 23, 23) for _ in range(3))
    right = np.array([[h[(g1[a] + g2[b]) % 23] for b in range(23)] for a in range(23)])
    found = recognise(with_errors(right, 0.03)[0])
    assert found.family == "any sum of places"
    np.testing.assert_array_equal(found.function.table, right)


def test_products_in_a_field_of_25_elements_are_sums_of_places_with_a_zero():
    """F_25 = F_5[t]/(t² - 2); a + b t has the number a + 5 b."""
    elements = [(k % 5, k // 5) for k in range(25)]
    values = products(elements, lambda x, y: ((x[0] * y[0] + 2 * x[1] * y[1]) % 5, (x[0] * y[1] + x[1] * y[0]) % 5))
    assert values[2, 3] == 1 and values[5, 5] == 2  # 2 · 3 = 1, t · t = 2
    answers, wrong = with_errors(values, 0.03)
    for given, errors in ((values, []), (answers, wrong.tolist())):
        found = recognise(given)
        assert found.formula == "h(g1(n1) + g2(n2)) over Z_24 with an absorbing zero"
        np.testing.assert_array_equal(found.function.table, values)
        assert found.wrong.tolist() == errors


# ----------------------------------------------------------------------------------------------- no formula


@pytest.mark.parametrize("p", [5, 7, 8, 11, 13])
def test_random_answers_get_no_formula(p):
    """Of so many tables not one may, whatever the shares of the answers are; also the bound itself is checked."""
    rng = np.random.default_rng(p)
    for _ in range(10):
        shares = rng.dirichlet(np.full(p, rng.choice([0.3, 1, 100])))
        found = recognise(rng.choice(p, (p, p), p=shares))
        assert found.function is None and found.why


@pytest.mark.parametrize("p", [7, 11])
def test_the_best_of_all_sums_on_random_answers_stays_below_what_is_asked(p):
    """All p^3 sums are counted out here; their best is what a family puts forward, and it must be below the bound."""
    c1, c2, c, a, b = np.ogrid[:p, :p, :p, :p, :p]
    every = (c1 * a + c2 * b + c) % p
    needed = cells_needed(p * p, 1 / p, 3 * log(p))
    rng = np.random.default_rng(0)
    best = [int((every == rng.integers(0, p, (p, p))).sum(axis=(3, 4)).max()) for _ in range(200)]
    assert max(best) < needed < p * p
    assert (p**3) * binom.sf(needed - 1, p * p, 1 / p) <= CHANCE


def test_the_bound_is_above_the_binomial_tail():
    for cells, share in ((49, 1 / 7), (121, 0.4), (900, 1 / 30)):
        right = np.arange(cells + 1)
        assert (log_chance(cells, right, share, 0) >= binom.logsf(right - 1, cells, share) - 1e-9).all()


@pytest.mark.parametrize("answers", [np.full((9, 9), 4), np.arange(81).reshape(9, 9) // 41])
def test_constants_and_answers_of_a_few_classes_are_no_formula(answers):
    assert recognise(answers).function is None


def test_thresholds_of_a_sum_as_untrained_networks_have_them_are_no_formula():
    """Two or three answers, by how large u(a) + v(b) is: h(g1 + g2) over a line, which fits many circles."""
    rng = np.random.default_rng(0)
    for p in (23, 31, 43):
        for edges in ([0.3], [-0.5, 0.5]):
            sums = np.add.outer(rng.normal(size=p), rng.normal(size=p))
            assert recognise(rng.permutation(p)[np.digitize(sums, edges)]).function is None


def test_a_function_of_one_input_is_told_where_it_is_a_formula():
    assert recognise(table(lambda a, b: 3 * a + 2, 17)).formula == "3 n1 + 2 mod 17"
    assert recognise(table(lambda a, b: 5 * b**3, 17)).formula == "5 n2^3 mod 17"
    assert recognise(np.tile(np.random.default_rng(0).integers(0, 17, (17, 1)), 17)).function is None


def memorised(p, share, seed=0):
    """n1 + n2 on a share of the table and anything elsewhere, as a network that has memorised answers: with logits."""
    rng = np.random.default_rng(seed)
    right, told = table(lambda a, b: a + b, p), rng.random((p, p)) < share
    logits = rng.normal(size=(p * p, p))
    logits[np.flatnonzero(told), right[told]] += 20
    return logits, logits.argmax(axis=1).reshape(p, p), told


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
def test_memorised_answers_are_no_formula(share):
    logits, answers, told = memorised(31, share)
    assert recognise(answers, logits=logits).function is None
    found = recognise(answers, logits=logits, training=told)
    assert found.function is None and "n1 + n2" in found.why


def test_near_misses_are_errors_and_not_memorised():
    p, rng = 31, np.random.default_rng(0)
    right = table(lambda a, b: a + b, p)
    logits = rng.normal(size=(p * p, p))
    np.put_along_axis(logits, right.reshape(-1, 1), 3.2, axis=1)
    answers = logits.argmax(axis=1).reshape(p, p)
    assert 0.75 < (answers == right).mean() < 0.999
    assert recognise(answers, logits=logits).formula == "n1 + n2 mod 31"


def test_bad_answers_are_refused_in_a_line():
    for answers in (np.zeros((3, 3)), np.array([[0, -1], [1, 0]]), np.int64(3)):
        with pytest.raises(InputError, match="answers must be whole numbers"):
            recognise(answers)
    assert "differ in number" in recognise(np.array([[0, 1, 2], [3, 4, 0]])).why


def test_a_formula_of_one_variable_is_counted_on_the_values_of_that_one():
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 23, size=(23, 23))
    answers[:, 18:] = (14 - 6 * np.arange(18, 23)) % 23
    tried = {each.family: each for each in recognise(answers).tried}
    assert (tried["sums"].formula, tried["sums"].counted) == ("-6 n2 + 14 mod 23", 23)
    assert tried["products"].counted == 23 * 23
