"""Does depth with softmax between experts make polynomials learnable that a two-layer network does not learn?

The paper proposes to join experts that were trained apart, and leaves the rest to future work. `studies/endtoend.py` of
the repository trains the joined architecture end to end; here is what its result says.
"""

from __future__ import annotations

from modgrok.base.results import percent
from modgrok.figures.paper import endtoend_figures
from modgrok.figures.style import Figure
from modgrok.reproduction.item import ItemResult, Summary, Values
from modgrok.training.diagnosis import LEARNED


def learned_share(result: ItemResult, start: str) -> str:
    """Of how many cases that began like this how many were learned."""
    return f"{len(result.measured['learned'][start])} of {sum(row[start] is not None for row in result.rows)}"


def conclusion(result: ItemResult) -> str:
    tuned = [row for row in result.rows if row["experts"] is not None]
    lost = sum(row["experts_worst"] < LEARNED for row in tuned)
    count = {start: learned_share(result, start) for start in result.measured["learned"]}
    return (
        f"Circuits learn {count['scratch']} cases from scratch and {count['generic']} from experts that were not "
        f"relabelled, and one two-layer network {count['single']}; where the first experts were trained before, the "
        f"rest is learned in {count['first']}, and where the last were, in {count['last']}. Training on keeps joined "
        f"experts right in {count['experts']} under some setting, and loses them in {lost} under some other"
    )


def summarise(result: ItemResult) -> Summary:
    control_rows = [row for table in result.further_tables for row in table.rows]
    controls = result.measured["controls"]
    missing = [text for text, held in controls.items() if not held]
    doubt = "".join(f"{doubt_about(text, control_rows)}. " for text in missing)
    passed = f"{len(controls) - len(missing)} of {len(controls)}"
    held = f"every circuit learns its control, n1 + n2, from scratch in some setting ({passed})"
    return Summary(
        "two-layer networks and other architectures do not learn these polynomials",
        f"learned from scratch: {learned_share(result, 'scratch')}, where {passed} circuits learn n1 + n2; by one "
        f"two-layer network: {learned_share(result, 'single')}; by going on from joined experts: "
        f"{learned_share(result, 'experts')}",
        f"{doubt or f'{held}. '}{conclusion(result)}",
    )


def figures(result: ItemResult) -> dict[str, Figure]:
    return endtoend_figures(result.rows, result.data["curves"])


def doubt_about(text: str, control_rows: list[Values]) -> str:
    """Why a polynomial is open, and what would settle it."""
    seen = [row for row in control_rows if row["polynomial"] == text and row["control_best_seed"] >= LEARNED]
    if not seen:
        return f"no control is learned for {text}, so the question is open there"
    row = seen[-1]
    return (
        f"the circuit of {text} is open: modulo {row['modulus']} it learns the control n1 + n2 with some seeds, but in "
        f"no schedule with all, while the polynomial reaches {percent(row['scratch'], 0)} at most; the same sweep "
        "modulo 97 would settle it (`python benchmarks/control.py`, minutes on a GPU)"
    )
