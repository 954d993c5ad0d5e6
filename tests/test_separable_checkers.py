"""Brute force, fuzzing with planted instances, and checkers that refuse what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from separable_cases import CASES, decide_checked, table_of

from modgrok.separable import check_obstruction, check_witness, decide
from modgrok.separable.verdict import Obstruction, Verdict

# ------------------------------------------------------------------------------------------- brute force


def class_of_small_tables(order: int, absorbing: bool, p: int = 3, values: int = 3) -> set[bytes]:
    """Every table h(g1 + g2), by going through all g1, g2 and h."""
    elements = range(order + absorbing)
    place = np.array([[order if order in (s, t) else (s + t) % order for t in elements] for s in elements])
    parts = np.array(list(product(elements, repeat=p)))
    sums = place[parts[:, None, :, None], parts[None, :, None, :]].reshape(-1, p, p)
    sums = np.unique(sums, axis=0)
    return {
        np.array(h, dtype=np.int8)[table].tobytes()
        for h in product(range(values), repeat=len(elements))
        for table in sums
    }


def check_all_small_tables(order: int, absorbing: bool, step: int) -> None:
    members = class_of_small_tables(order, absorbing)
    tables = list(product(range(3), repeat=9))[::step]
    for entries in tables:
        table = np.array(entries, dtype=np.int8).reshape(3, 3)
        expected = "in-class" if table.tobytes() in members else "not-in-class"
        assert decide_checked(table, order, absorbing).status == expected, table


@pytest.mark.parametrize("order, absorbing", [(3, False), (2, True)])
def test_a_sample_of_the_tables_modulo_3(order, absorbing):
    check_all_small_tables(order, absorbing, step=37)


@pytest.mark.slow
@pytest.mark.parametrize("order, absorbing", list(product([1, 2, 3, 4], [False, True])))
def test_all_tables_modulo_3(order, absorbing):
    check_all_small_tables(order, absorbing, step=1)


def in_class_by_force(table: np.ndarray, order: int, absorbing: bool) -> bool:
    """Try every g1 and g2; h exists iff cells with one sum have one value. Columns are placed one after another."""
    rows, columns = table.shape
    elements = list(range(order)) + [None] * absorbing

    def extends(g1: tuple, h: dict, b: int) -> bool:
        if b == columns:
            return True
        for y in elements:
            new, fits = dict(h), True
            for a, x in enumerate(g1):
                z = None if x is None or y is None else (x + y) % order
                fits = fits and new.setdefault(z, table[a, b]) == table[a, b]
            if fits and extends(g1, new, b + 1):
                return True
        return False

    return any(extends(g1, {}, 0) for g1 in product(elements, repeat=rows))


def small_random_tables(size: int, count: int, seed: int) -> Iterator[tuple[np.ndarray, int, bool]]:
    """Random tables of few values, and planted ones with a cell changed now and then."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        order, absorbing = int(rng.integers(size - 1, size + 1)), bool(rng.integers(2))
        values = int(rng.integers(2, size + 1))
        table = rng.integers(0, values, (size, size))
        if k % 3:
            g1, g2 = rng.integers(0, order, (2, size))
            table = rng.integers(0, values, order)[(g1[:, None] + g2) % order]
        if k % 3 == 2:
            table[rng.integers(size), rng.integers(size)] = rng.integers(values)
        yield table, order, absorbing


def check_against_force(size: int, count: int, seed: int) -> None:
    for table, order, absorbing in small_random_tables(size, count, seed):
        expected = "in-class" if in_class_by_force(table, order, absorbing) else "not-in-class"
        assert decide_checked(table, order, absorbing).status == expected, (table, order, absorbing)


@pytest.mark.parametrize("size, count", [(4, 150), (5, 25)])
def test_random_small_tables_agree_with_brute_force(size, count):
    check_against_force(size, count, seed=size)


@pytest.mark.slow
@pytest.mark.parametrize("size, count", [(4, 3000), (5, 400)])
def test_many_random_small_tables_agree_with_brute_force(size, count):
    check_against_force(size, count, seed=100 + size)


# ---------------------------------------------------------------------------------------------- fuzzing


