"""What was made before counts only if it is whole and was made by the same things: results and pictures.

A record is a value in a JSON file, with a fingerprint (what it was made by, in a few texts) and a checksum over both.
That of a result names the item, its size, the code that computes it, the data that ship with that code, the libraries
and the kind of device. Settings are part of the code, so a result made with other settings is never taken for this one.
What does not count is named; it stays until what counts takes its place, and a damaged file is set aside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from modgrok import __version__
from modgrok.base.dependencies import PACKAGE, code_digest, data_digest, digest_of, libraries
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.results import json_text, plain
from modgrok.base.stores import MISFITS
from modgrok.reproduction.item import ItemResult
from modgrok.reproduction.registry import ITEMS

if TYPE_CHECKING:
    from modgrok.figures.style import Figure

Fingerprint = dict[str, str]
WRONG = "damaged: its checksum is wrong"


class Found(NamedTuple):
    """What a record holds, or why it does not count."""

    value: Any
    reason: str


def fingerprint(item: str, size: str) -> Fingerprint:
    """What a result depends on."""
    return {"item": item, "size": size} | made_here(*ITEMS[item].roots)


def made_here(*roots: str | Path) -> Fingerprint:
    """What everything depends on that the code of these modules computes here."""
    return {
        "version": __version__,
        "device": jax.devices()[0].device_kind,
        "code": code_digest(*roots),
        "data": data_digest(*roots),
        "libraries": ", ".join(map(" ".join, libraries().items())),
    }


@lru_cache
def source_digest() -> str:
    """Of every module of the package: pictures depend on those that draw as well."""
    return digest_of(PACKAGE.rglob("*.py"))


# ------------------------------------------------------------------------------------------ records


def checksum(value: Any) -> str:
    return hashlib.sha256(json_text(value, sort_keys=True).encode()).hexdigest()


def sealed(record: dict[str, Any]) -> dict[str, Any]:
    """A record with the checksum of all that it says."""
    return {"checksum": checksum(record), **record}


def is_whole(record: dict[str, Any]) -> bool:
    """Whether a record says what it was sealed with; NaN and null have one checksum, and only null is ever written."""
    said = {key: value for key, value in record.items() if key != "checksum"}
    return bool(record["checksum"] == checksum(said) and said == plain(said))


def fault_of(record: dict[str, Any], made_by: Fingerprint) -> str:
    """Why a record does not count, in a few words; empty if it does."""
    if not is_whole(record):
        return WRONG
    said = record["fingerprint"]
    names = dict.fromkeys([*made_by, *said])
    differing = [name for name in names if said.get(name) != made_by.get(name)]
    return f"of another {', '.join(differing)}" if differing else ""


def write_record(path: Path, name: str, value: Any, made_by: Fingerprint) -> None:
    """The value under its name, with what it was made by."""
    write_json(path, sealed({"fingerprint": made_by, name: value}))


def read_record(path: Path, name: str, made_by: Fingerprint) -> Found:
    """The value in a file, if it is whole and was made by the same things."""
    if not path.exists():
        return Found(None, "not stored yet")
    try:
        record = read_json(path)
        fault = fault_of(record, made_by)
        return Found(None, fault) if fault else Found(record[name], "")
    except MISFITS:
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


def stored_result(path: Path) -> ItemResult:
    """The result in a file, whatever it was made by; an `InputError` where there is none, or it is damaged."""
    record = read_json(path)
    found = record.get("result", record) if isinstance(record, dict) else None
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no result of an item")
    if {"checksum", "fingerprint"} & record.keys() and not ("checksum" in record and is_whole(record)):
        raise InputError(f"{path} is {WRONG}")
    return ItemResult.from_json(found)


def png_files(name: str, draw: Callable[[], dict[str, Figure]], data: dict[str, Any], folder: Path) -> dict[str, Path]:
    """The PNG files, by name, of the figures that `draw` makes from `data`.

    What was drawn from the same data and is still whole in the folder, under the record `name`, is not drawn again.
    """
    from modgrok.figures.style import save_figure

    record, made_by = folder / f"{name}.json", {"data": checksum(data), "code": source_digest()}
    known = read_record(record, "pictures", made_by).value
    if known is not None:
        files = {stem: folder / f"{stem}.png" for stem in known}
        if all(path.exists() and digest_of([path]) == known[stem] for stem, path in files.items()):
            return files
    files = {stem: save_figure(figure, folder / stem)[0] for stem, figure in draw().items()}
    write_record(record, "pictures", {stem: digest_of([path]) for stem, path in files.items()}, made_by)
    return files
