"""The study of end-to-end training: what is trained, kept and concluded, at toy size."""

from __future__ import annotations

import json

import numpy as np
import pytest

from modgrok.errors import InputError
from modgrok.figures.style import Figure
from modgrok.reproduction import endtoend as item
from modgrok.reproduction.item import Effort, ItemResult, Verdict
from modgrok.training.starts import STARTS


@pytest.fixture
def tiny_studies(monkeypatch):
    def tiny(effort: Effort) -> list[item.Study]:
        settings = {"steps": 12, "seeds": 2, "weight_decays": (0.0, 5.0), "betas": (10.0,), "expert_steps": 3}
        return [item.Study(item.PERTURBED[1], 5, 6, **settings)]

    monkeypatch.setattr(item, "studies", tiny)
    monkeypatch.setattr(item, "MEASUREMENTS", 4)


def test_the_study_reports_every_start_and_reuses_finished_parts(tiny_studies, monkeypatch, tmp_path):
    result = item.compute(Effort(folder=tmp_path))
    assert [row["polynomial"] for row in result.rows] == ["(2n1 + 3n2)^4 - n1^2"]
    starts = {(curve["start"], curve["weight_decay"]) for curve in result.data["curves"]}
    assert starts == {(start, decay) for start in (*STARTS, "control", "single") for decay in (0.0, 5.0)}
    for curve in result.data["curves"]:
        assert curve["steps"][0] == 0 and curve["steps"][-1] == 12
        assert len(curve["test_accuracy"]) == len(curve["steps"]) and len(curve["final_test_accuracies"]) == 2
        assert curve["test_accuracy"][-1] == pytest.approx(np.mean(curve["final_test_accuracies"]), rel=1e-3)
    for row in result.rows:
        assert row["scratch_worst"] <= row["scratch"] <= row["scratch_peak"] <= 1
    monkeypatch.setattr(item, "run_study", lambda *_: pytest.fail("a finished study was run again"))
    assert item.compute(Effort(folder=tmp_path)).rows == result.rows
    stored = ItemResult.from_json(json.loads(json.dumps(result.to_json())))
    figures = item.figures(stored)
    assert list(figures) == ["endtoend", "endtoend-fine-tuning", "endtoend-control"]
    assert all(isinstance(figure, Figure) for figure in figures.values())


def test_a_time_limit_keeps_what_is_finished(tiny_studies, tmp_path):
    with pytest.raises(InputError, match="no polynomial was finished within -1 seconds"):
        item.compute(Effort(folder=tmp_path, time_limit=-1))


def test_settings_grow_from_quick_to_full(monkeypatch):
    monkeypatch.setattr("jax.default_backend", lambda: "cpu")
    assert [len(item.studies(Effort(size))) for size in ("quick", "standard", "full")] == [2, 8, 18]
    assert {study.modulus for study in item.studies(Effort("full"))} == {23, 31, 97}
    assert item.rounded(float("nan")) is None and item.rounded(0.123456) == 0.1235


def test_a_failure_shows_nothing_where_the_control_fails_as_well():
    nothing = {start: [] for start in (*STARTS, "control", "single")}
    assert item.verdict_on([{"control": 1.0}, {"control": 0.995}], nothing) is Verdict.REPRODUCED
    assert item.verdict_on([{"control": 1.0}, {"control": 0.5}], nothing) is Verdict.UNDECIDED
    assert item.verdict_on([{"control": 0.5}], nothing | {"scratch": ["n1 n2 mod 5"]}) is Verdict.DIFFERS
