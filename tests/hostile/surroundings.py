"""(e) Surroundings: full disk, folders that cannot be written, no HOME, LANG=C, closed streams, SIGINT at every stage.

Every trial is a command as a user calls it, in a process of its own. A full disk is a small tmpfs where one can be
mounted, and elsewhere a limit on the size of files, which stops a write in its middle just so.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from kills_of_workers import cpu_seconds
from tally import Tally

BATCH, UNIT = 1, "calls"
SOURCE = Path(__file__).parents[2] / "src"
COMPILE = ("compile", "n1 n2 + n1", "--mod", "5", "--out", "OUT/network.safetensors")
TRAIN = ("train", "n1 n2", "--mod", "5", "--width", "3", "--steps", "4", "--out", "OUT/run")
CENSUS = ("census", "plan.toml", "--out", "OUT/census")
CLASSIFY = ("classify", "n1 n2 + 3", "--mod", "5", "--certificate", "OUT/proof.json")
WRITING = {"compile": COMPILE, "train": TRAIN, "census": CENSUS, "classify": CLASSIFY}
SWEEP = ("sweep", "n1 n2", "--mod", "5", "--width", "3,4", "--steps", "4", "--keep-weights", "--out", "OUT/sweep")
PAPER = ("paper", "classes", "--quick", "--out", "OUT/paper")
EXPLORE = ("explore", "--no-open", "--port", "0", "--seconds", "2", "--runs", "OUT/runs")
INTERRUPTED = WRITING | {"sweep": SWEEP, "paper": PAPER, "explore": EXPLORE}
STAGES = 10
PLAN = "steps = 2\n[tables]\nrandom = 3\n[[settings]]\nmoduli = [5]\nwidths = [3]\nfractions = [0.5]\n"


def call(
    words: tuple[str, ...], folder: Path, *, environment: dict[str, str] | None = None, interrupt: float | None = None
) -> tuple[int, str]:
    """Exit code and stderr of a command in a folder; `interrupt` sends SIGINT after so much processor time."""
    (folder / "plan.toml").write_text(PLAN)
    words = tuple(word.replace("OUT", str(folder / "out")) for word in words)
    process = subprocess.Popen(
        [sys.executable, "-m", "modgrok", *words],
        cwd=folder,
        env=(dict(os.environ) if environment is None else environment) | {"PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if interrupt is not None:
        while process.poll() is None and cpu_seconds(process.pid) < interrupt:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    return (130 if process.returncode == -signal.SIGINT else process.returncode), err  # as every shell says it


def problems(code: int, err: str, allowed: tuple[int, ...], folder: Path) -> list[str]:
    found = [] if code in allowed else [f"ends with {code}: {err[-300:]!r}"]
    if "Traceback" in err or "Warning" in err:
        found.append(f"says {err[-400:]!r}")
    if code == 2 and sum(line.startswith("modgrok") for line in err.splitlines()) != 1:
        found.append(f"does not say one line: {err[-300:]!r}")
    left = [path.name for path in folder.rglob("*unfinished*")]
    return found + [f"leaves {left}"] * bool(left)


# ------------------------------------------------------------------------------------------ trials


def full_disk(name: str, kilobytes: int) -> list[str]:
    """The command with files limited to so much; with more space, the same call comes to its end."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        mounted = tmpfs(folder / "out", kilobytes)
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        if not mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * kilobytes, limit[1]))
        try:
            found = problems(*call(WRITING[name], folder, environment=uncached()), (0, 2), folder)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            if mounted:
                subprocess.run(["umount", str(folder / "out")], check=True)
        return found + problems(*call(WRITING[name], folder), (0,), folder)


def uncached() -> dict[str, str]:
    return dict(os.environ) | {"MODGROK_CACHE": "off"}


def tmpfs(folder: Path, kilobytes: int) -> bool:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    if shutil.which("mount") and subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        return True
    folder.rmdir()
    return False


def no_place(name: str, out: str) -> list[str]:
    """A folder that cannot be made or written to."""
    with tempfile.TemporaryDirectory() as place:
        words = tuple(word.replace("OUT", out) for word in WRITING[name])
        return problems(*call(words, Path(place)), (2,), Path(place))


def surrounded(name: str, changes: str) -> list[str]:
    """The command in another environment: NAME=VALUE sets, -NAME removes."""
    environment = dict(os.environ)
    for change in changes.split():
        variable, _, value = change.partition("=")
        environment.pop(variable.removeprefix("-"), None)
        if not change.startswith("-"):
            environment[variable] = value
    with tempfile.TemporaryDirectory() as place:
        return problems(*call(WRITING[name], Path(place), environment=environment), (0,), Path(place))


def without_streams(name: str, redirection: str) -> list[str]:
    """The command with streams closed, or onto a device that is full."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "plan.toml").write_text(PLAN)
        words = " ".join(f"'{word.replace('OUT', str(folder / 'out'))}'" for word in WRITING[name])
        command = f"'{sys.executable}' -m modgrok {words} {redirection}"
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command}"],
            cwd=folder,
            env=dict(os.environ) | {"PYTHONPATH": str(SOURCE)},
            capture_output=True,
            text=True,
            check=False,
        )
        return problems(done.returncode, done.stderr, (0, 2) if "full" in redirection else (0,), folder)


def interrupted(name: str, stage: int) -> list[str]:
    """SIGINT at a random moment of one of the stages of a command's time; afterwards the same call ends well."""
    begins, whole = processor_time("--version"), processor_time(name)
    moment = begins + (whole - begins) * random.Random(f"{name} {stage}").uniform(stage, stage + 1) / STAGES
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        found = problems(*call(INTERRUPTED[name], folder, interrupt=moment), (0, 130), folder)
        return found + problems(*call(INTERRUPTED[name], folder), (0,), folder)


@cache
def processor_time(name: str) -> float:
    """Of a command; that of --version is what Python needs before modgrok can answer anything, SIGINT among it."""
    with tempfile.TemporaryDirectory() as place:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        call(INTERRUPTED.get(name, (name,)), Path(place))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


TRIALS: list[tuple[str, Callable[..., list[str]], tuple[object, ...]]] = [
    *(("full disk", full_disk, (name, size)) for name in WRITING for size in (0, 1, 4, 16, 64)),
    *(("no place", no_place, (name, out)) for name in WRITING for out in ("/proc/modgrok", "plan.toml", "/dev/null")),
    *(
        ("environment", surrounded, (name, changes))
        for name in WRITING
        for changes in (
            "-HOME",
            "LANG=C LC_ALL=C -PYTHONUTF8",
            "PYTHONIOENCODING=ascii",
            "HOME=/proc/none",
            "COLUMNS=1",
        )
    ),
    *(
        ("streams", without_streams, (name, redirection))
        for name in WRITING
        for redirection in (">&-", "2>&-", "<&-", ">&- 2>&-", "> /dev/full", "| head -c 0")
    ),
    *(("SIGINT", interrupted, (name, stage)) for name in INTERRUPTED for stage in range(STAGES)),
]
TOTAL = len(TRIALS)


def run_batch(number: int) -> Tally:
    kind, trial, arguments = TRIALS[number]
    tally = Tally()
    tally.trial(kind, *(f"{arguments}: {problem}" for problem in trial(*arguments)))
    return tally
