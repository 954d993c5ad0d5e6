"""How well each number known of a table predicts what half of it teaches: errors over the same census.

Each predictor gets its own monotone fit to the test accuracies and is judged on tables that the fit has not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import spearmanr

from modgrok.censuses.law_check import Columns, error, last_step, settings_of
from modgrok.loss_law.curve import cross_validated
from modgrok.loss_law.formula import odds

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
            ranks.append(spearmanr(x[known], accuracy[known])[0] if np.ptp(x[known]) > 0 else 0.0)
        if by_group:
            mean, rank = float(np.mean(list(by_group.values()))), float(np.mean(ranks))
            found.append(PredictorError(name, meaning, name not in NEEDS_TRAINING, mean, rank, by_group))
    return tuple(sorted(found, key=lambda row: row.error))
