"""The census as a scatter of training loss against test accuracy: a sample that comes along, or any folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from modgrok.algebra.function import read_function
from modgrok.censuses.families import make_table
from modgrok.errors import InputError
from modgrok.explorer.asking import Params, whole
from modgrok.explorer.encoding import encoded
from modgrok.explorer.functions import put_table

SAMPLE = Path(__file__).parent / "census.parquet"
"""Some trainings of the large census; `benchmarks/explorer_census.py` makes it."""
COLUMNS = ("family", "expression", "table_seed", "modulus", "fraction", "train_loss", "test_accuracy", "verdict")
MOST_POINTS = 4000
MOST_NAMED = 60
"""Values that an error lists."""


@lru_cache(maxsize=2)
def trainings(folder: str) -> tuple[dict[str, np.ndarray], str]:
    """The columns of a census at its last step, and where they come from."""
    if not folder:
        table = pq.read_table(SAMPLE)
        about = (table.schema.metadata or {}).get(b"modgrok", b"").decode()
    else:
        from modgrok.censuses.store import read_annotated

        table, about = read_annotated(Path(folder)), f"the census in {folder}"
        table = table.filter(np.asarray(table["steps"]) == np.asarray(table["steps"]).max())
    columns = {name: np.asarray(table[name].to_pylist(), object) for name in ("family", "expression", "verdict")}
    columns |= {name: table[name].to_numpy() for name in COLUMNS if name not in columns}
    known = np.isfinite(columns["train_loss"]) & np.isfinite(columns["test_accuracy"])
    return {name: column[known] for name, column in columns.items()}, about


def census(params: Params) -> dict[str, Any]:
    """The trainings of a family, of a modulus, or all: evenly thinned to as many as a page draws at once."""
    columns, about = trainings(str(params.get("census") or ""))
    families, moduli = sorted(set(columns["family"])), np.unique(columns["modulus"]).tolist()
    verdicts = sorted(set(columns["verdict"]))
    wanted = np.ones(len(columns["family"]), bool)
    if family := str(params.get("family") or ""):
        check_among("family", family, families)
        wanted &= columns["family"] == family
    if (modulus := whole(params, "modulus")) is not None:
        check_among("modulus", modulus, moduli)
        wanted &= columns["modulus"] == modulus
    places = np.flatnonzero(wanted)
    most = max(1, min(MOST_POINTS, whole(params, "most") or MOST_POINTS))
    shown = places[np.unique(np.linspace(0, max(0, len(places) - 1), min(most, len(places))).astype(int))]
    rest = "" if len(shown) == len(places) else f", of which {len(shown):,} are drawn"
    return {
        "source": about,
        "rows": len(wanted),
        "shown": len(shown),
        "families": families,
        "moduli": moduli,
        "verdicts": verdicts,
        "loss": encoded(columns["train_loss"][shown], "f32"),
        "accuracy": encoded(columns["test_accuracy"][shown], "f32"),
        "fraction": encoded(columns["fraction"][shown], "f32"),
        "modulus": encoded(columns["modulus"][shown], "u16"),
        "family": encoded(np.searchsorted(families, columns["family"][shown]), "u8"),
        "verdict": encoded(np.searchsorted(verdicts, columns["verdict"][shown]), "u8"),
        "expression": columns["expression"][shown].tolist(),
        "seed": columns["table_seed"][shown].tolist(),
        "text": f"{len(places):,} trainings{rest}; {about}.",
    }


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


def check_among(name: str, value: Any, known: list[Any]) -> None:
    if value not in known:
        listed = ", ".join(map(str, known[:MOST_NAMED])) + (", …" if len(known) > MOST_NAMED else "")
        raise InputError(f"{name} must be one of {listed}; got {str(value)[:40]!r}")
