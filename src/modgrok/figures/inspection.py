"""Five figures of an inspected expert, each as PNG and SVG: docs/inspect.md says how to read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from modgrok.files import whole_file
from modgrok.inspection import ExpertInspection, Inspection
from modgrok.network import wire_name
from modgrok.spectrum import blocks, fold, wrap

STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "svg.fonttype": "none",
    "svg.hashsalt": "modgrok",
}
INK, WAVE, FAINT = "#1f3b57", "#d1495b", "#9aa5b1"
COLUMN, PAGE = 3.4, 6.9
"""Width of a column and of a page, in inches."""
SHOWN = 4
"""Neurons drawn as curves."""
SMALLEST_RESIDUAL = 1e-17
"""Where an exactly zero residual is drawn on the logarithmic axis."""
WEIGHTS = LinearSegmentedColormap.from_list("weights", ["white", "#a9c3dd", INK, "#0b1622"])


def draw(inspection: Inspection, folder: Path) -> list[Path]:
    """Write the figures of every expert that has active neurons; the paths written, in order."""
    written = []
    for k, part in enumerate(inspection.experts):
        if not part.waves.active.any():
            continue
        prefix = f"expert{k + 1}-" if len(inspection.experts) > 1 else ""
        wires = [wire_name(inspection.network.circuit, wire) for wire in inspection.network.circuit.wires[k]]
        names = [f"${wire[0]}_{{{wire[1:]}}}$" for wire in wires]
        with matplotlib.rc_context(STYLE):
            figures = {
                "ipr": ipr_histogram(part),
                "spectrum": spectrum_map(part, names),
                "neurons": neuron_curves(part, names),
                "phases": phase_law(part),
                "frequencies": frequency_bars(part),
            }
            for name, figure in figures.items():
                written += save(figure, folder / f"{prefix}{name}")
    return written


def save(figure: Figure, stem: Path) -> list[Path]:
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    for path in paths:
        metadata = {"Date": None} if path.suffix == ".svg" else None
        with whole_file(path) as temporary:
            figure.savefig(temporary, dpi=300, metadata=metadata)
    return paths


def ipr_histogram(part: ExpertInspection) -> Figure:
    """How periodic the neurons are: all mass near 1 for waves, near 2 over the number of bins for noise."""
    figure = Figure(figsize=(COLUMN, 2.3), layout="constrained")
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
    """Share of power at every frequency, one row per active neuron, one panel per block."""
    waves = part.waves
    neurons = np.flatnonzero(waves.active)
    neurons = neurons[np.argsort(waves.frequency[neurons], kind="stable")]
    power = (
        np.abs(np.fft.rfft(np.asarray(blocks(part.expert, waves.order), np.float64)[:, neurons], axis=-1))
        ** 2
    )
    total = power.sum(axis=-1, keepdims=True)
    share = power / np.where(total > 0, total, 1)
    figure = Figure(figsize=(PAGE, 2.6), layout="constrained")
    panels = figure.subplots(1, len(share), sharey=True, squeeze=False)[0]
    for axes, values, title in zip(panels, share, block_titles(part, names)):
        image = axes.imshow(
            values,
            aspect="auto",
            cmap=WEIGHTS,
            norm=PowerNorm(0.5, vmin=0, vmax=1),
            interpolation="nearest",
            extent=(-0.5, values.shape[1] - 0.5, len(neurons), 0),
        )
        axes.set(title=title, xlabel="frequency")
        axes.spines[["top", "right"]].set_visible(True)
    panels[0].set_ylabel("neuron, by frequency $f$")
    figure.colorbar(image, ax=panels, label="share of power", fraction=0.03, pad=0.01)
    return figure


def neuron_curves(part: ExpertInspection, names: list[str]) -> Figure:
    """Weights of a few neurons along the order, and the one cosine fitted to each block."""
    waves = part.waves
    neurons = typical_neurons(part)
    block = np.asarray(blocks(part.expert, waves.order), np.float64)
    figure = Figure(figsize=(PAGE, 0.5 + 0.95 * len(neurons)), layout="constrained")
    grid = figure.subplots(len(neurons), len(block), sharex=True, squeeze=False)
    residues, fine = np.arange(waves.period), np.linspace(0, waves.period, 20 * waves.period)
    for row, k in zip(grid, neurons):
        for b, axes in enumerate(row):
            half = (
                waves.period // 2
            )  # of f and f - m, which agree on whole residues, the slower wave is drawn
            slowest = (waves.block_frequency[b, k] + half) % waves.period - half
            angle = 2 * np.pi * slowest / waves.period * fine + waves.phase[b, k]
            axes.plot(fine, waves.amplitude[b, k] * np.cos(angle), color=WAVE, linewidth=1)
            axes.plot(residues, block[b, k], ".", color=INK, markersize=2.2)
            axes.axhline(0, color=FAINT, linewidth=0.5, zorder=0)
            limit = 1.1 * max(np.abs(block[b, k]).max(), waves.amplitude[b, k]) or 1
            axes.set(ylim=(-limit, limit), xlim=(-1, waves.period))
        row[0].set_ylabel(f"neuron {k}\n$f={waves.frequency[k]}$")
    for axes, title in zip(grid[0], block_titles(part, names)):
        axes.set_title(title)
    for axes in grid[-1]:
        axes.set_xlabel("$r$  (residue $g^r$)" if part.order == "multiplicative" else "residue")
    return figure


def typical_neurons(part: ExpertInspection) -> list[int]:
    """From each of the slowest frequencies, with phases if any are, the neuron of median explained power."""
    waves = part.waves
    pool = waves.has_phases if waves.has_phases.any() else waves.active
    fastest = fold(waves.block_frequency, waves.period).max(axis=0)
    speed = {f: fastest[waves.frequency == f][0] for f in np.unique(waves.frequency[pool])}
    chosen = []
    for f in sorted(speed, key=lambda f: speed[f])[:SHOWN]:
        neurons = np.flatnonzero(pool & (waves.frequency == f))
        chosen.append(int(neurons[np.argsort(part.explained[neurons])[len(neurons) // 2]]))
    return sorted(chosen, key=lambda k: waves.frequency[k])


def phase_law(part: ExpertInspection) -> Figure:
    """The sum of a neuron's input phases against its readout phase, and how far they are apart."""
    waves = part.waves
    neurons = waves.has_phases
    shift = 2 * np.pi * waves.frequency * waves.offset / waves.period
    figure = Figure(figsize=(PAGE * 0.78, 2.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    left.plot([-np.pi, np.pi], [-np.pi, np.pi], color=FAINT, linewidth=0.8, zorder=0)
    left.plot(
        wrap(waves.phase[:-1].sum(axis=0))[neurons],
        wrap(waves.phase[-1] + shift)[neurons],
        "o",
        color=INK,
        markersize=2.5,
        markeredgewidth=0,
        alpha=0.6,
    )
    readout = r"$\psi_Q$" if waves.offset == 0 else rf"$\psi_Q + 2\pi\, {waves.offset} f / {waves.period}$"
    terms = "$" + " + ".join(rf"\psi_{{{s + 1}}}" for s in range(part.expert.terms)) + "$"
    left.set(aspect="equal", xlabel=f"{terms} (rad)", ylabel=f"{readout} (rad)")
    for axis in (left.xaxis, left.yaxis):
        axis.set_ticks([-np.pi, 0, np.pi], [r"$-\pi$", "0", r"$\pi$"])
    residual_histogram(right, np.abs(waves.residual[neurons]))
    return figure


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
    figure = Figure(figsize=(PAGE * 0.78, 2.1), layout="constrained")
    axes = figure.add_subplot()
    axes.bar(np.arange(len(counts)), counts, width=0.8, color=INK)
    for (name, width), style in zip(part.nearest_design["designs"].items(), ("--", ":")):
        axes.axhline(width, color=WAVE, linestyle=style, linewidth=1, label=f"{name} design: {width}")
    axes.set(xlabel="frequency $f$", ylabel="neurons", xlim=(-0.7, len(counts) - 0.3))
    axes.margins(y=0.2)
    axes.legend(loc="upper right", ncols=2)
    return figure


def block_titles(part: ExpertInspection, names: list[str]) -> list[str]:
    """'n1', or 'n2 (3f)' where the block turns three times as fast as the readout."""
    titles = [
        name if c == 1 else f"{name}  (frequency ${'-' if c == -1 else c}f$)"
        for name, c in zip(names, part.waves.multipliers)
    ]
    return [*titles, "readout"]
