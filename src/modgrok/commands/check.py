"""modgrok check: hold a certificate of classify against the table, with checkers that share no code with the search."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from modgrok.commands.common import FUNCTION_KEY, heading, text_table
from modgrok.separable.checking import Check, check

KEYS = {
    "holds": "whether no claim was refused",
    **FUNCTION_KEY,
    "claims": "one object for each claim: `family`, `verdict`, `group`, `holds` (`null` for an `unknown`, which claims "
    "nothing), `reason`",
    "seconds": "how long the work took",
}
MARKS = {True: "proved", False: "refused", None: "–"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="what `modgrok classify … --certificate FILE` wrote")


def run(args: argparse.Namespace, console: Console) -> Check:
    return check(args.file)


def show(found: Check, console: Console, args: argparse.Namespace) -> None:
    heading(console, f"{found.function.title}: ", found.outcome)
    rows = [(c.family, c.group, c.verdict, MARKS[c.holds], c.reason) for c in found.claims]
    console.print(text_table(("family", "group", "verdict", "check", "why"), rows))


def exit_code(found: Check) -> int:
    return 0 if found.holds else 1
