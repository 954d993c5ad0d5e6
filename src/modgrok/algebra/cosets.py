"""An order of a group's elements in which the structure of its table is seen: cosets stand together, down a chain.

A maximal normal subgroup comes first, then its cosets one by one, and within each of them the same again; a cyclic
group stands in the order of powers, and a simple one is cut by its largest cyclic subgroup. So the table of S5 is four
blocks, even and odd, and D30's is four tables of Z30, two of them mirrored.
"""

from __future__ import annotations

import numpy as np

from modgrok.algebra.groups import Group, powers_of


def coset_order(group: Group) -> list[int]:
    """All elements, the identity first."""
    return ordered(group, tuple(range(group.order)))


def ordered(group: Group, subgroup: tuple[int, ...]) -> list[int]:
    largest = subgroup[int(np.argmax(group.element_orders[list(subgroup)]))]
    powers = powers_of(group.table, largest)
    if len(powers) == len(subgroup):
        return powers
    inner = maximal_normal(group, subgroup)
    within = ordered(group, inner) if len(inner) > 1 else powers
    found: list[int] = []
    placed: set[int] = set()
    for x in subgroup:
        if x not in placed:
            coset = group.table[x, within].tolist()
            placed.update(coset)
            found += coset
    return found


def maximal_normal(group: Group, subgroup: tuple[int, ...]) -> tuple[int, ...]:
    """A normal subgroup that no other proper one contains, grown from the normal closures of single elements."""
    inside = np.array(subgroup)

    def closure(x: int) -> tuple[int, ...]:
        return group.subgroup(np.unique(group.table[group.table[inside, x], group.inverses[inside]]).tolist())

    proper = {found for x in subgroup if len(found := closure(x)) < len(subgroup)}
    best: tuple[int, ...] = (0,)
    for other in sorted(proper, key=lambda found: (-len(found), found)):
        together = group.subgroup({*best, *other})
        best = together if len(together) < len(subgroup) else best
    return best
