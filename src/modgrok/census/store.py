"""The store of a census: a folder of Parquet files that are read as one table.

    plan.json              the plan; a folder belongs to one
    chunk-00000120.parquet one finished chunk, named by its first network
    census.parquet         all rows so far with what is known of their tables (`modgrok.census.annotation`)

A row is one network at one measured step, with the key (network, steps). A row that stands both in a chunk and
in census.parquet counts once, as it stands in the latter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modgrok.census.plan import CensusPlan, plan_from
from modgrok.errors import InputError
from modgrok.files import read_json, whole_file, write_json
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
WHOLE = "census.parquet"


def claim_folder(plan: CensusPlan, folder: Path) -> None:
    """Make `folder` the folder of this plan, or refuse where it holds something else."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder with --out")
    if (folder / "plan.json").exists():
        if load_stored_plan(folder) != plan:
            raise InputError(f"{folder} holds the census of another plan; choose another folder with --out")
    elif folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty and not a census; choose another folder with --out")
    else:
        write_json(folder / "plan.json", plan.json())


def load_stored_plan(folder: Path) -> CensusPlan:
    """The plan that a census follows."""
    if not (folder / "plan.json").exists():
        raise InputError(f"{folder} is not a census: it has no plan.json; make one with modgrok census PLAN --out DIR")
    return plan_from(read_json(folder / "plan.json"))


def write_rows(path: Path, rows: pa.Table) -> None:
    with whole_file(path) as temporary:
        pq.write_table(rows, temporary, compression="zstd")


def write_chunk(folder: Path, rows: pa.Table) -> Path:
    path = folder / f"chunk-{rows['network'][0].as_py():08}.parquet"
    write_rows(path, rows)
    return path


def read_rows(folder: Path) -> pa.Table:
    """Every row of the census, by network and step; annotations are null where they are not known yet."""
    load_stored_plan(folder)
    whole = [folder / WHOLE] if (folder / WHOLE).exists() else []
    files = [read_file(path) for path in whole + sorted(folder.glob("chunk-*.parquet"))]
    if not files:
        return ROWS.empty_table()
    rows = pa.concat_tables(files, promote_options="default")
    keys = np.stack([rows["network"].to_numpy(), rows["steps"].to_numpy()])
    _, first = np.unique(keys, axis=1, return_index=True)
    return rows.take(first)


def read_file(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"cannot read {path}: {error}; remove it and run the census again") from None


def finished_networks(folder: Path) -> set[int]:
    return set(read_rows(folder)["network"].to_pylist())


def final_rows(rows: pa.Table) -> pa.Table:
    """The rows at the last measured step."""
    return rows.filter(np.asarray(rows["steps"]) == np.max(np.asarray(rows["steps"]), initial=0))


def query(folder: Path, sql: str) -> list[dict[str, Any]]:
    """The answer to an SQL query over the view `census`, by DuckDB."""
    try:
        import duckdb
    except ImportError:
        raise InputError("queries need DuckDB; install it with: pip install 'modgrok[census]'") from None
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.register("census", read_rows(folder))
        try:
            answer: pa.Table = connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            columns = ", ".join(read_rows(folder).column_names)
            cause = str(error).splitlines()[0]
            raise InputError(f"the query cannot be answered: {cause}; the table is census, with {columns}") from None
    return answer.to_pylist()
