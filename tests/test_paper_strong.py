"""The strong hypothesis: what rows mean, what is stored and gone on from; trained only at toy size."""

from __future__ import annotations

import pytest
from strong_rows import strong_rows as rows

from modgrok.errors import InputError
from modgrok.reproduction import strong, strong_result
from modgrok.reproduction.item import Effort, ItemResult, Verdict
from modgrok.training.config import TrainConfig


def findings(result: ItemResult) -> dict[str, str]:
    return {cell["polynomial"]: cell["finding"] for cell in result.rows[0]["cells"]}


def test_a_setting_that_learns_the_class_agrees():
    result = strong_result.result_of(rows("A"))
    assert result.verdict is Verdict.REPRODUCED
    assert findings(result) == {
        "n1 + n2": "control",
        "n1 n2": "control",
        "(2n1 + 3n2)^4": "agrees",
        "(2n1 + 3n2)^4 - n1^2": "twins and guesses",
    }
    assert result.rows[0]["loss_law"] == pytest.approx(-0.7, abs=0.3)
    assert ItemResult.from_json(result.to_json()) == result


def test_a_polynomial_of_the_class_that_is_not_learned_contradicts():
    result = strong_result.result_of(rows("A", {"(2n1 + 3n2)^4": 0.98}))
    assert (result.verdict, findings(result)["(2n1 + 3n2)^4"]) == (Verdict.DIFFERS, "contradicts")
    text = "Contradicts the hypothesis: (2n1 + 3n2)^4 mod 23 in A: 98.0% (training rows 100.0%)"
    assert f"{text}; not trained for longer yet." in result.notes


def test_a_second_look_may_find_it_learned():
    first, polynomial = rows("A", {"(2n1 + 3n2)^4": 0.5}), "(2n1 + 3n2)^4"
    for half, more, finding in ((1.0, 1.0, "learned later"), (0.6, 1.0, "contradicts")):
        half_rows = [row for row in rows("A", {polynomial: half}, steps=100) if row["polynomial"] == polynomial]
        more_rows = [row | {"fraction": 0.8, "test_accuracy": more} for row in half_rows]
        result = strong_result.result_of(first + half_rows + more_rows)
        assert findings(result)[polynomial] == finding
        words = f"after 100 steps on 50% of the table {half:.1%}; after 100 steps on 80% of the table {more:.1%}."
        assert any(words in note for note in result.notes)
        assert result.verdict is (Verdict.DIFFERS if finding == "contradicts" else Verdict.REPRODUCED)


def test_contradictions_are_looked_at_again_for_longer():
    config = TrainConfig("n1 + n2", 23, width=8, steps=10)
    group = strong.first_look("A", config, 2)
    stored = [row | {"learning_rate": rate} for rate in (0.01, 0.02) for row in rows("A", {"(2n1 + 3n2)^4": 0.5})]
    stored += [row | {"learning_rate": 0.03} for row in rows("A", {"(2n1 + 3n2)^4": 0.7})]
    (again,) = strong.second_looks([group], stored)
    assert (again.config.steps, again.polynomials, again.variants) == (100, ("(2n1 + 3n2)^4",), ((0.03, 1.0),))
    assert [row["fraction"] for row in again.rows()] == [0.5, 0.5, 0.8, 0.8]
    assert strong.second_looks([group], rows("A")) == []


def test_a_setting_that_fails_a_control_is_no_evidence():
    weak = strong_result.result_of(rows("A", {"n1 n2": 0.5, "(2n1 + 3n2)^4": 0.1}))
    assert weak.rows[0]["finding"] == "settings too weak"
    assert weak.verdict is Verdict.UNDECIDED
    assert strong.summarise(weak).why == "no setting was strong enough to tell"
    both = strong_result.result_of(rows("A", {"n1 n2": 0.5, "(2n1 + 3n2)^4": 0.1}) + rows("B"))
    assert both.verdict is Verdict.REPRODUCED and both.measured["contradictions"] == 0


