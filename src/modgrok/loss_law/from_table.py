"""The test accuracy to expect from part of a table, without any training: what the trainings most like it reached.

A census has trained a hundred thousand networks, most at the settings that `train` has by default, on tables from sums
to noise. Each is a point: how large its table is and how much of it was trained on, how complex it is, how far equal
rows and columns and symmetries give it away, how many values it takes, whether it is in the class. A new table is asked
what the points nearest to it reached: their median is the accuracy to expect, and the interval between two of their
quantiles, widened until nine in ten held-out tables fall into theirs, says how sure that is. Where even the nearest
points are far, there is no answer. `censuses.neighbourhood` chooses the scales of the coordinates and measures errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from modgrok.base.files import read_json
from modgrok.base.results import percent
from modgrok.base.stores import read_columns
from modgrok.loss_law.expectation import INTERVAL, Expectation, not_covered
from modgrok.separable.classification import Classification, dependent_axes
from modgrok.separable.measures.complexity import effective_rank, entropy, orbit_redundancy, permuted_redundancy

if TYPE_CHECKING:
    import pyarrow as pa

COORDINATES = (
    "size",
    "evidence",
    "complexity",
    "characters",
    "redundancy",
    "permuted_redundancy",
    "orbit_redundancy",
    "variety",
    "in_class",
)
LAW, POINTS = "table_law.json", "trainings.parquet"
"""What `modgrok census neighbours` writes, and the package ships."""


class TableFacts(NamedTuple):
    """What the coordinates are made of; numbers for one table, or columns for the rows of a census."""

    modulus: ArrayLike | None
    fraction: ArrayLike
    in_class: ArrayLike
    effective_rank: ArrayLike
    characters: ArrayLike | None
    redundancy: ArrayLike
    permuted_redundancy: ArrayLike
    orbit_redundancy: ArrayLike
    entropy: ArrayLike


def coordinates(facts: TableFacts) -> Float[np.ndarray, "*row coordinate"]:
    """The place of a training among all others, before scaling, in the order of `COORDINATES`.

    `evidence` is the logarithm of how many trained cells there are for each row and column; a table in the class has
    no complexity, whatever its effective rank; `characters` and `variety` are logarithms to base p, of how many
    frequencies the table needs for each row, and of how many values it effectively takes.
    """
    modulus, fraction, in_class, rank, characters, *redundancies, bits = (np.asarray(x, float) for x in facts)
    digits = np.log2(modulus)
    columns = (
        digits,
        np.log2(fraction * modulus / 2),
        np.where(in_class > 0, 0.0, np.sqrt(rank)),
        np.log2(np.maximum(characters * modulus, 1.0)) / digits,
        *redundancies,
        bits / digits,
        in_class,
    )
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


@dataclass(frozen=True)
class TableLaw:
    """How expectations are read off the trainings.

    `scales` of the coordinates; `neighbours`, how many points are asked; `widened`, by how much their quantiles are;
    `reach`, the largest distance of a neighbour. `error_held_out` are mean absolute errors on tables, families and
    moduli that were held out, and `coverage` the shares of them that fell into their intervals.
    """

    made_by: str
    networks: int
    modulus_range: tuple[int, int]
    fraction_range: tuple[float, float]
    neighbours: int
    scales: tuple[float, ...]
    widened: float
    reach: float
    error_held_out: Mapping[str, float]
    coverage: Mapping[str, float]


@dataclass(frozen=True)
class Trainings:
    """The points: scaled coordinates of every training, and the test accuracy that it reached."""

    law: TableLaw
    points: Float[np.ndarray, "row coordinate"]
    accuracy: Float[np.ndarray, "row"]

    def nearest(
        self, place: Float[np.ndarray, "coordinate"]
    ) -> tuple[Float[np.ndarray, "neighbour"], Float[np.ndarray, "neighbour"]]:
        """Distances and accuracies of the points nearest to a place, the nearest first."""
        squares = np.square(self.points - place * np.array(self.law.scales)).sum(axis=1)
        found = np.argpartition(squares, self.law.neighbours - 1)[: self.law.neighbours]
        found = found[np.argsort(squares[found], kind="stable")]
        return np.sqrt(squares[found]), self.accuracy[found]


@lru_cache(maxsize=1)
def trainings() -> Trainings:
    """The trainings that the package ships."""
    folder = files("modgrok.loss_law")
    with as_file(folder / LAW) as path:
        law = table_law(read_json(path))
    with as_file(folder / POINTS) as path:
        columns = point_columns()
        stored = read_columns(path, columns, f"`{law.made_by}` makes it", filled=columns.names)
    facts = TableFacts(*(stored[name] for name in TableFacts._fields))
    return Trainings(law, coordinates(facts) * np.array(law.scales), stored["test_accuracy"].astype(float))


def point_columns() -> pa.Schema:
    import pyarrow as pa

    numbers = dict.fromkeys((*TableFacts._fields, "test_accuracy"), pa.float32())
    return pa.schema(numbers | {"modulus": pa.int16(), "in_class": pa.bool_()})


def table_law(stored: Mapping[str, Any]) -> TableLaw:
    pairs = {name: tuple(stored[name]) for name in ("modulus_range", "fraction_range", "scales")}
    return TableLaw(**{**stored, **pairs})


def expected_from_table(
    table: Int[np.ndarray, "p ..."],
    modulus: int | None,
    *,
    fraction: float,
    found: Classification,
    characters: float | None,
) -> Expectation:
    """The test accuracy to expect of a network that trains on `fraction` of the table at the default settings."""
    known = trainings()
    if reason := why_no_table(table, modulus, fraction, known.law):
        return not_covered(reason, "table")
    in_class = found.witness is not None and found.witness.cyclic  # the census asked for cyclic groups alone
    facts = TableFacts(
        modulus=modulus,
        fraction=fraction,
        in_class=in_class,
        effective_rank=0.0 if in_class else effective_rank(table),
        characters=characters,
        redundancy=found.redundancy,
        permuted_redundancy=permuted_redundancy(table, fraction),
        orbit_redundancy=orbit_redundancy(table, fraction),
        entropy=entropy(table),
    )
    guess = float(np.bincount(table.ravel()).max() / table.size)
    return expected_at(coordinates(facts), known, guess)


def expected_at(place: Float[np.ndarray, "coordinate"], known: Trainings, guess: float) -> Expectation:
    """What the nearest trainings reached. Less than always guessing the commonest value is not to be expected, though
    single networks get there, so the interval may begin below it."""
    distance, accuracy = known.nearest(place)
    if distance[-1] > known.law.reach:
        return not_covered(
            f"no trainings of the census are enough like this one (the nearest {known.law.neighbours} are up to "
            f"{distance[-1]:.1f} away, and {known.law.reach:.1f} is the limit)",
            "table",
        )
    low, median, high = np.quantile(accuracy, (INTERVAL[0], 0.5, INTERVAL[1]))
    ends = (low - known.law.widened, median, high + known.law.widened)
    low, value, high = (float(np.clip(x, least, 1)) for x, least in zip(ends, (0, guess, guess), strict=True))
    reached = f"{percent(float(median), 0)} or more" if median < 1 else "all"
    reason = (
        f"of the {known.law.neighbours} trainings most like this one, among the census's {known.law.networks:,} at the "
        f"default settings, half reached {reached} of the cells that they had not seen"
    )
    if median < guess:
        reason += f", but the commonest value alone stands in {percent(guess, 0)}"
    return Expectation(value, low, high, reason, "table")


def why_no_table(table: Int[np.ndarray, "p ..."], modulus: int | None, fraction: float, law: TableLaw) -> str:
    """What puts a table outside the trainings, after what these cover; empty if nothing does."""
    (low, high), (first, last) = law.modulus_range, law.fraction_range
    dependent = dependent_axes(table)
    if table.ndim > 2:
        this = f"this one has {table.ndim} variables"
    elif (table < 0).any():
        this = "cells of this one are unknown"
    elif modulus is None:
        this = "here rows, columns and values differ in number"
    elif len(dependent) < 2:
        this = "this one depends on one variable" if dependent else "this one is constant"
    elif not low <= modulus <= high:
        this = f"here the modulus is {modulus}"
    elif not first <= fraction <= last:
        this = f"here the share is {fraction:g}"
    else:
        return ""
    return (
        f"that was measured for functions of two variables modulo {low} to {high} and shares from {first:g} to "
        f"{last:g} of the table; {this}"
    )
