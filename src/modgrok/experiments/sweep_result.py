"""What a sweep found: its rows, medians and bands over the seeds, the best setting in words, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from modgrok.base.provenance import UNKNOWN, Made
from modgrok.base.results import Columns, Result, html_rows, percent
from modgrok.training.diagnosis import LEARNED

if TYPE_CHECKING:
    from modgrok.figures.style import Figure

CURVE = "_curve"
"""Ends the name of a column that holds a list: a metric at every measured step."""
BAND = (0.25, 0.75)
"""Quantiles over the seeds that a band reaches from and to."""


@dataclass(frozen=True, repr=False)
class Median(Result):
    """A combination of settings over its seeds: medians of the last metrics, and bands of the test accuracy.

    `grokked` is the share of the seeds that reached 99 % of the test rows, `grokked_at` the median step at which they
    did: None where less than half of them do. `network_numbers` tell the rows of the `networks` that it is over.
    """

    settings: Mapping[str, object]
    networks: int
    test_accuracy: float
    low: float
    high: float
    train_accuracy: float
    test_loss: float
    grokked: float
    grokked_at: float | None
    network_numbers: tuple[int, ...]

    def summary(self) -> str:
        lead = f"{words(self.settings)}: " if self.settings else ""
        return f"{lead}{self.typical}; {self.how_many}"

    @property
    def typical(self) -> str:
        """The accuracy over the seeds, and when it was reached, in words."""
        seeds = f"{self.networks} seeds" if self.networks > 1 else "one seed"
        name, value = ("test", self.test_accuracy) if isfinite(self.test_accuracy) else ("train", self.train_accuracy)
        found = f"{'median ' * (self.networks > 1)}{name} accuracy {percent(value)} over {seeds}"
        if self.low < self.high:
            found += f" (half of them from {percent(self.low)} to {percent(self.high)})"
        since = "from" if self.test_accuracy >= LEARNED else "first at"
        return found if self.grokked_at is None else f"{found}, 99 % {since} step {self.grokked_at:.0f}"

    @property
    def how_many(self) -> str:
        """How many of the seeds grok, in words."""
        if not isfinite(self.test_accuracy):
            return "no test set"
        grokked = round(self.grokked * self.networks)
        return f"{grokked} of {self.networks} grok" if grokked else "none groks"

    @property
    def rank(self) -> tuple[float, ...]:
        """Larger is better: the accuracy, then how many grok, then how early, then the loss."""
        early = inf if self.grokked_at is None else self.grokked_at
        numbers = (self.test_accuracy, self.train_accuracy, self.grokked, -early, -self.test_loss)
        return tuple(-inf if np.isnan(number) else number for number in numbers)


def words(settings: Mapping[str, object]) -> str:
    """A combination of settings in words: 'weight_decay 5, model mlp'."""
    return ", ".join(f"{name} {text(value)}" for name, value in settings.items())


def text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Result):
    """Trainings that differ in some settings and in their seeds.

    `title` is the function; `varied` are the settings that vary, with their values; `networks` is the Arrow table of
    all trainings, one row each, with curves as lists. `compilations` counts the training programs compiled in this
    sitting.
    """

    title: str
    varied: Mapping[str, Sequence[Any]]
    seeds: tuple[int, ...]
    networks: pa.Table
    compilations: int
    seconds: float
    folder: Path | None = None
    files: tuple[Path, ...] = field(default=())
    provenance: Made = (UNKNOWN,)
    told = (
        *("folder", "varied", "seeds", "rows", "medians", "best", "words"),
        *("compilations", "seconds", "files", "provenance"),
    )
    """Everything but the curves, which are in the Parquet file."""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One object for each training: its settings, its last metrics, when it memorised and grokked, its outcome."""
        names = [name for name in self.networks.column_names if not name.endswith(CURVE)]
        found: list[dict[str, Any]] = self.networks.select(names).to_pylist()
        return found

    @property
    def table(self) -> Columns:
        """The rows; `.to_pandas()` is a DataFrame."""
        return Columns({name: [row[name] for row in self.rows] for name in self.rows[0]})

    def curves(self, network: int) -> dict[str, np.ndarray]:
        """The metrics of one training at every measured step, as columns; NaN in those that were not measured yet."""
        columns = {name: self.networks[name][network] for name in self.networks.column_names if name.endswith(CURVE)}
        unknown = np.full(len(columns[f"step{CURVE}"]), np.nan)
        return {
            name.removesuffix(CURVE): np.asarray(column.values) if column.is_valid else unknown
            for name, column in columns.items()
        }

    @cached_property
    def medians(self) -> list[Median]:
        """Each combination of settings over its seeds, in the order of the plan."""
        groups: dict[tuple[object, ...], list[dict[str, Any]]] = {}
        for row in self.rows:
            groups.setdefault(tuple(row[name] for name in self.varied), []).append(row)
        return [median(dict(zip(self.varied, key, strict=True)), rows) for key, rows in groups.items()]

    @property
    def best(self) -> Median:
        """The combination with the best median: accuracy first, then how many seeds grok, and how early."""
        return max(self.medians, key=lambda each: each.rank)

    @property
    def words(self) -> str:
        """What the sweep found, in words."""
        found = f"{'best with ' * bool(self.varied)}{self.best.summary()}."
        diverged = sum(row.get("outcome") == "diverged" for row in self.rows)
        lost = f" {diverged} of {len(self.rows)} trainings diverged." if diverged else ""
        return f"{found[0].upper()}{found[1:]}{lost}"

    @property
    def heading(self) -> str:
        """The function, and how many trainings there are."""
        return f"{self.title}, {len(self.rows)} training{'s' * (len(self.rows) != 1)}"

    def summary(self) -> str:
        settings = f", {len(self.medians)} settings" if self.varied else ""
        return f"{self.heading}{settings}. {self.words}"

    def _repr_html_(self) -> str:
        return html_rows(headings(self), [cells(each) for each in self.medians]) + f"<p>{self.words}</p>"

    def plot(self) -> Figure:
        """Accuracy and loss on the test rows over the steps: medians over the seeds, with bands that hold half."""
        from modgrok.figures.sweep import curves_figure

        best = sorted(self.medians, key=lambda each: each.rank, reverse=True)
        chosen = {words(each.settings) or "all seeds": [self.curves(k) for k in each.network_numbers] for each in best}
        return curves_figure(chosen, BAND)

    def phase_diagram(self) -> Figure:
        """How good each setting is: a line where one varies, a phase diagram where two do.

        Where more vary, the two with most values do, and the others are what they are at the best setting.
        """
        from modgrok.figures.sweep import phase_figure

        axes = sorted(self.varied, key=lambda name: -len(self.varied[name]))[:2]
        others = {name: value for name, value in self.best.settings.items() if name not in axes}
        shown = [each for each in self.medians if others.items() <= each.settings.items()]
        return phase_figure({name: self.varied[name] for name in axes}, shown, words(others))

    def drawn(self) -> Sweep:
        """The same, with its figures in its folder."""
        from modgrok.figures.style import save_figures

        figures = {"curves": self.plot()} | ({"settings": self.phase_diagram()} if self.varied else {})
        paths = save_figures(figures, self.folder or Path())
        return replace(self, files=(*self.files, *paths))


