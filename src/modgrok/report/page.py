"""The report's content: a section for each item of the registry, from results and from what was recorded before.

The report in five sentences, each from the results that the page shows; what was not measured is not said.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import jax

from modgrok import __version__
from modgrok.base.machine import machine
from modgrok.base.provenance import KEY, told
from modgrok.base.results import percent
from modgrok.report import document
from modgrok.report.comparing import AllRecorded, Results, Standing, standings, unknown_version
from modgrok.report.document import Block, Bullets, Code, Details, Document, Heading, Notice, Paragraph, Table
from modgrok.reproduction.evidence import png_files
from modgrok.reproduction.item import ItemResult, ItemTable, Size, Verdict, settings_text
from modgrok.reproduction.registry import ALL, BEYOND, ERRATA, PAPER, Item
from modgrok.reproduction.strong import counted

TITLE = "Grokking Modular Polynomials: a reproduction"
SIZES = {
    "quick": "a quick form: smaller networks and fewer seeds where the full one takes long",
    "standard": "as published where two processor cores suffice",
    "full": "in full",
}

SHORT = 12
"""Rows of a table that is not folded, where an item has no picture."""


def compose(results: Results, recorded: AllRecorded, images: Path, size: Size) -> Document:
    """The whole page; pictures are drawn into `images`."""
    found = standings(results, recorded)
    sections: list[Block] = [*differences(found), *opening(found, images), *claims(found)]
    for section in (PAPER, ERRATA, BEYOND):
        items = [item for item in ALL if item.section == section]
        blocks = [block for item in items for block in item_section(item, found, images)]
        sections += [Heading(2, section), *blocks] if blocks else []
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    here = machine()
    device = "" if jax.default_backend() == "cpu" else f"{here.device}, "
    computed = f"{len(results)} items computed on {device}{here.cores} processor cores, {SIZES[size]}"
    subtitle = f"modgrok {__version__} · {computed} · {len(recorded) or 'nothing'} recorded elsewhere · {made}"
    return Document(TITLE, subtitle, (*sections, *colophon(results, size)))


# ------------------------------------------------------------------------------------------ abstract and claims


def differences(found: list[Standing]) -> Iterator[Block]:
    """Before all else: where this machine comes to another verdict than what was recorded."""
    differing = [f"{link(each.item)}: {each.sentence()}" for each in found if each.differs]
    if differing:
        yield Notice(f"This machine and what was recorded come to different verdicts. {'; '.join(differing)}.")


def opening(found: list[Standing], images: Path) -> Iterator[Block]:
    """Five sentences and one picture."""
    results = {each.item.name: each.verdict_of for each in found}
    yield Heading(2, "Abstract")
    yield Paragraph(abstract(results, [item.name for item in ALL if item.claim]))
    for each in (each for each in found if each.item.name == "mathematics"):
        folder = images if each.verdict_of is each.here else images / "recorded"
        yield from pictures(each.item, each.verdict_of, folder)


def claims(found: list[Standing]) -> Iterator[Block]:
    """One row for each claim of the paper, and one for each finding beyond it."""

    def published(each: Standing) -> str:
        return each.item.summarise(each.verdict_of).published

    yield Heading(2, "The claims of the paper")
    yield Table(
        ("claim", "published", "ours", "verdict"),
        tuple(
            (f"{each.item.claim} ({link(each.item)})", published(each), each.measured(), each.verdicts())
            for each in found
            if each.item.claim
        ),
    )
    yield Paragraph(LEGEND)
    yield Table(
        ("found besides", "in the literature", "ours"),
        tuple((link(each.item), published(each), each.measured()) for each in found if not each.item.claim),
    )


LEGEND = (
    "Reproduced: the same within the noise of seeds, or the statement holds. Partly reproduced: a part of it does not, "
    "and the section says which. Undecided: some case is open, and the section says which and what would settle it. "
    "What the machine of this page computed stands first: at full size it is the verdict, and what was recorded is "
    "shown beside it. Where this machine computed a smaller form, or nothing, the verdict is the recorded one, "
    "by the version and on the machine that its section names."
)


def link(item: Item) -> str:
    return f"[{item.heading.split(':')[0]}](#{Heading(3, item.heading).anchor})"


# ------------------------------------------------------------------------------------------ items


def item_section(item: Item, found: list[Standing], images: Path) -> Iterator[Block]:
    """What an item's verdict rests on, and folded below it the other version; if there is neither, how to make it."""
    each = next((each for each in found if each.item is item), None)
    if each is None:
        if item.computed != "always":
            yield Heading(3, item.heading)
            yield Paragraph(f"Neither computed here nor recorded. `{item.recorded_by}` makes it.")
        return
    yield Heading(3, item.heading)
    if item.lead:
        yield Paragraph(item.lead)
    if each.differs:
        yield Notice(f"The verdicts differ: {each.sentence()}.")
    for where, result in sorted(each.versions(), key=lambda version: version[1] is not each.verdict_of):
        folder = images / "recorded" if where == "recorded" else images
        blocks = version(item, result, folder, lead_of(where, each, result))
        if result is each.verdict_of:
            yield from blocks
        else:
            yield Details(f"The same {PLACES[where]}: {result.verdict}{unknown_version(result)}", tuple(blocks))


