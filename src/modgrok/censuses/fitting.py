"""Fit the loss law to a census: the calibration that tells losses and tables what accuracy they stand for."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.base.errors import InputError
from modgrok.base.files import write_json
from modgrok.base.provenance import KEY, UNKNOWN, Made
from modgrok.base.results import Result
from modgrok.censuses import store
from modgrok.censuses.law_check import (
    Columns,
    LawErrors,
    Setting,
    columns_of,
    evaluate,
    held_out,
    last_step,
    ratios,
    settings_of,
)
from modgrok.loss_law.calibration import Calibration
from modgrok.loss_law.curve import fit_curve, with_interval
from modgrok.loss_law.formula import SETTING, drift
from modgrok.training.presets import DEFAULTS

FIXED = ("learning_rate", "weight_decay", "beta1", "beta2", "eps", "init_scale", "model", "loss", "optimiser")
"""Settings that no census varies, or that the law is not fitted across."""
STEPS = (1000, 1500)
"""Losses rest between these, but for the drift of random tables; the calibration has their odds after the fewest."""


@dataclass(frozen=True, repr=False)
class LawFit(Result):
    """The loss law of a census: the calibration, which was written to `files`, and how well it holds."""

    folder: Path
    files: tuple[Path, ...]
    calibration: Calibration
    errors: LawErrors
    seconds: float
    provenance: Made = (UNKNOWN,)

    def summary(self) -> str:
        return f"the loss law of {self.folder}: {self.errors.summary()}"

    def to_json(self) -> dict[str, Any]:
        """The calibration stands in its file; the errors stand beside the other keys."""
        fields = self.keys_beside("errors")
        del fields["calibration"]
        return fields


def fit(folder: str | Path, out: str | Path | None = None) -> LawFit:
    """Fit the loss law to an annotated census and write the calibration.

    Arguments:
        folder: the folder of the census.
        out: the JSON file to write; `calibration.json` in the folder if not given.

    Returns:
        A `LawFit`: the `calibration`, its cross-validated `errors`, and the `files` that were written.
    """
    started, folder = time.perf_counter(), Path(folder)
    census = columns_of(store.read_annotated(folder))
    found = calibrate(census, f"modgrok census fit {folder}")
    errors = evaluate(census)
    path = Path(out) if out is not None else folder / "calibration.json"
    made = store.made_from(folder, started, "modgrok.censuses.fitting")
    write_json(path, found.to_json() | {KEY: made})
    return LawFit(folder, (path,), found, errors, time.perf_counter() - started, made)


def calibrate(census: Columns, made_by: str) -> Calibration:
    """The loss law of a census in numbers. Its intervals are those of families that the curve has not seen."""
    known = list(settings_of(census))
    settings = [setting for setting in known if setting.holds]
    if not STEPS[0] <= last_step(census) <= STEPS[1]:
        raise InputError(
            f"a calibration needs trainings of {STEPS[0]} to {STEPS[1]} steps, this census has {last_step(census)}"
        )
    if len({s.modulus for s in settings}) < 2 or len({s.width for s in settings}) < 2:
        raise InputError(
            "a calibration interpolates between settings of several moduli and widths, with random tables that are not "
            f"memorised for free; this census has {len(settings)} such settings"
        )
    rows, ratio, accuracy = (
        np.any([s.rows for s in settings], axis=0),
        ratios(census, settings),
        census["test_accuracy"],
    )
    expected = held_out(census, settings, "families")
    seen = np.isfinite(expected)
    earlier = drift(STEPS[0], last_step(census))
    curve = with_interval(fit_curve(ratio[rows], accuracy[rows]), expected[seen], accuracy[seen])
    return Calibration(
        made_by=made_by,
        networks=int(rows.sum()),
        covers={name: span(settings, name) for name in SETTING} | {"steps": STEPS},
        fixed={name: DEFAULTS[name] for name in FIXED},
        curve=curve.rounded(),
        settings=tuple(replace(s.odds(), random_odds=float(f"{s.random_odds * earlier:.6g}")) for s in known),
    )


def span(settings: list[Setting], name: str) -> tuple[float, float]:
    """The least and the largest value of a setting."""
    values = [getattr(s, name) for s in settings]
    return min(values), max(values)
