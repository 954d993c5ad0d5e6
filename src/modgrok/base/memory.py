"""How much memory there is for this process, so that what cannot fit is refused in a line and not by the system."""

from __future__ import annotations

import os
from pathlib import Path

USUAL_MEMORY = 1 << 34
"""Bytes, where the system does not say."""
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""Where a container finds how much it may use; a number, or the word max."""
EXHAUSTED = "RESOURCE_EXHAUSTED"
"""How JAX says that there is no memory left."""
UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def machine_memory() -> int:
    """Bytes that this process can have at most: those of the machine, of its container, or that its user is allowed."""
    return int(min(physical_memory(), container_memory(), address_space()))


def physical_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # another system
        return USUAL_MEMORY


def container_memory() -> int | float:
    try:
        return int(CONTAINER_LIMIT.read_text())
    except (OSError, ValueError):
        return float("inf")


def address_space() -> int | float:
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, ValueError):
        return float("inf")
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there was no memory left; JAX, which has one of its own for it, is not imported."""
    return isinstance(error, MemoryError) or (type(error).__name__ == "JaxRuntimeError" and EXHAUSTED in str(error))


def size_text(size: float) -> str:
    """A number of bytes as people say it.

    >>> size_text(999), size_text(2_345_678), size_text(7e12)
    ('999 bytes', '2.3 MB', '7 TB')
    """
    for unit in UNITS:
        if size < 1000 or unit == UNITS[-1]:
            break
        size /= 1000
    return f"{size:.3g} {unit}" if unit == UNITS[0] else f"{size:.2g} {unit}" if size < 10 else f"{size:,.0f} {unit}"
