"""Files of other people's networks: every layout to the last weight, and an enemy's files refused in one line."""

from __future__ import annotations

import json
from itertools import pairwise

import foreign_networks as foreign
import numpy as np
import pytest
from lookup_model import untrained
from safetensors.numpy import load_file, save_file

import modgrok as mg
from modgrok.base.errors import InputError
from modgrok.cli import main
from modgrok.networks.models import Transformer

P = foreign.P
ROWS = np.array([(a, b) for a in range(P) for b in range(P)])


@pytest.mark.parametrize("layout", foreign.LAYOUTS)
def test_a_layout_is_read_to_the_last_weight(layout, tmp_path):
    weights, logits = foreign.LAYOUTS[layout](np.random.default_rng(3))
    save_file(weights, tmp_path / "theirs.safetensors")
    network = mg.wrap(tmp_path / "theirs.safetensors", "n1 + n2", mod=P, activation="relu")
    expected = logits(ROWS)
    np.testing.assert_allclose(network(ROWS), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    assert network.model.name == ("transformer" if layout.startswith(("hooked", "transposed")) else "mlp")
    assert mg.inspect(network).inside.layers
    rng = np.random.default_rng(4)
    for name in (name for name in weights if not name.endswith(("mask", "IGNORE", "attn.b_K"))):
        changed = weights | {name: weights[name] + foreign.random(rng, *weights[name].shape)}
        other = mg.wrap(changed, "n1 + n2", mod=P, activation="relu")
        assert np.abs(other(ROWS) - network(ROWS)).max() > 1e-4, f"{name} is not read"


def test_an_embedding_for_each_variable_and_a_readout_are_an_x2_network(tmp_path):
    """The paper's weights: waves whose phases add up. As layers of torch they are ReLU's where nobody says more."""
    rng, width = np.random.default_rng(0), 240
    f, first, second = rng.integers(1, P // 2 + 1, width), *rng.uniform(0, 2 * np.pi, (2, width))
    n = np.arange(P)[:, None]
    wave = 2 * np.pi * f * n / P
    embed = np.stack([np.cos(wave + first), np.cos(wave + second)]).astype(np.float32)
    readout = np.cos(wave + first + second).T.astype(np.float32) / width
    for weights in (
        {"embed": embed, "readout": readout},
        {"0.weight": np.hstack([*embed.swapaxes(1, 2)]), "2.weight": readout.T},
    ):
        save_file({name: np.ascontiguousarray(each) for name, each in weights.items()}, tmp_path / "theirs.safetensors")
        network = mg.wrap(tmp_path / "theirs.safetensors", activation=None if "embed" in weights else "square")
        assert (network.model.name, network.modulus) == ("power", P)
        expected = (embed[0][ROWS[:, 0]] + embed[1][ROWS[:, 1]]).astype(float) ** 2 @ readout
        np.testing.assert_allclose(network(ROWS), expected, atol=1e-5)
        assert (
            mg.verify(mg.wrap(weights, "n1 + n2", mod=P, activation="square")).proof is not None
        )  # the kernel counts its rows out


def saved(tmp_path, weights, name="theirs.safetensors"):
    save_file(weights, tmp_path / name)
    return tmp_path / name


def hooked_without(name, tmp_path):
    weights, _ = foreign.hooked(np.random.default_rng(0))
    return saved(tmp_path, {key: value for key, value in weights.items() if key != name})


def header_that_promises(tmp_path):
    """A safetensors header of one tensor of a petabyte."""
    header = b'{"embed":{"dtype":"F32","shape":[268435456,1000000],"data_offsets":[0,1073741824000000]}}'
    path = tmp_path / "theirs.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    return path


def npy_that_promises(tmp_path):
    path = tmp_path / "logits.npy"
    np.save(path, np.zeros((P, P, P)))
    path.write_bytes(path.read_bytes().replace(b"(7, 7, 7)", b"(70,7000,7)"[:9].ljust(9)))
    return path


def damaged(tmp_path, suffix, content=b"\x80\x04\x95not a file at all"):
    path = tmp_path / f"theirs{suffix}"
    path.write_bytes(content)
    return path


def with_nan(tmp_path):
    weights, _ = foreign.on_one_hots(np.random.default_rng(0))
    weights["2.weight"][3, 4] = np.nan
    return saved(tmp_path, weights)


def one_hots(tmp_path, **how):
    return saved(tmp_path, foreign.on_one_hots(np.random.default_rng(0), **how)[0])


BAD = {
    "blocks.0.attn.W_K of shape (2, 8, 4) is missing": lambda tmp: hooked_without("blocks.0.attn.W_K", tmp),
    "blocks.0.mlp.W_out of shape (12, 8) is missing": lambda tmp: hooked_without("blocks.0.mlp.W_out", tmp),
    "pos_embed.W_pos is missing": lambda tmp: hooked_without("pos_embed.W_pos", tmp),
    "2.weight has 1 that are not": with_nan,
    "no layout is known for its tensors of 7 × 7 rows and 7 classes": lambda tmp: one_hots(tmp, p=11),
    "it has conv.weight (3, 3, 3, 3)": lambda tmp: saved(
        tmp, {"conv.weight": np.ones((3, 3, 3, 3), "f4"), "x": np.ones(3, "f4")}
    ),
    "is not a safetensors file": header_that_promises,
    "a bare pickle or something else": lambda tmp: damaged(tmp, ".pt"),
    "not a safetensors file": lambda tmp: damaged(tmp, ".safetensors"),
    "is not an .npy file": lambda tmp: damaged(tmp, ".npy"),
    "is not an ONNX file": lambda tmp: damaged(tmp, ".onnx"),
    "a network is a .safetensors": lambda tmp: damaged(tmp, ".pkl"),
    "cannot read": lambda tmp: tmp / "none.pt",
    "has no .safetensors": lambda tmp: tmp,
    "holds no tensors": lambda tmp: saved(tmp, {}),
    "of the type C64": lambda tmp: saved(tmp, {"a": np.ones((3, 3), np.complex64), "b": np.ones((3, 3), "f4")}),
}


@pytest.mark.parametrize("message", BAD)
def test_a_bad_file_is_refused_in_one_line_that_names_it(message, tmp_path):
    path = BAD[message](tmp_path)
    with pytest.raises(InputError) as error:
        mg.wrap(path, "n1 + n2", mod=P)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_a_wrong_modulus_is_named_with_what_the_file_has(tmp_path):
    path = saved(tmp_path, foreign.hooked(np.random.default_rng(0))[0])
    with pytest.raises(InputError, match="8 tokens, 7 classes and 3 positions do not fit 11 × 11 rows and 11 classes"):
        mg.wrap(path, "n1 + n2", mod=11)
    with pytest.raises(InputError, match='"=" cannot be token 9: it has 8 tokens'):
        mg.wrap(path, "n1 + n2", mod=P, equals=9)


def test_a_wrong_modulus_never_makes_a_readout_of_an_embedding():
    rng, width = np.random.default_rng(0), 12
    shapes = {"emb.weight": (P, width), "l1.weight": (30, width), "out.weight": (P, 30)}
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    assert mg.wrap(tensors).model.classes == P
    with pytest.raises(InputError, match="no layout is known for its tensors of 11 × 11 rows"):
        mg.wrap(tensors, mod=11)


# --------------------------------------------------------------------------------------------- ONNX


def own_onnx(tmp_path):
    pytest.importorskip("onnx")
    network = mg.compile("n1 n2 + 3", P)
    (path,) = mg.export(network, "onnx", tmp_path / "net.onnx").files
    return network, path


def test_an_onnx_file_is_asked_for_its_logits(tmp_path):
    network, path = own_onnx(tmp_path)
    for found in (mg.wrap(path, "n1 n2 + 3", mod=P), mg.wrap(path)):
        np.testing.assert_allclose(found(ROWS), network(ROWS), atol=1e-5)
    np.testing.assert_array_equal(found.table().reshape(-1), [(a * b + 3) % P for a, b in ROWS.tolist()])


def sum_graph(tmp_path, rows="row", *, classes=P, one_hots=False):
    """Logits of n1 + n2 from an embedding of P tokens, or from one-hots that are whole numbers."""
    from onnx import TensorProto, helper, numpy_helper

    angles = 2 * np.pi / P * np.arange(P)
    table = np.stack([np.cos(angles), np.sin(angles), *np.zeros((classes - 2, P))], axis=1).astype(np.float32)
    weights = numpy_helper.from_array(np.concatenate([table, table]) if one_hots else table, "w")
    axes = numpy_helper.from_array(np.array([1]), "axes")
    nodes = [
        *([helper.make_node("Cast", ["tokens"], ["x"], to=1)] if one_hots else []),
        *([helper.make_node("MatMul", ["x", "w"], ["logits"])] if one_hots else []),
        *([] if one_hots else [helper.make_node("Gather", ["w", "tokens"], ["each"])]),
        *([] if one_hots else [helper.make_node("ReduceSum", ["each", "axes"], ["logits"], keepdims=0)]),
    ]
    value = helper.make_tensor_value_info("tokens", TensorProto.INT64, [rows, 2 * P if one_hots else 2])
    path = graph(nodes, tmp_path, inputs=[value], initializers=[weights, axes], outputs=[rows, classes])
    return path, table[ROWS].sum(axis=1)[:, :P]


@pytest.mark.parametrize("rows", [1, 8, P * P, 64])
def test_a_graph_for_a_fixed_number_of_rows_is_asked_so_many_at_once(rows, tmp_path):
    pytest.importorskip("onnx")
    path, logits = sum_graph(tmp_path, rows)
    np.testing.assert_allclose(mg.wrap(path)(ROWS), logits, atol=1e-6)


def test_a_graph_of_one_more_class_has_the_modulus_that_it_accepts(tmp_path):
    pytest.importorskip("onnx")
    path, logits = sum_graph(tmp_path, classes=P + 1)
    found = mg.wrap(path)
    assert found.model.residues == (P, P) and any('"="' in note for note in found.notes)
    np.testing.assert_allclose(found(ROWS), logits, atol=1e-6)


def test_one_hots_of_a_graph_may_be_whole_numbers(tmp_path):
    pytest.importorskip("onnx")
    path, logits = sum_graph(tmp_path, one_hots=True)
    np.testing.assert_allclose(mg.wrap(path)(ROWS), logits, atol=1e-6)


def graph(nodes, tmp_path, *, inputs=None, initializers=(), outputs=("row", P), functions=(), opset=17):
    from onnx import TensorProto, helper

    made = helper.make_graph(
        nodes,
        "enemy",
        inputs or [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["row", 2])],
        [helper.make_tensor_value_info("logits", 1, list(outputs))],
        list(initializers),
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], functions=list(functions))
    model.ir_version = 8
    path = tmp_path / "theirs.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def huge(tmp_path):
    """A few bytes that ask for a tensor of 10^15 numbers."""
    from onnx import helper, numpy_helper

    size = numpy_helper.from_array(np.array([10**8, 10**7]), "size")
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["zeros"]),
        helper.make_node("ReduceSum", ["zeros"], ["logits"]),
    ]
    return graph(nodes, tmp_path, initializers=[size])


