"""What a part of the harness reports: how many trials of each category there were, and what they found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_SHOWN = 20
"""Findings of a part that are kept in words; all of them are counted."""


@dataclass
class Tally:
    """Counts of trials and of findings by category; a finding is something that breaks the rule of the harness.

    `seen` counts what else the trials had, of which each may have several; `megabytes` is the most that a batch
    took beyond what its process held before, where that was looked at.
    """

    tried: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    megabytes: int = 0

    def trial(self, category: str, *problems: str) -> None:
        """One trial, and what was wrong with it."""
        self.tried[category] += 1
        if problems:
            self.found[category] += 1
            self.shown += [f"{category}: {problem}" for problem in problems]
            del self.shown[MOST_SHOWN:]

    @contextmanager
    def weighed(self, most: int) -> Iterator[None]:
        """How much memory this process takes in the meantime, beyond what it holds; above `most` MB is a finding."""
        before = held_megabytes("VmRSS", forget=True)
        yield
        self.megabytes = max(self.megabytes, held_megabytes("VmHWM") - before)
        if self.megabytes > most:
            self.found["memory"] += 1
            self.shown.append(f"memory: the process took {self.megabytes} MB more")

    def add(self, other: Tally) -> None:
        self.megabytes = max(self.megabytes, other.megabytes)
        self.tried += other.tried
        self.found += other.found
        self.seen += other.seen
        self.shown = (self.shown + other.shown)[:MOST_SHOWN]

    def to_json(self) -> dict[str, Any]:
        return {
            "tried": dict(sorted(self.tried.items())),
            "found": dict(sorted(self.found.items())),
            "shown": self.shown,
            **({"seen": dict(sorted(self.seen.items()))} if self.seen else {}),
            **({"megabytes": self.megabytes} if self.megabytes else {}),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Tally:
        tried, found, seen = (Counter(stored.get(name, {})) for name in ("tried", "found", "seen"))
        return cls(tried, found, list(stored["shown"]), seen, stored.get("megabytes", 0))


def held_megabytes(line: str, *, forget: bool = False) -> int:
    """What Linux says that this process holds (VmRSS) or has held at most (VmHWM), which it can be told to forget."""
    if not Path("/proc/self/clear_refs").exists():
        return 0
    if forget:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(found.split()[1] for found in status.splitlines() if found.startswith(line))) // 1024


def problems_of(error: BaseException, allowed: type[BaseException]) -> Iterable[str]:
    """What is wrong with an error that a reader raised: it must be of the allowed kind, and one line."""
    if not isinstance(error, allowed):
        yield f"{type(error).__name__}: {str(error)[:200]}"
    elif not str(error).strip():
        yield "an error without a message"
