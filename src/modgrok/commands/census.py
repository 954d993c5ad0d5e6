"""modgrok census: train the networks of a plan, and annotate, report, fit and query what they show."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from modgrok.base.errors import InputError
from modgrok.base.printing import cell, facts_table, text_table, visible
from modgrok.base.progress import SECONDS_BETWEEN_LINES, progress_bar
from modgrok.base.repository import study
from modgrok.base.results import Result, plain
from modgrok.censuses.annotation import annotate
from modgrok.censuses.fitting import LawFit, fit
from modgrok.censuses.querying import QueryResult, query
from modgrok.censuses.reporting import report
from modgrok.censuses.runner import census
from modgrok.commands.common import say
from modgrok.experiments.elsewhere import WHERE
from modgrok.experiments.engine import PartReport

USAGE = """\
modgrok census PLAN [--out DIR] [--ray WHERE] [--part K/N]
                      [--time-limit SECONDS] [--train-only]
       modgrok census annotate DIR
       modgrok census report DIR [--out DIR]
       modgrok census fit DIR [--out FILE]
       modgrok census fractions DIR [--out DIR]
       modgrok census query DIR SQL"""

EPILOG = """\
what it does:
  PLAN        train every network of the plan, a TOML file; a census that was
              stopped goes on
  annotate    add verdicts, redundancy and complexities to every row (PLAN does
              it at its end)
  report      write tables and figures into DIR/report or --out
  fit         fit the loss law; into DIR/calibration.json or --out
  fractions   fit how much of a table is enough for functions in the class, and
              draw phase diagrams; into DIR or --out (*)
  query       ask the table `census` in SQL: one row for each network and
              measured step
(*) only in a clone of the repository, which has the study behind this law
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage, parser.epilog = USAGE, EPILOG
    parser.add_argument("words", nargs="+", metavar="WORD", help="a plan, or an action and what it takes")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="where PLAN, report, fit and fractions write; PLAN writes to census/ by default",
    )
    parser.add_argument("--part", metavar="K/N", help="PLAN: train slice K of N, without annotating")
    parser.add_argument("--ray", metavar="WHERE", help=f"PLAN: {WHERE}")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="PLAN: start no part that would end later")
    parser.add_argument(
        "--train-only", action="store_true", default=None, help="PLAN: do not annotate; `census annotate` does it later"
    )
    parser.add_argument("--details", action="store_true", help="print every number of the result, and every file")


def trained(args: argparse.Namespace, console: Console, plan: str) -> Result:
    said = 0.0

    def on_part(done: PartReport) -> None:
        nonlocal said
        if console.is_terminal or time.monotonic() - said < SECONDS_BETWEEN_LINES:
            return  # on a terminal the bar says it
        said = time.monotonic()
        shape, model = done.part.shape, done.part.shape.model
        console.print(
            f"{done.networks_done:,} of {done.networks_total:,} networks; p={model.classes}, width {model.width}, "
            f"training set {shape.train_rows:,}; {done.networks_per_second:.3g} networks a second, "
            f"about {done.seconds_left:.0f} s left",
            soft_wrap=True,
        )

    with progress_bar(console, "census") as progress:
        return census(
            plan,
            args.out or "census",
            part=args.part,
            time_limit=inf if args.time_limit is None else args.time_limit,
            annotate=not args.train_only,
            ray=args.ray,
            on_part=on_part,
            progress=progress,
        )


def annotated(args: argparse.Namespace, console: Console, folder: str) -> Result:
    with progress_bar(console, "annotating rows") as progress:
        return annotate(folder, progress=progress)


class Action(NamedTuple):
    """What the command does: the words that it takes, the options that mean something for it, and its function."""

    words: tuple[str, ...]
    options: tuple[str, ...]
    call: Callable[..., Result]


ACTIONS = {
    "annotate": Action(("DIR",), (), annotated),
    "report": Action(("DIR",), ("out",), lambda args, _, folder: report(folder, args.out)),
    "fit": Action(("DIR",), ("out",), lambda args, _, folder: fit(folder, args.out)),
    "fractions": Action(("DIR",), ("out",), lambda args, _, folder: study("fractions").fractions(folder, args.out)),
    "query": Action(("DIR", "SQL"), (), lambda args, _, folder, sql: query(folder, sql)),
}
TRAIN = Action(("PLAN",), ("out", "ray", "part", "time_limit", "train_only"), trained)


def run(args: argparse.Namespace, console: Console) -> Result:
    name, *words = args.words
    if name not in ACTIONS and words:
        raise InputError(f"unknown action {name!r}; there are {', '.join(ACTIONS)}, or give one plan and nothing else")
    action = ACTIONS.get(name, TRAIN)
    if action is TRAIN:
        words, name = args.words, "PLAN"
    usage = " ".join(("modgrok census", *((name,) if name in ACTIONS else ()), *action.words))
    if len(words) != len(action.words):
        raise InputError(f"{name} takes {len(action.words)} argument{'s' * (len(action.words) > 1)}: {usage}")
    for option in TRAIN.options:
        if getattr(args, option) is not None and option not in action.options:
            known = ", ".join(map(flag, action.options)) or "no options but --json"
            raise InputError(f"{flag(option)} means nothing here: {usage} takes {known}")
    return action.call(args, console, *words)


def flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def show(result: Result, console: Console, args: argparse.Namespace) -> None:
    if isinstance(result, QueryResult):
        console.print(rows_table(result.rows))
        return
    found = result.to_json()
    if words := found.get("words"):
        console.print(words, style="bold")
    say(console, f"{result.summary()}; {found['seconds']:.1f} s")
    if args.details and isinstance(result, LawFit):
        console.print(rows_table(result.errors.errors_by_setting))
        console.print(rows_table(result.errors.errors_by_family))
    if args.details:
        told = ("folder", "words", "seconds")
        facts = {
            name: value for name, value in found.items() if not isinstance(value, (list, dict)) and name not in told
        }
        console.print(facts_table({name.replace("_", " "): cell(value) for name, value in facts.items()}))
    first, *others = found["files"]
    more = f", and {len(others)} files beside it" if others and not args.details else ""
    console.print(visible(f"written to {first}{more}"), soft_wrap=True)
    for path in others if args.details else ():
        console.print(visible(path), soft_wrap=True)


def rows_table(found: Iterable[object]) -> Table:
    """Results, or objects of JSON, as a table."""
    rows = [plain(row) for row in found]
    return text_table(tuple(rows[0]) if rows else (), [[cell(value) for value in row.values()] for row in rows])
