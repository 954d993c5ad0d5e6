"""The paper's Table 1 and Figure 1, in small; the full ones are slow."""

from __future__ import annotations

import json
import re
from math import exp

import numpy as np
import pytest

from modgrok import cli
from modgrok.reproduction import figure1, table1
from modgrok.reproduction.evidence import sealed
from modgrok.reproduction.item import Effort, ItemResult, Verdict

PUBLISHED = [(97, 0.007674), (97, 0.007660), (97, 0.007683), (23, 0.009758), (23, 0.009757), (23, 0.010201)]


def check_table1(result: ItemResult, published: list[tuple[int, float]]) -> None:
    assert [(row["modulus"], row["published_mse"]) for row in result.rows] == published
    for row in result.rows:
        assert row["accuracy_table"] == row["accuracy_printed"] == 1.0
        assert row["mse_table"] == pytest.approx(row["published_mse"], rel=0.15)
        assert row["mse_printed"] > 1.2 * row["mse_table"]
    assert result.verdict is Verdict.REPRODUCED


def test_the_first_row_of_table1(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "POLYNOMIALS", table1.POLYNOMIALS[:1])
    monkeypatch.setattr(table1, "PUBLISHED_MSE", {p: errors[:1] for p, errors in table1.PUBLISHED_MSE.items()})
    assert cli.main(["paper", "table1", "--quick", "--json", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    check_table1(ItemResult.from_json(printed), [PUBLISHED[0], PUBLISHED[3]])
    assert printed["files"] == [str(tmp_path / "table1.json")]
    assert isinstance(printed["seconds"], float)
    assert (within := re.match(r"errors within (\d+) %", printed["why"]))
    assert printed["measured"]["largest_deviation"] <= int(within[1]) / 100, "what is said is true, not rounded down"
    stored = json.loads((tmp_path / "table1.json").read_text())
    assert stored == sealed(printed) and stored.keys() - printed.keys() == {"checksum"}


@pytest.mark.slow
def test_table1_in_full():
    result = table1.compute(Effort())
    check_table1(result, PUBLISHED)
    assert result.settings["seeds"] >= 5


def test_table1_differs_when_it_should(monkeypatch):
    """The verdict follows the numbers: with another published error it is not 'reproduced'."""
    monkeypatch.setattr(table1, "POLYNOMIALS", table1.POLYNOMIALS[:1])
    monkeypatch.setattr(table1, "PUBLISHED_MSE", {5: (0.5,)})
    result = table1.compute(Effort("quick"))
    assert result.verdict is Verdict.DIFFERS
    assert len(result.rows) == 1


def test_widths_needed_grow_with_the_terms(monkeypatch):
    monkeypatch.setattr(figure1, "MODULUS", 5)
    monkeypatch.setattr(figure1, "FIRST_WIDTH", 4)
    monkeypatch.setattr(figure1, "INPUTS", 200)
    curves = [figure1.accuracy_curve.__wrapped__(terms, seeds=(0,)) for terms in (1, 2)]
    for curve in curves:
        assert curve["best_accuracy"][-2:] == [1.0, 1.0]
        assert curve["width_100"] == curve["widths"][-2]
        assert all(accuracy < 1.0 for accuracy in curve["best_accuracy"][-3:-2])
        ratios = np.array(curve["widths"][1:]) / np.array(curve["widths"][:-1])
        assert np.allclose(ratios, 2**0.5, rtol=0.1)
    assert curves[0]["width_100"] < curves[1]["width_100"]
    rate, factor = figure1.exponential_fit(curves)
    assert factor == pytest.approx(curves[1]["width_100"] / curves[0]["width_100"])
    assert exp(rate) == pytest.approx(factor)


def test_the_fit_of_a_known_law():
    curves = [{"terms": s, "width_100": 3.0 * 4.0**s} for s in (2, 3, 4, 5)]
    assert figure1.exponential_fit(curves) == pytest.approx((np.log(4), 4.0))


@pytest.mark.slow
def test_figure1_in_full(capsys, tmp_path):
    assert cli.main(["paper", "figure1", "--json", "--out", str(tmp_path)]) == 0
    result = ItemResult.from_json(json.loads(capsys.readouterr().out))
    widths = [row["smallest_width_for_100_percent"] for row in result.rows]
    assert [row["terms"] for row in result.rows] == [2, 3, 4, 5]
    assert widths == sorted(widths)
    assert result.measured["growth_per_term"] > 2
    assert result.verdict is Verdict.REPRODUCED
    assert {path.name for path in tmp_path.iterdir()} == {"figure1.json", "figure1.png", "figure1.svg"}
