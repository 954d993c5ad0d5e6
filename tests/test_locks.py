"""A folder belongs to the process that writes to it: the second is refused, and a dead one leaves nothing behind."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from modgrok.base import locks
from modgrok.base.errors import InputError
from modgrok.base.locks import RUNNING, holder, locked
from modgrok.censuses import runner
from modgrok.experiments.sweeps import sweep
from modgrok.report.reproducing import paper
from modgrok.training.config import TrainConfig
from modgrok.training.train import train_config

PATIENCE = 120
"""Seconds until a test gives up on others, which may be stopped at any line of theirs."""
HOLD = """
import sys
import threading
from pathlib import Path
from modgrok.base.locks import locked
with locked(Path(sys.argv[1]), *sys.argv[2:]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Starts processes that hold a folder, and ends them."""
    began = []

    def hold(folder, *part):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder), *part], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        began.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in began:
        process.kill()
        process.communicate()


def test_the_second_process_is_told_who_has_the_folder_and_since_when(other, tmp_path):
    process = other(tmp_path)
    with pytest.raises(InputError, match=rf"process {process.pid} (of \S+ )?on \S+ since \d{{4}}-\d\d-\d\d \d\d:\d\d"):
        locked(tmp_path).__enter__()
    assert holder(tmp_path / RUNNING).pid == process.pid
    process.communicate("")
    assert holder(tmp_path / RUNNING) is None and not list(tmp_path.iterdir()), "who ends leaves nothing"
    with locked(tmp_path):
        pass


def test_the_lock_of_a_killed_process_is_taken_over(other, tmp_path):
    process = other(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tmp_path / RUNNING).exists() and holder(tmp_path / RUNNING) is None
    with locked(tmp_path):
        assert json.loads((tmp_path / RUNNING).read_text())["pid"] == os.getpid()
    assert not (tmp_path / RUNNING).exists()


def test_the_mark_of_another_machine_counts_and_the_refusal_says_what_to_remove(tmp_path):
    mark = tmp_path / RUNNING
    mark.write_text(json.dumps({"pid": 1, "host": "elsewhere"}))
    with pytest.raises(InputError, match=f"process 1 on elsewhere; .*remove {re.escape(str(mark))}"):
        locked(tmp_path).__enter__()
    assert mark.exists()


@pytest.mark.parametrize("text", ["", "null", "[1]", '{"pid": []}', '{"pid": 1'])
def test_a_mark_that_says_nothing_holds_nothing(tmp_path, text):
    (tmp_path / RUNNING).write_text(text)
    assert holder(tmp_path / RUNNING) is None
    with locked(tmp_path):
        pass


DEAD = json.dumps({"pid": 2**22 + 1, "host": os.uname().nodename})


@pytest.mark.parametrize("mark", ["", DEAD], ids=["new", "left behind"])
def test_who_only_looks_is_in_nobody_s_way_though_it_is_stopped_as_it_does(tmp_path, monkeypatch, mark):
    (tmp_path / RUNNING).write_text(mark)
    looker = os.open(tmp_path / RUNNING, os.O_RDONLY)
    assert locks.free(looker, looking=True)
    assert holder(tmp_path / RUNNING) is None, "two that look are not taken for one that writes"
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 20 * locks.ATTEMPTS:  # the looker goes on
            fcntl.flock(looker, fcntl.LOCK_UN)

    monkeypatch.setattr(locks, "time", SimpleNamespace(sleep=sleep))
    with locked(tmp_path):
        assert holder(tmp_path / RUNNING).pid == os.getpid()
    os.close(looker)
    assert len(waits) == 20 * locks.ATTEMPTS


def test_parts_go_beside_each_other_but_not_beside_the_whole(other, tmp_path):
    other(tmp_path, "1-of-2")
    with locked(tmp_path, "2-of-2"):
        pass
    for part in (None, "1-of-2"):
        with pytest.raises(InputError, match="is being written by process"):
            locked(tmp_path, part).__enter__()
    with locked(tmp_path / "whole"), pytest.raises(InputError, match="is being written by process"):
        locked(tmp_path / "whole", "1-of-2").__enter__()


def test_of_many_that_take_over_at_once_one_has_the_folder(tmp_path):
    """The race of a takeover: all of them find the mark of a dead process."""
    (tmp_path / RUNNING).write_text(DEAD)
    took = []

    def taker() -> None:
        try:
            with locked(tmp_path):
                took.append(holding.release() or held.wait(PATIENCE))
        except InputError:
            refused.release()

    holding, refused, held = threading.Semaphore(0), threading.Semaphore(0), threading.Event()
    threads = [threading.Thread(target=taker) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert holding.acquire(timeout=PATIENCE) and all(refused.acquire(timeout=PATIENCE) for _ in range(7))
    held.set()
    for thread in threads:
        thread.join()
    assert len(took) == 1


@pytest.mark.parametrize(
    "work",
    [
        lambda folder: train_config(TrainConfig("n1 n2", 5, steps=2, width=3), folder, overwrite=True),
        lambda folder: sweep("n1 n2", 5, steps=2, width=3, out=folder),
        lambda folder: runner.census(folder.parent / "plan.toml", folder),
        lambda folder: paper("classes", out=folder),
        lambda folder: paper("all", out=folder, quick=True),
    ],
    ids=["train", "sweep", "census", "paper", "report"],
)
def test_every_verb_that_fills_a_folder_respects_the_lock(work, other, tmp_path):
    (tmp_path / "plan.toml").write_text(
        "steps = 2\n[tables]\nrandom = 3\n[[settings]]\nmoduli = [5]\nwidths = [4]\nfractions = [0.5]\n"
    )
    process = other(tmp_path / "out")
    with pytest.raises(InputError, match=f"is being written by process {process.pid}"):
        work(Path(tmp_path / "out"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == [RUNNING]
