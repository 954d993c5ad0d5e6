"""Fit the loss law to a census, and say how well it holds: per setting, per family, and with one curve for all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float
from scipy.stats import spearmanr

from modgrok.errors import InputError
from modgrok.loss_law.law import Curve, cross_validated, fit_curve, odds, random_features, with_errors
from modgrok.training.steps import TrainConfig

Columns = dict[str, np.ndarray]

STATIONARY = 1000
"""Steps after which losses are taken as stationary."""
FEATURES = random_features(1, 1, 1, 1).size
FREE = 0.05
"""Below this share unexplained, a random table counts as memorised for free."""
SETTING = ("modulus", "width", "fraction", "steps")
FIXED = ("learning_rate", "weight_decay", "beta1", "beta2", "eps", "init_scale", "model", "loss", "optimiser")


class Setting(NamedTuple):
    """The rows of one setting, and the mean odds of its random tables."""

    modulus: int
    width: int
    fraction: float
    steps: int
    rows: Bool[np.ndarray, "row"]
    random_odds: float

    @property
    def memorised_for_free(self) -> bool:
        return bool(self.random_odds < odds(FREE / self.modulus, self.modulus))

    def label(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SETTING}


def columns_of(rows: pa.Table) -> Columns:
    """The columns as arrays, with the name of each row's table."""
    found = {name: rows[name].to_numpy(zero_copy_only=False) for name in rows.column_names}
    for name in ("train_loss", "test_accuracy"):
        found[name] = found[name].astype(float)
    keys = zip(found["family"], found["modulus"], found["table_seed"])
    found["table"] = np.array([f"{family}|{modulus}|{seed}" for family, modulus, seed in keys], dtype=str)
    return found


def settings_of(census: Columns, *, steps: int | None = None) -> Iterator[Setting]:
    """Every setting with test rows and random tables, at one number of steps or at all stationary ones."""
    wanted = census["fraction"] < 1
    for name in ("learning_rate", "weight_decay"):
        wanted &= census[name] == getattr(TrainConfig, name)
    wanted &= census["steps"] == steps if steps is not None else census["steps"] >= STATIONARY
    keys = sorted(set(zip(*(census[name][wanted].tolist() for name in SETTING))))
    for key in keys:
        rows = wanted & np.all([census[name] == value for name, value in zip(SETTING, key)], axis=0)
        random = rows & (census["family"] == "random")
        if random.any():
            modulus, width, fraction, measured = key
            reference = float(odds(census["train_loss"][random], modulus).mean())
            yield Setting(modulus, width, fraction, measured, rows, reference)


def last_step(census: Columns) -> int:
    return int(census["steps"].max())


def ratios(census: Columns, settings: list[Setting]) -> Float[np.ndarray, "row"]:
    """The odds of every row over those of random tables at its setting; NaN outside the settings."""
    found = np.full(len(census["steps"]), np.nan)
    for setting in settings:
        found[setting.rows] = odds(census["train_loss"][setting.rows], setting.modulus) / setting.random_odds
    return found


# ------------------------------------------------------------------------------------------------ how well it holds


def evaluate(census: Columns) -> dict[str, Any]:
    """Cross-validated errors at the last step: each setting with its own curve, and one curve for all."""
    settings = list(settings_of(census, steps=last_step(census)))
    if not settings:
        raise InputError("the law needs random tables at some training fraction below 1; add `random = 8` to the plan")
    accuracy, table = census["test_accuracy"], census["table"]
    rows = np.any([setting.rows for setting in settings], axis=0)
    own = np.full(len(accuracy), np.nan)
    for setting in settings:
        k = setting.rows
        own[k] = cross_validated(census["train_loss"][k], accuracy[k], table[k])
    ratio = ratios(census, settings)
    one = np.full(len(accuracy), np.nan)
    one[rows] = cross_validated(ratio[rows], accuracy[rows], table[rows])
    apart = held_out(census, settings)
    half = rows & (census["fraction"] == 0.5)
    costly = [s for s in settings if not s.memorised_for_free]
    return {
        "settings": [
            s.label()
            | {
                "tables": int(s.rows.sum()),
                "spearman": float(spearmanr(census["train_loss"][s.rows], accuracy[s.rows])[0]),
                "error": error(own, accuracy, s.rows),
                "error_one_curve": error(one, accuracy, s.rows),
                "random_unexplained": s.random_odds / (1 + s.random_odds),
                "memorised_for_free": s.memorised_for_free,
            }
            for s in settings
        ],
        "families": [
            {
                "family": str(family),
                "rows": int((rows & (census["family"] == family)).sum()),
                "accuracy": float(accuracy[rows & (census["family"] == family)].mean()),
                "error": error(own, accuracy, rows & (census["family"] == family)),
                "error_one_curve": error(one, accuracy, rows & (census["family"] == family)),
            }
            for family in sorted(set(census["family"][rows]))
        ],
        "normalisations": [
            {"one curve over": name, "error": cross_validated_error(census, x, rows)}
            for name, x in normalisations(census, settings).items()
        ],
        "error_own_curves": error(own, accuracy, rows),
        "error_one_curve": error(one, accuracy, rows),
        "error_one_curve_half": error(one, accuracy, half),
        "error_one_curve_not_free": error(one, accuracy, np.any([s.rows for s in costly], axis=0)) if costly else None,
        "error_held_out_settings": error(apart, accuracy, inner_rows(census, settings) & np.isfinite(apart)),
        "rows": int(rows.sum()),
    }


