"""No two sentences of one answer exclude each other: 500 answers of classify and 200 trainings, on every surface."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from sentence_pairs import OLD, TRAINING_PAIRS, answer_faults, excluded, training_faults

from modgrok.answers import classifying, outlook as outlooks
from modgrok.answers.classifying import Answer, classify
from modgrok.answers.outlook import LEADS, outlook
from modgrok.answers.probe import Probe
from modgrok.base.results import plain
from modgrok.commands.classify import show as show_answer
from modgrok.commands.train import show as show_run
from modgrok.explorer import run_answers
from modgrok.loss_law.expectation import Expectation
from modgrok.separable.measures import completion
from modgrok.training import diagnosis
from modgrok.training.config import TrainConfig
from modgrok.training.diagnosis import OUTCOMES
from modgrok.training.run import Run
from modgrok.training.steps import Metrics
from modgrok.training.train import train

pytestmark = pytest.mark.usefixtures("unchecked_module")  # what takes its time is checked by the tests of it

ANSWERS, TRAININGS, OUTLOOKS = 500, 200, 3000


def printed(show, result, **args) -> str:
    """What a command prints, on lines that do not end."""
    console = Console(file=StringIO(), width=4000)
    show(result, console, Namespace(**args))
    return console.file.getvalue()


def words_of(answer: Answer) -> str:
    """An answer on all its surfaces."""
    shown = printed(show_answer, answer, proof=False, certificate=None, table=None, curve=None)
    return "\n".join([shown, repr(answer), answer.explain(), answer._repr_html_()])


# ------------------------------------------------------------------------------------------------ classify


def questions() -> Iterator[tuple[str, object, int | None, dict]]:
    """A kind, a function, its modulus and options; without end."""
    rng = np.random.default_rng(24)
    while True:
        p, m = int(rng.choice([5, 7, 11, 13])), int(rng.choice([4, 6, 8, 9, 10, 12, 15, 16]))
        a, b, c, k, e = (int(n) for n in rng.integers(1, 5, 5))
        options = {"fraction": float(rng.choice([0.04, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95])), "effort": 0.02}
        options |= {"measure": bool(rng.random() < 0.1), "probe": None if rng.random() < 0.08 else False}
        few = options | {"fraction": 0.5}
        noise = rng.integers(0, p, (p, p))
        relabelled = rng.integers(0, p, p)[np.add.outer(rng.permutation(p), rng.permutation(p)) % p]
        yield "sum", f"({a}n1^{k} + {b}n2)^{e} + {c}", p, options
        yield "product", f"{a} n1^{k} n2^{e} + {c}", p, options
        yield "polynomial outside", f"n1^{k + 1} + {b}n1 n2^{e} + n2^2", p, options
        yield "monomials", f"{a} n1^{k} n2 + {b} n1 n2^{e + 1}", p, options
        yield "composite", f"{a}n1^{k} + {b}n2^{e}", m, options
        yield "composite product", f"{a}n1^{k} n2 + {c}", m, options
        yield "noise", noise, None, options
        yield "relabelled", relabelled, None, options
        yield "two values", (noise % 2), None, options
        yield "unknown cells", np.where(rng.random((p, p)) < 0.3, -1, relabelled), None, options
        yield "unknown noise", np.where(rng.random((p, p)) < 0.2, -1, noise), None, options
        yield "rectangle", np.add.outer(np.arange(a + 1), np.arange(b + 2)) % (c + 2), None, few
        yield "rectangle of noise", rng.integers(0, 4, (a + 1, b + 2)), None, few
        yield "three variables", f"{a}n1 + n2^{k} + n3", 5, options
        yield "three variables outside", f"n1 n2 + n3^{k}", 5, options
        yield "xor", rng.permutation(4)[np.bitwise_xor.outer(np.arange(4), np.arange(4))], None, few
        yield "one variable", f"n1^{k} + {c} + 0 n2", p, options
        yield "constant", f"{c} + 0 n1 n2", p, options
        if p == 13:
            yield "large", f"n1^{k} n2 + {a}", 131, options
            hard = rng.integers(0, 3, 29)[np.add.outer(rng.integers(0, 29, 17), rng.integers(0, 29, 17)) % 29]
            yield "little effort", hard, None, options | {"effort": 0.0005}


@pytest.fixture(scope="module")
def answers(unchecked_module) -> list[tuple[str, Answer, str]]:
    """500 different answers: their kind, themselves, and their words.

    Tables complete themselves from one split instead of some: how sure the shares are does not matter here.
    """
    found: dict[str, tuple[str, Answer, str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(completion, "CELLS_JUDGED", 1)
        for kind, function, p, options in questions():
            answer = classify(function, p, **options)
            words = words_of(replace(answer, seconds=0.0))
            found.setdefault(words, (kind, answer, words))
            if len(found) == ANSWERS:
                return list(found.values())
    raise AssertionError


def test_500_answers_say_nothing_that_excludes_another(answers):
    faults = [(kind, repr(answer), fault) for kind, answer, words in answers for fault in faults_of(answer, words)]
    assert not faults, faults[:5]


def faults_of(answer: Answer, words: str) -> list[str]:
    return list(answer_faults(words, json.loads(json.dumps(answer.to_json()))))


def test_every_kind_of_answer_is_among_the_500(answers):
    kinds, outcomes = Counter(kind for kind, *_ in answers), Counter(answer.outlook.outcome for _, answer, _ in answers)
    assert len(kinds) == 20 and min(kinds.values()) >= 2, kinds
    assert set(outcomes) == set(LEADS), set(LEADS) - set(outcomes)
    verdicts = Counter(answer.verdict for _, answer, _ in answers)
    assert min(verdicts[each] for each in ("in-class", "not-in-class", "unknown")) >= 5, verdicts
    families = {answer.family for _, answer, _ in answers}
    assert families == {None, "constant", "one-variable", "additive", "multiplicative", "product-group"}
    shares = Counter((answer.enough is not None, answer.expected.covered) for _, answer, _ in answers)
    assert len(shares) == 4 and min(shares.values()) >= 5, shares


def test_outlooks_of_any_numbers_say_nothing_that_excludes_another(answers):
    """Numbers that no table has given yet, with probes that reached anything."""
    rng, answer, outcomes = np.random.default_rng(6), answers[0][1], Counter()
    for _ in range(OUTLOOKS):
        low, value, high = np.sort(rng.choice([rng.random(3), 1 - rng.random(3) / 50, np.array([0.99, 0.99, 1.0])]))
        numbers = (float(value), float(low), float(high)) if rng.random() < 0.6 else (None, None, None)
        expected, fraction = Expectation(*numbers, "why", "table"), float(rng.choice([0.05, 0.1, 0.3, 0.5, 0.9]))
        reached = float(rng.choice([0.0, rng.random(), 0.99, 1.0]))
        probe = Probe(Expectation(None, None, None, "", "probe"), 0.01, reached, "power", 500, 1000, fraction, 1.0)
        share = float(rng.choice([0.1, 0.1 + 0.8 * rng.random(), fraction]))
        ahead = outlook(
            expected, share if rng.random() < 0.7 else None, fraction, probe if rng.random() < 0.5 else None
        )
        outcomes[ahead.outcome] += 1
        told = answer.to_json() | plain({"outlook": ahead, "expected_accuracy": expected, "enough": ahead.enough})
        told |= {"answer": [answer.answer[0], ahead.text], "fraction": fraction, "probe": plain(ahead.probe)}
        faults = list(answer_faults(f"{ahead.text} {ahead.advice} {ahead.summary()}", told))
        assert not faults, (faults, ahead.text, told["outlook"], numbers, share)
    assert set(outcomes) == set(LEADS)


# ------------------------------------------------------------------------------------------------ trainings


@pytest.fixture(scope="module")
def small() -> Run:
    """A trained network, whose curves and settings others take."""
    return train("n1 n2", 5, width=4, steps=10)


def course(kind: str, points: int, p: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Made-up curves of a kind."""
    rising, late = np.linspace(0.01, 1, points), np.linspace(-1.5, 1.2, points).clip(0.01, 1)
    falling, flat = np.geomspace(1 / p, 0.001 / p, points), np.full(points, 0.3 / p)
    jitter = 1 + 0.001 * rng.random(points)
    train, test, train_loss, test_loss = late, rising * 0.5, falling, flat
    embed, readout = np.full(points, 40.0), np.full(points, 15.0)
    last, middle = points - 1, points // 2
    once = np.where(np.arange(points) == middle, 0.995, 0.4)
    if kind in ("grokked", "wavering", "slipped"):
        train, test, test_loss = rising.clip(0.5), late.copy(), falling * (jitter if rng.random() < 0.5 else 1)
        test[last] = {"grokked": 1.0, "wavering": 0.9849, "slipped": 0.3 + 0.64 * rng.random()}[kind]
        test[max(0, middle)] = 1.0 if points > 2 or kind == "grokked" else test[middle]
    elif kind == "memorised":
        train, test = np.minimum(1.2 * rising + 0.2, 1), np.full(points, rng.choice([0.01, 0.03, 0.4, 0.97]))
        train[last] = 1.0
    elif kind == "underfit":
        train, train_loss = np.where(rng.random() < 0.3, once, np.full(points, 0.4)), flat * jitter
    elif kind == "improving":
        test_loss = falling
    elif kind == "diverged":
        bad = float(rng.choice([np.nan, np.inf, 50.0]))
        train_loss = np.where(np.arange(points) >= middle + 1 if points > 2 else np.arange(points) == last, bad, 1 / p)
        train, test = (once, once) if rng.random() < 0.4 else (rising * 0.3, rising * 0.2)
        embed = np.where(np.arange(points) == last, np.inf, 40.0) if rng.random() < 0.3 else embed
        train_loss = falling if np.isinf(embed[-1]) else train_loss
    elif kind == "collapsed":
        train_loss = test_loss = np.full(points, 1 / p)
        readout, train, test = (
            np.geomspace(10, 0.1, points),
            np.full(points, 0.05),
            once if rng.random() < 0.3 else flat,
        )
    elif kind in ("fitted", "untested"):
        test = test_loss = np.full(points, np.nan)
        train = np.where(np.arange(points) == last, 1.0, rising) if kind == "fitted" else once
        train_loss = falling if rng.random() < 0.5 else flat
    columns = {"train_loss": train_loss, "test_loss": test_loss, "train_accuracy": train, "test_accuracy": test}
    rest = {name: np.full(points, 0.3) for name in Metrics._fields} | {"alive": np.full(points, 4)}
    norms = {"embed_norm": embed, "readout_norm": readout}
    return rest | {name: np.array(values, float) for name, values in (columns | norms).items()}


