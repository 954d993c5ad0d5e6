"""Stored results that are either trustworthy or computed again.

A result lies in one JSON file with a fingerprint (which item, in which size, by which code and on which kind of
device) and a checksum over everything else in the file. Settings are part of the code that the fingerprint covers, so
a result made with other settings is never taken for this one.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax

from modgrok import __version__
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.results import json_text
from modgrok.reproduction.item import ItemResult

PACKAGE = Path(__file__).parent.parent
NOT_COMPUTING = ("report", "commands", "figures", "explorer", "cli.py", "__main__.py")
"""Parts of the package that no result depends on."""


class Found(NamedTuple):
    """A stored result, or why there is none."""

    result: ItemResult | None
    reason: str


def fingerprint(item: str, size: str) -> dict[str, str]:
    """What a result depends on."""
    return {
        "item": item,
        "size": size,
        "version": __version__,
        "device": jax.default_backend(),
        "code": source_hash(computing=True),
    }


@lru_cache
def source_hash(*, computing: bool = False) -> str:
    """Of every module of the package, or of those that compute."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        if not (computing and name.parts[0] in NOT_COMPUTING):
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def checksum(record: dict[str, Any]) -> str:
    """Of all keys but `checksum` itself."""
    rest = {key: value for key, value in record.items() if key != "checksum"}
    return hashlib.sha256(json_text(rest, sort_keys=True).encode()).hexdigest()


def write_result(path: Path, result: ItemResult, made_by: dict[str, str]) -> None:
    record = {"fingerprint": made_by, "result": result.to_json()}
    write_json(path, {"checksum": checksum(record), **record})


def read_result(path: Path, made_by: dict[str, str]) -> Found:
    """The result in a file if it is whole and was made by the same code, settings and kind of device."""
    if not path.exists():
        return Found(None, "not stored yet")
    try:
        record = read_json(path)
        intact = record["checksum"] == checksum(record)
        if not intact:
            return Found(None, "damaged: its checksum is wrong")
        if record["fingerprint"] != made_by:
            differing = [key for key, value in made_by.items() if record["fingerprint"].get(key) != value]
            return Found(None, f"of another {', '.join(differing)}")
        return Found(ItemResult.from_json(record["result"]), "")
    except (InputError, ValueError, TypeError, KeyError, AttributeError):
        return Found(None, "damaged: not a result")
