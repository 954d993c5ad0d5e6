"""What a census measured of the loss law, as `modgrok census fit` stores it; `calibration.json` is the one that ships.

Its key `made_by` is the command that wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from modgrok.loss_law.curve import Curve
from modgrok.results import Result
from modgrok.stores import DamagedError, read_object


@dataclass(frozen=True)
class SettingCurve:
    """The curve over the training loss at one setting that was trained."""

    modulus: int
    width: int
    fraction: float
    steps: int
    tables: int
    curve: Curve


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """The loss law in numbers.

    `covers` has the least and the largest value of each setting that one may interpolate between, `fixed` the values
    of those that were not varied. `curve` is the one for all settings, over the ratio of odds; `random_odds` are the
    coefficients of the odds of random tables (see `law.random_features`).
    """

    made_by: str
    networks: int
    covers: Mapping[str, tuple[float, float]]
    fixed: Mapping[str, float | str]
    random_odds: tuple[float, ...]
    curve: Curve
    settings: tuple[SettingCurve, ...]

    def summary(self) -> str:
        return f"the loss law from {self.networks:,} networks at {len(self.settings)} settings, by {self.made_by}"


@lru_cache(maxsize=1)
def calibration() -> Calibration:
    """The calibration that the package ships."""
    with as_file(files("modgrok.loss_law") / "calibration.json") as path:
        return read_calibration(path)


def read_calibration(path: Path) -> Calibration:
    """The calibration in a file that `modgrok census fit` wrote."""
    kinds = {"covers": dict, "random_odds": list, "curve": dict, "settings": list}
    stored = read_object(path, kinds, "`modgrok census fit` makes it")
    try:
        return Calibration(
            **stored
            | {
                "covers": {name: tuple(span) for name, span in stored["covers"].items()},
                "random_odds": tuple(stored["random_odds"]),
                "curve": curve_from(stored["curve"]),
                "settings": tuple(SettingCurve(**with_curve(entry)) for entry in stored["settings"]),
            }
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise DamagedError(f"{path} is no calibration ({error}); `modgrok census fit` makes it") from None


def with_curve(stored: dict[str, Any]) -> dict[str, Any]:
    return stored | {"curve": curve_from(stored["curve"])}


def curve_from(stored: dict[str, list[float]]) -> Curve:
    return Curve(**{name: tuple(values) for name, values in stored.items()})
