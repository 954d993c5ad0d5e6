"""Five figures of an inspected expert, and which figures a network has; docs/inspect.md says how to read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm

from modgrok.figures.film import film_figure
from modgrok.figures.inside import (
    activity_figure,
    attention_figure,
    logits_figure,
    representations_figure,
    spectra_figure,
)
from modgrok.figures.style import COLUMN, FAINT, INK, PAGE, POWER, WAVE, Figure, drawing
from modgrok.inspection.experts import ExpertInspection, input_names
from modgrok.inspection.inspecting import Inspection
from modgrok.inspection.waves import wrap

PLACES = {"additive": "value", "multiplicative": "logarithm to base $g$", "witness": "place $g$"}
"""What a block's residues are laid out by, in each order."""
SHOWN = 4
"""Neurons drawn as curves."""
SMALLEST_RESIDUAL = 1e-17
"""Where an exactly zero residual is drawn on the logarithmic axis."""


def inspection_figures(inspection: Inspection) -> dict[str, Figure]:
    """Every figure of a network, by name."""
    return {name: make() for name, make in figure_makers(inspection).items()}


def figure_makers(inspection: Inspection) -> dict[str, Callable[[], Figure]]:
    """What draws each figure, by name: those of the experts that have active neurons, numbered where there are
    several; those of other models; what the logits compute; the film."""
    makers: dict[str, Callable[[], Figure]] = {}
    for k, part in enumerate(inspection.experts):
        if part.waves.active.any():
            wires = inspection.network.circuit.wires[k]
            prefix = f"expert{k + 1}-" if len(inspection.experts) > 1 else ""
            names = [f"{name[0]}_{{{name[1:]}}}" for name in input_names(inspection.network, wires)]
            makers |= {f"{prefix}{name}": make for name, make in expert_makers(part, names).items()}
    if not inspection.experts:
        makers |= inside_makers(inspection)
    if inspection.logits.shares is not None or inspection.logits.input_spectrum is not None:
        makers["logits"] = partial(logits_figure, inspection.logits)
    if inspection.in_group is not None and inspection.in_group.shares is not None:
        makers["representations"] = partial(representations_figure, inspection.in_group)
    if inspection.film is not None:
        makers["film"] = partial(film_figure, inspection.film)
    return makers


def expert_makers(part: ExpertInspection, names: list[str]) -> dict[str, Callable[[], Figure]]:
    """The five figures of an expert; `names` are what its inputs are called, as mathematics."""
    return {
        "ipr": partial(ipr_histogram, part),
        "spectrum": partial(spectrum_map, part, names),
        "neurons": partial(neuron_curves, part, names),
        "phases": partial(phase_law, part),
        "frequencies": partial(frequency_bars, part),
    }


def inside_makers(inspection: Inspection) -> dict[str, Callable[[], Figure]]:
    """Spectra, neurons and attention of a model that is no circuit, as far as it has them."""
    inside = inspection.inside
    makers: dict[str, Callable[[], Figure]] = {}
    if inside.spectra:
        makers["spectrum"] = partial(spectra_figure, inside)
    if inside.layers:
        makers["neurons"] = partial(activity_figure, inside)
    if inside.attention:
        makers["attention"] = partial(attention_figure, inside)
    return makers


