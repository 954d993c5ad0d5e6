"""Does the loss law hold for a census that it was not fitted to? python benchmarks/other_census.py

The calibration that ships comes from the large census. Here it is asked about the networks of the older one, on tables
that the large one does not have, at every step that was measured: the mean absolute error, and the share that lies in
the intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from modgrok.censuses import store
from modgrok.censuses.law_check import Columns, columns_of, settings_of
from modgrok.loss_law.calibration import calibration
from modgrok.loss_law.formula import SETTING, holds, odds, reference_odds

FOLDER = Path(__file__).parent / "census"


@dataclass(frozen=True)
class Judged:
    """The law on the networks of a census after so many steps."""

    steps: int
    networks: int
    error: float
    inside: float

    def __str__(self) -> str:
        return f"after {self.steps} steps: error {self.error:.4f}, {self.inside:.1%} inside, {self.networks:,} networks"


def judge(census: Columns, other: Columns) -> Iterator[Judged]:
    """The law after every measured step, on networks of a census whose tables another does not have."""
    new, curve = ~np.isin(census["table"], np.unique(other["table"])), calibration().curve
    settings = [dict(zip(SETTING, setting, strict=False)) for setting in settings_of(census)]
    for steps in np.unique(census["steps"]).tolist():
        missed: list[float] = []
        inside: list[bool] = []
        for setting in settings:
            random = reference_odds(setting, steps)
            if not holds(random, setting["fraction"]):
                continue
            here = np.all([census[name] == value for name, value in setting.items()], axis=0)
            rows = new & (census["steps"] == steps) & here
            for loss, reached in zip(census["train_loss"][rows], census["test_accuracy"][rows], strict=True):
                value = float(curve.at(float(odds(loss, setting["modulus"])) / random))
                low, high = curve.interval(value)
                missed.append(abs(value - reached))
                inside.append(low <= reached <= high)
        yield Judged(steps, len(missed), float(np.mean(missed)), float(np.mean(inside)))


def main() -> None:
    census, large = (columns_of(store.read_rows(FOLDER / name)) for name in ("results", "large"))
    for judged in judge(census, large):
        print(judged)


if __name__ == "__main__":
    main()
