"""Hidden neurons of the sum of S terms by design, beside those of the literature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from modgrok.figures.style import COLOURS, Figure, drawing

Rows = Sequence[Mapping[str, Any]]

LABELS = {
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
        for colour, (key, label) in zip(COLOURS, LABELS.items(), strict=False):
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
