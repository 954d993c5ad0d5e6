"""modgrok bench: how fast modgrok trains, side by side with the loops that people write, in one run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from modgrok.errors import InputError
from modgrok.files import write_json
from modgrok.progress import progress_bar
from modgrok.training import bench


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["train"], help="what to time")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in which the contenders take turns (default 5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="time of a contender in a round (default 1)")
    parser.add_argument(
        "--case",
        action="append",
        metavar="P,WIDTH,NETWORKS",
        help="a case to time, for example 97,500,16; may be given more than once",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the result to this JSON file")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    usual = bench.CPU_CASES if jax.default_backend() == "cpu" else bench.GPU_CASES
    cases = tuple(read_case(text) for text in args.case) if args.case else usual
    if args.rounds < 1 or not args.seconds > 0:
        raise InputError(f"bench needs at least one round and some time, got {args.rounds} and {args.seconds}")
    with progress_bar(console, "bench train") as progress:
        result = bench.compare(cases, rounds=args.rounds, seconds=args.seconds, progress=progress)
    if args.out:
        write_json(args.out, result)
    return result


def read_case(text: str) -> bench.Case:
    try:
        modulus, width, networks = (int(word) for word in text.split(","))
    except ValueError:
        raise InputError(f"a case is P,WIDTH,NETWORKS, for example 97,500,16; got {text!r}") from None
    if min(modulus - 1, width, networks) < 1:
        raise InputError(f"a case needs a modulus above 1, a width and networks above 0; got {text!r}")
    return bench.Case(modulus, width, networks)


def show(result: dict[str, Any], console: Console) -> None:
    names = list(result["cases"][0]["contenders"])
    for title, key, form in (
        ("modgrok is faster by", "modgrok_is_faster_by", "{:.2f} ×"),
        ("network-steps per second", "network_steps_per_second", "{:,.0f}"),
    ):
        table = Table("p", "width", "networks", box=None, pad_edge=False, title=title, title_justify="left")
        shown = [name for name in names if key == "network_steps_per_second" or name != "modgrok"]
        for name in shown:
            table.add_column(name, justify="right")
        for case in result["cases"]:
            figures = [form.format(case["contenders"][name][key]) for name in shown]
            table.add_row(str(case["modulus"]), str(case["width"]), str(case["networks"]), *figures)
        console.print(table)
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    console.print(f"{machine['device']}; {machine['processor']}, {machine['cores']} cores; {versions}", highlight=False)
    if "torch" not in names:
        console.print("PyTorch is not installed here, or lacks the device that JAX has; it was left out.")
