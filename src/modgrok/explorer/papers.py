"""Questions about the paper: every item with what was published, measured and recorded, and one of them in full."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.provenance import KEY, told
from modgrok.base.results import plain
from modgrok.explorer.asking import Params
from modgrok.explorer.recipes import of_paper
from modgrok.figures.style import save_figure
from modgrok.report.comparing import Standing
from modgrok.reproduction.evidence import fingerprint, read_result
from modgrok.reproduction.item import ItemResult, settings_text
from modgrok.reproduction.records import read_recorded
from modgrok.reproduction.registry import ALL, ITEMS, Item

SIZES = ("full", "standard", "quick")
REPORT = "report.html"


def results_folder(report: Path) -> Path:
    """Where the report keeps the results of its items."""
    return report / "results"


def stored(item: str, report: Path) -> tuple[ItemResult, str] | None:
    """The result of an item that was computed here by this code, and its size; what was recorded never is."""
    if ITEMS[item].computed == "elsewhere":
        return None
    path = results_folder(report) / f"{item}.json"
    for size in SIZES:
        found = read_result(path, fingerprint(item, size)).value
        if found is not None:
            return found, size
    return None


def paper(params: Params) -> dict[str, Any]:
    """Every item, in the order of the report."""
    report = Path(str(params["report"]))
    return {
        "items": [listed(item, report) for item in ALL],
        "report": (report / REPORT).exists(),
        "recipe": of_paper("all", quick=True),
    }


def listed(item: Item, report: Path) -> dict[str, Any]:
    found, recorded = stored(item.name, report), read_recorded(item.name)
    standing = Standing(item, None if found is None else found[0], recorded)
    return {
        "item": item.name,
        "heading": item.heading,
        "purpose": item.purpose,
        "section": item.section,
        "lead": item.lead,
        "computed": item.computed,
        "recipe": None if item.computed == "elsewhere" else of_paper(item.name),
        "result": None if found is None else short(item, found[0]) | {"size": found[1]},
        "recorded": None
        if recorded is None
        else short(item, recorded.result) | {"where": recorded.where, "command": recorded.command},
        "first": "recorded" if found is None or standing.is_smaller else "result",
        "differs": standing.differs,
    }


def short(item: Item, result: ItemResult) -> dict[str, Any]:
    summary = item.summarise(result)
    told_by = {KEY: plain(result.provenance), "made": told(result.provenance)}
    return {"verdict": str(result.verdict), "seconds": result.seconds, **summary._asdict(), **told_by}


def asked_item(params: Params) -> Item:
    name = str(params.get("item") or "")
    if name not in ITEMS:
        raise InputError(f"item must be one of {', '.join(ITEMS)}; got {name[:40]!r}")
    return ITEMS[name]


def known_item(params: Params) -> dict[str, Any]:
    """Whether there is such an item."""
    return {"item": asked_item(params).name}


def asked_result(params: Params) -> tuple[Item, ItemResult, str]:
    """The result of an item, and its origin: computed here, or recorded where that is asked for or is all there is."""
    item, report = asked_item(params), Path(str(params["report"]))
    here = None if params.get("from") == "recorded" else stored(item.name, report)
    if here is not None:
        return item, here[0], "result"
    recorded = read_recorded(item.name)
    if recorded is None:
        raise InputError(f"{item.name} has not been computed here; compute it first")
    return item, recorded.result, "recorded"


def paper_item(params: Params) -> dict[str, Any]:
    """One item in full: its tables as texts, and where its figures are."""
    item, result, origin = asked_result(params)
    return {
        "item": item.name,
        "origin": origin,
        "title": result.title,
        **short(item, result),
        "notes": list(result.notes),
        "settings": settings_text(result.settings),
        "tables": [
            {"caption": table.caption, "headings": list(table.columns.values()), "rows": table.cells()}
            for table in (result.table, *result.further_tables)
        ],
        "figures": [
            {
                "name": name,
                "alt": picture.alt,
                "caption": picture.caption,
                "url": f"/api/paper/figure?item={item.name}&name={name}&from={origin}",
            }
            for name, picture in item.pictures.items()
        ],
    }


def paper_figure(params: Params) -> tuple[bytes, str]:
    """One figure of an item as a PNG."""
    _, result, _ = asked_result(params)
    name, drawn = str(params.get("name") or ""), result.figures()
    if name not in drawn:
        raise InputError(f"{result.item} has the figures {', '.join(drawn) or 'none'}; got {name[:40]!r}")
    with TemporaryDirectory() as folder:
        save_figure(drawn[name], Path(folder) / name)
        return (Path(folder) / f"{name}.png").read_bytes(), f"{name}.png"
