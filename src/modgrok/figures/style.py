"""One look for all figures, through matplotlib's object interface: no global state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.ticker import LogFormatterSciNotation

from modgrok.base.files import whole_file
from modgrok.base.printing import visible

COLOURS = ("#3b5bdb", "#e8590c", "#2b8a3e", "#ae3ec9", "#c92a2a", "#0c8599", "#868e96", "#f08c00")
"""Readable apart in print and for the colour-blind in the order in which they are used."""

INK, WAVE, FAINT = COLOURS[0], COLOURS[1], "0.6"
"""What was measured, what is fitted to it, and what it is compared with."""
POWER = LinearSegmentedColormap.from_list("power", ["white", "#bac8ff", INK, "#0b1245"])
COLUMN, PAGE = 3.4, 6.9
"""Width of a column and of a page, in inches."""

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

FILE_DPI, SCREEN_DPI = 200, 110
POWER_OF_TEN = re.compile(r"\$\\mathdefault\{(.*10)\^\{(-?\d+)\}\}\$")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class PlainPowers(LogFormatterSciNotation):
    """Powers of ten as plain text, 2×10⁻³: as formulas they take longer than all the rest of a small figure."""

    def format_ticks(self, values: Any) -> list[str]:
        return [plain_power(text) for text in super().format_ticks(values)]


def plain_power(text: str) -> str:
    r"""A power of ten as matplotlib writes it, without its formula.

    >>> plain_power(r"$\mathdefault{10^{-2}}$"), plain_power(r"$\mathdefault{2\times10^{3}}$"), plain_power("0")
    ('10⁻²', '2×10³', '0')
    """
    found = POWER_OF_TEN.fullmatch(text)
    return text if found is None else found[1].replace(r"\times", "×") + found[2].translate(RAISED)


class Figure(matplotlib.figure.Figure):
    """A figure in modgrok's style, wherever it is drawn; a notebook shows it without any setting."""

    def draw(self, renderer: Any) -> None:
        with matplotlib.rc_context(STYLE):
            for axis in (axis for axes in self.axes for axis in (axes.xaxis, axes.yaxis)):
                for ticks in (axis.major, axis.minor):
                    if type(ticks.formatter) is LogFormatterSciNotation:
                        ticks.formatter.__class__ = PlainPowers  # with all that the scale has told it
            for text in self.findobj(Text):
                make_drawable(text)
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        png = BytesIO()
        self.savefig(png, format="png", dpi=SCREEN_DPI)
        return png.getvalue()


def make_drawable(text: Text) -> None:
    """Names of files may have characters that no font has, and dollars around what is no formula."""
    if (shown := visible(text.get_text())) != text.get_text():
        text.set_text(shown)
    for line in shown.splitlines() if "$" in shown else ():
        try:
            MathTextParser("path").parse(line)
        except ValueError:
            text.set_parse_math(False)


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """A figure of that size in inches to draw on, in the style of all figures."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def outside_legend(axes: Axes, *, right: bool = False, columns: int = 2, in_layout: bool = True) -> None:
    """A legend above the axes, off the data, if there is anything to tell; short and at the right where a title stands
    at the left. It may be left out of the layout where there is room for it."""
    if axes.get_legend_handles_labels()[0]:
        above = axes.legend(
            loc="lower right" if right else "lower left",
            bbox_to_anchor=(float(right), 1),
            borderaxespad=0.2,
            ncols=columns,
            columnspacing=1,
            handlelength=1.4 if right else None,
        )
        above.set_in_layout(in_layout)


def legend_below(figure: Figure, axes: Axes, columns: int = 4, **style: Any) -> None:
    """What a panel has to tell, once for all of them, below the figure; with dots that are seen."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, markerscale=2.5, **style)


def save_figure(figure: Figure, stem: str | Path) -> list[Path]:
    """Write `figure` to stem.png and stem.svg, each whole or not at all; the same data give the same bytes.

    Its parts are laid out once, which takes as long as drawing them.
    """
    paths, layout = figure_paths(stem), figure.get_layout_engine()
    with matplotlib.rc_context(STYLE):
        for path in paths:
            with whole_file(path) as temporary:
                figure.savefig(temporary, dpi=FILE_DPI, metadata={"Date": None} if path.suffix == ".svg" else None)
            figure.set_layout_engine("none")
    figure.set_layout_engine(layout)
    return paths


def save_figures(figures: Mapping[str, Figure], folder: str | Path) -> list[Path]:
    """Write each figure to its name in a folder; the paths written, in order."""
    return [path for name, figure in figures.items() for path in save_figure(figure, Path(folder) / name)]


def figure_paths(stem: str | Path) -> list[Path]:
    """The files that `save_figure` writes."""
    return [Path(f"{stem}.png"), Path(f"{stem}.svg")]
