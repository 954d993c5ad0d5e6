"""The kernel: it reads expressions by itself, bounds rounding, counts rows, and proves nothing that is not so."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from itertools import pairwise
from math import prod

import jax
import numpy as np
import pytest

import modgrok as mg
from modgrok.algebra import function
from modgrok.algebra.expression import parse
from modgrok.algebra.function import read_function
from modgrok.algebra.polynomial import value_table
from modgrok.base.errors import FaultError
from modgrok.compiler import planner
from modgrok.compiler.choosing import best_plan
from modgrok.compiler.compiling import ExactSettings, claims_of, enough_margin, finish
from modgrok.networks.circuit import Expert as Weights, single
from modgrok.networks.network import Network
from modgrok.networks.proving import kernel_circuit, prove
from modgrok.proofs import expressions, networks as counting
from modgrok.proofs.networks import Circuit, Typed, prove_network, settle_all
from modgrok.proofs.proof import NoProof, Proof, VerdictProof
from modgrok.proofs.rounding import Expert, exact_logits, logit_bound, running_bound
from modgrok.proofs.waves import Claim, wave_lead

# ----------------------------------------------------------------------------------------------- expressions

SPELLINGS = {
    "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3": lambda a, b: 2 * a**4 * b + a**2 * b**2 + 3 * a * b**3,
    "-x^2*-y + 7": lambda a, b: a**2 * b + 7,
    "2n₁⁴n₂ − 3·n_{2}": lambda a, b: 2 * a**4 * b - 3 * b,
    r"\left(n_{1} + 2\right)^{3} \cdot n_2 \bmod 11": lambda a, b: (a + 2) ** 3 * b,
    "- - +n1 ** 2 (n2 - (3))(n1)": lambda a, b: a**2 * (b - 3) * a,
    "(n1 + n2)^0 + 0^0": lambda a, b: 2,
    "x^(12) y × 3": lambda a, b: a**12 * b * 3,
    "1*2": lambda a: 2,
    "n2^100000000000000000000000000000 + n7": lambda a, b: pow(a, 10**29, 11) + b,
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_the_kernel_reads_every_spelling_as_integers_do(text):
    tree = expressions.read_expression(text, 11)
    names, function = expressions.variables_of(tree), SPELLINGS[text]
    found = expressions.value_table(tree, 11, names)
    for cell in np.ndindex(found.shape):
        assert found[cell] == function(*map(int, cell)) % 11
    assert np.array_equal(found, value_table(parse(text, 11), 11))
    sizes = (11,) * len(names)
    assert np.array_equal(expressions.values_of_rows(tree, 11, sizes, 3, 9), found.reshape(-1)[3:9])


@pytest.mark.parametrize(
    "text", ["", "n1 +", "n1 2", "n1^2^3", "(n1", "n1)", "n1/2", "n1 mod 7", "w b", "a b in S5", "n1^-1", "(" * 99]
)
def test_what_the_kernel_cannot_read_proves_nothing(text):
    with pytest.raises(NoProof):
        expressions.read_expression(text, 11)


def test_monomials_are_those_of_the_expression():
    tree = expressions.read_expression("(n1 + 2 n2)^3 - n1^3 - 8 n2^3", 7)
    variables = {k: {((k, 1),): 1} for k in (1, 2)}
    assert expressions.expanded(tree, variables, 7) == {((1, 2), (2, 1)): 6, ((1, 1), (2, 2)): 12 % 7}
    fermat = expressions.read_expression("n1^7 - n1", 7)
    assert expressions.expanded(fermat, variables, 7) == {}
    assert expressions.expanded(fermat, variables, 8) != {}


# ----------------------------------------------------------------------------------------------- what a proof is


def test_a_proof_cannot_be_built_copied_or_loaded():
    proof = mg.compile("n1 + n2", mod=5).proof
    assert proof.holds and proof.rows == 25
    for make in (
        lambda: Proof(25, 25, 0, 0, "float64", 1.0, 0.0, "every row", None, ()),
        lambda: Proof(25, 25, 0, 0, "float64", 1.0, 0.0, "every row", None, (), object()),
        lambda: VerdictProof(True, "because"),
        lambda: pickle.dumps(proof),
        lambda: copy.copy(proof),
        lambda: copy.deepcopy(proof),
    ):
        with pytest.raises(TypeError, match="proof"):
            make()


def test_a_proof_stays_with_its_weights_and_words(tmp_path):
    network = mg.compile("n1 + n2", mod=5)
    assert replace(network, notes=("other",)).proof is network.proof
    assert replace(network, params=jax.tree.map(np.copy, network.params)).proof is None
    assert replace(network, function=read_function("n1 n2", 5)).proof is None
    assert replace(network, function=read_function("n1 + n2", 7)).proof is None
    loaded = mg.load(network.save(tmp_path / "net.safetensors"))
    assert loaded.proof is None and loaded.claimed and "file says" in loaded.proof_text
    assert "proved right" not in loaded._repr_html_()
    assert mg.verify(loaded).proof.holds


def test_a_network_that_the_kernel_refuses_is_not_given_out(monkeypatch):
    """The old fault put back: a product of constants that share a factor with the modulus lost its value."""

    def forgetful(self, factors, m):
        found = whole(self, factors, m)
        return planner.constant(0, m) if found.wire is None else found

    whole = planner.Planner.product
    monkeypatch.setattr(planner.Planner, "product", forgetful)
    with pytest.raises(FaultError, match="1\\*2 \\+ n1 \\+ n2 mod 4 does not stand.*16 proved wrong.*please report"):
        mg.compile("1*2 + n1 + n2", mod=4)


def test_what_was_typed_and_what_is_shown_must_be_one_function(monkeypatch):
    monkeypatch.setattr(function, "to_text", lambda tree: "n1 n2 + 1")
    with pytest.raises(FaultError, match="not proved: what was typed and what is shown are not the same function"):
        mg.compile("n1 n2", mod=5)


@pytest.mark.parametrize("text, mod", [("1*2 + n1 + n2", 4), ("38*23 + n1 + n2", 36), ("1*2", 4), ("3*5 + n1 + n2", 6)])
def test_products_of_constants_keep_their_value(text, mod):
    for settings in ({}, {"frequencies": "minimal"}, {"method": "paper", "add_width": 500}):
        network = mg.compile(text, mod=mod, **settings)
        assert network.proof.holds and mg.verify(network).accuracy == 1.0


# ----------------------------------------------------------------------------------------------- rounding


def random_expert(rng, dtype, terms=2, symbols=7, width=40, layers=1, activation="power", power=2, scale=1.0):
    sizes = [width] * layers + [5]
    embed = (scale * rng.normal(size=(terms, symbols, width))).astype(dtype)
    matrices = tuple(rng.normal(size=(a, b)).astype(dtype) for a, b in pairwise(sizes))
    return Expert(embed, matrices, activation, power, (symbols,) * terms, 1.0)


def computed(expert: Expert, columns) -> np.ndarray:
    """In the expert's own precision, one operation after the other, with a poor order of summation."""
    dtype = expert.dtype.type
    x = expert.embed[0][columns[0]]
    for s in range(1, len(columns)):
        x = x + expert.embed[s][columns[s]]
    for matrix in expert.matrices:
        if expert.activation == "relu":
            x = np.maximum(x, dtype(0))
        elif expert.activation == "gelu":
            x = np.asarray(jax.nn.gelu(x)) if dtype is np.float32 else x * 0
        else:
            x = np.prod([x] * expert.power, axis=0, dtype=dtype)
        total = np.zeros((len(x), matrix.shape[1]), dtype)
        for j in range(len(matrix)):
            total = total + x[:, j : j + 1] * matrix[j]
        x = total
    return x


