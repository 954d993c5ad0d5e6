"""Truth about tables by going through all placements: is f = h(g1 + g2 + …) over Z_m1 × Z_m2 × …, with ∞ or without?

Plain Python that shares nothing with the package. Lines get places one after the other, and h its values as sums come
up; each axis may be shifted, so its first line that is not at ∞ stands at 0. Cells below 0 are unknown.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

MOST_NODES = 300_000


class TooLarge(Exception):
    """More placements than this file goes through."""


@lru_cache(maxsize=256)
def group_table(moduli: tuple[int, ...]) -> list[list[int]]:
    """Sums in the group; the last element is ∞."""
    elements = list(product(*map(range, moduli)))
    number = {element: k for k, element in enumerate(elements)}
    infinity = len(elements)
    table = [
        [number[tuple((i + j) % m for i, j, m in zip(a, b, moduli, strict=True))] for b in elements] + [infinity]
        for a in elements
    ]
    return [*table, [infinity] * (infinity + 1)]


def in_class(table: np.ndarray, moduli: tuple[int, ...], absorbing: bool) -> bool | None:
    """Whether the table is of the form; None where that would take too long to find out."""
    return searched(table.tobytes(), table.shape, str(table.dtype), moduli, absorbing)


@lru_cache(maxsize=1 << 16)
def searched(
    content: bytes, shape: tuple[int, ...], dtype: str, moduli: tuple[int, ...], absorbing: bool
) -> bool | None:
    table = np.frombuffer(content, dtype).reshape(shape)
    complete = bool((table >= 0).all())
    if complete:  # equal lines may share a place, and others may not
        for axis in range(table.ndim):
            table = np.unique(table, axis=axis)
        if max(table.shape) > prod(moduli) + absorbing:
            return False
    elif prod(moduli) > 64:
        return None
    try:
        return Placing(table, moduli, absorbing, complete).possible()
    except TooLarge:
        return None


class Placing:
    def __init__(self, table: np.ndarray, moduli: tuple[int, ...], absorbing: bool, distinct: bool) -> None:
        self.sums, self.order = group_table(moduli), prod(moduli)
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
            fits = all(self.agrees(place, lines, value, given) for lines, value in self.met[number])
            if fits and self.possible(number + 1):
                return True
            for total in given:
                self.h[total] = -1
        return False

    def agrees(self, place: int, lines: tuple[tuple[int, int], ...], value: int, given: list[int]) -> bool:
        """Whether h can have this value at the sum; it gets it where it had none."""
        total = place
        for axis, k in lines:
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
