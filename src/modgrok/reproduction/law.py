"""The loss law: at the end of training with weight decay, the training loss alone tells the test accuracy.

Thousands of networks are behind it, so it is not computed here: the result is the one that was recorded from a census
(`benchmarks/record.py` makes it by `result_of`).
"""

from __future__ import annotations

from dataclasses import replace

from modgrok.errors import InputError
from modgrok.figures.law import law_figure
from modgrok.figures.style import Figure
from modgrok.reproduction.item import Effort, ItemResult, ItemTable, Summary, Values, Verdict
from modgrok.reproduction.records import read_recorded

ERRORS = ("error_own_curves", "error_one_curve")
HELD_OUT = ("families", "moduli")
SHOWN = 8


def compute(effort: Effort) -> ItemResult:
    """What was recorded, whatever the effort, and where."""
    recorded = read_recorded("law")
    if recorded is None:
        raise InputError("the loss law is not recorded; `python benchmarks/record.py` makes it from a census")
    return replace(recorded.result, notes=(f"Recorded on {recorded.where}: {recorded.command}",))


def result_of(census: Values, points: list[Values]) -> ItemResult:
    """From the report of a census (`modgrok.censuses.report`), and the networks of the settings to draw."""
    outside = census["surprises"]["outside the class, learned beyond redundancy"]
    return ItemResult(
        item="law",
        title="What predicts the test accuracy, each with its own monotone fit, half of the table",
        settings={name: census[name] for name in ("networks", "tables", "steps")},
        published={},
        measured={name: census[name] for name in ERRORS}
        | {"held_out": {each["held_out"]: each["error"] for each in census["errors_held_out"]}},
        verdict=Verdict.FINDING,
        notes=(),
        columns={
            "meaning": "predictor",
            "training_free": "before training",
            "error": "mean error",
            "spearman": "rank correlation",
        },
        rows=census["predictors"],
        tables=(
            ItemTable(
                "Verdict before training against outcome. The class is neither necessary nor always sufficient: some "
                "networks outside it learn everything, and a few inside it had too little data",
                {
                    key: key
                    for key in ("verdict", "networks", "learned", "partly, beyond redundancy", "redundancy or less")
                },
                census["verdicts"],
            ),
            ItemTable(
                f"Outside the class, learned beyond redundancy: {outside['networks']} networks on {outside['tables']} "
                "tables; the strongest",
                {
                    "table": "polynomial",
                    "modulus": "mod",
                    "width": "width",
                    "fraction": "trained share",
                    "redundancy": "redundancy",
                    "test_accuracy": "test accuracy",
                },
                outside["shown"][:SHOWN],
            ),
        ),
        data={"points": points},
    )


def summarise(result: ItemResult) -> Summary:
    own, one = (result.measured[name] for name in ERRORS)
    families, moduli = (result.measured["held_out"][name] for name in HELD_OUT)
    return Summary(
        "losses beside accuracies, without a law that joins them",
        f"a falling curve through the training losses of a setting predicts test accuracies with a mean absolute error "
        f"of {own:.3f} (cross-validated); one curve for all settings, over the odds of the loss relative to those of "
        f"random tables, with {one:.3f}; families that it has not seen with {families:.3f}, and "
        f"moduli with {moduli:.3f}",
        f"{result.settings['networks']:,} networks on {result.settings['tables']:,} tables",
    )


def figures(result: ItemResult) -> dict[str, Figure]:
    return {"law": law_figure(result.data["points"])}
