"""A census of 400 networks by Ray, while its workers, its driver and a whole node are killed: the same rows each time.

    python benchmarks/ray_kills.py OUT.json

1. in one process, and by `--ray local`;
2. by `--ray local`, with a worker killed (SIGKILL) ten times and the driver three times, at parts all over the census;
3. on a simulated cluster of two nodes, one of which is removed in the middle.

Every row of every census is compared with that of the one process, to the last bit, and every network must stand in the
parts exactly once. Needs the extra `ray`, and five minutes of two cores.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
from writing import write_found

from modgrok.censuses import parts, store
from modgrok.censuses.plan import CensusPlan, load_plan

PLAN = """
steps = [200, 1000]
[tables]
two-monomials = 50
random = 50
[[settings]]
moduli = [7, 11]
widths = [8, 12]
fractions = [0.5]
"""
WORKER, DRIVER = "worker", "driver"
KILLS = [WORKER, WORKER, WORKER, DRIVER, WORKER, WORKER, WORKER, DRIVER, WORKER, WORKER, DRIVER, WORKER, WORKER]
"""In this order, at parts spread evenly over the census."""


def main(out: Path) -> None:
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "JAX_PLATFORMS": "cpu"}
    with TemporaryDirectory() as place:
        file = Path(place) / "plan.toml"
        file.write_text(PLAN)
        plan, reference = load_plan(file), Path(place) / "one-process"
        found: dict[str, Any] = {
            "made_by": "python benchmarks/ray_kills.py",
            "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
            "networks": plan.size(),
            "parts": len(parts.parts(plan)),
            "one process": timed(lambda: finish(file, reference)),
        }
        trials: dict[str, Callable[[Path], Any]] = {
            "ray local": lambda folder: finish(file, folder, "--ray", "local"),
            "kills": lambda folder: with_kills(file, plan, folder),
            "two nodes": lambda folder: with_a_lost_node(file, plan, folder),
        }
        for name, trial in trials.items():
            folder = Path(place) / name.replace(" ", "-")
            found[name] = timed(lambda trial=trial, folder=folder: trial(folder))  # type: ignore[misc]
            found[name] |= compared(plan, reference, folder)
            print(name, found[name], flush=True)
            assert found[name]["same_rows"] and found[name]["every_network_once"]
        write_found(__file__, out, found)


def timed(trial: Callable[[], Any]) -> dict[str, Any]:
    began = time.monotonic()
    said = trial() or {}
    return {"seconds": round(time.monotonic() - began, 1)} | said


def start(file: Path, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "modgrok", "census", str(file), "--out", str(folder), "--train-only", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finish(file: Path, folder: Path, *options: str) -> None:
    assert start(file, folder, *options).wait() == 0


def compared(plan: CensusPlan, reference: Path, folder: Path) -> dict[str, bool]:
    written = [number for path in folder.glob("part-*") for number in pq.read_table(path)["network"].to_pylist()]
    return {
        "same_rows": store.read_rows(folder) == store.read_rows(reference),
        "every_network_once": sorted(written) == sorted([*range(plan.size())] * len(plan.steps)),
    }


def parts_done(folder: Path) -> int:
    return len(list(folder.glob("part-*.parquet")))


def with_kills(file: Path, plan: CensusPlan, folder: Path) -> dict[str, Any]:
    """Kill as `KILLS` says; returns the parts that were done at each kill, and the times to the next part."""
    total, done, pauses = len(parts.parts(plan)), [], []
    driver = start(file, folder, "--ray", "local")
    for number, victim in enumerate(KILLS):
        wait_for(driver, lambda number=number: parts_done(folder) >= total * (number + 1) // (len(KILLS) + 2))  # type: ignore[misc]
        pid = driver.pid if victim == DRIVER else a_worker(driver)
        os.kill(pid, signal.SIGKILL)
        done.append(before := parts_done(folder))
        began = time.monotonic()
        if victim == DRIVER:
            driver.wait()
            driver = start(file, folder, "--ray", "local")
        wait_for(driver, lambda before=before: parts_done(folder) > before)  # type: ignore[misc]
        pauses.append(round(time.monotonic() - began, 1))
    assert driver.wait() == 0
    assert max(done) < total
    return {"killed": KILLS, "parts_done_at_each": done, "seconds_to_the_next_part": pauses}


def wait_for(driver: subprocess.Popen[bytes], condition: Callable[[], bool], limit: float = 300) -> None:
    end = time.monotonic() + limit
    while not condition():
        assert driver.poll() is None and time.monotonic() < end, "the driver has ended, or nothing happens any more"
        time.sleep(0.01)


def a_worker(driver: subprocess.Popen[bytes]) -> int:
    """A process of this driver that is at a task."""
    while not (found := at_work(driver.pid)):
        assert driver.poll() is None
        time.sleep(0.01)
    return found[0]


def at_work(pid: int) -> list[int]:
    """Workers among the descendants of a process that are at a task."""
    return [child for child in descendants(pid) if title(child).startswith("ray::at_work")]


def descendants(pid: int) -> Iterator[int]:
    try:
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return
    for child in children:
        yield child
        yield from descendants(child)


def title(pid: int) -> str:
    """The command line of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def with_a_lost_node(file: Path, plan: CensusPlan, folder: Path) -> dict[str, Any]:
    """Two nodes of one core; the second goes when a third of the census is done, in the middle of a part."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        second = cluster.add_node(num_cpus=1)
        driver = start(file, folder, "--ray", cluster.address)
        wait_for(driver, lambda: parts_done(folder) >= len(parts.parts(plan)) // 3)
        (raylet,) = second.all_processes["raylet"]
        wait_for(driver, lambda: bool(at_work(raylet.process.pid)))
        done = parts_done(folder)
        cluster.remove_node(second, allow_graceful=False)
        assert driver.wait() == 0
    finally:
        cluster.shutdown()
    return {"parts_done_when_the_node_went": done}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
