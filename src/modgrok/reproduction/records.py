"""Results that were recorded once, on machines that most readers do not have; small summaries are in the package.

`benchmarks/record.py` makes them from `benchmarks/results`. Each file says where it was recorded and by which command.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

from modgrok.base.files import read_json
from modgrok.reproduction.item import ItemResult


@dataclass(frozen=True)
class Recorded:
    """A result, where it was computed, and by which command."""

    result: ItemResult
    where: str
    command: str


def read_recorded(name: str) -> Recorded | None:
    """The recorded result of an item, if the package has one."""
    resource = files("modgrok.reproduction").joinpath("recorded", f"{name}.json")
    if not resource.is_file():
        return None
    with as_file(resource) as path:
        content = read_json(path)
    return Recorded(ItemResult.from_json(content["result"]), content["where"], content["command"])
