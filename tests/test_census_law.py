"""The law fitted to a planted census, the report, and the command."""

import argparse
import json

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from modgrok.census import law, outcomes, predictors, report, store
from modgrok.census.annotation import ANNOTATIONS
from modgrok.census.families import FAMILIES
from modgrok.census.plan import plan_from
from modgrok.commands import census as command
from modgrok.errors import InputError
from modgrok.figures.census import FIGURES
from modgrok.loss_law.law import random_features

MODULI, WIDTHS, FRACTIONS, STEPS = (43, 61, 97), (250, 500), (0.3, 0.5, 0.7), (1000, 1500)


def planted_rows():
    """A census that obeys the law with one curve: accuracy = 1 - r², r = odds over those of random tables."""
    rng, rows, network = np.random.default_rng(0), [], 0
    for modulus in MODULI:
        for width in WIDTHS:
            for fraction in FRACTIONS:
                random_odds = np.exp(
                    0.5 + 2 * np.log(modulus / 61) - np.log(width / 250) + 1.5 * np.log(fraction / 0.5)
                )
                for family in FAMILIES:
                    for seed in range(4):
                        r = 1.0 if family == "random" else rng.random()
                        for steps in STEPS:
                            accuracy = 1 - r**2 + rng.uniform(-0.02, 0.02)
                            odds = r * random_odds * (1 + 0.001 * (steps == 1500))
                            rows.append(
                                planted_row(network, family, seed, modulus, width, fraction, steps)
                                | {
                                    "train_loss": odds / (1 + odds) / modulus,
                                    "test_accuracy": float(np.clip(accuracy, 0, 1)),
                                }
                                | {"redundancy": 0.5 * (1 - r), "orbit_redundancy": 0.0, "permuted_redundancy": 0.0}
                                | {"effective_rank": 0.4 * r, "unfolding_norm": 1.0}
                                | {"verdict": "in-class" if family == "composed-sum" else "not-in-class"}
                            )
                        network += 1
    return pa.Table.from_pylist(rows, schema=pa.unify_schemas([store.ROWS, ANNOTATIONS]))


