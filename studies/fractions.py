"""Fit `loss_law.fraction_law` to a census: how much of a table is enough, for functions in the class."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.base.errors import InputError
from modgrok.base.files import write_json
from modgrok.base.results import plain
from modgrok.censuses import store
from modgrok.censuses.law_check import Columns, columns_of, last_step
from modgrok.loss_law.fraction_law import FILE, GROKKED, FractionLaw, KindLaw, features, kind_of
from modgrok.separable.verdict import MEASURED
from modgrok.training.presets import DEFAULTS
from studies.fits import Fit

LEAST_MODULUS = 7
"""Below, nine tenths of a table leave too few cells to test."""
FEWEST_ROWS = 30
"""Trainings that a kind needs for a law."""
NEWTON_STEPS, RIDGE = 60, 1e-6
FOLDS = 5

Row = Float[np.ndarray, "row"]
Features = Float[np.ndarray, "row feature"]


class FractionFit(Fit[FractionLaw]):
    """How much of a table is enough."""

    def summary(self) -> str:
        edges = (f"{100 * found.boundary(31):.0f} % for a {kind}" for kind, found in self.law.kinds.items())
        return f"half of the trainings modulo 31 grok from {', '.join(edges)}"


def fractions(folder: str | Path, out: str | Path | None = None) -> FractionFit:
    """Fit how much of a table is enough to an annotated census, write the law and draw its phase diagrams.

    Arguments:
        folder: the folder of the census.
        out: the folder for `fraction_law.json`, phases.png and phases.svg; the census's own if not given.
    """
    from modgrok.figures.style import save_figures
    from studies.phase_diagrams import phases_figure

    started, folder = time.perf_counter(), Path(folder)
    target = Path(out) if out is not None else folder
    census = class_rows(columns_of(store.read_annotated(folder)))
    law = fraction_fit(census, f"modgrok census fractions {folder}")
    write_json(target / FILE, plain(law))
    drawn = save_figures({"phases": phases_figure(census, law)}, target)
    return FractionFit(folder, (target / FILE, *drawn), law, time.perf_counter() - started)


def class_rows(census: Columns) -> Columns:
    """The trainings at the default settings of sums and products, in disguise or not, with `variety` and `kind`."""
    rows = (census["steps"] == last_step(census)) & (census["fraction"] < 1)
    for name in ("width", "learning_rate", "weight_decay"):
        rows &= census[name] == DEFAULTS[name]
    rows &= (census["verdict"] == "in-class") & np.isin(census["verdict_family"], MEASURED)
    rows &= census["modulus"] >= LEAST_MODULUS
    chosen = {name: column[rows] for name, column in census.items()}
    chosen["redundancy"] = chosen["redundancy"].astype(float)
    chosen["variety"] = chosen["entropy"] / np.log2(chosen["modulus"])
    return chosen | {"kind": kind_of(chosen["verdict_family"], chosen["redundancy"], chosen["variety"])}


def fraction_fit(census: Columns, made_by: str) -> FractionLaw:
    """The law of every kind that has enough trainings."""
    kinds = {str(kind): census["kind"] == kind for kind in np.unique(census["kind"])}
    known = {kind: kind_law(census, rows) for kind, rows in kinds.items() if rows.sum() >= FEWEST_ROWS}
    if not known:
        raise InputError(
            f"a fraction law needs {FEWEST_ROWS} trainings on functions in the class; this census has less"
        )
    return FractionLaw(
        made_by,
        (int(census["modulus"].min()), int(census["modulus"].max())),
        (float(census["fraction"].min()), float(census["fraction"].max())),
        known,
    )


def kind_law(census: Columns, rows: Bool[np.ndarray, "row"]) -> KindLaw:
    names = ("modulus", "fraction", "variety", "redundancy")
    terms, grokked = features(*(census[name][rows] for name in names)), grokked_rows(census)[rows]
    short, moduli = terms[:, :3], census["modulus"][rows]
    whole = terms if census["kind"][rows][0].startswith("relabelled") else short
    found = KindLaw(
        int(rows.sum()),
        rounded(logistic(whole, grokked)),
        rounded(logistic(short, grokked)),
        misjudged(whole, grokked, moduli),
        misjudged(short, grokked, moduli),
        None,
    )
    apart = [abs(edge - found.boundary(modulus)) for modulus, edge in edges(census, rows, found)]
    return replace(found, edge_error=float(np.mean(apart)) if apart else None)


def grokked_rows(census: Columns) -> Row:
    return (census["test_accuracy"] >= GROKKED).astype(float)


def rounded(weights: Float[np.ndarray, "feature"]) -> tuple[float, ...]:
    return tuple(float(f"{weight:.5g}") for weight in weights)


def logistic(terms: Features, happened: Row) -> Float[np.ndarray, "feature"]:
    """The weights of greatest likelihood, by Newton's method."""
    weights = np.zeros(terms.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = chances(terms, weights)
        spread = chance * (1 - chance) + 1e-9
        hessian = terms.T @ (terms * spread[:, None]) + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(hessian, terms.T @ (happened - chance) - RIDGE * weights)
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return weights


def chances(terms: Features, weights: Float[np.ndarray, "feature"]) -> Row:
    return np.asarray(1 / (1 + np.exp(-np.clip(terms @ weights, -30, 30))))


def misjudged(terms: Features, happened: Row, moduli: Int[np.ndarray, "row"]) -> float:
    """The share of trainings on the wrong side of even odds, each judged by weights from other moduli."""
    fold = np.searchsorted(np.unique(moduli), moduli) % FOLDS
    wrong = np.zeros(len(happened))
    for k in range(FOLDS):
        weights = logistic(terms[fold != k], happened[fold != k])
        wrong[fold == k] = (chances(terms[fold == k], weights) > 0.5) != (happened[fold == k] > 0.5)
    return float(wrong.mean())


def edges(census: Columns, chosen: Bool[np.ndarray, "row"], law: KindLaw) -> Iterator[tuple[int, float]]:
    """Where half of the trainings grok at each modulus by itself: a logistic fit in ln f with the slope of the kind.

    Moduli at which none or all of them grok have no edge between the shares that were trained.
    """
    slope, grokked = law.by_modulus[2], grokked_rows(census)
    for modulus in np.unique(census["modulus"]).tolist():
        rows = chosen & (census["modulus"] == modulus)
        logs, happened = slope * np.log(census["fraction"][rows]), grokked[rows]
        if not 0 < happened.sum() < len(happened):
            continue
        low, high = -logs.max() - 30, -logs.min() + 30  # of the constant, for which chances sum to what happened
        for _ in range(60):
            middle = (low + high) / 2
            expected = (1 / (1 + np.exp(-np.clip(logs + middle, -700, 700)))).sum()
            low, high = (low, middle) if expected > happened.sum() else (middle, high)
        yield modulus, float(np.exp(-low / slope))
