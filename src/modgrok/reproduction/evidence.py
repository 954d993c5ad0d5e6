"""What was made before counts only if it is whole and was made by the same things: results, parts of them, pictures.

A record is a value in a JSON file, with a fingerprint (what it was made by, in a few texts) and a checksum over both.
That of a result names the item, its size, the code that computes it, the data that ship with that code, the libraries
and the kind of device. Settings are part of the code, so a result made with other settings is never taken for this one.
What does not count is named, and left where it is; a damaged file is set aside.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from modgrok import __version__
from modgrok.base.dependencies import PACKAGE, code_digest, data_digest, digest_of, libraries
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.progress import Say
from modgrok.base.provenance import KEY, Made, merged, provenance, read_made
from modgrok.base.results import json_text, plain
from modgrok.base.stores import set_aside
from modgrok.reproduction.item import ItemResult
from modgrok.reproduction.registry import ITEMS

if TYPE_CHECKING:
    from modgrok.figures.style import Figure

Fingerprint = dict[str, str]


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


def fault_of(record: dict[str, Any], made_by: Fingerprint) -> str:
    """Why a record does not count, in a few words; empty if it does."""
    if record["checksum"] != checksum({key: value for key, value in record.items() if key != "checksum"}):
        return "damaged: its checksum is wrong"
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


def stored_result(path: Path) -> ItemResult:
    """The result in a file, whatever it was made by; an `InputError` where there is none, or it is damaged."""
    record = read_json(path)
    if not isinstance(record, dict):
        raise InputError(f"{path} holds no result of an item")
    if "checksum" in record and record["checksum"] != checksum({k: v for k, v in record.items() if k != "checksum"}):
        raise InputError(f"{path} is damaged: its checksum is wrong")
    found = record.get("result", record)
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no result of an item")
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


# ------------------------------------------------------------------------------------------ parts of an item


class Parts:
    """Finished parts of a long item by their settings (plain JSON values), in one JSON file or in memory alone.

    A part counts only if it is whole and was made by the same things (`fingerprint`). Others are named and stay in the
    file; a file that is damaged or of another kind is set aside. Without `made_by` all parts of a file are there to be
    read, whatever made them.
    """

    def __init__(self, path: Path | None, made_by: Fingerprint | None = None, say: Say = lambda text: None) -> None:
        self.path, self.made_by, self.began = path, made_by, time.perf_counter()
        self.parts: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []
        reasons: Counter[str] = Counter()
        for part in self.stored():
            reason = self.fault_of(part)
            (self.others if reason else self.parts).append(part)
            reasons[reason] += bool(reason)
        for reason, count in (+reasons).items():
            say(f"{path}: {count} part{'s' * (count > 1)} left aside ({reason})")

    def stored(self) -> list[dict[str, Any]]:
        if self.path is None or not self.path.exists():
            return []
        try:
            return read_parts(self.path)
        except InputError as error:
            set_aside(self.path, error)
            return []

    def fault_of(self, part: dict[str, Any]) -> str:
        try:
            return "" if self.made_by is None else fault_of(part, self.made_by)
        except (TypeError, KeyError, AttributeError):
            return "nobody knows what made it"

    def counts(self, part: dict[str, Any]) -> bool:
        return not self.fault_of(part)

    def get(self, settings: dict[str, Any]) -> Any:
        """The result with exactly these settings, or None."""
        return next((part["result"] for part in self.parts if part["settings"] == settings), None)

    def made(self) -> Made:
        """Where the parts come from that count."""
        return merged(*(read_made(part.get(KEY)) for part in self.parts)) if self.parts else ()

    def add(self, settings: dict[str, Any], result: Any) -> None:
        """A part that this process has just computed, since the one before it was added."""
        assert self.made_by is not None, "parts to be read are not added to"
        roots = ITEMS[self.made_by["item"]].roots if "item" in self.made_by else ()
        made, self.began = provenance(self.began, {}, *roots), time.perf_counter()
        part = {"fingerprint": self.made_by, "settings": settings, "result": result, KEY: (made,)}
        self.parts.append(sealed(plain(part)))
        if self.path is not None:
            write_json(self.path, [*self.others, *self.parts])


def read_parts(path: Path) -> list[dict[str, Any]]:
    """Every part in a file, whatever it was made by; an `InputError` where it holds something else."""
    stored = read_json(path)
    if not isinstance(stored, list) or not all(isinstance(part, dict) for part in stored):
        raise InputError(f"{path} must hold a list of parts; compute them again")
    if any(not {"settings", "result"} <= part.keys() for part in stored):
        raise InputError(f"{path} has parts without settings or result; compute them again")
    return stored
