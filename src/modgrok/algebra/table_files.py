"""Tables of values in files, and one line that names the place for whatever is wrong with them.

A **wide** file is a matrix: row n1, column n2, a whole number from 0 on in each cell. A **long** file has a line for
each cell: a column for each variable, and a last one for the value; that does for any number of variables. It is
known by its names (a column is called `value`, or those before the last x, y or n1, n2), or by its lines: every column
but the last counts 0 … n - 1 or 1 … n, and hardly a place has two values (`has_coordinates`). `TableFile.form` says
how a file was read. A line may stand twice; a place with two values is refused.

    .csv      either form; commas, semicolons, tabs or spaces. Labels are no data: a first line of words, a first column
              of words or below an empty corner (the index of pandas), and 0, 1, 2, … along both edges (spreadsheets)
    .npy      an array with an axis for each variable, as `numpy.save` writes it
    .parquet  either form

A cell is unknown where it is empty, NaN, null, "?" or -1, and where a long file has no line for it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int, Shaped

from modgrok.algebra.cells import UNKNOWN, is_number, whole_cell, whole_numbers
from modgrok.algebra.polynomial import LARGEST_TABLE
from modgrok.base.errors import InputError
from modgrok.base.files import read_bytes

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".csv", ".npy", ".parquet")
SUFFIXES_TEXT = ".csv, .npy or .parquet"
MOST_NUMBERS = 3 * LARGEST_TABLE
"""Numbers in the largest file that is read: a line n1, n2, value for each cell of the largest table."""
LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Where `str.splitlines` splits."""
VALUE = "value"
"""The last column of a long file; under this name it may stand elsewhere."""
COORDINATES = (("x", "y", "z"), ("i", "j", "k"), ("row", "column"), ("row", "col"), tuple(f"n{k}" for k in range(1, 9)))
"""What the columns before the last one may be called, so that they are coordinates whatever they hold."""
ENOUGH_LINES, MOST_CLASHES = 16, 0.05
"""Lines under other names that are known by what they hold, and the share of them whose place has another value."""


@dataclass(frozen=True)
class TableFile:
    """A table that was read; `variables` are the names that the file gives its axes, if it gives any, and `form` says
    what the file was taken for."""

    path: Path
    table: Int[np.ndarray, "..."]
    variables: tuple[str, ...] = ()
    form: str = "a matrix"


def read_table(path: str | Path) -> TableFile:
    """The table in a file; an `InputError` that names the file, and the place in it, where it holds none."""
    path = Path(path)
    readers = {".csv": read_csv, ".npy": read_npy, ".parquet": read_parquet}
    if path.suffix.lower() not in readers:
        raise InputError(
            f"{path}: a table is a {SUFFIXES_TEXT} file, got {repr(path.suffix) if path.suffix else 'no ending'}"
        )
    return readers[path.suffix.lower()](path, read_bytes(path))


def check_numbers(path: Path, numbers: int, most: int = MOST_NUMBERS) -> None:
    """Refuse a file of too many numbers before any of them is read: few bytes may stand for many."""
    if numbers > most:
        raise InputError(f"{path} holds {numbers:,} numbers, above the limit of {most:,}; give a table of fewer cells")


# ------------------------------------------------------------------------------------------ long files


