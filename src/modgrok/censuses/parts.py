"""The parts of a census: they follow from the plan alone, not from what is missing, not from the machine.

Networks of one model train in one compiled program, padded to the largest training set among them, where that wastes
little: the plan's `fill` is the least share of that set which a network must have of its own.

A plan with `shuffle` is meant to be stopped: the networks of a program are shuffled, and programs take turns, so that
whatever has been trained is a sample of the whole. Its parts are larger, since they change programs all the time.

Tables of a census, ready to train on: with the order of residues in which periodicity is measured.

That takes about a hundredth of a second each, a tenth where the order is hard to find. So beside a GPU processes of
their own make them, in the order in which they are needed.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing import get_context
from typing import Any, NamedTuple

import jax
import numpy as np
import pyarrow as pa
from jaxtyping import Int

from modgrok.algebra.expression import parse
from modgrok.algebra.trees import variables
from modgrok.censuses.families import is_own, make_table
from modgrok.censuses.plan import CensusNetwork, CensusPlan
from modgrok.censuses.store import ROWS, SETTINGS
from modgrok.experiments.part import Part, work
from modgrok.inspection.order import Order, function_order, table_order
from modgrok.training.config import Ensemble, hyper
from modgrok.training.presets import DEFAULTS, preset
from modgrok.training.settings import TRACED
from modgrok.training.steps import Metrics, Shape

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


LARGEST_PART = 1024
"""Most networks of a part."""
PART_WORK = 4e13
"""Most multiplications and additions of a part: about a second of a large GPU, some minutes of two CPU cores."""
SHUFFLED_WORK = 8 * PART_WORK
"""The same of a part of a shuffled plan."""
LEAST_PARTS = 32
"""A small census has about this many, to be shared out and to lose little."""
PART_BYTES = 8e9
"""Most memory of a part, by the hidden activations of whole tables."""
VARIED = ("seed", "train_rows", "learning_rate", "weight_decay")
"""Hyper-parameters that the networks of a census differ in."""


@dataclass(frozen=True)
class CensusPart(Part):
    """A part of a census; `tables` are those that need not, or cannot, be made where it trains."""

    members: tuple[CensusNetwork, ...]
    tables: Mapping[TableKey, PreparedTable] = field(default_factory=dict)

    @property
    def keys(self) -> list[TableKey]:
        return [(member.family, member.modulus, member.table_seed) for member in self.members]

    def prepared(self) -> list[PreparedTable]:
        """The table of each network."""
        return [self.tables[key] if key in self.tables else prepared(*key) for key in self.keys]

    def with_files(self) -> CensusPart:
        """With the tables that lie in files, which other machines may not have."""
        return replace(self, tables={key: prepared(*key) for key in self.keys if is_own(key[0])})

    def ensemble(self) -> Ensemble:
        tables = self.prepared()
        usual = preset(self.members[0].model, DEFAULTS["optimiser"])
        settings: dict[str, Any] = {name: usual[name] for name in TRACED}
        settings |= {name: np.array([getattr(member, name) for member in self.members]) for name in VARIED}
        return Ensemble(
            self.shape, hyper(**settings), np.stack([table.values for table in tables]), [t.order for t in tables]
        )

    def rows(self, metrics: Metrics) -> pa.Table:
        """One row for each network and measured step."""
        about = [
            member._asdict()
            | {"network": member.number, "train_rows": member.train_rows, "expression": table.expression, "steps": step}
            | self.program
            for member, table in zip(self.members, self.prepared(), strict=True)
            for step in self.steps
        ]
        columns = {field.name: pa.array([row[field.name] for row in about], field.type) for field in SETTINGS}
        measured = {
            name: pa.array(np.asarray(values).reshape(-1), ROWS.field(name).type, from_pandas=True)
            for name, values in metrics._asdict().items()
        }
        return pa.table(columns | measured, schema=ROWS)


def parts(plan: CensusPlan) -> list[CensusPart]:
    """Every part of a plan, in the order of their first networks' programs; of a shuffled one, in turns."""
    found: list[CensusPart] = []
    turns: list[float] = []
    programs = shared_programs(plan)
    total = sum(work(shape, plan.steps[-1]) * len(members) for shape, members in programs.items())
    most = min(SHUFFLED_WORK if plan.shuffle else PART_WORK, total / LEAST_PARTS)
    for shape, members in programs.items():
        if plan.shuffle:
            members = [members[k] for k in np.random.default_rng(len(members)).permutation(len(members))]
        size = part_size(shape, len(members), plan.steps[-1], most)
        for first in range(0, len(members), size):
            own = tuple(members[first : first + size])
            numbers = tuple(member.number for member in own)
            found.append(CensusPart(len(found), shape, size, plan.steps, numbers, own))
            turns.append(first / len(members))
    if plan.shuffle:
        found = [replace(found[k], number=turn) for turn, k in enumerate(np.argsort(turns, kind="stable").tolist())]
    return found


def shared_programs(plan: CensusPlan) -> dict[Shape, list[CensusNetwork]]:
    """The networks of each compiled program: those of a model, modulus and width with training sets of similar size."""
    networks = defaultdict(list)
    for network in plan.networks():
        networks[(network.model, network.modulus, network.width), network.train_rows].append(network)
    rows: dict[tuple[str, int, int], set[int]] = defaultdict(set)
    for sized, train_rows in networks:
        rows[sized].add(train_rows)
    largest = {sized: padded_rows(counts, plan.fill) for sized, counts in rows.items()}
    programs: dict[Shape, list[CensusNetwork]] = defaultdict(list)
    for (sized, train_rows), members in networks.items():
        shape = replace(members[0].shape, train_rows=largest[sized][train_rows])
        programs[shape].extend(members)
    return programs


def padded_rows(counts: Iterable[int], fill: float) -> dict[int, int]:
    """For each number of training rows, that of the program which serves it.

    >>> padded_rows([10, 30, 50, 70, 90], 0.5)
    {90: 90, 70: 90, 50: 90, 30: 30, 10: 10}
    """
    found: dict[int, int] = {}
    largest = 0
    for count in sorted(counts, reverse=True):
        if count < fill * largest or not largest:
            largest = count
        found[count] = largest
    return found


def part_size(shape: Shape, networks: int, steps: int, most: float) -> int:
    """How many networks train side by side: as many as the limits allow, in parts of nearly equal size."""
    numbers = shape.model.activations() // 4 + shape.model.classes
    limits = (LARGEST_PART, most / work(shape, steps), PART_BYTES / (16 * shape.rows * numbers))
    count = -(-networks // max(1, int(min(limits))))
    return -(-networks // count)
