"""The store of an experiment: rows in a folder of Parquet files that are read as one table, or in memory.

    part-000012.parquet    a part that was trained, whole or absent
    census.parquet         all rows, under a name of the experiment's own

A row that stands in both counts once, as it stands in the latter, which may have more columns. A column that a file
lacks, since a later version brought it, is null. A file that contradicts its plan or itself is damaged: who trains sets
it aside and trains what it held, who only reads is told.

Every file says where its rows come from, one entry for each sitting with the networks that it trained. A sweep or a
census that was begun by another version goes on, and tells of both. Whoever asks for rows of one making alone (a table
of the paper does) gives `made_by`: files that were made by anything else are set aside, and named.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.types import is_float32, is_float64, is_nested

from modgrok.base.files import whole_file
from modgrok.base.provenance import UNKNOWN, Made, Provenance, called
from modgrok.base.results import json_text
from modgrok.base.stores import DamagedError, made_of, other_making, read_rows, set_aside, signed
from modgrok.experiments.part import AnyPart, Part, TrainedPart

LEVEL = 9
"""Of the compression: a third of a second for a hundred thousand rows."""
LARGEST_DICTIONARY = 256
TYPES = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
"""Of columns."""


class RowStore(ABC):
    """Rows of `planned` networks, numbered from 0, by a key that begins with the column `network`."""

    schema: ClassVar[pa.Schema]
    filled: ClassVar[tuple[str, ...]]
    """Columns that every file must have, with a value in every row."""
    key: ClassVar[tuple[str, ...]] = ("network",)
    whole: ClassVar[str]
    part: ClassVar[str] = "part-{:06}.parquet"
    older: ClassVar[tuple[str, ...]] = ()
    """What parts were called in earlier versions."""
    again: ClassVar[str]
    """What to do about a damaged file."""

    def __init__(self, folder: Path | None, planned: int, made_by: Mapping[str, str] | None = None) -> None:
        self.folder, self.planned, self.made_by = folder, planned, made_by
        self.kept: list[pa.Table] = []

    def files(self) -> tuple[Path, ...]:
        """The files that hold rows; what counts first comes first."""
        if self.folder is None:
            return ()
        names = (self.whole, "part-*.parquet", *self.older)
        return tuple(path for name in names for path in sorted(self.folder.glob(name)))

    def part_file(self, part: Part) -> Path | None:
        return None if self.folder is None else self.folder / self.part.format(part.number)

    def has(self, part: Part) -> bool:
        """Is there a file of this part? Another process may have written it."""
        path = self.part_file(part)
        return path is not None and path.exists()

    # ------------------------------------------------------------------------------------- reading

    def rows(self) -> pa.Table:
        """Every row, by its key; a `DamagedError` where a file is damaged."""
        tables = [*(self.read_file(path) for path in self.files()), *self.kept]
        if not tables:
            return self.schema.empty_table()
        rows = pa.concat_tables(tables, promote_options="default")
        keys = np.stack([rows[name].to_numpy() for name in self.key])
        _, first = np.unique(keys, axis=1, return_index=True)
        return rows.take(first).combine_chunks()

    def read_file(self, path: Path) -> pa.Table:
        """The rows in a file: whole ones, of networks of the plan, none twice, and what else the experiment asks."""
        rows = read_rows(path, self.schema, self.again, filled=self.filled)
        if self.made_by is not None and (fault := other_making(rows, self.made_by)):
            raise DamagedError(f"{path} {fault}; {self.again}")
        networks = rows["network"].to_numpy()
        if len(networks) and not (networks.min() >= 0 and networks.max() < self.planned):
            raise DamagedError(f"{path} has networks beyond the {self.planned} of the plan; {self.again}")
        keys = np.stack([rows[name].to_numpy() for name in self.key])
        if np.unique(keys, axis=1).shape[1] < len(networks):
            raise DamagedError(f"{path} has rows twice; {self.again}")
        self.check(path, rows)
        return rows

    def made(self) -> Made:
        """Where the rows come from: every sitting with the networks that it trained, under its setting `networks`."""
        numbers: dict[str, set[int]] = {}
        entries: dict[str, Provenance] = {}
        counted: set[int] = set()
        for rows in (*(self.read_file(path) for path in self.files()), *self.kept):
            networks, made = set(rows["network"].to_pylist()), made_of(rows)
            for each in made:
                own = networks_in(each.settings.get("networks"), self.planned) & networks if len(made) > 1 else networks
                plain = replace(each, settings={})
                key = json_text(replace(plain, date=None, seconds=None), sort_keys=True)
                before = entries.get(key)
                seconds = [one.seconds for one in (before, plain) if one is not None and one.seconds is not None]
                entries[key] = replace(plain, seconds=round(sum(seconds), 3) if seconds else None)
                numbers.setdefault(key, set()).update(own - counted)
                counted |= own
        return tuple(
            replace(each, settings={"networks": ranges(numbers[key])} if each.is_known else {})
            for key, each in entries.items()
            if numbers[key]
        )

    @abstractmethod
    def check(self, path: Path, rows: pa.Table) -> None:
        """A `DamagedError` where the rows of a file are not those of the plan."""

    def finished(self) -> set[int]:
        """The networks whose rows are there; damaged files are set aside."""
        found: set[int] = set()
        for path in self.files():
            try:
                found.update(self.read_file(path)["network"].to_pylist())
            except DamagedError as error:
                set_aside(path, error)
        return found

    def unfinished(self, parts: Sequence[AnyPart]) -> list[AnyPart]:
        """The parts that have networks to train; a file that has a part's name but not its networks is set aside."""
        while True:
            finished = self.finished()
            todo = [part for part in parts if not finished.issuperset(part.networks)]
            wrong = [path for part in todo if (path := self.part_file(part)) is not None and path.exists()]
            if not wrong:
                return todo
            for path in wrong:
                set_aside(path, "it lacks networks of its part")

    # ------------------------------------------------------------------------------------- writing

    def keep(self, part: Part, trained: TrainedPart) -> None:
        """The rows of a part that has just been trained."""
        path = self.part_file(part)
        made = tuple(
            replace(each, command=called()) for each in trained.made
        )  # a worker elsewhere was called otherwise
        if path is None:
            self.kept.append(signed(trained.rows, made))
        else:
            write_rows(path, trained.rows, made, self.made_by)

    def gather(self, rows: pa.Table | None = None) -> None:
        """Write all rows to one file: the one to keep or to send."""
        if self.folder is not None:
            write_rows(self.folder / self.whole, self.rows() if rows is None else rows, self.made(), self.made_by)


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers as text.

    >>> ranges({0, 1, 2, 5, 7, 8})
    '0-2 5 7-8'
    """
    found = [[k for _, k in run] for _, run in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0])]
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in found)


def networks_in(text: object, planned: int) -> set[int]:
    """The whole numbers that `ranges` wrote; none where it is something else, or says more than the plan has."""
    found: set[int] = set()
    for word in text.split() if isinstance(text, str) else ():
        first, _, last = word.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal() and int((last or first)[:10]) < planned):
            return set()
        found.update(range(int(first), int(last or first) + 1))
    return found


def write_rows(path: Path, rows: pa.Table, made: Made = (UNKNOWN,), made_by: Mapping[str, str] | None = None) -> None:
    """Rows as a Parquet file, each column in the encoding that suits it, without any loss.

    Settings and words repeat, so they have dictionaries. Metrics, of single precision, hardly do: their bytes are
    split, the first of all numbers before the second, which are alike and compress. Other numbers of many values are
    the same for many rows in a row, and compress as they are. Numbers of networks are stored as differences.
    """
    split = [field.name for field in rows.schema if is_float32(field.type)]
    counted = [name for name in rows.column_names if name == "network"]
    plain = [name for name in rows.column_names if is_nested(rows[name].type) or is_varied(rows[name])]
    others = [name for name in rows.column_names if name not in (*split, *counted, *plain)]
    with whole_file(path) as temporary:
        pq.write_table(
            signed(rows, made, made_by),
            temporary,
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=others,
            column_encoding=dict.fromkeys(split, "BYTE_STREAM_SPLIT") | dict.fromkeys(counted, "DELTA_BINARY_PACKED"),
            write_page_checksum=True,
        )


def is_varied(column: pa.ChunkedArray) -> bool:
    """Are there too many numbers in a column for a dictionary?"""
    return bool(is_float64(column.type) and pc.count_distinct(column).as_py() > LARGEST_DICTIONARY)
