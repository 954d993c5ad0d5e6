"""Files that are either whole or absent: written under a temporary name, then renamed; and read up to a limit."""

from __future__ import annotations

import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from modgrok.base.errors import InputError
from modgrok.base.results import json_text

if TYPE_CHECKING:
    import pyarrow as pa

WINDOWS = os.name == "nt"
"""There a file that is open can be neither removed nor replaced."""
UNFINISHED, SECONDS_KEPT = ".unfinished-", 60.0
"""Part of the name of a file that is being written, and how long such a file of a killed process is left alone."""
LARGEST_FILE = 1 << 28
"""Bytes of the largest file that is read as a whole, where a reader has no limit of its own."""
ATTEMPTS = 500
"""How often a name is asked for that somebody reads, 10 ms apart."""
HELD: dict[Path, int] = {}
"""The marks of folders that this process writes to (`modgrok.base.locks`), and the open files that they are."""
PIECE = 1 << 24
"""Bytes that are read at once: Python makes room for all that it is asked to read."""


def remove_unfinished(folder: Path) -> None:
    """Remove what processes that were killed left of files they were writing to a folder."""
    for path in folder.glob(f".*{UNFINISHED}*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > SECONDS_KEPT:
                path.unlink()


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the name `path` only if the block ends well.

    A link stays one, and the file behind it is replaced. A device or a pipe is refused: it would be replaced as well.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"cannot write {path}: it is {kind_of(os.stat(path).st_mode)}; give the name of a file")
    if "\0" in os.fspath(path):
        raise InputError(f"cannot write {os.fspath(path)!r}: no name of a file has a zero byte")
    target = Path(os.path.realpath(path))
    check_held(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}{UNFINISHED}", suffix=target.suffix)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; give a folder that can be written to") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        take_name(temporary, target)
    except OSError as error:
        raise InputError(f"cannot write {path}: {reason(error)}; nothing of it was written") from error
    finally:
        temporary.unlink(missing_ok=True)


def take_name(temporary: Path, target: Path) -> None:
    """The file takes the name, though another has it; Windows refuses that as long as somebody reads the other."""
    for attempt in range(ATTEMPTS):
        try:
            return os.replace(temporary, target)
        except PermissionError:
            if not WINDOWS or attempt == ATTEMPTS - 1:
                raise
            time.sleep(0.01)


def check_held(target: Path) -> None:
    """An `InputError` where the folder of `target` was this process's and is not there any more: none is made anew."""
    for mark, handle in tuple(HELD.items()):
        if target.is_relative_to(mark.parent) and not is_open_file(mark, handle):
            raise InputError(
                f"{mark.parent} has vanished: it was removed or emptied while it was being written, and what was "
                "in it is lost; start again"
            )


def is_open_file(path: Path, handle: int) -> bool:
    """Does the name still stand for the file that is open?"""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def reason(error: OSError) -> str:
    """Why the system refused: no space left on the device, say."""
    return error.strerror or " ".join(str(error).split())


def write_text(path: str | Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: object) -> None:
    write_text(path, json_text(value, indent=2) + "\n")


def write_parquet(path: str | Path, columns: Mapping[str, Any], schema: pa.Schema | None = None) -> None:
    """Columns as a Parquet file, of the types of a schema if it is given; NaN becomes null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {} if schema is None else {field.name: field.type for field in schema}
    arrays = {name: pa.array(np.asarray(column), kinds.get(name), from_pandas=True) for name, column in columns.items()}
    with whole_file(path) as temporary:
        pq.write_table(pa.table(arrays), temporary, write_page_checksum=True)


def claim_folder(folder: Path, name: str, same: Callable[[], str], *, hint: str) -> None:
    """Make sure that `folder` is free, or belongs to the experiment that its file `name` describes.

    `same` is called where that file exists and says in words what differs, empty if nothing does; `hint` tells what
    to do about another experiment. Nothing is written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder: out= (--out)")
    if (folder / name).exists():
        if difference := same():
            raise InputError(f"{folder} holds another {difference}; {hint}")
    elif folder.exists() and any(not path.name.startswith((".", "running")) for path in folder.iterdir()):
        raise InputError(f"{folder} is not empty and has no {name}; choose another folder: out= (--out)")


def kind_of(mode: int) -> str:
    """What a name stands for that is no file, by its mode."""
    return "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"


@contextmanager
def regular_file(path: str | Path) -> Iterator[BinaryIO]:
    """A file that is open for reading; an `InputError` where it is a device or a pipe, which may have no end."""
    if "\0" in os.fspath(path):
        raise InputError(f"cannot read {os.fspath(path)!r}: no name of a file has a zero byte")
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))  # waits for no pipe
    try:
        if not stat.S_ISREG(mode := os.fstat(handle).st_mode):
            raise InputError(f"cannot read {path}: it is {kind_of(mode)}; give the name of a file")
        with open(handle, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(handle)


def read_bytes(path: str | Path, largest: int = LARGEST_FILE) -> bytes:
    """All that a file holds; an `InputError` where that is more than the limit, whatever size the system tells, and
    where the system refuses."""
    pieces, room = [], largest
    try:
        with regular_file(path) as file:
            while room >= 0 and (piece := file.read(min(PIECE, room + 1))):
                pieces.append(piece)
                room -= len(piece)
    except OSError as error:
        raise InputError(f"cannot read {path}: {reason(error)}; give a file that exists") from error
    if room < 0:
        raise InputError(f"{path} has more than {largest:,} bytes, the limit for such a file; give a smaller one")
    return b"".join(pieces)


def read_json(path: str | Path) -> Any:
    """The value in a JSON file; an `InputError` if there is none."""
    content = read_bytes(path)
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a JSON file, or was cut short: {error}") from error
