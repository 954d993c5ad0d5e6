"""What is known of the tables of the censuses without any training.

    python benchmarks/census_measures.py [--workers N] [--seconds S] [--large N]

Two files in benchmarks/census. `tables.parquet` has a row for each table of the censuses of kinds: its complexity r, in
closed form where it is a group in disguise, and the parts of the estimate. `completions.parquet` has a row for each
table and share of it: how far the table completes itself (`separable.measures.completion`, many at a time, on a GPU if
there is one); of the large census these are random trainings at the default width. A second call goes on, and one with
a limit of seconds stops by itself.
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
    """The tables to measure and the shares to complete, in an order of which every beginning is a sample."""
    rng = np.random.default_rng(0)
    kinds = sorted({key for census in KINDS for key in trained(census)})
    others = trained(LARGE)
    chosen = [others[k] for k in rng.permutation(len(others))[:large]]
    tables = sorted({key[:3] for key in kinds})
    shares = [kinds[k] for k in rng.permutation(len(kinds))]
    return [tables[k] for k in rng.permutation(len(tables))], [*shares, *(key for key in chosen if key not in kinds)]


def measured_table(key: Key, until: float) -> Row | None:
    """What is known of a table as a whole; None when time is over."""
    from modgrok.answers.complexity import group_ratio
    from modgrok.censuses.families import make_table
    from modgrok.separable.measures.nuclear import OneHot, estimate

    if time.time() > until:
        return None
    family, modulus, seed = key
    values = np.asarray(make_table(family, modulus, seed).values)
    tensor = OneHot(values, modulus)
    found = estimate(tensor)
    estimated, shrunk, below = (x / tensor.scale for x in (found.value, found.shrunk, found.below))
    closed = group_ratio(values, modulus)
    about = {"complexity": estimated if closed is None else closed, "exact": closed is not None, "estimated": estimated}
    symmetric = bool((values == values.T).all())
    known = dict(zip(TABLE, key, strict=True))
    return known | about | {"shrunk": shrunk, "below": below, "symmetric": symmetric}


def measured_shares(keys: list[Key], until: float) -> Iterator[Row]:
    """How far tables complete themselves from shares of their cells, side by side; what time does not allow is left."""
    from batched_completion import completions

    from modgrok.censuses.families import make_table
    from modgrok.separable import redundancy
    from modgrok.separable.measures.complexity import permuted_redundancy

    for modulus in sorted({key[1] for key in keys}):
        every = [key for key in keys if key[1] == modulus]
        for first in range(0, len(every), TOGETHER):
            if time.time() > until:
                return
            some = every[first : first + TOGETHER]
            tables = np.stack([np.asarray(make_table(*key[:3]).values) for key in some])
            found = completions(tables, np.array([key[3] for key in some]))
            for key, values, completed in zip(some, tables, found, strict=True):
                yield dict(zip((*TABLE, "fraction"), key, strict=True)) | {
                    "completion": float(completed),
                    "redundancy": float(redundancy(values, key[3])),
                    "permuted_redundancy": float(permuted_redundancy(values, key[3])),
                    "guess": float(np.bincount(values.ravel()).max() / values.size),
                }
        print(f"{modulus}: {len(every)} shares", flush=True)


def go_on(
    path: Path, keys: list[Key], measure: Callable[[list[Key]], Iterable[Row | None]], names: tuple[str, ...]
) -> int:
    """Measure what a file lacks, and write it whole; how many rows it has then."""
    before = pq.read_table(path) if path.exists() else None
    rows = [] if before is None else before.to_pylist()
    done = {tuple(row[name] for name in names) for row in rows}
    new = [row for row in measure([key for key in keys if key not in done]) if row is not None]
    if new:
        made = merged(() if before is None else made_of(before), (provenance(BEGAN, {}, Path(__file__).resolve()),))
        rows = sorted(rows + new, key=lambda row: tuple(row[name] for name in names))
        write_rows(path, pa.Table.from_pylist(rows), made)
    return len(rows)


def alone() -> None:
    """One thread for each process, and no GPU."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=36_000.0)
    parser.add_argument("--large", type=int, default=20_000, help="trainings of the large census")
    asked = parser.parse_args()
    until = time.time() + asked.seconds
    tables, shares = wanted(asked.large)

    def in_processes(keys: list[Key]) -> Iterator[Row | None]:
        with ProcessPoolExecutor(asked.workers, get_context("spawn"), initializer=alone) as pool:
            yield from pool.map(partial(measured_table, until=until), keys, chunksize=2)

    print(go_on(TABLES, tables, in_processes, TABLE), "tables of", len(tables))
    found = go_on(COMPLETIONS, shares, partial(measured_shares, until=until), (*TABLE, "fraction"))
    print(found, "shares of", len(shares))


if __name__ == "__main__":
    main()
