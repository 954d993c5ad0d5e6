"""Groups by name: their tables against permutations and matrices that are made here, their names, and bad input."""

from __future__ import annotations

import itertools
from math import factorial

import numpy as np
import pytest

import modgrok as mg
from modgrok.algebra.cosets import coset_order
from modgrok.algebra.groups import check_laws, from_table
from modgrok.algebra.named_groups import FAMILIES, LARGEST_ORDER

NAMED = [
    *("Z1", "Z12", "C7", "S1", "S4", "S5", "A1", "A4", "A5", "D1", "D2", "D30", "Q8", "Q16", "Dic1", "Dic15"),
    *("SL(2,3)", "SL(2,5)", "SL(3,2)", "GL(2,3)", "S3xZ10", "Z2^4", "A4×Z5", "<(1 2 3 4 5), (1 2)>", "<()>"),
    *("<(1 2)(3 4), (1 3)(2 4)>xZ3", "SL(2,3)xZ5", "D_4", "Z3²"),
]


def cycles_of(text: str, points: int) -> tuple[int, ...]:
    """A permutation from disjoint cycles, with the points 1 … points."""
    goes = list(range(points))
    for cycle in text.strip("()").split(")("):
        moved = [int(point) - 1 for point in cycle.split()]
        for here, there in zip(moved, moved[1:] + moved[:1], strict=True):
            goes[here] = there
    return tuple(goes)


@pytest.mark.parametrize("name", ["S3", "S4", "S5", "A4", "A5", "<(1 2 3 4 5), (1 2)>"])
def test_names_of_permutations_multiply_as_functions_from_right_to_left(name):
    group = mg.group(name)
    points = 3 if name == "S3" else 4 if name.endswith("4") else 5
    made = [cycles_of(group.name(k), points) for k in range(group.order)]
    even = name.startswith("A")
    assert set(made) == {
        p
        for p in itertools.permutations(range(points))
        if not even or sum(a > b for a, b in itertools.combinations(p, 2)) % 2 == 0
    }
    for a, b in itertools.product(range(group.order), repeat=2):
        assert made[group.table[a, b]] == tuple(made[a][i] for i in made[b])


@pytest.mark.parametrize(
    ("name", "n", "q", "special"),
    [("SL(2,3)", 2, 3, True), ("SL(2,5)", 2, 5, True), ("SL(3,2)", 3, 2, True), ("GL(2,3)", 2, 3, False)],
)
def test_names_of_matrices_multiply_as_matrices(name, n, q, special):
    group = mg.group(name)
    read = [[[int(x) for x in row.split()] for row in group.name(k).strip("[]").split(";")] for k in range(group.order)]
    made = np.array(read)
    determinants = np.rint(np.linalg.det(made)).astype(int) % q
    assert made.shape == (group.order, n, n) and len({m.tobytes() for m in made}) == group.order
    assert (determinants == 1).all() if special else determinants.all()
    everything = np.array(list(itertools.product(range(q), repeat=n * n))).reshape(-1, n, n)
    wanted = np.rint(np.linalg.det(everything)).astype(int) % q
    assert group.order == ((wanted == 1) if special else (wanted != 0)).sum()
    products = np.einsum("aij,bjk->abik", made, made) % q
    assert (made[group.table] == products).all()


@pytest.mark.parametrize(("name", "turns", "square"), [("D30", 30, 0), ("Dic15", 30, 15), ("D4", 4, 0), ("Q16", 8, 4)])
def test_dihedral_and_dicyclic_groups_have_their_relations(name, turns, square):
    group = mg.group(name)
    r, s, one = group.element("r"), group.element("s"), group.element("1")
    assert one == 0 and group.order == 2 * turns
    assert group.element_orders[r] == turns
    assert group.multiply(s, s) == group.power(r, square)
    assert group.multiply(group.multiply(s, r), group.inverse(s)) == group.power(r, -1)
    assert group.name(group.multiply(group.power(r, 2), s)) == "r²s"


def test_the_names_of_the_quaternions_multiply_as_quaternions():
    units = {"1": (1, 0, 0, 0), "i": (0, 1, 0, 0), "j": (0, 0, 1, 0), "k": (0, 0, 0, 1)}
    value = units | {"-" + word: tuple(-x for x in unit) for word, unit in units.items()}

    def hamilton(x, y):
        a, b, c, d = x
        e, f, g, h = y
        return (
            *(a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g),
            *(a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e),
        )

    group = mg.group("Q8")
    for x, y in itertools.product(value, value):
        product = group.name(group.multiply(group.element(x), group.element(y)))
        assert value[product] == hamilton(value[x], value[y])


