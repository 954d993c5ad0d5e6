"""How fast the explorer is once it is warm: verdicts and compilations modulo 97 and 113, and updates of a training.

    python benchmarks/explorer_speed.py [--out benchmarks/results/explorer-speed.json]

starts `modgrok explore` and asks for functions that it was not asked for before: random sums of two and of three
monomials, random tables, functions in the class, and networks of some of them. For each kind and modulus it reports
the median, the ninth decile and the worst, of the milliseconds that an answer took and of those that the process which
computes it was at work. The first few answers of each kind, which import and compile, are not counted. Then it trains
n1 n2 mod 97 at the default settings for a while, and counts what a page is told of it in every second.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from explorer_client import Explorer
from writing import write_found

from modgrok.base.results import json_text

MODULI = (97, 113)
TRAINED = {"expression": "n1 n2", "mod": 97}
WARM = 3
"""Answers of each kind and modulus that are not counted."""

Asked = tuple[str, dict[str, Any]]
"""An address and its query."""


def monomials(count: int, mod: int, rng: random.Random) -> str:
    return " + ".join(f"{rng.randrange(1, mod)}x^{rng.randrange(1, 13)} y^{rng.randrange(1, 13)}" for _ in range(count))


def in_disguise(mod: int, rng: random.Random) -> str:
    """h(g1 + g2) or h(g1 g2), with powers for g1, g2 and h."""
    a, b, c, d = (rng.randrange(1, 7) for _ in range(4))
    s, t, u = (rng.randrange(1, mod) for _ in range(3))
    inner = rng.choice((f"{s}x^{a} + {t}y^{b}", f"{s}x^{a} y^{b}"))
    return f"({inner})^{c} + {u}" if d % 2 else f"({inner} + {u})^{c}"


def random_table(explorer: Explorer, mod: int, rng: random.Random) -> dict[str, Any]:
    """A table of noise that was sent to the explorer."""
    text = "\n".join(",".join(str(rng.randrange(mod)) for _ in range(mod)) for _ in range(mod))
    status, sent = explorer.post("/api/tables?name=noise.csv", text.encode())
    assert status == 200, sent
    return {"table": sent["table"], "mod": mod}


def questions(explorer: Explorer, mod: int, rng: random.Random) -> dict[str, Callable[[], Asked]]:
    """A new question of each kind."""

    def verdict(expression: str, **only: str) -> Asked:
        return "/api/verdict", {"expression": expression, "mod": mod, "fraction": 0.5, **(only or {"only": "verdict"})}

    def network(expression: str, **settings: str) -> Asked:
        return "/api/network", {"expression": expression, "mod": mod, **settings}

    return {
        "verdict, two monomials": lambda: verdict(monomials(2, mod, rng)),
        "verdict, three monomials": lambda: verdict(monomials(3, mod, rng)),
        "verdict, random table": lambda: ("/api/verdict", random_table(explorer, mod, rng) | {"only": "verdict"}),
        "verdict, in the class": lambda: verdict(in_disguise(mod, rng)),
        "verdict and what networks learn, two monomials": lambda: verdict(monomials(2, mod, rng), only="no"),
        "exact network, two monomials": lambda: network(monomials(2, mod, rng), frequencies="all"),
        "exact network, three monomials": lambda: network(monomials(3, mod, rng), frequencies="all"),
        "minimal network, two monomials": lambda: network(monomials(2, mod, rng), frequencies="minimal"),
        "paper's network, two monomials": lambda: network(monomials(2, mod, rng), method="paper"),
    }


def answered(explorer: Explorer, asked: Callable[[], Asked]) -> Iterator[tuple[float, float]]:
    """Milliseconds of each answer: those that passed, and those that the process which computes was at work."""
    computes = explorer.children()[0]
    while True:
        path, query = asked()
        began, worked = time.perf_counter(), work_of(computes)
        status, found = explorer.get(path, **query)
        assert status == 200, found
        yield 1000 * (time.perf_counter() - began), 1000 * (work_of(computes) - worked)


def work_of(pid: int) -> float:
    """Seconds of processor time that a process has used, by its own clock (Linux: MAKE_PROCESS_CPUCLOCK)."""
    return time.clock_gettime((~pid << 3) | 2)


def distribution(values: list[float]) -> dict[str, float]:
    return dict(zip(("median", "p90", "worst"), np.quantile(values, [0.5, 0.9, 1]).round(1).tolist(), strict=True))


def updates(explorer: Explorer, seconds: int) -> dict[str, Any]:
    """What a page is told in each whole second after the first update: accuracies and losses anew, a table, neurons."""
    events = explorer.events()
    next(events)  # the greeting: from here on nothing is missed
    status, begun = explorer.post("/api/trainings", TRAINED)
    assert status == 202, begun
    first, counts, steps = None, np.zeros(seconds, int), [0]
    for name, data, _ in events:
        if name == "end":
            break
        if name != "point":
            continue
        first = first or time.perf_counter()
        second = int(time.perf_counter() - first)
        if second >= seconds:
            break
        counts[second] += 1
        steps.append(data["step"])
    explorer.post("/api/trainings/stop", {"run": begun["run"]})
    told = counts[:second]
    return {
        **TRAINED,
        "seconds": len(told),
        "steps": steps[-1],
        "updates_per_second": {"mean": told.mean().round(1), "median": np.median(told), "least": told.min()},
    }


def measured(explorer: Explorer, count: int, seed: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)
    for path in ("/api/network", "/api/run", "/api/settings"):  # else a process imports what they need when it has time
        explorer.get(path, expression="n1 n2", mod=7)
    for mod in MODULI:
        for kind, asked in questions(explorer, mod, rng).items():
            passed, worked = zip(*islice(answered(explorer, asked), WARM, WARM + count), strict=True)
            row = {"modulus": mod, "kind": kind, "answers": count}
            yield row | {"milliseconds": distribution(passed), "cpu_milliseconds": distribution(worked)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="answers of each kind")
    parser.add_argument("--seconds", type=int, default=20, help="how long to watch a training")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    load, rows = os.getloadavg()[0], []
    with TemporaryDirectory() as folder, Explorer(folder) as explorer:
        for row in measured(explorer, args.count, args.seed):
            rows.append(row)
            print(f"p = {row['modulus']:3d}  {row['kind']:30s} {row['milliseconds']}  CPU {row['cpu_milliseconds']}")
        training = updates(explorer, args.seconds)
    print(json_text(training))
    if args.out:
        about = {"cores": os.cpu_count(), "load_average_before": load, "seed": args.seed}
        found = about | {"answers": rows, "training": training}
        write_found(__file__, args.out, found, args)


if __name__ == "__main__":
    main()
