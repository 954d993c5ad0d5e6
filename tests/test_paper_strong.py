"""The strong hypothesis: what rows mean, what is stored and gone on from; trained only at toy size."""

from __future__ import annotations

import argparse
import json
import shlex
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from strong_rows import strong_points as points, strong_rows as rows

from modgrok.base.errors import InputError
from modgrok.commands.train import add_arguments
from modgrok.reproduction.classes import LEARNED_OUTSIDE
from modgrok.reproduction.item import Effort, ItemResult, Verdict
from modgrok.reproduction.strong import counted, summarise
from modgrok.reproduction.table2 import PUBLISHED
from modgrok.training.checkpoints import begin
from modgrok.training.config import TrainConfig
from studies import strong, strong_page, strong_plan, strong_result, strong_training, strong_words
from studies.rest import Outcome, learned_at, outcome_of
from studies.resuming import Parts

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
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


def look_of(*networks: list) -> dict:
    (look,) = strong_result.later_looks(POLYNOMIAL, {(0.01, 1.0, 0.5)}, [row for rows in networks for row in rows])
    return look


def test_a_variant_has_learned_only_where_every_seed_has():
    both = points("A", GROKKED) + points("A", RESTING, seed=1)
    assert findings(strong_result.result_of(rows("A", {POLYNOMIAL: 0.5}), both))[POLYNOMIAL] == "at rest"
    look = look_of(both)
    assert (look["seeds"], look["learned_at"], look["accuracy"]) == (2, None, 0.75)


@pytest.mark.parametrize(("other", "outcome"), [(RISING, "still rising"), (RESTING, "at rest below 99 %")])
def test_where_some_seeds_have_learned_the_words_say_how_many_and_from_when_on(other, outcome):
    """One seed is at 100 % from step 70 on, so the median of four points is at step 90; the other is at 50 %."""
    both = points("A", other) + points("A", GROKKED, seed=1)
    words = f"99 % from step 90 by 1 of 2 seeds, the worst {outcome}"
    look = look_of(both)
    assert look["seeds_learned_at"] == [90] and strong_words.outcome_words(look) == words
    result = strong_result.result_of(rows("A", {POLYNOMIAL: 0.5}), both)
    settings = "on 50 % of the table with learning rate 0.01, weight decay 1 and initial scale 0.5"
    level = "75.0 % after 120 steps"
    assert any(note.endswith(f"in A: 50.0 % at first; {settings}: {level} ({words}).") for note in result.notes)


def test_a_later_look_counts_only_in_variants_that_learn_both_controls_at_first_or_there():
    """The second variant was not there at first; it has learned the polynomial, and first one control, then both."""
    found = points("A", RESTING) + points("A", GROKKED, rate=0.02)
    first = rows("A", {POLYNOMIAL: 0.5}) + rows("A", {POLYNOMIAL: 0.1, "n1 n2": 0.5}, rate=0.02)
    one = points("A", GROKKED, polynomial="n1 + n2", rate=0.02)
    both = one + points("A", GROKKED, polynomial="n1 n2", rate=0.02)
    assert findings(strong_result.result_of(first, found))[POLYNOMIAL] == "at rest"
    assert findings(strong_result.result_of(first, found + one))[POLYNOMIAL] == "at rest"
    assert findings(strong_result.result_of(first, found + both))[POLYNOMIAL] == "learned late"
    elsewhere = [network | {"fraction": 0.8} for network in both]
    assert findings(strong_result.result_of(first, found + elsewhere))[POLYNOMIAL] == "at rest"
    assert not strong_plan.is_settled(found) and not strong_plan.is_settled(found + one)
    assert strong_plan.is_settled(found + both)
    assert not strong_plan.is_settled(found + both + points("A", RISING, rate=0.02, seed=1)), "another seed has not"
    other = points("A", RISING, polynomial="(4n1 + n2^2)^3", rate=0.02)
    assert not strong_plan.is_settled(found + both + other), "another polynomial is not learned"