def median(settings: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> Median:
    def values(name: str) -> np.ndarray:
        return np.array([np.nan if row[name] is None else row[name] for row in rows], float)

    accuracy = values("test_accuracy")
    passed = [inf if row["grokked_at"] is None else row["grokked_at"] for row in rows]
    low, high = np.quantile(accuracy, BAND)
    when = float(np.median(passed))
    return Median(
        settings,
        len(rows),
        float(np.median(accuracy)),
        float(low),
        float(high),
        float(np.median(values("train_accuracy"))),
        float(np.median(values("test_loss"))),
        sum(map(isfinite, passed)) / len(passed),
        when if isfinite(when) else None,
        tuple(row["network"] for row in rows),
    )


def headings(sweep: Sweep) -> tuple[str, ...]:
    return (*sweep.varied, "seeds", "test", "half of them", "grok", "99 % at step")


def cells(each: Median) -> list[str]:
    """A combination as people read it, under `headings`."""
    settings = map(text, each.settings.values())
    band = f"{percent(each.low, 1).removesuffix(' %')} – {percent(each.high, 1)}" if each.networks > 1 else ""
    when = "–" if each.grokked_at is None else f"{each.grokked_at:.0f}"
    grokked = f"{round(each.grokked * each.networks)} of {each.networks}"
    return [*settings, str(each.networks), percent(each.test_accuracy, 1), band, grokked, when]
