"""Run a census: networks of equal shape train side by side, and every finished chunk is on disk before the next.

Where a census is killed has no influence on its rows: a network is a function of its settings, chunks are files that
are either whole or absent, and what is on disk is not trained again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from modgrok.census import store
from modgrok.census.families import Table, make_table
from modgrok.census.plan import CensusNetwork, CensusPlan
from modgrok.training import ensemble
from modgrok.training.steps import Metrics, Shape, hyper

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


def run_census(
    plan: CensusPlan,
    folder: Path,
    *,
    time_limit: float = float("inf"),
    on_chunk: Callable[[ChunkReport], None] = lambda report: None,
) -> bool:
    """Train what is missing in the folder, until the plan is done or the time is over; says whether it is done.

    The limit is looked at after every chunk: the next one begins if it would end in time, were it to last as long.
    """
    began = time.monotonic()
    store.claim_folder(plan, folder)
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
    return ensemble.train_chunks(shape, settings, tables, steps=steps, memory=memory)


def table_of(network: CensusNetwork) -> Table:
    return make_table(network.family, network.modulus, network.table_seed)


def chunk_rows(members: list[CensusNetwork], metrics: Metrics, steps: tuple[int, ...]) -> pa.Table:
    """One row a network and measured step."""
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
