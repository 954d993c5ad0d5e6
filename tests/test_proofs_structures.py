"""The kernel's own groups and fields: equal to those of the parser's side, and not made by it."""

from dataclasses import replace

import numpy as np
import pytest

import modgrok as mg
from modgrok.algebra.fields import CONWAY, Field
from modgrok.algebra.function import read_function
from modgrok.algebra.groups import Group, group
from modgrok.compiler.choosing import choose_kernel
from modgrok.compiler.compiling import ExactSettings, exact_network
from modgrok.compiler.structured import lookup_plans
from modgrok.networks.network import Network
from modgrok.networks.proving import proved
from modgrok.proofs.proof import NoProof
from modgrok.proofs.structures import conway, field, group_of_table, named_group
from modgrok.proofs.words import table_of_words

NAMES = ["Z12", "S1", "S4", "A5", "D1", "D30", "Q8", "Q16", "Dic15", "SL(2,3)", "GL(2,3)", "SL(3,2)", "S3xZ10", "Z2^4",
         "Z2^2xS3", "<(1 2 3), (1 2)>", "<(1 2 3 4 5), (2 5)(3 4)>xZ3"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_named_groups_are_the_same_on_both_sides(name):
    theirs = group(name)
    assert np.array_equal(named_group(theirs.title), theirs.table)
    assert group_of_table(theirs.table) is theirs.table


def test_conway_polynomials_follow_from_their_definition():
    small = {key: value for key, value in CONWAY.items() if key[0] ** key[1] <= 256}
    assert {key: conway(*key)[::-1] for key in small} == small


@pytest.mark.parametrize("q", [2, 4, 7, 8, 9, 25, 81, 128])
def test_fields_are_the_same_on_both_sides(q):
    ours, theirs, elements = field(q), Field(q), np.arange(q)
    assert np.array_equal(ours.times(elements[:, None], elements), theirs.multiply(elements[:, None], elements))
    assert np.array_equal(ours.plus(elements[:, None], elements), theirs.add(elements[:, None], elements))
    assert ours.t == theirs.generator()


@pytest.mark.parametrize(
    ("text", "place"),
    [("(a b)^-2 a", {"group": "Q8"}), ("a/b", {"group": "S4"}), ("x/y", {"mod": 12}), ("-x/(y + 1)", {"mod": 11}),
     ("(n1/n2 if n2 odd else n1 - n2)", {"mod": 23}), ("n1 if n1 < n2 else n2", {"mod": 13}),
     ("x^2 + t x y - 3", {"field": 9}), ("1/x^2 + y^-3", {"mod": 11}), ("x^0/y", {"field": 8}),
     ("2x/y*x", {"mod": 11}), ("n1 + n2 if n1 = n2 else 1/n1", {"field": 7})],
)  # fmt: skip
def test_expressions_are_worth_the_same_on_both_sides(text, place):
    function = read_function(text, **place)
    ours = table_of_words((text, function.name), function.structure.words, function.sizes, None)
    assert np.array_equal(ours, function.table)


@pytest.mark.parametrize(
    "table", [[[0, 1], [1, 1]], [[1, 0], [0, 1]], [[0, 1, 2], [1, 0, 2], [2, 2, 0]], [[0, 1], [1, 2]], [[0, 1]]]
)
def test_tables_that_are_no_groups_prove_nothing(table):
    with pytest.raises(NoProof):
        group_of_table(np.array(table))


@pytest.mark.parametrize(
    "name",
    ["S8", "B5", "S5x", "S", "Z0", "Z97 ", "SL(2,4)", "SL(9,2)", "Q12", "Z2^99", "<(1 1)>", "D", "", "s5", "S05"],
)
def test_groups_that_the_kernel_does_not_know_prove_nothing(name):
    with pytest.raises(NoProof):
        named_group(name)


@pytest.mark.parametrize(
    ("text", "words", "size"),
    [("a b in S4", "in S3", 6), ("a b mod 6", "in S3", 6), ("a + b", "in S3", 6), ("2 a b", "in S3", 6),
     ("a b", "in S3", 5), ("a b", "in GF(6)", 6), ("t n1", "mod 7", 7), ("n1 if n1 < n2 else n2", "in GF(4)", 4),
     ("n1/n2 n1", "mod 7", 7), ("a", "in S3", 6), ("a b)", "in S3", 6), ("a b", "beside S3", 6)],
)  # fmt: skip
def test_expressions_that_do_not_fit_prove_nothing(text, words, size):
    with pytest.raises(NoProof):
        table_of_words((text,), words, (size, size), None)


def forged(network, **about):
    """The same weights, said to compute something else."""
    return Network(network.model, network.params, replace(network.function, **about), network.method)


def test_a_wrong_table_in_the_package_cannot_be_proved():
    """S3 whose table has two products exchanged, under its own name: the kernel makes S3 by itself."""
    own = group("S3")
    table = own.table.copy()
    table[[1, 1], [2, 3]] = table[[1, 1], [3, 2]]
    wrong = Group("S3", table, own.words_of_elements, "S3")
    network = mg.compile("a b", group="S3")
    liar = forged(network, structure=wrong, given=table)
    assert proved(liar).proof is None and "not that of its expression" in proved(liar).unproved
    function = read_function(table, 6)
    plan = next(lookup_plans(function))
    kernels = [choose_kernel(step, "minimal") for step in plan.steps]
    looked_up = exact_network(plan, kernels, function, ExactSettings())
    named = forged(looked_up, structure=wrong, given=table, name="a b in S3", written=network.function.written)
    assert proved(named).proof is None


def test_a_network_of_one_group_is_not_proved_for_another_of_the_same_order():
    network = mg.compile("a b", group="Q8")
    other = read_function("a b", group="D4")
    found = proved(Network(network.model, network.params, other, "exact"))
    assert found.proof is not None and not found.proof.holds and found.proof.wrong > 0


def test_weights_that_were_changed_are_not_proved():
    network = mg.compile("a b", group="S4")
    expert = network.params.experts[0]
    for change in (0.1, 1.0):
        embed = np.array(expert.embed)
        embed[0, 5] += change
        params = replace(network.params, experts=(replace(expert, embed=embed),))
        found = proved(replace(network, params=params))
        assert found.proof is not None and not found.proof.holds
