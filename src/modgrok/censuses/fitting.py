"""Fit the loss law to a census: the calibration that tells losses and tables what accuracy they stand for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.censuses import store
from modgrok.censuses.law import (
    FEATURES,
    STATIONARY,
    Columns,
    LawErrors,
    Setting,
    columns_of,
    evaluate,
    fit_random,
    held_out,
    inner_rows,
    ratios,
    settings_of,
    several_moduli,
)
from modgrok.errors import InputError
from modgrok.files import write_json
from modgrok.loss_law.calibration import Calibration, SettingCurve
from modgrok.loss_law.curve import Curve, cross_validated, fit_curve, with_interval
from modgrok.loss_law.law import SETTING
from modgrok.results import Result
from modgrok.training.presets import DEFAULTS

FIXED = ("learning_rate", "weight_decay", "beta1", "beta2", "eps", "init_scale", "model", "loss", "optimiser")
"""Settings that no census varies, or that the law is not fitted across."""


@dataclass(frozen=True, repr=False)
class LawFit(Result):
    """The loss law of a census: the calibration, which was written to `files`, and how well it holds."""

    folder: Path
    files: tuple[Path, ...]
    calibration: Calibration
    errors: LawErrors
    seconds: float

    def summary(self) -> str:
        return f"the loss law of {self.folder}: {self.errors.summary()}"

    def to_json(self) -> dict[str, Any]:
        """The calibration stands in its file; the errors stand beside the other keys."""
        fields = super().to_json()
        del fields["calibration"]
        return fields.pop("errors") | fields


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
    write_json(path, found.to_json())
    return LawFit(folder, (path,), found, errors, time.perf_counter() - started)


def calibrate(census: Columns, made_by: str) -> Calibration:
    """The loss law of a census in numbers."""
    settings = list(settings_of(census))
    accuracy = census["test_accuracy"]
    inner = inner_rows(census, settings) if len(settings) > FEATURES else np.zeros(0, bool)
    if not inner.any():
        raise InputError(
            f"a calibration interpolates between more than {FEATURES} settings of several moduli and widths, with "
            f"random tables and {STATIONARY} steps or more; this census has {len(settings)}"
        )
    rows = np.any([s.rows for s in settings], axis=0)
    ratio = ratios(census, settings)
    curve = with_interval(fit_curve(ratio[rows], accuracy[rows]), held_out(census, settings)[inner], accuracy[inner])
    common = several_moduli(settings)
    return Calibration(
        made_by=made_by,
        networks=len(set(census["network"].tolist())),
        covers={name: span(common, name) for name in SETTING},
        fixed={name: DEFAULTS[name] for name in FIXED},
        random_odds=tuple(float(f"{value:.6g}") for value in fit_random(settings)),
        curve=curve.rounded(),
        settings=tuple(
            SettingCurve(**s.label(), tables=int(s.rows.sum()), curve=own_curve(census, s).rounded()) for s in settings
        ),
    )


def own_curve(census: Columns, setting: Setting) -> Curve:
    """The curve of one setting over the training loss."""
    x, accuracy, table = (census[name][setting.rows] for name in ("train_loss", "test_accuracy", "table"))
    return with_interval(fit_curve(x, accuracy), cross_validated(x, accuracy, table), accuracy)


def span(settings: list[Setting], name: str) -> Any:
    """The least and the largest value of a setting."""
    values = [getattr(s, name) for s in settings]
    return min(values), max(values)
