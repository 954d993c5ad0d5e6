"""The study of end-to-end training: what is trained, kept and concluded, at toy size."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pictures import is_drawn

from modgrok.base.errors import InputError
from modgrok.figures.style import Figure
from modgrok.reproduction.endtoend import doubt_about, figures, summarise
from modgrok.reproduction.item import Effort, ItemResult, Verdict
from studies import endtoend as item, endtoend_control as control
from studies.starts import STARTS


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
    drawn = figures(stored)
    assert list(drawn) == ["endtoend", "endtoend-fine-tuning", "endtoend-control"]
    assert all(isinstance(figure, Figure) and is_drawn(figure) for figure in drawn.values())


def test_a_time_limit_keeps_what_is_finished(tiny_studies, tmp_path):
    with pytest.raises(InputError, match="no polynomial was finished within -1 seconds"):
        item.compute(Effort(folder=tmp_path, time_limit=-1))


def test_settings_grow_from_quick_to_full(monkeypatch):
    monkeypatch.setattr("jax.default_backend", lambda: "cpu")
    assert [len(item.studies(Effort(size))) for size in ("quick", "standard", "full")] == [2, 8, 18]
    assert {study.modulus for study in item.studies(Effort("full"))} == {23, 31, 97}
    assert item.rounded(float("nan")) is None and item.rounded(0.123456) == 0.1235


def curve(start: str, accuracy: float, beta: float = 1.0) -> dict:
    return {
        "polynomial": "n1 n2",
        "start": start,
        "modulus": 5,
        "weight_decay": 1.0,
        "beta": beta,
        "test_accuracy": [accuracy],
    }


def test_a_failure_shows_nothing_where_the_control_fails_as_well():
    nothing = {start: [] for start in (*STARTS, "control", "single")}
    assert item.verdict_on(nothing, {"n1 n2": True}) is Verdict.REPRODUCED
    assert item.verdict_on(nothing, {"n1 n2": True, "n1 + n2": False}) is Verdict.UNDECIDED
    assert item.verdict_on(nothing | {"scratch": ["n1 n2 mod 5"]}, {"n1 n2": False}) is Verdict.DIFFERS


def test_a_control_holds_where_it_is_learned_in_a_setting_of_the_polynomial():
    learned, failed = curve("control", 1.0), curve("control", 0.9)
    assert item.control_held("n1 n2", [learned, curve("scratch", 0.1)], [])
    assert not item.control_held("n1 n2", [failed, curve("scratch", 0.1)], [])
    assert not item.control_held("n1 n2", [learned, curve("scratch", 0.1, beta=2.0)], []), "another setting"
    assert item.control_held("n1 n2", [failed], [{"polynomial": "n1 n2", "passing": 1}])
    assert not item.control_held("n1 n2", [failed], [{"polynomial": "n1 n2", "passing": 0}])


SOFT, HARD = ((1.0, 1.0), (2.0, 0.5)), ((9.0, 1.0), (9.0, 1.0))


def test_the_best_schedules_of_the_control_are_trained_on_the_polynomial_too(tmp_path, monkeypatch):
    tiny = {"modulus": 5, "width": 6, "stage_steps": 4, "schedules": (SOFT, HARD), "kept": 1, "seeds": 1}
    monkeypatch.setattr(control, "STUDIES", (control.ControlStudy("(2n1 + 3n2)^4 - n1^2", **tiny),))
    monkeypatch.setattr(control, "POINTS", 2)
    found = control.train_controls(tmp_path)
    ((study, entries),) = found
    starts = [(entry["start"], entry["seed"]) for entry in entries]
    assert starts == [("control", 0), ("control", 0), ("control", 1), ("scratch", 1)]
    assert all(entry["steps"] == [2, 4, 6, 8] and len(entry["test_accuracy"]) == 4 for entry in entries)
    best = max(entries[:2], key=lambda entry: entry["test_accuracy"][-1])
    assert [entry["schedule"] for entry in entries[2:]] == [best["schedule"]] * 2
    assert control.control_row(study, entries)["schedules"] == 2
    monkeypatch.setattr(control, "run_study", lambda *_: pytest.fail("a finished study was run again"))
    assert control.train_controls(tmp_path) == found
    assert control.train_controls(tmp_path / "other", end=0.0) == []


def entry(start: str, schedule, seed: int, accuracy: float) -> dict:
    plain = [list(stage) for stage in schedule]
    return {"start": start, "schedule": plain, "seed": seed, "test_accuracy": [0.0, accuracy]}


def test_a_schedule_passes_where_every_seed_of_its_control_has_learned():
    found = [entry("control", SOFT, 0, 0.1), entry("control", SOFT, 1, 1.0), entry("control", SOFT, 2, 0.995)]
    found += [entry("control", HARD, 1, 1.0), entry("control", HARD, 2, 0.9)]
    found += [entry("scratch", SOFT, 1, 0.2), entry("scratch", HARD, 1, 0.7)]
    row = control.control_row(control.ControlStudy("n1 n2", modulus=5), found)
    assert (row["passing"], row["trained_on"], row["control"], row["scratch"]) == (1, 2, 0.995, 0.7)
    assert row["twins_and_guesses"] == 1 / 5, "no rows of n1 n2 are equal, so all is guessed"


def test_twins_are_those_of_the_part_of_the_table_that_was_trained_on():
    """Of 25 cells 5 are tested; 20 of the 25 have one twin, tested too in 4 cases of 24. One guess in 5 is right."""
    found = [entry("control", SOFT, 1, 1.0), entry("scratch", SOFT, 1, 0.2)]
    row = control.control_row(control.ControlStudy("n1^2 n2", modulus=5), found)
    twins = 20 / 25 * (1 - 4 / 24)
    assert row["twins_and_guesses"] == pytest.approx(twins + (1 - twins) / 5)


@pytest.mark.parametrize(
    ("control_accuracy", "scratch_accuracy", "verdict", "words"),
    [
        (
            1.0,
            0.1,
            Verdict.REPRODUCED,
            "every circuit learns its control, n1 + n2, from scratch in some setting (1 of 1). Circuits learn 0 of 1",
        ),
        (0.5, 0.1, Verdict.UNDECIDED, f"no control is learned for {control.FOUR[0]}"),
        (1.0, 1.0, Verdict.DIFFERS, "Circuits learn 1 of 1 cases from scratch"),
    ],
)
def test_the_verdict_follows_from_the_schedules_of_the_control_too(control_accuracy, scratch_accuracy, verdict, words):
    text = control.FOUR[0]
    starts = (*STARTS, "control", "single")
    row = {"polynomial": text, "modulus": 5, "experts_worst": 1.0} | dict.fromkeys(starts, 0.1)
    nothing = {start: [] for start in starts}
    before = ItemResult(
        "endtoend", "", {}, {}, {"learned": nothing}, Verdict.UNDECIDED, (), {}, [row], data={"curves": []}
    )
    entries = [entry("control", SOFT, 1, control_accuracy), entry("scratch", SOFT, 1, scratch_accuracy)]
    result = item.with_controls(before, [(control.ControlStudy(text, modulus=5), entries)])
    assert result.verdict is verdict and words in summarise(result).why
    assert result.measured["learned"]["scratch"] == ([f"{text} mod 5"] if scratch_accuracy == 1.0 else [])


def test_what_is_open_says_why_and_what_would_settle_it():
    known = {"polynomial": "n1 n2", "modulus": 31, "control": 0.8, "scratch": 0.1}
    assert doubt_about("n1 n2", [known | {"control_best_seed": 0.9}]).startswith("no control is learned for n1 n2")
    words = doubt_about("n1 n2", [known | {"control_best_seed": 1.0}])
    assert "modulo 31 it learns the control n1 + n2 with some seeds" in words and "reaches 10 % at most" in words
    assert "`python benchmarks/control.py`" in words
