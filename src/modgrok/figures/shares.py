"""Figures of learning from part of a table: the share that is needed by the complexity, and accuracy over shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from modgrok.figures.style import COLOURS, FAINT, INK, Figure, drawing

MARKERS = "osD^vPX*<>hd8p"
NEVER = 1.06
"""Where tables stand of which half of the rest is not learned from any share that was tried."""


def needed_figure(points: Mapping[str, Sequence[Mapping[str, Any]]], groups: str) -> Figure:
    """For each model a panel: from which share half of the rest is right, against the complexity; a colour for a kind.

    A point has `kind`, `complexity`, `needed` (None for never), `law` (what the law of groups says) and `modulus`.
    """
    kinds = sorted({each["kind"] for panel in points.values() for each in panel})
    styles = {kind: (COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]) for k, kind in enumerate(kinds)}
    with drawing(width=3.3 * len(points) + 0.4, height=4.6) as figure:
        panels = figure.subplots(1, len(points), sharey=True, squeeze=False)[0]
        for axes, (title, found) in zip(panels, points.items(), strict=True):
            for kind, (colour, marker) in styles.items():
                own = [each for each in found if each["kind"] == kind]
                style: dict[str, Any] = {"color": colour, "marker": marker, "ls": "", "ms": 4, "alpha": 0.75}
                shown = [NEVER if each["needed"] is None else each["needed"] for each in own]
                axes.plot([each["law"] for each in own], shown, **style)
            told = np.geomspace(0.04, 1.0, 50)
            axes.plot(told, told, color="0.3", lw=0.9, ls="--")
            axes.axhline(1.0, color=FAINT, lw=0.6)
            axes.set(title=title, xscale="log", xlabel=groups, xlim=(0.04, 2.5), ylim=(0, 1.12))
            axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        panels[0].set(ylabel="share of the table needed for half of the rest")
        panels[0].yaxis.set_major_formatter(PercentFormatter(1))
        handles = [Line2D([], [], color=c, marker=m, ls="", ms=4, label=kind) for kind, (c, m) in styles.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=6 if len(points) > 2 else 4)
    return figure


def draw_curve(axes: Axes, shares: Sequence[float], middle: Sequence[float], low: Any, high: Any) -> None:
    """Accuracy to expect over shares, with the interval that holds nine networks in ten."""
    axes.fill_between(shares, low, high, color=INK, alpha=0.15, linewidth=0)
    axes.plot(shares, middle, color=INK)


def curve_figure(
    title: str, shares: Sequence[float], expected: Sequence[Any], marks: Mapping[str, float], asked: float
) -> Figure:
    """The test accuracy to expect over the share of a table that is trained on; `marks` are shares with a name."""
    told = [(share, each) for share, each in zip(shares, expected, strict=True) if each.value is not None]
    with drawing(width=4.6, height=3.0) as figure:
        axes = figure.subplots()
        low, middle, high = (np.array([getattr(each, name) for _, each in told]) for name in ("low", "value", "high"))
        draw_curve(axes, [share for share, _ in told], middle, low, high)
        for name, share in marks.items():
            axes.axvline(share, color=FAINT, lw=0.9, ls=":")
            axes.text(share, 0.02, f" {name}", rotation=90, va="bottom", ha="right", fontsize=7, color="0.35")
        axes.axvline(asked, color=COLOURS[1], lw=0.9)
        axes.set(
            title=title, xlabel="share of the table to train on", ylabel="test accuracy", xlim=(0, 1), ylim=(0, 1.03)
        )
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    return figure
