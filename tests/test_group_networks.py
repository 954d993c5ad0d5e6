"""Networks with closed-form weights for groups, fields and tables, held against permutations, matrices and digits."""

import itertools

import numpy as np
import pytest

import modgrok as mg
from modgrok.algebra.function import read_function
from modgrok.algebra.groups import group
from modgrok.algebra.representations import real_irreducibles
from modgrok.compiler.choosing import best_table_plan
from modgrok.compiler.codes import exact_width, smallest_faithful
from modgrok.compiler.exact_weights import exact_width as exact_width_of
from modgrok.networks.verification import verify

# (group, fewest neurons, neurons of the exact one-hot)
WIDTHS = [
    ("S5", 5, 596),
    ("A5", 4, 244),
    ("SL(2,5)", 5, 836),
    ("D30", 3, 116),
    ("S4", 4, 64),
    ("Q8", 5, 20),
    ("SL(2,3)", 5, 80),
    ("Dic15", 5, 174),
    ("Z3xZ6", 5, 34),
    ("Z2^4", 5, 16),
]


def permutation_table(points, even=False):
    """All permutations of some points in their own order, and who is first applied stands on the right."""
    found = [a for a in itertools.permutations(range(points)) if not even or is_even(a)]
    place = {a: k for k, a in enumerate(found)}
    return np.array([[place[tuple(a[i] for i in b)] for b in found] for a in found])


def is_even(a):
    return sum(a[i] > a[j] for i, j in itertools.combinations(range(len(a)), 2)) % 2 == 0


def matrix_table(p):
    found = [e for e in itertools.product(range(p), repeat=4) if (e[0] * e[3] - e[1] * e[2]) % p == 1]
    found.sort(key=lambda e: (e != (1, 0, 0, 1), e))
    place = {e: k for k, e in enumerate(found)}

    def product(x, y):
        return ((x[0] * y[0] + x[1] * y[2]) % p, (x[0] * y[1] + x[1] * y[3]) % p,
                (x[2] * y[0] + x[3] * y[2]) % p, (x[2] * y[1] + x[3] * y[3]) % p)  # fmt: skip

    return np.array([[place[product(x, y)] for y in found] for x in found])


ORACLES = {"S5": permutation_table(5), "A5": permutation_table(5, even=True), "S4": permutation_table(4),
           "SL(2,5)": matrix_table(5), "SL(2,3)": matrix_table(3)}  # fmt: skip


@pytest.mark.parametrize(("name", "fewest", "all_of_them"), WIDTHS)
def test_products_in_groups_are_proved_with_few_neurons_and_as_one_hots(name, fewest, all_of_them):
    few, whole = mg.compile("a b", group=name), mg.compile("a b", group=name, frequencies="all")
    right = ORACLES.get(name, group(name).table)
    assert (few.width, whole.width) == (fewest, all_of_them)
    for network in (few, whole):
        assert network.proof.holds and network.proof.rows == len(right) ** 2
        assert np.array_equal(network.table(), right)
    order = len(right)
    logits = whole(np.stack(np.indices((order, order)), axis=-1).reshape(-1, 2))
    assert np.abs(logits - np.eye(order)[right.reshape(-1)]).max() < 1e-9


def test_a_cyclic_group_gets_what_a_sum_modulo_a_number_gets():
    cyclic, modular = mg.compile("a b", group="Z97"), mg.compile("n1 + n2", 97)
    assert cyclic.width == modular.width == 193
    for ours, theirs in zip(cyclic.params.experts, modular.params.experts, strict=True):
        assert np.array_equal(ours.embed, theirs.embed) and np.array_equal(ours.readout, theirs.readout)
    assert mg.compile("a b", group="Z97", frequencies=4).width == mg.compile("n1 + n2", 97, frequencies=4).width
    assert mg.compile("a b", group="Z97", frequencies="minimal").width == 3


