"""Run a census: its parts are trained one after the other, and a finished part is on disk before it is reported.

Where a census is killed has no influence on its rows: parts follow from the plan alone (`censuses.parts`), a part is a
file that is either whole or absent, and what is on disk is not trained again. Workers return rows and this process
alone writes: a folder, or a slice of it, belongs to one process (`modgrok.base.locks`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import NamedTuple

from modgrok.base.errors import InputError
from modgrok.base.locks import locked
from modgrok.base.progress import Progress
from modgrok.base.ray_workers import RayWorkers, check_ray
from modgrok.base.results import Result
from modgrok.base.stores import set_aside
from modgrok.base.workers import Workers, in_window
from modgrok.censuses import annotation, store
from modgrok.censuses.part_training import LocalWorkers, TrainedPart, Work, tables_in_files, train_part
from modgrok.censuses.parts import Part, parts, slice_numbers, slice_of, work
from modgrok.censuses.plan import CensusPlan, load_plan
from modgrok.training.ensemble import check_memory
from modgrok.training.steps import Shape


class PartReport(NamedTuple):
    """A part that has just been written. `networks_*` counts all that were asked for, the rest what this call does."""

    shape: Shape
    networks: int
    networks_done: int
    networks_total: int
    networks_trained: int
    work_done: float
    work_total: float
    elapsed: float

    @property
    def seconds_left(self) -> float:
        return self.elapsed * (self.work_total - self.work_done) / max(self.work_done, 1.0)

    @property
    def networks_per_second(self) -> float:
        return self.networks_trained / max(self.elapsed, 1e-9)


OnPart = Callable[[PartReport], None]


class Training(NamedTuple):
    """What one call trained, and the share of its time in which devices took steps."""

    finished: bool
    networks: int
    seconds: float
    device_share: float | None


@dataclass(frozen=True, repr=False)
class CensusRun(Result):
    """A census: its folder, how many of the planned networks are there, and whether all that were asked for are.

    `networks_trained`, `networks_per_second` and `device_share`, the share of the time in which the device took steps
    (on average, of several devices), are those of this call; null where there was nothing left to train.
    """

    folder: Path
    files: tuple[Path, ...]
    networks: int
    planned: int
    finished: bool
    networks_trained: int
    networks_per_second: float | None
    device_share: float | None
    seconds: float

    def summary(self) -> str:
        left = "" if self.finished else "; the same call goes on with the others"
        return f"{self.networks:,} of {self.planned:,} networks are in {self.folder}{left}"


def census(
    plan: str | Path | CensusPlan,
    out: str | Path = "census",
    *,
    part: str | None = None,
    time_limit: float = inf,
    annotate: bool = True,
    ray: str | None = None,
    on_part: OnPart | None = None,
    progress: Progress | None = None,
) -> CensusRun:
    """Train every network of a plan that is not in the folder yet; a census that was stopped goes on.

    Arguments:
        plan: a TOML file (see `modgrok.censuses.plan`), or a plan.
        out: the folder of the census; it belongs to one plan.
        part: "K/N" trains slice K of N and annotates nothing, so that N machines can share a census.
        time_limit: seconds of training; no part begins that would end later, were it to last as long as the last one.
        annotate: whether to add verdicts and complexities to the rows in the end.
        ray: "local", "auto" or HOST:PORT trains on a Ray cluster (docs/cluster.md); without, in this process.
        on_part: called after every part that has been written.
        progress: called with the networks that are trained, then with the rows that are annotated.

    Returns:
        A `CensusRun`: how many networks there are, and the files that hold them.

    >>> from tempfile import TemporaryDirectory
    >>> from modgrok.censuses.plan import plan_from
    >>> settings = {"moduli": [5], "widths": [4], "fractions": [0.5]}
    >>> plan = plan_from({"steps": 2, "tables": {"random": 3}, "settings": [settings]})
    >>> with TemporaryDirectory() as folder:
    ...     run = census(plan, folder)
    >>> run.networks, run.finished
    (3, True)
    """
    started, folder = time.perf_counter(), Path(out)
    if not time_limit > 0:
        raise InputError(f"a time limit must be above 0 seconds, got {time_limit}")
    if not isinstance(plan, CensusPlan):
        plan = load_plan(Path(plan))
    check_ray(ray)

    def report(done: PartReport) -> None:
        if on_part is not None:
            on_part(done)
        if progress is not None:
            progress(done.networks_done, done.networks_total)

    own = None if part is None else "{}-of-{}".format(*slice_numbers(part))
    with locked(folder, own):
        trained = train_missing(plan, folder, part=part, time_limit=time_limit, ray=ray, on_part=report)
        if part is None and annotate:
            annotation.annotate_missing(folder, progress=progress)
        elif part is None and trained.networks:
            store.gather(folder)
    return CensusRun(
        folder,
        (folder / store.WHOLE,) if part is None else store.files(folder),
        len(store.finished_networks(folder)),
        plan.size(),
        trained.finished,
        trained.networks,
        trained.networks / trained.seconds if trained.networks else None,
        trained.device_share,
        time.perf_counter() - started,
    )


def train_missing(
    plan: CensusPlan,
    folder: Path,
    *,
    part: str | None = None,
    time_limit: float = inf,
    ray: str | None = None,
    on_part: OnPart | None = None,
) -> Training:
    """Train the parts that are missing in the folder, until the plan or its slice is done or the time is over."""
    began = time.monotonic()
    asked = parts(plan) if part is None else slice_of(parts(plan), plan.steps[-1], part)
    if ray is None:
        for shape in {part.shape for part in asked}:
            check_memory(shape)
    store.claim(plan, folder)
    store.set_damaged_aside(plan, folder)
    todo = unfinished_parts(asked, folder)
    ledger = Ledger(asked, todo, plan.steps[-1], began)
    if not todo:
        return ledger.training(True, 1)

    def unfinished() -> Iterator[Work]:
        """Parts to begin: those that no other process has finished meanwhile, while there is time."""
        for p in todo:
            if store.part_path(folder, p.number).exists():
                ledger.leave(p)
            elif p is todo[0] or ledger.in_time(time_limit):
                yield Work(p, plan.steps) if ray is None else Work(p, plan.steps, tables_in_files(p))
            else:
                return

    workers: Workers[Work, TrainedPart] = LocalWorkers(todo) if ray is None else RayWorkers(train_part, ray)
    try:
        for work, trained in in_window(workers, unfinished()):
            store.write_rows(store.part_path(folder, work.part.number), trained.rows)
            report = ledger.enter(work.part, trained)
            if on_part is not None:
                on_part(report)
        devices = workers.devices
    finally:
        workers.close()
    return ledger.training(ledger.left == 0, devices)


def unfinished_parts(asked: Sequence[Part], folder: Path) -> list[Part]:
    """The parts that have networks to train; a file that bears a part's name but lacks its networks is set aside."""
    while True:
        finished = store.finished_networks(folder)
        todo = [part for part in asked if not all(member.number in finished for member in part.members)]
        wrong = [path for part in todo if (path := store.part_path(folder, part.number)).exists()]
        if not wrong:
            return todo
        for path in wrong:
            set_aside(path, "it lacks networks of its part")


