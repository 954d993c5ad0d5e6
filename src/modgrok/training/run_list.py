"""The verb runs: a list of the runs in a folder.

It reads `config.json` and `metrics.parquet` alone, so runs that other processes still train, or that were killed, have
their place too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.base.errors import InputError
from modgrok.base.results import Columns, Result, html_rows, percent
from modgrok.training.config import TrainConfig
from modgrok.training.run import Measured, Run, load_run, read_curves
from modgrok.training.run_folder import CONFIG, MADE_BY, METRICS, RESULT, is_running, load_config
from modgrok.training.steps import Metrics

SHOWN = ("expression", "modulus", "model", "steps")
"""Settings with a column of their own in the list of runs."""


@dataclass(frozen=True, repr=False)
class RunEntry(Result):
    """A run in its folder, as far as it was written; `load()` gives the `Run` itself.

    `settings` are those that differ among the runs of the list and are not what suits the model. `state` is running,
    finished or stopped; `when` is the time of its last measurement.
    """

    folder: Path
    title: str
    expression: str
    modulus: int
    model: str
    settings: Mapping[str, Any]
    state: str
    step: int
    steps: int
    train_accuracy: float
    test_accuracy: float
    outcome: str
    when: str

    def summary(self) -> str:
        return (
            f"{self.title}, {self.model}, {self.state} at step {self.step} of {self.steps}: "
            f"test {percent(self.test_accuracy)}, {self.folder}"
        )

    def load(self) -> Run:
        """The run with its network, metrics and snapshots."""
        return load_run(self.folder)


@dataclass(frozen=True, repr=False)
class RunList(Result, Sequence[RunEntry]):
    """The runs in a folder, the latest last."""

    folder: Path
    runs: tuple[RunEntry, ...]

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, place: Any) -> Any:
        return self.runs[place]

    @property
    def table(self) -> Columns:
        """One row for each run; `.to_pandas()` is a DataFrame."""
        names = [name for name in RunEntry.__dataclass_fields__ if name != "settings"]
        varied = sorted({name for run in self.runs for name in run.settings})
        columns = {name: [getattr(run, name) for run in self.runs] for name in names}
        return Columns(columns | {name: [run.settings.get(name) for run in self.runs] for name in varied})

    def summary(self) -> str:
        running = sum(run.state == "running" for run in self.runs)
        now = f", {running} of them running" if running else ""
        return f"{len(self.runs)} run{'s' * (len(self.runs) != 1)} in {self.folder}{now}"

    def _repr_html_(self) -> str:
        return html_rows(HEADINGS, [cells(run) for run in self.runs])


HEADINGS = ("function", "model", "settings", "step", "train", "test", "outcome", "when", "folder")


def cells(run: RunEntry) -> list[str]:
    """A run as people read it, under `HEADINGS`."""
    step = str(run.step) if run.step == run.steps else f"{run.step} of {run.steps}"
    settings = ", ".join(map(setting_text, run.settings.items()))
    outcome = run.state if run.state == "running" else run.outcome
    accuracies = (percent(run.train_accuracy, 1), percent(run.test_accuracy, 1))
    when = run.when.replace("T", " ")[:16]
    return [
        run.title,
        run.model,
        settings,
        step,
        *accuracies,
        outcome,
        when,
        str(run.folder),
    ]


def setting_text(setting: tuple[str, Any]) -> str:
    """A setting as people read it: weight decay 1."""
    name, value = setting
    return f"{name.replace('_', ' ')} {value:g}" if isinstance(value, float) else f"{name.replace('_', ' ')} {value}"


def runs(folder: str | Path = "runs") -> RunList:
    """The runs in a folder and below it, the latest last.

    Args:
        folder: where to look; `modgrok train` puts its runs into "runs".

    Returns:
        A `RunList`: a sequence of `RunEntry`, with `table` for all of them; `entry.load()` gives a `Run`.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; `{MADE_BY} …` makes runs/, or give another")
    found = []
    for path in sorted(folder.rglob(CONFIG)):
        with suppress(InputError):  # the config of something else
            found.append(recorded(path.parent))
    differing = set(differences([record.config for record in found]))
    entries = [entry(record, differing) for record in found]
    return RunList(folder, tuple(sorted(entries, key=lambda run: run.when)))


@dataclass(frozen=True)
class Recorded(Measured):
    """A run whatever its state: its settings and its curves."""

    name: str
    config: TrainConfig
    curves: Mapping[str, np.ndarray]
    folder: Path | None = None
    running: bool = False

    @property
    def state(self) -> str:
        return "running" if self.running else "finished" if self.finished else "stopped"


def recorded(folder: Path) -> Recorded:
    """The run in a folder as far as it was written."""
    running = is_running(folder)  # before the look at the curves: one that ends meanwhile was not stopped
    config = load_config(folder)
    curves = read_curves(folder) if (folder / METRICS).exists() else EMPTY
    return Recorded(str(folder), config, curves, folder, running)


EMPTY = {"step": np.zeros(1, int)} | {name: np.full(1, np.nan) for name in Metrics._fields}
"""Curves of a run that has not been measured yet."""


def entry(record: Recorded, differing: set[str]) -> RunEntry:
    folder, config = record.folder or Path(), record.config
    shown = differing - set(SHOWN)
    written = [folder / name for name in (RESULT, METRICS, CONFIG) if (folder / name).exists()]
    return RunEntry(
        folder,
        config.function.title,
        config.function.name,
        config.modulus,
        config.model,
        {name: value for name, value in config.changed().items() if name in shown},
        record.state,
        record.step,
        config.steps,
        record.final["train_accuracy"],
        record.final["test_accuracy"],
        record.outcome,
        datetime.fromtimestamp(max(path.stat().st_mtime for path in written)).isoformat(timespec="milliseconds"),
    )


def differences(configs: Sequence[TrainConfig]) -> dict[str, list[Any]]:
    """The settings in which some trainings differ, and the values that each has; spelling does not count."""
    settings = [config.to_json() | {"expression": config.function.name} for config in configs]
    names = dict.fromkeys(name for each in settings for name in each)
    columns = {name: [each.get(name) for each in settings] for name in names}
    return {name: values for name, values in columns.items() if any(value != values[0] for value in values)}