KINDS = (
    "grokked",
    "wavering",
    "slipped",
    "memorised",
    "underfit",
    "improving",
    "diverged",
    "collapsed",
    "fitted",
    "untested",
)


def trainings(small: Run) -> Iterator[tuple[str, Run]]:
    """Trainings that ended in every way, after all of their steps and before, without end."""
    rng, functions = np.random.default_rng(25), ("n1 n2", "n1^3 + n1 n2^2 + n2", "n1^2 n2^2", "(n1 + n2)^6")
    while True:
        for kind in KINDS:
            p, steps = int(rng.choice([5, 23, 61, 97])), int(rng.choice([20, 300, 1000, 1500]))
            whole, points = bool(rng.random() < 0.6), int(rng.choice([2, 3, 8, 40]))
            settings = {
                "width": int(rng.choice([4, 500])),
                "weight_decay": float(rng.choice([0.0, 0.2, 5.0])),
                "fraction": 1.0 if kind in ("fitted", "untested") else float(rng.choice([0.2, 0.5, 0.8, 0.9])),
                "learning_rate": float(rng.choice([0.005, 0.1])),
            }
            if rng.random() < 0.5 and kind not in ("fitted", "untested"):
                settings = {"width": 500, "fraction": 0.5}  # what the loss law was measured at
            config = TrainConfig(str(rng.choice(functions)), p, steps=steps, **settings)
            taken = steps if whole else int(rng.integers(max(2, points), max(steps, points + 2)))
            reached = np.unique(np.linspace(0, min(taken, steps - (not whole)), points).astype(int))
            curves = {"step": reached} | course(kind, len(reached), p, rng)
            yield kind, replace(small, config=config, curves=curves)


