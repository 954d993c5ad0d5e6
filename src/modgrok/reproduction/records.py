"""Results that were recorded once, on machines that most readers do not have; small summaries are in the package.

`benchmarks/record.py` makes them from `benchmarks/results` and copies where those come from; what was computed before
anybody wrote that down says "version unknown".
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

from modgrok.base.errors import InputError
from modgrok.base.files import read_json
from modgrok.base.provenance import places
from modgrok.reproduction.evidence import check_seal
from modgrok.reproduction.item import ItemResult


@dataclass(frozen=True)
class Recorded:
    """A result that was recorded, and the command that makes it; the result says where it was computed."""

    result: ItemResult
    command: str

    @property
    def where(self) -> str:
        return places(self.result.provenance)


def read_recorded(name: str) -> Recorded | None:
    """The recorded result of an item, if the package has one; an `InputError` where it was changed by hand."""
    resource = files("modgrok.reproduction").joinpath("recorded", f"{name}.json")
    if not resource.is_file():
        return None
    with as_file(resource) as path:
        content = read_json(path)
        check_seal(path, content, "install modgrok again")
    result = ItemResult.from_json(content["result"])
    if result.item != name:
        raise InputError(f"{resource} holds the item {result.item!r:.40}; install modgrok again")
    return Recorded(result, content["command"])


def is_as_large(here: ItemResult, recorded: ItemResult) -> bool:
    """Whether what was computed here is of the same size as what was recorded: all of it, or with the same settings."""
    asked = here.provenance[-1].settings if here.provenance else {}
    if asked.get("everything") and "time_limit" not in asked:
        return True
    common = here.settings.keys() & recorded.settings.keys()
    return bool(common) and all(here.settings[name] == recorded.settings[name] for name in common)