def unknown_size(tmp_path):
    """A tensor as long as the largest token."""
    from onnx import helper, numpy_helper

    nodes = [
        helper.make_node("ReduceMax", ["tokens"], ["largest"], keepdims=0),
        helper.make_node("Reshape", ["largest", "one"], ["length"]),
        helper.make_node("ConstantOfShape", ["length"], ["zeros"]),
        helper.make_node("Reshape", ["zeros", "table"], ["logits"]),
    ]
    shapes = [numpy_helper.from_array(np.array(value), name) for name, value in (("one", [1]), ("table", [-1, P]))]
    return graph(nodes, tmp_path, initializers=shapes)


def elsewhere(tmp_path):
    """Weights in a file of the system."""
    from onnx import TensorProto, helper

    weights = TensorProto(name="w", data_type=1, dims=[2, P], data_location=TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value="../../../../etc/passwd")
    nodes = [helper.make_node("Cast", ["tokens"], ["x"], to=1), helper.make_node("MatMul", ["x", "w"], ["logits"])]
    return graph(nodes, tmp_path, initializers=[weights])


def floats(tmp_path):
    from onnx import helper, numpy_helper

    weights = numpy_helper.from_array(np.ones((5, P), np.float32), "w")
    value = helper.make_tensor_value_info("x", 1, ["row", 5])
    return graph([helper.make_node("MatMul", ["x", "w"], ["logits"])], tmp_path, inputs=[value], initializers=[weights])


