"""What `loss_law.from_table` needs of a census: the scales of its coordinates, how far it reaches, and its errors.

A training is always judged by others: its expectation is asked of the trainings of other tables, of other families, or
of other moduli. Scales and intervals are chosen on one half of the tables, errors and coverage measured on the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int, Shaped

from modgrok.base.errors import InputError
from modgrok.base.files import write_json
from modgrok.base.progress import Progress
from modgrok.base.results import percent, plain
from modgrok.censuses import store
from modgrok.censuses.law_check import Columns, columns_of, last_step
from modgrok.experiments.row_store import write_rows
from modgrok.loss_law.expectation import INTERVAL
from modgrok.loss_law.from_table import COORDINATES, LAW, POINTS, TableFacts, TableLaw, coordinates
from modgrok.training.presets import DEFAULTS
from studies.fits import Fit

NEIGHBOURS = 40
FACTORS = (0.5, 0.7, 1.4, 2.0)
"""By which a scale is tried to change."""
ROUNDS = 2
TUNED_ON, TUNED = 20_000, 1_200
"""Trainings whose neighbours choose the scales, and among how many."""
MEASURED = 4_000
"""Held-out trainings whose errors are measured."""
BLOCK = 128
"""Trainings that are compared with all others at once."""
FARTHEST = 0.98
"""The share of trainings whose neighbours are within reach."""

Points = Float[np.ndarray, "row coordinate"]
Column = Float[np.ndarray, "row"]
Groups = Shaped[np.ndarray, "row"]


class TableLawFit(Fit[TableLaw]):
    """How expectations are read off a census's trainings; `files` has these as well."""

    def summary(self) -> str:
        return (
            f"expectations by {self.law.networks:,} networks: mean absolute error "
            f"{self.law.error_held_out['tables']:.3f} on tables held out, "
            f"{percent(self.law.coverage['tables'], 0)} of them in their intervals"
        )


def neighbours(folder: str | Path, out: str | Path | None = None, *, progress: Progress | None = None) -> TableLawFit:
    """Fit the expectation from a table alone to an annotated census.

    Arguments:
        folder: the folder of the census.
        out: the folder for `table_law.json` and `trainings.parquet`; the census's own if not given.
        progress: called with the steps of the fit that are done, and with all of them.
    """
    started, folder = time.perf_counter(), Path(folder)
    target = Path(out) if out is not None else folder
    census = chosen_rows(columns_of(store.read_annotated(folder)))
    law = measured_law(census, f"modgrok census neighbours {folder}", progress)
    facts = table_facts(census)._asdict() | {"test_accuracy": census["test_accuracy"]}
    columns = {name: pa.array(np.asarray(values, stored_type(name))) for name, values in facts.items()}
    write_rows(target / POINTS, pa.table(columns))
    write_json(target / LAW, plain(law))
    return TableLawFit(folder, (target / LAW, target / POINTS), law, time.perf_counter() - started)


def stored_type(name: str) -> str:
    return {"modulus": "int16", "in_class": "bool"}.get(name, "float32")


def chosen_rows(census: Columns) -> Columns:
    """The rows at the default settings, at the last step, with test rows."""
    rows = (census["steps"] == last_step(census)) & (census["fraction"] < 1)
    for name in ("width", "learning_rate", "weight_decay"):
        rows &= census[name] == DEFAULTS[name]
    if rows.sum() <= 2 * NEIGHBOURS:
        raise InputError(
            f"expectations need more than {2 * NEIGHBOURS} trainings at width {DEFAULTS['width']} and the default "
            f"rates, this census has {int(rows.sum())}"
        )
    return {name: values[rows] for name, values in census.items()}


def table_facts(census: Columns) -> TableFacts:
    known = {name: census[name] for name in TableFacts._fields if name != "in_class"}
    return TableFacts(in_class=census["verdict"] == "in-class", **known)


def measured_law(census: Columns, made_by: str, progress: Progress | None = None) -> TableLaw:
    """Scales from one half of the tables; errors and coverage from the other."""
    places, accuracy = coordinates(table_facts(census)), census["test_accuracy"]
    groups = {name: np.unique(census[column], return_inverse=True)[1] for name, column in GROUPS.items()}
    rng = np.random.default_rng(0)
    tuned = rng.random(groups["tables"].max() + 1)[groups["tables"]] < 0.5
    scales = choose_scales(places, accuracy, groups["tables"], tuned, progress)
    points = places * scales
    first, second = (rng.permutation(np.flatnonzero(half))[:MEASURED] for half in (tuned, ~tuned))
    known = held_out(points, accuracy, groups["tables"], first)
    law = TableLaw(
        made_by=made_by,
        networks=len(accuracy),
        modulus_range=(int(census["modulus"].min()), int(census["modulus"].max())),
        fraction_range=(float(census["fraction"].min()), float(census["fraction"].max())),
        neighbours=NEIGHBOURS,
        scales=tuple(float(f"{scale:.4g}") for scale in scales),
        widened=widening(known, accuracy[first]),
        reach=float(np.quantile(known.reach, FARTHEST)),
        error_held_out={},
        coverage={},
    )
    judged = {
        name: judge(held_out(points, accuracy, group, second), accuracy[second], law) for name, group in groups.items()
    }
    return replace(
        law,
        error_held_out={name: found.error for name, found in judged.items()},
        coverage={name: found.coverage for name, found in judged.items()},
    )


