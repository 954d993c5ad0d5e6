"""What Windows and macOS lack or do otherwise, as far as it can be had on Linux: the same code with that taken away.

Windows' lock of a byte is a fake here that holds between processes (by flock) and fails as Windows does.
"""

from __future__ import annotations

import ast
import errno
import os
import socket
import subprocess
import sys
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest

from modgrok.base import files, interrupts, locks, memory
from modgrok.base.errors import InputError
from modgrok.base.locks import RUNNING, holder, locked
from modgrok.explorer import asking, serving, workers

fcntl = pytest.importorskip("fcntl", reason="Linux plays Windows here, not the other way round")

AS_ON_WINDOWS = """
import errno, fcntl, os, sys, types

def locking(handle, mode, count):
    assert os.lseek(handle, 0, os.SEEK_CUR) > 1 << 20 and count == 1, "locked bytes cannot be read"
    try:
        fcntl.flock(handle, fcntl.LOCK_UN if mode == 0 else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None

sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_UNLCK=0, LK_NBLCK=2)
from modgrok.base import locks
locks.WINDOWS = True
for name in ("pread", "pwrite"):
    delattr(os, name)
"""
HOLD = """
from pathlib import Path
with locks.locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def windows(monkeypatch):
    """This process as `AS_ON_WINDOWS` makes another one."""
    for name in ("pread", "pwrite"):
        monkeypatch.setattr(os, name, getattr(os, name))  # both are put back
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    monkeypatch.setattr(locks, "WINDOWS", False)
    exec(AS_ON_WINDOWS, {})
    assert locks.WINDOWS and not hasattr(os, "pread")


def start(code: str, *words: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_windows_locks_keep_a_second_process_out_and_die_with_the_first(windows, tmp_path):
    process = start(AS_ON_WINDOWS + HOLD, str(tmp_path))
    try:
        assert process.stdout.readline() == "held\n"
        assert holder(tmp_path / RUNNING).pid == process.pid, "its mark can be read, and it has the lock"
        with pytest.raises(InputError, match=f"is being written by process {process.pid}"):
            locked(tmp_path).__enter__()
    finally:
        process.kill()
        process.communicate()
    assert (tmp_path / RUNNING).exists() and holder(tmp_path / RUNNING) is None
    with locked(tmp_path):
        assert holder(tmp_path / RUNNING).pid == os.getpid()
    assert not list(tmp_path.iterdir())


def test_on_windows_the_mark_is_removed_once_it_is_closed_and_stays_where_the_next_one_has_it(
    windows, tmp_path, monkeypatch
):
    open_now, unlink = set(), Path.unlink
    real_open, real_close = os.open, os.close

    def opened(*words, **named):
        open_now.add(handle := real_open(*words, **named))
        return handle

    def closed(handle):
        open_now.discard(handle)
        real_close(handle)

    def unlinked(path, *words, **named):
        for handle in open_now:
            if files.is_open_file(path, handle):
                raise PermissionError(errno.EACCES, "used by another process")
        unlink(path, *words, **named)

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "close", closed)
    monkeypatch.setattr(Path, "unlink", unlinked)
    with locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())
    with locked(tmp_path):
        other = os.open(tmp_path / RUNNING, os.O_RDONLY)
    assert (tmp_path / RUNNING).exists()
    os.close(other)


def test_without_any_lock_the_mark_of_a_living_process_counts(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with locked(tmp_path):
        handle = os.open(tmp_path / RUNNING, os.O_RDONLY)
        assert locks.free(handle), "it is this process's own"
        monkeypatch.setattr(os, "getpid", lambda: 1)
        assert not locks.free(handle), "another process that lives"
        os.close(handle)
        monkeypatch.undo()


def test_a_name_that_somebody_reads_is_asked_for_again_on_windows_alone(tmp_path, monkeypatch):
    refusals, replace = [], os.replace

    def busy(source, target):
        if len(refusals) < 3:
            refusals.append(target)
            raise PermissionError(errno.EACCES, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", busy)
    with pytest.raises(InputError, match="cannot write .*Permission denied; nothing of it was written"):
        files.write_text(tmp_path / "a", "text")
    assert len(refusals) == 1 and not list(tmp_path.iterdir())
    monkeypatch.setattr(files, "WINDOWS", True)
    files.write_text(tmp_path / "a", "text")
    assert len(refusals) == 3 and (tmp_path / "a").read_text() == "text"


def test_a_port_is_not_taken_from_another_program_on_windows(monkeypatch):
    assert serving.address_option() == socket.SO_REUSEADDR
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)
    assert serving.address_option() == -5


def test_ctrl_c_does_not_reach_the_explorer_s_children(monkeypatch):
    assert workers.apart() == {"start_new_session": True}
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 512, raising=False)
    assert workers.apart() == {"creationflags": 512}


def test_a_run_has_no_second_name_with_the_other_separator(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "config.json").touch()
    assert asking.is_run(tmp_path, "a")
    monkeypatch.setattr(asking, "PurePath", PureWindowsPath)
    assert not asking.is_run(tmp_path, "b\\..\\a") and not asking.is_run(tmp_path, ".\\a")


def test_memory_is_told_where_the_system_has_no_sysconf_and_no_limits(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setattr(memory, "CONTAINER_LIMIT", Path("nowhere"))
    assert memory.machine_memory() == memory.USUAL_MEMORY


def test_an_interrupt_reaches_the_main_thread_without_pthread_kill(monkeypatch):
    raised = []
    names = {name: getattr(interrupts.signal, name) for name in ("SIGINT", "SIGTERM")}
    monkeypatch.setattr(interrupts, "signal", SimpleNamespace(**names, raise_signal=raised.append))
    interrupts.interrupt(KeyboardInterrupt)
    interrupts.interrupt(interrupts.Terminated)
    assert raised == [interrupts.signal.SIGINT, interrupts.signal.SIGTERM]


ONE_SYSTEM = {"fcntl", "msvcrt", "resource", "pwd", "grp", "termios", "tty", "pty", "winreg"}


def top_level_imports(path: Path) -> set[str]:
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    plain = {alias.name for node in statements if isinstance(node, ast.Import) for alias in node.names}
    return plain | {str(node.module) for node in statements if isinstance(node, ast.ImportFrom)}


def test_modules_of_one_system_are_imported_inside_functions_alone():
    """So that every module can be imported on every system."""
    found = {path.name: top_level_imports(path) for path in Path(locks.__file__).parents[1].rglob("*.py")}
    assert "socket" in found["locks.py"], "the check sees imports"
    assert not {name for name, imported in found.items() if imported & ONE_SYSTEM}