def fuzz_tables(count: int, seed: int) -> Iterator[tuple[np.ndarray, int, bool, bool]]:
    """(table, group order, absorbing, planted): planted tables are in the class by construction."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        p = int(rng.integers(2, 14))
        order, absorbing = max(1, p - int(rng.integers(0, 2))), bool(rng.integers(2))
        values = int(rng.choice([2, 3, p // 2 + 1, p]))
        g1, g2 = rng.integers(0, rng.integers(1, order + 1), (2, p))
        table = rng.integers(0, values, order)[(g1[:, None] + g2) % order]
        if absorbing:
            w = rng.integers(values)
            table[rng.random(p) < 0.2] = w
            table[:, rng.random(p) < 0.2] = w
        planted = k % 2 == 0
        if k % 4 == 1:
            table = rng.integers(0, values, (p, p))
        elif k % 4 == 3:
            table[rng.integers(p), rng.integers(p)] = rng.integers(values)
        yield table, order, absorbing, planted


def check_fuzz(count: int, seed: int) -> dict[str, int]:
    seen: dict[str, int] = {}
    for table, order, absorbing, planted in fuzz_tables(count, seed):
        status = decide_checked(table, order, absorbing, effort=0.2).status
        assert not (planted and status == "not-in-class"), (table, order, absorbing)
        seen[status] = seen.get(status, 0) + 1
    return seen


@pytest.mark.usefixtures("unchecked")
def test_planted_tables_are_never_refuted():
    seen = check_fuzz(300, seed=0)
    assert seen["in-class"] >= 150 and seen["not-in-class"] >= 50


@pytest.mark.slow
def test_two_thousand_planted_tables_are_never_refuted():
    seen = check_fuzz(2000, seed=1)
    assert seen["in-class"] >= 1000 and seen["not-in-class"] >= 400
    assert seen.get("unknown", 0) <= 20


# ------------------------------------------------------------------------------------ what must be refused


def yes(case: int, p: int, order: int, absorbing: bool) -> tuple[np.ndarray, Verdict]:
    table = table_of(CASES[case].function, p)
    return table, decide(table, order, absorbing)


@pytest.mark.parametrize("case, order, absorbing", [(0, 23, False), (3, 22, True), (5, 22, True)])
def test_corrupted_witnesses_are_refused(case, order, absorbing):
    table, verdict = yes(case, 23, order, absorbing)
    good = verdict.witness
    assert check_witness(table, order, absorbing, good)
    k = next(k for k, v in enumerate(good.h) if v is not None)
    a = next(a for a, t in enumerate(good.g1) if t is not None)
    moved = tuple((t + 1) % order if i == a and t is not None else t for i, t in enumerate(good.g1))
    for bad in (
        replace(good, h=(*good.h[:k], (good.h[k] + 1) % 23, *good.h[k + 1 :])),
        replace(good, h=(*good.h[:k], None, *good.h[k + 1 :])),
        replace(good, h=good.h[:-1]),
        replace(good, g=(moved, good.g2)),
        replace(good, g=(good.g1[:-1], good.g2)),
        replace(good, g=(tuple(None for _ in good.g1), good.g2)),
        replace(good, g=(tuple(t if t is None else t + order for t in good.g1), good.g2)),
        replace(good, h_absorbing=1 if absorbing else None, group_order=order + (not absorbing)),
    ):
        assert not check_witness(table, order, absorbing, bad)
    table[0, 0] = (table[0, 0] + 1) % 23
    assert not check_witness(table, order, absorbing, good)


def with_case(obstruction: Obstruction, certificate: dict) -> Obstruction:
    return replace(obstruction, cases=((obstruction.cases[0][0], certificate),))


def test_corrupted_counting_is_refused():
    table = table_of(CASES[3].function, 11)
    good = decide(table, 11, False).obstruction
    certificate = good.cases[0][1]
    assert check_obstruction(table, 11, False, good)
    assert not check_obstruction(table, 21, False, good), "21 preimages fit into 21 elements"
    assert not check_obstruction(table, 11, True, good), "with ∞ the constant 0 has to be excluded"
    for bad in (
        certificate | {"lines": certificate["lines"][1:]},
        certificate | {"lines": [("row", 1)] * len(certificate["lines"])},
        certificate | {"lines": [("row", 99)] * len(certificate["lines"])},
        {"kind": "counting"},
        {"kind": "distinct-lines"},
        {"kind": "because I say so"},
    ):
        assert not check_obstruction(table, 11, False, with_case(good, bad))
    assert not check_obstruction(table, 11, False, replace(good, cases=()))


def full_table_without_a_cycle() -> np.ndarray:
    """A circulant table with two entries of one line exchanged: counting is silent, the cycle is broken."""
    table = (np.arange(7)[:, None] + np.arange(7)) % 7 // 2
    table[0, [1, 3]] = table[0, [3, 1]]
    return table


def test_a_false_claim_about_cycles_is_refused():
    table = full_table_without_a_cycle()
    broken = decide(table, 7, False)
    circulant = (np.arange(7)[:, None] + np.arange(7)) % 7 // 2
    claim = Obstruction("no-cyclic-automorphism", "", ((None, {"kind": "no-cyclic-automorphism"}),))
    assert broken.status == "not-in-class" and check_obstruction(table, 7, False, broken.obstruction)
    assert not check_obstruction(circulant, 7, False, claim)
    assert not check_obstruction(circulant, 8, False, claim), "the table does not fill Z_8"


def searched_table() -> tuple[np.ndarray, int]:
    """A table that only the search refutes: a planted one with one cell changed, found by trying seeds."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        g1, g2 = rng.permutation(9)[:6], rng.permutation(9)[:6]
        table = rng.integers(0, 4, 9)[(g1[:, None] + g2) % 9]
        table[rng.integers(6), rng.integers(6)] = 0
        verdict = decide(table, 9, False)
        if verdict.obstruction is not None and verdict.obstruction.kind == "search" and verdict.steps > 8:
            return table, 9
    raise AssertionError("no seed gave a searched table")


