"""What the networks of `modgrok paper strong` say: a finding for each setting and polynomial, and a verdict.

A setting comes in variants (learning rate, weight decay, initial scale). Those count that reach 99 % of the test rows
on both controls; a setting in which none does within the usual steps is too weak, and no evidence. In the others the
accuracy of a polynomial is the best of the variants that count, as a mean over seeds. A polynomial of the class that
stays below 99 % was trained on, and its finding is the best that became of it in a variant that counts, by its controls
within the usual steps or within the same look: learned late, learned with more of the table, still rising at the last
step, or at rest. Only rest speaks against the hypothesis, which names no number of steps and no share of the table;
what is still rising leaves it open. The hypothesis is silent about polynomials outside the class; what is reached there
is listed beside what a network reaches that shares twins (equal rows and columns) and guesses the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, median
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from modgrok.reproduction.item import ItemResult, Values, Verdict
from modgrok.separable import classify_table
from modgrok.separable.measures.redundancy import twins_and_guesses
from modgrok.training.data import function_table
from modgrok.training.diagnosis import LEARNED
from studies.rest import Outcome, learned_at, level, outcome_of
from studies.strong_plan import CONTROLS, FRACTION, SETTINGS, VARIED, Rows, Variant, qualified, variant_of
from studies.strong_words import OPEN, conclusions, doubt, notes

BEYOND = 0.1
"""Test accuracy over twins and guesses from which a polynomial outside the class is beyond them."""

IN_CLASS = {
    "learned": "agrees",
    "learned late": "agrees with more steps",
    "learned with more of the table": "agrees with more of the table",
    "still rising": "open",
    "not trained on": "open",
    "at rest": "contradicts",
}
"""What became of a polynomial of the class, the best first, and what a setting says where that is the worst."""


def result_of(first: Rows, later: Rows) -> ItemResult:
    """The item's result, from the networks of first looks and of later ones alone."""
    settings = summaries(first, later)
    cells = [cell for setting in settings for cell in setting["cells"]]
    found = grouped(cells, lambda cell: cell["finding"])
    counts = {name: len(found.get(name, ())) for name in IN_CLASS}
    strong = [setting for setting in settings if setting["controls_pass"]]
    return ItemResult(
        item="strong",
        title="The strong hypothesis: other architectures, losses, optimisers and regularisers",
        settings={
            "networks": len(first) + len(later),
            "settings": len({network["setting"] for network in first}),
            "seeds": len({network["seed"] for network in first}),
            "fraction": FRACTION,
            "devices": sorted({network["device"] for network in (*first, *later)}),
        },
        published={"hypothesis": "every standard network reaches 100 % test accuracy on h(g1(n1) + g2(n2))"},
        measured={
            "networks": len(first) + len(later),
            "settings_that_learn_the_controls": len(strong),
            "settings_too_weak": len(settings) - len(strong),
            "in_class": counts,
            "doubt": doubt(settings),
            "learned_outside_the_class": sum(cell["accuracy"] >= LEARNED for cell in found.get("beyond", ())),
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
    open_cells = sum(counts[name] for name in OPEN)
    return Verdict.UNDECIDED if open_cells or not sum(counts.values()) else Verdict.REPRODUCED


def summaries(first: Rows, later: Rows) -> Rows:
    """One summary for each modulus, largest first, and setting, in the order of the plan."""
    order = {name: k for k, name in enumerate(dict.fromkeys([*SETTINGS, *(n["setting"] for n in first)]))}
    by_setting = grouped(first, lambda n: (-n["modulus"], order[n["setting"]]))
    known = {case: known_before(*case) for case in dict.fromkeys((n["polynomial"], n["modulus"]) for n in first)}
    return [summary(networks, later, known) for _, networks in sorted(by_setting.items())]


def grouped(networks: Rows, key: Callable[[Values], Any]) -> dict[Any, Rows]:
    """Networks by something of theirs, in the order in which it comes first."""
    found: dict[Any, Rows] = {}
    for network in networks:
        found.setdefault(key(network), []).append(network)
    return found


def known_before(polynomial: str, modulus: int) -> Values:
    """What is known about a polynomial before training on half of its table: the verdict, and what twins give."""
    table, variables = function_table(polynomial, modulus)
    found = classify_table(table.reshape((modulus,) * variables), modulus)
    return {"verdict": found.status, "twins_and_guesses": twins_and_guesses(found.redundancy, modulus)}


def summary(networks: Rows, later: Rows, known: dict[tuple[str, int], Values]) -> Values:
    """One setting: the variants that learn the controls, and a cell for each polynomial."""
    name, modulus = networks[0]["setting"], networks[0]["modulus"]
    variants = grouped(networks, variant_of)
    passing = {variant: rows for variant, rows in variants.items() if control_accuracy(rows) >= LEARNED}
    best = max(variants, key=lambda variant: control_accuracy(variants[variant]))
    counting = passing or {best: variants[best]}
    mine = [network for network in later if (network["setting"], network["modulus"]) == (name, modulus)]
    cells = [
        {"setting": name, "modulus": modulus}
        | cell(polynomial, counting, mine, known[polynomial, modulus], strong=bool(passing))
        for polynomial in grouped(networks, lambda network: network["polynomial"])
    ]
    inside = [c for c in cells if c["verdict"] == "in-class" and c["polynomial"] not in CONTROLS]
    return {
        "setting": name,
        "modulus": modulus,
        "networks": len(networks) + len(mine),
        "steps": networks[0]["steps"],
        "width": networks[0]["width"],
        "variants": len(variants),
        "variants_that_count": len(passing),
        "controls": max(map(control_accuracy, counting.values())),
        "controls_pass": bool(passing),
        "in_class": min(c["accuracy"] for c in inside),
        "in_class_at_last": min(c["accuracy_at_last"] for c in inside) if mine else None,
        "outside": max((c["accuracy"] for c in cells if c["verdict"] != "in-class"), default=None),
        "loss_law": loss_law(list(counting.values())),
        "cells": cells,
        "finding": IN_CLASS[max((c["finding"] for c in inside), key=list(IN_CLASS).index)]
        if passing
        else "settings too weak",
    }


def not_learned(setting: Values) -> list[str]:
    """The polynomials of the class that a setting which learns both controls has not learned."""
    return [cell["polynomial"] for cell in setting["cells"] if cell["finding"] in (*OPEN, "at rest")]


def control_accuracy(networks: Rows) -> float:
    """The worse of the two controls."""
    return min(mean_of(networks, "test_accuracy", control) for control in CONTROLS)


def mean_of(networks: Rows, column: str, polynomial: str) -> float:
    """Of what the networks of a polynomial have at their last step."""
    return fmean(float(n["curves"][column][-1]) for n in networks if n["polynomial"] == polynomial)


def cell(polynomial: str, counting: dict[Variant, Rows], later: Rows, known: Values, *, strong: bool) -> Values:
    """One polynomial in one setting: its best variant, as means over seeds, and what became of it later."""
    best = max(counting.values(), key=lambda rows: mean_of(rows, "test_accuracy", polynomial))
    accuracy = mean_of(best, "test_accuracy", polynomial)
    looks = later_looks(polynomial, set(counting), later) if strong else []
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
        "accuracy": accuracy,
        "accuracy_at_last": max([accuracy, *(look["accuracy"] for look in looks)]),
        "looks": looks,
        "finding": finding,
    }


def later_looks(polynomial: str, counting: set[Variant], later: Rows) -> Rows:
    """What became of a polynomial on each share of the table, in each variant that counts at first or there.

    The best comes first: what was learned, from less of the table, earlier; else what is still rising, and higher.
    """
    looks = [
        look_summary(networks)
        for rows in grouped(later, lambda network: network["fraction"]).values()
        for variant, networks in grouped([n for n in rows if n["polynomial"] == polynomial], variant_of).items()
        if variant in counting | qualified(rows)
    ]
    outcomes, never = list(Outcome), float("inf")
    return sorted(
        looks,
        key=lambda look: (
            (0, look["fraction"], look["learned_at"])
            if look["learned_at"] is not None
            else (outcomes.index(look["outcome"]), never, -look["accuracy"])
        ),
    )


def look_summary(networks: Rows) -> Values:
    """One polynomial in one variant: of several seeds the accuracy is the mean, the outcome the worst."""
    curves = [network["curves"] for network in networks]
    learned = sorted(step for curve in curves if (step := learned_at(curve)) is not None)
    return {
        **{name: networks[0][name] for name in ("fraction", *VARIED)},
        "seeds": len(curves),
        "steps": max(int(curve["step"][-1]) for curve in curves),
        "accuracy": fmean(level(curve, "test_accuracy") for curve in curves),
        "outcome": max((outcome_of(curve, networks[0]["steps"]) for curve in curves), key=list(Outcome).index),
        "seeds_learned_at": learned,
        "learned_at": learned[-1] if len(learned) == len(curves) else None,
    }


def became(looks: Rows) -> str:
    """The finding on a polynomial of the class that was not learned at first: what the best of its looks says."""
    if not looks:
        return "not trained on"
    if looks[0]["learned_at"] is not None:
        return "learned late" if looks[0]["fraction"] <= FRACTION else "learned with more of the table"
    return "still rising" if looks[0]["outcome"] == Outcome.RISING else "at rest"


def loss_law(variants: list[Rows]) -> float | None:
    """Spearman's rank correlation of final training loss and test accuracy; the median over variants."""
    found = []
    for rows in variants:
        losses, accuracies = (
            np.array([row["curves"][name][-1] for row in rows]) for name in ("train_loss", "test_accuracy")
        )
        if np.isfinite(losses).all() and np.ptp(losses) > 0 and np.ptp(accuracies) > 0:
            found.append(float(spearmanr(losses, accuracies).statistic))
    return median(found) if found else None
