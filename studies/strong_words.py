"""The strong hypothesis in sentences, each from the summaries of the settings alone (`strong_result`)."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from modgrok.base.results import percent
from modgrok.reproduction.item import Values
from modgrok.training.diagnosis import LEARNED
from studies.strong_plan import REACHES, VARIED, Rows

HOW = {
    "agrees": "within the usual steps",
    "agrees with more steps": "with more steps",
    "agrees with more of the table": "with more of the table",
}
"""How a setting that agrees learned its last polynomial."""
OPEN = ("still rising", "not trained on")
A_LAW = -0.5
"""A rank correlation of training loss and test accuracy up to here is a law of a kind."""


def conclusions(settings: Rows) -> Iterator[str]:
    """What the hypothesis comes to, a sentence for each modulus; and how to take it."""
    for modulus in moduli(settings):
        yield conclusion(modulus, [s for s in settings if s["modulus"] == modulus])
    findings = {setting["finding"] for setting in settings}
    if "open" in findings:
        yield (
            "The hypothesis names no number of steps and no share of the table, so what is still rising neither "
            f"confirms nor refutes it; {remedy(settings)}."
        )
    if "contradicts" in findings:
        yield "What is at rest speaks against it in these settings: twice the steps changed nothing."


def conclusion(modulus: int, settings: Rows) -> str:
    """Setting by setting what holds modulo p, in one sentence."""
    strong = [setting for setting in settings if setting["controls_pass"]]
    if not strong:
        return f"Modulo {modulus} no setting learns both controls, so nothing can be said."
    found = {name: [s for s in strong if s["finding"] == name] for name in (*HOW, "open", "contradicts")}
    parts = [f"{len(found[name])} {how}" for name, how in HOW.items() if found[name]]
    if parts:
        parts[0] = f"every polynomial of the form is learned by {parts[0]}"
    for name, words in (("open", "has one that is still rising"), ("contradicts", "has one at rest")):
        if found[name]:
            count, names = len(found[name]), "; ".join(s["setting"] for s in found[name])
            parts.append(f"{count} {words if count == 1 else words.replace('has', 'have')} ({names})")
    return f"Modulo {modulus}, of {len(strong)} settings that learn both controls, {listed(parts)}."


def doubt(settings: Rows) -> str:
    """What is open, and what would settle it; nothing where nothing is."""
    found: dict[str, list[str]] = {}
    for _, cell in open_cells(settings):
        polynomial, reached = f"{cell['polynomial']} mod {cell['modulus']}", percent(cell["accuracy_at_last"], 1)
        found.setdefault(polynomial, []).append(f"{cell['setting']} ({reached} at most)")
    cases = (f"{polynomial} in {' and in '.join(names)}" for polynomial, names in found.items())
    return f"Open is {'; '.join(cases)}: {remedy(settings)}" if found else ""


def open_cells(settings: Rows) -> list[tuple[Values, Values]]:
    """The cells that leave the hypothesis open, each with its setting before it."""
    return [(setting, cell) for setting in settings for cell in setting["cells"] if cell["finding"] in OPEN]


def remedy(settings: Rows) -> str:
    """How much of the budget went into what is open, and what would settle it."""
    most = [
        max((look["steps"] / setting["steps"] for look in cell["looks"]), default=1.0)
        for setting, cell in open_cells(settings)
    ]
    low, high = f"{min(most):.3g}", f"{max(most):.3g}"
    times = high if low == high else f"{low} to {high}"
    budget = "the whole budget" if min(most) >= REACHES[-1] else f"of a budget of {REACHES[-1]} times"
    trained = f"it was trained for {times} times the usual steps, {budget}"
    return f"{trained}, and more steps of what is still rising would settle it"


def loss_laws(settings: Rows) -> Iterator[str]:
    """Whether the final training loss orders the test accuracies, modulo each number in the settings that count."""
    strong = [setting for setting in settings if setting["controls_pass"] and setting["loss_law"] is not None]
    for modulus in moduli(strong):
        laws = {s["setting"]: s["loss_law"] for s in strong if s["modulus"] == modulus}
        weak = [f"{name} ({law:.2f})" for name, law in laws.items() if law > A_LAW]
        yield (
            f"Modulo {modulus} Spearman's rank correlation of the two is {A_LAW} or below in {len(laws) - len(weak)} "
            f"of {len(laws)} settings{' (not in ' + '; '.join(weak) + ')' if weak else ''}; it runs from "
            f"{min(laws.values()):.2f} to {max(laws.values()):.2f}, with a median of {median(laws.values()):.2f}."
        )


def moduli(settings: Rows) -> list[int]:
    return list(dict.fromkeys(setting["modulus"] for setting in settings))


def accuracies(settings: Rows, polynomial: str) -> list[float]:
    return [cell["accuracy"] for s in settings for cell in s["cells"] if cell["polynomial"] == polynomial]


def listed(parts: list[str]) -> str:
    """Parts of a sentence: commas between them, and in front of the last `and`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def notes(settings: Rows, found: dict[str, Rows]) -> Iterator[str]:
    for name in ("at rest", "still rising", "not trained on", "learned with more of the table", "learned late"):
        for cell in found.get(name, ()):
            yield f"{name[0].upper()}{name[1:]}: {cell_words(cell)}"
    beyond = found.get("beyond", [])
    for polynomial, modulus in dict.fromkeys((c["polynomial"], c["modulus"]) for c in beyond):
        cells = [c for c in beyond if (c["polynomial"], c["modulus"]) == (polynomial, modulus)]
        whole = sum(c["accuracy"] >= LEARNED for c in cells)
        yield (
            f"Outside the class, {polynomial} mod {modulus}: {len(cells)} settings go beyond the "
            f"{percent(cells[0]['twins_and_guesses'], 0)} of twins and guesses, {whole} of them to "
            f"{percent(LEARNED, 0)}."
        )
    weak = [f"{s['setting']} mod {s['modulus']}" for s in settings if not s["controls_pass"]]
    if weak:
        yield f"Settings too weak, no evidence (a control stays below {percent(LEARNED, 0)}): {'; '.join(weak)}."
    yield (
        "Loss law: rank correlation of final training loss and test accuracy over a setting's networks; near -1 the "
        "training loss alone orders the accuracies."
    )


def cell_words(cell: Values) -> str:
    """A polynomial in a setting, at first and in the best of its later looks."""
    later = "".join(f"; {look_words(look)}" for look in cell["looks"][:1])
    at_first = f"{percent(cell['accuracy'], 1)} at first"
    return f"{cell['polynomial']} mod {cell['modulus']} in {cell['setting']}: {at_first}{later}."


def look_words(look: Values) -> str:
    rate, decay, scale = (f"{look[name]:.3g}" for name in VARIED)
    return (
        f"on {percent(look['fraction'], 0)} of the table with learning rate {rate}, weight decay {decay} and initial "
        f"scale {scale}: {percent(look['accuracy'], 1)} after {look['steps']:,} steps ({outcome_words(look)})"
    )


def outcome_words(look: Values) -> str:
    """From when on a variant has learned, or some of its seeds have, or what became of it else."""
    steps = look["seeds_learned_at"]
    if not steps:
        return str(look["outcome"])
    reached = f"99 % from step {steps[-1]:,}"
    if len(steps) == look["seeds"]:
        return reached
    return f"{reached} by {len(steps)} of {look['seeds']} seeds, the worst {look['outcome']}"
