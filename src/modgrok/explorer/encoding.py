"""What is sent as bytes: JSON, and in it arrays as base64 of little-endian numbers, which a page need not parse."""

from __future__ import annotations

from base64 import b64encode

import numpy as np
from jaxtyping import Shaped

from modgrok.base.results import json_text

UNKNOWN_CELL = 65535
"""Stands for an unknown cell where a table is sent as u16."""


def json_bytes(value: object) -> bytes:
    return json_text(value).encode()


def encoded(array: Shaped[np.ndarray, "..."], kind: str) -> str:
    """`kind` is i8, u8, u16 or f32."""
    return b64encode(
        np.ascontiguousarray(array, {"i8": "<i1", "u8": "<u1", "u16": "<u2", "f32": "<f4"}[kind]).tobytes()
    ).decode()
