"""The command line as a user meets it: JSON, exit codes, one-line errors, and no file after bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from cases import REFUSED_BY_PAPER, REFUSED_EXPRESSIONS, REFUSED_TASKS
from json_keys import KEYS
from rich.console import Console
from streams import said

from modgrok import __version__, cli
from modgrok.base import progress
from modgrok.base.errors import InputError
from modgrok.base.printing import console, facts_table
from modgrok.base.progress import progress_bar
from modgrok.compiler.compiling import PaperSettings, compile_paper

SUM = ("compile", "n1 + 2n2", "--mod", "11", "--method", "paper", "--add-width", "300")


class Answer:
    """Exit code, stdout and stderr of one call."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict:
        assert self.out.count("\n") == 1, "one object on one line"
        return json.loads(self.out)


@pytest.fixture
def modgrok(capsys, tmp_path, monkeypatch):
    """Runs the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str) -> Answer:
        try:
            code = cli.main([str(word) for word in argv])
        except SystemExit as stop:
            code = stop.code
        return Answer(code, *capsys.readouterr())

    return run


def files() -> list[str]:
    return sorted(str(path) for path in Path().rglob("*"))


# --------------------------------------------------------------------------------------- what is printed


def test_compile_prints_the_documented_object(modgrok):
    text = "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3"
    answer = modgrok("compile", text, "--mod", "97", "--method", "paper", "--seed", "0", "--json")
    assert answer.code == 0
    result = answer.json
    assert result["expression"] == "2 n1^4 n2 + n1^2 n2^2 + 3 n1 n2^3"
    assert (result["modulus"], result["variables"], result["method"]) == (97, ["n1", "n2"], "paper")
    assert [(e["kind"], e["inputs"], e["width"]) for e in result["experts"]] == [
        ("product", ["n1", "n2"], 500),
        ("product", ["n1", "n2"], 500),
        ("product", ["n1", "n2"], 500),
        ("sum", ["e1", "e2", "e3"], 2000),
    ]
    assert (result["width"], result["parameters"]) == (3500, 3 * 3 * 97 * 500 + 4 * 97 * 2000)
    assert (result["accuracy"], result["rows_checked"], result["rows_total"]) == (1.0, 9409, 9409)
    assert 0 < result["mse"] < 0.02 and 0 < result["min_margin"] < 1
    assert result["settings"]["mul_width"] == 500 and result["files"] == [] and result["proof"]["holds"]
    assert (result["model"], result["dtype"], result["notes"]) == ("circuit", "float32", [])
    assert isinstance(result["seconds"], float) and result["seconds"] > 0
    assert set(result) == set(KEYS["compile"])


def test_a_network_goes_through_compile_verify_and_predict(modgrok):
    made = modgrok(*SUM, "--out", "nets/sum.safetensors", "--json").json
    assert made["files"] == ["nets/sum.safetensors"]
    assert files() == ["nets", "nets/sum.safetensors"]
    checked = modgrok("verify", "nets/sum.safetensors", "--json").json
    assert checked["files"] == [] and set(checked) == set(made)
    assert (made["claimed"], checked["claimed"]) == (False, True) and checked["proof"]["holds"]
    own = ("seconds", "files", "claimed")
    assert {key: checked[key] for key in checked if key not in own} == {
        key: made[key] for key in made if key not in own
    }
    asked = modgrok("predict", "nets/sum.safetensors", "10", "7", "--json")
    assert asked.code == 0
    margin = asked.json["margin"]
    assert asked.json == {
        "expression": "n1 + 2 n2",
        "modulus": 11,
        "variables": ["n1", "n2"],
        "row": [10, 7],
        "value": 2,
        "expected": 2,
        "correct": True,
        "margin": margin,
        "row_names": ["10", "7"],
        "value_name": "2",
        "expected_name": "2",
    }
    sampled = modgrok("verify", "nets/sum.safetensors", "--sample", "50", "--json").json
    assert (sampled["rows_checked"], sampled["rows_total"]) == (50, 121)


def test_every_key_is_documented(modgrok):
    documented = (Path(__file__).parent.parent / "docs" / "commands.md").read_text(encoding="utf-8")
    results = [modgrok("compile", "n1 n2 + n1", "--mod", "5", "--out", "net.safetensors", "--json").json]
    results += [modgrok("verify", "net.safetensors", "--json").json]
    results += [modgrok("predict", "net.safetensors", "1", "2", "--json").json]
    results += results[0]["experts"]
    for key in {key for result in results for key in result}:
        assert f"`{key}`" in documented, key


def test_people_get_tables(modgrok):
    made = modgrok(*SUM, "--out", "sum.safetensors")
    assert made.code == 0
    for part in ("n1 + 2 n2", "mod 11", "300", "100 %", "all 121 inputs", "sum.safetensors"):
        assert part in made.out
    assert "100 %" in modgrok("verify", "sum.safetensors").out
    assert modgrok("predict", "sum.safetensors", "1", "2").out.splitlines()[0].startswith("5  (correct, margin ")


def test_a_wrong_network_exits_with_one(modgrok):
    """Too narrow to be right: written and reported, but not a success."""
    narrow = (*SUM[:-1], "4")
    made = modgrok(*narrow, "--out", "bad.safetensors", "--json")
    assert made.code == 1 and made.json["accuracy"] < 1 and made.json["errors"] > 0
    checked = modgrok("verify", "bad.safetensors", "--json")
    assert checked.code == 1
    wrong = checked.json["first_error"]
    assert modgrok("verify", "bad.safetensors").out.count("first wrong input") == 1
    asked = modgrok("predict", "bad.safetensors", *map(str, wrong), "--json")
    assert asked.code == 1 and asked.json["correct"] is False
    assert "wrong: integers give" in modgrok("predict", "bad.safetensors", *map(str, wrong)).out


def test_expressions_may_begin_with_a_minus(modgrok):
    for text in ("-n1", "-n1+n2", "-(n1)", "-3"):
        assert modgrok("compile", text, "--mod", "5", "--method", "paper", "--json").code == 0, text


def test_numbers_that_json_cannot_hold_are_null(modgrok):
    """Without test rows there is no test accuracy."""
    answer = modgrok("train", "n1", "--mod", "5", "--width", "4", "--steps", "1", "--fraction", "1", "--json")
    assert answer.code == 0 and answer.json["final"]["test_accuracy"] is None


def test_trained_networks_of_every_model_are_verified_and_asked(modgrok):
    for model in ("power", "mlp", "transformer"):
        words = ("--model", model, "--width", "8", "--steps", "1", "--out", model)
        assert modgrok("train", "n1 + n2", "--mod", "5", *words, "--json").json["config"]["model"] == model
        checked = modgrok("verify", model, "--json")
        assert checked.code == 1, "one step is not enough"
        assert (checked.json["model"], checked.json["method"], checked.json["rows_checked"]) == (model, "trained", 25)
        assert modgrok("predict", model, "3", "4", "--json").json["expected"] == 2


def test_help_and_version(modgrok):
    for argv in (["--help"], ["compile", "--help"], ["verify", "--help"], ["predict", "--help"], ["paper", "--help"]):
        answer = modgrok(*argv)
        assert answer.code == 0 and answer.out.startswith("usage: modgrok") and answer.err == ""
    assert modgrok("--version").out == f"modgrok {__version__}\n"
    assert all(name in modgrok("--help").out for name in cli.COMMANDS)
    assert modgrok().out == modgrok("--help").out, "nothing at all asks for help"


# ------------------------------------------------------------------------------------------------ bad input


def refused(answer: Answer, message: str, lines: int = 1) -> None:
    assert answer.code == 2
    assert answer.out == ""
    assert message in answer.err
    assert answer.err.count("\n") == lines
    assert "Traceback" not in answer.err
    assert files() == []


@pytest.mark.parametrize(
    "case", [case for case in REFUSED_EXPRESSIONS if "\0" not in case.text], ids=lambda case: case.text[:40]
)
@pytest.mark.parametrize("method", ["paper", "exact"])
def test_expressions_that_cannot_be_read(modgrok, case, method):
    """The message on one line, and two that show the place."""
    answer = modgrok("compile", case.text, "--mod", "97", "--method", method, "--out", "net.safetensors")
    refused(answer, f"modgrok compile: {case.message}", lines=3)
    assert answer.err.splitlines()[2].strip() == "^"


@pytest.mark.parametrize(
    "case", REFUSED_TASKS + REFUSED_BY_PAPER, ids=lambda case: f"{case.text[:30]} mod {case.modulus}"
)
def test_tasks_that_are_refused(modgrok, case):
    mod = [] if case.modulus is None else ["--mod", str(case.modulus)]
    answer = modgrok("compile", case.text, *mod, "--method", "paper", "--out", "net.safetensors", "--json")
    refused(answer, f"modgrok compile: {case.message}", lines=3 if "expression says" in case.message else 1)


@pytest.mark.parametrize(
    "argv, message",
    [
        (("--json",), "the following arguments are required: COMMAND; see modgrok --help"),
        (("bogus",), "invalid choice: 'bogus'"),
        (("compil", "n1", "--mod", "7"), "modgrok: COMMAND: invalid choice: 'compil'; did you mean compile?"),
        (
            ("compile",),
            'compile needs one function: modgrok compile "n1 n2" --mod 97, or modgrok compile --table mine.csv',
        ),
        (("compile", "n1", "--mod", "seven"), "--mod must be a whole number, got 'seven'; see"),
        (("compile", "n1", "--mod", "7.5"), "--mod must be a whole number, got '7.5'; see"),
        (("compile", "n1", "--mod", "7", "--nonsense"), "there is no option --nonsense; see modgrok compile --help"),
        (("compile", "n1", "--mod", "7", "--frequences=3"), "no option --frequences; did you mean --frequencies?"),
        (("train", "n1", "--mod", "7", "--lr", "0.1"), "there is no option --lr; did you mean --learning-rate?"),
        (("train", "n1", "--mod", "7", "--epochs", "5"), "there is no option --epochs; did you mean --steps?"),
        (("train", "n1", "--mod", "7", "--batch-size", "5"), "no option --batch-size; every step uses the whole"),
        (
            ("compile", "x", "+", "y", "--mod", "7"),
            "+ y stands behind the expression; put all of the expression in quotes",
        ),
        (("compile", "n1", "--mod", "7", "--method", "magic"), "invalid choice: 'magic'"),
        ((*SUM[:-1], "0"), "the width of a sum expert must be at least 1, got 0; try 2000"),
        ((*SUM[:-1], "-5"), "the width of a sum expert must be at least 1, got -5"),
        (("compile", "n1 n2", "--mod", "7", "--method", "paper", "--mul-width", "1"), "must be at least 2"),
        ((*SUM, "--beta", "0"), "beta must be a positive number, got 0.0; the paper uses 100"),
        ((*SUM, "--beta", "nan"), "beta must be a positive number, got nan"),
        ((*SUM, "--seed", "-1"), "the seed must be a non-negative integer, got -1"),
        ((*SUM, "--sample", "0", "--out", "net.safetensors"), "the sample must have at least 1 input, got 0"),
        (
            (*SUM[:-1], str(10**12)),
            "one expert may have 268,435,456 weights, got 33,000,000,000,000: 1,000,000,000,000 neurons",
        ),
        ((*SUM, "--out", "."), "cannot write .: it is a folder; give the name of a file"),
        ((*SUM, "--out", "/dev/null/net.safetensors"), "cannot write /dev/null/net.safetensors"),
        (("verify", "missing.safetensors"), "no such network: missing.safetensors"),
        (
            ("verify", "."),
            "the folder . is no run, it has no weights.safetensors; `modgrok runs .` lists the runs in it",
        ),
        (("verify", "/dev/null"), "cannot read /dev/null: it is a device or a pipe; give the name of a file"),
        (("predict", "missing.safetensors", "1"), "no such network: missing.safetensors"),
        (("paper",), "the following arguments are required: ITEM"),
        (("paper", "figure9"), "invalid choice: 'figure9'"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, tuple) else None,
)
def test_bad_arguments(modgrok, argv, message):
    refused(modgrok(*argv), message)


@pytest.mark.parametrize(
    "argv, message",
    [
        (("verify", "net", "--sample", "0"), "the sample must have at least 1 input, got 0"),
        (("verify", "net", "--sample", "-4"), "the sample must have at least 1 input, got -4"),
        (("predict", "net", "1"), "this network takes 2 values (n1, n2), got 1"),
        (("predict", "net", "1", "2", "3"), "this network takes 2 values (n1, n2), got 3"),
        (("predict", "net", "one", "0"), "values must be residues 0 … 10, got one; give whole numbers"),
        (("predict", "net", "11", "0"), "values must be residues 0 … 10, got 11; reduce it modulo 11"),
        (("predict", "net", "-1", "0"), "values must be residues 0 … 10, got -1"),
    ],
)
def test_bad_questions_to_a_good_network(modgrok, tmp_path, argv, message):
    compile_paper("n1 + 2n2", 11, PaperSettings(add_width=5)).save(tmp_path / "net")
    answer = modgrok(*argv)
    (tmp_path / "net").unlink()
    refused(answer, message)


@pytest.mark.parametrize("command", ["verify", "predict"])
def test_a_file_cut_short(modgrok, tmp_path, command):
    path = tmp_path / "net.safetensors"
    compile_paper("n1", 7, PaperSettings(add_width=5)).save(path)
    path.write_bytes(path.read_bytes()[:-10])
    answer = modgrok(command, "net.safetensors", *(["1"] if command == "predict" else []))
    path.unlink()
    refused(answer, "net.safetensors is not a safetensors file, or was cut short")


# -------------------------------------------------------------------------------- the process and its streams


def start(*argv: str, **kwargs) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "modgrok", *argv], capture_output=True, text=True, **kwargs)


def test_the_installed_command_in_a_process_of_its_own(tmp_path):
    done = start(*SUM, "--out", "net.safetensors", "--json", cwd=tmp_path)
    assert (done.returncode, said(done.stderr)) == (0, "")
    assert json.loads(done.stdout)["accuracy"] == 1.0
    refused_there = start("compile", "n1 + foo", "--mod", "7", cwd=tmp_path)
    assert refused_there.returncode == 2 and refused_there.stdout == ""
    assert refused_there.stderr.splitlines()[0].startswith("modgrok compile: unknown name 'foo'")
    assert refused_there.stderr.splitlines()[1:] == ["  n1 + foo", "       ^"]


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "modgrok", *SUM, "--json"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, said(done.stderr)) == (0, "")


def test_an_interrupt_is_no_traceback(modgrok, monkeypatch):
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("modgrok.commands.compile.compile", interrupted)
    answer = modgrok(*SUM)
    assert (answer.code, answer.err, answer.out) == (130, "interrupted\n", "")


def test_progress_is_visible_without_a_terminal(monkeypatch):
    """Lines come while a single piece of work is under way, too, but not too many; short work is silent."""

    def at_work(quiet, between, *lines):
        """What is said until all these lines stand there."""
        monkeypatch.setattr(progress, "QUIET_SECONDS", quiet)
        monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", between)
        printed = StringIO()
        with progress_bar(Console(file=printed), "checking rows") as report:
            for done, line in enumerate(lines):
                report(1000 * done, 10_000) if done else None
                last = time.monotonic() + 120
                while line not in printed.getvalue():
                    assert time.monotonic() < last
                    time.sleep(0.01)
        return printed.getvalue()

    assert said(at_work(0.01, 0.01, "checking rows (", "checking rows: 1,000 of 10,000 (")) == ""
    assert at_work(0.01, 3600, "checking rows (").count("\n") == 1
    assert at_work(3600, 0.01) == ""


def test_no_line_is_broken_before_a_per_cent_sign():
    words = "of 61 inputs a share of 97.25 % is right, which is 3 % more than before"
    for width in range(20, len(words)):
        printed = StringIO()
        terminal = console(file=printed, width=width)
        terminal.print(words)
        terminal.print(facts_table({"share": words}))
        assert " ".join(printed.getvalue().split()) == f"{words} share {words}"
        assert not any(line.lstrip().startswith("%") for line in printed.getvalue().splitlines()), width


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_fits_a_terminal_and_breaks_no_word(modgrok, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    lines = modgrok(command, "--help").out.splitlines()
    assert max(map(len, lines)) <= 80 and not any(line.endswith("-") for line in lines)


def test_errors_have_one_type():
    assert issubclass(InputError, ValueError)


MEMORY_PROBE = """
import resource, sys
from modgrok.compiler.compiling import PaperSettings, compile_paper
from modgrok.networks.verification import verify
reports = []
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
network = compile_paper("n1 + n2", 251, PaperSettings(add_width=2000))
before = peak()
found = verify(network, progress=lambda done, total: reports.append(done))
print(found.rows_checked, found.accuracy, len(reports), peak() - before)
"""


def test_a_large_check_takes_little_memory_and_reports_often():
    """63,001 rows of a two-term sum of width 2000: half a GiB if all were held at once."""
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB elsewhere
    done = subprocess.run([sys.executable, "-c", MEMORY_PROBE], capture_output=True, text=True, check=True)
    rows, accuracy, reports, taken = done.stdout.split()
    assert (int(rows), float(accuracy)) == (63_001, 1.0)
    assert int(reports) > 50
    assert int(taken) * unit < 2**28