def long_table(
    path: Path, names: Sequence[str], columns: Int[np.ndarray, "line column"], line: Callable[[int], str]
) -> TableFile:
    """The table whose cells are lines: a number for each variable, then the value."""
    places, values = columns[:, :-1], columns[:, -1]
    if not len(columns):
        raise InputError(f"{path} has no lines; each cell needs one: {', '.join(names)}")
    if (places < 0).any():
        first, axis = (int(k) for k in np.argwhere(places < 0)[0])
        raise InputError(f"{path}, {line(first)}: {names[axis]} is missing; only a value may be unknown")
    told = [f"a line for each cell: {', '.join(names)}"]
    if all(first_of_count(column) == 1 for column in places.T):
        ones, places = list(names[:-1]), places - 1
        known = values[values >= 0]
        if known.size and known.min() > 0 and known.max() == places.max() + 1:
            ones, values = list(names), np.where(values > 0, values - 1, values)
        told.append(f"{', '.join(ones)} count from 1 there, so 1 is 0 here")
    sizes = tuple(int(k) + 1 for k in places.max(axis=0))
    if prod(sizes) > LARGEST_TABLE:
        raise InputError(
            f"{path}: the largest {', '.join(names[:-1])} make {prod(sizes):,} cells, above {LARGEST_TABLE:,}"
        )
    cells = np.ravel_multi_index(tuple(places.T), sizes)
    earlier = first_lines(cells)
    if (clashes := np.flatnonzero(values != values[earlier])).size:
        again, first = int(clashes[0]), int(earlier[clashes[0]])
        place = ", ".join(f"{name} = {value}" for name, value in zip(names[:-1], columns[again], strict=False))
        here, there = ("?" if value < 0 else value for value in columns[[again, first], -1])
        raise InputError(
            f"{path}, {line(again)}: {place} has the value {here} here and {there} in {line(first)}; "
            "keep one of them (a matrix needs no names above it)"
        )
    if (repeated := np.flatnonzero(earlier != np.arange(len(cells)))).size:
        count = f"{repeated.size:,} lines repeat earlier ones: " if repeated.size > 1 else ""
        latter, former = line(int(repeated[0])), line(int(earlier[repeated[0]]))
        told.append(f"{count}{latter} repeats {former}{', …' if count else ''}")
    table = np.full(prod(sizes), UNKNOWN)
    table[cells] = values
    return TableFile(path, table.reshape(sizes), tuple(names[:-1]), "; ".join(told))


def first_of_count(column: Int[np.ndarray, "line"]) -> int | None:
    """0 or 1, where a column has every number from there to its largest one, and no other; None elsewhere."""
    found = np.unique(column)
    counted = found[0] in (0, 1) and found[-1] - found[0] == len(found) - 1
    return int(found[0]) if counted else None


def first_lines(cells: Int[np.ndarray, "line"]) -> Int[np.ndarray, "line"]:
    """For every line the first one with the same cell."""
    _, first, which = np.unique(cells, return_index=True, return_inverse=True)
    return np.asarray(first[which])


def is_long(names: Sequence[str]) -> bool:
    """Whether the names say that the columns are coordinates and a value."""
    plain = tuple(name.strip().lower() for name in names)
    told = len(plain) > 2 and any(plain[:-1] == usual[: len(plain) - 1] for usual in COORDINATES)
    return told or (len(plain) > 1 and plain[-1] == VALUE)


def has_coordinates(columns: Int[np.ndarray, "line column"], named: bool) -> bool:
    """Are these lines of coordinates, with a value at their end? So they are if a matrix would hardly look so: every
    column but the last counts, and there are half of the cells, or enough lines, hardly one of which contradicts
    another. Without names that is less likely, so half of the cells and enough lines must be there, or all in order."""
    places = columns[:, :-1]
    if columns.shape[1] < 3 or len(columns) < 4 or (places < 0).any():
        return False
    first = [first_of_count(column) for column in places.T]
    sizes = [int(size) for size in places.max(axis=0) + 1]
    if len(set(first)) > 1 or first[0] is None or prod(sizes) > LARGEST_TABLE:
        return False
    cells = np.ravel_multi_index(tuple(places.T), sizes)
    if not named and np.array_equal(cells, np.arange(prod(sizes))):
        return True
    earlier = first_lines(cells)
    clashes = np.count_nonzero(columns[:, -1] != columns[earlier, -1]) / len(columns)
    half = 2 * len(np.unique(cells)) >= prod(size - first[0] for size in sizes)
    enough = len(columns) >= ENOUGH_LINES
    return bool(clashes <= MOST_CLASHES) and ((half or enough) if named else (half and enough))


