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
from modgrok.paper.strong import groups, second_looks, train_missing
from modgrok.paper.strong_result import result_of
from modgrok.report.recorded import COMMANDS

ROOT = Path(__file__).parent
PACKAGE = ROOT.parent / "src" / "modgrok" / "paper" / "recorded"
CENSUS = ROOT / "census" / "results"
H200 = "one NVIDIA H200"
WHERE = dict.fromkeys(("figure1", "figure2", "widths"), "two CPU cores")
"""Where a result was computed, unless it was the GPU."""
POINTS = ((43, 500), (61, 500), (97, 500))
"""Modulus and width of the settings whose networks are drawn, at half of the table."""


def rounded(value: Any) -> Any:
    """Four significant digits, as many as a report prints."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}


def condense(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The part of a result that a report needs."""
    if name == "table2":
        result = result | {"rows": [without(row, "runs") for row in result["rows"]]}
    if name == "figure2":
        initial, final, alive = (result["neurons"][key] for key in ("ipr_initial", "ipr_final", "alive"))
        neurons = {  # dead neurons are not drawn
            "ipr_initial": [round(x, 3) for x in initial],
            "ipr_final": [round(x, 3) if living else 0 for x, living in zip(final, alive)],
            "alive": [int(living) for living in alive],
        }
        result = result | {"neurons": neurons}
    if name == "strong":
        names = ("polynomial", "verdict", "predicted", "accuracy", "finding")
        rows = [row | {"cells": [{key: cell[key] for key in names} for cell in row["cells"]]} for row in result["rows"]]
        result = result | {"rows": rows}
    if name == "endtoend":
        names = ("train_loss", "test_loss", "final_test_accuracies", "experts_accuracy")
        result = result | {"curves": [without(curve, *names) for curve in drawn(result)]}
    return rounded(result)


def drawn(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The curves of the three figures: the fine-tuned experts, every start at the largest weight decay and inverse
    temperature of its case, and scratch with its control at the modulus where the control does best."""
    curves = result["curves"]
    best = max(result["rows"], key=lambda row: row["control"])["modulus"]

    def case(curve: dict[str, Any]) -> list[dict[str, Any]]:
        return [c for c in curves if (c["modulus"], c["polynomial"]) == (curve["modulus"], curve["polynomial"])]

    def largest(curve: dict[str, Any]) -> bool:
        decay, beta = max(c["weight_decay"] for c in case(curve)), max(c["beta"] or 0.0 for c in case(curve))
        return curve["weight_decay"] == decay and curve["beta"] in (None, beta)

    pair = ("scratch", "control")
    return [
        curve if curve["modulus"] == best and curve["start"] in pair else without(curve, "train_accuracy")
        for curve in curves
        if curve["start"] == "experts" or largest(curve) or (curve["modulus"] == best and curve["start"] in pair)
    ]


def strong_result() -> dict[str, Any]:
    """From the stored networks; `end=0` keeps everything that is missing from being trained."""
    networks, wanted = ROOT / "results" / "strong.parquet", groups(quick=False)
    rows = train_missing(wanted, networks, end=0)
    return result_of(rows + train_missing(second_looks(wanted, rows), networks, end=0))


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
    return without(summary, "errors_by_family", "accuracy_by_family") | {"points": points}


def recordable() -> dict[str, dict[str, Any]]:
    """The content of every recorded file for which there is a source."""
    made = {"strong": (ROOT / "results" / "strong.parquet", strong_result), "census": (CENSUS, census_result)}
    found = {}
    for name, command in COMMANDS.items():
        source, make = made.get(name, (ROOT / "results" / f"{name}.json", None))
        if not source.exists():
            continue
        result = condense(name, make() if make else read_json(source))
        found[name] = {"where": WHERE.get(name, H200), "command": command, "result": result}
    return found


if __name__ == "__main__":
    for name, content in recordable().items():
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
        write_text(PACKAGE / f"{name}.json", text)
        print(f"{PACKAGE / name}.json: {len(text) / 1000:.0f} kB")
