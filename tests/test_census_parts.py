"""Parts of a census: they follow from the plan alone, cover it once, and share programs."""

from collections import Counter

import pytest

from modgrok.base.errors import InputError
from modgrok.censuses.families import make_table
from modgrok.censuses.parts import (
    LARGEST_PART,
    LEAST_PARTS,
    PART_WORK,
    padded_rows,
    parts,
    prepared,
    preparing_processes,
)
from modgrok.censuses.plan import plan_from
from modgrok.experiments.part import slice_of, work

TABLES = {"random": 40, "two-monomials": 30}


def plan(fill=0.5, tables=TABLES, **settings):
    usual = {"moduli": [11, 23], "widths": [20], "fractions": [0.1, 0.3, 0.5, 0.7, 0.9]}
    return plan_from({"steps": 100, "fill": fill, "tables": tables, "settings": [usual | settings]})


def test_every_network_is_in_one_part_of_its_own_program():
    whole = plan()
    found = parts(whole)
    assert Counter(member for part in found for member in part.members) == Counter(whole.networks())
    assert [part.number for part in found] == list(range(len(found))) and len(found) >= LEAST_PARTS
    for part in found:
        assert 1 <= len(part.members) <= part.size
        for member in part.members:
            assert part.shape.model == member.shape.model
            assert 0.5 * part.shape.train_rows <= member.train_rows <= part.shape.train_rows
    sizes = {part.shape: part.size for part in found}
    assert all(part.size == sizes[part.shape] for part in found), "one program for each shape"


def test_fill_says_how_many_programs_there_are():
    assert len({part.shape for part in parts(plan(fill=1.0))}) == 10
    assert len({part.shape for part in parts(plan(fill=0.5))}) == 6
    assert len({part.shape for part in parts(plan(fill=0.1))}) == 2
    assert padded_rows([60, 12, 13, 36], 0.33) == {60: 60, 36: 60, 13: 13, 12: 13}
    with pytest.raises(InputError, match="fill must be above 0 and at most 1, got 0"):
        plan(fill=0.0)


def test_parts_are_limited_in_networks_and_work():
    many = parts(plan(tables={"random": 30_000}, moduli=[5], fractions=[0.5]))
    assert max(part.size for part in many) <= LARGEST_PART and len(many) >= LEAST_PARTS
    large = plan_from(
        {
            "steps": 10_000,
            "tables": {"random": 2000},
            "settings": [{"moduli": [113], "widths": [1000], "fractions": [0.9]}],
        }
    )
    for part in parts(large):
        assert part.size == 1 or part.size * work(part.shape, 10_000) <= PART_WORK


def test_slices_are_disjoint_cover_the_plan_and_have_about_the_same_work():
    whole = parts(plan(moduli=[11, 23, 43]))
    slices = [slice_of(whole, f"{k}/4") for k in range(1, 5)]
    assert [part.number for chosen in slices for part in chosen] == list(range(len(whole)))
    costs = [sum(work(part.shape, 100) * part.size for part in chosen) for chosen in slices]
    assert max(costs) < 1.5 * min(costs)
    assert slice_of(whole, "1/1") == whole


@pytest.mark.parametrize("text", ["0/4", "5/4", "3", "a/b", "-1/2", "1/0", "1/2/3"])
def test_what_is_no_slice_is_refused(text):
    with pytest.raises(InputError, match="slice K of N"):
        slice_of(parts(plan()), text)


def test_tables_are_the_same_from_a_process_of_their_own():
    keys = [("two-monomials", 7, 0), ("{a}x + {b}y", 6, 1), ("random", 5, 2)]
    with preparing_processes() as pool:
        elsewhere = [pool.submit(prepared, *key).result() for key in keys]
    for key, found in zip(keys, elsewhere, strict=True):
        here = prepared(*key)
        assert found.expression == here.expression and found.values.tolist() == here.values.tolist()
        assert found.order.name == here.order.name and found.values.tolist() == make_table(*key).values.ravel().tolist()
