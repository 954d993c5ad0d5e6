"""The README's picture, docs/images/mathematics.png, from the recorded result: python benchmarks/picture.py

Nothing is trained here; `modgrok paper mathematics` trains, and `benchmarks/record.py` records.
"""

from __future__ import annotations

from pathlib import Path

from modgrok.base.files import whole_file
from modgrok.reproduction.records import read_recorded

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "mathematics.png"
DPI = 160


def main() -> None:
    found = read_recorded("mathematics")
    if found is None:
        raise SystemExit("mathematics is not recorded yet: python benchmarks/record.py")
    with whole_file(PICTURE) as temporary:
        found.result.figures()["mathematics"].savefig(temporary, dpi=DPI)


if __name__ == "__main__":
    main()
