"""How well the loss law holds in a census: per setting, per family, and with one curve for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from modgrok.base.errors import InputError
from modgrok.base.results import Result
from modgrok.loss_law.calibration import SettingOdds
from modgrok.loss_law.curve import cross_validated, fit_curve
from modgrok.loss_law.formula import SETTING, holds, odds, random_odds
from modgrok.training.presets import DEFAULTS

Columns = dict[str, np.ndarray]


class Setting(NamedTuple):
    """The rows of one setting, and the mean odds of its random tables."""

    modulus: int
    width: int
    fraction: float
    steps: int
    rows: Bool[np.ndarray, "row"]
    random_odds: float

    @property
    def holds(self) -> bool:
        """Whether the law is asked here: not where random tables are memorised for free."""
        return holds(self.random_odds, self.fraction)

    def label(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*SETTING, "steps")}

    def odds(self) -> SettingOdds:
        return SettingOdds(self.modulus, self.width, self.fraction, self.random_odds)


def columns_of(rows: pa.Table) -> Columns:
    """The columns as arrays, with the name of each row's table."""
    found = {name: rows[name].to_numpy(zero_copy_only=False) for name in rows.column_names}
    for name in ("train_loss", "test_accuracy"):
        found[name] = found[name].astype(float)
    keys = zip(found["family"], found["modulus"], found["table_seed"], strict=True)
    found["table"] = np.array([f"{family}|{modulus}|{seed}" for family, modulus, seed in keys], dtype=str)
    return found


def settings_of(census: Columns) -> Iterator[Setting]:
    """Every setting with test rows and random tables, at the last step."""
    wanted = (census["fraction"] < 1) & (census["steps"] == last_step(census))
    for name in ("learning_rate", "weight_decay"):
        wanted &= census[name] == DEFAULTS[name]
    names = (*SETTING, "steps")
    keys = sorted(set(zip(*(census[name][wanted].tolist() for name in names), strict=True)))
    for key in keys:
        rows = wanted & np.all([census[name] == value for name, value in zip(names, key, strict=True)], axis=0)
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
    """The error of one curve for all settings over some normalised loss: on the half of the tables on which the best
    is chosen, and on the other."""

    one_curve_over: str
    error_first_half: float
    error_second_half: float


@dataclass(frozen=True)
class HeldOutErrors:
    """The law where all networks of a group are held out together: of a table, a family, a modulus or a width.

    The odds of random tables at a modulus or width that is held out are read off the others. `error_by_group` has
    that of every group, but for tables, which are held out in ten folds.
    """

    held_out: str
    networks: int
    error: float
    error_by_group: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class LawErrors(Result):
    """Cross-validated mean absolute errors of the law over the `evaluated` networks, at the last step.

    Settings at which the law is not asked are left out; `networks_left_out` there have `error_left_out` with a curve
    of their own.
    """

    evaluated: int
    networks_left_out: int
    error_own_curves: float
    error_one_curve: float
    error_one_curve_half: float | None
    error_left_out: float | None
    errors_held_out: tuple[HeldOutErrors, ...]
    errors_by_normalisation: tuple[NormalisationError, ...]
    errors_by_setting: tuple[SettingErrors, ...]
    errors_by_family: tuple[FamilyErrors, ...]

    def summary(self) -> str:
        return (
            f"mean absolute error {self.error_own_curves:.3f} with a curve for each setting, "
            f"{self.error_one_curve:.3f} with one curve for all, over {self.evaluated:,} networks"
        )


