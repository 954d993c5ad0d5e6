"""Sums over groups that are not cyclic: bitwise exclusive or, for one, is a sum over Z_2 × Z_2 × …

They are asked for where no cyclic family fits a small table. A witness is one of a cyclic group too, of a larger one:
digits that are added without a carry are the digits of whole numbers, if there is room for their sums between them.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
from jaxtyping import Int

from modgrok.separable.decision import EFFORT
from modgrok.separable.reductions.grouping import decide_grouped
from modgrok.separable.reductions.groups import Group, abelian_groups
from modgrok.separable.reductions.orders import bounds
from modgrok.separable.verdict import Verdict, Witness

LARGEST = 64
"""Lines of the longest side of a table for which groups that are not cyclic are tried."""
SHARE = 0.5
"""The share of the effort that all of them have together."""


def product_verdict(table: Int[np.ndarray, "p ..."], *, effort: float = EFFORT) -> Verdict | None:
    """The first group, not cyclic and no larger than the table's sides or values, over which it is h(g1 + g2 + …)."""
    largest = max(*table.shape, int(table.max()) + 1)
    if largest > LARGEST:
        return None
    _, least = bounds(table, False)
    groups = [group for order in range(least, largest + 1) for group in abelian_groups(order) if not group.cyclic]
    for group in groups:
        verdict = decide_grouped(table, group.moduli, False, effort=SHARE * effort / len(groups))
        if verdict.in_class:
            return verdict
    return None


def as_cyclic(witness: Witness) -> Witness:
    """The same function over a cyclic group: a witness over Z_m1 × … × Z_mk has one over Z_(m1·r2⋯rk).

    The sum of S digits of Z_m is at most S(m - 1), so that r = S(m - 1) + 1 leaves room for it: with the digits taken
    as those of a number of mixed radix, sums never carry. The first digit needs no room, it may wrap.
    """
    if not witness.moduli:
        return witness
    moduli = tuple(sorted(witness.moduli, reverse=True))
    first = sorted(range(len(moduli)), key=lambda k: -witness.moduli[k])
    group, terms = Group(witness.moduli), len(witness.g)
    radices = (moduli[0], *(terms * (m - 1) + 1 for m in moduli[1:]))
    wide = Group(radices)

    def embedded(element: int | None) -> int | None:
        if element is None:
            return None
        digits = group.coordinates(element)
        return wide.number(digits[k] for k in first)

    def value(digits: tuple[int, ...]) -> int | None:
        narrow = dict(zip(first, digits, strict=True))
        return witness.h[group.number(narrow[k] for k in range(len(moduli)))]

    h = tuple(value(digits) for digits in product(*map(range, radices)))
    g = tuple(tuple(map(embedded, part)) for part in witness.g)
    return Witness(prod(radices), g, h, witness.h_absorbing)
