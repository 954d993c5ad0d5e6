"""The law fitted to a planted census, the report, and the command."""

import argparse
import dataclasses
import json
import re

import numpy as np
import pytest
from planted_census import plant
from rich.console import Console

import modgrok as mg
from modgrok import cli
from modgrok.base.errors import InputError
from modgrok.censuses import law_check as law, outcomes, store
from modgrok.censuses.families import FAMILIES
from modgrok.censuses.fitting import calibrate, fit
from modgrok.censuses.reporting import report
from modgrok.commands import census as command
from modgrok.experiments.row_store import write_rows
from modgrok.loss_law.calibration import read_calibration
from modgrok.loss_law.formula import DRIFT, random_odds


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def census(folder):
    return law.columns_of(store.read_rows(folder))


def test_one_curve_serves_all_settings_of_a_planted_law(census):
    found = law.evaluate(census)
    assert len(found.errors_by_setting) == 18 and found.evaluated == 18 * 40
    assert found.error_one_curve == pytest.approx(0.01, abs=0.005)
    assert found.error_left_out is None and found.networks_left_out == 0
    held = {each.held_out: each for each in found.errors_held_out}
    assert held["tables"].error == found.error_one_curve and set(held) == {"tables", "families", "moduli", "widths"}
    assert held["families"].error == pytest.approx(0.01, abs=0.005) and set(held["families"].error_by_group) == set(
        FAMILIES
    )
    assert held["moduli"].error_by_group["61"] < 0.1, "between two others"
    assert set(held["widths"].error_by_group) == {"250", "500"} and held["widths"].networks == 720
    best = min(found.errors_by_normalisation, key=lambda row: row.error_first_half)
    assert best.one_curve_over == "odds over those of random tables" and best.error_second_half < 0.02
    assert found.error_own_curves > found.error_one_curve  # forty tables teach a curve less than 720
    assert all(row.spearman < -0.95 for row in found.errors_by_setting)
    assert [row.family for row in found.errors_by_family] == sorted(FAMILIES)


def test_the_calibration_knows_the_planted_law(census):
    known = calibrate(census, "modgrok census fit planted")
    assert known.covers == {"modulus": (43, 97), "width": (250, 500), "fraction": (0.3, 0.7), "steps": (1000, 1500)}
    assert known.curve.at(0.6) == pytest.approx(0.64, abs=0.03)
    between = random_odds({"modulus": 61, "width": 250, "fraction": 0.4}, known.settings)
    planted = np.exp(0.5 + 1.5 * np.log(0.8))  # after 1500 steps; the calibration has those after 1000
    assert between == pytest.approx(planted * 1.5**DRIFT, rel=0.01)
    assert max(known.curve.above) < 0.08 and min(known.curve.below) > -0.08


def test_a_small_census_is_no_calibration(census):
    few = {name: column[(census["modulus"] == 43)] for name, column in census.items()}
    with pytest.raises(InputError, match="settings of several moduli and widths"):
        calibrate(few, "")
    without = {name: column[census["family"] != "random"] for name, column in census.items()}
    with pytest.raises(InputError, match="the law needs random tables"):
        law.evaluate(without)


def test_predictors_are_ranked_by_their_errors(census):
    found = outcomes.evaluate(census)
    assert found == ()  # forty tables a setting are too few
    many = {name: np.concatenate([column] * 3) for name, column in census.items()}
    many["table"] = np.array([f"{k}" for k in range(len(many["table"]))])
    names = [row.predictor for row in outcomes.evaluate(many)]
    assert set(names[:2]) <= {"train_loss", "effective_rank", "redundancy"} and names[-1] in ("none", "unfolding_norm")
    assert "whole_table_loss" not in names


def test_outcomes_count_every_network_once(census):
    verdicts = {row.verdict: row for row in outcomes.by_verdict(census)}
    assert sum(row.networks for row in verdicts.values()) == 720
    row = verdicts["not-in-class"]
    assert list(row.outcomes) == ["learned", "partly, beyond redundancy", "redundancy or less"]
    assert row.networks == sum(row.outcomes.values())
    missed = outcomes.surprises(census)["in the class, not learned"]
    expected = (census["family"] == "composed-sum") & (census["steps"] == 1500) & (census["test_accuracy"] < 0.9)
    assert missed.networks == expected.sum() > 0 and missed.shown[0].test_accuracy < 0.2


def run(*words):
    words = ["census", *map(str, words)]
    return command.run(cli.build_parser("census").parse_args(words), Console(quiet=True))


