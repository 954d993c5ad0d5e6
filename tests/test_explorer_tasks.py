"""The long work of the explorer beside trainings: probes and items of the paper, as its child does them."""

from __future__ import annotations

import json

import pytest

from modgrok.answers import probe as probing
from modgrok.explorer import tasks
from modgrok.reproduction.item import Effort, implementation
from modgrok.training import presets

PLACES = {"runs": "runs", "tables": "tables", "census": "", "job": "a job"}


@pytest.fixture
def told():
    return []


@pytest.fixture
def emit(told):
    return lambda name, data: told.append((name, data))


def test_a_probe_on_the_page_is_that_of_the_command_line(monkeypatch, told, emit):
    monkeypatch.setitem(presets.DEFAULTS, "steps", 4)
    monkeypatch.setattr(probing, "SEGMENT", 2)
    found = tasks.probe(PLACES | {"expression": "n1 n2", "mod": 7, "fraction": "0.6"}, emit, lambda: False)
    theirs = probing.probe_function(tasks.asked_function(PLACES | {"expression": "n1 n2", "mod": 7}), fraction=0.6)
    clock = {"seconds": 0}
    assert found | clock == theirs.to_json() | {"text": theirs.summary()} | clock and found["fraction"] == 0.6
    assert [(name, data["job"], data["done"], data["total"]) for name, data in told] == [
        ("progress", "a job", 2, 4),
        ("progress", "a job", 4, 4),
    ]


def test_an_item_of_the_paper_is_computed_once_and_stored_where_the_report_finds_it(tmp_path, monkeypatch, told, emit):
    efforts, compute = [], implementation("classes").compute

    def counted(effort: Effort):
        efforts.append(effort.size)
        effort.progress(1, 1)
        return compute(effort)

    monkeypatch.setattr(implementation("classes"), "compute", counted)
    params = PLACES | {"report": str(tmp_path), "item": "classes", "size": "quick"}
    first, second = (tasks.reproduction(params, emit, lambda: False) for _ in range(2))
    assert first == second and first["item"] == "classes" and first["verdict"] == "reproduced" and efforts == ["quick"]
    stored = json.loads((tmp_path / "results" / "classes.json").read_text())
    assert stored["result"]["verdict"] == "reproduced"
    name, data = told[0]
    assert (name, data["job"], data["done"], data["total"]) == ("progress", "a job", 1, 1)
    assert data["text"] == "classes: computing (not stored yet)"
