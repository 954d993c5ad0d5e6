"""Training speed, side by side in one run: modgrok against the loops that people write (`training.contenders`).

Contenders take turns within each round, so that whatever else the machine does meets all of them; the figure of each
is the median over rounds, in network-steps per second. Loops that train one network at a time have the same figure for
any number of networks.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax

from modgrok.base.errors import InputError
from modgrok.base.files import write_json
from modgrok.base.progress import Progress
from modgrok.base.results import Result
from modgrok.training.contenders import ONE_AT_A_TIME, OURS, Case, Train, contenders

CPU_CASES = (Case(97, 500, 1), Case(97, 500, 4), Case(23, 500, 1), Case(23, 500, 16))
GPU_CASES = tuple(Case(97, 500, n) for n in (1, 16, 128)) + tuple(Case(23, 500, n) for n in (1, 128, 1024))
MOST_ROUNDS, LONGEST = 1000, 3600


@dataclass(frozen=True)
class Contender:
    """What one loop reached in one case; `by_round` has its network-steps per second in each round."""

    network_steps_per_second: float
    modgrok_is_faster_by: float
    by_round: tuple[float, ...]
    loss_after_20_steps: float


@dataclass(frozen=True)
class CaseResult:
    """One case: every contender by its name."""

    modulus: int
    width: int
    networks: int
    contenders: Mapping[str, Contender]


@dataclass(frozen=True)
class Machine:
    """Where it was measured, and with which versions."""

    device: str
    processor: str
    cores: int | None
    system: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class BenchSettings:
    """How it was measured: `seconds` is the time of a contender in a round."""

    rounds: int
    seconds: float
    unit: str = "network-steps per second, median over rounds"


@dataclass(frozen=True, repr=False)
class Benchmark(Result):
    """What the contenders reached in each case; `files` is what was written."""

    machine: Machine
    settings: BenchSettings
    cases: tuple[CaseResult, ...]
    files: tuple[Path, ...]
    seconds: float

    @property
    def contenders(self) -> tuple[str, ...]:
        """The names of all that took part in any case."""
        fullest = max(self.cases, key=lambda case: len(case.contenders))
        return tuple(fullest.contenders)

    def summary(self) -> str:
        parts = []
        for case in self.cases:
            others = [c.modgrok_is_faster_by for name, c in case.contenders.items() if name not in OURS]
            parts.append(f"p={case.modulus} width {case.width} × {case.networks}: {min(others):.2f} ×")
        return f"modgrok against the fastest other loop, {self.machine.device}: {', '.join(parts)}"


def bench(
    what: str = "train",
    *,
    cases: Sequence[Case] | None = None,
    rounds: int = 5,
    seconds: float = 1.0,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Benchmark:
    """Time modgrok and the loops that people write, side by side, on this machine.

    Arguments:
        what: what to time; "train" is all there is.
        cases: modulus, width and number of networks of each case; some usual ones if not given.
        rounds: rounds in which the contenders take turns.
        seconds: time of a contender in a round.
        out: a JSON file to write the result to.
        progress: called after every round.

    Returns:
        A `Benchmark`: for each case, every contender's network-steps per second and loss.

    >>> found = bench(cases=[Case(5, 4, 1)], rounds=1, seconds=0.001)
    >>> found.contenders[:2], found.cases[0].contenders["modgrok"].modgrok_is_faster_by
    (('modgrok', 'jax vmap scan'), 1.0)
    """
    started = time.perf_counter()
    if what != "train":
        raise InputError(f"bench times train, got {what!r}")
    if not (1 <= rounds <= MOST_ROUNDS and 0 < seconds <= LONGEST):
        raise InputError(
            f"bench takes 1 to {MOST_ROUNDS:,} rounds of at most {LONGEST:,} seconds, got {rounds} of {seconds:g}; "
            "5 of 1 are usual"
        )
    if cases is None:
        cases = CPU_CASES if jax.default_backend() == "cpu" else GPU_CASES
    if not cases:
        raise InputError("bench needs at least one case, such as Case(97, 500, 16)")
    found, done = [], 0
    for case in cases:
        trains = {name: make(case) for name, make in contenders(case).items()}
        losses = {name: train(20) for name, train in trains.items()}
        steps = {name: calibrated_steps(train, seconds) for name, train in trains.items()}
        rates: dict[str, list[float]] = {name: [] for name in trains}
        for _ in range(rounds):
            for name, train in trains.items():
                networks = 1 if name in ONE_AT_A_TIME else case.networks
                rates[name].append(networks * steps[name] / timed(train, steps[name]))
            done += 1
            if progress:
                progress(done, rounds * len(cases))
        found.append(case_result(case, rates, losses))
    files = () if out is None else (Path(out),)
    settings, took = BenchSettings(rounds, seconds), time.perf_counter() - started
    result = Benchmark(machine(), settings, tuple(found), files, took)
    for path in files:
        write_json(path, result.to_json())
    return result


def calibrated_steps(train: Train, seconds: float) -> int:
    """How many steps take about that long: doubled until they take a quarter of it."""
    steps = 2
    while (took := timed(train, steps)) < seconds / 4:
        steps *= 2
    return max(1, round(steps * seconds / took))


def timed(train: Train, steps: int) -> float:
    start = time.perf_counter()
    train(steps)
    return time.perf_counter() - start


def case_result(case: Case, rates: Mapping[str, list[float]], losses: Mapping[str, float]) -> CaseResult:
    medians = {name: statistics.median(values) for name, values in rates.items()}
    found = {
        name: Contender(medians[name], medians["modgrok"] / medians[name], tuple(rates[name]), losses[name])
        for name in rates
    }
    return CaseResult(case.modulus, case.width, case.networks, found)


def machine() -> Machine:
    versions = {"jax": jax.__version__}
    if importlib.util.find_spec("torch") is not None:
        import torch

        versions["torch"] = torch.__version__
    return Machine(
        device=jax.devices()[0].device_kind,
        processor=processor_name(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        system=platform.platform(),
        versions=versions,
    )


def processor_name() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
