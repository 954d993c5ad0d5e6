"""Phase diagrams of a census: which share of the trainings grok, by modulus and by how much of the table they saw."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh

from modgrok.censuses.law_check import Columns
from modgrok.figures.style import PAGE, POWER, WAVE, Figure, drawing
from modgrok.loss_law.fraction_law import FractionLaw, KindLaw
from studies.fractions import edges, grokked_rows

TICKS = (7, 11, 17, 31, 61, 127)


def phases_figure(census: Columns, law: FractionLaw) -> Figure:
    """One panel for each kind of function: the trainings, the edge at each modulus by itself, and the law."""
    with drawing(PAGE, 5.4) as figure:
        panels = figure.subplots(2, 2, sharex=True, sharey=True, squeeze=False)
        for axes, (kind, found) in zip(panels.ravel(), ordered(law).items(), strict=False):
            shares = draw_phases(axes, census, kind, found)
            axes.set_title(f"{kind}s, {found.networks:,} trainings")
        for axes in panels[-1]:
            axes.set_xlabel("modulus p")
        for axes in panels[:, 0]:
            axes.set_ylabel("share of the table trained on")
        figure.colorbar(shares, ax=panels, label="share of trainings that grok", shrink=0.6)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def ordered(law: FractionLaw) -> dict[str, KindLaw]:
    """Sums and products before relabelled ones."""
    return {kind: law.kinds[kind] for kind in sorted(law.kinds, key=lambda kind: (" " in kind, "product" in kind))}


def draw_phases(axes: Axes, census: Columns, kind: str, law: KindLaw) -> QuadMesh:
    moduli, shares = (np.unique(census[name]) for name in ("modulus", "fraction"))
    grid = np.full((len(shares), len(moduli)), np.nan)
    rows, grokked = census["kind"] == kind, grokked_rows(census)
    places = np.searchsorted(shares, census["fraction"]), np.searchsorted(moduli, census["modulus"])
    for i, j in set(zip(places[0][rows].tolist(), places[1][rows].tolist(), strict=True)):
        grid[i, j] = grokked[rows & (places[0] == i) & (places[1] == j)].mean()
    mesh = axes.pcolormesh(np.exp(borders(np.log(moduli))), borders(shares), grid, cmap=POWER, vmin=0, vmax=1)
    found = np.array(list(edges(census, rows, law))).reshape(-1, 2)
    label = "where half of the trainings grok, at each modulus"
    axes.plot(*found.T, "o", ms=3.5, mfc="white", mec=WAVE, mew=1.1, label=label)
    axes.plot(moduli, law.boundary(moduli), color=WAVE, label="the law over all moduli")
    axes.set(xscale="log", ylim=(borders(shares)[0], borders(shares)[-1]))
    axes.set_xticks(TICKS, [str(tick) for tick in TICKS])
    axes.minorticks_off()
    axes.grid(visible=False)
    axes.set_facecolor("0.88")  # where nothing was trained
    return mesh


def borders(centres: Float[np.ndarray, "place"]) -> Float[np.ndarray, "border"]:
    """The borders of cells around rising centres, half-way between them."""
    between = (centres[1:] + centres[:-1]) / 2
    return np.concatenate(([2 * centres[0] - between[0]], between, [2 * centres[-1] - between[-1]]))