def test_only_variants_that_learn_the_controls_count():
    tuned = rows("A", {"n1 + n2": 0.9}, rate=0.1) + rows("A", {"(2n1 + 3n2)^4": 0.2}, rate=0.3)
    found = strong_result.result_of(tuned).rows[0]
    assert (found["variants"], found["variants_that_count"], found["in_class"]) == (2, 1, 0.2)
    better = strong_result.result_of(tuned + rows("A", {"(2n1 + 3n2)^4": 0.995}, rate=0.4)).rows[0]
    assert better["finding"] == "agrees" and better["cells"][2]["learning_rate"] == 0.4


def test_learning_more_than_twins_and_guesses_is_named():
    result = strong_result.result_of(rows("A", {"(2n1 + 3n2)^4 - n1^2": 1.0}))
    assert findings(result)["(2n1 + 3n2)^4 - n1^2"] == "beyond"
    assert result.measured["learned_outside_the_class"] == 1


def test_the_counterexamples_are_outside_every_family():
    for polynomial in strong.LEARNED_OUTSIDE:
        assert strong_result.known_before(polynomial, 97)["verdict"] == "not-in-class"


def test_what_is_known_before_training_is_the_verdict_and_what_twins_and_guesses_give():
    """Modulo 23 no rows of n1 + n2 are equal, so all is guessed; cubing makes equal rows modulo 97."""
    assert strong_result.known_before("n1 + n2", 23) == {"verdict": "in-class", "twins_and_guesses": 1 / 23}
    assert strong_result.known_before("(5n1^3 + 2n2^4)^2 - n2", 97)["twins_and_guesses"] == pytest.approx(
        0.745, abs=0.001
    )


def test_the_grid_has_every_kind_and_enough_networks():
    every = strong.groups(quick=False)
    at_97 = [group for group in every if group.config.modulus == 97]
    assert {group.config.model for group in at_97} == {"power", "mlp", "transformer"}
    assert {group.config.loss for group in at_97} == {"mse", "cross-entropy"}
    assert {group.config.optimiser for group in at_97} == {"adamw", "adam", "sgd", "muon"}
    assert {group.config.norm for group in at_97} == {"none", "layer", "batch"}
    assert sum(len(group.rows()) for group in at_97) > 1000
    assert len({strong.key(row) for group in every for row in group.rows()}) == sum(len(g.rows()) for g in every)


def tiny_groups():
    configs = [TrainConfig("n1 + n2", 23, width=4, steps=2, loss=loss) for loss in ("mse", "cross-entropy")]
    return [
        strong.Group(config.loss, config, 1, ("n1 + n2", "n1 n2"), ((0.01, 1.0),), (0.5, 0.8)) for config in configs
    ]


def test_rows_are_stored_and_gone_on_from(tmp_path, monkeypatch):
    store, trained = tmp_path / "strong.parquet", []
    original = strong.train_group
    monkeypatch.setattr(strong, "train_group", lambda group: trained.append(group.setting) or original(group))
    first, second = tiny_groups()
    assert strong.train_missing([first], store, end=0.0) == [] and trained == []
    some = strong.train_missing([first], store)
    assert len(some) == len(first.rows()) == 4
    assert all(0 <= row["test_accuracy"] <= 1 and row["device"] for row in some)
    both = strong.train_missing([first, second], store)
    assert trained == ["mse", "cross-entropy"] and len(both) == 8
    assert strong.train_missing([first, second], store) == both


def test_without_a_folder_rows_are_kept_in_memory_and_a_time_limit_may_leave_none(monkeypatch):
    monkeypatch.setattr(strong, "groups", lambda *, quick: tiny_groups()[:1])
    with pytest.raises(InputError, match="no setting was trained within 1e-09 seconds; give a longer --time-limit"):
        strong.compute(Effort("quick", time_limit=1e-9))
