"""modgrok sweep: every combination of some settings with every seed, many networks in one program."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from modgrok.base.printing import print_table, text_table
from modgrok.commands.common import add_structures, given_function, say, say_read_as
from modgrok.experiments.elsewhere import WHERE
from modgrok.experiments.sweep_plan import SWEPT, plan_of, read_values, within
from modgrok.experiments.sweep_result import Sweep, cells, headings
from modgrok.experiments.sweeps import default_folder, run_plan

EPILOG = """\
A setting takes one value, several separated by commas (0.5,1,2), or a range:
0.2:0.8:4 is four evenly spaced values, 0.001:0.1:8log is eight on a logarithmic
scale. A sweep that was stopped goes on when the command is called again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("expression", nargs="?", help='the function, for example "n1 n2"')
    parser.add_argument("--mod", metavar="VALUES", help="the modulus, for example 97, or several")
    add_structures(parser)
    parser.add_argument("--table", type=Path, metavar="FILE", help="a table of values instead: .csv, .npy or .parquet")
    for each in SWEPT.values():
        parser.add_argument(each.flag, metavar="VALUES", help=each.full_help)
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="train every combination with N seeds (default 1)"
    )
    parser.add_argument("--keep-weights", action="store_true", help="keep the trained networks")
    parser.add_argument("--ray", metavar="WHERE", help=WHERE)
    parser.add_argument("--out", type=Path, help="folder of the sweep (default: one under sweeps/, named by the plan)")


def values_of(args: argparse.Namespace) -> dict[str, Any]:
    """What was given, as lists of numbers and words; a single value stands alone."""
    kinds: dict[str, Any] = {"mod": int} | {name: each.kind for name, each in SWEPT.items()}
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        if (text := getattr(args, name)) is not None:
            values: list[Any] = read_values(text, str if kind is bool else kind, name)
            if kind is bool:
                values = [{"true": True, "false": False}.get(word, word) for word in values]
            found[name] = values[0] if len(values) == 1 else values
    return found


def run(args: argparse.Namespace, console: Console) -> Sweep:
    values = values_of(args)
    function = within(given_function(args, "sweep"), values.get("mod"), args.group, args.field)
    plan = plan_of(function, values.pop("mod", None), args.seeds, **values)
    folder = args.out or default_folder(plan)
    say_read_as(console, plan.configs[0].function)
    return run_plan(plan, folder, keep_weights=args.keep_weights, ray=args.ray, live=True)


def show(result: Sweep, console: Console, args: argparse.Namespace) -> None:
    console.print(result.words, style="bold")
    say(console, result.heading)
    print_table(console, text_table(headings(result), [cells(each) for each in result.medians]))
    programs = f"{result.compilations} program{'s' * (result.compilations != 1)} compiled"
    say(console, f"{programs}, {result.seconds:.1f} s; everything is in {result.folder}")
