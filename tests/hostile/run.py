"""The whole harness, or some of its parts: `make hostile`, `make hostile HOSTILE=a,f`, or this file.

    python tests/hostile/run.py [--parts a,b,c,d,e,f] [--out FILE] [--workers N] [--seconds S]

A part is a module with `TOTAL` trials in batches of `BATCH`. A batch follows from its number alone, so batches are
shared out to processes, and what was done in an earlier sitting, or on another machine, is not done again: the file
(benchmarks/results/hostile.json) remembers the batches with their counts.

The rule everywhere: exit code 0, 1, 2 or 130, one clear line, no traceback, no warning
from a library, no half-written file, no lost finished work, no wrong answer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tally import Tally

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "hostile.json"
PARTS = {
    "a": (
        "expressions",
        "expressions from the grammar, mutated and noise; values against Python's parser and integers",
    ),
    "b": (
        "damaged_files",
        "every file format cut at every length, bytes of its header flipped, fields dropped, retyped",
    ),
    "c": ("options", "every numeric option of every command at 0, −1, huge, tiny, nan, inf and words"),
    "d": ("kills", "kills at random moments, results bit for bit those of an unbroken run"),
    "e": ("surroundings", "full disk, read-only folders, no HOME, LANG=C, closed stdout, SIGINT at random moments"),
    "f": ("tables", "tables through the decision, verdicts against enumeration, witnesses and certificates checked"),
}


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    stored = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {"parts": {}}
    deadline = time.monotonic() + args.seconds
    for letter in args.parts.split(","):
        run_part(letter, stored, args, deadline)
        write(args.out, stored)
    found = sum(sum(part["found"].values()) for part in stored["parts"].values())
    print(f"{args.out}: {found} findings")
    return 1 if found else 0


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="letters of the parts to run, with commas")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=3600, help="no batch begins later; the same command goes on")
    parser.add_argument("--afresh", action="store_true", help="forget what earlier sittings did of these parts")
    args = parser.parse_args(argv)
    if unknown := set(args.parts.split(",")) - set(PARTS):
        parser.error(f"there is no part {sorted(unknown)[0]!r}; there are {', '.join(PARTS)}")
    return args


def run_part(letter: str, stored: dict[str, Any], args: argparse.Namespace, deadline: float) -> None:
    """All batches of a part that were not done before, as far as the time goes."""
    name, title = PARTS[letter]
    part = import_module(name)
    before = {} if args.afresh else stored["parts"].get(letter, {})
    tally = Tally.from_json(before) if before else Tally()
    done, seconds = set(spans_to_numbers(before.get("batches", []))), before.get("seconds", 0.0)
    todo = iter([k for k in range(-(-part.TOTAL // part.BATCH)) if k not in done])
    began = shown = time.monotonic()
    pending: dict[Future[Tally], int] = {}

    def record() -> None:
        tried = sum(tally.tried.values())
        stored["parts"][letter] = {
            "about": title,
            "command": f"python tests/hostile/run.py --parts {letter}",
            "machine": f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
            "unit": getattr(part, "UNIT", "trials"),
            "asked": part.TOTAL,
            "left": max(0, part.TOTAL - len(done) * part.BATCH),
            "trials": tried,
            **tally.to_json(),
            "mended": before.get("mended", []),
            "seconds": round(seconds + time.monotonic() - began, 1),
            "batches": numbers_to_spans(done),
        }

    with ProcessPoolExecutor(getattr(part, "WORKERS", args.workers), get_context("spawn")) as pool:
        while True:
            while len(pending) < 2 * args.workers and time.monotonic() < deadline:
                if (number := next(todo, None)) is None:
                    break
                pending[pool.submit(part.run_batch, number)] = number
            if not pending:
                break
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                done.add(pending.pop(future))
                tally.add(future.result())
            if time.monotonic() - shown > 5:
                shown = time.monotonic()
                record()
                write(args.out, stored)
                tried = f"{sum(tally.tried.values()):,} trials, {len(done) * part.BATCH:,} of {part.TOTAL:,}"
                print(f"{letter} {name}: {tried}", file=sys.stderr, flush=True)
    record()
    about = stored["parts"][letter]
    left = f"{about['left']:,} {about['unit']} left"
    print(f"{letter} {name}: {about['trials']:,} tried, {sum(tally.found.values())} found, {left}")
    for line in tally.shown:
        print(f"  {line}")


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
