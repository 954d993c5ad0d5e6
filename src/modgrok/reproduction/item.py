"""What every item has in common: how much of it to compute, what comes out, and the verdict on it."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast, runtime_checkable

import jax

from modgrok.base.errors import InputError
from modgrok.base.progress import Progress, Say
from modgrok.base.provenance import KEY, UNKNOWN, Made, read_made, told
from modgrok.base.results import Result, html_rows, html_table

if TYPE_CHECKING:
    from modgrok.figures.style import Figure

Size = Literal["quick", "standard", "full"]

Values = dict[str, Any]
"""Plain JSON values by name: what a result holds for files, scripts and figures."""


class Verdict(StrEnum):
    """How what was measured compares with what was published."""

    REPRODUCED = "reproduced"
    PARTLY = "partly reproduced"
    DIFFERS = "differs"
    FINDING = "finding"
    """Nothing comparable was published."""
    UNDECIDED = "undecided"
    """The experiment was too weak to tell."""


@dataclass(frozen=True)
class Effort:
    """How much of an item to compute, where to keep its finished parts, how long to go on, on whose cluster (`ray`, as
    `elsewhere` takes it), and whom to tell."""

    size: Size = "standard"
    folder: Path | None = None
    time_limit: float | None = None
    ray: str | None = None
    progress: Progress = lambda done, total: None
    say: Say = lambda text: None

    @property
    def quick(self) -> bool:
        return self.size == "quick"

    @property
    def everything(self) -> bool:
        """Every part, however long it takes on a processor; on a GPU or a cluster that is the standard."""
        strong = self.ray is not None or jax.default_backend() != "cpu"
        return self.size == "full" or (self.size == "standard" and strong)

    def settings(self) -> Values:
        """How much was asked for, as provenance says it."""
        asked = {"size": self.size, "everything": self.everything, "time_limit": self.time_limit, "ray": self.ray}
        return {name: value for name, value in asked.items() if value is not None}


class Summary(NamedTuple):
    """An item in three short texts."""

    published: str
    measured: str
    why: str


@dataclass(frozen=True)
class ItemTable:
    """Rows of equal keys, and the headings of the keys to print."""

    caption: str
    columns: dict[str, str]
    rows: list[Values]

    def cells(self, digits: int = 4) -> list[list[str]]:
        """What to print, row by row."""
        return [[cell(row[key], digits) for key in self.columns] for row in self.rows]


@dataclass(frozen=True, repr=False)
class ItemResult(Result):
    """The result of an item: settings, published and measured numbers, a verdict and a table.

    `columns` are the headings of those keys of `rows` that are printed, `further_tables` follow that one, and
    `data` is what figures need besides. `why`, `seconds`, `files` and `provenance` (where it comes from, one entry for
    each sitting) are filled in by whoever computes and stores it; a result that says itself where it comes from, since
    its parts do or since it was recorded, keeps that.
    """

    item: str
    title: str
    settings: Values
    published: Values
    measured: Values
    verdict: Verdict
    notes: tuple[str, ...]
    columns: dict[str, str]
    rows: list[Values]
    further_tables: tuple[ItemTable, ...] = ()
    data: Values = field(default_factory=dict)
    why: str = ""
    seconds: float = 0.0
    files: tuple[Path, ...] = ()
    provenance: Made = (UNKNOWN,)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> ItemResult:
        """The result that `to_json` made this of; keys of other versions are left out."""
        try:
            given = {known.name: stored[known.name] for known in fields(cls) if known.name in stored}
            return cls(
                **given
                | {
                    "verdict": Verdict(stored["verdict"]),
                    "notes": tuple(stored["notes"]),
                    "further_tables": tuple(ItemTable(**table) for table in stored.get("further_tables", ())),
                    "files": tuple(map(Path, stored.get("files", ()))),
                    KEY: read_made(stored.get(KEY)),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not the result of an item ({error}); compute it again with `modgrok paper`") from None

    def summary(self) -> str:
        return f"{self.title}: {self.verdict}" + (f", {self.why}" if self.why else "")

    @property
    def table(self) -> ItemTable:
        """The main table."""
        return ItemTable(self.title, self.columns, self.rows)

    def figures(self) -> dict[str, Figure]:
        """The item's figures by name, drawn from this result; a notebook shows them."""
        draw = getattr(implementation(self.item), "figures", None)
        return draw(self) if draw else {}

    def _repr_html_(self) -> str:
        facts = {"verdict": self.verdict, "why": self.why, "settings": settings_text(self.settings)}
        facts |= {"computed by": told(self.provenance)}
        shown = html_table({name: text for name, text in facts.items() if text}, self.title)
        tables = "".join(
            html_rows(list(table.columns.values()), table.cells(), table.caption)
            for table in (replace(self.table, caption=""), *self.further_tables)
        )
        return f"{shown}{tables}<ul>{''.join(f'<li>{html.escape(note)}</li>' for note in self.notes)}</ul>"


@runtime_checkable
class ItemModule(Protocol):
    """What the module of an item has; `figures(result)` as well, if the registry lists pictures of it.

    What computes a study is in the repository's folder of studies instead.
    """

    def compute(self, effort: Effort) -> ItemResult: ...
    def summarise(self, result: ItemResult) -> Summary: ...


def implementation(name: str) -> ItemModule:
    """The module of an item; importing it brings in what computes."""
    return cast(ItemModule, import_module(f"modgrok.reproduction.{name}"))


# ------------------------------------------------------------------------------------------ as text


def cell(value: object, digits: int = 4) -> str:
    """A value as tables print it: floats with so many significant digits, and as 1 only if they are no less."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{min(value, 1 - 10**-digits) if value < 1 else value:.{digits}g}"
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)


def settings_text(settings: Values) -> str:
    """Settings in a line; what was not chosen is left out."""
    return ", ".join(f"{key.replace('_', ' ')} {short(value)}" for key, value in settings.items() if value is not None)


def short(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)}" if value and isinstance(value[0], dict) else " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def span(values: list[float], form: str = ".4g", unit: str = "") -> str:
    """The smallest and the largest of some numbers, or the one that all of them are."""
    ends = list(dict.fromkeys(f"{value:{form}}" for value in (min(values), max(values))))
    return "–".join(ends) + unit
