"""The cache of compiled programs as processes of their own meet it: where it is, when there is none, who decides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from streams import said

from modgrok.base.compilation_cache import cache_folder

TRAIN = """
import json, sys
import jax
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("/cache_hits") else None)
import modgrok as mg
run = mg.train("n1 + n2", 5, width=8, steps=2)
print(json.dumps({"hits": len(hits), "losses": run.metrics["train_loss"].tolist()}))
"""

VERIFY = """
import jax
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("/cache_hits") else None)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
import modgrok as mg
assert mg.verify(mg.compile("n1 + n2", 5)).accuracy == 1
print(len(hits))
"""

TOLD = """
import json, os, sys
{before}
from modgrok.base.compilation_cache import use_compilation_cache
{between}
use_compilation_cache()
import jax
{after}
print(json.dumps([jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs]))
"""


@pytest.fixture
def home(tmp_path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def process(home):
    """Runs a script where only the variables given speak of caches; warnings are errors."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "MODGROK_", "XDG_"))}

    def run(script: str, **variables: str | Path | None) -> object:
        chosen = kept | {"HOME": str(home)} | variables
        environment = {name: str(value) for name, value in chosen.items() if value is not None}
        command = [sys.executable, "-W", "error", "-c", script]
        done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    return run


def told(before: str = "", between: str = "", after: str = "") -> str:
    """A script that says what JAX was told, with lines before modgrok is imported, before and after it decides."""
    return TOLD.format(before=before, between=between, after=after)


def entries(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.endswith("-cache")}


# ------------------------------------------------------------------------------------------ what it is for


def test_a_second_process_finds_what_the_first_compiled(process, tmp_path):
    folder = tmp_path / "new" / "cache"
    first = process(TRAIN, MODGROK_CACHE=folder)
    kept = entries(folder)
    assert kept and first["hits"] == 0
    second = process(TRAIN, MODGROK_CACHE=folder)
    assert second["hits"] == len(kept) and kept <= entries(folder), "a program of 0.1 seconds may take its turn later"
    assert second["losses"] == first["losses"], "bit for bit"


def test_off_keeps_nothing(process, home):
    """Not even programs that compile in no time."""
    assert process(VERIFY, MODGROK_CACHE="off") == 0
    assert list(home.iterdir()) == []


def test_the_command_line_uses_it_too(home, tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "MODGROK_", "XDG_"))}
    environment = kept | {"HOME": str(home), "MODGROK_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "modgrok", "compile", "n1 + n2", "--mod", "5", "--json"]
    done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)
    assert (done.returncode, said(done.stderr)) == (0, "") and json.loads(done.stdout)["accuracy"] == 1
    assert (tmp_path / "cache").is_dir() and list(home.iterdir()) == []


# ------------------------------------------------------------------------------------------ where it is


def test_the_variable_turns_it_off(process, home, monkeypatch):
    assert process(told(), MODGROK_CACHE="off")[0] is None
    assert list(home.iterdir()) == []
    for word in ("off", "OFF", "0", "no"):
        monkeypatch.setenv("MODGROK_CACHE", word)
        assert cache_folder() is None


def test_it_is_in_the_folder_that_the_variable_names(process, home, tmp_path):
    assert process(told(), MODGROK_CACHE=tmp_path / "mine") == [str(tmp_path / "mine"), 0.1]


def test_else_it_is_in_the_cache_of_the_user(process, home, tmp_path, monkeypatch):
    assert process(told())[0] == str(home / ".cache" / "modgrok" / "jax")
    monkeypatch.delenv("MODGROK_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "modgrok" / "jax"
    monkeypatch.setenv("MODGROK_CACHE", "~/mine")
    assert cache_folder() == home / "mine"


@pytest.mark.parametrize("when", ["before", "between"])
def test_it_does_not_matter_whether_jax_was_imported_before(process, tmp_path, when):
    assert process(told(**{when: "import jax"}), MODGROK_CACHE=tmp_path / "mine") == [str(tmp_path / "mine"), 0.1]


# ------------------------------------------------------------------------------------------ where there is none


def test_a_user_without_a_home_has_none(process):
    """Neither the variable nor the list of users knows one, as in containers with any number for a user."""
    nobody = "import pwd\ndef unknown(number): raise KeyError(number)\npwd.getpwuid = unknown"
    assert process(told(before=nobody), HOME=None)[0] is None


def test_a_folder_that_cannot_be_made_is_no_error(process, tmp_path):
    (tmp_path / "file").write_text("")
    assert process(told(), MODGROK_CACHE=tmp_path / "file" / "cache")[0] is None
    assert process(told(), MODGROK_CACHE=tmp_path / "file")[0] is None


def test_a_folder_that_cannot_be_written_is_no_error(process):
    """Root may write anywhere, so root becomes nobody once everything is imported."""
    nobody = "import jax\nif os.geteuid() == 0: os.setuid(65534)"
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        assert process(told(between=nobody), MODGROK_CACHE=folder)[0] is None


# ------------------------------------------------------------------------------------------ who decides


def test_a_cache_of_the_users_own_stays(process, home, tmp_path):
    theirs = tmp_path / "theirs"
    found = process(told(), JAX_COMPILATION_CACHE_DIR=theirs, MODGROK_CACHE=tmp_path / "ours")
    assert found[0] == str(theirs) and found[1] != 0.1, "nor are other options of theirs touched"
    assert not (tmp_path / "ours").exists()
    script = told(before=f"import jax\njax.config.update('jax_compilation_cache_dir', {str(theirs)!r})")
    found = process(script, MODGROK_CACHE=tmp_path / "ours")
    assert found[0] == str(theirs) and found[1] != 0.1
