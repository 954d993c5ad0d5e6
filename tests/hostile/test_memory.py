"""More than the memory holds is refused in one line, before anything is made or written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jax.errors import JaxRuntimeError

from modgrok import cli
from modgrok.base import memory
from modgrok.base.errors import InputError
from modgrok.training import ensemble
from modgrok.training.checkpoints import Training
from modgrok.training.config import TrainConfig
from modgrok.training.ensemble import check_memory, network_bytes
from modgrok.training.train import train

PLAN = """
steps = 2
[tables]
random = 2
[[settings]]
moduli = [97]
widths = [4, 1000000000]
fractions = [0.5]
"""


@pytest.fixture
def refused(capfd, tmp_path, monkeypatch):
    """Runs the command line in an empty folder, where it must refuse in one line and write nothing."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: object) -> str:
        capfd.readouterr()
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(SystemExit) as stop:
            cli.main([str(word) for word in argv])
        out, err = capfd.readouterr()
        assert (stop.value.code, out, err.count("\n")) == (2, "", 1) and "Traceback" not in err
        assert sorted(tmp_path.rglob("*")) == before
        return err

    return run


@pytest.mark.parametrize(
    "argv",
    [
        ("train", "n1 + n2", "--mod", 97, "--width", 10**9, "--steps", 10),
        ("train", "n1 + n2", "--mod", 97, "--width", 10**9, "--steps", 10, "--seeds", 3),
        ("train", "n1 + n2", "--mod", 97, "--width", 2**31 - 1, "--model", "mlp"),
        ("train", "n1 + n2", "--mod", 97, "--width", 2**30, "--model", "transformer"),
        ("sweep", "n1 + n2", "--mod", 97, "--width", f"100,{10**9}", "--steps", 2),
        ("census", "plan.toml", "--out", "c"),
        ("mix", "n1 n2 + n1", "--mod", 97, "--width", 10**9, "--steps", 2),
    ],
    ids=lambda argv: " ".join(map(str, argv)),
)
def test_a_training_that_cannot_fit_is_refused_before_it_begins(refused, argv):
    if argv[0] == "census":
        Path("plan.toml").write_text(PLAN)
    err = refused(*argv)
    assert "of memory, and there are " in err and "; lower width (--width) or the modulus (--mod)" in err


def test_the_line_says_what_was_asked_and_how_much_there_is(monkeypatch):
    monkeypatch.setattr(ensemble, "machine_memory", lambda: 24_000_000_000)
    said = (
        r"training a power network of width 1,000,000,000 with 97 classes takes about 14 TB of memory, "
        r"and there are 24 GB; lower width"
    )
    with pytest.raises(InputError, match=said):
        train("n1 + n2", 97, width=10**9)


def test_what_fits_is_not_refused(monkeypatch):
    shape = TrainConfig.of("n1 + n2", 5, width=4).task().shape
    monkeypatch.setattr(ensemble, "machine_memory", lambda: 2 * network_bytes(shape))
    check_memory(shape)
    monkeypatch.setattr(ensemble, "machine_memory", lambda: 2 * network_bytes(shape) - 1)
    with pytest.raises(InputError):
        check_memory(shape)


def exhausted(*_: object, **__: object) -> None:
    raise JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1000 bytes.")


def test_memory_that_ends_all_the_same_is_one_line_and_leaves_nothing(refused, monkeypatch):
    small = ("n1 n2", "--mod", 5, "--width", 4, "--steps", 2)
    with monkeypatch.context() as patch:
        patch.setattr(Training, "segment", exhausted)
        assert "needs more memory than there is" in refused("train", *small, "--out", "run")
    cli.main([str(word) for word in ("train", *small, "--out", "run")])
    with monkeypatch.context() as patch:
        patch.setattr(Training, "segment", exhausted)
        refused("train", "--resume", "run", "--steps", 4)
    assert json.loads(Path("run/result.json").read_text())["finished"], "what was there before stays"


def test_other_errors_of_jax_are_not_taken_for_it():
    assert memory.ran_out(JaxRuntimeError("RESOURCE_EXHAUSTED: x")) and memory.ran_out(MemoryError())
    assert not memory.ran_out(JaxRuntimeError("INTERNAL: x")) and not memory.ran_out(ValueError("RESOURCE_EXHAUSTED"))


def test_the_least_of_all_limits_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "CONTAINER_LIMIT", tmp_path / "memory.max")
    assert memory.machine_memory() == min(memory.physical_memory(), memory.address_space())
    for text, there in (("max\n", memory.physical_memory()), ("1000000\n", 1_000_000)):
        (tmp_path / "memory.max").write_text(text)
        monkeypatch.setattr(memory, "address_space", lambda: float("inf"))
        assert memory.machine_memory() == there
    monkeypatch.setattr(memory, "address_space", lambda: 1000)
    assert memory.machine_memory() == 1000
