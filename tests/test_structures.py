"""Expressions over the integers, groups and fields: what they mean, how they are read back, what files keep of them."""

from __future__ import annotations

import itertools
from functools import cache
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from latex import to_latex

import modgrok as mg
from modgrok.algebra.expression import parse, parse_any
from modgrok.algebra.function import Function, from_expression, read_function
from modgrok.algebra.stored_functions import function_from, structure_from, words_kept
from modgrok.algebra.trees import is_polynomial, to_text
from modgrok.base.errors import InputError
from modgrok.base.results import json_text
from modgrok.base.stores import open_tensors, write_tensors
from modgrok.networks.network import FUNCTION, Network


def inverse(a, m):
    return pow(a, -1, m) if gcd(a, m) == 1 else None


def over(a, b, m):
    return None if inverse(b, m) is None else a * inverse(b, m) % m


MODULAR = {
    "n1/n2": over,
    "x/y": over,
    "1/x + y": lambda a, b, m: None if inverse(a, m) is None else (inverse(a, m) + b) % m,
    "x^-2 y": lambda a, b, m: None if inverse(a, m) is None else (inverse(a, m) ** 2 * b) % m,
    "x y / (x y)": lambda a, b, m: None if inverse(a * b, m) is None else 1 % m,
    "x/y/x": lambda a, b, m: None if inverse(a, m) is None or inverse(b, m) is None else a * inverse(a * b, m) % m,
    "x / -y": lambda a, b, m: None if inverse(b, m) is None else -a * inverse(b, m) % m,
    "(n1/n2 if n2 odd else n1 - n2)": lambda a, b, m: over(a, b, m) if b % 2 else (a - b) % m,
    "a/b if b is odd else a - b": lambda a, b, m: over(a, b, m) if b % 2 else (a - b) % m,
    "x if y even else 3": lambda a, b, m: a if b % 2 == 0 else 3 % m,
    "a + b if a < b else a b": lambda a, b, m: (a + b if a < b else a * b) % m,
    "a if a >= b else b": lambda a, b, m: max(a, b),
    "x if x = y else 0 if x != 2 else 1": lambda a, b, m: a if a == b else (0 if a != 2 else 1),
    "2 (x if x <= y else y) + 1": lambda a, b, m: (2 * min(a, b) + 1) % m,
    "1 if 1/x > y else 0": lambda a, b, m: None if inverse(a, m) is None else int(inverse(a, m) > b),
}


@pytest.mark.parametrize("text", MODULAR)
@pytest.mark.parametrize("m", [5, 12, 13])
def test_quotients_and_conditions_modulo_m_have_the_values_of_integers(text, m):
    function = mg.read_function(text, mod=m, at_least=2)
    for a, b in itertools.product(range(m), repeat=2):
        expected = MODULAR[text](a, b, m)
        assert function.table[a, b] == (-1 if expected is None else expected)
    assert function.tree is None and function.expression is None
    assert mg.read_function(function.source, at_least=2).table.tolist() == function.table.tolist()


WORDS = {
    "a b": lambda g, a, b: g[a][b],
    "a b a^-1": lambda g, a, b: g[g[a][b]][g.index_of_inverse(a)],
    "a b a": lambda g, a, b: g[g[a][b]][a],
    "a^2 b^-3": lambda g, a, b: g[g[a][a]][g[g[g.index_of_inverse(b)][g.index_of_inverse(b)]][g.index_of_inverse(b)]],
    "a/b": lambda g, a, b: g[a][g.index_of_inverse(b)],
    "(a b)^0 b": lambda g, a, b: b,
    "a if a = b else b": lambda g, a, b: b,
}


class Lists(list):
    """A multiplication table with Python's lists."""

    def index_of_inverse(self, element):
        return self[element].index(0)


@pytest.mark.parametrize("text", WORDS)
@pytest.mark.parametrize("name", ["S3", "Q8", "A4", "D5"])
def test_words_in_groups_are_products_from_left_to_right(text, name):
    group = mg.group(name)
    table, function = Lists(group.table.tolist()), mg.read_function(text, group=name)
    for a, b in itertools.product(range(group.order), repeat=2):
        assert function.table[a, b] == WORDS[text](table, a, b)
    assert function.variables == ("a", "b") and function.title.endswith(f" in {name}")
    assert mg.read_function(f"{text} in {name}") == function
    assert mg.read_function(text, group=group) == function