def normalisations(census: Columns, settings: list[Setting]) -> dict[str, Float[np.ndarray, "row"]]:
    """What one curve for all settings could be over; the last is the law's."""
    loss, family = census["train_loss"], census["family"]
    by_random, between = np.full((2, len(loss)), np.nan)
    for s in settings:
        random = loss[s.rows & (family == "random")].mean()
        least = loss[s.rows].min()
        by_random[s.rows] = loss[s.rows] / random
        between[s.rows] = (loss[s.rows] - least) / (random - least)
    return {
        "the loss": loss,
        "p times the loss": census["modulus"] * loss,
        "the loss over that of random tables": by_random,
        "the loss between the least and that of random tables": between,
        "odds over those of random tables": ratios(census, settings),
    }


def cross_validated_error(census: Columns, x: Float[np.ndarray, "row"], rows: Bool[np.ndarray, "row"]) -> float:
    accuracy = census["test_accuracy"][rows]
    return float(np.abs(cross_validated(x[rows], accuracy, census["table"][rows]) - accuracy).mean())


def error(predicted: np.ndarray, accuracy: np.ndarray, rows: np.ndarray) -> float | None:
    """The mean absolute error over some rows; None over none."""
    return float(np.abs(predicted[rows] - accuracy[rows]).mean()) if rows.any() else None


def held_out(census: Columns, settings: list[Setting]) -> Float[np.ndarray, "row"]:
    """Each setting predicted from all others: their curve, and the odds of random tables interpolated between them."""
    predicted = np.full(len(census["steps"]), np.nan)
    for setting in settings:
        others = [s for s in settings if s.label() | {"steps": 0} != setting.label() | {"steps": 0}]
        if len(others) < FEATURES:
            continue
        ratio, rest = ratios(census, others), np.any([s.rows for s in others], axis=0)
        reference = np.exp(random_features(**setting.label()) @ fit_random(others))
        x = odds(census["train_loss"][setting.rows], setting.modulus) / reference
        predicted[setting.rows] = fit_curve(ratio[rest], census["test_accuracy"][rest]).at(x)
    return predicted


def inner_rows(census: Columns, settings: list[Setting]) -> Bool[np.ndarray, "row"]:
    """Rows of the settings that, held out, still lie between others: those not at the least modulus."""
    least = min(s.modulus for s in settings)
    inner = [s.rows for s in several_moduli(settings) if least < s.modulus]
    return np.any(inner, axis=0) if inner else np.zeros(len(census["steps"]), bool)


def several_moduli(settings: list[Setting]) -> list[Setting]:
    """The settings whose width was trained at more than one modulus: between these one may interpolate."""
    return [s for s in settings if len({t.modulus for t in settings if t.width == s.width}) > 1]


def fit_random(settings: list[Setting]) -> Float[np.ndarray, "feature"]:
    """Coefficients of the logarithm of the odds of random tables, by least squares."""
    features = np.stack([random_features(**s.label()) for s in settings])
    return np.linalg.lstsq(features, np.log([s.random_odds for s in settings]), rcond=None)[0]


# ------------------------------------------------------------------------------------------------ what is shipped


def calibrate(census: Columns, made_by: str) -> dict[str, Any]:
    """The content of calibration.json."""
    settings = list(settings_of(census))
    accuracy, table = census["test_accuracy"], census["table"]
    inner = inner_rows(census, settings) if len(settings) > FEATURES else np.zeros(0, bool)
    if not inner.any():
        raise InputError(
            f"a calibration interpolates between more than {FEATURES} settings of several moduli and widths, with "
            f"random tables and {STATIONARY} steps or more; this census has {len(settings)}"
        )
    rows = np.any([s.rows for s in settings], axis=0)
    ratio = ratios(census, settings)
    curve = with_errors(fit_curve(ratio[rows], accuracy[rows]), held_out(census, settings)[inner], accuracy[inner])
    common = several_moduli(settings)
    return {
        "made_by": made_by,
        "networks": len(set(census["network"].tolist())),
        "covers": {name: span(common, name) for name in SETTING},
        "fixed": {name: getattr(TrainConfig, name) for name in FIXED},
        "from_table": from_table(census, common),
        "random_odds": [float(f"{value:.6g}") for value in fit_random(settings)],
        "curve": curve.json(),
        "settings": [
            s.label() | {"tables": int(s.rows.sum()), "curve": own_curve(census, s, accuracy, table).json()}
            for s in settings
        ],
    }


def from_table(census: Columns, settings: list[Setting]) -> dict[str, Any]:
    """For each fraction the curve over `table_complexity`, with its errors above the floor of the redundancy."""
    last = last_step(census)
    curves = []
    for fraction in sorted({s.fraction for s in settings}):
        rows = np.any([s.rows for s in settings if s.fraction == fraction and s.steps == last], axis=0)
        x, accuracy = table_complexity(census)[rows], census["test_accuracy"][rows]
        predicted = np.maximum(
            cross_validated(x, accuracy, census["table"][rows]), census["redundancy"][rows].astype(float)
        )
        curve = with_errors(fit_curve(x, accuracy), predicted, accuracy)
        curves.append(
            {"fraction": fraction, "error": float(np.abs(predicted - accuracy).mean()), "curve": curve.json()}
        )
    return {"modulus": span(settings, "modulus"), "curves": curves}


def table_complexity(census: Columns) -> Float[np.ndarray, "row"]:
    """The effective rank, which counts as 0 for tables in the class."""
    return np.where(census["verdict"] == "in-class", 0.0, census["effective_rank"].astype(float))


def span(settings: list[Setting], name: str) -> list[float]:
    values = [getattr(s, name) for s in settings]
    return [min(values), max(values)]


def own_curve(census: Columns, setting: Setting, accuracy: np.ndarray, table: np.ndarray) -> Curve:
    k = setting.rows
    x = census["train_loss"][k]
    return with_errors(fit_curve(x, accuracy[k]), cross_validated(x, accuracy[k], table[k]), accuracy[k])
