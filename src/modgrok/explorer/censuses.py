"""The census as a scatter: what trainings ended with, against the test accuracy that they reached.

Losses compare at one modulus and one share of the table alone. The odds of a loss over those of random tables at the
same settings compare everywhere (`loss_law.law`), so there the law is a curve, which is sent along.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.censuses.families import make_table
from modgrok.explorer.asking import Params, number, whole
from modgrok.explorer.encoding import encoded
from modgrok.explorer.functions import put_table
from modgrok.explorer.recipes import Recipe, of_census
from modgrok.loss_law.calibration import calibration
from modgrok.training.presets import DEFAULTS

SAMPLE = Path(__file__).parent / "census.parquet"
"""The trainings of the large census at the default width; `benchmarks/explorer_census.py` makes it."""
WORDS = ("family", "expression", "verdict")
COLUMNS = (*WORDS, "table_seed", "modulus", "fraction", "train_loss", "ratio", "test_accuracy")
ACROSS = {"ratio": "ratio", "loss": "train_loss"}
"""What a page may draw from left to right, and its column."""
NONE = {
    "ratio": "None of these trainings has a place here: even random tables are memorised almost for free, or too "
    "little of the table is trained on. Look at the loss as it is.",
    "loss": "The census has no such training.",
}
"""What is said where there is nothing to draw."""
MOST_POINTS = 4000
MOST_NAMED = 60
"""Values that an error lists."""
CURVE_POINTS = 120


def with_ratios(rows: pa.Table) -> pa.Table:
    """The rows of a census at its last step, with the odds of each over those of random tables; NaN where the law is
    silent."""
    from modgrok.censuses.law_check import columns_of, ratios, settings_of

    rows = rows.filter(np.asarray(rows["steps"]) == np.asarray(rows["steps"]).max())
    columns = columns_of(rows)
    return rows.append_column("ratio", pa.array(ratios(columns, [s for s in settings_of(columns) if s.holds])))


@lru_cache(maxsize=2)
def trainings(folder: str) -> tuple[dict[str, np.ndarray], str]:
    """The columns of a census at its last step, and where they come from."""
    if not folder:
        table = pq.read_table(SAMPLE)
        about = (table.schema.metadata or {}).get(b"modgrok", b"").decode()
    else:
        from modgrok.censuses.store import read_annotated

        table, about = with_ratios(read_annotated(Path(folder))), f"the census in {folder}"
    columns = {name: np.asarray(table[name].to_pylist(), object) for name in WORDS}
    columns |= {name: table[name].to_numpy() for name in COLUMNS if name not in columns}
    known = np.isfinite(columns["train_loss"]) & np.isfinite(columns["test_accuracy"])
    return {name: column[known] for name, column in columns.items()}, about


@lru_cache(maxsize=2)
def choices_in(folder: str) -> dict[str, list[Any]]:
    """What there is of each kind."""
    columns, _ = trainings(folder)
    found = {name: np.unique(columns[name]).tolist() for name in ("family", "modulus", "verdict")}
    return found | {"share": np.unique(columns["fraction"].round(3).astype(float)).round(3).tolist()}


def census(params: Params) -> dict[str, Any]:
    """The trainings of a family, a modulus and a share of the table, or all: evenly thinned to what a page draws."""
    columns, about = trainings(str(params.get("census") or ""))
    across = str(params.get("across") or "ratio")
    check_among("across", across, list(ACROSS))
    choices = choices_in(str(params.get("census") or ""))
    x = columns[ACROSS[across]]
    wanted = np.isfinite(x)
    if family := str(params.get("family") or ""):
        check_among("family", family, choices["family"])
        wanted &= columns["family"] == family
    if (modulus := whole(params, "modulus")) is not None:
        check_among("modulus", modulus, choices["modulus"])
        wanted &= columns["modulus"] == modulus
    if params.get("share"):
        share = number(params, "share", 0.5)
        check_among("share", share, choices["share"])
        wanted &= np.isclose(columns["fraction"], share)
    where = {"family": family, "modulus": modulus, "fraction": number(params, "share", 0.0)}
    places = np.flatnonzero(wanted)
    most = max(1, min(MOST_POINTS, whole(params, "most") or MOST_POINTS))
    shown = places[np.unique(np.linspace(0, max(0, len(places) - 1), min(most, len(places))).astype(int))]
    rest = "" if len(shown) == len(places) else f", of which {len(shown):,} are drawn"
    text = f"{len(places):,} trainings{rest}, from {about}." if len(places) else NONE[across]
    return {
        "source": about,
        "rows": len(wanted),
        "shown": len(shown),
        "families": choices["family"],
        "moduli": choices["modulus"],
        "shares": choices["share"],
        "verdicts": choices["verdict"],
        "across": across,
        "x": encoded(x[shown], "f32"),
        "law": the_law() if across == "ratio" else None,
        "loss": encoded(columns["train_loss"][shown], "f32"),
        "accuracy": encoded(columns["test_accuracy"][shown], "f32"),
        "fraction": encoded(columns["fraction"][shown], "f32"),
        "modulus": encoded(columns["modulus"][shown], "u16"),
        "family": encoded(np.searchsorted(choices["family"], columns["family"][shown]), "u8"),
        "verdict": encoded(np.searchsorted(choices["verdict"], columns["verdict"][shown]), "u8"),
        "expression": columns["expression"][shown].tolist(),
        "seed": columns["table_seed"][shown].tolist(),
        "text": text,
        "recipe": recipe(str(params.get("census") or ""), {name: value for name, value in where.items() if value}),
    }


def recipe(folder: str, where: dict[str, Any]) -> Recipe:
    """How to get such trainings without the page: those in the folder, or others of the same kinds."""
    choices = choices_in(folder)
    there = {"family": choices["family"], "modulus": choices["modulus"], "fraction": choices["share"]}
    asked = {name: [where[name]] if name in where else values for name, values in there.items()}
    settings = {"moduli": asked["modulus"], "widths": [DEFAULTS["width"]], "fractions": asked["fraction"]}
    plan = {"steps": DEFAULTS["steps"], "tables": dict.fromkeys(asked["family"], 1), "settings": [settings]}
    return of_census(folder, plan, where)


def the_law() -> dict[str, list[float]]:
    """The curve of the loss law, from what is explained without memory to beyond what random tables end with."""
    curve = calibration().curve
    x = np.linspace(0, curve.x[-1], CURVE_POINTS)
    return {"x": x.tolist(), "accuracy": curve.at(x).tolist()}


def census_table(params: Params) -> dict[str, Any]:
    """A table of a census that is no expression: made again from its family, modulus and seed."""
    columns, _ = trainings(str(params.get("census") or ""))
    family, modulus, seed = str(params.get("family") or ""), whole(params, "modulus"), whole(params, "seed")
    check_among("family", family, sorted(set(columns["family"])))
    check_among("modulus", modulus, np.unique(columns["modulus"]).tolist())
    check_among("seed", seed, np.unique(columns["table_seed"][columns["family"] == family]).tolist())
    assert modulus is not None and seed is not None
    found = read_function(make_table(family, modulus, seed).values, modulus)
    return {"table": put_table(Path(str(params["tables"])), found, f"{family} {modulus} {seed}"), **found.to_json()}


def check_among(name: str, value: object, known: Sequence[object]) -> None:
    if value not in known:
        listed = ", ".join(map(str, known[:MOST_NAMED])) + (", …" if len(known) > MOST_NAMED else "")
        raise InputError(f"{name} must be one of {listed}; got {str(value)[:40]!r}")
