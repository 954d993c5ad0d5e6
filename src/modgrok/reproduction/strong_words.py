"""The strong hypothesis in sentences, each from the summaries of the settings alone (`strong_result`)."""

from __future__ import annotations

from collections.abc import Iterator

from modgrok.reproduction.item import Values
from modgrok.training.diagnosis import LEARNED

Rows = list[Values]

HOW = {
    "agrees": "within the usual steps",
    "agrees with more steps": "with more steps",
    "agrees with more of the table": "with more of the table",
}
"""How a setting that agrees learned its last polynomial."""


def conclusions(settings: Rows) -> Iterator[str]:
    """What the hypothesis comes to, a sentence for each modulus; and how to take it."""
    for modulus in dict.fromkeys(setting["modulus"] for setting in settings):
        yield conclusion(modulus, [s for s in settings if s["modulus"] == modulus])
    findings = {setting["finding"] for setting in settings}
    if "open" in findings:
        yield (
            "The hypothesis names no number of steps and no share of the table, so what is still rising neither "
            "confirms nor refutes it; more steps of the same training would settle it."
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


def listed(parts: list[str]) -> str:
    """Parts of a sentence: commas between them, and in front of the last `and`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def notes(settings: Rows, found: dict[str, Rows]) -> Iterator[str]:
    for name in ("at rest", "still rising", "not trained on", "learned with more of the table", "learned late"):
        for cell in found[name]:
            yield f"{name[0].upper()}{name[1:]}: {cell_words(cell)}"
    for polynomial, modulus in dict.fromkeys((c["polynomial"], c["modulus"]) for c in found["beyond"]):
        cells = [c for c in found["beyond"] if (c["polynomial"], c["modulus"]) == (polynomial, modulus)]
        whole = sum(c["accuracy"] >= LEARNED for c in cells)
        yield (
            f"Outside the class, {polynomial} mod {modulus}: {len(cells)} settings go beyond the "
            f"{cells[0]['twins_and_guesses']:.0%} of twins and guesses, {whole} of them to {LEARNED:.0%}."
        )
    weak = [f"{s['setting']} mod {s['modulus']}" for s in settings if not s["controls_pass"]]
    if weak:
        yield f"Settings too weak, no evidence (a control stays below {LEARNED:.0%}): {'; '.join(weak)}."
    yield (
        "Loss law: rank correlation of final training loss and test accuracy over a setting's networks; near -1 the "
        "training loss alone orders the accuracies."
    )


def cell_words(cell: Values) -> str:
    """A polynomial in a setting, from the first look to the last."""
    looks = "".join(f"; {look_words(look)}" for look in cell["looks"])
    return f"{cell['polynomial']} mod {cell['modulus']} in {cell['setting']}: {cell['accuracy']:.1%} at first{looks}."


def look_words(look: Values) -> str:
    rates = f"learning rate {look['learning_rate']:.2g} and weight decay {look['weight_decay']:.2g}"
    where = f"on {look['fraction']:.0%} of the table with {rates}"
    if look["learned_at"] is not None:
        return f"{where} 99 % from step {look['learned_at']:,}"
    return f"{where} {look['accuracy']:.1%} after {look['steps']:,} steps ({look['outcome']})"
