"""Files that strangers made: small ones that stand for much, links to what has no end, and numbers that are none."""

from __future__ import annotations

import json
import os
import struct
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from modgrok import cli
from modgrok.algebra.table_files import MOST_NUMBERS, read_table
from modgrok.base import stores
from modgrok.base.errors import InputError
from modgrok.base.files import LARGEST_FILE, read_bytes
from modgrok.base.results import json_text
from modgrok.base.stores import DamagedError, open_tensors, write_tensors
from modgrok.censuses.plan import LARGEST_PLAN
from modgrok.compiler.compiling import compile
from modgrok.networks.network import Network
from modgrok.networks.storage import load
from modgrok.training.inspecting import inspect
from modgrok.training.train import train


@pytest.fixture
def refused(capfd, tmp_path, monkeypatch):
    """Runs the command line in an empty folder, where it must refuse in one line; returns that."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: object) -> str:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main([str(word) for word in argv])
        out, err = capfd.readouterr()
        assert (stop.value.code, out, err.count("\n")) == (2, "", 1) and "Traceback" not in err
        return err

    return run


# ------------------------------------------------------------------------------------------ tables


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [1, 2]]),
        pa.array([[0, 1], [1, 0]]),
        pa.array([[("x", 1)], []], pa.map_(pa.string(), pa.int64())),
        pa.array([{"x": 1}, {"x": 2}]),
    ],
    ids=["ragged", "lists", "map", "struct"],
)
def test_a_parquet_column_of_lists_or_maps_is_refused_by_its_name(refused, column):
    pq.write_table(pa.table({"0": [0, 1], "inner": column}), "nested.parquet")
    assert "nested.parquet, column inner: its cells are " in refused("classify", "nested.parquet")


def test_rows_of_a_parquet_file_are_counted_before_they_are_read(refused, monkeypatch):
    rows = MOST_NUMBERS // 3 + 1
    zeros = pa.array(np.zeros(rows, np.int8))
    pq.write_table(pa.table({"n1": zeros, "n2": zeros, "value": zeros}), "bomb.parquet")
    assert Path("bomb.parquet").stat().st_size < 1 << 20
    monkeypatch.setattr(pq, "read_table", None)
    assert f"bomb.parquet holds {3 * rows:,} numbers, above the limit of {MOST_NUMBERS:,}" in refused(
        "classify", "bomb.parquet"
    )


def test_words_of_a_parquet_file_are_read_as_often_as_they_differ(tmp_path):
    words = pa.array(["0", None, "1", "?", "0", "1"] * 1000)
    pq.write_table(pa.table({"a": words, "b": pa.array([1.0, 2.0, None] * 2000)}), tmp_path / "w.parquet")
    table = read_table(tmp_path / "w.parquet").table
    assert table.shape == (6000, 2) and table[:6].tolist() == [[0, 1], [-1, 2], [1, -1], [-1, 1], [0, 2], [1, -1]]


def npy(shape: str, kind: str, data: bytes = b"") -> bytes:
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize(
    "content, message",
    [
        (npy("(100000, 100000)", "<i8"), f"holds 10,000,000,000 numbers, above the limit of {MOST_NUMBERS:,}"),
        (npy("(4000, 4000)", "<i8"), "its header promises 128,000,000 bytes and 0 follow"),
        (npy("(2, 2)", "<U100000000"), "its header promises 1,600,000,000 bytes and 0 follow"),
    ],
    ids=["numbers", "rows", "words"],
)
def test_what_an_npy_header_promises_is_compared_with_the_file(refused, content, message):
    Path("t.npy").write_bytes(content)
    assert message in refused("classify", "t.npy")


def test_cells_of_a_csv_are_counted_before_they_are_split(refused, monkeypatch):
    Path("t.csv").write_text("," * (MOST_NUMBERS + 1))
    monkeypatch.setattr("csv.reader", None)
    assert f"t.csv holds {MOST_NUMBERS + 1:,} numbers" in refused("classify", "t.csv")
    Path("t.csv").write_text("\r" * (MOST_NUMBERS + 1))
    assert f"t.csv holds {MOST_NUMBERS + 1:,} numbers" in refused("classify", "t.csv")


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_a_table_may_be_of_any_precision(tmp_path, kind):
    np.save(tmp_path / "t.npy", np.array([[0, 1], [np.nan, 2048]], kind))
    assert read_table(tmp_path / "t.npy").table.tolist() == [[0, 1], [-1, 2048]]
    for wrong in (0.5, -2, np.inf):
        np.save(tmp_path / "t.npy", np.array([[0, 1], [wrong, 1]], kind))
        with pytest.raises(InputError, match="row 2, column 1"):
            read_table(tmp_path / "t.npy")


# ------------------------------------------------------------------------------------------ what is no file


@pytest.mark.parametrize(
    "argv",
    [
        ("classify", "t.csv"),
        ("classify", "t.npy"),
        ("classify", "t.parquet"),
        ("check", "t.json"),
        ("census", "t.toml", "--out", "c"),
        ("verify", "t.safetensors"),
        ("inspect", "t.safetensors", "--out", "i"),
    ],
    ids=lambda argv: argv[1],
)
@pytest.mark.parametrize("what", ["device", "pipe"])
def test_links_to_devices_and_pipes_are_refused(refused, argv, what):
    if what == "pipe":
        os.mkfifo("end")
    Path(argv[1]).symlink_to("end" if what == "pipe" else os.devnull)
    before = sorted(Path().iterdir())
    assert "it is a device or a pipe; give the name of a file" in refused(*argv)
    assert sorted(Path().iterdir()) == before


def test_files_of_stores_are_no_devices_either(tmp_path):
    (tmp_path / "x.parquet").symlink_to(os.devnull)
    with pytest.raises(InputError, match="it is a device or a pipe"):
        stores.read_rows(tmp_path / "x.parquet", pa.schema([]), "make it again")
    with pytest.raises(DamagedError, match=r"it is a device or a pipe.*; make it again"):
        stores.read_object(tmp_path / "x.parquet", {}, "make it again")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="a file that says it has no bytes, and has some")
def test_the_system_is_not_believed_how_large_a_file_is():
    path = Path("/proc/self/status")
    assert path.stat().st_size == 0 and path.is_file()
    with pytest.raises(InputError, match="/proc/self/status has more than 10 bytes"):
        read_bytes(path, 10)


@pytest.mark.parametrize(
    "argv, most", [(("check", "t.json"), LARGEST_FILE), (("census", "t.toml", "--out", "c"), LARGEST_PLAN)]
)
def test_certificates_and_plans_have_a_largest_size(refused, argv, most):
    with open(argv[1], "wb") as file:
        file.write(b" ")
        file.truncate(most + 1)
    assert f"{argv[1]} has more than {most:,} bytes" in refused(*argv)


def test_a_stored_table_is_refused_by_the_values_that_it_says_it_has(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": np.zeros(10_000)}), tmp_path / "a.parquet")
    monkeypatch.setattr(stores, "machine_memory", lambda: 79_999)
    with pytest.raises(DamagedError, match=r"its 10,000 values take 80 kB of memory, more than there is\); again"):
        stores.read_rows(tmp_path / "a.parquet", pa.schema([]), "again")


# ------------------------------------------------------------------------------------------ tensors


def test_tensors_are_stored_whatever_their_layout(tmp_path):
    square = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensors = {
        "plain": square,
        "fortran": np.asfortranarray(square),
        "transposed": square.T,
        "strided": square[::2, ::-1],
        "big-endian": square.astype(">f4"),
        "broadcast": np.broadcast_to(np.float64(2.5), (2, 3)),
        "single": np.array(7.0),
        "none": np.zeros((0, 3)),
        "flags": np.array([True, False, True])[::2],
    }
    write_tensors(tmp_path / "t.safetensors", {"note": "x"}, tensors)
    with open_tensors(tmp_path / "t.safetensors", "a test") as file:
        for name, tensor in tensors.items():
            assert file(name).shape == tensor.shape, name
            np.testing.assert_array_equal(file(name), tensor, err_msg=name)


# ------------------------------------------------------------------------------------------ networks


STRANGE = (float("inf"), 10**30, 2**31 - 1, {}, [], None, 1.5, True, "x")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything that an object holds, first what is inside of it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))
    if path:
        yield path


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    """A copy of an object with something else at one place."""
    if not path:
        return to
    copied = value.copy()
    copied[path[0]] = changed(value[path[0]], path[1:], to)
    return copied


@pytest.fixture(scope="module", params=["compiled", "power", "mlp"])
def network(request):
    if request.param == "compiled":
        return compile("n1 n2 + n1", 3)
    return train("n1 + n2", 3, model=request.param, width=4, steps=1).network


@pytest.mark.usefixtures("unchecked")
def test_whatever_stands_in_the_metadata_of_a_network_it_is_read_or_refused_in_one_line(network, tmp_path):
    about, tensors = network.stored()
    about = json.loads(json_text(about))
    path, read, refusals = tmp_path / "net.safetensors", 0, []
    for place, value in product(places(about), STRANGE):
        if place[0] not in ("settings", "notes"):
            save_file(tensors, path, metadata={"modgrok": json.dumps(changed(about, place, value))})
            try:
                load(path).predict([1, 2])
                read += 1
            except InputError as error:
                refusals.append(str(error))
    assert read, "a file without checksums is read, as earlier versions wrote them"
    assert refusals and not any("\n" in line for line in refusals)


def own_weights(network: Network) -> Network:
    """A copy whose weights can be changed: those that were proved cannot."""
    return replace(network, params=jax.tree.map(np.copy, network.params))


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_a_network_whose_weights_are_not_finite_is_not_inspected(refused, weight):
    found = own_weights(compile("n1 n2", 5))
    found.params.experts[0].embed[0, 1, 2] = weight
    found.save("net.safetensors")
    assert "experts.0.embed holds numbers that are not finite" in refused("inspect", "net.safetensors", "--out", "i")
    assert not Path("i").exists()


@pytest.mark.parametrize(
    "dtype, weight, holds",
    [
        ("float64", 1e300, "experts.0.embed holds numbers up to .*, too large to be squared"),
        ("float64", 1e120, "its answer holds numbers up to .*, too large to be squared"),
        ("float32", 1e38, "experts.0.embed holds numbers"),
        ("float32", 1e15, None),
        ("float64", 1e40, None),
        ("float64", 1e-300, None),
    ],
)
def test_a_network_of_huge_weights_is_inspected_or_refused_without_a_warning(dtype, weight, holds):
    found = own_weights(compile("n1 n2", 5, dtype=dtype))
    for expert in found.params.experts:
        expert.embed[:] *= np.array(weight, expert.embed.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if holds is None:
            assert inspect(found).to_json()["experts"]
        else:
            with pytest.raises(InputError, match=rf"n1 n2 mod 5 cannot be inspected: {holds}"):
                inspect(found)
