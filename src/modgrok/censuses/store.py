"""The store of a census: a folder of Parquet files that are read as one table.

    plan.json              the plan; a folder belongs to one
    part-000012.parquet    one finished part of the plan (`modgrok.censuses.parts`)
    census.parquet         all rows so far with what is known of their tables (`modgrok.censuses.annotation`)

A row is one network at one measured step, with the key (network, steps). A row that stands both in a part and
in census.parquet counts once, as it stands in the latter. Folders of earlier versions have chunk-*.parquet for parts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modgrok.censuses.plan import CensusPlan, plan_from
from modgrok.errors import InputError
from modgrok.files import claim_folder, read_json, whole_file, write_json
from modgrok.training.steps import Metrics

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
    ]
)
ROWS = pa.schema(
    [*SETTINGS, *(pa.field(name, pa.int64() if name == "alive" else pa.float32()) for name in Metrics._fields)]
)
WHOLE, PLAN = "census.parquet", "plan.json"


def claim(plan: CensusPlan, folder: Path) -> None:
    """Make `folder` the folder of this plan, or refuse where it holds something else."""
    other = "plan's census"
    hint = "choose another folder: out= (--out)"
    claim_folder(folder, PLAN, lambda: "" if load_stored_plan(folder) == plan else other, hint=hint)
    if not (folder / PLAN).exists():
        write_json(folder / PLAN, plan.to_json())


def load_stored_plan(folder: Path) -> CensusPlan:
    """The plan that a census follows."""
    if not (folder / PLAN).exists():
        raise InputError(f"{folder} is not a census: it has no plan.json; make one with modgrok census PLAN --out DIR")
    return plan_from(read_json(folder / PLAN))


def write_rows(path: Path, rows: pa.Table) -> None:
    with whole_file(path) as temporary:
        pq.write_table(rows, temporary, compression="zstd")


def part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06}.parquet"


def gather(folder: Path) -> None:
    """Write all rows to census.parquet: the one file to keep or to send."""
    write_rows(folder / WHOLE, read_rows(folder))


def files(folder: Path) -> tuple[Path, ...]:
    """The files that hold the rows of a census."""
    whole = [folder / WHOLE] if (folder / WHOLE).exists() else []
    return (*whole, *sorted(folder.glob("part-*.parquet")), *sorted(folder.glob("chunk-*.parquet")))


def read_rows(folder: Path) -> pa.Table:
    """Every row of the census, by network and step; annotations are null where they are not known yet."""
    load_stored_plan(folder)
    parts = [read_file(path) for path in files(folder)]
    if not parts:
        return ROWS.empty_table()
    rows = pa.concat_tables(parts, promote_options="default")
    keys = np.stack([rows["network"].to_numpy(), rows["steps"].to_numpy()])
    _, first = np.unique(keys, axis=1, return_index=True)
    return rows.take(first)


def read_annotated(folder: Path) -> pa.Table:
    """Every row of a census that has been annotated."""
    rows = read_rows(folder)
    if "verdict" not in rows.column_names or rows["verdict"].null_count:
        raise InputError(f"rows of {folder} are not annotated yet; run: modgrok census annotate {folder}")
    return rows


def read_file(path: Path) -> pa.Table:
    try:
        return pq.read_table(pa.BufferReader(path.read_bytes()))  # once: another process may replace it meanwhile
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"cannot read {path}: {error}; remove it and run the census again") from None


def finished_networks(folder: Path) -> set[int]:
    return set(read_rows(folder)["network"].to_pylist())
