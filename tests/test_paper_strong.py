"""The strong hypothesis: what rows mean, what is stored and gone on from; trained only at toy size."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from strong_rows import strong_points as points
from strong_rows import strong_rows as rows

from modgrok.base.errors import InputError
from modgrok.reproduction.item import Effort, ItemResult, Verdict
from modgrok.reproduction.strong import counted, summarise
from modgrok.training.config import TrainConfig
from studies import strong, strong_longer, strong_page, strong_plan, strong_result, strong_words
from studies.rest import Outcome, learned_at, outcome_of

POLYNOMIAL = "(2n1 + 3n2)^4"
RISING, RESTING, GROKKED = [0.1] * 6 + [0.5] * 6, [0.5] * 12, [0.1] * 6 + [1.0] * 6


def findings(result: ItemResult) -> dict[str, str]:
    return {cell["polynomial"]: cell["finding"] for cell in result.rows[0]["cells"]}


def test_a_setting_that_learns_the_class_agrees():
    result = strong_result.result_of(rows("A"), [])
    assert result.verdict is Verdict.REPRODUCED
    assert findings(result) == {
        "n1 + n2": "control",
        "n1 n2": "control",
        "(2n1 + 3n2)^4": "learned",
        "(2n1 + 3n2)^4 - n1^2": "twins and guesses",
    }
    assert result.rows[0]["loss_law"] == pytest.approx(-0.7, abs=0.3)
    assert ItemResult.from_json(result.to_json()) == result


@pytest.mark.parametrize(
    ("curves", "finding", "setting", "verdict"),
    [
        ([], "not trained on", "open", Verdict.UNDECIDED),
        ([(0.5, RESTING), (0.8, RESTING)], "at rest", "contradicts", Verdict.DIFFERS),
        ([(0.5, RESTING), (0.8, RISING)], "still rising", "open", Verdict.UNDECIDED),
        (
            [(0.5, RESTING), (0.8, GROKKED)],
            "learned with more of the table",
            "agrees with more of the table",
            Verdict.REPRODUCED,
        ),
        ([(0.5, GROKKED), (0.8, RESTING)], "learned late", "agrees with more steps", Verdict.REPRODUCED),
    ],
)
def test_what_was_not_learned_at_first_is_what_became_of_it(curves, finding, setting, verdict):
    """The finding, the setting's word, the verdict and the sentences all follow from the rows."""
    stored = [point for fraction, curve in curves for point in points("A", curve, fraction=fraction)]
    result = strong_result.result_of(rows("A", {POLYNOMIAL: 0.5}), stored)
    assert (findings(result)[POLYNOMIAL], result.rows[0]["finding"], result.verdict) == (finding, setting, verdict)
    assert result.measured["in_class"] == {name: int(name == finding) for name in strong_result.IN_CLASS}
    words = {
        "not trained on": "1 has one that is still rising (A)",
        "still rising": "1 has one that is still rising (A)",
        "at rest": "1 has one at rest (A)",
        "learned with more of the table": "every polynomial of the form is learned by 1 with more of the table",
        "learned late": "every polynomial of the form is learned by 1 with more steps",
    }[finding]
    assert result.notes[0] == f"Modulo 23, of 1 settings that learn both controls, {words}."
    assert any(note.lower().startswith(f"{finding}: {POLYNOMIAL} mod 23 in a: 50.0 %") for note in result.notes)


def test_a_look_has_learned_only_where_every_seed_has():
    both = points("A", GROKKED) + points("A", RESTING, seed=1)
    assert findings(strong_result.result_of(rows("A", {POLYNOMIAL: 0.5}), both))[POLYNOMIAL] == "at rest"
    (look,) = strong_result.second_looks(both, 10)
    assert (look["seeds"], look["learned_at"], look["accuracy"]) == (2, None, 0.75)


@pytest.mark.parametrize(("other", "outcome"), [(RISING, "still rising"), (RESTING, "at rest below 99 %")])
def test_where_some_seeds_have_learned_the_words_say_how_many_and_from_when_on(other, outcome):
    """One seed is at 100 % from step 70 on, so the median of four points is at step 90; the other is at 50 %."""
    both = points("A", other) + points("A", GROKKED, seed=1)
    words = f"1 of 2 seeds reaches 99 % from step 90 and the worst is {outcome}"
    (look,) = strong_result.second_looks(both, 10)
    assert look["seeds_learned_at"] == [90] and strong_words.outcome_words(look) == words
    result = strong_result.result_of(rows("A", {POLYNOMIAL: 0.5}), both)
    settings = "on 50 % of the table with learning rate 0.01 and weight decay 1"
    level = "the mean is 75.0 % after 120 steps"
    assert any(note.endswith(f"in A: 50.0 % at first; {settings}: {words}, {level}.") for note in result.notes)
    said = f"Some seeds have learned {POLYNOMIAL} mod 23 in A, {settings}: {words}, {level}."
    assert (said in result.notes) == (outcome == "still rising"), "said of what is open alone"


