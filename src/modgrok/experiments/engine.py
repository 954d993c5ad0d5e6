"""The engine of an experiment: its parts are given out, kept as they come back, and reported.

Where an experiment is killed has no influence on its rows: parts are fixed, a part's file is either whole or absent,
and what is there is not trained again. Workers return rows and this process alone writes: a folder, or a slice of it,
belongs to one process (`modgrok.base.locks`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from modgrok.experiments.part import AnyPart, Part, TrainedPart
from modgrok.experiments.row_store import RowStore
from modgrok.experiments.workers import Workers, in_window


class PartReport(NamedTuple):
    """A part that has just been kept. `networks_*` counts all that were asked for, the rest what this call does."""

    part: Part
    networks_done: int
    networks_total: int
    networks_trained: int
    work_done: float
    work_total: float
    elapsed: float

    @property
    def networks(self) -> int:
        return len(self.part.networks)

    @property
    def seconds_left(self) -> float:
        return self.elapsed * (self.work_total - self.work_done) / max(self.work_done, 1.0)

    @property
    def networks_per_second(self) -> float:
        return self.networks_trained / max(self.elapsed, 1e-9)


OnPart = Callable[[PartReport], None]


class Training(NamedTuple):
    """What one call trained, the share of its time in which devices took steps, and the programs that it compiled."""

    finished: bool
    networks: int
    seconds: float
    device_share: float | None
    compilations: int


def train_parts(
    asked: Sequence[AnyPart],
    todo: Sequence[AnyPart],
    store: RowStore,
    workers: Workers[AnyPart, TrainedPart],
    *,
    began: float | None = None,
    time_limit: float = inf,
    on_part: OnPart | None = None,
    packed: Callable[[AnyPart], AnyPart] | None = None,
) -> Training:
    """Train the parts `todo` of those that were `asked` for, until they are done or the time since `began` is over.

    No part begins that would end after the limit, were it to last as long as the last one. `packed` is a part as it
    goes on its way, with what a worker elsewhere cannot make itself.
    """
    ledger = Ledger(asked, todo, time.monotonic() if began is None else began)

    def to_begin() -> Iterator[AnyPart]:
        """Those that no other process has finished meanwhile, while there is time."""
        for part in todo:
            if store.has(part):
                ledger.leave(part)
            elif part is todo[0] or ledger.in_time(time_limit):
                yield part if packed is None else packed(part)
            else:
                return

    for part, trained in in_window(workers, to_begin()):
        store.keep(part, trained)
        report = ledger.enter(part, trained)
        if on_part is not None:
            on_part(report)
    return ledger.training(workers.devices)


class Ledger:
    """What a call has trained so far, and how long it took."""

    def __init__(self, asked: Sequence[Part], todo: Sequence[Part], began: float) -> None:
        self.began, self.last = began, began
        self.total = sum(len(part.networks) for part in asked)
        self.done = self.total - sum(len(part.networks) for part in todo)
        self.left, self.trained, self.compilations = len(todo), 0, 0
        self.work_total, self.work_done = sum(part.cost for part in todo), 0.0
        self.took = 0.0
        self.stretches: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def in_time(self, limit: float) -> bool:
        return time.monotonic() - self.began + self.took <= limit

    def leave(self, part: Part) -> None:
        """Another process finished this part."""
        self.done += len(part.networks)
        self.left -= 1
        self.work_total -= part.cost

    def enter(self, part: Part, trained: TrainedPart) -> PartReport:
        """A part that has just been kept."""
        networks, now = len(part.networks), time.monotonic()
        self.took, self.last = now - self.last, now
        self.done, self.left, self.trained = self.done + networks, self.left - 1, self.trained + networks
        self.work_done += part.cost
        self.compilations += trained.compilations
        self.stretches[trained.worker] += trained.stretches
        return PartReport(part, self.done, self.total, self.trained, self.work_done, self.work_total, now - self.began)

    def training(self, devices: int) -> Training:
        """Clocks of different machines do not agree, so that only the stretches of one worker may be compared."""
        seconds = time.monotonic() - self.began
        share = sum(map(covered, self.stretches.values())) / (seconds * devices) if self.trained else None
        return Training(self.left == 0, self.trained, seconds, share, self.compilations)


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
