"""What a question brings: words by name, as a page sends them, and the folders that the server adds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from modgrok.base.errors import InputError

Params = Mapping[str, Any]
"""What is asked with; `runs`, `tables`, `report` and `census` are the server's own."""
CONFIG = "config.json"


def whole(params: Params, name: str) -> int | None:
    """A whole number; None where it is missing or empty."""
    text = str(params.get(name) if params.get(name) is not None else "").strip()
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{name} must be a whole number, got {text[:40]!r}; give 97, for example") from None


def number(params: Params, name: str, default: float) -> float:
    text = str(params.get(name) or default)
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"{name} must be a number, got {text[:40]!r}; give {default:g}, for example")
    return found


def run_folder(params: Params) -> Path:
    """The folder of the run that is asked for: one below the runs folder, by its path there."""
    runs, name = Path(str(params["runs"])), str(params.get("run") or "")
    if not is_run(runs, name):
        raise InputError(f"there is no run {name[:200]!r}; see the list of runs")
    return runs / name


def is_run(runs: Path, name: str) -> bool:
    """Whether a run below the runs folder has this name, and not another that leads to it."""
    path, folder = PurePath(name), runs / name
    if not name or path.as_posix() != name or path.is_absolute() or ".." in path.parts:
        return False
    try:
        return folder.resolve().is_relative_to(runs.resolve()) and (folder / CONFIG).exists()
    except OSError:  # no file can have a name of this length
        return False


def name_of(folder: Path, runs: Path) -> str:
    """A run's folder as the page names it."""
    return folder.relative_to(runs).as_posix()
