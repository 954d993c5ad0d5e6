"""Guesses from how a function is written: an inner expression that is a sum or a product of one-variable functions.

Let f be written with a subexpression s(n1, n2, …). If f depends on s alone, and s = g1(n1) + g2(n2) + …, or
s + c = g1(n1)·g2(n2)⋯ for some constant c, then f is in the class, and the witness is read off the two tables. Spelling
only helps to find it: the witness is checked on every cell like any other, and other spellings are found otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import inverse, is_prime, log_table
from modgrok.algebra.polynomial import value_table
from modgrok.algebra.trees import Tree, children, variables
from modgrok.separable.reductions.grouping import as_sum
from modgrok.separable.verdict import Witness

MOST_SUBEXPRESSIONS = 24

Values = Int[np.ndarray, "p ..."]


def written_witnesses(parts: list[Values], table: Values, modulus: int, absorbing: bool) -> list[Witness]:
    """Witnesses over Z_p, or over Z_{p-1} with ∞, that the tables of subexpressions suggest."""
    if absorbing and not is_prime(modulus):
        return []
    found = []
    for inner in parts:
        for outer in (inner,) if not absorbing else ((inner + c) % modulus for c in completions(inner, modulus)):
            places = log_table(modulus)[outer] if absorbing else outer
            order = modulus - absorbing
            g = as_sum(places, (order,))
            if g is not None:
                found.append(read_witness(table, places, order, g))
    return found


def written_parts(tree: Tree, table: Values, modulus: int) -> list[Values]:
    """The tables of the subexpressions of a tree over all its variables; the first is its own."""
    _, *inner = subexpressions(tree) or [tree]
    return [table, *(value_table(part, modulus, variables(tree)) for part in inner)]


def subexpressions(tree: Tree) -> list[Tree]:
    """The different subexpressions of two variables or more, the whole first."""
    seen: dict[Tree, None] = {}
    waiting = [tree]
    for part in waiting:
        if len(variables(part)) > 1 and part not in seen and len(seen) < MOST_SUBEXPRESSIONS:
            seen[part] = None
            waiting.extend(children(part))
    return list(seen)


def completions(inner: Values, p: int) -> Iterator[int]:
    """Constants c for which inner + c may be a product: 0, and what makes the corner of a table have determinant 0.

    (s + c)(s11 + c) = (s01 + c)(s10 + c) is linear in c.
    """
    yield 0
    corner = inner.reshape(inner.shape[0], -1)
    s = int(corner[0, 0])
    for b in range(1, corner.shape[1]):
        for a in range(1, min(corner.shape[0], 3)):
            s01, s10, s11 = int(corner[0, b]), int(corner[a, 0]), int(corner[a, b])
            slope = (s + s11 - s01 - s10) % p
            if slope:
                c = (s01 * s10 - s * s11) * inverse(slope, p) % p
                if c:
                    yield c
                return


def read_witness(table: Values, places: Values, order: int, parts: list[tuple[int | None, ...]]) -> Witness:
    """h read off the table, one cell for each element; whether it holds for all is for the check to say."""
    h: list[int | None] = [None] * (order + 1)
    elements, first = np.unique(places, return_index=True)
    for z, v in zip(elements.tolist(), table.ravel()[first].tolist(), strict=True):
        h[z] = v  # z is -1 at ∞, the last of all
    return Witness(order, tuple(parts), tuple(h[:order]), h_absorbing=h[order] if (places < 0).any() else None)
