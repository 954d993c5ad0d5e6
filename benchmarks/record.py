"""Condense results that took long into the small files that every report shows: python benchmarks/record.py

Reads benchmarks/results and benchmarks/census/results, writes src/modgrok/recorded. What is missing is left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.census import law, store
from modgrok.files import read_json, write_text
from modgrok.report.recorded import COMMANDS

ROOT = Path(__file__).parent
PACKAGE = ROOT.parent / "src" / "modgrok" / "recorded"
CENSUS = ROOT / "census" / "results"
H200 = "one NVIDIA H200"
WHERE = {"figure1": "two CPU cores", "figure2": "two CPU cores"}
"""Where a result was computed, unless it was the GPU."""
POINTS = ((43, 500), (61, 500), (97, 500))
"""Modulus and width of the settings whose networks are drawn, at half of the table."""


def rounded(value: Any) -> Any:
    """Five significant digits are more than a report prints."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}


def condense(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The part of a result that a report needs."""
    if name == "table2":
        result = result | {"rows": [without(row, "runs") for row in result["rows"]]}
    if name == "figure2":
        neurons = result["neurons"]
        coarse = {key: [round(x, 3) for x in neurons[key]] for key in ("ipr_initial", "ipr_final")}
        result = result | {"neurons": coarse | {"alive": [int(x) for x in neurons["alive"]]}}
    if name == "strong":
        cells = ("train_accuracy", "train_loss", "worst", "setting", "modulus")
        rows = [row | {"cells": [without(cell, *cells) for cell in row["cells"]]} for row in result["rows"]]
        result = result | {"rows": rows}
    if name == "endtoend":
        names = ("polynomial", "modulus", "start", "weight_decay", "beta", "steps", "test_accuracy")
        result = result | {"curves": [{key: curve[key] for key in names} for curve in result["curves"]]}
    return rounded(result)


def census_result() -> dict[str, Any]:
    """The census' own report, and the networks of a few settings."""
    summary = read_json(CENSUS / "report" / "report.json")
    columns = law.columns_of(store.read_rows(CENSUS))
    last = columns["steps"] == law.last_step(columns)
    points = []
    for modulus, width in POINTS:
        rows = last & (columns["modulus"] == modulus) & (columns["width"] == width) & (columns["fraction"] == 0.5)
        names = ("train_loss", "test_accuracy", "family")
        values = {name: np.asarray(columns[name][rows]).tolist() for name in names}
        points.append({"modulus": modulus, "width": width, **values})
    return rounded(without(summary, "families", "accuracy") | {"points": points})


def recordable() -> dict[str, dict[str, Any]]:
    """The content of every recorded file for which there is a source."""
    found = {}
    for name, command in COMMANDS.items():
        source = ROOT / "results" / f"{name}.json"
        if name == "census" and (CENSUS / "report" / "report.json").exists():
            result = census_result()
        elif source.exists():
            result = condense(name, read_json(source))
        else:
            continue
        found[name] = {"where": WHERE.get(name, H200), "command": command, "result": result}
    return found


if __name__ == "__main__":
    for name, content in recordable().items():
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
        write_text(PACKAGE / f"{name}.json", text)
        print(f"{PACKAGE / name}.json: {len(text) / 1000:.0f} kB")
