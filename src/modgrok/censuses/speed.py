"""How full a census keeps the device: networks per second, and the share of the time in which steps are taken.

The plan mixes moduli, widths and shares of the table, as censuses do, and everything counts that a census waits for:
making tables, compiling (unless `compilation_cache` has the programs), moving data, writing rows. Two measures of the
device's share are independent of each other: `device_share` is this process's, from the call of a program to its end;
`kernel_share` is what the driver of an NVIDIA GPU says, the share of the time in which any kernel ran: those that the
compiler tries out count there too.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import numpy as np
import pyarrow as pa

from modgrok.base.errors import InputError
from modgrok.base.files import write_json
from modgrok.base.machine import Machine, machine
from modgrok.base.progress import Progress
from modgrok.base.provenance import UNKNOWN, Made, provenance
from modgrok.base.results import Result
from modgrok.censuses import store
from modgrok.censuses.plan import CensusPlan, load_plan, plan_from
from modgrok.censuses.runner import train_missing
from modgrok.experiments.engine import PartReport

FAMILIES = {"two-monomials": 2, "composed-sum": 1, "random": 1}
"""Families of the usual plan, and their shares of its tables."""
USUAL = {
    "cpu": (8, {"moduli": [23, 13, 7], "widths": [100, 50], "fractions": [0.3, 0.5, 0.7]}, 1000),
    "gpu": (160, {"moduli": [113, 97, 61, 43, 23, 11], "widths": [500, 250], "fractions": [0.3, 0.5, 0.7]}, 1000),
}
"""Tables, settings and steps of the usual plan: a minute of two CPU cores, or of a large GPU."""
READINGS_PER_SECOND = 5


@dataclass(frozen=True, repr=False)
class CensusBenchmark(Result):
    """What a census reached; `finished` says whether there was time for all of it.

    `seconds_to_first_part` passed until the first part was there: tables made, its program compiled and run.
    `teraflops` are the useful ones a second, two for each weight of a training row, forward once and backward twice.
    """

    machine: Machine
    plan: CensusPlan
    finished: bool
    networks: int
    programs: int
    networks_per_second: float
    network_steps_per_second: float
    teraflops: float
    device_share: float
    kernel_share: float | None
    seconds_to_first_part: float
    files: tuple[Path, ...]
    seconds: float
    provenance: Made = (UNKNOWN,)

    def summary(self) -> str:
        return (
            f"{self.networks_per_second:.3g} networks a second, {self.device_share:.0%} of the time in training; "
            f"{self.machine.device}"
        )


def bench_census(
    plan: str | Path | CensusPlan | None = None,
    *,
    time_limit: float = inf,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> CensusBenchmark:
    """Train a census on this machine, keep none of it, and say how fast it was and how busy the device.

    Arguments:
        plan: a TOML file or a plan; one that mixes moduli, widths and shares of the table if not given.
        time_limit: seconds of training, as for `mg.census`.
        out: a JSON file to write the result to.
        progress: called with the networks that are trained.

    >>> settings = {"moduli": [5], "widths": [4], "fractions": [0.5]}
    >>> found = bench_census(plan_from({"steps": 2, "tables": {"random": 3}, "settings": [settings]}))
    >>> found.networks, found.finished, 0 < found.device_share < 1
    (3, True, True)
    """
    if not time_limit > 0:
        raise InputError(f"a time limit must be above 0 seconds, got {time_limit}")
    if plan is None:
        plan = usual_plan()
    elif not isinstance(plan, CensusPlan):
        plan = load_plan(Path(plan))
    began, reports = time.perf_counter(), list[PartReport]()

    def report(done: PartReport) -> None:
        reports.append(done)
        if progress is not None:
            progress(done.networks_done, done.networks_total)

    with TemporaryDirectory() as folder, kernel_readings() as readings:
        trained = train_missing(plan, Path(folder) / "census", time_limit=time_limit, on_part=report)
        rows = store.read_rows(Path(folder) / "census")
    files = () if out is None else (Path(out),)
    steps = plan.steps[-1]
    result = CensusBenchmark(
        machine("jax"),
        plan,
        trained.finished,
        trained.networks,
        len({report.part.shape for report in reports}),
        trained.networks / trained.seconds,
        trained.networks * steps / trained.seconds,
        useful_work(rows, steps) / trained.seconds / 1e12,
        trained.device_share or 0.0,
        statistics.fmean(readings) / 100 if readings else None,
        reports[0].elapsed,
        files,
        trained.seconds,
        (provenance(began, {"time_limit": time_limit if time_limit < inf else None}, "modgrok.censuses.speed"),),
    )
    for path in files:
        write_json(path, result.to_json())
    return result


def useful_work(rows: pa.Table, steps: int) -> float:
    """Multiplications and additions of the networks that were trained; padding does not count."""
    last = rows.filter(np.asarray(rows["steps"]) == steps)
    sizes = [np.asarray(last[name], np.float64) for name in ("train_rows", "width", "modulus")]
    return 6.0 * steps * float(np.prod(sizes, axis=0).sum())


def usual_plan() -> CensusPlan:
    """The plan for the device of this process; what costs most comes first, as in the large census."""
    tables, settings, steps = USUAL["cpu" if jax.default_backend() == "cpu" else "gpu"]
    counts = {family: share * tables // sum(FAMILIES.values()) for family, share in FAMILIES.items()}
    return plan_from({"steps": steps, "fill": 0.1, "tables": counts, "settings": [settings]})


@contextmanager
def kernel_readings() -> Iterator[list[float]]:
    """Percentages of time in which the first NVIDIA GPU ran kernels, several a second; none where there is no GPU."""
    readings: list[float] = []
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--id=0"]
    if jax.default_backend() != "gpu":
        yield readings
        return
    try:
        process = subprocess.Popen(
            [*command, f"--loop-ms={1000 // READINGS_PER_SECOND}"], stdout=subprocess.PIPE, text=True
        )
    except OSError:
        yield readings
        return
    try:
        yield readings
    finally:
        process.terminate()
        lines = process.communicate()[0].split()
        readings += [float(line) for line in lines if line.isdigit()]