def in_disguise(tmp_path):
    """A known operator that the file defines anew, where loops would not be seen."""
    from onnx import helper

    opset = [helper.make_opsetid("", 17)]
    function = helper.make_function("", "Cast", ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])], opset)
    return graph([helper.make_node("Cast", ["tokens"], ["logits"], to=1)], tmp_path, functions=[function])


def long_work(tmp_path):
    """Small tensors, and a minute of multiplying them."""
    from onnx import helper, numpy_helper

    names = ["m", *(f"m{k}" for k in range(1, 101))]
    nodes = [helper.make_node("MatMul", [before, "m"], [after]) for before, after in pairwise(names)]
    nodes += [helper.make_node("ReduceMax", ["m100"], ["one"], keepdims=0)]
    nodes += [helper.make_node("Cast", ["tokens"], ["x"], to=1), helper.make_node("Add", ["x", "one"], ["logits"])]
    return graph(nodes, tmp_path, initializers=[numpy_helper.from_array(np.zeros((2000, 2000), np.float32), "m")])


def of_the_future(tmp_path):
    from onnx import helper

    return graph([helper.make_node("Cast", ["tokens"], ["logits"], to=1)], tmp_path, opset=999)


ENEMIES = {
    "takes 800,000,016,392 multiplications for 8,192 rows": long_work,
    "cannot be run": of_the_future,
    "functions of its own": in_disguise,
    "above the limit": huge,
    "does not say how large": unknown_size,
    "other files": elsewhere,
    "neither tokens nor one-hots": floats,
}


