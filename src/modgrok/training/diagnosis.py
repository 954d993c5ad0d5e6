"""What became of a training, in words, with the likely cause and what to try.

The rules read the measured curves alone. A network that answers 0 everywhere has a loss of its own (1/p in squared
error, log p in cross-entropy): weights that decay to zero end there.
Passing 99 % on the training rows is memorising; passing it on the test rows too is generalising, and grokking when it
comes later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
from jaxtyping import Float, Int

from modgrok.base.results import percent
from modgrok.networks.losses import LOSSES, blank_loss
from modgrok.training.config import TrainConfig
from modgrok.training.presets import preset

LEARNED = 0.99
"""The accuracy from which a set counts as learned."""

Curves = Mapping[str, Float[np.ndarray, "point"] | Int[np.ndarray, "point"]]
"""Columns `step`, `train_loss`, … of the measured steps; NaN where there are no test rows."""


@dataclass(frozen=True)
class Diagnosis:
    """`outcome` is one of grokked, fitted, diverged, collapsed, improving, memorised, underfit."""

    outcome: str
    text: str


def passed_at(curves: Curves, column: str) -> int | None:
    """The first measured step at which an accuracy reached 99 %."""
    passed = np.flatnonzero(np.asarray(curves[column]) >= LEARNED)
    return int(curves["step"][passed[0]]) if passed.size else None


def diagnose(config: TrainConfig, curves: Curves) -> Diagnosis:
    """What became of the training whose curves these are."""
    last = {name: float(column[-1]) for name, column in curves.items()}
    measured = [name for name in ("embed_norm", "readout_norm") if not np.isnan(curves[name][0])]
    finite = all(isfinite(last[name]) for name in ("train_loss", *measured))
    if not finite or last["train_loss"] > 10 * curves["train_loss"][0]:
        return diverged(config, curves)
    if last["train_loss"] > 0.99 * blank(config) and last["readout_norm"] < 0.5 * curves["readout_norm"][0]:
        return collapsed(config, last)
    if np.isnan(last["test_accuracy"]) and last["train_accuracy"] >= LEARNED:
        text = f"Fits the whole table ({percent(last['train_accuracy'])} of its rows); there are no test rows."
        return Diagnosis("fitted", text)
    if last["test_accuracy"] >= LEARNED:
        return grokked(curves, last)
    if still_improving(curves):
        return improving(config, last)
    return memorised(config, last) if last["train_accuracy"] >= LEARNED else underfit(config, last)


def blank(config: TrainConfig) -> float:
    """The loss of a network that answers 0 everywhere; NaN where the loss is an object that is not here."""
    return blank_loss(LOSSES[config.loss], config.modulus) if config.loss in LOSSES else nan


def shown(config: TrainConfig, name: str) -> str:
    """A rate in parentheses; nothing where it is inside the optimiser."""
    return f" ({getattr(config, name):g})" if name in config.rates else ""


def quarter(config: TrainConfig, name: str) -> str:
    """What to try in place of a rate that is too large."""
    return f"{getattr(config, name) / 4:g}" if name in config.rates else "a quarter of that"


def diverged(config: TrainConfig, curves: Curves) -> Diagnosis:
    losses = np.asarray(curves["train_loss"])
    grown = ~(losses <= 10 * losses[0])
    step = int(curves["step"][int(np.argmax(grown))])
    return Diagnosis(
        "diverged",
        f"Diverged: by step {step} the training loss was more than ten times what it began with, or not a number. "
        f"Likely cause: a learning rate too large{shown(config, 'learning_rate')} or initial weights too large "
        f"(init_scale {config.init_scale:g}); try a learning rate of {quarter(config, 'learning_rate')}.",
    )


def collapsed(config: TrainConfig, last: Mapping[str, float]) -> Diagnosis:
    return Diagnosis(
        "collapsed",
        f"Collapsed: the weights decayed and the network answers nearly 0 everywhere (loss {last['train_loss']:.5f}, "
        f"and 0 itself has {blank(config):.5f}). Likely cause: weight decay too strong{shown(config, 'weight_decay')}, "
        f"or initial weights too small (init_scale {config.init_scale:g}); "
        f"try a weight decay of {quarter(config, 'weight_decay')}.",
    )


def grokked(curves: Curves, last: Mapping[str, float]) -> Diagnosis:
    train, test = passed_at(curves, "train_accuracy"), passed_at(curves, "test_accuracy")
    when = f"the training rows from step {train}" if train is not None else "never all the training rows"
    return Diagnosis(
        "grokked",
        f"Grokked: {percent(last['test_accuracy'])} of the test rows; 99 % of them from step {test}, {when}.",
    )


def still_improving(curves: Curves) -> bool:
    """Did the test loss (without one, the training loss) fall by more than 2 % within the last fifth of the steps?

    Adam's loss jitters from step to step, so the medians of the two halves of that fifth are compared.
    """
    name = "train_loss" if np.isnan(curves["test_loss"][-1]) else "test_loss"
    losses = np.asarray(curves[name])[np.asarray(curves["step"]) >= 0.8 * curves["step"][-1]]
    half = losses.size // 2
    return half > 0 and bool(np.median(losses[-half:]) < 0.98 * np.median(losses[:half]))


def improving(config: TrainConfig, last: Mapping[str, float]) -> Diagnosis:
    name, rows = ("train", "training") if np.isnan(last["test_accuracy"]) else ("test", "test")
    return Diagnosis(
        "improving",
        f"Still improving: {percent(last[f'{name}_accuracy'])} of the {rows} rows, and the {name} loss is falling. "
        f"Likely cause: too few steps; go on to {2 * config.steps} steps.",
    )


def memorised(config: TrainConfig, last: Mapping[str, float]) -> Diagnosis:
    chance = 1 / config.modulus
    much = "about chance" if last["test_accuracy"] < 2 * chance else "above chance"
    causes = []
    if config.fraction < 0.4 or config.modulus < 40:
        causes.append(f"too little data (fraction {config.fraction:g} of the table; try 0.7)")
    usual = preset(config.model, config.optimiser)["weight_decay"]
    if config.weight_decay < 0.2 * usual:
        causes.append(f"weight decay too weak ({config.weight_decay:g}; try {usual:g})")
    causes.append("a function outside the class h(g1 + g2) (`modgrok classify` decides)")
    return Diagnosis(
        "memorised",
        f"Only memorised: {percent(last['train_accuracy'])} of the training rows, {percent(last['test_accuracy'])} of "
        f"the test rows ({much}). Likely cause: {', or '.join(causes)}.",
    )


def underfit(config: TrainConfig, last: Mapping[str, float]) -> Diagnosis:
    both = f" ({config.weight_decay:g}, with learning rate {config.learning_rate:g})" if config.rates else ""
    return Diagnosis(
        "underfit",
        f"Stuck: {percent(last['train_accuracy'])} of the training rows and no longer improving. Likely cause: too "
        f"narrow (width {config.width}; try {4 * config.width}) or weight decay too strong{both}.",
    )
