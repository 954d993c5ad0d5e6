"""Networks read back into mathematics: planted frequencies, errors, and a twin that is made of numbers alone."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from lookup_model import lookup

import modgrok as mg
from modgrok.algebra.function import from_table
from modgrok.base.errors import InputError
from modgrok.cli import main
from modgrok.inspection.decompiling import decompile_network
from modgrok.networks.circuit import Expert, single
from modgrok.networks.models import Power
from modgrok.networks.network import Network
from modgrok.training.inspecting import training_rows

P = 13


def nameless(network):
    """The same weights with a function that says nothing: every answer unknown but one."""
    sizes = network.model.residues
    blank = np.full(sizes, -1)
    blank.flat[0] = 0
    return replace(network, function=from_table(blank, network.model.classes, "mine"), method="trained", plan=())


def planted(frequencies, amplitudes, p=P, c=(1, 1)):
    """An x² network by hand: ((cos x + cos y)² and three turned copies) makes Σ A cos(f(c1 x + c2 y - z))."""
    embeds, readouts = [], []
    n = np.arange(p)
    for f, a in zip(frequencies, amplitudes, strict=True):
        for turn in np.arange(4) * np.pi / 2:  # cos(x + ψ) cos(y) with readout cos(z - ψ), squares cancel over ψ
            for sign in (1, -1):
                angle = 2 * np.pi * f / p * n
                embeds.append([np.cos(c[0] * angle + turn), sign * np.cos(c[1] * angle)])
                readouts.append(sign * a * np.cos(angle + turn))
                embeds.append([np.cos(c[0] * angle + turn), sign * np.sin(c[1] * angle)])
                readouts.append(sign * a * np.sin(angle + turn))
    embed = np.array(embeds).transpose(1, 2, 0).astype(np.float32)
    expert = Expert(embed, np.array(readouts).astype(np.float32), 2)
    return Network(Power((p, p), p, width=embed.shape[2]), expert, from_table(np.zeros((p, p), int), p, "x"), "trained")


def test_planted_frequencies_and_amplitudes_come_back():
    network = planted((2, 5), (3.0, 1.0), c=(1, 3))
    found = decompile_network(network)
    assert found.formula == "n1 + 3 n2 mod 13"
    assert [wave["frequency"] for wave in found.waves] == [2, 5]
    strong, weak = (wave["amplitude"] for wave in found.waves)
    assert strong / weak == pytest.approx(3, rel=1e-4)
    assert found.view.analytical_share == pytest.approx(1, abs=1e-5)
    assert set(found.neurons["frequency"]) == {2, 5} and found.neurons["left_over"].max() < 1e-5
    assert found.twin.agreement == 1


@pytest.mark.parametrize("expression", ["n1 - n2", "3 n1 n2 + 2", "(n1 + 2 n2)^2", "n1^2 n2", "n1 + 2 n2 + n3"])
def test_a_compiled_network_is_told_from_its_answers_alone(expression):
    network = nameless(mg.compile(expression, 7 if "n3" in expression else P))
    found = mg.decompile(network)
    assert found.function == mg.read_function(expression, network.modulus)
    assert found.twin.agreement == 1 and found.twin.network.circuit.experts[0].embed is not network.params


def test_a_twin_is_made_of_numbers_and_not_of_weights():
    """Weights that a wave does not tell, here noise on every neuron, are not in the twin."""
    clean, rng = planted((1, 3, 4), (1.0, 1.0, 1.0)), np.random.default_rng(0)
    weights = clean.params.embed, clean.params.readout
    noisy = Expert(*(np.asarray(w + 0.02 * rng.normal(size=w.shape), np.float32) for w in weights), 2)
    found = decompile_network(replace(clean, params=noisy))
    twin = found.twin.network.circuit.experts[0]
    turns = 2 * np.pi / P * np.outer(np.arange(P), np.arange(7))
    for column in twin.embed[0].T:  # one cosine is all of it
        waves = [np.stack([np.cos(turn), np.sin(turn)], axis=1) for turn in turns.T]
        left = [np.linalg.norm(column - wave @ np.linalg.lstsq(wave, column)[0]) for wave in waves]
        assert min(left) < 1e-5 * np.linalg.norm(column)


def test_errors_are_told_and_compared():
    network = planted((1, 3, 4), (1.0, 1.0, 1.0))
    logits = np.asarray(network.logits(network.inputs()), np.float64)
    wrong = [3, 50, 77]
    logits[wrong] = np.roll(logits[wrong], 1, axis=1)
    found = decompile_network(lookup("0 n1 + 0 n2", P, logits.reshape(P, P, P)))
    assert found.formula == "n1 + n2 mod 13"
    assert found.recognised.wrong_inputs == [(0, 3), (3, 11), (5, 12)]
    told = found.twin.to_json()
    assert (told["original_errors"], told["twin_errors"], told["same_error"]) == (3, 0, 0)
    assert told["agreement"] == pytest.approx(1 - 3 / P**2)
    assert "on 166 of 169 inputs" in found.paragraph()


def test_a_group_has_representations_and_a_twin_of_their_matrices():
    """Logits of S4: the trace of permutation matrices, less its mean, is the character of degree 3 alone."""
    elements = list(permutations(range(4)))
    matrices = np.array([np.eye(4)[list(e)].T for e in elements])  # maps i to e[i], so that products compose
    number = {e: k for k, e in enumerate(elements)}
    right = np.array([[number[tuple(a[i] for i in b)] for b in elements] for a in elements])
    logits = np.einsum("aij,bjk,cik->abc", matrices, matrices, matrices) - 1.0
    np.testing.assert_array_equal(logits.argmax(axis=2), right)
    found = mg.decompile(logits)
    assert found.formula == "n1 n2 in S4" and found.order == "group"
    ((wave),) = found.waves
    assert wave["representation"] == "real, degree 3" and wave["share"] == pytest.approx(1)
    assert wave["amplitude"] == pytest.approx(1)
    twin = found.twin.network
    np.testing.assert_array_equal(twin.table(), right)
    assert twin.width == 3**3 + 1
    centred = logits - logits.mean(axis=2, keepdims=True)
    np.testing.assert_allclose(twin.logits(twin.inputs()).reshape(logits.shape), centred, atol=1e-5)


def test_networks_without_a_formula_say_what_was_tried():
    rng = np.random.default_rng(0)
    expert = Expert(*(rng.normal(size=s).astype(np.float32) for s in ((2, P, 40), (40, P))), 2)
    network = Network(Power((P, P), P, width=40), expert, from_table(np.zeros((P, P), int), P, "x"), "trained")
    found = mg.decompile(network)
    assert found.formula is None and found.twin is None and len(found.recognised.tried) > 5
    assert found.paragraph().startswith("This x² network has no formula: ")
    json.dumps(found.to_json())


def test_a_trained_network_that_memorised_is_judged_on_the_rows_that_did_not_train():
    run = mg.train("n1 + n2", 11, fraction=0.9, steps=60, width=60, weight_decay=0.0)
    found = mg.decompile(run)
    right = run.network.table() == mg.read_function("n1 + n2", 11).table
    held_out = ~training_rows(run.network).reshape(11, 11)
    assert (found.formula is not None) == (right[held_out].mean() > 0.5)


def test_the_command_writes_a_twin_that_loads_and_a_picture(tmp_path, capsys):
    path = mg.compile("n1 n2", 7).save(tmp_path / "net.safetensors")
    assert main(["decompile", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["formula"] == "n1 n2 mod 7" and found["twin"]["agreement"] == 1
    folder = tmp_path / "net-decompiled"
    assert {file.name for file in folder.iterdir()} >= {"twin.safetensors", "decompiled.json", "decompiled.png"}
    twin = mg.load(folder / "twin.safetensors")
    np.testing.assert_array_equal(twin.table(), np.outer(np.arange(7), np.arange(7)) % 7)
    assert twin.method == "twin" and mg.verify(twin).errors == 0
    assert main(["decompile", str(path)]) == 0
    assert "n1 n2 mod 7" in capsys.readouterr().out


def test_somebody_elses_file_is_decompiled_as_it_is(tmp_path, capsys):
    logits = np.eye(7)[(np.arange(7)[:, None] * 2 + np.arange(7)) % 7]
    np.save(tmp_path / "theirs.npy", logits)
    assert main(["decompile", str(tmp_path / "theirs.npy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["formula"] == "2 n1 + n2 mod 7"
    with pytest.raises(SystemExit, match="2"):
        main(["decompile", str(tmp_path / "missing.npy")])
    assert "no such network" in capsys.readouterr().err
    with pytest.raises(InputError, match="leave mod and training out"):
        mg.decompile(mg.compile("n1 + n2", 5), mod=5)


def test_weights_that_are_no_numbers_are_refused():
    network = mg.compile("n1 + n2", 5)
    embed = np.full_like(network.circuit.experts[0].embed, np.nan)
    expert = Expert(embed, network.circuit.experts[0].readout, 2)
    with pytest.raises(InputError, match="not finite"):
        mg.decompile(replace(network, params=single(expert)))


def test_equal_logits_are_no_answer():
    """The first of the largest is always right, and on 20 of 25 inputs it is not alone."""
    logits = np.eye(5)[np.add.outer(np.arange(5), np.arange(5)) % 5]
    logits[..., 4] = 1
    network = mg.wrap(logits, "n1 + n2", mod=5)
    found = mg.decompile(network)
    assert mg.verify(network).errors == found.tied == found.to_json()["tied"] == 20
    assert "on 20 inputs they are equal, which is no answer" in found.paragraph() and "20" in found.summary()
    alone = mg.decompile(mg.wrap(logits + np.eye(5)[np.argmax(logits, axis=2)], "n1 + n2", mod=5))
    assert alone.tied == 0 and "equal" not in alone.paragraph()
