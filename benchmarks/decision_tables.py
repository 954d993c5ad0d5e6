"""The tables that the decision is measured on: textbook functions, planted functions of twelve kinds, and those that
one procedure alone decides."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import numpy as np

from modgrok.algebra.groups import group

NAMED = (
    ("n1^6 + n2^6", 97),
    ("(n1^2 + n2^2)^6", 97),
    ("(n1 + n2^96)^3", 97),
    ("n1^3 n2^8", 97),
    ("n1^6 n2^7", 43),
    ("193n1^10 + 104n2^12", 211),
    ("75n1^3 n2^3 + 40", 97),
    ("(n1^3 + 5n2^2)^4", 499),
    ("n1^6 + n2^6", 1009),
    ("n1 n2", 1009),
    ("n1^2 + n1 n2 + n2^2", 1009),
    ("n1 n2 + n3", 97),
)
"""Functions that used to end in `unknown`, or late, and large moduli."""

GRID_PRIMES = (23, 43, 61, 97, 113)
LARGEST_EXPONENT = 12

PLACES = ("onto", "random", "half", "interval", "coset", "near-constant")
FIBRES = ("few values", "many values")
KINDS = tuple(product(PLACES, FIBRES))


def power_table(base: np.ndarray, exponent: int, p: int) -> np.ndarray:
    """Repeated multiplication, so that nothing of the package is used."""
    result = np.ones_like(base)
    for _ in range(exponent):
        result = result * base % p
    return result


def grid(p: int, count: int) -> Iterator[tuple[str, np.ndarray]]:
    """`count` sums (x^k + y^l)^e and as many products ((x^k + a)(y^l + b))^e, drawn from all exponents up to 12."""
    rng = random.Random(p)
    x = np.arange(p)
    exponents = list(product(range(1, 1 + LARGEST_EXPONENT), repeat=3))
    for k, m, e in rng.sample(exponents, min(count, len(exponents))):
        yield f"(n1^{k} + n2^{m})^{e}", power_table(np.add.outer(power_table(x, k, p), power_table(x, m, p)) % p, e, p)
    for k, m, e in rng.sample(exponents, min(count, len(exponents))):
        a, b = rng.randrange(p), rng.randrange(p)
        inner = np.multiply.outer(power_table(x, k, p) + a, power_table(x, m, p) + b) % p
        yield f"((n1^{k} + {a})(n2^{m} + {b}))^{e}", power_table(inner, e, p)


def planted(kind: tuple[str, str], p: int, seed: int) -> tuple[np.ndarray, int, bool]:
    """A table of the form h(g1 + g2) with its group order and whether it has ∞, for one of the twelve kinds."""
    rng = np.random.default_rng([p, KINDS.index(kind), seed])
    absorbing = bool(seed % 2)
    order = p - absorbing
    g1, g2 = places(kind[0], order, p, rng), places(kind[0], order, p, rng)
    values = int(rng.integers(2, 5)) if kind[1] == "few values" else p
    table = rng.integers(0, values, order)[np.add.outer(g1, g2) % order]
    if absorbing:
        w = int(rng.integers(values))
        table[rng.random(p) < 0.1] = w
        table[:, rng.random(p) < 0.1] = w
    return table, order, absorbing


def places(kind: str, order: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """g for p residues: onto the group, anywhere, in a half of it, in an interval, in a coset, or nearly constant."""
    half = max(2, order // 2)
    if kind == "onto":
        return rng.permutation(order)[np.arange(p) % order]
    if kind == "half":
        return rng.permutation(order)[:half][rng.integers(0, half, p)]
    if kind == "interval":
        return rng.integers(0, half, p)
    if kind == "coset":
        divisors = [d for d in range(2, order) if order % d == 0] or [1]
        d = divisors[rng.integers(len(divisors))]
        return rng.integers(0, order // d, p) * d + int(rng.integers(order))
    if kind == "near-constant":
        return rng.permutation(np.concatenate([rng.integers(0, order, 3), np.zeros(p - 3, dtype=np.int64)]))
    return rng.integers(0, order, p)


def alone() -> Iterator[tuple[str, np.ndarray, int]]:
    """Tables with the order of a cyclic group, and the procedure without which they stay undecided."""
    rng = np.random.default_rng(0)
    x, y, h = rng.permutation(61), rng.permutation(61), rng.integers(0, 30, 61)
    yield "closed-trail", h[np.add.outer(x[:45], y[:2]) % 61], 61
    wide = rng.permutation(97)
    yield "shift", rng.integers(0, 3, 97)[np.add.outer(wide, rng.permutation(97)[:32]) % 97], 97
    yield "no-cyclic-automorphism", rng.integers(0, 3, 24)[group("S4").table], 24
    column = rng.integers(0, 3, 31)
    yield "pairs", np.stack([rng.permutation(column) for _ in range(10)], axis=1), 31
    a = np.arange(60)
    yield "small-powers", np.add.outer(a**2, a**3) ** 2 % 60, 60
