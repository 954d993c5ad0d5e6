"""Table 2: the recorded run against the published numbers, and the item in small."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from modgrok.experiments import sweep_plan, sweeps
from modgrok.experiments.sweeps import SweepStore
from modgrok.reproduction import table2
from modgrok.reproduction.item import Effort, ItemResult, Verdict
from modgrok.reproduction.registry import ITEMS
from modgrok.training.config import TrainConfig, ensemble_of
from modgrok.training.ensemble import train_ensemble

RECORDED = Path(__file__).parent.parent / "benchmarks" / "results" / "table2.json"

RANGES = {
    ("(4n1 + n2^2)^3", 97): ((0.00030, 0.00038), (0.00053, 0.00060)),
    ("(4n1 + n2^2)^3 + n1 n2", 97): ((0.00187, 0.00197), (0.0111, 0.0113)),
    ("(2n1 + 3n2)^4", 97): ((0.00013, 0.00017), (0.00016, 0.00021)),
    ("(2n1 + 3n2)^4 - n1^2", 97): ((0.00180, 0.00195), (0.0109, 0.0111)),
    ("(5n1^3 + 2n2^4)^2", 97): ((0.00012, 0.00016), (0.00015, 0.00018)),
    ("(5n1^3 + 2n2^4)^2 - n2", 97): ((0.00134, 0.00151), (0.0058, 0.0060)),
    ("(4n1 + n2^2)^3", 23): ((0.00010, 0.00018), (0.0055, 0.0079)),
    ("(4n1 + n2^2)^3 + n1 n2", 23): ((0.00012, 0.00021), (0.0515, 0.0526)),
    ("(2n1 + 3n2)^4", 23): ((0.00005, 0.00010), (0.0008, 0.0011)),
    ("(2n1 + 3n2)^4 - n1^2", 23): ((0.00014, 0.00019), (0.0490, 0.0498)),
    ("(5n1^3 + 2n2^4)^2", 23): ((0.00005, 0.00010), (0.0011, 0.0016)),
    ("(5n1^3 + 2n2^4)^2 - n2", 23): ((0.00010, 0.00020), (0.0525, 0.0538)),
}
"""Train and test losses that other seeds and splits gave, from 1000 to 3000 steps, to so many digits."""


def test_the_recorded_run_at_full_settings():
    result = ItemResult.from_json(json.loads(RECORDED.read_text()))
    assert result.settings == {"width": 5000, "steps": 2000, "fraction": 0.5, "seeds": 3}
    assert result.verdict is Verdict.REPRODUCED and len(result.rows) == 12
    for row in result.rows:
        for part, (least, most) in zip(("train", "test"), RANGES[row["polynomial"], row["modulus"]], strict=True):
            assert least <= round(row[f"{part}_loss"], 4 if most > 0.005 else 5) <= most
        assert row["train_accuracy"] == pytest.approx(1.0)
        for run in row["runs"]:
            if row["published_test_accuracy"] == 1.0:
                assert (run["test_accuracy"], row["verdict"]) == (1.0, "in-class")
            else:
                assert row["verdict"] == "not-in-class"
                assert abs(run["test_accuracy"] - row["twins_and_guesses"]) < 0.06
            if row["published_test_accuracy"] == 0.7232:
                assert abs(run["test_accuracy"] - run["redundancy"]) < 0.01
                assert "33 of its 97 rows" in row["explanation"]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(table2, "WIDTH", 16)
    monkeypatch.setattr(table2, "QUICK_STEPS", 4)
    monkeypatch.setattr(sweep_plan, "LARGEST_PART", 1)
    rows = [row for row in table2.PUBLISHED if row.modulus == 23][:2]
    odd = next(row for row in table2.PUBLISHED if row.test_accuracy == 0.7232)
    monkeypatch.setattr(table2, "PUBLISHED", (*rows, odd))


def test_rows_are_trained_kept_and_taken_up_again(small, tmp_path, monkeypatch):
    said: list[str] = []

    def stop_at_the_second(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table2.compute(Effort("quick", tmp_path, say=said.append, progress=stop_at_the_second))
    assert len(said) == 1 and "2 networks modulo 23, 4 steps at " in said[0]
    assert said[0].endswith("; finished networks are kept")
    (kept,) = (pq.read_table(path).to_pylist()[0] for path in tmp_path.glob("table2-*/part-*.parquet"))
    assert kept["expression"] == "(4n1 + n2^2)^3"
    result = table2.compute(Effort("quick", tmp_path, say=said.append))
    assert "1 networks modulo 23" in said[1]
    monkeypatch.setattr(sweeps, "train_parts", lambda *_, **__: pytest.fail("a finished row was trained again"))
    assert table2.compute(Effort("quick", tmp_path)).rows == result.rows
    began, took = "2026-01-02T03:04:05+00:00", 3600.0
    made = tuple(replace(each, date=began, seconds=took, command="before") for each in result.provenance)
    monkeypatch.setattr(SweepStore, "made", lambda store: made)
    again = ITEMS["table2"].compute(Effort("quick", tmp_path))
    assert [each.command == "before" for each in again.provenance] == [True, False]
    assert again.seconds == took + again.provenance[1].seconds, "the hour of the earlier call counts"
    made = (replace(made[0], date="2999-01-01T00:00:00+00:00"),)
    again = ITEMS["table2"].compute(Effort("quick", tmp_path))
    assert [each.seconds for each in again.provenance] == [again.seconds] == [took], "and of one with the same words"
    first, second, odd = result.rows
    assert first["runs"][0]["train_loss"] == kept["train_loss"]
    assert (first["verdict"], first["distance_from_twins_and_guesses"]) == ("in-class", None)
    assert first["twins_and_guesses"] == pytest.approx(first["redundancy"] + (1 - first["redundancy"]) / 23)
    assert second["twins_and_guesses"] == pytest.approx(1 / 23), "no rows are equal, so all is guessed"
    assert odd["test_accuracy"] is None and odd["test_accuracy_text"] == "72.32, –"
    assert "--full trains them" in result.notes[-1] and "3-to-1" in result.notes[1]
    assert result.verdict is Verdict.DIFFERS, "four steps do not generalise"


def test_the_mask_is_the_split_that_training_used():
    config = TrainConfig("n1 n2", 11, width=30, steps=60)
    shape, settings, tables, orders = ensemble_of([config])
    metrics, experts = train_ensemble(shape, settings, tables, steps=60, orders=orders)
    mask = table2.train_mask(shape, config.seed)
    assert (mask.shape, mask.sum()) == ((11, 11), shape.train_rows)
    inputs = np.stack(np.unravel_index(np.arange(121), (11, 11)), axis=1)
    logits = (experts.embed[0, 0][inputs[:, 0]] + experts.embed[0, 1][inputs[:, 1]]) ** 2 @ experts.readout[0]
    hits = (np.argmax(logits, axis=1) == tables[0]).reshape(11, 11)
    assert hits[mask].mean() == pytest.approx(float(metrics.train_accuracy[0, -1]))
    assert hits[~mask].mean() == pytest.approx(float(metrics.test_accuracy[0, -1]))


def test_losses_are_compared_with_the_published_ones():
    row = table2.PUBLISHED[0]
    near = {"train_loss": 0.0004, "test_loss": 0.0005}
    assert table2.losses_reproduced(row, near)
    assert not table2.losses_reproduced(row, near | {"test_loss": 0.0012})
    assert not table2.losses_reproduced(row, near | {"train_loss": 0.00001})
