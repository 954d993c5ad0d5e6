"""Polynomials modulo composite numbers, from plan to file: exact on every row, proved, saved, exported, mixed."""

from __future__ import annotations

import json
import random
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from perfect_experts import perfect_expert

import modgrok as mg
from modgrok.algebra.expression import parse
from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.cli import main
from modgrok.compiler.choosing import groupings
from modgrok.compiler.compiling import ExactSettings, assemble, compile_exact
from modgrok.networks.export import export
from modgrok.networks.network import Network
from modgrok.networks.predicting import predict
from modgrok.networks.storage import load
from modgrok.networks.verification import verify
from modgrok.training.mixture import mix, relabelled, shortest_plan, task_modulus, task_of

BENCHMARK = SimpleNamespace(**runpy.run_path(str(Path(__file__).parent.parent / "benchmarks" / "composite.py")))
TEXT, M = "5n1^2 n2 + 2n2^3 + n1", 12
ROWS = np.array([(a, b) for a in range(M) for b in range(M)])
ANSWERS = np.array([(5 * a**2 * b + 2 * b**3 + a) % M for a, b in ROWS.tolist()])


def check_random(number: int) -> int:
    """The benchmark's polynomial on every row, against Python's integers; its modulus."""
    case = BENCHMARK.random_case(random.Random(number))
    network = BENCHMARK.compiled(case, number)
    assert network.proof.holds and BENCHMARK.wrong_rows(network, case) == 0, case
    return case.modulus


@pytest.mark.parametrize("number", range(1000, 1008))
def test_random_polynomials_modulo_composite_numbers_are_exact(number):
    assert check_random(number) in BENCHMARK.COMPOSITES


@pytest.mark.slow
def test_three_hundred_random_polynomials_modulo_composite_numbers():
    assert {check_random(number) for number in range(300)} == set(BENCHMARK.COMPOSITES)


def test_the_oracle_of_the_benchmark_is_that_of_its_text():
    """One of its polynomials, spelled out."""
    case = BENCHMARK.random_case(random.Random(20))
    assert case.text.startswith("2 n1^1 n2^3 n3^1 + 1 n1^2 n2^2 n3^0 + 2 n1^1 n2^1 n3^2") and case.modulus == 10
    assert case.value(3, 4, 7) == (2 * 3 * 64 * 7 + 9 * 16 + 2 * 3 * 4 * 49) % 10


# --------------------------------------------------------------------------------------------- how narrow


@pytest.mark.parametrize(
    "text, m, minimal, every",
    [
        ("n1 n2", 97, 6, 192),  # by logarithms
        ("n1 n2", 35, 15, 89),  # three sums of five neurons; with all frequencies by remainders
        ("n1 n2", 6, 12, 17),  # 3 modulo 2, 4 modulo 3 and 5 to join them
        ("6 n1 n2", 12, 3, 3),  # n1 n2 modulo 2
        ("n1 (n2 + 1)", 12, 15, 60),
    ],
)
def test_products_are_as_narrow_as_the_narrowest_way(text, m, minimal, every):
    widths = [compile_exact(text, m, ExactSettings(frequencies)).width for frequencies in ("minimal", "all")]
    assert widths == [minimal, every]


def test_groupings_are_the_partitions_of_a_set():
    found = [sorted(sorted(group) for group in groups) for groups in groupings([2, 3, 5, 7])]
    assert len(found) == len({str(groups) for groups in found}) == 15, "the Bell number of 4"
    assert all(sorted(q for group in groups for q in group) == [2, 3, 5, 7] for groups in found)


# --------------------------------------------------------------------------------------------- files and exports


@pytest.fixture(scope="module", params=["minimal", "all"])
def network(request):
    """By quarter squares with the fewest frequencies, by remainders with all: wires of 24, 12, 4 and 3 symbols."""
    return compile_exact(TEXT, M, ExactSettings(request.param))


def test_the_network_has_wires_of_other_alphabets_and_is_right(network):
    classes = {expert.readout.shape[1] for expert in network.circuit.experts}
    assert classes - {M} and (network.predict(ROWS) == ANSWERS).all()
    assert verify(network).accuracy == 1.0 and network.proof.holds


def test_a_saved_network_is_read_again(network, tmp_path):
    loaded = load(network.save(tmp_path / "net.safetensors"))
    np.testing.assert_array_equal(loaded(ROWS), network(ROWS))
    assert loaded.plan == network.plan and loaded.claimed and loaded.proof is None
    assert predict(loaded, 7, 11).correct


