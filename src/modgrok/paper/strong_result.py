"""What the networks of `modgrok paper strong` say: one verdict for each setting and polynomial, a table and a heat map.

The variant of a setting (learning rate, weight decay) that counts is the one with the best mean test accuracy on the
controls alone. A setting whose controls do not reach 99 % is too weak, and no evidence. In a setting that is not, a
polynomial of the class that stays below 99 % contradicts the strong hypothesis. The hypothesis does not speak of
polynomials outside the class; what a setting reaches there beyond the redundancy of the table is listed beside it.
"""

from __future__ import annotations

from itertools import groupby
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from modgrok.data import function_table
from modgrok.diagnosis import PASSED
from modgrok.figures.style import drawing, figure_paths
from modgrok.separable import classify_table

CONTROLS = ("n1 + n2", "n1 n2")
BEYOND = 0.1
"""Test accuracy over the predicted one from which a polynomial outside the class is listed."""

Rows = list[dict[str, Any]]


def result_of(rows: Rows) -> dict[str, Any]:
    """The item's result, from the stored networks alone."""
    predictions = {case: prediction(*case) for case in dict.fromkeys((r["polynomial"], r["modulus"]) for r in rows)}
    settings = [
        summary(name, modulus, list(members), predictions)
        for (name, modulus), members in groupby(sorted(rows, key=by_setting(rows)), key=setting_of)
    ]
    cells = [cell for setting in settings for cell in setting["cells"]]
    strong = [setting for setting in settings if setting["controls_pass"]]
    against = [cell for cell in cells if cell["finding"] == "contradicts"]
    tested = [cell for cell in cells if cell["finding"] in ("agrees", "contradicts")]
    beyond = [cell for cell in cells if cell["finding"] == "beyond"]
    return {
        "item": "strong",
        "title": "The strong hypothesis: other architectures, losses, optimisers and regularisers",
        "settings": {
            "networks": len(rows),
            "settings": len(settings),
            "seeds": len({row["seed"] for row in rows}),
            "fraction": 0.5,
            "devices": sorted({row["device"] for row in rows}),
        },
        "published": {"hypothesis": "every standard network reaches 100 % test accuracy on h(g1(n1) + g2(n2))"},
        "measured": {
            "networks": len(rows),
            "settings_that_learn_the_controls": len(strong),
            "cells_tested": len(tested),
            "contradictions": len(against),
            "learned_outside_the_class": sum(cell["accuracy"] >= PASSED for cell in beyond),
            "loss_law": {f"{s['setting']} mod {s['modulus']}": s["loss_law"] for s in strong},
        },
        "verdict": verdict(tested, against),
        "notes": notes(settings, tested, against, beyond),
        "columns": {
            "setting": "setting",
            "modulus": "mod",
            "controls": "controls",
            "in_class": "in class, worst",
            "outside": "outside, best",
            "loss_law": "loss law",
            "finding": "finding",
        },
        "rows": settings,
    }


def by_setting(rows: Rows) -> Any:
    """A key that sorts rows by modulus, largest first, and then by setting in the order in which they appear."""
    order = {name: k for k, name in enumerate(dict.fromkeys(row["setting"] for row in rows))}
    return lambda row: (-row["modulus"], order[row["setting"]])


def setting_of(row: dict[str, Any]) -> tuple[str, int]:
    return row["setting"], row["modulus"]


def prediction(polynomial: str, modulus: int) -> dict[str, Any]:
    """Verdict and predicted test accuracy of a polynomial trained on half of its table."""
    table, variables = function_table(polynomial, modulus)
    found = classify_table(table.reshape((modulus,) * variables), modulus)
    return {"verdict": found.status, "predicted": found.predicted_test_accuracy}


def summary(name: str, modulus: int, members: Rows, predictions: dict[tuple[str, int], Any]) -> dict[str, Any]:
    """One setting: the variant that is best on the controls, and a cell for each polynomial."""
    variants: dict[tuple[float, float], Rows] = {}
    for row in members:
        variants.setdefault((row["learning_rate"], row["weight_decay"]), []).append(row)
    chosen, best = max(variants.items(), key=lambda item: control_accuracy(item[1]))
    passed = all(mean_of(best, "test_accuracy", control) >= PASSED for control in CONTROLS)
    cells = [
        cell(name, modulus, polynomial, best, predictions[polynomial, modulus], passed)
        for polynomial in dict.fromkeys(row["polynomial"] for row in best)
    ]
    inside = [c["accuracy"] for c in cells if c["verdict"] == "in-class" and c["polynomial"] not in CONTROLS]
    outside = [c["accuracy"] for c in cells if c["verdict"] != "in-class"]
    against = sum(c["finding"] == "contradicts" for c in cells)
    return {
        "setting": name,
        "modulus": modulus,
        "networks": len(members),
        "learning_rate": chosen[0],
        "weight_decay": chosen[1],
        "steps": best[0]["steps"],
        "width": best[0]["width"],
        "controls": min(mean_of(best, "test_accuracy", control) for control in CONTROLS),
        "controls_pass": passed,
        "in_class": min(inside),
        "outside": max(outside),
        "loss_law": loss_law(best),
        "finding": "settings too weak" if not passed else f"contradicts ({against})" if against else "agrees",
        "cells": cells,
    }


