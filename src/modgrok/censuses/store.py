"""The store of a census: a folder of Parquet files that are read as one table.

    plan.json              the plan; a folder belongs to one
    part-000012.parquet    one finished part of the plan (`modgrok.censuses.parts`)
    census.parquet         all rows so far with what is known of their tables (`modgrok.censuses.annotation`)

A row is one network at one measured step, with the key (network, steps). Folders of earlier versions have
chunk-*.parquet for parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pyarrow as pa

from modgrok.base.errors import InputError
from modgrok.base.files import claim_folder
from modgrok.base.provenance import Made, merged, provenance
from modgrok.base.stores import DamagedError, kind, read_object, write_object
from modgrok.censuses.plan import CensusPlan, plan_from
from modgrok.experiments.row_store import TYPES, RowStore
from modgrok.training.checkpoints import CURVES

SETTINGS = pa.schema(
    [
        ("network", pa.int64()),
        ("family", pa.string()),
        ("table_seed", pa.int64()),
        ("expression", pa.string()),
        ("modulus", pa.int64()),
        ("width", pa.int64()),
        ("fraction", pa.float64()),
        ("train_rows", pa.int64()),
        ("seed", pa.int64()),
        ("learning_rate", pa.float64()),
        ("weight_decay", pa.float64()),
        ("steps", pa.int64()),
        ("beside", pa.int64()),
        ("room", pa.int64()),
        ("model", pa.string()),
    ]
)
ROWS = pa.schema([*SETTINGS, *(field for field in CURVES if field.name != "step")])


@dataclass(frozen=True)
class Facts:
    """The annotations of one row; what depends on a split is None where every cell trains."""

    verdict: str
    verdict_family: str | None
    redundancy: float | None
    permuted_redundancy: float | None
    orbit_redundancy: float | None
    effective_rank: float
    unfolding_norm: float
    shifts: int
    scalings: int | None
    characters: float
    entropy: float


HINTS = get_type_hints(Facts).items()
ANNOTATIONS = pa.schema(
    [(name, next(TYPES[each] for each in (hint, *get_args(hint)) if each in TYPES)) for name, hint in HINTS]
)
WHOLE, PLAN = "census.parquet", "plan.json"
AGAIN = "run the census again, which sets it aside and trains what it held"


class CensusStore(RowStore):
    """The rows of a census that follows a plan."""

    schema, key, whole, older, again = ROWS, ("network", "steps"), WHOLE, ("chunk-*.parquet",), AGAIN
    filled = tuple(name for name in SETTINGS.names if name not in ("expression", "beside", "room", "model"))
    """Metrics may be null, where a training diverged, random tables have no expression, and up to 0.2.0 nothing says
    how many networks trained side by side, or that all were of the model `power`."""

    def __init__(self, folder: Path, plan: CensusPlan) -> None:
        super().__init__(folder, plan.size())
        self.steps = plan.steps

    def check(self, path: Path, rows: pa.Table) -> None:
        """Every network must have all the steps that are measured, and no others."""
        for field in ANNOTATIONS:
            if field.name in rows.column_names and kind(found := rows[field.name].type) != kind(field.type):
                raise DamagedError(f"{path}: its column {field.name} is {found}, not {field.type}; {AGAIN}")
        if not np.isin(rows["steps"].to_numpy(), self.steps).all():
            raise DamagedError(f"{path} has steps that the plan does not measure; {AGAIN}")
        numbers, counts = np.unique(rows["network"].to_numpy(), return_counts=True)
        if (short := counts < len(self.steps)).any():
            missing = f"{int(short.sum())} networks lack measured steps, network {numbers[short][0]} for one"
            raise DamagedError(f"{path}: {missing}; {AGAIN}")


def claim(plan: CensusPlan, folder: Path) -> CensusStore:
    """Make `folder` the folder of this plan, or refuse where it holds something else."""
    hint = "choose another folder: out= (--out)"
    claim_folder(folder, PLAN, lambda: "" if load_stored_plan(folder) == plan else "plan's census", hint=hint)
    if not (folder / PLAN).exists():
        write_object(folder / PLAN, plan.to_json())
    return CensusStore(folder, plan)


def stored(folder: Path) -> CensusStore:
    """The census in a folder."""
    return CensusStore(folder, load_stored_plan(folder))


def made_from(folder: Path, began: float, code: str) -> Made:
    """Where the rows of a census come from, and what this process made of them since `began`."""
    found = stored(folder)
    return merged(found.made(), (provenance(began, {}, code, read=found.files()),))


def load_stored_plan(folder: Path) -> CensusPlan:
    """The plan that a census follows."""
    path = folder / PLAN
    if not path.exists():
        raise InputError(f"{folder} is not a census: it has no plan.json; make one with modgrok census PLAN --out DIR")
    try:
        return plan_from(read_object(path, {}, "a plan is one"))
    except InputError as error:
        raise DamagedError(f"{path} is not the plan of a census ({error}); write it anew from the TOML file") from None


def read_rows(folder: Path) -> pa.Table:
    """Every row of the census, by network and step; annotations are null where they are not known yet."""
    return stored(folder).rows()


def read_annotated(folder: Path) -> pa.Table:
    """Every row of a census that has been annotated."""
    rows = read_rows(folder)
    if any(name not in rows.column_names or rows[name].null_count for name in ("verdict", "entropy")):
        raise InputError(f"rows of {folder} are not annotated yet; run: modgrok census annotate {folder}")
    return rows
