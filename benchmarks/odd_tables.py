"""How long does `classify` take on odd tables? python benchmarks/odd_tables.py

200 tables of every shape that people send by mistake or on purpose: n × 2 and n × 3 and their transposes, up to 1009
lines, one row, three cells in ten unknown, few values and many, sums, products, planted functions and noise, and some
larger rectangles. The effort is the default; `limit` is what the help of `classify` says of it, in seconds of one core.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from writing import write_found

from modgrok.answers.classifying import classify
from modgrok.base.errors import InputError

COUNT, LIMIT = 200, 10.0
LENGTHS = (10, 60, 200, 841, 1009)


def odd_tables(count: int = COUNT, lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> Iterator[np.ndarray]:
    """So many tables, none like another."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        length, width = lengths[number % len(lengths)], (3, 2, 3, 1, 3, 2, 3)[number % 7]
        shape = (length, width) if number % 2 else (width, length)
        if number % 13 == 0:
            shape = (min(length, 60) + 2, min(length, 60) + 9)
        table = TABLES[number % 5](*shape, rng) % (shape[0] * shape[1])  # more values than cells are refused
        yield np.where(rng.random(shape) < 0.3, -1, table) if number % 3 == 0 else table


def planted(rows: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """h(g1 + g2) over Z_53."""
    places = rng.integers(0, 53, rows)[:, None] + rng.integers(0, 53, columns)
    return np.asarray(rng.integers(0, 17, 53)[places % 53])


TABLES = (
    lambda rows, columns, rng: rng.integers(0, 29, (rows, columns)),
    planted,
    lambda rows, columns, rng: np.add.outer(np.arange(rows), np.arange(columns)),
    lambda rows, columns, rng: np.multiply.outer(np.arange(rows), np.arange(columns)) % 31,
    lambda rows, columns, rng: rng.integers(0, 3, (rows, columns)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/odd-tables.json"))
    args = parser.parse_args()
    classify(np.array([[0, 1], [1, 0]]))  # what the package reads once
    rows = []
    for table in odd_tables():
        began = time.process_time()
        try:
            verdict = str(classify(table).verdict)
        except InputError as error:
            verdict = f"refused: {error}"
        shape, unknown = " × ".join(map(str, table.shape)), int((table < 0).sum())
        rows.append({"shape": shape, "unknown": unknown, "verdict": verdict, "seconds": time.process_time() - began})
    worst = max(rows, key=lambda row: row["seconds"])
    verdicts = Counter(row["verdict"].split(":")[0] for row in rows)
    found = {"tables": len(rows), "verdicts": dict(verdicts), "limit": LIMIT, "worst": worst}
    found |= {"above_limit": sum(row["seconds"] > LIMIT for row in rows)}
    print(found)
    write_found(__file__, args.json, found | {"rows": rows}, args)


if __name__ == "__main__":
    main()
