"""Reading what was stored: every file is checked against what it must hold, and a damaged one is named.

A store is a folder of files that are written whole (`base.files`): a run, a sweep, a census, a report. Disks, copies
and people damage files all the same. So whoever reads one says what it must hold, and gets exactly that or a
`DamagedError`: which file, what is wrong with it, what to do. Whoever can make the file again sets the damaged one
aside (`set_aside`) and does; nothing damaged is ever counted.

A file says which version wrote it, and in which format (`written_by`). What later versions added, an earlier one's file
does not have: such a column is null, such a setting what it was before it could be set. Only what contradicts itself is
damage, and a file of a later format is refused, never set aside.

Checksums are where they cost nothing: Parquet has one for each page, and tensors have a CRC each in the JSON object of
their file, under the key `checksums`, with one of that object itself. Files of earlier versions have none.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from modgrok import __version__
from modgrok.base.errors import InputError
from modgrok.base.files import read_bytes, read_json, regular_file, whole_file, write_json
from modgrok.base.memory import machine_memory, size_text
from modgrok.base.provenance import KEY, UNKNOWN, Made, read_made
from modgrok.base.results import json_text

if TYPE_CHECKING:
    import pyarrow as pa

ABOUT, CHECKSUMS, WRITTEN_BY, FINGERPRINT = "modgrok", "checksums", "written_by", "fingerprint"
COLUMNS = "columns"
FORMAT = 2
"""Of what is stored. Files up to 0.2.0 do not say which they are of: those are of format 1."""
LOG = logging.getLogger("modgrok")
LARGEST_COUNT, LARGEST_NUMBER = 2**31, sys.float_info.max
KINDS = {str: "text", bool: "true or false", list: "a list"}
Kinds: TypeAlias = Mapping[str, type | tuple[type, ...]]
"""What the keys of a JSON object hold."""
Kind = TypeVar("Kind", str, bool, list[Any])
MISFITS = (ValueError, KeyError, TypeError, AttributeError, RecursionError, ArithmeticError)
"""What is raised where a file holds other things than its reader takes for granted."""


class DamagedError(InputError):
    """A stored file is not what it must be; the message says which, what is wrong with it and what to do."""


def set_aside(path: Path, why: object) -> Path:
    """Take a damaged file out of the way, under a new name beside it, and say so; returns the new name."""
    names = (f"{path.name}.damaged{number or ''}" for number in count())
    target = next(place for name in names if not (place := path.with_name(name)).exists())
    with suppress(FileNotFoundError):  # another process did it
        path.replace(target)
    LOG.warning("%s is damaged and was set aside as %s; what it held is made again (%s)", path, target.name, why)
    return target


def written_by() -> dict[str, Any]:
    """The version and the format that a file says it is of."""
    return {"modgrok": __version__, "format": FORMAT}


def check_format(path: Path, said: object) -> None:
    """An `InputError` where a file says that it is of a later format: it may hold what looks like damage."""
    if isinstance(said, dict) and isinstance(found := said.get("format"), int) and found > FORMAT:
        raise InputError(
            f"{path} was written by modgrok {said.get(ABOUT)}, in format {found}, and modgrok {__version__} reads "
            f"up to {FORMAT}; take that version or a later one"
        )


# --------------------------------------------------------------------------------------------- JSON


def write_object(path: Path, found: Mapping[str, object]) -> None:
    """An object as a JSON file that says who wrote it."""
    write_json(path, {**found, WRITTEN_BY: written_by()})


def read_object(path: Path, kinds: Kinds, remedy: str) -> dict[str, Any]:
    """The object in a JSON file, with these keys, each of one of these types; it may have others.

    What it says of who wrote it is checked and left out.
    """
    try:
        found = read_json(path)
    except InputError as error:
        raise DamagedError(f"{error}; {remedy}") from None
    if not isinstance(found, dict):
        raise DamagedError(f"{path} must hold an object, got {type(found).__name__}; {remedy}")
    check_format(path, found.pop(WRITTEN_BY, None))
    for name, kind in kinds.items():
        if name not in found:
            raise DamagedError(f"{path} has no key {name!r}; {remedy}")
        if not isinstance(found[name], kind) or (isinstance(found[name], bool) and kind is not bool):
            raise DamagedError(f"{path}: {name!r} is of another type ({found[name]!r:.40}); {remedy}")
    return found


def whole_number(found: object, what: str, least: int = 0) -> int:
    """A whole number of a JSON object, neither 1.0 nor true nor larger than what is counted; `what` names it."""
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found < LARGEST_COUNT:
        raise InputError(f"{what} must be a whole number from {least} to 2^31 - 1, got {found!r:.40}")
    return found


def whole_list(found: object, what: str, least: int = 0) -> tuple[int, ...]:
    """A list of whole numbers, as the tuple that it was."""
    return tuple(whole_number(each, f"each of {what}", least) for each in of_kind(found, what, list))


def finite_number(found: object, what: str) -> float:
    """A number of a JSON object, neither true nor 1e999."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) <= LARGEST_NUMBER:
        raise InputError(f"{what} must be a finite number, got {found!r:.40}")
    return found


