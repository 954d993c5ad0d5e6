"""Files that are either whole or absent: written under a temporary name, then renamed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.errors import InputError


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the name `path` only if the block ends well."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; give the name of a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
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
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def write_parquet(path: str | Path, columns: Mapping[str, Any]) -> None:
    """Columns as a Parquet file; NaN becomes null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {name: pa.array(np.asarray(values), from_pandas=True) for name, values in columns.items()}
    with whole_file(path) as temporary:
        pq.write_table(pa.table(arrays), temporary)


def read_columns(path: str | Path, made_by: str) -> dict[str, np.ndarray]:
    """The columns of a Parquet file; what is missing in a column is NaN. `made_by` is the command that writes it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # One look at the file: opened twice, it may have been replaced between its schema and its pages.
        table = pq.read_table(pa.BufferReader(Path(path).read_bytes()))
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"cannot read {path}: {error}; `{made_by}` makes it") from None
    return {name: table.column(name).to_numpy() for name in table.column_names}


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


def read_json(path: str | Path) -> Any:
    """The value in a JSON file; an `InputError` if there is none."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not a JSON file, or was cut short: {error}") from error
