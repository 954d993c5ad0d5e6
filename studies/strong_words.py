"""The strong hypothesis in sentences, each from the summaries of the settings alone (`strong_result`)."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from modgrok.base.results import percent
from modgrok.reproduction.classes import LEARNED_OUTSIDE
from modgrok.reproduction.item import Values
from modgrok.training.diagnosis import LEARNED
from studies.rest import Outcome
from studies.strong_longer import REACHES
from studies.strong_plan import TABLE2, model_of

Rows = list[Values]

HOW = {
    "agrees": "within the usual steps",
    "agrees with more steps": "with more steps",
    "agrees with more of the table": "with more of the table",
}
"""How a setting that agrees learned its last polynomial."""
OPEN = ("still rising", "not trained on")
MODELS = {"power": "x² networks", "mlp": "MLPs", "transformer": "transformers"}
A_LAW = -0.5
"""A rank correlation of training loss and test accuracy up to here is a law of a kind."""


def conclusions(settings: Rows) -> Iterator[str]:
    """What the hypothesis comes to, a sentence for each modulus; and how to take it."""
    for modulus in dict.fromkeys(setting["modulus"] for setting in settings):
        yield conclusion(modulus, [s for s in settings if s["modulus"] == modulus])
    findings = {setting["finding"] for setting in settings}
    if "open" in findings:
        yield from nearest(settings)
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


def nearest(settings: Rows) -> Iterator[str]:
    """The looks at what is open in which some of the seeds have learned it: a sentence for each."""
    for _, cell in open_cells(settings):
        for look in cell["looks"]:
            if look["seeds_learned_at"]:
                where = f"{cell['polynomial']} mod {cell['modulus']} in {cell['setting']}"
                yield f"Some seeds have learned {where}, {look_words(look)}."


def doubt(settings: Rows) -> str:
    """What is open, and what would settle it; nothing where nothing is."""
    found: dict[str, list[str]] = {}
    for _, cell in open_cells(settings):
        polynomial = f"{cell['polynomial']} mod {cell['modulus']}"
        found.setdefault(polynomial, []).append(f"{cell['setting']} ({reached(cell)})")
    cases = (f"{polynomial} in {' and in '.join(names)}" for polynomial, names in found.items())
    return f"Open is {'; '.join(cases)}: {remedy(settings)}" if found else ""


def reached(cell: Values) -> str:
    """How far an open case has come; where its best look is at rest, also how far what is still rising has."""
    looks, words = cell["looks"], f"{percent(cell['accuracy_at_last'], 1)} at most"
    if any(look["outcome"] == Outcome.REST and look["accuracy"] == cell["accuracy_at_last"] for look in looks):
        rising = max(look["accuracy"] for look in looks if look["outcome"] == Outcome.RISING)
        words += f", at rest, and {percent(rising, 1)} where it is still rising"
    partly = (look for look in looks if look["seeds_learned_at"])
    return words + "".join(f", 99 % by {len(look['seeds_learned_at'])} of {look['seeds']} seeds" for look in partly)


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


def outside(settings: Rows) -> Iterator[str]:
    """What became of polynomials outside the class, in the settings of one modulus that learn both controls."""
    strong = [setting for setting in settings if setting["controls_pass"]]
    near, learned = ([name for name in names if has(strong, name)] for names in (TABLE2, LEARNED_OUTSIDE))
    if near:
        full = sum(accuracy >= LEARNED for name in near for accuracy in accuracies(strong, name))
        reached = (
            f"{name} at most {percent(max(accuracies(strong, name)), 1)}, where twins and guesses give "
            f"{percent(cell_of(strong[0], name)['twins_and_guesses'], 1)}"
            for name in near
        )
        times = f"{full} times" if full else "nowhere"
        yield f"Of Table 2 the near misses are learned {times} in {len(strong)} settings: {'; '.join(reached)}."
    if learned:
        yield from by_model(strong, learned)


def by_model(strong: Rows, names: list[str]) -> Iterator[str]:
    """Who learns the polynomials that the paper's network learns although no family has them."""
    kinds = kinds_of(strong)
    whole = [
        f"{sum(min(accuracies([setting], name)[0] for name in names) >= LEARNED for setting in members)} of "
        f"{len(members)} settings with {kind}"
        for kind, members in kinds.items()
    ]
    yield (
        f"The {len(names)} polynomials that the paper's network learns although no family has them are all learned, "
        f"within the usual steps, by {listed(whole)}."
    )
    apart = []
    for name in names:
        spans = {kind: span_of(members, name) for kind, members in kinds.items()}
        better, worse = max(spans, key=lambda kind: spans[kind][0]), min(spans, key=lambda kind: spans[kind][1])
        if spans[better][0] > spans[worse][1]:
            low, high = percent(spans[better][0], 1), percent(spans[worse][1], 1)
            apart.append(f"{name} to {low} or more by all {better}, and to {high} at most by {worse}")
    if apart:
        yield f"So what is learned outside the class depends on the architecture: {'; '.join(apart)}."