def test_letters_a_b_c_are_the_first_variables_and_so_are_x_y_z():
    assert parse("a b + c") == parse("x y + z") == parse("n1 n2 + n3")
    assert parse("ab c2 a".replace("2", "^2")) == parse("n1 n2 n3^2 n1")
    assert (mg.table("a^2 b + 1", mod=7) == mg.table("n1^2 n2 + 1", mod=7)).all()
    assert mg.verify(mg.compile("a b + 1", mod=7)).proof.holds


def test_raised_exponents_may_be_below_zero():
    assert parse_any("a b⁻¹ a²").tree == parse_any("a b^-1 a^2").tree
    assert parse_any("t⁻¹² x").tree == parse_any("t^-12 x").tree
    assert mg.compile("a b⁻¹ a⁻²", group="S3").proof.holds and mg.compile("x⁻¹ + y³", field=4).proof.holds


# ---------------------------------------------------------------------------- trees that are read back

LEAVES = st.sampled_from(["n1", "n2", "x", "y", "t", "3", "0"])


def grow(inner):
    binary = st.tuples(inner, st.sampled_from([" + ", " - ", "*", " * -", "/", "/-"]), inner)
    relation = st.sampled_from(["<", "<=", ">", ">=", "=", "!=", "==", "≤"])
    return st.one_of(
        binary.map(lambda x: f"({x[0]}){x[1]}({x[2]})"),
        st.tuples(inner, inner).map(lambda x: f"({x[0]}) ({x[1]})"),
        st.tuples(inner, st.integers(-3, 4)).map(lambda x: f"({x[0]})^{x[1]}"),
        inner.map(lambda x: f"-({x})"),
        st.tuples(inner, inner, relation, inner, inner).map(
            lambda x: f"({x[0]} if {x[1]} {x[2]} {x[3]} else {x[4]})" if " if " not in x[1] + x[3] else x[0]
        ),
        st.tuples(inner, inner, st.sampled_from(["odd", "even", "is odd"]), inner).map(
            lambda x: f"({x[0]} if ({x[1]}) {x[2]} else {x[3]})"
        ),
    )


@settings(max_examples=150, deadline=None)
@given(st.recursive(LEAVES, grow, max_leaves=8))
def test_every_expression_is_printed_as_it_is_read(text):
    tree = parse_any(text).tree
    assert parse_any(to_text(tree)).tree == tree
    assert parse_any(to_latex(tree)).tree == tree
    assert parse_any(f"{to_text(tree)} in GF(9)") == (tree, None, "GF(9)")


@pytest.mark.parametrize("text", ["n1/n2", "n1^-1", "n1 if n2 odd else 2", "t n1", "n1 + n2 (n1/n2)"])
def test_what_is_no_polynomial_is_nobodys_tree(text):
    tree = parse_any(text).tree
    assert not is_polynomial(tree)
    with pytest.raises(mg.InputError, match="a polynomial is needed here"):
        parse(text)
    with pytest.raises(mg.InputError, match="known by its values"):
        Function(text, ("n1", "n2"), (7, 7), from_expression("n1", 7).structure, text, tree=tree)


