"""A folder that is written to belongs to one process: the second is told who has it, and since when.

As long as a process writes to a folder, the folder has a file running.json with its `pid`, `host`, `user` and `since`,
and the process holds the system's lock on that file (flock; on Windows that of a byte far behind its end). A process
that dies, however it dies, loses the lock with its last breath; the next one takes the folder over, whatever the file
still says.

What processes of another machine do cannot be seen from here where the file system keeps its locks to itself. So the
mark of another machine counts as held, and the refusal says which file to remove if it is not.

Parts of one folder that are written independently (slices of a census, items of the paper) have marks of their own,
running-NAME.json: parts go beside each other, but none goes beside the whole folder's.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import HELD, WINDOWS, check_held, is_open_file, remove_unfinished
from modgrok.base.results import json_text

RUNNING = "running.json"
LOCKED_BYTE = 1 << 30
"""Windows locks bytes, and what is locked cannot be read: this one is none of the mark's."""
ATTEMPTS, ATTEMPTS_BESIDE_LOOKERS = 25, 6000
"""How often a lock is asked for, 10 ms apart. Who only looks at it (`holder`) has it for a moment, which is long where
that process was stopped in it; such a one has left no mark, so much more patience than the first number is in place."""


@dataclass(frozen=True)
class Holder:
    """The process that writes to a folder, as its mark says."""

    pid: int
    host: str
    user: str = ""
    since: str = ""

    def __str__(self) -> str:
        user = f" of {self.user}" if self.user else ""
        since = f" since {self.since.replace('T', ' ')}" if self.since else ""
        return f"process {self.pid}{user} on {self.host}{since}"

    @property
    def elsewhere(self) -> bool:
        return self.host != socket.gethostname()


def this_process() -> Holder:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        user = ""
    return Holder(os.getpid(), socket.gethostname(), user, datetime.now().astimezone().isoformat(timespec="seconds"))


@contextmanager
def locked(folder: Path, part: str | None = None) -> Iterator[None]:
    """The folder, or the named part of it, is this process's as long as the block runs; else an `InputError`.

    A folder that vanishes meanwhile is an `InputError`, too. One that is made and stays empty is removed again.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder: out= (--out)")
    path, made = folder / (RUNNING if part is None else f"running-{part}.json"), not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark, handle = Path(os.path.realpath(path)), taken(path)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}; give a folder that can be written to") from error
    HELD[mark] = handle
    try:
        for other in sorted(folder.glob("running*.json")) if part is None else [folder / RUNNING]:
            if other != path and (found := holder(other)) is not None:
                raise refusal(folder, other, found)
        remove_unfinished(folder)
        yield
        check_held(mark)
    finally:
        del HELD[mark]
        give_up(mark, handle)
        if made:
            with suppress(OSError):
                folder.rmdir()


def give_up(mark: Path, handle: int) -> None:
    """Remove the mark before the lock goes: whoever waits for it sees that the file is another.

    Where an open file cannot be removed (Windows), it goes afterwards, unless the next one has opened it by then.
    """
    ours = is_open_file(mark, handle)
    if ours and not WINDOWS:
        mark.unlink()
    os.close(handle)
    if ours and WINDOWS:
        with suppress(OSError):
            mark.unlink()


def taken(path: Path) -> int:
    """An open file at `path` with this process's mark in it, and the kernel's lock on it."""
    for attempt in count(1):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if free(handle) and is_open_file(path, handle):  # who had it may have just gone, and its file too
                found = mark_in(handle)
                if found is not None and found.elsewhere:
                    raise refusal(path.parent, path, found)
                os.ftruncate(handle, 0)
                os.lseek(handle, 0, os.SEEK_SET)
                os.write(handle, json_text(this_process()).encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        found = mark_in(handle)
        os.close(handle)
        written = found is not None and (found.elsewhere or alive(found.pid))
        if attempt >= (ATTEMPTS if written else ATTEMPTS_BESIDE_LOOKERS):
            break
        time.sleep(0.01)
    raise refusal(path.parent, path, found)


def free(handle: int, *, looking: bool = False) -> bool:
    """Take the system's lock on an open file, if no other process has it; without locks, look at the mark.

    Who is only `looking` shares it with all that look at the same time.
    """
    try:
        return system_lock(handle, looking=looking)
    except (ImportError, OSError):  # a file system without locks
        found = mark_in(handle)
        return found is None or found.elsewhere or found.pid == os.getpid() or not alive(found.pid)


def system_lock(handle: int, *, looking: bool) -> bool:
    """Whether this process has the lock now; an `OSError` where there are no locks."""
    if WINDOWS:
        return windows_lock(handle, looking=looking)
    import fcntl

    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if looking else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def windows_lock(handle: int, *, looking: bool) -> bool:
    """Windows has no lock to share: who only looks gives it back at once."""
    windows: Any = import_module("msvcrt")
    os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
    try:
        windows.locking(handle, windows.LK_NBLCK, 1)
    except PermissionError:
        return False
    if looking:
        windows.locking(handle, windows.LK_UNLCK, 1)
    return True


def alive(pid: int) -> bool:
    """Is there such a process on this machine?"""
    if WINDOWS:
        return True  # there, os.kill would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def mark_in(handle: int) -> Holder | None:
    """What the mark in an open file says, if it says anything."""
    with suppress(ValueError, TypeError, KeyError, OSError):
        os.lseek(handle, 0, os.SEEK_SET)
        stored: Any = json.loads(os.read(handle, 4096))
        return Holder(
            int(stored["pid"]), str(stored["host"]), str(stored.get("user", "")), str(stored.get("since", ""))
        )
    return None


def holder(path: Path) -> Holder | None:
    """Who holds the lock of a mark; None if there is no mark, or if the process that left it is gone."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        found = mark_in(handle)
        if found is not None and found.elsewhere:
            return found
        return None if free(handle, looking=True) else found or Holder(0, socket.gethostname())
    finally:
        os.close(handle)


def refusal(folder: Path, path: Path, found: Holder | None) -> InputError:
    """Why a folder cannot be had."""
    if found is not None and found.elsewhere:
        return InputError(
            f"{folder} is being written by {found}; wait for it, choose another folder (--out), or remove {path} if "
            "nothing runs there"
        )
    who = "another process" if found is None or not found.pid else str(found)
    return InputError(f"{folder} is being written by {who}; wait for it, or choose another folder: out= (--out)")
