"""Does the loss law hold for a census that it was not fitted to? python benchmarks/other_census.py

The calibration that ships comes from the large census. Here it is asked about the networks of the older one, on tables
that the large one does not have, at every step that was measured: the mean absolute error, and the share that lies in
the intervals.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from modgrok.censuses import store
from modgrok.censuses.law import columns_of, settings_of
from modgrok.loss_law.calibration import calibration
from modgrok.loss_law.law import SETTING, holds, odds, random_odds

FOLDER = Path(__file__).parent / "census"


@cache
def reference(*setting: float) -> float:
    return random_odds(dict(zip(SETTING, setting, strict=True)), calibration().settings)


def main() -> None:
    census, large = (columns_of(store.read_rows(FOLDER / name)) for name in ("results", "large"))
    new, curve = ~np.isin(census["table"], np.unique(large["table"])), calibration().curve
    last = {setting[:3]: setting for setting in settings_of(census)}
    for step in np.unique(census["steps"]).tolist():
        missed, inside = [], []
        for key in last:
            random = reference(*key)
            if not holds(random, key[2]):
                continue
            rows = (
                new
                & (census["steps"] == step)
                & np.all([census[n] == v for n, v in zip(SETTING, key, strict=True)], axis=0)
            )
            for loss, reached in zip(census["train_loss"][rows], census["test_accuracy"][rows], strict=True):
                value = float(curve.at(float(odds(loss, key[0])) / random))
                low, high = curve.interval(value)
                missed.append(abs(value - reached))
                inside.append(low <= reached <= high)
        print(
            f"after {step} steps: error {np.mean(missed):.4f}, {np.mean(inside):.1%} inside, {len(missed):,} networks"
        )


if __name__ == "__main__":
    main()
