"""modgrok explore: the laboratory in a browser, served on this machine until Ctrl-C.

What it needs is imported without JAX, which the children alone wait for: the page is there within a second.
"""

from __future__ import annotations

import argparse
import sys
import threading
import webbrowser
from pathlib import Path

from rich.console import Console
from rich.text import Text

from modgrok.explorer.serving import HERE, PORT, Explored, explore

KEYS = {
    "address": "where it was served",
    "folder": "of the runs that it showed and made",
    "seconds": "how long it was served",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"where to listen; {PORT} or the next free one if not given, 0 is any"
    )
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs to show and to make"
    )
    parser.add_argument(
        "--report", type=Path, default=Path("report"), metavar="DIR", help="folder of the paper's report"
    )
    parser.add_argument("--census", type=Path, metavar="DIR", help="a census to show instead of the sample")
    parser.add_argument("--seconds", type=float, metavar="N", help="end after so long; without it, Ctrl-C ends it")
    parser.add_argument(
        "--host",
        default=HERE,
        metavar="ADDRESS",
        help=f"where to listen (default {HERE}); another address lets others in, with a token",
    )


def run(args: argparse.Namespace, console: Console) -> Explored:
    def on_ready(address: str) -> None:
        print(address, file=sys.stderr if args.json or args.csv else sys.stdout, flush=True)
        if "token=" in address:
            console.print(Text(f"Warning: other machines can reach {args.host}; whoever has this address can use it."))
        console.print(Text("Ctrl-C ends it; pressed twice, within seconds."))
        if not args.no_open:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    return explore(
        port=args.port,
        host=args.host,
        runs=args.runs,
        report=args.report,
        census=args.census,
        seconds=args.seconds,
        on_ready=on_ready,
    )


def show(result: Explored, console: Console, args: argparse.Namespace) -> None:
    console.print(Text(f"Served for {result.seconds:.0f} s."))
