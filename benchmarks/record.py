"""Condense results that took long into the small files that every report shows: python benchmarks/record.py

Reads benchmarks/results and benchmarks/census/large, writes src/modgrok/reproduction/recorded, and draws
docs/images/law.png. It computes no result: where each comes from is copied from what was read.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.base.files import read_json, whole_file, write_text
from modgrok.base.provenance import KEY, merged, places, read_made
from modgrok.base.repository import study
from modgrok.base.results import plain
from modgrok.censuses import law_check as law, store
from modgrok.figures.style import FILE_DPI
from modgrok.loss_law.calibration import calibration
from modgrok.loss_law.fraction_law import fraction_law
from modgrok.loss_law.from_table import table_law
from modgrok.reproduction.evidence import sealed, stored_result
from modgrok.reproduction.item import ItemResult, Values, span
from modgrok.reproduction.law import result_of as law_result
from modgrok.reproduction.mathematics import FUNCTIONS, result_of as mathematics_result
from modgrok.reproduction.registry import ALL, Item

ROOT = Path(__file__).parent
PACKAGE = ROOT.parent / "src" / "modgrok" / "reproduction" / "recorded"
CENSUS, RESULTS = ROOT / "census" / "large", ROOT / "results"
ONE_IN = 25
"""Networks of the census of which one is drawn."""


def rounded(value: Any) -> Any:
    """Four significant digits, as many as a report prints."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def mathematics() -> ItemResult:
    """The item's own result, with the other models of `benchmarks/mathematics.py`."""
    own = stored_result(RESULTS / "mathematics.json")
    beside = read_json(RESULTS / "mathematics-h200.json")
    result = mathematics_result(own.rows, own.data, own.settings, other_models(beside["rows"]))
    return replace(result, provenance=merged(own.provenance, read_made(beside.get(KEY))))


def other_models(measured: list[Values]) -> list[Values]:
    """The rows of `benchmarks/mathematics.py`, with the seeds of a model and state in one row."""
    kinds = dict.fromkeys((row["model"], row["kind"]) for row in measured)
    return [summary_of(*kind, [row for row in measured if (row["model"], row["kind"]) == kind]) for kind in kinds]


def summary_of(model: str, kind: str, rows: list[Values]) -> Values:
    shares = {"test_accuracy": "test_accuracy", "analytical": "analytical_share", "sum": "sum_share"}
    ends = {key: span([100 * row[name] for row in rows], ".0f", " %") for key, name in shares.items()}
    return {"model": model, "kind": kind, "seeds": len(rows), **ends}


def census_law() -> ItemResult:
    """From the census's own report, the laws that ship, and some networks where the loss law holds."""
    columns = law.columns_of(store.read_rows(CENSUS))
    columns["ratio"] = law.ratios(columns, [setting for setting in law.settings_of(columns) if setting.holds])
    drawn = np.random.default_rng(0).permutation(np.flatnonzero(np.isfinite(columns["ratio"])))[::ONE_IN]
    names = ("modulus", "train_loss", "ratio", "test_accuracy", "family")
    points = {name: columns[name][drawn].tolist() for name in names}
    report = read_json(CENSUS / "report" / "report.json")
    result = law_result(report, table_law(), fraction_law(), points, calibration().curve)
    return replace(result, provenance=store.stored(CENSUS).made())


SOURCES = {"mathematics": mathematics, "law": census_law}
"""Where a result comes from, if it is no file of its item alone."""


def source_of(item: Item) -> ItemResult | None:
    """The item's whole result, if there is one."""
    if item.name in SOURCES:
        return SOURCES[item.name]()
    if item.is_study:
        return study(item.name).stored_result(RESULTS)
    path = RESULTS / f"{item.name}.json"
    return stored_result(path) if path.exists() else None


def without_dead_neurons(result: ItemResult) -> ItemResult:
    """Figure 2: dead neurons are not drawn."""
    neurons = result.data["neurons"]
    final = zip(neurons["ipr_final"], neurons["alive"], strict=True)
    drawn = {
        "ipr_initial": [round(x, 3) for x in neurons["ipr_initial"]],
        "ipr_final": [round(x, 3) if living else 0 for x, living in final],
        "alive": [int(living) for living in neurons["alive"]],
    }
    return replace(result, data=result.data | {"neurons": drawn})


def without_others(result: ItemResult) -> ItemResult:
    """Of the data, the function that is drawn."""
    return replace(result, data={name: result.data[name] for name in FUNCTIONS[:1]})


def without_runs(result: ItemResult) -> ItemResult:
    return replace(result, rows=[{key: row[key] for key in row if key != "runs"} for row in result.rows])


CONDENSED = {"figure2": without_dead_neurons, "mathematics": without_others, "table2": without_runs}


def condensed(item: Item, result: ItemResult) -> ItemResult:
    """The part of a result that a report needs; a study says it itself."""
    if item.is_study:
        return study(item.name).condensed(result)
    return CONDENSED[item.name](result) if item.name in CONDENSED else result


def recordable() -> dict[str, Values]:
    """The content of every recorded file for which there is a source."""
    found = {}
    for item in (item for item in ALL if item.recorded_by):
        result = source_of(item)
        if result is not None:
            kept = replace(condensed(item, result), why=item.summarise(result).why).to_json()
            made = kept.pop(KEY)
            content = rounded(
                {name: kept[name] for name in kept if name != "files" and (name != "seconds" or result.seconds)}
            )
            where = places(result.provenance)
            found[item.name] = sealed(
                plain({"where": where, "command": item.recorded_by, "result": content | {KEY: made}})
            )
    return found


if __name__ == "__main__":
    for name, content in recordable().items():
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
        write_text(PACKAGE / f"{name}.json", text)
        print(f"{PACKAGE / name}.json: {len(text) / 1000:.0f} kB")
    with whole_file(ROOT.parent / "docs" / "images" / "law.png") as temporary:
        census_law().figures()["law"].savefig(temporary, dpi=FILE_DPI)
