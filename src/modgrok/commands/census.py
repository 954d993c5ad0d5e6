"""modgrok census: train the networks of a plan, and draw, fit and query what they show."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from modgrok.census import runner, store
from modgrok.census.plan import load_plan
from modgrok.commands.common import facts_table
from modgrok.errors import InputError

EPILOG = """\
  census PLAN.toml --out DIR   train every network of the plan; a census that was stopped goes on
  census query DIR SQL         ask the table `census`, one row a network and measured step
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("words", nargs="+", metavar="PLAN | ACTION DIR", help="a plan, or one of the actions below")
    parser.add_argument("--out", type=Path, default=Path("census"), metavar="DIR", help="folder of the census")
    parser.add_argument("--time-limit", type=float, default=float("inf"), metavar="SECONDS", help="stop in time")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    action, *rest = args.words
    if action == "query":
        if len(rest) != 2:
            raise InputError("query takes a folder and one SQL text: modgrok census query DIR 'SELECT …'")
        return {"action": "query", "rows": store.query(Path(rest[0]), rest[1])}
    if rest:
        raise InputError(f"{action!r} is no action of census; there are query")
    return train(Path(action), args, console)


def train(path: Path, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    began = time.perf_counter()
    plan = load_plan(path)

    def on_chunk(report: runner.ChunkReport) -> None:
        shape = report.shape
        console.print(
            f"{report.networks_done:,} of {report.networks_total:,} networks; p={shape.modulus} width {shape.width} "
            f"rows {shape.train_rows}: {report.networks} in {report.seconds:.1f} s; "
            f"about {report.seconds_left:.0f} s left",
            highlight=False,
        )

    finished = runner.run_census(plan, args.out, time_limit=args.time_limit, on_chunk=on_chunk)
    rows = store.read_rows(args.out)
    return {
        "action": "train",
        "folder": str(args.out),
        "networks": len(set(rows["network"].to_pylist())),
        "planned": plan.size(),
        "finished": finished,
        "seconds": time.perf_counter() - began,
    }


def show(result: dict[str, Any], console: Console) -> None:
    if result["action"] == "query":
        rows = result["rows"]
        table = Table(*(rows[0] if rows else ()), box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*map(str, row.values()))
        console.print(table)
        return
    console.print(facts_table({name: value for name, value in result.items() if name != "action"}))
