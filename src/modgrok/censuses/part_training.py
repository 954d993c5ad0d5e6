"""Train the parts of a census: a part's rows as a pure function, and what keeps a device busy with them.

While one part trains, the programs of later parts are compiled in threads, and rows of finished parts are handed over
to be written. Tables and their orders of residues take as long on one core as a GPU takes to train on them, so beside
a GPU processes of their own make them, in the order in which they are needed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from typing import NamedTuple

import jax
import numpy as np
import pyarrow as pa
from jaxtyping import Int

from modgrok.algebra.expression import parse, variables
from modgrok.censuses import store
from modgrok.censuses.families import make_table
from modgrok.censuses.parts import Part
from modgrok.censuses.plan import CensusNetwork
from modgrok.inspection.order import Order, function_order, table_order
from modgrok.training.config import hyper
from modgrok.training.ensemble import train_ensemble
from modgrok.training.steps import Metrics

TRAINING_THREADS = {"cpu": 1, "gpu": 2}
"""Parts on the device at once: with a second one a GPU never waits for the host."""
COMPILING_THREADS = {"cpu": 1, "gpu": 4}


class PreparedTable(NamedTuple):
    """A table, and the order of residues in which the periodicity of networks on it is measured, as training would."""

    expression: str | None
    values: Int[np.ndarray, "row"]
    order: Order


class TrainedPart(NamedTuple):
    """The rows of a part, and when the device was busy with it, on this process's clock."""

    rows: pa.Table
    began: float
    ended: float


class LocalExecutor:
    """Trains parts on the default device of this process; futures end in the order in which parts are submitted."""

    def __init__(self, todo: Sequence[Part], steps: tuple[int, ...]) -> None:
        device = jax.default_backend()
        self.steps = steps
        self.window = TRAINING_THREADS.get(device, 2) + 1
        self.training = ThreadPoolExecutor(TRAINING_THREADS.get(device, 2), "training")
        self.compiling = ThreadPoolExecutor(COMPILING_THREADS.get(device, 4), "compiling")
        firsts = {part.shape: part for part in reversed(todo)}
        shapes = dict.fromkeys(part.shape for part in todo)
        self.programs = {shape: self.compiling.submit(compile_ahead, firsts[shape]) for shape in shapes}
        self.preparing = preparing_processes() if device == "gpu" else None
        needed = dict.fromkeys(table_key(member) for part in todo for member in part.members)
        self.prepared = {key: self.preparing.submit(prepared, *key) for key in needed} if self.preparing else {}

    def submit(self, part: Part) -> Future[TrainedPart]:
        return self.training.submit(self.train, part)

    def train(self, part: Part) -> TrainedPart:
        tables = [self.table(table_key(member)) for member in part.members]
        self.programs[part.shape].result()
        began = time.monotonic()
        metrics = part_metrics(part, tables, self.steps)
        ended = time.monotonic()
        return TrainedPart(rows_of(part.members, tables, metrics, self.steps), began, ended)

    def table(self, key: TableKey) -> PreparedTable:
        return self.prepared[key].result() if self.preparing else prepared(*key)

    def close(self) -> None:
        """Give up what has not begun; parts in training come to their end."""
        for pool in (self.compiling, self.training, self.preparing):
            if pool is not None:
                pool.shutdown(cancel_futures=True)


def preparing_processes() -> ProcessPoolExecutor:
    """Processes for all cores but two, which leave the GPU alone; a process that holds one must not be forked."""
    workers = max(1, (os.cpu_count() or 1) - 2)
    return ProcessPoolExecutor(workers, get_context("spawn"), leave_the_gpu_alone)


def leave_the_gpu_alone() -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


def compile_ahead(part: Part) -> None:
    """Compile what all parts of this program run: training it for no step at all does."""
    settings = hyper(seed=np.zeros(part.size), train_rows=part.shape.train_rows)
    train_ensemble(part.shape, settings, np.zeros((part.size, part.shape.rows), np.int32), steps=0)


def part_metrics(part: Part, tables: Sequence[PreparedTable], steps: tuple[int, ...]) -> Metrics:
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
    metrics, _ = train_ensemble(part.shape, settings, values, steps=steps, orders=orders)
    return Metrics(*(numbers[: len(part.members)] for numbers in metrics))


TableKey = tuple[str, int, int]


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
