"""What Figures 2 and 3 share, on a small training."""

from __future__ import annotations

import numpy as np
import pytest

from modgrok.figures.style import Figure
from modgrok.figures.training import training_figure
from modgrok.reproduction import figure3
from modgrok.reproduction.item import Effort, ItemResult, Verdict
from modgrok.reproduction.trainings import compute_training, largest_fall, summarise, verdict_on
from modgrok.training.config import TrainConfig


@pytest.fixture(scope="module")
def result():
    steps = []
    config = TrainConfig("n1 + n2", 13, width=100, steps=200, fraction=0.8, metrics_every=20)
    found = compute_training("figure0", "small", config, "ipr", (0, 100, 200, 300), lambda k, n: steps.append((k, n)))
    assert steps[-1] == (200, 200)
    return found


def test_a_training_is_compared_with_the_captions(result):
    assert ItemResult.from_json(result.to_json()) == result
    assert [row["step"] for row in result.rows] == [0, 100, 200]
    assert set(result.columns) <= set(result.rows[0])
    claims = result.measured["claims"]
    assert claims["every training and test row is learned"]
    assert (result.verdict is Verdict.REPRODUCED) == all(claims.values())
    broken = [note for note in result.notes if note.startswith("Not so here")]
    assert len(broken) == sum(not holds for holds in claims.values())
    assert ("not so here" in summarise(result).why) == bool(broken)
    assert result.measured["ipr"] > result.rows[0]["ipr"]


def test_the_verdict_counts_the_claims():
    assert verdict_on({"a": True, "b": True}) is Verdict.REPRODUCED
    assert verdict_on({"a": True, "b": False}) is Verdict.PARTLY
    assert verdict_on({"a": False, "b": False}) is Verdict.DIFFERS


@pytest.mark.parametrize("log_steps", [False, True])
def test_the_figure_is_drawn_from_the_stored_result(result, log_steps):
    figure = training_figure(result.data["curves"], result.data["neurons"], "small", log_steps=log_steps)
    assert isinstance(figure, Figure) and len(figure.axes) == 3
    assert [axes.get_xscale() for axes in figure.axes[:2]] == ["symlog" if log_steps else "linear"] * 2


def test_largest_fall_is_below_the_maximum_so_far():
    steps = np.array([0, 10, 20, 30])
    assert largest_fall(steps, np.array([1.0, 3.0, 2.5, 4.0])) == (0.5, 20)
    assert largest_fall(steps, np.array([1.0, 2.0, 3.0, 4.0]))[0] == 0


@pytest.mark.slow
def test_figure_3_at_the_full_settings():
    result = figure3.compute(Effort())
    assert result.verdict is Verdict.REPRODUCED
    ipr = {row["step"]: row["ipr"] for row in result.rows}
    assert ipr[0] == pytest.approx(0.04, abs=0.01)
    assert ipr[50] == pytest.approx(0.20, abs=0.05)
    assert ipr[100] == pytest.approx(0.71, abs=0.05)
    assert ipr[200] == pytest.approx(0.90, abs=0.02)
    assert ipr[600] == pytest.approx(0.916, abs=0.01)
