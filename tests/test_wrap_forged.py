"""Forged files of weights and logits: each is refused in one line, with exit code 2, and nothing in it is run.

`tests/interop` has those that only torch can write, `test_wrap_files.py` those of graphs.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile

import foreign_networks as foreign
import numpy as np
import pytest
from lookup_model import untrained
from safetensors.numpy import save

import modgrok as mg
from modgrok.base.errors import InputError
from modgrok.cli import main
from modgrok.networks.models import Transformer

P = foreign.P
LAYOUTS = foreign.LAYOUTS | {
    "x²": foreign.squares,
    "modgrok's own": lambda rng: (untrained(Transformer((P, P), P, width=8)).weights(), None),
}
STILL_A_NETWORK = {
    ("one-hots, three square layers", "2.weight"),
    ("one-hots, three square layers", "4.weight"),
    *((f"two embeddings {how}", f"embed_{v}.weight") for how in ("added", "concatenated") for v in "ab"),
}
"""Without a hidden layer as wide as its neighbours, or with one embedding of two, it is a smaller network."""


class Evil:
    """A pickle that writes a file when it is opened by anything that makes objects."""

    def __reduce__(self):
        return (os.system, ("touch executed",))


def weights_of(layout):
    weights = LAYOUTS[layout](np.random.default_rng(1))[0]
    return {name: np.ascontiguousarray(tensor) for name, tensor in weights.items()}


def without_one_tensor():
    for layout in LAYOUTS:
        weights = weights_of(layout)
        for name in weights:
            needed = not (".b_" in name or name.endswith(("bias", "mask", "IGNORE")))
            if needed and (layout, name) not in STILL_A_NETWORK:
                yield f"{layout} without {name}", save({key: weights[key] for key in weights if key != name})


def with_a_number_that_is_none():
    for k, layout in enumerate(LAYOUTS):
        weights = weights_of(layout)
        name = [name for name in weights if not name.endswith(("mask", "IGNORE"))][-1]
        weights[name] = weights[name].copy()
        weights[name].flat[0] = (np.nan, np.inf, -np.inf)[k % 3]
        yield f"{layout} with {weights[name].flat[0]}", save(weights)


def header(tensors, data=b""):
    text = tensors if isinstance(tensors, bytes) else json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(*shape, kind="F32", size=4, first=0):
    return {"dtype": kind, "shape": list(shape), "data_offsets": [first, first + size]}


def forged_safetensors():
    four = bytes(4)
    yield "no header", header(b"")
    yield "a header of 2^63 bytes", struct.pack("<Q", 2**63) + b"{}"
    yield "no JSON", header(b"{{{{")
    yield "JSON a hundred thousand deep", header(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    yield "a name that is no text", header(b'{"\xff\xfe":' + json.dumps(tensor(1)).encode() + b"}", four)
    yield "a name that is half a character", header(b'{"\\udcff":' + json.dumps(tensor(1)).encode() + b"}", four)
    yield "a name with line breaks and controls", header({"a\nb\r\x1b[31m": tensor(1)}, four)
    yield "a negative shape", header({"a": tensor(-1)}, four)
    yield "tensors that overlap", header({"a": tensor(1), "b": tensor(1)}, four)
    yield "a hundred axes", header({"a": tensor(*[1] * 100)}, four)
    yield "a type of a byte", header({"a": tensor(4, kind="F8_E4M3")}, four)
    yield "an axis of 2^60", header({"a": tensor(0, 2**60, size=0), "b": tensor(1)}, four)
    yield "layers of width 0", header({"embedding": tensor(P, 0, size=0), "readout": tensor(0, P, size=0)})
    yield "logits of no size", header({"a": tensor(0, 0, 0, size=0)})
    hooked, own = weights_of("hooked"), weights_of("modgrok's own")
    one = np.ones((2, 8, 4), np.float32)
    yield "thousands of tensors", save({f"t{k}": np.zeros((2, 2), np.float32) for k in range(3000)})
    yield "hundreds of layers", save({f"{k}.weight": np.zeros((2 * P, 2 * P), np.float32) for k in range(300)})
    yield "a layer 10^9", save(hooked | {"blocks.999999999.attn.W_Q": one})
    yield "our layer 10^9", save(own | {"layers.999999999.query": np.ones((8, 8), np.float32)})
    yield "a tensor too many", save(hooked | {"hook_x": np.ones(3, np.float32)})
    yield "a tensor of another shape", save(hooked | {"blocks.0.attn.W_V": one[..., :3].copy()})
    yield "truth values", save({"embed": np.ones((2, P, 4), bool), "readout": np.ones((4, P), bool)})
    yield "numbers without axes", save({"a": np.array(3, np.float32), "b": np.ones((), np.float32)})
    yield "a modulus of 100,000", save({"embed": np.zeros((2, 10**5, 2), "f4"), "readout": np.zeros((2, 10**5), "f4")})
    for layout in ("one-hots, two layers", "hooked"):
        large = {name: (tensor * 1e30).astype(np.float32) for name, tensor in weights_of(layout).items()}
        yield f"{layout}, logits above all numbers", save(large)


def npy(array):
    written = io.BytesIO()
    np.save(written, array, allow_pickle=True)
    return written.getvalue()


def forged_npy():
    whole = npy(np.zeros((P, P, P)))
    yield "objects", npy(np.array([Evil()], dtype=object))
    yield "code in its header", whole.replace(b"'<f8'", b"exit(")
    yield "a header that promises more", whole.replace(b"(7, 7, 7)", b"(999999,)")
    yield "cut short", whole[:60]
    yield "empty", b""
    yield "version 9", whole[:6] + b"\x09" + whole[7:]
    for name, array in {
        "a row too few": np.zeros((P * P - 1, P)),
        "one axis": np.zeros(P),
        "nine axes": np.zeros((2,) * 9),
        "another table": np.zeros((P, P - 2, P)),
        "twelve classes": np.zeros((P, P, 12)),
        "no rows": np.zeros((0, 0, 0)),
        "no numbers": np.full((P, P, P), np.nan),
        "infinite numbers": np.full((P, P, P), np.inf),
        "texts": np.zeros((P, P, P), "U3"),
        "complex numbers": np.zeros((P, P, P), complex),
        "dates": np.zeros((P, P, P), "M8[s]"),
        "records": np.zeros((P, P, P), [("a", "f4")]),
    }.items():
        yield name, npy(array)


def archive(**parts):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as packed:
        for name, content in parts.items():
            packed.writestr(f"archive/{name}", content)
    return written.getvalue()


def forged_files():
    for make in (without_one_tensor, with_a_number_that_is_none, forged_safetensors):
        yield from ((name, ".safetensors", content) for name, content in make())
    yield from ((f"logits: {name}", ".npy", content) for name, content in forged_npy())
    evil = pickle.dumps(Evil())
    disguised = (".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".npy", ".onnx")
    yield from ((f"a pickle as {suffix}", suffix, evil) for suffix in disguised)
    yield "a pickle in an archive", ".pt", archive(**{"data.pkl": evil, "version": "3"})
    yield "a script in an archive", ".pt", archive(**{"code/__torch__.py": "import os", "constants.pkl": evil})
    yield "arrays in an archive", ".npy", archive(**{"a.npy": npy(np.zeros(3))})
    yield "an empty graph", ".onnx", b""
    yield "zeros", ".onnx", bytes(1000)
    yield "a text", ".txt", b"weights"


def refused_in_one_line(path, capsys, *, mod=P):
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(path), "--function", "n1 + n2", "--mod", str(mod)])
    written = capsys.readouterr()
    lines = written.err.strip().splitlines()
    assert ended.value.code == 2 and len(lines) == 1 and not written.out
    assert str(path) in lines[0] and lines[0].isprintable()


@pytest.mark.parametrize("kind", ["safetensors", "npy", "others"])
def test_forged_files_are_refused_in_one_line_and_nothing_in_them_is_run(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = {".safetensors": "safetensors", ".npy": "npy"}
    here = [each for each in forged_files() if kinds.get(each[1], "others") == kind]
    assert len(here) >= {"safetensors": 120, "npy": 18, "others": 9}[kind]
    for k, (name, suffix, content) in enumerate(here):
        path = tmp_path / f"{k}{suffix}"
        path.write_bytes(content)
        try:
            refused_in_one_line(path, capsys)
        except (Exception, pytest.fail.Exception) as error:
            raise AssertionError(f"{name}: {error}") from error
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_layout_is_read_with_a_wrong_modulus(layout, tmp_path, capsys):
    path = tmp_path / "theirs.safetensors"
    path.write_bytes(save(weights_of(layout)))
    for mod in (5, 11):
        refused_in_one_line(path, capsys, mod=mod)


@pytest.mark.parametrize("name", ["a pipe", "a circle of links", "a link to an endless device"])
def test_what_is_no_plain_file_is_refused_in_one_line(name, tmp_path, capsys):
    path = tmp_path / "theirs.safetensors"
    if name == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if "device" in name else path)
    refused_in_one_line(path, capsys)


class Raises:
    def __array__(self, *_, **__):
        raise RuntimeError("no such\narray")


def test_an_array_that_raises_and_steps_of_two_moduli_are_refused_in_one_line():
    steps = [{"embed": np.ones((2, p, 3)), "readout": np.ones((3, p))} for p in (5, P)]
    for source, message in ((Raises(), "RuntimeError: no such array"), (steps, "no layout is known")):
        with pytest.raises(InputError, match=message) as error:
            mg.wrap(source)
        assert "\n" not in str(error.value)
