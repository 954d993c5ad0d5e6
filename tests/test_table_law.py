"""What is expected of a table: completion, the vote, the law's form, its fit to planted trainings, and the curve."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from pictures import is_drawn

import modgrok as mg
from modgrok import cli
from modgrok.answers.outlook import outlook
from modgrok.answers.probe import Probe
from modgrok.base.errors import InputError
from modgrok.figures.shares import curve_figure
from modgrok.loss_law.expectation import Expectation, not_covered
from modgrok.loss_law.from_table import (
    FEW_SIDES,
    MODEL_NAMES,
    TableFacts,
    expected_by,
    expected_from_table,
    facts_of,
    table_law,
)
from modgrok.loss_law.share_curve import SHARES, ShareCurve, first_share, share_curve
from modgrok.separable.measures.completion import completion, vote
from studies import table_law as fit

SUM = np.add.outer(np.arange(23), np.arange(23)) % 23
RANDOM = np.random.default_rng(0).integers(0, 23, (23, 23))


def test_a_sum_completes_itself_and_a_random_table_does_not():
    assert completion(SUM, 23, 0.7) > 0.99 and completion(RANDOM, 23, 0.7) < 0.15
    assert completion(SUM, 23, 0.05) < 0.2
    assert completion(SUM, 23, 0.9999) is vote(SUM, 23, 0.9999) is None, "no cell is left to judge"


def test_rows_that_look_alike_vote_and_others_do_not():
    n1, n2 = np.indices((23, 23))
    blocks = RANDOM[n1 // 6, n2 // 6]
    assert vote(blocks, 23, 0.6) > 0.95 and vote(SUM, 23, 0.6) < 0.2
    damaged = np.where(np.random.default_rng(1).random(blocks.shape) < 0.2, RANDOM, blocks)
    whole, unknown = vote(damaged, 23, 0.6), vote(np.where(np.eye(23) > 0, -1, damaged), 23, 0.6)
    assert 0.6 < whole < 0.9 and abs(whole - unknown) < 0.1
    mostly = np.where(np.random.default_rng(2).random((23, 23)) < 0.8, 5, RANDOM)
    assert vote(mostly, 23, 0.5) > 0.75, "at least the commonest value"


def test_the_edges_of_both_measures():
    for table in (np.zeros((7, 7), int), np.zeros((1, 9), int), np.array([[0, 1], [1, 0]])):
        values = int(table.max()) + 1
        for measure in (completion, vote):
            found = measure(table, values, 0.5)
            assert found is not None and 0 <= found <= 1
    assert vote(np.zeros((7, 7), int), 1, 0.5) == completion(np.zeros((7, 7), int), 1, 0.5) == 1.0


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_every_architecture_has_its_own_numbers_and_coverage(model):
    law = table_law().models[model]
    assert law.networks > 2000 and law.widened >= 0 and 0 < law.reach < 1
    assert set(law.error) == set(law.coverage) == {"kinds", "tables"}
    assert 0 < law.error["tables"] <= law.error["kinds"] < 0.1 and 0.88 < law.coverage["kinds"] < 0.95
    learned = expected_from_table(SUM, 23, fraction=0.8, model=model)
    lost = expected_from_table(RANDOM, 23, fraction=0.8, model=model)
    assert learned.value > 0.9 and lost.value < 0.2 and MODEL_NAMES[model] in learned.reason
    for found in (learned, lost):
        assert 0 <= found.low <= found.value <= found.high <= 1


def test_nothing_below_the_commonest_value_is_expected():
    table = np.where(np.random.default_rng(3).random((23, 23)) < 0.7, 4, RANDOM)
    guess = np.bincount(table.ravel()).max() / table.size
    assert expected_from_table(table, 23, fraction=0.3).value >= guess


def test_where_the_members_disagree_there_is_no_number_or_a_wider_interval():
    law, facts = table_law(), facts_of(SUM, 23, 0.3)
    power = law.models["power"]

    def told(**changed):
        models = {**law.models, "power": dataclasses.replace(power, **changed)}
        return expected_by(dataclasses.replace(law, models=models), facts, "power")

    close = told(widened=0.0)
    wide = told(widened=power.widened + 5.0)
    assert wide.low < close.low and wide.high > close.high and wide.value == close.value
    none = told(reach=0.0)
    assert not none.covered and "fitted without some of its kinds" in none.reason


def test_unknown_cells_count_as_cells_that_are_not_seen():
    hidden = np.where(np.random.default_rng(4).random(SUM.shape) < 0.4, -1, SUM)
    part = float((hidden >= 0).mean())
    assert facts_of(hidden, 23, 0.9).fraction == pytest.approx(0.9 * part)
    whole, partly = (expected_from_table(t, 23, fraction=f) for t, f in ((SUM, 0.9 * part), (hidden, 0.9)))
    assert abs(whole.value - partly.value) < 0.15
    one_variable = np.where(hidden < 0, -1, np.arange(23)[:, None])
    assert "depends on one variable" in expected_from_table(one_variable, 23, fraction=0.5).reason


@pytest.mark.parametrize(
    "table, values, fraction, model, reason",
    [
        (np.zeros((9, 9), int), 9, 0.5, "power", "this one is constant"),
        (np.diag(np.arange(10))[1:, 1:] - 1, 9, 0.5, "power", "no known cells tell on what this one depends"),
        (np.arange(9)[None, :], 9, 0.5, "power", "depends on one variable"),
        (np.array([[0, 1], [1, 0]]), 2, 0.5, "power", "here the modulus is 2"),
        (SUM[:, :9], 23, 0.5, "power", "rows, columns and values differ in number"),
        (SUM, 23, 0.01, "power", "here the share is 0.01"),
        (SUM, 23, 0.5, "mine", "transformer, not mine"),
        (np.where(np.arange(49).reshape(7, 7) < 25, SUM[:7, :7] % 7, -1), 7, 0.99, "power", "no known cell would be"),
    ],
)
def test_what_the_law_was_not_fitted_to_it_says(table, values, fraction, model, reason):
    found = expected_from_table(table, values, fraction=fraction, model=model)
    assert not found.covered and reason in found.reason


# ------------------------------------------------------------------------------------------------ the fit


@pytest.fixture(scope="module")
def planted():
    """Trainings that reach just what the tables complete, with noise, but for one kind that learns nothing."""
    rng, count = np.random.default_rng(0), 3000
    kinds = np.array([f"kind {k}" for k in rng.integers(0, 12, count)])
    completed = rng.random(count)
    facts = TableFacts(completed, *rng.random((6, count)), np.full(count, 31.0), rng.uniform(0.1, 0.9, count))
    reached = np.clip(completed + rng.normal(0, 0.02, count), 0, 1)
    about = {
        "census": np.full(count, "kinds"),
        "model": np.full(count, "power"),
        "kind": kinds,
        "table": np.array([f"{kind}/{k % 40}" for k, kind in enumerate(kinds)]),
    }
    return fit.Data(about, facts, reached)


def test_a_planted_law_is_found_with_an_interval_that_holds(planted, monkeypatch):
    monkeypatch.setattr(fit, "STEPS", 400)
    monkeypatch.setattr(fit, "BATCH", 512)
    without = fit.left_out(planted.about["kind"])
    law = fit.fitted(planted, without, "a test")
    law = fit.with_intervals(law, planted, fit.judged(law, planted, without))
    found = fit.judged(law, planted, without)
    errors = fit.errors(planted, found, np.ones(len(planted.reached), bool))
    assert errors.error < 0.03 and abs(errors.bias) < 0.02 and 0.88 < errors.coverage < 0.99
    assert law.models["power"].networks == 3000 and set(law.models) == {"power"}, "nothing is known of the others"


def test_who_judges_a_training_has_not_seen_its_kind(planted):
    without = fit.left_out(planted.about["kind"])
    assert without.shape == (fit.PARTITIONS * fit.FOLDS, 3000)
    assert (without.sum(axis=0) == fit.PARTITIONS).all(), "one member of each partition judges"
    for kind in np.unique(planted.about["kind"]):
        own = without[:, planted.about["kind"] == kind]
        assert (own == own[:, :1]).all(), "a kind is left out whole"


def test_the_trainings_of_the_law_are_those_of_the_censuses_at_default_settings():
    data = fit.trainings()
    counts = {model: int((data.about["model"] == model).sum()) for model in MODEL_NAMES}
    assert counts == {model: found.networks for model, found in table_law().models.items()}
    assert data.facts.side.min() == table_law().side_range[0] and data.facts.side.max() == table_law().side_range[1]
    assert np.isfinite(np.stack([np.asarray(column, float) for column in data.facts])).all()
    for model, span in FEW_SIDES.items():
        sides = data.facts.side[data.about["model"] == model]
        assert span == (sides.min(), sides.max())
        reason = expected_from_table(SUM, 23, fraction=0.5, model=model).reason
        assert f"s at the default settings on tables of {span[0]} to {span[1]} rows;" in reason


# ------------------------------------------------------------------------------------------------ the answer


def test_the_share_from_which_a_level_is_reached_for_good():
    assert first_share((0.1, 0.2, 0.3, 0.4), [0.7, 0.2, 0.6, None], 0.5) == 0.275, "what was reached and lost is not"
    assert first_share((0.1, 0.2), [None, None], 0.5) is None and first_share((0.1, 0.2), [0.6, 0.9], 0.5) == 0.1


@pytest.mark.draws
def test_the_curve_of_a_sum_rises_and_says_from_where(tmp_path):
    curve = share_curve(SUM, 23)
    values = [each.value for each in curve.expected]
    assert curve.shares == SHARES and values[0] < 0.2 and values[-1] > 0.95
    assert 0.1 < curve.half < curve.whole < 0.95 and curve.text.startswith("half of the rest from ")
    figure = curve_figure(curve, "n1 + n2 mod 23", "power", 0.5)
    of_known = curve_figure(curve, "a table", "power", 0.5, whole=False).axes[0].get_xlabel()
    assert "of the table" in figure.axes[0].get_xlabel() and "of the known cells" in of_known
    drawn = [line.get_xydata() for line in figure.axes[0].lines]
    assert is_drawn(figure)
    assert any(len(points) == len(SHARES) and np.allclose(points[:, 1], values) for points in drawn)
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert ", ".join(legend[2:]) == curve.text, "what the two marks are, as the sentence has it"
    assert share_curve(RANDOM, 23).text.startswith("at no share half of the rest: ")


def test_classify_draws_the_curve_for_the_model_that_was_asked(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["classify", "n1 + n2", "--mod", "13", "--model", "mlp", "--curve", "mine", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["model"] == "mlp" and len(told["curve"]["expected"]) == len(SHARES)
    assert (tmp_path / "mine.png").exists() and (tmp_path / "mine.svg").exists()
    with pytest.raises(InputError, match="known of the models power, mlp, transformer, got 'cnn'"):
        mg.classify("n1 + n2", 13, model="cnn")


def test_a_probe_is_trained_where_nothing_else_is_known_and_it_is_quick():
    asked = mg.classify("n1 n2 + n1^2", 3)
    assert asked.probe is not None and asked.outlook.outcome == "probed"
    assert asked.outlook.text.startswith("One small network was trained on half of its table and got ")
    assert "No number was to be expected: that was measured" in asked.outlook.text and "by a probe" in asked.summary()
    assert mg.classify("n1 n2 + n1^2", 3, probe=False).outlook.outcome == "unknown"
    assert mg.classify("n1 n2 + n1^2", 13).probe is None, "the law knows this one"


def test_a_probe_does_not_speak_where_the_law_does():
    told, reached = (
        Expectation(0.9, 0.8, 1.0, "", "table"),
        Probe(not_covered("", "probe"), 0.1, 0.5, "power", 1, 1, 0.5, 0.1),
    )
    assert outlook(told, None, 0.5, reached).outcome == "most"
    assert outlook(not_covered("far", "table"), None, 0.5, reached).outcome == "probed"
    curve = ShareCurve((0.5,), (told,), 0.5, None)
    assert outlook(told, 0.3, 0.5, curve=curve).enough is None, "the curve stands for the share"
    assert "Half of the rest from 50 %." in outlook(told, 0.3, 0.5, curve=curve).text


def test_intervals_end_at_whole_per_cents_as_they_are_printed():
    """Ends a rounding error below 1 once left out networks that had everything right."""
    for fraction in (0.2, 0.35, 0.5, 0.9):
        found = expected_from_table(SUM, 23, fraction=fraction)
        for end in (found.low, found.high):
            assert abs(100 * end - round(100 * end)) < 1e-9
        assert found.low <= found.value <= found.high
    assert found.high == 1.0


def test_the_page_says_how_the_law_did_on_questions_about_kinds_that_it_had_not_seen():
    """Counted from the stored answers and trainings: every draw, the large tables, and the kinds that came later."""
    root = Path(__file__).parents[1]
    page = " ".join((root / "docs" / "loss-law.md").read_text(encoding="utf-8").split())

    def rows(name):
        return json.loads((root / "benchmarks" / "results" / name).read_text(encoding="utf-8"))["rows"]

    def counted(asked):
        told = [(row, reached) for row in asked if row["value"] is not None for reached in row["reached"]]
        inside = 100 * np.mean([row["low"] <= reached <= row["high"] for row, reached in told])
        missed = np.mean([abs(row["value"] - reached) for row, reached in told])
        wide = np.mean([row["high"] - row["low"] for row, _ in told])
        none = 100 * np.mean([row["value"] is None for row in asked])
        return f"| {len(asked)} | {inside:.0f} % | {missed:.3f} | {wide:.2f} | {none:.1f} % |", f"{inside:.0f} %"

    expressions, kinds, fresh = map(rows, ("questions.json", "questions-kinds.json", "questions-fresh.json"))
    for asked in (expressions, kinds):
        for draw in sorted({row["draw"] for row in asked}):
            assert f"| {draw} {counted([row for row in asked if row['draw'] == draw])[0]}" in page
    assert counted(fresh)[0] in page and len({row["kind"] for row in fresh}) == 6
    large = [row for row in kinds if row["modulus"] >= 55]
    assert (
        f"of the {len(large)} questions with 55 to 91 rows" in page and f"{counted(large)[1]} of the trainings" in page
    )
    assert sum(row["value"] is None for row in large) == 6
    large = [row for row in expressions if row["modulus"] >= 55]
    assert f"Of the {len(large)} expressions modulo 55 and more it is {counted(large)[1]}" in page