@pytest.mark.parametrize(
    "activation, power, layers", [("power", 2, 1), ("power", 5, 1), ("relu", 1, 3), ("gelu", 1, 2)]
)
def test_computed_logits_are_within_the_bounds(activation, power, layers):
    rng = np.random.default_rng(0)
    for _ in range(20):
        expert = random_expert(rng, np.float32, activation=activation, power=power, layers=layers)
        columns = [rng.integers(0, 7, 50) for _ in range(2)]
        exact, found = exact_logits(expert, columns), computed(expert, columns)
        error = np.abs(found.astype(float) - exact)
        coarse = logit_bound(expert, np.dtype("float32")).error
        fine = running_bound(expert, columns, np.dtype("float32"))
        assert 0 < error.max() < coarse
        assert (error <= fine).all() and fine.max() <= coarse


@pytest.mark.parametrize("scale", [1e-30, 1e-22])
def test_numbers_that_underflow_are_not_called_right(scale):
    """In float32 the squares are 0, and so are all logits; in float64 the margin looks fine."""
    network = mg.compile("n1 + n2", mod=5, dtype="float32")
    (expert,) = network.circuit.experts
    tiny = Weights((expert.embed * scale).astype(np.float32), expert.readout, expert.power)
    small = Network.of_circuit(single(tiny), read_function("n1 + n2", 5), "exact")
    assert prove(small).undecided == 25 and mg.verify(small).accuracy == 0.0


