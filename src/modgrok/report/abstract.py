"""The report in five sentences, each from the results that the page shows; what was not measured is not said."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from modgrok.base.results import percent
from modgrok.reproduction.item import ItemResult, Verdict
from modgrok.reproduction.strong import counted

Results = Mapping[str, ItemResult]


def abstract(results: Results, claims: list[str]) -> str:
    """`claims` are the items that test a claim of the paper."""
    tested = {name: results[name] for name in claims if name in results}
    return " ".join(filter(None, [reproduced(tested), *(sentence(results) for sentence in SENTENCES)]))


def reproduced(results: Results) -> str:
    """How many claims hold, and which are open or do not."""
    if not results:
        return ""
    by_verdict = {verdict: [r for r in results.values() if r.verdict is verdict] for verdict in Verdict}
    text = f"Of {len(results)} claims of the paper, computed again with code of our own, "
    parts = [
        f"{len(found)} {WORDS[verdict][len(found) > 1]}"
        for verdict, found in by_verdict.items()
        if found and verdict in WORDS
    ]
    return text + (", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]) + "."


WORDS = {
    Verdict.REPRODUCED: ("comes out as published", "come out as published"),
    Verdict.PARTLY: ("in part", "in part"),
    Verdict.DIFFERS: ("does not hold", "do not hold"),
    Verdict.UNDECIDED: ("stays open in some cases", "stay open in some cases"),
}
"""What one claim does, and what several do."""


def same_mathematics(results: Results) -> str:
    if "mathematics" not in results:
        return ""
    rows = results["mathematics"].rows
    common, error = min(row["common"] for row in rows), max(row["phase_error"] for row in rows)
    snapped = min(row["snapped"] for row in rows)
    return (
        f"Trained x² networks are the analytical ones, neuron by neuron: {percent(common, 0)} of the living neurons "
        f"have one frequency, their phases obey the phase law to {error:.2g} rad, and with every block of weights "
        f"replaced by one cosine they are right on {percent(snapped, 0)} of the inputs without zero."
    )


def strong_hypothesis(results: Results) -> str:
    if "strong" not in results:
        return ""
    found = results["strong"].measured["in_class"]
    learned = sum(count for name, count in found.items() if name.startswith("learned"))
    rising = found["still rising"] + found["not trained on"]
    return (
        f"Polynomials of the form h(g1(n1) + g2(n2)) are learned in {learned} of {sum(found.values())} cases by "
        f"{counted(results['strong'].rows, 'settings of architecture, loss, optimiser and regulariser')}, some with "
        f"more steps or more of the table; {rising or 'no'} cases are still rising at the last step, and "
        f"{found['at rest'] or 'none'} came to rest below 99 %."
    )


def from_scratch(results: Results) -> str:
    if "endtoend" not in results:
        return ""
    held, learned = (results["endtoend"].measured[name] for name in ("controls", "learned"))
    if learned["scratch"]:
        return f"From scratch, circuits of experts learn what is outside the form: {'; '.join(learned['scratch'])}."
    return (
        "Polynomials outside the form are not learned from scratch by circuits of experts either, in settings in "
        f"which the same circuits learn n1 + n2 ({sum(held.values())} of {len(held)} circuits)."
    )


def by_design(results: Results) -> str:
    if "networks" not in results:
        return ""
    result = results["networks"]
    _, exact, fewest = result.measured["neurons"].values()
    proved = ", and both are proved" if result.verdict is Verdict.FINDING else ""
    return (
        f"With phases by design instead of by chance, {exact} neurons compute exactly what the paper's "
        f"{result.published['neurons']:,} approximate, {fewest} are right on every input{proved}."
    )


SENTENCES: tuple[Callable[[Results], str], ...] = (same_mathematics, strong_hypothesis, from_scratch, by_design)
