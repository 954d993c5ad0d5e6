"""What a census measured of the loss law, as `modgrok census fit` stores it; `calibration.json` is the one that ships.

Its key `made_by` is the command that wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path

from modgrok.base.provenance import KEY
from modgrok.base.results import Result
from modgrok.base.stores import DamagedError, read_object
from modgrok.loss_law.curve import Curve


@dataclass(frozen=True)
class SettingOdds:
    """A setting that was trained, and the mean odds of random tables there."""

    modulus: int
    width: int
    fraction: float
    random_odds: float


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """The loss law in numbers.

    `covers` has the least and the largest value of each setting that one may interpolate between, `fixed` the values
    of those that were not varied. `curve` is over the ratio of odds; `settings` are those whose random tables are
    known, the ones among them at which the law does not hold included.
    """

    made_by: str
    networks: int
    covers: Mapping[str, tuple[float, float]]
    fixed: Mapping[str, float | str]
    curve: Curve
    settings: tuple[SettingOdds, ...]

    def summary(self) -> str:
        return f"the loss law from {self.networks:,} networks at {len(self.settings)} settings, by {self.made_by}"


@lru_cache(maxsize=1)
def calibration() -> Calibration:
    """The calibration that the package ships."""
    with as_file(files("modgrok.loss_law") / "calibration.json") as path:
        return read_calibration(path)


def read_calibration(path: Path) -> Calibration:
    """The calibration in a file that `modgrok census fit` wrote."""
    kinds = {"covers": dict, "curve": dict, "settings": list}
    stored = read_object(path, kinds, "`modgrok census fit` makes it")
    stored.pop(KEY, None)
    try:
        return Calibration(
            **stored
            | {
                "covers": {name: tuple(span) for name, span in stored["covers"].items()},
                "curve": Curve(**{name: tuple(values) for name, values in stored["curve"].items()}),
                "settings": tuple(SettingOdds(**entry) for entry in stored["settings"]),
            }
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise DamagedError(f"{path} is no calibration ({error}); `modgrok census fit` makes it") from None