def test_the_best_look_comes_first():
    looks = [
        points("A", GROKKED, fraction=0.8),
        points("A", GROKKED),
        points("A", RESTING, fraction=0.9),
        points("A", RISING, fraction=0.7),
    ]
    for kept, best in ((looks, 0.5), ([looks[0], *looks[2:]], 0.8), (looks[2:], 0.7), (looks[2:3], 0.9)):
        found = strong_result.later_looks(POLYNOMIAL, {(0.01, 1.0, 0.5)}, [row for one in kept for row in one])
        assert found[0]["fraction"] == best and len(found) == len(kept)


def test_what_is_open_is_named_with_what_would_settle_it():
    """In A one of two seeds has learned and the mean is 75 %; B is at 50 %; both went to 12 times the usual steps."""
    curves = points("A", RISING) + points("A", GROKKED, seed=1) + points("B", RISING)
    result = strong_result.result_of(rows("A", {POLYNOMIAL: 0.5}) + rows("B", {POLYNOMIAL: 0.4}), curves)
    assert summarise(result).why.endswith(
        f"2 are open and none at rest below 99 %. Open is {POLYNOMIAL} mod 23 in A (75.0 % at most) and in B (50.0 % "
        "at most): it was trained for 12 times the usual steps, of a budget of 40 times, and more steps of what is "
        "still rising would settle it"
    )
    assert summarise(result).measured == "learned 0 of 2 times, in 2 settings modulo 23 that learn n1 + n2 and n1 n2"
    learned = strong_result.result_of(rows("A"), [])
    assert summarise(learned).why.endswith("none are open and none at rest below 99 %")


def test_settings_are_counted_modulo_each_number():
    settings = [{"modulus": p, "controls_pass": ok} for p, ok in ((97, True), (97, True), (23, True), (23, False))]
    assert counted(settings) == "2 settings modulo 97 and 1 modulo 23"
    assert counted(settings[3:]) == "no settings"


def test_where_all_seeds_or_none_have_learned_the_words_name_no_part_of_them():
    late = look_of(points("A", GROKKED), points("A", [0.1] * 7 + [1.0] * 5, seed=1))
    assert (late["learned_at"], strong_words.outcome_words(late)) == (100, "99 % from step 100")
    none = look_of(points("A", RISING), points("A", RESTING, seed=1))
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
    assert better["finding"] == "agrees" and better["cells"][2]["accuracy"] == 0.995


def test_learning_more_than_twins_and_guesses_is_named():
    result = strong_result.result_of(rows("A", {"(2n1 + 3n2)^4 - n1^2": 1.0}), [])
    assert findings(result)["(2n1 + 3n2)^4 - n1^2"] == "beyond"
    assert result.measured["learned_outside_the_class"] == 1


def test_what_is_said_about_the_loss_law_follows_from_the_rows():
    settings = strong_result.summaries(rows("A") + rows("B", {POLYNOMIAL: 0.5}), [])
    laws = [setting["loss_law"] for setting in settings]
    (words,) = strong_words.loss_laws(settings)
    assert f"-0.5 or below in 2 of 2 settings; it runs from {min(laws):.2f} to {max(laws):.2f}" in words
    (weak,) = strong_words.loss_laws([settings[0], settings[1] | {"loss_law": 0.25}])
    assert "in 1 of 2 settings (not in B (0.25));" in weak


def test_the_page_is_made_of_the_networks_alone():
    setting = "transformer 1, cross-entropy, AdamW"
    first = rows("x², MSE, AdamW") + rows(setting, {POLYNOMIAL: 0.5}) + rows("A", {"n1 n2": 0.5})
    page = strong_page.page(first, points(setting, GROKKED) + points(setting, RESTING, seed=1, fraction=0.8))
    assert "**Learned 2 of 2 times, in 2 settings modulo 23 that learn n1 + n2 and n1 n2.**" in page
    assert f"| {setting} | 23 | 1 of 1 | 100 % | 50.0 % | 5.0 % |" in page
    looks = f"| {setting} | {POLYNOMIAL} | 23 | 50.0 % | 50 % | 0.01 | 1 | 0.5 | 1 | 120 | 100 % | 99 % from step 90 |"
    assert looks in page and "|  |  |  |  | 80 % | 0.01 | 1 | 0.5 | 1 | 120 | 50.0 % | at rest below 99 % |" in page
    assert f'modgrok train "{POLYNOMIAL}" --mod 23 ' in page and "--beside 16 --room 264" in page
    assert "| A | 23 | 0 of 1 | 50.0 % |" in page and "{" not in page


