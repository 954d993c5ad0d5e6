"""How complete and how fast the decision is: python benchmarks/decision.py [named grid planted] …

  named    functions that used to end in `unknown`, and large moduli: verdict and time
  grid     (n1^k + n2^l)^e and ((n1^k + a)(n2^l + b))^e with exponents up to 12, drawn with a fixed seed (1728: all)
  planted  functions of the form of twelve kinds: how many end in `unknown`; none may be refuted

Writes benchmarks/results/decision.json, where parts that were not run keep what they were. `--limit SECONDS` measures
older versions, whose limit was a time: here processor time, so that a busy machine does them no wrong.
"""

from __future__ import annotations

import argparse
import inspect
import os
import platform
import time
from collections import Counter
from itertools import product
from pathlib import Path
from statistics import mean, median
from types import SimpleNamespace
from typing import Any

import numpy as np
from decision_tables import FIBRES, GRID_PRIMES, KINDS, NAMED, PLACES, grid, planted
from writing import sittings_in, write_found

from modgrok.algebra.expression import parse
from modgrok.algebra.polynomial import value_table
from modgrok.base.files import read_json
from modgrok.separable import classify_table, decide
from modgrok.separable.procedures import search

PLANTED_PRIMES = (7, 11, 13, 17, 19, 23)


def times(seconds: list[float]) -> dict[str, float]:
    return {"median": round(median(seconds), 4), "mean": round(mean(seconds), 4), "worst": round(max(seconds), 3)}


def limits(function: Any, args: argparse.Namespace) -> dict[str, float]:
    """The limit in the words of the release that is measured."""
    known = inspect.signature(function).parameters
    if "effort" in known:
        return {"effort": args.effort}
    search.time = SimpleNamespace(monotonic=time.process_time)
    return {"time_limit": args.limit}


def named(args: argparse.Namespace) -> dict[str, Any]:
    rows = []
    for text, p in NAMED:
        table = value_table(parse(text), p)
        tree = {"tree": parse(text)} if "tree" in inspect.signature(classify_table).parameters else {}
        for hint in [{}, tree] if tree else [{}]:
            start, start_processor = time.perf_counter(), time.process_time()
            found = classify_table(table, p, **hint, **limits(classify_table, args))
            seconds, processor = time.perf_counter() - start, time.process_time() - start_processor
            source = "expression" if hint else "table"
            row = {"expression": text, "modulus": p, "from": source, "verdict": found.status, "family": found.family}
            rows.append(row | {"seconds": seconds, "processor_seconds": processor})
            print(
                f"{text:24s} mod {p:4d} {source:10s} {found.status:13s} {seconds:7.3f} s, processor {processor:7.3f} s",
                flush=True,
            )
    return {name: times([row[name] for row in rows]) for name in ("seconds", "processor_seconds")} | {"rows": rows}


def measured_grid(args: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for p in args.primes or GRID_PRIMES:
        statuses: Counter[str] = Counter()
        seconds, left = [], []
        for text, table in grid(p, args.count or 300):
            start = time.process_time()
            status = classify_table(table, p, **limits(classify_table, args)).status
            seconds.append(time.process_time() - start)
            statuses[status] += 1
            if status != "in-class":
                left.append(f"{text}: {status}")
        found[str(p)] = {"tables": len(seconds), **statuses, "not in class": left, "processor_seconds": times(seconds)}
        print(p, found[str(p)], flush=True)
    return found


def measured_planted(args: argparse.Namespace) -> dict[str, Any]:
    unknown: Counter[str] = Counter()
    by_prime: dict[str, Any] = {}
    wrong = 0
    for p in args.primes or PLANTED_PRIMES:
        seconds, before = [], unknown.total()
        for kind, seed in product(KINDS, range(args.count or 20)):
            table, order, absorbing = planted(kind, p, seed)
            start = time.process_time()
            verdict = decide(table, order, absorbing, **limits(decide, args))
            seconds.append(time.process_time() - start)
            unknown[", ".join(kind)] += verdict.status == "unknown"
            wrong += verdict.status == "not-in-class"
        by_prime[str(p)] = {"tables": len(seconds), "unknown": unknown.total() - before}
        by_prime[str(p)]["processor_seconds"] = times(seconds)
        print(p, by_prime[str(p)], flush=True)
    kinds = {", ".join(kind): unknown[", ".join(kind)] for kind in product(PLACES, FIBRES)}
    print("refuted:", wrong, kinds, flush=True)
    return {"refuted": wrong, "by_prime": by_prime, "unknown_by_kind": kinds, "limits": limits(decide, args)}


PARTS = {"named": named, "grid": measured_grid, "planted": measured_planted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=" ".join(PARTS))
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--count", type=int, help="tables of each kind")
    parser.add_argument("--primes", type=int, nargs="*")
    parser.add_argument("--name", default="", help="stores the parts under this name: 'before', for example")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/decision.json"))
    args = parser.parse_args()
    for part in args.parts:
        result = PARTS[part](args)
        stored, earlier = read_json(args.json) if args.json.exists() else {}, sittings_in(args.json)
        stored["machine"] = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
        stored[f"{part} {args.name}".strip()] = result | {"load_average": round(os.getloadavg()[0], 2)}
        write_found(__file__, args.json, stored, args, earlier=earlier)


if __name__ == "__main__":
    main()
