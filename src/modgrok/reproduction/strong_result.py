"""What the networks of `modgrok paper strong` say: a finding for each setting and polynomial, and a verdict.

A setting comes in variants (learning rate, weight decay). Those count that reach 99 % of the test rows on both
controls; a setting that has none is too weak, and no evidence. In the others the accuracy of a polynomial is the best
of the variants that count, as a mean over seeds. So a polynomial of the class that stays below 99 % contradicts the
strong hypothesis however the setting is tuned, unless a second look with more steps finds it learned after all.
The hypothesis is silent about polynomials outside the class; what is reached there is listed beside what a network
reaches that shares twins (equal rows and columns) and guesses the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from statistics import fmean, median

import numpy as np
from scipy.stats import spearmanr

from modgrok.reproduction.item import ItemResult, Values, Verdict
from modgrok.separable import classify_table
from modgrok.separable.redundancy import twins_and_guesses
from modgrok.training.data import function_table
from modgrok.training.diagnosis import LEARNED

CONTROLS = ("n1 + n2", "n1 n2")
BEYOND = 0.1
"""Test accuracy over twins and guesses from which a polynomial outside the class is beyond them."""

Rows = list[Values]


def result_of(rows: Rows) -> ItemResult:
    """The item's result, from the stored networks alone."""
    settings = summaries(rows)
    cells = [cell for setting in settings for cell in setting["cells"]]
    found = {name: [cell for cell in cells if cell["finding"] == name] for name in FINDINGS}
    in_class = [cell for name in ("agrees", "learned later", "contradicts") for cell in found[name]]
    strong = [setting for setting in settings if setting["controls_pass"]]
    return ItemResult(
        item="strong",
        title="The strong hypothesis: other architectures, losses, optimisers and regularisers",
        settings={
            "networks": len(rows),
            "settings": len({row["setting"] for row in rows}),
            "seeds": len({row["seed"] for row in rows}),
            "fraction": min(row["fraction"] for row in rows),
            "devices": sorted({row["device"] for row in rows}),
        },
        published={"hypothesis": "every standard network reaches 100 % test accuracy on h(g1(n1) + g2(n2))"},
        measured={
            "networks": len(rows),
            "settings_that_learn_the_controls": len(strong),
            "settings_too_weak": len(settings) - len(strong),
            "cells_in_class": len(in_class),
            "contradictions": len(found["contradicts"]),
            "learned_later": len(found["learned later"]),
            "learned_outside_the_class": sum(cell["accuracy"] >= LEARNED for cell in found["beyond"]),
            "loss_law": {f"{s['setting']} mod {s['modulus']}": s["loss_law"] for s in strong},
        },
        verdict=verdict_on(in_class, found["contradicts"]),
        notes=(*conclusions(settings), *notes(settings, in_class, found)),
        columns={
            "setting": "setting",
            "modulus": "mod",
            "controls": "controls",
            "in_class": "in class, worst",
            "outside": "outside, best",
            "loss_law": "loss law",
            "finding": "finding",
        },
        rows=settings,
    )


FINDINGS = {
    "control": "",
    "agrees": "in the class, learned",
    "learned later": "in the class, learned with more steps",
    "contradicts": "in the class, not learned",
    "twins and guesses": "outside the class, about what twins and guesses give",
    "beyond": "outside the class, more than twins and guesses give",
    "too weak": "the setting does not learn a control",
}
"""What a cell can say."""


def summaries(rows: Rows) -> Rows:
    """One summary for each modulus, largest first, and setting, in the order in which they are stored."""
    order = {name: k for k, name in enumerate(dict.fromkeys(row["setting"] for row in rows))}
    ordered = sorted(rows, key=lambda row: (-row["modulus"], order[row["setting"]]))
    cases = dict.fromkeys((row["polynomial"], row["modulus"]) for row in rows)
    known = {case: known_before(*case) for case in cases}
    by_setting = groupby(ordered, key=lambda row: (row["setting"], row["modulus"]))
    return [summary(name, modulus, list(members), known) for (name, modulus), members in by_setting]


def known_before(polynomial: str, modulus: int) -> Values:
    """What is known about a polynomial before training on half of its table: the verdict, and what twins give."""
    table, variables = function_table(polynomial, modulus)
    found = classify_table(table.reshape((modulus,) * variables), modulus)
    return {"verdict": found.status, "twins_and_guesses": twins_and_guesses(found.redundancy, modulus)}


def summary(name: str, modulus: int, members: Rows, known: dict[tuple[str, int], Values]) -> Values:
    """One setting: the variants that learn the controls, and a cell for each polynomial."""
    steps = min(row["steps"] for row in members)
    variants: dict[tuple[float, float], Rows] = {}
    for row in members:
        if row["steps"] == steps:
            variants.setdefault((row["learning_rate"], row["weight_decay"]), []).append(row)
    passing = [rows for rows in variants.values() if control_accuracy(rows) >= LEARNED]
    counting = passing or [max(variants.values(), key=control_accuracy)]
    longer = [row for row in members if row["steps"] > steps]
    cells = [
        cell(polynomial, counting, longer, known[polynomial, modulus], strong=bool(passing))
        for polynomial in dict.fromkeys(row["polynomial"] for row in counting[0])
    ]
    inside = [c["accuracy"] for c in cells if c["verdict"] == "in-class" and c["polynomial"] not in CONTROLS]
    outside = [c["accuracy"] for c in cells if c["verdict"] != "in-class"]
    result = {
        "setting": name,
        "modulus": modulus,
        "networks": len(members),
        "steps": steps,
        "width": members[0]["width"],
        "variants": len(variants),
        "variants_that_count": len(passing),
        "controls": max(map(control_accuracy, counting)),
        "controls_pass": bool(passing),
        "in_class": min(inside),
        "outside": max(outside),
        "loss_law": loss_law(counting),
        "cells": [{"setting": name, "modulus": modulus} | c for c in cells],
    }
    return result | {"finding": setting_finding(result)}


