"""The loss law: at the end of training with weight decay, the training loss alone tells the test accuracy.

A hundred thousand networks are behind it, so it is not computed here: the result is the one that was recorded from the
large census (`benchmarks/record.py` makes it), whose laws the package ships and `classify` uses.
"""

from __future__ import annotations

from dataclasses import replace

from modgrok.base.errors import InputError
from modgrok.figures.paper import law_figure
from modgrok.figures.style import Figure
from modgrok.reproduction.item import Effort, ItemResult, Summary
from modgrok.reproduction.records import read_recorded


def compute(effort: Effort) -> ItemResult:
    """What was recorded, whatever the effort, and where."""
    recorded = read_recorded("law")
    if recorded is None:
        raise InputError("the loss law is not recorded; `python benchmarks/record.py` makes it from a census")
    return replace(recorded.result, notes=(f"Recorded on {recorded.where}: {recorded.command}",))


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
