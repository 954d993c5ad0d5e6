"""Train the parts of a census: a part's rows as a pure function, and the threads that keep a device busy with them.

While one part trains, the next one's tables and orders of residues are made, the programs of later parts are compiled,
and rows of finished parts are handed over to be written.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np
import pyarrow as pa

from modgrok.algebra.expression import parse, variables
from modgrok.censuses import store
from modgrok.censuses.families import Table, make_table
from modgrok.censuses.parts import Part
from modgrok.censuses.plan import CensusNetwork
from modgrok.inspection.order import Order, function_order, table_order
from modgrok.training.config import hyper
from modgrok.training.ensemble import train_ensemble
from modgrok.training.steps import Metrics

TRAINING_THREADS = {"cpu": 1, "gpu": 2}
"""Parts on the device at once: with a second one a GPU never waits for the host."""
COMPILING_THREADS = {"cpu": 1, "gpu": 4}


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

    def submit(self, part: Part) -> Future[TrainedPart]:
        return self.training.submit(self.train, part)

    def train(self, part: Part) -> TrainedPart:
        self.programs[part.shape].result()
        began = time.monotonic()
        rows = part_rows(part, self.steps)
        return TrainedPart(rows, began, time.monotonic())

    def close(self) -> None:
        """Give up what has not begun; parts in training come to their end."""
        for pool in (self.compiling, self.training):
            pool.shutdown(cancel_futures=True)


def compile_ahead(part: Part) -> None:
    """Compile what all parts of this program run: training it for no step at all does."""
    settings = hyper(seed=np.zeros(part.size), train_rows=part.shape.train_rows)
    train_ensemble(part.shape, settings, np.zeros((part.size, part.shape.rows), np.int32), steps=0)


def part_rows(part: Part, steps: tuple[int, ...]) -> pa.Table:
    """The rows of a part: one for each network and measured step."""
    members = [*part.members, *[part.members[-1]] * (part.size - len(part.members))]
    settings = hyper(
        **{
            name: np.array([getattr(member, name) for member in members])
            for name in ("seed", "train_rows", "learning_rate", "weight_decay")
        }
    )
    tables = np.stack([table_of(member).values.reshape(-1) for member in members])
    orders = [order_of(member.family, member.modulus, member.table_seed) for member in members]
    metrics, _ = train_ensemble(part.shape, settings, tables, steps=steps, orders=orders)
    own = Metrics(*(values[: len(part.members)] for values in metrics))
    return rows_of(part.members, own, steps)


@lru_cache(maxsize=4096)
def order_of(family: str, modulus: int, table_seed: int) -> Order:
    """The order of residues in which the periodicity of networks on this table is measured, as training would."""
    table = make_table(family, modulus, table_seed)
    if table.expression is not None and len(variables(parse(table.expression, modulus))) == table.values.ndim:
        return function_order(table.expression, modulus)
    return table_order(table.values)


def table_of(network: CensusNetwork) -> Table:
    return make_table(network.family, network.modulus, network.table_seed)


def rows_of(members: Sequence[CensusNetwork], metrics: Metrics, steps: tuple[int, ...]) -> pa.Table:
    """One row for each network and measured step."""
    about = [
        member._asdict() | {"train_rows": member.train_rows, "expression": table_of(member).expression, "steps": step}
        for member in members
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
