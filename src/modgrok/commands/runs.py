"""modgrok runs: a list of the runs in a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.text import Text

from modgrok.base.printing import fits, print_table, text_table
from modgrok.commands.common import heading, say
from modgrok.training.run_list import HEADINGS, RunList, cells, runs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs"), help="where to look (default runs)")


def run(args: argparse.Namespace, console: Console) -> RunList:
    return runs(args.folder)


def show(result: RunList, console: Console, args: argparse.Namespace) -> None:
    """A table; on a terminal that is too narrow for it, three lines for each run."""
    table = text_table(HEADINGS, [cells(each) for each in result])
    if result and fits(console, table):
        print_table(console, table)
    elif result:
        for function, model, settings, step, train, test, *rest, folder in map(cells, result):
            heading(console, function, ", ".join(["", model, *filter(None, [settings])]))
            say(console, "  " + ", ".join((f"step {step}: train {train}", f"test {test}", *rest)))
            console.print(Text(f"  {folder}", "dim"), soft_wrap=True)
    say(console, result.summary())