class Ledger:
    """What a call has trained so far, and how long it took."""

    def __init__(self, asked: Sequence[Part], todo: Sequence[Part], steps: int, began: float) -> None:
        self.steps, self.began, self.last = steps, began, began
        self.total = sum(len(part.members) for part in asked)
        self.done = self.total - sum(len(part.members) for part in todo)
        self.left, self.trained = len(todo), 0
        self.work_total, self.work_done = sum(map(self.work, todo)), 0.0
        self.took = 0.0
        self.stretches: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def work(self, part: Part) -> float:
        return work(part.shape, self.steps) * part.size

    def in_time(self, limit: float) -> bool:
        return time.monotonic() - self.began + self.took <= limit

    def leave(self, part: Part) -> None:
        """Another process finished this part."""
        self.done, self.left, self.work_total = (
            self.done + len(part.members),
            self.left - 1,
            self.work_total - self.work(part),
        )

    def enter(self, part: Part, trained: TrainedPart) -> PartReport:
        """A part that has just been written."""
        networks, now = len(part.members), time.monotonic()
        self.took, self.last = now - self.last, now
        self.done, self.left, self.trained = self.done + networks, self.left - 1, self.trained + networks
        self.work_done += self.work(part)
        self.stretches[trained.worker] += trained.stretches
        return PartReport(
            part.shape, networks, self.done, self.total, self.trained, self.work_done, self.work_total, now - self.began
        )

    def training(self, finished: bool, devices: int) -> Training:
        """Clocks of different machines do not agree, so that only the stretches of one worker may be compared."""
        seconds = time.monotonic() - self.began
        busy = sum(map(covered, self.stretches.values()))
        return Training(finished, self.trained, seconds, busy / (seconds * devices) if self.trained else None)


def covered(stretches: Iterable[tuple[float, float]]) -> float:
    """How much time some stretches cover, which may overlap.

    >>> covered([(5, 6), (0, 2), (1, 3)])
    4.0
    """
    found, until = 0.0, -inf
    for began, ended in sorted(stretches):
        found += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return found
