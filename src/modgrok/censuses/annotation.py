"""What is known of the tables of a census before any training: verdicts, redundancy and the measures of complexity.

Training takes a GPU and this does not, so it is a step of its own: it adds columns to every row and writes all rows to
census.parquet. Rows that have them already keep them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import pyarrow as pa

from modgrok.base.locks import locked
from modgrok.base.progress import Progress
from modgrok.base.results import Result, field_values
from modgrok.censuses import store
from modgrok.censuses.families import make_table
from modgrok.censuses.store import ANNOTATIONS, HINTS, Facts
from modgrok.separable import classify_table, redundancy
from modgrok.separable.measures.complexity import (
    effective_rank,
    entropy,
    orbit_redundancy,
    permuted_redundancy,
    unfolding_norm,
)
from modgrok.separable.measures.symmetries import symmetries

EFFORT = 0.25
"""How hard the verdict on one table is tried; counting and algebra decide most of them in milliseconds."""


@dataclass(frozen=True, repr=False)
class Annotated(Result):
    """A census whose rows all have their annotations, and how many of them had none before."""

    folder: Path
    files: tuple[Path, ...]
    rows_total: int
    rows_annotated: int
    seconds: float

    def summary(self) -> str:
        return f"{self.rows_annotated:,} of {self.rows_total:,} rows of {self.folder} were annotated now"


def annotate(folder: str | Path, *, progress: Progress | None = None) -> Annotated:
    """Add verdict, redundancy and complexities to every row of a census that lacks them.

    Arguments:
        folder: the folder of the census.
        progress: called with the rows that are done, and with those that lacked annotations.

    Returns:
        An `Annotated`: how many rows there are, and how many were annotated now.
    """
    folder = Path(folder)
    store.load_stored_plan(folder)
    with locked(folder):
        return annotate_missing(folder, progress=progress)


def annotate_missing(folder: Path, *, progress: Progress | None = None) -> Annotated:
    """`annotate` in a folder that is this process's."""
    started = time.perf_counter()
    rows = store.read_rows(folder)
    columns: dict[str, list[Any]] = {
        field.name: rows[field.name].to_pylist() if field.name in rows.column_names else [None] * len(rows)
        for field in ANNOTATIONS
    }
    missing = [k for k, known in enumerate(zip(*(columns[name] for name in ALWAYS), strict=True)) if None in known]
    keys = rows.select(["modulus", "family", "table_seed", "fraction"]).to_pylist()
    missing.sort(key=lambda k: tuple(keys[k].values()))
    for done, k in enumerate(missing):
        for name, value in field_values(facts(**keys[k])).items():
            columns[name][k] = value
        if progress is not None:
            progress(done + 1, len(missing))
    for field in ANNOTATIONS:
        if field.name in rows.column_names:
            rows = rows.drop_columns(field.name)
        rows = rows.append_column(field, pa.array(columns[field.name], field.type))
    store.stored(folder).gather(rows)
    return Annotated(folder, (folder / store.WHOLE,), len(rows), len(missing), time.perf_counter() - started)


ALWAYS = tuple(name for name, kind in HINTS if NoneType not in get_args(kind))
"""What every annotated row has; a row without one of them, of an earlier version say, is annotated again."""


@lru_cache(maxsize=8)
def facts(family: str, table_seed: int, modulus: int, fraction: float) -> Facts:
    """What is known of a table of a family, for a training fraction."""
    known = table_facts(family, table_seed, modulus)
    if fraction == 1:
        return known
    values = make_table(family, modulus, table_seed).values
    return replace(
        known,
        redundancy=redundancy(values, fraction),
        permuted_redundancy=permuted_redundancy(values, fraction),
        orbit_redundancy=orbit_redundancy(values, fraction),
    )


@lru_cache(maxsize=8)
def table_facts(family: str, table_seed: int, modulus: int) -> Facts:
    """What does not depend on the training fraction."""
    values = make_table(family, modulus, table_seed).values
    found = classify_table(values, modulus, effort=EFFORT)
    symmetric = symmetries(values, modulus)
    return Facts(
        verdict=found.status,
        verdict_family=found.family,
        redundancy=None,
        permuted_redundancy=None,
        orbit_redundancy=None,
        effective_rank=effective_rank(values),
        unfolding_norm=unfolding_norm(values),
        shifts=symmetric.shifts,
        scalings=symmetric.scalings,
        characters=symmetric.characters,
        entropy=entropy(values),
    )