@pytest.mark.skipif(not (RESULTS / strong.STORE).exists(), reason="no parts are stored; the page is of earlier rows")
def test_the_page_on_the_strong_hypothesis_is_what_the_stored_parts_say():
    page = strong_page.page(*strong_plan.networks_of(Parts(RESULTS / strong.STORE).parts))
    assert (ROOT / "docs" / "strong.md").read_text(encoding="utf-8") == page, "run: python -m studies.strong_page"


def test_the_counterexamples_are_outside_every_family():
    for polynomial in LEARNED_OUTSIDE:
        assert strong_result.known_before(polynomial, 97)["verdict"] == "not-in-class"


def test_what_is_known_before_training_is_the_verdict_and_what_twins_and_guesses_give():
    """Modulo 23 no rows of n1 + n2 are equal, so all is guessed; cubing makes equal rows modulo 97."""
    assert strong_result.known_before("n1 + n2", 23) == {"verdict": "in-class", "twins_and_guesses": 1 / 23}
    assert strong_result.known_before("(5n1^3 + 2n2^4)^2 - n2", 97)["twins_and_guesses"] == pytest.approx(
        0.745, abs=0.001
    )


# ------------------------------------------------------------------------------------------ what is trained


def test_the_polynomials_are_those_of_the_paper_and_of_the_item_on_classes():
    assert tuple(dict.fromkeys(row.polynomial for row in PUBLISHED)) == strong_plan.TABLE2
    assert strong_plan.LEARNED_OUTSIDE == LEARNED_OUTSIDE


def test_the_first_looks_have_every_kind_transformers_modulo_97_before_all_others():
    looks = strong_plan.first_looks(quick=False)
    at_97 = [look for look in looks if look.base.modulus == 97]
    assert looks[: len(at_97)] == at_97 and {look.base.model for look in looks[:5]} == {"transformer"}
    assert {look.setting for look in at_97} == set(strong_plan.SETTINGS)
    assert {look.base.model for look in at_97} == {"power", "mlp", "transformer"}
    assert {look.base.optimiser for look in at_97} == {"adamw", "adam", "sgd", "muon"}
    assert {look.base.norm for look in at_97} == {"none", "layer", "batch"}
    for look in looks:
        names = [(network["polynomial"], network["seed"]) for network in strong_plan.planned(look.settings())]
        assert len(names) == len(look.variants) * len(set(names)), "every variant has all polynomials and seeds"
        assert {(control, seed) for control in strong_plan.CONTROLS for seed in (0, 1)} <= set(names)
        spread = [len(set(values)) for values in zip(*look.variants, strict=True)]
        assert min(spread[0], spread[2]) >= 3 and spread[1] >= (1 if look.base.optimiser == "adam" else 4)


@pytest.mark.parametrize(
    ("setting", "variant"),
    [
        ("transformer 1, cross-entropy, AdamW", (0.006, 0.2, 2.0)),
        ("transformer 1, cross-entropy, AdamW", (0.01, 1.0, 1.5)),
        ("transformer 2, cross-entropy, AdamW", (0.003, 0.2, 2.0)),
    ],
)
def test_the_variants_reach_the_rates_that_are_known_to_learn(setting, variant):
    (look,) = (look for look in strong_plan.first_looks(quick=False)[:19] if look.setting == setting)
    assert variant in look.variants