def test_numbers_that_overflow_are_not_called_right():
    network = mg.compile("n1 + n2", mod=5, dtype="float32")
    (expert,) = network.circuit.experts
    huge = Weights((expert.embed * 1e30).astype(np.float32), expert.readout, expert.power)
    with pytest.raises(NoProof, match="may overflow float32"):
        prove(Network.of_circuit(single(huge), read_function("n1 + n2", 5), "exact"))


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_no_numbers_prove_nothing(value):
    network = mg.compile("n1 + n2", mod=5)
    (expert,) = network.circuit.experts
    other = Weights(np.full_like(expert.embed, value), expert.readout, expert.power)
    spoiled = Network.of_circuit(single(other), read_function("n1 + n2", 5), "exact")
    checked, asked = mg.verify(spoiled), mg.predict(spoiled, 0, 0)
    assert checked.accuracy == 0.0 and (checked.proof is None or checked.proof.right == 0)
    assert asked.correct is False and "no answer" in asked.judgement
    assert not mg.predict(spoiled, [[0, 0], [1, 2]]).correct


# ----------------------------------------------------------------------------------------------- counting rows


@pytest.mark.parametrize("seed", range(6))
def test_counts_of_random_networks_agree_with_what_they_answer(seed):
    """Right and wrong rows, by the kernel and by running the network; undecided ones may be either."""
    rng = np.random.default_rng(seed)
    embed, readout = rng.normal(size=(2, 7, 30)), rng.normal(size=(30, 7))
    network = Network.of_circuit(
        single(Weights(embed.astype("f4"), readout.astype("f4"), 2)), read_function("n1 n2 + 3", 7), "trained"
    )
    proof = prove(network)
    right = int((network.table() == np.add(np.multiply.outer(range(7), range(7)), 3) % 7).sum())
    assert proof.right <= right <= proof.right + proof.undecided and proof.right + proof.wrong + proof.undecided == 49
    assert proof.undecided < 5


def test_unknown_cells_are_not_counted():
    table = np.add.outer(range(7), range(7)) % 7
    table[2, 3] = -1
    network = mg.compile(table)
    assert network.proof.rows == 48 and network.proof.holds


def test_a_circuit_is_wrong_where_one_expert_is():
    network = mg.compile("n1 n2 + n1^3 n2^2", mod=7)
    first = network.circuit.experts[0]
    readout = first.readout[:, [0, 2, 1, 3, 4, 5, 6]]
    experts = (replace(first, readout=readout), *network.circuit.experts[1:])
    broken = Network.of_circuit(replace(network.circuit, experts=experts), network.function, "exact")
    proof = prove(broken)
    wrong = int((broken.table() != mg.table(network.expression, 7)).sum())
    assert proof.wrong == wrong > 0 and proof.undecided == 0


