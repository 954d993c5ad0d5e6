"""From which share of a table half of the rest is learned, against the complexity: python benchmarks/share_needed.py

Reads the censuses of kinds (x² networks, MLPs, transformers) and `tables.parquet` (`census_measures.py`), and writes
results/share-needed.json and docs/images/share-needed.png. For each table and model, accuracies at the last step are
averaged over seeds and made to rise with the share (least squares); where they pass one half, between two shares, is
the share that is needed. A table of which half is not learned from the largest share has none, and ranks last.

The law of groups, needed = c r^a n^-b, is fitted to the groups of the census alone, x² networks; all other tables are
held against it. Beside r stand other numbers that may order groups: how many products of numbers known fast ways to
multiply the matrices of all representations take, a bound of the rank of T, and how many representations there are.
Rank correlations are those of r and the share needed among tables of one side, averaged over sides by
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
from matplotlib import colormaps, rc_context
from matplotlib.lines import Line2D
from scipy.optimize import isotonic_regression
from scipy.stats import spearmanr
from writing import write_found

from modgrok.algebra.representations import real_irreducibles
from modgrok.base.files import whole_file
from modgrok.censuses.families import make_table
from modgrok.figures.style import FAINT, Figure, drawing
from modgrok.recognition.latin import group_behind
from modgrok.separable.measures.nuclear import believed

CENSUSES = {
    "x² network": ("kinds", "other-kinds"),
    "3-layer MLP": ("kinds-mlp",),
    "transformer": ("kinds-transformer",),
}
GROUPS = ("group", "shuffled-group")
PRODUCTS = {1: 1, 2: 7, 3: 23, 4: 49, 5: 98, 6: 160}
"""Of numbers, to multiply two square matrices: Strassen's way, Laderman's and later ones. Two complex numbers take 3,
two quaternions 8."""
LEAST_SIDE = 20
"""Of smaller tables a share of the rest is a handful of cells."""
FEWEST = 5
"""Shares that must have been trained on."""
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "share-needed.png"
RESAMPLED = 2000
FAMILIES = {
    "groups": ("gray", ("group", "shuffled-group")),
    "sums and products in disguise": (
        "Blues_r",
        ("relabelled-sum", "composed-sum", "composed-product", "function-of-powers"),
    ),
    "polynomials and powers": (
        "autumn",
        ("sum-plus-monomial", "product-of-sums", "two-monomials", "three-monomials", "quadratic-form", "cubic")
        + ("exponential",),
    ),
    "orders, bits, regions": ("summer", ("lattice", "integers", "bits", "tropical", "conditional", "few-features")),
    "noise": ("cool_r", ("noisy-sum", "damaged", "quasigroup", "random")),
}
"""Kinds that belong together, in shades of one colour, each with its marker."""
LEGENDS = ((0.02, 1), (0.15, 1), (0.37, 2), (0.65, 2), (0.87, 1))
"""Where the legend of each family stands, and its columns."""
MARKERS = "oDs^vPX"
NEVER = 1.4
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


def law_by(name: str, groups: list[Point]) -> dict[str, float]:
    """c, a and b of needed = c x^a n^-b, by least squares of logarithms, x what has that name; R² and mean error."""
    design = np.array([[1, np.log(each[name]), -np.log(each["modulus"])] for each in groups])
    wanted = np.log([each["needed"] for each in groups])
    found, *_ = np.linalg.lstsq(design, wanted, rcond=None)
    off = wanted - design @ found
    law = {"c": np.exp(found[0]), "a": found[1], "b": found[2]}
    fit = {"r2": 1 - off.var() / wanted.var(), "mean_error": np.abs(np.expm1(off)).mean()}
    return {key: float(value) for key, value in (law | fit).items()}


def with_rivals(point: Point) -> Point:
    """A group's point with what else may order groups."""
    table = np.asarray(make_table(point["kind"], point["modulus"], point["table_seed"]).values)
    group = group_behind(table)
    assert group is not None, "the table of a group"
    products = representations = 0
    for each in real_irreducibles(group.products):
        size = each.degree // 2 if each.kind == "quaternionic" else each.degree
        products += PRODUCTS[size] * {"real": 1, "complex": 3, "quaternionic": 8}[each.kind]
        representations += 2 if each.kind == "complex" else 1
    return point | {"products": products, "representations": representations}


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


