"""Kills of those who work for others: of a census's workers and driver on a Ray cluster, and of the explorer's worker.

These are real processes with real starts, so an attempt is one session in which several die: Ray gives the task of a
worker that died to another, and the explorer starts its worker again, which goes on from the last checkpoint. When a
driver dies, its cluster must go with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import runpy
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from modgrok.explorer import workers
from modgrok.explorer.jobs import Jobs
from modgrok.explorer.visitors import Guest, Visitor
from modgrok.explorer.workers import Worker

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
RAY_KILLS = runpy.run_path(str(ROOT / "benchmarks" / "ray_kills.py"))
descendants, title = RAY_KILLS["descendants"], RAY_KILLS["title"]
ENVIRONMENT = {"PYTHONPATH": str(SOURCE), "JAX_PLATFORMS": "cpu", "RAY_USAGE_STATS_ENABLED": "0"}
PATIENCE = 300.0
"""Seconds after which something that does not happen is a finding."""


@dataclass
class Attempt:
    """The kinds of kills of a session that died of SIGKILL, whether the work came to its end, and what was wrong."""

    kills: list[str] = field(default_factory=list)
    ended: bool = False
    problems: list[str] = field(default_factory=list)


# ------------------------------------------------------------------------------------------ Ray

WORKER = "ray::at_work"
"""How Ray calls a process that is at a task of ours. Those that wait for their first one are left alone: a kill before
the driver has joined its cluster stops Ray's own start for ever."""
AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
SECONDS = 3.0
"""Within how many a kill falls after there are workers."""
DRIVER_SHARE = 0.25
"""How many of the kills on Ray are the driver's; the others are its workers'."""


def on_ray(words: tuple[str, ...], folder: Path, log: Path, rng: random.Random, most: int) -> Attempt:
    """A census on a cluster of its own, until it ends or its driver is killed; `most` kills in all."""
    attempt, began = Attempt(), time.monotonic()
    with open(log, "a") as output:
        words = tuple(word.replace("OUT", str(folder)) for word in words)
        driver = subprocess.Popen(
            [sys.executable, "-m", "modgrok", *words], env=os.environ | ENVIRONMENT, stdout=output, stderr=output
        )
    cluster: set[int] = set()
    while len(attempt.kills) < most and driver.poll() is None and time.monotonic() - began < PATIENCE:
        cluster |= set(descendants(driver.pid))
        if not workers_in(cluster):
            time.sleep(0.02)
            continue
        time.sleep(rng.uniform(0, SECONDS))
        cluster |= set(descendants(driver.pid))
        if driver.poll() is None and rng.random() < DRIVER_SHARE:
            driver.kill()
            attempt.kills += ["driver killed"] * (driver.wait() == -signal.SIGKILL)
        elif driver.poll() is None and (found := workers_in(cluster)):
            os.kill(victim := rng.choice(found), signal.SIGKILL)
            cluster.discard(victim)
            attempt.kills.append("worker killed")
    try:
        code = driver.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        driver.kill()
        code = driver.wait()
        attempt.problems.append(f"it hangs: {log.read_text()[-300:]}")
    attempt.ended = code == 0
    if code not in (0, -signal.SIGKILL):
        attempt.problems.append(f"ends with {code}: {log.read_text()[-300:]}")
    return left_behind(attempt, cluster)


def workers_in(cluster: set[int]) -> list[int]:
    return sorted(pid for pid in cluster if title(pid).startswith(WORKER))


def left_behind(attempt: Attempt, cluster: set[int]) -> Attempt:
    """A cluster that outlives its driver is a finding, but for Ray's own agents, which need minutes; they are ended."""
    limit = time.monotonic() + PATIENCE
    while (alive := [pid for pid in cluster if outlives(pid)]) and time.monotonic() < limit:
        time.sleep(0.1)
    for pid in [pid for pid in cluster if "ray" in title(pid)]:
        os.kill(pid, signal.SIGKILL)
    if alive:
        attempt.problems.append(f"{len(alive)} processes of the cluster outlive their driver by {PATIENCE:g} seconds")
    return attempt


def outlives(pid: int) -> bool:
    return "ray" in title(pid) and not title(pid).startswith(AGENTS)


def cpu_seconds(pid: int) -> float:
    """The processor time of a process, by its clock as Linux numbers them; more than any if it is gone.

    Moments are drawn by this clock, so that they fall into the work however busy the machine is.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return float("inf")


# ------------------------------------------------------------------------------------------ the explorer's worker

CHILD = (
    "import modgrok.explorer.tasks as tasks; tasks.CHECKPOINT_SECONDS = 0.0; "
    "from modgrok.explorer.child import main; main()"
)
"""The explorer's child, but with a checkpoint at every chance: a training of a second shall have several."""
LIFE = 3.0
"""Seconds of processor time within which a worker is killed after it was started, if it lives so long."""


def explored(settings: dict[str, Any], folder: Path, log: Path, rng: random.Random, most: int) -> Attempt:
    """A training by the explorer's queue, whose worker is killed until the run ends; `most` kills in all."""
    workers.COMMAND = (sys.executable, "-c", CHILD)
    return asyncio.run(trained(settings, folder, rng, most))


async def trained(settings: dict[str, Any], folder: Path, rng: random.Random, most: int) -> Attempt:
    attempt, guest, worker = Attempt(), Guest(Visitor({}, "")), Worker("trains")
    jobs = Jobs(worker)
    params = {"runs": str(folder), "run": "run", "tables": str(folder), "expression": "n1 n2", "mod": 5}
    await worker.start()
    jobs.start()
    try:
        job = jobs.add(guest, "training", "training", "a run", params | {"settings": settings}, run="run")
        async with asyncio.timeout(PATIENCE):
            while job in jobs.jobs:
                moment = rng.uniform(0, LIFE) if len(attempt.kills) < most else PATIENCE
                process = worker.process
                assert process is not None
                while job in jobs.jobs and cpu_seconds(process.pid) < moment:
                    await asyncio.sleep(0.002)
                if job in jobs.jobs and process.returncode is None:
                    os.kill(process.pid, signal.SIGKILL)
                    if await process.wait() == -signal.SIGKILL:
                        attempt.kills.append("killed")
                    while worker.process is process:
                        await asyncio.sleep(0.002)
    except TimeoutError:
        attempt.problems.append("the run does not come to its end")
    finally:
        await worker.close()
        await jobs.close()
    ends = [json.loads(kept.split(b"data: ", 1)[1]) for kept in guest.visitor.events.kept if b"event: end" in kept]
    attempt.ended = bool(ends) and ends[-1]["state"] == "finished"
    if ends and not attempt.ended and "ended unexpectedly" not in str(ends[-1]["error"]):
        attempt.problems.append(str(ends[-1]))
    return attempt