def tiny(setting: str = "x², MSE, AdamW", steps: int = 4, **more) -> strong_plan.Look:
    base = TrainConfig("n1 + n2", 5, width=4, steps=steps)
    return strong_plan.Look(setting, base, (*strong_plan.CONTROLS, POLYNOMIAL), **more)


def curves(networks: list[dict]) -> list:
    return [{name: column.tolist() for name, column in network["curves"].items()} for network in networks]


def test_a_stretch_has_its_points_and_the_look_goes_on_from_its_checkpoint(tmp_path):
    """To twice the usual steps, then to four times: the same points as at once, without a file as with one."""
    look, path = tiny(reaches=(2, 4)), tmp_path / "look.safetensors"
    first = strong_training.train_on(strong_training.Stretch(look, 2, {"code": "a"}, path))
    assert first["step"] == list(range(1, 9)) and path.exists()
    assert strong_plan.as_numbers(first["test_accuracy"]).shape == (5 * 3 * 2, 8)
    second = strong_training.train_on(strong_training.Stretch(look, 4, {"code": "a"}, path))
    assert second["step"] == list(range(1, 17)) and not path.exists(), "it is over"
    assert second == strong_training.train_on(strong_training.Stretch(look, 4, {}))
    parts = [{"settings": look.settings(), "result": points} for points in (second, first)]
    _, later = strong_plan.networks_of(parts)
    assert [network["curves"]["step"].tolist() for network in later] == [list(range(1, 17))] * 30


def test_a_checkpoint_of_other_code_or_a_damaged_one_is_not_gone_on_from(tmp_path):
    look, path = tiny(reaches=(2, 4)), tmp_path / "look.safetensors"
    strong_training.train_on(strong_training.Stretch(look, 2, {"code": "a"}, path))
    begun = strong_training.begin(look)
    assert strong_training.restored(begun, path, {"code": "a"}).steps == tuple(range(1, 9))
    assert strong_training.restored(begun, path, {"code": "b"}).steps == ()
    assert (
        strong_training.restored(strong_training.begin(tiny(steps=8, reaches=(2, 4))), path, {"code": "a"}).steps == ()
    )
    path.write_bytes(path.read_bytes()[:-9])
    assert strong_training.restored(begun, path, {"code": "a"}).steps == ()


def test_a_single_run_repeats_a_network_of_a_look():
    """With what its part says that it was trained beside, as the command has it that the page prints."""
    look = tiny()
    network = strong_plan.trained(look.settings(), strong_training.train_on(strong_training.Stretch(look, 1, {})))[23]
    assert (network["seed"], network["polynomial"], network["init_scale"]) == (1, POLYNOMIAL, 1.0)
    run = begin(strong_plan.config_of(network)).segment(4).last_row()
    for name in strong_plan.MEASURED:
        assert np.float32(run[name]) == np.float32(network["curves"][name][-1])
    add_arguments(parser := argparse.ArgumentParser())
    said = vars(parser.parse_args(shlex.split(strong_page.command_of(network))[2:]))
    assert (said["expression"], said["mod"], said["steps"]) == (POLYNOMIAL, 5, 4) and "fraction" not in said
    for name in ("width", "seed", *strong_plan.VARIED, "beside", "room"):
        assert said[name] == network[name], name


# ------------------------------------------------------------------------------------------ the study as a whole


@pytest.fixture
def toy(monkeypatch):
    """A setting modulo 5 that passes for strong and learns nothing: to 2 and 4 times 4 steps, on both shares."""
    monkeypatch.setattr(strong, "first_looks", lambda *, quick: [tiny()])
    monkeypatch.setattr(strong, "REACHES", (2, 4))
    monkeypatch.setattr(strong_result, "control_accuracy", lambda networks: 1.0)
    monkeypatch.setattr(strong_plan, "learned_at", lambda curves: None)


def everything(folder: Path, time_limit: float | None = None) -> strong.Study:
    study = strong.Study(Effort("full", folder, time_limit))
    study.train()
    return study


