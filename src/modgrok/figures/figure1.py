"""Figure 1: accuracy of the random-phase network for a sum of S terms against its width, and the width needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modgrok.figures.style import COLOURS, Figure, drawing


def figure1(curves: Sequence[Mapping[str, Any]], rate: float, modulus: int) -> Figure:
    """Accuracy against width on a logarithmic axis, and the width needed against S with its fit e^(rate·S).

    `curves` has `terms`, `widths`, `best_accuracy` and `width_100` for each number of terms S.
    """
    with drawing(width=7.0, height=2.9) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
        for colour, curve in zip(COLOURS, curves, strict=False):
            percent = 100 * np.array(curve["best_accuracy"])
            left.plot(curve["widths"], percent, "o-", color=colour, markersize=3, label=f"S = {curve['terms']}")
            right.plot(curve["terms"], curve["width_100"], "o", color=colour, zorder=3)
        left.set(xscale="log", xlabel="width N", ylabel="best accuracy (%)", ylim=(-3, 106))
        left.legend(loc="lower right")
        terms = np.array([curve["terms"] for curve in curves])
        centre = np.exp(np.mean(np.log([curve["width_100"] for curve in curves]) - rate * terms))
        right.plot(terms, centre * np.exp(rate * terms), "--", color="0.5", label=f"∝ {np.exp(rate):.1f}$^S$")
        right.set(yscale="log", xlabel="number of terms S", ylabel="width for 100 %", xticks=terms)
        right.legend(loc="upper left")
        figure.suptitle(rf"$n_1 + \cdots + n_S$ mod {modulus}: analytical weights with random phases")
    return figure
