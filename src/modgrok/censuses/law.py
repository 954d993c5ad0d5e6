"""How well the loss law holds in a census: per setting, per family, and with one curve for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float
from scipy.stats import spearmanr

from modgrok.errors import InputError
from modgrok.loss_law.curve import cross_validated, fit_curve
from modgrok.loss_law.law import SETTING, odds, random_features
from modgrok.results import Result
from modgrok.training.presets import DEFAULTS

Columns = dict[str, np.ndarray]

STATIONARY = 1000
"""Steps after which losses are taken as stationary."""
FEATURES = random_features(1, 1, 1, 1).size
FREE = 0.05
"""Below this share unexplained, a random table counts as memorised for free."""


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
    keys = zip(found["family"], found["modulus"], found["table_seed"], strict=True)
    found["table"] = np.array([f"{family}|{modulus}|{seed}" for family, modulus, seed in keys], dtype=str)
    return found


def settings_of(census: Columns, *, steps: int | None = None) -> Iterator[Setting]:
    """Every setting with test rows and random tables, at one number of steps or at all stationary ones."""
    wanted = census["fraction"] < 1
    for name in ("learning_rate", "weight_decay"):
        wanted &= census[name] == DEFAULTS[name]
    wanted &= census["steps"] == steps if steps is not None else census["steps"] >= STATIONARY
    keys = sorted(set(zip(*(census[name][wanted].tolist() for name in SETTING), strict=True)))
    for key in keys:
        rows = wanted & np.all([census[name] == value for name, value in zip(SETTING, key, strict=True)], axis=0)
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


@dataclass(frozen=True)
class SettingErrors:
    """How well the law holds at one setting: with a curve of its own, and with the one for all.

    `spearman` is the rank correlation of loss and accuracy, `random_unexplained` p times the loss of random tables.
    """

    modulus: int
    width: int
    fraction: float
    steps: int
    tables: int
    spearman: float
    error: float
    error_one_curve: float
    random_unexplained: float
    memorised_for_free: bool


@dataclass(frozen=True)
class FamilyErrors:
    """How well the law holds for the tables of one family, at all settings."""

    family: str
    networks: int
    accuracy: float
    error: float
    error_one_curve: float


@dataclass(frozen=True)
class NormalisationError:
    """The error of one curve for all settings over some normalised loss."""

    one_curve_over: str
    error: float


@dataclass(frozen=True, repr=False)
class LawErrors(Result):
    """Cross-validated mean absolute errors of the law over the `evaluated` networks, at the last step."""

    evaluated: int
    error_own_curves: float
    error_one_curve: float
    error_one_curve_not_free: float | None
    error_one_curve_half: float | None
    error_held_out_settings: float | None
    errors_by_normalisation: tuple[NormalisationError, ...]
    errors_by_setting: tuple[SettingErrors, ...]
    errors_by_family: tuple[FamilyErrors, ...]

    def summary(self) -> str:
        return (
            f"mean absolute error {self.error_own_curves:.3f} with a curve for each of {len(self.errors_by_setting)} "
            f"settings, {self.error_one_curve:.3f} with one for all, over {self.evaluated:,} networks"
        )


def evaluate(census: Columns) -> LawErrors:
    """Errors at the last step, on tables that no curve has seen: a curve for each setting, and one for all."""
    settings = list(settings_of(census, steps=last_step(census)))
    if not settings:
        raise InputError("the law needs random tables at some training fraction below 1; add `random = 8` to the plan")
    accuracy, table, loss = census["test_accuracy"], census["table"], census["train_loss"]
    rows = np.any([setting.rows for setting in settings], axis=0)
    own = np.full(len(accuracy), np.nan)
    for setting in settings:
        k = setting.rows
        own[k] = cross_validated(loss[k], accuracy[k], table[k])
    ratio = ratios(census, settings)
    one = np.full(len(accuracy), np.nan)
    one[rows] = cross_validated(ratio[rows], accuracy[rows], table[rows])
    apart = held_out(census, settings)
    costly = [s.rows for s in settings if not s.memorised_for_free]
    by_family = {str(family): rows & (census["family"] == family) for family in sorted(set(census["family"][rows]))}
    return LawErrors(
        evaluated=int(rows.sum()),
        error_own_curves=error(own, accuracy, rows),
        error_one_curve=error(one, accuracy, rows),
        error_one_curve_not_free=error(one, accuracy, np.any(costly, axis=0)) if costly else None,
        error_one_curve_half=error_if_any(one, accuracy, rows & (census["fraction"] == 0.5)),
        error_held_out_settings=error_if_any(apart, accuracy, inner_rows(census, settings) & np.isfinite(apart)),
        errors_by_normalisation=tuple(
            NormalisationError(name, cross_validated_error(census, x, rows))
            for name, x in normalisations(census, settings).items()
        ),
        errors_by_setting=tuple(
            SettingErrors(
                **s.label(),
                tables=int(s.rows.sum()),
                spearman=float(spearmanr(loss[s.rows], accuracy[s.rows])[0]),
                error=error(own, accuracy, s.rows),
                error_one_curve=error(one, accuracy, s.rows),
                random_unexplained=s.random_odds / (1 + s.random_odds),
                memorised_for_free=s.memorised_for_free,
            )
            for s in settings
        ),
        errors_by_family=tuple(
            FamilyErrors(
                family,
                networks=int(k.sum()),
                accuracy=float(accuracy[k].mean()),
                error=error(own, accuracy, k),
                error_one_curve=error(one, accuracy, k),
            )
            for family, k in by_family.items()
        ),
    )


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


def error(expected: np.ndarray, accuracy: np.ndarray, rows: np.ndarray) -> float:
    """The mean absolute error over some rows."""
    return float(np.abs(expected[rows] - accuracy[rows]).mean())


def error_if_any(expected: np.ndarray, accuracy: np.ndarray, rows: np.ndarray) -> float | None:
    return error(expected, accuracy, rows) if rows.any() else None


def held_out(census: Columns, settings: list[Setting]) -> Float[np.ndarray, "row"]:
    """Each setting expected from all others: their curve, and the odds of random tables interpolated between them."""
    expected = np.full(len(census["steps"]), np.nan)
    for setting in settings:
        others = [s for s in settings if s.label() | {"steps": 0} != setting.label() | {"steps": 0}]
        if len(others) < FEATURES:
            continue
        ratio, rest = ratios(census, others), np.any([s.rows for s in others], axis=0)
        reference = np.exp(random_features(**setting.label()) @ fit_random(others))
        x = odds(census["train_loss"][setting.rows], setting.modulus) / reference
        expected[setting.rows] = fit_curve(ratio[rest], census["test_accuracy"][rest]).at(x)
    return expected


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
