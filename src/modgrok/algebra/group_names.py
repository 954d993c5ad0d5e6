"""Which group a multiplication table is: its name where it has one, and numbers that describe any.

Abelian groups are products of cyclic ones. Others are compared with the groups that have names, and with direct
products of these: a name is given where an isomorphism was found, so that it is never a guess. An isomorphism is
looked for generator by generator: each goes to an element that looks alike, and as far as the images reach, products
must go to products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import lcm, prod
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import factorise
from modgrok.algebra.groups import Group, closed, group, named_group, powers_of
from modgrok.base.results import Result

Table = Int[np.ndarray, "n n"]
LARGEST_NAMED = 1000
MOST_IMAGES = 20_000
"""Images of generators that are tried before a name is given up."""
SMALL_GROUPS = {
    **{"S3": 6, "Q8": 8, "A4": 12, "S4": 24, "SL(2,3)": 24, "GL(2,3)": 48, "A5": 60, "S5": 120, "SL(2,5)": 120},
    **{"SL(3,2)": 168, "SL(2,7)": 336, "A6": 360, "GL(2,5)": 480, "S6": 720},
}
"""Names, and orders, of groups that are in no family below."""


class Named(NamedTuple):
    """A name, and which element of the group stands for each element of the group of that name."""

    name: str
    elements: Int[np.ndarray, "n"]


def group_name(t: Table) -> str:
    """What a group with identity 0 is called: Z12, Z2xZ6, D5, S3xZ5.

    >>> group_name(group("<(1 2 3), (1 2)>").table)
    'S3'
    """
    own = nameless(t)
    found = named_form(own)
    return f"a non-commutative group of order {own.order}" if found is None else found.name


def nameless(t: Table) -> Group:
    """The group of a table whose first element is the identity."""
    return Group("", np.array(t), tuple(map(str, range(len(t)))))


def named_form(own: Group) -> Named | None:
    """The group by its name; None where none of the names here is known to be its own.

    A table that is that of the name as it stands keeps its numbers.
    """
    if own.is_abelian:
        found = named_abelian(own)
        stands = np.array_equal(group(found.name).table, own.table) if own.order <= LARGEST_NAMED else False
        return Named(found.name, np.arange(own.order)) if stands else found
    counts = order_counts(own)
    for name in names_of_order(own.order):
        if counts_of_name(name) == counts and (images := isomorphism(group(name), own)) is not None:
            return Named(name, images)
    return None


# ------------------------------------------------------------------------------------------------------- names


def named_abelian(own: Group) -> Named:
    """A product of cyclic groups, each order a divisor of the next.

    An element of the largest order among those whose powers meet what is spanned already in the identity alone spans a
    direct factor, so greedy choices succeed.
    """
    spanned, chosen = np.array([0]), list[int]()
    while len(spanned) < own.order:
        free = [x for x in range(1, own.order) if len(np.intersect1d(own.subgroup([x]), spanned)) == 1]
        x = max(free, key=lambda each: int(own.element_orders[each]))
        spanned = np.unique(own.table[spanned[:, None], np.array(own.subgroup([x]))])
        chosen.insert(0, x)
    moduli = tuple(int(own.element_orders[x]) for x in chosen)
    elements = np.array([0])
    for x in chosen:
        elements = own.table[elements[:, None], np.array(powers_of(own.table, x))].ravel()
    return Named(abelian_name(moduli), elements)


def abelian_name(moduli: Sequence[int]) -> str:
    """'Z2^2xZ6' for (2, 2, 6)."""
    powers = Counter(moduli)
    return "x".join(f"Z{m}" + (f"^{k}" if k > 1 else "") for m, k in powers.items()) or "Z1"


def abelian_products(order: int) -> list[tuple[int, ...]]:
    """All abelian groups of an order, the cyclic one first, as products in which each modulus divides the next."""
    powers = [
        [tuple(prime**e for e in parts) for parts in partitions(exponent, exponent)]
        for prime, exponent in factorise(order)
    ]
    found = []
    for choice in product(*powers):
        length = max(map(len, choice), default=1)
        factors = [prod(parts[k] if k < len(parts) else 1 for parts in choice) for k in range(length)]
        found.append(tuple(reversed(factors)))
    return sorted(found, key=lambda moduli: (len(moduli), moduli))


def partitions(total: int, most: int) -> list[tuple[int, ...]]:
    """Ways to write a number as a falling sum of numbers up to `most`."""
    if total == 0:
        return [()]
    return [(k, *rest) for k in range(min(total, most), 0, -1) for rest in partitions(total - k, k)]


def names_of_order(n: int) -> list[str]:
    """Names of non-commutative groups of one order, those of fewest factors first."""
    if n > LARGEST_NAMED:
        return []
    found = []
    for bases in products_of_bases(n, 0):
        rest = n // prod(order for order, _ in bases)
        for moduli in abelian_products(rest):
            factors = [name for _, name in bases] + ([abelian_name(moduli)] if rest > 1 else [])
            found.append((len(bases) + len(moduli) * (rest > 1), "x".join(factors)))
    return [name for _, name in sorted(found, key=lambda each: each[0])]


def products_of_bases(n: int, least: int) -> Iterator[list[tuple[int, str]]]:
    """One non-commutative group with a name or more, with orders whose product divides n, in rising order."""
    for order in range(max(6, least), n + 1):
        if n % order:
            continue
        for name in bases_of_order(order):
            yield [(order, name)]
            yield from ([(order, name), *others] for others in products_of_bases(n // order, order))


def bases_of_order(order: int) -> list[str]:
    names = [name for name, size in SMALL_GROUPS.items() if size == order]
    names += [f"D{order // 2}"] * (order % 2 == 0 and order > 6)
    if order % 4 == 0 and order > 8:
        names.append(f"Q{order}" if order & (order - 1) == 0 else f"Dic{order // 4}")
    return names


def order_counts(own: Group) -> Counter[int]:
    """How many elements have each order."""
    return Counter(own.element_orders.tolist())


@lru_cache(maxsize=4096)
def counts_of_name(name: str) -> Counter[int]:
    """The same of a direct product, from its factors: orders of pairs are least common multiples."""
    found = Counter({1: 1})
    for factor in name.split("x"):
        pairs = product(found.items(), order_counts(named_group(factor)).items())
        found = Counter()
        for (a, times), (b, more) in pairs:
            found[lcm(a, b)] += times * more
    return found


# ------------------------------------------------------------------------------------------------ isomorphisms


def isomorphism(known: Group, own: Group) -> Int[np.ndarray, "n"] | None:
    """Which element of `own` stands for each of `known`, products for products; None if none was found."""
    if np.array_equal(known.table, own.table):
        return np.arange(own.order)
    looks, own_looks = looks_of(known), looks_of(own)
    if not np.array_equal(np.sort(looks), np.sort(own_looks)):
        return None
    alike = {look: np.flatnonzero(own_looks == look).tolist() for look in np.unique(looks).tolist()}
    chosen = few_generators(known.table, [len(alike[look]) for look in looks.tolist()])
    firsts = sorted({int(own.class_of[x]) for x in alike[int(looks[chosen[0]])]})  # conjugates do alike
    tries = MOST_IMAGES
    stack: list[list[int]] = [[x] for x in reversed(firsts)]
    while stack and tries:
        tries -= 1
        images = stack.pop()
        found = extended(known.table, own.table, chosen[: len(images)], images)
        if found is None:
            continue
        if len(images) == len(chosen):
            return np.array([found[x] for x in range(known.order)])
        reached = set(found.values())
        following = [x for x in alike[int(looks[chosen[len(images)]])] if x not in reached]
        stack += [[*images, x] for x in reversed(following)]
    return None


def looks_of(own: Group) -> Int[np.ndarray, "n"]:
    """A number for each element that isomorphisms keep: of its order, its class, its roots and those of its powers."""
    everything = np.arange(own.order)
    sizes = np.bincount(own.class_of, minlength=own.order)[own.class_of]
    look, powers = own.element_orders * 10_007 + sizes, everything
    for _ in range(own.exponent.bit_length() + 1):
        powers = own.table[powers, everything]
        roots = np.bincount(powers, minlength=own.order)
        look = (look * 1_000_003 + look[powers] * 7_919 + roots * 104_729) % (1 << 61)
    return np.asarray(look)


def few_generators(table: Table, choices: Sequence[int]) -> list[int]:
    """Generators, each of those that reach most, and of these one with the fewest elements alike."""
    chosen, reached = list[int](), closed(table, [0])
    while not reached.all():
        free = np.flatnonzero(~reached).tolist()
        sizes = {x: int(closed(table, [0, *chosen, x]).sum()) for x in free}
        chosen.append(min(free, key=lambda x: (-sizes[x], choices[x])))
        reached = closed(table, [0, *chosen])
    return chosen


def extended(t: Table, u: Table, generators: Sequence[int], images: Sequence[int]) -> dict[int, int] | None:
    """Images of generators extended to all that they generate, one-to-one, with f(xg) = f(x)f(g); None if that fails.

    It is enough for products: f(x g1 g2 …) = f(x) f(g1) f(g2) …, and every element is a product of generators.
    """
    found, todo = {0: 0}, [0]
    while todo:
        x = todo.pop()
        for g, image in zip(generators, images, strict=True):
            y, expected = int(t[x, g]), int(u[found[x], image])
            if y not in found:
                found[y] = expected
                todo.append(y)
            elif found[y] != expected:
                return None
    return found if len(set(found.values())) == len(found) else None


# -------------------------------------------------------------------------------------------------- invariants


@dataclass(frozen=True, repr=False)
class GroupFacts(Result):
    """What does not depend on how elements are numbered; `group_name` is None for a group without a name here.

    `abelian_factors` are the orders of the cyclic groups whose product the group is but for its commutators,
    `centre_factors` those of its centre; `element_orders` has pairs of an order and how many elements have it.
    """

    group_name: str | None
    group_order: int
    is_abelian: bool
    exponent: int
    class_sizes: tuple[int, ...]
    centre_factors: tuple[int, ...]
    commutator_name: str
    commutator_order: int
    abelian_factors: tuple[int, ...]
    element_orders: tuple[tuple[int, int], ...]

    def summary(self) -> str:
        if self.group_name is not None:
            return f"{self.group_name}, {self.numbers}"
        return f"a group of {self.numbers}"

    @property
    def numbers(self) -> str:
        """'order 20, 5 classes, centre Z1, commutators Z5, abelian factors Z4'."""
        if self.is_abelian:
            return f"order {self.group_order}, abelian"
        return (
            f"order {self.group_order}, {len(self.class_sizes)} classes, centre {abelian_name(self.centre_factors)}, "
            f"commutators {self.commutator_name}, abelian factors {abelian_name(self.abelian_factors)}"
        )


def group_facts(own: Group, name: str | None) -> GroupFacts:
    """What describes a group; `name` is what it was found to be called."""
    commutators = subgroup_of(own, own.commutators)
    called = named_form(commutators)
    return GroupFacts(
        name,
        own.order,
        own.is_abelian,
        own.exponent,
        tuple(sorted(len(one) for one in own.classes)),
        abelian_moduli(subgroup_of(own, own.centre)),
        f"a group of order {commutators.order}" if called is None else called.name,
        commutators.order,
        abelian_moduli(quotient_of(own, own.commutators)),
        tuple(sorted(order_counts(own).items())),
    )


def abelian_moduli(own: Group) -> tuple[int, ...]:
    """The orders of the cyclic factors of an abelian group, each a divisor of the next; nothing for one element."""
    counts = order_counts(own)
    if own.order == 1:
        return ()
    return next(m for m in abelian_products(own.order) if counts_of_name(abelian_name(m)) == counts)


def subgroup_of(own: Group, elements: Sequence[int]) -> Group:
    number = np.zeros(own.order, dtype=np.int64)
    number[list(elements)] = np.arange(len(elements))
    return nameless(number[own.table[np.ix_(elements, elements)]])


def quotient_of(own: Group, normal: Sequence[int]) -> Group:
    """The group of the cosets of a normal subgroup."""
    cosets = own.cosets(normal)
    number = np.empty(own.order, dtype=np.int64)
    for k, coset in enumerate(cosets):
        number[list(coset)] = k
    first = [coset[0] for coset in cosets]
    return nameless(number[own.table[np.ix_(first, first)]])
