"""Symmetries of a table: permutations of rows, columns and values that carry the table to itself.

A symmetry (ρ, κ, ν) has f(ρ(a), κ(b)) = ν(f(a, b)). Symmetries are found by individualisation and refinement: give one
row the same new colour on both sides of the hoped-for map, refine the colours of rows, columns and values by
what they meet until they are stable, and branch while some class has more than one member. Colours are
hashes that do not depend on the numbering of lines, so two sides that disagree prove that no symmetry exists; a
collision can only make classes coarser. What is found is compared with the table cell by cell.

Full tables. If the reduced table has m rows and m columns, x and y are onto Z_m, and "add 1 to x, take 1 from y"
is a symmetry with ν = 1 that is one m-cycle on rows and one on columns. Conversely such a symmetry gives x and y by
walking the cycles. If m is a prime, every symmetry x -> x + d is such a cycle, so it is enough to look for
those that take row 0 to row 1.

Counting with symmetry: when the bounds on fibres leave little room, symmetries say where the room is not.

Let the bounds add up to m - k, so that at most k fibres exceed their bound. If k + 1 symmetries of the table carry a
set C of values to disjoint sets, one of those sets has every fibre at its bound; applying the inverse of its
symmetry to the whole solution gives a solution in which all of C is at its bound. So it is enough to refute that,
with one search whose ceilings on C are its bounds.

For x³-like maps the scalings (a, b) -> (λa, μb) are such symmetries, and C takes one value of each of their orbits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt64

from modgrok.algebra.field import is_prime
from modgrok.separable.budget import Budget, LimitReached, steps_for
from modgrok.separable.procedures.search import Solution, search
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Table
from modgrok.separable.verdict import Refutation

Colours = list[UInt64[np.ndarray, "_"]]
"""Colours of the rows, of the columns and of the values; each list has a length of its own."""

ROWS, COLUMNS, VALUES = 0, 1, 2

ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93], dtype=np.uint64)
FRESH = np.array([0xA0761D6478BD642F], dtype=np.uint64)


class Symmetry(NamedTuple):
    rows: Int[np.ndarray, "row"]
    columns: Int[np.ndarray, "column"]
    values: Int[np.ndarray, "value"]


def mix(a: UInt64[np.ndarray, "..."]) -> UInt64[np.ndarray, "..."]:
    a = (a ^ (a >> np.uint64(32))) * ODD[2]
    a = (a ^ (a >> np.uint64(29))) * ODD[1]
    return np.asarray(a ^ (a >> np.uint64(32)))


class Symmetries:
    """Enumerates symmetries of one table of values numbered 0, 1, …; with `fix_values` only those with ν = 1."""

    def __init__(self, cells: Table, budget: Budget, *, fix_values: bool) -> None:
        self.cells, self.budget, self.fix_values = cells, budget, fix_values
        self.count = int(cells.max()) + 1
        self.by_value = np.argsort(cells, axis=None, kind="stable")
        self.value_starts = np.searchsorted(cells.ravel()[self.by_value], np.arange(self.count))

    def carrying(self, part: int, source: int, target: int) -> Iterator[Symmetry]:
        """Symmetries that take line (or value) `source` of the given part to `target`."""
        left, right = self._start(), self._start()
        left[part][source] = right[part][target] = FRESH[0]
        refined = self._refine(left, right)
        if refined is not None:
            yield from self._extend(*refined)

    def value_classes(self) -> list[list[int]]:
        """Classes of values that no symmetry leaves, the largest first: unions of orbits."""
        refined = self._refine(self._start(), self._start())
        assert refined is not None, "a table matches itself"
        colours = refined[0][VALUES]
        classes = [np.flatnonzero(colours == colour).tolist() for colour in np.unique(colours)]
        return sorted(classes, key=len, reverse=True)

    def _start(self) -> Colours:
        rows, columns = self.cells.shape
        values = np.arange(1, 1 + self.count, dtype=np.uint64) if self.fix_values else np.ones(self.count, np.uint64)
        return [np.ones(rows, np.uint64), np.ones(columns, np.uint64), mix(values * ODD[0])]

    def _step(self, colours: Colours) -> Colours:
        rows, columns, values = colours
        seen = mix(values * ODD[2])[self.cells]
        rows = mix(rows * ODD[0] + mix(seen + columns[None, :] * ODD[1]).sum(axis=1))
        columns = mix(columns * ODD[1] + mix(seen + rows[:, None] * ODD[0]).sum(axis=0))
        if not self.fix_values:
            met = mix(rows[:, None] * ODD[0] + columns[None, :] * ODD[1]).ravel()[self.by_value]
            values = mix(values * ODD[2] + np.add.reduceat(met, self.value_starts))
        return [rows, columns, values]

    def _refine(self, left: Colours, right: Colours) -> tuple[Colours, Colours] | None:
        """Both sides refined in step until the classes are stable; None when they cannot match."""
        classes = 0
        while True:
            self.budget.spend(steps_for(2 * self.cells.size))
            left, right = self._step(left), self._step(right)
            ordered = [(np.sort(a), np.sort(b)) for a, b in zip(left, right, strict=True)]
            if any((a != b).any() for a, b in ordered):
                return None
            before, classes = classes, sum(1 + int((a[1:] != a[:-1]).sum()) for a, _ in ordered)
            if classes == before:
                return left, right

    def _extend(self, left: Colours, right: Colours) -> Iterator[Symmetry]:
        """Every symmetry that respects the colours, by a depth-first walk over individualised lines."""
        stack = [(left, right)]
        while stack:
            left, right = stack.pop()
            part, colour = self._smallest_class(left)
            if part is None:
                symmetry = self._read(left, right)
                if symmetry is not None:
                    yield symmetry
                continue
            source = np.flatnonzero(left[part] == colour)[0]
            for target in np.flatnonzero(right[part] == colour):
                new_left, new_right = [c.copy() for c in left], [c.copy() for c in right]
                new_left[part][source] = new_right[part][target] = mix(colour + FRESH)[0]
                refined = self._refine(new_left, new_right)
                if refined is not None:
                    stack.append(refined)

    def _smallest_class(self, colours: Colours) -> tuple[int | None, np.uint64]:
        for part in (ROWS, COLUMNS):
            found, sizes = np.unique(colours[part], return_counts=True)
            if len(found) < len(colours[part]):
                return part, found[np.where(sizes > 1, sizes, sizes.max() + 1).argmin()]
        return None, np.uint64(0)

    def _read(self, left: Colours, right: Colours) -> Symmetry | None:
        """The map between discrete colourings, if it is a symmetry."""
        rows, columns = (match(left[part], right[part]) for part in (ROWS, COLUMNS))
        image = self.cells[np.ix_(rows, columns)]
        values = np.empty(self.count, dtype=np.int64)
        values[self.cells] = image
        if (values[self.cells] != image).any() or len(np.unique(values)) < self.count:
            return None
        if self.fix_values and (values != np.arange(self.count)).any():
            return None
        return Symmetry(rows, columns, values)


def match(left: UInt64[np.ndarray, "line"], right: UInt64[np.ndarray, "line"]) -> Int[np.ndarray, "line"]:
    """The permutation that takes each colour of `left` to its place in `right`."""
    permutation = np.empty(len(left), dtype=np.int64)
    permutation[np.argsort(left)] = np.argsort(right)
    return permutation


def single_cycle(permutation: Int[np.ndarray, "line"]) -> Int[np.ndarray, "line"] | None:
    """The lines in the order 0, ρ(0), ρ(ρ(0)), … if that is all of them."""
    cycle = [0]
    while (k := int(permutation[cycle[-1]])) != 0:
        cycle.append(k)
    return np.array(cycle) if len(cycle) == len(permutation) else None


def decide_full(cells: Table, budget: Budget) -> Solution | Refutation:
    """A solution for a table with m rows and m columns in Z_m, or the certificate that there is none."""
    m = len(cells)
    symmetries = Symmetries(cells, budget, fix_values=True)
    for target in [1] if is_prime(m) else range(1, m):
        for rows, columns, _ in symmetries.carrying(ROWS, 0, target):
            row_cycle, column_cycle = single_cycle(rows), single_cycle(columns)
            if row_cycle is None or column_cycle is None:
                continue
            x, y = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
            x[row_cycle] = np.arange(m)
            y[column_cycle] = -np.arange(m) % m
            return Solution(x, y)
    return {"kind": "no-cyclic-automorphism"}


MOST_SLACK = 16
FIRST_NODES, MORE_NODES = 32, 2
"""Nodes that the first core gets, and by how much each later core has more: many cores are tried, none for long."""


def refute_by_symmetry(cells: Table, group: Group, need: np.ndarray, budget: Budget) -> Refutation | Solution | None:
    """A certificate (or, by luck, a solution); None if the table lacks symmetries."""
    slack = group.order - int(need.sum())
    if not 0 < slack <= MOST_SLACK:
        return None
    chosen = spreading_symmetries(cells, slack + 1, budget)
    if chosen is None:
        return None
    images = np.stack([symmetry.values for symmetry in chosen])
    rng = np.random.default_rng(0)
    nodes = FIRST_NODES
    while True:
        core = random_core(images, rng)
        ceiling = np.full_like(need, group.order)
        ceiling[core] = need[core]
        for transposed in (False, True):
            try:
                result = search(cells, group, need, transposed, budget.part(nodes * steps_for(cells.size)), ceiling)
            except LimitReached:
                budget.check()
                continue
            if isinstance(result, Solution):
                return result
            permutations = [[part.tolist() for part in symmetry] for symmetry in chosen]
            return result | {"kind": "symmetry", "symmetries": permutations, "core": core}
        nodes += MORE_NODES


def spreading_symmetries(cells: Table, count: int, budget: Budget) -> list[Symmetry] | None:
    """`count` symmetries, the first of them the identity, that take some value to different values."""
    symmetries = Symmetries(cells, budget, fix_values=False)
    for orbit in symmetries.value_classes():
        found: list[Symmetry] = []
        for target in orbit:
            found.extend(islice(symmetries.carrying(VALUES, orbit[0], target), 1))
            if len(found) == count:
                return found
    return None


def random_core(images: np.ndarray, rng: np.random.Generator) -> list[int]:
    """Values, as many as a random order allows, whose images under all the symmetries are different."""
    used: set[int] = set()
    core = []
    for v in rng.permutation(images.shape[1]):
        orbit = set(images[:, v].tolist())
        if len(orbit) == len(images) and not orbit & used:
            used |= orbit
            core.append(int(v))
    return sorted(core)