def test_onnxruntime_is_right_on_every_input(network, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    (path,) = export(network, "onnx", tmp_path / "net.onnx").files
    logits, prediction = onnxruntime.InferenceSession(path).run(None, {"rows": ROWS})
    np.testing.assert_array_equal(prediction, ANSWERS)
    np.testing.assert_allclose(logits, network(ROWS), atol=1e-9)


def test_the_command_compiles_modulo_a_composite_number(capsys, tmp_path):
    file = str(tmp_path / "net.safetensors")
    assert main(["compile", "n1 n2", "--mod", "12", "--frequencies", "minimal", "--out", file, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["accuracy"], result["width"], result["proof"]["holds"]) == (1.0, 15, True)
    assert [(e["kind"], e["group_order"]) for e in result["experts"]] == [("sum", 24), ("sum", 24), ("squares", 12)]
    assert main(["verify", file]) == 0 and main(["predict", file, "7", "11"]) == 0
    assert "5" in capsys.readouterr().out


# --------------------------------------------------------------------------------------------- mixtures


@pytest.mark.parametrize("text, m", [("n1 n2 + n1", 12), ("n1 n2 n3", 9), ("3 n1 n2 + n2^2", 15)])
def test_perfect_sums_and_products_of_the_right_moduli_serve_every_step(text, m):
    tree = parse(text, m)
    plan = shortest_plan(tree, m)
    experts = [relabelled(perfect_expert(task_of(step), task_modulus(step)), step) for step in plan.steps]
    network = Network.of_circuit(assemble(plan, experts, np.full(len(experts), 60.0)), read_function(text, m), "mix")
    assert verify(network).accuracy == 1.0


def test_a_mixture_modulo_a_composite_number_trains_sums_of_two_moduli():
    network = mix("n1 n2 + n1", 12, width=200, steps=300, fraction=0.8)
    assert [step.learned.task for step in network.plan] == ["n1 + n2 mod 24"] * 2 + ["n1 + n2"] * 2
    values = [[predict(network, x, y).value for y in range(12)] for x in (0, 5, 11)]
    assert values == [[(x * y + x) % 12 for y in range(12)] for x in (0, 5, 11)]
    assert verify(network).accuracy == 1.0


# --------------------------------------------------------------------------------------------- tables


@pytest.fixture(scope="module")
def planted():
    """h(g1 + g2) over Z_53 with random relabellings: 30 × 40 → 17."""
    rng = np.random.default_rng(3)
    g1, g2, h = rng.permutation(53)[:30], rng.permutation(53)[:40], rng.permutation(np.arange(53) % 17)
    return h[(g1[:, None] + g2) % 53]


def test_a_table_in_disguise_is_one_expert(planted, tmp_path):
    network = mg.compile(planted)
    assert [(step.kind, step.group_order) for step in network.plan] == [("separable", 53)]
    assert network.proof.holds and (network.table() == planted).all()
    loaded = load(network.save(tmp_path / "net.safetensors"))
    assert (loaded.table() == planted).all() and verify(loaded).exhaustive and verify(loaded).accuracy == 1.0


def test_the_command_compiles_a_table(planted, tmp_path, capsys):
    np.savetxt(tmp_path / "mine.csv", planted, fmt="%d", delimiter=",")
    assert main(["compile", "--table", str(tmp_path / "mine.csv"), "--frequencies", "minimal", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["sizes"], result["values"], result["accuracy"]) == ([30, 40], 17, 1.0)
    assert (result["width"], result["proof"]["holds"]) == (7, True), "five that add, and two for h"


def test_a_product_modulo_four_is_one_expert_over_another_group():
    """n1 n2 modulo 4 is h(g1 + g2) over Z_6 with an absorbing element."""
    network = mg.compile("n1 n2", 4)
    assert [(step.kind, step.group_order, step.absorbing) for step in network.plan] == [("separable", 6, True)]
    assert all(network.predict([x, y]) == x * y % 4 for x in range(4) for y in range(4))


def test_unknown_cells_get_what_the_witness_says():
    whole = np.add.outer(np.arange(7), np.arange(7)) % 7
    table = np.where(np.eye(7, dtype=bool), -1, whole)
    network = mg.compile(table)
    assert (network.table() == whole)[table >= 0].all() and verify(network).rows_checked == 42


def test_tables_without_a_witness_are_looked_up():
    table = np.random.default_rng(0).integers(9, size=(9, 9))
    network = mg.compile(table)
    assert network.method == "lookup" and (network.table() == table).all() and verify(network).accuracy == 1
    with pytest.raises(InputError, match="the paper's method takes a polynomial, got a table"):
        mg.compile(table, method="paper")
