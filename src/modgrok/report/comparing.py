"""The verb paper_diff: two reports, or a report and what ships, claim by claim.

Results are compared whatever made them, since that is the question; each says where it comes from. Damaged ones are
named and left out.

What stands: for each item, what was computed here beside what was recorded, and which of the two is the verdict.

What was computed here at the size of the recorded result is the verdict. A smaller form is not, but stands in the same
row, first; where the two verdicts differ, the page says so before all else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from modgrok.base.errors import InputError
from modgrok.base.provenance import VERSION_UNKNOWN, Made
from modgrok.base.results import Result, html_rows, plain
from modgrok.base.stores import MISFITS
from modgrok.reproduction.evidence import stored_result
from modgrok.reproduction.item import ItemResult
from modgrok.reproduction.records import Recorded, is_as_large, read_recorded
from modgrok.reproduction.registry import ALL, ITEMS, Item

RECORDED = "recorded"
"""What names the results that come with the package, in place of a folder."""
CLOSE = 1e-9
"""Relative difference of numbers that count as the same."""


@dataclass(frozen=True)
class Side:
    """An item in one of the two reports: `text` is what was measured, in words."""

    verdict: str
    text: str
    settings: dict[str, Any]
    provenance: Made


@dataclass(frozen=True)
class ClaimDiff:
    """One item in both (`sides`), or in one of them; `numbers` are the measured values that differ, by name.

    `same_verdict` and `same_settings` are null where it is in one of them alone.
    """

    item: str
    claim: str
    sides: tuple[Side | None, Side | None]
    same_verdict: bool | None = None
    same_settings: bool | None = None
    numbers: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        if self.same_verdict is None:
            return "only in the first" if self.sides[1] is None else "only in the second"
        if not self.same_verdict:
            return "another verdict"
        count = len(self.numbers)
        return f"same verdict, {count} other number{'s' * (count > 1)}" if count else "the same"


@dataclass(frozen=True, repr=False)
class PaperDiff(Result):
    """Two reports beside each other; `same` is whether all items that are in both have the same verdict in both."""

    reports: tuple[str, str]
    same: bool
    claims: tuple[ClaimDiff, ...]
    damaged: tuple[str, ...]

    def summary(self) -> str:
        both = [claim for claim in self.claims if claim.same_verdict is not None]
        other = [claim.item for claim in both if not claim.same_verdict]
        told_apart = f"other verdicts on {', '.join(other)}" if other else "the same verdicts"
        count = f"{len(both)} item{'s are' if len(both) > 1 else ' is'} in both"
        return f"{count} {' and '.join(self.reports)}: {told_apart}"

    def to_json(self) -> dict[str, Any]:
        claims = [plain(claim) | {"outcome": claim.outcome} for claim in self.claims]
        return {"item": "diff"} | Result.to_json(self) | {"claims": claims}

    def cells(self) -> list[tuple[str, str, str, str]]:
        """A line for each claim: item, verdicts, and what differs."""
        verdicts = [[side.verdict if side else "–" for side in claim.sides] for claim in self.claims]
        return [
            (claim.item, one, other, claim.outcome) for claim, (one, other) in zip(self.claims, verdicts, strict=True)
        ]

    def _repr_html_(self) -> str:
        return html_rows(("item", *self.reports, ""), self.cells(), self.summary())


def paper_diff(first: str | Path, second: str | Path) -> PaperDiff:
    """Compare two reports, or a report and what comes with the package, claim by claim.

    Args:
        first: the folder of a report, of results or of items that `paper` computed; or "recorded".
        second: the same.

    Returns:
        A `PaperDiff`: for each item the two verdicts, what was measured and where it comes from.

    >>> found = paper_diff("recorded", "recorded")
    >>> found.same, {claim.outcome for claim in found.claims}
    (True, {'the same'})
    """
    damaged: list[str] = []
    one, other = results_in(first, damaged), results_in(second, damaged)
    if not one.keys() & other.keys():
        raise InputError(
            f"nothing to compare: {first} has {', '.join(one) or 'no result'}, {second} has "
            f"{', '.join(other) or 'no result'}{''.join(f'; {text}' for text in damaged)}; give two reports with an "
            f"item in common, or {RECORDED} for what comes with the package"
        )
    claims = [compared(item, one.get(item.name), other.get(item.name)) for item in ALL if item.name in one | other]
    same = all(claim.same_verdict is not False for claim in claims)
    return PaperDiff((str(first), str(second)), same, tuple(claims), tuple(damaged))


def results_in(place: str | Path, damaged: list[str]) -> dict[str, ItemResult]:
    """The results of a report by item; what is damaged is named."""
    if str(place) == RECORDED:
        found = {name: read_recorded(name) for name in ITEMS}
        return {name: record.result for name, record in found.items() if record is not None}
    folder = Path(place)
    if not folder.is_dir():
        raise InputError(f"{place} is no folder; give that of a report, or {RECORDED} for what comes with the package")
    results = {}
    for path in (path for name in ITEMS for path in (folder / "results" / f"{name}.json", folder / f"{name}.json")):
        if path.is_file() and path.stem not in results:
            try:
                found_here = stored_result(path)
                if found_here.item != path.stem:
                    raise InputError(f"{path} holds the item {found_here.item!r:.40}")
                ITEMS[path.stem].summarise(found_here)
                results[path.stem] = found_here
            except (*MISFITS, LookupError) as error:
                why = f" ({error})" if isinstance(error, InputError) else ""
                damaged.append(f"{path} is no whole result of {path.stem}{why}")
    return results


def compared(item: Item, first: ItemResult | None, second: ItemResult | None) -> ClaimDiff:
    one, other = (None if found is None else side_of(item, found) for found in (first, second))
    claim = ClaimDiff(item.name, item.claim or item.purpose, (one, other))
    if first is None or second is None:
        return claim
    values = [dict(leaves(plain(found.measured))) for found in (first, second)]
    pairs = {name: (values[0].get(name), values[1].get(name)) for name in dict.fromkeys([*values[0], *values[1]])}
    return replace(
        claim,
        same_verdict=first.verdict is second.verdict,
        same_settings=plain(first.settings) == plain(second.settings),
        numbers={name: pair for name, pair in pairs.items() if not alike(*pair)},
    )


def side_of(item: Item, result: ItemResult) -> Side:
    return Side(str(result.verdict), item.summarise(result).measured, result.settings, result.provenance)


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and text inside a JSON value, by its path."""
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inside:
            yield from leaves(each, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def alike(one: Any, other: Any) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other))
    return bool(abs(one - other) <= CLOSE * max(abs(one), abs(other))) if numbers else bool(one == other)


