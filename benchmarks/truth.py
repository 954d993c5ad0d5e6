"""Is the decision ever wrong? Different tables of every family, against truth: python benchmarks/truth.py

  small    tables of a few lines: random, planted, and planted with one cell changed; brute force says what is true
  planted  tables of 7 to 23 lines that are of the form by construction, of the twelve kinds of `decision_tables`

The families: additive (over Z_m), multiplicative (Z_m with ∞), products (Z_a × Z_b, with and without ∞), partial (some
cells unknown), three (variables), orders (the smallest Z_m that fits). No table occurs twice, in whatever family. Every
witness and every proof goes through the checkers. Writes benchmarks/results/truth.json, and goes on from it where a
time limit ended an earlier run; nothing here needs JAX.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import count, islice, zip_longest
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from brute_force import group_table, in_class_by_force
from decision_tables import KINDS, places
from writing import sittings_in, write_found

from modgrok.base.files import read_json
from modgrok.separable import check_obstruction, check_witness, smallest_group
from modgrok.separable.reductions.grouping import decide_grouped, one_against_rest

Moduli = tuple[int, ...]
FAMILIES = ("additive", "multiplicative", "products", "partial", "three", "orders")
PRIMES = (7, 11, 13, 17, 19, 23)
SHARE_OF_PRIMES = (0.4, 0.25, 0.2, 0.08, 0.05, 0.02)
"""Larger tables take much longer, so there are fewer of them."""
TRIED = 5
"""Smallest groups: orders up to this one are tried by brute force; larger ones have their proofs checked."""
MOST_ORDERS = (14_400, 7_200)
"""Small and planted tables whose smallest group is asked for at most: each is many questions."""
EFFORT = 0.2
"""The effort for smallest groups, a question of many orders."""
PRODUCTS = ((2, 2), (2, 4), (3, 3), (2, 2, 2))


class Case(NamedTuple):
    """A table, what is asked about it, and whether it is of the form by construction (None: brute force says)."""

    family: str
    kind: str
    table: np.ndarray
    moduli: Moduli
    absorbing: bool
    member: bool | None


def small(family: str, rng: np.random.Generator) -> Case:
    """A table of a few lines, so small that everything can be tried."""
    kind = ("random", "planted", "one cell changed")[rng.integers(3)]
    if family == "products":
        moduli: Moduli = PRODUCTS[rng.integers(3)]
    else:
        moduli = (int(rng.integers(2, 6 if family == "three" else 7)),)
    order, absorbing = prod(moduli), family == "multiplicative" or (family != "additive" and bool(rng.integers(2)))
    most = 3 if family == "three" or order > 7 else 5 if order < 6 else 4
    shape = tuple(int(n) for n in rng.integers(2, most + 1, 3 if family == "three" else 2))
    table = rng.integers(0, int(rng.integers(2, 7)), shape)
    if kind != "random":
        table = form(
            [rng.integers(0, order + absorbing, n) for n in shape], moduli, absorbing, int(table.max()) + 1, rng
        )
    if kind == "one cell changed":
        table[tuple(rng.integers(shape))] = rng.integers(table.max() + 2)
    if family == "partial":
        table = np.where(rng.random(shape) < rng.uniform(0.05, 0.5), -1, table)
    return Case(family, kind, table, moduli, absorbing, None)


def large(family: str, rng: np.random.Generator) -> Case:
    """A table of the form, of one of the twelve kinds; in the family of three variables with fewer values of each."""
    p = int(rng.choice(PRIMES, p=SHARE_OF_PRIMES))
    place, fibres = KINDS[rng.integers(len(KINDS))]
    moduli: Moduli = PRODUCTS[rng.integers(len(PRODUCTS))] if family == "products" else (p,)
    order, absorbing = prod(moduli), family == "multiplicative" or (family != "additive" and bool(rng.integers(2)))
    lines = [p, p] if family != "three" else [min(p, 7), 5, 6]
    g = [places(place, order, p, rng)[:n] % order for n in lines]
    if absorbing:
        g = [np.where(rng.random(len(part)) < 0.1, order, part) for part in g]
    table = form(g, moduli, absorbing, int(rng.integers(2, 5)) if fibres == "few values" else p, rng)
    if family == "partial":
        table = np.where(rng.random(table.shape) < rng.uniform(0.05, 0.2), -1, table)
    return Case(family, f"{place}, {fibres}", table, moduli, absorbing, True)


def form(g: list[np.ndarray], moduli: Moduli, absorbing: bool, values: int, rng: np.random.Generator) -> np.ndarray:
    """h(g1 + g2 + …) for a random h."""
    sums = np.array(group_table(moduli, absorbing))
    place = g[0]
    for part in g[1:]:
        place = sums[place[..., None], part]
    return rng.integers(0, values, len(sums))[place]


def different(family: str, make: Any, wanted: int, seen: set[bytes]) -> Iterator[Case]:
    """So many tables of a family, none of which was `seen` before."""
    rng = np.random.default_rng([FAMILIES.index(family), make is large])
    for _ in count():
        case = make(family, rng)
        key = np.array([case.table.ndim, *case.table.shape, *case.table.ravel()], np.int8).tobytes()
        if key not in seen:
            seen.add(key)
            yield case
            wanted -= 1
        if not wanted:
            return


def compare(case: Case) -> Counter[str]:
    """The decision beside the truth, as counts."""
    found: Counter[str] = Counter(tables=1)
    if case.family == "orders":
        compare_orders(case, found)
        return found
    member = in_class_by_force(case.table, case.moduli, case.absorbing) if case.member is None else case.member
    group = case.moduli if len(case.moduli) > 1 else case.moduli[0]
    verdict = decide_grouped(case.table, group, case.absorbing)
    found["of the form"] += member
    found[f"unknown: {case.kind}" if verdict.status == "unknown" else verdict.status] += 1
    found["wrong"] += verdict.status == ("not-in-class" if member else "in-class")
    if verdict.witness is not None:
        found["witness refused"] += not check_witness(case.table, group, case.absorbing, verdict.witness)
    if verdict.obstruction is not None:
        table = case.table if case.table.ndim == 2 else one_against_rest(case.table, verdict.obstruction.axis or 0)
        found["proof refused"] += not check_obstruction(table, group, case.absorbing, verdict.obstruction)
    return found


def compare_orders(case: Case, found: Counter[str]) -> None:
    """The smallest cyclic group: for a small table brute force tries the orders below; a planted one fits its own."""
    orders = smallest_group(
        case.table, absorbing=case.absorbing, most=None if case.member is None else case.moduli[0], effort=EFFORT
    )
    found["unknown: " + case.kind] += bool(orders.undecided)
    found["orders refuted"] += len(orders.refuted)
    if orders.smallest is None or orders.witness is None:
        found["wrong"] += not orders.undecided
        return
    m = orders.smallest.order
    for verdict in orders.verdicts:
        if verdict.obstruction is not None:
            proven = check_obstruction(case.table, verdict.group_order, case.absorbing, verdict.obstruction)
            found["proof refused"] += not proven
    found["witness refused"] += not check_witness(case.table, m, case.absorbing, orders.witness)
    if case.member:
        found["wrong"] += m > case.moduli[0] and not orders.undecided
        found["wrong"] += any(group.order == case.moduli[0] for group in orders.refuted)
        return
    undecided = {group.order for group in orders.undecided}
    below = [k for k in range(1, min(m, TRIED + 1)) if k not in undecided]
    found["orders tried"] += len(below)
    found["wrong"] += any(in_class_by_force(case.table, k, case.absorbing) for k in below)


def block(cases: list[Case]) -> dict[tuple[str, str], Counter[str]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for case in cases:
        part = "small" if case.member is None else "planted"
        counts.setdefault((case.family, part), Counter()).update(compare(case))
    return counts


def blocks(cases: Iterator[Case], size: int = 100) -> Iterator[list[Case]]:
    while taken := list(islice(cases, size)):
        yield taken


def all_blocks(count_small: int, count_large: int) -> Iterator[list[Case]]:
    """The tables in blocks, a block of each family in turn."""
    seen: set[bytes] = set()
    sources = []
    for family in FAMILIES:
        most = MOST_ORDERS if family == "orders" else (count_small, count_large)
        sources.append(blocks(different(family, small, min(count_small, most[0]), seen)))
        sources.append(blocks(different(family, large, min(count_large, most[1]), seen)))
    for turn in zip_longest(*sources):
        yield from filter(None, turn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", type=int, default=24_000, help="small tables of each family")
    parser.add_argument("--planted", type=int, default=12_000, help="planted tables of each family")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), help="compare these alone")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--time-limit", type=float, help="seconds after which what is done is written")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/truth.json"))
    args = parser.parse_args()
    start, counts, begun, before = time.perf_counter(), {}, 0, 0
    earlier = sittings_in(args.json)
    if args.json.exists():
        stored = read_json(args.json)
        counts, begun, before = counts_of(stored["rows"]), stored["begun"], stored["seconds"]
    with ProcessPoolExecutor(args.processes) as pool:
        cases = enumerate(all_blocks(args.small, args.planted))
        wanted = [(k, each) for k, each in cases if k >= begun and each[0].family in args.families]
        running = [pool.submit(block, each) for _, each in wanted]
        limit = None if args.time_limit is None else args.time_limit - (time.perf_counter() - start)
        done = 0
        try:
            for future in as_completed(running, timeout=limit):
                done += 1
                for key, found in future.result().items():
                    counts.setdefault(key, Counter()).update(found)
                if done % 50 == 0:
                    print(f"{time.perf_counter() - start:.0f} s: {done} of {len(running)} blocks", flush=True)
        except TimeoutError:
            done += args.processes  # these were being worked on, and are left out
            workers = list(pool._processes.values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in workers:
                process.terminate()
    seconds = before + round(time.perf_counter() - start)
    begun = wanted[min(done, len(wanted)) - 1][0] + 1 if wanted and done else begun
    found = summary(counts, args.processes) | {"begun": begun, "seconds": seconds}
    write_found(__file__, args.json, found, args, earlier=earlier)


def counts_of(rows: list[dict[str, Any]]) -> dict[tuple[str, str], Counter[str]]:
    """The counts of an earlier run, to go on from."""
    return {
        (row["family"], row["part"]): Counter({name: n for name, n in row.items() if name not in ("family", "part")})
        for row in rows
    }


def summary(counts: dict[tuple[str, str], Counter[str]], processes: int) -> dict[str, Any]:
    rows = [
        {"family": family, "part": part} | {name: int(n) for name, n in sorted(found.items())}
        for (family, part), found in sorted(counts.items())
    ]
    names = ("tables", "wrong", "witness refused", "proof refused")
    total = {name: sum(row.get(name, 0) for row in rows) for name in names}
    total["unknown"] = sum(n for row in rows for name, n in row.items() if name.startswith("unknown"))
    for row in [*rows, total]:
        print(row, flush=True)
    machine = f"{platform.machine()}, {processes} processes, Python {platform.python_version()}"
    return {"machine": machine, "total": total, "rows": rows}


if __name__ == "__main__":
    main()