def test_a_softmax_that_leaks_leaves_rows_undecided():
    network = mg.compile("n1 n2 + n1^3 n2^2", mod=7)
    soft = replace(network.circuit, betas=network.circuit.betas * 0.01)
    proof = prove(Network.of_circuit(soft, network.function, "exact"))
    assert proof.wrong == 0 and proof.undecided > 0


def test_transformers_and_normalisations_are_checked_and_not_proved():
    run = mg.train("n1 + n2", mod=5, model="transformer", width=8, steps=2, fraction=0.5)
    found = mg.verify(run)
    assert found.proof is None and "no bound for the rounding of a transformer" in found.facts()["proof"]


# ----------------------------------------------------------------------------------------------- waves

FORMS = ("n1 + n2", "n1 n2", "2n1 + 3n2 + 5", "n1 n2 + n1^2", "(n1 + n2)^3", "n1 + n2 + n3", "n1^3", "(n1 n2 + 1)^2 n3")


def planned(text: str, mod: int, frequencies: str | int) -> tuple[Circuit, tuple[Claim, ...]]:
    plan, kernels = best_plan(parse(text), mod, frequencies)
    kernels, experts, margins, _, _ = enough_margin(plan, kernels, "float64")
    betas = np.array([margin.beta for margin in margins])
    network = finish(plan, experts, betas, read_function(text, mod), "exact", ExactSettings(frequencies))
    return kernel_circuit(network), claims_of(plan, kernels)


def all_columns(expert: Expert) -> list[np.ndarray]:
    return list(np.unravel_index(np.arange(prod(expert.alphabets)), expert.alphabets))


@pytest.mark.parametrize("mod", [2, 5, 6, 8, 23])
def test_waves_never_promise_more_than_the_logits_keep(mod):
    shown = 0
    for text in FORMS:
        for frequencies in ("all", "minimal", 2):
            circuit, claims = planned(text, mod, frequencies)
            for expert, claim in zip(circuit.experts, claims, strict=True):
                columns = all_columns(expert)
                found = settle_all(expert, None, [None] * len(columns), columns, True)
                assert (found.symbols == claim.answers(columns)).all()
                lead = wave_lead(expert, claim)
                assert lead <= found.leads.min() + 1e-9
                shown += lead > 0
    assert shown > len(FORMS)


@pytest.mark.parametrize("text", ["n1 + n2", "n1 n2"])
def test_waves_see_every_change_of_a_weight_that_changes_an_answer(text):
    rng = np.random.default_rng(0)
    circuit, (claim,) = planned(text, 23, 1)
    expert = circuit.experts[0]
    assert wave_lead(expert, claim) > 0
    wrong = 0
    for _ in range(60):
        embed, readout = expert.embed.copy(), expert.matrices[0].copy()
        part = embed if rng.random() < 0.5 else readout
        part[tuple(rng.integers(0, size) for size in part.shape)] += rng.choice([-1, 1]) * 10 ** rng.uniform(-3, 0.5)
        changed = expert._replace(embed=embed, matrices=(readout,))
        logits, right = exact_logits(changed, all_columns(expert)), claim.answers(all_columns(expert))
        best = logits[np.arange(len(right)), right].copy()
        logits[np.arange(len(right)), right] = -np.inf
        margin = (best - logits.max(axis=1)).min()
        assert wave_lead(changed, claim) <= margin
        wrong += margin <= 0
    assert wrong > 5


def test_waves_refuse_claims_that_do_not_fit():
    circuit, (claim,) = planned("n1 n2", 7, 1)
    expert = circuit.experts[0]
    for other in (
        claim._replace(order=5),
        claim._replace(absorbed=None),
        claim._replace(absorbed=99),
        claim._replace(places=claim.places[:1]),
        claim._replace(outputs=claim.outputs + 7),
        claim._replace(frequencies=(0,)),
        claim._replace(frequencies=(4,)),
    ):
        with pytest.raises(NoProof):
            wave_lead(expert, other)
    for other in (claim._replace(outputs=claim.outputs[::-1].copy()), claim._replace(frequencies=(2,))):
        assert wave_lead(expert, other) < 0


