"""From which share of a table half of the rest is learned, against the complexity: python benchmarks/share_needed.py

Reads the censuses of kinds (x² networks, MLPs, transformers) and `tables.parquet` (`census_measures.py`), and writes
results/share-needed.json and docs/images/share-needed.png. For each table and model, accuracies at the last step are
averaged over seeds and made to rise with the share (least squares); where they pass one half, between two shares, is
the share that is needed. A table of which half is not learned from the largest share has none, and ranks last.

The law of groups, needed = c r^a n^-b, is fitted to the groups of the census alone, x² networks; all other tables are
held against it. Rank correlations are those of r and the share needed among tables of one side, averaged over sides by
their tables; intervals hold 95 % of 2,000 resamplings of the tables.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from census_measures import CENSUS, TABLE, TABLES
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from scipy.optimize import isotonic_regression
from scipy.stats import spearmanr
from writing import write_found

from modgrok.base.files import whole_file
from modgrok.figures.style import COLOURS, FAINT, Figure, drawing
from modgrok.separable.measures.nuclear import believed

CENSUSES = {
    "x² network": ("kinds", "other-kinds"),
    "3-layer MLP": ("kinds-mlp",),
    "transformer": ("kinds-transformer",),
}
GROUPS = ("group", "shuffled-group")
LEAST_SIDE = 20
"""Of smaller tables a share of the rest is a handful of cells."""
FEWEST = 5
"""Shares that must have been trained on."""
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "share-needed.png"
RESAMPLED = 2000
MARKERS = "osD^vPX*<>hd8p"
NEVER = 1.06
"""Where tables stand of which half of the rest is not learned from any share that was tried."""

Point = dict[str, Any]


def needed(shares: np.ndarray, accuracy: np.ndarray) -> float | None:
    """Where accuracy that rises with the share passes one half; None where it does not."""
    rising = isotonic_regression(accuracy).x
    if rising[-1] < 0.5:
        return None
    k = int(np.argmax(rising >= 0.5))
    if k == 0:
        return float(shares[0])
    before, after = rising[k - 1], rising[k]
    return float(shares[k - 1] + (shares[k] - shares[k - 1]) * (0.5 - before) / (after - before))


def points_of(census: str, known: dict[tuple[Any, ...], Point]) -> list[Point]:
    """One for each table of a census that is large enough and has been trained on enough shares."""
    rows = pq.read_table(CENSUS / census / "census.parquet", columns=[*TABLE, "fraction", "steps", "test_accuracy"])
    found: dict[tuple[Any, ...], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    columns = rows.to_pydict()
    last = max(columns["steps"])
    for family, modulus, seed, share, steps, accuracy in zip(*columns.values(), strict=True):
        if steps == last and accuracy is not None and modulus >= LEAST_SIDE and share < 1:
            found[family, modulus, seed][share].append(accuracy)
    points = []
    for key, by_share in found.items():
        if len(by_share) < FEWEST or key not in known:
            continue
        shares = np.array(sorted(by_share))
        reached = np.array([np.mean(by_share[share]) for share in shares])
        about = {"kind": key[0], "modulus": key[1], "table_seed": key[2], "needed": needed(shares, reached)}
        points.append(about | {name: known[key][name] for name in ("complexity", "shrunk", "symmetric")})
        if not known[key]["exact"]:
            points[-1]["complexity"] = believed(*(known[key][name] for name in ("estimated", "below", "shrunk")))
    return points


def group_law(points: list[Point]) -> tuple[float, float, float]:
    """c, a and b of needed = c r^a n^-b, by least squares of logarithms over groups."""
    own = [each for each in points if each["kind"] in GROUPS and each["needed"] is not None]
    design = np.array([[1, np.log(each["complexity"]), -np.log(each["modulus"])] for each in own])
    (constant, a, b), *_ = np.linalg.lstsq(design, np.log([each["needed"] for each in own]), rcond=None)
    return float(np.exp(constant)), float(a), float(b)


def rank_correlation(points: list[Point], name: str) -> float:
    """Spearman's, of the tables of each side, averaged over sides by their tables."""
    total, weight = 0.0, 0
    for side in sorted({each["modulus"] for each in points}):
        own = [each for each in points if each["modulus"] == side]
        x, y = ([each[name] for each in own], [2.0 if each["needed"] is None else each["needed"] for each in own])
        if len(own) >= FEWEST and len(set(x)) > 1 and len(set(y)) > 1:
            total, weight = total + len(own) * float(spearmanr(x, y).statistic), weight + len(own)
    return total / weight


