"""Pictures that are drawn only if they are missing, damaged, or of other data or code than those at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.figures.style import Figure, save_figure
from modgrok.report.store import checksum, source_hash


def png_files(name: str, draw: Callable[[], dict[str, Figure]], data: dict[str, Any], folder: Path) -> dict[str, Path]:
    """The PNG files, by name, of the figures that `draw` makes from `data`.

    What was drawn from the same data and is still whole in the folder, under the record `name`, is not drawn again.
    """
    record = folder / f"{name}.json"
    made_from = checksum({"data": data, "code": source_hash()})
    known = known_files(record, made_from)
    if known is None:
        known = {stem: save_figure(figure, folder / stem)[0] for stem, figure in draw().items()}
        write_json(record, {"made_from": made_from, "files": {stem: file_hash(path) for stem, path in known.items()}})
    return known


def known_files(record: Path, made_from: str) -> dict[str, Path] | None:
    """The files of an earlier drawing, if all of them are there and whole."""
    try:
        found = read_json(record)
        files = {stem: record.parent / f"{stem}.png" for stem in found["files"]}
        whole = all(file_hash(files[stem]) == digest for stem, digest in found["files"].items())
        return files if whole and found["made_from"] == made_from else None
    except (InputError, OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
