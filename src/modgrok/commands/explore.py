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

from modgrok.explorer.serving import HERE, PORT, RUNS, Explored, explore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"port to listen on (default {PORT}, or the next free one; 0 takes any)"
    )
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--runs", type=Path, default=Path(RUNS), metavar="DIR", help="folder of runs to show, and to write new ones to"
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        help="folder of the paper's report (default: report/ in the folder of runs if it is there, else report/ here)",
    )
    parser.add_argument("--census", type=Path, metavar="DIR", help="folder of a census to show instead of the sample")
    parser.add_argument("--seconds", type=float, metavar="N", help="stop after N seconds (default: at Ctrl-C)")
    parser.add_argument(
        "--host",
        default=HERE,
        metavar="ADDRESS",
        help=f"address to listen on (default {HERE}); any other lets people in from outside, with a token",
    )
    parser.add_argument(
        "--public",
        action="store_true",
        help="for strangers: small limits, nobody sees what others do, nothing is kept",
    )
    parser.add_argument(
        "--behind-proxy",
        type=int,
        nargs="?",
        const=1,
        default=0,
        metavar="N",
        help="with --public: trust X-Forwarded-For from N proxies in front (1 if no number is given)",
    )


def run(args: argparse.Namespace, console: Console) -> Explored:
    def on_ready(address: str) -> None:
        print(address, file=sys.stderr if args.json or args.csv else sys.stdout, flush=True)
        if "token=" in address:
            console.print(
                Text(f"Warning: other machines can reach {args.host}; anyone who has this address can use it.")
            )
        if args.public:
            console.print(Text("Public: anyone who reaches this address can use it, within the limits of SECURITY.md."))
        console.print(Text("Press Ctrl-C to stop; press it again to stop within two seconds."))
        if not args.no_open and not args.public:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    named = ("port", "host", "runs", "report", "census", "seconds", "public", "behind_proxy")
    return explore(**{name: getattr(args, name) for name in named}, on_ready=on_ready)


def show(result: Explored, console: Console, args: argparse.Namespace) -> None:
    console.print(Text(f"Served for {result.seconds:.0f} s."))
