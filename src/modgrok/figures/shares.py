"""From which share of a table half of the rest is learned, by the complexity of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from modgrok.figures.style import COLOURS, FAINT, Figure, drawing

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
