"""The verb `paper`: compute an item and draw it, or compute what is missing of all of them and write the report."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import write_json, write_text
from modgrok.base.locks import locked
from modgrok.base.progress import Progress, Say
from modgrok.base.provenance import KEY
from modgrok.base.repository import has_studies
from modgrok.base.results import Result, html_table, plain_object
from modgrok.base.stores import set_aside
from modgrok.experiments.elsewhere import check_address
from modgrok.figures.style import figure_paths, save_figure
from modgrok.report import page
from modgrok.report.comparing import standings
from modgrok.reproduction.evidence import fingerprint, read_result, sealed, write_result
from modgrok.reproduction.item import Effort, ItemResult, Size
from modgrok.reproduction.records import Recorded, read_recorded
from modgrok.reproduction.registry import ALL, ITEMS, Item


@dataclass(frozen=True, repr=False)
class Report(Result):
    """What the report shows: results computed here (those of `reused` earlier), and what was recorded elsewhere.

    `differing` are the items of which the two come to different verdicts.
    """

    size: Size
    items: tuple[ItemResult, ...]
    reused: tuple[str, ...]
    recorded: tuple[Recorded, ...]
    files: tuple[Path, ...]
    seconds: float

    def summary(self) -> str:
        verdicts = [str(result.verdict) for result in self.items]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
        return f"{counts}; {self.files[0]}"

    def to_json(self) -> dict[str, Any]:
        """In short: an item's rows and data are in a file of its own."""
        shown = ("item", "published", "measured", "verdict", "why", "seconds", "files", KEY)
        items = [
            {name: getattr(result, name) for name in shown} | {"reused": result.item in self.reused}
            for result in self.items
        ]
        recorded = [
            {"item": found.result.item, "where": found.where, "command": found.command}
            | {"verdict": found.result.verdict, KEY: found.result.provenance}
            for found in self.recorded
        ]
        told = {"item": "all", "size": self.size, "items": items, "recorded": recorded, "differing": self.differing}
        return plain_object(told | {"files": self.files, "seconds": self.seconds})

    @property
    def differing(self) -> tuple[str, ...]:
        found = standings({r.item: r for r in self.items}, {r.result.item: r for r in self.recorded})
        return tuple(each.item.name for each in found if each.differs)

    def _repr_html_(self) -> str:
        lines = {ITEMS[result.item].heading: f"{result.verdict}: {result.why}" for result in self.items}
        return html_table(lines, f"{page.TITLE} ({self.files[0]})")


