"""Truth about tables by going through all placements: is f = h(g1 + g2 + …) over Z_m1 × Z_m2 × …, with ∞ or without?
Or, of two variables, h(g1 · g2) over a group that is not abelian, by its name (`PERMUTATIONS`)?

Plain Python that shares nothing with the package. Lines get places one after the other, and h its values as sums come
up; each axis may be shifted, so its first line that is not at ∞ stands at 0. Cells below 0 are unknown.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from random_words import products as products_of

MOST_NODES = 300_000


class TooLarge(Exception):
    """More placements than this file goes through."""


Group = tuple[int, ...] | str
"""Orders of cyclic factors, or a name."""
PERMUTATIONS = {
    "S3": ((1, 2, 0), (1, 0, 2)),
    "D4": ((1, 2, 3, 0), (3, 2, 1, 0)),
    "Q8": ((2, 3, 1, 0, 6, 7, 5, 4), (4, 5, 7, 6, 1, 0, 2, 3)),
    "D5": ((1, 2, 3, 4, 0), (4, 3, 2, 1, 0)),
    "A4": ((1, 2, 0, 3), (1, 0, 3, 2)),
    "D6": ((1, 2, 3, 4, 5, 0), (5, 4, 3, 2, 1, 0)),
    "Dic3": ((1, 2, 0, 3, 4, 5, 6), (1, 0, 2, 4, 5, 6, 3)),
    "D7": ((1, 2, 3, 4, 5, 6, 0), (6, 5, 4, 3, 2, 1, 0)),
}
"""Generators of all groups of order up to 15 that are not abelian."""
ORDERS = {"S3": 6, "D4": 8, "Q8": 8, "D5": 10, "A4": 12, "D6": 12, "Dic3": 12, "D7": 14}
ABELIAN = {4: [(2, 2)], 8: [(2, 4), (2, 2, 2)], 9: [(3, 3)], 12: [(2, 6)]}
"""Abelian ones that are not cyclic."""
LARGEST_KNOWN = 15


def every_group(order: int) -> list[Group]:
    return [(order,), *ABELIAN.get(order, []), *(name for name, size in ORDERS.items() if size == order)]


def order_of(group: Group) -> int:
    return ORDERS[group] if isinstance(group, str) else prod(group)


@lru_cache(maxsize=16)
def permuted(name: str) -> list[list[int]]:
    """The products of the permutations that the generators make."""
    generators = PERMUTATIONS[name]
    elements = [tuple(range(len(generators[0])))]
    for x in elements:
        for g in generators:
            if (y := tuple(x[k] for k in g)) not in elements:
                elements.append(y)
    assert len(elements) == ORDERS[name]
    return [[elements.index(tuple(x[k] for k in y)) for y in elements] for x in elements]


@lru_cache(maxsize=256)
def group_table(moduli: Group) -> list[list[int]]:
    """Sums in the group; the last element is ∞."""
    if isinstance(moduli, str):
        size = ORDERS[moduli]
        return [[*row, size] for row in permuted(moduli)] + [[size] * (size + 1)]
    elements = list(product(*map(range, moduli)))
    number = {element: k for k, element in enumerate(elements)}
    infinity = len(elements)
    table = [
        [number[tuple((i + j) % m for i, j, m in zip(a, b, moduli, strict=True))] for b in elements] + [infinity]
        for a in elements
    ]
    return [*table, [infinity] * (infinity + 1)]


def in_class(table: np.ndarray, moduli: Group, absorbing: bool) -> bool | None:
    """Whether the table is of the form; None where that would take too long to find out."""
    return searched(table.tobytes(), table.shape, str(table.dtype), moduli, absorbing)


@lru_cache(maxsize=1 << 16)
def searched(content: bytes, shape: tuple[int, ...], dtype: str, moduli: Group, absorbing: bool) -> bool | None:
    table = np.frombuffer(content, dtype).reshape(shape)
    complete = bool((table >= 0).all())
    if complete:  # equal lines may share a place, and others may not
        for axis in range(table.ndim):
            table = np.unique(table, axis=axis)
        if max(table.shape) > order_of(moduli) + absorbing:
            return False
    elif order_of(moduli) > 64:
        return None
    try:
        return Placing(table, moduli, absorbing, complete).possible()
    except TooLarge:
        return None


class Placing:
    def __init__(self, table: np.ndarray, moduli: Group, absorbing: bool, distinct: bool) -> None:
        self.sums, self.order = group_table(moduli), order_of(moduli)
        self.absorbing, self.distinct, self.nodes = absorbing, distinct, 0
        self.lines = [(axis, k) for k in range(max(table.shape)) for axis in range(table.ndim) if k < table.shape[axis]]
        self.places: list[list[int]] = [[-1] * size for size in table.shape]
        self.h = [-1] * (self.order + 1)
        self.met = self.cells_by_line(table)

    def cells_by_line(self, table: np.ndarray) -> list[list[tuple[tuple[tuple[int, int], ...], int]]]:
        """For each line, the known cells in which it meets lines that were placed before it, and their values."""
        turn = {line: number for number, line in enumerate(self.lines)}
        found: list[list[tuple[tuple[tuple[int, int], ...], int]]] = [[] for _ in self.lines]
        for cell in product(*map(range, table.shape)):
            if (value := int(table[cell])) >= 0:
                last = max(enumerate(cell), key=turn.__getitem__)
                found[turn[last]].append((tuple(line for line in enumerate(cell) if line != last), value))
        return found

    def possible(self, number: int = 0) -> bool:
        if number == len(self.lines):
            return True
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise TooLarge
        axis, k = self.lines[number]
        before = self.places[axis][:k]
        somewhere = range(self.order) if any(place < self.order for place in before) else range(1)
        for place in (*somewhere, *([self.order] if self.absorbing else [])):
            if self.distinct and place in before:
                continue
            self.places[axis][k] = place
            given: list[int] = []
            fits = all(self.agrees((axis, k), lines, value, given) for lines, value in self.met[number])
            if fits and self.possible(number + 1):
                return True
            for total in given:
                self.h[total] = -1
        return False

    def agrees(self, line: tuple[int, int], lines: tuple[tuple[int, int], ...], value: int, given: list[int]) -> bool:
        """Whether h can have this value at the sum; it gets it where it had none."""
        total = 0
        for axis, k in sorted((line, *lines)):
            total = self.sums[total][self.places[axis][k]]
        if self.h[total] < 0:
            self.h[total] = value
            given.append(total)
        return self.h[total] == value


def witnessed(table: np.ndarray, moduli: tuple[int, ...], absorbing: bool, witness: Any) -> bool:
    """Whether the g and h of a witness give every known cell, one cell after the other."""
    parts = [witness[f"g{axis + 1}"] for axis in range(table.ndim)]
    order = prod(moduli)
    if [len(part) for part in parts] != list(table.shape) or len(witness["h"]) != order:
        return False
    if not absorbing and any(place is None for part in parts for place in part):
        return False
    for cell in product(*map(range, table.shape)):
        places = [part[k] for part, k in zip(parts, cell, strict=True)]
        value = witness["h_absorbing"] if None in places else witness["h"][total_of(places, moduli)]
        if table[cell] >= 0 and value != table[cell]:
            return False
    return True


def total_of(places: list[int], moduli: tuple[int, ...]) -> int:
    """The sum of elements i1·m2⋯ + i2·m3⋯ + …, added digit by digit, the last digit first."""
    total, stride = 0, 1
    for modulus in reversed(moduli):
        total += sum(place // stride for place in places) % modulus * stride
        stride *= modulus
    return total


def in_some_group(table: np.ndarray, most: int) -> bool | None:
    """Whether a table of two variables is h(g1 · g2) over some group of order up to `most`; None if that is not known.

    Lines that differ need different elements, and cells of a line different products.
    """
    if (table >= 0).all():
        rows = list(dict.fromkeys(map(tuple, table.tolist())))
        columns = list(dict.fromkeys(zip(*rows, strict=True)))
        lines = [*columns, *zip(*columns, strict=True)]
        if sum(max(line.count(v) for line in lines) for v in set(table.ravel().tolist())) > most:
            return False
    found = {in_class(table, group, False) for order in range(1, min(most, LARGEST_KNOWN) + 1)
             for group in every_group(order)}  # fmt: skip
    return True if True in found else None if None in found or most > LARGEST_KNOWN else False


def multiplied(table: np.ndarray, order: int, witness: Any) -> bool:
    """Whether a witness has the table of a group with the identity first, of the group of its name if it has one, and
    gives every known cell."""
    t, every = witness["products"], range(order)
    if len(t) != order or any(sorted(row) != list(every) for row in t) or t[0] != list(every):
        return False
    if any(t[x][0] != x or t[t[x][y]][z] != t[x][t[y][z]] for x in every for y in every for z in every):
        return False
    if witness["group_name"] is not None and looks(t) != looks(products_of(witness["group_name"])):
        return False
    g1, g2, h = witness["g1"], witness["g2"], witness["h"]
    return all(v < 0 or h[t[g1[a]][g2[b]]] == v for (a, b), v in np.ndenumerate(table))


def looks(t: list[list[int]]) -> list[int]:
    """The orders of all elements, which tell groups of order up to 15 apart."""
    found = []
    for x in range(len(t)):
        power, count = x, 1
        while power:
            power, count = t[power][x], count + 1
        found.append(count)
    return sorted(found)
