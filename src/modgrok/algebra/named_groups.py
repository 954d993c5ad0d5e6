"""Groups by their names: families of groups, direct products and powers of them, permutations by generators.

    group    = factor { ("x" | "×") factor }
    factor   = primary [ "^" number ]
    primary  = "<" permutation { "," permutation } ">" | a name of one of the `FAMILIES`

D_n has 2n elements: r^n = s² = 1, s r s⁻¹ = r⁻¹. Dic_n has 4n: r^2n = 1, s² = r^n, s r s⁻¹ = r⁻¹, and the generalised
quaternion groups are Q_4n = Dic_n. Permutations are composed from right to left: a b sends i to a(b(i)).

A group is made from generators: every element is an earlier one times a generator, so that its column in the
multiplication table is an earlier column, permuted as that generator permutes the elements.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial, reduce
from itertools import product
from math import factorial, prod
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import factorise, factors_text, is_prime
from modgrok.base.errors import InputError

LARGEST_ORDER = 1000
"""Most elements of a group: its table has the square of that many cells, its one-hot tensor the cube."""
LONGEST_NAME = 1000
MOST_POINTS = 1000
"""That permutations move."""

Element: TypeAlias = tuple[int, ...]
"""Of a group while it is made: where a permutation sends each point, the rows of a matrix, exponents of s and r."""


class Presentation(NamedTuple):
    """A group that was made; element 0 is the identity."""

    title: str
    table: Int[np.ndarray, "n n"]
    names: tuple[str, ...]


def generated(
    title: str,
    identity: Element,
    generators: Sequence[Element],
    multiply: Callable[[Element, Element], Element],
    name: Callable[[Element], str],
) -> Presentation:
    """The group that elements generate, the identity first and the others sorted."""
    number, elements, came_by = {identity: 0}, [identity], [(0, 0)]
    for x in elements:
        for k, g in enumerate(generators):
            if (y := multiply(x, g)) not in number:
                number[y] = len(elements)
                elements.append(y)
                came_by.append((number[x], k))
                if len(elements) > LARGEST_ORDER:
                    raise InputError(f"{title} has more than {LARGEST_ORDER:,} elements; give a smaller group")
    times = [np.array([number[multiply(x, g)] for x in elements]) for g in generators]
    table = np.empty((len(elements), len(elements)), dtype=np.int64)
    table[:, 0] = np.arange(len(elements))
    for column, (earlier, k) in enumerate(came_by[1:], start=1):
        table[:, column] = times[k][table[:, earlier]]
    order = [0, *sorted(range(1, len(elements)), key=lambda k: elements[k])]
    place = np.argsort(order)
    return Presentation(title, place[table[np.ix_(order, order)]], tuple(name(elements[k]) for k in order))


# --------------------------------------------------------------------------------------------- permutations


def compose(a: Element, b: Element) -> Element:
    """First b, then a."""
    return tuple(a[i] for i in b)


def cycles_text(permutation: Element) -> str:
    """'(1 2 3)(4 5)'; the identity is '()'."""
    text, left = "", set(range(len(permutation)))
    while left:
        first = at = min(left)
        cycle = []
        while at in left:
            left.remove(at)
            cycle.append(str(at + 1))
            at = permutation[at]
        assert at == first
        text += f"({' '.join(cycle)})" if len(cycle) > 1 else ""
    return text or "()"


def permutation_of(text: str, points: int = 0) -> Element:
    """The permutation that cycles make; those that share points are composed, the last one first."""
    if not re.fullmatch(r"\s*(\(\s*([0-9]{1,9}([\s,]+[0-9]{1,9})*)?\s*\)\s*)+", text):
        raise InputError(f"a permutation is written in cycles, as in (1 2 3)(4 5), got {text.strip()[:60]!r}")
    cycles = [[int(point) - 1 for point in re.findall(r"\d+", cycle)] for cycle in re.findall(r"\(([^)]*)\)", text)]
    largest = max((point + 1 for cycle in cycles for point in cycle), default=1)
    for cycle in cycles:
        if len(set(cycle)) < len(cycle) or -1 in cycle or largest > MOST_POINTS:
            raise InputError(
                f"cycles have distinct points 1 … {MOST_POINTS}, got {text.strip()[:60]!r}; (1 2 3) is 1 → 2 → 3 → 1"
            )
    identity = tuple(range(max(points, largest)))

    def turned(cycle: Sequence[int]) -> Element:
        goes = dict(zip(cycle, [*cycle[1:], *cycle[:1]], strict=True))
        return tuple(goes.get(point, point) for point in identity)

    return reduce(compose, map(turned, cycles), identity)


def permutation_group(title: str, generators: Sequence[str]) -> Presentation:
    points = max(len(permutation_of(text)) for text in generators)
    made = [permutation_of(text, points) for text in generators]
    return generated(title, tuple(range(points)), made, compose, cycles_text)


def symmetric(title: str, n: int) -> Presentation:
    everything = f"({' '.join(str(point) for point in range(1, n + 1))})"
    return permutation_group(title, ["(1)", "(1 2)", everything] if n > 1 else ["(1)"])


def alternating(title: str, n: int) -> Presentation:
    return permutation_group(title, [f"(1)({n})", *(f"(1 2 {point})" for point in range(3, n + 1))])


# ------------------------------------------------------------------------------------ rotations and reflections


def raised(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def rotations_and(title: str, n: int, square: int, names: Sequence[str] = ()) -> Presentation:
    """r^n = 1, s r s⁻¹ = r⁻¹ and s² = r^square; the element r^i s^j is (j, i)."""

    def multiply(a: Element, b: Element) -> Element:
        (t, i), (u, j) = a, b
        return (t + u) % 2, (i + (-j if t else j) + (square if t and u else 0)) % n

    def name(element: Element) -> str:
        s, r = element
        rotation = "" if r == 0 else "r" if r == 1 else f"r{raised(r)}"
        return names[n * s + r] if names else (rotation + "s" * s) or "1"

    return generated(title, (0, 0), [(0, 1 % n), (1, 0)], multiply, name)


def cyclic(title: str, n: int) -> Presentation:
    return Presentation(title, np.add.outer(np.arange(n), np.arange(n)) % n, tuple(map(str, range(n))))


def dihedral(title: str, n: int) -> Presentation:
    return rotations_and(title, n, 0)


def quaternions(title: str, order: int) -> Presentation:
    """Of order 8 with the names of quaternions: r = i, s = j."""
    if order < 8 or factorise(order) != ((2, order.bit_length() - 1),):
        other = f"Dic{order // 4} has {order}" if order % 4 == 0 and order > 4 else "Q8 has 8"
        raise InputError(f"quaternion groups have 8, 16, 32, … elements, got {title}; {other}")
    return rotations_and(title, order // 2, order // 4, ("1", "i", "-1", "-i", "j", "k", "-j", "-k") * (order == 8))


# ------------------------------------------------------------------------------------------------- matrices


def linear_order(n: int, q: int, special: bool) -> int:
    return int(prod(q**n - q**k for k in range(n))) // (q - 1 if special else 1)


def linear(title: str, n: int, q: int, special: bool) -> Presentation:
    """Matrices n × n over GF(q), q a prime, all that can be inverted or those of determinant 1; row after row."""
    if not is_prime(q):
        raise InputError(
            f"matrices must be over a prime field, got {title} with {q} = {factors_text(q)}; give SL(2,5), for example"
        )
    places = range(n)
    identity = tuple(int(i == j) for i, j in product(places, places))

    def changed(i: int, j: int, value: int) -> Element:
        return tuple(value if k == n * i + j else entry for k, entry in enumerate(identity))

    def multiply(a: Element, b: Element) -> Element:
        return tuple(sum(a[n * i + k] * b[n * k + j] for k in places) % q for i, j in product(places, places))

    def name(matrix: Element) -> str:
        return "[" + "; ".join(" ".join(map(str, matrix[n * i : n * i + n])) for i in places) + "]"

    shears = [changed(i, j, 1) for i, j in product(places, places) if i != j]
    return generated(title, identity, shears + [changed(0, 0, x) for x in range(2, q) if not special], multiply, name)


# --------------------------------------------------------------------------------------------------- families


@dataclass(frozen=True)
class Family:
    """Groups with a letter and numbers: how their names look, how many elements they have, and how they are made."""

    pattern: str
    example: str
    about: str
    order: Callable[..., int]
    make: Callable[..., Presentation]
    smallest: int = 1

    def title(self, numbers: Sequence[int]) -> str:
        """The name as the kernel and files have it, however it was typed: C_07 is Z7."""
        given = iter(numbers)
        return re.sub("[0-9]+", lambda _: str(next(given)), self.example)


def matrices(example: str, about: str, *, special: bool) -> Family:
    pattern = example[:2] + r"_?\(([0-9]+),([0-9]+)\)"
    return Family(pattern, example, about, partial(linear_order, special=special), partial(linear, special=special), 2)


FAMILIES = (
    Family(r"[ZC]_?([0-9]+)", "Z12", "cyclic, of order 12", lambda n: n, cyclic),
    Family(r"S_?([0-9]+)", "S5", "all permutations of 5 points", factorial, symmetric),
    Family(r"A_?([0-9]+)", "A5", "even permutations of 5 points", lambda n: max(1, factorial(n) // 2), alternating),
    Family(r"D_?([0-9]+)", "D30", "dihedral, of order 60", lambda n: 2 * n, dihedral),
    Family(
        r"Dic_?([0-9]+)",
        "Dic15",
        "dicyclic, of order 60",
        lambda n: 4 * n,
        lambda title, n: rotations_and(title, 2 * n, n),
    ),
    Family(r"Q_?([0-9]+)", "Q8", "quaternions, of order 8", lambda n: n, quaternions),
    matrices("SL(2,5)", "matrices of determinant 1 over GF(5)", special=True),
    matrices("GL(2,3)", "matrices over GF(3) that have an inverse", special=False),
)
MORE_EXAMPLES = ("S3xZ10", "Z2^4", "<(1 2 3), (1 2)>")
KNOWN_GROUPS = ", ".join((*(family.example for family in FAMILIES), *MORE_EXAMPLES)) + ", or a file with its table"
"""Which groups there are, for errors."""
MOST_FACTORS = 10
"""Of a direct power: 2^10 is above the largest order."""
SEPARATOR = re.compile(r"\s*[x×](?![^<]*>)\s*")


class Factor(NamedTuple):
    """A name that was read: how many elements the group has is known before it is made."""

    title: str
    order: int
    make: Callable[[], Presentation]


def named(text: str) -> Presentation:
    """The group of a name; an `InputError` that says which there are, and what is near."""
    if len(text) > LONGEST_NAME:
        raise InputError(f"names of groups have at most {LONGEST_NAME:,} characters, got {len(text):,}; give a table")
    factors = [raised_factor(part, text) for part in SEPARATOR.split(text.strip())]
    title, order = "x".join(factor.title for factor in factors), prod(factor.order for factor in factors)
    check_order(title, order)
    made = [factor.make() for factor in factors]
    return made[0] if len(made) == 1 else direct_product(title, made)


def check_order(title: str, order: int) -> None:
    if order > LARGEST_ORDER:
        size = f"{order:,}" if order < 10**15 else "more than 10^15"
        raise InputError(f"{title} has {size} elements; groups may have {LARGEST_ORDER:,}, so give a smaller one")


def raised_factor(text: str, whole: str) -> Factor:
    """A factor of a direct product, which may be a power of a group: Z2^4."""
    found = re.fullmatch(r"(.*[^\s])\s*(?:\^\s*([0-9]{1,3})|([⁰¹²³⁴-⁹]{1,3}))", text)
    if not found:
        return primary(text, whole)
    times = int(found[2] or unicodedata.normalize("NFKC", found[3]))
    if not 1 <= times <= MOST_FACTORS:
        raise InputError(f"powers of groups are 1 … {MOST_FACTORS}, got {text}; 2^{MOST_FACTORS} is above the limit")
    base = primary(found[1], whole)
    title, order = f"{base.title}^{times}" if times > 1 else base.title, base.order**times
    return Factor(title, order, lambda: direct_product(title, [base.make()] * times))


def primary(text: str, whole: str) -> Factor:
    """A group of a family, or one by generators."""
    if found := re.fullmatch(r"<(.*)>", text):
        generators = [part.strip() for part in re.split(r",(?![^(]*\))", found[1])]
        title = f"<{', '.join(cycles_text(permutation_of(part)) for part in generators)}>"
        made = permutation_group(title, generators)
        return Factor(title, len(made.table), lambda: made)
    plain = re.sub(r"\s+", "", text)
    for family in FAMILIES:
        if found := re.fullmatch(family.pattern, plain):
            numbers = [int(number) for number in found.groups()]
            return of_family(family, family.title(numbers), numbers)
    if found := re.fullmatch(r"(?:GF|F)_?\(?([0-9]{1,9})\)?", plain, re.IGNORECASE):
        raise InputError(f"{plain} is a field, not a group; give field={found[1]} (--field {found[1]})")
    near = get_close_matches(re.sub(r"\d+", "5", plain.upper()), NEAR, 1, 0.6)
    meant = f"; did you mean {NEAR[near[0]]}?" if near else ";"
    raise InputError(f"unknown group {whole.strip()[:60]!r}{meant} there are {KNOWN_GROUPS}")


NEAR = {re.sub(r"\d+", "5", family.example.upper()): family.example for family in FAMILIES} | {
    "CYCLIC": "Z12",
    "SYM(5)": "S5",
    "ALT(5)": "A5",
    "DIH(5)": "D30",
    "QUATERNION": "Q8",
    "SYMMETRIC": "S5",
    "KLEIN": "Z2^2",
    "V5": "Z2^2",
}
"""What people write for each family, with 5 for any number."""


def of_family(family: Family, title: str, numbers: Sequence[int]) -> Factor:
    if max(numbers) > LARGEST_ORDER or (len(numbers) > 1 and numbers[0] > MOST_FACTORS):
        raise InputError(f"{title} is too large; groups may have {LARGEST_ORDER:,} elements, so give a smaller one")
    if min(numbers) < family.smallest:
        raise InputError(f"numbers in {title} must be at least {family.smallest}; {family.example} is {family.about}")
    order = family.order(*numbers)
    check_order(title, order)
    return Factor(title, order, lambda: family.make(title, *numbers))


def direct_product(title: str, factors: Sequence[Presentation]) -> Presentation:
    """Tuples of elements, multiplied place by place; the last place runs fastest."""

    def pair(left: Int[np.ndarray, "n n"], right: Int[np.ndarray, "m m"]) -> Int[np.ndarray, "both both"]:
        n, m = len(left), len(right)
        return np.reshape(left[:, None, :, None] * m + right[None, :, None, :], (n * m, n * m))

    table = reduce(pair, (factor.table for factor in factors))
    names = tuple(f"({', '.join(words)})" for words in product(*(factor.names for factor in factors)))
    return Presentation(title, table, names if len(factors) > 1 else factors[0].names)
