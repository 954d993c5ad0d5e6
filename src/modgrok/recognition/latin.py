"""A group behind a table of answers, whatever the elements are called and though some cells err.

If f(a, b) = h(g1(a) · g2(b)) with one-to-one g1, g2 and h, call row a by its answer in some column s, and column b by
its answer in some row r. Then the table reads x ∘ y, a loop whose identity is f(r, s), and it is the group itself
(Albert: a loop that is isotopic to a group is isomorphic to it). Sums, differences and anything that is one of them in
disguise are the case of the cyclic group.

Errors are voted away. In a group x ∘ y = (x ∘ c) ∘ d for all c, d with c ∘ d = y: every cell has n votes, one for each
c, of which a share ε of wrong cells spoils at most 3ε. What is left is a group, or it is none: all of its n³ products
are checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from math import log

import numpy as np
from jaxtyping import Int

from modgrok.algebra.groups import powers_of
from modgrok.recognition.chance import log_factorial
from modgrok.recognition.formulas import Fit
from modgrok.separable.procedures.quadrangles import Placed
from modgrok.separable.verdict import Witness

Table = Int[np.ndarray, "n n"]
LARGEST_GROUP = 256
"""Elements of a group that is looked for: n³ votes are counted."""
ROUNDS = 6
"""Of votes."""
CORNERS = 12
"""Pairs of a row and a column that are tried for names."""
MOST_GROUPS = 12
"""ln of a number that no number of groups of one order up to `LARGEST_GROUP` exceeds (56,092 of order 256)."""


@dataclass(frozen=True, eq=False)
class GroupFit(Fit):
    placed: Placed | None = None


def groups(answers: Table) -> Iterator[Fit]:
    """The group that a table is a disguise of, if votes lead to one."""
    placed = group_behind(answers)
    if placed is None:
        return
    n = len(answers)
    formulas = MOST_GROUPS + 3 * log_factorial(n) - 2 * log(n)
    yield GroupFit("groups", formulas, placed.table, witness=cyclic_witness(placed), placed=placed)


def group_behind(answers: Table) -> Placed | None:
    n = len(answers)
    if answers.shape != (n, n) or not 2 < n <= LARGEST_GROUP or answers.max() >= n:
        return None
    for row, column in islice(corners(answers), CORNERS):
        rows, columns = answers[:, column], answers[row]
        loop = np.empty_like(answers)
        loop[np.ix_(rows, columns)] = answers
        if (found := voted(loop)) is not None:
            placed = renamed(found, rows, columns, int(answers[row, column]))
            return as_it_stands(placed.table) or placed
    return None


def as_it_stands(table: Table) -> Placed | None:
    """A group's table, or that of n1 n2^-1 and the like, with rows for elements; None where it is in disguise.

    If some column (or row) of a table without errors says its rows (columns), it is that of the identity.
    """
    elements = np.arange(len(table))
    for lines in (table.T, table):
        for e in np.flatnonzero((lines == elements).all(axis=1)):
            loop = np.empty_like(table)
            loop[np.ix_(table[:, e], table[e])] = table
            return renamed(loop, table[:, e], table[e], int(e))
    return None


def corners(answers: Table) -> Iterator[tuple[int, int]]:
    """Rows and columns in which every answer occurs once: an error mostly shows as one that occurs twice."""
    n = len(answers)
    rows, columns = ([k for k, line in enumerate(t) if len(np.unique(line)) == n] for t in (answers, answers.T))
    pairs = sorted(product(range(len(rows)), range(len(columns))), key=sum)
    return ((rows[i], columns[j]) for i, j in pairs)


def voted(loop: Table) -> Table | None:
    """The group that the votes of all cells end in; None where they do not."""
    n = len(loop)
    elements = np.arange(n)
    for _ in range(ROUNDS):
        divided = np.zeros((n, n), int)  # divided[c, y] = d with c ∘ d = y
        divided[elements[:, None], loop] = elements
        counts = np.zeros((n, n, n), np.int16)
        for c in range(n):
            counts[elements[:, None], elements, loop[loop[:, c][:, None], divided[c]]] += 1
        better = counts.argmax(axis=2)
        if np.array_equal(better, loop):
            break
        loop = better
    return loop if is_group(loop) else None


def is_group(t: Table) -> bool:
    """Whether a table of numbers 0 … n-1 is a group's: one-to-one lines and associative, which gives the rest."""
    elements = np.arange(len(t))
    lines = all((np.sort(each, axis=1) == elements).all() for each in (t, t.T))
    return lines and all(np.array_equal(t[t[a]], t[a][t]) for a in elements)


def renamed(t: Table, rows: Int[np.ndarray, "n"], columns: Int[np.ndarray, "n"], identity: int) -> Placed:
    """The group with elements numbered anew: of a cyclic one by powers of a generator, else the identity is 0."""
    n, orders = len(t), np.array([len(powers_of(t, x, identity)) for x in range(len(t))])
    generator = int(orders.argmax())
    if orders[generator] == n:
        names = np.array(powers_of(t, generator, identity))
    else:
        names = np.array([identity, *(x for x in range(n) if x != identity)])
    number = np.argsort(names)
    return Placed(number[t[np.ix_(names, names)]], (number[rows], number[columns]), names)


def cyclic_witness(placed: Placed) -> Witness | None:
    """As sums over Z_n; None for a group that is not cyclic."""
    n = len(placed.products)
    if not np.array_equal(placed.products, np.add.outer(np.arange(n), np.arange(n)) % n):
        return None
    return Witness(n, (tuple(placed.g[0].tolist()), tuple(placed.g[1].tolist())), tuple(placed.h.tolist()))
