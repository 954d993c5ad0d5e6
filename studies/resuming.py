"""What studies share that go on where they were stopped: finished parts in a file, and who works on the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.stores import set_aside
from modgrok.experiments.elsewhere import workers_at
from modgrok.experiments.workers import Done, Task, Threads, Workers
from modgrok.reproduction.evidence import Fingerprint


class Parts:
    """Finished parts of a long item by their settings (plain JSON values), in one JSON file or in memory alone.

    A part counts only if it was made by the same things; others stay in the file. A file that is damaged or of another
    kind is set aside. Without `made_by` every part counts: those of a study that goes on for days.
    """

    def __init__(self, path: Path | None, made_by: Fingerprint | None = None) -> None:
        self.path, self.made_by = path, made_by
        self.parts: list[dict[str, Any]] = []
        if path is not None and path.exists():
            try:
                self.parts = [
                    {"settings": part["settings"], "result": part["result"], "fingerprint": part.get("fingerprint")}
                    for part in read_json(path)
                ]
            except (InputError, TypeError, KeyError, AttributeError) as error:
                set_aside(path, error)

    def get(self, settings: dict[str, Any]) -> Any:
        """The result with exactly these settings, or None."""
        return next((part["result"] for part in self.parts if part["settings"] == settings and self.counts(part)), None)

    def counts(self, part: dict[str, Any]) -> bool:
        return self.made_by is None or part["fingerprint"] == self.made_by

    def add(self, settings: dict[str, Any], result: Any) -> None:
        self.parts.append({"settings": settings, "result": result, "fingerprint": self.made_by})
        if self.path is not None:
            write_json(self.path, self.parts)


def workers_for(work: Callable[[Task], Done], threads: int, ray: str | None) -> Workers[Task, Done]:
    """Workers at the address that is asked for, or threads of this process where none is."""
    return Threads(work, threads) if ray is None else workers_at(ray, work)
