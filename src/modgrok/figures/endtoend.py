"""Figures of end-to-end training: test accuracy against steps, from the rows and curves of `paper endtoend`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from modgrok.figures.style import COLOURS, Figure, drawing
from modgrok.training.diagnosis import LEARNED

Rows = Sequence[Mapping[str, Any]]

LABELS = {
    "experts": "trained experts, fine-tuned",
    "generic": "experts, not relabelled",
    "first": "first experts trained",
    "last": "last experts trained",
    "scratch": "from scratch",
    "single": "one two-layer network",
    "control": "control: $n_1+n_2$ from scratch",
}

Panel = tuple[int, str]
"""A modulus and a polynomial."""


def endtoend_figures(rows: Rows, curves: Rows) -> dict[str, Figure]:
    """Three figures: every start; the trained experts by weight decay and β; scratch beside its control."""
    return {
        "endtoend": starts_figure(rows, curves),
        "endtoend-fine-tuning": fine_tuning_figure(rows, curves),
        "endtoend-control": control_figure(rows, curves),
    }


def panel_grid(
    panels: list[Panel], columns: int, draw_panel: Callable[[Axes, Panel], None], legend_columns: int
) -> Figure:
    rows = -(-len(panels) // columns)
    with drawing(width=max(2.3 * columns, 4.5), height=1.95 * rows + 1.0) as figure:
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            draw_panel(axes, panel)
            axes.set(xscale="log", ylim=(-0.03, 1.05))
            axes.set_title(f"{panel[1]}\nmod {panel[0]}", fontsize=7)
        for axes in grid[-1]:
            axes.set_xlabel("steps + 1")
        for axes_row in grid:
            axes_row[0].set_ylabel("accuracy")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=legend_columns)
    return figure


def of_panel(curves: Rows, panel: Panel) -> list[Mapping[str, Any]]:
    return [curve for curve in curves if (curve["modulus"], curve["polynomial"]) == panel]


def draw_curve(axes: Axes, curve: Mapping[str, Any], part: str = "test", **style: Any) -> None:
    accuracy = [np.nan if value is None else value for value in curve[f"{part}_accuracy"]]
    axes.plot(np.array(curve["steps"]) + 1, accuracy, **style)


def starts_figure(rows: Rows, curves: Rows) -> Figure:
    """Every start at the largest weight decay (the paper's) and β, for the polynomials that every modulus has."""
    pairs = [(row["modulus"], row["polynomial"]) for row in rows if row["experts"] is not None]
    moduli = sorted({modulus for modulus, _ in pairs})
    shared = [pair for pair in pairs if all((modulus, pair[1]) in pairs for modulus in moduli)]

    def draw_panel(axes: Axes, panel: Panel) -> None:
        shown = of_panel(curves, panel)
        decay = max(curve["weight_decay"] for curve in shown)
        beta = max(curve["beta"] for curve in shown if curve["beta"] is not None)
        for colour, (start, label) in zip(COLOURS, LABELS.items(), strict=False):
            for curve in shown:
                if (curve["start"], curve["weight_decay"]) == (start, decay) and curve["beta"] in (None, beta):
                    draw_curve(axes, curve, color=colour, label=label, linestyle="--" if start == "control" else "-")

    columns = len(shared) // len(moduli)
    return panel_grid(shared, columns, draw_panel, legend_columns=max(2, min(4, columns)))


def fine_tuning_figure(rows: Rows, curves: Rows) -> Figure:
    """The trained experts under every weight decay and β, where some of them forget; else everywhere."""
    tuned = [row for row in rows if row["experts"] is not None]
    forgetting = [row for row in tuned if row["experts_worst"] < LEARNED] or tuned
    panels = [(row["modulus"], row["polynomial"]) for row in forgetting]

    def draw_panel(axes: Axes, panel: Panel) -> None:
        tuned = [curve for curve in of_panel(curves, panel) if curve["start"] == "experts"]
        decays, betas = sorted({c["weight_decay"] for c in tuned}), sorted({c["beta"] for c in tuned})
        for curve in tuned:
            style = {
                "color": COLOURS[decays.index(curve["weight_decay"])],
                "linestyle": ("-", "--")[betas.index(curve["beta"])],
            }
            draw_curve(axes, curve, label=f"weight decay {curve['weight_decay']:g}, β = {curve['beta']:g}", **style)

    return panel_grid(panels, min(3, len(panels)), draw_panel, legend_columns=max(2, min(3, len(panels))))


def control_figure(rows: Rows, curves: Rows) -> Figure:
    """Scratch and its control at the weight decay and β at which the control does best, for the modulus of the best."""
    modulus = max(rows, key=lambda row: row["control"])["modulus"]
    panels = [(modulus, row["polynomial"]) for row in rows if row["modulus"] == modulus]

    def draw_panel(axes: Axes, panel: Panel) -> None:
        shown = of_panel(curves, panel)
        best = max((c for c in shown if c["start"] == "control"), key=lambda c: c["test_accuracy"][-1] or 0)
        setting = ("scratch", best["weight_decay"], best["beta"], best["steps"])
        (scratch,) = (c for c in shown if (c["start"], c["weight_decay"], c["beta"], c["steps"]) == setting)
        draw_curve(axes, best, color=COLOURS[6], linestyle="--", label="control: $n_1+n_2$, test")
        draw_curve(axes, scratch, "train", color=COLOURS[0], label="polynomial, train")
        draw_curve(axes, scratch, color=COLOURS[4], label="polynomial, test")
        text = f"weight decay {best['weight_decay']:g}, β = {best['beta']:g}"
        axes.text(0.03, 0.9, text, transform=axes.transAxes, fontsize=7)

    return panel_grid(panels, min(4, len(panels)), draw_panel, legend_columns=max(2, min(3, len(panels))))