def test_what_is_open_is_named_with_what_would_settle_it():
    """In A one of two seeds has learned and the mean is 75 %; B is at 50 %; both went to 12 times the usual steps."""
    curves = points("A", RISING) + points("A", GROKKED, seed=1) + points("B", RISING)
    result = strong_result.result_of(rows("A", {POLYNOMIAL: 0.5}) + rows("B", {POLYNOMIAL: 0.4}), curves)
    assert summarise(result).why.endswith(
        f"2 are open and none at rest below 99 %. Open is {POLYNOMIAL} mod 23 in A (75.0 % at most, 99 % by 1 "
        "of 2 seeds) and in B (50.0 % at most): it was trained for 12 times the usual steps, of a budget of 40 times, "
        "and more steps of what is still rising would settle it"
    )
    assert summarise(result).measured == "learned 0 of 2 times, in 2 settings modulo 23 that learn n1 + n2 and n1 n2"
    learned = strong_result.result_of(rows("A"), [])
    assert summarise(learned).why.endswith("none are open and none at rest below 99 %")


def test_where_the_best_look_is_at_rest_the_doubt_is_about_those_that_are_not():
    """Two shares of the table: one rests at 50 %, the other is at 40 % and rising."""
    curves = points("A", RESTING, fraction=0.8) + points("A", [0.8 * value for value in RISING])
    result = strong_result.result_of(rows("A", {POLYNOMIAL: 0.1}), curves)
    assert findings(result)[POLYNOMIAL] == "still rising"
    assert "in A (50.0 % at most, at rest, and 40.0 % where it is still rising): " in result.measured["doubt"]


def test_settings_are_counted_modulo_each_number():
    settings = [{"modulus": p, "controls_pass": ok} for p, ok in ((97, True), (97, True), (23, True), (23, False))]
    assert counted(settings) == "2 settings modulo 97 and 1 modulo 23"
    assert counted(settings[3:]) == "no settings"


def test_where_all_seeds_or_none_have_learned_the_words_name_no_part_of_them():
    (late,) = strong_result.second_looks(points("A", GROKKED) + points("A", [0.1] * 7 + [1.0] * 5, seed=1), 10)
    assert (late["learned_at"], strong_words.outcome_words(late)) == (100, "99 % from step 100")
    (none,) = strong_result.second_looks(points("A", RISING) + points("A", RESTING, seed=1), 10)
    assert strong_words.look_words(none).endswith(": 50.0 % after 120 steps (at rest below 99 %)")


def curve(accuracies: list[float], losses: list[float] | None = None) -> dict[str, np.ndarray]:
    steps = np.arange(1, len(accuracies) + 1)
    return {"step": steps, "test_accuracy": np.array(accuracies), "test_loss": np.array(losses or [1.0] * len(steps))}


def test_a_curve_tells_learned_from_late_from_rising_from_rest():
    assert outcome_of(curve([0.1, 1.0, 1.0, 1.0, 1.0]), usual_steps=3) is Outcome.LEARNED
    assert outcome_of(curve([0.1, 1.0, 1.0, 1.0, 1.0]), usual_steps=1) is Outcome.LATE
    assert outcome_of(curve([0.1] * 8 + [0.12] * 8), 2) is Outcome.RISING
    assert outcome_of(curve([0.1] * 16), 2) is Outcome.REST
    assert outcome_of(curve([0.3] * 8 + [0.2] * 8), 2) is Outcome.REST
    assert outcome_of(curve([0.1] * 16, [1.0] * 8 + [0.9] * 8), 2) is Outcome.RISING, "its loss falls"
    assert outcome_of(curve([0.1] * 16, [float("nan")] * 16), 2) is Outcome.REST, "it diverged"


