"""What the explorer refuses, each with a sentence: a page answers at once, so it asks for less than the library can."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from modgrok.base.errors import InputError

LARGEST_MODULUS, MOST_CELLS = 257, 1 << 17
LONGEST_EXPRESSION = 4000
LARGEST_UPLOAD, LARGEST_REQUEST = 1 << 22, 1 << 16
LONGEST_QUEUE = 20
MOST = {"mul_width": 4096, "add_width": 8192}
"""Settings of compilations, and the most that each may be; those of trainings say it themselves."""


def limits(trainings: Mapping[str, int]) -> dict[str, int]:
    """Every limit by the name of what it limits; those of trainings are given."""
    return {**trainings, **MOST} | {
        "modulus": LARGEST_MODULUS,
        "cells": MOST_CELLS,
        "expression": LONGEST_EXPRESSION,
        "upload": LARGEST_UPLOAD,
        "queue": LONGEST_QUEUE,
    }


def check_modulus(modulus: int) -> None:
    if modulus > LARGEST_MODULUS:
        raise InputError(
            f"the explorer takes moduli up to {LARGEST_MODULUS}, got {modulus:,}; the command line takes larger ones"
        )


def check_cells(sizes: tuple[int, ...]) -> None:
    if (cells := prod(sizes)) > MOST_CELLS:
        raise InputError(
            f"the explorer takes tables of up to {MOST_CELLS:,} cells, this one has {cells:,}; take a smaller modulus, "
            "fewer variables, or the command line"
        )


def check_settings(settings: Mapping[str, Any], limits: Mapping[str, int] = MOST) -> None:
    for name, most in limits.items():
        value = settings.get(name)
        if isinstance(value, (int, float)) and value > most:
            raise InputError(
                f"{name} may be {most:,} at most in the explorer, got {value:,}; the command line takes more"
            )
