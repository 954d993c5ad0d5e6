"""modgrok paper: a table or figure of the paper, published numbers beside ours; or all of them in one report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modgrok.base.errors import InputError
from modgrok.base.printing import facts_table, text_table
from modgrok.base.progress import progress_bar
from modgrok.experiments.elsewhere import WHERE
from modgrok.reproduction.registry import ITEMS

if TYPE_CHECKING:
    from modgrok.report.comparing import PaperDiff
    from modgrok.report.reproducing import Report
    from modgrok.reproduction.item import ItemResult, ItemTable

SHOWN = 5
"""Numbers of a claim that are printed where two reports differ."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    purposes = {item.name: item.purpose for item in ITEMS.values()}
    purposes["all"] = "one report of everything, HTML and Markdown; reuses what is stored in its folder"
    purposes["diff A B"] = (
        "two reports, claim by claim; a report is its folder, or `recorded`: what comes with the package; exit code 1 "
        "where verdicts differ"
    )
    parser.epilog = "items:\n" + "\n".join(f"  {name:11}  {does}" for name, does in purposes.items())
    limited = " and ".join(item.name for item in ITEMS.values() if item.time_limited)
    items = [name.split()[0] for name in purposes]
    parser.add_argument("item", choices=items, metavar="ITEM", help="one of the items below")
    parser.add_argument("reports", nargs="*", metavar="REPORT", help="diff: the two to compare")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for data and figures (paper; for all: report)")
    parser.add_argument("--quick", action="store_true", help="a smaller version, where the standard one takes long")
    parser.add_argument("--full", action="store_true", help="every part, also those that take hours without a GPU")
    parser.add_argument(
        "--no-recorded", action="store_true", help="all: from this machine alone, without what was recorded elsewhere"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help=f"{limited}: begin no new part after that; a second call goes on",
    )
    able = " and ".join(item.name for item in ITEMS.values() if item.on_clusters)
    parser.add_argument("--ray", metavar="WHERE", help=f"{able}: {WHERE}")


def run(args: argparse.Namespace, console: Console) -> ItemResult | Report | PaperDiff:
    from modgrok.report.comparing import paper_diff
    from modgrok.report.reproducing import paper

    if args.item == "diff":
        if len(args.reports) != 2:
            raise InputError(f"diff takes two reports, got {len(args.reports)}: modgrok paper diff A B")
        return paper_diff(*args.reports)
    if args.reports:
        raise InputError(f"{args.item} takes no reports, got {' '.join(args.reports)}; only diff does")
    with progress_bar(console, f"paper {args.item}") as progress:
        return paper(
            args.item,
            out=args.out,
            quick=args.quick,
            full=args.full,
            recorded=not args.no_recorded,
            time_limit=args.time_limit,
            ray=args.ray,
            progress=progress,
            say=lambda text: console.print(text),
        )


def exit_code(result: ItemResult | Report | PaperDiff) -> int:
    return 0 if getattr(result, "same", True) else 1


def show(result: ItemResult | Report | PaperDiff, console: Console, args: argparse.Namespace) -> None:
    if args.item == "diff":
        show_diff(cast("PaperDiff", result), console)
    elif args.item == "all":
        show_report(result.to_json(), console)
    else:
        show_item(cast("ItemResult", result), console)


def show_item(result: ItemResult, console: Console) -> None:
    from modgrok.base.provenance import told

    console.print(Text.assemble((f"{result.verdict[0].upper()}{result.verdict[1:]}", "bold"), f": {result.why}"))
    console.print(Text(result.title, "bold"))
    if ITEMS[result.item].cards:
        show_cards(result, console)
    else:
        console.print(item_table(result.table, console))
    for table in result.further_tables:
        console.print(Text(f"\n{table.caption}", "italic"))
        console.print(item_table(table, console))
    for note in result.notes:
        console.print(Text(note))
    console.print(Text(told(result.provenance), "dim"))
    for path in result.files:
        console.print(Text(str(path)), soft_wrap=True)


def show_diff(found: PaperDiff, console: Console) -> None:
    from modgrok.base.provenance import told

    console.print(text_table(("item", *found.reports, ""), found.cells()))
    for claim in (claim for claim in found.claims if claim.same_verdict is False or claim.numbers):
        console.print(Text(f"\n{claim.item}: {claim.outcome}", "bold"))
        for name, side in zip(found.reports, claim.sides, strict=True):
            assert side is not None
            console.print(Text(f"{name}: {side.verdict}; {side.text} ({told(side.provenance)})"))
        for name, (one, other) in list(claim.numbers.items())[:SHOWN]:
            console.print(Text(f"  {name}: {one}, {other}"))
        if len(claim.numbers) > SHOWN:
            console.print(Text(f"  and {len(claim.numbers) - SHOWN} more; --json has them all"))
    for text in found.damaged:
        console.print(Text(text))
    console.print(Text(found.summary(), "bold"))


def item_table(table: ItemTable, console: Console) -> Table:
    """As wide as the console; no word and no number is cut, but where room is short numbers have fewer digits."""
    headings = list(table.columns.values())
    for digits, gap in ((4, 2), (3, 1)):
        rows, room = table.cells(digits), console.width - gap * (len(headings) - 1)
        widths = column_widths([list(column) for column in zip(headings, *rows, strict=True)], room)
        if sum(widths) <= room:
            break
    return text_table(headings, rows, widths=widths, gap=gap)


def column_widths(columns: list[list[str]], room: int) -> list[int]:
    """Widths that fit into the room, if need be: the widest column shrinks first, none below its longest word."""
    least = [max(len(word) for text in texts for word in text.split()) for texts in columns]
    widths = [max(len(line) for text in texts for line in text.split("\n")) for texts in columns]
    while sum(widths) > room and widths != least:
        _, widest = max((width, k) for k, width in enumerate(widths) if width > least[k])
        widths[widest] -= 1
    return widths


def show_cards(result: ItemResult, console: Console) -> None:
    """Each row under its number and topic, for texts that are too long for columns."""
    for number, topic, *texts in result.table.cells():
        console.print(Text(f"\n{number}. {topic}", "bold"))
        facts = zip(list(result.columns.values())[2:], texts, strict=True)
        console.print(facts_table(dict(facts)))


def show_report(result: dict[str, Any], console: Console) -> None:
    here = [
        (entry["item"], entry["verdict"], f"{entry['seconds']:.1f}", "reused" if entry["reused"] else "")
        for entry in result["items"]
    ]
    elsewhere = [(e["item"], e["verdict"], "", f"recorded on {e['where']}{unknown(e)}") for e in result["recorded"]]
    console.print(text_table(("item", "verdict", "seconds", ""), here + elsewhere))
    if result["differing"]:
        console.print(Text(f"Verdicts differ from what was recorded: {', '.join(result['differing'])}", "bold"))
    page, text = result["files"]
    written = f" written in {result['seconds']:.1f} s; the same as {text}"
    console.print(Text.assemble((page, "bold"), written), soft_wrap=True)


def unknown(entry: dict[str, Any]) -> str:
    """What is said of a recorded result of which nobody knows what computed it."""
    return ", version unknown" if any(each["version"] == "unknown" for each in entry["provenance"]) else ""
