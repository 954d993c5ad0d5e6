"""The verb watch: the live view of a run that another process trains, from what it writes to its folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from modgrok.base import printing
from modgrok.base.errors import InputError
from modgrok.training.config import TrainConfig
from modgrok.training.live import Point, line_of, live_view
from modgrok.training.run import Run, load_run, read_curves
from modgrok.training.run_folder import CONFIG, MADE_BY, METRICS, RESULT, is_running, load_config

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
        return ended(folder, config)
    if console.is_terminal or console.is_jupyter:
        with live_view(config, console, beginning="waiting for its first measurement …") as on_point:
            for point in points(folder):
                on_point(point)
    else:
        for point in points(folder):
            console.print(line_of(point.row, config.steps), soft_wrap=True)
    return ended(folder, config)


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


def ended(folder: Path, config: TrainConfig) -> Run:
    """The run as it ended; an `InputError` if its process was killed."""
    if not (folder / RESULT).exists():
        raise InputError(
            f"nothing trains {folder}, and it did not come to its end; go on with: {MADE_BY} --resume {folder}"
        )
    return replace(load_run(folder), reused=False)
