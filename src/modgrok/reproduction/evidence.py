"""What was made before counts only if it is whole and was made by the same things: results and pictures.

A record is a value in a JSON file, with a fingerprint (what it was made by, in a few texts) and a checksum over both.
That of a result names the item, its size, the code that computes it, the data that ship with that code, the libraries
and the kind of device. Settings are part of the code, so a result made with other settings is never taken for this one.
What does not count is named; it stays until what counts takes its place, and a damaged file is set aside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from modgrok import __version__
from modgrok.base.dependencies import PACKAGE, code_digest, data_digest, digest_of, edited_since, libraries
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.provenance import Provenance
from modgrok.base.results import json_text, plain
from modgrok.base.stores import MISFITS
from modgrok.reproduction.item import ItemResult
from modgrok.reproduction.registry import ITEMS

if TYPE_CHECKING:
    from modgrok.figures.style import Figure

Fingerprint = dict[str, str]
WRONG, EDITED = "damaged: its checksum is wrong", ", edited while it ran"


class Found(NamedTuple):
    """What a record holds, or why it does not count."""

    value: Any
    reason: str


def fingerprint(item: str, size: str) -> Fingerprint:
    """What a result depends on."""
    return {"item": item, "size": size} | made_here(*ITEMS[item].roots)


def made_here(*roots: str | Path) -> Fingerprint:
    """What everything depends on that the code of these modules computes here.

    Code that is edited while the process runs is that of no other process, so what it computes counts nowhere else.
    """
    return {
        "version": __version__,
        "device": jax.devices()[0].device_kind,
        "code": code_digest(*roots) + EDITED * edited_since(*roots),
        "data": data_digest(*roots),
        "libraries": listed(libraries()),
    }


def listed(versions: Mapping[str, str]) -> str:
    return ", ".join(map(" ".join, versions.items()))


def denied_by(made_by: Fingerprint, made: Provenance) -> list[str]:
    """What a provenance says otherwise than the fingerprint beside it; what it does not say denies nothing."""
    said = {
        "version": made.version if made.is_known else None,
        "device": made.device,
        "code": made.code_digest,
        "data": made.data_digest,
        "libraries": listed(made.libraries) or None,
    }
    asked = made_by | {"code": made_by.get("code", "").removesuffix(EDITED)}
    return [name for name in said if said[name] not in (None, asked.get(name))]


@lru_cache
def source_digest() -> str:
    """Of every module of the package: pictures depend on those that draw as well."""
    return digest_of(PACKAGE.rglob("*.py"))


# ------------------------------------------------------------------------------------------ records


def checksum(value: object) -> str:
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


def write_record(path: Path, name: str, value: object, made_by: Fingerprint) -> None:
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
    """The result in a file if it is whole and was made by the same code, settings, libraries and kind of device.

    It is that of the item, and one sitting at least of which it tells is of the same making.
    """
    found = read_record(path, "result", made_by)
    if found.value is None:
        return found
    try:
        result = ItemResult.from_json(found.value)
    except InputError:
        return Found(None, "damaged: not a result")
    if result.item != made_by["item"]:
        return Found(None, f"damaged: a result of {result.item!r:.40}")
    denied = [denied_by(made_by, each) for each in result.provenance]
    if all(denied):
        return Found(None, f"damaged: its provenance is of another {', '.join(denied[-1])}")
    return Found(result, "")


def stored_result(path: Path) -> ItemResult:
    """The result in a file, whatever it was made by; an `InputError` where there is none, or it is damaged."""
    record = read_json(path)
    found = record.get("result", record) if isinstance(record, dict) else None
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no result of an item")
    if {"checksum", "fingerprint", "result"} & record.keys():
        check_seal(path, record)
    return ItemResult.from_json(found)


def check_seal(path: Path, record: dict[str, Any], remedy: str = "compute it again") -> None:
    """An `InputError` where a record was changed after it was sealed, or its seal was taken off."""
    if not ("checksum" in record and is_whole(record)):
        raise InputError(f"{path} is {WRONG}; {remedy}")


def png_files(name: str, draw: Callable[[], dict[str, Figure]], data: dict[str, Any], folder: Path) -> dict[str, Path]:
    """The PNG files, by name, of the figures that `draw` makes from `data`.

    What was drawn from the same data and is still whole in the folder, under the record `name`, is not drawn again.
    """
    from modgrok.figures.style import figure_paths, save_figure

    record, made_by = folder / f"{name}.json", {"data": checksum(data), "code": source_digest()}
    known = read_record(record, "pictures", made_by).value
    if known is not None:
        drawn = {stem: figure_paths(folder / stem) for stem in known}
        if all(all(map(Path.exists, paths)) and digest_of(paths) == known[stem] for stem, paths in drawn.items()):
            return {stem: paths[0] for stem, paths in drawn.items()}
    drawn = {stem: save_figure(figure, folder / stem) for stem, figure in draw().items()}
    write_record(record, "pictures", {stem: digest_of(paths) for stem, paths in drawn.items()}, made_by)
    return {stem: paths[0] for stem, paths in drawn.items()}