def of_kind(found: object, what: str, kind: type[Kind]) -> Kind:
    if not isinstance(found, kind):
        raise InputError(f"{what} must be {KINDS[kind]}, got {found!r:.40}")
    return found


# --------------------------------------------------------------------------------------------- Parquet


def read_rows(path: Path, schema: pa.Schema, remedy: str, *, filled: Sequence[str] = ()) -> pa.Table:
    """The table in a Parquet file, with the columns of a schema in its types; it may have others.

    Columns of the same kind but another width (int32 for int64) are taken as those of the schema. A column that the
    file does not have is null, but for the `filled` ones, which have a value in every row.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # One look at the file: opened twice, it may have been replaced between its schema and its pages.
        content = pa.BufferReader(read_bytes(path, machine_memory()))
        check_values(pq.ParquetFile(content, page_checksum_verification=True))
        table = pq.read_table(content, page_checksum_verification=True)
        table.validate(full=True)
        names = table.column_names
    except (OSError, pa.ArrowException, ValueError, TypeError, KeyError) as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise DamagedError(f"{path} is missing; {remedy}") from None
        raise DamagedError(f"{path} cannot be read ({' '.join(str(error).split()):.200}); {remedy}") from None
    if len(set(names)) < len(names):
        raise DamagedError(f"{path} has two columns of one name; {remedy}")
    check_format(path, signature_of(table))
    if signature_of(table, COLUMNS) not in (None, names):
        raise DamagedError(f"{path} has other columns than were written; {remedy}")
    for field in schema:
        if field.name not in names:
            if field.name in filled:
                raise DamagedError(f"{path} has no column {field.name}; {remedy}")
            table = table.append_column(field, pa.nulls(len(table), field.type))
        place, column = table.schema.get_field_index(field.name), table.column(field.name)
        if kind(column.type) != kind(field.type):
            raise DamagedError(f"{path}: its column {field.name} is {column.type}, not {field.type}; {remedy}")
        if field.name in filled and column.null_count:
            raise DamagedError(f"{path}: its column {field.name} lacks {column.null_count} values; {remedy}")
        if column.type != field.type:
            table = table.set_column(place, field, column.cast(field.type, safe=False))
    return table


def signed(table: pa.Table, made: Made = (), made_by: Mapping[str, str] | None = None) -> pa.Table:
    """The table with what its Parquet file says: who wrote it, where its rows come from, what they were made by."""
    said: dict[str, Any] = {WRITTEN_BY: written_by(), COLUMNS: table.column_names, KEY: made}
    known = table.replace_schema_metadata({name: json_text(value) for name, value in said.items() if value})
    if made_by is None:
        return known
    fingerprint = json_text({**made_by, "rows": rows_digest(known)})
    return known.replace_schema_metadata({**known.schema.metadata, FINGERPRINT: fingerprint})


def rows_digest(table: pa.Table) -> str:
    """Of every value in a table, and of where it says that its rows come from: a fingerprint is of these rows alone."""
    return hashlib.sha256(f"{table.to_pydict()!r} {signature_of(table, KEY)!r}".encode()).hexdigest()


def other_making(table: pa.Table, made_by: Mapping[str, str]) -> str:
    """What keeps the rows of a table from counting, where only this making does; empty if nothing does."""
    asked, found = {**made_by, "rows": rows_digest(table)}, signature_of(table, FINGERPRINT)
    known = found if isinstance(found, dict) else {}
    others = [name for name in {**asked, **known} if known.get(name) != asked.get(name)]
    if others == ["rows"]:
        return "has other rows than were computed"
    return f"was made by another {', '.join(others)}" if others else ""


def signature_of(table: pa.Table, name: str = WRITTEN_BY) -> Any:
    """What a table says of who wrote it, or else of itself; None where it says nothing that can be read."""
    with suppress(ValueError, RecursionError):
        return json.loads((table.schema.metadata or {}).get(name.encode(), b"null"))
    return None


def made_of(table: pa.Table) -> Made:
    """Where the rows of a table come from."""
    with suppress(InputError):
        return read_made(signature_of(table, KEY))
    return (UNKNOWN,)


def check_values(file: pa.parquet.ParquetFile) -> None:
    """Few bytes may stand for many values, which a file says at its end: refuse more than the memory has room for.

    Where what it says of a column is damaged, asking for it ends the process; reading a row is an error that is told.
    """
    footer = file.metadata
    groups = []
    for k in range(footer.num_row_groups):
        next(file.iter_batches(batch_size=1, row_groups=[k]), None)
        groups.append(footer.row_group(k))
    values = sum(group.column(k).num_values for group in groups for k in range(group.num_columns))
    if 8 * values > machine_memory():
        raise ValueError(f"its {values:,} values take {size_text(8 * values)} of memory, more than there is")


def kind(found: pa.DataType) -> str:
    """What a type is, whatever its width."""
    import pyarrow.types as are

    if are.is_list(found) or are.is_large_list(found):
        return f"list of {kind(found.value_type)}"
    kinds: dict[str, Callable[..., bool]] = {
        "whole numbers": are.is_integer,
        "numbers": are.is_floating,
        "text": lambda t: are.is_string(t) or are.is_large_string(t),
        "yes or no": are.is_boolean,
    }
    return next((name for name, fits in kinds.items() if fits(found)), str(found))


def read_columns(path: Path, schema: pa.Schema, remedy: str, *, filled: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """The columns of a Parquet file as arrays, one row at least; what is missing in a column is NaN."""
    table = read_rows(path, schema, remedy, filled=filled)
    if not len(table):
        raise DamagedError(f"{path} has no rows; {remedy}")
    return {name: table.column(name).to_numpy() for name in table.column_names}


# --------------------------------------------------------------------------------------------- tensors


def write_tensors(path: str | Path, about: Mapping[str, object], tensors: Mapping[str, np.ndarray]) -> None:
    """A safetensors file, whole or not at all; `about` is its JSON object."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    laid_out = {name: in_file_order(tensor) for name, tensor in tensors.items()}
    about = {**about, WRITTEN_BY: written_by()}
    sums = {ABOUT: checksum(json_text(about).encode())} | {name: checksum(of_tensor(t)) for name, t in laid_out.items()}
    with whole_file(path) as temporary:
        try:
            save_file(laid_out, temporary, metadata={ABOUT: json_text({**about, CHECKSUMS: sums})})
        except SafetensorError as error:  # the disk is full
            raise OSError(None, str(error)) from None