def said_of(run: Run) -> str:
    """A training on all its surfaces: terminal, notebook, one line, JSON."""
    told = run.to_json()["diagnosis"]
    return "\n".join(
        [printed(show_run, run, table=None), run._repr_html_(), run.summary(), *(str(text) for text in told.values())]
    )


def run_faults(run: Run, words: str = "") -> list[str]:
    table = run.config.function.table
    chance = Counter(table.ravel().tolist()).most_common(1)[0][1] / table.size
    return list(training_faults(words or said_of(run), json.loads(json.dumps(run.to_json())), chance))


def test_200_trainings_say_nothing_that_excludes_another(small):
    seen, found = Counter(), {}
    for kind, run in trainings(small):
        words = said_of(run)
        faults = run_faults(run, words)
        assert not faults, (kind, faults, run.diagnosis.text)
        seen[run.outcome, run.finished] += 1
        found[words] = None
        if len(found) == TRAININGS:
            break
    assert {outcome for outcome, _ in seen} == set(OUTCOMES)
    assert all(seen[outcome, finished] for outcome in OUTCOMES for finished in (True, False)), seen


@pytest.mark.parametrize(
    "settings",
    [
        {"function": "n1 + n2", "fraction": 0.8, "steps": 300},
        {"function": "n1 + n2", "weight_decay": 100.0, "steps": 100},
        {"function": "n1 + n2", "learning_rate": 1e2, "weight_decay": 0.0, "steps": 40},
        {"function": "n1^3 + n1 n2^2 + n2", "steps": 400},
        {"function": "n1 + n2", "width": 3, "steps": 300},
    ],
)
def test_networks_that_were_really_trained_say_nothing_that_excludes_another(settings, tmp_path):
    run = train(**({"mod": 13, "width": 60, "out": tmp_path / "runs" / "one"} | settings))
    assert not run_faults(run)
    places = {"runs": str(tmp_path / "runs"), "run": "one", "tables": str(tmp_path / "tables")}
    page = run_answers.run(places)
    words = f"{page['diagnosis']['text']} {page['expected_text']} {page['diagnosis']['outcome']}"
    assert not excluded(TRAINING_PAIRS, f"{words} { ({name: page[name] for name in ('memorised_at', 'grokked_at')}) }")
    assert page["diagnosis"] == run.to_json()["diagnosis"]


