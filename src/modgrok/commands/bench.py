"""modgrok bench: how fast modgrok trains, side by side with the loops that people write, in one run."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from modgrok.progress import progress_bar
from modgrok.training.bench import Benchmark, Case, bench

KEYS = {
    "machine": "`device`, `processor`, `cores`, `system`, and `versions` by package",
    "settings": "`rounds`, `seconds` (of a contender in a round) and `unit`",
    "cases": "one object for each: `modulus`, `width`, `networks`, and `contenders` by name, each with "
    "`network_steps_per_second`, `modgrok_is_faster_by`, `by_round` (its rate in each round) and `loss_after_20_steps`",
    "files": "what was written",
    "seconds": "time taken",
}


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


def run(args: argparse.Namespace, console: Console) -> Benchmark:
    cases = [Case.read(text) for text in args.case] if args.case else None
    with progress_bar(console, "bench train") as progress:
        return bench(args.what, cases=cases, rounds=args.rounds, seconds=args.seconds, out=args.out, progress=progress)


def show(result: Benchmark, console: Console, args: argparse.Namespace) -> None:
    others = [name for name in result.contenders if name != "modgrok"]
    for title, key, form, names in (
        ("modgrok is faster by", "modgrok_is_faster_by", "{:.2f} ×", others),
        ("network-steps per second", "network_steps_per_second", "{:,.0f}", result.contenders),
    ):
        table = Table("p", "width", "networks", box=None, pad_edge=False, title=title, title_justify="left")
        for name in names:
            table.add_column(name, justify="right")
        for case in result.cases:
            figures = [form.format(getattr(case.contenders[name], key)) for name in names]
            table.add_row(str(case.modulus), str(case.width), str(case.networks), *figures)
        console.print(table)
    machine = result.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    console.print(f"{machine.device}; {machine.processor}, {machine.cores} cores; {versions}")
    if "torch" not in result.contenders:
        console.print("PyTorch is not installed here, or lacks the device that JAX has; it was left out.")
    for path in result.files:
        console.print(str(path), soft_wrap=True)
