"""Kinds of tables: over 0 … n - 1, reproducible, none on both sides, and what they say they are."""

import json

import numpy as np
import pytest

from modgrok.algebra.groups import group
from modgrok.base.errors import InputError
from modgrok.base.results import json_text
from modgrok.censuses.families import FAMILIES, NAMES, make_table
from modgrok.censuses.kinds import KINDS, group_names, markov_move
from modgrok.censuses.other_kinds import OTHER_KINDS
from modgrok.censuses.parts import parts
from modgrok.censuses.plan import plan_from


def test_no_kind_is_both_fitted_and_tried():
    assert len(set(NAMES)) == len(FAMILIES) + len(KINDS) + len(OTHER_KINDS)
    assert len(KINDS) >= 13 and len(OTHER_KINDS) >= 10


@pytest.mark.parametrize("kind", [*KINDS, *OTHER_KINDS])
def test_tables_of_a_kind_are_reproduced_and_differ(kind):
    for n in (2, 12, 13):
        tables = [make_table(kind, n, seed).values for seed in (0, 1, 2, 3, 4, 5, 5)]
        for table in tables:
            assert table.shape == (n, n) and table.min() >= 0 and table.max() < n
        assert np.array_equal(tables[-1], tables[-2])
    different = {make_table(kind, 12, seed).values.tobytes() for seed in range(12)}
    assert len(different) >= 4


def is_latin(square):
    n = len(square)
    return all(len(set(line)) == n for line in [*square.tolist(), *square.T.tolist()])


@pytest.mark.parametrize("order", [8, 12, 20, 21, 60, 64])
def test_names_of_groups_have_the_order_and_differ(order):
    found = [group(name) for name in group_names(order)]
    assert all(each.order == order for each in found)
    assert {each.table.tobytes() for each in found} and len(found) >= 2
    assert not all(np.array_equal(each.table, each.table.T) for each in found)


def test_order_21_has_its_group_of_affine_maps():
    tables = [group(name).table for name in group_names(21)]
    assert len(tables) == 2 and sum(not np.array_equal(table, table.T) for table in tables) == 1


def test_quasigroups_are_latin_squares_and_no_longer_groups():
    squares = [make_table("quasigroup", 11, seed).values for seed in range(8)]
    assert all(map(is_latin, squares))
    assert sum(fits_cyclic(square) for square in squares) <= 2
    assert fits_cyclic(make_table("shuffled-group", 11, 0).values)


def fits_cyclic(square):
    """Is it h(g1 + g2) modulo its prime side: do rows differ by powers of one cyclic permutation?"""
    turns = {tuple(row[np.argsort(square[0])].tolist()) for row in square}
    return all(tuple(np.array(x)[list(y)].tolist()) in turns for x in turns for y in turns)


def test_markov_moves_keep_the_sums_of_all_lines():
    tensor, cell = np.eye(7, dtype=np.int8)[np.add.outer(np.arange(7), np.arange(7)) % 7], None
    rng, improper = np.random.default_rng(0), 0
    for _ in range(200):
        cell = markov_move(tensor, cell, rng)
        improper += cell is not None
        assert all((tensor.sum(axis=axis) == 1).all() for axis in range(3))
        assert (tensor < 0).sum() == (cell is not None) and tensor.min() >= -1 and tensor.max() <= 1
    assert 0 < improper < 200


def test_associative_tables_are_associative():
    for seed in range(12):
        t = make_table("semigroup", 14, seed).values
        if np.array_equal(t, t.T):
            continue  # a semilattice whose sets were cut off
        a, b, c = np.indices((14, 14, 14)).reshape(3, -1)
        assert np.array_equal(t[t[a, b], c], t[a, t[b, c]])


def test_parts_of_a_shuffled_plan_take_turns_and_have_some_of_everything():
    settings = {"moduli": [13, 5], "widths": [20], "fractions": [0.1, 0.3, 0.5, 0.9]}
    content = {"steps": 100, "fill": 0.05, "tables": {"group": 40, "random": 40, "bits": 40}, "settings": [settings]}
    plan, plain = plan_from({**content, "shuffle": True}), plan_from(content)
    found = parts(plan)
    assert sorted(m.number for part in found for m in part.members) == list(range(plan.size()))
    assert [part.number for part in found] == list(range(len(found)))
    assert {part.shape.model.classes for part in found[:2]} == {13, 5}
    half = [m for part in found[: len(found) // 2] for m in part.members]
    for name in ("modulus", "family", "fraction"):
        counts = np.unique([getattr(m, name) for m in half], return_counts=True)[1]
        assert counts.min() > 0.6 * counts.max()
    assert plan_from(json.loads(json_text(plan.to_json()))) == plan != plain and "shuffle" not in plain.to_json()
    with pytest.raises(InputError, match="shuffle takes true or false, got 1"):
        plan_from({**content, "shuffle": 1})
