"""modgrok zoo: train the networks of the zoo, list them, and ask which functions they compute."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from modgrok.base.errors import InputError
from modgrok.base.printing import cell, print_table, text_table
from modgrok.base.progress import progress_bar
from modgrok.commands.common import SECONDS_KEY, say
from modgrok.experiments.zoo import VARIABLE, Zoo, build_zoo, zoo
from modgrok.experiments.zoo_score import ZooScore, zoo_score

LISTED = {
    "folder": "of the zoo",
    "networks": "that are in it",
    "rows": "one object for each: `name`, `kind`, `model`, `function`, `size`, `outcome` (`learned`, `partly` or "
    "`memorised`), `accuracy` (on all inputs), `test_accuracy`, `proved_accuracy` (what the kernel proved when it was "
    "made, as its file says; or `null`)",
}
KEYS = {
    "build": LISTED,
    "list": LISTED,
    "score": {
        "folder": "of the zoo",
        "networks": "that were asked about: those that learned or memorised",
        "right": "answers that are right",
        "score": "their share",
        "networks_left_out": "those in between, which are not asked about",
        "by_kind": "one object for each `model`, `kind` and `outcome`: `networks`, `right`",
        "rows": "one object for each network: `name`, `kind`, `model`, `function`, `outcome`, `answered` (a function "
        "was given), `right`",
    }
    | SECONDS_KEY,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["build", "list", "score"], help="what to do")
    parser.add_argument("folder", type=Path, nargs="?", help=f"the zoo (default: in the user's cache, or {VARIABLE})")
    parser.add_argument("--out", type=Path, metavar="DIR", help="build: the folder; what is there is not made again")
    parser.add_argument("--only", metavar="NAMES", help="build: some networks, as in power-sum-23-0,mlp-group-*")
    parser.epilog = "A build that was stopped goes on when it is called again. docs/zoo.md says what is in it."


def run(args: argparse.Namespace, console: Console) -> Zoo | ZooScore:
    if args.action == "build":
        if args.out is not None and args.folder is not None:
            raise InputError(f"build takes one folder, got {args.folder} and --out {args.out}; leave one of them out")
        with progress_bar(console, "networks") as progress:
            only = ("*",) if args.only is None else tuple(args.only.split(","))
            return build_zoo(args.out or args.folder, only=only, progress=progress)
    for option in ("out", "only"):
        if getattr(args, option) is not None:
            raise InputError(f"--{option} is for building; {args.action} takes a folder: modgrok zoo {args.action} DIR")
    if args.action == "list":
        return zoo(args.folder)
    with progress_bar(console, "networks") as progress:
        return zoo_score(args.folder, progress=progress)


def show(result: Zoo | ZooScore, console: Console, args: argparse.Namespace) -> None:
    found = result.to_json()
    rows = found["by_kind"] if isinstance(result, ZooScore) else found["rows"] if args.action == "list" else []
    if rows:
        headings = [name.replace("_", " ") for name in rows[0]]
        print_table(console, text_table(headings, [list(map(cell, row.values())) for row in rows]))
    say(console, result.summary())
