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
from pyarrow.types import is_float32, is_floating

from modgrok.base import stores
from modgrok.base.errors import InputError
from modgrok.base.files import claim_folder, read_json, whole_file, write_json
from modgrok.base.stores import DamagedError, kind, set_aside
from modgrok.censuses.plan import CensusPlan, plan_from
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
ANNOTATIONS = pa.schema(
    [
        ("verdict", pa.string()),
        ("verdict_family", pa.string()),
        ("redundancy", pa.float64()),
        ("permuted_redundancy", pa.float64()),
        ("orbit_redundancy", pa.float64()),
        ("effective_rank", pa.float64()),
        ("unfolding_norm", pa.float64()),
        ("shifts", pa.int64()),
        ("scalings", pa.int64()),
        ("characters", pa.float64()),
        ("entropy", pa.float64()),
    ]
)
WHOLE, PLAN = "census.parquet", "plan.json"
LEVEL = 9
"""Of the compression: a third of a second for a hundred thousand rows."""
FILLED = tuple(name for name in SETTINGS.names if name != "expression")
"""What every row has; metrics may be null, where a training diverged, and random tables have no expression."""
AGAIN = "run the census again, which sets it aside and trains what it held"


def claim(plan: CensusPlan, folder: Path) -> None:
    """Make `folder` the folder of this plan, or refuse where it holds something else."""
    other = "plan's census"
    hint = "choose another folder: out= (--out)"
    claim_folder(folder, PLAN, lambda: "" if load_stored_plan(folder) == plan else other, hint=hint)
    if not (folder / PLAN).exists():
        write_json(folder / PLAN, plan.to_json())


def load_stored_plan(folder: Path) -> CensusPlan:
    """The plan that a census follows."""
    path = folder / PLAN
    if not path.exists():
        raise InputError(f"{folder} is not a census: it has no plan.json; make one with modgrok census PLAN --out DIR")
    try:
        return plan_from(read_json(path))
    except InputError as error:
        raise DamagedError(f"{path} is not the plan of a census ({error}); write it anew from the TOML file") from None


def write_rows(path: Path, rows: pa.Table) -> None:
    """Write rows as a Parquet file, each column in the encoding that suits it, without any loss.

    Settings and words repeat, so they have dictionaries. Metrics, of single precision, hardly do: their bytes are
    split, the first of all numbers before the second, which are alike and compress. What is known of a table is the
    same for many rows in a row, and compresses as it is. Numbers of networks are stored as differences.
    """
    types = {field.name: field.type for field in rows.schema}
    repeated = [name for name in types if name in SETTINGS.names or not is_floating(types[name])]
    split = [name for name in types if name not in repeated and is_float32(types[name])]
    counted = [name for name in types if name == "network"]
    with whole_file(path) as temporary:
        pq.write_table(
            rows,
            temporary,
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=[name for name in repeated if name not in counted],
            column_encoding=dict.fromkeys(split, "BYTE_STREAM_SPLIT") | dict.fromkeys(counted, "DELTA_BINARY_PACKED"),
            write_page_checksum=True,
        )


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
    plan = load_stored_plan(folder)
    tables = [read_file(path, plan) for path in files(folder)]
    if not tables:
        return ROWS.empty_table()
    rows = pa.concat_tables(tables, promote_options="default")
    keys = np.stack([rows["network"].to_numpy(), rows["steps"].to_numpy()])
    _, first = np.unique(keys, axis=1, return_index=True)
    return rows.take(first)


def set_damaged_aside(plan: CensusPlan, folder: Path) -> None:
    """Take every file of the census that is damaged out of the way: what it held is trained again."""
    for path in files(folder):
        try:
            read_file(path, plan)
        except DamagedError as error:
            set_aside(path, error)


def read_annotated(folder: Path) -> pa.Table:
    """Every row of a census that has been annotated."""
    rows = read_rows(folder)
    if any(name not in rows.column_names or rows[name].null_count for name in ("verdict", "entropy")):
        raise InputError(f"rows of {folder} are not annotated yet; run: modgrok census annotate {folder}")
    return rows


def read_file(path: Path, plan: CensusPlan) -> pa.Table:
    """The rows in a file: whole ones, of networks of the plan, and for each network all the steps that are measured."""
    rows = stores.read_rows(path, ROWS, AGAIN, filled=FILLED)
    for field in ANNOTATIONS:
        if field.name in rows.column_names and kind(rows[field.name].type) != kind(field.type):
            raise DamagedError(f"{path}: its column {field.name} is {rows[field.name].type}, not {field.type}; {AGAIN}")
    networks, steps = rows["network"].to_numpy(), rows["steps"].to_numpy()
    planned = plan.size()
    if len(networks) and not (networks.min() >= 0 and networks.max() < planned):
        raise DamagedError(f"{path} has networks beyond the {planned} of the plan; {AGAIN}")
    if not np.isin(steps, plan.steps).all():
        raise DamagedError(f"{path} has steps that the plan does not measure; {AGAIN}")
    measured = np.unique(np.stack([networks, steps]), axis=1)
    if measured.shape[1] < len(networks):
        raise DamagedError(f"{path} has rows twice; {AGAIN}")
    numbers, counts = np.unique(measured[0], return_counts=True)
    if (short := counts < len(plan.steps)).any():
        missing = f"{int(short.sum())} networks lack measured steps, network {numbers[short][0]} for one"
        raise DamagedError(f"{path}: {missing}; {AGAIN}")
    return rows


def finished_networks(folder: Path) -> set[int]:
    return set(read_rows(folder)["network"].to_pylist())
