"""The verb compare: runs side by side, finished or not: curves on one figure, settings that differ, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from modgrok.base.errors import InputError
from modgrok.base.results import Columns, Result, html_rows, percent, plain
from modgrok.training.run import Run
from modgrok.training.run_list import Recorded, differences, recorded, setting_text
from modgrok.training.steps import Metrics

if TYPE_CHECKING:
    from modgrok.figures.style import Figure


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Runs side by side: the settings in which they differ and their last numbers, one value for each of `names`."""

    names: tuple[str, ...]
    settings: Mapping[str, Sequence[Any]]
    numbers: Mapping[str, Sequence[Any]]
    files: tuple[Path, ...] = ()
    records: tuple[Recorded, ...] = field(default=(), compare=False)

    def summary(self) -> str:
        accuracies = [float(share) for share in self.numbers["test_accuracy"]]
        best = np.nanmax([*accuracies, -1.0])
        if best < 0:
            return f"{len(self.names)} runs, none of them with a test set"
        names = [name for name, share in zip(self.names, accuracies, strict=True) if share == best]
        return f"{len(self.names)} runs; best on the test set: {' and '.join(names)}, {percent(float(best))}"

    def to_json(self) -> dict[str, Any]:
        return {name: plain(getattr(self, name)) for name in ("names", "settings", "numbers", "files")}

    @property
    def table(self) -> Columns:
        """One row for each run; `.to_pandas()` is a DataFrame."""
        return Columns({"run": self.names, **self.settings, **self.numbers})

    def labels(self) -> list[str]:
        """What tells each run from the others, in few words: its settings, or its name."""
        settings = [{name: values[k] for name, values in self.settings.items()} for k in range(len(self.names))]
        texts = [", ".join(map(setting_text, each.items())) for each in settings]
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
        return [[name.replace("_", " "), *(cell(name, v) for v in values)] for name, values in lines.items()]

    def _repr_html_(self) -> str:
        return html_rows(("", *self.names), self.rows())


def cell(name: str, value: Any) -> str:
    if name.endswith("accuracy"):
        return percent(value)
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
    records = tuple(record_of(run, place) for place, run in enumerate(runs, start=1))
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


def record_of(run: Run | str | Path, place: int) -> Recorded:
    if isinstance(run, Run):
        return Recorded(str(run.folder or f"run {place}"), run.config, run.curves, run.folder)
    return recorded(Path(run))


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The last parts of paths where these tell them apart, else the paths."""
    last = [Path(name).name for name in names]
    return tuple(last if len(set(last)) == len(last) else names)
