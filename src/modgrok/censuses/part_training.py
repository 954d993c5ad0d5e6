"""Train the parts of a census: a part's rows as a pure function, and what keeps a device busy with them.

While one part trains, the programs of later parts are compiled in threads, and rows of finished parts are handed over
to be written. Beside a GPU, processes of their own make tables and find their orders of residues, in the order in which
they are needed: about a hundredth of a second each, a tenth where the order is hard to find.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache, lru_cache
from multiprocessing import get_context
from types import MappingProxyType
from typing import NamedTuple

import jax
import numpy as np
import pyarrow as pa
from jaxtyping import Int

from modgrok.algebra.expression import parse, variables
from modgrok.censuses import store
from modgrok.censuses.families import is_file, make_table
from modgrok.censuses.parts import Part
from modgrok.censuses.plan import CensusNetwork
from modgrok.inspection.order import Order, function_order, table_order
from modgrok.training.config import hyper
from modgrok.training.ensemble import OnDevice, train_ensemble
from modgrok.training.steps import Metrics, Shape

TRAINING_THREADS = {"cpu": 1, "gpu": 2}
"""Parts on the device at once: with a second one a GPU never waits for the host."""
COMPILING_THREADS = {"cpu": 1, "gpu": 4}
PREPARING_PROCESSES = 4
"""More would take the cores from the compiler, which everything waits for in the beginning."""


class PreparedTable(NamedTuple):
    """A table, and the order of residues in which the periodicity of networks on it is measured, as training would."""

    expression: str | None
    values: Int[np.ndarray, "row"]
    order: Order


TableKey = tuple[str, int, int]
"""Family, modulus and seed."""


class TrainedPart(NamedTuple):
    """The rows of a part, who trained it, and when its device did, by that process's clock (`time.monotonic`)."""

    rows: pa.Table
    worker: str
    stretches: tuple[tuple[float, float], ...]


class Work(NamedTuple):
    """A part to train, the steps at which to measure, and tables that a worker elsewhere cannot make itself."""

    part: Part
    steps: tuple[int, ...]
    tables: Mapping[TableKey, PreparedTable] = MappingProxyType({})


def train_part(work: Work) -> TrainedPart:
    """The rows of a part, from nothing but the part: what a worker of a cluster does."""
    part, steps, known = work
    tables = [known[key] if (key := table_key(member)) in known else prepared(*key) for member in part.members]
    compile_ahead(part.shape, part.size)
    return trained(part, tables, steps)


def trained(part: Part, tables: Sequence[PreparedTable], steps: tuple[int, ...]) -> TrainedPart:
    stretches: list[tuple[float, float]] = []
    metrics = part_metrics(part, tables, steps, lambda *stretch: stretches.append(stretch))
    rows = rows_of(part.members, tables, metrics, steps)
    return TrainedPart(rows, f"{platform.node()} {os.getpid()}", tuple(stretches))


class LocalWorkers:
    """Trains parts on the default device of this process; futures end in the order in which parts are submitted."""

    devices = 1

    def __init__(self, todo: Sequence[Part]) -> None:
        device = jax.default_backend()
        self.window = TRAINING_THREADS.get(device, 2) + 1
        self.training = ThreadPoolExecutor(TRAINING_THREADS.get(device, 2), "training")
        self.compiling = ThreadPoolExecutor(COMPILING_THREADS.get(device, 4), "compiling")
        programs = dict.fromkeys((part.shape, part.size) for part in todo)
        self.programs = {program: self.compiling.submit(compile_ahead, *program) for program in programs}
        self.preparing = preparing_processes() if device == "gpu" else None
        needed = dict.fromkeys(table_key(member) for part in todo for member in part.members)
        self.prepared = {key: self.preparing.submit(prepared, *key) for key in needed} if self.preparing else {}

    def submit(self, work: Work) -> Future[TrainedPart]:
        return self.training.submit(self.train, work)

    def train(self, work: Work) -> TrainedPart:
        part, steps, _ = work
        tables = [self.table(table_key(member)) for member in part.members]
        self.programs[part.shape, part.size].result()
        return trained(part, tables, steps)

    def table(self, key: TableKey) -> PreparedTable:
        return self.prepared[key].result() if self.preparing else prepared(*key)

    def close(self) -> None:
        """Give up what has not begun; parts in training come to their end."""
        for pool in (self.compiling, self.training, self.preparing):
            if pool is not None:
                pool.shutdown(cancel_futures=True)


def preparing_processes() -> ProcessPoolExecutor:
    """A few processes, which leave the GPU alone; a process that holds one must not be forked."""
    workers = min(PREPARING_PROCESSES, max(1, (os.cpu_count() or 1) - 2))
    return ProcessPoolExecutor(workers, get_context("spawn"), leave_the_gpu_alone)


def leave_the_gpu_alone() -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


@cache
def compile_ahead(shape: Shape, networks: int) -> None:
    """Compile what all parts of this program run: training it for no step at all does."""
    settings = hyper(seed=np.zeros(networks), train_rows=shape.train_rows)
    train_ensemble(shape, settings, np.zeros((networks, shape.rows), np.int32), steps=0)


def part_metrics(
    part: Part, tables: Sequence[PreparedTable], steps: tuple[int, ...], on_device: OnDevice | None = None
) -> Metrics:
    """Train the networks of a part, filled up to its size with the last one."""
    filling = part.size - len(part.members)
    members, known = [*part.members, *[part.members[-1]] * filling], [*tables, *[tables[-1]] * filling]
    settings = hyper(
        **{
            name: np.array([getattr(member, name) for member in members])
            for name in ("seed", "train_rows", "learning_rate", "weight_decay")
        }
    )
    values, orders = np.stack([table.values for table in known]), [table.order for table in known]
    metrics, _ = train_ensemble(part.shape, settings, values, steps=steps, orders=orders, on_device=on_device)
    return Metrics(*(numbers[: len(part.members)] for numbers in metrics))


def tables_in_files(part: Part) -> dict[TableKey, PreparedTable]:
    """The tables of a part that lie in files, which other machines may not have."""
    return {key: prepared(*key) for key in map(table_key, part.members) if is_file(key[0])}


def table_key(network: CensusNetwork) -> TableKey:
    return network.family, network.modulus, network.table_seed


@lru_cache(maxsize=4096)
def prepared(family: str, modulus: int, table_seed: int) -> PreparedTable:
    """The table that (family, modulus, seed) stands for, ready to train on."""
    table = make_table(family, modulus, table_seed)
    if table.expression is not None and len(variables(parse(table.expression, modulus))) == table.values.ndim:
        order = function_order(table.expression, modulus)
    else:
        order = table_order(table.values)
    return PreparedTable(table.expression, table.values.reshape(-1).astype(np.int32), order)


def rows_of(
    members: Sequence[CensusNetwork], tables: Sequence[PreparedTable], metrics: Metrics, steps: tuple[int, ...]
) -> pa.Table:
    """One row for each network and measured step."""
    about = [
        member._asdict() | {"train_rows": member.train_rows, "expression": table.expression, "steps": step}
        for member, table in zip(members, tables, strict=True)
        for step in steps
    ]
    columns = {
        name: pa.array([row["number" if name == "network" else name] for row in about], store.ROWS.field(name).type)
        for name in store.SETTINGS.names
    }
    measured = {
        name: pa.array(np.asarray(values).reshape(-1), store.ROWS.field(name).type, from_pandas=True)
        for name, values in metrics._asdict().items()
    }
    return pa.table(columns | measured, schema=store.ROWS)
