"""modgrok paper: a table or figure of the paper, published numbers beside ours; or all of them in one report."""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from modgrok.errors import InputError
from modgrok.files import write_json
from modgrok.paper import ITEMS
from modgrok.progress import progress_bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    everything = {**ITEMS, "all": "one report of everything, HTML and Markdown; reuses what is stored in its folder"}
    parser.epilog = "items:\n" + "\n".join(f"  {name:10} {purpose}" for name, purpose in everything.items())
    parser.add_argument("item", choices=list(everything), metavar="ITEM", help="one of the items below")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for data and figures (paper; for all: report)")
    parser.add_argument("--quick", action="store_true", help="a smaller version, where the full one takes long")
    parser.add_argument("--full", action="store_true", help="every part, also those that take an hour on two cores")
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="strong: begin no new part after that; a second call goes on",
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.quick and args.full:
        raise InputError("--quick asks for less and --full for everything; give one or the other")
    if args.item == "all":
        return run_all(args, console)
    item, out = import_module(f"modgrok.paper.{args.item}"), args.out or Path("paper")
    options: dict[str, Any] = {"quick": args.quick}
    if getattr(item, "LONG", False):
        options |= {"full": args.full, "folder": out, "say": lambda text: console.print(text, highlight=False)}
    if args.time_limit is not None:
        if not getattr(item, "TIME_LIMITED", False):
            raise InputError(f"{args.item} takes no --time-limit; only strong does")
        options["time_limit"] = args.time_limit
    start = time.perf_counter()
    with progress_bar(console, args.item) as progress:
        result = item.compute(**options, progress=progress)
    result["seconds"] = time.perf_counter() - start
    data = out / f"{args.item}.json"
    write_json(data, result)
    figures = item.draw(result, out) if hasattr(item, "draw") else []
    return {**result, "files": [str(path) for path in (data, *figures)]}


def run_all(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from modgrok.report.build import build

    if args.time_limit is not None:
        raise InputError("all takes no --time-limit; only strong and endtoend do")
    size = "quick" if args.quick else "full" if args.full else "standard"
    return build(
        args.out or Path("report"),
        size=size,
        say=lambda text: console.print(text, highlight=False),
        bar=lambda item: progress_bar(console, item),
    )


def show(result: dict[str, Any], console: Console) -> None:
    if result["item"] == "all":
        show_all(result, console)
        return
    console.print(f"[bold]{result['title']}[/]", highlight=False)
    table = Table(*result["columns"].values(), box=None, pad_edge=False, header_style="bold")
    for row in result["rows"]:
        table.add_row(*(_cell(row[key]) for key in result["columns"]))
    console.print(table)
    for note in result["notes"]:
        console.print(note, highlight=False)
    files = f"files: {', '.join(result['files'])}"
    console.print(f"[bold]{result['verdict']}[/] in {result['seconds']:.1f} s; {files}", soft_wrap=True)


def show_all(result: dict[str, Any], console: Console) -> None:
    table = Table("item", "verdict", "seconds", "", box=None, pad_edge=False, header_style="bold")
    for entry in result["items"]:
        table.add_row(entry["item"], entry["verdict"], f"{entry['seconds']:.1f}", "reused" if entry["reused"] else "")
    for entry in result["recorded"]:
        table.add_row(entry["item"], entry["verdict"] or "", "", f"recorded on {entry['where']}")
    console.print(table)
    written = f"[bold]{result['report']}[/] written in {result['seconds']:.1f} s; the same as {result['markdown']}"
    console.print(written, soft_wrap=True)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