@pytest.mark.draws
def test_the_report_has_its_tables_and_figures(folder, tmp_path, capsys):
    result = run("report", "--out", tmp_path, folder)
    assert {path.name for path in tmp_path.iterdir()} == {"report.md", "report.json"} | {
        f"{name}.{kind}" for name in ("families", "law", "verdicts", "predictors") for kind in ("png", "svg")
    }
    text = (tmp_path / "report.md").read_text()
    assert "720 networks on 120 tables" in text and "| 97 | 500 | 0.700 | 1500 | 40 |" in text
    assert result.findings.networks == 720
    stored = json.loads((tmp_path / "report.json").read_text())
    made = stored.pop("provenance")
    assert stored == result.findings.to_json() == {k: v for k, v in result.to_json().items() if k in stored}
    assert made == result.to_json()["provenance"] and [each["version"] for each in made] == ["unknown", mg.__version__]
    assert set(result.to_json()) - set(stored) == {"folder", "files", "seconds", "provenance"}
    assert set(map(str, tmp_path.iterdir())) == set(result.to_json()["files"])
    command.show(result, Console(quiet=True), argparse.Namespace(details=True))
    command.show(result, Console(width=400), argparse.Namespace(details=False))
    first, *rest = capsys.readouterr().out.splitlines()
    assert re.match(r"[\d,]+ of 720 networks grokked", first) and not any("error own curves" in line for line in rest)


def test_one_setting_is_enough_for_a_report_and_half_of_the_table_is_needed(folder, tmp_path):
    rows, plan = store.read_rows(folder), dataclasses.replace(store.load_stored_plan(folder), steps=(1000,))
    for name, fraction in (("half", 0.5), ("less", 0.3)):
        store.claim(plan, tmp_path / name)
        chosen = (np.asarray(rows["fraction"]) == fraction) & (np.asarray(rows["modulus"]) == 43)
        chosen &= (np.asarray(rows["width"]) == 250) & (np.asarray(rows["steps"]) == 1000)
        write_rows(tmp_path / name / store.WHOLE, rows.filter(chosen))
    result = run("report", tmp_path / "half")
    assert result.findings.networks == 40
    assert [each.held_out for each in result.findings.law.errors_held_out] == ["tables", "families"]
    with pytest.raises(InputError, match="a report needs networks that trained on half of a random table"):
        run("report", tmp_path / "less")


def test_fit_writes_the_calibration_and_query_answers(folder, tmp_path, capsys):
    result = run("fit", folder, "--out", tmp_path / "law.json")
    assert json.loads((tmp_path / "law.json").read_text())["made_by"] == f"modgrok census fit {folder}"
    assert read_calibration(tmp_path / "law.json") == result.calibration
    assert result.to_json()["error_one_curve"] == result.errors.error_one_curve
    command.show(result, Console(), argparse.Namespace(details=True))
    assert f"error one curve {result.errors.error_one_curve:.4g}" in re.sub(" +", " ", capsys.readouterr().out)
    assert run("query", folder, "SELECT count(*) AS n FROM census").to_json()["rows"] == [{"n": 1440}]


def test_words_that_make_no_sense(folder, tmp_path):
    with pytest.raises(InputError, match="query takes 2 arguments: modgrok census query DIR SQL"):
        run("query", folder)
    with pytest.raises(InputError, match="unknown action 'draw'; there are annotate, report, fit, fractions, query"):
        run("draw", folder)
    store.claim(store.load_stored_plan(folder), tmp_path / "new")
    for verb in (report, fit):
        with pytest.raises(InputError, match="not annotated yet; run: modgrok census annotate"):
            verb(tmp_path / "new")


@pytest.mark.parametrize(
    "words, text",
    [
        (("annotate", "x", "--time-limit", "3"), "--time-limit means nothing here: .* annotate DIR takes no options"),
        (("report", "--time-limit", "3", "x"), "--time-limit means nothing here: .* report DIR takes --out"),
        (("--train-only", "fit", "x"), "--train-only means nothing here: .* fit DIR takes --out"),
        (("query", "x", "--out", "y", "SELECT 1"), "--out means nothing here: .* query DIR SQL takes no options"),
    ],
)
def test_an_action_takes_only_the_options_that_mean_something_for_it(words, text):
    with pytest.raises(InputError, match=text):
        run(*words)


def test_options_may_stand_before_between_and_after_the_words(folder, tmp_path):
    for words in (
        ("--json", "query", folder, "SELECT 1"),
        ("query", "--json", folder, "SELECT 1"),
        ("query", folder, "--json", "SELECT 1"),
        ("query", folder, "SELECT 1", "--json"),
    ):
        assert cli.build_parser("census").parse_args(["census", *map(str, words)]).words[1] == str(folder)
        assert len(run(*words).rows) == 1