def control_accuracy(rows: Rows) -> float:
    return fmean(row["test_accuracy"] for row in rows if row["polynomial"] in CONTROLS)


def mean_of(rows: Rows, column: str, polynomial: str) -> float:
    return fmean(row[column] for row in rows if row["polynomial"] == polynomial)


def cell(
    setting: str, modulus: int, polynomial: str, rows: Rows, predicted: dict[str, Any], strong: bool
) -> dict[str, Any]:
    """One polynomial in one setting; accuracies are means over the seeds."""
    accuracy = mean_of(rows, "test_accuracy", polynomial)
    if not strong:
        finding = "too weak"
    elif polynomial in CONTROLS:
        finding = "control"
    elif predicted["verdict"] == "in-class":
        finding = "agrees" if accuracy >= PASSED else "contradicts"
    else:
        finding = "beyond" if accuracy > predicted["predicted"] + BEYOND else "as predicted"
    return {
        "setting": setting,
        "modulus": modulus,
        "polynomial": polynomial,
        **predicted,
        "accuracy": accuracy,
        "worst": min(row["test_accuracy"] for row in rows if row["polynomial"] == polynomial),
        "train_accuracy": mean_of(rows, "train_accuracy", polynomial),
        "train_loss": mean_of(rows, "train_loss", polynomial),
        "finding": finding,
    }


def loss_law(rows: Rows) -> float | None:
    """Spearman's rank correlation of final training loss and test accuracy over the networks of a variant."""
    pairs = [(row["train_loss"], row["test_accuracy"]) for row in rows if isfinite(row["train_loss"])]
    losses, accuracies = np.array(pairs).T
    if np.ptp(losses) == 0 or np.ptp(accuracies) == 0:
        return None
    return float(spearmanr(losses, accuracies).statistic)


def verdict(tested: Rows, against: Rows) -> str:
    if not tested:
        return "no setting was strong enough to tell"
    return "reproduced" if not against else "differs"


def notes(settings: Rows, tested: Rows, against: Rows, beyond: Rows) -> list[str]:
    weak = [f"{s['setting']} mod {s['modulus']}" for s in settings if not s["controls_pass"]]
    lines = [
        f"{len(tested) - len(against)} of {len(tested)} polynomials of the class reach {PASSED:.0%} of the test "
        f"rows in settings that learn both controls.",
        *(
            f"Contradicts the hypothesis: {c['polynomial']} mod {c['modulus']} reaches {c['accuracy']:.1%} in "
            f"{c['setting']} (training rows: {c['train_accuracy']:.1%})."
            for c in against
        ),
        *(
            f"Outside the class, {c['accuracy']:.1%} where twins alone give {c['predicted']:.1%}: "
            f"{c['polynomial']} mod {c['modulus']} in {c['setting']}."
            for c in beyond
        ),
    ]
    if weak:
        lines.append(f"Settings too weak, no evidence (a control stays below {PASSED:.0%}): {'; '.join(weak)}.")
    lines.append(
        "Loss law: rank correlation of final training loss and test accuracy over a setting's networks; -1 where the "
        "loss alone orders the accuracies."
    )
    return lines


def draw(result: dict[str, Any], folder: Path) -> list[Path]:
    """A heat map of test accuracies for each modulus, the predicted ones as its first row."""
    stem = folder / "strong"
    moduli = list(dict.fromkeys(setting["modulus"] for setting in result["rows"]))
    heights = [2 + sum(s["modulus"] == modulus for s in result["rows"]) for modulus in moduli]
    with drawing(stem, width=9.5, height=0.27 * sum(heights) + 1.9 * len(moduli) + 0.3) as figure:
        panels = figure.subplots(len(moduli), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, modulus in zip(panels, moduli):
            image = draw_map(axes, [s for s in result["rows"] if s["modulus"] == modulus])
            axes.set_title(f"modulo {modulus}", loc="left", fontweight="bold")
        figure.colorbar(image, ax=list(panels), label="test accuracy", shrink=0.6, aspect=30)
    return figure_paths(stem)


def draw_map(axes: Any, settings: Rows) -> Any:
    cells = settings[0]["cells"]
    predicted = [cell["predicted"] for cell in cells]
    values = np.array([predicted, *([cell["accuracy"] for cell in setting["cells"]] for setting in settings)])
    image = axes.imshow(values, vmin=0, vmax=1, cmap="viridis", aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        finding = settings[row - 1]["cells"][column]["finding"] if row else ""
        text = f"{100 * value:.0f}" if value < 0.995 else "100"
        bold = "bold" if finding == "contradicts" else "normal"
        colour = "#e03131" if finding == "contradicts" else "white" if value < 0.6 else "black"
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour, fontweight=bold)
    axes.axhline(0.5, color="white", linewidth=3)
    labels = [f"{cell['polynomial']}{'' if cell['verdict'] == 'in-class' else ' †'}" for cell in cells]
    axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right", rotation_mode="anchor", fontsize=7)
    names = [s["setting"] + ("" if s["controls_pass"] else " (too weak)") for s in settings]
    axes.set_yticks(range(len(names) + 1), ["predicted", *names], fontsize=7)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    return image
