"""Finite groups: a multiplication table whose elements have names, and what follows from it.

Element 0 is the identity, and `table[a, b]` is a b. Permutations are composed as functions, from right to left: a b
sends i to a(b(i)). `group` makes one from a name (`algebra.named_groups`), from a table or from a file with one, and
says which law fails where a table is none:

    group("S5")                                 # or Z12, A5, D30, Q8, Dic15, SL(2,5), S3xZ10, Z2^4
    group("<(1 2 3), (1 2)>")                   # permutations by generators
    group("mine.csv")                           # a table; its identity may be any element
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import lcm
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from modgrok.algebra.cells import whole_numbers
from modgrok.algebra.field import Residues
from modgrok.algebra.named_groups import LARGEST_ORDER, Presentation, cycles_text, named, permutation_of
from modgrok.algebra.representations import Representation, classes_of, inverses_of, real_irreducibles
from modgrok.algebra.structures import Structure
from modgrok.algebra.table_files import SUFFIXES, read_table
from modgrok.base.errors import InputError
from modgrok.base.fixed import fixed
from modgrok.base.results import Result

CYCLES = re.compile(r"(?:\(\s*\d+(?:[\s,]+\d+)*\s*\)\s*)+")
SHOWN_NAMES = 4
"""Of elements, in errors."""


@dataclass(frozen=True, eq=False, repr=False)
class Group(Structure, Result):
    """A finite group; two are equal if their tables are, whatever they are called.

    `title` is its name, and `words_of_elements` those of its elements. `spelling` is a text from which `group` makes it
    again; None where it was given by a table.
    """

    title: str
    table: Int[np.ndarray, "n n"]
    words_of_elements: tuple[str, ...]
    spelling: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", fixed(self.table))

    @property
    def order(self) -> int:  # type: ignore[override]
        return len(self.table)

    @property
    def words(self) -> str:
        return f"in {self.title}"

    @property
    def elements(self) -> str:
        shown = ", ".join(self.words_of_elements[:SHOWN_NAMES])
        return f"the {self.order} elements of {self.title}: {shown}{', …' if self.order > SHOWN_NAMES else ''}"

    # ------------------------------------------------------------------------------------------ elements

    def name(self, element: int) -> str:
        return self.words_of_elements[self.element(element)]

    def read(self, text: str) -> int | None:
        """The element that is called "(1 2 3)", or "r^2 s"."""
        words = (_plain_word(spelling(text)) for spelling in (str, _with_standard_cycles))
        return next((self._by_word[word] for word in words if word in self._by_word), None)

    @cached_property
    def _by_word(self) -> dict[str, int]:
        return {_plain_word(word): element for element, word in enumerate(self.words_of_elements)}

    # ---------------------------------------------------------------------------------------- operations

    def multiply(self, left: Residues, right: Residues) -> Residues:
        return np.asarray(self.table[self.numbers(left), self.numbers(right)])

    def inverse(self, element: Residues) -> Residues:
        return np.asarray(self.inverses[self.numbers(element)])

    def power(self, base: Residues, exponent: int) -> Residues:
        """Also for negative exponents: x^-1 is the inverse."""
        exponent %= self.exponent
        square = self.numbers(base)
        result = np.zeros_like(square)
        while exponent:
            if exponent & 1:
                result = self.table[result, square]
            square, exponent = self.table[square, square], exponent >> 1
        return np.asarray(result)

    def constant(self, number: int) -> int:
        raise InputError(f"{number} is no element {self.words}; words in groups are products such as a b a^-1")

    def add(self, left: Residues, right: Residues) -> Residues:
        raise InputError(f"there are no sums {self.words}; words in groups are products such as a b a^-1")

    def negate(self, element: Residues) -> Residues:
        raise InputError(f"there are no differences {self.words}; the inverse of a is a^-1")

    @cached_property
    def inverses(self) -> Int[np.ndarray, "n"]:
        return inverses_of(self.table)

    # -------------------------------------------------------------------------------------- what follows

    @cached_property
    def element_orders(self) -> Int[np.ndarray, "n"]:
        """The smallest k >= 1 with x^k = 1, for every x."""
        everything = np.arange(self.order)
        orders, powers = np.zeros(self.order, dtype=np.int64), everything
        for exponent in range(1, self.order + 1):
            orders[(powers == 0) & (orders == 0)] = exponent
            if orders.all():
                break
            powers = self.table[powers, everything]
        return orders

    @cached_property
    def exponent(self) -> int:
        """The smallest k >= 1 with x^k = 1 for all x."""
        return lcm(*map(int, self.element_orders))

    @cached_property
    def is_abelian(self) -> bool:
        return bool((self.table == self.table.T).all())

    @cached_property
    def class_of(self) -> Int[np.ndarray, "n"]:
        """The first element of the conjugacy class of each."""
        return classes_of(self.table)

    @cached_property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """Conjugacy classes, that of the identity first."""
        return tuple(tuple(np.flatnonzero(self.class_of == x).tolist()) for x in np.unique(self.class_of))

    @cached_property
    def centre(self) -> tuple[int, ...]:
        """Elements that commute with all."""
        return tuple(np.flatnonzero((self.table == self.table.T).all(axis=1)).tolist())

    @cached_property
    def commutators(self) -> tuple[int, ...]:
        """The subgroup that the a b a^-1 b^-1 generate: the group is abelian but for it."""
        backward = self.table[self.inverses[:, None], self.inverses]  # a^-1 b^-1
        return self.subgroup(np.unique(self.table[self.table, backward]).tolist())

    def subgroup(self, generators: Iterable[int | str]) -> tuple[int, ...]:
        """The elements of the smallest subgroup with these, by name or number, in it, in rising order."""
        return tuple(np.flatnonzero(closed(self.table, [0, *map(self.element, generators)])).tolist())

    def cosets(self, subgroup: Sequence[int | str]) -> tuple[tuple[int, ...], ...]:
        """The left cosets x H, in the order of their first elements; each begins with that and goes on as H does."""
        left, found, members = np.ones(self.order, dtype=bool), [], [self.element(x) for x in subgroup]
        if sorted(members) != list(self.subgroup(members)):
            raise InputError(f"cosets are of a subgroup, got {len(members)} elements that are none; use .subgroup(…)")
        for x in range(self.order):
            if left[x]:
                coset = self.table[x, members]
                left[coset] = False
                found.append(tuple(coset.tolist()))
        return tuple(found)

    @cached_property
    def representations(self) -> tuple[Representation, ...]:
        """Its real irreducible representations as orthogonal matrices, the trivial one first."""
        return real_irreducibles(self.table)

    # ------------------------------------------------------------------------------------------- results

    @cached_property
    def digest(self) -> str:
        """Equal tables have equal digests on every machine."""
        return hashlib.sha256(self.table.astype("<i8").tobytes()).hexdigest()[:32]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash((self.order, self.digest))

    def summary(self) -> str:
        kind = "abelian" if self.is_abelian else f"{len(self.classes)} classes, centre of {len(self.centre)}"
        return f"{self.title}, order {self.order}, {kind}"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.title,
            "order": self.order,
            "is_abelian": self.is_abelian,
            "exponent": self.exponent,
            "classes": [len(one) for one in self.classes],
            "centre": len(self.centre),
            "commutators": len(self.commutators),
            "elements": list(self.words_of_elements),
            "table": self.table.tolist(),
        }


GroupLike: TypeAlias = str | Path | np.ndarray | Sequence[Sequence[int]] | Group
"""A name, a table, the path of one, or a group: what every verb takes as `group`."""


def group(given: GroupLike, title: str = "") -> Group:
    """The finite group of a name, a table or a file.

    Args:
        given: `Z12` (cyclic), `S5`, `A5`, `D30` (of order 60), `Q8`, `Dic15` (of order 60), `SL(2,5)`, `GL(2,3)`,
            direct products `S3xZ10` and powers `Z2^4`, permutations by generators `<(1 2 3), (1 2)>`, the path of a
            .csv, .npy or .parquet file with a multiplication table, or the table itself.
        title: what a group that is given by a table is called: "mine" becomes "the table 'mine'".

    Returns:
        A `Group`: `.order`, `.table` (element 0 is the identity), `.name(element)`, `.element(name)`, `.inverses`,
        `.classes`, `.centre`, `.commutators`, `.cosets(subgroup)`, `.representations`.

    >>> group("D4")
    <Group: D4, order 8, 5 classes, centre of 2>
    >>> s3 = group("S3")
    >>> s3.name(s3.multiply(s3.element("(1 2)"), s3.element("(2 3)")))
    '(1 2 3)'
    """
    if isinstance(given, Group):
        return given
    if isinstance(given, Path) or (isinstance(given, str) and Path(given).suffix.lower() in SUFFIXES):
        found = read_table(given)
        return from_table(found.table, title or found.path.name)
    if isinstance(given, str):
        return named_group(given)
    try:
        array = np.asarray(given)
    except ValueError:
        raise InputError("the rows of the table differ in length; a group's table has n rows of n elements") from None
    if array.ndim == 0:
        what = "a number" if isinstance(given, int | float) else f"an object of type {type(given).__name__}"
        raise InputError(f"a group is a name such as 'S5', a table, or a file with one, got {what}; 'Z5' is cyclic")
    return from_table(whole_numbers(array, "the table", lambda cell: f"cell {cell}"), title or "the table")


@lru_cache(maxsize=32)
def named_group(text: str) -> Group:
    """The group of a name, or of generators."""
    made: Presentation = named(text)
    return Group(made.title, made.table, made.names, made.title)


# ---------------------------------------------------------------------------------------- tables that are given


def from_table(table: Int[np.ndarray, "..."], title: str, names: Sequence[str] = ()) -> Group:
    """The group of a table, with its identity moved to the first place; an `InputError` says which law fails.

    Elements are called `names`, or by their numbers in the table, which may count from 1, as GAP's do. The title says
    that it is a table, or its file.
    """
    if Path(title).suffix.lower() not in SUFFIXES and title.partition(" '")[0] != "the table":
        title = f"the table {title!r}"
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table):
        shape = " × ".join(map(str, table.shape))
        raise InputError(f"{title} is no group: its table must be square, a row and a column each element, got {shape}")
    n = len(table)
    if n > LARGEST_ORDER:
        raise InputError(f"{title} has {n:,} elements; groups may have {LARGEST_ORDER:,}")
    first = int(table.min() == 1 and table.max() == n)
    words, table = tuple(names) or tuple(map(str, range(first, n + first))), table - first
    identity = check_laws(table, title, words)
    order = np.array([identity, *(k for k in range(n) if k != identity)])
    place = np.argsort(order)
    moved = np.ascontiguousarray(place[table[np.ix_(order, order)]])
    return Group(title, moved, tuple(words[k] for k in order))


def check_laws(table: Int[np.ndarray, "n n"], title: str, words: Sequence[str]) -> int:
    """The identity of a table; an `InputError` with the elements where it is no group.

    Identity, right inverses and associativity make a group. Associativity is tested for generators in the middle
    alone, after F. W. Light: all g with (a g) b = a (g b) for every a and b are closed under products.
    """
    n, everything = len(table), np.arange(len(table))

    def refuse(law: str) -> InputError:
        return InputError(f"{title} is no group: {law}; give it as a table of values instead, or correct it")

    outside = np.argwhere((table < 0) | (table >= n))
    if len(outside):
        a, b = outside[0]
        value = int(table[a, b])
        what = "is unknown" if value < 0 else f"= {value} is none of its {n} elements"
        raise refuse(f"it is not closed, {words[a]} · {words[b]} {what}")
    neutral = (table == everything).all(axis=1) & (table == everything[:, None]).all(axis=0)
    if not neutral.any():
        raise refuse("no element e has e · a = a · e = a for all a")
    identity = int(np.argmax(neutral))
    lacking = np.flatnonzero(~(table == identity).any(axis=1))
    if len(lacking):
        raise refuse(f"{words[lacking[0]]} has no inverse, no product of its row is the identity {words[identity]}")
    for g in generators_of(table):
        wrong = np.argwhere(table[table[:, g]] != table[:, table[g]])
        if len(wrong):
            a, b = (int(k) for k in wrong[0])
            left, right = words[table[table[a, g], b]], words[table[a, table[g, b]]]
            one, two, three = words[a], words[g], words[b]
            raise refuse(
                f"it is not associative, ({one} · {two}) · {three} = {left} but {one} · ({two} · {three}) = {right}"
            )
    return identity


def powers_of(table: Int[np.ndarray, "n n"], x: int, identity: int = 0) -> list[int]:
    """x^0, x^1, … until they repeat."""
    found = [identity]
    while (following := int(table[found[-1], x])) != identity:
        found.append(following)
    return found


def cyclic_logarithms(table: Int[np.ndarray, "n n"]) -> Int[np.ndarray, "n"] | None:
    """k for the k-th power of the first element that generates a cyclic group; None for other groups."""
    order = len(table)
    if not np.array_equal(table, table.T):
        return None
    for element in range(min(1, order - 1), order):
        powers = powers_of(table, element)
        if len(powers) == order:
            return np.argsort(powers)
    return None


def generators_of(table: Int[np.ndarray, "n n"]) -> list[int]:
    """Elements whose products, in any order and any parentheses, are all elements; few where there is a group."""
    reached, chosen = np.zeros(len(table), dtype=bool), list[int]()
    while not reached.all():
        chosen.append(int(np.argmin(reached)))
        reached = closed(table, chosen)
    return chosen


def closed(table: Int[np.ndarray, "n n"], elements: Sequence[int]) -> Bool[np.ndarray, "n"]:
    """Which elements are products of these."""
    reached = np.zeros(len(table), dtype=bool)
    reached[list(elements)] = True
    size = 0
    while size < (size := int(reached.sum())):
        inside = np.flatnonzero(reached)
        reached[table[np.ix_(inside, inside)]] = True
    return reached


# ------------------------------------------------------------------------------------------------------- words


def _plain_word(text: str) -> str:
    """A word for comparison: without spaces that say nothing, with plain digits for raised ones."""
    plain = unicodedata.normalize("NFKC", text).replace("^", "").replace("−", "-").strip().lower()
    return re.sub(r"\s*([(),;\[\]+])\s*", r"\1", re.sub(r"\s+", " ", re.sub(r"(?<=[a-z0-9]) (?=[a-z])", "", plain)))


def _with_standard_cycles(text: str) -> str:
    """Cycles as they are printed, whatever order they were typed in."""
    try:
        return CYCLES.sub(lambda found: cycles_text(permutation_of(found[0])), text)
    except InputError:
        return text