def test_direct_products_multiply_place_by_place():
    group, left, right = mg.group("S3xZ10"), mg.group("S3"), mg.group("Z10")
    for a, b in itertools.product(range(60), repeat=2):
        there = left.table[a // 10, b // 10] * 10 + right.table[a % 10, b % 10]
        assert group.table[a, b] == there
    assert group.name(23) == f"({left.name(2)}, {right.name(3)})"
    assert mg.group("Z2^4").table.tolist() == [[a ^ b for b in range(16)] for a in range(16)]


@pytest.mark.parametrize("name", NAMED)
def test_every_named_group_is_one_and_its_names_are_read_back(name):
    group = mg.group(name)
    assert check_laws(group.table, name, group.words_of_elements) == 0
    assert len(set(group.words_of_elements)) == group.order
    assert [group.element(group.name(k)) for k in range(group.order)] == list(range(group.order))
    assert [group.element(f"#{k}") for k in range(group.order)] == list(range(group.order))
    assert mg.group(group.title) == group


def test_orders_classes_centres_and_commutators_are_those_of_the_textbooks():
    facts = {
        "S5": (120, 7, 1, 60, 60),
        "A5": (60, 5, 1, 60, 30),
        "D30": (60, 18, 2, 15, 30),
        "Dic15": (60, 18, 2, 15, 60),
        "Q8": (8, 5, 2, 2, 4),
        "SL(2,5)": (120, 9, 2, 120, 60),
        "SL(3,2)": (168, 6, 1, 168, 84),
        "Z12": (12, 12, 12, 1, 12),
    }
    for name, expected in facts.items():
        group = mg.group(name)
        found = (group.order, len(group.classes), len(group.centre), len(group.commutators), group.exponent)
        assert found == expected, name
    assert sorted(map(len, mg.group("S4").classes)) == [1, 3, 6, 6, 8]
    assert mg.group("S6").order == factorial(6) and mg.group("D500").order == LARGEST_ORDER


@pytest.mark.parametrize("name", ["S4", "Q8", "Z5"])
def test_representations_multiply_as_the_group_does_and_there_are_enough(name):
    group = mg.group(name)
    for rho in group.representations:
        product = np.einsum("aij,bjk->abik", rho.matrices, rho.matrices)
        assert np.allclose(product, rho.matrices[group.table])
    kappa = {"real": 1, "complex": 2, "quaternionic": 4}
    assert sum(rho.matrices.shape[1] ** 2 / kappa[rho.kind] for rho in group.representations) == group.order


def test_cosets_part_the_group_and_have_the_order_of_the_subgroup():
    group = mg.group("S4")
    subgroup = group.subgroup([group.element("(1 2 3)")])
    assert [group.name(x) for x in subgroup] == ["()", "(1 2 3)", "(1 3 2)"]
    assert group.subgroup(["(1 3 2)"]) == subgroup
    with pytest.raises(mg.InputError, match="500 is none of the 24 elements"):
        group.subgroup([500])
    cosets = group.cosets(subgroup)
    assert len(cosets) == 8 and sorted(sum(cosets, ())) == list(range(24))
    assert all(coset == tuple(group.table[coset[0], h] for h in subgroup) for coset in cosets)
    assert group.cosets(["()", "(1 2 3)", "(1 3 2)"]) == cosets
    with pytest.raises(mg.InputError, match="2 elements that are none"):
        group.cosets(["()", "(1 2 3)"])


def test_elements_are_read_as_people_write_them():
    s4, d30, both = mg.group("S4"), mg.group("D30"), mg.group("S3xZ10")
    assert s4.name(s4.element("(3 1 2)")) == s4.name(s4.element(" ( 1, 2 ,3 ) ")) == "(1 2 3)"
    assert s4.name(s4.element("(4 3)(2 1)")) == "(1 2)(3 4)"
    assert s4.name(s4.element("(1 2)(2 3)")) == "(1 2 3)"  # first the last cycle
    assert d30.element("r^2 s") == d30.element("r2s") == d30.element("r²s") == d30.element(32)
    assert both.name(both.element("((2 1),3)")) == "((1 2), 3)"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("(1 9)", "none of the 24 elements of S4"),
        (24, "none of"),
        ("#24", "none of"),
        (None, "none of"),
        ("", "none of"),
    ],
)
def test_what_is_no_element_is_refused_with_some_that_are(given, message):
    with pytest.raises(mg.InputError, match=message):
        mg.group("S4").element(given)


