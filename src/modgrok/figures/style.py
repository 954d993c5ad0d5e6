"""One look for all figures, through matplotlib's object interface (no global state)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from modgrok.files import whole_file

COLOURS = ("#3b5bdb", "#e8590c", "#2b8a3e", "#ae3ec9", "#c92a2a", "#0c8599", "#868e96", "#f08c00")
"""Readable apart in print and for the colour-blind in the order in which they are used."""

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "figure.titlesize": 10,
    "legend.fontsize": 8,
    "legend.title_fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "svg.fonttype": "none",
    "svg.hashsalt": "modgrok",
}


@contextmanager
def drawing(stem: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure of that size in inches to draw on; afterwards it is in stem.png and stem.svg.

    The same data give the same bytes.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        for path in figure_paths(stem):
            with whole_file(path) as temporary:
                figure.savefig(temporary, dpi=200, metadata={"Date": None} if path.suffix == ".svg" else None)


def figure_paths(stem: Path) -> list[Path]:
    return [stem.with_suffix(".png"), stem.with_suffix(".svg")]
