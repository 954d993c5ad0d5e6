"""Figures of a training: losses, accuracies with the mean IPR, and IPR distributions, as in Figures 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from modgrok.figures.style import COLOURS, Figure, drawing, legend_below, outside_legend

TRAIN, TEST, PERIODIC = COLOURS[:3]
INITIAL = COLOURS[6]

Columns: TypeAlias = Mapping[str, Sequence[float] | np.ndarray]


def training_figure(curves: Columns, neurons: Columns, title: str, log_steps: bool = False) -> Figure:
    """Three panels: (a) losses, (b) accuracies and mean IPR, (c) IPR distributions before and after.

    `curves` has the columns of a run's metrics, `neurons` those of its neurons. A logarithmic axis of steps suits
    long runs that grok early.
    """
    with drawing(width=9.0, height=2.9) as figure:
        panels = figure.subplots(1, 3)
        draw_losses(panels[0], curves)
        draw_accuracies(panels[1], curves)
        draw_distributions(panels[2], neurons)
        if log_steps:
            for axes in panels[:2]:
                axes.set_xscale("symlog", linthresh=10)
                axes.set_xlim(left=0)
        for axes, letter in zip(panels, "abc", strict=True):
            axes.set_title(f"({letter})", loc="left", fontweight="bold")
        figure.suptitle(title)
    return figure


def comparison_figure(curves: Mapping[str, Columns], *, log_steps: bool = False) -> Figure:
    """Two panels, losses and accuracies, a colour for each run: the training set dashed, the test set drawn through."""
    with drawing(width=9.0, height=3.4) as figure:
        panels = figure.subplots(1, 2)
        for axes, measure in zip(panels, ("loss", "accuracy"), strict=True):
            for k, (label, columns) in enumerate(curves.items()):
                colour = COLOURS[k % len(COLOURS)]
                plot_known(axes, columns, f"train_{measure}", color=colour, linestyle="--", linewidth=0.9)
                plot_known(axes, columns, f"test_{measure}", color=colour, label=label.lstrip("_"))
            axes.set(xlabel="steps", ylabel=f"{measure} (dashed: training set)")
            if log_steps:
                axes.set_xscale("symlog", linthresh=10)
        panels[0].set(yscale="log")
        panels[1].set(ylim=(-0.02, 1.04))
        legend_below(figure, panels[1], min(3, len(curves)))
    return figure


def draw_losses(axes: Axes, curves: Columns) -> None:
    for name, colour in (("train", TRAIN), ("test", TEST)):
        plot_known(axes, curves, f"{name}_loss", color=colour, label=name)
    axes.set(yscale="log", xlabel="steps", ylabel="loss")
    outside_legend(axes, right=True)


def draw_accuracies(axes: Axes, curves: Columns) -> None:
    """Accuracies and mean IPR; that of the living neurons too, where some have died."""
    plot_known(axes, curves, "train_accuracy", color=TRAIN, label="train")
    plot_known(axes, curves, "test_accuracy", color=TEST, label="test")
    plot_known(axes, curves, "ipr", color=PERIODIC, label="mean IPR")
    if np.ptp(np.asarray(curves["alive"])) > 0:
        plot_known(axes, curves, "ipr_alive", color=PERIODIC, linestyle="--", label="IPR, living")
    axes.set(xlabel="steps", ylabel="accuracy, IPR", ylim=(-0.02, 1.04))
    some_have_died = len(axes.get_lines()) == 4
    outside_legend(axes, right=True, columns=2 if some_have_died else 3)


def plot_known(axes: Axes, curves: Columns, name: str, **style: Any) -> None:
    """A column against the steps, as far as it is a number."""
    values = np.asarray(curves[name], float)
    known = np.isfinite(values)
    if known.any():
        axes.plot(np.asarray(curves["step"])[known], values[known], **style)


def draw_distributions(axes: Axes, neurons: Columns) -> None:
    """Histograms of IPR_k over neurons; those that weight decay has killed are left out of the final one."""
    alive = np.asarray(neurons["alive"], bool)
    final = np.asarray(neurons["ipr_final"], float)[alive]
    died = f", {final.size:,} alive" if final.size < alive.size else ""
    for values, colour, label in (
        (np.asarray(neurons["ipr_initial"], float), INITIAL, "initial"),
        (final, PERIODIC, "final" + died),
    ):
        known = values[np.isfinite(values)]
        if known.size:
            shares = np.full(known.size, 1 / known.size)
            axes.hist(known, bins=np.linspace(0, 1, 41).tolist(), weights=shares, color=colour, alpha=0.85, label=label)
    axes.set(xlim=(0, 1), xlabel="IPR of a neuron", ylabel="share of neurons")
    outside_legend(axes, right=True)
    if not axes.get_legend_handles_labels()[0]:
        axes.text(0.5, 0.5, "none: these weights are\nno waves in any order", transform=axes.transAxes, ha="center")