def evaluate(census: Columns) -> LawErrors:
    """Errors at the last step, on tables that no curve has seen: a curve for each setting, and one for all."""
    known = list(settings_of(census))
    settings = [setting for setting in known if setting.holds]
    if not settings:
        raise InputError(
            "the law needs random tables at some training fraction from 0.2 to below 1, and not memorised for free; "
            "add `random = 8` to the plan"
        )
    accuracy, table, loss = census["test_accuracy"], census["table"], census["train_loss"]
    rows = np.any([setting.rows for setting in settings], axis=0)
    own = np.full(len(accuracy), np.nan)
    for setting in settings:
        k = setting.rows
        own[k] = cross_validated(loss[k], accuracy[k], table[k])
    ratio = ratios(census, known)
    one, left = np.full((2, len(accuracy)), np.nan)
    one[rows] = cross_validated(ratio[rows], accuracy[rows], table[rows])
    free = np.isfinite(ratio) & ~rows
    if free.any():
        left[free] = cross_validated(ratio[free], accuracy[free], table[free])
    by_family = {str(family): rows & (census["family"] == family) for family in sorted(set(census["family"][rows]))}
    return LawErrors(
        evaluated=int(rows.sum()),
        networks_left_out=int(free.sum()),
        error_own_curves=error(own, accuracy, rows),
        error_one_curve=error(one, accuracy, rows),
        error_one_curve_half=error_if_any(one, accuracy, rows & (census["fraction"] == 0.5)),
        error_left_out=error_if_any(left, accuracy, free),
        errors_held_out=(
            HeldOutErrors("tables", int(rows.sum()), error(one, accuracy, rows), {}),
            *(found for name in GROUPS if (found := held_out_errors(census, settings, name)) is not None),
        ),
        errors_by_normalisation=tuple(
            NormalisationError(name, *(cross_validated_error(census, x, part) for part in halves(census, rows)))
            for name, x in normalisations(census, settings).items()
        ),
        errors_by_setting=tuple(
            SettingErrors(
                **s.label(),
                tables=int(s.rows.sum()),
                spearman=rank_correlation(loss[s.rows], accuracy[s.rows]),
                error=error(own, accuracy, s.rows),
                error_one_curve=error(one, accuracy, s.rows),
                random_unexplained=s.random_odds / (1 + s.random_odds),
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


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's."""
    from scipy.stats import spearmanr  # which takes most of a second to import

    return float(spearmanr(x, y)[0])


def error_if_any(expected: np.ndarray, accuracy: np.ndarray, rows: np.ndarray) -> float | None:
    return error(expected, accuracy, rows) if rows.any() else None


def halves(census: Columns, rows: Bool[np.ndarray, "row"]) -> tuple[Bool[np.ndarray, "row"], Bool[np.ndarray, "row"]]:
    """The rows of a random half of the tables, and those of the other half."""
    names, table = np.unique(census["table"], return_inverse=True)
    first = np.random.default_rng(0).random(len(names))[table] < 0.5
    return rows & first, rows & ~first


GROUPS = {"families": "family", "moduli": "modulus", "widths": "width"}
"""What is held out together, by its column."""


def held_out_errors(census: Columns, settings: list[Setting], name: str) -> HeldOutErrors | None:
    """The law's errors with one group held out after the other; None where there is one only."""
    expected, column = held_out(census, settings, name), census[GROUPS[name]]
    known, accuracy = np.isfinite(expected), census["test_accuracy"]
    if not known.any():
        return None
    groups = {str(group): known & (column == group) for group in sorted(set(column[known].tolist()))}
    by_group = {group: error(expected, accuracy, rows) for group, rows in groups.items()}
    return HeldOutErrors(name, int(known.sum()), error(expected, accuracy, known), by_group)


def held_out(census: Columns, settings: list[Setting], name: str) -> Float[np.ndarray, "row"]:
    """What is expected of every network by the law of the other groups; NaN where that is not asked."""
    expected, column = np.full(len(census["steps"]), np.nan), census[GROUPS[name]]
    rows, ratio = np.any([s.rows for s in settings], axis=0), ratios(census, settings)
    groups = sorted(set(column[rows].tolist()))
    for group in groups if len(groups) > 1 else ():
        others, own = rows & (column != group), rows & (column == group)
        x = ratio
        if name != "families":
            rest = [s for s in settings if getattr(s, GROUPS[name]) != group]
            x = ratios(census, [interpolated(s, rest) for s in settings if getattr(s, GROUPS[name]) == group])
            own &= np.isfinite(x)
        expected[own] = fit_curve(ratio[others], census["test_accuracy"][others]).at(x[own])
    return expected


def interpolated(setting: Setting, rest: list[Setting]) -> Setting:
    """The setting with the odds of random tables that others tell."""
    return setting._replace(random_odds=random_odds(setting.label(), [s.odds() for s in rest]))
