"""The loss law: at the end of training with weight decay, the training loss alone tells the test accuracy.

A hundred thousand networks are behind it, so it is not computed here: the result is the one that was recorded from the
large census (`benchmarks/record.py` makes it by `result_of`), whose laws the package ships and `classify` uses.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from modgrok.base.errors import InputError
from modgrok.base.results import percent
from modgrok.figures.paper import law_figure
from modgrok.figures.style import Figure
from modgrok.loss_law.curve import Curve
from modgrok.loss_law.fraction_law import FractionLaw
from modgrok.loss_law.from_table import TableLaw
from modgrok.reproduction.item import Effort, ItemResult, ItemTable, Summary, Values, Verdict
from modgrok.reproduction.records import read_recorded

MODULI = (11, 31, 97)
"""Where the table says how much is enough."""
DRAWN = np.linspace(0, 1.15, 116)
"""Ratios of odds at which the curve is drawn."""


def compute(effort: Effort) -> ItemResult:
    """What was recorded, whatever the effort, and where."""
    recorded = read_recorded("law")
    if recorded is None:
        raise InputError("the loss law is not recorded; `python benchmarks/record.py` makes it from a census")
    return replace(recorded.result, notes=(f"Recorded on {recorded.where}: {recorded.command}",))


def result_of(census: Values, table: TableLaw, fraction: FractionLaw, points: Values, curve: Curve) -> ItemResult:
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


def summarise(result: ItemResult) -> Summary:
    by_loss, by_table = result.measured["by_loss"], result.measured["by_table"]
    return Summary(
        "losses beside accuracies, without a law that joins them",
        f"one falling curve for all settings, over the odds of the training loss relative to those of random tables, "
        f"misses test accuracies by {by_loss['tables']:.3f} on tables that it has not seen, by "
        f"{by_loss['families']:.3f} on families and by {by_loss['moduli']:.3f} on moduli; from the table alone, before "
        f"training, `classify` misses by {by_table['tables']:.3f} on tables and by {by_table['families']:.3f} on kinds "
        f"of tables that it has not seen",
        f"{result.settings['networks']:,} networks on {result.settings['tables']:,} tables; the curve is for the "
        f"{result.settings['evaluated']:,} of them that cannot memorise for free",
    )


def figures(result: ItemResult) -> dict[str, Figure]:
    return {"law": law_figure(result.data["points"], result.data["curve"])}
