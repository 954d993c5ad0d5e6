"""Arrays in JSON: base64 of little-endian numbers, row by row, which a page reads without parsing digits."""

from __future__ import annotations

from base64 import b64encode

import numpy as np
from jaxtyping import Shaped

UNKNOWN_CELL = 65535
"""Stands for an unknown cell where a table is sent as u16."""


def encoded(array: Shaped[np.ndarray, "..."], kind: str) -> str:
    """`kind` is u8, u16 or f32."""
    return b64encode(np.ascontiguousarray(array, {"u8": "<u1", "u16": "<u2", "f32": "<f4"}[kind]).tobytes()).decode()
