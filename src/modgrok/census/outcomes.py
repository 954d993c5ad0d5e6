"""What became of the tables of a census: accuracy by family, verdict against outcome, and the surprises."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool

from modgrok.census.law import Columns, last_step

LEARNED = 0.99
NOT_LEARNED = 0.9
BEYOND = 0.1
"""How far above its redundancy an accuracy must be to be beyond it."""
MOST_SHOWN = 12


def final_rows(census: Columns) -> Bool[np.ndarray, "row"]:
    """Rows at the last step that have test rows."""
    return (census["steps"] == last_step(census)) & (census["fraction"] < 1)


def by_family(census: Columns) -> list[dict[str, Any]]:
    """Test accuracies of each family at half of the table: mean, quartiles, share learned."""
    half = final_rows(census) & (census["fraction"] == 0.5)
    found = []
    for family in dict.fromkeys(census["family"][half]):
        accuracy = census["test_accuracy"][half & (census["family"] == family)]
        low, median, high = np.quantile(accuracy, (0.25, 0.5, 0.75)).tolist()
        learned = float((accuracy >= LEARNED).mean())
        row = {"family": str(family), "networks": len(accuracy), "mean": float(accuracy.mean())}
        found.append(row | {"lower quartile": low, "median": median, "upper quartile": high, "learned": learned})
    return sorted(found, key=lambda row: -row["mean"])


def by_verdict(census: Columns) -> list[dict[str, Any]]:
    """How often each verdict goes with each outcome, over all settings with test rows."""
    rows, accuracy = final_rows(census), census["test_accuracy"]
    beyond = accuracy > census["redundancy"].astype(float) + BEYOND
    outcomes = {
        "learned": accuracy >= LEARNED,
        "partly, beyond redundancy": (accuracy < LEARNED) & beyond,
        "redundancy or less": (accuracy < LEARNED) & ~beyond,
    }
    return [
        {"verdict": verdict, "networks": int((rows & (census["verdict"] == verdict)).sum())}
        | {name: int((rows & (census["verdict"] == verdict) & found).sum()) for name, found in outcomes.items()}
        for verdict in ("in-class", "not-in-class", "unknown")
    ]


def surprises(census: Columns) -> dict[str, dict[str, Any]]:
    """Tables in the class that were not learned, and tables outside it that were, far beyond their redundancy."""
    rows, accuracy = final_rows(census), census["test_accuracy"]
    gain = accuracy - census["redundancy"].astype(float)
    missed = rows & (census["verdict"] == "in-class") & (accuracy < NOT_LEARNED)
    outside = rows & (census["verdict"] == "not-in-class") & (census["family"] != "noisy-sum")
    gained = outside & (gain > BEYOND)
    return {
        "in the class, not learned": listed(census, missed, accuracy),
        "outside the class, learned beyond redundancy": listed(census, gained, -gain),
    }


def listed(census: Columns, rows: Bool[np.ndarray, "row"], order: np.ndarray) -> dict[str, Any]:
    """How many rows there are, and the first ones in that order, each table once."""
    found: dict[str, dict[str, Any]] = {}
    for k in np.flatnonzero(rows)[np.argsort(order[rows], kind="stable")].tolist():
        if len(found) == MOST_SHOWN:
            break
        text = census["expression"][k] or f"{census['family'][k]}, seed {census['table_seed'][k]}"
        setting = {name: census[name][k].item() for name in ("modulus", "width", "fraction")}
        measured = {name: float(census[name][k]) for name in ("redundancy", "orbit_redundancy", "test_accuracy")}
        found.setdefault(census["table"][k], {"table": text} | setting | measured)
    return {"networks": int(rows.sum()), "tables": len(set(census["table"][rows])), "shown": list(found.values())}
