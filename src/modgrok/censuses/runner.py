"""The verb census: thousands of trainings of a plan, trained where they are missing and annotated in the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from modgrok.base.errors import InputError
from modgrok.base.locks import locked
from modgrok.base.progress import Progress
from modgrok.base.provenance import UNKNOWN, Made
from modgrok.base.results import Result
from modgrok.censuses import annotation, store
from modgrok.censuses.law_check import columns_of
from modgrok.censuses.outcomes import learned_words
from modgrok.censuses.parts import CensusPart, PreparedAhead, parts
from modgrok.censuses.plan import CensusPlan, load_plan
from modgrok.experiments.elsewhere import check_address, workers_at
from modgrok.experiments.engine import OnPart, PartReport, Training, train_parts
from modgrok.experiments.executors import LocalWorkers, train_compiled
from modgrok.experiments.part import TrainedPart, slice_numbers, slice_of
from modgrok.experiments.workers import Workers
from modgrok.training.ensemble import check_memory


@dataclass(frozen=True, repr=False)
class CensusRun(Result):
    """A census: its folder, how many of the planned networks are there, and whether all that were asked for are.

    `networks_trained`, `networks_per_second` and `device_share`, the share of the time in which the device took steps
    (on average, of several devices), are those of this call; null where there was nothing left to train.
    `words` says how many networks grokked; it is empty for a slice.
    """

    folder: Path
    files: tuple[Path, ...]
    networks: int
    planned: int
    finished: bool
    networks_trained: int
    networks_per_second: float | None
    device_share: float | None
    words: str
    seconds: float
    provenance: Made = (UNKNOWN,)

    def summary(self) -> str:
        left = "" if self.finished else "; the same call trains the others"
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
    check_address(ray)

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
            store.stored(folder).gather()
    kept = store.stored(folder)
    return CensusRun(
        folder,
        (folder / store.WHOLE,) if part is None else kept.files(),
        len(kept.finished()),
        plan.size(),
        trained.finished,
        trained.networks,
        trained.networks / trained.seconds if trained.networks else None,
        trained.device_share,
        learned_words(columns_of(store.read_rows(folder))) if part is None and kept.finished() else "",
        time.perf_counter() - started,
        kept.made(),
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
    asked = parts(plan) if part is None else slice_of(parts(plan), part)
    if ray is None:
        for shape in {part.shape for part in asked}:
            check_memory(shape)
    kept = store.claim(plan, folder)
    todo = kept.unfinished(asked)
    if not todo:
        return Training(True, 0, time.monotonic() - began, None, 0)
    workers: Workers[CensusPart, TrainedPart]
    workers = CensusWorkers(todo) if ray is None else workers_at(ray, train_compiled)
    packed = None if ray is None else CensusPart.with_files
    with closing(workers):
        return train_parts(
            asked, todo, kept, workers, began=began, time_limit=time_limit, on_part=on_part, packed=packed
        )


class CensusWorkers(LocalWorkers[CensusPart]):
    """Threads of this process, and beside a GPU processes that make the tables."""

    def __init__(self, todo: Sequence[CensusPart]) -> None:
        super().__init__(todo)
        self.ahead = PreparedAhead(list(dict.fromkeys(key for part in todo for key in part.keys)))

    def prepared(self, part: CensusPart) -> CensusPart:
        return replace(part, tables=self.ahead.of(part.keys))

    def close(self) -> None:
        super().close()
        self.ahead.close()
