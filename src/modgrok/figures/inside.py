"""Figures of what lies inside MLPs and transformers: spectra, neurons over (n1, n2), attention."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from modgrok.base.results import percent
from modgrok.figures.style import FAINT, INK, PAGE, POWER, Figure, drawing
from modgrok.inspection.inside import ONE_FREQUENCY, InsideView


def spectra_figure(view: InsideView) -> Figure:
    """The share of squared weights at every frequency, one panel for each block."""
    with drawing(PAGE, 2.1) as figure:
        panels = figure.subplots(1, len(view.spectra), sharey=True, squeeze=False)[0]
        for axes, (name, shares) in zip(panels, view.spectra.items(), strict=True):
            axes.bar(np.arange(1, len(shares)), 100 * shares[1:], width=0.8, color=INK)
            block = name if name == "readout" else f"embedding of {mathematics(name)}"
            axes.set(title=block, xlabel="frequency $f$", xlim=(0.3, len(shares) - 0.3))
        panels[0].set_ylabel("share of power (%)")
    return figure


def mathematics(names: str) -> str:
    """'n1, n2' as mathematics."""
    return ", ".join(f"${name[0]}_{{{name[1:]}}}$" for name in names.split(", "))


def activity_figure(view: InsideView) -> Figure:
    """For each layer: neurons with much variance on different frequencies as maps, and neurons per frequency."""
    with drawing(PAGE, 2.75 * len(view.layers)) as figure:
        rows = figure.subfigures(len(view.layers), 1, squeeze=False)[:, 0]
        for number, (row, layer) in enumerate(zip(rows, view.layers, strict=True), start=1):
            maps, bars = row.subfigures(1, 2, width_ratios=(1.25, 1))
            grid = maps.subplots(2, 3).ravel()
            for axes in grid[len(layer.shown) :]:
                axes.set_axis_off()
            for axes, (k, table) in zip(grid, layer.shown.items(), strict=False):
                heat_map(axes, table)
                axes.set_title(f"neuron {k}, $f={layer.frequency[k]}$", fontsize=8)
            axes = bars.subplots()
            length = min(view.axes.shape if view.axes else (2, 2)) // 2 + 1
            kinds = (
                (layer.on_one_frequency, INK, f"≥ {ONE_FREQUENCY:.0%} on it"),
                (layer.active & ~layer.on_one_frequency, FAINT, "less"),
            )
            below = np.zeros(length)
            for chosen, colour, label in kinds:
                counts = np.bincount(layer.frequency[chosen], minlength=length)
                axes.bar(np.arange(length), counts, 0.8, bottom=below, color=colour, label=label)
                below = below + counts
            mean = layer.explained[layer.active].mean() if layer.active.any() else 0.0
            axes.set(xlabel="neuron's best frequency $f$", ylabel="neurons", xlim=(0.3, length - 0.3))
            axes.set_title(f"layer {number}: {percent(float(mean), 1)} of variance on one $f$", fontsize=8)
            axes.margins(y=0.3)
            axes.legend(loc="upper right", ncols=2, handlelength=1)
    return figure


def heat_map(axes: Axes, table: np.ndarray) -> None:
    """A table over both inputs in the order of their places, without numbers."""
    axes.imshow(table.T, origin="lower", cmap=POWER, interpolation="nearest", aspect="auto")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    axes.set_xlabel("$n_1$", labelpad=1)
    axes.set_ylabel("$n_2$", labelpad=1)


def attention_figure(view: InsideView) -> Figure:
    """The share that each head gives to the first input, over (n1, n2), and its mean over all tokens."""
    heads = len(view.attention[0])
    with drawing(PAGE, 2.2 * len(view.attention)) as figure:
        grid = figure.subplots(len(view.attention), heads, squeeze=False)
        for number, (row, layer) in enumerate(zip(grid, view.attention, strict=True), start=1):
            for k, (axes, head) in enumerate(zip(row, layer, strict=True), start=1):
                image = axes.imshow(head[0].T, origin="lower", cmap=POWER, vmin=0, vmax=1, interpolation="nearest")
                axes.set_xticks([])
                axes.set_yticks([])
                axes.grid(False)
                means = "  ".join(
                    f"{mathematics(name) if name != '=' else '“=”'} {share.mean():.2f}"
                    for name, share in zip(view.tokens, head, strict=True)
                )
                axes.set_title(f"layer {number}, head {k}\n{means}", fontsize=8)
                axes.set_xlabel("$n_1$", labelpad=1)
            row[0].set_ylabel("$n_2$", labelpad=1)
        figure.colorbar(image, ax=grid, label="share of attention to $n_1$", fraction=0.03, pad=0.01)
    return figure
