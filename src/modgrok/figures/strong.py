"""The strong hypothesis as heat maps: settings as rows, polynomials as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from modgrok.figures.style import Figure, drawing
from modgrok.training.diagnosis import LEARNED

Rows = Sequence[Mapping[str, Any]]

OUTLINES = {
    "at rest": ("#e03131", "-", 2.0),
    "still rising": ("#1c1e21", "--", 2.0),
    "not trained on": ("#1c1e21", "--", 2.0),
    "learned with more of the table": ("#1c1e21", ":", 1.0),
    "learned late": ("#1c1e21", ":", 1.0),
}
"""Colour, style and width of the line around a polynomial of the class that was not learned at first, by what became
of it."""


def strong_figures(settings: Rows) -> dict[str, Figure]:
    """A heat map for each modulus, by name: `strong` for the first one, `strong-23` for 23."""
    moduli = list(dict.fromkeys(setting["modulus"] for setting in settings))
    maps = {modulus: strong_figure([s for s in settings if s["modulus"] == modulus]) for modulus in moduli}
    return {"strong" if modulus == moduli[0] else f"strong-{modulus}": figure for modulus, figure in maps.items()}


def strong_figure(settings: Rows) -> Figure:
    """A heat map of test accuracies modulo one number; its first row is what twins and guesses give.

    Outlined: in the class and not learned at first; red, at rest; dashed, still rising; dotted, learned in the end.
    † marks what is outside the class.
    """
    with drawing(width=7.4, height=0.2 * len(settings) + 2.2) as figure:
        axes = figure.subplots()
        draw_map(axes, settings)
        axes.set_title(f"modulo {settings[0]['modulus']}: best test accuracy in %", loc="left", fontweight="bold")
    return figure


def draw_map(axes: Axes, settings: Rows) -> None:
    cells = settings[0]["cells"]
    floor = [cell["twins_and_guesses"] for cell in cells]
    values = np.array([floor, *([cell["accuracy_at_last"] for cell in setting["cells"]] for setting in settings)])
    axes.imshow(values, vmin=0, vmax=1, cmap="viridis", aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        finding = settings[row - 1]["cells"][column]["finding"] if row else ""
        if finding in OUTLINES:
            colour, style, width = OUTLINES[finding]
            box = Rectangle((column - 0.44, row - 0.42), 0.88, 0.84, fill=False, edgecolor=colour, linestyle=style)
            box.set_linewidth(width)
            axes.add_patch(box)
        percent = round(100 * value) if value >= LEARNED else min(round(100 * value), 98)
        colour = "white" if value < 0.6 else "black"
        axes.text(column, row, str(percent), ha="center", va="center", fontsize=7, color=colour)
    axes.axhline(0.5, color="white", linewidth=3)
    labels = [f"{cell['polynomial']}{'' if cell['verdict'] == 'in-class' else ' †'}" for cell in cells]
    axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right", rotation_mode="anchor", fontsize=7)
    names = [setting["setting"] + ("" if setting["controls_pass"] else " (too weak)") for setting in settings]
    axes.set_yticks(range(len(names) + 1), ["twins and guesses", *names], fontsize=7)
    axes.grid(visible=False)
    axes.tick_params(length=0)
