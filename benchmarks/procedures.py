"""Which procedure of the decision decides, and who would without it: python benchmarks/procedures.py

Tables: the verdicts of `same_results_cases`, functions of `decision_tables` (named, a sample of the grid, planted of
twelve kinds, and those that one procedure alone decides), and small random and planted ones of `truth`, whole, partly
unknown, over products and of three variables. First every question is asked as it is, and `decided_by` counted. Then,
for each procedure that can be left out, the questions that it decided are asked without it: how many keep their
verdict, and who decides instead. Others are not asked again: they never needed it, and only have more steps without
it. Writes benchmarks/results/procedures.json.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import truth
from decision_tables import GRID_PRIMES, KINDS, NAMED, alone, grid, planted
from same_results_cases import questions
from writing import write_found

from modgrok.algebra.function import read_function
from modgrok.separable import Verdict, classify_table
from modgrok.separable.procedures.climbing import Climb
from modgrok.separable.reductions.grouping import decide_grouped

Ask = Callable[[], list[tuple[str, Verdict]]]
INSIDE = "modgrok.separable"
LEAVE_OUT: dict[str, tuple[str, ...]] = {
    "expression": (f"{INSIDE}.classification.written_witnesses",),
    "algebraic": (f"{INSIDE}.decision.guess_algebra",),
    "small-powers": (f"{INSIDE}.decision.guess_small_powers", f"{INSIDE}.reductions.partial.guess_small_powers"),
    "closed-trail": (f"{INSIDE}.decision.decide_two_columns",),
    "automorphism": (f"{INSIDE}.decision.decide_full",),
    "no-cyclic-automorphism": (f"{INSIDE}.decision.decide_full",),
    "shift": (f"{INSIDE}.decision.guess_by_shift",),
    "pairs": (f"{INSIDE}.decision.refute_by_pairs",),
    "phases": (f"{INSIDE}.decision.guess_phases",),
    "climbing": (),
    "symmetry": (f"{INSIDE}.decision.refute_by_symmetry",),
    "several": (f"{INSIDE}.reductions.grouping.find_several",),
}
"""Where each procedure is called; counting, lines and the search itself are what everything else rests on."""


@contextmanager
def without(procedure: str) -> Iterator[None]:
    """The decision with one of its procedures left out."""
    with ExitStack() as stack:
        for place in LEAVE_OUT[procedure]:
            stack.enter_context(patch(place, lambda *_, **__: [] if procedure == "expression" else None))
        if procedure == "climbing":
            stack.enter_context(patch.object(Climb, "run", lambda *_: None))
        yield


def of_families(table: np.ndarray, modulus: int | None, tree: Any = None) -> Ask:
    def ask() -> list[tuple[str, Verdict]]:
        return [(f.family, f.verdict) for f in classify_table(table, modulus, tree=tree).families]

    return ask


def of_group(table: np.ndarray, group: Any, absorbing: bool) -> Ask:
    return lambda: [("", decide_grouped(table, group, absorbing))]


def asked(count: int) -> Iterator[tuple[str, Ask]]:
    """(source, question): every question is the same at every call."""
    for given, p in questions():
        found = read_function(given, p, at_least=2)
        yield "same results", of_families(found.table, found.modulus, found.tree)
        if found.tree is not None:
            yield "same results, as tables", of_families(found.table, found.modulus)
    for text, p in NAMED:
        if p < 256 and "n3" not in text:
            yield "named", of_families(read_function(text, p).table, p)
    for p in GRID_PRIMES:
        for _, table in grid(p, count):
            yield "grid", of_families(table, p)
    for p in (7, 11, 13, 17, 19, 23):
        for kind in KINDS:
            for seed in range(max(1, count // 4)):
                yield "planted", of_group(*planted(kind, p, seed))
    for _, table, order in alone():
        yield "alone", of_group(table, order, False)
    for family in truth.FAMILIES[:-1]:
        for make, many in ((truth.small, 15 * count), (truth.large, 3 * count)):
            for case in truth.different(family, make, many, set()):
                group = case.moduli if len(case.moduli) > 1 else case.moduli[0]
                yield f"truth, {family}", of_group(case.table, group, case.absorbing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="tables of each kind")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/procedures.json"))
    args = parser.parse_args()
    start = time.perf_counter()
    tables = list(asked(args.count))
    decided: dict[str, Counter[str]] = {}
    deciders: dict[str, list[tuple[int, list[tuple[str, Verdict]]]]] = {}
    for number, (source, ask) in enumerate(tables):
        verdicts = ask()
        for word in {word for _, verdict in verdicts for word in (verdict.decided_by or "unknown").split(", ")}:
            deciders.setdefault(word, []).append((number, verdicts))
        for _, verdict in verdicts:
            for word in (verdict.decided_by or "unknown").split(", "):
                decided.setdefault(word, Counter())[source] += 1
    for word, counts in sorted(decided.items(), key=lambda item: -item[1].total()):
        print(f"{word:24s} {counts.total():6,}  {dict(counts)}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s", flush=True)
    left_out = {}
    for procedure in LEAVE_OUT:
        lost, instead, questions_ = Counter[str](), Counter[str](), deciders.get(procedure, [])
        with without(procedure):
            for number, before in questions_:
                source, ask = tables[number]
                for (_, old), (_, new) in zip(before, ask(), strict=False):
                    if procedure in old.decided_by.split(", "):
                        lost[source] += new.status != old.status
                        instead[new.decided_by or "unknown"] += 1
        left_out[procedure] = {
            "questions": len(questions_),
            "lost": lost.total(),
            "lost_of": dict(+lost),
            "instead": dict(instead),
        }
        print(f"without {procedure:24s} {left_out[procedure]}", flush=True)
    seconds = round(time.perf_counter() - start, 1)
    counts_of = {word: {"verdicts": counts.total(), "of": dict(counts)} for word, counts in decided.items()}
    about = {"command": f"python benchmarks/procedures.py --count {args.count}", "questions": len(tables)}
    found = {**about, "seconds": seconds, "decided_by": counts_of, "left_out": left_out}
    write_found(__file__, args.json, found, args)


if __name__ == "__main__":
    main()
