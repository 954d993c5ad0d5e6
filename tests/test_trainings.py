"""What Figures 2 and 3 share, on a small training."""

from __future__ import annotations

import numpy as np
import pytest

from modgrok.figures.style import Figure
from modgrok.figures.training import training_figure
from modgrok.inspection.order import sized_order
from modgrok.networks.models import Blocks
from modgrok.reproduction import figure3
from modgrok.reproduction.item import Effort, ItemResult, Verdict
from modgrok.reproduction.trainings import compute_training, largest_fall, periodic_part, summarise, verdict_on
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
    for claim, holds in claims.items():
        assert (claim in summarise(result).why) == (not holds), "the sentence names what does not hold"
    assert result.measured["ipr"] > result.rows[0]["ipr"]


def test_the_waves_are_judged_without_the_constant_and_until_the_test_rows_are_learned(result):
    """By hand: blocks that are a sum of two cosines and a constant."""
    wave, other = np.cos(2 * np.pi * 3 * np.arange(13) / 13), np.cos(2 * np.pi * 5 * np.arange(13) / 13)
    for constant, mixed in ((0.0, 0.0), (5.0, 0.0), (5.0, 1.0)):
        blocks = np.stack([wave + mixed * other + constant] * 3)[:, None]
        ipr, share = periodic_part(Blocks(blocks, (0, 1, 2)), sized_order((13, 13), 13).places)
        power = np.array([(13 * constant) ** 2, 6.5**2, (6.5 * mixed) ** 2])
        assert ipr == pytest.approx((power[1:] ** 2).sum() / power[1:].sum() ** 2)
        assert share == pytest.approx(power[0] / power.sum())
    curves = result.data["curves"]
    assert set(curves) >= {"ipr_waves", "constant_share"}
    assert len(curves["ipr_waves"]) == len(curves["step"]) and max(curves["constant_share"]) <= 1


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
