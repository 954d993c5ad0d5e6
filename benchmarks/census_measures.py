"""What is known of the tables of the censuses without any training.

    python benchmarks/census_measures.py [--workers N] [--seconds S] [--large N]

Two files in benchmarks/census. `tables.parquet` has a row for each table of the censuses of kinds: its complexity r, in
closed form where it is a group in disguise, and the parts of the estimate. `completions.parquet` has a row for each
table and share of it: how far the table completes itself by a simple tensor (many at a time on a GPU, in processes on
processors) and by a vote (`separable.measures.completion`), and what a look gives away; of the large census these are
random trainings at the default width. A second call goes on, with rows and with numbers that rows lack; one with a
limit of seconds stops by itself.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from writing import BEGAN

from modgrok.base.provenance import merged, provenance
from modgrok.base.stores import made_of
from modgrok.experiments.row_store import write_rows

CENSUS = Path(__file__).parent / "census"
KINDS, LARGE = ("kinds", "other-kinds", "kinds-mlp", "kinds-transformer"), "large"
TABLES, COMPLETIONS = CENSUS / "tables.parquet", CENSUS / "completions.parquet"
TABLE = ("family", "modulus", "table_seed")
SHARE = (*TABLE, "fraction")
OF_TABLE = ("complexity", "exact", "estimated", "shrunk", "below", "symmetric")
OF_SHARE = ("completion", "vote", "redundancy", "permuted_redundancy", "guess", "entropy", "symmetric")
WIDTH = 500
"""Of the trainings of the large census that count here."""
TOGETHER = 512
"""Shares that are completed before the clock is looked at."""

Key = tuple[Any, ...]
Row = dict[str, Any]


def trained(census: str) -> list[Key]:
    """(family, modulus, table seed, share) of all trainings of a census that have test rows, each once."""
    path = CENSUS / census / "census.parquet"
    if not path.exists():
        return []
    rows = pq.read_table(path, columns=[*TABLE, "fraction", "width"]).to_pydict()
    every = set(zip(*(rows[name] for name in (*TABLE, "fraction", "width")), strict=True))
    return sorted(key[:4] for key in every if key[3] < 1 and (census != LARGE or key[4] == WIDTH))


def wanted(large: int) -> tuple[list[Key], list[Key]]:
    """The tables to measure and the shares to complete, in an order that begins with a sample of each modulus."""
    rng = np.random.default_rng(0)
    kinds = sorted({key for census in KINDS for key in trained(census)})
    others = trained(LARGE)
    chosen: list[Key] = []
    for modulus in sorted({key[1] for key in others}):
        own = [key for key in others if key[1] == modulus and key not in kinds]
        chosen += [own[k] for k in rng.permutation(len(own))[:large]]
    tables, shares = sorted({key[:3] for key in kinds}), [*chosen, *(kinds[k] for k in rng.permutation(len(kinds)))]
    return [tables[k] for k in rng.permutation(len(tables))], shares


def measured_table(row: Row, until: float) -> Row | None:
    """What is known of a table as a whole; None when time is over."""
    from modgrok.answers.complexity import group_ratio
    from modgrok.censuses.families import make_table
    from modgrok.separable.measures.nuclear import OneHot, estimate

    if time.time() > until:
        return None
    family, modulus, seed = (row[name] for name in TABLE)
    values = np.asarray(make_table(family, modulus, seed).values)
    tensor = OneHot(values, modulus)
    found = estimate(tensor)
    estimated, shrunk, below = (x / tensor.scale for x in (found.value, found.shrunk, found.below))
    closed = group_ratio(values, modulus)
    about = {"complexity": estimated if closed is None else closed, "exact": closed is not None, "estimated": estimated}
    symmetric = bool((values == values.T).all())
    return row | about | {"shrunk": shrunk, "below": below, "symmetric": symmetric}


def measured_share(row: Row, until: float) -> Row | None:
    """A share of a table with the numbers that it lacks; None when time is over."""
    from modgrok.censuses.families import make_table
    from modgrok.separable import redundancy
    from modgrok.separable.measures.completion import completion, vote
    from modgrok.separable.measures.complexity import entropy, permuted_redundancy

    if time.time() > until:
        return None
    family, modulus, seed, share = (row[name] for name in SHARE)
    values = np.asarray(make_table(family, modulus, seed).values)
    measures: dict[str, Callable[[], Any]] = {
        "completion": lambda: completion(values, modulus, share),
        "vote": lambda: vote(values, modulus, share),
        "redundancy": lambda: redundancy(values, share),
        "permuted_redundancy": lambda: permuted_redundancy(values, share),
        "guess": lambda: np.bincount(values.ravel()).max() / values.size,
        "entropy": lambda: entropy(values),
        "symmetric": lambda: (values == values.T).all(),
    }
    return row | {name: float(measures[name]()) for name in OF_SHARE if row.get(name) is None}


def completed_at_once(rows: list[Row], until: float) -> Iterator[Row]:
    """Shares with how far their tables complete themselves, many of one side together; those that time allows."""
    from batched_completion import completions

    from modgrok.censuses.families import make_table

    for modulus in sorted({row["modulus"] for row in rows}):
        every = [row for row in rows if row["modulus"] == modulus]
        for first in range(0, len(every), TOGETHER):
            if time.time() > until:
                return
            some = every[first : first + TOGETHER]
            tables = np.stack([np.asarray(make_table(*(row[name] for name in TABLE)).values) for row in some])
            found = completions(tables, np.array([row["fraction"] for row in some]))
            yield from (row | {"completion": float(completed)} for row, completed in zip(some, found, strict=True))
        print(f"{modulus}: {len(every)} shares", flush=True)


def go_on(
    path: Path,
    keys: list[Key],
    measure: Callable[[list[Row]], Iterable[Row | None]],
    names: tuple[str, ...],
    numbers: tuple[str, ...],
) -> int:
    """Measure what a file lacks, rows or numbers of them, and write it whole; how many rows it has then."""
    before = pq.read_table(path) if path.exists() else None
    rows = {} if before is None else {tuple(row[name] for name in names): row for row in before.to_pylist()}
    asked = [rows.get(key, dict(zip(names, key, strict=True))) for key in [*rows, *(k for k in keys if k not in rows)]]
    lacking = [row for row in asked if any(row.get(name) is None for name in numbers)]
    new = [row for row in measure(lacking) if row is not None]
    if new:
        made = merged(() if before is None else made_of(before), (provenance(BEGAN, {}, Path(__file__).resolve()),))
        rows |= {tuple(row[name] for name in names): row for row in new}
        write_rows(path, pa.Table.from_pylist([rows[key] for key in sorted(rows)]), made)
    return len(rows)


def alone() -> None:
    """One thread for each process, and no GPU."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=36_000.0)
    parser.add_argument("--large", type=int, default=40, help="trainings of each modulus of the large census")
    asked = parser.parse_args()
    until = time.time() + asked.seconds
    tables, shares = wanted(asked.large)

    def in_processes(measure: Callable[..., Row | None], rows: list[Row]) -> Iterator[Row | None]:
        with ProcessPoolExecutor(asked.workers, get_context("spawn"), initializer=alone) as pool:
            for number, row in enumerate(pool.map(partial(measure, until=until), rows, chunksize=4)):
                if number % 500 == 0:
                    print(f"{measure.__name__}: {number} of {len(rows)}", flush=True)
                yield row

    def of_shares(rows: list[Row]) -> Iterator[Row | None]:
        if on_gpu():
            without = [row for row in rows if row.get("completion") is None]
            rows = [row for row in rows if row not in without] + list(completed_at_once(without, until))
        return in_processes(measured_share, rows)

    found = go_on(TABLES, tables, partial(in_processes, measured_table), TABLE, OF_TABLE)
    print(found, "tables of", len(tables))
    print(go_on(COMPLETIONS, shares, of_shares, SHARE, OF_SHARE), "shares of", len(shares))


def on_gpu() -> bool:
    from modgrok.networks.models.base import on_cpu

    return not on_cpu()


if __name__ == "__main__":
    main()
