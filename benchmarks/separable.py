"""How long a verdict takes: python benchmarks/separable.py [--json FILE]

For each polynomial and prime, the time of `decide` for each family (best of three up to p = 113, once at p = 1009),
without building the value table. Summarised over each polynomial's own best family: the one that fits, or the
additive one where none does.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from writing import write_found

from modgrok.algebra.expression import parse
from modgrok.algebra.polynomial import value_table
from modgrok.separable import Verdict, decide

POLYNOMIALS = (
    "(4n1 + n2^2)^3",
    "(2n1 + 3n2)^4",
    "(5n1^3 + 2n2^4)^2",
    "n1 n2",
    "n1^2 + n2^2",
    "n1^2 n2^3",
    "n1 n2 + n1 + n2",
    "(4n1 + n2^2)^3 + n1 n2",
    "(2n1 + 3n2)^4 - n1^2",
    "(5n1^3 + 2n2^4)^2 - n2",
    "n1^2 + n1 n2 + n2^2",
)
PRIMES = (11, 23, 97, 113, 1009)
LARGE = 1000


def timed(table: np.ndarray, order: int, absorbing: bool, repeats: int) -> tuple[Verdict, float, float]:
    """The verdict, and the least wall and processor time of all repeats."""
    seconds = processor = float("inf")
    for _ in range(repeats):
        start, start_processor = time.perf_counter(), time.process_time()
        verdict = decide(table, order, absorbing)
        seconds = min(seconds, time.perf_counter() - start)
        processor = min(processor, time.process_time() - start_processor)
    return verdict, seconds, processor


def measure(text: str, p: int) -> list[dict[str, Any]]:
    table = value_table(parse(text), p, (1, 2))
    rows = []
    for family, order, absorbing in (("additive", p, False), ("multiplicative", p - 1, True)):
        verdict, seconds, processor = timed(table, order, absorbing, 1 if p > LARGE else 3)
        kind = verdict.obstruction.kind if verdict.obstruction else None
        rows.append(
            {"polynomial": text, "p": p, "family": family, "verdict": verdict.status, "kind": kind}
            | {"steps": verdict.steps, "seconds": seconds, "processor_seconds": processor}
        )
    best = next((row for row in rows if row["verdict"] == "in-class"), rows[0])
    return [row | {"best": row is best} for row in rows]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    seconds, processor = ([row[key] for row in rows] for key in ("seconds", "processor_seconds"))
    unknown = [f"{row['polynomial']} at {row['p']}, {row['family']}" for row in rows if row["verdict"] == "unknown"]
    return {
        "median_seconds": median(seconds),
        "worst_seconds": max(seconds),
        "median_processor_seconds": median(processor),
        "worst_processor_seconds": max(processor),
        "unknown": unknown,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/separable.json"))
    args = parser.parse_args()
    rows = []
    for p in PRIMES:
        for text in POLYNOMIALS:
            for row in measure(text, p):
                print(
                    f"{row['p']:5d}  {row['polynomial']:24s} {row['family']:15s} {row['verdict']:13s} "
                    f"{row['kind'] or '':15s} {1e3 * row['seconds']:9.2f} ms{' *' if row['best'] else ''}",
                    flush=True,
                )
                rows.append(row)
    small, large = ([row for row in rows if (row["p"] > LARGE) == big] for big in (False, True))
    result = {
        "command": "python benchmarks/separable.py",
        "load_average": os.getloadavg()[0],
        "machine": f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}",
        "best_family_up_to_113": summary([row for row in small if row["best"]]),
        "all_families_up_to_113": summary(small),
        "best_family_at_1009": summary([row for row in large if row["best"]]),
        "all_families_at_1009": summary(large),
        "rows": rows,
    }
    for name, value in result.items():
        if name != "rows":
            print(f"{name}: {value}")
    write_found(__file__, args.json, result, args)


if __name__ == "__main__":
    main()
