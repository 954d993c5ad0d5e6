"""The machine that computes: its device, its processor, and the versions of what is installed."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import jax


@dataclass(frozen=True)
class Machine:
    """Where it was measured, and with which versions."""

    device: str
    processor: str
    cores: int | None
    system: str
    versions: Mapping[str, str]


def machine(*packages: str) -> Machine:
    """This one, with the versions of the packages that are installed."""
    versions = {}
    for name in packages:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return Machine(
        device=jax.devices()[0].device_kind,
        processor=processor_name(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        system=platform.platform(),
        versions=versions,
    )


def processor_name() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
