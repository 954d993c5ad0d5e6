"""Exports compute what integers say, on every input, in the tools they are for."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.special import softmax

from modgrok.cli import main
from modgrok.compiler.compiling import compile_exact
from modgrok.errors import InputError
from modgrok.networks.export import Exported, export
from modgrok.networks.storage import load
from modgrok.training.runs import train

TEXT, P = "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", 97
ROWS = np.array([(a, b) for a in range(P) for b in range(P)])
ANSWERS = np.array([(2 * a**4 * b + a**2 * b**2 + 3 * a * b**3) % P for a, b in ROWS.tolist()])


@pytest.fixture(scope="module")
def network():
    return compile_exact(TEXT, P)


def test_onnxruntime_is_right_on_every_input(network, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    (path,) = export(network, "onnx", tmp_path / "net.onnx").files
    logits, prediction = onnxruntime.InferenceSession(path).run(None, {"rows": ROWS})
    np.testing.assert_array_equal(prediction, ANSWERS)
    np.testing.assert_allclose(logits, network(ROWS), atol=1e-12)


def test_torch_is_right_on_every_input(network, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed: the module was written, not run")
    path, _ = export(network, "torch", tmp_path / "net.py").files
    spec = importlib.util.spec_from_file_location("net", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    prediction = module.load()(torch.tensor(ROWS)).argmax(-1).numpy()
    np.testing.assert_array_equal(prediction, ANSWERS)


def test_the_torch_module_is_python_with_its_weights_beside_it(network, tmp_path):
    path, weights = export(network, "torch", tmp_path / "net.py").files
    compile(path.read_text(), str(path), "exec")
    assert load(weights).expression == network.expression
    assert f"WIRES = {[list(group) for group in network.circuit.wires]}" in path.read_text()


class Module:
    """What the written module needs of torch.nn.Module."""

    def register_buffer(self, name, value):
        setattr(self, name, value)

    def __call__(self, rows):
        return self.forward(rows)


@pytest.fixture
def numpy_as_torch(monkeypatch):
    """NumPy in the place of PyTorch, which machines without it can run."""
    nn = SimpleNamespace(Module=Module, ParameterList=list)
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(nn=nn, ones=np.ones, softmax=lambda x, dim: softmax(x, dim))
    )
    monkeypatch.setitem(sys.modules, "safetensors.torch", SimpleNamespace(load_file=load_file))


def run_module(path):
    found: dict = {"__file__": str(path)}
    exec(path.read_text(), found)
    return found["load"]()


def test_the_torch_module_computes_the_logits_of_the_network(network, numpy_as_torch, tmp_path):
    circuit, trained = network, train("n1 n2", 7, width=12, steps=2).network
    for ours, rows in ((circuit, ROWS[:500]), (trained, ROWS[ROWS.max(axis=1) < 7])):
        path, _ = export(ours, "torch", tmp_path / "net.py").files
        np.testing.assert_allclose(run_module(path)(rows), ours(rows), rtol=1e-4, atol=1e-6)


def test_an_export_beside_a_network_leaves_the_network_as_it_is(network, tmp_path):
    for name, ours in (("circuit", network), ("power", train("n1 n2", 7, width=12, steps=2).network)):
        file = ours.save(tmp_path / f"{name}.safetensors")
        before = file.read_bytes()
        assert export(file, "torch").files == (tmp_path / f"{name}.py", file)
        assert file.read_bytes() == before


def test_the_command_names_the_files_it_wrote(network, tmp_path, capsys):
    network.save(tmp_path / "net.safetensors")
    assert main(["export", str(tmp_path / "net.safetensors"), "--to", "onnx", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["files"] == [str(tmp_path / "net.onnx")] and (tmp_path / "net.onnx").exists()


def test_wrong_names_are_refused(network, tmp_path):
    with pytest.raises(InputError, match=r"is a \.onnx file, got .*net\.py; name it .*net\.onnx"):
        export(network, "onnx", tmp_path / "net.py")
    with pytest.raises(InputError, match="must be importable, got my-net.py"):
        export(network, "torch", tmp_path / "my-net.py")
    with pytest.raises(InputError, match="format must be one of onnx, torch, got 'tflite'"):
        export(network, "tflite", tmp_path / "net.tflite")
    assert list(tmp_path.iterdir()) == []


def test_a_trained_power_network_is_exported_as_a_circuit_of_one(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    run = train("n1 n2", 7, width=12, steps=2, out=tmp_path / "run")
    exported = export(tmp_path / "run", "onnx")
    assert exported == Exported("n1 n2", 7, "onnx", (tmp_path / "run" / "network.onnx",))
    rows = np.array([(a, b) for a in range(7) for b in range(7)])
    logits, _ = onnxruntime.InferenceSession(exported.files[0]).run(None, {"rows": rows})
    np.testing.assert_allclose(logits, run.network(rows), rtol=1e-4, atol=1e-6)
    assert export(run, "torch", tmp_path / "net.py").files == (tmp_path / "net.py", tmp_path / "net.safetensors")


def test_what_is_no_circuit_or_in_no_file_is_refused(network, tmp_path):
    with pytest.raises(
        InputError, match=r"a network that is in no file needs a path to export to, such as network\.onnx"
    ):
        export(network, "onnx")
    transformer = train("n1 + n2", 5, model="transformer", width=8, steps=1)
    with pytest.raises(InputError, match="the model transformer is not a circuit of two-layer experts"):
        export(transformer, "onnx", tmp_path / "net.onnx")
    assert list(tmp_path.iterdir()) == []
