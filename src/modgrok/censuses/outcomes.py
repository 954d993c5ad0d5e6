"""What became of the tables of a census: accuracy by family, verdict against outcome, and the surprises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from modgrok.base.results import Result, percent
from modgrok.censuses.law_check import Columns, last_step
from modgrok.training.diagnosis import LEARNED

NOT_LEARNED = 0.9
BEYOND = 0.1
"""How far above its redundancy an accuracy must be to be beyond it."""
MOST_SHOWN = 12


@dataclass(frozen=True)
class FamilyAccuracy:
    """Test accuracies of the networks of one family; `learned_share` is of those that passed 99 %."""

    family: str
    networks: int
    mean: float
    lower_quartile: float
    median: float
    upper_quartile: float
    learned_share: float


@dataclass(frozen=True, repr=False)
class VerdictOutcomes(Result):
    """How many networks on tables of one verdict came to each outcome."""

    verdict: str
    networks: int
    outcomes: Mapping[str, int]

    def summary(self) -> str:
        counts = ", ".join(f"{name}: {count:,}" for name, count in self.outcomes.items())
        return f"{self.verdict}: {self.networks:,} networks ({counts})"


@dataclass(frozen=True)
class SurprisingTable:
    """A table, the setting at which it surprises most, and what it did there."""

    table: str
    modulus: int
    width: int
    fraction: float
    redundancy: float
    orbit_redundancy: float
    test_accuracy: float


@dataclass(frozen=True)
class Surprise:
    """Networks that no verdict would lead one to expect: how many, on how many tables, and the strongest of these."""

    networks: int
    tables: int
    shown: tuple[SurprisingTable, ...]


def final_rows(census: Columns) -> Bool[np.ndarray, "row"]:
    """Rows at the last step of networks that have a test set."""
    return np.asarray((census["steps"] == last_step(census)) & (census["fraction"] < 1))


VERDICTS = {"in-class": "functions h(g1 + g2)", "not-in-class": "other functions", "unknown": "undecided functions"}
"""What a verdict says of a function, in a few words."""


def learned_words(census: Columns) -> str:
    """How many networks grokked, by the verdict on their functions where that is known, in a sentence."""
    rows, learned = final_rows(census), census["test_accuracy"] >= LEARNED
    if not rows.any():
        return "No network was tested: all of them trained on whole tables."
    verdicts = census.get("verdict", np.full(len(rows), None))
    parts = []
    for verdict, name in VERDICTS.items():
        if (k := rows & (verdicts == verdict)).any():
            parts.append(f"{(k & learned).sum():,} of {k.sum():,} on {name}")
    lead = (
        f"{(rows & learned).sum():,} of {rows.sum():,} networks grokked ({percent(LEARNED, 0)} of the test set right)"
    )
    return f"{lead}: {', '.join(parts)}." if parts else f"{lead}."


def by_family(census: Columns) -> tuple[FamilyAccuracy, ...]:
    """Test accuracies of each family at half of the table, the best learned first."""
    half = final_rows(census) & (census["fraction"] == 0.5)
    found = []
    for family in dict.fromkeys(census["family"][half]):
        accuracy = census["test_accuracy"][half & (census["family"] == family)]
        low, median, high = np.quantile(accuracy, (0.25, 0.5, 0.75)).tolist()
        mean, learned = float(accuracy.mean()), float((accuracy >= LEARNED).mean())
        found.append(FamilyAccuracy(str(family), len(accuracy), mean, low, median, high, learned))
    return tuple(sorted(found, key=lambda row: -row.mean))


def by_verdict(census: Columns) -> tuple[VerdictOutcomes, ...]:
    """How often each verdict goes with each outcome, over all settings with a test set."""
    rows, accuracy = final_rows(census), census["test_accuracy"]
    beyond = accuracy > census["redundancy"].astype(float) + BEYOND
    outcomes = {
        "learned": accuracy >= LEARNED,
        "partly, beyond redundancy": (accuracy < LEARNED) & beyond,
        "redundancy or less": (accuracy < LEARNED) & ~beyond,
    }
    found = []
    for verdict in VERDICTS:
        k = rows & (census["verdict"] == verdict)
        counts = {name: int((k & outcome).sum()) for name, outcome in outcomes.items()}
        found.append(VerdictOutcomes(verdict, int(k.sum()), counts))
    return tuple(found)


def surprises(census: Columns) -> dict[str, Surprise]:
    """Tables in the class that were not learned, and tables outside it that were, far beyond their redundancy."""
    rows, accuracy = final_rows(census), census["test_accuracy"]
    gain = accuracy - census["redundancy"].astype(float)
    missed = rows & (census["verdict"] == "in-class") & (accuracy < NOT_LEARNED)
    outside = rows & (census["verdict"] == "not-in-class") & (census["family"] != "noisy-sum")
    gained = outside & (gain > BEYOND)
    return {
        "in the class, not learned": surprise(census, missed, accuracy),
        "outside the class, learned beyond redundancy": surprise(census, gained, -gain),
    }


def surprise(census: Columns, rows: Bool[np.ndarray, "row"], order: np.ndarray) -> Surprise:
    """How many rows there are, and the first ones in that order, each table once."""
    found: dict[str, SurprisingTable] = {}
    for k in np.flatnonzero(rows)[np.argsort(order[rows], kind="stable")].tolist():
        if len(found) == MOST_SHOWN:
            break
        text = census["expression"][k] or f"{census['family'][k]}, seed {census['table_seed'][k]}"
        setting = (census[name][k].item() for name in ("modulus", "width", "fraction"))
        measured = (float(census[name][k]) for name in ("redundancy", "orbit_redundancy", "test_accuracy"))
        found.setdefault(census["table"][k], SurprisingTable(text, *setting, *measured))
    return Surprise(int(rows.sum()), len(set(census["table"][rows])), tuple(found.values()))
