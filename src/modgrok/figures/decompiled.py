"""A decompiled network and its twin side by side; without a formula, its answers and what was tried."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes

from modgrok.base.results import percent
from modgrok.figures.style import FAINT, INK, PAGE, POWER, WAVE, Figure, drawing
from modgrok.inspection.decompiling import Decompiled
from modgrok.inspection.logits import Templates, whole_logits
from modgrok.inspection.twins import Twin


def decompiled_figure(found: Decompiled) -> Figure:
    """Answers, mean logits and amplitudes by frequency: a row for the original, one for its twin."""
    if found.twin is None or found.view is None or found.view.templates is None:
        return tried_figure(found)
    templates, twin = found.view.templates, found.twin
    networks = {f"original ({found.network.model.name})": found.network, f"twin (of its {twin.made_of})": twin.network}
    with drawing(PAGE, 4.6) as figure:
        figure.suptitle(f"{found.formula}: both give the same answer on {percent(twin.agreement)} of the inputs")
        for axes, (name, network) in zip(figure.subplots(2, 3), networks.items(), strict=True):
            logits = whole_logits(network)
            answers_panel(axes[0], logits.argmax(axis=1).reshape(network.model.residues), templates, twin)
            axes[0].set_title(name)
            mean_panel(axes[1], templates, logits)
            amplitude_panel(axes[2], templates, logits, found.view.key_frequencies)
    return figure


def answers_panel(axes: Axes, answers: Int[np.ndarray, "..."], templates: Templates, twin: Twin) -> None:
    """The answers' places over those of both inputs, first inputs down; wrong answers are dots."""
    if answers.ndim != 2:
        answers = answers.reshape(len(answers), -1)
        axes.imshow(answers, cmap="twilight", interpolation="nearest", aspect="auto")
        return
    place = np.full(len(answers), np.nan)
    place[templates.labels.outputs[templates.labels.reached]] = templates.labels.reached
    rows, columns = (np.argsort(table, kind="stable") for table in templates.labels.tables)
    axes.imshow(place[answers][np.ix_(rows, columns)], cmap="twilight", interpolation="nearest", origin="lower")
    wrong = np.argwhere((answers.reshape(-1) != twin.right).reshape(answers.shape)[np.ix_(rows, columns)])
    axes.plot(wrong[:, 1], wrong[:, 0], ".", color=WAVE, markersize=3)
    axes.set(xlabel=r"$n_2$ by place", ylabel=r"$n_1$ by place")
    axes.grid(False)


def mean_panel(axes: Axes, templates: Templates, logits: Float[np.ndarray, "table class"]) -> None:
    """The mean logit of every class, in the order of its place, by the sum of the inputs' places."""
    mean = templates.mean_by_sum(templates.centred(logits))
    first = np.full(len(templates.classes), len(templates.labels.outputs))
    reached = templates.labels.reached
    np.minimum.at(first, np.searchsorted(templates.classes, templates.labels.outputs[reached]), reached)
    shown = mean[:, np.argsort(first)] / (mean.max() or 1)
    axes.imshow(
        np.maximum(shown, 0), cmap=POWER, origin="lower", interpolation="nearest", aspect="auto", vmin=0, vmax=1
    )
    axes.set(xlabel="class by place", ylabel=r"$g_1 + g_2$", title="mean logit")
    axes.grid(False)


def amplitude_panel(
    axes: Axes, templates: Templates, logits: Float[np.ndarray, "table class"], keys: tuple[int, ...]
) -> None:
    """The amplitude of every frequency, relative to the largest; key frequencies of the original in colour."""
    coefficients, _ = templates.fit(templates.centred(logits))
    coefficients[0] = 0
    shown, key = coefficients / (np.abs(coefficients).max() or 1), np.isin(np.arange(len(coefficients)), keys)
    for chosen, colour in ((key, WAVE), (~key, FAINT)):
        axes.bar(np.flatnonzero(chosen), shown[chosen], width=0.8, color=colour)
    what = "representation" if templates.order_name == "group" else "frequency $f$"
    axes.set(xlabel=what, ylabel="amplitude", xlim=(0, len(shown)), title="amplitudes")


def tried_figure(found: Decompiled) -> Figure:
    """The answers as they stand, and for every family the rows on which its best formula is right."""
    answers, tried = found.recognised.answers, found.recognised.tried
    with drawing(PAGE, 2.9) as figure:
        figure.suptitle(found.formula or "no formula")
        first, second = figure.subplots(1, 2, width_ratios=(1, 1.4))
        first.imshow(answers.reshape(len(answers), -1), cmap="twilight", interpolation="nearest", aspect="auto")
        first.set(xlabel="$n_2$", ylabel="$n_1$", title="answers")
        first.grid(False)
        places = np.arange(len(tried))
        second.barh(places, [100 * each.right / each.counted for each in tried], color=INK, height=0.6, label="right")
        for place, each in enumerate(tried):
            if each.needed is not None:
                second.plot([100 * each.needed / each.counted] * 2, [place - 0.4, place + 0.4], color=WAVE)
        second.set_yticks(places, [each.family for each in tried])
        second.invert_yaxis()
        second.set(xlabel="inputs right (%); chance ends at the line", xlim=(0, 100))
    return figure