def test_one_bad_step_at_the_end_says_nothing():
    assert outcome_of(curve([0.1, 1.0, 1.0, 1.0, 1.0, 0.2]), 1) is Outcome.LATE
    assert outcome_of(curve([0.1, 1.0, 1.0, 1.0] + [0.2] * 8), 1) is Outcome.LATE, "learned once is learned"
    assert learned_at(curve([0.1, 0.1, 0.1, 1.0, 1.0, 0.1, 1.0, 1.0])) == 7
    assert outcome_of(curve([0.1] * 15 + [0.9]), 1) is Outcome.REST


def test_what_was_not_learned_is_looked_at_in_six_ways_the_plainest_of_every_setting_first():
    groups = [strong_plan.first_look(name, TrainConfig("n1 + n2", 23, width=8, steps=10), 2) for name in "AB"]
    missing = {POLYNOMIAL: 0.5}
    stored = rows("A", missing, rate=0.02) + rows("A", {POLYNOMIAL: 0.7}, rate=0.03) + rows("B", missing)
    looks = strong.second_looks(groups, stored)
    assert [look.setting for look in looks] == ["A", "B"] * 6
    assert {(look.config.steps, look.polynomials) for look in looks} == {(400, (POLYNOMIAL,))}
    chosen = [(*look.fractions, *look.variants[0]) for look in looks[::2]]
    rates = [(0.03, 1.0), (0.009, 1.0), (0.03, 3.0)]
    assert chosen == [(fraction, *variant) for variant in rates for fraction in (0.5, 0.8)]
    assert strong.second_looks(groups, rows("A") + rows("B")) == []


def tiny_looks(steps: int = 8) -> list[strong_plan.Group]:
    group = strong_plan.first_look("A", TrainConfig("n1 + n2", 23, width=4, steps=steps), 1)
    cell = {"polynomial": POLYNOMIAL, "accuracy": 0.5, "learning_rate": 0.01, "weight_decay": 1.0}
    return strong_longer.looks_of(group, [cell], strong_longer.KINDS[0])


def test_a_look_goes_on_from_its_checkpoint_as_if_it_had_never_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(strong_longer, "REACHES", (2,))
    looks = tiny_looks()
    whole = strong_longer.train_looks(looks, tmp_path / "whole")
    assert [row["step"] for row in whole if row["seed"] == 0] == list(range(2, 17, 2))
    ticks = SimpleNamespace(perf_counter=count().__next__)
    with monkeypatch.context() as clock:
        clock.setattr(strong_longer, "time", ticks)
        part = strong_longer.train_looks(looks, tmp_path / "parts", end=3.5)
    assert 0 < len(part) < len(whole) and part == whole[: len(part)]
    assert strong_longer.train_looks(looks, tmp_path / "parts") == whole
    assert strong_longer.train_looks(looks, tmp_path / "parts", end=0.0) == whole, "what is stored is read"


def test_without_its_checkpoint_a_look_begins_anew_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(strong_longer, "REACHES", (2,))
    looks = tiny_looks()
    stored = points("A", [0.1] * 6, every=2) + points("A", [0.1] * 6, every=2, seed=1)
    strong_plan.write_rows(tmp_path / strong_longer.STORE, stored)
    with monkeypatch.context() as clock:
        clock.setattr(strong_longer, "time", SimpleNamespace(perf_counter=count().__next__))
        assert strong_longer.train_looks(looks, tmp_path, end=3.5) == stored
    anew = strong_longer.train_looks(looks, tmp_path)
    assert anew == strong_longer.train_looks(looks, tmp_path / "whole"), "of one training, not of two joined"
    assert len(anew) == 16, "two seeds at eight steps"


