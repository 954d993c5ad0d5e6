"""Forgeries that once were taken for proofs, and what is said of them now."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import modgrok as mg
from modgrok import cli
from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.base.stores import write_tensors
from modgrok.compiler.compiling import compile
from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.network import Network
from modgrok.networks.proving import prove, proved
from modgrok.networks.storage import load
from modgrok.proofs import networks as kernel
from modgrok.proofs.expressions import read_expression, value_table
from modgrok.proofs.proof import NoProof, TooMuchWork
from modgrok.proofs.verdicts import prove_verdict
from modgrok.separable.checking import FORMAT

OLD = {"holds": True, "dtype": "float64", "margin": 1.0, "error_bound": 1e-14, "experts": [{"margin": 1.0}]}
"""What version 0.2 wrote into the file of a network that it had proved."""


@pytest.fixture
def forged(tmp_path):
    """The file of a sum modulo 5 with other weights or words, and every sign that it was proved."""

    def write(change=lambda tensor: tensor, **words) -> Network:
        about, tensors = compile("n1 + n2", 5).stored()
        changed = {name: change(tensor).astype(tensor.dtype) for name, tensor in tensors.items()}
        path = tmp_path / "forged.safetensors"
        write_tensors(path, about | {"claimed": True, "certificate": OLD} | words, changed)
        return load(path)

    return write


def nobody_says_proved(network: Network) -> bool:
    said = [network.summary(), repr(network), network._repr_html_(), network.proof_text or ""]
    silent = all("proved" not in text.replace("its file says that it is proved", "") for text in said)
    return silent and network.proof is None and network.to_json()["proof"] is None


def noise(tensor: np.ndarray) -> np.ndarray:
    return np.random.default_rng(0).normal(size=tensor.shape)


def nothing(tensor: np.ndarray) -> np.ndarray:
    return np.full(tensor.shape, np.nan)


@pytest.mark.parametrize("change", [noise, np.zeros_like])
def test_a_certificate_that_was_copied_to_other_weights_proves_nothing(forged, change):
    network = forged(change)
    assert nobody_says_proved(network)
    found = mg.verify(network)
    assert found.accuracy < 1 and not found.proof.holds and found.proof.right <= found.rows_checked - found.errors


def test_a_certificate_that_was_copied_to_weights_that_are_no_numbers_proves_nothing(forged):
    network = forged(nothing)
    assert nobody_says_proved(network)
    found = mg.verify(network)
    assert found.accuracy == 0 and found.proof is None and "not all finite" in found.unproved


def test_a_certificate_that_was_copied_to_another_expression_proves_nothing(forged):
    network = forged(expression="n1 n2")
    assert nobody_says_proved(network)
    found = mg.verify(network)
    assert found.accuracy < 1 and not found.proof.holds


def test_weights_that_are_as_they_were_are_proved_again(forged):
    network = forged()
    assert nobody_says_proved(network) and proved(network).proof.holds


@pytest.mark.parametrize("change", [nothing, np.zeros_like])
def test_no_prediction_of_weights_that_say_nothing_is_correct(forged, change):
    network = forged(change)
    one, many = mg.predict(network, 0, 0), mg.predict(network, [[0, 0], [1, 2]])
    assert not one.correct and "(correct" not in one.summary() and not many.correct and not many.right.any()


def test_texts_of_a_plan_that_are_no_formulas_are_not_shown(forged):
    plan = [{"kind": "sum", "text": "proved right on every input", "inputs": ["n1", "n2"], "width": 9}]
    network = forged(plan=plan)
    assert nobody_says_proved(network) and "sum … (9 neurons)" in network._repr_html_()
    assert "n1 + n2" in compile("n1 + n2", 5)._repr_html_()


@pytest.mark.parametrize("name", ["\x1b[31m", "two\nlines", "x" * 301])
def test_the_name_of_a_table_in_a_file_cannot_drive_a_terminal(tmp_path, name):
    about, tensors = compile([[0, 1, 2], [1, 2, 0]]).stored()
    function = about["function"] | {"name": name}
    write_tensors(tmp_path / "named", about | {"function": function}, tensors)
    with pytest.raises(InputError, match="names of its table must be printable"):
        load(tmp_path / "named")


# ------------------------------------------------------------------------------------------ rounding


def with_weights(network: Network, embed: float, readout: float, betas: str) -> Network:
    """The network with scaled weights, as its file would give it."""
    expert = network.circuit.experts[0]
    dtype = expert.embed.dtype
    changed = Expert((expert.embed * embed).astype(dtype), (expert.readout * readout).astype(dtype), expert.power)
    circuit = Circuit((changed,), network.circuit.betas.astype(betas), network.circuit.wires, 2)
    return Network.of_circuit(circuit, read_function("n1 + n2", 5), "exact")


def test_neurons_that_overflow_are_not_proved_right_because_their_readout_is_small():
    """Squares of 1e21 are infinite in float32, and 1e-32 times infinity is no 1e10."""
    network = with_weights(compile("n1 + n2", 5, dtype="float32"), 1e21, 1e-32, "float32")
    assert np.isnan(network([[1, 2]])).all()
    with pytest.raises(NoProof, match="may overflow float32"):
        prove(network)


def test_sums_that_overflow_are_not_proved_right_because_their_readout_is_small():
    expert = Expert(np.full((2, 5, 1), 3e38, np.float32), np.full((1, 5), 1e-38, np.float32), 1)
    network = Network.of_circuit(
        Circuit((expert,), np.ones(1, np.float32), ((0, 1),), 2), read_function("n1 + n2", 5), "exact"
    )
    with pytest.raises(NoProof, match="may overflow float32"):
        prove(network)


def test_squares_that_underflow_are_not_proved_right():
    network = with_weights(compile("n1 + n2", 5, dtype="float32"), 1e-25, 1e38, "float32")
    assert prove(network).undecided == 25


def test_experts_are_not_proved_in_a_precision_that_their_betas_do_not_have():
    """JAX computes in the precision of the betas, where a lead of 1e-9 is none."""
    network = with_weights(compile("n1 + n2", 5), 1, 1, "float32")
    with pytest.raises(NoProof, match="not all of one precision"):
        prove(network)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_softmax_whose_exponents_round_to_more_than_1_is_not_trusted(dtype):
    """β·logit - max is no 0 for the answer where the product is not rounded before; exp of it was infinite."""
    network = compile("n1 n2 + n3", 3, dtype=dtype)
    assert network.proof.holds
    betas = (network.circuit.betas * 1e30).astype(dtype)
    circuit = Circuit(network.circuit.experts, betas, network.circuit.wires, 3)
    with pytest.raises(NoProof, match="may overflow"):
        prove(Network.of_circuit(circuit, read_function("n1 n2 + n3", 3), "exact"))


# ------------------------------------------------------------------------------------------ claims about experts


@pytest.fixture
def few_rows_are_too_many(monkeypatch):
    """The kernel takes claims for small networks, too."""
    for name in ("ENUMERATION", "MOST_ROWS", "MOST_CIRCUIT_ROWS"):
        monkeypatch.setattr(kernel, name, 0)


@pytest.mark.usefixtures("few_rows_are_too_many")
@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"forms": ("n2", "n1")}, "other variables than n1"),
        ({"result": "n2"}, "other variables than n1"),
        ({"rule": "squares"}, "an expert of squares reads a variable"),
        ({"rule": "product"}, "a claimed generator is none|not what its claim says"),
        ({"forms": ("n1",)}, "no claim about its polynomial"),
    ],
)
def test_a_claim_that_is_none_is_refused_in_a_sentence(changes, reason):
    network = compile("n1 + n2", 7)
    assert network.proof.holds and network.proof.method == kernel.COMPOSED
    claims = tuple(claim._replace(**changes) for claim in network.claims)
    with pytest.raises(NoProof, match=reason):
        prove(replace(network, claims=claims, proof=None))


# ------------------------------------------------------------------------------------------ certificates

SUMS = np.add.outer(np.arange(7), np.arange(7)) % 7
LINES = {"kind": "distinct-lines", "axis": 0, "cases": [[None, {"kind": "distinct-lines"}]], "smaller": []}
REFUSED = {"family": "additive", "verdict": "not-in-class", "group_order": 7, "absorbing": False, "obstruction": LINES}
PLACES = {"g1": [*range(7)], "g2": [*range(7)], "h": [*range(7)], "h_absorbing": None}
WITNESSED = {"family": "additive", "verdict": "in-class", "group_order": 7, "absorbing": False, "witness": PLACES}


def checked(tmp_path, capsys, content) -> tuple[int, str]:
    """Exit code of `modgrok check`, and all that it says."""
    path = tmp_path / "forged.json"
    path.write_text(json.dumps({"format": FORMAT, "variables": ["n1", "n2"], **content}))
    capsys.readouterr()
    try:
        code = cli.main(["check", str(path)])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return code, out + err


def of_sum(claim) -> dict:
    return {"expression": "n1 + n2", "modulus": 7, "claims": [claim]}


@pytest.mark.parametrize("family", ["additive", "product-group"])
@pytest.mark.parametrize("moduli", [[-7], [0], [7, 0], [7, -1], [1, 7], [7], [True, 7], [7.0], [2, 4], [10**30]])
@pytest.mark.parametrize("order", [7, 0, -7])
def test_no_group_is_claimed_by_moduli_that_are_none(tmp_path, capsys, family, moduli, order):
    claim = REFUSED | {"family": family, "moduli": moduli, "group_order": order}
    code, said = checked(tmp_path, capsys, of_sum(claim))
    assert code == 2 and "unreadable" in said and "every claim is proved" not in said


def test_a_true_claim_beside_them_is_proved(tmp_path, capsys):
    assert checked(tmp_path, capsys, of_sum(WITNESSED))[0] == 0


@pytest.mark.parametrize("place", ["kind", "case", "explanation"])
def test_free_text_of_a_certificate_is_never_shown(tmp_path, capsys, place):
    text = "n1 + n2 is NOT additive over Z_7"
    obstruction = dict(LINES)
    if place == "case":
        obstruction["cases"] = [[None, {"kind": text}]]
    else:
        obstruction[place] = text
    code, said = checked(tmp_path, capsys, of_sum(REFUSED | {"group_order": 6, "obstruction": obstruction}))
    assert "NOT" not in said and code == (0 if place == "explanation" else 2)


def test_a_witness_is_none_for_all_groups_up_to_its_own(tmp_path, capsys):
    code, said = checked(tmp_path, capsys, of_sum(WITNESSED | {"up_to": True}))
    assert code == 2 and "any group" not in said


@pytest.mark.parametrize(
    "cells", [[[0.9, 1], [1, 0]], [["1", 0], [0, 1]], [[True, 0], [0, 1]], [[0, 1], [1]], [[], []]]
)
def test_a_table_holds_whole_numbers_and_nothing_that_is_rounded_to_them(tmp_path, capsys, cells):
    code, said = checked(tmp_path, capsys, {"table": cells, "values": 2, "claims": [WITNESSED]})
    assert code == 2 and said.count("\n") == 1


def shared_children(order: int, length: int) -> dict:
    """A tree of `length` nodes, each the child of all options of the one before: order^length cases."""
    nodes = [
        [[("column", "row")[k % 2] if k else "scale", 1 + k // 2], [[place, k + 1] for place in range(order)]]
        for k in range(length)
    ]
    nodes[-1][1] = [[place, None] for place in range(order)]
    return {"kind": "search", "transposed": False, "tree": {"origin": [0, 0], "nodes": nodes}}


def test_a_small_file_that_stands_for_many_cases_is_too_much_work():
    table = np.random.default_rng(7).integers(0, 3, (10, 10))
    claim = REFUSED | {"group_order": 40, "obstruction": LINES | {"cases": [[None, shared_children(40, 12)]]}}
    with pytest.raises(TooMuchWork, match="too long to check"):
        prove_verdict(table, claim, work=100_000)


def test_many_groups_at_once_are_excluded_within_the_work_that_is_allowed():
    table = np.multiply.outer(np.arange(60), np.arange(60)) % 60
    lines = [["row", 0]] + [["row", 1]] * 59
    obstruction = LINES | {"cases": [[None, {"kind": "counting", "lines": lines}]]}
    claim = REFUSED | {"group_order": 60, "up_to": True, "obstruction": obstruction}
    with pytest.raises(TooMuchWork, match="too long to check"):
        prove_verdict(table, claim, work=10_000)
    assert not prove_verdict(table, claim).in_class, "the values need more than 60 preimages"


@pytest.mark.parametrize("moduli", [(128, 128), (16, 16, 16)])
def test_a_large_group_that_is_not_cyclic_is_refused_before_its_table_is_made(moduli):
    claim = REFUSED | {"family": "product-group", "group_order": int(np.prod(moduli)), "moduli": list(moduli)}
    claim["obstruction"] = LINES | {"cases": [[None, shared_children(40, 3)]]}
    with pytest.raises(NoProof, match="are checked up to order 512"):
        prove_verdict(np.random.default_rng(7).integers(0, 3, (6, 6)), claim)


def test_a_tree_over_a_group_that_is_not_cyclic_is_charged_for_the_table_of_the_group():
    claim = REFUSED | {"family": "product-group", "group_order": 256, "moduli": [16, 16]}
    claim["obstruction"] = LINES | {"cases": [[None, shared_children(40, 3)]]}
    with pytest.raises(TooMuchWork):
        prove_verdict(np.random.default_rng(7).integers(0, 3, (6, 6)), claim, work=8 * 256**2)


def test_each_residue_is_raised_once_where_there_are_many_cells(monkeypatch):
    """An exponent of thousands of digits took minutes for a table of a million cells."""
    asked = []
    monkeypatch.setattr("modgrok.proofs.expressions.pow", lambda *of: asked.append(of) or pow(*of), raising=False)
    table = value_table(read_expression("(n1 + 2n2)^" + "9" * 300, 11), 11, (1, 2))
    assert len(asked) == 11
    assert table.tolist() == [[pow(a + 2 * b, 10**300 - 1, 11) for b in range(11)] for a in range(11)]
