"""Exports compute what integers say, on every input, in the tools they are for."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from modgrok.cli import main
from modgrok.compiler.compiling import compile_exact
from modgrok.errors import InputError
from modgrok.networks.circuit import batch_logits
from modgrok.networks.export import export
from modgrok.networks.network import load
from modgrok.networks.verification import double_precision

TEXT, P = "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", 97
ROWS = np.array([(a, b) for a in range(P) for b in range(P)])
ANSWERS = np.array([(2 * a**4 * b + a**2 * b**2 + 3 * a * b**3) % P for a, b in ROWS.tolist()])


@pytest.fixture(scope="module")
def network():
    return compile_exact(TEXT, P)


def test_onnxruntime_is_right_on_every_input(network, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    (path,) = export(network, "onnx", tmp_path / "net.onnx")
    logits, prediction = onnxruntime.InferenceSession(path).run(None, {"rows": ROWS})
    np.testing.assert_array_equal(prediction, ANSWERS)
    with double_precision(network.circuit):
        ours = np.asarray(batch_logits(network.circuit, ROWS))
    np.testing.assert_allclose(logits, ours, atol=1e-12)


def test_torch_is_right_on_every_input(network, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed: the module was written, not run")
    path, _ = export(network, "torch", tmp_path / "net.py")
    spec = importlib.util.spec_from_file_location("net", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    prediction = module.load()(torch.tensor(ROWS)).argmax(-1).numpy()
    np.testing.assert_array_equal(prediction, ANSWERS)


def test_the_torch_module_is_python_with_its_weights_beside_it(network, tmp_path):
    path, weights = export(network, "torch", tmp_path / "net.py")
    compile(path.read_text(), str(path), "exec")
    assert load(weights).expression == network.expression
    assert f"WIRES = {[list(group) for group in network.circuit.wires]}" in path.read_text()


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