def styles() -> dict[str, dict[str, dict[str, Any]]]:
    """How each kind is drawn, by families."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for family, (shades, kinds) in FAMILIES.items():
        colours = colormaps[shades](np.linspace(0.0, 0.6, len(kinds)))
        style = {"ls": "", "ms": 6 if family == "groups" else 5, "mec": "white", "mew": 0.4}
        found[family] = {
            kind: style | {"color": colour, "marker": marker, "zorder": 3 if family == "groups" else 2}
            for kind, colour, marker in zip(kinds, colours, MARKERS, strict=False)
        }
    return found


def needed_figure(points: Mapping[str, Sequence[Mapping[str, Any]]], groups: str) -> Figure:
    """For each model a panel: from which share half of the rest is right, against what groups of that complexity need.

    A point has `kind`, `complexity`, `needed` (None for never), `law` (what the law of groups says) and `modulus`.
    """
    assert {each["kind"] for panel in points.values() for each in panel} <= {
        k for _, own in FAMILIES.values() for k in own
    }
    with drawing(width=3.9 * len(points), height=6.6) as figure, rc_context({"font.size": 11}):
        panels = figure.subplots(1, len(points), sharey=True, squeeze=False)[0]
        for axes, (title, found) in zip(panels, points.items(), strict=True):
            for kind, style in ((kind, style) for family in styles().values() for kind, style in family.items()):
                own = [each for each in found if each["kind"] == kind]
                shown = [NEVER if each["needed"] is None else each["needed"] for each in own]
                axes.plot([each["law"] for each in own], shown, **style)
            axes.plot([0.01, 1], [0.01, 1], color="black", lw=1.2, zorder=1)
            least = min(each["needed"] for each in found if each["needed"] is not None)
            axes.axhspan(0.01, least, color="0.93", zorder=0)
            axes.text(0.75, least * 0.92, "smaller shares were not tried", ha="right", va="top", color="0.35", size=9)
            axes.axhline(1.15, color=FAINT, lw=0.6)
            axes.set_title(f"{title}: {len(found):,} tables", size=13)
            axes.set(xscale="log", yscale="log", xlim=(0.03, 0.8), ylim=(0.035, 1.65))
            axes.set_xticks([0.05, 0.1, 0.2, 0.5], ["5 %", "10 %", "20 %", "50 %"], size=11)
            axes.set_yticks([0.05, 0.1, 0.2, 0.5, 1, NEVER], ["5 %", "10 %", "20 %", "50 %", "100 %", "never"], size=11)
            axes.minorticks_off()
        panels[0].set_ylabel("share of the table from which\nhalf of the rest is learned", size=12)
        panels[len(panels) // 2].set_xlabel(
            f"share that groups of that complexity r and side n need with x² networks (line): {groups}", size=12
        )
        figure.get_layout_engine().set(rect=(0, 0.2, 1, 0.8))
        for (family, kinds), (place, columns) in zip(styles().items(), LEGENDS, strict=True):
            handles = [Line2D([], [], label=kind, **style) for kind, style in kinds.items()]
            look = {"fontsize": 10, "title_fontsize": 11, "alignment": "left"}
            look |= {"columnspacing": 0.8, "handletextpad": 0.2}
            at = {"loc": "upper left", "bbox_to_anchor": (place, 0.19), "ncols": columns}
            figure.legend(handles=handles, title=family, **at, **look)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "share-needed.json")
    asked = parser.parse_args()
    known = {tuple(row[name] for name in TABLE): row for row in pq.read_table(TABLES).to_pylist()}
    panels = {model: [p for name in names for p in points_of(name, known)] for model, names in CENSUSES.items()}
    groups = [each for each in panels["x² network"] if each["kind"] in GROUPS and each["needed"] is not None]
    rivals = [with_rivals(each) for each in groups]
    fits = {name: law_by(name, rivals) for name in ("complexity", "products", "representations")}
    constant, a, b = (fits["complexity"][name] for name in ("c", "a", "b"))
    found: dict[str, Any] = {"group_law": {"c": constant, "a": a, "b": b}, "group_fits": fits, "models": {}}
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
    word = f"{constant:.2f} r$^{{{a:.2f}}}$ n$^{{-{b:.2f}}}$"
    with whole_file(PICTURE) as temporary:
        needed_figure(panels, word).savefig(temporary, dpi=150, format="png")
    read = (TABLES, *(CENSUS / name / "census.parquet" for names in CENSUSES.values() for name in names))
    write_found(__file__, asked.out, found | {"points": panels}, asked, read=read)


def median_ratio(points: list[Point]) -> float | None:
    """The share needed over what the law of groups says, of the middle table."""
    return float(np.median([each["needed"] / min(each["law"], 1.0) for each in points])) if points else None


if __name__ == "__main__":
    main()