def in_file_order(tensor: np.ndarray) -> np.ndarray:
    """The same numbers as a safetensors file has them: row by row, whatever lies between them, lowest byte first."""
    return np.asarray(tensor, dtype=tensor.dtype.newbyteorder("<"), order="C")


class StoredTensors:
    """An open safetensors file: its JSON object, its names, and its tensors by name, each checked as it is read."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path, self.file, self.names = path, file, frozenset(file.keys())
        about = json.loads((file.metadata() or {})[ABOUT])
        self.sums = about.pop(CHECKSUMS, {})
        self.about: dict[str, Any] = about
        self.check(ABOUT, json_text(about).encode())
        check_format(path, about.pop(WRITTEN_BY, None))

    def __call__(self, name: str) -> np.ndarray:
        if name not in self.names:
            raise ValueError(f"it has no tensor {name}")
        tensor: np.ndarray = self.file.get_tensor(name)
        self.check(name, of_tensor(tensor))
        return tensor

    def check(self, name: str, content: bytes | memoryview) -> None:
        if self.sums and self.sums.get(name) != checksum(content):
            raise DamagedError(f"{self.path} was damaged, or changed after it was written: {name} has another checksum")


@contextmanager
def open_tensors(path: Path, what: str) -> Iterator[StoredTensors]:
    """The tensors in a file that is `what`; a `DamagedError`, without remedy, where it does not hold what is asked."""
    from safetensors import SafetensorError, safe_open

    try:
        with regular_file(path), safe_open(path, framework="numpy") as file:
            yield StoredTensors(path, file)
    except FileNotFoundError:
        raise
    except (OSError, SafetensorError, *MISFITS) as error:
        if isinstance(error, InputError):
            raise
        raise DamagedError(f"{path} is not {what}, or was cut short ({type(error).__name__}: {error})") from None


def of_tensor(tensor: np.ndarray) -> memoryview:
    return np.ascontiguousarray(tensor).reshape(-1).view(np.uint8).data


def checksum(content: bytes | memoryview) -> int:
    return zlib.crc32(content)
