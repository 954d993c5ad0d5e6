"""modgrok bench: how fast modgrok trains against usual loops; how busy a census keeps a device."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from modgrok.base.errors import InputError
from modgrok.base.printing import facts_table
from modgrok.base.progress import progress_bar
from modgrok.censuses.speed import CensusBenchmark, bench_census
from modgrok.commands.common import say
from modgrok.training.bench import Benchmark, Case, CaseResult, bench

EPILOG = """\
what it times:
  train     modgrok's training; in a clone of the repository, plain JAX and PyTorch loops too
  census    a census of mixed moduli and widths, or that of --plan: networks a second, and how busy the device is"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("what", choices=["train", "census"], help="what to time")
    parser.add_argument("--rounds", type=int, help="train: how often each loop is timed (default 5)")
    parser.add_argument("--seconds", type=float, help="train: seconds for each loop in a round (default 1)")
    parser.add_argument(
        "--called-steps",
        type=int,
        metavar="N",
        help="train: steps of one training as you call it, timed beside plain scripts (default 300; 0 for none)",
    )
    parser.add_argument(
        "--case",
        action="append",
        metavar="P,WIDTH,NETWORKS",
        help="train: a case to time, for example 97,500,16; may be given more than once",
    )
    parser.add_argument("--plan", type=Path, metavar="PLAN", help="census: a plan, a TOML file")
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="census: start no part that would end later"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the result to this JSON file")


OPTIONS = {"train": ("rounds", "seconds", "called_steps", "case"), "census": ("plan", "time_limit")}


def run(args: argparse.Namespace, console: Console) -> Benchmark | CensusBenchmark:
    given = {
        name: getattr(args, name) for names in OPTIONS.values() for name in names if getattr(args, name) is not None
    }
    for name in given:
        if name not in OPTIONS[args.what]:
            known = ", ".join(f"--{option.replace('_', '-')}" for option in OPTIONS[args.what])
            raise InputError(f"--{name.replace('_', '-')} means nothing here: bench {args.what} takes {known}, --out")
    with progress_bar(console, f"bench {args.what}") as progress:
        if args.what == "census":
            return bench_census(**given, out=args.out, progress=progress)
        cases = [Case.read(text) for text in given.pop("case")] if "case" in given else None
        return bench(cases=cases, **given, out=args.out, progress=progress)


def show(result: Benchmark | CensusBenchmark, console: Console, args: argparse.Namespace) -> None:
    say(console, result.summary())
    if isinstance(result, CensusBenchmark):
        show_census(result, console)
    else:
        show_training(result, console)
    machine = result.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    console.print(f"{machine.device}; {machine.processor}, {machine.cores} cores; {versions}", highlight=False)
    for path in result.files:
        console.print(str(path), highlight=False, soft_wrap=True)


def show_census(result: CensusBenchmark, console: Console) -> None:
    kernels = (
        {} if result.kernel_share is None else {"time with any kernel running (driver)": f"{result.kernel_share:.1%}"}
    )
    facts = {
        "networks": f"{result.networks:,}" + ("" if result.finished else " (the time ran out)"),
        "programs": str(result.programs),
        "networks a second": f"{result.networks_per_second:.3g}",
        "network-steps a second": f"{result.network_steps_per_second:,.0f}",
        "useful TFLOP a second": f"{result.teraflops:.3g}",
        "time spent on training steps": f"{result.device_share:.1%}",
        **kernels,
        "seconds to the first part": f"{result.seconds_to_first_part:.1f}",
        "seconds in all": f"{result.seconds:.1f}",
    }
    console.print(facts_table(facts), highlight=False)


def show_training(result: Benchmark, console: Console) -> None:
    others = [name for name in result.contenders if name != "modgrok"]
    faster = [("modgrok's speed over theirs", "modgrok_is_faster_by", "{:.2f} ×", others)] if others else []
    rates = ("network-steps per second", "network_steps_per_second", "{:,.0f}", list(result.contenders))
    for title, key, form, names in (*faster, rates):
        table = Table("p", "width", "networks", box=None, pad_edge=False, title=title, title_justify="left")
        for name in names:
            table.add_column(name, justify="right")
        for case in result.cases:
            took = [case.contenders.get(name) for name in names]
            figures = ["" if each is None else form.format(getattr(each, key)) for each in took]
            table.add_row(str(case.modulus), str(case.width), str(case.networks), *figures)
        console.print(table)
    if called := [case for case in result.cases if case.called]:
        console.print(f"seconds from the start of Python to the result of {result.settings.called_steps} steps")
        console.print(called_table(called))
    if not others:
        console.print("Only modgrok was timed: the other loops are in the repository; run this from a clone.")
    elif "torch" not in result.contenders:
        console.print("PyTorch was left out: it is not installed, or cannot use the device that JAX uses.")


def called_table(cases: list[CaseResult]) -> Table:
    """Seconds of one training as somebody calls it, in processes of its own."""
    names = list(cases[0].called)
    table = Table("p", "width", "compilation cache", *names, box=None, pad_edge=False)
    for case in cases:
        for cache, field in (("empty", "cold_seconds"), ("full", "warm_seconds")):
            took = (f"{getattr(case.called[name], field):.1f}" for name in names)
            table.add_row(str(case.modulus), str(case.width), cache, *took)
    for column in table.columns[3:]:
        column.justify = "right"
    return table
