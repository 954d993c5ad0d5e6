"""The figures of the items of the paper and of the studies beside it, a function for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from modgrok.figures.census import scatter
from modgrok.figures.inspection import draw_phases
from modgrok.figures.style import COLOURS, INK, WAVE, Figure, drawing, legend_below
from modgrok.training.diagnosis import LEARNED


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


Rows = Sequence[Mapping[str, Any]]

LABELS_OF_WIDTHS = {
    "random": "random phases (paper), measured",
    "literature": "literature, 4(p−1) and $2^{2S-2}$(p−1)",
    "flat": "modgrok, one expert",
    "tree": "modgrok, tree",
    "minimal": "modgrok, minimal",
}


def widths_figure(rows: Rows, modulus: int, long_sums: Rows, long_sum_modulus: int) -> Figure:
    """Widths against S on a logarithmic axis, and long sums on a linear one."""
    with drawing(width=7.0, height=2.9) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[1.4, 1])
        terms = [row["terms"] for row in rows]
        for colour, (key, label) in zip(COLOURS, LABELS_OF_WIDTHS.items(), strict=False):
            left.plot(terms, [row[key] for row in rows], "o-", color=colour, markersize=4, label=label)
        left.set(yscale="log", xticks=terms, xlabel="number of terms S", ylabel="hidden neurons")
        left.set_title(f"sum of S terms mod {modulus}")
        left.set_ylim(top=left.get_ylim()[1] * 30)
        left.legend(loc="upper left")
        lengths, neurons = [row["terms"] for row in long_sums], [row["width"] for row in long_sums]
        right.plot(lengths, neurons, "o-", color=COLOURS[3], markersize=4)
        right.set(xlabel="number of terms S", ylabel="hidden neurons", ylim=(0, None), xticks=range(2, 13, 2))
        right.set_title(f"tree, exact one-hot, mod {long_sum_modulus}")
    return figure


Columns = Mapping[str, Sequence[Any]]


def law_figure(points: Columns, curve: Columns) -> Figure:
    """Left, losses as they are; right, over the ratio of odds, where one curve serves all settings.

    `points` has the columns `modulus`, `train_loss`, `ratio`, `test_accuracy` and `family`, `curve` has `ratio`,
    `accuracy`, `low` and `high`: what is expected, and where nine in ten networks lie.
    """
    accuracy = np.array(points["test_accuracy"])
    with drawing(7.6, 3.7) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        dots = left.scatter(
            1000 * np.array(points["train_loss"]),
            accuracy,
            c=points["modulus"],
            cmap="plasma",
            s=5,
            alpha=0.7,
            linewidths=0,
            rasterized=True,
        )
        figure.colorbar(dots, ax=left, label="modulus", aspect=30, pad=0.02)
        left.set(xscale="log", xlabel="training loss × 1000", ylabel="test accuracy")
        left.set_title("(a) the loss itself", loc="left", fontweight="bold")
        scatter(right, np.array(points["ratio"]), accuracy, np.array(points["family"]))
        right.plot(curve["ratio"], curve["accuracy"], color="black", label="expected")
        band = {"color": "black", "alpha": 0.1, "linewidth": 0, "label": "nine in ten"}
        right.fill_between(curve["ratio"], curve["low"], curve["high"], **band)
        right.set(xlabel="odds of the loss / odds of random tables", xlim=(0, 1.15))
        right.set_title("(b) all settings on one curve", loc="left", fontweight="bold")
        legend_below(figure, right, 5, columnspacing=1.2)
    return figure


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
        phases = right.subplots()
        draw_phases(phases, found["phase_sums"], found["readout_phases"])
        phases.set(xlabel=r"$\psi_1 + \psi_2$", ylabel=r"$\psi_Q$")
        phases.set_title("(c) the phase law", loc="left", fontweight="bold")
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


LABELS_OF_STARTS = {
    "experts": "trained experts, fine-tuned",
    "generic": "experts, not relabelled",
    "first": "first experts trained",
    "last": "last experts trained",
    "scratch": "from scratch",
    "single": "one two-layer network",
    "control": "control: $n_1+n_2$ from scratch",
}

Panel = tuple[int, str]
"""A modulus and a polynomial."""


def endtoend_figures(rows: Rows, curves: Rows) -> dict[str, Figure]:
    """Three figures: every start; the trained experts by weight decay and β; scratch beside its control."""
    return {
        "endtoend": starts_figure(rows, curves),
        "endtoend-fine-tuning": fine_tuning_figure(rows, curves),
        "endtoend-control": control_figure(rows, curves),
    }


def panel_grid(
    panels: list[Panel], columns: int, draw_panel: Callable[[Axes, Panel], None], legend_columns: int
) -> Figure:
    rows = -(-len(panels) // columns)
    with drawing(width=max(2.3 * columns, 4.5), height=1.95 * rows + 1.0) as figure:
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            draw_panel(axes, panel)
            axes.set(xscale="log", ylim=(-0.03, 1.05))
            axes.set_title(f"{panel[1]}\nmod {panel[0]}", fontsize=7)
        for axes in grid[-1]:
            axes.set_xlabel("steps + 1")
        for axes_row in grid:
            axes_row[0].set_ylabel("accuracy")
        legend_below(figure, grid[0][0], legend_columns)
    return figure


def of_panel(curves: Rows, panel: Panel) -> list[Mapping[str, Any]]:
    return [curve for curve in curves if (curve["modulus"], curve["polynomial"]) == panel]


def draw_curve(axes: Axes, curve: Mapping[str, Any], part: str = "test", **style: Any) -> None:
    accuracy = [np.nan if value is None else value for value in curve[f"{part}_accuracy"]]
    axes.plot(np.array(curve["steps"]) + 1, accuracy, **style)


def starts_figure(rows: Rows, curves: Rows) -> Figure:
    """Every start at the largest weight decay (the paper's) and β, for the polynomials that every modulus has."""
    pairs = [(row["modulus"], row["polynomial"]) for row in rows if row["experts"] is not None]
    moduli = sorted({modulus for modulus, _ in pairs})
    shared = [pair for pair in pairs if all((modulus, pair[1]) in pairs for modulus in moduli)]

    def draw_panel(axes: Axes, panel: Panel) -> None:
        shown = of_panel(curves, panel)
        decay = max(curve["weight_decay"] for curve in shown)
        beta = max(curve["beta"] for curve in shown if curve["beta"] is not None)
        for colour, (start, label) in zip(COLOURS, LABELS_OF_STARTS.items(), strict=False):
            for curve in shown:
                if (curve["start"], curve["weight_decay"]) == (start, decay) and curve["beta"] in (None, beta):
                    draw_curve(axes, curve, color=colour, label=label, linestyle="--" if start == "control" else "-")

    columns = len(shared) // len(moduli)
    return panel_grid(shared, columns, draw_panel, legend_columns=max(2, min(4, columns)))


def fine_tuning_figure(rows: Rows, curves: Rows) -> Figure:
    """The trained experts under every weight decay and β, where some of them forget; else everywhere."""
    tuned = [row for row in rows if row["experts"] is not None]
    forgetting = [row for row in tuned if row["experts_worst"] < LEARNED] or tuned
    panels = [(row["modulus"], row["polynomial"]) for row in forgetting]

    def draw_panel(axes: Axes, panel: Panel) -> None:
        tuned = [curve for curve in of_panel(curves, panel) if curve["start"] == "experts"]
        decays, betas = sorted({c["weight_decay"] for c in tuned}), sorted({c["beta"] for c in tuned})
        for curve in tuned:
            style = {
                "color": COLOURS[decays.index(curve["weight_decay"])],
                "linestyle": ("-", "--")[betas.index(curve["beta"])],
            }
            draw_curve(axes, curve, label=f"weight decay {curve['weight_decay']:g}, β = {curve['beta']:g}", **style)

    return panel_grid(panels, min(3, len(panels)), draw_panel, legend_columns=max(2, min(3, len(panels))))


def control_figure(rows: Rows, curves: Rows) -> Figure:
    """Scratch and its control at the weight decay and β at which the control does best, for the modulus of the best."""
    modulus = max(rows, key=lambda row: row["control"])["modulus"]
    panels = [(modulus, row["polynomial"]) for row in rows if row["modulus"] == modulus]

    def draw_panel(axes: Axes, panel: Panel) -> None:
        shown = of_panel(curves, panel)
        best = max((c for c in shown if c["start"] == "control"), key=lambda c: c["test_accuracy"][-1] or 0)
        setting = ("scratch", best["weight_decay"], best["beta"], best["steps"])
        (scratch,) = (c for c in shown if (c["start"], c["weight_decay"], c["beta"], c["steps"]) == setting)
        draw_curve(axes, best, color=COLOURS[6], linestyle="--", label="control: $n_1+n_2$, test")
        draw_curve(axes, scratch, "train", color=COLOURS[0], label="polynomial, train")
        draw_curve(axes, scratch, color=COLOURS[4], label="polynomial, test")
        text = f"weight decay {best['weight_decay']:g}, β = {best['beta']:g}"
        axes.text(0.03, 0.9, text, transform=axes.transAxes, fontsize=7)

    return panel_grid(panels, min(4, len(panels)), draw_panel, legend_columns=max(2, min(3, len(panels))))
