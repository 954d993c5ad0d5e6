"""modgrok compare: runs side by side, their curves on one figure."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from modgrok.base.printing import print_table, text_table
from modgrok.commands.common import say
from modgrok.training.run_list import Comparison, compare


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of runs, two or more")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="STEM",
        help="also draw their curves on one figure: STEM.png and STEM.svg (nothing is written without it)",
    )


def run(args: argparse.Namespace, console: Console) -> Comparison:
    return compare(*args.runs, out=args.out)


def csv_rows(result: Comparison) -> list[dict[str, Any]]:
    """A row for each run."""
    columns = {"run": result.names, **result.settings, **result.numbers}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def show(result: Comparison, console: Console, args: argparse.Namespace) -> None:
    console.print(result.summary(), style="bold")
    print_table(console, text_table(("", *result.names), result.rows()))
    if result.files:
        say(console, f"curves in {' and '.join(map(str, result.files))}")
