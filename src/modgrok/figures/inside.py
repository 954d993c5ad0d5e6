"""Figures of what lies inside MLPs and transformers: spectra, neurons over (n1, n2), attention."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from modgrok.base.results import percent
from modgrok.figures.style import FAINT, INK, PAGE, POWER, WAVE, Figure, drawing, outside_legend
from modgrok.inspection.group_view import GroupView
from modgrok.inspection.input_spectrum import InputSpectrum
from modgrok.inspection.inside import ONE_FREQUENCY, InsideView
from modgrok.inspection.logits import LogitsView


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
    axes.set(xticks=[], yticks=[])
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
                axes.set(xticks=[], yticks=[])
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


MOST_LABELS = 12
"""Representations that are labelled one by one."""


def representations_figure(view: GroupView) -> Figure:
    """Shares of the logits' variance, and where weights are read: neurons of each representation, and the law."""
    has_law = view.neurons is not None and bool(np.isfinite(view.neurons.law).any())
    panels = 1 + (view.neurons is not None) + has_law
    with drawing(PAGE * (0.45, 0.75, 1)[panels - 1], 2.5) as figure:
        axes = list(figure.subplots(1, panels, squeeze=False)[0])
        rows = view.rows()[1:]
        shares = 100 * np.array([row["logits_share"] or 0.0 for row in rows])
        bars(axes[0], view, shares, "share of logit variance (%)", WAVE)
        axes[0].set_title(f"closed form: {percent(view.closed_form_share, 1)}")
        if view.neurons is not None:
            bars(axes[1], view, np.array([row["neurons"] for row in rows]), "neurons", INK)
            axes[1].set_title(f"{int(view.neurons.alive.sum())} neurons alive")
        if view.neurons is not None and has_law:
            law = view.neurons.law[view.neurons.alive & np.isfinite(view.neurons.law)]
            axes[2].hist(law, bins=np.linspace(-1, 1, 41), color=FAINT)
            axes[2].set(xlabel=r"$\langle AB, C\rangle / \|AB\|\,\|C\|$", ylabel="neurons", title="law of the factors")
    return figure


def bars(axes: Axes, view: GroupView, heights: np.ndarray, label: str, colour: str) -> None:
    numbers = np.arange(1, len(heights) + 1)
    axes.bar(numbers, heights, width=0.8, color=colour)
    axes.set(xlabel=f"representation of {view.group.title}", ylabel=label)
    if len(heights) <= MOST_LABELS:
        kinds = {"real": "", "complex": "c", "quaternionic": "q"}
        names = [f"{rho.degree}{kinds[rho.kind]}" for rho in view.group.representations[1:]]
        axes.set_xticks(numbers, names)
        axes.set_xlabel(f"representation of {view.group.title}, by degree")


FAINTEST = 1e-5
"""The smallest share of power that the map of the spectrum tells from none."""


def logits_figure(view: LogitsView) -> Figure:
    """Shares by frequency and the mean logit around the right class, where there is a witness; the input spectrum."""
    panels = 2 * (view.shares is not None) + (view.input_spectrum is not None)
    with drawing(PAGE * (0.42, 0.75, 1)[panels - 1], 2.5) as figure:
        axes = list(figure.subplots(1, panels, squeeze=False)[0])
        if view.shares is not None:
            share_bars(axes.pop(0), view)
            mean_logit(axes.pop(0), view)
        if view.input_spectrum is not None:
            spectrum_panel(figure, axes.pop(0), view.input_spectrum)
    return figure


def share_bars(axes: Axes, view: LogitsView) -> None:
    """The share of variance at every frequency; key frequencies in colour."""
    shares = np.asarray(view.shares)
    key = np.isin(np.arange(len(shares)), view.key_frequencies)
    for chosen, colour, label in ((key, WAVE, "key"), (~key, FAINT, "others")):
        axes.bar(np.flatnonzero(chosen), 100 * shares[chosen], width=0.8, color=colour, label=label)
    axes.set(xlabel="frequency $f$", ylabel="share of logit variance (%)", xlim=(-0.7, len(shares) - 0.3))
    axes.set_title(f"analytical form: {percent(view.analytical_share, 1)}")
    axes.margins(y=0.3)
    axes.legend(loc="upper right", ncols=2, handlelength=1)


def mean_logit(axes: Axes, view: LogitsView) -> None:
    """The mean logit of the class at place t, by how far t is from the sum of the inputs' places."""
    found, coefficients = view.templates, view.coefficients
    if found is None or coefficients is None or view.mean_by_sum is None:
        return
    m, reached = found.labels.period, found.labels.reached
    fitted = np.tensordot(coefficients, found.kernel, axes=1)
    column = np.searchsorted(found.classes, found.labels.outputs[reached])
    sums = np.flatnonzero(found.counts)
    distance = (reached[None, :] - sums[:, None] + m // 2) % m - m // 2
    place = (distance + m // 2).ravel()
    count = np.bincount(place, minlength=m)
    at = np.flatnonzero(count)
    seen, fit = (
        np.bincount(place, table[np.ix_(sums, column)].ravel(), m)[at] / count[at]
        for table in (view.mean_by_sum, fitted)
    )
    axes.plot(at - m // 2, fit, color=WAVE, linewidth=1, label="fitted form")
    axes.plot(at - m // 2, seen, ".", color=INK, markersize=3, label="network")
    axes.set(xlabel="place of the class $-$ sum of places", ylabel="mean logit")
    outside_legend(axes, in_layout=False)  # as high as the titles beside it


def spectrum_panel(figure: Figure, axes: Axes, spectrum: InputSpectrum) -> None:
    """Power over pairs of frequencies, the constant in the middle; what depends on the sum is the diagonal."""
    m1, m2 = spectrum.power.shape
    shown = np.fft.fftshift(spectrum.power)
    extent = (-(m1 // 2) - 0.5, m1 - m1 // 2 - 0.5, -(m2 // 2) - 0.5, m2 - m2 // 2 - 0.5)
    image = axes.imshow(
        np.maximum(shown, FAINTEST).T,
        origin="lower",
        cmap=POWER,
        norm=LogNorm(FAINTEST, 1),
        extent=extent,
        interpolation="nearest",
        aspect="equal" if m1 == m2 else "auto",
    )
    axes.set(xlabel="frequency in $n_1$", ylabel="frequency in $n_2$", title="spectrum over the inputs")
    axes.grid(False)
    axes.spines[["top", "right"]].set_visible(True)
    figure.colorbar(image, ax=axes, label="share of power", fraction=0.05, pad=0.02)
