"""What was made before counts only if it is whole and was made by the same things: results, parts of them, pictures.

A record is a value in a JSON file, with a fingerprint (what it was made by, in a few texts) and a checksum over both.
That of a result names the item, its size, the code that computes, the data that ship, the libraries and the kind of
device. Settings are part of the code, so a result made with other settings is never taken for this one.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax

from modgrok import __version__
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.repository import STUDIES
from modgrok.base.results import json_text
from modgrok.figures.style import Figure, save_figure
from modgrok.reproduction.item import ItemResult
from modgrok.reproduction.registry import ITEMS

PACKAGE = Path(__file__).parent.parent
NOT_COMPUTING = ("report", "commands", "figures", "explorer", "cli.py", "__main__.py")
"""Parts of the package that no result depends on."""
LIBRARIES = ("jax", "jaxlib", "optax", "numpy")
DATA = ("loss_law",)
"""Folders of the package with data that results depend on."""

Fingerprint = dict[str, str]


class Found(NamedTuple):
    """What a record holds, or why it does not count."""

    value: Any
    reason: str


def fingerprint(item: str, size: str) -> Fingerprint:
    """What a result depends on."""
    study = {"study": digest_of(STUDIES.glob("*.py"))} if item in ITEMS and ITEMS[item].is_study else {}
    return {"item": item, "size": size} | made_here() | study


def made_here() -> Fingerprint:
    """What everything depends on that is computed here."""
    return {
        "version": __version__,
        "device": jax.default_backend(),
        "code": source_hash(computing=True),
        "data": data_hash(),
        "libraries": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES),
    }


@lru_cache
def source_hash(*, computing: bool = False) -> str:
    """Of every module of the package, or of those that compute."""
    modules = PACKAGE.rglob("*.py")
    return digest_of(
        path for path in modules if not (computing and path.relative_to(PACKAGE).parts[0] in NOT_COMPUTING)
    )


@lru_cache
def data_hash() -> str:
    """Of the laws that ship as data."""
    files = (path for folder in DATA for path in (PACKAGE / folder).glob("*"))
    return digest_of(path for path in files if path.suffix in (".json", ".parquet"))


def digest_of(paths: Iterable[Path]) -> str:
    """Of the names and contents of some files."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update("/".join(path.parts[-2:]).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------ records


def checksum(value: Any) -> str:
    return hashlib.sha256(json_text(value, sort_keys=True).encode()).hexdigest()


def write_record(path: Path, name: str, value: Any, made_by: Fingerprint) -> None:
    """The value under its name, with what it was made by."""
    record = {"fingerprint": made_by, name: value}
    write_json(path, {"checksum": checksum(record), **record})


def read_record(path: Path, name: str, made_by: Fingerprint) -> Found:
    """The value in a file, if it is whole and was made by the same things."""
    if not path.exists():
        return Found(None, "not stored yet")
    try:
        record = read_json(path)
        rest = {key: value for key, value in record.items() if key != "checksum"}
        if record["checksum"] != checksum(rest):
            return Found(None, "damaged: its checksum is wrong")
        differing = [key for key, value in made_by.items() if record["fingerprint"].get(key) != value]
        return Found(None, f"of another {', '.join(differing)}") if differing else Found(record[name], "")
    except (InputError, ValueError, TypeError, KeyError, AttributeError):
        return Found(None, f"damaged: not a {name}")


def write_result(path: Path, result: ItemResult, made_by: Fingerprint) -> None:
    write_record(path, "result", result.to_json(), made_by)


def read_result(path: Path, made_by: Fingerprint) -> Found:
    """The result in a file if it is whole and was made by the same code, settings, libraries and kind of device."""
    found = read_record(path, "result", made_by)
    try:
        return found if found.value is None else Found(ItemResult.from_json(found.value), "")
    except InputError:
        return Found(None, "damaged: not a result")


def png_files(name: str, draw: Callable[[], dict[str, Figure]], data: dict[str, Any], folder: Path) -> dict[str, Path]:
    """The PNG files, by name, of the figures that `draw` makes from `data`.

    What was drawn from the same data and is still whole in the folder, under the record `name`, is not drawn again.
    """
    record, made_by = folder / f"{name}.json", {"data": checksum(data), "code": source_hash()}
    known = read_record(record, "pictures", made_by).value
    if known is not None:
        files = {stem: folder / f"{stem}.png" for stem in known}
        if all(path.exists() and digest_of([path]) == known[stem] for stem, path in files.items()):
            return files
    files = {stem: save_figure(figure, folder / stem)[0] for stem, figure in draw().items()}
    write_record(record, "pictures", {stem: digest_of([path]) for stem, path in files.items()}, made_by)
    return files