@pytest.mark.parametrize(
    ("word", "name", "width"),
    [("a b a^-1", "S4", 8), ("a b a", "D6", 5), ("a b a b", "S3", 5), ("a b c", "Q8", 10), ("a^2 b^-3", "A4", 4),
     ("a b a^-1 b^-1", "S3", 8), ("a b a^-1", "Z12", 12), ("a/b", "S3", 3), ("a a^-1", "S3", 2)],
)  # fmt: skip
def test_words_are_proved(word, name, width):
    network = mg.compile(word, group=name)
    assert network.width == width and network.proof.holds
    own, letters = group(name), [letter for letter in "abc" if letter in word]
    for row in itertools.product(range(own.order), repeat=len(letters)):
        values = dict(zip(letters, row, strict=True))
        assert network.function.table[row] == word_value(word, values, own)
    assert np.array_equal(network.table(), network.function.table)


def word_value(word, values, own):
    """A word read from left to right, with nothing but the multiplication table."""
    inverse = [int(np.flatnonzero(own.table[x] == 0)[0]) for x in range(own.order)]
    found, tokens = 0, word.replace("/", " / ").split()
    for k, token in enumerate(tokens):
        if token == "/":
            continue
        letter, _, exponent = token.partition("^")
        times = int(exponent or 1) * (-1 if k and tokens[k - 1] == "/" else 1)
        element = values[letter] if times > 0 else inverse[values[letter]]
        for _ in range(abs(times)):
            found = own.table[found, element]
    return found


def test_float32_gets_codes_of_more_numbers_and_says_so():
    network = mg.compile("a b", group="S5", dtype="float32")
    assert network.width == 9 and network.proof.holds and network.proof.dtype == "float32"
    assert "float32 is not enough" in network.notes[0]


def test_representations_that_are_faithful_together_are_chosen_by_their_size():
    for name, size in [("S5", 4), ("Z2^4", 4), ("S3xZ10", 4), ("Z3xZ6", 4), ("Q8", 4), ("Z2xQ8", 5), ("A4xZ2", 3)]:
        found = group(name).representations
        chosen = smallest_faithful(found)
        assert sum(found[k].dimension for k in chosen) == size
        kernel = np.logical_and.reduce([found[k].kernel for k in chosen])
        assert kernel.tolist() == [True] + [False] * (len(kernel) - 1)


def test_neurons_of_a_one_hot_follow_the_formula_of_kinds():
    table = group("SL(2,3)").table  # 1, one complex pair of degree 1 and one of 2, one quaternionic of 2, one of 3
    assert exact_width(real_irreducibles(table)) == 1 + 4 * 1 + 4 * 8 + 2 * 8 + 27


@pytest.mark.parametrize("q", [4, 8, 9])
def test_expressions_over_fields_are_proved(q):
    for expression in ("x + y", "x y", "x y + t x + 1", "x^2 + x y + y^2", "x/y"):
        network = mg.compile(expression, field=q)
        assert network.proof.holds, expression
        known = network.function.table >= 0
        assert np.array_equal(network.table()[known], network.function.table[known])
    assert mg.compile("x + y", field=q).width == {4: 3, 8: 4, 9: 5}[q]


def test_the_exact_sum_in_a_field_is_a_one_hot():
    network = mg.compile("x + y", field=9, frequencies="all")
    assert verify(network).mse < 1e-20


@pytest.mark.parametrize("structure", [{"group": "S4"}, {"field": 9}])
def test_exact_networks_are_one_hots_of_values_that_some_elements_never_are(structure):
    word = "(a b)^2" if "group" in structure else "x^2 + 2 x y + y^2"
    network = mg.compile(word, **structure, frequencies="all")
    missing = set(range(network.function.values)) - set(network.function.table.reshape(-1).tolist())
    assert missing and network.proof.holds and verify(network).mse < 1e-20


