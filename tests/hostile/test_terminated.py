"""SIGTERM, by which containers and batch systems end a process: it saves what Ctrl-C saves, and says so with 143."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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


@pytest.mark.parametrize("command", STRIKES)
def test_sigterm_saves_what_ctrl_c_saves(command, tmp_path):
    (moment, place), argv, saved = STRIKES[command]
    (tmp_path / "plan.toml").write_text(PLAN)
    left = {}
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        words = [word.replace("OUT", f"out{code}") for word in argv]
        struck = ran(tmp_path, "-c", STRUCK, str(int(number)), str(moment), place, *words)
        assert struck.returncode == code and "Traceback" not in struck.stderr, struck.stderr
        left[code] = sorted(path.name for path in (tmp_path / f"out{code}").glob("*"))
        assert set(saved) <= set(left[code]) and not any(name.startswith((".", "running")) for name in left[code])
        again = ran(tmp_path, "-m", "modgrok", *words)
        assert again.returncode == 0, again.stderr
    assert left[130] == left[143]


def test_a_training_that_was_terminated_says_how_to_go_on(tmp_path):
    (moment, place), argv, _ = STRIKES["train"]
    struck = ran(tmp_path, "-c", STRUCK, "15", str(moment), place, *argv)
    assert "Stopped before its 60 steps; go on with: modgrok train --resume OUT" in struck.stdout.replace("\n", " ")
    assert struck.returncode == 143


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
