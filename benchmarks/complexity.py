"""The complexity of tables: groups beside their closed form, and bounds of 21 tables: python benchmarks/complexity.py

Writes benchmarks/results/complexity.json after every table, and goes on where it was stopped. `--groups`, `--others`
(groups that the rule for λ = 0 was not looked at with) and `--tables` do one of the three alone. `--random` writes the
complexity of a random table of each side to where the package has it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from writing import sittings_in, write_found

from modgrok.algebra.groups import group
from modgrok.answers.complexity import LARGEST, estimated_random, group_ratio
from modgrok.base.files import read_json, write_json
from modgrok.censuses.kinds import group_names
from modgrok.separable.measures.nuclear import OneHot, estimate
from modgrok.separable.measures.nuclear_bounds import lower_bound, upper_bound

RESULTS = Path(__file__).parent / "results" / "complexity.json"
RANDOM = Path(__file__).parents[1] / "src" / "modgrok" / "answers" / "random_tables.json"
ORDERS = (8, 12, 16, 18, 20, 21, 24, 27, 30, 32, 36, 40, 42, 48, 60)
GROUPS = 60
OTHER_ORDERS = (10, 14, 22, 26, 28, 34, 38, 39, 44, 46, 50, 52, 54, 55, 56, 57, 58, 60, 62, 63, 64)
SIDE = 59


def groups() -> dict[str, np.ndarray]:
    """Groups of several orders, those that are not abelian first, until there are enough."""
    found = {name: group(name).table for order in ORDERS for name in group_names(order)}
    return dict(sorted(found.items(), key=lambda item: (is_abelian(item[1]), len(item[1])))[:GROUPS])


def others() -> dict[str, np.ndarray]:
    """All groups with a name that are not abelian, of other orders, with rows, columns and values relabelled."""
    rng, found = np.random.default_rng(0), {}
    for name in (name for order in OTHER_ORDERS for name in group_names(order)):
        table = group(name).table
        rows, columns, values = (rng.permutation(len(table)) for _ in range(3))
        if not is_abelian(table) and name not in groups():
            found[name] = values[table[np.ix_(rows, columns)]]
    return found


def is_abelian(table: np.ndarray) -> bool:
    return bool((table == table.T).all())


def tables(n: int) -> dict[str, np.ndarray]:
    """Tables of every kind, from the simplest to noise."""
    a, b = np.indices((n, n))
    rng = np.random.default_rng(0)
    g1, g2, h = (rng.integers(0, n, n) for _ in range(3))
    noise, where = rng.integers(0, n, (n, n)), rng.random((n, n))
    return {
        "gcd": np.gcd(a, b),
        "xor": (a ^ b) % n,
        "max": np.maximum(a, b),
        "h(g1 + g2), random maps": h[(g1[:, None] + g2) % n],
        "product": a * b % n,
        "a ± b by the parity of a": np.where(a % 2, a + b, a - b) % n,
        "sum": (a + b) % n,
        "sum, 3 % damaged": np.where(where < 0.03, noise, (a + b) % n),
        "floor(a b / n)": a * b // n,
        "min(a + b, a + 2b)": np.minimum((a + b) % n, (a + 2 * b) % n),
        "sum, 10 % damaged": np.where(where < 0.1, noise, (a + b) % n),
        "a + b if a < b else a b": np.where(a < b, a + b, a * b) % n,
        "sum, 30 % damaged": np.where(where < 0.3, noise, (a + b) % n),
        "x^2 y + y^2": (a * a * b + b * b) % n,
        "x^2 + x y + y^2": (a * a + a * b + b * b) % n,
        "x^5 y + 7 x^2 y^3": (a**5 % n * b + 7 * a * a % n * b**3) % n,
        "x^3 + x y": (a**3 + a * b) % n,
        "x^3 + x y^2 + y": (a**3 + a * b * b + b) % n,
        "|a - b|": np.abs(a - b),
        "constant": np.zeros_like(a),
        "random": noise,
    }


def row(table: np.ndarray, n: int) -> dict[str, Any]:
    started = time.perf_counter()
    tensor = OneHot(table, n)
    found = estimate(tensor)
    took = time.perf_counter() - started
    scale = tensor.scale
    return {
        "n": n,
        "closed_form": group_ratio(table, n),
        "estimate": found.value / scale,
        "shrunk": found.shrunk / scale,
        "lower": lower_bound(tensor, found) / scale,
        "lower_estimate": found.below / scale,
        "upper": upper_bound(tensor, found) / scale,
        "seconds_of_the_estimate": took,
    }


PARTS = {"groups": groups, "others": others, "tables": lambda: tables(SIDE)}


def write_random() -> None:
    """The complexity of a random table of each side, to where `mg.complexity` reads it."""
    ratios = {str(n): round(estimated_random(n, n, n), 4) for n in range(2, LARGEST + 1)}
    write_json(RANDOM, {"made_by": "python benchmarks/complexity.py --random", "ratios": ratios})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help=f"{part} alone")
    parser.add_argument("--random", action="store_true", help="random tables of all sides, for the package")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    if args.random:
        write_random()
        return
    stored, earlier = read_json(args.out) if args.out.exists() else {}, sittings_in(args.out)
    done: dict[str, Any] = {part: stored.get(part, {}) for part in PARTS}
    asked = [part for part in PARTS if getattr(args, part)] or list(PARTS)
    for part, name, table in ((each, *item) for each in asked for item in PARTS[each]().items()):
        if name in done[part]:
            continue
        done[part][name] = found = row(np.asarray(table), len(table))
        shown = {key: f"{value:.4f}" for key, value in found.items() if isinstance(value, float)}
        print(f"{name:28}", shown, flush=True)
        write_json(args.out, done)
    write_found(__file__, args.out, done, args, earlier=earlier)


if __name__ == "__main__":
    main()
