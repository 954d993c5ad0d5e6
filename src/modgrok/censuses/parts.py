"""The parts of a census: networks that train side by side, are written as one file, and are lost together if killed.

Parts follow from the plan alone: not from what is missing, not from the machine. A network's numbers depend in their
last bits on how many others train beside it, so only with fixed parts does a census that was stopped, moved or shared
out have the rows of one that was not.

Networks of one model train in one compiled program, padded to the largest training set among them, where that wastes
little: the plan's `fill` is the least share of that set which a network must have of its own. All parts of a program
have the same number of networks; the last one is filled up with copies when it trains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from modgrok.base.errors import InputError
from modgrok.censuses.plan import CensusNetwork, CensusPlan
from modgrok.training.steps import Shape

LARGEST_PART = 1024
"""Most networks of a part."""
PART_WORK = 4e13
"""Most multiplications and additions of a part: about a second of a large GPU, some minutes of two CPU cores."""
LEAST_PARTS = 32
"""A small census has about this many, to be shared out and to lose little."""
PART_BYTES = 8e9
"""Most memory of a part, by the hidden activations of whole tables."""


class Part(NamedTuple):
    """Networks of one program; `size` is the number of networks that it trains side by side."""

    number: int
    shape: Shape
    size: int
    members: tuple[CensusNetwork, ...]


def parts(plan: CensusPlan) -> list[Part]:
    """Every part of a plan, in the order of their first networks' programs."""
    found: list[Part] = []
    programs = shared_programs(plan)
    total = sum(work(shape, plan.steps[-1]) * len(members) for shape, members in programs.items())
    for shape, members in programs.items():
        size = part_size(shape, len(members), plan.steps[-1], total)
        for first in range(0, len(members), size):
            found.append(Part(len(found), shape, size, tuple(members[first : first + size])))
    return found


def shared_programs(plan: CensusPlan) -> dict[Shape, list[CensusNetwork]]:
    """The networks of each compiled program: those of a modulus and width whose training sets are of similar size."""
    networks = defaultdict(list)
    for network in plan.networks():
        networks[network.modulus, network.width, network.train_rows].append(network)
    rows: dict[tuple[int, int], set[int]] = defaultdict(set)
    for modulus, width, train_rows in networks:
        rows[modulus, width].add(train_rows)
    largest = {model: padded_rows(counts, plan.fill) for model, counts in rows.items()}
    programs: dict[Shape, list[CensusNetwork]] = defaultdict(list)
    for (modulus, width, train_rows), members in networks.items():
        shape = replace(members[0].shape, train_rows=largest[modulus, width][train_rows])
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


def work(shape: Shape, steps: int) -> float:
    """Multiplications and additions of a training: two for each weight of a row, forward once and backward twice."""
    return 6.0 * steps * shape.train_rows * shape.model.width * shape.model.classes


def part_size(shape: Shape, networks: int, steps: int, total: float) -> int:
    """How many networks train side by side: as many as the limits allow, in parts of nearly equal size."""
    rows, width, classes = shape.rows, shape.model.width, shape.model.classes
    limits = (
        LARGEST_PART,
        min(PART_WORK, total / LEAST_PARTS) / work(shape, steps),
        PART_BYTES / (16 * rows * (width + classes)),
    )
    count = -(-networks // max(1, int(min(limits))))
    return -(-networks // count)


def slice_numbers(text: str) -> tuple[int, int]:
    """K and N of "K/N"."""
    try:
        k, n = (int(word) for word in text.split("/"))
    except ValueError:
        k, n = 0, 0
    if not 1 <= k <= n:
        raise InputError(f"a part is K/N, slice K of N with 1 <= K <= N, for example 3/8; got {text!r}")
    return k, n


def slice_of(whole: list[Part], steps: int, text: str) -> list[Part]:
    """Slice K of N of the parts, "K/N": neighbours, which share programs, and about as much work as in any other."""
    k, n = slice_numbers(text)
    costs = [work(part.shape, steps) * part.size for part in whole]
    total, before, chosen = sum(costs), 0.0, []
    for part, cost in zip(whole, costs, strict=True):
        if min(n, 1 + int(n * (before + cost / 2) / total)) == k:
            chosen.append(part)
        before += cost
    return chosen
