"""modgrok watch: the live view of a run that another process trains."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from modgrok.base import printing
from modgrok.commands import train
from modgrok.training.live import watch
from modgrok.training.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of the run")


def run(args: argparse.Namespace, console: Console) -> Run:
    """Lines go to where the result goes, unless that is one JSON object."""
    piped = not args.json and not printing.console().is_terminal
    return watch(args.run, console=printing.console() if piped else console)


exit_code, csv_rows = train.exit_code, train.csv_rows


def show(result: Run, console: Console, args: argparse.Namespace) -> None:
    train.show(result, console, args)
