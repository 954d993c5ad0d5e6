"""Ctrl-C, whenever and however often it comes: nothing keeps running, nothing is half-written, and no traceback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

pytest.importorskip("starlette", reason="the explorer needs starlette and uvicorn")

from explorer_client import PATIENCE, Explorer

from modgrok import cli
from modgrok.explorer.workers import environment

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc what runs"),
]
STRUCK = """
import os, signal, sys
from importlib import import_module

module, *path, name = sys.argv.pop(1).split(".")
owner = import_module(f"modgrok.explorer.{module}")
for part in path:
    owner = getattr(owner, part)
original = getattr(owner, name)

def struck(*words, **named):
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
    return original(*words, **named)

setattr(owner, name, struck)
from modgrok.cli import main
sys.exit(main())
"""
"""`modgrok`, with Ctrl-C pressed twice at the moment when something is called for the first time."""


def running(mark: str) -> list[int]:
    """The processes that were started with this mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"MARK={mark}".encode() in (place / "environ").read_bytes().split(b"\0"):
                found.append(int(place.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    "moment, code",
    [
        ("serving.bound", 130),
        ("laboratory.Laboratory.open", 0),
        ("server.passed_on", 0),
        ("laboratory.Laboratory.close", 0),
        ("serving.Explored", 130),
    ],
)
def test_ctrl_c_at_any_moment_ends_everything_without_a_traceback(moment, code, tmp_path):
    ends_itself = ["--seconds", "0.1"] if moment in ("laboratory.Laboratory.close", "serving.Explored") else []
    with subprocess.Popen(
        [sys.executable, "-c", STRUCK, moment, "explore", "--no-open", "--port", "0", *ends_itself],
        cwd=tmp_path,
        env=environment() | {"MARK": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            if moment == "server.passed_on":
                with urlopen(f"{process.stdout.readline().strip()}api/function?expression=n1&mod=5") as response:
                    assert json.load(response)["modulus"] == 5
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert "Traceback" not in errors and process.returncode == code, errors
    assert running(str(tmp_path)) == [] and list(tmp_path.iterdir()) == []


def test_ctrl_c_twice_while_a_network_trains_leaves_a_run_that_can_go_on(tmp_path, monkeypatch, capsys):
    with open(tmp_path / "errors", "w+") as errors:
        explorer = Explorer(tmp_path, stderr=errors)
        children = explorer.children()
        events = explorer.events()
        next(events)
        settings = {"width": 512, "steps": 200_000, "snapshots": 4}  # minutes
        _, begun = explorer.post("/api/trainings", {"expression": "n1 n2", "mod": 31, "settings": settings})
        next(name for name, data, _ in events if name == "point" and data["measured"])
        explorer.process.send_signal(signal.SIGINT)
        assert explorer.close() == 0  # that is Ctrl-C once more
        assert not any(Path(f"/proc/{child}").exists() for child in children)
        errors.seek(0)
        assert "Traceback" not in errors.read()
    monkeypatch.chdir(tmp_path)
    assert cli.main(["runs", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (Path(run["folder"]).name, run["state"]) == (begun["run"], "stopped")
