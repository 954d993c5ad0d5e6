"""Condense results that took long into the small files that every report shows: python benchmarks/record.py

Reads benchmarks/results and benchmarks/census/large, writes src/modgrok/reproduction/recorded, and draws
docs/images/law.png. What is missing is left out.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.base.files import read_json, whole_file, write_text
from modgrok.base.repository import study
from modgrok.censuses import law, store
from modgrok.figures.style import FILE_DPI
from modgrok.loss_law.calibration import calibration
from modgrok.loss_law.fraction_law import fraction_law
from modgrok.loss_law.from_table import trainings
from modgrok.reproduction.item import ItemResult, Values
from modgrok.reproduction.law import result_of as law_result
from modgrok.reproduction.mathematics import FUNCTIONS, other_models
from modgrok.reproduction.mathematics import result_of as mathematics_result
from modgrok.reproduction.registry import ALL, Item

ROOT = Path(__file__).parent
PACKAGE = ROOT.parent / "src" / "modgrok" / "reproduction" / "recorded"
CENSUS, NETWORKS = ROOT / "census" / "large", ROOT / "results" / "strong.parquet"
H200 = "one NVIDIA H200"
WHERE = dict.fromkeys(("figure1", "figure2", "mathematics", "widths"), "two CPU cores")
"""Where a result was computed, unless it was the GPU."""
ONE_IN = 25
"""Networks of the census of which one is drawn."""


def rounded(value: Any) -> Any:
    """Four significant digits, as many as a report prints."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def without(row: Values, *names: str) -> Values:
    return {key: value for key, value in row.items() if key not in names}


def condense(result: ItemResult) -> ItemResult:
    """The part of a result that a report needs."""
    if result.item == "table2":
        return replace(result, rows=[without(row, "runs") for row in result.rows])
    if result.item == "figure2":
        neurons = result.data["neurons"]
        final = zip(neurons["ipr_final"], neurons["alive"], strict=True)
        drawn = {  # dead neurons are not drawn
            "ipr_initial": [round(x, 3) for x in neurons["ipr_initial"]],
            "ipr_final": [round(x, 3) if living else 0 for x, living in final],
            "alive": [int(living) for living in neurons["alive"]],
        }
        return replace(result, data=result.data | {"neurons": drawn})
    if result.item == "strong":
        names = ("polynomial", "verdict", "twins_and_guesses", "accuracy", "accuracy_at_last", "finding")
        cells = [[{key: cell[key] for key in names} for cell in row["cells"]] for row in result.rows]
        return replace(result, rows=[row | {"cells": kept} for row, kept in zip(result.rows, cells, strict=True)])
    if result.item == "mathematics":
        return replace(result, data={name: result.data[name] for name in FUNCTIONS[:1]})  # the one that is drawn
    if result.item == "endtoend":
        names = ("train_loss", "test_loss", "final_test_accuracies", "experts_accuracy")
        return replace(result, data={"curves": [without(curve, *names) for curve in drawn_curves(result)]})
    return result


def drawn_curves(result: ItemResult) -> list[Values]:
    """The curves of the three figures: the fine-tuned experts, every start at the largest weight decay and inverse
    temperature of its case, and scratch with its control at the modulus where the control does best."""
    curves = result.data["curves"]
    best = max(result.rows, key=lambda row: row["control"])["modulus"]

    def case(curve: Values) -> list[Values]:
        return [c for c in curves if (c["modulus"], c["polynomial"]) == (curve["modulus"], curve["polynomial"])]

    def largest(curve: Values) -> bool:
        decay, beta = max(c["weight_decay"] for c in case(curve)), max(c["beta"] or 0.0 for c in case(curve))
        return curve["weight_decay"] == decay and curve["beta"] in (None, beta)

    pair = ("scratch", "control")
    return [
        curve if curve["modulus"] == best and curve["start"] in pair else without(curve, "train_accuracy")
        for curve in curves
        if curve["start"] == "experts" or largest(curve) or (curve["modulus"] == best and curve["start"] in pair)
    ]


def mathematics() -> ItemResult:
    """The item's own result, with the other models of `benchmarks/mathematics.py`."""
    own = ItemResult.from_json(read_json(ROOT / "results" / "mathematics.json"))
    others = other_models(read_json(ROOT / "results" / "mathematics-h200.json")["rows"])
    return mathematics_result(own.rows, own.data, own.settings, others)


def census_law() -> ItemResult:
    """From the census's own report, the laws that ship, and some networks where the loss law holds."""
    columns = law.columns_of(store.read_rows(CENSUS))
    columns["ratio"] = law.ratios(columns, [setting for setting in law.settings_of(columns) if setting.holds])
    drawn = np.random.default_rng(0).permutation(np.flatnonzero(np.isfinite(columns["ratio"])))[::ONE_IN]
    names = ("modulus", "train_loss", "ratio", "test_accuracy", "family")
    points = {name: columns[name][drawn].tolist() for name in names}
    report = read_json(CENSUS / "report" / "report.json")
    return law_result(report, trainings().law, fraction_law(), points, calibration().curve)


def source_of(item: Item) -> ItemResult | None:
    """The item's whole result, if there is one."""
    if item.name == "strong":
        return study("strong").stored_result(NETWORKS.parent) if NETWORKS.exists() else None
    if item.name == "mathematics":
        return mathematics()
    if item.name == "law":
        return census_law() if CENSUS.exists() else None
    path = ROOT / "results" / f"{item.name}.json"
    result = ItemResult.from_json(read_json(path)) if path.exists() else None
    if result is not None and item.name == "endtoend":
        return study("endtoend").with_controls(result, study("endtoend_control").train_controls(path.parent, end=0))
    return result


def recordable() -> dict[str, Values]:
    """The content of every recorded file for which there is a source."""
    found = {}
    for item in (item for item in ALL if item.recorded_by):
        result = source_of(item)
        if result is not None:
            kept = replace(condense(result), why=item.summarise(result).why).to_json()
            content = rounded(without(kept, "files", *(() if result.seconds else ("seconds",))))
            found[item.name] = {"where": WHERE.get(item.name, H200), "command": item.recorded_by, "result": content}
    return found


if __name__ == "__main__":
    for name, content in recordable().items():
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
        write_text(PACKAGE / f"{name}.json", text)
        print(f"{PACKAGE / name}.json: {len(text) / 1000:.0f} kB")
    with whole_file(ROOT.parent / "docs" / "images" / "law.png") as temporary:
        census_law().figures()["law"].savefig(temporary, dpi=FILE_DPI)
