"""The report's content: sections made from results and from what was recorded before."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import jax

from modgrok import __version__
from modgrok.report import beyond
from modgrok.report.document import Block, Bullets, Code, Document, Heading, Paragraph, Picture, Table
from modgrok.report.pictures import png_files
from modgrok.report.recorded import Recorded
from modgrok.report.summaries import Summary, summarise
from modgrok.report.tables import settings_text, table_of

TITLE = "Grokking Modular Polynomials: a reproduction"
SIZES = {
    "quick": "a quick form: smaller networks and fewer seeds where the full one takes long",
    "standard": "as published where two processor cores suffice",
    "full": "in full",
}
NAMES = {
    "table1": "Table 1: analytical networks on polynomials",
    "table2": "Table 2: trained networks inside and outside the form",
    "figure1": "Figure 1: width against the number of terms",
    "figure2": "Figure 2: training on a sum of four terms",
    "figure3": "Figure 3: training on a product",
    "widths": "Widths by design",
    "networks": "Exact networks",
    "classes": "Which polynomials have the form",
    "mixture": "A mixture of trained experts",
    "errata": "Errata",
    "endtoend": "End-to-end training",
    "strong": "The strong hypothesis",
}
DESCRIPTIONS = {
    "figure1": "Left: best accuracy against width on a logarithmic axis, one rising curve for each number of "
    "terms. Right: the "
    "width that reaches 100 % against the number of terms, on a straight line in a logarithmic plot.",
    "figure2": "Three panels: falling losses, rising accuracies with the mean inverse participation ratio, and "
    "histograms "
    "of that ratio before and after training.",
    "figure3": "Three panels: falling losses, rising accuracies with the mean inverse participation ratio, and "
    "histograms "
    "of that ratio before and after training.",
    "widths": "Hidden neurons against the number of terms for five constructions; those of modgrok need the "
    "fewest. Right: "
    "neurons of long sums grow on a straight line.",
    "endtoend": "Learning curves of the joined architecture from several starts, one panel for each polynomial.",
    "endtoend-fine-tuning": "Learning curves of the joined experts while they train on, one for each weight decay.",
    "endtoend-control": "Training and test accuracy of the circuit from scratch, beside the same circuit on n1 + n2.",
    "strong": "A heat map of test accuracies: settings as rows, polynomials as columns, predicted accuracies first.",
}

CAPTIONS = {
    "endtoend-fine-tuning": "Trained experts that are trained on as one network, by weight decay and β.",
    "endtoend-control": "The circuit from scratch, and the same circuit with the same settings on n1 + n2.",
}
"""Where the item's title does not say it."""

Entries = dict[str, dict[str, Any]]
AllRecorded = dict[str, Recorded]


def compose(entries: Entries, recorded: AllRecorded, images: Path, size: str) -> Document:
    """The whole page; pictures are drawn into `images`."""
    sections = [
        *summary(entries, recorded),
        *paper_sections(entries, recorded, images),
        *errata(entries),
        *beyond_sections(entries, recorded, images),
        *colophon(entries, size),
    ]
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    subtitle = f"modgrok {__version__} · computed on {machine()} · {SIZES[size]} · {made}"
    return Document(TITLE, subtitle, tuple(sections))


# ------------------------------------------------------------------------------------------ summary


def summary(entries: Entries, recorded: AllRecorded) -> Iterator[Block]:
    yield Heading(2, "Summary")
    yield Paragraph(
        "Every table and figure of the paper was computed again, with code of our own. Published numbers stand beside "
        "measured ones, and each item ends in a verdict. Rows that name another machine were recorded there at "
        "full size; "
        "all others come from the machine that wrote this page."
    )
    paper = [*rows_of("table1", entries, recorded), *rows_of("table2", entries, recorded)]
    paper += [row for item in ("figure1", "figure2", "figure3") for row in rows_of(item, entries, recorded)]
    headings = ("item", "verdict", "published", "measured", "why")
    yield Table(headings, tuple(paper), "The paper's tables and figures")
    others = ("networks", "widths", "classes", "mixture", "endtoend", "strong", "errata")
    rows = [row for item in others for row in rows_of(item, entries, recorded)]
    yield Table(headings, tuple(rows), "Beyond the paper, and errata")


def rows_of(item: str, entries: Entries, recorded: AllRecorded) -> Iterator[tuple[str, ...]]:
    for result, where in versions(item, entries, recorded):
        found: Summary = summarise(result)
        name = NAMES[item].split(":")[0] + (f", on {where}" if where else "")
        yield (name, result["verdict"], found.published, found.measured, found.why)