PLACES = {"here": "on this machine", "here, smaller": "on this machine, smaller", "recorded": "as it was recorded"}


def lead_of(where: str, each: Standing, result: ItemResult) -> str:
    """Where a version of an item comes from."""
    if where == "recorded" and each.recorded is not None:
        return f"Recorded on {each.recorded.where}: `{each.recorded.command}`; {told(result.provenance)}"
    return f"Computed here in {result.seconds:.0f} s: `modgrok paper {each.item.name}`; {told(result.provenance)}"


def version(item: Item, result: ItemResult, images: Path, lead: str) -> Iterator[Block]:
    """The verdict with its reason and the pictures; what is long is folded."""
    why = item.summarise(result).why
    yield Paragraph(f"{result.verdict[0].upper()}{result.verdict[1:]}{unknown_version(result)}: {why}.")
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
        data = {key: value for key, value in result.to_json().items() if key not in ("seconds", "files", KEY)}
        for name, path in png_files(item.name, result.figures, data, images).items():
            picture = item.pictures[name]
            yield document.Picture(path, picture.alt, picture.caption or f"{result.title}.")


PAIR = "\npublished, ours"
"""How the heading of a column ends that has two numbers, for narrow consoles; here they stand in two columns."""


def table_block(table: ItemTable, caption: str) -> Table:
    headings: list[str] = []
    columns: list[tuple[str, ...]] = []
    cells = list(zip(*table.cells(), strict=True)) or [()] * len(table.columns)
    for heading, texts in zip(table.columns.values(), cells, strict=True):
        if heading.endswith(PAIR):
            name, pairs = heading.removesuffix(PAIR), [text.partition(", ") for text in texts]
            headings += [f"{name}, published", f"{name}, ours"]
            columns += [tuple(published for published, _, _ in pairs), tuple(ours or "–" for _, _, ours in pairs)]
        else:
            headings.append(heading)
            columns.append(texts)
    return Table(tuple(headings), tuple(zip(*columns, strict=True)), caption)


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
        "processor, and on the same kind of GPU wherever eight networks or more are trained side by side. To "
        "make this page again: `modgrok paper all --out report`, with `--quick` for the short form, and with `--full "
        "--no-recorded` from one machine alone. Results are kept beside the page, and used again only by the code, "
        "data, libraries and kind of device that made them. Each says where it comes from; `modgrok paper diff` "
        "compares two reports."
    )
    yield Details("Settings, seeds, versions and machine", tuple(settings_and_machine(results, size)))


