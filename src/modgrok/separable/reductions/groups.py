"""Finite abelian groups as products of cyclic ones, and sets of their elements as whole numbers.

The element (i1, …, ik) of Z_m1 × … × Z_mk is the number i1·m2⋯mk + … + ik, so that a cyclic group has its residues. A
set of elements is a whole number whose bit e says that e belongs to it: meeting and joining are & and |, and
translation is a rotation of the bits; in a product, a rotation inside blocks for each factor.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from jaxtyping import Int

from modgrok.algebra.group_names import abelian_products
from modgrok.base.errors import InputError

Moduli = tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """Z_m1 × Z_m2 × …; a cyclic group has one modulus."""

    moduli: Moduli

    @cached_property
    def order(self) -> int:
        return prod(self.moduli)

    @cached_property
    def cyclic(self) -> bool:
        return len(self.moduli) == 1

    @cached_property
    def everything(self) -> int:
        return (1 << self.order) - 1

    @cached_property
    def _blocks(self) -> list[tuple[int, int, list[int]]]:
        """For each factor: how far apart its steps are, its modulus, and for each shift the bits that do not wrap."""
        blocks, stride = [], self.order
        for m in self.moduli:
            length, stride = stride, stride // m
            starts = sum(1 << k for k in range(0, self.order, length))
            low = [starts * ((1 << (length - s * stride)) - 1) for s in range(m)]
            blocks.append((stride, m, low))
        return blocks

    def translate(self, elements: int, by: int) -> int:
        """{e + by}."""
        if self.cyclic:
            return (elements << by | elements >> (self.order - by)) & self.everything
        for stride, m, stays in self._blocks:
            s = by // stride % m
            if s:
                kept = elements & stays[s]
                elements = kept << s * stride | (elements ^ kept) >> (m - s) * stride
        return elements

    def add(self, first: int, second: int) -> int:
        if self.cyclic:
            return (first + second) % self.order
        return self.number(a + b for a, b in zip(self.coordinates(first), self.coordinates(second), strict=True))

    def negative(self, element: int) -> int:
        return self.number(-a for a in self.coordinates(element))

    def coordinates(self, element: int) -> Moduli:
        return tuple(element // stride % m for stride, m, _ in self._blocks)

    def number(self, coordinates: Iterable[int]) -> int:
        """The number of the element with these coordinates, each modulo its own modulus."""
        total = 0
        for a, m in zip(coordinates, self.moduli, strict=True):
            total = total * m + a % m
        return total

    @cached_property
    def sums(self) -> Int[np.ndarray, "m m"]:
        """The table of e + e'."""
        if self.cyclic:
            return np.add.outer(np.arange(self.order), np.arange(self.order)) % self.order
        parts = np.array(np.unravel_index(np.arange(self.order), self.moduli))
        added = (parts[:, :, None] + parts[:, None, :]) % np.array(self.moduli)[:, None, None]
        return np.asarray(np.ravel_multi_index(tuple(added), self.moduli))

    @cached_property
    def scales(self) -> list[int]:
        """One element at least of each orbit but 0 under units of the factors: each d is a unit times gcd(d, m)."""
        choices = [[0, *(d for d in range(1, m) if m % d == 0)] for m in self.moduli]
        return sorted({self.number(choice) for choice in product(*choices)} - {0})

    def __str__(self) -> str:
        return " × ".join(f"Z_{m}" for m in self.moduli)


def as_group(group: int | Moduli) -> Group:
    """The group of an order (a cyclic one), or of the orders of its cyclic factors."""
    moduli = (group,) if isinstance(group, int | np.integer) else tuple(group)
    if not moduli or min(moduli) < 1:
        raise InputError(f"the order of a group must be at least 1, got {group}")
    nontrivial = tuple(int(m) for m in moduli if m > 1)
    return Group(nontrivial or (1,))


def abelian_groups(order: int) -> list[Group]:
    """All abelian groups of an order, the cyclic one first, as products in which each modulus divides the next."""
    return [Group(moduli) for moduli in abelian_products(order)]
