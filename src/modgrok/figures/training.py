"""Figures of a training: losses, accuracies with the mean IPR, and IPR distributions, as in Figures 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from modgrok.files import whole_file

TRAIN, TEST, IPR, INITIAL = "#1f5fa8", "#d1495b", "#2b8a5f", "#9aa3ad"

Columns = Mapping[str, Sequence[float] | np.ndarray]


def draw_training(curves: Columns, neurons: Columns, title: str) -> Figure:
    """Three panels: (a) losses, (b) accuracies and mean IPR, (c) IPR distributions before and after.

    `curves` has the columns of a run's metrics, `neurons` those of its neurons.
    """
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    losses, accuracies, distributions = figure.subplots(1, 3)
    draw_losses(losses, curves)
    draw_accuracies(accuracies, curves)
    draw_distributions(distributions, neurons)
    for axes, letter in zip((losses, accuracies, distributions), "abc"):
        axes.set_title(f"({letter})", loc="left", fontsize=10, fontweight="bold")
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=11)
    return figure


def draw_losses(axes: Axes, curves: Columns) -> None:
    steps = np.asarray(curves["step"])
    for name, colour in (("train", TRAIN), ("test", TEST)):
        loss = np.asarray(curves[f"{name}_loss"], float)
        if np.isfinite(loss).any():
            axes.plot(steps, loss, color=colour, label=name)
    axes.set_yscale("log")
    axes.set_xlabel("steps")
    axes.set_ylabel("MSE loss")
    axes.legend(frameon=False)


def draw_accuracies(axes: Axes, curves: Columns) -> None:
    steps = np.asarray(curves["step"])
    for name, colour, label in (
        ("train_accuracy", TRAIN, "train accuracy"),
        ("test_accuracy", TEST, "test accuracy"),
        ("ipr", IPR, "mean IPR"),
        ("ipr_alive", IPR, "mean IPR, living neurons"),
    ):
        column = np.asarray(curves[name], float)
        if name == "ipr_alive" and np.allclose(column, np.asarray(curves["ipr"], float), equal_nan=True):
            continue
        if np.isfinite(column).any():
            axes.plot(steps, column, color=colour, label=label, linestyle="--" if name == "ipr_alive" else "-")
    axes.set_ylim(-0.02, 1.04)
    axes.set_xlabel("steps")
    axes.set_ylabel("accuracy, IPR")
    axes.legend(frameon=False, loc="lower right", fontsize=8)


def draw_distributions(axes: Axes, neurons: Columns) -> None:
    """Histograms of IPR_k over neurons; those that weight decay has killed are left out of the final one."""
    alive = np.asarray(neurons["alive"], bool)
    initial, final = np.asarray(neurons["ipr_initial"], float), np.asarray(neurons["ipr_final"], float)[alive]
    bins = np.linspace(0, 1, 41).tolist()
    died = f", {final.size} of {alive.size} alive" if final.size < alive.size else ""
    for values, colour, label in ((initial, INITIAL, "initial"), (final, IPR, "final" + died)):
        values = values[np.isfinite(values)]
        if values.size:
            axes.hist(
                values, bins=bins, weights=np.full(values.size, 1 / values.size), color=colour, alpha=0.8, label=label
            )
    axes.set_xlim(0, 1)
    axes.set_xlabel("IPR of a neuron")
    axes.set_ylabel("share of neurons")
    axes.legend(frameon=False, loc="upper center", fontsize=8)


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write stem.png and stem.svg."""
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    for path in paths:
        with whole_file(path) as temporary:
            figure.savefig(temporary, dpi=200)
    return paths
