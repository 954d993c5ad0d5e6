"""Ctrl-C where Python cannot raise it, and after the answer; readers that are gone. Not a word, and nothing is lost."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from modgrok import cli
from modgrok.base import interrupts, printing

SOURCE = str(Path(cli.__file__).parents[1])


class Interrupted:
    """Raises what Ctrl-C raises where nobody can catch it, as in a callback of the garbage collector."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_that_python_swallows_comes_again(monkeypatch, capfd):
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # and the one that is there now comes back
    interrupts.repeat_interrupts()

    def interrupted() -> None:
        """All of it is awaited: nobody knows how late this thread, or that of the repetition, goes on."""
        Interrupted()
        time.sleep(600)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capfd.readouterr().err == ""


def test_an_interrupt_of_an_import_waits_for_its_end(monkeypatch, capfd):
    """A library in C++ whose import is interrupted ends the whole process: KeyboardInterrupt where it expects none."""
    steps = []

    def imported(name: str) -> None:
        steps.append("begun")
        signal.raise_signal(signal.SIGINT)
        steps.append("ended")

    monkeypatch.setattr(cli, "import_module", imported)
    assert cli.main(["train"]) == 130 and steps == ["begun", "ended"]
    assert capfd.readouterr().err == "interrupted\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_after_the_answer_changes_nothing():
    ends = "atexit.register(os.kill, os.getpid(), signal.SIGINT)"
    code = f"import atexit, os, signal, sys; {ends}; from modgrok.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        env=os.environ | {"PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("modgrok ")


class NobodyReads(io.StringIO):
    """The pipe of `modgrok … | head -c 0`, once head is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_an_answer_that_nobody_reads_is_not_a_wrong_result():
    """rich ends the process with code 1, which means that something was checked and found wrong."""
    with pytest.raises(BrokenPipeError):
        printing.console(file=NobodyReads()).print("an answer")
    telling = printing.console(stderr=True, file=NobodyReads())
    telling.print("half of it")
    assert telling.quiet, "the work goes on"