@pytest.mark.parametrize(("expression", "q", "width"), [("x y + t x + 1", 27, 6), ("x/y + t/y", 27, 6),
                                                        ("x y + x + y", 31, 60), ("x^2 + 2 x y + y^2", 27, 9),
                                                        ("x^2 + 2 x y + y^2", 31, 61)])  # fmt: skip
def test_what_is_a_product_or_a_sum_in_disguise_over_a_field_takes_one_expert(expression, q, width):
    network = mg.compile(expression, field=q)
    assert network.proof.holds and network.width == width


def test_any_table_is_compiled_by_looking_it_up_and_says_so(tmp_path):
    rng = np.random.default_rng(5)
    for shape, values, width in [((11, 11), 11, 13), ((12, 16), 11, 14), ((5, 6, 7), 9, 12)]:
        table = rng.integers(0, values, shape)
        network = mg.compile(table, values)
        assert network.method == "lookup" and "looked up" in network.notes[-1]
        assert network.width == width and network.proof.holds
        assert np.array_equal(network.table(), table)
    assert mg.load(network.save(tmp_path / "table.safetensors")).method == "lookup"
    cells = rng.integers(0, 7, (7, 6))
    whole = mg.compile(cells, 7, frequencies="all")
    assert whole.width == 7 * 6 + 7 + 6 and verify(whole).mse == 0 and whole.proof.holds


def test_networks_of_groups_are_saved_loaded_and_proved_again(tmp_path):
    network = mg.compile("a b a^-1", group="S4")
    found = mg.load(network.save(tmp_path / "s4.safetensors"))
    assert found.proof is None and found.claimed and "verify" in found.proof_text
    assert found.function.structure.title == "S4" and found.plan == network.plan
    assert verify(found).proof.holds


def test_a_group_that_was_given_by_its_table_is_proved_from_that():
    table = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
    network = mg.compile("a b", group=table)
    assert network.proof.holds and network.width == 3


def test_too_large_tables_are_refused_with_the_limit():
    table = np.random.default_rng(0).integers(0, 5, (300, 300, 3))
    with pytest.raises(mg.InputError, match="too large to be looked up"):
        mg.compile(table, 5)


def test_what_is_computed_does_not_depend_on_the_spelling():
    for one, other in [("a b", "a*b"), ("a b a^-1", "a b/a")]:
        first, second = mg.compile(one, group="S3"), mg.compile(other, group="S3")
        assert read_function(one, group="S3") == read_function(other, group="S3")
        assert np.array_equal(first.table(), second.table())


def test_a_large_cyclic_group_is_not_refused_for_the_size_of_its_lookup_table():
    function = read_function("a b", group="Z700")
    for frequencies, width in ((None, 1398), (4, 17)):
        plan, kernels = best_table_plan(function, frequencies)
        assert [step.kind for step in plan.steps] == ["sum"]
        assert sum(exact_width_of(step, kernel) for step, kernel in zip(plan.steps, kernels, strict=True)) == width
    with pytest.raises(mg.InputError, match="one expert may have"):
        best_table_plan(read_function(np.random.default_rng(0).integers(0, 700, (700, 700)), 700), "all")


@pytest.mark.parametrize(
    ("text", "width"),
    [("x if x = y else y in GF(4)", 6), ("a if a != b else a^-1 in Q8", 9), ("(x y if x = y else x + y) in GF(9)", 11)],
)
def test_conditions_in_groups_and_fields_are_compiled_as_tables(text, width):
    network = mg.compile(text)
    assert network.proof.holds and network.width == width
    assert np.array_equal(network.table(), network.function.table)


@pytest.mark.parametrize("p", [7, 97])
def test_quotients_modulo_a_prime_have_the_width_of_products(p):
    network = mg.compile("x/y", mod=p, frequencies="minimal")
    assert network.width == 6 and network.method == "exact" and network.proof.holds
    assert mg.compile("x/y", mod=p).width == 2 * (p - 1)
