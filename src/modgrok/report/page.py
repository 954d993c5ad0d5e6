"""The report's content: a section for each item of the registry, from results and from what was recorded before."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import jax

from modgrok import __version__
from modgrok.base.machine import machine
from modgrok.report import document
from modgrok.report.abstract import abstract
from modgrok.report.document import Block, Bullets, Code, Details, Document, Heading, Paragraph, Table
from modgrok.reproduction.evidence import png_files
from modgrok.reproduction.item import ItemResult, ItemTable, Size, settings_text
from modgrok.reproduction.records import Recorded
from modgrok.reproduction.registry import ALL, BEYOND, ERRATA, ITEMS, PAPER, Item

TITLE = "Grokking Modular Polynomials: a reproduction"
SIZES = {
    "quick": "a quick form: smaller networks and fewer seeds where the full one takes long",
    "standard": "as published where two processor cores suffice",
    "full": "in full",
}

SHORT = 12
"""Rows of a table that is not folded, where an item has no picture."""

Results = Mapping[str, ItemResult]
AllRecorded = Mapping[str, Recorded]


def compose(results: Results, recorded: AllRecorded, images: Path, size: Size) -> Document:
    """The whole page; pictures are drawn into `images`."""
    sections: list[Block] = [*opening(shown_first(results, recorded), images), *claims(results, recorded)]
    for section in (PAPER, ERRATA, BEYOND):
        items = [item for item in ALL if item.section == section]
        blocks = [block for item in items for block in item_section(item, results, recorded, images)]
        sections += [Heading(2, section), *blocks] if blocks else []
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    subtitle = f"modgrok {__version__} · computed on {computed_on()} · {SIZES[size]} · {made}"
    return Document(TITLE, subtitle, (*sections, *colophon(results, size)))


def shown_first(results: Results, recorded: AllRecorded) -> dict[str, ItemResult]:
    """The result of each item that counts: at full size where it was recorded, else as computed here."""
    return dict(results) | {name: found.result for name, found in recorded.items()}


# ------------------------------------------------------------------------------------------ abstract and claims


def opening(results: Results, images: Path) -> Iterator[Block]:
    """Five sentences and one picture."""
    yield Heading(2, "Abstract")
    yield Paragraph(abstract(results, [item.name for item in ALL if item.claim]))
    if "mathematics" in results:
        yield from pictures(ITEMS["mathematics"], results["mathematics"], images / "recorded")


def claims(results: Results, recorded: AllRecorded) -> Iterator[Block]:
    """One row for each claim of the paper, and one for each finding beyond it."""
    first = shown_first(results, recorded)
    items = [item for item in ALL if item.name in first]
    rows = [(item, *item.summarise(first[item.name])) for item in items]
    yield Heading(2, "The claims of the paper")
    yield Table(
        ("claim", "published", "ours", "verdict"),
        tuple(
            (f"{item.claim} ({link(item)})", published, measured, first[item.name].verdict)
            for item, published, measured, _ in rows
            if item.claim
        ),
    )
    yield Paragraph(LEGEND)
    yield Table(
        ("found besides", "in the literature", "ours"),
        tuple((link(item), published, measured) for item, published, measured, _ in rows if not item.claim),
    )


LEGEND = (
    "Reproduced: the same within the noise of seeds, or the statement holds. Partly reproduced: a part of it does not, "
    "and the section says which. Undecided: some case is open, and the section says which and what would settle it. "
    "Results were recorded at full size on the machine that their section names; what the machine of this page "
    "computed itself is folded under them."
)


def link(item: Item) -> str:
    return f"[{item.heading.split(':')[0]}](#{Heading(3, item.heading).anchor})"


# ------------------------------------------------------------------------------------------ items


def item_section(item: Item, results: Results, recorded: AllRecorded, images: Path) -> Iterator[Block]:
    """An item at full size, and folded below it what was computed here; if there is neither, how to make it."""
    here, elsewhere = results.get(item.name), recorded.get(item.name)
    if here is None and elsewhere is None:
        if item.computed != "always":
            yield Heading(3, item.heading)
            yield Paragraph(f"Not recorded yet. `{item.recorded_by}` makes it.")
        return
    yield Heading(3, item.heading)
    if item.lead:
        yield Paragraph(item.lead)
    if elsewhere is not None:
        lead = f"Recorded on {elsewhere.where}: `{elsewhere.command}`"
        yield from version(item, elsewhere.result, images / "recorded", lead)
        if here is not None:
            shown = tuple(version(item, here, images, f"Computed here in {here.seconds:.0f} s"))
            yield Details(f"The same on this machine, smaller: {here.verdict}", shown)
    elif here is not None:
        yield from version(item, here, images, f"Computed here in {here.seconds:.0f} s: `modgrok paper {item.name}`")


def version(item: Item, result: ItemResult, images: Path, lead: str) -> Iterator[Block]:
    """The verdict with its reason and the pictures; what is long is folded."""
    why = item.summarise(result).why
    yield Paragraph(f"{result.verdict[0].upper()}{result.verdict[1:]}: {why}.")
    drawn = [] if item.name == "mathematics" else [*pictures(item, result, images)]  # the abstract has its picture
    yield from drawn[:1]
    short = not item.pictures and not item.cards and len(result.rows) <= SHORT
    if short:
        yield table_block(result.table, result.title)
    if item.cards:
        yield errata_table(result)
    numbers: list[Block] = [] if short or item.cards else [table_block(result.table, result.title)]
    numbers += cards(result) if item.cards else []
    numbers += [table_block(table, table.caption) for table in result.further_tables]
    examples = [Code(item.example)] if item.example else []
    folded: tuple[Block, ...] = (Paragraph(f"{lead}."), *examples, *drawn[1:], *numbers, *notes(result))
    yield Details("Numbers, notes and commands", folded)


def errata_table(result: ItemResult) -> Table:
    """What the paper has and what is right; the evidence is folded."""
    names = ("number", "topic", "printed", "right")
    rows = tuple(tuple(str(row[name]) for name in names) for row in result.rows)
    return Table(tuple(result.columns[name] for name in names), rows)


def notes(result: ItemResult) -> Iterator[Block]:
    if result.notes:
        yield Bullets(result.notes)


def pictures(item: Item, result: ItemResult, images: Path) -> Iterator[Block]:
    """The item's pictures, drawn from its result."""
    if item.pictures:
        data = {key: value for key, value in result.to_json().items() if key not in ("seconds", "files")}
        for name, path in png_files(item.name, result.figures, data, images).items():
            picture = item.pictures[name]
            yield document.Picture(path, picture.alt, picture.caption or f"{result.title}.")