def with_interval(points: list[Point], name: str) -> dict[str, float]:
    rng = np.random.default_rng(0)
    tried = [
        rank_correlation([points[k] for k in rng.integers(0, len(points), len(points))], name) for _ in range(RESAMPLED)
    ]
    low, high = np.quantile(tried, (0.025, 0.975))
    return {"spearman": rank_correlation(points, name), "low": float(low), "high": float(high)}


def needed_figure(points: Mapping[str, Sequence[Mapping[str, Any]]], groups: str) -> Figure:
    """For each model a panel: from which share half of the rest is right, against the complexity; a colour for a kind.

    A point has `kind`, `complexity`, `needed` (None for never), `law` (what the law of groups says) and `modulus`.
    """
    kinds = sorted({each["kind"] for panel in points.values() for each in panel})
    styles = {kind: (COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]) for k, kind in enumerate(kinds)}
    with drawing(width=3.3 * len(points) + 0.4, height=4.6) as figure:
        panels = figure.subplots(1, len(points), sharey=True, squeeze=False)[0]
        for axes, (title, found) in zip(panels, points.items(), strict=True):
            for kind, (colour, marker) in styles.items():
                own = [each for each in found if each["kind"] == kind]
                style: dict[str, Any] = {"color": colour, "marker": marker, "ls": "", "ms": 4, "alpha": 0.75}
                shown = [NEVER if each["needed"] is None else each["needed"] for each in own]
                axes.plot([each["law"] for each in own], shown, **style)
            told = np.geomspace(0.04, 1.0, 50)
            axes.plot(told, told, color="0.3", lw=0.9, ls="--")
            axes.axhline(1.0, color=FAINT, lw=0.6)
            axes.set(title=title, xscale="log", xlabel=groups, xlim=(0.04, 2.5), ylim=(0, 1.12))
            axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        panels[0].set(ylabel="share of the table needed for half of the rest")
        panels[0].yaxis.set_major_formatter(PercentFormatter(1))
        handles = [Line2D([], [], color=c, marker=m, ls="", ms=4, label=kind) for kind, (c, m) in styles.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=6 if len(points) > 2 else 4)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "share-needed.json")
    asked = parser.parse_args()
    known = {tuple(row[name] for name in TABLE): row for row in pq.read_table(TABLES).to_pylist()}
    panels = {model: [p for name in names for p in points_of(name, known)] for model, names in CENSUSES.items()}
    constant, a, b = group_law(panels["x² network"])
    found: dict[str, Any] = {"group_law": {"c": constant, "a": a, "b": b}, "models": {}}
    for model, points in panels.items():
        for each in points:
            each["law"] = constant * each["complexity"] ** a * each["modulus"] ** -b
        told = [each for each in points if each["needed"] is not None]
        off = sorted(told, key=lambda each: -abs(np.log(each["needed"] / min(each["law"], 1.0))))
        found["models"][model] = {
            "tables": len(points),
            "never": len(points) - len(told),
            "complexity": with_interval(points, "complexity"),
            "shrunk": with_interval(points, "shrunk"),
            "furthest_off": off[:12],
            "symmetric_over_law": median_ratio([each for each in told if each["symmetric"]]),
            "others_over_law": median_ratio([each for each in told if not each["symmetric"]]),
        }
        print(model, {name: found["models"][model][name] for name in ("tables", "never", "complexity", "shrunk")})
    word = f"{constant:.2f} r$^{{{a:.2f}}}$ n$^{{-{b:.2f}}}$: what groups need"
    with whole_file(PICTURE) as temporary:
        needed_figure(panels, word).savefig(temporary, dpi=150, format="png")
    read = (TABLES, *(CENSUS / name / "census.parquet" for names in CENSUSES.values() for name in names))
    write_found(__file__, asked.out, found | {"points": panels}, asked, read=read)


def median_ratio(points: list[Point]) -> float | None:
    """The share needed over what the law of groups says, of the middle table."""
    return float(np.median([each["needed"] / min(each["law"], 1.0) for each in points])) if points else None


if __name__ == "__main__":
    main()
