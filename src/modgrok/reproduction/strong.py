"""The strong hypothesis: does the classification hold for other architectures, losses, optimisers and regularisers?

The paper conjectures that any standard network reaches 100 % test accuracy on h(g1(n1) + g2(n2)). `studies/strong.py`
of the repository trains some; here is what their result says.
"""

from __future__ import annotations

from modgrok.figures.paper import strong_figures
from modgrok.figures.style import Figure
from modgrok.reproduction.item import ItemResult, Summary, Values


def summarise(result: ItemResult) -> Summary:
    found = result.measured["in_class"]
    cases = sum(found.values())
    learned = sum(count for name, count in found.items() if name.startswith("learned"))
    open_cases, doubt = found["still rising"] + found["not trained on"], result.measured["doubt"]
    return Summary(
        "every standard network reaches 100 % on h(g1 + g2)",
        f"learned {learned} of {cases} times, in {counted(result.rows)} that learn n1 + n2 and n1 n2",
        f"{result.measured['networks']:,} networks; of {cases} cases in the class {found['learned']} are learned "
        f"within the usual steps, {found['learned late']} with more steps, {found['learned with more of the table']} "
        f"with more of the table; {open_cases or 'none'} are open and {found['at rest'] or 'none'} at rest below 99 %"
        f"{f'. {doubt}' if doubt else ''}"
        if cases
        else "no setting was strong enough to tell",
    )


def figures(result: ItemResult) -> dict[str, Figure]:
    return strong_figures(result.rows)


def counted(settings: list[Values], what: str = "settings") -> str:
    """How many settings learn both controls, modulo each number: 19 settings modulo 97 and 8 modulo 23."""
    moduli = [setting["modulus"] for setting in settings if setting["controls_pass"]]
    counts = (f"{moduli.count(modulus)} modulo {modulus}" for modulus in dict.fromkeys(moduli))
    return " and ".join(counts).replace(" ", f" {what} ", 1) or f"no {what}"