def test_what_was_not_learned_is_trained_on_with_both_controls_and_then_on_more_of_the_table(tmp_path, toy):
    study = everything(tmp_path)
    shares = [(p["settings"]["fraction"], p["result"]["step"][-1]) for p in study.parts.parts]
    assert shares == [(0.5, 4), (0.5, 16), (0.8, 16)]
    names = [*strong_plan.CONTROLS, POLYNOMIAL]
    assert all((p["settings"]["polynomials"], p["settings"]["seeds"]) == (names, 2) for p in study.parts.parts)
    first, later = study.networks()
    assert len(first) == 30 and len(later) == 60
    again = everything(tmp_path)
    assert again.parts.parts == study.parts.parts, "what is stored is not trained again"
    assert curves(strong_plan.networks_of(Parts(tmp_path / strong.STORE).parts)[1]) == curves(later)


def test_a_polynomial_that_is_learned_ends_its_look(tmp_path, toy, monkeypatch):
    monkeypatch.setattr(strong_plan, "learned_at", lambda curves: 6 if curves["step"][-1] >= 6 else None)
    study = everything(tmp_path)
    ends = [(p["settings"]["fraction"], p["result"]["step"][-1]) for p in study.parts.parts]
    assert ends == [(0.5, 4), (0.5, 6), (0.8, 6)] and not list(tmp_path.glob("strong-checkpoints/*"))


def test_parts_of_other_code_do_not_count(tmp_path, toy, monkeypatch):
    everything(tmp_path)
    store = tmp_path / strong.STORE
    parts = json.loads(store.read_text())
    monkeypatch.setattr(strong, "made_here", lambda *roots: {"code": "another"})
    said: list[str] = []
    study = strong.Study(Effort("full", tmp_path, say=said.append))
    assert study.networks() == ([], []) and json.loads(store.read_text()) == parts
    assert len(said) == 1 and said[0].startswith(f"{store}: 3 parts left aside (of another code, ")


def test_a_time_limit_stops_within_a_look_and_a_second_call_goes_on(tmp_path, toy, monkeypatch):
    whole = everything(tmp_path / "whole")
    with monkeypatch.context() as clock:
        ticks = SimpleNamespace(perf_counter=count().__next__)
        clock.setattr(strong, "time", ticks)
        clock.setattr(strong_training, "time", ticks)
        clock.setattr(strong, "THREADS", 1)
        begun = everything(tmp_path / "parts", time_limit=6)
        assert not begun.parts.parts and list((tmp_path / "parts" / strong.CHECKPOINTS).iterdir()), "a first look"
        part = everything(tmp_path / "parts", time_limit=24)
    ends = [[p["result"]["step"][-1] for p in study.parts.parts] for study in (part, whole)]
    assert 0 < sum(ends[0]) < sum(ends[1]), "as far as it came"
    assert list((tmp_path / "parts" / strong.CHECKPOINTS).iterdir()), "the look that was under way"
    rest = everything(tmp_path / "parts")
    results = [{json.dumps(p["settings"]): p["result"] for p in study.parts.parts} for study in (whole, rest)]
    assert results[0] == results[1]


def test_without_a_folder_parts_are_kept_in_memory_and_a_time_limit_may_leave_none(toy):
    with pytest.raises(InputError, match="no setting was trained within 1e-09 seconds; give a longer --time-limit"):
        strong.compute(Effort("quick", time_limit=1e-9))
    result = strong.compute(Effort("quick"))
    assert result.measured["networks"] == 30 and result.verdict is Verdict.UNDECIDED
    assert all(made.is_known for made in result.provenance) and result.provenance


def test_the_plan_names_every_look_with_its_time():
    lines = strong.plan_text().splitlines()
    assert len(lines) > 1 + 38 and lines[1].startswith("transformer 1, cross-entropy, AdamW mod 97")
    assert all(float(line.split()[-1]) >= strong.COMPILING for line in lines[1:-1])
    assert lines[-1].startswith("first looks ")
