"""(d) Kills: SIGKILL at random moments, the same call again and again, the result bit for bit that of an unbroken one.

A worker imports modgrok and forks: a child begins at once, without the seconds that imports take, so that its kill
falls into the work itself: claiming a folder, compiling, training, writing. After some kills of one folder a last child
comes to its end. Kills on a Ray cluster are those of benchmarks/ray_kills.py, which has its own record.
"""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(tempfile.gettempdir()) / "hostile-jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import pyarrow.parquet as pq
from tally import Tally

from modgrok.censuses import runner
from modgrok.censuses.plan import plan_from
from modgrok.compiler.compiling import compile
from modgrok.figures import style
from modgrok.figures import sweep as sweep_figures
from modgrok.figures import training as training_figures
from modgrok.report.reproducing import paper
from modgrok.training.runs import train
from modgrok.training.sweeps import sweep

KILLS_OF_ONE = 10
TOTAL, BATCH, UNIT = 1000, KILLS_OF_ONE, "kills"
IMPORTED = (style, sweep_figures, training_figures)
"""Children find what is drawn with imported, too."""
PLAN = {"steps": [2, 4], "tables": {"random": 3}, "settings": [{"moduli": [5], "widths": [3], "fractions": [0.5]}]}


def a_run(folder: Path) -> None:
    train("n1 n2", 5, width=3, steps=12, metrics_every=3, snapshots=3, out=folder / "run", checkpoint_seconds=0.0)


def a_sweep(folder: Path) -> None:
    sweep("n1 n2", 5, seeds=2, width=[3, 4], steps=4, metrics_every=2, out=folder / "sweep", keep_weights=True)


def a_census(folder: Path) -> None:
    runner.census(plan_from(PLAN), folder / "census")


def a_network(folder: Path) -> None:
    for k in range(12):
        compile(f"n1 n2 + {k} n1", 13).save(folder / f"network-{k}.safetensors")


def an_item(folder: Path) -> None:
    paper("classes", out=folder / "paper", quick=True)


WORKS: dict[str, Callable[[Path], None]] = {
    "train": a_run,
    "sweep": a_sweep,
    "census": a_census,
    "compile": a_network,
    "paper": an_item,
}


def content(folder: Path) -> dict[str, Any]:
    """All in a folder that does not tell the time: JSON without seconds, tables as rows, other files as bytes."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or path.suffix in (".png", ".svg") or path.name.startswith((".", "running")):
            continue
        if path.suffix == ".json":
            found[name] = timeless(json.loads(path.read_text()), str(folder))
        elif path.suffix == ".parquet":
            found[name] = pq.read_table(path)
        else:
            found[name] = path.read_bytes()
    return found


def timeless(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        clocks = ("seconds", "steps_per_second", "reused")
        return {name: timeless(item, place) for name, item in value.items() if name not in clocks}
    if isinstance(value, list):
        return [timeless(item, place) for item in value]
    return value.replace(place, "") if isinstance(value, str) else value


def forked(work: Callable[[Path], None], folder: Path, log: Path) -> int:
    """A child that does the work, with its exit code telling whether it came to its end; its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns of forks; nothing of it runs in this process
        child = os.fork()
    if child:
        return child
    code = 3
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        work(folder)
        code = 0
    except BaseException:
        logging.getLogger().exception("the work failed")
    finally:
        sys.stderr.flush()
        os._exit(code)


@cache
def unbroken(name: str) -> tuple[dict[str, Any], float]:
    """What the work leaves if nobody disturbs it, and how long it takes, with everything compiled before."""
    took = []
    with tempfile.TemporaryDirectory() as place:
        for attempt in ("first", "second"):
            folder, began = Path(place) / attempt, time.monotonic()
            folder.mkdir()
            _, status = os.waitpid(forked(WORKS[name], folder, Path(place) / "log"), 0)
            if status:
                raise RuntimeError((Path(place) / "log").read_text()[-2000:])
            took.append(time.monotonic() - began)
        return content(folder), min(took)


def run_batch(number: int) -> Tally:
    """Some kills of one folder, and its end."""
    name = list(WORKS)[number % len(WORKS)]
    wanted, seconds = unbroken(name)
    rng, tally = random.Random(f"kills {number}"), Tally()
    place = Path(tempfile.mkdtemp(prefix="hostile-"))
    folder, log = place / "folder", place / "log"
    folder.mkdir()
    for _ in range(KILLS_OF_ONE):
        child = forked(WORKS[name], folder, log)
        status = killed(child, time.monotonic() + rng.uniform(0, seconds))
        failed = os.WIFEXITED(status) and os.WEXITSTATUS(status)
        tally.trial(
            f"{name}, killed" if os.WIFSIGNALED(status) else f"{name}, ended before its kill",
            *[f"it failed after a kill: {log.read_text()[-300:]}"] * bool(failed),
        )
    _, status = os.waitpid(forked(WORKS[name], folder, log), 0)
    if status:
        tally.trial(f"{name}, resumed", f"it does not come to its end: {log.read_text()[-300:]}")
    else:
        tally.trial(f"{name}, resumed", *different(wanted, content(folder)))
    shutil.rmtree(place)
    return tally


def killed(child: int, moment: float) -> int:
    """The exit status of a child that is killed at a moment, unless it came to its end before."""
    while time.monotonic() < moment:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def different(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    names = sorted({*wanted, *found})
    wrong = [name for name in names if name not in wanted or name not in found or wanted[name] != found[name]]
    return [f"differ from an unbroken one: {', '.join(wrong)}"] if wrong else []
