"""What studies share that go on where they were stopped: finished parts, and who works on the others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.progress import Say
from modgrok.base.provenance import KEY, Made, merged, provenance, read_made
from modgrok.base.results import plain
from modgrok.base.stores import set_aside
from modgrok.experiments.elsewhere import workers_at
from modgrok.experiments.workers import Done, Task, Threads, Workers
from modgrok.reproduction.evidence import Fingerprint, fault_of, sealed
from modgrok.reproduction.registry import ITEMS


def workers_for(work: Callable[[Task], Done], threads: int, ray: str | None) -> Workers[Task, Done]:
    """Workers at the address that is asked for, or threads of this process where none is."""
    return Threads(work, threads) if ray is None else workers_at(ray, work)


class Parts:
    """Finished parts of a long item by their settings (plain JSON values), in one JSON file or in memory alone.

    A part counts only if it is whole and was made by the same things (`fingerprint`). Others are named and stay in the
    file; a file that is damaged or of another kind is set aside. Without `made_by` all parts of a file are there to be
    read, whatever made them.
    """

    def __init__(self, path: Path | None, made_by: Fingerprint | None = None, say: Say = lambda text: None) -> None:
        self.path, self.made_by, self.began = path, made_by, time.perf_counter()
        self.parts: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []
        reasons: Counter[str] = Counter()
        for part in self.stored():
            reason = self.fault_of(part)
            (self.others if reason else self.parts).append(part)
            reasons[reason] += bool(reason)
        for reason, count in (+reasons).items():
            say(f"{path}: {count} part{'s' * (count > 1)} left aside ({reason})")

    def stored(self) -> list[dict[str, Any]]:
        if self.path is None or not self.path.exists():
            return []
        try:
            return read_parts(self.path)
        except InputError as error:
            set_aside(self.path, error)
            return []

    def fault_of(self, part: dict[str, Any]) -> str:
        try:
            return "" if self.made_by is None else fault_of(part, self.made_by)
        except (TypeError, KeyError, AttributeError):
            return "nobody knows what made it"

    def counts(self, part: dict[str, Any]) -> bool:
        return not self.fault_of(part)

    def get(self, settings: dict[str, Any]) -> Any:
        """The result with exactly these settings, or None."""
        return next((part["result"] for part in self.parts if part["settings"] == settings), None)

    def made(self) -> Made:
        """Where the parts come from that count."""
        return merged(*(read_made(part.get(KEY)) for part in self.parts)) if self.parts else ()

    def add(self, settings: dict[str, Any], result: Any) -> None:
        """A part that this process has just computed, since the one before it was added."""
        assert self.made_by is not None, "parts to be read are not added to"
        roots = ITEMS[self.made_by["item"]].roots if "item" in self.made_by else ()
        made, self.began = provenance(self.began, {}, *roots), time.perf_counter()
        part = {"fingerprint": self.made_by, "settings": settings, "result": result, KEY: (made,)}
        self.parts.append(sealed(plain(part)))
        if self.path is not None:
            write_json(self.path, [*self.others, *self.parts])


def read_parts(path: Path) -> list[dict[str, Any]]:
    """Every part in a file, whatever it was made by; an `InputError` where it holds something else."""
    try:
        stored = plain(read_json(path))
    except RecursionError:
        raise InputError(f"{path} is nested too deeply for parts; compute them again") from None
    if not isinstance(stored, list) or not all(isinstance(part, dict) for part in stored):
        raise InputError(f"{path} must hold a list of parts; compute them again")
    if any(not {"settings", "result"} <= part.keys() for part in stored):
        raise InputError(f"{path} has parts without settings or result; compute them again")
    return stored
