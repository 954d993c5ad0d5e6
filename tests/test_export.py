"""Exports compute what integers say, on every input, in the tools they are for."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from lookup_model import lookup, untrained
from safetensors.numpy import load_file
from scipy.special import softmax

from modgrok.base.errors import InputError
from modgrok.cli import main
from modgrok.compiler.compiling import compile_exact
from modgrok.networks.export import Exported, export
from modgrok.networks.models import Mlp, Rows, Transformer
from modgrok.networks.storage import load
from modgrok.networks.torch_source import torch_source
from modgrok.training.train import train

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


SMALL = 5
MODELS = {
    "mlp": Mlp((SMALL,) * 2, SMALL, width=8),
    "mlp-gelu-layer": Mlp((SMALL,) * 2, SMALL, width=8, depth=4, activation="gelu", norm="layer"),
    "mlp-square-batch": Mlp((SMALL,) * 2, SMALL, width=8, activation="square", norm="batch"),
    "mlp-widths-tanh": Mlp((SMALL,) * 2, SMALL, width=8, depth=4, widths=(8, 6, 7), activation="tanh", bias=True),
    "mlp-gelu-exact": Mlp((SMALL,) * 2, SMALL, width=8, activation="gelu-exact"),
    "transformer-without-equals": Transformer(
        (SMALL,) * 2, SMALL, width=6, depth=2, heads=4, head_width=5, equals=False, activation="gelu-exact"
    ),
    "transformer": Transformer((SMALL,) * 2, SMALL, width=8),
    "transformer-layer": Transformer((SMALL,) * 3, SMALL, width=8, depth=2, norm="layer"),
    "mlp-bias": Mlp((SMALL,) * 2, SMALL, width=8, depth=3, bias=True),
    "mlp-bias-batch": Mlp((SMALL,) * 2, SMALL, width=8, norm="batch", bias=True),
    "transformer-bias": Transformer((SMALL,) * 2, SMALL, width=6, depth=3, heads=3, mlp_width=10, bias=True),
}


@pytest.fixture(scope="module", params=MODELS)
def other(request):
    """A network of another model with weights as they start, all of them away from zero and one, and all its rows."""
    model = MODELS[request.param]
    rows = np.indices(model.residues).reshape(model.variables, -1).T
    found = untrained(model, " + ".join(f"n{v + 1}" for v in range(model.variables)))
    rng = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: leaf + rng.normal(0, 0.3, leaf.shape).astype(leaf.dtype), found.params)
    statistics = jax.tree.map(np.asarray, model.statistics(params, Rows(rows)))
    return replace(found, params=params, statistics=statistics), rows


def test_onnxruntime_computes_other_models_on_every_row(other, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    network, rows = other
    (path,) = export(network, "onnx", tmp_path / "net.onnx").files
    logits, prediction = onnxruntime.InferenceSession(path).run(None, {"rows": rows})
    np.testing.assert_allclose(logits, network(rows), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(prediction, network.predict(rows))


def test_torch_computes_other_models_on_every_row(other):
    torch = pytest.importorskip("torch", reason="torch is not installed: the module was written, not run")
    network, rows = other
    logits = network.to_torch()(torch.tensor(rows)).detach().numpy()
    np.testing.assert_allclose(logits, network(rows), rtol=1e-4, atol=1e-5)


class Module:
    """What the written module needs of torch.nn.Module."""

    def register_buffer(self, name, value):
        setattr(self, name, value)

    def __call__(self, *given):
        return self.forward(*given)


class Identity(Module):
    def forward(self, x):
        return x


@pytest.fixture
def numpy_as_torch(monkeypatch):
    """NumPy in the place of PyTorch, which machines without it can run."""
    functional = SimpleNamespace(gelu=lambda x, approximate: np.asarray(jax.nn.gelu(x, approximate == "tanh")))
    nn = SimpleNamespace(Module=Module, ModuleList=list, Identity=Identity, functional=functional)
    nn.Parameter, nn.ParameterList, nn.ParameterDict = np.asarray, list, dict
    torch = SimpleNamespace(
        nn=nn, ones=np.ones, tanh=np.tanh, softmax=lambda x, dim: softmax(x, dim), relu=lambda x: np.maximum(x, 0)
    )
    for name in ("cat", "einsum", "full", "triu", "zeros_like"):
        setattr(torch, name, getattr(np, {"cat": "concatenate"}.get(name, name)))
    monkeypatch.setitem(sys.modules, "torch", torch)
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


def test_the_torch_module_of_other_models_computes_their_logits(other, numpy_as_torch, tmp_path):
    network, rows = other
    path, _ = export(network, "torch", tmp_path / "net.py").files
    np.testing.assert_allclose(run_module(path)(rows), network(rows), rtol=1e-4, atol=1e-5)


def test_what_a_user_typed_is_data_in_the_module(tmp_path):
    """A name may come from a file; none of it may become code."""
    model = MODELS["mlp"]
    text = torch_source(model, untrained(model).params, title='"""\nboom()  # ', variables=["n1", "n2"], stem="net")
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert "boom" not in names and "FUNCTION" in names


def test_without_torch_there_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match="a PyTorch module needs the package torch; install it with: pip install"):
        untrained(MODELS["mlp"]).to_torch()


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
    with pytest.raises(InputError, match="format must be one of onnx, torch, transformer-lens, got 'tflite'"):
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


def test_what_has_no_export_or_is_in_no_file_is_refused(network, tmp_path):
    with pytest.raises(
        InputError, match=r"a network that is in no file needs a path to export to, such as network\.onnx"
    ):
        export(network, "onnx")
    planted = lookup("n1 + n2", SMALL, np.zeros((SMALL,) * 3))
    for to, name in (("onnx", "net.onnx"), ("torch", "net.py")):
        with pytest.raises(InputError, match=f"the model lookup has no export to {to}; power, circuit, mlp and"):
            export(planted, to, tmp_path / name)
        with pytest.raises(InputError, match="needs the statistics of its training; train it first"):
            export(untrained(MODELS["mlp-square-batch"]), to, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