# ------------------------------------------------------------------------------------------ CSV


def read_csv(path: Path, content: bytes) -> TableFile:
    try:
        text = content.decode("utf-8-sig")
        text = text.removeprefix("#").replace("\r\r\n", "\n")  # names by numpy.savetxt; Windows
        last = text.rstrip().rsplit("\n", 1)[-1].strip()
        delimiter = next((mark for mark in ";\t, " if mark in last), ",")
        if len(text) >= MOST_NUMBERS:  # else there is no room for more
            check_numbers(path, sum(map(text.count, delimiter + LINE_ENDS)))
        lines = [line.strip(" ") for line in text.splitlines()]
        rows = list(csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text file in UTF-8 ({error.reason}, byte {error.start})") from None
    except csv.Error as error:
        raise InputError(f"{path} is not a CSV file: {error}") from None
    while rows and not any(cell.strip() for cell in rows[-1]) and len(rows[-1]) < 2:
        rows.pop()
    if not rows:
        raise InputError(f"{path} is empty; give a matrix of whole numbers, or lines n1,n2,value")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{path}, row {number}: {len(row)} columns, and row 1 has {len(rows[0])}; "
                "every row needs the same number, with empty cells for what is unknown"
            )
    return csv_table(path, np.array(rows, dtype=object))


def csv_table(path: Path, cells: Shaped[np.ndarray, "row column"]) -> TableFile:
    """The table without its labels."""
    top, left = edge_labels(cells)
    if not (body := cells[top:, left:]).size:
        raise InputError(f"{path} has labels and no values; give whole numbers below and beside them")
    names = [str(name).strip() for name in cells[0, left:]]
    numbers = whole_numbers(body, str(path), lambda cell: f"row {cell[0] + top + 1}, column {cell[1] + left + 1}")
    order = sorted(range(len(names)), key=lambda k: names[k].lower() == VALUE)
    told = [names[k] for k in order] if top else [*(f"n{k}" for k in range(1, len(names))), VALUE]
    bare = not left or not str(cells[0, 0]).strip()
    if (top and is_long(told)) or (bare and has_coordinates(numbers[:, order], bool(top))):
        return long_table(path, told, numbers[:, order], lambda k: f"row {k + top + 1}")
    form = "a matrix under a line of labels" if top else "a matrix"
    if not top and len(body) == body.shape[1] + 1 and counts(body[0]):
        form = "a matrix; its first line, 0, 1, 2, …, is one of its rows: delete it if these are labels"
    return TableFile(path, numbers, form=form)


def edge_labels(cells: Shaped[np.ndarray, "row column"]) -> tuple[int, int]:
    """How many rows and columns are labels, 0 or 1 each."""
    top_words, left_words = (all(is_word(cell) for cell in edge) for edge in (cells[0, 1:], cells[1:, 0]))
    corner = str(cells[0, 0]).strip()
    counted = counts(cells[0, 1:]) and counts(cells[1:, 0])
    if cells.shape[1] == 1:
        return int(is_word(corner)), 0
    if counted and (not corner or is_word(corner)):
        return 1, 1
    if top_words:
        return 1, int(left_words or not corner)
    return 0, int(left_words and len(cells) > 1 and is_word(corner))


def is_word(cell: object) -> bool:
    return whole_cell(cell) is None and not is_number(str(cell))


def counts(edge: Shaped[np.ndarray, "cell"]) -> bool:
    """Is it 0, 1, 2, …?"""
    return len(edge) > 1 and [str(cell).strip() for cell in edge] == [str(k) for k in range(len(edge))]


# ------------------------------------------------------------------------------------------ npy and Parquet


def read_npy(path: Path, content: bytes) -> TableFile:
    """Rows and columns are counted from 1, as in any other file; further axes as indices."""

    def place(cell: tuple[int, ...]) -> str:
        return f"row {cell[0] + 1}, column {cell[1] + 1}" if len(cell) == 2 else f"cell {cell}"

    return TableFile(path, whole_numbers(npy_array(path, content), str(path), place), form="an array")


