"""What became of a training: one decision, of which everything that is said about it is made.

The rules read the measured curves alone. A network that answers 0 everywhere has a loss of its own (1/p in squared
error, log p in cross-entropy): weights that decay to zero end there.
Passing 99 % on the training rows is memorising; passing it on the test rows too is generalising, and grokking when it
comes later. Accuracies waver by some rows, so what has passed 99 % stays passed down to 95 %; below, it has slipped.

A `Diagnosis` says outcome, cause, advice, steps and expectation. Terminal, JSON, page and notebook take their words
from it and add none, so that no two can exclude each other; `tests/test_sentences.py` has the pairs that must not meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from modgrok.algebra.structures import Integers
from modgrok.base.results import Result, loss_text, percent
from modgrok.loss_law.expectation import Expectation
from modgrok.loss_law.formula import expected_from_loss
from modgrok.networks.losses import LOSSES, blank_loss
from modgrok.training.config import TrainConfig
from modgrok.training.presets import preset

LEARNED = 0.99
"""The accuracy from which a set counts as learned."""
KEPT = 0.95
"""The accuracy down to which what was learned once still counts as learned."""
OUTCOMES = ("grokked", "slipped", "fitted", "diverged", "collapsed", "improving", "memorised", "underfit")

MORE = (0.7, 0.9, 0.95)
"""Shares of the table to try where a smaller one was too little."""
WAITING = ("slipped", "memorised", "underfit")
"""Those that the steps which are left may change."""

Curves = Mapping[str, Float[np.ndarray, "point"] | Int[np.ndarray, "point"]]
"""Columns `step`, `train_loss`, … of the measured steps; NaN where there are no test rows."""


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """What became of a training.

    `outcome` is one of `OUTCOMES`, `found` what was seen; `because` is the likely cause and `advice` what to try, both
    empty where nothing is to be mended. `go_on_to` is the step to go on to, None where that is not the advice.
    `memorised_at` and `grokked_at` are the first measured steps with 99 % of the training and of the test rows.
    `expected` is the test accuracy that the training loss alone stands for, and `expectation` says it beside what was
    measured.
    """

    outcome: str
    found: str
    because: str
    advice: str
    go_on_to: int | None
    step: int
    steps: int
    memorised_at: int | None
    grokked_at: int | None
    expected: Expectation
    expectation: str
    told = ("outcome", "text", "because", "advice", "go_on_to", "expectation")

    @property
    def text(self) -> str:
        """All of it in sentences, but for the expectation."""
        advice = f"; {self.advice}" if self.advice else ""
        cause = f" Likely cause: {self.because}{advice}." if self.because else ""
        return f"{self.found}.{cause}"

    @property
    def go_on(self) -> str:
        """What to add to `modgrok train --resume RUN`, to do as advised."""
        return f" --steps {self.go_on_to}" if self.go_on_to is not None and self.go_on_to != self.steps else ""

    def summary(self) -> str:
        return self.text


@dataclass(frozen=True)
class Seen:
    """What the curves of a training say, in numbers."""

    config: TrainConfig
    curves: Curves
    in_class: bool | None
    enough: float | None

    @property
    def last(self) -> dict[str, float]:
        return {name: float(column[-1]) for name, column in self.curves.items()}

    @property
    def step(self) -> int:
        return int(self.curves["step"][-1])

    @property
    def early(self) -> bool:
        """Whether steps are left, as in a training that was stopped."""
        return self.step < self.config.steps

    @property
    def short(self) -> bool:
        """Whether so few steps were asked for that nothing is known of what more would do."""
        return not self.early and 20 * self.step < self.usual("steps") and not self.still

    @property
    def few(self) -> bool:
        """Whether more steps may do what is wanted, of a network that has learned its training set by heart."""
        hopeless = self.in_class is False or len(self.config.function.sizes) < 2
        return not self.early and 2 * self.step < self.usual("steps") and not hopeless

    @property
    def still(self) -> bool:
        """Whether nothing can be learned, because the learning rate is 0."""
        return "learning_rate" in self.config.rates and self.config.learning_rate == 0

    def usual(self, name: str) -> Any:
        """What suits the model and the optimiser."""
        return preset(self.config.model, self.config.optimiser)[name]

    @property
    def tested(self) -> bool:
        return not isnan(self.last["test_accuracy"])

    @property
    def finite(self) -> bool:
        measured = [name for name in ("embed_norm", "readout_norm") if not isnan(self.curves[name][0])]
        return all(isfinite(self.last[name]) for name in ("train_loss", *measured))

    @property
    def grown(self) -> bool:
        return self.last["train_loss"] > 10 * float(self.curves["train_loss"][0])

    @property
    def blank(self) -> bool:
        """Whether the weights decayed, and the network answers nearly 0 everywhere."""
        shrunk = self.last["readout_norm"] < 0.5 * float(self.curves["readout_norm"][0])
        return shrunk and self.last["train_loss"] > 0.99 * blank(self.config)

    @property
    def improving(self) -> bool | None:
        """Does the test loss fall, or the loss on a training set that is not known yet? None before two measurements.

        While a training set is learned by heart, the test loss often rises.
        """
        return None if len(self.curves["step"]) < 2 else self.falls("test") or (not self.fits and self.falls("train"))

    @property
    def fits(self) -> bool:
        return self.last["train_accuracy"] >= LEARNED

    def falls(self, part: str) -> bool:
        """Did this loss fall by more than 2 % within the last fifth of the steps, and the last two measurements?

        Adam's loss jitters from step to step, so the medians of the two halves of that fifth are compared.
        """
        last_fifth = int(np.searchsorted(np.asarray(self.curves["step"]), 0.8 * self.step))
        losses = np.asarray(self.curves[f"{part}_loss"])[min(last_fifth, len(self.curves["step"]) - 2) :]
        half = losses.size // 2
        return bool(np.median(losses[-half:]) < 0.98 * np.median(losses[:half]))

    def when(self, column: str) -> str:
        """When an accuracy passed 99 %: 'from step 80', or 'first at step 80' where it did not stay there."""
        passed = np.flatnonzero(np.asarray(self.curves[column]) >= LEARNED)
        stayed = len(passed) == len(self.curves[column]) - passed[0]
        return f"{'from' if stayed else 'first at'} step {int(self.curves['step'][passed[0]])}"


def passed_at(curves: Curves, column: str) -> int | None:
    """The first measured step at which an accuracy reached 99 %."""
    passed = np.flatnonzero(np.asarray(curves[column]) >= LEARNED)
    return int(curves["step"][passed[0]]) if passed.size else None


def diagnose(
    config: TrainConfig, curves: Curves, in_class: bool | None = None, enough: float | None = None
) -> Diagnosis:
    """What became of the training whose curves these are; `in_class` is the verdict on its function, and `enough` the
    share of the table from which half of all trainings grok, where they are known."""
    seen = Seen(config, curves, in_class, enough)
    memorised_at, grokked_at = (passed_at(curves, f"{part}_accuracy") for part in ("train", "test"))
    outcome = outcome_of(seen, grokked_at)
    found, because, advice = WORDS[outcome](seen)
    go_on_to = None
    short = (outcome == "underfit" and seen.short) or (outcome == "memorised" and seen.few)
    if (
        outcome == "improving"
        or short
        or (outcome in WAITING and (seen.early or (outcome == "slipped" and seen.improving)))
    ):
        go_on_to = config.steps if seen.early else seen.usual("steps") if seen.short else 2 * config.steps
        where = f"only {seen.step} of its {config.steps} steps were taken" if seen.early else "too few steps"
        because = ", or ".join(filter(None, (where, because)))
        advice = ", or ".join(filter(None, (f"go on to step {go_on_to}", advice)))
    expected = expected_from_loss(seen.last["train_loss"], replace(config, steps=seen.step))
    return Diagnosis(
        outcome,
        found,
        because,
        advice,
        go_on_to,
        seen.step,
        config.steps,
        memorised_at,
        grokked_at,
        expected,
        expectation_of(expected, seen, outcome),
    )


def outcome_of(seen: Seen, grokked_at: int | None) -> str:
    """The first rule that holds."""
    kept, fitted = grokked_at is not None and seen.last["test_accuracy"] >= KEPT, seen.fits and not seen.tested
    rules = {
        "diverged": not seen.finite or (seen.grown and not kept and not fitted),
        "grokked": kept,
        "fitted": fitted,
        "collapsed": seen.blank,
        "slipped": grokked_at is not None,
        "improving": bool(seen.improving),
        "memorised": seen.fits,
        "underfit": True,
    }
    return next(name for name, holds in rules.items() if holds)


def expectation_of(expected: Expectation, seen: Seen, outcome: str) -> str:
    """What the training loss alone stands for, beside what was measured; empty where that is not known."""
    if not expected.covered:
        return ""
    compared = expected.compared(seen.last["test_accuracy"]) if seen.tested else ""
    than = f"; it reached {compared}" * bool(compared)
    rest = ". That holds once a training has settled" if outcome in ("improving", "slipped", "diverged") else ""
    return f"From its training loss alone, a test accuracy of {expected.text} is expected{than}{rest}."


def blank(config: TrainConfig) -> float:
    """The loss of a network that answers 0 everywhere; NaN where the loss is an object that is not here."""
    return blank_loss(LOSSES[config.loss], config.modulus) if config.loss in LOSSES else nan


def shown(config: TrainConfig, name: str) -> str:
    """A rate in parentheses; nothing where it is inside the optimiser."""
    return f" ({getattr(config, name):g})" if name in config.rates else ""


def quarter(config: TrainConfig, name: str) -> str:
    """What to try in place of a rate that is too large: a quarter of it, or what is usual if that is far below."""
    if name not in config.rates:
        return "a quarter of that"
    given, usual = getattr(config, name), preset(config.model, config.optimiser)[name]
    return f"{usual if 0 < usual < given / 40 else given / 4:g}"


def less_decay(config: TrainConfig) -> str:
    """A weaker weight decay, to try; empty where there is none to weaken."""
    decays = config.weight_decay > 0 or "weight_decay" not in config.rates
    return f"a weight decay of {quarter(config, 'weight_decay')}" if decays else ""


Words = tuple[str, str, str]
"""What was found, its likely cause, and what to try."""


def diverged(seen: Seen) -> Words:
    config, losses = seen.config, np.asarray(seen.curves["train_loss"])
    grown = ~(losses <= 10 * losses[0])
    by = f"by step {int(seen.curves['step'][int(np.argmax(grown))])} the training loss was more than ten times what it "
    what = f"{by}began with, or not a number" if grown.any() else "its weights are no longer finite numbers"
    return (
        f"Diverged{after_all(seen)}: {what}",
        f"a learning rate too large{shown(config, 'learning_rate')} or initial weights too large "
        f"(init_scale {config.init_scale:g})",
        f"try a learning rate of {quarter(config, 'learning_rate')}",
    )


def collapsed(seen: Seen) -> Words:
    config = seen.config
    small = f"initial weights too small (init_scale {config.init_scale:g})"
    strong, advice = f"weight decay too strong{shown(config, 'weight_decay')}, or {small}", less_decay(config)
    return (
        f"Collapsed{after_all(seen)}: the weights decayed and the network answers nearly 0 everywhere "
        f"(loss {loss_text(seen.last['train_loss'])}, and 0 itself has {loss_text(blank(config))})",
        strong if advice else small,
        f"try {advice or 'a larger init_scale'}",
    )


def after_all(seen: Seen) -> str:
    """That a training which failed had learned before: when it passed 99 %, and of what."""
    for part, name in (("test", "test"), ("train", "training")):
        if (passed := passed_at(seen.curves, f"{part}_accuracy")) is not None:
            return f" after getting 99 % of the {name} set right at step {passed}"
    return ""


def fitted(seen: Seen) -> Words:
    share = percent(seen.last["train_accuracy"])
    return f"Fits the whole table ({share} of its cells); there is no test set", "", ""


def grokked(seen: Seen) -> Words:
    known = passed_at(seen.curves, "train_accuracy") is not None
    train = f"of the training set {seen.when('train_accuracy')}" if known else "never of the training set"
    share = percent(seen.last["test_accuracy"])
    return f"Grokked: {share} of the test set right; 99 % of it {seen.when('test_accuracy')}, {train}", "", ""


def slipped(seen: Seen) -> Words:
    passed, config = passed_at(seen.curves, "test_accuracy"), seen.config
    return (
        f"Grokked and slipped: 99 % of the test set right at step {passed}, {percent(seen.last['test_accuracy'])} "
        f"at step {seen.step}",
        f"a learning rate too large to stay there{shown(config, 'learning_rate')}",
        f"try a learning rate of {quarter(config, 'learning_rate')}",
    )


def improving(seen: Seen) -> Words:
    name, part = ("test", "test") if seen.falls("test") else ("train", "training")
    share = percent(seen.last[f"{name}_accuracy"])
    return f"Still improving: {share} of the {part} set right, and the {part} loss is falling", "", ""


def memorised(seen: Seen) -> Words:
    config, last = seen.config, seen.last
    much = "about chance" if last["test_accuracy"] < 2 * chance(config) else "above chance"
    tried, below = [], max(config.fraction, (seen.enough or 0) + 0.03)
    more = next((share for share in MORE if share > below), None)
    little = config.fraction < (seen.enough or 0.4) or (not seen.enough and (config.modulus < 40 or seen.in_class))
    if little and more and not seen.short:
        tried.append((f"too little data (fraction {config.fraction:g} of the table)", f"a fraction of {more:g}"))
    usual = preset(config.model, config.optimiser)["weight_decay"]
    if config.weight_decay < 0.2 * usual and not seen.short:
        tried.append((f"weight decay too weak ({config.weight_decay:g})", f"a weight decay of {usual:g}"))
    because, advice = (list(words) for words in zip(*tried, strict=True)) if tried else ([], [])
    asked = [f"try {', or '.join(advice)}"] if advice else []
    if len(config.function.sizes) < 2:
        because, asked = ["a function of one variable: nothing that is read in one cell is read in another"], []
    elif not seen.in_class and not (seen.short and seen.few) and isinstance(config.function.structure, Integers):
        decided = seen.in_class is False
        because.append("the function, which is not h(g1 + g2)" if decided else "a function that is not h(g1 + g2)")
        asked += [] if decided else ["ask `modgrok classify`"]
    so_far = " so far" * (seen.early or seen.few)
    return (
        f"Only memorised{so_far}: {percent(last['train_accuracy'])} of the training set right, "
        f"{percent(last['test_accuracy'])} of the test set ({much})",
        ", or ".join(because),
        "; ".join(asked),
    )


def chance(config: TrainConfig) -> float:
    """The share of the cells that have the commonest value: what a guess gets right."""
    table = config.function.table
    return float(np.bincount(table[table >= 0].ravel()).max() / (table >= 0).sum())


def underfit(seen: Seen) -> Words:
    config = seen.config
    both = f" ({config.weight_decay:g}, with learning rate {config.learning_rate:g})" if config.rates else ""
    rest = f" and {'not improving now' if seen.early else 'no longer improving'}" if seen.improving is not None else ""
    once = passed_at(seen.curves, "train_accuracy")
    lost = f" (99 % at step {once}, since lost)" if once is not None else ""
    weaker = less_decay(config)
    stuck = "Too early to tell" if seen.short else f"Stuck{' so far' * seen.early}"
    found = (
        f"{stuck}: {percent(seen.last['train_accuracy'])} of the training set right{lost}{'' if seen.short else rest}"
    )
    if seen.still:
        return found, "a learning rate of 0", f"try {seen.usual('learning_rate'):g}"
    if seen.short:
        return f"{found}, after {seen.step} steps", "", ""
    return (
        found,
        f"too narrow (width {config.width}){f' or weight decay too strong{both}' if weaker else ''}",
        f"try a width of {4 * config.width}{f', or {weaker}' if weaker else ''}",
    )


WORDS = {
    "grokked": grokked,
    "slipped": slipped,
    "fitted": fitted,
    "diverged": diverged,
    "collapsed": collapsed,
    "improving": improving,
    "memorised": memorised,
    "underfit": underfit,
}
