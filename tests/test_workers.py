"""Who does the tasks of a long job: windows, interruptions, folders in use, and what is said where Ray is missing."""

import os
import socket
import sys
import time
from concurrent.futures import Future

import pytest

from modgrok import cli, sweep
from modgrok.base.errors import InputError
from modgrok.censuses import parts, runner
from modgrok.censuses.plan import plan_from
from modgrok.experiments import ray_workers
from modgrok.experiments.elsewhere import EXECUTORS, Executor
from modgrok.experiments.ray_workers import check_ray, settle
from modgrok.experiments.workers import ThisThread, Threads, in_window

PLAN = plan_from(
    {"steps": 2, "tables": {"random": 3}, "settings": [{"moduli": [5], "widths": [4], "fractions": [0.5]}]}
)


@pytest.mark.parametrize("workers", [ThisThread(lambda n: n * n), Threads(lambda n: n * n, 3)])
def test_every_task_is_done_once_and_no_more_than_the_window_are_given_out(workers):
    given, most = [], 0

    def tasks():
        for n in range(20):
            given.append(n)
            yield n

    done = []
    for n, square in in_window(workers, tasks()):
        assert square == n * n
        most = max(most, len(given) - len(done))
        done.append(n)
    workers.close()
    assert sorted(done) == list(range(20)) and most <= workers.window


def test_this_thread_is_interrupted_at_once_and_what_a_task_raises_arrives():
    def work(task):
        raise KeyboardInterrupt if task == "stop" else ValueError(task)

    with pytest.raises(KeyboardInterrupt):
        list(in_window(ThisThread(work), iter(["stop"])))
    with pytest.raises(ValueError, match="bad"):
        list(in_window(ThisThread(work), iter(["bad"])))


def test_the_device_share_leaves_out_what_the_host_does_for_a_part(tmp_path, monkeypatch):
    """Half a second of the host's work on each part, which once counted as training."""
    hyper = parts.hyper

    def slow(**settings):
        time.sleep(0.5)
        return hyper(**settings)

    runner.train_missing(PLAN, tmp_path / "compiled")
    monkeypatch.setattr(parts, "hyper", slow)
    found = runner.train_missing(PLAN, tmp_path / "slow")
    assert found.seconds > 1.5 and found.device_share < 1 - 1.5 / found.seconds


def test_an_executor_is_one_entry_of_one_table(tmp_path, monkeypatch):
    begun, closed = [], []

    class Twins(Threads):
        """Two threads of this process, in place of what would be elsewhere."""

        def __init__(self, work, address):
            super().__init__(work, int(address.removeprefix("twins:")))

        def submit(self, task):
            begun.append(task)
            return super().submit(task)

        def close(self):
            closed.append(True)
            super().close()

    def check(address):
        if address != "twins:2":
            raise InputError(f"there are two twins, got {address}")

    monkeypatch.setitem(EXECUTORS, "twins", Executor("twins:2", check, Twins))
    settings = {"width": [4, 8], "steps": 2}
    assert sweep("n1", mod=5, ray="twins:2", **settings).rows == sweep("n1", mod=5, **settings).rows
    assert len(begun) == 2 and closed == [True]
    runner.census(PLAN, tmp_path, ray="twins:2", annotate=False)
    assert len(begun) > 2 and closed == [True, True]
    with pytest.raises(InputError, match="there are two twins, got twins:3"):
        sweep("n1", mod=5, ray="twins:3", **settings)
    with pytest.raises(InputError, match="ray is local, auto"):
        sweep("n1", mod=5, ray="twin", **settings)


def test_what_ray_is_asked_for_is_checked_before_anything_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv("JAX_PLATFORMS", os.environ.get("JAX_PLATFORMS", "cpu"))  # the command sets it
    with pytest.raises(InputError, match="ray is local, auto or the HOST:PORT of a cluster, .*; got 'everywhere'"):
        check_ray("everywhere")
    with monkeypatch.context() as installed:
        installed.setattr(ray_workers, "the_extra", lambda address: None)
        with socket.socket() as deaf:  # it has a port, which is nobody else's, and does not listen
            deaf.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{deaf.getsockname()[1]}"
            with pytest.raises(InputError, match=f"nobody answers at {address}: .*refused"):
                check_ray(address)
    plan, folder = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text("steps = 2\n[tables]\nrandom = 3\n[[settings]]\nmoduli = [5]\nwidths = [4]\nfractions = [0.5]\n")
    for command in (("census", plan), ("sweep", "n1", "--mod", "5"), ("paper", "strong")):
        with pytest.raises(SystemExit) as left:
            cli.main([*map(str, command), "--out", str(folder), "--ray", "local"])
        said = capsys.readouterr().err.strip().splitlines()[-1]
        assert left.value.code == 2 and said == (
            f"modgrok {command[0]}: --ray needs the package ray; install it with: pip install 'modgrok[ray]'"
        )
    with pytest.raises(SystemExit):
        cli.main(["paper", "table1", "--ray", "local"])
    assert "table1 trains on no cluster, got ray local; leave it out, or ask for strong" in capsys.readouterr().err
    assert not folder.exists()


def test_what_a_worker_raises_arrives_as_it_was_raised():
    class TaskError(Exception):
        cause = InputError("a table is missing")

    def settled(outcome):
        theirs, mine = Future(), Future()
        theirs.set_exception(outcome) if isinstance(outcome, Exception) else theirs.set_result(outcome)
        settle(mine, theirs)
        return mine

    assert settled(7).result() == 7
    with pytest.raises(InputError, match="^a table is missing$"):
        settled(TaskError()).result()
    with pytest.raises(InputError, match=f"gave up a task, after {ray_workers.RETRIES} attempts .*: worker died;"):
        settled(RuntimeError("worker died\nmore")).result()
    called_back = Future()
    called_back.cancel()
    late = Future()
    late.set_result(1)
    settle(called_back, late)
    assert called_back.cancelled()