@pytest.mark.parametrize("message", ENEMIES)
def test_an_enemys_graph_is_refused_in_one_line(message, tmp_path):
    pytest.importorskip("onnx")
    with pytest.raises(InputError) as error:
        mg.wrap(ENEMIES[message](tmp_path), "n1 + n2", mod=P)
    assert message in str(error.value) and "\n" not in str(error.value)


# ------------------------------------------------------------------------------------------- command line


@pytest.fixture
def theirs(tmp_path):
    """An MLP that is right on every row: ReLU of one-hots, a neuron for each row of the table."""
    hidden = np.concatenate([np.eye(P)[ROWS[:, 0]], np.eye(P)[ROWS[:, 1]]], axis=1).astype(np.float32)
    right = np.eye(P, dtype=np.float32)[[(a + b) % P for a, b in ROWS.tolist()]]
    weights = {"0.weight": hidden, "0.bias": np.full(P * P, -1, np.float32), "2.weight": np.ascontiguousarray(right.T)}
    return saved(tmp_path, weights)


def test_the_command_line_takes_the_same_files(theirs, tmp_path, capsys):
    said = [str(theirs), "--function", "n1 + n2", "--mod", str(P), "--json"]
    assert main(["verify", *said]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["accuracy"], found["method"], found["model"], found["proof"]) == (1.0, "wrapped", "mlp", None)
    assert main(["predict", *said[:-1], "--json", "5", "4"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 2
    np.save(tmp_path / "rows.npy", np.arange(20))
    assert main(["inspect", *said, "--training", str(tmp_path / "rows.npy"), "--out", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["logits"]["full_accuracy"] == {"all": 1.0, "train": 1.0, "test": 1.0}
    assert found["inside"]["layers"][0]["neurons"] == P * P
    assert main(["classify", "--network", str(theirs), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "in-class"
    assert main(["verify", *said[:-1]]) == 0
    assert "does not tell the activation" in " ".join(capsys.readouterr().out.split())  # how it was read


@pytest.mark.parametrize(
    "words, message",
    [
        (["verify", "--function", "n1 + n2", "--mod", "11"], "no layout is known"),
        (["predict", "3", "4", "--equals", "x"], "--equals must be the number of a token"),
        (["inspect", "--training", "none.json", "--mod", str(P)], "cannot read"),
        (["classify", "n1 n2", "--mod", "7", "--network"], "needs one function"),
    ],
)
def test_the_command_line_refuses_in_one_line(words, message, theirs, tmp_path, capsys):
    command, *rest = words
    given = [command, *rest, str(theirs)] if rest[-1:] == ["--network"] else [command, str(theirs), *rest]
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    written = capsys.readouterr().err
    assert message in written and len(written.strip().splitlines()) == 1


def test_a_folder_of_checkpoints_makes_a_film(theirs, tmp_path, capsys):
    folder = tmp_path / "steps"
    folder.mkdir()
    weights = load_file(theirs)
    for step, share in ((10, 1.0), (5, 0.5), (0, 0.1)):
        save_file({name: share * each for name, each in weights.items()}, folder / f"step{step}.safetensors")
    out = str(tmp_path / "out")
    assert main(["inspect", str(folder), "--function", "n1 + n2", "--mod", str(P), "--json", "--out", out]) == 0
    assert json.loads(capsys.readouterr().out)["film"]["measures"]["step"] == [0, 5, 10]


# ------------------------------------------------------------------------------------------- TransformerLens


def test_what_is_written_for_transformer_lens_is_read_again(tmp_path):
    """The module itself is run by `make interop`."""
    model = Transformer((P, P), P, width=12, depth=2, heads=3, norm="layer", bias=True)
    network = untrained(model)
    path, weights, settings = mg.export(network, "transformer-lens", tmp_path / "net.py").files
    compile(path.read_text(), str(path), "exec")
    np.testing.assert_allclose(mg.wrap(weights, "n1 + n2", mod=P, activation="relu")(ROWS), network(ROWS), atol=1e-5)
    found = json.loads(settings.read_text())
    assert (found["d_vocab"], found["d_vocab_out"], found["n_ctx"], found["normalization_type"]) == (P + 1, P, 3, "LN")
    state = load_file(weights)
    assert state["blocks.1.attn.W_Q"].shape == (3, 12, 4) and state["embed.W_E"].shape == (P + 1, 12)
    with pytest.raises(InputError, match="TransformerLens is for transformers, got the model circuit"):
        mg.export(mg.compile("n1 n2", P), "transformer-lens", tmp_path / "other.py")


def test_an_export_never_replaces_the_network_itself(tmp_path):
    network = untrained(Transformer((P, P), P, width=8))
    network.save(tmp_path / "net.safetensors")
    with pytest.raises(InputError, match="would be replaced"):
        mg.export(tmp_path / "net.safetensors", "transformer-lens", tmp_path / "net.py")
    assert [path.name for path in mg.export(tmp_path / "net.safetensors", "transformer-lens").files] == [
        *("net_lens.py", "net_lens.safetensors", "net_lens.json"),
    ]


def test_weights_are_arrays_by_documented_names():
    run = mg.train("n1 n2", P, width=12, steps=2)
    assert {name: each.shape for name, each in run.weights().items()} == {"embed": (2, P, 12), "readout": (12, P)}
