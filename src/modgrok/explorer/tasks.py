"""The long work of the explorer, in a child of its own: trainings, probes, items of the paper.

A training here is that of the command line: the same config, the same folder, the same bytes. That somebody looks on
has no influence on them (`training.runs.train_config`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from modgrok.answers.probe import probe_function
from modgrok.base.provenance import called_as
from modgrok.base.results import plain
from modgrok.explorer.asking import Params, number, run_folder
from modgrok.explorer.functions import asked_function
from modgrok.explorer.papers import asked_item, results_folder
from modgrok.explorer.settings import asked_config
from modgrok.explorer.views import Cells, neuron_view, still_shown
from modgrok.report.reproducing import paper, stored_or_computed
from modgrok.reproduction.item import Effort
from modgrok.training.config import TrainConfig
from modgrok.training.live import Point
from modgrok.training.run_folder import load_config
from modgrok.training.train import train_config

Emit = Callable[[str, dict[str, Any]], None]
"""Tells the server of an event: its name and what it says."""
Stop = Callable[[], bool]

CHECKPOINT_SECONDS = 5.0
SECONDS_BETWEEN_PICTURES = 0.4
"""Between two pictures of the table, and of the neurons, of a training."""
SHARE_OF_PICTURES = 0.15
"""What pictures may take of a training's time at most."""


class Onlooker:
    """Tells of every point of a training, and now and then of its table and its neurons."""

    def __init__(self, run: str, config: TrainConfig, emit: Emit) -> None:
        self.run, self.config, self.emit = run, config, emit
        self.cells: Cells | None = None
        self.shown: list[int] | None = None
        self.next_picture = 0.0

    def __call__(self, point: Point) -> None:
        row = plain(point.row)
        about = {"run": self.run, "step": int(row.pop("step")), "steps": self.config.steps}
        self.emit("point", {**about, "rate": point.rate, "measured": point.measured, **row})
        last = about["step"] == self.config.steps
        if point.network is not None and (last or time.perf_counter() >= self.next_picture):
            self.picture(point, about)

    def picture(self, point: Point, about: dict[str, Any]) -> None:
        """The table and the neurons; the next ones when so much time has passed that they stay a small share of it."""
        assert point.network is not None
        started, first = time.perf_counter(), self.cells is None
        network = point.network()
        self.cells = self.cells or Cells(network)
        self.emit("table", {**about, **self.cells.view(network)})
        self.shown = still_shown(network, self.shown)
        self.emit("neurons", {**about, **neuron_view(network, self.shown)})
        took = 0.0 if first else time.perf_counter() - started  # the first ones compile, which is not to be waited for
        self.next_picture = time.perf_counter() + max(SECONDS_BETWEEN_PICTURES, took / SHARE_OF_PICTURES)


def training(params: Params, emit: Emit, stop: Stop) -> dict[str, Any]:
    """Train a run, or go on with it: from its last checkpoint, wherever it was interrupted."""
    run = str(params["run"])
    folder = Path(str(params["runs"])) / run
    if params.get("resume"):
        config = load_config(run_folder(params))
        config = replace(config, steps=params["steps"]) if params.get("steps") else config
    else:
        config = asked_config(params)
    with called_as(("modgrok", "explore")):
        found = train_config(
            config,
            folder,
            checkpoint_seconds=CHECKPOINT_SECONDS,
            live=False,
            on_look=Onlooker(run, config, emit),
            stop=stop,
        )
    return {"state": "finished" if found.finished else "stopped", "step": found.step, "outcome": found.outcome}


def probe(params: Params, emit: Emit, stop: Stop) -> dict[str, Any]:
    """Train one small network on a function, and say what its loss stands for."""

    def progress(done: int, total: int) -> None:
        emit("progress", {"job": params["job"], "done": done, "total": total, "text": "training a small network"})

    found = probe_function(asked_function(params), fraction=number(params, "fraction", 0.5), progress=progress)
    return {**found.to_json(), "text": found.summary()}


def reproduction(params: Params, emit: Emit, stop: Stop) -> dict[str, Any]:
    """Compute an item of the paper into the report's folder, or write the whole report."""
    report, quick = Path(str(params["report"])), params.get("size") != "standard"
    said = ""

    def progress(done: int, total: int) -> None:
        emit("progress", {"job": params["job"], "done": done, "total": total, "text": said})

    def say(text: str) -> None:
        nonlocal said
        said = text

    if params["item"] == "all":
        found = paper("all", out=report, quick=quick, progress=progress, say=say)
        return {"item": "all", "text": found.summary()}
    effort = Effort("quick" if quick else "standard", progress=progress, say=say)
    result, _ = stored_or_computed(asked_item(params), results_folder(report), effort)
    return {"item": result.item, "verdict": str(result.verdict), "text": result.summary()}