def npy_array(path: Path, content: bytes, most: int = MOST_NUMBERS) -> Shaped[np.ndarray, "..."]:
    """The array in an .npy file, of `most` numbers at most."""
    try:
        check_header(path, content, most)
        array = np.load(BytesIO(content))  # which unpickles nothing
    except InputError:
        raise
    except (ValueError, EOFError, SyntaxError, TokenError, TypeError, OverflowError, MemoryError) as error:
        raise InputError(f"{path} is not an .npy file of numbers: {' '.join(str(error).split())}") from None
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        raise InputError(f"{path} holds no array with an axis for each variable; numpy.save writes one")
    return array


def check_header(path: Path, content: bytes, most: int) -> None:
    """NumPy makes room for the array that a header promises, however few numbers follow it."""
    header = BytesIO(content)
    if content.startswith(b"PK"):
        return  # an archive of arrays, which is no array
    if not content.startswith(np.lib.format.MAGIC_PREFIX):
        raise ValueError("it does not begin as numpy.save begins a file")
    version = np.lib.format.read_magic(header)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = reader(header)
    check_numbers(path, prod(shape), most)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not unpickled; save array.astype(int)")
    if (promised := prod(shape) * dtype.itemsize) > (found := len(content) - header.tell()):
        raise ValueError(f"its header promises {promised:,} bytes and {found:,} follow: it was cut short")


def read_parquet(path: Path, content: bytes) -> TableFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        words = check_footer(path, pq.ParquetFile(pa.BufferReader(content)))
        table = pq.read_table(pa.BufferReader(content), read_dictionary=words)
        table.validate(full=True)
        ordered = sorted(table.column_names, key=lambda name: name.strip().lower() == VALUE)
        names = [name for name in ordered if not name.startswith("__index_level_")]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a Parquet file: {str(error).splitlines()[0]}") from None
    if not names or not len(table):
        raise InputError(f"{path} has no rows or no columns; give a matrix, or columns n1, n2, value")
    numbers = np.stack([column_numbers(path, name, table.column(name)) for name in names], axis=1)
    named = not all(name.strip().isdigit() for name in names)
    if is_long(names) or (named and has_coordinates(numbers, named)):
        return long_table(path, names, numbers, lambda k: f"row {k + 1}")
    return TableFile(path, numbers)


def check_footer(path: Path, file: pa.parquet.ParquetFile) -> list[str]:
    """Refuse what is too large or no table of numbers by what the end of a file says; returns its columns of words."""
    from pyarrow import types

    footer, schema = file.metadata, file.schema_arrow
    check_numbers(path, footer.num_rows * len(schema))
    groups = [footer.row_group(k) for k in range(footer.num_row_groups)]
    columns = [group.column(k) for group in groups for k in range(group.num_columns)]
    check_numbers(path, sum(column.num_values for column in columns))
    check_numbers(path, sum(column.total_uncompressed_size for column in columns) // 8)
    for field in schema:
        if types.is_nested(field.type):
            raise InputError(
                f"{path}, column {field.name}: its cells are {field.type}, no whole numbers; give a column for each "
                "n2, or columns n1, n2, value"
            )
    return [field.name for field in schema if types.is_string(field.type) or types.is_large_string(field.type)]


def column_numbers(path: Path, name: str, column: pa.ChunkedArray) -> Int[np.ndarray, "row"]:
    return whole_numbers(cells_of(column), str(path), lambda cell: f"row {cell[0] + 1}, column {name}")


def cells_of(column: pa.ChunkedArray) -> Shaped[np.ndarray, "row"]:
    """The cells of a column as an array: numbers as they are, NaN where one is missing; of words, each one once."""
    from pyarrow import types

    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.to_numpy())
    if types.is_dictionary(column.type):
        column = column.unify_dictionaries().combine_chunks()
        words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
        return np.asarray(words[column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)])
    return np.array(column.to_pylist(), dtype=object)
