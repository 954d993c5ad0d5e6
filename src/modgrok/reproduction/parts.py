"""Finished parts of a long item, in one JSON file, so that an interrupted item goes on where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json

Settings = dict[str, Any]


class Parts:
    """Results by their settings (plain JSON values); without a path they are kept in memory alone.

    A file that is damaged or of another kind counts as empty: its parts are computed again.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.parts: list[tuple[Settings, Any]] = []
        if path is not None and path.exists():
            try:
                self.parts = [(part["settings"], part["result"]) for part in read_json(path)]
            except (InputError, TypeError, KeyError):
                self.parts = []

    def get(self, settings: Settings) -> Any:
        """The result with exactly these settings, or None."""
        return next((result for key, result in self.parts if key == settings), None)

    def add(self, settings: Settings, result: Any) -> None:
        self.parts.append((settings, result))
        if self.path is not None:
            write_json(self.path, [{"settings": key, "result": value} for key, value in self.parts])
