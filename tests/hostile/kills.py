"""(d) Kills: SIGKILL at random moments, the same call again and again, the result bit for bit that of an unbroken one.

A worker imports modgrok and forks: a child begins at once, without the seconds that imports take, so that its kill
falls into the work itself: claiming a folder, compiling, training, writing. A folder is killed until a child comes to
its end before its kill, or the kills of the batch are spent and the last child is left alone; then its content is
compared, and the next folder begins. Only processes that died of SIGKILL count as kills. Workers and drivers on a Ray
cluster, and the explorer's worker, are killed by `kills_of_workers`.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import pyarrow.parquet as pq
from kills_of_workers import Attempt, cpu_seconds, explored, on_ray
from safetensors import safe_open
from tally import Tally

from modgrok import cli
from modgrok.commands import census, compile, paper, sweep, train
from modgrok.figures import style, sweep as sweep_figures, training as training_figures

IMPORTED = (census, compile, paper, sweep, train, style, sweep_figures, training_figures)
"""Children find what the commands need imported."""
CACHE = Path(tempfile.gettempdir()) / f"hostile-jax-{os.getuid()}"
KILLS_OF_ONE = 10
SHARES = {
    "census on Ray": 2,
    "explorer's worker": 5,
    "train": 20,
    "sweep": 10,
    "census": 20,
    "paper": 18,
    "compile": 25,
}
"""Batches of each kind of work: those that cost more to start have fewer."""
BATCHES = [name for turn in range(max(SHARES.values())) for name, share in SHARES.items() if turn < share]
TOTAL, BATCH, UNIT = KILLS_OF_ONE * len(BATCHES), KILLS_OF_ONE, "kills"

PLAN = """steps = [2, 4]
[tables]
random = 8
[[settings]]
moduli = [5]
widths = [3]
fractions = [0.5]
"""
SETTINGS = {"width": 3, "steps": 12, "metrics_every": 3, "snapshots": 3}
OF_TRAINING = [word for name, value in SETTINGS.items() for word in (f"--{name.replace('_', '-')}", str(value))]
CENSUS = ("census", "OUT/plan.toml", "--out", "OUT/census")
WORKS: dict[str, tuple[str, ...]] = {
    "train": ("train", "n1 n2", "--mod", "5", *OF_TRAINING, "--checkpoint-seconds", "0", "--out", "OUT/run"),
    "sweep": (
        *("sweep", "n1 n2", "--mod", "5", "--seeds", "2", "--width", "3,4", "--steps", "4", "--metrics-every", "2"),
        *("--keep-weights", "--out", "OUT/sweep"),
    ),
    "census": CENSUS,
    "compile": ("compile", "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", "--mod", "13", "--out", "OUT/network.safetensors"),
    "paper": ("paper", "classes", "--quick", "--out", "OUT/paper"),
}
"""What is called; OUT is its folder."""


@dataclass(frozen=True)
class Work:
    """Something to kill: what it leaves if nobody disturbs it, and one attempt at it with some kills at most."""

    wanted: dict[str, Any]
    attempt: Callable[[Path, Path, random.Random, int], Attempt]


# ------------------------------------------------------------------------------------------ what is compared


def content(folder: Path) -> dict[str, Any]:
    """All in a folder that does not tell the time: JSON without seconds, tables as rows, other files as bytes.

    A file that is not whole raises.
    """
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
        if path.suffix == ".safetensors":
            with safe_open(path, framework="numpy"):
                pass
    return found


def timeless(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        clocks = ("seconds", "steps_per_second", "reused")
        return {name: timeless(item, place) for name, item in value.items() if name not in clocks}
    if isinstance(value, list):
        return [timeless(item, place) for item in value]
    return value.replace(place, "") if isinstance(value, str) else value


def different(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    names = sorted({*wanted, *found})
    wrong = [name for name in names if name not in wanted or name not in found or wanted[name] != found[name]]
    return [f"differ from an unbroken one: {', '.join(wrong)}"] if wrong else []


# ------------------------------------------------------------------------------------------ children by fork


def forked(words: tuple[str, ...], folder: Path, log: Path) -> int:
    """A child that calls modgrok, and ends with its exit code; its number."""
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
        jax.config.update("jax_compilation_cache_dir", str(CACHE))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        code = cli.main([word.replace("OUT", str(folder)) for word in words])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 3
    except BaseException:
        logging.getLogger().exception("the work failed")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def prepared(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "plan.toml").write_text(PLAN)
    return folder


@cache
def unbroken(name: str) -> tuple[dict[str, Any], float]:
    """What the work leaves if nobody disturbs it, and its processor time, with everything compiled before."""
    took = []
    with tempfile.TemporaryDirectory(prefix="hostile-") as place:
        for attempt in ("first", "second"):
            folder = prepared(Path(place) / attempt)
            _, status, used = os.wait4(forked(WORKS[name], folder, Path(place) / "log"), 0)
            if status:
                raise RuntimeError((Path(place) / "log").read_text()[-2000:])
            took.append(used.ru_utime + used.ru_stime)
        return content(folder), min(took)


@dataclass
class Killer:
    """Kills children of one command; knows how long they take in a fresh folder, and in one that was killed before."""

    words: tuple[str, ...]
    fresh: float
    resumed: float

    def attempt(self, folder: Path, log: Path, rng: random.Random, most: int) -> Attempt:
        """A child that is killed at a random moment, unless it comes to its end before or no kill is left."""
        begun = log.exists()
        child = forked(self.words, folder, log)
        moment = rng.uniform(0, self.resumed if begun else self.fresh) if most else float("inf")
        ended, status, took = 0, 0, 0.0
        while not ended and took < moment:
            ended, status = os.waitpid(child, os.WNOHANG)
            took = took if ended else cpu_seconds(child)
            time.sleep(0.001)
        if not ended:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            return Attempt(kills=["killed"])
        if begun:
            self.resumed = (self.resumed + took) / 2
        return Attempt(ended=True, problems=[f"ends with {status}: {log.read_text()[-300:]}"] * bool(status))


# ------------------------------------------------------------------------------------------ batches


@cache
def work_named(name: str) -> Work:
    if name == "explorer's worker":
        return Work(unbroken("train")[0], partial(explored, SETTINGS))
    if name == "census on Ray":
        return Work(unbroken("census")[0], partial(on_ray, (*CENSUS, "--ray", "local")))
    wanted, seconds = unbroken(name)
    return Work(wanted, Killer(WORKS[name], seconds, seconds).attempt)


def run_batch(number: int) -> Tally:
    """Ten kills, and the end of every folder that they fell into."""
    name = BATCHES[number]
    work, rng, tally, left = work_named(name), random.Random(f"kills {number}"), Tally(), KILLS_OF_ONE
    while left:
        with tempfile.TemporaryDirectory(prefix="hostile-") as place:
            folder, log, ended = prepared(Path(place) / "folder"), Path(place) / "log", False
            while not ended:
                attempt = work.attempt(folder, log, rng, left)
                left -= len(attempt.kills)
                ended = attempt.ended
                for kind in attempt.kills:
                    tally.trial(f"{name}, {kind}", *not_whole(folder))
                if attempt.problems:
                    tally.trial(f"{name}, came to its end", *attempt.problems)
                    break
            else:
                tally.trial(f"{name}, came to its end", *different(work.wanted, content(folder)), *warned(log))
    return tally


def not_whole(folder: Path) -> list[str]:
    """What a kill left half-written."""
    try:
        content(folder)
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]}"]
    return []


def warned(log: Path) -> list[str]:
    said = log.read_text() if log.exists() else ""
    return [f"says {said[-300:]!r}"] * any(word in said for word in ("Traceback", "Warning"))
