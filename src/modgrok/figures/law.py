"""The loss law: training loss against test accuracy, a point for each network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modgrok.figures.census import draw_loss_law
from modgrok.figures.style import Figure, drawing


def law_figure(points: Sequence[Mapping[str, Any]]) -> Figure:
    """One panel for each setting: `modulus`, `width`, and the columns `train_loss`, `test_accuracy` and `family`."""
    with drawing(7.6, 3.1) as figure:
        panels = figure.subplots(1, len(points), sharey=True, squeeze=False)[0]
        for axes, found in zip(panels, points, strict=True):
            draw_loss_law(axes, *(np.array(found[name]) for name in ("train_loss", "test_accuracy", "family")))
            axes.set_title(f"p = {found['modulus']}, width {found['width']}")
            axes.locator_params(axis="x", nbins=4)
        panels[0].set_ylabel("test accuracy")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, markerscale=2.5)
    return figure
