"""Verdicts on known polynomials, spellings, families, several variables, limits and bad input."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from separable_cases import CASES, decide_checked, table_of

from modgrok import separable
from modgrok.algebra.expression import parse
from modgrok.algebra.polynomial import value_table
from modgrok.base.errors import InputError
from modgrok.proofs.claims import KINDS
from modgrok.separable import check_obstruction, check_witness, classify_table, decide
from modgrok.separable.procedures import several
from modgrok.separable.reductions.grouping import GroupedDecision
from modgrok.separable.verdict import PROCEDURES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_the_known_table_at_97(case):
    table = table_of(case.function, 97)
    for expected, order, absorbing in ((case.additive, 97, False), (case.multiplicative, 96, True)):
        verdict = decide_checked(table, order, absorbing)
        if expected == "yes":
            assert verdict.status == "in-class"
            continue
        kind, _, total = expected.partition(" ")
        assert (verdict.status, verdict.obstruction.kind) == ("not-in-class", kind)
        assert f"{total} in all, but the group has {order}" in verdict.obstruction.explanation or not total
    assert 100 * separable.redundancy(table, 0.5) == pytest.approx(case.redundancy, abs=0.06)


@pytest.mark.parametrize("p", [11, 23, 113])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_the_same_polynomials_at_other_primes(case, p):
    """The algebra that puts a polynomial into a family holds for every prime; no perturbation falls into one."""
    table = table_of(case.function, p)
    assert (decide_checked(table, p, False).status == "in-class") == (case.additive == "yes")
    assert (decide_checked(table, p - 1, True).status == "in-class") == (case.multiplicative == "yes")


SPELLINGS = (
    ("(2n1 + 3n2)^4", "16n1^4 + 96n1^3 n2 + 216n1^2 n2^2 + 216n1 n2^3 + 81n2^4", "additive"),
    ("n1 n2 + n1", "n1 (n2 + 1)", "multiplicative"),
    ("3n1^2 + 6n1 n2 + 3n2^2", "3(n1 + n2)^2", "additive"),
    ("(4n1 + n2^2)^3 + n1 n2", "n2 n1 + (n2^2 + 4n1)(4n1 + n2^2)^2", None),
)


@pytest.mark.parametrize("first, second, family", SPELLINGS)
@pytest.mark.parametrize("p", [23, 97])
def test_the_spelling_does_not_matter(first, second, family, p):
    one, other = (value_table(parse(text), p, (1, 2)) for text in (first, second))
    found = [classify_table(table, p) for table in (one, other, np.ascontiguousarray(one.T))]
    assert [c.best and c.best.family for c in found] == [family] * 3
    assert len({c.redundancy for c in found}) == 1
    assert found[0].to_json() | {"seconds": 0} == found[1].to_json() | {"seconds": 0}


def test_constant_and_one_variable_functions_are_named():
    a, b = np.meshgrid(np.arange(7), np.arange(7), indexing="ij")
    assert classify_table(0 * a + 3, 7).best.family == "constant"
    for table in (a**2 % 7, b**3 % 7):
        found = classify_table(table, 7)
        assert found.best.family == "one-variable"
        assert check_witness(table, 7, False, found.best.verdict.witness)
        assert found.to_json()["group_order"] == 7


def test_json_has_the_documented_keys():
    found = classify_table(table_of(lambda a, b: a * b, 11), 11).to_json()
    assert set(found) >= {
        "verdict", "family", "group_order", "witness", "obstruction", "families", "redundancy",
        "notes", "seconds",
    }  # fmt: skip
    witness = found["witness"]
    assert (found["verdict"], found["family"], found["group_order"]) == ("in-class", "multiplicative", 10)
    assert witness["g1"][0] is None and witness["g2"][0] is None and witness["h_absorbing"] == 0
    for n1 in range(1, 11):
        for n2 in range(1, 11):
            assert witness["h"][(witness["g1"][n1] + witness["g2"][n2]) % 10] == n1 * n2 % 11
    assert [entry["family"] for entry in found["families"]] == ["additive", "multiplicative"]


def test_a_verdict_says_which_procedure_decided_it():
    a, b = np.meshgrid(np.arange(11), np.arange(11), indexing="ij")
    written = classify_table((a + b) ** 2 % 11, 11, tree=parse("(n1 + n2)^2")).families
    assert [found.verdict.decided_by for found in written] == ["expression", "distinct-lines"]
    table = (3 * a**2 + b**3) % 11
    assert (
        decide(table, 11, False).decided_by == "algebraic"
        and decide(a % 2 + b * 0, 11, False).decided_by == "small-table"
    )
    said = {
        word for found in classify_table(table, 11).to_json()["families"] for word in found["decided_by"].split(", ")
    }
    assert said <= {*PROCEDURES, *KINDS}
    unknown = decide(np.random.default_rng(1).integers(0, 2, (5, 5)), 13, False, effort=1e-9)
    assert unknown.status == "unknown" and unknown.to_json()["decided_by"] is None


def test_outside_the_class_redundancy_is_what_twins_answer_and_nothing_is_called_impossible():
    found = classify_table(table_of(CASES[9].function, 97), 97).to_json()
    assert (found["verdict"], found["family"], found["witness"]) == ("not-in-class", None, None)
    assert found["redundancy"] == pytest.approx(0.742, abs=0.001)
    assert "336 in all, but the group has 97" in found["obstruction"]["explanation"]
    assert "not learnable" not in str(found).lower() and "unlearnable" not in str(found).lower()


def test_modulo_a_composite_number_the_multiplicative_family_is_that_of_all_smaller_groups():
    a, b = np.meshgrid(np.arange(15), np.arange(15), indexing="ij")
    found = classify_table((a + 2 * b**2) % 15, 15)
    assert (found.status, found.family, found.group_order) == ("in-class", "additive", 15)
    assert any("15 = 3 · 5" in reason and "all cyclic groups of order below 15" in reason for reason in found.notes)
    products = classify_table(a * b % 15, 15)
    verdict = products.families[1].verdict
    assert (products.status, verdict.group_order, verdict.up_to) == ("not-in-class", 14, True)
    assert check_obstruction(a * b % 15, 14, True, verdict.obstruction, up_to=True)
    assert not check_obstruction(a * b % 15, 40, True, verdict.obstruction, up_to=True)
    cubes = (a[:9, :9] * b[:9, :9]) ** 3 % 9
    witness = classify_table(cubes, 9).families[1].verdict.witness
    assert witness.group_order < 9 and check_witness(cubes, witness.group_order, True, witness)


THREE_VARIABLES = (
    ("n1 + 2n2 + n3", "additive"),
    ("(n1 + 2n2 + n3^2)^3", "additive"),
    ("n1 n2 n3", "multiplicative"),
    ("n1^2 n2^3 n3 + 4", "multiplicative"),
    ("n1 (n2 + 1) n3", "multiplicative"),
    ("n1 n2 + n3", None),
    ("(n1 + n2) n3", None),
)


@pytest.mark.parametrize("text, family", THREE_VARIABLES)
@pytest.mark.parametrize("p", [5, 11])
def test_three_variables_are_decided_one_against_the_rest(text, family, p):
    table = value_table(parse(text), p, (1, 2, 3))
    found = classify_table(table, p)
    assert (found.best and found.best.family) == family
    for entry in found.families:
        verdict = entry.verdict
        if verdict.in_class:
            assert (
                check_witness(table, verdict.group_order, verdict.absorbing, verdict.witness)
                and len(verdict.witness.g) == 3
            )
        else:
            against = separable.one_against_rest(table, verdict.obstruction.axis)
            assert check_obstruction(against, verdict.group_order, verdict.absorbing, verdict.obstruction)


def planted_in_three_variables(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    g = [rng.permutation(4)[rng.integers(0, rng.integers(1, 4), 4)] for _ in range(3)]
    return rng.integers(0, 3, 4)[(g[0][:, None, None] + g[1][:, None] + g[2]) % 4]


def test_three_variables_that_are_planted_get_a_witness():
    """g that are not onto leave freedom: a witness of one variable against the rest need not separate further, and
    then one of all variables at once is searched for."""
    tables = [planted_in_three_variables(seed) for seed in range(120)]
    for table in tables:
        verdict = separable.decide_grouped(table, 4, False)
        assert verdict.in_class and check_witness(table, 4, False, verdict.witness)
    first = [GroupedDecision(table, 4, False) for table in tables]
    assert sum(asked.verdict is None for asked in first) > 5  # the search has something to do


def test_three_variables_with_an_absorbing_element_and_over_a_product_get_a_witness():
    rng = np.random.default_rng(1)
    cyclic, product_of_two = np.add.outer(range(5), range(5)) % 5, np.bitwise_xor.outer(range(4), range(4))
    for group, sums in ((5, cyclic), ((2, 2), product_of_two)):
        for _ in range(10):
            g = [rng.integers(0, len(sums), n) for n in (4, 3, 5)]
            table = rng.integers(1, 3, len(sums))[sums[sums[g[0][:, None], g[1]][..., None], g[2]]]
            table[rng.integers(4)] = 0
            verdict = separable.decide_grouped(table, group, True)
            assert verdict.in_class and check_witness(table, group, True, verdict.witness)


def test_tables_that_are_too_large_to_search_end_in_an_honest_unknown(monkeypatch):
    monkeypatch.setattr(several, "LARGEST", 0)
    found = [separable.decide_grouped(planted_in_three_variables(seed), 4, False) for seed in range(120)]
    unknown = next(verdict for verdict in found if verdict.status == "unknown")
    assert "variable 1 (rows) against the others (columns): in the class, but" in unknown.excluded


def test_all_binary_functions_of_three_bits_agree_with_brute_force():
    parts = list(product(range(2), repeat=2))
    members = {
        tuple(h[(g1[a] + g2[b] + g3[c]) % 2] for a, b, c in product(range(2), repeat=3))
        for g1, g2, g3, h in product(parts, repeat=4)
    }
    for entries in product(range(2), repeat=8):
        verdict = separable.decide_grouped(np.array(entries).reshape(2, 2, 2), 2, False)
        assert verdict.status == ("in-class" if entries in members else "not-in-class"), entries


def test_a_limit_gives_unknown_with_what_was_excluded():
    """A two-valued table with much room: hard, and the limit is short."""
    rng = np.random.default_rng(3)
    table = rng.integers(0, 2, (40, 40))
    verdict = decide(table, 1000, False, effort=0.05)
    assert (verdict.status, verdict.witness, verdict.obstruction) == ("unknown", None, None)
    assert "40 distinct rows, 40 distinct columns" in verdict.excluded
    assert "within" in verdict.excluded


@pytest.mark.usefixtures("unchecked")
def test_tables_orders_and_limits_that_make_no_sense_are_refused():
    good = table_of(lambda a, b: a + b, 5)
    with pytest.raises(InputError, match="two axes of whole numbers, got shape"):
        decide(np.zeros(3), 3, False)
    with pytest.raises(InputError, match="at least 1, got 0"):
        decide(good, 0, False)
    with pytest.raises(InputError, match="effort must be above 0, got -1"):
        decide(good, 5, False, effort=-1)
    with pytest.raises(InputError, match="at most 16777216 cells"):
        decide(np.zeros((5000, 5000), dtype=np.int8), 5000, False)
    with pytest.raises(InputError, match="has axes of length 7"):
        classify_table(good, 7)
    with pytest.raises(InputError, match="residues 0 … 4, got 5 … 9"):
        classify_table(good + 5, 5)
    with pytest.raises(InputError, match=r"cells on both sides, got 1\.5"):
        classify_table(good, 5, fraction=1.5)
