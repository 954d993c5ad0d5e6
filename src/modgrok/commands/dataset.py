"""modgrok dataset build: the censuses of the repository as a data set for others."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from modgrok.base.printing import visible
from modgrok.base.progress import progress_bar
from modgrok.censuses.dataset import Dataset, build_dataset
from modgrok.commands.common import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["build"], help="write the data set (needs a clone of the repository)")
    parser.add_argument("--out", type=Path, default=Path("dataset"), metavar="DIR", help="folder (default dataset)")
    parser.epilog = "The folder has its own README.md; docs/dataset.md says how to load it."


def run(args: argparse.Namespace, console: Console) -> Dataset:
    with progress_bar(console, "tables") as progress:
        return build_dataset(args.out, progress=progress)


def show(result: Dataset, console: Console, args: argparse.Namespace) -> None:
    say(console, result.summary())
    say(console, f'load_dataset("{result.folder}", NAME) takes {", ".join(result.configurations)}')
    for path in result.files:
        console.print(visible(str(path)), soft_wrap=True)
