"""Results that were recorded once, on machines that most readers do not have; small summaries are in the package.

`benchmarks/record.py` makes them from `benchmarks/results`. Each file says where it was recorded and by which command.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any, NamedTuple

from modgrok.files import read_json

COMMANDS = {
    "table2": "modgrok paper table2",
    "figure1": "modgrok paper figure1",
    "figure2": "modgrok paper figure2",
    "widths": "modgrok paper widths",
    "strong": "modgrok paper strong --full",
    "endtoend": "modgrok paper endtoend --full",
    "census": "modgrok census benchmarks/census/plan.toml --out census",
}
"""What can be recorded, and by which command."""


class Recorded(NamedTuple):
    """A result, where it was computed, and by which command."""

    result: dict[str, Any]
    where: str
    command: str


def read_recorded(name: str) -> Recorded | None:
    """The recorded result of an item, if the package has one."""
    resource = files("modgrok.paper").joinpath("recorded", f"{name}.json")
    if not resource.is_file():
        return None
    with as_file(resource) as path:
        content = read_json(path)
    return Recorded(content["result"], content["where"], content["command"])
