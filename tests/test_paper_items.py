"""What items have in common: the registry, results and their JSON, figures, and the verb that computes them."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import pytest

import modgrok
from modgrok import cli
from modgrok.base import repository
from modgrok.base.errors import InputError
from modgrok.base.provenance import UNKNOWN
from modgrok.base.repository import study
from modgrok.commands.paper import column_widths
from modgrok.figures.style import Figure
from modgrok.report import reproducing
from modgrok.report.reproducing import paper, report_items
from modgrok.reproduction.item import (
    Effort,
    ItemResult,
    ItemTable,
    Summary,
    Verdict,
    cell,
    implementation,
)
from modgrok.reproduction.records import read_recorded
from modgrok.reproduction.registry import ALL, BEYOND, ERRATA, ITEMS, PAPER
from modgrok.training.bench import Case, bench

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
PACKAGE = Path(reproducing.__file__).parent.parent
CHEAP = ("classes", "law")
"""Items that take a second; the others are computed by the tests of their own modules and of the report."""


# ------------------------------------------------------------------------------------------ the registry


@pytest.mark.parametrize("item", ALL, ids=lambda item: item.name)
def test_everything_is_said_about_an_item(item):
    """Adding an item is one module and one entry; this says what both must have."""
    assert item.heading and item.purpose and item.section in (PAPER, ERRATA, BEYOND)
    assert item.purpose[0].islower() and not item.purpose.endswith("."), "a line of the command's help"
    module = implementation(item.name)
    computing = study(item.name) if item.is_study else module
    assert list(inspect.signature(computing.compute).parameters) == ["effort"]
    assert list(inspect.signature(module.summarise).parameters) == ["result"]
    assert hasattr(module, "figures") == bool(item.pictures)
    assert all(len(picture.alt) > 40 for picture in item.pictures.values())
    if item.computed != "always":
        assert item.recorded_by, "what the report does not compute itself must be recorded"
    assert item.keeps_parts or not item.time_limited


def test_names_and_headings_tell_items_apart():
    assert list(ITEMS) == [item.name for item in ALL] and len(ITEMS) == len(ALL)
    assert len({item.heading for item in ALL}) == len(ALL)
    pictures = [name for item in ALL for name in item.pictures]
    assert len(set(pictures)) == len(pictures), "they lie in one folder"


def test_help_lists_every_item_and_imports_nothing_that_computes(capsys):
    with pytest.raises(SystemExit):
        cli.main(["paper", "--help"])
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in (*ITEMS, "all"))
    code = "import sys, modgrok.commands.paper as p; print({'jax', 'numpy', 'matplotlib'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


# ------------------------------------------------------------------------------------------ results

MADE_UP = ItemResult(
    item="classes",
    title="Is <b> bold & 1 < 2?",
    settings={"modulus": 7, "fraction": None},
    published={"claim": "<i>"},
    measured={"error": 0.125, "runs": [1, None]},
    verdict=Verdict.PARTLY,
    notes=("a <note>",),
    columns={"a": "<a>", "b": "b"},
    rows=[{"a": "<1>", "b": 12345, "hidden": True}, {"a": None, "b": 0.5}],
    further_tables=(ItemTable("more", {"c": "c"}, [{"c": False}]),),
    data={"curves": {"x": [1.5, 2.0]}},
    why="because",
    seconds=1.5,
    files=(Path("paper/classes.json"),),
    provenance=(UNKNOWN,),
)


def test_a_result_survives_json():
    stored = json.loads(json.dumps(MADE_UP.to_json(), allow_nan=False))
    assert ItemResult.from_json(stored) == MADE_UP
    assert (stored["verdict"], stored["seconds"], stored["files"]) == ("partly reproduced", 1.5, ["paper/classes.json"])


def test_what_whoever_stores_it_fills_in_may_be_missing_and_other_keys_are_left_out():
    stored = MADE_UP.to_json() | {"of_another_version": 1}
    for name in ("why", "seconds", "files", "further_tables", "data", "provenance"):
        del stored[name]
    assert ItemResult.from_json(stored) == replace(MADE_UP, why="", seconds=0.0, files=(), further_tables=(), data={})


@pytest.mark.parametrize("change", [{"verdict": "splendid"}, {"notes": None}, {"further_tables": [{"rows": []}]}])
def test_what_is_not_a_result_is_refused(change):
    with pytest.raises(InputError, match="not the result of an item"):
        ItemResult.from_json(MADE_UP.to_json() | change)
    with pytest.raises(InputError, match="not the result of an item"):
        ItemResult.from_json({})


def test_a_result_is_one_line_and_a_table_in_notebooks():
    assert repr(MADE_UP) == "<ItemResult: Is <b> bold & 1 < 2?: partly reproduced, because>"
    shown = MADE_UP._repr_html_()
    for text in ("&lt;a&gt;", "&lt;1&gt;", "12,345", "–", "partly reproduced", "a &lt;note&gt;", "modulus 7", "more"):
        assert text in shown
    assert not {"<a>", "<1>", "<b>", "<note>"} & set(shown.replace("><", "> <").split()), "everything is escaped"
    assert "hidden" not in shown


def test_an_item_fills_in_why_and_seconds():
    result = ITEMS["classes"].compute(Effort("quick"))
    assert result.seconds > 0 and result.why == "a checked witness or a checked proof for each"
    (made,) = result.provenance
    assert (made.version, made.libraries["jax"], made.device) == (modgrok.__version__, jax.__version__, "cpu")
    assert made.settings == {"item": "classes", "size": "quick", "everything": False} and made.seconds == result.seconds
    assert ITEMS["classes"].summarise(result) == Summary(*ITEMS["classes"].summarise(result)[:2], result.why)
    assert ItemResult.from_json(result.to_json()) == result, "plain JSON values, as if it had been stored"


# ------------------------------------------------------------------------------------------ what is recorded


@pytest.mark.parametrize("item", [item for item in ALL if item.recorded_by], ids=lambda item: item.name)
def test_recorded_results_can_be_read_summarised_and_drawn(item):
    found = read_recorded(item.name)
    assert found is not None and found.command == item.recorded_by and found.where
    assert found.result.item == item.name
    assert all(item.summarise(found.result)) and item.summarise(found.result).why == found.result.why
    figures = found.result.figures()
    assert list(figures) == list(item.pictures)
    assert all(type(figure) is Figure for figure in figures.values())


def test_recorded_results_are_those_of_the_benchmarks():
    """Run `python benchmarks/record.py` when a recorded result has changed."""
    spec = importlib.util.spec_from_file_location("record", BENCHMARKS / "record.py")
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    sources = json.loads(json.dumps(record.recordable()))
    shipped = {path.stem: json.loads(path.read_text()) for path in record.PACKAGE.glob("*.json")}
    assert shipped == sources, "run: python benchmarks/record.py"
    assert sum(path.stat().st_size for path in record.PACKAGE.glob("*.json")) < 322_000


# ------------------------------------------------------------------------------------------ the verb


@pytest.mark.parametrize("name", CHEAP)
def test_an_item_is_computed_stored_and_drawn(name, tmp_path):
    result = paper(name, out=str(tmp_path), quick=True)
    assert result.item == name and result.files[0] == tmp_path / f"{name}.json"
    assert {path.name for path in result.files} == {path.name for path in tmp_path.iterdir()}
    assert ItemResult.from_json(json.loads(result.files[0].read_text())) == result


def test_the_example_in_the_docstring_is_true():
    assert doctest.testmod(reproducing).failed == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"item": "figure9"}, "item must be all or one of table1, .*; got 'figure9'"),
        ({"item": "all", "quick": True, "full": True}, "give one or the other"),
        ({"item": "all", "time_limit": 3}, "all takes no time limit, got 3 seconds; leave it out, or ask for endtoend"),
        ({"item": "table1", "time_limit": 3}, "table1 takes no time limit"),
        ({"item": "strong", "time_limit": 0}, "time limit must be a positive number of seconds, got 0"),
        ({"item": "strong", "time_limit": float("nan")}, "time limit must be a positive number of seconds, got nan"),
        ({"item": "endtoend", "time_limit": float("inf")}, "time limit must be a positive number of seconds, got inf"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(arguments, message, tmp_path):
    with pytest.raises(InputError, match=message) as refused:
        paper(**arguments, out=tmp_path)
    assert "\n" not in str(refused.value) and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_command_shows_items_in_any_width(columns, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", columns)
    for name in CHEAP:
        assert cli.main(["paper", name, "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if not line.startswith(str(tmp_path))) <= int(columns)
    assert any(line.startswith("Reproduced: a checked witness") for line in lines)
    verdicts = [line for line in lines if line.partition(":")[0].lower() in list(Verdict)]
    assert lines[0] in verdicts and len(verdicts) == len(CHEAP), "each begins with its verdict"
    assert str(tmp_path / "law.svg") in lines


def test_tables_shrink_their_widest_column_and_cut_no_word():
    columns = [["polynomial", "(2n1 + 3n2)^4 - n1^2"], ["mod", "23"], ["test accuracy", "0.9999"]]
    assert column_widths(columns, 40) == [20, 3, 13], "there is room for all"
    assert column_widths(columns, 30) == [14, 3, 13]
    assert column_widths(columns, 10) == [10, 3, 8], "no narrower than the longest words"


@pytest.mark.parametrize(
    "value, digits, printed",
    [(None, 4, "–"), (True, 4, "yes"), (12345, 4, "12,345"), (0.123456, 4, "0.1235"), (1.0, 4, "1"), ("a", 4, "a")]
    + [(0.99999, 4, "0.9999"), (0.9999, 3, "0.999"), (-0.99999, 4, "-1"), (1e-31, 3, "1e-31")],
)
def test_values_are_printed_short_and_never_as_1_where_they_are_less(value, digits, printed):
    assert cell(value, digits) == printed


def test_without_a_clone_studies_are_shown_and_not_computed(tmp_path, monkeypatch):
    assert {item.name for item in report_items("full")} > {"strong", "endtoend"}
    monkeypatch.setattr(repository, "STUDIES", tmp_path)
    assert not {item.name for item in report_items("full")} & {"strong", "endtoend"}
    with pytest.raises(InputError, match="needs studies/strong.py of the repository, got the package alone; call it f"):
        paper("strong", quick=True, out=tmp_path / "paper")
    found = bench(cases=[Case(5, 4, 1)], rounds=1, seconds=0.001)
    assert found.contenders == ("modgrok",) and found.summary().endswith("network-steps a second")