def versions(item: str, entries: Entries, recorded: AllRecorded) -> Iterator[tuple[dict[str, Any], str]]:
    """The item's results, and where they were computed if not here."""
    if item in entries:
        yield entries[item]["result"], ""
    if item in recorded:
        yield recorded[item].result, recorded[item].where


# ------------------------------------------------------------------------------------------ items


def paper_sections(entries: Entries, recorded: AllRecorded, images: Path) -> Iterator[Block]:
    yield Heading(2, "Tables and figures of the paper")
    for item in ("table1", "table2", "figure1", "figure2", "figure3"):
        if item in entries:
            yield from item_section(item, entries, recorded, images)


def item_section(item: str, entries: Entries, recorded: AllRecorded, images: Path) -> Iterator[Block]:
    """An item as computed here, and below it as recorded elsewhere."""
    yield Heading(3, NAMES[item])
    yield Code(f"modgrok paper {item}")
    if item in entries:
        entry = entries[item]
        yield from version_blocks(entry["result"], images, f"Computed here in {entry['seconds']:.0f} s")
        yield Bullets(tuple(entry["result"]["notes"]))
    if item in recorded:
        found = recorded[item]
        yield from version_blocks(found.result, images / "recorded", f"Recorded on {found.where}: `{found.command}`")
        if item not in entries or found.result["notes"] != entries[item]["result"]["notes"]:
            yield Bullets(tuple(found.result["notes"]))


def version_blocks(result: dict[str, Any], images: Path, lead: str) -> Iterator[Block]:
    found = summarise(result)
    facts = (
        ("published", found.published),
        ("measured", found.measured),
        ("verdict", result["verdict"]),
        ("why", found.why),
    )
    yield Table(("", lead), facts)
    yield from pictures(result, images)
    rows = [row for row in result["rows"] if result["item"] != "table2" or row["test_accuracy"] is not None]
    yield table_of(result | {"rows": rows}, "In numbers" if result["item"] in DESCRIPTIONS else result["title"])


def pictures(result: dict[str, Any], images: Path) -> Iterator[Block]:
    """The pictures of an item of the paper, drawn from its result."""
    item = result["item"]
    if item in DESCRIPTIONS:
        for path in png_files(item, import_module(f"modgrok.paper.{item}").draw, result, images):
            yield Picture(path, DESCRIPTIONS[path.stem], CAPTIONS.get(path.stem, result["title"] + "."))


def errata(entries: Entries) -> Iterator[Block]:
    if "errata" not in entries:
        return
    yield Heading(2, NAMES["errata"])
    yield Paragraph(
        "Where the paper's text does not lead to its numbers, or is silent. Each point was measured again when "
        "this page "
        "was made; the command under it shows the same."
    )
    for row in entries["errata"]["result"]["rows"]:
        topic = row["topic"][0].upper() + row["topic"][1:]
        yield Heading(3, f"{row['number']}. {topic}")
        facts = (("printed", row["printed"]), ("right", row["right"]), ("measured", row["evidence"]))
        yield Table(("", ""), facts)
        yield Code(row["command"])


def beyond_sections(entries: Entries, recorded: AllRecorded, images: Path) -> Iterator[Block]:
    yield Heading(2, "Beyond the paper")
    yield from beyond.networks(entries)
    if "widths" in entries:
        yield from item_section("widths", entries, recorded, images)
    yield from beyond.classes(entries)
    yield from beyond.loss_law(recorded, images)
    yield from beyond.mixture(entries)
    for item in ("endtoend", "strong"):
        if item in entries or item in recorded:
            yield from item_section(item, entries, recorded, images)
            yield from beyond.conclusions([result for result, _ in versions(item, entries, recorded)])
        else:
            yield Heading(3, NAMES[item])
            yield Paragraph(f"Not recorded yet. On a machine with a GPU, `{beyond.COMMANDS[item]}` makes it.")


# ------------------------------------------------------------------------------------------ colophon


def colophon(entries: Entries, size: str) -> Iterator[Block]:
    yield Heading(2, "Settings, seeds, versions and machine")
    rows = [
        (item, settings_text(entry["result"]["settings"]), f"{entry['seconds']:.1f}") for item, entry in entries.items()
    ]
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
        "machine. "
        "To make this page again: `modgrok paper all --out report`, with `--quick` for the short form. Results are "
        "kept beside "
        "the page and used again while their code and checksums fit."
    )


def machine() -> str:
    device = jax.devices()[0]
    cores = f"{os.cpu_count()} processor cores"
    return cores if device.platform == "cpu" else f"{device.device_kind}, {cores}"
