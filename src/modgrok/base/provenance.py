"""Where a number comes from: written by what computes it, kept with it, read by everything that shows it.

A result may come from several sittings, so what it has is a tuple, and its JSON key `provenance` a list of objects.
What was stored before anybody wrote this down has the one entry `UNKNOWN`, and every surface says "version unknown".
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from modgrok import __version__
from modgrok.base.dependencies import PACKAGE, code_digest, data_digest, edited_since, libraries
from modgrok.base.errors import InputError
from modgrok.base.results import json_text

KEY = "provenance"
"""Under which every result has it."""
NOT_KNOWN, VERSION_UNKNOWN = "unknown", "version unknown"
TRACKED = (
    "src",
    "studies",
    "benchmarks",
    ":!benchmarks/results",
    ":!benchmarks/census",
    ":!benchmarks/zoo",
    ":!*/recorded/*",
)
"""What makes a clone `changed`: code and data that ship, not the results that it writes."""
CALLED: list[str] = []
"""The commands that are being carried out, the latest last, where they are not what the process was called with."""


@dataclass(frozen=True)
class Provenance:
    """One sitting: what was called, by which code and libraries, where, when, for how long, from which data.

    `commit` is null without a clone's history; `code_of` are the modules whose code, with all that they import,
    `code_digest` stands for, and `data_digest` for the data that ship with it and the files that were read.
    """

    version: str = NOT_KNOWN
    commit: str | None = None
    changed: bool | None = None
    command: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)
    device: str | None = None
    processor: str | None = None
    cores: int | None = None
    date: str | None = None
    seconds: float | None = None
    code_of: tuple[str, ...] = ()
    code_digest: str | None = None
    data_digest: str | None = None

    @property
    def is_known(self) -> bool:
        return self.version != NOT_KNOWN

    def place(self) -> str:
        """The machine in a few words: NVIDIA H200; 2 cores of AMD EPYC."""
        if self.device is None:
            return "a machine that was not written down"
        return self.device if self.device != "cpu" else f"{self.cores} cores of {self.processor}"

    def code(self) -> str:
        """The version in a few words: modgrok 0.3.0 (0123abc, changed), jax 0.10.2, …"""
        if not self.is_known:
            return VERSION_UNKNOWN
        commit = "commit not known" if self.commit is None else self.commit[:7] + ", changed" * bool(self.changed)
        return ", ".join([f"modgrok {self.version} ({commit})", *map(" ".join, self.libraries.items())])

    def text(self) -> str:
        """All of it in a line."""
        if not self.is_known:
            return VERSION_UNKNOWN
        seconds = "" if self.seconds is None else f" in {self.seconds:.0f} s"
        return f"{self.code()}; {self.place()}, {(self.date or '')[:10]}{seconds}"


Made = tuple[Provenance, ...]
UNKNOWN = Provenance()


def provenance(
    began: float,
    settings: Mapping[str, Any],
    *code: str | Path,
    read: tuple[Path, ...] = (),
    command: str | None = None,
) -> Provenance:
    """Of what this process computed since `began` (of `perf_counter`) with the code of some modules or scripts.

    Code that was edited while the process ran counts as `changed`, whatever has been committed since.
    """
    from modgrok.base.machine import machine

    here, (commit, changed), roots = machine(), commit_here(), code or ("modgrok",)
    return Provenance(
        __version__,
        commit,
        edited_since(*roots) or changed,
        command or called(),
        dict(settings),
        libraries(),
        here.device,
        here.processor,
        here.cores,
        now(),
        round(time.perf_counter() - began, 3),
        tuple(root if isinstance(root, str) else within_clone(root) for root in roots),
        code_digest(*roots),
        data_digest(*roots, read=read),
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def of_script(began: float, settings: Mapping[str, Any], *, read: tuple[Path, ...] = ()) -> Made:
    """Of what the script computed that this process is."""
    return (provenance(began, settings, Path(sys.argv[0]).resolve(), read=read),)


# ------------------------------------------------------------------------------------------ what was called


@contextmanager
def called_as(words: Iterable[str]) -> Iterator[None]:
    """Within the block, what is computed says that it was called by these words."""
    CALLED.append(shlex.join(map(without_place, words)))
    try:
        yield
    finally:
        CALLED.pop()


def called() -> str:
    """The command that this process carries out."""
    if CALLED:
        return CALLED[-1]
    program, *given = sys.argv or [""]
    words, path = map(without_place, given), Path(program)
    if path.name == "modgrok" or path.parent.name == "modgrok":
        return shlex.join(["modgrok", *words])
    if path.suffix != ".py" or "ipykernel" in program:
        return "a Python session"
    return shlex.join(["python", within_clone(path), *words])


def without_place(word: str) -> str:
    """A word of a command, without the folders of this machine that a path in it names (`--out=/home/me/runs` too)."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return option + equals + (within_clone(Path(value)) if Path(value).is_absolute() else value)


