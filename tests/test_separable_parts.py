"""The parts of the decision procedure one by one, against enumeration and planted instances."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from separable_cases import CASES, table_of

from modgrok.algebra.expression import parse
from modgrok.algebra.polynomial import value_table
from modgrok.separable import classify_table, decide
from modgrok.separable.budget import Budget, LimitReached
from modgrok.separable.procedures.climbing import Climb, guess_phases
from modgrok.separable.procedures.pairs import guess_by_shift, refute_by_pairs
from modgrok.separable.procedures.search import Search, Solution
from modgrok.separable.reductions.automorphisms import ROWS, VALUES, Symmetries, decide_full, spreading_symmetries
from modgrok.separable.reductions.groups import as_group
from modgrok.separable.reductions.reduction import absorbable_values, reduce_table


def solves(cells: np.ndarray, order: int, solution: Solution) -> bool:
    """Do equal sums have equal values?"""
    seen: dict[int, int] = {}
    for a, x in enumerate(solution.x.tolist()):
        for b, y in enumerate(solution.y.tolist()):
            if seen.setdefault((x + y) % order, cells[a, b]) != cells[a, b]:
                return False
    return True


def planted(order: int, rows: int, columns: int, values: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x, y = rng.permutation(order)[:rows], rng.permutation(order)[:columns]
    return rng.integers(0, values, order)[(x[:, None] + y) % order]


def test_reduction_keeps_one_of_each_line():
    table = np.array([[5, 5, 5, 5], [1, 2, 2, 5], [1, 2, 2, 5], [2, 1, 1, 5]])
    assert absorbable_values(table) == [5]
    reduced = reduce_table(table, 5)
    assert reduced.values.tolist() == [1, 2] and reduced.cells.tolist() == [[0, 1], [1, 0]]
    assert reduced.row_line.tolist() == [-1, 0, 0, 1] and reduced.column_line.tolist() == [0, 1, 1, -1]
    assert reduced.row_source.tolist() == [1, 3] and reduced.column_source.tolist() == [0, 1]
    assert reduced.fibre_bounds.tolist() == [1, 1]


@pytest.mark.parametrize("seed", range(6))
def test_symmetries_agree_with_enumeration(seed):
    """All pairs of permutations of a 4 × 4 table with distinct lines that carry row 0 to row 1."""
    rng = np.random.default_rng(seed)
    cells = reduce_table(planted(4, 4, 4, 3, seed) if seed % 2 else rng.integers(0, 2, (4, 4))).cells
    rows, columns = cells.shape
    assert rows >= 2, "something to permute"
    for fix_values in (True, False):
        expected = set()
        for rho in permutations(range(rows)):
            for kappa in permutations(range(columns)):
                pairs = set(zip(cells.ravel().tolist(), cells[np.ix_(rho, kappa)].ravel().tolist(), strict=True))
                bijective = len({v for v, _ in pairs}) == len({w for _, w in pairs}) == len(pairs)
                if rho[0] == 1 and bijective and (not fix_values or all(v == w for v, w in pairs)):
                    expected.add((rho, kappa))
        symmetries = Symmetries(cells, Budget(10**5), fix_values=fix_values)
        found = {(tuple(s.rows.tolist()), tuple(s.columns.tolist())) for s in symmetries.carrying(ROWS, 0, 1)}
        assert found == expected


def test_value_classes_are_unions_of_orbits_of_scalings():
    cells = reduce_table(table_of(CASES[2].function, 97)).cells
    values = reduce_table(table_of(CASES[2].function, 97)).values.tolist()
    symmetries = Symmetries(cells, Budget(10**5), fix_values=False)
    orbits = [{values[v] for v in orbit} for orbit in symmetries.value_classes()]
    assert sorted(map(len, orbits)) == [1] + [4] * 12
    assert all({v * pow(5, 24, 97) % 97 for v in orbit} == orbit for orbit in orbits)
    chosen = spreading_symmetries(cells, 4, Budget(10**5))
    assert len({tuple(s.values.tolist()) for s in chosen}) == 4
    assert next(symmetries.carrying(VALUES, 1, 2), None) is None


def test_full_tables_are_solved_by_their_cycles_or_have_none():
    fourth_powers = reduce_table(table_of(CASES[1].function, 23)).cells
    assert solves(fourth_powers, 23, decide_full(fourth_powers, Budget(10**5)))
    product = np.array([[a * b % 23 - 1 for b in range(1, 23)] for a in range(1, 23)])
    assert solves(product, 22, decide_full(product, Budget(10**5)))
    broken = product.copy()
    broken[0, [0, 1]] = broken[0, [1, 0]]
    assert decide_full(broken, Budget(10**5)) == {"kind": "no-cyclic-automorphism"}


@pytest.mark.parametrize("values", [4, 9, 31])
def test_a_shift_of_the_rows_is_found_from_a_few_columns(values):
    cells = planted(31, 31, 17, values, seed=values)
    found = guess_by_shift(cells, 31, Budget(10**5))
    assert found is not None and solves(cells, 31, found)
    assert refute_by_pairs(cells, as_group(31), Budget(10**5)) is None


def test_guesses_find_planted_solutions():
    cells = planted(29, 20, 18, 9, seed=1)
    by_phase = guess_phases(cells, as_group(29), np.random.default_rng(0), Budget(10**4))
    assert by_phase is not None and solves(cells, 29, by_phase)
    few_values = reduce_table(planted(19, 10, 9, 3, seed=3)).cells
    by_climbing = Climb(few_values, as_group(19)).run(Budget(10**4))
    assert by_climbing is not None and solves(few_values, 19, by_climbing)
    with pytest.raises(LimitReached):
        Climb(np.arange(81).reshape(9, 9), as_group(9)).run(Budget(200))


def test_the_search_is_exhaustive_and_obeys_its_limits():
    cells = planted(13, 9, 8, 5, seed=2)
    need = reduce_table(cells).fibre_bounds
    found = Search(cells, as_group(13), need).run(Budget(10**5))
    assert isinstance(found, Solution) and solves(cells, 13, found)
    assert len(set(found.x.tolist())) == 9 and len(set(found.y.tolist())) == 8
    with pytest.raises(LimitReached):
        Search(cells, as_group(13), need).run(Budget(0))


BENCHMARKS = str(Path(__file__).parents[1] / "benchmarks")


def test_every_procedure_decides_what_no_other_does(monkeypatch):
    """Random tables of few residues show none of this: there a search is fast enough for all."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    from decision_tables import alone
    from procedures import without

    for procedure, table, order in alone():
        assert decide(table, order, False, effort=0.05).decided_by == procedure
        with without(procedure):
            assert decide(table, order, False, effort=0.05).status == "unknown", procedure
    text, p = "((3n1^5 + n1^2) + (n2^7 + n2))^8", 97
    tree, table = parse(text), value_table(parse(text), p)
    best = classify_table(table, p, tree=tree, effort=0.05).best
    assert best is not None and best.verdict.decided_by == "expression"
    assert classify_table(table, p, effort=0.05).status == "unknown"