def ipr_histogram(part: ExpertInspection) -> Figure:
    """How periodic the neurons are: all mass near 1 for waves, near 2 over the number of bins for noise."""
    with drawing(COLUMN, 2.3) as figure:
        axes = figure.add_subplot()
        ipr = part.ipr[part.waves.active]
        axes.hist(ipr, bins=np.linspace(0, 1, 51).tolist(), color=INK)
        noise = 2 / (part.waves.period // 2 + 1)
        if noise < 1:
            axes.axvline(noise, color=FAINT, linestyle=":", linewidth=1, label="noise")
        axes.axvline(ipr.mean(), color=WAVE, linestyle="--", linewidth=1, label=f"mean {ipr.mean():.3f}")
        axes.set(xlim=(0, 1.01), xlabel="inverse participation ratio of a neuron", ylabel="neurons")
        axes.legend(loc="upper center")
    return figure


def spectrum_map(part: ExpertInspection, names: list[str]) -> Figure:
    """Share of power at every frequency, one row per active neuron sorted by frequency, one panel per block."""
    waves = part.waves
    neurons = np.flatnonzero(waves.active)
    neurons = neurons[np.argsort(waves.frequency[neurons], kind="stable")]
    with drawing(PAGE, 2.7) as figure:
        panels = figure.subplots(1, len(waves.share), sharey=True, squeeze=False)[0]
        titles = [
            f"${name}$" if c == 1 else f"${name}$  (frequency ${sign(c)}f$)"
            for name, c in zip(names, waves.multipliers, strict=True)
        ]
        for axes, share, title in zip(panels, waves.share[:, neurons], [*titles, "readout"], strict=True):
            image = axes.imshow(
                share,
                aspect="auto",
                cmap=POWER,
                norm=PowerNorm(0.5, vmin=0, vmax=1),
                interpolation="nearest",
                extent=(-0.5, share.shape[1] - 0.5, len(neurons), 0),
            )
            axes.set(title=title, xlabel="frequency")
            axes.spines[["top", "right"]].set_visible(True)
            axes.grid(False)
        panels[0].set_ylabel("neuron, by frequency $f$")
        figure.colorbar(image, ax=panels, label="share of power", fraction=0.03, pad=0.01)
    return figure


def neuron_curves(part: ExpertInspection, names: list[str]) -> Figure:
    """Weights of a few neurons at their places on the circle, and the one cosine fitted to each block."""
    waves, labels = part.waves, part.waves.labels
    neurons = typical_neurons(part)
    readout = np.asarray(part.expert.readout).T[labels.outputs]
    blocks = [
        (table[table >= 0], np.asarray(part.expert.embed)[s][table >= 0]) for s, table in enumerate(labels.tables)
    ]
    blocks.append((np.arange(waves.period), readout))
    with drawing(PAGE, 0.5 + 0.95 * len(neurons)) as figure:
        grid = figure.subplots(len(neurons), len(blocks), sharex=True, squeeze=False)
        fine = np.linspace(0, waves.period, 20 * waves.period)
        for row, k in zip(grid, neurons, strict=True):
            for b, (axes, (places, weights)) in enumerate(zip(row, blocks, strict=True)):
                shared = b == len(blocks) - 1 and len(np.unique(labels.outputs)) < waves.period
                at = np.arange(waves.period) if shared else fine
                curve = waves.amplitude[b, k] * np.cos(
                    2 * np.pi * waves.frequency[k] / waves.period * at + waves.phase[b, k]
                )
                if shared:  # a class at several places has the sum of their waves
                    curve = np.bincount(labels.outputs, curve)[labels.outputs]
                axes.plot(at, curve, color=WAVE, linewidth=1)
                axes.plot(places, weights[:, k], ".", color=INK, markersize=2.2)
                limit = 1.1 * max(np.abs(weights[:, k]).max(), np.abs(curve).max()) or 1
                axes.set(ylim=(-limit, limit), xlim=(-1, waves.period))
            row[0].set_ylabel(f"neuron {k}\n$f={waves.frequency[k]}$")
        for axes, title in zip(grid[0], [*term_titles(part, names), "readout"], strict=True):
            axes.set_title(title)
        for axes in grid[-1]:
            axes.set_xlabel(PLACES[part.order])
    return figure


def term_titles(part: ExpertInspection, names: list[str]) -> list[str]:
    """The term whose value, or logarithm, is the place: '3 n1' in a sum, 'n1^3' in a product, 'g(n1)' in a plan."""
    if part.order == "witness":
        return [f"$g({name})$" for name in names]
    if part.order == "additive":
        return [f"${sign(c)}{name}$" for name, c in zip(names, part.waves.multipliers, strict=True)]
    return [
        f"${name}^{{{c}}}$" if c != 1 else f"${name}$" for name, c in zip(names, part.waves.multipliers, strict=True)
    ]


def sign(coefficient: int) -> str:
    """A coefficient as it stands before a letter: nothing for 1, '-' for -1."""
    return {1: "", -1: "-"}.get(coefficient, str(coefficient))


def typical_neurons(part: ExpertInspection) -> list[int]:
    """From each of the slowest frequencies, with phases if any are, the neuron of median explained power."""
    waves = part.waves
    pool = waves.has_phases if waves.has_phases.any() else waves.active
    chosen = []
    for f in np.unique(waves.frequency[pool])[:SHOWN]:
        neurons = np.flatnonzero(pool & (waves.frequency == f))
        chosen.append(int(neurons[np.argsort(part.explained[neurons])[len(neurons) // 2]]))
    return chosen


def phase_law(part: ExpertInspection) -> Figure:
    """The sum of a neuron's input phases against its readout phase, and how far they are apart."""
    waves = part.waves
    neurons = waves.has_phases
    with drawing(0.78 * PAGE, 2.6) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
        draw_phases(left, wrap(waves.phase[:-1].sum(axis=0))[neurons], wrap(waves.readout_phase)[neurons])
        readout = r"$\psi_Q$" if waves.offset == 0 else rf"$\psi_Q + 2\pi\, {waves.offset} f / {waves.period}$"
        terms = "$" + " + ".join(rf"\psi_{{{s + 1}}}" for s in range(part.expert.terms)) + "$"
        left.set(xlabel=f"{terms} (rad)", ylabel=f"{readout} (rad)")
        residual_histogram(right, np.abs(waves.residual[neurons]))
    return figure


def draw_phases(axes: Axes, sums: Sequence[float] | np.ndarray, readouts: Sequence[float] | np.ndarray) -> None:
    """Phases of readouts over sums of phases of inputs; the law is the diagonal."""
    axes.plot([-np.pi, np.pi], [-np.pi, np.pi], color=FAINT, linewidth=0.8, zorder=0)
    axes.plot(sums, readouts, "o", color=INK, markersize=2.5, markeredgewidth=0, alpha=0.6)
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks([-np.pi, 0, np.pi], [r"$-\pi$", "0", r"$\pi$"])


def residual_histogram(axes: Axes, residual: np.ndarray) -> None:
    """On a logarithmic axis: residuals are small after training, and rounding errors after compiling."""
    axes.set(xlabel="residual of the phase law (rad)", ylabel="neurons", xscale="log")
    if not residual.size:
        axes.text(0.5, 0.5, "no neuron has a phase in every block", ha="center", transform=axes.transAxes)
        return
    seen = np.maximum(residual, SMALLEST_RESIDUAL)
    bins = np.geomspace(0.9 * seen.min(), max(1.0, seen.max()), 41)
    axes.hist(seen, bins=bins.tolist(), color=INK)
    axes.axvline(np.median(seen), color=WAVE, linestyle="--", linewidth=1)
    axes.set_title(f"median {np.median(residual):.2g} rad", color=WAVE)


def frequency_bars(part: ExpertInspection) -> Figure:
    """How many active neurons each frequency has, beside what the compiler's designs need."""
    waves = part.waves
    counts = np.bincount(waves.frequency[waves.active], minlength=waves.period // 2 + 1)
    with drawing(0.78 * PAGE, 2.1) as figure:
        axes = figure.add_subplot()
        axes.bar(np.arange(len(counts)), counts, width=0.8, color=INK)
        for (name, width), style in zip(part.nearest_design.designs.items(), ("--", ":"), strict=False):
            axes.axhline(width, color=WAVE, linestyle=style, linewidth=1, label=f"{name} design: {width}")
        axes.set(xlabel="frequency $f$", ylabel="neurons", xlim=(-0.7, len(counts) - 0.3))
        axes.margins(y=0.2)
        axes.legend(loc="upper right", ncols=2)
    return figure