@pytest.mark.parametrize("wrong", [24, -1, np.array(500)])
def test_operations_take_elements_and_no_other_numbers(wrong):
    group, field = mg.group("S4"), mg.finite_field(9)
    methods = [group.inverse, group.name, field.negate, field.inverse, field.name]
    methods += [lambda x: group.multiply(0, x), lambda x: group.multiply(x, 0), lambda x: group.power(x, 2)]
    methods += [lambda x: field.multiply(3, x), lambda x: field.add(x, 3), lambda x: field.power(x, 2)]
    for method in methods:
        with pytest.raises(mg.InputError, match="none of the (24|9) elements"):
            method(wrong)
    with pytest.raises(mg.InputError, match="24 is none of"):
        group.multiply(np.array([0, 24]), 0)
    assert field.inverse(np.array([0, 1, 3])).tolist() == [-1, 1, [field.multiply(3, k) for k in range(9)].index(1)]
    assert field.power(0, -2) == -1


def test_a_group_has_products_and_inverses_but_neither_sums_nor_numbers():
    group = mg.group("S3")
    for attempt in (lambda: group.add(1, 2), lambda: group.negate(1), lambda: group.constant(2)):
        with pytest.raises(mg.InputError, match="in S3"):
            attempt()
    assert (group.power(np.arange(6), -1) == group.inverses).all()
    assert (group.power(np.arange(6), 0) == 0).all()
    assert (group.table[np.arange(6), group.inverses] == 0).all()


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Foo", "unknown group 'Foo'; there are Z12, S5"),
        ("Sym(5)", "did you mean S5"),
        ("dih30", "did you mean D30"),
        ("", "unknown group"),
        ("S5x", "unknown group"),
        ("S7", "S7 has 5,040 elements; groups may have 1,000"),
        ("Z100xZ100", "10,000 elements"),
        ("SL(9,997)", "more than 10"),
        ("S999999999999", "too large"),
        ("Z2^11", "powers of groups"),
        ("Q12", "8, 16, 32"),
        ("SL(2,6)", r"prime field.*6 = 2 · 3; give SL\(2,5\)"),
        (5, "a group is a name such as 'S5', a table, or a file with one, got a number"),
        (None, "got an object of type NoneType"),
        ("SL(1,5)", "at least 2"),
        ("Z0", "at least 1"),
        ("<(1 2 3 4 5 6 7), (1 2)>", "more than 1,000"),
        ("<(1 2 2)>", "distinct points"),
        ("<(1 5000)>", "distinct points"),
        ("<(0 1)>", "distinct points"),
        ("<hello>", "written in cycles"),
        ("Z" * 2000, "at most 1,000 characters"),
        ("S٥", "did you mean S5"),
        ("<(1 ２)>", "written in cycles"),
        ("GF(9)", r"is a field, not a group; give field=9 \(--field 9\)"),
    ],
)
def test_names_of_no_group_are_refused_in_one_line(name, message):
    with pytest.raises(mg.InputError, match=message) as caught:
        mg.group(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 1], [1, 5]], "not closed, 1 · 1 = 5"),
        ([[0, 1], [1, -1]], "not closed, 1 · 1 is unknown"),
        ([[1, 0], [0, 0]], "no element e"),
        ([[0, 1], [1, 1]], "1 has no inverse"),
        (
            [[0, 1, 2], [1, 0, 2], [2, 2, 0]],
            "not associative",
        ),
        ([[0, 1, 2]], "square"),
        ([[0, 1], [1]], "differ in length"),
        (np.zeros((1001, 1001), dtype=int), "1,001 elements"),
        ([[0.5, 1], [1, 0]], "whole"),
    ],
)
def test_a_table_that_is_no_group_is_refused_with_the_law_and_the_elements(table, message):
    with pytest.raises(mg.InputError, match=message):
        mg.group(table)


