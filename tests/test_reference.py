"""docs/commands.md is what the code says, and what a command prints with --json is what it documents."""

from __future__ import annotations

import csv
import json
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from planted_census import plant, slice_of

from modgrok import cli
from modgrok.algebra.function import read_function
from modgrok.compiler.compiling import compile
from modgrok.networks.description import Learned
from modgrok.report import reproducing
from modgrok.reproduction.records import read_recorded
from modgrok.reproduction.registry import ALL, ITEMS
from modgrok.separable import decide
from modgrok.separable.checking import write_certificate
from modgrok.training.inspecting import inspect
from modgrok.training.train import load_run, train
from release import reference
from studies import dataset_building

EXAMPLES = Path(__file__).parents[1] / "benchmarks" / "zoo"
PAGE = Path(__file__).parent.parent / "docs" / "commands.md"

PLAN = """
steps = 2
[tables]
random = 2
[[settings]]
moduli = [5]
widths = [4]
fractions = [0.5]
"""

INVOCATIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("classify", ""): ("classify", "n1 n2", "--mod", "5"),
    ("check", ""): ("check", "proof.json"),
    ("census", "PLAN"): ("census", "plan.toml", "--out", "trained"),
    ("census", "annotate"): ("census", "annotate", "planted"),
    ("census", "report"): ("census", "report", "planted"),
    ("census", "fit"): ("census", "fit", "planted"),
    ("census", "fractions"): ("census", "fractions", "planted"),
    ("census", "query"): ("census", "query", "planted", "SELECT 1 AS one"),
    ("dataset", ""): ("dataset", "build", "--out", "data-set"),
    ("zoo", "build"): ("zoo", "build", "--out", "zoo", "--only", "power-sum-19-0"),
    ("zoo", "list"): ("zoo", "list", str(EXAMPLES)),
    ("zoo", "score"): ("zoo", "score", "power-alone"),
    ("bench", "census"): ("bench", "census", "--plan", "plan.toml"),
    ("bench", "train"): (
        *("bench", "train", "--case", "5,4,1", "--rounds", "1", "--seconds", "0.001", "--called-steps", "0"),
    ),
    ("compile", ""): ("compile", "n1 n2", "--mod", "5", "--out", "compiled.safetensors"),
    ("share", ""): ("share", "n1 + n2", "--mod", "5", "--out", "page.html"),
    ("verify", ""): ("verify", "net.safetensors"),
    ("predict", ""): ("predict", "net.safetensors", "3", "4"),
    ("export", ""): ("export", "net.safetensors", "--to", "torch"),
    ("sweep", ""): (
        *("sweep", "n1 + n2", "--mod", "5", "--width", "4", "--steps", "2"),
        *("--learning-rate", "0.005,0.01", "--out", "swept"),
    ),
    ("train", "EXPRESSION --seeds N"): (
        "train",
        "n1 + n2",
        "--mod",
        "5",
        "--width",
        "4",
        "--steps",
        "2",
        "--seeds",
        "2",
    ),
    ("train", "EXPRESSION"): ("train", "n1 + n2", "--mod", "5", "--width", "4", "--steps", "2", "--out", "run"),
    ("runs", ""): ("runs", "trained-runs"),
    ("tasks", ""): ("tasks",),
    ("compare", ""): ("compare", "trained-runs/a", "trained-runs/b"),
    ("watch", ""): ("watch", "trained-runs/a"),
    ("inspect", ""): ("inspect", "net.safetensors"),
    ("decompile", ""): ("decompile", "net.safetensors"),
    ("paper", "ITEM"): ("paper", "classes", "--out", "item"),
    ("paper", "all"): ("paper", "all", "--quick", "--out", "report"),
    ("paper", "diff A B"): ("paper", "diff", "recorded", "recorded"),
    ("explore", ""): ("explore", "--no-open", "--port", "0", "--seconds", "0.1"),
    ("mix", ""): ("mix", "n1 n2", "--mod", "5", "--trained", "none"),
}
"""(command, action) and the words of a tiny call, where plan.toml, net.safetensors, runs and a planted census lie."""

OUTSIDE = ("classify", "n1^2 + n1 n2 + n2^2", "--mod", "7")
"""A call whose object has what the one above lacks: a refutation."""

MAPS = {
    "settings": "by setting: its value, or its value in each of several runs",
    "plan": "a census's TOML file",
    "varied": "by setting: the values that a sweep tries",
    "rows": "of a table, by column; those of a query are what was asked for",
    "columns": "of a table, their headings",
    "published": "in the words of one item of the paper",
    "measured": "the same",
    "data": "what the figures of one item need",
    "numbers": "columns of a comparison: by metric, a value for each run",
    "measures": "columns of a film: by measure, a value for each step",
    "outcomes": "by outcome",
    "error_held_out": "by what was held out",
    "coverage": "by what was held out",
}
"""Objects whose keys are data, and may be spelled like a key of another meaning."""

KINDS = {bool: "boolean", int: "number", float: "number", str: "string", list: "list", dict: "object"}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workplace")
    (folder / "plan.toml").write_text(PLAN)
    plant(folder / "planted")
    slice_of("results", folder / "sliced", 60)
    asked = read_function("n1 n2", 5)
    write_certificate(folder / "proof.json", asked, [("additive", decide(asked.table, 5, False))])
    compile("n1 + n2", 5).save(folder / "net.safetensors")
    shutil.copytree(EXAMPLES / "power-sum-19-0", folder / "power-alone" / "power-sum-19-0")
    shutil.copytree(EXAMPLES, folder / "zoo")  # all there: nothing is trained
    for seed, name in enumerate("ab"):
        train("n1 + n2", 5, width=4, steps=2, seed=seed, snapshots=1, out=folder / "trained-runs" / name)
    return folder


