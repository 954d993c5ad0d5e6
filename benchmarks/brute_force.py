"""The truth about small tables, by trying everything: what the decision is measured against. It shares no code with it.

All functions but the last go through all their placements; the columns are then placed one after another, each wherever
the values of h that are fixed so far allow it. Use it for tables of a few lines and groups of a few elements.
"""

from __future__ import annotations

from itertools import permutations, product
from math import prod

import numpy as np
from jaxtyping import Int


def group_table(moduli: tuple[int, ...], absorbing: bool) -> list[list[int]]:
    """The sums of all elements, numbered in the order of their coordinates; the last one is ∞ if there is one."""
    digits = list(product(*map(range, moduli)))
    number = {digit: e for e, digit in enumerate(digits)}
    order = len(digits)
    table = [[order] * (order + absorbing) for _ in range(order + absorbing)]
    for i, first in enumerate(digits):
        for j, second in enumerate(digits):
            table[i][j] = number[tuple((a + b) % m for a, b, m in zip(first, second, moduli, strict=True))]
    return table


def in_class_by_force(table: Int[np.ndarray, "p ..."], group: int | tuple[int, ...], absorbing: bool) -> bool:
    """Whether f(a, b, …) = h(g1(a) + g2(b) + …) on every known cell (those not below 0), for some g1, g2, … and h."""
    sums = group_table((group,) if isinstance(group, int) else group, absorbing)
    elements = range(len(sums))
    *first, _ = table.shape
    columns = np.asarray(table).reshape(-1, table.shape[-1]).T.tolist()
    known = [[(a, v) for a, v in enumerate(column) if v >= 0] for column in columns]

    def extends(places: list[int], h: dict[int, int], b: int) -> bool:
        if b == len(known):
            return True
        for y in elements:
            larger = dict(h)
            if all(larger.setdefault(sums[places[a]][y], v) == v for a, v in known[b]) and extends(
                places, larger, b + 1
            ):
                return True
        return False

    def places(g: list[tuple[int, ...]]) -> list[int]:
        """The sum of all but the last function, for each row of the table with their variables taken together."""
        found = list(g[0])
        for part in g[1:]:
            found = [sums[x][y] for x in found for y in part]
        return found

    every_g = product(*(list(product(elements, repeat=n)) for n in first))
    return any(extends(places(list(g)), {}, 0) for g in every_g)


def product_by_force(table: Int[np.ndarray, "p q"], products: list[list[int]]) -> bool:
    """Whether f(a, b) = h(g1(a) · g2(b)) in the group with this multiplication table, for some g1, g2 and h.

    Equal rows may have one element and others need different ones; the first may have the identity, since c is free in
    (g1(a) c⁻¹) (c g2(b)).
    """
    rows = list(dict.fromkeys(map(tuple, table.tolist())))
    columns = list(zip(*rows, strict=True))

    def extends(places: tuple[int, ...], h: dict[int, int], b: int) -> bool:
        if b == len(columns):
            return True
        for y in range(len(products)):
            larger = dict(h)
            met = all(larger.setdefault(products[x][y], v) == v for x, v in zip(places, columns[b], strict=True))
            if met and extends(places, larger, b + 1):
                return True
        return False

    return any(extends((0, *rest), {}, 0) for rest in permutations(range(1, len(products)), len(rows) - 1))


def tables_in_class(
    shape: tuple[int, int], values: int, group: int | tuple[int, ...], absorbing: bool
) -> set[tuple[int, ...]]:
    """All tables h(g1 + g2) of a shape with values 0 … values - 1, as their cells: through all g1, g2 and h."""
    place = np.array(group_table((group,) if isinstance(group, int) else group, absorbing))
    rows, columns = (np.array(list(product(range(len(place)), repeat=n))) for n in shape)
    sums = np.unique(place[rows[:, None, :, None], columns[None, :, None, :]].reshape(-1, prod(shape)), axis=0)
    return {
        tuple(table.tolist())
        for h in product(range(values), repeat=len(place))
        for table in np.unique(np.array(h)[sums], axis=0)
    }
