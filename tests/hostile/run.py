"""The whole harness, or some of its parts: `make hostile`, `make hostile HOSTILE=a,f`, or this file.

    python tests/hostile/run.py [--parts a,b,c,d,e,f,g,h,i] [--out FILE] [--workers N] [--seconds S] [--afresh]

A part is a module with `TOTAL` trials in batches of `BATCH`. A batch follows from its number alone, so batches of all
parts are shared out to processes, and what was done in an earlier sitting is not done again: the file
(benchmarks/results/hostile.json) remembers the batches with their counts, and the commit that they tried. What another
commit did does not count for this one: its parts begin afresh.

The rule everywhere: exit code 0, 1, 2 or 130, one clear line, no traceback, no warning
from a library, no half-written file, no lost finished work, no wrong answer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tally import Tally

from modgrok.base.provenance import KEY, merged, provenance, read_made
from modgrok.base.results import plain

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "hostile.json"
ABOUT = (
    "What `make hostile` tried, what broke its rule (found), what is left to try, and what was found and "
    "mended before. The same command at the same commit goes on where the counts stop."
)
PARTS = {
    "a": (
        "expressions",
        "expressions from the grammar, mutated and noise; values against Python's parser and integers",
    ),
    "b": (
        "damaged_files",
        "every file format cut at every length, bytes of its header flipped, fields dropped, swapped, retyped",
    ),
    "c": ("options", "every option and word of every command at 0, −1, huge, tiny, nan, inf and words"),
    "d": ("kills", "SIGKILL at random moments, results bit for bit those of an unbroken run"),
    "e": ("surroundings", "full disk, read-only folders, no HOME, LANG=C, closed stdout, SIGINT at every stage"),
    "f": ("tables", "tables through the decision, verdicts against enumeration, witnesses and certificates checked"),
    "g": ("compiled", "expressions compiled in every way, networks and proofs against integers on every row"),
    "h": (
        "forged_certificates",
        "certificates with every field forged, against all placements: false claims, time, texts",
    ),
    "i": (
        "forged_networks",
        "networks with weights, words, wires and claims forged; proofs against every row by NumPy, texts",
    ),
}
SECONDS_BETWEEN_RECORDS = 5


class Part:
    """One part of the harness: what is done of it, what is still to do, and what it found."""

    def __init__(self, letter: str, before: dict[str, Any], commit: str, *, afresh: bool, workers: int) -> None:
        self.letter, self.commit, self.workers = letter, commit, workers
        self.name, self.title = PARTS[letter]
        self.module = import_module(self.name)
        self.mended = before.get("mended", [])
        known = {} if afresh or before.get("commit") != commit else before
        self.tally = Tally.from_json(known) if known else Tally()
        self.done = set(spans_to_numbers(known.get("batches", [])))
        self.seconds: float = known.get("seconds", 0.0)
        self.began, self.ended = known.get("began", now()), known.get("ended", now())
        self.pool: ProcessPoolExecutor | None = None

    def todo(self) -> Iterator[int]:
        return (k for k in range(-(-self.module.TOTAL // self.module.BATCH)) if k not in self.done)

    def submit(self, number: int) -> Future[tuple[Tally, float]]:
        """Give a batch to a process of this part: what one part does to a process shall not trouble another."""
        self.pool = self.pool or ProcessPoolExecutor(self.workers, get_context("spawn"))
        return self.pool.submit(timed, self.name, number)

    def take(self, number: int, future: Future[tuple[Tally, float]]) -> None:
        """Count a batch; one that fails as a whole is a finding."""
        try:
            tally, seconds = future.result()
        except Exception as error:
            tally, seconds = Tally(), 0.0
            tally.trial("the batch itself", f"batch {number}: {type(error).__name__}: {str(error)[:300]}")
            self.close()
        self.tally.add(tally)
        self.seconds += seconds
        self.done.add(number)
        self.ended = now()

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=False)
            self.pool = None

    @property
    def left(self) -> int:
        return max(0, int(self.module.TOTAL) - len(self.done) * int(self.module.BATCH))

    def to_json(self) -> dict[str, Any]:
        return {
            "about": self.title,
            "unit": getattr(self.module, "UNIT", "trials"),
            "asked": self.module.TOTAL,
            "left": self.left,
            "trials": sum(self.tally.tried.values()),
            **self.tally.to_json(),
            "mended": self.mended,
            "commit": self.commit,
            "machine": this_machine(),
            "began": self.began,
            "ended": self.ended,
            "seconds": round(self.seconds, 1),
            "batches": numbers_to_spans(self.done),
        }

    def __str__(self) -> str:
        tried, found = sum(self.tally.tried.values()), sum(self.tally.found.values())
        return f"{self.letter} {self.name}: {tried:,} tried, {found} found, {self.left:,} left"


def timed(name: str, number: int) -> tuple[Tally, float]:
    """A batch, and how long it took."""
    began = time.monotonic()
    return import_module(name).run_batch(number), time.monotonic() - began


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    stored = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {"parts": {}}
    commit = present_commit()
    parts = [
        Part(letter, stored["parts"].get(letter, {}), commit, afresh=args.afresh, workers=args.workers)
        for letter in args.parts.split(",")
    ]
    start = time.perf_counter()
    share_out(parts, args.workers, time.monotonic() + args.seconds, lambda: write(args.out, recorded(stored, parts)))
    here = provenance(start, {"parts": args.parts}, "modgrok", *sorted(Path(__file__).parent.glob("*.py")))
    stored[KEY] = plain(merged(() if args.afresh else read_made(stored.get(KEY)), (here,)))
    write(args.out, stored)
    for part in parts:
        print(part)
        for line in part.tally.shown:
            print(f"  {line}")
    found = sum(sum(part["found"].values()) for part in stored["parts"].values())
    print(f"{args.out}: {found} findings")
    return 1 if found else 0


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="letters of the parts to run, with commas")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=36000, help="no batch begins later; the same command goes on")
    parser.add_argument("--afresh", action="store_true", help="forget what earlier sittings did of these parts")
    args = parser.parse_args(argv)
    if unknown := set(args.parts.split(",")) - set(PARTS):
        parser.error(f"there is no part {sorted(unknown)[0]!r}; there are {', '.join(PARTS)}")
    return args


def share_out(parts: list[Part], workers: int, deadline: float, record: Any) -> None:
    """Batches of one part after another to so many processes; none waits for the end of a part."""
    batches = ((part, number) for part in parts for number in part.todo())
    pending: dict[Future[tuple[Tally, float]], tuple[Part, int]] = {}
    shown = time.monotonic()
    while True:
        while len(pending) < workers and time.monotonic() < deadline and (batch := next(batches, None)) is not None:
            part, number = batch
            pending[part.submit(number)] = batch
        for part in parts:
            if not any(part is other for other, _ in pending.values()):
                part.close()
        if not pending:
            break
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            part, number = pending.pop(future)
            part.take(number, future)
        if time.monotonic() - shown > SECONDS_BETWEEN_RECORDS:
            shown = time.monotonic()
            record()
            print(part, file=sys.stderr, flush=True)
    record()


def recorded(stored: dict[str, Any], parts: list[Part]) -> dict[str, Any]:
    """All that the file says, with these parts as they stand."""
    stored["parts"] |= {part.letter: part.to_json() for part in parts}
    known = dict(sorted(stored["parts"].items()))
    commits = sorted({part.get("commit", "unknown") for part in known.values()})
    machines = sorted({part.get("machine", "unknown") for part in known.values()})
    about = {
        "about": ABOUT,
        "command": "make hostile",
        "machine": machines[0] if len(machines) == 1 else machines,
        "commit": commits[0] if len(commits) == 1 else commits,
        "began": min(part.get("began", "") for part in known.values()),
        "ended": max(part.get("ended", "") for part in known.values()),
        "seconds": round(sum(part["seconds"] for part in known.values()), 1),
        "tried": sum(part["trials"] for part in known.values()),
        "found": sum(sum(part["found"].values()) for part in known.values()),
        "left": sum(part["left"] for part in known.values()),
    }
    made = stored.get(KEY)
    stored.clear()
    stored |= about | {KEY: made, "parts": known}
    return stored


def table(stored: dict[str, Any]) -> list[str]:
    """The rows that SECURITY.md shows, one for each part."""
    return [
        f"| {part['about']} | {part['trials']:,} | {sum(part['found'].values())} | {part['left']:,} |"
        for part in stored["parts"].values()
    ]


def present_commit() -> str:
    """The commit of this tree, with a + where the code differs from it."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = "+" if git("status", "--porcelain", "--", "src", "tests/hostile") else ""
    return (git("rev-parse", "--short=10", "HEAD") or "unknown") + changed


def this_machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def numbers_to_spans(numbers: set[int]) -> list[list[int]]:
    """{1, 2, 3, 7} as [[1, 3], [7, 7]]."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return spans


def spans_to_numbers(spans: list[list[int]]) -> list[int]:
    return [number for first, last in spans for number in range(first, last + 1)]


def write(path: Path, stored: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(stored, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    raise SystemExit(main())
