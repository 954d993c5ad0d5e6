"""Figures of a sweep: curves with bands over the seeds, and how good each setting is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from modgrok.base.results import percent
from modgrok.experiments.sweep_result import Median, text
from modgrok.figures.style import COLOURS, Figure, drawing, legend_below

MOST_CURVES = 8
"""Settings that are drawn; of more, the best."""
MOST_LABELS = 64
"""Cells of a phase diagram whose numbers are written into them."""


def curves_figure(groups: Mapping[str, Sequence[Mapping[str, np.ndarray]]], band: tuple[float, float]) -> Figure:
    """Test accuracy and test loss over the steps: for each setting the median over its seeds, and a band."""
    with drawing(width=9.0, height=3.4) as figure:
        panels = figure.subplots(1, 2)
        shown = list(groups.items())[:MOST_CURVES]
        for axes, measure in zip(panels, ("test_accuracy", "test_loss"), strict=True):
            for colour, (label, members) in zip(COLOURS, shown, strict=False):
                draw_band(axes, members, measure, band, color=colour, label=label)
            axes.set(xlabel="steps", ylabel=measure.replace("_", " "))
        panels[0].set(ylim=(-0.02, 1.04))
        panels[1].set(yscale="log")
        left_out = f", the best {MOST_CURVES} of {len(groups)} settings" if len(groups) > MOST_CURVES else ""
        figure.suptitle(f"median over seeds, and a band that holds half of them{left_out}")
        legend_below(figure, panels[0], min(3, len(shown)))
    return figure


def draw_band(
    axes: Axes, members: Sequence[Mapping[str, np.ndarray]], name: str, band: tuple[float, float], **style: Any
) -> None:
    """The median of a curve over its seeds, with a band where there are several."""
    values = np.array([member[name] for member in members], float)
    known = np.isfinite(values).all(axis=0)
    steps = np.asarray(members[0]["step"])[known]
    if not steps.size:
        return
    axes.plot(steps, np.median(values[:, known], axis=0), **style)
    if len(members) > 1:
        low, high = np.quantile(values[:, known], band, axis=0)
        axes.fill_between(steps, low, high, color=style["color"], alpha=0.18, linewidth=0)


def phase_figure(varied: Mapping[str, Sequence[object]], found: Sequence[Median], others: str = "") -> Figure:
    """The median test accuracy, and the step at which it passes 99 %, by one setting or by two."""
    names = list(varied)
    with drawing(width=9.0, height=3.6) as figure:
        panels = figure.subplots(1, 2)
        accuracy = {key(each, names): each.test_accuracy for each in found}
        when = {key(each, names): np.nan if each.grokked_at is None else each.grokked_at for each in found}
        titles = ("median test accuracy", "99 % of the test set at step (median)")
        if len(names) == 1:
            draw_accuracies(panels[0], names[0], found, titles[0])
            draw_steps(panels[1], names[0], varied[names[0]], when, titles[1])
        else:
            draw_cells(figure, panels[0], varied, accuracy, lambda value: percent(value, 0), (0.0, 1.0))
            draw_cells(figure, panels[1], varied, when, "{:.0f}".format, None)
            for axes, title in zip(panels, titles, strict=True):
                axes.set_title(title)
        if others:
            figure.suptitle(others)
    return figure


def key(each: Median, names: Sequence[str]) -> tuple[object, ...]:
    return tuple(each.settings[name] for name in names)


def places(axes: Axes, values: Sequence[Any]) -> list[float]:
    """Where the values of a setting lie on the horizontal axis: as numbers, or as words one beside the other."""
    numbers = all(isinstance(value, (int, float)) for value in values)
    found = [float(value) for value in values] if numbers else [float(place) for place in range(len(values))]
    if numbers and min(found) > 0 and max(found) / min(found) > 5:
        axes.set_xscale("log")
    axes.set_xticks(found, labels=[text(value) for value in values])
    axes.minorticks_off()
    axes.margins(x=0.1)
    return found


def draw_accuracies(axes: Axes, name: str, found: Sequence[Median], title: str) -> None:
    """The median for each value of a setting, and how far half of the seeds reach."""
    values = [each.settings[name] for each in found]
    median = np.array([each.test_accuracy for each in found])
    reach = np.abs(np.array([[each.low for each in found], [each.high for each in found]]) - median)
    line = "o-" if not isinstance(values[0], str) else "o"
    axes.errorbar(places(axes, values), median, yerr=reach, fmt=line, color=COLOURS[0], capsize=3)
    axes.set(xlabel=name, ylabel=title, ylim=(-0.02, 1.04))


def draw_steps(
    axes: Axes, name: str, values: Sequence[object], when: Mapping[tuple[object, ...], float], title: str
) -> None:
    steps = np.array([when[value,] for value in values])
    axes.plot(places(axes, values), steps, "o" if isinstance(values[0], str) else "o-", color=COLOURS[1])
    axes.set(xlabel=name, ylabel=title)
    if not np.isfinite(steps).any():
        axes.set_yticks([])
        axes.text(0.5, 0.5, "never, for half of the seeds", transform=axes.transAxes, ha="center")


def draw_cells(
    figure: Figure,
    axes: Axes,
    varied: Mapping[str, Sequence[object]],
    numbers: Mapping[tuple[object, ...], float],
    form: Callable[[float], str],
    limits: tuple[float, float] | None,
) -> None:
    """A cell for each pair of values, coloured by its number; grey where there is none."""
    (across, xs), (up, ys) = varied.items()
    cells = np.array([[numbers.get((x, y), np.nan) for x in xs] for y in ys], float)
    low, high = limits or ((np.nanmin(cells), np.nanmax(cells)) if np.isfinite(cells).any() else (0, 1))
    axes.set_facecolor("0.85")
    image = axes.imshow(cells, origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high)
    axes.set_xticks(range(len(xs)), labels=list(map(text, xs)), rotation=45 if len(xs) > 6 else 0)
    axes.set_yticks(range(len(ys)), labels=list(map(text, ys)))
    axes.set(xlabel=across, ylabel=up)
    axes.grid(False)
    if cells.size <= MOST_LABELS:
        for (row, column), value in np.ndenumerate(cells):
            dark = np.isfinite(value) and (value - low) < 0.6 * (high - low or 1)
            shown = form(value) if np.isfinite(value) else "–"
            axes.text(column, row, shown, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    figure.colorbar(image, ax=axes)
