"""The kernel's own groups and fields: equal to those of the parser's side, and not made by it."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import modgrok as mg
from modgrok.algebra.fields import CONWAY, Field, finite_field
from modgrok.algebra.function import read_function
from modgrok.algebra.groups import Group, group
from modgrok.base.errors import FaultError
from modgrok.compiler.choosing import choose_kernel
from modgrok.compiler.compiling import ExactSettings, exact_network
from modgrok.compiler.structured import lookup_plans
from modgrok.networks.network import Network
from modgrok.networks.proving import proved
from modgrok.networks.verification import verify
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


@pytest.mark.parametrize(
    ("typed", "words"),
    [("C_06", "in Z6"), (" S 3 ", "in S3"), ("Z2 × Z3", "in Z2xZ3"), ("Z2²", "in Z2^2"), ("F9", "in GF(9)"),
     ("gf( 9 )", "in GF(9)"), ("<(1,2,3),(1,2)>", "in <(1 2 3), (1 2)>"), ("<(3 1 2), (2 1)>", "in <(1 2 3), (1 2)>"),
     ("<(1 2)>² x Z_3", "in <(1 2)>^2xZ3"), ("SL_(02,3)", "in SL(2,3)"), ("Dic2", "in Q8")],
)  # fmt: skip
def test_places_are_read_in_every_spelling_that_the_parser_takes(typed, words):
    order = read_function(f"a b {words}").values
    expected = table_of_words(("a b",), words, (order, order), None)
    assert np.array_equal(table_of_words((f"a b  in  {typed}",), words, (order, order), None), expected)
    network = mg.compile(f"a b in {typed}")
    assert network.proof.holds and network.modulus == order


@pytest.mark.parametrize("text", ["x/y \\bmod 7", "x/y mod{7}", "x÷y mod7", "x/y  mod  7 "])
def test_moduli_are_read_in_every_spelling_that_the_parser_takes(text):
    network = mg.compile(text)
    assert network.proof.holds and network.modulus == 7 and network.width == 12


@pytest.mark.parametrize("text", ["x if x == y else y", "x if x ≤ y else y", "x if x ≥ y else y", "x if x ≠ y else y"])
def test_conditions_are_read_in_every_spelling_that_the_parser_takes(text):
    assert mg.compile(text, 5).proof.holds


@pytest.mark.parametrize(
    ("typed", "words", "size"),
    [("Z6", "in S3", 6), ("C6", "in D3", 6), ("<(1 2 3)>xZ2", "in S3", 6), ("<(12 3)>", "in <(1 2 3)>", 3),
     ("Z9", "in GF(9)", 9), ("F8", "in GF(9)", 9), ("GF(6)", "in Z6", 6), ("Q8", "in D4", 8)],
)  # fmt: skip
def test_a_text_that_names_another_place_proves_nothing(typed, words, size):
    with pytest.raises(NoProof):
        table_of_words((f"a b in {typed}",), words, (size, size), None)


def test_no_table_with_one_wrong_cell_is_a_group():
    for name in ("Q8", "S3", "Z7"):
        own = named_group(name)
        for a, b, value in product(range(len(own)), repeat=3):
            wrong = own.copy()
            wrong[a, b] = value
            if value != own[a, b]:
                with pytest.raises(NoProof):
                    group_of_table(wrong)


def test_no_latin_square_that_was_switched_out_of_a_group_is_one():
    """Two rows of D4 exchange the values of two columns: identity and inverses may stay, associativity does not."""
    own, met = named_group("D4"), 0
    for a, b, c, d in product(range(1, 8), repeat=4):
        if a < b and c < d and own[a, c] == own[b, d] and own[a, d] == own[b, c]:
            wrong = own.copy()
            wrong[[a, a, b, b], [c, d, c, d]] = own[[a, a, b, b], [d, c, d, c]]
            met += 1
            with pytest.raises(NoProof):
                group_of_table(wrong)
    assert met > 20


@pytest.mark.parametrize(
    "name", ["S3", "Z6", "C6", "GF(6)", "F6", "Sym(3)", "S₃", "S3\u200b", "Z2×Z3", "mod 6", "my table"]
)
def test_a_group_that_was_given_by_its_table_may_not_be_called_anything_else(name):
    table = named_group("Z6")
    with pytest.raises(NoProof, match="name of another"):
        table_of_words(("a b",), f"in {name}", (6, 6), table)
    assert np.array_equal(table_of_words(("a b",), "in mine.csv", (6, 6), table), table)
    found = mg.compile("a b", group=mg.group(table, name))
    assert found.proof.holds and found.title == f"a b in the table {name!r}"


def rewritten(path, change):
    """The network of a file whose words are changed, with no checksums that could tell."""
    with safe_open(path, "np") as file:
        metadata = file.metadata()
    about = json.loads(metadata["modgrok"])
    about.pop("checksums", None)
    change(about)
    save_file(load_file(path), path, metadata={**metadata, "modgrok": json.dumps(about)})
    return path


LIES = {
    "another group": {"structure": {"group": "D4"}, "name": "a b in D4"},
    "a field": {"structure": {"field": 8}, "name": "n1 n2 in GF(8)"},
    "another word": {"written": "a b a"},
    "another name": {"name": "a b in D4"},
    "variables": {"variables": ["b", "a"]},
    "a table under a name": lambda own: {"structure": own | {"group": "D4"}, "name": "a b in D4"},
    "a table under its name": lambda own: {"structure": own | {"elements": own["elements"][::-1]}},
    "a table called a field": lambda own: {"structure": own | {"group": "GF(8)"}, "name": "a b in GF(8)"},
    "a table of no group": lambda own: {"structure": own | {"table": [[0] * 8] * 8}, "name": "a b in the table"},
}


@pytest.mark.parametrize("lie", LIES)
def test_files_that_lie_about_their_group_are_refused(lie, tmp_path):
    q8 = group("Q8")
    own = {"group": "Q8", "elements": list(q8.words_of_elements), "table": q8.table.tolist()}
    told = LIES[lie](own) if callable(LIES[lie]) else LIES[lie]
    path = mg.compile("a b", group="Q8").save(tmp_path / "q8.safetensors")
    assert verify(mg.load(rewritten(path, lambda about: None))).proof.holds
    with pytest.raises(mg.InputError, match="cannot be used"):
        mg.load(rewritten(path, lambda about: about["function"].update(told)))


def test_a_table_in_a_file_is_not_shown_as_the_expression_that_it_calls_itself(tmp_path):
    path = mg.compile("a b", group="Q8").save(tmp_path / "q8.safetensors")

    def forget(about):
        about["function"] = {"name": "a b in D4", "variables": ["a", "b"]}
        about["expression"] = "a b in D4"

    found = mg.load(rewritten(path, forget))
    assert verify(found).proof.holds and found.title == "table 'a b in D4' (8 × 8 → 8)"
    assert mg.load(found.save(tmp_path / "again.safetensors")).title == found.title


@pytest.mark.parametrize("polynomial", [(1, 0, 2), (1, 1, 2), (1, 0, 1)])
def test_a_field_with_a_wrong_polynomial_cannot_be_proved(polynomial, monkeypatch):
    """t² - 1 is reducible, t² + t + 2 primitive but not Conway's, and t does not generate modulo t² + 1."""
    finite_field.cache_clear()
    monkeypatch.setitem(CONWAY, (3, 2), polynomial)
    with pytest.raises(FaultError, match="does not stand the kernel's test"):
        mg.compile("x y + t", field=9)
    finite_field.cache_clear()
