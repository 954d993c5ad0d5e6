"""SIGTERM, by which containers and batch systems end a process: it saves what Ctrl-C saves, and says so with 143."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from modgrok import cli
from modgrok.base import interrupts

SOURCE = str(Path(cli.__file__).parents[1])
STRUCK = """
import os, signal, sys
from importlib import import_module

number, call, place = (sys.argv.pop(1) for _ in range(3))
module, *path, name = place.split(":")
owner = import_module(module)
for part in path:
    owner = getattr(owner, part)
original, calls = getattr(owner, name), []

def struck(*words, **named):
    calls.append(words)
    if len(calls) == int(call):
        for _ in range(1 if number == "2" else 2):
            os.kill(os.getpid(), int(number))
    return original(*words, **named)

setattr(owner, name, struck)
from modgrok.cli import main
sys.exit(main())
"""
"""`modgrok`, with a signal when something is called for the n-th time; SIGTERM comes twice, as `timeout` sends it."""
PLAN = """
steps = [1, 2]
[tables]
random = 4
[[settings]]
moduli = [5]
widths = [4]
fractions = [0.5]
"""
STRIKES = {
    "train": (
        (3, "modgrok.training.checkpoints:Training:segment"),
        ("train", "n1 n2", "--mod", "5", "--width", "4", "--steps", "60", "--metrics-every", "10", "--out", "OUT"),
        ("config.json", "checkpoint.safetensors", "result.json"),
    ),
    "sweep": (
        (2, "modgrok.experiments.part:train_ensemble"),
        ("sweep", "n1 n2", "--mod", "5", "--width", "4,8", "--steps", "2", "--out", "OUT"),
        ("sweep.json", "part-00000.parquet"),
    ),
    "census": (
        (1, "modgrok.experiments.row_store:write_rows"),
        ("census", "plan.toml", "--out", "OUT"),
        ("plan.json",),
    ),
    "paper": (
        (1, "modgrok.report.reproducing:write_json"),
        ("paper", "classes", "--quick", "--out", "OUT"),
        (),
    ),
}


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": SOURCE},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def struck(tmp_path_factory):
    """A command and a signal: what it was called with, and how it ended; each is called once."""
    place = tmp_path_factory.mktemp("struck")
    (place / "plan.toml").write_text(PLAN)

    @cache
    def end_of(command: str, number: int) -> tuple[list[str], Path, subprocess.CompletedProcess[str]]:
        (moment, where), argv, _ = STRIKES[command]
        words = [word.replace("OUT", f"{command}{number}") for word in argv]
        return words, place, ran(place, "-c", STRUCK, str(number), str(moment), where, *words)

    return end_of


@pytest.mark.parametrize("command", STRIKES)
def test_sigterm_saves_what_ctrl_c_saves(command, struck, monkeypatch):
    left = {}
    for number, code in ((2, 130), (15, 143)):
        words, place, done = struck(command, number)
        assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
        left[code] = sorted(path.name for path in (place / f"{command}{number}").glob("*"))
        saved = set(STRIKES[command][2])
        assert saved <= set(left[code]) and not any(name.startswith((".", "running")) for name in left[code])
        monkeypatch.chdir(place)
        assert cli.main(words) == 0
    assert left[130] == left[143]


def test_a_training_that_was_terminated_says_how_to_go_on(struck):
    _, _, done = struck("train", 15)
    said = done.stdout.replace("\n", " ")
    assert "Stopped before its 60 steps; go on with: modgrok train --resume train15" in said
    assert done.returncode == 143


def test_sigterm_while_a_command_is_imported_waits_for_the_end_of_the_import(monkeypatch, capfd):
    monkeypatch.setattr(interrupts, "came", [])
    before = signal.signal(signal.SIGTERM, interrupts.terminate)
    steps = []

    def imported(name: str) -> None:
        steps.append("begun")
        signal.raise_signal(signal.SIGTERM)
        steps.append("ended")

    monkeypatch.setattr(cli, "import_module", imported)
    try:
        assert cli.main(["train"]) == 143 and steps == ["begun", "ended"]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capfd.readouterr().err == "terminated\n"


def test_the_explorer_ends_at_sigterm_as_its_own_handlers_say(tmp_path):
    code = (
        "import signal, sys; from modgrok import cli; sys.argv = ['modgrok', 'explore'];"
        "cli.answered = lambda argv: print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL); cli.main()"
    )
    assert ran(tmp_path, "-c", code).stdout == "True\n"
