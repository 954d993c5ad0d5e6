"""The loss law: training loss against test accuracy, a point for each network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modgrok.figures.census import scatter
from modgrok.figures.style import Figure, drawing

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
        handles, labels = right.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, markerscale=2.5, columnspacing=1.2)
    return figure