Results = Mapping[str, ItemResult]
AllRecorded = Mapping[str, Recorded]


class Standing(NamedTuple):
    """An item that was computed here, recorded, or both."""

    item: Item
    here: ItemResult | None
    recorded: Recorded | None

    @property
    def is_smaller(self) -> bool:
        """Whether what was computed here is less than what was recorded."""
        if self.here is None or self.recorded is None:
            return False
        return not is_as_large(self.here, self.recorded.result)

    @property
    def verdict_of(self) -> ItemResult:
        """The result whose verdict is the verdict."""
        if self.here is not None and not self.is_smaller:
            return self.here
        assert self.recorded is not None
        return self.recorded.result

    @property
    def differs(self) -> bool:
        """Whether what was computed here comes to another verdict than what was recorded."""
        if self.here is None or self.recorded is None:
            return False
        return self.here.verdict is not self.recorded.result.verdict

    def versions(self) -> list[tuple[str, ItemResult]]:
        """What was computed here first, and what was recorded beside it; each with a word for which it is."""
        own = [] if self.here is None else [("here, smaller" if self.is_smaller else "here", self.here)]
        return own + ([] if self.recorded is None else [("recorded", self.recorded.result)])

    def verdicts(self) -> str:
        """The verdicts as a cell of a table, a line each; that of all there is here stands alone."""
        return "\n".join(
            str(found.verdict) if where == "here" else f"{found.verdict} ({where})" for where, found in self.versions()
        )

    def measured(self) -> str:
        """What was measured, as a cell of a table."""
        told: dict[str, list[str]] = {}
        for where, found in self.versions():
            told.setdefault(self.item.summarise(found).measured, []).append(where)
        if len(self.versions()) == 1:
            return next(iter(told))
        return "\n".join(f"{' and '.join(places)}: {text}" for text, places in told.items())

    def sentence(self) -> str:
        """What differs, in words."""
        return ", ".join(f"{found.verdict} ({where}{unknown_version(found)})" for where, found in self.versions())


def unknown_version(result: ItemResult) -> str:
    """Nothing, or that nobody knows what a result was computed by."""
    return "" if all(each.is_known for each in result.provenance) else f", {VERSION_UNKNOWN}"


def standings(results: Results, recorded: AllRecorded) -> list[Standing]:
    """Every item of which there is a result, in the order of the report."""
    found = (Standing(item, results.get(item.name), recorded.get(item.name)) for item in ALL)
    return [each for each in found if each.here is not None or each.recorded is not None]
