"""modgrok check: the claims of a certificate, proved by the kernel from the table, or not."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from modgrok.base.printing import text_table
from modgrok.commands.common import heading
from modgrok.separable.checking import Check, check


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="the file that `modgrok classify … --certificate FILE` wrote")


def run(args: argparse.Namespace, console: Console) -> Check:
    return check(args.file)


def show(found: Check, console: Console, args: argparse.Namespace) -> None:
    heading(console, f"{found.function.title}: ", found.outcome)
    rows = [(c.family, c.group, c.verdict, c.outcome, c.reason) for c in found.claims]
    console.print(text_table(("family", "group", "verdict", "check", "why"), rows))


def exit_code(found: Check) -> int:
    """0 proved, 1 refuted, 2 unreadable, too much work, or nothing claimed."""
    return 0 if found.holds else 1 if found.refuted else 2