def kinds_of(strong: Rows) -> dict[str, Rows]:
    """Settings by the kind of network that they train."""
    found = {kind: [s for s in strong if model_of(s["setting"]) == model] for model, kind in MODELS.items()}
    return {kind: members for kind, members in found.items() if members}


def span_of(settings: Rows, polynomial: str) -> tuple[float, float]:
    """The lowest and the highest accuracy that settings reach on a polynomial."""
    return min(accuracies(settings, polynomial)), max(accuracies(settings, polynomial))


def loss_laws(settings: Rows) -> str:
    """Whether the final training loss orders the test accuracies, in the settings of one modulus that count."""
    strong = [setting for setting in settings if setting["controls_pass"] and setting["loss_law"] is not None]
    laws = [setting["loss_law"] for setting in strong]
    weak = [f"{setting['setting']} ({setting['loss_law']:.2f})" for setting in strong if setting["loss_law"] > A_LAW]
    return (
        f"Modulo {strong[0]['modulus']} Spearman's rank correlation of the two is {A_LAW} or below in "
        f"{len(strong) - len(weak)} of {len(strong)} settings{' (not in ' + '; '.join(weak) + ')' if weak else ''}; it "
        f"runs from {min(laws):.2f} to {max(laws):.2f}, with a median of {median(laws):.2f}."
    )


def has(settings: Rows, polynomial: str) -> bool:
    """Whether a polynomial is among those of the settings, and outside the class."""
    return any(c["polynomial"] == polynomial and c["verdict"] != "in-class" for s in settings for c in s["cells"])


def accuracies(settings: Rows, polynomial: str) -> list[float]:
    return [cell_of(setting, polynomial)["accuracy"] for setting in settings]


def cell_of(setting: Values, polynomial: str) -> Values:
    return next(cell for cell in setting["cells"] if cell["polynomial"] == polynomial)


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
    """A polynomial in a setting, from the first look to the last."""
    looks = "".join(f"; {look_words(look)}" for look in cell["looks"])
    at_first = f"{percent(cell['accuracy'], 1)} at first"
    return f"{cell['polynomial']} mod {cell['modulus']} in {cell['setting']}: {at_first}{looks}."


def look_words(look: Values) -> str:
    rates = f"learning rate {look['learning_rate']:.2g} and weight decay {look['weight_decay']:.2g}"
    where = f"on {percent(look['fraction'], 0)} of the table with {rates}:"
    if look["learned_at"] is not None:
        return f"{where} {outcome_words(look)}"
    level = f"{percent(look['accuracy'], 1)} after {look['steps']:,} steps"
    if look["seeds_learned_at"]:
        return f"{where} {outcome_words(look)}, the mean is {level}"
    return f"{where} {level} ({outcome_words(look)})"


def outcome_words(look: Values) -> str:
    """From when on a look has learned, or some of its seeds have, or what became of it else."""
    steps = look["seeds_learned_at"]
    if not steps:
        return str(look["outcome"])
    reached = f"99 % from step {steps[-1]:,}"
    if look["learned_at"] is not None:
        return reached
    reach = "reaches" if len(steps) == 1 else "reach"
    return f"{len(steps)} of {look['seeds']} seeds {reach} {reached} and the worst is {look['outcome']}"
