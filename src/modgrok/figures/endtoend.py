"""Figures of end-to-end training: test accuracy against steps, from the stored result of `paper endtoend`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from modgrok.figures.style import COLOURS, drawing, figure_paths

Curve = dict[str, Any]

LABELS = {
    "experts": "trained experts, fine-tuned",
    "generic": "experts, not relabelled",
    "first": "first experts trained",
    "last": "last experts trained",
    "scratch": "from scratch",
    "single": "one two-layer network",
    "control": "control: $n_1+n_2$ from scratch",
}


def draw(result: dict[str, Any], folder: Path) -> list[Path]:
    """Test accuracy against steps, by start and then, for the trained experts, by weight decay and β."""
    return draw_starts(result, folder / "endtoend") + draw_fine_tuning(result, folder / "endtoend-fine-tuning")


def panels(result: dict[str, Any]) -> tuple[list[int], list[str]]:
    """Moduli down, polynomials across: those that were studied with every modulus."""
    pairs = {(row["modulus"], row["polynomial"]) for row in result["rows"]}
    moduli = sorted({modulus for modulus, _ in pairs})
    texts = [row["polynomial"] for row in result["rows"] if row["modulus"] == moduli[0]]
    return moduli, [text for text in texts if all((modulus, text) in pairs for modulus in moduli)]


def draw_grid(result: dict[str, Any], stem: Path, curves_of: Callable[[Axes, list[Curve]], None]) -> list[Path]:
    moduli, texts = panels(result)
    with drawing(stem, width=2.2 * len(texts) + 0.4, height=1.9 * len(moduli) + 1.0) as figure:
        grid = figure.subplots(len(moduli), len(texts), sharex="row", sharey=True, squeeze=False)
        for axes_row, modulus in zip(grid, moduli):
            for axes, text in zip(axes_row, texts):
                curves_of(axes, [c for c in result["curves"] if (c["modulus"], c["polynomial"]) == (modulus, text)])
                axes.set(xscale="log", ylim=(-0.03, 1.05))
                axes.set_title(f"{text} mod {modulus}", fontsize=7)
        for axes in grid[-1]:
            axes.set_xlabel("steps + 1")
        for axes_row in grid:
            axes_row[0].set_ylabel("test accuracy")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(texts)))
    return figure_paths(stem)


def draw_curve(axes: Axes, curve: Curve, **style: Any) -> None:
    accuracy = [np.nan if value is None else value for value in curve["test_accuracy"]]
    axes.plot(np.array(curve["steps"]) + 1, accuracy, **style)


def draw_starts(result: dict[str, Any], stem: Path) -> list[Path]:
    """Every start at the largest weight decay (the paper's) and the largest β."""

    def curves_of(axes: Axes, curves: list[Curve]) -> None:
        decay = max(curve["weight_decay"] for curve in curves)
        beta = max(curve["beta"] for curve in curves if curve["beta"] is not None)
        for colour, (start, label) in zip(COLOURS, LABELS.items()):
            for curve in curves:
                if (curve["start"], curve["weight_decay"]) == (start, decay) and curve["beta"] in (None, beta):
                    draw_curve(axes, curve, color=colour, label=label, linestyle="--" if start == "control" else "-")

    return draw_grid(result, stem, curves_of)


def draw_fine_tuning(result: dict[str, Any], stem: Path) -> list[Path]:
    """The trained experts under every weight decay and β."""

    def curves_of(axes: Axes, curves: list[Curve]) -> None:
        tuned = [curve for curve in curves if curve["start"] == "experts"]
        decays, betas = sorted({c["weight_decay"] for c in tuned}), sorted({c["beta"] for c in tuned})
        for curve in tuned:
            style = {
                "color": COLOURS[decays.index(curve["weight_decay"])],
                "linestyle": ("-", "--")[betas.index(curve["beta"])],
            }
            draw_curve(axes, curve, label=f"weight decay {curve['weight_decay']:g}, β = {curve['beta']:g}", **style)

    return draw_grid(result, stem, curves_of)
