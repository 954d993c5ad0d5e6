"""Pictures that are drawn only if they are missing, damaged, or of other data or code than those at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from modgrok.errors import InputError
from modgrok.files import read_json, write_json
from modgrok.report.store import checksum, source_hash

Draw = Callable[[dict[str, Any], Path], list[Path]]


def png_files(name: str, draw: Draw, data: dict[str, Any], folder: Path) -> list[Path]:
    """The PNG files that `draw(data, folder)` makes; `name` tells its pictures from others in the folder."""
    record = folder / f"{name}.json"
    made_from = checksum({"data": data, "code": source_hash()})
    known = known_files(record, made_from)
    if known is None:
        known = [path for path in draw(data, folder) if path.suffix == ".png"]
        write_json(record, {"made_from": made_from, "files": {path.name: file_hash(path) for path in known}})
    return known


def known_files(record: Path, made_from: str) -> list[Path] | None:
    """The files of an earlier drawing, if all of them are there and whole."""
    try:
        found = read_json(record)
        files = {record.parent / name: digest for name, digest in found["files"].items()}
        whole = found["made_from"] == made_from and all(file_hash(path) == digest for path, digest in files.items())
    except (InputError, OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return list(files) if whole else None


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
