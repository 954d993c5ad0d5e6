"""The data set as others meet it: `make dataset-check` runs this where modgrok is not installed.

    python tests/outside/dataset_check.py FOLDER

It loads every configuration with `datasets`, compares rows with the census files, tables with Python's integers, and
the card's answers with what its own code gives; YAML, checksums and Croissant metadata are read by tools of their own.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CACHE = tempfile.TemporaryDirectory()
os.environ |= {"HF_HOME": CACHE.name, "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import yaml  # noqa: E402
from datasets import get_dataset_config_names, load_dataset  # noqa: E402

CENSUSES = Path(__file__).parents[2] / "benchmarks" / "census"
FOLDERS = {path.parent.name.replace("results", "older"): path.parent for path in CENSUSES.glob("*/plan.json")}
PAGE = CENSUSES.parents[1] / "docs" / "dataset.md"
TRIED = 200
"""Tables that are evaluated cell by cell."""


def rows_are_those_of_the_censuses(folder: Path) -> None:
    ids = set(pq.read_table(folder / "data/tables.parquet", columns=["table_id"])["table_id"].to_pylist())
    for name, where in FOLDERS.items():
        ours = load_dataset(str(folder), name, split="train").with_format("arrow")[:]
        theirs = pq.read_table(where / "census.parquet").sort_by([("network", "ascending"), ("steps", "ascending")])
        assert len(ours) == len(theirs) > 1000, name
        said = theirs["model"].to_pylist() if "model" in theirs.column_names else [None] * len(theirs)
        assert ours["model"].to_pylist() == [word or "power" for word in said], (
            "rows named no model when all were power"
        )
        for column in theirs.column_names:
            if column in ours.column_names and column != "model":
                assert ours[column].combine_chunks().equals(theirs[column].cast(ours[column].type).combine_chunks()), (
                    column
                )
            elif column not in ours.column_names:
                assert theirs[column].null_count == len(theirs), f"{name} lacks {column}"
        assert set(ours["table_id"].to_pylist()) <= ids
        print(
            f"{name}: {len(ours):,} rows, {len(set(ours['network'].to_pylist())):,} networks, as in benchmarks/census"
        )


def every_column_is_described(folder: Path) -> None:
    for path in sorted((folder / "data").glob("*.parquet")):
        for field in pq.read_schema(path):
            assert field.metadata[b"description"].strip() and field.metadata[b"unit"].strip(), f"{path}: {field.name}"


def tables_are_right(folder: Path) -> None:
    tables = load_dataset(str(folder), "tables", split="train").with_format("arrow")[:]
    assert len(set(tables["table_id"].to_pylist())) == len(tables)
    written = tables.filter(pa.compute.is_valid(tables["expression"])).select(["expression", "modulus", "values"])
    step = len(written) // TRIED
    for row in written.take(list(range(0, step * TRIED, step))).to_pylist():
        n, code = row["modulus"], compile(python_text(row["expression"]), "expression", "eval")
        right = [eval(code, {"x": a, "y": b}) % n for a in range(n) for b in range(n)]
        assert row["values"] == right, row["expression"]
    print(f"tables: {len(tables):,}; {TRIED} of the {len(written):,} with an expression compared with integers")


def python_text(expression: str) -> str:
    """2x^3 y^9 -> 2*x**3*y**9"""
    spaced = re.sub(r"(?<=[\dxy)]) (?=[\dxy(])|(?<=\d)(?=[xy(])|(?<=[xy)])(?=\()", "*", expression)
    return spaced.replace("^", "**")


def the_card_says_what_its_code_gives(folder: Path) -> None:
    _, front, body = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    said = yaml.safe_load(front)
    assert said["license"] == "cc-by-4.0" and said["pretty_name"] and said["tags"] and said["size_categories"]
    names = [each["config_name"] for each in said["configs"]]
    assert sorted(get_dataset_config_names(str(folder))) == sorted(names) == sorted([*FOLDERS, "tables"])
    assert all((folder / split["path"]).is_file() for each in said["configs"] for split in each["data_files"])
    words: dict[str, Any] = {}
    loading, *asked = re.findall(r"```python\n(.*?)```\n\n(.*?)(?=\n\n)", body, re.DOTALL)
    exec(loading[0], words)
    assert len(asked) == 3
    for code, answer in asked:
        found = eval(code.strip(), words)
        cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in found.fetchall()]
        shown = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in answer.strip().splitlines()]
        assert cells and [found.columns, *cells] == [shown[0], *shown[2:]], answer
    print("the card: YAML read, its code run, three answers the same")


def the_page_says_how_large_it_is(folder: Path) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    said = re.search(r", ([\d.]+) MB in dataset$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert said and abs(float(said[1]) - size) < 0.2, f"docs/dataset.md must say {size:.1f} MB"


def machines_read_it(folder: Path) -> None:
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    tool = Path(sys.executable).with_name("mlcroissant")
    done = subprocess.run([tool, "validate", "--jsonld", "croissant.json"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and "Done" in done.stderr and "WARN" not in done.stderr, done.stderr
    import mlcroissant

    found = mlcroissant.Dataset(str(folder / "croissant.json"))
    metadata = found.metadata.to_json()
    assert len([key for key in metadata if key.startswith("rai:")]) >= 10
    first = next(iter(found.records("other-kinds")))
    assert {"other-kinds/table_id", "other-kinds/test_accuracy"} <= set(first)
    print("checksums hold; mlcroissant validates without a warning, and reads a record")


def main(folder: Path) -> None:
    for check in (
        rows_are_those_of_the_censuses,
        every_column_is_described,
        tables_are_right,
        the_page_says_how_large_it_is,
        machines_read_it,
    ):
        check(folder)
    os.chdir(folder)
    the_card_says_what_its_code_gives(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
