"""Run a census: networks of equal shape train side by side, and every finished chunk is on disk before the next.

Where a census is killed has no influence on its rows: a network is a function of its settings, chunks are files that
are either whole or absent, and what is on disk is not trained again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from modgrok.algebra.expression import parse, variables
from modgrok.censuses import annotation, store
from modgrok.censuses.families import Table, make_table
from modgrok.censuses.plan import CensusNetwork, CensusPlan, load_plan
from modgrok.errors import InputError
from modgrok.inspection.order import Order, function_order, table_order
from modgrok.progress import Progress
from modgrok.results import Result
from modgrok.training import ensemble
from modgrok.training.config import hyper
from modgrok.training.steps import Metrics, Shape

LARGEST_CHUNK = 144
"""Most networks in a chunk: what a kill can lose at most."""


class ChunkReport(NamedTuple):
    """A chunk that has just been written; `work_*` counts in multiply-adds, which take about equal time."""

    shape: Shape
    networks: int
    seconds: float
    networks_done: int
    networks_total: int
    work_done: float
    work_total: float
    elapsed: float

    @property
    def seconds_left(self) -> float:
        return self.elapsed * (self.work_total - self.work_done) / max(self.work_done, 1.0)


OnChunk = Callable[[ChunkReport], None]


@dataclass(frozen=True, repr=False)
class CensusRun(Result):
    """A census: its folder, how many of the planned networks are trained, and whether these are all."""

    folder: Path
    files: tuple[Path, ...]
    networks: int
    planned: int
    finished: bool
    seconds: float

    def summary(self) -> str:
        left = "" if self.finished else "; the same call goes on with the others"
        return f"{self.networks:,} of {self.planned:,} networks are in {self.folder}{left}"


def census(
    plan: str | Path | CensusPlan,
    out: str | Path = "census",
    *,
    time_limit: float = inf,
    annotate: bool = True,
    on_chunk: OnChunk | None = None,
    progress: Progress | None = None,
) -> CensusRun:
    """Train every network of a plan that is not in the folder yet; a census that was stopped goes on.

    Arguments:
        plan: a TOML file (see `modgrok.censuses.plan`), or a plan.
        out: the folder of the census; it belongs to one plan.
        time_limit: seconds of training, looked at after every chunk of networks.
        annotate: whether to add verdicts and complexities to the rows in the end.
        on_chunk: called after every chunk that has been written.
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

    def report(chunk: ChunkReport) -> None:
        if on_chunk is not None:
            on_chunk(chunk)
        if progress is not None:
            progress(chunk.networks_done, chunk.networks_total)

    finished = train_missing(plan, folder, time_limit=time_limit, on_chunk=report)
    if annotate:
        annotation.annotate(folder, progress=progress)
    networks = len(store.finished_networks(folder))
    return CensusRun(folder, store.files(folder), networks, plan.size(), finished, time.perf_counter() - started)


def train_missing(plan: CensusPlan, folder: Path, *, time_limit: float = inf, on_chunk: OnChunk | None = None) -> bool:
    """Train what is missing in the folder, until the plan is done or the time is over; says whether it is done.

    The limit is looked at after every chunk: the next one begins if it would end in time, were it to last as long.
    """
    began = time.monotonic()
    store.claim(plan, folder)
    networks = list(plan.networks())
    finished = store.finished_networks(folder)
    missing = [network for network in networks if network.number not in finished]
    total, done, count = sum(work(network) for network in missing), 0.0, len(finished)
    for shape, group in groupby(missing, key=lambda network: network.shape):
        members = list(group)
        started = time.monotonic()
        for chunk in train(shape, members, plan.steps):
            part = members[chunk.first : chunk.first + len(chunk.metrics.train_loss)]
            store.write_chunk(folder, chunk_rows(part, chunk.metrics, plan.steps))
            done, count, now = done + sum(map(work, part)), count + len(part), time.monotonic()
            took = now - started
            if on_chunk is not None:
                on_chunk(ChunkReport(shape, len(part), took, count, len(networks), done, total, now - began))
            if now - began + took > time_limit and count < len(networks):
                return False
            started = now
    return True


def work(network: CensusNetwork) -> float:
    """Multiply-adds of one step of a network, up to a constant."""
    return float(network.shape.train_rows) * network.width * network.modulus


def train(shape: Shape, members: list[CensusNetwork], steps: tuple[int, ...]) -> Iterator[ensemble.Chunk]:
    """The chunks of the members of one shape, at most `LARGEST_CHUNK` networks each."""
    settings = hyper(
        seed=np.array([member.seed for member in members]),
        train_rows=shape.train_rows,
        learning_rate=np.array([member.learning_rate for member in members]),
        weight_decay=np.array([member.weight_decay for member in members]),
    )
    tables = np.stack([table_of(member).values.reshape(-1) for member in members])
    memory = min(ensemble.device_memory(), LARGEST_CHUNK * ensemble.network_bytes(shape))
    orders = [order_of(member.family, member.modulus, member.table_seed) for member in members]
    return ensemble.train_chunks(shape, settings, tables, steps=steps, orders=orders, memory=memory)


@lru_cache(maxsize=4096)
def order_of(family: str, modulus: int, table_seed: int) -> Order:
    """The order of residues in which the periodicity of networks on this table is measured, as training would."""
    table = make_table(family, modulus, table_seed)
    if table.expression is not None and len(variables(parse(table.expression, modulus))) == table.values.ndim:
        return function_order(table.expression, modulus)
    return table_order(table.values)


def table_of(network: CensusNetwork) -> Table:
    return make_table(network.family, network.modulus, network.table_seed)


def chunk_rows(members: list[CensusNetwork], metrics: Metrics, steps: tuple[int, ...]) -> pa.Table:
    """One row for each network and measured step."""
    about = [
        member._asdict()
        | {"train_rows": member.shape.train_rows, "expression": table_of(member).expression, "steps": step}
        for member in members
        for step in steps
    ]
    columns = {
        name: pa.array([row["number" if name == "network" else name] for row in about], store.ROWS.field(name).type)
        for name in store.SETTINGS.names
    }
    measured = {
        name: pa.array(values.reshape(-1), store.ROWS.field(name).type, from_pandas=True)
        for name, values in metrics._asdict().items()
    }
    return pa.table(columns | measured, schema=store.ROWS)