# ------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a b", {}, r"a modulus is needed; .*a group or a field does as well \(--group S5, --field 81\)"),
        ("a b in S5", {"mod": 97}, "its values mod 97 and in S5; leave one of them out"),
        ("a b mod 5", {"group": "S5"}, "its values mod 5 and in S5"),
        ("a b in S5", {"group": "A5"}, "its values in S5 and in A5"),
        ("a b", {"group": "S5", "field": 9}, "got group and field; leave one out"),
        ("a + b", {"group": "S5"}, "no sums in S5"),
        ("a - b", {"group": "S5"}, "no .* in S5"),
        ("2 a", {"group": "S5"}, "2 is no element in S5"),
        ("t a", {"group": "S5"}, "t is the generator of a finite field"),
        ("t x", {"mod": 7}, "t is the generator of a finite field, and there is none mod 7"),
        ("a if a odd else b", {"group": "S3"}, "elements in S3 have no order"),
        ("a if a < b else b", {"field": 9}, "elements in GF\\(9\\) have no order"),
        ("x/0", {"mod": 7}, "has no value anywhere"),
        ("a b", {"group": "Z1"}, "at least 2 values"),
        ("a b c", {"group": "S6"}, "above the limit"),
        ("x/y", {"mod": 1 << 20}, "above the limit"),
        ("a b in q8.csv x", {}, "unknown group"),
        ("a b in", {}, "unknown group ''"),
        ("n1 in GF(6)", {}, "6 = 2 · 3"),
        (np.zeros((3, 3), dtype=int), {"group": "S3"}, "tables their own"),
    ],
)
def test_expressions_that_their_structure_does_not_know_are_refused(text, place, message):
    with pytest.raises(mg.InputError, match=message):
        mg.read_function(text, **place)


def test_no_text_makes_anybody_read_a_file(tmp_path):
    """Expressions come from web pages."""
    np.save(tmp_path / "g.npy", mg.group("Q8").table)
    for text in (f"a b in {tmp_path}/g.npy ", f"a b in ./{tmp_path}/g.npy x"):
        with pytest.raises(mg.InputError, match=r"unknown group|no such|not"):
            from_expression(text, None)


def test_mix_takes_polynomials_only():
    with pytest.raises(mg.InputError, match="mix takes polynomials modulo a number, got a b in S3"):
        mg.mix("a b in S3")


# ------------------------------------------------------------------------------------------------ files


@cache
def untrained() -> Network:
    return mg.train("a b", group="S3", steps=1, width=8, fraction=0.9).network


