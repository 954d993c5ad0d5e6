"""What people see of a training while it runs: on a terminal, in a notebook, and in a pipe.

`live_view` gives a function that takes a `Point` for each measurement. The same view shows a training of this process
(`training.train`) and one that another process writes to its folder (`watch`).
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn
from rich.table import Table

from modgrok.base import printing
from modgrok.base.errors import InputError
from modgrok.base.progress import html_bar, line_every_few_seconds, notebook_output
from modgrok.base.results import loss_text, percent
from modgrok.networks.network import Network
from modgrok.training.config import TrainConfig
from modgrok.training.diagnosis import LEARNED
from modgrok.training.run import Run, load_run, read_curves
from modgrok.training.run_folder import CONFIG, MADE_BY, METRICS, RESULT, is_running, load_config

LEVELS = "▁▂▃▄▅▆▇█"
SPARKS = 24
"""Characters of the small curve of an accuracy on a terminal."""
WIDTH, HEIGHT = 240, 40
"""Of the small curves in a notebook, in pixels."""
TRAIN_COLOUR, TEST_COLOUR = "#3b5bdb", "#e8590c"


class Point(NamedTuple):
    """What a live view sees: the metrics at a step, and the steps and seconds of this sitting.

    Where this process trains, `network()` is the network as it is then; `measured` tells the steps that the metrics
    have a row for from those at which somebody only looked.
    """

    row: dict[str, float]
    steps: int
    seconds: float
    network: Callable[[], Network] | None = None
    measured: bool = True

    @property
    def rate(self) -> str:
        return f"{self.steps / self.seconds:.0f} steps/s" if self.steps and self.seconds > 0 else ""


OnPoint = Callable[[Point], None]


class History:
    """The accuracies that a view has seen, and when each passed 99 %."""

    def __init__(self) -> None:
        self.accuracies: dict[str, list[float]] = {"train": [], "test": []}
        self.passed: dict[str, int | None] = {"train": None, "test": None}

    def add(self, point: Point) -> int:
        """Remembers a point; returns its step."""
        step = int(point.row["step"])
        for part, seen in self.accuracies.items():
            seen.append(point.row[f"{part}_accuracy"])
            if self.passed[part] is None and seen[-1] >= LEARNED:
                self.passed[part] = step
        return step


@contextmanager
def live_view(config: TrainConfig, console: Console, beginning: str = "compiling …") -> Iterator[OnPoint]:
    """A bar, numbers and small curves on a terminal and in a notebook; elsewhere, a line every few seconds."""
    if console.is_jupyter:
        yield notebook_view(config)
    else:
        view = terminal_view if console.is_terminal else lines_view
        with view(config, console, beginning) as on_point:
            yield on_point


@contextmanager
def lines_view(config: TrainConfig, console: Console, beginning: str) -> Iterator[OnPoint]:
    now = beginning

    def on_point(point: Point) -> None:
        nonlocal now
        now = ", ".join(filter(None, (line_of(point.row, config.steps), point.rate)))
        now = "trained; writing its files" if point.row["step"] >= config.steps else now

    with line_every_few_seconds(console, lambda: f"{config.title}: {now}"):
        yield on_point


def line_of(row: Mapping[str, float], steps: int) -> str:
    """A measurement in one line."""
    known = [part for part in ("train", "test") if isfinite(row[f"{part}_accuracy"])]
    parts = [f"{part} {percent(row[f'{part}_accuracy'])} (loss {loss_text(row[f'{part}_loss'])})" for part in known]
    return ", ".join([f"step {int(row['step']):,} of {steps:,}", *parts])


@contextmanager
def terminal_view(config: TrainConfig, console: Console, beginning: str) -> Iterator[OnPoint]:
    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
    )
    task = bar.add_task(config.title, total=config.steps, rate=beginning)
    history = History()
    with Live(bar, console=console, refresh_per_second=8, transient=True) as live:

        def on_point(point: Point) -> None:
            step = history.add(point)
            bar.update(task, completed=step, rate=point.rate)
            live.update(Group(bar, numbers_table(point.row, history.passed, history.accuracies)))

        yield on_point


def numbers_table(
    row: Mapping[str, float],
    passed: Mapping[str, int | None],
    accuracies: Mapping[str, Sequence[float]] | None = None,
) -> Table:
    """Loss, accuracy, and when the accuracy passed 99 %, on the training and the test set; its course, if given."""
    table = Table(box=None, pad_edge=False)
    for name in ("", "loss", "accuracy", "99 % at step"):
        table.add_column(name, justify="right" if name else "left")
    for part in ("train", "test"):
        accuracy, loss = row[f"{part}_accuracy"], row[f"{part}_loss"]
        if isfinite(accuracy):
            when = passed[part]
            curve = [] if accuracies is None else [sparkline(accuracies[part])]
            never = "never" if accuracies is None else "not yet"
            table.add_row(part, loss_text(loss), percent(accuracy), never if when is None else str(when), *curve)
    return table


def sparkline(values: Sequence[float]) -> str:
    """Numbers from 0 to 1 as a row of blocks, from the first to the last.

    >>> sparkline([0, 0.5, 1])
    '▁▅█'
    """
    chosen = thinned(values, SPARKS)
    return "".join(LEVELS[min(int(value * len(LEVELS)), len(LEVELS) - 1)] for value in chosen if isfinite(value))


def thinned(values: Sequence[float], most: int) -> list[float]:
    """At most so many of the values, evenly, the first and the last among them."""
    places = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    return [values[place] for place in places]


def notebook_view(config: TrainConfig) -> OnPoint:
    show, history = notebook_output(), History()
    show(html_bar(f"{config.title}, compiling; steps", 0, config.steps), True)

    def on_point(point: Point) -> None:
        step = history.add(point)
        bar = html_bar(", ".join(filter(None, (config.title, point.rate, "steps"))), step, config.steps)
        numbers = html.escape(line_of(point.row, config.steps))
        show(f"{bar}<br>{small_curves(history.accuracies)}<br><small>{numbers}</small>", step >= config.steps)

    return on_point


def small_curves(accuracies: Mapping[str, Sequence[float]]) -> str:
    """The accuracies so far as a small picture: training rows and test rows."""
    lines = []
    for part, colour in (("train", TRAIN_COLOUR), ("test", TEST_COLOUR)):
        values = [value for value in thinned(accuracies[part], WIDTH) if isfinite(value)]
        places = np.linspace(0, WIDTH, max(2, len(values)))
        points = " ".join(f"{x:.0f},{HEIGHT - 1 - (HEIGHT - 2) * y:.1f}" for x, y in zip(places, values, strict=False))
        lines.append(f"<polyline points='{points}' fill='none' stroke='{colour}'/>")
    return f"<svg width='{WIDTH}' height='{HEIGHT}' role='img'>{''.join(lines)}</svg>"


SECONDS_BETWEEN_LOOKS = 0.5


def watch(folder: str | Path, *, console: Console | None = None) -> Run:
    """Show how far the run in a folder is until its training ends, whichever process trains it.

    Args:
        folder: the folder of a run: `modgrok train … --out FOLDER`.
        console: where to show it; by default, and in notebooks, the standard error.

    Returns:
        The `Run`, as it ended.
    """
    folder, console = Path(folder), console or printing.console(stderr=True)
    config = begun(folder)
    if not is_running(folder):
        return ended(folder)
    if console.is_terminal or console.is_jupyter:
        with live_view(config, console, beginning="waiting for its first measurement …") as on_point:
            for point in points(folder):
                on_point(point)
    else:
        for point in points(folder):
            console.print(line_of(point.row, config.steps), soft_wrap=True)
    return ended(folder)


def begun(folder: Path) -> TrainConfig:
    """The config of the run in a folder; a process that has just taken the folder is given the time to write it."""
    while not (folder / CONFIG).exists() and is_running(folder):
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return load_config(folder)


def points(folder: Path) -> Iterator[Point]:
    """Every measurement that the folder holds, and those that come, until nothing trains the run."""
    seen, began, first = 0, time.perf_counter(), 0
    while True:
        running = is_running(folder)  # before the look at the metrics: what was written before the end is not missed
        if (folder / METRICS).exists():
            columns = read_curves(folder)
            if seen == 0:
                first = int(columns["step"][-1])
            for place in range(seen, len(columns["step"])):
                row = {name: float(column[place]) for name, column in columns.items()}
                yield Point(row, max(0, int(row["step"]) - first), time.perf_counter() - began)
            seen = len(columns["step"])
        if not running:
            return
        time.sleep(SECONDS_BETWEEN_LOOKS)


def ended(folder: Path) -> Run:
    """The run as it ended; an `InputError` if its process was killed."""
    if not (folder / RESULT).exists():
        raise InputError(
            f"nothing trains {folder}, and it did not come to its end; go on with: {MADE_BY} --resume {folder}"
        )
    return replace(load_run(folder), reused=False)
