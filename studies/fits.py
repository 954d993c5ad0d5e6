"""What a law that was fitted to a census comes with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from modgrok.base.results import Result

Law = TypeVar("Law")


@dataclass(frozen=True, repr=False)
class Fit(Result, Generic[Law]):
    """A law by the census in `folder`, which was written to `files`."""

    folder: Path
    files: tuple[Path, ...]
    law: Law
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The law's keys stand beside the others."""
        return self.keys_beside("law")