GIVEN = {
    "a group": mg.read_function("a b a^-1", group="S3"),
    "a field": mg.read_function("x y + t", field=9),
    "a quotient": mg.read_function("x/y if y odd else x", mod=7),
    "a group by a table": mg.read_function("a b", group=mg.group(mg.group("D4").table[::-1, ::-1][:, ::-1][::-1])),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_networks_and_runs_keep_the_structure(kind, tmp_path):
    function = GIVEN[kind]
    run = mg.train(function, steps=2, width=8, fraction=0.9, out=tmp_path / "run")
    run.network.save(tmp_path / "net.safetensors")
    for found in (mg.load(tmp_path / "net.safetensors").function, mg.load_run(tmp_path / "run").config.function):
        assert found == function and found.title == function.title and found.written == function.written
        assert found.structure == function.structure
        names = [found.structure.name(k) for k in range(function.values)]
        assert names == [function.structure.name(k) for k in range(function.values)]
    assert mg.resume(tmp_path / "run", steps=3).step == 3
    row = [part.name(2) for part in function.inputs]
    told = mg.predict(tmp_path / "net.safetensors", *row)
    assert told.row == (2, 2) and told.row_names == tuple(row)
    assert told.expected == (None if function.table[2, 2] < 0 else function.table[2, 2])
    assert mg.predict(tmp_path / "run", [row, row]).rows.tolist() == [[2, 2], [2, 2]]
    assert told.to_json()["row_names"] == row


def forged(path, change):
    with open_tensors(path, "a network") as file:
        about, tensors = dict(file.about), {name: np.array(file(name)) for name in file.names}
    about[FUNCTION] = dict(about[FUNCTION])
    change(about, tensors)
    for key in ("checksums", "written_by"):
        about.pop(key, None)
    write_tensors(path, about, tensors)


def swap(about, tensors):
    table = tensors[FUNCTION]
    table[0, 0], table[0, 1] = table[0, 1], table[0, 0]


FORGERIES = {
    "another table": swap,
    "another word": lambda about, _: about[FUNCTION].update(written="n2 n1"),
    "another group of that order": lambda about, _: about[FUNCTION].update(structure={"group": "Z6"}),
    "another name": lambda about, _: about[FUNCTION].update(name="a b in A5"),
    "no structure": lambda about, _: about[FUNCTION].update(structure=None),
    "a larger group": lambda about, _: about[FUNCTION].update(structure={"group": "S4"}),
    "a file": lambda about, _: about[FUNCTION].update(structure={"group": "/etc/group.csv"}),
    "a field": lambda about, _: about[FUNCTION].update(structure={"field": 6}),
    "a field of words": lambda about, _: about[FUNCTION].update(structure={"field": "6"}),
    "words with a place": lambda about, _: about[FUNCTION].update(written="n1 n2 in S3"),
    "words that are none": lambda about, _: about[FUNCTION].update(written=3),
    "no group": lambda about, _: about[FUNCTION].update(structure={"group": ["S3"]}),
    "something else": lambda about, _: about[FUNCTION].update(structure=["group", "S3"]),
}


@pytest.mark.parametrize("how", FORGERIES)
def test_forged_words_tables_and_structures_are_refused(how, tmp_path):
    path = tmp_path / "net.safetensors"
    untrained().save(path)
    assert mg.load(path).title == "a b in S3"
    forged(path, FORGERIES[how])
    with pytest.raises(mg.InputError, match="cannot be used"):
        mg.load(path)


Q = mg.group("Z3").table.tolist()


@pytest.mark.parametrize(
    "about",
    [
        {"group": "mine", "elements": ["0", "1", "2"], "table": [[0, 1, 2], [1, 2, 0], [2, 1, 0]]},
        {"group": "mine", "elements": ["0", "1", "1"], "table": Q},
        {"group": "mine", "elements": ["0", "1"], "table": Q},
        {"group": "mine", "elements": ["0", "1", "\n"], "table": Q},
        {"group": "mine", "elements": ["0", "1", "x" * 999], "table": Q},
        {"group": "mine", "elements": ["0", "1", 2], "table": Q},
        {"group": "mine", "elements": ["0", "1", "2"], "table": [[2, 0, 1], [0, 1, 2], [1, 2, 0]]},
        {"group": "mine", "elements": ["0", "1", "2"], "table": [[0, 1, 2], [1, 2, 0], [2, 0, True]]},
        {"group": "mine", "elements": ["0", "1", "2"], "table": [[0, 1, 2], [1, 2, 0], [2, 0, 10**30]]},
        {"group": "mine", "elements": ["0", "1", "2"], "table": [[0, 1, 2]]},
        {"group": "mine", "elements": ["0", "1", "2"], "table": "Z3"},
        {"group": "mine\n", "elements": ["0", "1", "2"], "table": Q},
        {"group": "mine", "elements": ["0", "1", "2"]},
        {"group": "mine"},
        {"field": True},
        {"field": 3, "group": "Z3"},
        {},
        7,
    ],
)
def test_structures_of_files_are_read_strictly(about):
    with pytest.raises(mg.InputError):
        structure_from(about, 3)
    assert structure_from({"group": "mine", "elements": ["e", "u", "v"], "table": Q}, 3).name(2) == "v"


def test_what_files_keep_is_plain_json_and_enough():
    for function in GIVEN.values():
        about = words_kept(function)
        again = function_from(about, function.table, function.values, function.name, function.variables, "it")
        assert again == function and json_text(about)


@pytest.mark.parametrize(
    ("text", "said"),
    [("n1 if n1 < 7 else n2", "got 7 .*'<', which is 0 mod 7"), ("n1 if -1 < n1 else n2", "got -1 .*is 6 mod 7"),
     ("n1 if 9 odd else n2", "got 9 .*'odd', which is 2"), ("n1 if n1 >= 100 else n2", "got 100 .*from 0 to 6")],
)  # fmt: skip
def test_a_number_that_is_another_residue_is_not_compared(text, said):
    """n1 < 7 holds for every residue modulo 7, if 7 is not 0 there."""
    with pytest.raises(InputError, match=said):
        read_function(text, 7)
    assert read_function("n1 if n1 = 7 else n2", 7).table.tolist()[0] == [0] * 7
    assert read_function("n1 if n1 <= 6 else n2", 7).table.tolist()[3] == [3] * 7
