"""What the networks of `modgrok paper strong` say: a finding for each setting and polynomial, and a verdict.

A setting comes in variants (learning rate, weight decay). Those count that reach 99 % of the test rows on both
controls; a setting that has none is too weak, and no evidence. In the others the accuracy of a polynomial is the best
of the variants that count, as a mean over seeds. A polynomial of the class that stays below 99 % was trained on
(`strong_longer`), and its finding is the best that became of it: learned late, learned with more of the table, still
rising at the last step, or at rest. Only rest speaks against the hypothesis, which names no number of steps and no
share of the table; what is still rising leaves it open. The hypothesis is silent about polynomials outside the class;
what is reached there is listed beside what a network reaches that shares twins (equal rows and columns) and guesses
the rest.
"""

from __future__ import annotations

from itertools import groupby
from statistics import fmean, median

import numpy as np
from scipy.stats import spearmanr

from modgrok.reproduction.item import ItemResult, Values, Verdict
from modgrok.separable import classify_table
from modgrok.separable.measures.redundancy import twins_and_guesses
from modgrok.training.data import function_table
from modgrok.training.diagnosis import LEARNED
from studies.rest import Outcome, learned_at, level, outcome_of
from studies.strong_longer import columns_of, looks_in, networks_in
from studies.strong_plan import CONTROLS, FRACTION, Rows
from studies.strong_words import conclusions, doubt, notes

BEYOND = 0.1
"""Test accuracy over twins and guesses from which a polynomial outside the class is beyond them."""

IN_CLASS = {
    "learned": "learned within the usual steps",
    "learned late": "learned with more steps",
    "learned with more of the table": "learned with more steps and more of the table",
    "still rising": "not learned, and still rising at the last step",
    "not trained on": "not learned within the usual steps, and not trained on",
    "at rest": "not learned, and at rest",
}
"""What became of a polynomial of the class, the best first."""
FINDINGS = IN_CLASS | {
    "control": "",
    "twins and guesses": "outside the class, about what twins and guesses give",
    "beyond": "outside the class, more than twins and guesses give",
    "too weak": "the setting does not learn a control",
}
"""What a cell can say."""
SETTINGS = {
    "learned": "agrees",
    "learned late": "agrees with more steps",
    "learned with more of the table": "agrees with more of the table",
    "still rising": "open",
    "not trained on": "open",
    "at rest": "contradicts",
}
"""What a setting says, by the worst finding in the class."""


def result_of(rows: Rows, points: Rows) -> ItemResult:
    """The item's result, from the stored networks of the first look and the points of the second alone."""
    settings = summaries(rows, points)
    cells = [cell for setting in settings for cell in setting["cells"]]
    found = {name: [cell for cell in cells if cell["finding"] == name] for name in FINDINGS}
    counts = {name: len(found[name]) for name in IN_CLASS}
    strong = [setting for setting in settings if setting["controls_pass"]]
    devices = sorted({row["device"] for row in (*rows, *points)})
    return ItemResult(
        item="strong",
        title="The strong hypothesis: other architectures, losses, optimisers and regularisers",
        settings={
            "networks": len(rows) + len(networks_in(points)),
            "settings": len({row["setting"] for row in rows}),
            "seeds": len({row["seed"] for row in rows}),
            "fraction": FRACTION,
            "devices": devices,
        },
        published={"hypothesis": "every standard network reaches 100 % test accuracy on h(g1(n1) + g2(n2))"},
        measured={
            "networks": len(rows) + len(networks_in(points)),
            "settings_that_learn_the_controls": len(strong),
            "settings_too_weak": len(settings) - len(strong),
            "in_class": counts,
            "doubt": doubt(settings),
            "learned_outside_the_class": sum(cell["accuracy"] >= LEARNED for cell in found["beyond"]),
            "loss_law": {f"{s['setting']} mod {s['modulus']}": s["loss_law"] for s in strong},
        },
        verdict=verdict_on(counts),
        notes=(*conclusions(settings), *notes(settings, found)),
        columns={
            "setting": "setting",
            "modulus": "mod",
            "controls": "controls",
            "in_class": "in class, worst",
            "in_class_at_last": "trained on",
            "outside": "outside, best",
            "loss_law": "loss law",
            "finding": "finding",
        },
        rows=settings,
    )


def verdict_on(counts: dict[str, int]) -> Verdict:
    """Undecided where no setting was strong enough to tell, or something is still rising."""
    if counts["at rest"]:
        return Verdict.DIFFERS
    open_cells = counts["still rising"] + counts["not trained on"]
    return Verdict.UNDECIDED if open_cells or not sum(counts.values()) else Verdict.REPRODUCED


def summaries(rows: Rows, points: Rows) -> Rows:
    """One summary for each modulus, largest first, and setting, in the order in which they are stored."""
    order = {name: k for k, name in enumerate(dict.fromkeys(row["setting"] for row in rows))}
    ordered = sorted(rows, key=lambda row: (-row["modulus"], order[row["setting"]]))
    cases = dict.fromkeys((row["polynomial"], row["modulus"]) for row in rows)
    known = {case: known_before(*case) for case in cases}
    by_setting = groupby(ordered, key=lambda row: (row["setting"], row["modulus"]))
    return [summary(*name, list(members), points, known) for name, members in by_setting]


def known_before(polynomial: str, modulus: int) -> Values:
    """What is known about a polynomial before training on half of its table: the verdict, and what twins give."""
    table, variables = function_table(polynomial, modulus)
    found = classify_table(table.reshape((modulus,) * variables), modulus)
    return {"verdict": found.status, "twins_and_guesses": twins_and_guesses(found.redundancy, modulus)}


