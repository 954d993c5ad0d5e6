"""What studies share that go on where they were stopped: finished parts, and who works on the others."""

from __future__ import annotations

from collections.abc import Callable

from modgrok.experiments.elsewhere import workers_at
from modgrok.experiments.workers import Done, Task, Threads, Workers
from modgrok.reproduction.evidence import Parts

__all__ = ["Parts", "workers_for"]


def workers_for(work: Callable[[Task], Done], threads: int, ray: str | None) -> Workers[Task, Done]:
    """Workers at the address that is asked for, or threads of this process where none is."""
    return Threads(work, threads) if ray is None else workers_at(ray, work)
