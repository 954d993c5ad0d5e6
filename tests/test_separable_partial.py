"""Tables with unknown cells, against brute force; what a witness predicts; refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute_force import in_class_by_force
from separable_cases import decide_checked, table_of

import modgrok as mg
from modgrok.separable import check_obstruction, check_witness, decide, predicted
from modgrok.separable.reductions.partial import reduce_partial


def hidden(table: np.ndarray, share: float, seed: int) -> np.ndarray:
    """The table with a share of its cells unknown."""
    return np.where(np.random.default_rng(seed).random(table.shape) < share, -1, table)


def small_tables(count: int):
    rng = np.random.default_rng(7)
    for k in range(count):
        rows, columns, m = int(rng.integers(2, 5)), int(rng.integers(2, 5)), int(rng.integers(1, 5))
        table = rng.integers(0, int(rng.integers(2, 5)), (rows, columns))
        if k % 2:
            table = rng.integers(0, 4, m)[np.add.outer(rng.integers(0, m, rows), rng.integers(0, m, columns)) % m]
            table[0, 0] = rng.integers(4)
        yield hidden(table, float(rng.choice([0.15, 0.4])), k), m, bool(k // 2 % 2)


def test_small_tables_with_unknown_cells_agree_with_brute_force():
    seen = set()
    for table, m, absorbing in small_tables(240):
        verdict = decide_checked(table, m, absorbing)
        assert verdict.in_class == in_class_by_force(table, m, absorbing), (table, m, absorbing)
        seen.add(verdict.obstruction.kind if verdict.obstruction else verdict.status)
    assert {"in-class", "rivals", "rival-cells", "search"} <= seen


@pytest.mark.parametrize("function, order, absorbing", [
    (lambda a, b: a + b, 31, False),
    (lambda a, b: a * b, 30, True),
    (lambda a, b: (a + b**2) ** 3, 31, False),
])  # fmt: skip
def test_what_is_known_predicts_the_rest(function, order, absorbing):
    table = table_of(function, 31)
    partial = hidden(table, 0.6, seed=1)
    verdict = decide_checked(partial, order, absorbing)
    assert (predicted(verdict.witness, table.shape) == table).all()


def test_a_sum_in_disguise_is_completed():
    rng = np.random.default_rng(3)
    table = rng.permutation(23)[(rng.permutation(23)[:, None] + rng.permutation(23)) % 23]
    verdict = decide_checked(hidden(table, 0.5, seed=2), 23, False)
    assert (predicted(verdict.witness, table.shape) == table).all()


def test_a_witness_is_free_where_nothing_is_known():
    table = np.array([[0, -1], [-1, -1]])
    verdict = decide_checked(table, 5, False)
    said = predicted(verdict.witness, (2, 2))
    assert said[0, 0] == 0 and set(said.ravel().tolist()) <= {0, -1}
    assert decide_checked(np.full((3, 3), -1), 2, True).status == "in-class"


def test_covered_lines_are_left_out():
    table = np.array([[1, 2, -1], [1, -1, -1], [-1, 2, 0], [2, 2, 0]])
    reduced = reduce_partial(table)
    assert reduced.row_source.tolist() == [0, 3] or len(reduced.row_source) == 3
    for a, line in enumerate(reduced.row_line):
        leader = table[reduced.row_source[line]]
        assert ((table[a] < 0) | (table[a] == leader)).all()


def test_forged_refutations_are_refused():
    table = hidden(table_of(lambda a, b: a * b, 5), 0.2, seed=0)
    verdict = decide(table, 3, False)
    good = verdict.obstruction
    assert check_obstruction(table, 3, False, good)
    case = good.cases[0][1]
    rows, columns = case["kept"]
    for bad in (
        case | {"kept": [rows + rows[:1], columns]},
        case | {"kept": [[99, *rows[1:]], columns]},
        case | {"kind": "distinct-lines"},
        {key: value for key, value in case.items() if key != "kept"},
    ):
        assert not check_obstruction(table, 3, False, replace(good, cases=((None, bad),)))
    assert not check_obstruction(table, 25, False, good)
    assert not check_obstruction(np.full((5, 5), -1), 3, False, good)
    witness = decide(table, 25, False).witness
    assert check_witness(table, 25, False, witness) and not check_witness(table + (table >= 0), 25, False, witness)


@pytest.mark.parametrize("p", [7, 23, 97, 113])
def test_quotients_modulo_a_prime_are_decided_at_once(p):
    """Of x/0 nothing is known: what is left has no unknown cell."""
    found = mg.classify("x/y", mod=p)
    assert (found.verdict, found.family, found.closed_form) == ("in-class", "multiplicative", f"n1 n2^{p - 2}")
    assert next(each for each in found.families if each.family == "multiplicative").proof is not None


def test_lines_of_which_nothing_is_known_do_not_hide_a_sum_or_make_one():
    rng = np.random.default_rng(0)
    for n in (5, 8):
        table = np.add.outer(np.arange(n), np.arange(n)) % n
        table = rng.permutation(n)[table[rng.permutation(n)]]
        table[2], table[:, 3] = -1, -1
        verdict = decide(table, n, False)
        assert verdict.status == "in-class" and None not in verdict.witness.g[0] + verdict.witness.g[1]
        table[0, 0] = (table[0, 0] + 1) % n
        assert decide(table, n, False).status != "in-class"
