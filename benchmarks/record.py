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
from modgrok.base.results import percent, plain
from modgrok.censuses import law_check as law, store
from modgrok.figures.style import FILE_DPI
from modgrok.loss_law.calibration import calibration
from modgrok.loss_law.curve import Curve
from modgrok.loss_law.fraction_law import FractionLaw, fraction_law
from modgrok.loss_law.from_table import TableLaw, table_law
from modgrok.reproduction.evidence import sealed, stored_result
from modgrok.reproduction.item import ItemResult, ItemTable, Values, Verdict, span
from modgrok.reproduction.mathematics import FUNCTIONS, result_of as mathematics_result
from modgrok.reproduction.registry import ALL, Item

ROOT = Path(__file__).parent
PACKAGE = ROOT.parent / "src" / "modgrok" / "reproduction" / "recorded"
CENSUS, RESULTS = ROOT / "census" / "large", ROOT / "results"
ONE_IN = 25
"""Networks of the census of which one is drawn."""
MODULI = (11, 31, 97)
"""Where the table says how much is enough."""
DRAWN = np.linspace(0, 1.15, 116)
"""Ratios of odds at which the curve is drawn."""


OTHERS = "Other models on n1 n2: which share of the variance of their logits has the analytical form"
OTHER_COLUMNS = {
    "model": "model",
    "kind": "state",
    "seeds": "seeds",
    "test_accuracy": "test accuracy",
    "analytical": "analytical form",
    "sum": "any function of the sum",
}


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
    result, others = mathematics_result(own.rows, own.data, own.settings), other_models(beside["rows"])
    return replace(
        result,
        measured=result.measured | {"others": others},
        further_tables=(ItemTable(OTHERS, OTHER_COLUMNS, others),),
        provenance=merged(own.provenance, read_made(beside.get(KEY))),
    )


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


def law_result(census: Values, table: TableLaw, fraction: FractionLaw, points: Values, curve: Curve) -> ItemResult:
    """From the report of a census (`modgrok.censuses.report`), its laws, and some of its networks to draw."""
    by_loss = {each["held_out"]: each["error"] for each in census["errors_held_out"]}
    of_networks = table.models["power"]  # a family of this census is one of the law's kinds of tables
    by_table, coverage = (
        {"tables": found["tables"], "families": found["kinds"]} for found in (of_networks.error, of_networks.coverage)
    )
    return ItemResult(
        item="law",
        title="Mean absolute error of the test accuracy that is expected, on what was held out from the fit",
        settings={name: census[name] for name in ("networks", "tables", "steps", "evaluated")},
        published={},
        measured={"by_loss": by_loss, "by_table": by_table},
        verdict=Verdict.FINDING,
        notes=(
            "Held out: all networks of a table, a family, a modulus or a width together. In their intervals: of the "
            "expectations from a table alone; the interval is to hold nine in ten.",
        ),
        columns={
            "held_out": "held out",
            "by_loss": "from the training loss",
            "by_table": "from the table alone",
            "coverage": "in their intervals",
        },
        rows=[
            {
                "held_out": name,
                "by_loss": error,
                "by_table": by_table.get(name),
                "coverage": percent(coverage.get(name), 0),
            }
            for name, error in by_loss.items()
        ],
        further_tables=(enough(fraction),),
        data={"points": points, "curve": drawn_curve(curve)},
    )


def enough(law: FractionLaw) -> ItemTable:
    """From which share of a table on functions of each kind grok."""
    return ItemTable(
        "How much of a table is enough: the share from which on half of the trainings of a function in the class grok; "
        "and the share of trainings, on moduli held out, that did otherwise than the law says",
        {"kind": "kind", "networks": "trainings"}
        | {f"at {modulus}": f"modulo {modulus}" for modulus in MODULI}
        | {"misjudged": "did otherwise"},
        [
            {
                "kind": kind,
                "networks": found.networks,
                **{f"at {modulus}": percent(float(found.boundary(modulus)), 0) for modulus in MODULI},
                "misjudged": percent(found.misjudged_by_modulus, 1),
            }
            for kind, found in law.kinds.items()
        ],
    )


def drawn_curve(curve: Curve) -> dict[str, list[float]]:
    """What is expected, and the interval, over ratios of odds."""
    expected = [float(value) for value in curve.at(DRAWN)]
    low, high = zip(*map(curve.interval, expected), strict=True)
    return {"ratio": DRAWN.tolist(), "accuracy": expected, "low": list(low), "high": list(high)}


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