# ------------------------------------------------------------------------------------------------ the reader itself


@pytest.mark.parametrize("name", OLD)
def test_what_once_contradicted_itself_is_found_by_the_reader(name):
    pairs, text = OLD[name]
    assert excluded(pairs, text)


def test_a_share_that_is_told_where_nothing_is_known_is_found(monkeypatch):
    """The old fault, put back: without trainings alike it is not known, whatever the share says."""
    nothing = Expectation(None, None, None, "why", "table")
    monkeypatch.setattr(classifying, "expected_from_table", lambda *_, **__: nothing)
    found = classify("n1^2 n2 + 3", 97)
    assert not faults_of(found, words_of(found))
    rule = outlooks.outcome_of
    known = lambda expected, enough, fraction: rule(expected, None, fraction)  # noqa: E731
    monkeypatch.setattr(outlooks, "outcome_of", known)
    found = classify("n1^2 n2 + 3", 97)
    assert any("it is expected to grok" in fault for fault in faults_of(found, words_of(found)))


def test_a_share_that_the_accuracy_denies_is_found(monkeypatch):
    monkeypatch.setattr(outlooks, "agrees", lambda *_: True)
    found = classify("n1^12 + n2^12", 13)
    assert any("is trained on" in fault for fault in faults_of(found, words_of(found)))


def test_a_verdict_that_its_sentence_denies_is_found(monkeypatch):
    monkeypatch.setattr(classifying.wording, "what_it_is", lambda *_: "is neither a sum nor a product: that is proved")
    found = classify("n1 + n2", 5)
    assert len(faults_of(found, words_of(found))) >= 3


def wavering(small: Run, step: int, steps: int) -> Run:
    """x y mod 23 as it was: 99 % of the test rows once, 98.49 % at the end, and a loss that falls."""
    curves = course("wavering", 31, 23, np.random.default_rng(0)) | {"test_loss": np.geomspace(0.04, 0.01, 31)}
    config = TrainConfig("n1 n2", 23, width=100, steps=steps)
    return replace(small, config=config, curves={"step": np.linspace(0, step, 31).astype(int)} | curves)


def test_a_training_that_grokked_and_improves_is_found(small, monkeypatch):
    assert not run_faults(wavering(small, 300, 300))
    rule = diagnosis.outcome_of
    monkeypatch.setattr(diagnosis, "outcome_of", lambda seen, _: rule(seen, None))
    assert any("Still improving" in fault for fault in run_faults(wavering(small, 300, 300)))


def test_a_training_that_was_stopped_and_is_sent_beyond_its_end_is_found(small, monkeypatch):
    run = wavering(small, 1360, 3000)
    run.curves["test_accuracy"][:] = 0.4
    assert not run_faults(replace(run)) and replace(run).diagnosis.go_on_to == 3000
    monkeypatch.setattr(diagnosis.Seen, "early", False)
    faults = run_faults(replace(run))
    assert any("advised to go on to 6000" in fault for fault in faults) and any("too few" in fault for fault in faults)
