"""Run what is missing, reuse what is stored, and write the report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any

from modgrok.files import write_text
from modgrok.paper import ITEMS
from modgrok.progress import Progress
from modgrok.report import html, markdown, page, store
from modgrok.report.recorded import COMMANDS, read_recorded

PAPER = ("table1", "table2", "figure1", "figure2", "figure3")
BEYOND = ("widths", "networks", "classes", "mixture", "errata")
STUDIES = ("endtoend", "strong")
"""Trained only if the full form is asked for; otherwise the recorded results are shown."""

Say = Callable[[str], None]
Bar = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
Entry = dict[str, Any]


def build(out: Path, *, size: str, say: Say, bar: Bar, items: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Write report.html and report.md to `out`; `size` is "quick", "standard" or "full".

    `bar(item)` is a context that gives the callback for an item's progress. `items` restricts the report.
    """
    start = time.perf_counter()
    names = items or (*PAPER, *BEYOND, *(STUDIES if size == "full" else ()))
    entries = {name: entry_of(name, out, size, say, bar) for name in names}
    recorded = {name: found for name in COMMANDS if (found := read_recorded(name)) is not None}
    document = page.compose(entries, recorded, out / "images", size)
    report, text = out / "report.html", out / "report.md"
    write_text(report, html.render(document))
    write_text(text, markdown.render(document, out))
    return {
        "item": "all",
        "size": size,
        "items": [
            {
                "item": name,
                **{key: entry["result"][key] for key in ("published", "measured", "verdict")},
                "reused": entry["reused"],
                "seconds": entry["seconds"],
            }
            for name, entry in entries.items()
        ],
        "recorded": [
            {"item": name, "where": found.where, "command": found.command, "verdict": found.result.get("verdict")}
            for name, found in recorded.items()
        ],
        "report": str(report),
        "markdown": str(text),
        "seconds": time.perf_counter() - start,
    }


def entry_of(item: str, out: Path, size: str, say: Say, bar: Bar) -> Entry:
    """An item's result with `reused` and the `seconds` that computing it took, whenever that was."""
    module = f"modgrok.{'paper' if item in ITEMS else 'report'}.{item}"
    path, made_by = out / "results" / f"{item}.json", store.fingerprint(item, size, module)
    found = store.read_result(path, made_by)
    if found.result is not None:
        return {"result": found.result, "reused": True, "seconds": found.seconds}
    say(f"{item}: computing ({found.reason})")
    start = time.perf_counter()
    with bar(item) as progress:
        result = compute(import_module(module), out, size, say, progress)
    seconds = time.perf_counter() - start
    store.write_result(path, result, seconds, made_by)
    return {"result": result, "reused": False, "seconds": seconds}


def compute(module: Any, out: Path, size: str, say: Say, progress: Progress) -> dict[str, Any]:
    """The item's result as plain JSON values. Long items keep finished parts, unless they are quick."""
    options: dict[str, Any] = {"quick": size == "quick", "progress": progress}
    if getattr(module, "LONG", False):
        parts = out / "results" / "parts"
        options |= {"full": size == "full", "say": say, "folder": None if size == "quick" else parts}
    return json.loads(json.dumps(module.compute(**options), allow_nan=False))