@pytest.fixture(scope="module")
def printed(workplace):
    """What a command prints with --json, by its words; each is called once."""

    @cache
    def object_of(*words: str) -> dict[str, Any]:
        text = StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(text):
            patch.chdir(workplace)
            patch.setattr(reproducing, "report_items", lambda size: [ITEMS["classes"]])  # the others take minutes
            patch.setattr(reproducing, "read_recorded", lambda name: None)
            # in place of every census: the tables of a whole one take long to make
            sliced = dict.fromkeys(dataset_building.TEXTS, workplace / "sliced")
            patch.setattr(dataset_building, "censuses_in", lambda source: sliced)
            assert cli.main([*words, "--json"]) == 0
        return json.loads(text.getvalue())

    return object_of


def test_the_page_is_what_the_code_says():
    assert PAGE.read_text(encoding="utf-8") == reference.page(), "run: python release/reference.py > docs/commands.md"


def test_every_command_is_called_below():
    wanted = {(name, action) for name in cli.COMMANDS for action in reference.keys_of(name)}
    assert wanted == set(INVOCATIONS)


@pytest.mark.parametrize("command, action", INVOCATIONS)
def test_the_printed_keys_are_the_documented_ones(command, action, printed):
    found = printed(*INVOCATIONS[command, action])
    assert sorted(found) == sorted(reference.keys_of(command)[action])
    assert isinstance(found.get("seconds", 0.0), float)
    assert isinstance(found.get("files", []), list)


def key_kinds(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every key in an object, nested ones too, with the kind of its value; null goes with any.

    What is in a list has the name of the list and [].
    """
    if name and value is not None:
        yield name, KINDS[type(value)]
    if isinstance(value, list):
        for element in value:
            yield from key_kinds(element, f"{name}[]")
    if isinstance(value, dict) and name.rstrip("[]") not in MAPS:
        for key, item in value.items():
            yield from key_kinds(item, key)


def test_a_key_has_one_type_wherever_it_stands(printed, workplace):
    """In every command, and in what other calls of these print: a film, a trained expert, a refutation, every item."""
    network = compile("n1 + n2", 5)
    learned = replace(network.plan[0], learned=Learned("n1 + n2", 0.5, 1.0))
    more = {
        "inspect, a run": inspect(workplace / "trained-runs" / "a").to_json(),
        "mix, trained": replace(network, plan=(learned,)).to_json(),
    } | {f"paper {item.name}": read_recorded(item.name).result.to_json() for item in ALL if item.recorded_by}
    calls = {" ".join(words): printed(*words) for words in (*INVOCATIONS.values(), OUTSIDE)}
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for call, found in (calls | more).items():
        for name, kind in key_kinds(found):
            places[name].setdefault(kind, call)
    assert {"film", "learned", "measures", "further_tables[]"} <= set(places)
    assert {name: kinds for name, kinds in places.items() if len(kinds) > 1} == {}


def test_two_types_of_a_key_are_told_apart():
    told = set(key_kinds({"a": [1, 2.5, None], "b": [{"a": {"c": True}}], "numbers": {"a": "x"}, "d": None}))
    assert {kind for name, kind in told if name == "a"} == {"list", "object"}
    assert {("a[]", "number"), ("b[]", "object"), ("c", "boolean"), ("numbers", "object")} < told
    assert "string" not in dict(told).values() and "d" not in dict(told)


CSV_ROWS = {
    ("train", "EXPRESSION"): (2, "step,train_loss,test_loss,"),
    ("train", "EXPRESSION --seeds N"): (2, "network,expression,modulus,"),
    ("runs", ""): (2, "folder,title,expression,modulus,"),
    ("tasks", ""): (12, "name,number,expression,structure,text"),
    ("compare", ""): (2, "run,seed,step,"),
    ("verify", ""): (1, "network,accuracy,"),
    ("classify", ""): (None, "family,"),
    ("compile", ""): (1, "kind,text,"),
    ("census", "query"): (1, "one"),
    ("predict", ""): (1, ""),
}
"""How many rows a call of the above has as CSV, and how its first line begins."""


@pytest.mark.parametrize("command, action", CSV_ROWS)
def test_tables_are_printed_as_csv(command, action, workplace, monkeypatch, capsys):
    monkeypatch.chdir(workplace)
    assert cli.main([*INVOCATIONS[command, action], "--csv"]) == 0
    text = capsys.readouterr().out
    rows, (count, beginning) = list(csv.DictReader(text.splitlines())), CSV_ROWS[command, action]
    assert text.startswith(beginning) and (len(rows) == count if count else rows)
    assert all(None not in row and None not in row.values() for row in rows), "every line has every column"


def test_numbers_are_in_full_in_csv_and_json_excludes_it(workplace, monkeypatch, capsys):
    monkeypatch.chdir(workplace)
    assert cli.main(["train", "--resume", "trained-runs/a", "--csv"]) == 0
    last = list(csv.DictReader(capsys.readouterr().out.splitlines()))[-1]
    assert float(last["test_loss"]) == load_run("trained-runs/a").final["test_loss"]
    with pytest.raises(SystemExit, match="2"):
        cli.main(["runs", "trained-runs", "--csv", "--json"])
    assert "not allowed with argument" in capsys.readouterr().err


def test_usage_options_and_defaults_come_from_the_parser():
    text = "\n".join(reference.section("classify"))
    assert "modgrok classify [EXPRESSION] [--mod P] [--group NAME] [--field Q] [--table FILE]" in text
    assert "| `--fraction FRACTION` | share of the table that a network would train on (default 0.5) |" in text
    assert "modgrok census query DIR SQL" in "\n".join(reference.section("census"))
    assert all(len(line) <= 120 for line in reference.page().splitlines() if not line.startswith(("|", "Every")))
