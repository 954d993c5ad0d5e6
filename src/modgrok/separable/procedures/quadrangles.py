"""Tables whose rows and columns are permutations of n values: is there a group behind them? Decided at once.

Call row a by its value in column 0, and column b by its value in row 0. The table reads x ∘ y then, with f(0, 0) as
identity. If f(a, b) = h(g1(a) · g2(b)) over a group of order n, all three are one-to-one, and ∘ is that group itself
(Albert: a loop that is isotopic to a group is isomorphic to it). So f is a group in disguise if and only if ∘ is
associative, which is tested for generators in the middle alone (Light). Where (x ∘ g) ∘ y and x ∘ (g ∘ y) differ, four
rows and four columns break the quadrangle rule, which holds in every group: if

    f(a1, b1) = f(a3, b3),   f(a1, b2) = f(a3, b4),   f(a2, b1) = f(a4, b3)   then   f(a2, b2) = f(a4, b4),

since a2 b2 = (a2 b1)(a1 b1)⁻¹(a1 b2). Whether the group is cyclic is told by its largest element order: adding g1(a) -
g1(0) moves the columns in cycles of the length of its order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from modgrok.algebra.groups import cyclic_logarithms, generators_of
from modgrok.separable.procedures.search import Solution
from modgrok.separable.reductions.reduction import Reduced, Table
from modgrok.separable.verdict import Refutation


@dataclass(frozen=True, eq=False)
class Placed:
    """f(a, b) = h(g1(a) · g2(b)) in the group with this multiplication table; 0 is its identity."""

    products: Int[np.ndarray, "n n"]
    g: tuple[Int[np.ndarray, "row"], Int[np.ndarray, "column"]]
    h: Int[np.ndarray, "n"]

    @property
    def table(self) -> Table:
        """The values of f."""
        return np.asarray(self.h[self.products[np.ix_(*self.g)]])


def is_latin(reduced: Reduced) -> bool:
    """Whether every value stands once in every row and in every column."""
    rows, columns = reduced.shape
    return rows == columns == len(reduced.values) and bool((reduced.fibre_bounds == 1).all())


def group_behind(cells: Table) -> Placed | Refutation:
    """The group that a Latin square is in disguise, or a quadrangle that breaks the rule."""
    n, identity = len(cells), int(cells[0, 0])
    number = np.arange(n)
    number[[0, identity]] = number[[identity, 0]]  # of the value that is called so: the identity is 0
    named = number[cells]
    rows, columns = named[:, 0], named[0]
    loop = np.empty_like(named)
    loop[np.ix_(rows, columns)] = named
    for g in generators_of(loop):
        wrong = np.argwhere(loop[loop[:, g]] != loop[:, loop[g]])
        if len(wrong):
            x, y = (int(k) for k in wrong[0])
            row_of, column_of = np.argsort(rows), np.argsort(columns)
            return {
                "kind": "quadrangle",
                "rows": [int(row_of[k]) for k in (0, x, g, loop[x, g])],
                "columns": [int(column_of[k]) for k in (g, loop[g, y], 0, y)],
            }
    return Placed(loop, (rows, columns), number)


def decide_latin(cells: Table) -> Solution | Refutation:
    """Is a Latin square of order n one of h(g1 + g2) over Z_n?"""
    found = group_behind(cells)
    if not isinstance(found, Placed):
        return found
    logarithms = cyclic_logarithms(found.products)
    if logarithms is None:
        return {"kind": "short-cycles"}
    return Solution(logarithms[found.g[0]], logarithms[found.g[1]], "isotope")
