"""What became of the tables of a census: accuracy by family, verdict against outcome, and the surprises.

How well each number known of a table predicts what half of it teaches: errors over the same census.

Each predictor gets its own monotone fit to the test accuracies and is judged on tables that the fit has not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from modgrok.base.results import Result, percent
from modgrok.censuses.law_check import Columns, error, last_step, rank_correlation, settings_of
from modgrok.loss_law.curve import cross_validated
from modgrok.loss_law.formula import odds
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


VERDICTS = {"in-class": "of the form h(g1 + g2)", "not-in-class": "not of the form h(g1 + g2)", "unknown": "undecided"}
"""What a verdict says of functions, in a few words."""


def learned_words(census: Columns) -> str:
    """How many networks grokked, by the verdict on their functions where that is known, in a sentence."""
    rows, learned = final_rows(census), census["test_accuracy"] >= LEARNED
    if not rows.any():
        return "No network was tested: all of them trained on whole tables."
    verdicts = census.get("verdict", np.full(len(rows), None))
    parts = []
    for verdict, name in VERDICTS.items():
        if (k := rows & (verdicts == verdict)).any():
            parts.append(f"{(k & learned).sum():,} of {k.sum():,} on functions {name}")
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


HALF = 0.5
FEWEST_TABLES = 100
"""Tables that a setting must have for its errors to count."""

PREDICTORS = {
    "train_loss": "training loss on half of the table (the loss law, for comparison)",
    "whole_table_loss": "training loss on the whole table",
    "complexity": "the effective rank, 0 in the class",
    "effective_rank": "effective rank of the coincidence matrix Σ_q T_q ⊗ T_q",
    "orbit_redundancy": "redundancy up to automorphisms (orbits by refinement)",
    "permuted_redundancy": "redundancy up to value permutations",
    "redundancy": "redundancy: equal rows and columns",
    "unfolding_norm": "largest nuclear norm of an unfolding of the one-hot tensor",
    "none": "nothing: the median accuracy",
}
NEEDS_TRAINING = ("train_loss", "whole_table_loss")


@dataclass(frozen=True)
class PredictorError:
    """How well one number tells the test accuracy: its mean error, rank correlation, and the error at each setting."""

    predictor: str
    meaning: str
    training_free: bool
    error: float
    spearman: float
    error_by_group: Mapping[str, float]


def predictor_values(census: Columns, rows: Bool[np.ndarray, "row"]) -> dict[str, Float[np.ndarray, "some"]]:
    """Each predictor on the chosen rows, signed so that accuracies fall with it; NaN where it is not known."""
    lookups = ("redundancy", "permuted_redundancy", "orbit_redundancy")
    found = {name: -census[name][rows].astype(float) for name in lookups}
    return found | {
        "train_loss": census["train_loss"][rows],
        "whole_table_loss": whole_table_loss(census, rows),
        "complexity": np.where(census["verdict"] == "in-class", 0.0, census["effective_rank"].astype(float))[rows],
        "effective_rank": census["effective_rank"][rows].astype(float),
        "unfolding_norm": census["unfolding_norm"][rows].astype(float),
        "none": np.zeros(int(rows.sum())),
    }


def whole_table_loss(census: Columns, rows: Bool[np.ndarray, "row"]) -> Float[np.ndarray, "some"]:
    """The odds of the loss on the whole table, from the run of the same table with training fraction 1."""
    whole = (census["fraction"] == 1) & (census["steps"] == last_step(census))
    values = odds(census["train_loss"][whole], census["modulus"][whole])
    losses = dict(zip(census["table"][whole], values, strict=True))
    return np.array([losses.get(table, np.nan) for table in census["table"][rows]])


def evaluate(census: Columns) -> tuple[PredictorError, ...]:
    """Errors of every predictor at half of the table, per modulus and width, best first."""
    settings = [s for s in settings_of(census) if s.fraction == HALF]
    found = []
    for name, meaning in PREDICTORS.items():
        by_group, ranks = {}, []
        for setting in settings:
            x = predictor_values(census, setting.rows)[name]
            accuracy, table = census["test_accuracy"][setting.rows], census["table"][setting.rows]
            known = np.isfinite(x)
            if known.sum() < FEWEST_TABLES:
                continue
            expected = np.full(len(x), np.nan)
            expected[known] = cross_validated(x[known], accuracy[known], table[known])
            by_group[f"p={setting.modulus} width {setting.width}"] = error(expected, accuracy, known)
            ranks.append(rank_correlation(x[known], accuracy[known]) if np.ptp(x[known]) > 0 else 0.0)
        if by_group:
            mean, rank = float(np.mean(list(by_group.values()))), float(np.mean(ranks))
            found.append(PredictorError(name, meaning, name not in NEEDS_TRAINING, mean, rank, by_group))
    return tuple(sorted(found, key=lambda row: row.error))
