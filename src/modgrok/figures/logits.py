"""What the logits of a network compute, in three panels; docs/inspect.md says how to read them."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from modgrok.base.results import percent
from modgrok.figures.style import FAINT, INK, PAGE, POWER, WAVE, Figure, drawing, outside_legend
from modgrok.inspection.input_spectrum import InputSpectrum
from modgrok.inspection.logits import LogitsView

FAINTEST = 1e-5
"""The smallest share of power that the map of the spectrum tells from none."""


def logits_figure(view: LogitsView) -> Figure:
    """Shares by frequency and the mean logit around the right class, where there is a witness; the input spectrum."""
    panels = 2 * (view.shares is not None) + (view.input_spectrum is not None)
    with drawing(PAGE * (0.42, 0.75, 1)[panels - 1], 2.5) as figure:
        axes = list(figure.subplots(1, panels, squeeze=False)[0])
        if view.shares is not None:
            share_bars(axes.pop(0), view)
            mean_logit(axes.pop(0), view)
        if view.input_spectrum is not None:
            spectrum_panel(figure, axes.pop(0), view.input_spectrum)
    return figure


def share_bars(axes: Axes, view: LogitsView) -> None:
    """The share of variance at every frequency; key frequencies in colour."""
    shares = np.asarray(view.shares)
    key = np.isin(np.arange(len(shares)), view.key_frequencies)
    for chosen, colour, label in ((key, WAVE, "key"), (~key, FAINT, "others")):
        axes.bar(np.flatnonzero(chosen), 100 * shares[chosen], width=0.8, color=colour, label=label)
    axes.set(xlabel="frequency $f$", ylabel="share of logit variance (%)", xlim=(-0.7, len(shares) - 0.3))
    axes.set_title(f"analytical form: {percent(view.analytical_share, 1)}")
    axes.margins(y=0.3)
    axes.legend(loc="upper right", ncols=2, handlelength=1)


def mean_logit(axes: Axes, view: LogitsView) -> None:
    """The mean logit of the class at place t, by how far t is from the sum of the inputs' places."""
    found, coefficients = view.templates, view.coefficients
    if found is None or coefficients is None or view.mean_by_sum is None:
        return
    m, reached = found.labels.period, found.labels.reached
    fitted = np.tensordot(coefficients, found.kernel, axes=1)
    column = np.searchsorted(found.classes, found.labels.outputs[reached])
    sums = np.flatnonzero(found.counts)
    distance = (reached[None, :] - sums[:, None] + m // 2) % m - m // 2
    place = (distance + m // 2).ravel()
    count = np.bincount(place, minlength=m)
    at = np.flatnonzero(count)
    seen, fit = (
        np.bincount(place, table[np.ix_(sums, column)].ravel(), m)[at] / count[at]
        for table in (view.mean_by_sum, fitted)
    )
    axes.plot(at - m // 2, fit, color=WAVE, linewidth=1, label="fitted form")
    axes.plot(at - m // 2, seen, ".", color=INK, markersize=3, label="network")
    axes.set(xlabel="place of the class $-$ sum of places", ylabel="mean logit")
    outside_legend(axes, in_layout=False)  # as high as the titles beside it


def spectrum_panel(figure: Figure, axes: Axes, spectrum: InputSpectrum) -> None:
    """Power over pairs of frequencies, the constant in the middle; what depends on the sum is the diagonal."""
    m1, m2 = spectrum.power.shape
    shown = np.fft.fftshift(spectrum.power)
    extent = (-(m1 // 2) - 0.5, m1 - m1 // 2 - 0.5, -(m2 // 2) - 0.5, m2 - m2 // 2 - 0.5)
    image = axes.imshow(
        np.maximum(shown, FAINTEST).T,
        origin="lower",
        cmap=POWER,
        norm=LogNorm(FAINTEST, 1),
        extent=extent,
        interpolation="nearest",
        aspect="equal" if m1 == m2 else "auto",
    )
    axes.set(xlabel="frequency in $n_1$", ylabel="frequency in $n_2$", title="spectrum over the inputs")
    axes.grid(False)
    axes.spines[["top", "right"]].set_visible(True)
    figure.colorbar(image, ax=axes, label="share of power", fraction=0.05, pad=0.02)
