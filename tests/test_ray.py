"""Trainings on a real Ray cluster of this machine, where the extra `ray` is; benchmarks/ray_kills.py does more."""

import importlib
import os
import runpy
import signal
import time
from pathlib import Path

import pytest

from modgrok.base.errors import InputError
from modgrok.censuses import parts, runner, store
from modgrok.censuses.plan import plan_from
from modgrok.experiments import sweep_plan, sweeps
from modgrok.experiments.part import train_part
from modgrok.experiments.ray_workers import RayWorkers

ray = pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

at_work = runpy.run_path(str(Path(__file__).parent.parent / "benchmarks" / "ray_kills.py"))["at_work"]
PLAN = plan_from(
    {
        "steps": [5, 400],
        "tables": {"two-monomials": 6, "random": 6},
        "settings": [{"moduli": [7], "widths": [8], "fractions": [0.5]}],
    }
)


@pytest.fixture(scope="module")
def cluster():
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield "local"
    ray.shutdown()


def test_a_census_by_ray_has_the_same_rows_though_workers_are_killed(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "LEAST_PARTS", 6)
    killed = []

    def kill(_):
        """After each of the first parts, whoever is at the next one."""
        if len(killed) < 2:
            killed.append(at_work(os.getpid())[0])
            os.kill(killed[-1], signal.SIGKILL)

    found = runner.train_missing(PLAN, tmp_path / "ray", ray=cluster, on_part=kill)
    assert found.finished and found.networks == 12 and len(killed) == 2 and 0 < found.device_share < 1
    runner.train_missing(PLAN, tmp_path / "here")
    assert store.read_rows(tmp_path / "ray") == store.read_rows(tmp_path / "here")


def test_a_sweep_by_ray_is_the_same_file(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep_plan, "LARGEST_PART", 2)
    how = {"seeds": 3, "width": 8, "steps": 20, "weight_decay": [1, 5], "keep_weights": True}
    here, there = (
        sweeps.sweep("n1 n2", 5, out=tmp_path / name, ray=at, **how) for name, at in (("a", None), ("b", cluster))
    )
    assert here.rows == there.rows and there.compilations >= 1
    for path in here.files:
        assert path.read_bytes() == (there.folder / path.relative_to(here.folder)).read_bytes(), path.name


def test_what_a_worker_refuses_is_said_as_it_would_be_here(cluster):
    def refuse(task):
        raise InputError(f"no such task: {task}")

    with pytest.raises(InputError, match="^no such task: 3$"):
        RayWorkers(refuse, cluster).submit(3).result()


def test_tasks_that_are_not_done_are_given_up_on_a_connection_that_stays(cluster):
    workers = RayWorkers(time.sleep, cluster)
    future = workers.submit(600)
    wait_for(lambda: at_work(os.getpid()))
    assert future.cancel(), "as an interruption does"
    workers.close()
    wait_for(lambda: not at_work(os.getpid()))
    assert ray.is_initialized()


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_worker_that_lacks_the_package_says_so(cluster, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("class Thing: pass")
    monkeypatch.syspath_prepend(tmp_path)
    thing = importlib.import_module("only_here").Thing()
    with pytest.raises(InputError, match="No module named 'only_here'; every machine .* needs the same modgrok"):
        RayWorkers(train_part, cluster).submit(thing).result()
