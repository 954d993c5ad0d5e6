"""Two distinct columns and a group of prime order: rows are arcs, and solutions are closed walks.

Scale the columns to 0 and 1. A row with values (u, v) at place t says h(t) = u and h(t + 1) = v: an arc u -> v that
the closed walk h(0), h(1), …, h(m - 1), h(0) goes through at its t-th step. Different rows are different arcs, and one
step goes through one arc. So a solution is a closed walk of m steps through all arcs; arcs between any two values,
loops too, may be added. A shorter walk becomes longer by loops, so only the shortest matters. All arcs and some added
ones form one closed trail iff every value has as many arcs in as out and all hang together. A component whose values
lack d outgoing arcs in all needs d added arcs; two components or more need at least one each, and that is enough: a
surplus of one is joined to a lack of the next, all around.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from modgrok.algebra.field import is_prime
from modgrok.separable.procedures.search import Solution
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Table
from modgrok.separable.verdict import Refutation

Arc = tuple[int, int]


def decide_two_columns(cells: Table, group: Group) -> Solution | Refutation | None:
    """A solution or a refutation for a table with two columns, or two rows; None for all others."""
    if 2 not in cells.shape or not is_prime(group.order):
        return None
    by_columns = cells.shape[1] == 2
    arcs = [(int(u), int(v)) for u, v in (cells if by_columns else cells.T)]
    added = missing_arcs(arcs)
    if len(arcs) + len(added) > group.order:
        return {"kind": "closed-trail", "side": "column" if by_columns else "row"}
    trail = closed_trail(arcs + added)
    place = {arc: t for t, arc in reversed(list(enumerate(trail)))}
    x, y = np.array([place[arc] for arc in arcs]), np.array([0, 1])
    return Solution(*((x, y) if by_columns else (y, x)), found_by="closed-trail")


def missing_arcs(arcs: list[Arc]) -> list[Arc]:
    """The fewest arcs that make one closed trail of all: from values that lack exits to those that lack entries.

    Each component offers its surplus ends and starts (or one value of it, if it is balanced); joining every end to a
    start of the next component joins all components, and the rest is joined as it comes.
    """
    surplus: dict[int, int] = {}
    for u, v in arcs:
        surplus[u] = surplus.get(u, 0) - 1
        surplus[v] = surplus.get(v, 0) + 1
    ends, starts = [], []
    groups = components(arcs)
    for members in groups:
        out = [u for u in members for _ in range(surplus[u])]
        into = [u for u in members for _ in range(-surplus[u])]
        if not out and len(groups) > 1:
            out = into = [members[0]]
        ends.append(out)
        starts.append(into)
    shifted = starts[1:] + starts[:1]
    first = [(out[0], into[0]) for out, into in zip(ends, shifted, strict=True) if out]
    rest = zip([u for out in ends for u in out[1:]], [u for into in shifted for u in into[1:]], strict=True)
    return first + list(rest)


def components(arcs: list[Arc]) -> list[list[int]]:
    """The values that hang together through arcs in either direction."""
    leader: dict[int, int] = {}

    def find(u: int) -> int:
        while leader.setdefault(u, u) != u:
            u = leader[u]
        return u

    for u, v in arcs:
        leader[find(u)] = find(v)
    found: dict[int, list[int]] = {}
    for u in leader:
        found.setdefault(find(u), []).append(u)
    return list(found.values())


def closed_trail(arcs: list[Arc]) -> list[Arc]:
    """The arcs of a balanced connected graph in the order of one closed trail (Hierholzer)."""
    out: dict[int, list[int]] = {}
    for u, v in arcs:
        out.setdefault(u, []).append(v)
    stack, walk = [arcs[0][0]], []
    while stack:
        if out.get(stack[-1]):
            stack.append(out[stack[-1]].pop())
        else:
            walk.append(stack.pop())
    walk.reverse()
    return list(pairwise(walk))
