"""Old names that still work: they warn, say the new one, and leave on a date that was set when they were made old.

docs/stability.md has the rule: what 0.N calls old works in 0.N and is gone in 0.N+1 at the earliest. A test compares
`DEPRECATED` with the version, so a release cannot leave a name in place beyond its time, nor drop one before it.
"""

from __future__ import annotations

import warnings
from typing import Any

DEPRECATED: list[Renamed] = []
"""Every old name of the modules that are imported."""


class Renamed:
    """An attribute under its old name: `certificate = Renamed("proof", since="0.3", gone="0.4")` in a class."""

    def __init__(self, new: str, *, since: str, gone: str) -> None:
        if minor(gone) <= minor(since):
            raise ValueError(f"what is old since {since} works there, so it cannot be gone in {gone}")
        self.new, self.since, self.gone = new, since, gone
        DEPRECATED.append(self)

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.old = owner.__name__, name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        warnings.warn(str(self), DeprecationWarning, stacklevel=2)
        return getattr(instance, self.new)

    def __str__(self) -> str:
        name = self.owner.lower()
        return (
            f"{name}.{self.old} is called {name}.{self.new} since modgrok {self.since}, and is gone in "
            f"{self.gone}; use {name}.{self.new}"
        )


def minor(version: str) -> tuple[int, int]:
    """The first two numbers of a version.

    >>> minor("0.10.2") > minor("0.9")
    True
    """
    first, second, *_ = version.split(".")
    return int(first), int(second)