def test_polynomials_that_no_look_has_learned_go_before_all_others_up_to_the_budget(tmp_path, monkeypatch):
    """Stored: B is learned with more of the table; A is at 10 and 20 % after 12 times the steps, and its checkpoints
    are lost. So A begins anew, goes to 20 and to 40 times the steps, and only then more is made of B."""
    trained: list[tuple[str, float, int]] = []

    def train_on(stretch: strong_longer.Stretch) -> tuple[strong_plan.Rows, bytes]:
        look, reach, *_ = stretch
        trained.append((look.setting, look.fractions[0], reach))
        rising = [look.fractions[0] / 5 + 0.004 * k for k in range(reach)]
        return points(look.setting, rising, fraction=look.fractions[0], polynomial=look.polynomials[0]), b""

    monkeypatch.setattr(strong_longer, "train_on", train_on)
    monkeypatch.setattr(strong_longer, "THREADS", 1)
    configs = {name: TrainConfig("n1 + n2", 23, width=8, steps=10) for name in "AB"}
    cell = {"polynomial": POLYNOMIAL, "accuracy": 0.5, "learning_rate": 0.01, "weight_decay": 1.0}
    groups = [strong_plan.first_look(name, config, 1) for name, config in configs.items()]
    looks = [
        look
        for kind in strong_longer.KINDS[:2]
        for group in groups
        for look in strong_longer.looks_of(group, [cell], kind)
    ]
    stored = [
        *points("A", [0.1] * 6 + [0.15] * 6),
        *points("A", [0.1] * 6 + [0.2] * 6, fraction=0.8),
        *points("B", RISING),
        *points("B", GROKKED, fraction=0.8),
    ]
    strong_plan.write_rows(tmp_path / strong_longer.STORE, stored)
    strong_longer.train_looks(looks, tmp_path)
    assert trained == [("A", 0.8, 20), ("A", 0.5, 20), ("A", 0.8, 40), ("A", 0.5, 40), ("B", 0.5, 20), ("B", 0.5, 40)]


def test_a_look_is_over_where_another_with_no_more_of_the_table_has_learned():
    group = strong_plan.first_look("A", TrainConfig("n1 + n2", 23, width=8, steps=10), 2)
    cell = {"polynomial": POLYNOMIAL, "accuracy": 0.5, "learning_rate": 0.01, "weight_decay": 1.0}
    looks = [look for kind in strong_longer.KINDS[:4] for look in strong_longer.looks_of(group, [cell], kind)]
    half, more, half_slower, _ = looks
    stored = strong_longer.looks_in(points("A", GROKKED, fraction=0.8) + points("A", RISING))
    over = [strong_longer.is_over(look, looks, stored, 10) for look in looks]
    assert over == [True, True, False, True], "half of the table was trained for 12 times the steps, and is rising"
    assert not strong_longer.is_over(half, looks, stored, 20) and not strong_longer.is_over(half_slower, looks, {}, 1)
    assert strong_longer.is_over(half, looks, strong_longer.looks_in(points("A", RESTING)), 20), "it rests"
    assert not strong_longer.is_over(more, looks, strong_longer.looks_in(points("A", [0.5] * 8, fraction=0.8)), 10)


def test_a_look_that_one_network_has_learned_and_another_has_not_goes_on_beyond_the_budget():
    group = strong_plan.first_look("A", TrainConfig("n1 + n2", 23, width=8, steps=10), 2)
    cell = {"polynomial": POLYNOMIAL, "accuracy": 0.5, "learning_rate": 0.01, "weight_decay": 1.0}
    looks = strong_longer.looks_of(group, [cell], strong_longer.KINDS[0])
    rising, learned = [0.01 * k for k in range(1, 41)], [0.02 * k for k in range(1, 37)] + [1.0] * 4

    def is_over_beyond(*curves: list[float]) -> bool:
        stored = [row for seed, curve in enumerate(curves) for row in points("A", curve, seed=seed)]
        return strong_longer.is_over(looks[0], looks, strong_longer.looks_in(stored), strong_longer.BEYOND)

    assert is_over_beyond(rising, rising) and is_over_beyond(learned, learned)
    assert not is_over_beyond(rising, learned)
    assert is_over_beyond(rising * 2, learned + [1.0] * 40), "that far it has gone"


def test_a_setting_that_fails_a_control_is_no_evidence():
    weak = strong_result.result_of(rows("A", {"n1 n2": 0.5, "(2n1 + 3n2)^4": 0.1}), [])
    assert weak.rows[0]["finding"] == "settings too weak"
    assert weak.verdict is Verdict.UNDECIDED
    assert summarise(weak).why == "no setting was strong enough to tell"
    both = strong_result.result_of(rows("A", {"n1 n2": 0.5, "(2n1 + 3n2)^4": 0.1}) + rows("B"), [])
    assert both.verdict is Verdict.REPRODUCED and both.measured["in_class"]["learned"] == 1


def test_only_variants_that_learn_the_controls_count():
    tuned = rows("A", {"n1 + n2": 0.9}, rate=0.1) + rows("A", {"(2n1 + 3n2)^4": 0.2}, rate=0.3)
    found = strong_result.result_of(tuned, []).rows[0]
    assert (found["variants"], found["variants_that_count"], found["in_class"]) == (2, 1, 0.2)
    better = strong_result.result_of(tuned + rows("A", {"(2n1 + 3n2)^4": 0.995}, rate=0.4), []).rows[0]
    assert better["finding"] == "agrees" and better["cells"][2]["learning_rate"] == 0.4


