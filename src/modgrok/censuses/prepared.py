"""Tables of a census, ready to train on: with the order of residues in which periodicity is measured.

That takes about a hundredth of a second each, a tenth where the order is hard to find. So beside a GPU processes of
their own make them, in the order in which they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Int

from modgrok.algebra.expression import parse, variables
from modgrok.censuses.families import make_table
from modgrok.inspection.order import Order, function_order, table_order

PREPARING_PROCESSES = 8
"""More would take the cores from the compiler, which everything waits for in the beginning."""

TableKey = tuple[str, int, int]
"""Family, modulus and seed."""


class PreparedTable(NamedTuple):
    """A table, and the order of residues in which the periodicity of networks on it is measured, as training would."""

    expression: str | None
    values: Int[np.ndarray, "row"]
    order: Order


@lru_cache(maxsize=4096)
def prepared(family: str, modulus: int, table_seed: int) -> PreparedTable:
    """The table that (family, modulus, seed) stands for, ready to train on."""
    table = make_table(family, modulus, table_seed)
    if table.expression is not None and len(variables(parse(table.expression, modulus))) == table.values.ndim:
        order = function_order(table.expression, modulus)
    else:
        order = table_order(table.values)
    return PreparedTable(table.expression, table.values.reshape(-1).astype(np.int32), order)


class PreparedAhead:
    """Tables that are made while others train, where there is a GPU; elsewhere there is no core to spare."""

    def __init__(self, keys: Sequence[TableKey]) -> None:
        self.pool = preparing_processes() if jax.default_backend() == "gpu" else None
        self.tables = {} if self.pool is None else {key: self.pool.submit(prepared, *key) for key in keys}

    def of(self, keys: Sequence[TableKey]) -> dict[TableKey, PreparedTable]:
        """Those of these tables that are made elsewhere, as soon as they are there."""
        return {key: self.tables[key].result() for key in keys if key in self.tables}

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)


def preparing_processes() -> ProcessPoolExecutor:
    """A few processes, which leave the GPU alone; a process that holds one must not be forked."""
    workers = min(PREPARING_PROCESSES, max(1, (os.cpu_count() or 1) - 2))
    return ProcessPoolExecutor(workers, get_context("spawn"), leave_the_gpu_alone)


def leave_the_gpu_alone() -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
