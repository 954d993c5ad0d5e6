"""What stands: for each item, what was computed here beside what was recorded, and which of the two is the verdict.

What was computed here at the size of the recorded result is the verdict. A smaller form is not, but stands in the same
row, first; where the two verdicts differ, the page says so before all else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from modgrok.base.provenance import VERSION_UNKNOWN
from modgrok.reproduction.item import ItemResult
from modgrok.reproduction.records import Recorded, is_as_large
from modgrok.reproduction.registry import ALL, Item

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
