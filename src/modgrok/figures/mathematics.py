"""One picture of the same mathematics: grokking, neurons on their waves, and the phase law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from modgrok.figures.style import COLOURS, FAINT, INK, WAVE, Figure, drawing

TRAIN, TEST = COLOURS[6], COLOURS[0]


def mathematics_figure(found: Mapping[str, Any], modulus: int) -> Figure:
    """Left, accuracies while n1 n2 is learned; middle, weights of neurons on one cosine each; right, their phases."""
    with drawing(9.0, 2.9) as figure:
        left, middle, right = figure.subfigures(1, 3, width_ratios=(1, 1.15, 0.85), squeeze=False)[0]
        draw_grokking(left.subplots(), found["curves"], modulus)
        panels = middle.subplots(len(found["neurons"]), 1, sharex=True, squeeze=False)[:, 0]
        for axes, neuron in zip(panels, found["neurons"], strict=True):
            draw_neuron(axes, neuron, found["places"], found["period"])
        panels[0].set_title("(b) weights of neurons, on one cosine each", loc="left", fontweight="bold")
        panels[-1].set_xlabel("logarithm of $n_1$")
        draw_phases(right.subplots(), found["phase_sums"], found["readout_phases"])
    return figure


def draw_grokking(axes: Axes, curves: Mapping[str, Any], modulus: int) -> None:
    axes.plot(curves["step"], curves["train_accuracy"], color=TRAIN, label="training half")
    axes.plot(curves["step"], curves["test_accuracy"], color=TEST, label="test half")
    axes.plot(curves["step"], curves["ipr"], color=WAVE, linestyle="--", label="mean IPR: how wavy")
    axes.set(xlabel="steps", ylabel="accuracy, IPR", ylim=(-0.02, 1.04), xlim=(0, 300))
    axes.set_title(f"(a) $n_1 n_2$ mod {modulus} is grokked", loc="left", fontweight="bold")
    axes.legend(loc="lower right")


def draw_neuron(axes: Axes, neuron: Mapping[str, Any], places: list[int], period: int) -> None:
    fine = np.linspace(0, period, 12 * period)
    wave = neuron["amplitude"] * np.cos(2 * np.pi * neuron["frequency"] / period * fine + neuron["phase"])
    axes.plot(fine, wave, color=WAVE, linewidth=1)
    axes.plot(places, neuron["weights"], ".", color=INK, markersize=3)
    axes.set(xlim=(-1, period), yticks=[])
    axes.set_ylabel(f"$f = {neuron['frequency']}$")


def draw_phases(axes: Axes, sums: list[float], readouts: list[float]) -> None:
    axes.plot([-np.pi, np.pi], [-np.pi, np.pi], color=FAINT, linewidth=0.8, zorder=0)
    axes.plot(sums, readouts, "o", color=INK, markersize=2.5, markeredgewidth=0, alpha=0.6)
    axes.set(aspect="equal", xlabel=r"$\psi_1 + \psi_2$", ylabel=r"$\psi_Q$")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks([-np.pi, 0, np.pi], [r"$-\pi$", "0", r"$\pi$"])
    axes.set_title("(c) the phase law", loc="left", fontweight="bold")
