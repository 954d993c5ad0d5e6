"""Questions to a census in SQL, answered by DuckDB over one table that cannot read any other file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from modgrok.base.errors import InputError, optional
from modgrok.base.results import Result, plain
from modgrok.censuses.store import read_rows


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
    started, folder = time.perf_counter(), Path(folder)
    names, rows = answered(sql, {"census": read_rows(folder)})
    return QueryResult(folder, names, rows, time.perf_counter() - started)


def answered(sql: str, tables: Mapping[str, pa.Table]) -> tuple[tuple[str, ...], tuple[dict[str, Any], ...]]:
    """Names and rows of the answer to a query about tables in memory, which sees no file."""
    duckdb = optional("duckdb", "a query", "census")
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        for name, table in tables.items():
            connection.register(name, table)
        try:
            answer = connection.sql(sql)
            if answer is None:
                raise InputError(
                    f"the query {sql!r} asks for nothing; give a SELECT over the table {' or '.join(tables)}"
                )
            names, values = unique(answer.columns), answer.fetchall()
        except duckdb.Error as error:
            known = "; ".join(
                f"the table is {name}, with {', '.join(table.column_names)}" for name, table in tables.items()
            )
            raise InputError(f"the query cannot be answered: {str(error).splitlines()[0]}; {known}") from None
    return tuple(names), tuple(dict(zip(names, map(plain, row), strict=True)) for row in values)


def unique(names: list[str]) -> list[str]:
    """Names that differ: a column that has the name of an earlier one is numbered, since a row is an object.

    >>> unique(["a", "b", "a", "a"])
    ['a', 'b', 'a_1', 'a_2']
    """
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{k}" for k in range(1, len(names) + 1))
        found.append(name if name not in found else next(other for other in numbered if other not in found + names))
    return found