GROUPS = {"tables": "table", "families": "family", "moduli": "modulus"}
"""What is held out together: all trainings with the same table, of the same family, of the same modulus."""


class Judged(NamedTuple):
    error: float
    coverage: float


def judge(found: HeldOut, accuracy: Float[np.ndarray, "asked"], law: TableLaw) -> Judged:
    """The mean absolute error, and how many fell into their intervals, among those within reach."""
    near = found.reach <= law.reach
    inside = (accuracy >= found.low - law.widened) & (accuracy <= found.high + law.widened)
    return Judged(float(np.abs(found.median - accuracy)[near].mean()), float(inside[near].mean()))


# ------------------------------------------------------------------------------------------------ neighbours


@dataclass(frozen=True)
class HeldOut:
    """For each training that was asked: the median and two quantiles of its neighbours, and how far the last one is."""

    median: Float[np.ndarray, "asked"]
    low: Float[np.ndarray, "asked"]
    high: Float[np.ndarray, "asked"]
    reach: Float[np.ndarray, "asked"]


def held_out(points: Points, accuracy: Column, groups: Groups, asked: Int[np.ndarray, "asked"]) -> HeldOut:
    """What the neighbours of each training say that are in other groups than it."""
    parts = [neighbour_quantiles(points, accuracy, groups, block) for block in blocks(asked)]
    return HeldOut(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def blocks(asked: Int[np.ndarray, "asked"]) -> Iterator[Int[np.ndarray, "block"]]:
    return (asked[first : first + BLOCK] for first in range(0, len(asked), BLOCK))


def neighbour_quantiles(
    points: Points, accuracy: Column, groups: Groups, asked: Int[np.ndarray, "block"]
) -> tuple[Float[np.ndarray, "block"], ...]:
    """|x - y|² = |x|² + |y|² - 2xy for all pairs at once; trainings of the same group are infinitely far."""
    places = points[asked]
    squares = np.square(places).sum(1)[:, None] + np.square(points).sum(1)[None, :] - 2 * places @ points.T
    squares[groups[asked][:, None] == groups[None, :]] = np.inf
    near = np.argpartition(squares, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
    low, median, high = np.quantile(accuracy[near], (INTERVAL[0], 0.5, INTERVAL[1]), axis=1)
    reach = np.sqrt(np.maximum(np.take_along_axis(squares, near, axis=1).max(axis=1), 0))
    return median, low, high, reach


def choose_scales(
    places: Points, accuracy: Column, groups: Groups, tuned: Bool[np.ndarray, "row"], progress: Progress | None = None
) -> Float[np.ndarray, "coordinate"]:
    """Scales with a small mean error on some of the tuned rows, improved one coordinate at a time."""
    rng = np.random.default_rng(1)
    some = rng.permutation(np.flatnonzero(tuned))[:TUNED_ON]
    points, values, own = places[some], accuracy[some], groups[some]
    asked = np.arange(min(TUNED, len(some)))
    spread = points.std(axis=0)
    scales = np.where(spread > 0, 1 / np.maximum(spread, 1e-9), 1.0)

    def error(tried: Float[np.ndarray, "coordinate"]) -> float:
        return float(np.abs(held_out(points * tried, values, own, asked).median - values[asked]).mean())

    best, turns = error(scales), list(range(len(COORDINATES))) * ROUNDS
    for turn, k in enumerate(turns):
        for factor in FACTORS:
            tried = scales * np.where(np.arange(len(scales)) == k, factor, 1.0)
            if (found := error(tried)) < best:
                best, scales = found, tried
        if progress is not None:
            progress(turn + 1, len(turns))
    return scales


def widening(found: HeldOut, accuracy: Float[np.ndarray, "asked"]) -> float:
    """By how much both ends of every interval move out so that nine in ten accuracies fall into theirs."""
    outside = np.maximum(found.low - accuracy, accuracy - found.high)
    return max(0.0, float(np.quantile(outside, INTERVAL[1] - INTERVAL[0])))
