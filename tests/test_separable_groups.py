"""Any group: sets of elements, products of cyclic groups, the smallest group that fits, closed trails."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from brute_force import in_class_by_force, tables_in_class
from separable_cases import decide_checked

import modgrok as mg
from modgrok.base.errors import InputError
from modgrok.separable import check_obstruction, check_witness, classify_table, decide, smallest_group
from modgrok.separable.procedures.trails import closed_trail, missing_arcs
from modgrok.separable.reductions.groups import Group, abelian_groups, as_group
from modgrok.separable.reductions.orders import as_cyclic
from modgrok.separable.verdict import Witness

XOR = np.arange(8)[:, None] ^ np.arange(8)


@pytest.mark.parametrize("moduli", [(7,), (12,), (2, 6), (2, 2, 2), (3, 4)])
def test_translation_of_sets_is_addition_of_elements(moduli):
    group = Group(moduli)
    elements = list(product(*map(range, moduli)))
    rng = np.random.default_rng(0)
    for _ in range(20):
        i, chosen = int(rng.integers(group.order)), rng.random(group.order) < 0.4
        moved = {
            elements.index(tuple((a + b) % m for a, b, m in zip(elements[e], elements[i], moduli, strict=True)))
            for e in np.flatnonzero(chosen)
        }
        found = group.translate(sum(1 << int(e) for e in np.flatnonzero(chosen)), i)
        assert found == sum(1 << e for e in moved) and {group.sums[e, i] for e in np.flatnonzero(chosen)} == moved
        assert group.add(i, group.negative(i)) == 0


def test_all_abelian_groups_of_an_order():
    assert [group.moduli for group in abelian_groups(8)] == [(8,), (2, 4), (2, 2, 2)]
    assert [str(group) for group in abelian_groups(36)] == ["Z_36", "Z_2 × Z_18", "Z_3 × Z_12", "Z_6 × Z_6"]
    assert as_group((1, 5)) == as_group(5)
    with pytest.raises(InputError, match="at least 1, got 0"):
        as_group(0)


def test_exclusive_or_is_a_sum_over_a_product_of_groups_of_two():
    verdict = decide_checked(XOR, (2, 2, 2), False)
    assert verdict.status == "in-class" and verdict.witness.moduli == (2, 2, 2)
    assert "moduli" in verdict.to_json() and verdict.group == "Z_2 × Z_2 × Z_2"
    assert not check_witness(XOR, 8, False, verdict.witness), "the group that was asked about is another"
    for refuted in (8, (2, 4)):
        assert decide_checked(XOR, refuted, False).status == "not-in-class"


@pytest.mark.parametrize("group, absorbing", [((2, 2), False), (3, True)])
def test_a_sample_of_small_tables_agrees_with_brute_force(group, absorbing):
    members = tables_in_class((3, 3), 3, group, absorbing)
    for entries in list(product(range(3), repeat=9))[::797]:
        table = np.array(entries).reshape(3, 3)
        expected = "in-class" if entries in members else "not-in-class"
        assert decide_checked(table, group, absorbing).status == expected, table
        assert in_class_by_force(table, group, absorbing) == (entries in members)


def test_the_smallest_group():
    found = smallest_group(XOR[:4, :4], products=True)
    assert found.smallest == Group((2, 2)) and found.refuted == (Group((4,)),) and not found.undecided
    cyclic = smallest_group(XOR[:4, :4])
    assert cyclic.smallest == Group((6,)) and cyclic.least == 4 and not cyclic.says_nothing
    assert [decide(XOR[:4, :4], m, False).in_class for m in (4, 5, 6)] == [False, False, True]
    for m in range(cyclic.every_from, cyclic.every_from + 4):
        assert decide(XOR[:4, :4], m, False).in_class
    larger_than = smallest_group((np.arange(10)[:, None] > np.arange(10)).astype(int))
    assert larger_than.smallest == Group((19,)) and larger_than.trivial == 100


def test_the_smallest_group_of_a_table_of_any_shape():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 17, 53)[(rng.permutation(53)[:30, None] + rng.permutation(53)[:40]) % 53]
    found = smallest_group(table)
    assert found.smallest == Group((53,)) and check_witness(table, 53, False, found.witness)
    with_zero = smallest_group(np.arange(9)[:, None] * np.arange(9) % 9, absorbing=True)
    assert with_zero.smallest == Group((18,)) and with_zero.least == 14
    assert {group.order for group in with_zero.refuted} == {14, 15, 16, 17}


def test_an_honest_answer_where_only_the_trivial_group_is_known():
    rng = np.random.default_rng(0)
    table = rng.permutation(100).reshape(10, 10)
    found = smallest_group(table, effort=0.01)
    assert found.least == found.smallest.order == found.trivial == 100 and found.says_nothing
    assert "every table of this size fits from order 100 on" in found.summary()
    assert smallest_group(table, most=50).smallest is None


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("table", ["n1 n2", [0, 1], np.eye(2), np.zeros((0, 2), int)])
def test_what_is_no_table_has_no_group(table):
    with pytest.raises(InputError, match="a value table has two axes or more of whole numbers, got"):
        smallest_group(table)


def test_groups_that_were_not_asked_are_not_passed_over_in_silence():
    """XOR fits Z_18, which little effort does not reach: Z_64, which every table fits, is not called the smallest."""
    found = smallest_group(XOR, effort=0.1)
    assert found.smallest == Group((64,)) and found.says_nothing and decide(XOR, 18, False).in_class
    known = {group.order for group in (*found.refuted, *found.undecided)}
    assert known == set(range(found.least, found.not_asked_from)) and found.not_asked_from <= 18
    assert f"all from order {found.not_asked_from} on" in repr(found) and "smallest" not in repr(found)
    assert found.to_json()["not_asked_from"] == found.not_asked_from
    assert smallest_group(XOR[:4, :4]).not_asked_from is None


# ------------------------------------------------------------------------------------------- closed trails


def shortest_closed_walk(arcs: list[tuple[int, int]], limit: int) -> int | None:
    """The least m such that some cyclic word of length m has all the arcs as neighbours, by trying all words."""
    letters = sorted({v for arc in arcs for v in arc})
    for m in range(1, limit + 1):
        for word in product(letters, repeat=m):
            if set(arcs) <= {(word[t], word[(t + 1) % m]) for t in range(m)}:
                return m
    return None


def test_the_fewest_missing_arcs_agree_with_all_cyclic_words():
    rng = np.random.default_rng(1)
    for _ in range(60):
        count = int(rng.integers(1, 5))
        arcs = list({(int(u), int(v)) for u, v in rng.integers(0, 4, (count, 2))})
        added = missing_arcs(arcs)
        trail = closed_trail(arcs + added)
        assert len(trail) == len(arcs) + len(added) and set(arcs) <= set(trail)
        assert all(first[1] == second[0] for first, second in zip(trail, trail[1:] + trail[:1], strict=True))
        assert shortest_closed_walk(arcs, len(trail)) == len(trail)


@pytest.mark.parametrize("m", [3, 5, 7, 23])
def test_two_columns_over_a_prime_are_always_decided(m):
    rng = np.random.default_rng(m)
    seen = set()
    for k in range(60):
        values = int(rng.integers(2, 7))
        table = rng.integers(0, values, (int(rng.integers(2, m + 2)), 2))
        verdict = decide_checked(table if k % 2 else np.ascontiguousarray(table.T), m, False)
        seen.add(verdict.status)
        if m < 6 and len(table) < 6:
            assert verdict.in_class == in_class_by_force(table if k % 2 else table.T, m, False)
    assert "unknown" not in seen and ("not-in-class" in seen or m == 23)


def test_a_false_claim_about_trails_is_refused():
    table = np.array([[0, 1], [1, 2], [2, 0], [3, 4], [4, 3]])
    good = decide(table, 5, False).obstruction
    assert good.kind == "closed-trail" and check_obstruction(table, 5, False, good)
    assert not check_obstruction(table, 7, False, good), "seven elements are enough"
    assert not check_obstruction(table, 6, False, good), "six is no prime"
    assert not check_obstruction(np.ascontiguousarray(table.T), 5, False, good)


@pytest.mark.parametrize("moduli, order", [((2, 2), 6), ((2, 2, 2), 18), ((2, 6), 18), ((3, 3), 15)])
def test_a_witness_over_a_product_is_one_over_a_larger_cyclic_group(moduli, order):
    """The table by coordinates, in plain Python; two and three variables (whose sums need more room)."""
    elements = list(product(*map(range, moduli)))

    def value(*digits: tuple[int, ...]) -> int:
        added = tuple(sum(column) % m for column, m in zip(zip(*digits, strict=True), moduli, strict=True))
        return elements.index(added) * 5 % 7

    for terms in (2, 3):
        table = np.array([value(*digits) for digits in product(elements, repeat=terms)]).reshape(
            (len(elements),) * terms
        )
        g = tuple(tuple(range(len(elements))) for _ in range(terms))
        witness = Witness(len(elements), g, tuple(e * 5 % 7 for e in range(len(elements))), moduli=moduli)
        assert check_witness(table, moduli, False, witness)
        cyclic = as_cyclic(witness)
        assert not cyclic.moduli and check_witness(table, cyclic.group_order, False, cyclic)
        assert cyclic.group_order == order or terms > 2
        assert as_cyclic(cyclic) is cyclic


def test_classify_finds_sums_over_groups_that_are_not_cyclic_and_compile_uses_them():
    found = classify_table(XOR, 8)
    assert (found.status, found.family, found.witness.moduli) == ("in-class", "product-group", (2, 2, 2))
    answer = mg.classify("n1 + n2 + 2n1 n2", mod=4)  # (1 + 2a)(1 + 2b) modulo 8, whose units are Z_2 × Z_2
    assert "a sum in disguise: h(g1 + g2) over Z_2 × Z_2" in answer.answer[0] and answer.closed_form is None
    for network in (mg.compile(XOR[:4, :4]), mg.compile("n1 + n2 + 2n1 n2", mod=4)):
        assert len(network.params.experts) == 1 and network.proof.holds and mg.verify(network).accuracy == 1
    shuffled = np.random.default_rng(0).permutation(64).reshape(8, 8) % 8
    assert classify_table(shuffled, 8).family is None  # and no row about products of cyclic groups that do not fit
    assert [f.family for f in classify_table(shuffled, 8).families] == ["additive", "multiplicative", "group"]
