"""modgrok census: train the networks of a plan, and draw, fit and query what they show."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from modgrok.census import law, report, runner, store
from modgrok.census.annotation import annotate
from modgrok.census.plan import load_plan
from modgrok.commands.common import facts_table
from modgrok.errors import InputError
from modgrok.figures import census as figures
from modgrok.files import write_json
from modgrok.progress import progress_bar

EPILOG = """\
what it does:
  census PLAN.toml             train every network of the plan into --out; a census that was stopped goes on
  census annotate DIR          add verdicts, redundancy and complexities to every row (census PLAN does it at its end)
  census report DIR            tables and figures, into DIR/report or --out
  census fit DIR               the loss law, into DIR/calibration.json or --out
  census query DIR SQL         ask the table `census`, one row a network and measured step
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("words", nargs="+", metavar="PLAN | ACTION DIR", help="a plan, or one of the actions below")
    parser.add_argument("--out", type=Path, metavar="PATH", help="where to write; a census goes to census/ by default")
    parser.add_argument(
        "--time-limit", type=float, default=float("inf"), metavar="SECONDS", help="stop training in time"
    )
    parser.add_argument("--train-only", action="store_true", help="leave annotating for later")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    action, *rest = args.words
    if action in ACTIONS:
        wanted = 2 if action == "query" else 1
        if len(rest) != wanted:
            example = "query DIR 'SELECT …'" if action == "query" else f"{action} DIR"
            raise InputError(f"{action} takes {wanted} argument{'s'[: wanted - 1]}: modgrok census {example}")
        return {"action": action} | ACTIONS[action](Path(rest[0]), args, console)
    if rest:
        raise InputError(f"{action!r} is no action of census; there are {', '.join(ACTIONS)}, or give one plan")
    return {"action": "train"} | train(Path(action), args, console)


def train(path: Path, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    began, folder = time.perf_counter(), args.out or Path("census")
    plan = load_plan(path)

    def on_chunk(done: runner.ChunkReport) -> None:
        shape = done.shape
        console.print(
            f"{done.networks_done:,} of {done.networks_total:,} networks; p={shape.modulus} width {shape.width} "
            f"rows {shape.train_rows}: {done.networks} in {done.seconds:.1f} s; about {done.seconds_left:.0f} s left",
            highlight=False,
            soft_wrap=True,
        )

    finished = runner.run_census(plan, folder, time_limit=args.time_limit, on_chunk=on_chunk)
    if not args.train_only:
        annotated(folder, args, console)
    networks = len(set(store.read_rows(folder)["network"].to_pylist()))
    seconds = time.perf_counter() - began
    return {
        "folder": str(folder),
        "networks": networks,
        "planned": plan.size(),
        "finished": finished,
        "seconds": seconds,
    }


def annotated(folder: Path, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    with progress_bar(console, "annotating rows") as progress:
        rows = annotate(folder, progress=progress)
    return {"folder": str(folder), "rows": len(rows), "file": str(folder / store.WHOLE)}


def reported(folder: Path, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    census, out = report.read_annotated(folder), args.out or folder / "report"
    content = report.write_report(census, out)
    drawn = [draw(census, out / name) for name, draw in figures.FIGURES.items()]
    paths = [out / "report.md", out / "report.json", *(path for pair in drawn for path in pair)]
    return content | {"files": list(map(str, paths))}


def fitted(folder: Path, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    census = law.columns_of(store.read_rows(folder))
    out = args.out or folder / "calibration.json"
    write_json(out, law.calibrate(census, f"modgrok census fit {folder}"))
    return {"file": str(out), **law.evaluate(census)}


def queried(folder: Path, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return {"rows": store.query(folder, args.words[2])}


ACTIONS: dict[str, Callable[[Path, argparse.Namespace, Console], dict[str, Any]]] = {
    "annotate": annotated,
    "report": reported,
    "fit": fitted,
    "query": queried,
}


def show(result: dict[str, Any], console: Console) -> None:
    if result["action"] == "query":
        console.print(rows_table(result["rows"]))
        return
    if result["action"] == "fit":
        console.print(rows_table(result["settings"]))
        console.print(rows_table(result["families"]))
    facts = {name: value for name, value in result.items() if name != "action" and not isinstance(value, (list, dict))}
    console.print(facts_table({name: cell(value) for name, value in facts.items()}), highlight=False)
    for path in result.get("files", []):
        console.print(path, highlight=False)


def rows_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(*(rows[0] if rows else ()), box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(cell, row.values()))
    return table


def cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