def paper(
    item: str = "all",
    *,
    out: str | Path | None = None,
    quick: bool = False,
    full: bool = False,
    recorded: bool = True,
    time_limit: float | None = None,
    ray: str | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> ItemResult | Report:
    """Reproduce a table or figure of the paper, or all of them in one report.

    Args:
        item: a name in `modgrok.reproduction.registry.ITEMS` such as "table1", or "all".
        out: folder for data and figures; `paper` if not given, and `report` for all.
        quick: a smaller version, where the standard one takes long.
        full: every part, also those that take hours without a GPU.
        recorded: for all, whether to show what was recorded elsewhere beside what is computed here.
        time_limit: seconds after which no new part is begun, for the items that are made of parts; what is finished
            is kept in the folder, and a second call goes on.
        ray: "local", "auto" or HOST:PORT trains on a Ray cluster (docs/cluster.md), for the items that can.
        progress: called with the units of work that are done, and with those in all.
        say: called with lines for people, such as an estimate of time.

    Returns:
        The `ItemResult`, whose `figures()` a notebook shows; for all, the `Report`, which reuses the results in its
        folder that were made by the same code.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     result = paper("classes", out=folder)
    >>> result
    <ItemResult: Decided from the table of values: is it h(g1(n1) + g2(n2))?: reproduced, a checked witness or a \
checked proof for each>
    >>> result.measured["in_class"], result.measured["not_in_class"]
    (8, 11)
    """
    if quick and full:
        raise InputError("quick asks for less and full for everything; give one or the other")
    if item != "all" and item not in ITEMS:
        raise InputError(f"item must be all or one of {', '.join(ITEMS)}; got {item!r}")
    if not recorded and item != "all":
        raise InputError(f"{item} is computed here in any case; only all can leave out what was recorded")
    check_time_limit(item, time_limit)
    check_cluster(item, ray)
    effort = Effort(
        "quick" if quick else "full" if full else "standard",
        time_limit=time_limit,
        ray=ray,
        progress=progress or (lambda done, total: None),
        say=say or (lambda text: None),
    )
    folder = Path(out or ("report" if item == "all" else "paper"))
    with locked(folder, None if item == "all" else item):
        if item == "all":
            return write_report(report_items(effort.size), folder, effort, recorded=recorded)
        return compute_and_draw(ITEMS[item], folder, effort)


def check_time_limit(item: str, seconds: float | None) -> None:
    if seconds is None:
        return
    limited = [known.name for known in ALL if known.time_limited]
    if item not in limited:
        raise InputError(
            f"{item} takes no time limit, got {seconds:g} seconds; leave it out, or ask for {' or '.join(limited)}"
        )
    if not (math.isfinite(seconds) and seconds > 0):
        raise InputError(f"time limit must be a positive number of seconds, got {seconds:g}; 600 is ten minutes")


def check_cluster(item: str, ray: str | None) -> None:
    able = [known.name for known in ALL if known.on_clusters]
    if ray is not None and item not in able:
        raise InputError(f"{item} trains on no cluster, got ray {ray}; leave it out, or ask for {' or '.join(able)}")
    check_address(ray)


# ------------------------------------------------------------------------------------------ one item


def compute_and_draw(item: Item, out: Path, effort: Effort) -> ItemResult:
    """The item's result, stored in `out` before its figures are drawn."""
    result = item.compute(replace(effort, folder=out if item.keeps_parts else None))
    data = out / f"{item.name}.json"
    drawn = [path for name in item.pictures for path in figure_paths(out / name)]
    result = replace(result, files=(data, *drawn))
    write_json(data, sealed(result.to_json()))
    for name, figure in result.figures().items():
        save_figure(figure, out / name)
    return result


# ------------------------------------------------------------------------------------------ the report


def report_items(size: Size) -> list[Item]:
    """The items that a report of this size computes; of the others it shows what was recorded."""
    at_hand = [item for item in ALL if has_studies() or not item.is_study]
    return [item for item in at_hand if item.computed == "always" or (item.computed == "in full" and size == "full")]


def write_report(items: list[Item], out: Path, effort: Effort, *, recorded: bool = True) -> Report:
    """Compute what is missing, reuse what is stored, and write report.html and report.md to `out`."""
    start = time.perf_counter()
    results, reused = {}, []
    for k, item in enumerate(items):

        def share(done: int, total: int, k: int = k) -> None:
            effort.progress(round(100 * (k + done / total) / (len(items) + 1)), 100)  # and one for the page

        results[item.name], old = stored_or_computed(item, out / "results", replace(effort, progress=share))
        reused += [item.name] if old else []
        share(1, 1)
    shown = {item.name: found for item in ALL if recorded and (found := read_recorded(item.name)) is not None}
    own = {name: result for name, result in results.items() if ITEMS[name].computed != "elsewhere"}
    document = page.compose(own, shown, out / "images", effort.size)
    files = out / "report.html", out / "report.md"
    write_text(files[0], document.html())
    write_text(files[1], document.markdown(out))
    effort.progress(100, 100)
    seconds = time.perf_counter() - start
    return Report(effort.size, tuple(results.values()), tuple(reused), tuple(shown.values()), files, seconds)


def stored_or_computed(item: Item, folder: Path, effort: Effort) -> tuple[ItemResult, bool]:
    """The item's result, and whether it was stored. Long items keep finished parts, unless they are quick."""
    path, made_by = folder / f"{item.name}.json", fingerprint(item.name, effort.size)
    found, reason = read_result(path, made_by)
    if found is not None:
        return replace(found, files=(path,)), True
    effort.say(f"{item.name}: computing ({reason})")
    if reason.startswith("damaged"):
        set_aside(path, reason)
    parts = folder / "parts" if item.keeps_parts and not effort.quick else None
    result = replace(item.compute(replace(effort, folder=parts)), files=(path,))
    write_result(path, result, fingerprint(item.name, effort.size))  # which says if the code was edited meanwhile
    return result, False
