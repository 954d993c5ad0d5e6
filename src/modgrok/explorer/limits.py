"""What the explorer refuses, each with a sentence: a page answers at once, so it asks for less than the library can.

A public explorer (`modgrok explore --public`) refuses more, since strangers share it. `SECURITY.md` says against whom
each number stands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from modgrok.algebra.table_files import SUFFIXES
from modgrok.base.errors import InputError


class TooLarge(InputError):
    """A function, or something else, that is larger than the explorer takes; of a `function` it shows a part."""

    function: Any = None


LONGEST_EXPRESSION = 4000
LARGEST_REQUEST = 1 << 16
VARIABLE = "MODGROK_EXPLORER"
"""Tells a child process which limits hold; "public" are the small ones."""
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Of one explorer. Sizes are in bytes, times in seconds; None is no limit.

    `tables` and `networks` are the endings of files that are taken: a public explorer opens none whose reader is large.
    `settings` are the most that settings of trainings and compilations may be, where they do not say it themselves.
    """

    place: str = "the explorer"
    more: str = "the command line takes"
    modulus: int = 257
    cells: int = 1 << 17
    parameters: int | None = None
    settings: Mapping[str, int] = field(default_factory=lambda: {"mul_width": 4096, "add_width": 8192})
    upload: int = 4 * MEGABYTE
    network: int = 32 * MEGABYTE
    tables: tuple[str, ...] = SUFFIXES
    networks: tuple[str, ...] = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".onnx", ".npy")
    queue: int = 20
    seconds: float | None = None
    streams: int = 100
    patience: float = 120.0
    memory: int | None = None

    def to_json(self, settings: Mapping[str, int]) -> dict[str, int]:
        """Every limit of what a page sends by the name of what it limits; those of trainings are given."""
        named = ("modulus", "cells", "upload", "network", "queue")
        return {**settings, **self.settings} | {name: getattr(self, name) for name in named}

    def most(self, name: str, usual: int | None) -> int | None:
        """The most that a setting of trainings may be, which says `usual` itself."""
        allowed = [number for number in (usual, self.settings.get(name)) if number is not None]
        return min(allowed, default=None)


LOCAL = Limits()
PUBLIC = Limits(
    place="this public demo",
    more="modgrok on your own machine (pip install modgrok) takes",
    modulus=128,
    cells=1 << 14,
    parameters=300_000,
    settings={
        **{"width": 512, "steps": 5000, "snapshots": 20, "depth": 3, "heads": 8, "mlp_width": 1024},
        **{"power": 6, "beside": 1, "room": 1 << 14, "mul_width": 1024, "add_width": 2048},
    },
    upload=MEGABYTE // 4,
    network=4 * MEGABYTE,
    tables=(".csv", ".npy"),
    networks=(".safetensors", ".npy"),
    queue=12,
    seconds=60.0,
    streams=200,
    patience=30.0,
    memory=1200 * MEGABYTE,
)


def here() -> Limits:
    """Those of this process."""
    return PUBLIC if os.environ.get(VARIABLE) == "public" else LOCAL


def check_modulus(modulus: int) -> None:
    limits = here()
    if modulus > limits.modulus:
        raise TooLarge(
            f"{limits.place} takes moduli up to {limits.modulus}, got {modulus:,}; {limits.more} larger ones"
        )


def check_cells(sizes: tuple[int, ...]) -> None:
    limits = here()
    if (cells := prod(sizes)) > limits.cells:
        raise TooLarge(
            f"{limits.place} takes tables of up to {limits.cells:,} cells, this one has {cells:,}; take a smaller "
            f"modulus or fewer variables; {limits.more} larger ones"
        )


def check_settings(settings: Mapping[str, Any], most: Mapping[str, int]) -> None:
    limits = here()
    for name, number in most.items():
        value = settings.get(name)
        if isinstance(value, (int, float)) and value > number:
            raise InputError(f"{name} may be {number:,} at most in {limits.place}, got {value:,}; {limits.more} more")


def check_parameters(parameters: int) -> None:
    limits = here()
    if limits.parameters is not None and parameters > limits.parameters:
        raise InputError(
            f"{limits.place} trains networks of up to {limits.parameters:,} weights, this one has {parameters:,}; take "
            f"a smaller width, or fewer layers; {limits.more} more"
        )
