"""What CHANGELOG.md says to users about a version, for the release on GitHub: python release/notes.py 0.3.0"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"


def section(version: str, text: str) -> str:
    """All that stands under the heading of a version, without the heading."""
    found = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section [{version}]; write it before the release")
    return found[1].strip() + "\n"


def for_users(version: str, text: str) -> str:
    """The part that is one screen; the whole section where it has no such part."""
    found = re.search(r"^### What changes for you\n(.*?)(?=^### )", section(version, text), re.MULTILINE | re.DOTALL)
    return found[1].strip() + "\n" if found else section(version, text)


if __name__ == "__main__":
    print(for_users(sys.argv[1], CHANGELOG.read_text(encoding="utf-8")), end="")
