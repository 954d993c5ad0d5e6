"""What is expected of a network over the share of the table that it trains on."""

from __future__ import annotations

from modgrok.base.results import percent
from modgrok.figures.style import COLUMN, FAINT, INK, WAVE, Figure, drawing
from modgrok.loss_law.fraction_law import GROKKED
from modgrok.loss_law.from_table import MODEL_NAMES
from modgrok.loss_law.share_curve import ShareCurve


def curve_figure(curve: ShareCurve, title: str, model: str, fraction: float, whole: bool = True) -> Figure:
    """The accuracy to expect with its interval, where something is expected, and the share that was asked about: of the
    table, or of the known cells of one that is not whole."""
    known = [
        (share, each.value, each.low, each.high)
        for share, each in zip(curve.shares, curve.expected, strict=True)
        if each.value is not None
    ]
    with drawing(1.4 * COLUMN, 0.9 * COLUMN) as figure:
        axes = figure.add_subplot()
        shares, values, low, high = zip(*known, strict=True)
        axes.fill_between(shares, low, high, color=INK, alpha=0.15, linewidth=0, label="nine networks of ten")
        axes.plot(shares, values, color=INK, marker="o", markersize=3, label="expected")
        axes.axvline(fraction, color=FAINT, linewidth=1, linestyle=":")
        marks = (("half of the rest", curve.half, 0.5, "o"), ("all of it", curve.whole, GROKKED, "s"))
        for what, share, level, marker in marks:
            if share is not None:
                label = f"{what} from {percent(share, 0)}"
                axes.plot([share], [level], color=WAVE, marker=marker, markersize=5, linestyle="none", label=label)
        part = f"share of the {'table' if whole else 'known cells'} that trains"
        axes.set(xlim=(0, 1), ylim=(-0.03, 1.05), xlabel=part, ylabel="unseen cells right")
        axes.set_title(f"{title}, {MODEL_NAMES[model]}", loc="left")
        axes.legend(loc="best")
    return figure
