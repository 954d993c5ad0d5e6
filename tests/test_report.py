"""The report as a whole is built by the verb `paper`: what is computed, what is reused, and what a script reads."""

from __future__ import annotations

import json
import shlex
from copy import deepcopy
from functools import partial
from pathlib import Path

import pytest

from modgrok import cli
from modgrok.report import reproducing
from modgrok.report.reproducing import Report, report_items, write_report
from modgrok.reproduction.item import Effort, ItemResult, implementation
from modgrok.reproduction.registry import ALL, ITEMS, PAPER

QUICK_ITEMS = [ITEMS["networks"], ITEMS["classes"]]
"""Items that are computed in seconds, whole."""


@pytest.fixture(scope="module")
def computed() -> dict[str, ItemResult]:
    return {item.name: implementation(item.name).compute(Effort("quick")) for item in QUICK_ITEMS}


@pytest.fixture(autouse=True)
def computed_once_and_nothing_recorded(computed, monkeypatch):
    """Computing again takes seconds, and so does drawing what is recorded."""

    def again(name: str, effort: Effort) -> ItemResult:
        for done in range(1, 5):
            effort.progress(done, 4)
        return deepcopy(computed[name])

    for name in computed:
        monkeypatch.setattr(implementation(name), "compute", partial(again, name))
    monkeypatch.setattr(reproducing, "read_recorded", lambda name: None)


def make(out: Path) -> tuple[Report, list[str]]:
    """The report, and the lines that were said."""
    said: list[str] = []
    return write_report(QUICK_ITEMS, out, Effort("quick", say=said.append)), said


def test_missing_results_are_computed_and_whole_ones_reused(tmp_path):
    first, said = make(tmp_path)
    assert said == ["networks: computing (not stored yet)", "classes: computing (not stored yet)"]
    assert first.reused == ()

    second, said = make(tmp_path)
    assert said == [] and second.reused == ("networks", "classes")
    assert second.items == first.items, "seconds and files too"

    damaged = tmp_path / "results" / "networks.json"
    damaged.write_text(damaged.read_text().replace("962", "963"))
    third, said = make(tmp_path)
    assert said == ["networks: computing (damaged: its checksum is wrong)"]
    assert "963" in damaged.with_name("networks.json.damaged").read_text()
    assert third.items[0].measured == first.items[0].measured

    (tmp_path / "results" / "classes.json").unlink()
    fourth, said = make(tmp_path)
    assert said == ["classes: computing (not stored yet)"]
    assert fourth.reused == ("networks",)


def test_the_command_lists_every_item(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(reproducing, "report_items", lambda size: [ITEMS["classes"]])
    arguments = ["paper", "all", "--quick", "--out", str(tmp_path)]
    assert cli.main([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == {"item", "size", "items", "recorded", "differing", "files", "seconds"}
    (entry,) = printed["items"]
    assert set(entry) == {"item", "published", "measured", "verdict", "why", "reused", "seconds", "files", "provenance"}
    named = shlex.join([*arguments[:-1], tmp_path.name])
    assert entry["provenance"][0]["command"] == f"modgrok {named} --json", "no folder of this machine is in it"
    assert entry["reused"] is False and entry["files"] == [str(tmp_path / "results" / "classes.json")]
    assert isinstance(printed["seconds"], float) and isinstance(entry["seconds"], float)
    assert printed["files"] == [str(tmp_path / "report.html"), str(tmp_path / "report.md")]
    assert Path(printed["files"][0]).read_text().startswith("<!doctype html>")
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "reused" in shown and "report.html" in shown


def test_a_report_is_one_line_and_a_table_in_notebooks(tmp_path):
    report = write_report([ITEMS["classes"]], tmp_path, Effort("quick"))
    assert repr(report) == f"<Report: 1 reproduced; {tmp_path / 'report.html'}>"
    assert "<th style='text-align:left'>Which polynomials have the form</th>" in report._repr_html_()


def test_the_default_report_has_every_item_that_two_cores_can_compute():
    standard = [item.name for item in report_items("standard")]
    assert standard == [item.name for item in report_items("quick")]
    assert [name for name in standard if ITEMS[name].section == PAPER] == [
        "table1",
        "table2",
        "figure1",
        "figure2",
        "figure3",
    ]
    assert [item.name for item in report_items("full") if item.name not in standard] == [
        "mathematics",
        "endtoend",
        "strong",
    ]
    assert [item.name for item in ALL if item not in report_items("full")] == ["law"]


def test_progress_counts_over_all_items_and_the_page(tmp_path):
    seen: list[tuple[int, int]] = []
    effort = Effort("quick", progress=lambda done, total: seen.append((done, total)))
    write_report([ITEMS["classes"], ITEMS["law"]], tmp_path, effort)
    assert seen == sorted(seen) and seen[-3:] == [(33, 100), (67, 100), (100, 100)]
