"""Counting with symmetry: when the bounds on fibres leave little room, symmetries say where the room is not.

Let the bounds add up to m - k, so that at most k fibres exceed their bound. If k + 1 symmetries of the table carry a
set C of values to disjoint sets, one of those sets has every fibre at its bound; applying the inverse of its
symmetry to the whole solution gives a solution in which all of C is at its bound. So it is enough to refute that,
with one search whose ceilings on C are its bounds.

For x³-like maps the scalings (a, b) -> (λa, μb) are such symmetries, and C takes one value of each of their orbits.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from modgrok.separable.budget import Budget, LimitReached, steps_for
from modgrok.separable.procedures.search import Solution, search
from modgrok.separable.reductions.automorphisms import VALUES, Symmetries, Symmetry
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Table
from modgrok.separable.verdict import Refutation

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