def test_corrupted_search_trees_are_refused():
    table, order = searched_table()
    good = decide(table, order, False).obstruction
    certificate = good.cases[0][1]
    assert check_obstruction(table, order, False, good)
    pruned, misread = deepcopy(certificate), deepcopy(certificate)
    scale = next(d for d, child in certificate["tree"]["children"].items() if child is not None)
    pruned["tree"]["children"][scale] = None
    misread["tree"]["children"][scale]["branch"] = ["somewhere", 0]
    for bad in (
        pruned,
        misread,
        certificate | {"tree": certificate["tree"] | {"children": {}}},
        certificate | {"tree": certificate["tree"] | {"branch": ["scale", certificate["tree"]["origin"][0]]}},
        certificate | {"tree": certificate["tree"] | {"origin": [0, 99]}},
        {"kind": "search", "tree": certificate["tree"]},
    ):
        assert not check_obstruction(table, order, False, with_case(good, bad))


def test_corrupted_symmetries_are_refused():
    table, verdict = yes(2, 97, 96, True)
    good = verdict.obstruction
    certificate = good.cases[0][1]
    assert good.kind == "symmetry" and check_obstruction(table, 96, True, good)
    rows, columns, values = certificate["symmetries"][1]
    turned = [rows[1:] + rows[:1], columns, values]
    for bad in (
        certificate | {"symmetries": certificate["symmetries"][:-1]},
        certificate | {"symmetries": [certificate["symmetries"][0], *certificate["symmetries"][:-1]]},
        certificate | {"symmetries": [turned, *certificate["symmetries"][1:]]},
        certificate | {"symmetries": [[rows, columns, [0] * len(values)], *certificate["symmetries"][1:]]},
        certificate | {"core": certificate["core"] + [certificate["symmetries"][1][2][certificate["core"][0]]]},
        certificate | {"core": certificate["core"][:2]},
        certificate | {"transposed": not certificate["transposed"]},
    ):
        assert not check_obstruction(table, 96, True, with_case(good, bad))


def one_side_full_table() -> tuple[np.ndarray, int]:
    """A table that pair colours refute: a column of a planted one is shuffled, which no count of values notices."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        table = rng.integers(0, 3, 11)[(np.arange(11)[:, None] + rng.permutation(11)[:6]) % 11]
        table[:, 2] = rng.permutation(table[:, 2])
        verdict = decide(table, 11, False)
        if verdict.obstruction is not None and verdict.obstruction.kind == "pairs":
            return table, 11
    raise AssertionError("no seed gave a table refuted by pairs")


def test_corrupted_pair_colours_are_refused():
    table, order = one_side_full_table()
    good = decide(table, order, False).obstruction
    certificate = good.cases[0][1]
    assert check_obstruction(table, order, False, good)
    recoloured = deepcopy(certificate["colours"])
    recoloured[0][0] = -1
    for bad in (
        certificate | {"colours": recoloured},
        certificate | {"colours": certificate["colours"][:-1]},
        certificate | {"side": "row"},
        certificate | {"certificate": {"kind": "distinct-lines"}},
    ):
        assert not check_obstruction(table, order, False, with_case(good, bad))
