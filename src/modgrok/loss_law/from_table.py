"""The test accuracy to expect from part of a table, without any training: what the trainings most like it reached.

A census has trained thousands of networks, at the settings that `train` has by default, on tables from sums to noise.
Each is a point: how large its table is and how much of it was trained on, how complex it is, how far equal rows and
columns give it away, how many values it takes, whether it is in the class. A new table is asked what the points nearest
to it reached: their median is the accuracy to expect, and the interval between two of their quantiles, widened until
nine in ten held-out tables fall into theirs, says how sure that is. Where even the nearest points are far, there is no
answer. `censuses.neighbourhood` chooses the scales of the coordinates and measures the errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from modgrok.files import read_columns
from modgrok.loss_law.calibration import TableLaw, calibration
from modgrok.loss_law.expectation import INTERVAL, Expectation, not_covered
from modgrok.results import percent
from modgrok.separable.complexity import effective_rank
from modgrok.separable.symmetries import symmetries

COORDINATES = ("size", "evidence", "complexity", "characters", "redundancy", "variety", "in_class")


class TableFacts(NamedTuple):
    """What the coordinates are made of; numbers for one table, or columns for the rows of a census."""

    modulus: Any
    fraction: Any
    in_class: Any
    effective_rank: Any
    characters: Any
    redundancy: Any
    entropy: Any
    """Of the values over all cells, in bits."""


def coordinates(facts: TableFacts) -> Float[np.ndarray, "*row coordinate"]:
    """The place of a training among all others, before scaling: see `COORDINATES`.

    `evidence` is the logarithm of the trained cells that there are for each row and column; tables in the class count as
    having no complexity, whatever their effective rank.
    """
    modulus, fraction, in_class, rank, characters, redundancy, entropy = (np.asarray(x, float) for x in facts)
    columns = (
        np.log2(modulus),
        np.log2(fraction * modulus / 2),
        np.where(in_class > 0, 0.0, np.sqrt(rank)),
        np.log2(np.maximum(characters * modulus, 1.0)) / np.log2(modulus),
        redundancy,
        entropy / np.log2(modulus),
        in_class,
    )
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


@dataclass(frozen=True)
class Trainings:
    """The points: scaled coordinates of every training of the calibration, and the test accuracy that it reached."""

    points: Float[np.ndarray, "row coordinate"]
    accuracy: Float[np.ndarray, "row"]

    def nearest(
        self, place: Float[np.ndarray, "coordinate"], count: int
    ) -> tuple[Float[np.ndarray, "count"], Float[np.ndarray, "count"]]:
        """Distances and accuracies of the points nearest to a place, the nearest first."""
        distance = np.sqrt(np.square(self.points - place).sum(axis=1))
        found = np.argpartition(distance, count - 1)[:count]
        found = found[np.argsort(distance[found], kind="stable")]
        return distance[found], self.accuracy[found]


@lru_cache(maxsize=1)
def trainings() -> Trainings:
    """The trainings of the calibration that ships."""
    with as_file(files("modgrok.loss_law") / "trainings.parquet") as path:
        stored = read_columns(path, "modgrok census fit")
    facts = TableFacts(*(stored[name] for name in TableFacts._fields))
    return Trainings(coordinates(facts) * np.array(calibration().from_table.scales), stored["test_accuracy"].astype(float))


def expected_from_table(
    table: Int[np.ndarray, "p ..."], modulus: int | None, *, fraction: float, in_class: bool, redundancy: float
) -> Expectation:
    """The test accuracy to expect of a network that trains on `fraction` of the table at the default settings."""
    law = calibration().from_table
    table = np.asarray(table)
    if reason := why_no_table(table, modulus, fraction, law):
        return not_covered(reason, "table")
    assert modulus is not None
    counts = np.bincount(table.ravel())
    shares = counts[counts > 0] / table.size
    rank = 0.0 if in_class else effective_rank(table)
    found = TableFacts(
        modulus, fraction, in_class, rank, symmetries(table, modulus).characters, redundancy, entropy(shares)
    )
    return expected_at(coordinates(found) * np.array(law.scales), law, trainings(), guess=float(shares.max()))


def expected_at(place: Float[np.ndarray, "coordinate"], law: TableLaw, known: Trainings, *, guess: float) -> Expectation:
    """What the nearest trainings reached; never less than guessing the commonest value gives."""
    distance, accuracy = known.nearest(place, law.neighbours)
    if distance[-1] > law.reach:
        return not_covered(
            f"no {law.neighbours} trainings of the census are like this one: the nearest are {distance[-1]:.1f} away in its "
            f"coordinates, and {law.reach:.1f} is the limit",
            "table",
        )
    value = float(np.median(accuracy))
    low, high = np.quantile(accuracy, INTERVAL) + np.array([-law.widened, law.widened])
    value, low, high = (float(np.clip(x, guess, 1)) for x in (value, low, high))
    reason = (
        f"of the {law.neighbours} trainings most like this one, out of {len(known.accuracy):,}, half reached "
        f"{percent(value, 0)} of the cells they had not seen"
    )
    return Expectation(value, low, high, reason, "table")


def entropy(shares: Float[np.ndarray, "value"]) -> float:
    return float(-(shares * np.log2(shares)).sum())


def why_no_table(table: Int[np.ndarray, "p ..."], modulus: int | None, fraction: float, law: TableLaw) -> str:
    """What puts a table outside the calibration, after what that covers; empty if nothing does."""
    (low, high), (first, last) = law.modulus, law.fraction
    if table.ndim > 2:
        this = f"this one has {table.ndim} variables"
    elif modulus is None:
        this = f"this table has {table.shape[0]} rows, {table.shape[1]} columns and other numbers of values"
    elif (table < 0).any():
        this = "cells of this one are unknown"
    elif not low <= modulus <= high:
        this = f"here the modulus is {modulus}"
    elif not first <= fraction <= last:
        this = f"here the share is {fraction:g}"
    else:
        return ""
    return (
        f"expectations were measured for functions of two variables modulo {low} to {high} that train on a share from "
        f"{first:g} to {last:g} of the table; {this}"
    )