def test_what_is_said_of_associativity_is_true_of_every_latin_square_that_is_no_group():
    """All loops of order 5: those that are groups are Z5, the others fail with elements that do fail."""
    rows = list(itertools.permutations(range(5)))
    groups = others = 0

    def extend(square):
        nonlocal groups, others
        if len(square) == 5:
            table = np.array(square)
            laws = all(
                table[table[a, b], c] == table[a, table[b, c]] for a, b, c in itertools.product(range(5), repeat=3)
            )
            try:
                check_laws(table, "it", "01234")
                groups += 1
                assert laws
            except mg.InputError as error:
                others += 1
                assert not laws
                text = str(error)
                a, b, c = text[text.index("(") + 1], text[text.index("· ") + 2], text[text.index(") · ") + 4]
                a, b, c = int(a), int(b), int(c)
                assert table[table[a, b], c] != table[a, table[b, c]]
            return
        for row in rows:
            if row[0] == len(square) and all(row[k] != above[k] for above in square for k in range(5)):
                extend([*square, row])

    extend([tuple(range(5))])
    assert (groups, others) == (6, 50)  # 56 reduced Latin squares of order 5


def test_a_table_with_its_identity_anywhere_is_a_group_whose_elements_keep_their_names():
    order = np.array([3, 1, 4, 0, 2])
    z5, moved = mg.group("Z5").table, np.empty((5, 5), dtype=int)
    moved[np.ix_(order, order)] = order[z5]
    group = from_table(moved, "mine")
    assert group.name(0) == "3" and group.summary() == "the table 'mine', order 5, abelian"
    for a, b in itertools.product(range(5), repeat=2):
        assert int(group.name(group.table[a, b])) == moved[int(group.name(a)), int(group.name(b))]


def test_a_group_from_a_file_is_the_group_of_its_table(tmp_path):
    path = tmp_path / "q8.csv"
    np.savetxt(path, mg.group("Q8").table, fmt="%d", delimiter=",")
    assert mg.group(path) == mg.group(str(path)) == mg.group("Q8")
    assert mg.group(path).title == "q8.csv"


def test_tables_may_count_from_one_and_keep_their_numbers(tmp_path):
    path = tmp_path / "gap.csv"
    path.write_text("1,2,3,4,5,6\n2,1,4,3,6,5\n3,5,1,6,2,4\n4,6,2,5,1,3\n5,3,6,1,4,2\n6,4,5,2,3,1\n")  # GAP's S3
    group = mg.group(path)
    assert group.words_of_elements == ("1", "2", "3", "4", "5", "6") and len(group.classes) == 3
    assert group.name(group.multiply(group.element("2"), group.element("3"))) == "4"
    network = mg.compile("a b", group=path)
    assert network.proof.holds
    network.save(tmp_path / "network.safetensors")
    assert mg.load(tmp_path / "network.safetensors").function.structure.words_of_elements == group.words_of_elements
    with pytest.raises(mg.InputError, match=r"\(2 · 2\) · 3 = 3 but 2 · \(2 · 3\) = 5"):
        mg.group([[1, 2, 3, 4, 5], [2, 1, 4, 5, 3], [3, 5, 1, 2, 4], [4, 3, 5, 1, 2], [5, 4, 2, 3, 1]])


def test_titles_are_the_same_however_a_name_is_typed():
    typed = {"C_07": "Z7", "S 03": "S3", "SL_(02, 3)": "SL(2,3)", "Z2^03": "Z2^3", "D_04 × Z2²": "D4xZ2^2"}
    assert {text: mg.group(text).title for text in typed} == typed


def test_every_family_says_the_truth_about_its_example():
    for family in FAMILIES:
        group = mg.group(family.example)
        if "of order" in family.about:
            assert family.about.endswith(f"of order {group.order}")


@pytest.mark.parametrize("name", ["S4", "A5", "D6", "Q8", "Z2^3", "S3xZ4"])
def test_in_the_order_of_cosets_each_coset_of_the_first_subgroup_is_one_piece(name):
    group = mg.group(name)
    order = coset_order(group)
    assert coset_order(mg.group("Z12")) in [[k * g % 12 for k in range(12)] for g in (1, 5, 7, 11)]
    assert sorted(order) == list(range(group.order)) and order[0] == 0
    for size in (size for size in range(2, group.order) if group.order % size == 0):
        first = set(order[:size])
        if {group.table[a, b] for a in first for b in first} == first:  # a subgroup of the chain
            pieces = [set(order[k : k + size]) for k in range(0, group.order, size)]
            assert all({int(group.table[min(piece), h]) for h in first} == piece for piece in pieces)
            break
    else:
        raise AssertionError("no subgroup stands first")
