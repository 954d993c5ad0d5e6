"""The report's content: a section for each item of the registry, from results and from what was recorded before."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import jax

from modgrok import __version__
from modgrok.report import document
from modgrok.report.document import Block, Bullets, Code, Document, Heading, Paragraph, Table
from modgrok.report.pictures import png_files
from modgrok.reproduction.item import ItemResult, ItemTable, Size, settings_text
from modgrok.reproduction.records import Recorded
from modgrok.reproduction.registry import ALL, BEYOND, ERRATA, PAPER, Item

TITLE = "Grokking Modular Polynomials: a reproduction"
SIZES = {
    "quick": "a quick form: smaller networks and fewer seeds where the full one takes long",
    "standard": "as published where two processor cores suffice",
    "full": "in full",
}

Results = Mapping[str, ItemResult]
AllRecorded = Mapping[str, Recorded]


def compose(results: Results, recorded: AllRecorded, images: Path, size: Size) -> Document:
    """The whole page; pictures are drawn into `images`."""
    sections: list[Block] = [*summary(results, recorded)]
    for section in (PAPER, ERRATA, BEYOND):
        items = [item for item in ALL if item.section == section]
        blocks = [block for item in items for block in item_section(item, results, recorded, images)]
        sections += [Heading(2, section), *blocks] if blocks else []
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    subtitle = f"modgrok {__version__} · computed on {machine()} · {SIZES[size]} · {made}"
    return Document(TITLE, subtitle, (*sections, *colophon(results, size)))


# ------------------------------------------------------------------------------------------ summary


def summary(results: Results, recorded: AllRecorded) -> Iterator[Block]:
    yield Heading(2, "Summary")
    yield Paragraph(
        "Every table and figure of the paper was computed again, with code of our own. Published numbers stand beside "
        "measured ones, and each item ends in a verdict. Rows that name another machine were recorded there at full "
        "size; all others come from the machine that wrote this page."
    )
    headings = ("item", "verdict", "published", "measured", "why")
    captions = {True: "The paper's tables and figures", False: "Errata, and beyond the paper"}
    for of_the_paper, caption in captions.items():
        items = [item for item in ALL if (item.section == PAPER) == of_the_paper]
        rows = [row for item in items for row in summary_rows(item, results, recorded)]
        yield Table(headings, tuple(rows), caption)


def summary_rows(item: Item, results: Results, recorded: AllRecorded) -> Iterator[tuple[str, ...]]:
    """The item as computed here, and as recorded elsewhere."""
    name = item.heading.split(":")[0]
    if item.name in results:
        yield name, results[item.name].verdict, *item.summarise(results[item.name])
    if item.name in recorded:
        found = recorded[item.name]
        yield f"{name}, on {found.where}", found.result.verdict, *item.summarise(found.result)


# ------------------------------------------------------------------------------------------ items


def item_section(item: Item, results: Results, recorded: AllRecorded, images: Path) -> Iterator[Block]:
    """An item as computed here, and below it as recorded elsewhere; if neither, how to record it."""
    here, elsewhere = results.get(item.name), recorded.get(item.name)
    missing = here is None and elsewhere is None
    if missing and item.computed == "always":
        return
    yield Heading(3, item.heading)
    if item.lead:
        yield Paragraph(item.lead)
    if missing:
        yield Paragraph(f"Not recorded yet. On a machine with a GPU, `{item.recorded_by}` makes it.")
        return
    yield Code("\n".join(filter(None, (f"modgrok paper {item.name}", item.example))))
    if here is not None:
        yield from version(item, here, images, f"Computed here in {here.seconds:.0f} s")
        yield from notes(here)
    if elsewhere is not None:
        lead = f"Recorded on {elsewhere.where}: `{elsewhere.command}`"
        yield from version(item, elsewhere.result, images / "recorded", lead)
        if here is None or elsewhere.result.notes != here.notes:
            yield from notes(elsewhere.result)


def version(item: Item, result: ItemResult, images: Path, lead: str) -> Iterator[Block]:
    published, measured, why = item.summarise(result)
    facts = (("published", published), ("measured", measured), ("verdict", result.verdict), ("why", why))
    yield Table(("", lead), facts)
    yield from pictures(item, result, images)
    if item.cards:
        yield from cards(result)
    else:
        captioned = all(picture.caption for picture in item.pictures.values())
        yield table_block(result.table, result.title if captioned else "In numbers")
    yield from (table_block(table, table.caption) for table in result.tables)


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


def table_block(table: ItemTable, caption: str) -> Table:
    return Table(tuple(table.columns.values()), tuple(map(tuple, table.cells())), caption)


def cards(result: ItemResult) -> Iterator[Block]:
    """Each row as a table of its own, under its number and topic."""
    _, _, *names = result.columns
    for row, (number, topic, *_) in zip(result.rows, result.table.cells(), strict=True):
        facts = [(result.columns[key], f"`{row[key]}`" if key == "command" else row[key]) for key in names]
        yield Table((f"{number}.", f"{topic[0].upper()}{topic[1:]}"), tuple(facts))


# ------------------------------------------------------------------------------------------ colophon


def colophon(results: Results, size: Size) -> Iterator[Block]:
    yield Heading(2, "Settings, seeds, versions and machine")
    rows = [(name, settings_text(result.settings), f"{result.seconds:.1f}") for name, result in results.items()]
    yield Table(("item", "settings", "seconds"), tuple(rows), f"Computed on this machine, {SIZES[size]}")
    packages = ("jax", "jaxlib", "optax", "numpy", "scipy", "matplotlib", "pyarrow", "safetensors")
    versions = [(name, importlib.metadata.version(name)) for name in packages]
    facts = [("modgrok", __version__), ("Python", platform.python_version()), *versions]
    yield Table(("software", "version"), tuple(facts), "Versions")
    device = jax.devices()[0]
    yield Table(
        ("machine", ""),
        (
            ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
            ("processor cores", str(os.cpu_count())),
            ("JAX device", f"{device.device_kind} ({device.platform})"),
        ),
        "Machine",
    )
    yield Paragraph(
        "Seeds count from 0 wherever a number of seeds is given; the same seeds give the same numbers on the same "
        "machine. To make this page again: `modgrok paper all --out report`, with `--quick` for the short form. "
        "Results are kept beside the page and used again while their code and checksums fit."
    )


def machine() -> str:
    device = jax.devices()[0]
    cores = f"{os.cpu_count()} processor cores"
    return cores if device.platform == "cpu" else f"{device.device_kind}, {cores}"
