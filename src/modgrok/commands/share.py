"""modgrok share: a run, a network or a function as one page that opens anywhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from modgrok.base.progress import line_every_few_seconds
from modgrok.commands.common import add_structures, heading, say, structure_given
from modgrok.explorer.sharing import Shared, share


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", help="the folder of a run, a file of weights, an expression such as 'n1 n2', or the file of a table"
    )
    parser.add_argument(
        "--mod", type=int, metavar="P", help="the modulus of an expression; of a table, how many values"
    )
    add_structures(parser)
    parser.add_argument(
        "--function", metavar="F", help="what a network of somebody else's was trained on (docs/your-network.md)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page (default: NAME.html in this folder)")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that is no page of modgrok's")


def run(args: argparse.Namespace, console: Console) -> Shared:
    now = "looking at it"

    def progress(done: int, total: int) -> None:
        nonlocal now
        now = f"moment {done} of {total}" if done < total else "looking inside the network"

    with line_every_few_seconds(console, lambda: f"sharing {args.what}: {now}"):
        return share(
            args.what,
            args.mod,
            **structure_given(args),
            function=args.function,
            out=args.out,
            overwrite=args.overwrite,
            progress=progress,
        )


def show(result: Shared, console: Console, args: argparse.Namespace) -> None:
    heading(console, result.title, f", {result.kind}")
    say(console, result.about)
    film = f" with a film of {result.moments} moments" if result.moments > 1 else ""
    kilobytes = f"{result.page_bytes / 1000:,.0f} kB"
    say(console, f"A page of {kilobytes}{film}, to open in any browser and to send: {result.files[0]}")