def summary(name: str, modulus: int, members: Rows, points: Rows, known: dict[tuple[str, int], Values]) -> Values:
    """One setting: the variants that learn the controls, and a cell for each polynomial."""
    variants: dict[tuple[float, float], Rows] = {}
    for row in members:
        variants.setdefault((row["learning_rate"], row["weight_decay"]), []).append(row)
    passing = [rows for rows in variants.values() if control_accuracy(rows) >= LEARNED]
    counting = passing or [max(variants.values(), key=control_accuracy)]
    mine = [row for row in points if (row["setting"], row["modulus"]) == (name, modulus)]
    cells = [
        cell(polynomial, counting, mine, known[polynomial, modulus], strong=bool(passing))
        for polynomial in dict.fromkeys(row["polynomial"] for row in counting[0])
    ]
    inside = [c for c in cells if c["verdict"] == "in-class" and c["polynomial"] not in CONTROLS]
    worst = max((c["finding"] for c in inside), key=list(FINDINGS).index)
    return {
        "setting": name,
        "modulus": modulus,
        "networks": len(members) + len(networks_in(mine)),
        "steps": members[0]["steps"],
        "width": members[0]["width"],
        "variants": len(variants),
        "variants_that_count": len(passing),
        "controls": max(map(control_accuracy, counting)),
        "controls_pass": bool(passing),
        "in_class": min(c["accuracy"] for c in inside),
        "in_class_at_last": min(c["accuracy_at_last"] for c in inside) if mine else None,
        "outside": max((c["accuracy"] for c in cells if c["verdict"] != "in-class"), default=None),
        "loss_law": loss_law(counting),
        "cells": [{"setting": name, "modulus": modulus} | c for c in cells],
        "finding": SETTINGS[worst] if passing else "settings too weak",
    }


def not_learned(setting: Values) -> Rows:
    """The cells of the class that a setting which learns both controls did not learn at first."""
    return [cell for cell in setting["cells"] if cell["finding"] in IN_CLASS and cell["accuracy"] < LEARNED]


def control_accuracy(rows: Rows) -> float:
    """The worse of the two controls."""
    return min(mean_of(rows, "test_accuracy", control) for control in CONTROLS)


def mean_of(rows: Rows, column: str, polynomial: str) -> float:
    return fmean(row[column] for row in rows if row["polynomial"] == polynomial)


def cell(polynomial: str, variants: list[Rows], points: Rows, known: Values, *, strong: bool) -> Values:
    """One polynomial in one setting: its best variant, as means over seeds, and what became of it later."""
    best = max(variants, key=lambda rows: mean_of(rows, "test_accuracy", polynomial))
    accuracy = mean_of(best, "test_accuracy", polynomial)
    looks = second_looks([row for row in points if row["polynomial"] == polynomial], best[0]["steps"])
    if not strong:
        finding = "too weak"
    elif polynomial in CONTROLS:
        finding = "control"
    elif known["verdict"] != "in-class":
        finding = "beyond" if accuracy > known["twins_and_guesses"] + BEYOND else "twins and guesses"
    else:
        finding = "learned" if accuracy >= LEARNED else became(looks)
    return {
        "polynomial": polynomial,
        **known,
        "learning_rate": best[0]["learning_rate"],
        "weight_decay": best[0]["weight_decay"],
        "accuracy": accuracy,
        "accuracy_at_last": max([accuracy, *(look["accuracy"] for look in looks)]),
        "train_accuracy": mean_of(best, "train_accuracy", polynomial),
        "train_loss": mean_of(best, "train_loss", polynomial),
        "looks": looks,
        "finding": finding,
    }


def second_looks(points: Rows, usual: int) -> Rows:
    """What became of a polynomial in each look; of several seeds the accuracy is the mean, the outcome the worst."""
    return [look_summary(rows, usual) for rows in looks_in(points).values()]


def look_summary(points: Rows, usual: int) -> Values:
    curves = [columns_of(rows) for rows in networks_in(points).values()]
    learned = sorted(step for curve in curves if (step := learned_at(curve)) is not None)
    return {
        **{name: points[0][name] for name in ("fraction", "learning_rate", "weight_decay")},
        "seeds": len(curves),
        "steps": max(int(curve["step"][-1]) for curve in curves),
        "accuracy": fmean(level(curve, "test_accuracy") for curve in curves),
        "train_accuracy": fmean(level(curve, "train_accuracy") for curve in curves),
        "outcome": max((outcome_of(curve, usual) for curve in curves), key=list(Outcome).index),
        "seeds_learned_at": learned,
        "learned_at": learned[-1] if len(learned) == len(curves) else None,
    }


def became(looks: Rows) -> str:
    """The finding on a polynomial of the class that was not learned at first: the best of the second looks."""
    learned = [look["fraction"] for look in looks if look["outcome"] in (Outcome.LEARNED, Outcome.LATE)]
    if learned:
        return "learned late" if min(learned) <= FRACTION else "learned with more of the table"
    if not looks:
        return "not trained on"
    return "still rising" if any(look["outcome"] == Outcome.RISING for look in looks) else "at rest"


def loss_law(variants: list[Rows]) -> float | None:
    """Spearman's rank correlation of final training loss and test accuracy; the median over variants."""
    found = []
    for rows in variants:
        losses, accuracies = (np.array([row[name] for row in rows]) for name in ("train_loss", "test_accuracy"))
        if np.isfinite(losses).all() and np.ptp(losses) > 0 and np.ptp(accuracies) > 0:
            found.append(float(spearmanr(losses, accuracies).statistic))
    return median(found) if found else None