def within_clone(path: Path) -> str:
    """A path as it is called from the root of the clone; of any other place its name alone."""
    root, path = PACKAGE.parents[1], Path(os.path.realpath(path))  # where links lead, even in a circle
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


@lru_cache
def commit_here() -> tuple[str | None, bool | None]:
    """The commit of the clone that this package is run from, and whether its code was changed since; of no other."""
    root = PACKAGE.parents[1]
    if PACKAGE.parent.name != "src" or not (root / ".git").exists():
        return None, None

    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # a hook names another

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=60, env=own
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", *TRACKED))
    except (OSError, subprocess.SubprocessError):
        return None, None


# ------------------------------------------------------------------------------------------ reading and telling


def read_made(stored: object) -> Made:
    """What a file says under `provenance`; nothing is `UNKNOWN`, and what is no provenance an `InputError`."""
    if stored is None or stored == []:
        return (UNKNOWN,)
    if not isinstance(stored, list):
        raise InputError(f"provenance must be a list, got {stored!r:.40}")
    return tuple(read_one(each) for each in stored)


def read_one(stored: object) -> Provenance:
    """One entry of a file, each field of its own type; those that a file lacks are not known."""
    if not isinstance(stored, dict):
        raise InputError(f"each provenance must be an object, got {stored!r:.40}")
    found: dict[str, Any] = {}
    for name in (known.name for known in fields(Provenance) if stored.get(known.name) is not None):
        value, kind = stored[name], KINDS.get(name, str)
        texts = value.values() if name == "libraries" and isinstance(value, dict) else value if kind is list else ()
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"{name} of a provenance is of another type: {value!r:.40}")
        if not all(isinstance(text, str) for text in texts):
            raise InputError(f"{name} of a provenance must have texts, got {value!r:.40}")
        found[name] = tuple(value) if kind is list else value
    return Provenance(**found)


KINDS: Mapping[str, Any] = {
    "changed": bool, "settings": dict, "libraries": dict, "cores": int, "seconds": int | float, "code_of": list,
}  # fmt: skip
"""Of the fields that are no texts."""


def merged(*several: Made) -> Made:
    """Those of all, each once; sittings that differ in nothing but date and time are one, with the time of all."""
    found: dict[str, Provenance] = {}
    for each in (each for made in several for each in made):
        key = json_text(replace(each, date=None, seconds=None), sort_keys=True)
        times = [one.seconds for one in (found.get(key), each) if one is not None and one.seconds is not None]
        found[key] = replace(each, seconds=round(sum(times), 3) if times else None)
    return tuple(found.values()) or (UNKNOWN,)


def told(made: Made) -> str:
    """Every sitting in a line, or that nobody knows."""
    return "; and ".join(dict.fromkeys(each.text() for each in made)) or VERSION_UNKNOWN


def places(made: Made) -> str:
    """The machines."""
    return " and ".join(dict.fromkeys(each.place() for each in made))