def contradictions(setting: Values) -> Rows:
    return [cell for cell in setting["cells"] if cell["first_finding"] == "contradicts"]


def setting_finding(setting: Values) -> str:
    if not setting["controls_pass"]:
        return "settings too weak"
    count = {name: sum(cell["finding"] == name for cell in setting["cells"]) for name in FINDINGS}
    if count["contradicts"]:
        return f"contradicts ({count['contradicts']})"
    return "agrees with more steps" if count["learned later"] else "agrees"


def control_accuracy(rows: Rows) -> float:
    """The worse of the two controls."""
    return min(mean_of(rows, "test_accuracy", control) for control in CONTROLS)


def mean_of(rows: Rows, column: str, polynomial: str) -> float:
    return fmean(row[column] for row in rows if row["polynomial"] == polynomial)


def cell(polynomial: str, variants: list[Rows], longer: Rows, known: Values, *, strong: bool) -> Values:
    """One polynomial in one setting: its best variant, as means over seeds, and what a second look found."""
    best = max(variants, key=lambda rows: mean_of(rows, "test_accuracy", polynomial))
    accuracy = mean_of(best, "test_accuracy", polynomial)
    again = second_look([row for row in longer if row["polynomial"] == polynomial])
    if not strong:
        finding = "too weak"
    elif polynomial in CONTROLS:
        finding = "control"
    elif known["verdict"] == "in-class":
        finding = "agrees" if accuracy >= LEARNED else "contradicts"
    else:
        finding = "beyond" if accuracy > known["twins_and_guesses"] + BEYOND else "twins and guesses"
    later = finding == "contradicts" and bool(again) and again[0]["accuracy"] >= LEARNED
    return {
        "polynomial": polynomial,
        **known,
        "learning_rate": best[0]["learning_rate"],
        "weight_decay": best[0]["weight_decay"],
        "accuracy": accuracy,
        "train_accuracy": mean_of(best, "train_accuracy", polynomial),
        "train_loss": mean_of(best, "train_loss", polynomial),
        "second_look": again,
        "first_finding": finding,
        "finding": "learned later" if later else finding,
    }


def second_look(rows: Rows) -> Rows:
    """Accuracies after more steps, for each share of the table, the smallest first."""
    return [
        {
            "fraction": fraction,
            "steps": rows[0]["steps"],
            "accuracy": fmean(row["test_accuracy"] for row in rows if row["fraction"] == fraction),
            "train_accuracy": fmean(row["train_accuracy"] for row in rows if row["fraction"] == fraction),
        }
        for fraction in sorted({row["fraction"] for row in rows})
    ]


def loss_law(variants: list[Rows]) -> float | None:
    """Spearman's rank correlation of final training loss and test accuracy; the median over variants."""
    found = []
    for rows in variants:
        losses, accuracies = (np.array([row[name] for row in rows]) for name in ("train_loss", "test_accuracy"))
        if np.isfinite(losses).all() and np.ptp(losses) > 0 and np.ptp(accuracies) > 0:
            found.append(float(spearmanr(losses, accuracies).statistic))
    return median(found) if found else None


def verdict_on(in_class: Rows, against: Rows) -> Verdict:
    """Undecided where no setting was strong enough to tell."""
    if not in_class:
        return Verdict.UNDECIDED
    return Verdict.DIFFERS if against else Verdict.REPRODUCED


def conclusions(settings: Rows) -> Iterator[str]:
    """What the hypothesis comes to at each modulus, and how to take it."""
    for modulus in dict.fromkeys(setting["modulus"] for setting in settings):
        strong = [setting for setting in settings if setting["modulus"] == modulus and setting["controls_pass"]]
        others = [setting["setting"] for setting in strong if setting["finding"] != "agrees"]
        text = (
            f"Modulo {modulus}, {len(strong)} settings learn both controls, and {len(strong) - len(others)} of them "
            "every polynomial of the form."
        )
        yield f"{text} Not all of them are learned by: {'; '.join(others)}." if others else text
    yield (
        "The hypothesis names no number of steps and no share of the table. Where a setting does not learn a "
        "polynomial of the form, it fails to confirm the hypothesis within the steps trained; it does not refute it."
    )


def notes(settings: Rows, in_class: Rows, found: dict[str, Rows]) -> Iterator[str]:
    yield (
        f"{len(found['agrees'])} of {len(in_class)} times a polynomial of the class reaches {LEARNED:.0%} of the test "
        f"rows in a setting that learns both controls; {len(found['learned later'])} more do with more steps."
    )
    for cell in found["contradicts"]:
        yield f"Contradicts the hypothesis: {against_words(cell)}"
    for cell in found["learned later"]:
        yield f"Learned later: {against_words(cell)}"
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


def against_words(cell: Values) -> str:
    looks = [
        f"; after {look['steps']} steps on {look['fraction']:.0%} of the table {look['accuracy']:.1%}"
        for look in cell["second_look"]
    ]
    again = "".join(looks) or "; not trained for longer yet"
    return (
        f"{cell['polynomial']} mod {cell['modulus']} in {cell['setting']}: {cell['accuracy']:.1%} "
        f"(training rows {cell['train_accuracy']:.1%}){again}."
    )