PAIR = "\npublished, ours"
"""How the heading of a column ends that has two numbers, for narrow consoles; here they stand in two columns."""


def table_block(table: ItemTable, caption: str) -> Table:
    headings = [part for heading in table.columns.values() for part in heading_parts(heading)]
    rows = [
        tuple(
            part for heading, text in zip(table.columns.values(), cells, strict=True) for part in parts(heading, text)
        )
        for cells in table.cells()
    ]
    return Table(tuple(headings), tuple(rows), caption)


def heading_parts(heading: str) -> tuple[str, ...]:
    name = heading.removesuffix(PAIR)
    return (f"{name}, published", f"{name}, ours") if heading.endswith(PAIR) else (heading,)


def parts(heading: str, text: str) -> tuple[str, ...]:
    published, _, ours = text.partition(", ")
    return (published, ours or "–") if heading.endswith(PAIR) else (text,)


def cards(result: ItemResult) -> Iterator[Block]:
    """Each row as a table of its own, under its number and topic."""
    _, _, *names = result.columns
    for row, (number, topic, *_) in zip(result.rows, result.table.cells(), strict=True):
        facts = [(result.columns[key], f"`{row[key]}`" if key == "command" else row[key]) for key in names]
        yield Table((f"{number}.", f"{topic[0].upper()}{topic[1:]}"), tuple(facts))


# ------------------------------------------------------------------------------------------ colophon


def colophon(results: Results, size: Size) -> Iterator[Block]:
    yield Heading(2, "How this page was made")
    yield Paragraph(
        "Seeds count from 0 wherever a number of seeds is given; the same seeds give the same numbers on the same "
        "processor, but not on a GPU, where many networks at once add gradients up in an order that is not fixed. To "
        "make this page again: `modgrok paper all --out report`, with `--quick` for the short form. Results are kept "
        "beside the page and used again while their code and checksums fit."
    )
    yield Details("Settings, seeds, versions and machine", tuple(settings_and_machine(results, size)))


def settings_and_machine(results: Results, size: Size) -> Iterator[Block]:
    rows = [(name, settings_text(result.settings), f"{result.seconds:.1f}") for name, result in results.items()]
    yield Table(("item", "settings", "seconds"), tuple(rows), f"Computed on this machine, {SIZES[size]}")
    here = machine("modgrok", "jax", "jaxlib", "optax", "numpy", "scipy", "matplotlib", "pyarrow", "safetensors")
    yield Table(("software", "version"), (("Python", platform.python_version()), *here.versions.items()), "Versions")
    facts = (("system", here.system), ("processor", f"{here.processor}, {here.cores} cores"), ("device", here.device))
    yield Table(("machine", ""), facts, "Machine")


def computed_on() -> str:
    here = machine()
    cores = f"{here.cores} processor cores"
    return cores if jax.default_backend() == "cpu" else f"{here.device}, {cores}"
