"""Figures of a census: accuracy by family, loss against accuracy, verdict against outcome, predictors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from modgrok.censuses import law_check as law, outcomes
from modgrok.censuses.law_check import Columns, Setting
from modgrok.figures.style import COLOURS, Figure, drawing, legend_below
from modgrok.loss_law.curve import fit_curve

GROUPS = {
    "sums and products": ("{a}x + {b}y", "{a}x y", "composed-sum", "relabelled-sum", "composed-product"),
    "monomials": ("two-monomials", "three-monomials"),
    "sum + monomial": ("sum-plus-monomial",),
    "products of sums": ("product-of-sums",),
    "functions of powers": ("function-of-powers",),
    "noisy sums": ("noisy-sum",),
    "random tables": ("random",),
}
"""Families that share a colour; everything else is a template."""


def group_of(family: str) -> str:
    return next((name for name, families in GROUPS.items() if family in families), "chosen expressions")


def scatter(axes: Axes, x: np.ndarray, y: np.ndarray, families: np.ndarray) -> None:
    """Points in the colours of their families."""
    groups = np.array([group_of(family) for family in families])
    for name, colour in zip((*GROUPS, "chosen expressions"), COLOURS, strict=True):
        k = groups == name
        axes.scatter(x[k], y[k], s=5, color=colour, alpha=0.55, linewidths=0, label=name, rasterized=True)


def families_figure(census: Columns) -> Figure:
    """The test accuracy of every table by family, at half of the table: one panel for each modulus."""
    half = outcomes.final_rows(census) & (census["fraction"] == 0.5)
    counted = np.unique(census["modulus"][half], return_counts=True)
    moduli = [
        modulus for modulus, count in zip(*map(np.ndarray.tolist, counted), strict=True) if 4 * count > counted[1].max()
    ]
    written = {family for families in GROUPS.values() for family in families}
    means = {
        family: census["test_accuracy"][half & (census["family"] == family)].mean()
        for family in dict.fromkeys(census["family"][half])
        if family in written
    }
    order = sorted(means, key=lambda family: -means[family])
    rng = np.random.default_rng(0)
    with drawing(2.0 + 1.75 * len(moduli), 3.4) as figure:
        panels = figure.subplots(1, len(moduli), sharey=True, squeeze=False)[0]
        for axes, modulus in zip(panels, moduli, strict=True):
            for place, family in enumerate(order):
                accuracy = census["test_accuracy"][half & (census["family"] == family) & (census["modulus"] == modulus)]
                jitter = place + rng.uniform(-0.3, 0.3, len(accuracy))
                axes.scatter(accuracy, jitter, s=5, alpha=0.5, linewidths=0, color=COLOURS[0], rasterized=True)
                if len(accuracy):
                    axes.plot([np.median(accuracy)] * 2, [place - 0.4, place + 0.4], color=COLOURS[1])
            axes.set(title=f"p = {modulus}", xlabel="test accuracy", xlim=(-0.03, 1.03))
            axes.grid(axis="y", visible=False)
        panels[0].set_yticks(range(len(order)), order)
        panels[0].invert_yaxis()
    return figure


def law_figure(census: Columns) -> Figure:
    """Loss against accuracy at half of the table, one panel for each modulus, and all settings on one curve."""
    settings = list(law.settings_of(census))
    half = largest_by_modulus([s for s in settings if s.fraction == 0.5])
    with drawing(7.2, 2.6 + 2.5 * -(-len(half) // 3)) as figure:
        parts = np.asarray(figure.subfigures(2, 1, height_ratios=[2.5 * -(-len(half) // 3), 2.9])).ravel()
        panels = parts[0].subplots(-(-len(half) // 3), min(3, len(half)), sharey=True, squeeze=False).ravel()
        for axes, setting in zip(panels, half, strict=False):
            draw_setting(axes, census, setting)
        left, right = parts[1].subplots(1, 2, sharey=True)
        rows = np.any([s.rows for s in settings], axis=0)
        raw = np.full(len(rows), np.nan)
        for s in settings:
            raw[s.rows] = (
                census["train_loss"][s.rows] / census["train_loss"][s.rows & (census["family"] == "random")].mean()
            )
        texts = ("loss / loss of random tables", "odds of the loss / odds of random tables")
        for axes, x, text in zip((left, right), (raw, law.ratios(census, settings)), texts, strict=True):
            scatter(axes, x[rows], census["test_accuracy"][rows], census["family"][rows])
            curve = fit_curve(x[rows], census["test_accuracy"][rows])
            axes.plot(curve.x, curve.accuracy, color="black")
            axes.set(xlabel=text, xlim=(0, 1.1), title=f"all {len(settings)} settings, one curve")
        left.set_ylabel("test accuracy")
        panels[0].set_ylabel("test accuracy")
        legend_below(figure, right)
    return figure


def largest_by_modulus(settings: list[Setting]) -> list[Setting]:
    """Of each modulus the setting with the most tables, and of these the widest network."""
    chosen: dict[int, Setting] = {}
    for s in sorted(settings, key=lambda s: (int(s.rows.sum()), s.width)):
        chosen[s.modulus] = s
    most = max((int(s.rows.sum()) for s in chosen.values()), default=0)
    return [s for _, s in sorted(chosen.items()) if s.rows.sum() > most // 2]


def draw_setting(axes: Axes, census: Columns, setting: Setting) -> None:
    """Training loss against test accuracy of the networks of one setting, and the curve fitted to them."""
    loss, accuracy = 1000 * census["train_loss"][setting.rows], census["test_accuracy"][setting.rows]
    scatter(axes, loss, accuracy, census["family"][setting.rows])
    curve = fit_curve(loss, accuracy)
    axes.plot(curve.x, curve.accuracy, color="black")
    axes.set(xlabel="training loss × 1000", title=f"p = {setting.modulus}, width {setting.width}, half the table")


def verdicts_figure(census: Columns) -> Figure:
    """Test accuracy against redundancy at half of the table, by verdict."""
    half = outcomes.final_rows(census) & (census["fraction"] == 0.5)
    with drawing(6.4, 3.1) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for axes, verdict in zip(panels, ("in-class", "not-in-class"), strict=True):
            k = half & (census["verdict"] == verdict)
            redundancy = census["redundancy"][k].astype(float)
            scatter(axes, redundancy, census["test_accuracy"][k], census["family"][k])
            axes.plot([0, 1], [0, 1], color="0.5", linewidth=0.8)
            axes.set(title=f"{verdict} ({int(k.sum()):,} networks)", xlabel="redundancy")
        panels[0].set_ylabel("test accuracy")
        legend_below(figure, panels[0])
    return figure


def predictors_figure(census: Columns) -> Figure:
    """What is known before training against the test accuracy, at the largest setting with half of the table."""
    settings = [s for s in law.settings_of(census) if s.fraction == 0.5]
    setting = max(settings, key=lambda s: (int(s.rows.sum()), s.modulus, s.width))
    values = outcomes.predictor_values(census, setting.rows)
    shown = [name for name in outcomes.PREDICTORS if name not in ("train_loss", "complexity", "none")]
    with drawing(7.2, 4.9) as figure:
        grid = figure.subplots(2, 3, sharey=True)
        for axes, name in zip(grid.ravel(), shown, strict=True):
            x = np.abs(values[name])
            scatter(axes, x, census["test_accuracy"][setting.rows], census["family"][setting.rows])
            axes.set_xlabel(name.replace("_", " "))
            if not np.isfinite(x).any():
                axes.text(0.5, 0.5, "not in this census", transform=axes.transAxes, ha="center")
        for axes in grid[:, 0]:
            axes.set_ylabel("test accuracy")
        legend_below(figure, grid[0, 0])
        figure.suptitle(f"p = {setting.modulus}, width {setting.width}, half of the table")
    return figure


DRAWN: dict[str, Callable[[Columns], Figure]] = {
    "families": families_figure,
    "law": law_figure,
    "verdicts": verdicts_figure,
    "predictors": predictors_figure,
}
