"""Networks on disk: bit for bit the same after a round trip, whole or absent, and refused when they are not ours."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from strategies import networks

from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, whole_file, write_json
from modgrok.compiler.compiling import PaperSettings, compile_paper
from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.models import CircuitModel
from modgrok.networks.network import Network
from modgrok.networks.storage import load
from modgrok.training.train import train

# The folder is shared by the examples of a property test, each of which overwrites its one file.
IN_ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def small_network() -> Network:
    return compile_paper("n1 n2 + 2n1", 5, PaperSettings(mul_width=20, add_width=30))


@IN_ONE_FOLDER
@given(networks())
def test_a_network_survives_save_and_load_bit_for_bit(tmp_path, network):
    network.save(tmp_path / "net.safetensors")
    loaded = load(tmp_path / "net.safetensors")
    ours, theirs = jax.tree.flatten(network.circuit), jax.tree.flatten(loaded.circuit)
    assert ours[1] == theirs[1]  # wires, powers, number of variables
    for before, after in zip(ours[0], theirs[0], strict=True):
        assert before.dtype == after.dtype and before.shape == after.shape
        assert before.tobytes() == after.tobytes()
    for name in ("model", "expression", "modulus", "method", "plan", "claimed", "settings", "variables"):
        assert getattr(loaded, name) == getattr(network, name)
    assert loaded.notes == tuple(f"its file says: {note}" for note in network.notes)
    assert load(loaded.save(tmp_path / "net.safetensors")).notes == loaded.notes
    assert [path.name for path in tmp_path.iterdir()] == ["net.safetensors"]


def test_the_file_is_plain_safetensors(tmp_path):
    network = small_network()
    network.save(tmp_path / "net.safetensors")
    with safe_open(tmp_path / "net.safetensors", framework="numpy") as file:
        assert set(file.keys()) == {"betas", *(f"experts.{k}.{part}" for k in (0, 1) for part in ("embed", "readout"))}
        about = json.loads(file.metadata()["modgrok"])
    assert about["expression"] == "n1 n2 + 2 n1"
    assert about["modulus"] == 5
    assert about["format"] == 2
    assert about["model"]["name"] == "circuit"
    assert about["model"]["wires"] == [list(wires) for wires in network.circuit.wires]
    assert about["model"]["experts"] == [[2, 5, 20, 5, 2], [2, 5, 30, 5, 2]]
    assert [step["kind"] for step in about["plan"]] == ["product", "sum"]
    assert about["settings"]["mul_width"] == 20
    assert (tmp_path / "net.safetensors").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def test_a_folder_stands_for_the_weights_in_it(tmp_path):
    small_network().save(tmp_path / "run" / "weights.safetensors")
    assert load(tmp_path / "run").expression == "n1 n2 + 2 n1"
    with pytest.raises(InputError, match=r"the folder .* is no run, it has no weights\.safetensors; `modgrok runs "):
        load(tmp_path)


# ------------------------------------------------------------------------------------------ damaged files


@IN_ONE_FOLDER
@given(st.data())
def test_a_file_cut_short_anywhere_is_refused(tmp_path, data):
    path = tmp_path / "net.safetensors"
    if not path.exists():
        small_network().save(path)
    whole = path.read_bytes()
    length = data.draw(st.integers(0, len(whole) - 1))
    (tmp_path / "cut.safetensors").write_bytes(whole[:length])
    with pytest.raises(InputError, match="is not a modgrok network, or was cut short") as caught:
        load(tmp_path / "cut.safetensors")
    assert "\n" not in str(caught.value)


@IN_ONE_FOLDER
@given(st.data())
def test_a_file_with_a_damaged_header_is_refused_or_still_whole(tmp_path, data):
    """One byte changed: either an `InputError`, or the same network; never another exception, never another network."""
    path = tmp_path / "net.safetensors"
    if not path.exists():
        small_network().save(path)
    damaged = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(damaged[:8], "little")
    damaged[data.draw(st.integers(0, header - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "bad.safetensors").write_bytes(damaged)
    try:
        network = load(tmp_path / "bad.safetensors")
    except InputError as error:
        problem = str(error)
    else:
        problem = ""
        assert network.stored()[0] == small_network().stored()[0]
    assert "\n" not in problem


def rewritten(network: Network, path: Path, changes: dict) -> Path:
    """A network's file with some of its metadata replaced; a change of the model names the fields it changes."""
    network.save(path)
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["modgrok"])
        del about["checksums"]  # as in the files of other writers
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    if isinstance(changes.get("model"), dict):
        changes = changes | {"model": about["model"] | changes["model"]}
    save_file(tensors, path, metadata={"modgrok": json.dumps(about | changes)})
    return path


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"format": 99}, "it has format 99; this modgrok reads 2: upgrade modgrok"),
        ({"expression": "n1"}, "the expression has 1 variables and the network 2"),
        ({"expression": "n1 n2 n3"}, "the expression has 3 variables and the network 2"),
        ({"expression": "n1 +"}, "the expression ends too early"),
        ({"expression": 7}, "the expression has 1 variables"),
        ({"modulus": 7}, r"reads \(5, 5\) residues and has 5 classes, the modulus is 7"),
        ({"modulus": "5"}, "modulus must be a whole number"),
        ({"modulus": 0}, "modulus must be at least 2"),
        ({"model": {"name": "rnn"}}, "its model is 'rnn'; this modgrok has power, mlp, transformer, circuit"),
        ({"model": {"residues": [5]}}, "the expression has 2 variables and the network 1"),
        ({"model": {"residues": [5, 7]}}, r"reads \(5, 7\) residues and has 5 classes"),
        ({"model": {"classes": 7}}, r"reads \(5, 5\) residues and has 7 classes"),
        ({"model": {"wires": [[0, 1], [5, 0]]}}, "expert 1 reads wire 5"),
        ({"model": {"wires": [[0, 1]]}}, "one group of wires for each expert"),
        ({"model": {"experts": [[2, 5, 20, 5, 2]]}}, r"betas must have shape \(1,\), got \(2,\)"),
        ({"model": {"experts": [[2, 5, 21, 5, 2]] * 2}}, r"embed must have shape \(2, 5, 21\), got \(2, 5, 20\)"),
        ({"model": {"experts": [[2, 5, 20, 5, 0], [2, 5, 30, 5, 2]]}}, "a power of at least 1"),
        (
            {"model": {"experts": [[2, 5, -20, 5, 2], [2, 5, 30, 5, 2]]}},
            r"each of experts must be a whole number from 0 to 2\^31 - 1, got -20",
        ),
        ({"model": {"experts": None}}, "experts must be a list, got None"),
        ({"model": {"experts": float("inf")}}, "experts must be a list, got inf"),
        ({"model": {"experts": [[10**30, 5, 20, 5, 2], [2, 5, 30, 5, 2]]}}, "each of experts must be a whole number"),
        ({"model": {"experts": [[2**31 - 1, 5, 20, 5, 2], [2, 5, 30, 5, 2]]}}, "has 2,147,483,647 terms and 2 wires"),
        ({"model": {"wires": [[1.5, 1], [2, 0]]}}, "each of wires must be a whole number .*, got 1.5"),
        ({"model": {"wires": [[True, 1], [2, 0]]}}, "each of wires must be a whole number .*, got True"),
        ({"model": {"wires": float("inf")}}, "wires must be a list, got inf"),
        ({"model": {"width": {}}}, r"width must be a whole number .*, got \{\}"),
        ({"statistics": float("inf")}, "statistics must be a whole number from 0"),
        ({"model": None}, "or was cut short"),
        ({"plan": 3}, "or was cut short"),
        ({"plan": [{"kind": "sum"}]}, "or was cut short"),
        ({"claims": [{"order": 5}]}, "or was cut short"),
        ({"settings": None}, "or was cut short"),
        ({"notes": None}, "or was cut short"),
        ({"statistics": 2}, "or was cut short"),
        ({"statistics": "two"}, "statistics must be a whole number from 0 to 2\\^31 - 1, got 'two'"),
        ({"method": "proved"}, "its method must be one of exact, lookup, paper"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_metadata_that_does_not_fit(tmp_path, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        load(rewritten(small_network(), tmp_path / "net.safetensors", changes))
    assert "net.safetensors" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "model, changes, message",
    [
        ("power", {"power": 0}, "a power of at least 1"),
        ("power", {"power": "two"}, "power must be a whole number"),
        ("power", {"dropout": float("inf")}, "dropout must be a finite number, got inf"),
        ("power", {"dropout": None}, "dropout must be a finite number, got None"),
        ("mlp", {"width": 8.0}, r"width must be a whole number from 0 to 2\^31 - 1, got 8.0"),
        ("mlp", {"norm": {}}, r"norm must be text, got \{\}"),
        ("power", {"width": 9}, r"embed must have shape \(2, 5, 9\), got \(2, 5, 8\)"),
        ("mlp", {"depth": 700}, "depth of an mlp must be from 2 to 100, got 700"),
        ("mlp", {"depth": 2}, r"it holds weights that its mlp has no place for: hidden\.0"),
        ("mlp", {"activation": "sine"}, "activation must be relu or .* or square.*, got 'sine'"),
        ("transformer", {"width": 30}, "width of a transformer must be a multiple of its 4 heads, got 30"),
        ("transformer", {"name": "mlp"}, "depth of an mlp must be from 2 to 100, got 1"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_sizes_of_trained_models_that_do_not_fit(tmp_path, model, changes, message):
    network = train("n1 + n2", 5, model=model, width=8, steps=1).network
    with pytest.raises(InputError, match=message):
        load(rewritten(network, tmp_path / "net.safetensors", {"model": changes}))


def test_foreign_files_are_refused(tmp_path):
    foreign = tmp_path / "foreign.safetensors"
    save_file({"weight": np.zeros((2, 2), np.float32)}, foreign)
    with pytest.raises(InputError, match="is not a modgrok network"):
        load(foreign)
    save_file({"weight": np.zeros((2, 2), np.float32)}, foreign, metadata={"modgrok": "[" * 100_000})
    with pytest.raises(InputError, match="is not a modgrok network"):
        load(foreign)
    for content in (b"", b"PK\x03\x04", b"hello\n" * 100, b"\xff" * 64):
        foreign.write_bytes(content)
        with pytest.raises(InputError, match="is not a modgrok network"):
            load(foreign)
    with pytest.raises(InputError, match=r"no such network: .*missing"):
        load(tmp_path / "missing.safetensors")


@pytest.mark.usefixtures("unchecked")
def test_weights_of_another_type_are_refused(tmp_path):
    expert = Expert(np.ones((1, 3, 2), np.int32), np.ones((2, 3), np.int32), 1)
    circuit = Circuit((expert,), np.ones(1), ((0,),), 1)
    Network(CircuitModel.of(circuit, (3,)), circuit, read_function("n1", 3), "paper").save(tmp_path / "net.safetensors")
    with pytest.raises(InputError, match="weights must be float32 or float64, got int32"):
        load(tmp_path / "net.safetensors")


# ------------------------------------------------------------------------------------------ whole or absent


def test_an_error_while_saving_leaves_no_file(tmp_path, monkeypatch):
    def half_written(tensors: dict, path: Path, metadata: dict) -> None:
        Path(path).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(safetensors.numpy, "save_file", half_written)
    with pytest.raises(InputError, match=r"cannot write .*net\.safetensors: disk full; nothing of it was written"):
        small_network().save(tmp_path / "net.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_saving_keeps_the_old_file(tmp_path):
    path = tmp_path / "net.safetensors"
    small_network().save(path)
    before = path.read_bytes()
    network = small_network()
    broken = replace(network, settings={"rate": object()})
    with pytest.raises(TypeError, match="object has no JSON form"):
        broken.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupt_while_writing_leaves_no_file(tmp_path):
    def interrupted() -> None:
        with whole_file(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_not_replaced_by_a_file_and_a_link_stays_a_link(tmp_path):
    """As root, a rename over a device such as /dev/null would take it from the whole machine."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: it is a device or a pipe; give the name of a file"):
        write_json(tmp_path / "pipe", {})
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(InputError, match="no name of a file has a zero byte"):
        write_json(f"{tmp_path}/zero\0byte", {})
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "folder" / "file.json")
    for value in (1, 2):
        write_json(tmp_path / "link.json", value)
        assert (tmp_path / "link.json").is_symlink() and read_json(tmp_path / "folder" / "file.json") == value
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file.json"]


def test_files_are_made_in_new_folders_and_not_over_folders(tmp_path):
    write_json(tmp_path / "a" / "b" / "c.json", {"x": [1, 2.5, None]})
    assert read_json(tmp_path / "a" / "b" / "c.json") == {"x": [1, 2.5, None]}
    with pytest.raises(InputError, match="it is a folder; give the name of a file"):
        small_network().save(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write .*file/net\.safetensors"):
        small_network().save(tmp_path / "file" / "net.safetensors")
    with pytest.raises(InputError, match=r"cannot read .*missing\.json: No such file"):
        read_json(tmp_path / "missing.json")
    (tmp_path / "cut.json").write_text('{"x": [1, 2')
    with pytest.raises(InputError, match=r"cut\.json is not a JSON file, or was cut short"):
        read_json(tmp_path / "cut.json")
