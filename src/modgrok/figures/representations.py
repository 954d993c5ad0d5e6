"""A network in a group, in three panels: its logits by representation, its neurons by representation, their law."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from modgrok.base.results import percent
from modgrok.figures.style import FAINT, INK, PAGE, WAVE, Figure, drawing
from modgrok.inspection.group_view import GroupView

MOST_LABELS = 12
"""Representations that are labelled one by one."""


def representations_figure(view: GroupView) -> Figure:
    """Shares of the logits' variance, and where weights are read: neurons of each representation, and the law."""
    has_law = view.neurons is not None and bool(np.isfinite(view.neurons.law).any())
    panels = 1 + (view.neurons is not None) + has_law
    with drawing(PAGE * (0.45, 0.75, 1)[panels - 1], 2.5) as figure:
        axes = list(figure.subplots(1, panels, squeeze=False)[0])
        rows = view.rows()[1:]
        shares = 100 * np.array([row["logits_share"] or 0.0 for row in rows])
        bars(axes[0], view, shares, "share of logit variance (%)", WAVE)
        axes[0].set_title(f"closed form: {percent(view.closed_form_share, 1)}")
        if view.neurons is not None:
            bars(axes[1], view, np.array([row["neurons"] for row in rows]), "neurons", INK)
            axes[1].set_title(f"{int(view.neurons.alive.sum())} neurons alive")
        if view.neurons is not None and has_law:
            law = view.neurons.law[view.neurons.alive & np.isfinite(view.neurons.law)]
            axes[2].hist(law, bins=np.linspace(-1, 1, 41), color=FAINT)
            axes[2].set(xlabel=r"$\langle AB, C\rangle / \|AB\|\,\|C\|$", ylabel="neurons", title="law of the factors")
    return figure


def bars(axes: Axes, view: GroupView, heights: np.ndarray, label: str, colour: str) -> None:
    numbers = np.arange(1, len(heights) + 1)
    axes.bar(numbers, heights, width=0.8, color=colour)
    axes.set(xlabel=f"representation of {view.group.title}", ylabel=label)
    if len(heights) <= MOST_LABELS:
        kinds = {"real": "", "complex": "c", "quaternionic": "q"}
        names = [f"{rho.degree}{kinds[rho.kind]}" for rho in view.group.representations[1:]]
        axes.set_xticks(numbers, names)
        axes.set_xlabel(f"representation of {view.group.title}, by degree")
