"""Grokking over time: the measures of a film as curves, and an animation of neurons on their waves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.animation import PillowWriter
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from modgrok.base.files import whole_file
from modgrok.figures.style import COLOURS, FAINT, INK, PAGE, WAVE, Figure, drawing, outside_legend
from modgrok.inspection.film import Film

FRAMES_PER_SECOND, HELD_FRAMES, GIF_DPI = 6, 8, 80
"""Of the animation, which stays at its end for some frames."""


def film_figure(film: Film) -> Figure:
    """Losses, shares and accuracies, and norms by frequency, over the steps."""
    with drawing(PAGE, 4.6) as figure:
        losses, shares, norms, weights = figure.subplots(2, 2).ravel()
        loss_curves(losses, film)
        share_curves(shares, film)
        norm_curves(norms, film)
        weight_curves(weights, film)
        for axes in (losses, shares, norms, weights):
            step_axis(axes, film)
    return figure


def step_axis(axes: Axes, film: Film) -> None:
    """Steps on a logarithmic axis that begins with step 0."""
    axes.set_xscale("symlog", linthresh=max(1, film.steps[film.steps > 0].min()) if (film.steps > 0).any() else 1)
    axes.set(xlabel="step", xlim=(0, None))


def loss_curves(axes: Axes, film: Film) -> None:
    """The network's loss, and the restricted and excluded ones; excluded on the training rows, where they are known."""
    train, test = ("train", "test") if film.known("full_loss_test") else ("all", "all")
    curves = [
        (f"full_loss_{train}", INK, "-", f"network, {train}"),
        (f"full_loss_{test}", WAVE, "-", f"network, {test}"),
        (f"restricted_loss_{test}", COLOURS[2], "--", f"restricted, {test}"),
        (f"excluded_loss_{train}", COLOURS[3], "--", f"excluded, {train}"),
    ]
    for name, colour, line, label in (curve for curve in curves[train == test :] if film.known(curve[0])):
        axes.plot(film.steps, film.measures[name], color=colour, linestyle=line, label=label)
    if np.nanmin(film.measures["full_loss_all"], initial=1) > 0:
        axes.set_yscale("log")
    axes.set(ylabel=film.loss.replace("mse", "squared error"))
    outside_legend(axes)


def share_curves(axes: Axes, film: Film) -> None:
    for name, colour, label in (
        ("full_accuracy_test", WAVE, "test accuracy"),
        ("full_accuracy_all", FAINT, "accuracy, all rows"),
        ("analytical_share", INK, share_name(film)),
        ("snapped_accuracy", COLOURS[2], "snapped accuracy"),
    ):
        if film.known(name):
            axes.plot(film.steps, film.measures[name], color=colour, label=label)
    axes.set(ylim=(-0.02, 1.02))
    outside_legend(axes)


def share_name(film: Film) -> str:
    """What a share of the logits' variance lies on."""
    return "analytical share" if film.group is None else "closed form"


def bins_name(film: Film) -> tuple[str, str]:
    """What the norms are by: one of it, and many."""
    return ("frequency", "frequencies") if film.group is None else ("representation", "representations")


def norm_curves(axes: Axes, film: Film) -> None:
    """The embedding's norm at every frequency; key frequencies in colour."""
    one, many = bins_name(film)
    key = [f for f in film.key_frequencies if f < film.norms.shape[1]]
    others = [f for f in range(1, film.norms.shape[1]) if f not in key]
    for frequencies, colour, label in ((others, FAINT, f"other {many}"), (key, WAVE, f"key {many}")):
        for first, f in enumerate(frequencies):
            axes.plot(film.steps, film.norms[:, f], color=colour, linewidth=0.8, label="" if first else label)
    axes.set(ylabel=f"embedding norm by {one}", ylim=(0, None))
    outside_legend(axes)


def weight_curves(axes: Axes, film: Film) -> None:
    """IPR, share of neurons on one frequency, and the residual of the phase law, as far as the model has them; in a
    group the share of neurons in one representation, and the law of their factors."""
    curves = [
        ("ipr", INK, 1.0, "mean IPR"),
        ("common_frequency_share", WAVE, 1.0, "on one frequency"),
        ("phase_residual_median", COLOURS[2], np.pi / 2, "phase residual · 2/π"),
        ("one_representation_share", WAVE, 1.0, "in one repr."),
        ("law_median", COLOURS[2], 1.0, "their law"),
    ]
    for name, colour, unit, label in curves:
        if film.known(name):
            axes.plot(film.steps, film.measures[name] / unit, color=colour, label=label)
    axes.set(ylim=(-0.02, 1.05))
    outside_legend(axes)


def save_animation(film: Film, path: Path) -> Path:
    """Write the animation as a GIF, whole or not at all."""
    frames = [*range(len(film.steps)), *[len(film.steps) - 1] * HELD_FRAMES]
    with drawing(PAGE, 3.6) as figure:
        show = animation(figure, film)
        writer = PillowWriter(fps=FRAMES_PER_SECOND)
        with whole_file(path) as temporary, writer.saving(figure, temporary, dpi=GIF_DPI):
            for k in frames:
                show(k)
                writer.grab_frame()
    return path


