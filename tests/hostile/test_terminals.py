"""What reaches a terminal, and what a terminal says of itself: no name drives it, and a width of zero is none."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import warnings
from contextlib import suppress

import numpy as np
import pytest
from rich.table import Table
from rich.text import Text

from modgrok import cli
from modgrok.base import printing
from modgrok.training.run_list import compare
from modgrok.training.train import train

NAME = "a\x1b[31m\x9b2J\x7f\u202e\u2066b\x07.csv"
"""Controls of both kinds, delete, and marks that turn the direction of writing."""
DRIVES = set("\x1b\x9b\x7f\u202e\u2066\x07\r\x08")


@pytest.fixture
def strange(tmp_path):
    np.savetxt(tmp_path / NAME, [[0, 1, 2], [1, 2, 0], [2, 0, 1]], "%d", ",")
    return tmp_path


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    "shown", [NAME, Text(NAME), Text.assemble((NAME, "bold"), NAME)], ids=["words", "text", "assembled"]
)
def test_whatever_is_printed_is_made_visible(shown, terminal):
    console = printing.console(file=io.StringIO(), force_terminal=terminal, width=200, color_system=None)
    table = Table(NAME)
    table.add_row(shown)
    for what in (shown, table):
        console.print(what)
    found = console.file.getvalue()
    assert not DRIVES & set(found) and "\\x1b[31m\\x9b2J\\x7f\\u202e\\u2066b" in found


def test_no_command_lets_the_name_of_a_table_reach_the_terminal(strange, monkeypatch, capfd):
    monkeypatch.chdir(strange)
    for argv in (
        ("classify", NAME),
        ("classify", NAME, "--proof"),
        ("train", "--table", NAME, "--steps", "2", "--width", "3", "--out", f"run{NAME}"),
        ("verify", NAME),
        ("runs", "."),
        ("inspect", NAME, "--out", "i"),
    ):
        with suppress(SystemExit):
            cli.main([*argv])
        said = "".join(capfd.readouterr())
        assert not DRIVES & set(said), argv
        assert "\\x1b[31m" in said, argv


@pytest.mark.draws
def test_a_figure_draws_names_that_no_font_has_without_a_warning(strange, monkeypatch):
    monkeypatch.chdir(strange)
    (strange / "$\\foo$.csv").write_bytes((strange / NAME).read_bytes())
    runs = [train(f"./{name}", steps=2, width=3, out=f"run{k}{name}") for k, name in enumerate((NAME, "$\\foo$.csv"))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(*runs).plot()._repr_png_()


def test_warnings_and_lines_of_the_log_are_made_visible(strange):
    code = (
        "import warnings, logging; from modgrok.base.printing import warn_visibly; warn_visibly();"
        "warnings.warn('a\\x1b[31m'); logging.getLogger('modgrok').warning('b%s', '\\x1b[31m')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stderr and "UserWarning: a\\x1b[31m" in done.stderr and "b\\x1b[31m" in done.stderr
    assert logging.lastResort is not None


@pytest.mark.parametrize("columns", ["0", "-3", "", "wide", "²", "1" * 5000, "999999999"])
def test_a_terminal_without_columns_is_one_that_does_not_say(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    console = printing.console(file=io.StringIO())
    assert console.width == 80
    console.print("an answer")
    assert console.file.getvalue() == "an answer\n"
    monkeypatch.setenv("COLUMNS", "33")
    assert printing.console(file=io.StringIO()).width == 33
