"""How every script here writes what it found: as JSON, with where it comes from."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.provenance import KEY, Made, merged, provenance, read_made

BEGAN = time.perf_counter()
"""When the script began: it imports this at its beginning."""


def write_found(
    script: str,
    path: Path,
    found: Mapping[str, Any],
    asked: argparse.Namespace | None = None,
    *,
    read: tuple[Path, ...] = (),
    earlier: Made = (),
) -> None:
    """`found` by a script (its `__file__`) that was `asked` for, and `read` some files; `earlier` are those sittings
    of which it holds results as well."""
    options = {} if asked is None else vars(asked)
    settings = {name: value for name, value in options.items() if not isinstance(value, Path)}
    made = provenance(BEGAN, settings, Path(script).resolve(), read=read)
    write_json(path, {**found, KEY: merged(earlier, (made,))})


def sittings_in(path: Path) -> Made:
    """Those whose results a file holds already; none where there is no file."""
    if not path.exists():
        return ()
    stored = read_json(path)
    if not isinstance(stored, dict):
        raise InputError(f"{path} must hold an object, got {type(stored).__name__}; give another file")
    return read_made(stored.get(KEY))
