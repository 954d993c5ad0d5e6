"""Probe a table: train one small network on part of it, and read the loss law.

It has the default settings of its model; those of the x² network are among those of the calibration. The test rows play
no part in the expectation, which follows from the loss on the training rows alone. What the network reached on them is
given beside it, to compare.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, SupportsFloat

from modgrok.algebra.function import Function
from modgrok.base.progress import Progress
from modgrok.base.results import Result, loss_text, percent
from modgrok.loss_law.expectation import Expectation, not_covered
from modgrok.loss_law.formula import expected_from_loss

SEGMENT = 50
"""Steps between two signs of life."""
CALLED = {"power": "a network", "mlp": "an MLP", "transformer": "a transformer"}
LARGEST_PROBE = 1 << 16
"""Cells of the largest table that a probe trains on; at 97² cells it takes a minute on two cores."""


@dataclass(frozen=True, repr=False)
class Probe(Result):
    """What one small network says about a table; losses and accuracies are None where none was trained, and an accuracy
    where all known cells were trained on."""

    expected: Expectation
    train_loss: float | None
    test_accuracy: float | None
    model: str
    width: int
    steps: int
    fraction: float
    seconds: float

    def summary(self) -> str:
        if self.train_loss is None:
            return f"none was trained: {self.expected.reason}"
        reached = f"got {percent(self.test_accuracy, 1)} of the unseen cells right"
        if self.test_accuracy is None:
            reached = "had no unseen cell to be tested on"
        got = f"{CALLED[self.model]} of width {self.width} {reached} after {self.steps:,} steps"
        loss, reason = f"its training loss of {loss_text(self.train_loss)} stands for", self.expected.reason
        if not self.expected.covered:
            return f"{got}; what {loss} is not known: {reason}"
        than = "" if self.test_accuracy is None else self.expected.compared(self.test_accuracy)
        beside = f", and it got {than}" * bool(than)
        return f"{got}; {loss} {self.expected.text}{beside}"

    def to_json(self) -> dict[str, Any]:
        return self.keys_beside("expected")


def probe_function(
    function: Function, *, fraction: float = 0.5, model: str = "power", progress: Progress | None = None
) -> Probe:
    """Train one network of a model on `fraction` of a table, and say what its training loss stands for.

    Where the loss law was not measured the network is trained all the same, and what it reached is all there is;
    tables of more than `LARGEST_PROBE` cells are not trained on.
    """
    from modgrok.training.config import TrainConfig, ensemble_of  # with JAX: a verdict alone should not wait for it
    from modgrok.training.ensemble import train_ensemble

    started = time.perf_counter()
    as_table = replace(function, tree=None, given=function.table)  # on variables that an expression leaves out, too
    config = TrainConfig.of(as_table, model=model, fraction=fraction)
    about = model, config.width, config.steps, fraction
    if function.table.size > LARGEST_PROBE:
        reason = f"probes train on tables of up to {LARGEST_PROBE:,} cells, this one has {function.table.size:,}"
        return Probe(not_covered(reason, "probe"), None, None, *about, time.perf_counter() - started)
    ensemble = ensemble_of([config])
    metrics, _ = train_ensemble(
        ensemble.shape,
        ensemble.hyper,
        ensemble.tables,
        steps=range(SEGMENT, config.steps + 1, SEGMENT),
        orders=ensemble.orders,
        progress=progress,
    )
    loss, accuracy = (finite(values[0, -1]) for values in (metrics.train_loss, metrics.test_accuracy))
    expected = replace(expected_from_loss(loss, config), source="probe")
    return Probe(expected, loss, accuracy, *about, time.perf_counter() - started)


def finite(number: SupportsFloat) -> float | None:
    return float(number) if isfinite(number) else None