# ----------------------------------------------------------------------------------------------- composition

LARGE = (
    "n1 + n2 + n3 + n4 + n5 + n6 + n7 + n8 + n9 + n10",
    "n1 n2 n3 n4 n5 + 3 n1^2",
    "(n1 + 2n2)^3 n3 n4 - n5 n1^200 + 5",
)


@pytest.mark.parametrize("mod", [97, 100, 64, 36])
@pytest.mark.parametrize("text", LARGE)
def test_networks_of_more_rows_than_can_be_counted_are_proved(text, mod, tmp_path):
    network = mg.compile(text, mod=mod, frequencies="minimal")
    assert network.proof.holds and network.proof.rows == mod ** len(network.variables) > 2**25
    assert network.proof.method == counting.COMPOSED
    loaded = mg.load(network.save(tmp_path / "net.safetensors"))
    assert loaded.proof is None and mg.verify(loaded).proof.holds


def test_a_proof_by_composition_is_about_what_was_typed():
    network = mg.compile(LARGE[1], mod=97, frequencies="minimal")
    rows, right = np.random.default_rng(0).integers(0, 97, (200, 5)), []
    for row in rows.tolist():
        right.append((prod(row) + 3 * row[0] ** 2) % 97)
    assert network.predict(rows).tolist() == right
    for text in ("n1 n2 n3 n4 n5 + 3 n1^2 + 1", "n1 n2 n3 n4 n5 + 3 n2^2", "n1 n2 n3 n4 n5 + 3 n1^3"):
        with pytest.raises(NoProof, match="not shown to compose"):
            prove(replace(network, function=read_function(text, 97)))


@pytest.mark.parametrize("field, value", [("forms", "n1 + 1"), ("result", "2*n1"), ("generator", 3), ("rule", "sum")])
def test_claims_that_say_something_else_prove_nothing(field, value):
    network = mg.compile(LARGE[1], mod=97, frequencies="minimal")
    number = next(k for k, claim in enumerate(network.claims) if claim.rule == "product")
    claim = network.claims[number]
    changed = claim._replace(**{field: (value, *claim.forms[1:]) if field == "forms" else value})
    claims = (*network.claims[:number], changed, *network.claims[number + 1 :])
    with pytest.raises(NoProof):
        prove(replace(network, claims=claims))


def test_too_many_rows_and_no_claims_are_no_proof():
    network = mg.compile(LARGE[0], mod=97, frequencies="minimal")
    with pytest.raises(NoProof, match="too many to count out"):
        prove(replace(network, claims=()))


def test_the_product_modulo_a_large_prime_is_proved_and_no_row_is_computed():
    network = mg.compile("n1 n2", mod=30011, frequencies="minimal")
    found = mg.verify(network)
    assert found.proof.holds and found.rows_checked == 0 and found.accuracy == 1.0
    assert network.predict([[30010, 30010], [0, 7], [12345, 6789]]).tolist() == [1, 0, 12345 * 6789 % 30011]


def test_symbols_too_many_to_compute_are_read_as_waves(monkeypatch):
    monkeypatch.setattr(counting, "ENUMERATION", 0.0)
    for text in ("n1 + n2", "n1 n2", "2 n1^4 n2 + n1^2 n2^2"):
        network = mg.compile(text, mod=23)
        assert network.claims and network.proof.holds
    (expert,) = mg.compile("n1 + n2", mod=23).circuit.experts
    with pytest.raises(NoProof, match="other variables"):
        prove_network(planned("n1 + n2", 23, 1)[0], Typed(("n1 + n3", "n1 + n2"), 23), subject=expert, words=())