def settings_and_machine(results: Results, size: Size) -> Iterator[Block]:
    rows = [
        (name, settings_text(result.settings), f"{result.seconds:.1f}", told(result.provenance))
        for name, result in results.items()
    ]
    yield Table(("item", "settings", "seconds", "by"), tuple(rows), f"Computed on this machine, {SIZES[size]}")
    here = machine("modgrok", "jax", "jaxlib", "optax", "numpy", "scipy", "matplotlib", "pyarrow", "safetensors")
    yield Table(("software", "version"), (("Python", platform.python_version()), *here.versions.items()), "Versions")
    facts = (("system", here.system), ("processor", f"{here.processor}, {here.cores} cores"), ("device", here.device))
    yield Table(("machine", ""), facts, "Machine")


def abstract(results: Results, claims: list[str]) -> str:
    """`claims` are the items that test a claim of the paper."""
    tested = {name: results[name] for name in claims if name in results}
    return " ".join(filter(None, [reproduced(tested), *(sentence(results) for sentence in SENTENCES)]))


def reproduced(results: Results) -> str:
    """How many claims hold, and which are open or do not."""
    if not results:
        return ""
    by_verdict = {verdict: [r for r in results.values() if r.verdict is verdict] for verdict in Verdict}
    text = f"Of {len(results)} claims of the paper, computed again with code of our own, "
    parts = [
        f"{len(found)} {WORDS[verdict][len(found) > 1]}"
        for verdict, found in by_verdict.items()
        if found and verdict in WORDS
    ]
    return text + (", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]) + "."


WORDS = {
    Verdict.REPRODUCED: ("comes out as published", "come out as published"),
    Verdict.PARTLY: ("in part", "in part"),
    Verdict.DIFFERS: ("does not hold", "do not hold"),
    Verdict.UNDECIDED: ("stays open in some cases", "stay open in some cases"),
}
"""What one claim does, and what several do."""


def same_mathematics(results: Results) -> str:
    if "mathematics" not in results:
        return ""
    rows = results["mathematics"].rows
    common, error = min(row["common"] for row in rows), max(row["phase_error"] for row in rows)
    snapped = min(row["snapped"] for row in rows)
    return (
        f"Trained x² networks are the analytical ones, neuron by neuron: {percent(common, 0)} of the living neurons "
        f"have one frequency, their phases obey the phase law to {error:.2g} rad, and with every block of weights "
        f"replaced by one cosine they are right on {percent(snapped, 0)} of the inputs without zero."
    )


def strong_hypothesis(results: Results) -> str:
    if "strong" not in results:
        return ""
    found = results["strong"].measured["in_class"]
    learned = sum(count for name, count in found.items() if name.startswith("learned"))
    rising = found["still rising"] + found["not trained on"]
    return (
        f"Polynomials of the form h(g1(n1) + g2(n2)) are learned in {learned} of {sum(found.values())} cases by "
        f"{counted(results['strong'].rows, 'settings of architecture, loss, optimiser and regulariser')}, some with "
        f"more steps or more of the table; {rising or 'no'} cases are still rising at the last step, and "
        f"{found['at rest'] or 'none'} came to rest below 99 %."
    )


def from_scratch(results: Results) -> str:
    if "endtoend" not in results:
        return ""
    held, learned = (results["endtoend"].measured[name] for name in ("controls", "learned"))
    if learned["scratch"]:
        return f"From scratch, circuits of experts learn what is outside the form: {'; '.join(learned['scratch'])}."
    return (
        "Polynomials outside the form are not learned from scratch by circuits of experts either, in settings in "
        f"which the same circuits learn n1 + n2 ({sum(held.values())} of {len(held)} circuits)."
    )


def by_design(results: Results) -> str:
    if "networks" not in results:
        return ""
    result = results["networks"]
    _, exact, fewest = result.measured["neurons"].values()
    proved = ", and both are proved" if result.verdict is Verdict.FINDING else ""
    return (
        f"With phases by design instead of by chance, {exact} neurons compute exactly what the paper's "
        f"{result.published['neurons']:,} approximate, {fewest} are right on every input{proved}."
    )


SENTENCES: tuple[Callable[[Results], str], ...] = (same_mathematics, strong_hypothesis, from_scratch, by_design)