def animation(figure: Figure, film: Film) -> Callable[[int], None]:
    """Draw the followed neurons on their waves, the embedding's norms and two curves; returns what shows moment k.

    The layout is found once, with the last moment, and stays.
    """
    count = max(1, len(film.neurons))
    grid = figure.subplot_mosaic(
        [[f"wave{n}", "norms" if 2 * n < count else "curves"] for n in range(count)], width_ratios=(1.3, 1)
    )
    title = figure.suptitle(" ")
    parts = [wave_panel(grid[f"wave{n}"], film, n) for n in range(len(film.neurons))]
    parts += [norm_panel(grid["norms"], film), curve_panel(grid["curves"], film)]
    for n in range(len(film.neurons) - 1):
        grid[f"wave{n}"].tick_params(labelbottom=False)
    places = {"multiplicative": "logarithm of $n_1$", "additive": "$n_1$", "none": "elements of the group by cosets"}
    grid[f"wave{count - 1}"].set_xlabel(places.get(film.order, "place of $n_1$"))

    def show(k: int) -> None:
        title.set_text(f"{film.title}, {film.model}: step {film.steps[k]:,}")
        for part in parts:
            part(k)

    show(len(film.steps) - 1)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return show


def wave_panel(axes: Axes, film: Film, n: int) -> Callable[[int], None]:
    """A neuron's weights as dots, and the one cosine that is nearest to them, or the representation in a group."""
    places = np.arange(film.waves.shape[2])
    (wave,) = axes.plot(places, film.waves[-1, n], color=WAVE, linewidth=0 if film.group else 1)
    (weights,) = axes.plot(places, film.waves[-1, n], ".", color=INK, markersize=3)
    limit = 1.15 * np.abs(film.waves[:, n]).max(initial=0, where=np.isfinite(film.waves[:, n])) or 1
    axes.set(ylim=(-limit, limit), xlim=(-1, len(places)), yticks=[])
    axes.set_ylabel(f"neuron {film.neurons[n]}", fontsize=7)
    label = axes.set_title(" ", fontsize=8, loc="right", pad=2)

    def show(k: int) -> None:
        weights.set_ydata(film.waves[k, n])
        if film.held is not None:
            f = 1 + int(np.argmax(film.held[k, n, 1:]))
            label.set_text(f"representation {f}: {film.held[k, n, f]:.0%} of the weights")
            return
        f, values, explained = strongest_wave(film.waves[k, n])
        wave.set_ydata(values)
        label.set_text(f"$f={f}$: {explained:.0%} of the variance")

    return show


def strongest_wave(weights: np.ndarray) -> tuple[int, np.ndarray, float]:
    """The best cosine: its frequency, its values, and the share of the weights' variance that it holds."""
    spectrum = np.fft.rfft(weights)
    f = 1 + int(np.argmax(np.abs(spectrum[1:])))
    kept = np.zeros_like(spectrum)
    kept[f], kept[0] = spectrum[f], spectrum[0]
    wave = np.fft.irfft(kept, len(weights))
    variance = np.var(weights)
    return f, wave, float(np.var(wave) / variance) if variance > 0 else 0.0


def norm_panel(axes: Axes, film: Film) -> Callable[[int], None]:
    """The embedding's norm in every bin; key frequencies in colour."""
    frequency = np.arange(film.norms.shape[1])
    colours = np.where(np.isin(frequency, film.key_frequencies), WAVE, FAINT).tolist()
    bars = axes.bar(frequency, film.norms[-1], 0.8, color=colours)
    norms = film.norms[:, 1:]
    highest = norms.max(initial=1e-9, where=np.isfinite(norms))
    axes.set(xlabel=bins_name(film)[0], ylabel="embedding norm", ylim=(0, 1.05 * highest))
    axes.set_xlim(0.3, len(frequency) - 0.3)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    def show(k: int) -> None:
        for bar, height in zip(bars, film.norms[k], strict=True):
            bar.set_height(height)

    return show


def curve_panel(axes: Axes, film: Film) -> Callable[[int], None]:
    """Accuracy and analytical share, with a dot at the moment that is shown."""
    dots = []
    for name, colour, label in (
        ("full_accuracy_all", WAVE, "accuracy"),
        ("analytical_share", INK, share_name(film)),
    ):
        axes.plot(film.steps, film.measures[name], color=colour, linewidth=1, label=label)
        dots += [(name, line) for line in axes.plot([], [], "o", color=colour, markersize=4)]
    step_axis(axes, film)
    axes.set_ylim(-0.03, 1.05)
    outside_legend(axes)

    def show(k: int) -> None:
        for name, dot in dots:
            dot.set_data([film.steps[k]], [film.measures[name][k]])

    return show
