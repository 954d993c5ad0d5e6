"""The verb runs: a list of the runs in a folder.

It reads `config.json` and `metrics.parquet` alone, so runs that other processes still train, or that were killed, have
their place too.

The verb compare: runs side by side, finished or not: curves on one figure, settings that differ, numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from modgrok.base.errors import InputError
from modgrok.base.printing import cell
from modgrok.base.results import Columns, Result, html_rows, percent
from modgrok.training.config import TrainConfig
from modgrok.training.run import Measured, Run, load_run, read_curves
from modgrok.training.run_folder import CONFIG, MADE_BY, METRICS, RESULT, is_running, load_config
from modgrok.training.steps import Metrics

if TYPE_CHECKING:
    from modgrok.figures.style import Figure


SHOWN = ("expression", "modulus", "model", "steps")
"""Settings with a column of their own in the list of runs."""
FUNCTION = "function"
"""What a file keeps of a function that is no polynomial; people are told its name, which is the expression."""
NAMES = {"ipr": "IPR", "ipr_alive": "IPR of living neurons", "alive": "living neurons"}


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
    settings: Mapping[str, object]
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
    return [run.title, run.model, settings, step, *accuracies, outcome, when, str(run.folder)]


def setting_text(setting: tuple[str, object]) -> str:
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


def differences(configs: Sequence[TrainConfig]) -> dict[str, list[object]]:
    """The settings in which some trainings differ, and the values that each has; spelling does not count."""
    settings = [config.to_json() | {"expression": config.function.name} for config in configs]
    names = dict.fromkeys(name for each in settings for name in each)
    columns = {name: [each.get(name) for each in settings] for name in names}
    return {name: values for name, values in columns.items() if any(value != values[0] for value in values)}


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Runs side by side: the settings in which they differ and their last numbers, one value for each of `names`."""

    names: tuple[str, ...]
    settings: Mapping[str, Sequence[object]]
    numbers: Mapping[str, Sequence[Any]]
    files: tuple[Path, ...] = ()
    records: tuple[Recorded, ...] = field(default=(), compare=False)
    told = ("names", "settings", "numbers", "files")

    def summary(self) -> str:
        accuracies = [float(share) for share in self.numbers["test_accuracy"]]
        best = np.nanmax([*accuracies, -1.0])
        if best < 0:
            return f"{len(self.names)} runs, none of them with a test set"
        names = [name for name, share in zip(self.names, accuracies, strict=True) if share == best]
        return f"{len(self.names)} runs; best on the test set: {' and '.join(names)}, {percent(float(best))}"

    @property
    def table(self) -> Columns:
        """One row for each run; `.to_pandas()` is a DataFrame."""
        return Columns({"run": self.names, **self.settings, **self.numbers})

    def labels(self) -> list[str]:
        """What tells each run from the others, in few words: its settings, or its name."""
        settings = [{name: values[k] for name, values in self.settings.items()} for k in range(len(self.names))]
        texts = [", ".join(setting_text(item) for item in each.items() if item[0] != FUNCTION) for each in settings]
        short = len(set(texts)) == len(texts) and max(map(len, texts)) <= 40
        return texts if short else list(self.names)

    def plot(self, *, log_steps: bool = False) -> Figure:
        """Losses and accuracies of all runs over the steps, on one figure."""
        from modgrok.figures.training import comparison_figure

        curves = {label: record.curves for label, record in zip(self.labels(), self.records, strict=True)}
        return comparison_figure(curves, log_steps=log_steps)

    def rows(self) -> list[list[str]]:
        """As people read it: a line for each setting that differs and for each number, a column for each run."""
        lines = {**self.settings, **self.numbers}
        return [
            [NAMES.get(name, name.replace("_", " ")), *map(percent if name.endswith("accuracy") else cell, values)]
            for name, values in lines.items()
            if name != FUNCTION
        ]

    def _repr_html_(self) -> str:
        return html_rows(("", *self.names), self.rows())


def compare(*runs: Run | str | Path, out: str | Path | None = None) -> Comparison:
    """Runs side by side: curves on one figure, the settings that differ, the last numbers.

    Args:
        runs: two or more runs, or their folders; those that are still training are taken as far as they are.
        out: where to write the figure: OUT.png and OUT.svg; nothing is written without it.

    Returns:
        A `Comparison`: `settings`, `numbers`, `table` and `plot()`.
    """
    if len(runs) < 2:
        raise InputError(f"compare takes two runs or more, got {len(runs)}; give their folders")
    records = tuple(
        Recorded(str(run.folder or f"run {place}"), run.config, run.curves, run.folder)
        if isinstance(run, Run)
        else recorded(Path(run))
        for place, run in enumerate(runs, start=1)
    )
    numbers: dict[str, list[Any]] = {"step": [record.step for record in records]}
    numbers |= {name: [float(record.final[name]) for record in records] for name in Metrics._fields}
    for name in ("memorised_at", "grokked_at", "outcome"):
        numbers[name] = [getattr(record, name) for record in records]
    settings = differences([record.config for record in records])
    found = Comparison(unique([record.name for record in records]), settings, numbers, (), records)
    if out is None:
        return found
    from modgrok.figures.style import save_figure

    files = tuple(save_figure(found.plot(), out))
    return Comparison(found.names, settings, numbers, files, records)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The last parts of paths where these tell them apart, else the paths."""
    last = [Path(name).name for name in names]
    return tuple(last if len(set(last)) == len(last) else names)
