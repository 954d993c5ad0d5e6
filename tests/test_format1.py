"""Files of modgrok 0.1 still load, and compute what their raw tensors say: NumPy from the formulas is the oracle."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import modgrok as mg
from modgrok.base.errors import InputError

FILES = Path(__file__).parent / "fixtures" / "format1"
NAMES = ("compiled", "mix", "power", "mlp", "transformer")


def raw(name: str) -> tuple[dict, dict[str, np.ndarray]]:
    """What is in a file: its JSON object, and its tensors."""
    with safe_open(FILES / f"{name}.safetensors", framework="numpy") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
        return json.loads(file.metadata()["modgrok"]), tensors


def rows_of(network: mg.Network) -> np.ndarray:
    return np.array(list(product(range(network.modulus), repeat=2)))


def softmax(x: np.ndarray) -> np.ndarray:
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def circuit_logits(about: dict, tensors: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Experts in turn, every input a one-hot vector or a softmax."""
    p, weights = about["modulus"], {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    signals = [np.eye(p)[rows[:, v]] for v in range(about["variables"])]
    for k, (wires, power) in enumerate(zip(about["wires"], about["powers"], strict=True)):
        hidden = sum(signals[wire] @ weights[f"expert.{k}.embed"][s] for s, wire in enumerate(wires))
        logits = hidden**power @ weights[f"expert.{k}.readout"]
        signals.append(softmax(weights["betas"][k] * logits))
    return logits


def mlp_logits(about: dict, tensors: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    weights = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    hidden = weights["embed"][0][rows[:, 0]] + weights["embed"][1][rows[:, 1]]
    for k in range(about["settings"]["depth"] - 1):
        hidden = hidden if k == 0 else hidden @ weights[f"hidden[{k - 1}]"]
        hidden = (hidden - hidden.mean(axis=1, keepdims=True)) / np.sqrt(hidden.var(axis=1, keepdims=True) + 1e-5)
        hidden = np.maximum(hidden * weights[f"norms[{k}].scale"] + weights[f"norms[{k}].shift"], 0)
    return hidden @ weights["readout"]


def transformer_logits(about: dict, tensors: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """One layer, row by row and head by head; nothing is read after "=", so no mask is needed there."""
    weights = {name.removeprefix("layers[0]."): tensor.astype(np.float64) for name, tensor in tensors.items()}
    found, size = [], 8 // 4
    for row in rows:
        stream = np.concatenate([weights["embed"][row], np.zeros((1, 8))]) + weights["positions"]
        query, key, value = (stream @ weights[name] for name in ("query", "key", "value"))
        heads = [slice(size * head, size * (head + 1)) for head in range(4)]
        mixed = [softmax(key[:, h] @ query[-1, h] / np.sqrt(size)) @ value[:, h] for h in heads]
        last = stream[-1] + np.concatenate(mixed) @ weights["output"]
        last = last + np.maximum(last @ weights["expand"], 0) @ weights["contract"]
        found.append(last @ weights["readout"])
    return np.array(found)


LOGITS = {
    "compiled": circuit_logits,
    "mix": circuit_logits,
    "power": circuit_logits,
    "mlp": mlp_logits,
    "transformer": transformer_logits,
}


@pytest.mark.parametrize("name", NAMES)
def test_it_computes_what_its_tensors_say(name):
    network, (about, tensors) = mg.load(FILES / f"{name}.safetensors"), raw(name)
    rows = rows_of(network)
    expected = LOGITS[name](about, tensors, rows)
    np.testing.assert_allclose(network(rows), expected, rtol=1e-4, atol=1e-5)
    assert network.dtype == (np.float64 if name == "compiled" else np.float32)
    np.testing.assert_array_equal(network.table().ravel(), expected.argmax(axis=1))


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_said(name):
    network, (about, tensors) = mg.load(FILES / f"{name}.safetensors"), raw(name)
    told = about if "format" in about else about["settings"] | {"method": "trained"}
    assert (network.expression, network.modulus) == (told["expression"], told["modulus"])
    assert network.method == told["method"] and network.variables == ["n1", "n2"]
    assert network.model.name == (name if name in ("mlp", "transformer") else "circuit")
    kept = {key: value for key, value in about["settings"].items() if key not in ("certificate", "notes")}
    assert network.settings == kept
    betas = tensors["betas"].size if "betas" in tensors else 0
    assert network.parameters == sum(tensor.size for tensor in tensors.values()) - betas


@pytest.mark.parametrize("name", ["compiled", "mix", "power"])
def test_plans_are_kept(name):
    network, (about, _) = mg.load(FILES / f"{name}.safetensors"), raw(name)
    assert network.circuit.wires == tuple(map(tuple, about["wires"]))
    for ours, told in zip(network.plan, about["plan"], strict=True):
        assert (ours.kind, ours.text, list(ours.inputs)) == (told["kind"], told["text"], told["inputs"])
        assert (ours.width, ours.group_order) == (told["width"], told.get("order"))
        assert ours.absorbing == told.get("absorbing", False)
        assert ours.frequencies == (tuple(told["frequencies"]) if "frequencies" in told else None)
        assert (ours.margin, ours.beta, ours.own_accuracy) == tuple(
            told.get(key) for key in ("margin", "beta", "own_accuracy")
        )
        if told.get("trained"):
            source = (ours.learned.task, ours.learned.fraction, ours.learned.task_accuracy)
            assert source == (told["task"], told["train_fraction"], told["task_accuracy"])
        else:
            assert ours.learned is None


def test_a_certificate_in_a_file_is_a_claim_that_the_kernel_proves_anew():
    network = mg.load(FILES / "compiled.safetensors")
    assert network.claimed and network.proof is None and "its file says that it is proved" in network.proof_text
    proof, told = mg.verify(network).proof, raw("compiled")[0]["settings"]["certificate"]
    assert proof.holds and proof.dtype == told["dtype"] and proof.margin == pytest.approx(told["margin"], rel=1e-3)
    assert not any(mg.load(FILES / f"{name}.safetensors").claimed for name in NAMES if name != "compiled")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_written_in_the_format_of_today(name, tmp_path):
    old = mg.load(FILES / f"{name}.safetensors")
    new = mg.load(old.save(tmp_path / "new.safetensors"))
    with safe_open(tmp_path / "new.safetensors", framework="numpy") as file:
        assert json.loads(file.metadata()["modgrok"])["format"] == 2
    rows = rows_of(old)
    np.testing.assert_array_equal(new(rows), old(rows))
    for field in ("model", "expression", "modulus", "method", "plan", "claimed", "notes", "settings"):
        assert getattr(new, field) == getattr(old, field), field


def test_the_verbs_take_it(tmp_path):
    compiled, power = FILES / "compiled.safetensors", FILES / "power.safetensors"
    assert mg.verify(compiled).accuracy == 1 and mg.predict(compiled, 4, 5).value == (4 * 5 + 3) % 7
    assert mg.inspect(compiled).accuracy == 1 and mg.inspect(power).order == "multiplicative"
    assert mg.export(power, "torch", tmp_path / "power.py").files[0].exists()
    for name in NAMES:
        assert mg.verify(FILES / f"{name}.safetensors").exhaustive


# ------------------------------------------------------------------------------------------ what does not fit


def rewritten(name: str, path: Path, **changes: object) -> Path:
    about, tensors = raw(name)
    save_file(tensors, path, metadata={"modgrok": json.dumps(about | changes)})
    return path


def test_statistics_that_format_1_did_not_keep_are_missed(tmp_path):
    about, _ = raw("mlp")
    path = rewritten("mlp", tmp_path / "batch.safetensors", settings=about["settings"] | {"norm": "batch"})
    with pytest.raises(InputError, match="trained with batch normalisation, whose statistics format 1 did not keep"):
        mg.load(path)


@pytest.mark.parametrize(
    "name, changes, message",
    [
        ("compiled", {"modulus": 5}, r"reads \(5, 5\) residues and has 7 classes|variables modulo 7"),
        ("compiled", {"expression": "n1"}, "the expression has 1 variables and the network 2"),
        ("compiled", {"powers": [2, 2]}, "or was cut short"),
        ("compiled", {"wires": [[0, 5]]}, "expert 0 reads wire 5"),
        ("compiled", {"powers": [0]}, "a power of at least 1"),
        ("mlp", {"model": "rnn"}, "or was cut short"),
        ("mlp", {"settings": {}}, "or was cut short"),
        ("transformer", {"model": "mlp"}, "depth of an mlp must be from 2 to 100, got 1"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_files_that_do_not_fit_are_refused(tmp_path, name, changes, message):
    with pytest.raises(InputError, match=message):
        mg.load(rewritten(name, tmp_path / "bad.safetensors", **changes))
