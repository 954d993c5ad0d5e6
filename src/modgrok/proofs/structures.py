"""The kernel's own finite groups and fields.

Nothing here is shared with `algebra`. Groups are made of permutations, of rotations and reflections, and of matrices
of Python's integers; a field of the powers of t modulo its Conway polynomial, which is found from its definition. Both
have the elements 0 … n - 1, numbered as docs/group-networks.md says: the identity first, the others in the order of the
tuples that they are. A group that was given by its table is checked for the laws.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import permutations, product
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from modgrok.proofs.expressions import is_prime
from modgrok.proofs.proof import NoProof

MOST_ELEMENTS, MOST_RESIDUES = 1024, 1 << 20
MOST_TUPLES = 1 << 12
"""That are looked through for the matrices of a group: more of them make a larger group than there may be."""
UNDEFINED = -1


class Place(NamedTuple):
    """Where expressions have values: so many elements, their products and inverses, and in rings their sums."""

    order: int
    times: Callable[[np.ndarray, np.ndarray], np.ndarray]
    inverses: np.ndarray
    plus: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    one: int = 0
    characteristic: int = 0
    t: int | None = None
    ordered: bool = False


def group_place(table: np.ndarray) -> Place:
    return Place(len(table), lambda a, b: table[a, b], (table == 0).argmax(axis=1))


# -------------------------------------------------------------------------------------------------------- groups

Elements = list[Any]
Made = tuple[Elements, Callable[[Any, Any], Any]]


def of_permutations(points: int, even: bool) -> Made:
    if points > 7:
        raise NoProof(f"the kernel makes groups of up to {MOST_ELEMENTS} elements")

    def is_even(a: tuple[int, ...]) -> bool:
        return sum(a[i] > a[j] for j in range(points) for i in range(j)) % 2 == 0

    return [a for a in permutations(range(points)) if is_even(a) or not even], composed


def composed(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """First b, then a."""
    return tuple(a[point] for point in b)


def rotations(n: int, square: int) -> Made:
    """(s, r) stands for r^r s^s, with r^n = 1, s r = r⁻¹ s and s² = r^square."""

    def times(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
        turned = x[1] - y[1] if x[0] else x[1] + y[1]
        return (0, (turned + square) % n) if x[0] and y[0] else (x[0] + y[0], turned % n)

    return [(s, r) for s in range(2) for r in range(n)], times


def determinant(matrix: Sequence[int], n: int) -> int:
    if n == 1:
        return matrix[0]
    rest = [[matrix[n * i + j] for i in range(1, n) for j in range(n) if j != k] for k in range(n)]
    return sum((-1) ** k * matrix[k] * determinant(minor, n - 1) for k, minor in enumerate(rest))


def of_matrices(n: int, q: int, special: bool) -> Made:
    if not is_prime(q) or not 1 <= n <= 4 or q ** (n * n) > MOST_TUPLES:
        raise NoProof("the kernel makes no such group of matrices")
    one = tuple(int(i == j) for i in range(n) for j in range(n))
    found = [m for m in product(range(q), repeat=n * n) if (d := determinant(m, n) % q) == 1 or (d and not special)]
    return [one, *(m for m in found if m != one)], lambda x, y: tuple(
        sum(x[n * i + k] * y[n * k + j] for k in range(n)) % q for i in range(n) for j in range(n)
    )


def generated(cycles: Sequence[str]) -> Made:
    """The permutations that are products of these, each written in cycles; the last cycle is the first that acts."""
    read = [[[int(point) - 1 for point in re.findall("[0-9]+", cycle)] for cycle in re.findall(r"\(([0-9 ]*)\)", text)]
            for text in cycles]  # fmt: skip
    points = max((point + 1 for text in read for cycle in text for point in cycle), default=1)
    if points > MOST_ELEMENTS or any(len(set(cycle)) < len(cycle) or -1 in cycle for text in read for cycle in text):
        raise NoProof("the kernel cannot read the generators of the group")
    identity = tuple(range(points))
    makers = [identity]
    for text in read:
        made = identity
        for cycle in text:
            goes = dict(zip(cycle, cycle[1:] + cycle[:1], strict=True))
            made = composed(made, tuple(goes.get(point, point) for point in identity))
        makers.append(made)
    found, todo = {identity}, [identity]
    while todo:
        x = todo.pop()
        fresh = {composed(x, maker) for maker in makers} - found
        found |= fresh
        todo += fresh
        if len(found) > MOST_ELEMENTS:
            raise NoProof(f"the kernel makes groups of up to {MOST_ELEMENTS} elements")
    return sorted(found), composed


def family(name: str) -> Made:
    found = re.fullmatch(r"([A-Za-z]+)\(?([0-9]{1,4})(?:,([0-9]{1,4}))?\)?", name)
    if found is None:
        raise NoProof("the kernel does not know the group")
    kind, n, q = found[1], int(found[2]), int(found[3] or 0)
    if kind in ("SL", "GL") and q:
        return of_matrices(n, q, kind == "SL")
    if q or not 1 <= n <= MOST_ELEMENTS or name != f"{kind}{n}":
        raise NoProof("the kernel does not know the group")
    if kind in ("S", "A"):
        return of_permutations(n, kind == "A")
    if kind == "Q" and (n < 8 or n & (n - 1)):
        raise NoProof("the kernel does not know the group")
    if kind == "Z":
        return list(range(n)), lambda x, y: (x + y) % n
    turns = {"D": (n, 0), "Dic": (2 * n, n), "Q": (n // 2, n // 4)}
    if kind not in turns:
        raise NoProof("the kernel does not know the group")
    return rotations(*turns[kind])


@lru_cache(maxsize=8)
def named_group(name: str) -> np.ndarray:
    """The multiplication table of a group by its name: families, powers, direct products, the last factor fastest."""
    factors: list[Made] = []
    for part in re.split(r"x(?![^<]*>)", name):
        base, _, times = part.partition("^")
        if not re.fullmatch("[0-9]{0,2}", times):
            raise NoProof("the kernel does not know the group")
        made = generated(base[1:-1].split(",")) if base[:1] == "<" and base[-1:] == ">" else family(base)
        factors += [made] * int(times or 1)
        if prod(len(elements) for elements, _ in factors) > MOST_ELEMENTS:
            raise NoProof(f"the kernel makes groups of up to {MOST_ELEMENTS} elements")
    table = np.zeros((1, 1), dtype=np.int64)
    for elements, times_ in factors:
        number = {element: k for k, element in enumerate(elements)}
        own = np.array([[number[times_(a, b)] for b in elements] for a in elements])
        table = np.kron(table, np.ones_like(own)) * len(own) + np.tile(own, (len(table), len(table)))
    table.flags.writeable = False
    return table


def group_of_table(table: np.ndarray) -> np.ndarray:
    """The table itself if it is one of a group with the identity first; associativity is tested on every triple."""
    n = len(table)
    if table.shape != (n, n) or not 1 <= n <= MOST_ELEMENTS or table.min() < 0 or table.max() >= n:
        raise NoProof("the table of the group is not one of a group")
    own = np.arange(n)
    neutral = (table[0] == own).all() and (table[:, 0] == own).all()
    if not neutral or not (table == 0).any(axis=1).all():
        raise NoProof("the table of the group has no identity in its first place, or not all inverses")
    if any((table[table[a]] != table[a][table]).any() for a in range(n)):
        raise NoProof("the table of the group is not associative")
    return table


# -------------------------------------------------------------------------------------------------------- fields


def times_modulo(a: Sequence[int], b: Sequence[int], modulus: Sequence[int], p: int) -> list[int]:
    """The product of two polynomials, their coefficients from t^0 on, modulo a third whose leading one is 1."""
    k = len(modulus) - 1
    found = [0] * (2 * k)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            found[i + j] = (found[i + j] + x * y) % p
    for top in range(2 * k - 1, k - 1, -1):
        for j in range(k):
            found[top - k + j] = (found[top - k + j] - found[top] * modulus[j]) % p
    return found[:k]


def power_modulo(a: Sequence[int], exponent: int, modulus: Sequence[int], p: int) -> list[int]:
    found, k = [1 % p], len(modulus) - 1
    base = list(a)
    while exponent:
        found = times_modulo(found, base, modulus, p) if exponent & 1 else found
        base, exponent = times_modulo(base, base, modulus, p), exponent >> 1
    return (found + [0] * k)[:k]


@lru_cache(maxsize=64)
def conway(p: int, k: int) -> tuple[int, ...]:
    """The Conway polynomial from its definition, coefficients from t^0 on.

    The first, in the order of (-1)^(k-j) times the coefficient of t^j from the highest down, whose root t generates the
    field and whose power t^((p^k - 1)/(p^m - 1)) is a root of the one of degree m, for all m that divide k.
    """
    q = p**k
    primes = [r for r in range(2, q) if is_prime(r) and (q - 1) % r == 0]
    for word in product(range(p), repeat=k):
        modulus = [*((-1) ** (k - j) * word[k - 1 - j] % p for j in range(k)), 1]
        t = power_modulo([0, 1], 1, modulus, p) if k > 1 else [-modulus[0] % p]
        one = power_modulo(t, 0, modulus, p)
        if not modulus[0] or power_modulo(t, q - 1, modulus, p) != one:
            continue
        if any(power_modulo(t, (q - 1) // r, modulus, p) == one for r in primes):
            continue
        if all(is_root(conway(p, m), power_modulo(t, (q - 1) // (p**m - 1), modulus, p), modulus, p)
               for m in range(1, k) if k % m == 0):  # fmt: skip
            return tuple(modulus)
    raise NoProof("the kernel finds no Conway polynomial")


def is_root(polynomial: Sequence[int], at: list[int], modulus: Sequence[int], p: int) -> bool:
    total = [0] * (len(modulus) - 1)
    for coefficient in reversed(polynomial):
        total = times_modulo(total, at, modulus, p)
        total[0] = (total[0] + coefficient) % p
    return not any(total)


@lru_cache(maxsize=8)
def field(q: int) -> Place:
    """GF(q): element n is the polynomial of its digits in base p, that of t^0 last."""
    p = next((d for d in range(2, q + 1) if q % d == 0), 0)
    k = next((k for k in range(1, 13) if p**k == q), 0)
    if not k or q > MOST_RESIDUES or (k > 1 and q > MOST_ELEMENTS):
        raise NoProof("the kernel makes no field with so many elements")
    modulus = conway(p, k)
    t = [0, 1] if k > 1 else [-modulus[0] % p]
    numbers, now = [], [1] + [0] * (k - 1)
    for _ in range(q - 1):
        numbers.append(sum(digit * p**j for j, digit in enumerate(now)))
        now = times_modulo(now, t, modulus, p)
    if sorted(numbers) != list(range(1, q)):
        raise NoProof("t does not generate the field")
    powers, exponents = np.array(numbers), np.zeros(q, dtype=np.int64)
    exponents[powers] = np.arange(q - 1)
    inverses = powers[-exponents % (q - 1)]
    inverses[0] = UNDEFINED
    weights = p ** np.arange(k)
    digits = np.arange(q)[:, None] // weights % p

    def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where((a == 0) | (b == 0), 0, powers[(exponents[a] + exponents[b]) % (q - 1)])

    def plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray((digits[a] + digits[b]) % p @ weights)

    return Place(q, times, inverses, plus, 1, p, numbers[1 % (q - 1)])


@lru_cache(maxsize=8)
def residues(m: int) -> Place:
    if not 2 <= m <= MOST_RESIDUES:
        raise NoProof(f"the kernel has residues modulo numbers up to {MOST_RESIDUES}")
    inverses = np.array([pow(x, -1, m) if gcd(x, m) == 1 else UNDEFINED for x in range(m)])
    return Place(m, lambda a, b: a * b % m, inverses, lambda a, b: (a + b) % m, 1, m, None, True)


def called_a_table(words: str) -> None:
    """A group that was given by its table may be called a table or by its file, and by no other name.

    Which names mean a group that people know (C12, Sym(5), GF(8), S₅) nobody can list.
    """
    if not re.fullmatch(r"in (the table( .*)?|.*\.(csv|npy|parquet))", words, re.IGNORECASE):
        raise NoProof("a group that was given by its table has the name of another one")


def place_of(words: str, given: np.ndarray | None) -> Place:
    if given is not None:
        called_a_table(words)
        return group_place(group_of_table(given))
    kind, _, name = words.partition(" ")
    if kind == "mod" and re.fullmatch("[0-9]{1,7}", name):
        return residues(int(name))
    if kind == "in" and (number := re.fullmatch(r"GF\(([0-9]{1,7})\)", name)):
        return field(int(number[1]))
    if kind == "in":
        return group_place(named_group(name))
    raise NoProof("the kernel does not know where the expression has its values")