def planted_row(network, family, seed, modulus, width, fraction, steps):
    names = ("network", "family", "table_seed", "modulus", "width", "fraction", "steps")
    values = dict(zip(names, (network, family, seed, modulus, width, fraction, steps), strict=True))
    return values | {"seed": 0, "learning_rate": 0.005, "weight_decay": 5.0, "train_rows": 1, "expression": None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    settings = {"moduli": list(MODULI), "widths": list(WIDTHS), "fractions": list(FRACTIONS)}
    plan = plan_from({"steps": list(STEPS), "tables": dict.fromkeys(FAMILIES, 4), "settings": [settings]})
    store.claim_folder(plan, folder)
    store.write_rows(folder / store.WHOLE, planted_rows())
    return folder


@pytest.fixture(scope="module")
def census(folder):
    return law.columns_of(store.read_rows(folder))


def test_one_curve_serves_all_settings_of_a_planted_law(census):
    found = law.evaluate(census)
    assert len(found["settings"]) == 18 and found["rows"] == 18 * 40
    assert found["error_one_curve"] == pytest.approx(0.01, abs=0.005)
    assert found["error_held_out_settings"] == pytest.approx(0.01, abs=0.006)
    assert found["error_own_curves"] > found["error_one_curve"]  # forty tables teach a curve less than 720
    assert all(row["spearman"] < -0.95 for row in found["settings"])
    assert [row["family"] for row in found["families"]] == sorted(FAMILIES)


def test_the_calibration_knows_the_planted_law(census):
    known = law.calibrate(census, "modgrok census fit planted")
    assert known["covers"] == {"modulus": [43, 97], "width": [250, 500], "fraction": [0.3, 0.7], "steps": [1000, 1500]}
    x, accuracy = known["curve"]["x"], known["curve"]["accuracy"]
    assert np.interp(0.6, x, accuracy) == pytest.approx(0.64, abs=0.03)
    between = np.exp(random_features(61, 250, 0.4, 1000) @ known["random_odds"])
    assert between == pytest.approx(np.exp(0.5 + 1.5 * np.log(0.8)), rel=0.01)
    assert [entry["fraction"] for entry in known["from_table"]["curves"]] == [0.3, 0.5, 0.7]
    assert max(known["curve"]["errors"]) < 0.05


def test_a_small_census_is_no_calibration(census):
    few = {name: column[(census["modulus"] == 43)] for name, column in census.items()}
    with pytest.raises(InputError, match="more than 11 settings of several moduli and widths"):
        law.calibrate(few, "")
    without = {name: column[census["family"] != "random"] for name, column in census.items()}
    with pytest.raises(InputError, match="the law needs random tables"):
        law.evaluate(without)


def test_predictors_are_ranked_by_their_errors(census):
    found = predictors.evaluate(census)
    assert found == []  # forty tables a setting are too few
    many = {name: np.concatenate([column] * 3) for name, column in census.items()}
    many["table"] = np.array([f"{k}" for k in range(len(many["table"]))])
    names = [row["predictor"] for row in predictors.evaluate(many)]
    assert set(names[:2]) <= {"train_loss", "effective_rank", "redundancy"} and names[-1] in ("none", "unfolding_norm")
    assert "whole_table_loss" not in names


def test_outcomes_count_every_network_once(census):
    verdicts = {row["verdict"]: row for row in outcomes.by_verdict(census)}
    assert sum(row["networks"] for row in verdicts.values()) == 720
    row = verdicts["not-in-class"]
    assert row["networks"] == row["learned"] + row["partly, beyond redundancy"] + row["redundancy or less"]
    missed = outcomes.surprises(census)["in the class, not learned"]
    expected = (census["family"] == "composed-sum") & (census["steps"] == 1500) & (census["test_accuracy"] < 0.9)
    assert missed["networks"] == expected.sum() > 0 and missed["shown"][0]["test_accuracy"] < 0.2


def run(*words, out=None):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args([*map(str, words), *(["--out", str(out)] if out else [])])
    return command.run(args, Console(quiet=True))


def test_the_report_has_its_tables_and_figures(folder, tmp_path):
    result = run("report", folder, out=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"report.md", "report.json"} | {
        f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")
    }
    text = (tmp_path / "report.md").read_text()
    assert "720 networks on 120 tables" in text and "| 97 | 500 | 0.700 | 1500 | 40 |" in text
    assert result["networks"] == 720 and json.loads((tmp_path / "report.json").read_text())["networks"] == 720
    command.show(result, Console(quiet=True))


def test_one_setting_is_enough_for_a_report_and_half_of_the_table_is_needed(folder, tmp_path):
    rows, plan = store.read_rows(folder), store.load_stored_plan(folder)
    for name, fraction in (("half", 0.5), ("less", 0.3)):
        store.claim_folder(plan, tmp_path / name)
        chosen = (np.asarray(rows["fraction"]) == fraction) & (np.asarray(rows["modulus"]) == 43)
        chosen &= (np.asarray(rows["width"]) == 250) & (np.asarray(rows["steps"]) == 1000)
        store.write_rows(tmp_path / name / store.WHOLE, rows.filter(chosen))
    result = run("report", tmp_path / "half")
    assert result["networks"] == 40 and result["error_held_out_settings"] is None
    with pytest.raises(InputError, match="a report is about training on half of tables"):
        run("report", tmp_path / "less")


def test_fit_writes_the_calibration_and_query_answers(folder, tmp_path):
    result = run("fit", folder, out=tmp_path / "law.json")
    assert json.loads((tmp_path / "law.json").read_text())["made_by"] == f"modgrok census fit {folder}"
    command.show(result, Console(quiet=True))
    assert run("query", folder, "SELECT count(*) AS n FROM census")["rows"] == [{"n": 1440}]


def test_words_that_make_no_sense(folder, tmp_path):
    with pytest.raises(InputError, match="query takes 2 arguments: modgrok census query DIR 'SELECT …'"):
        run("query", folder)
    with pytest.raises(InputError, match="'draw' is no action of census; there are annotate, report, fit, query"):
        run("draw", folder)
    store.claim_folder(store.load_stored_plan(folder), tmp_path / "new")
    with pytest.raises(InputError, match="not annotated yet; run: modgrok census annotate"):
        report.read_annotated(tmp_path / "new")
