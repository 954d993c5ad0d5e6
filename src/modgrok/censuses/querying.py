"""Questions to a census in SQL, answered by DuckDB over one table that cannot read any other file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from modgrok.censuses.store import read_rows
from modgrok.errors import InputError
from modgrok.results import Result


@dataclass(frozen=True, repr=False)
class QueryResult(Result):
    """The answer to a query: its rows, as objects of JSON."""

    folder: Path
    column_names: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    seconds: float

    def summary(self) -> str:
        return f"{len(self.rows):,} rows of {', '.join(self.column_names)}"


def query(folder: str | Path, sql: str) -> QueryResult:
    """Ask a census in SQL; its rows are the table `census`.

    Arguments:
        folder: the folder of the census.
        sql: the query, such as "SELECT family, avg(test_accuracy) FROM census GROUP BY family".

    Returns:
        A `QueryResult` with the `rows` of the answer.
    """
    try:
        import duckdb
    except ImportError:
        raise InputError("queries need DuckDB; install it with: pip install 'modgrok[census]'") from None
    started, folder = time.perf_counter(), Path(folder)
    census = read_rows(folder)
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.register("census", census)
        try:
            answer: pa.Table = connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            columns, cause = ", ".join(census.column_names), str(error).splitlines()[0]
            raise InputError(f"the query cannot be answered: {cause}; the table is census, with {columns}") from None
    rows = tuple({name: json_value(value) for name, value in row.items()} for row in answer.to_pylist())
    return QueryResult(folder, tuple(answer.column_names), rows, time.perf_counter() - started)


def json_value(value: Any) -> Any:
    """A value of DuckDB as JSON holds it; its sums of whole numbers are Decimals."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(name): json_value(item) for name, item in value.items()}
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)