def test_learning_more_than_twins_and_guesses_is_named():
    result = strong_result.result_of(rows("A", {"(2n1 + 3n2)^4 - n1^2": 1.0}), [])
    assert findings(result)["(2n1 + 3n2)^4 - n1^2"] == "beyond"
    assert result.measured["learned_outside_the_class"] == 1


def test_what_is_said_about_polynomials_outside_the_class_follows_from_the_rows():
    """Two kinds of network: both miss the near miss, one learns what no family has, the other does not."""
    near, free = "(2n1 + 3n2)^4 - n1^2", strong_plan.LEARNED_OUTSIDE[0]
    square, attention = "x², MSE, AdamW", "transformer 1, MSE, AdamW, LayerNorm"
    stored = rows(square, {near: 0.05, free: 1.0}) + rows(attention, {near: 0.07, free: 0.25})
    near_words, whole, apart = strong_words.outside(strong_result.summaries(stored, []))
    assert near_words.startswith(f"Of Table 2 the near misses are learned nowhere in 2 settings: {near} at most 7.0 %")
    assert "by 1 of 1 settings with x² networks, and 0 of 1 settings with transformers." in whole
    assert f"{free} to 100 % or more by all x² networks, and to 25.0 % at most by transformers." in apart
    alike = rows(square, {near: 1.0, free: 1.0}) + rows(attention, {near: 0.07, free: 1.0})
    near_words, whole = strong_words.outside(strong_result.summaries(alike, []))
    assert "are learned 1 times in 2 settings" in near_words and "1 of 1 settings with transformers" in whole


def test_what_is_said_about_the_loss_law_follows_from_the_rows():
    settings = strong_result.summaries(rows("A") + rows("B", {POLYNOMIAL: 0.5}), [])
    laws = [setting["loss_law"] for setting in settings]
    words = strong_words.loss_laws(settings)
    assert f"-0.5 or below in 2 of 2 settings; it runs from {min(laws):.2f} to {max(laws):.2f}" in words
    weak = strong_words.loss_laws([settings[0], settings[1] | {"loss_law": 0.25}])
    assert "in 1 of 2 settings (not in B (0.25));" in weak


def test_the_page_on_the_strong_hypothesis_is_what_the_stored_rows_say():
    root = Path(__file__).parents[1]
    page = strong_page.page(strong.stored_result(root / "benchmarks" / "results"))
    assert (root / "docs" / "strong.md").read_text(encoding="utf-8") == page, "run: python -m studies.strong_page"


def test_the_counterexamples_are_outside_every_family():
    for polynomial in strong_plan.LEARNED_OUTSIDE:
        assert strong_result.known_before(polynomial, 97)["verdict"] == "not-in-class"


def test_what_is_known_before_training_is_the_verdict_and_what_twins_and_guesses_give():
    """Modulo 23 no rows of n1 + n2 are equal, so all is guessed; cubing makes equal rows modulo 97."""
    assert strong_result.known_before("n1 + n2", 23) == {"verdict": "in-class", "twins_and_guesses": 1 / 23}
    assert strong_result.known_before("(5n1^3 + 2n2^4)^2 - n2", 97)["twins_and_guesses"] == pytest.approx(
        0.745, abs=0.001
    )


def test_the_grid_has_every_kind_and_enough_networks():
    every = strong_plan.groups(quick=False)
    at_97 = [group for group in every if group.config.modulus == 97]
    assert {group.config.model for group in at_97} == {"power", "mlp", "transformer"}
    assert {group.config.loss for group in at_97} == {"mse", "cross-entropy"}
    assert {group.config.optimiser for group in at_97} == {"adamw", "adam", "sgd", "muon"}
    assert {group.config.norm for group in at_97} == {"none", "layer", "batch"}
    assert sum(len(group.rows()) for group in at_97) > 1000
    assert len({strong_plan.key(row) for group in every for row in group.rows()}) == sum(len(g.rows()) for g in every)


def tiny_groups():
    configs = [TrainConfig("n1 + n2", 23, width=4, steps=2, loss=loss) for loss in ("mse", "cross-entropy")]
    return [
        strong_plan.Group(config.loss, config, 1, ("n1 + n2", "n1 n2"), ((0.01, 1.0),), (0.5, 0.8))
        for config in configs
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
