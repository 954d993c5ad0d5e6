"""Kinds of tables beyond sums, products and polynomials: what the law of learning is fitted to, besides the families.

Each kind is a function of a side n and a random generator and gives one table over 0 … n - 1. A kind is broad: it draws
the operation as well as its coefficients, so that a few tables of it differ. `other_kinds` shares no kind with this
module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from jaxtyping import Int
from numpy.random import Generator

from modgrok.algebra.field import factorise, generator, is_prime
from modgrok.algebra.group_names import partitions
from modgrok.algebra.named_groups import cycles_text, named

Values = Int[np.ndarray, "n n"]
Operation = Callable[[Values, Values], Values]

DAMAGES = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)
MOVES_PER_CELL = 2
"""Most Markov moves of a Latin square, in times its cells."""
NONABELIAN = ("S3", "D4", "Q8", "D5", "A4", "Dic3", "D7", "D9", "S4", "SL(2,3)", "A5", "S5", "SL(2,5)")
"""Groups that have a cyclic group beside them where the order allows it."""


def sides(n: int) -> tuple[Values, Values]:
    """a and b of every cell."""
    a, b = np.indices((n, n))
    return a, b


def tilted(table: Values, n: int, rng: Generator) -> Values:
    """The table itself or, as often, with c·a + d·b added modulo n."""
    a, b = sides(n)
    c, d = rng.integers(0, n, 2) * rng.integers(0, 2)
    return np.asarray((table + c * a + d * b) % n)


def choose(choices: dict[str, Operation], rng: Generator) -> Operation:
    return list(choices.values())[rng.integers(len(choices))]


# ------------------------------------------------------------------------------------------------- groups


@lru_cache(maxsize=256)
def group_names(order: int) -> tuple[str, ...]:
    """Names of groups of an order: all abelian ones, dihedral, dicyclic, some products and Z_p ⋊ Z_k.

    >>> group_names(12)
    ('Z3xZ2xZ2', 'Z3xZ4', 'D6', 'Dic3', 'S3xZ2', 'A4')
    """
    found = [name for name in abelian_names(order) if name]
    found += [f"D{order // 2}"] * (order % 2 == 0 and order > 4) + [f"Dic{order // 4}"] * (order % 4 == 0 and order > 4)
    for name in NONABELIAN:
        size = NONABELIAN_ORDERS[name]
        if order % size == 0 and name not in found:
            found.append(name if order == size else f"{name}xZ{order // size}")
    for p, _ in factorise(order):
        for k in range(3, p):
            if order % (p * k) == 0 and (p - 1) % k == 0:
                found.append(affine_name(p, k) + (f"xZ{order // (p * k)}" if order > p * k else ""))
    return tuple(found)


NONABELIAN_ORDERS = dict(zip(NONABELIAN, (6, 8, 8, 10, 12, 12, 14, 18, 24, 24, 60, 120, 120), strict=True))


def abelian_names(order: int) -> list[str]:
    """One name for every way to write the exponents of the primes of an order as sums."""
    names = [""]
    for p, exponent in reversed(factorise(order)):
        powers = [
            "x".join(f"Z{p**part}" for part in reversed(parts)) for parts in reversed(partitions(exponent, exponent))
        ]
        names = [f"{name}x{power}".strip("x") for name in names for power in powers]
    return names


def affine_name(p: int, k: int) -> str:
    """Z_p ⋊ Z_k as permutations: x + 1 and c·x with c of order k modulo p."""
    c = pow(generator(p), (p - 1) // k, p)
    shift, scale = (tuple((c * x + d) % p for x in range(p)) for c, d in ((1, 1), (c, 0)))
    return f"<{cycles_text(shift)}, {cycles_text(scale)}>"


def group(n: int, rng: Generator) -> Values:
    """A group of order n, its elements in the order of their names."""
    names = group_names(n)
    return named(names[rng.integers(len(names))]).table


def shuffled_group(n: int, rng: Generator) -> Values:
    """A group with rows, columns and values permuted, each in its own way: an isotope."""
    table = group(n, rng)
    rows, columns, values = (rng.permutation(n) for _ in range(3))
    return np.asarray(values[table[np.ix_(rows, columns)]])


# ------------------------------------------------------------------- lattices, bits, integers, tropical sums


LATTICE: dict[str, Operation] = {
    "gcd": lambda a, b: np.gcd(a, b),
    "lcm": lambda a, b: np.lcm(a, b),
    "max": lambda a, b: np.maximum(a, b),
    "min": lambda a, b: np.minimum(a, b),
    "gcd from 1": lambda a, b: np.gcd(a + 1, b + 1) - 1,
    "lcm from 1": lambda a, b: np.lcm(a + 1, b + 1),
    "max of min": lambda a, b: np.maximum(np.minimum(a, len(a) // 2), b),
}
BITS: dict[str, Operation] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "and not": lambda a, b: a & ~b,
    "xor shifted": lambda a, b: a ^ (b << 1),
    "choose": lambda a, b: (a & b) ^ (a >> 1),
}
INTEGERS: dict[str, Operation] = {
    "product over n": lambda a, b: a * b // len(a),
    "distance": lambda a, b: np.abs(a - b),
    "mean": lambda a, b: (a + b) // 2,
    "quotient": lambda a, b: a // (b + 1),
    "remainder": lambda a, b: a % (b + 1),
    "saturated sum": lambda a, b: np.minimum(a + b, len(a) - 1),
    "saturated product": lambda a, b: np.minimum(a * b, len(a) - 1),
    "squares over 2n": lambda a, b: (a * a + b * b) // (2 * len(a)),
}


def from_operations(choices: dict[str, Operation]) -> Callable[[int, Generator], Values]:
    def make(n: int, rng: Generator) -> Values:
        return tilted(choose(choices, rng)(*sides(n)), n, rng)

    return make


def tropical(n: int, rng: Generator) -> Values:
    """The least or largest of two or three linear forms modulo n."""
    a, b = sides(n)
    forms = [(c * a + d * b) % n for c, d in rng.integers(0, n, (rng.integers(2, 4), 2))]
    return np.asarray(np.min(forms, axis=0) if rng.integers(2) else np.max(forms, axis=0))


def conditional(n: int, rng: Generator) -> Values:
    """One operation where a condition holds, and another elsewhere."""
    a, b = sides(n)
    c = int(rng.integers(1, n))
    conditions = [a < b, a % 2 == 0, (a + b) % n < c, a < c, (a - b) % 3 == 0, (a % 2) == (b % 2)]
    d, e = rng.integers(1, n, 2)
    branches = [a + b, a - b, a * b, d * a + e * b, np.maximum(a, b), b, d * a * b + e, a * a + b]
    first, second = rng.choice(len(branches), 2, replace=False)
    return np.asarray(np.where(conditions[rng.integers(len(conditions))], branches[first], branches[second]) % n)


# ---------------------------------------------------------------------------------- quasigroups and damage


def quasigroup(n: int, rng: Generator) -> Values:
    """A Latin square some Markov moves away from a group, from one move to as many as leave nothing of it to see.

    Jacobson and Matthews' moves on T[a, b, q] = [f(a, b) = q]: every line of T sums to 1. Where T is 0, or at its one
    cell of -1, a cell (a, b, q) is raised by 1; with a 1 on each of its three lines, at a', b' and q', the eight
    corners of the box change by ±1 in turn, which keeps all sums. The corner (a', b', q') may become -1: such a
    square is improper, and the walk goes on from there until it is none. The walk reaches every Latin square.
    """
    tensor = np.eye(n, dtype=np.int8)[shuffled_group(n, rng)]
    moves = int(np.exp(rng.uniform(0, np.log(MOVES_PER_CELL * n * n))))
    cell: tuple[int, int, int] | None = None
    while moves > 0 or cell is not None:
        moves -= 1
        cell = markov_move(tensor, cell, rng)
    return np.asarray(tensor.argmax(axis=2))


def markov_move(
    tensor: Int[np.ndarray, "n n n"], improper: tuple[int, int, int] | None, rng: Generator
) -> tuple[int, int, int] | None:
    """One move, in place; gives the cell of -1 that it leaves, if any."""
    if improper is None:
        a, b, q = rng.integers(0, len(tensor), 3).tolist()
        if tensor[a, b, q]:
            return None
    else:
        a, b, q = improper
    lines = (tensor[:, b, q], tensor[a, :, q], tensor[a, b, :])
    ones = [np.flatnonzero(line == 1) for line in lines]
    a1, b1, q1 = (int(places[rng.integers(len(places))]) for places in ones)
    for raised in ((a, b, q), (a, b1, q1), (a1, b, q1), (a1, b1, q)):
        tensor[raised] += 1
    for lowered in ((a1, b, q), (a, b1, q), (a, b, q1), (a1, b1, q1)):
        tensor[lowered] -= 1
    return (a1, b1, q1) if tensor[a1, b1, q1] < 0 else None


def damaged(n: int, rng: Generator) -> Values:
    """A sum, a product, a largest element or a group, of whose cells a share is replaced by noise."""
    a, b = sides(n)
    bases = [(a + b) % n, a * b % n, np.maximum(a, b), (a ^ b) % n, shuffled_group(n, rng)]
    noise = rng.integers(0, n, (n, n))
    return np.where(rng.random((n, n)) < DAMAGES[rng.integers(len(DAMAGES))], noise, bases[rng.integers(len(bases))])


# --------------------------------------------------------------------------- forms, exponentials, features


def quadratic_form(n: int, rng: Generator) -> str:
    """A x² + B x y + C y², as often with linear terms."""
    a, b, c, d, e = rng.integers(1, n, 5)
    return f"{a}x^2 + {b}x y + {c}y^2" + f" + {d}x + {e}y" * int(rng.integers(2))


def cubic(n: int, rng: Generator) -> str:
    """One mixed or pure cubic monomial and one or two others of degree up to three, of both variables."""
    cubics, others = ["x^3", "x^2 y", "x y^2", "y^3"], ["x", "y", "x y", "x^2", "y^2"]
    chosen = [*rng.choice(cubics, rng.integers(1, 3), replace=False), *rng.choice(others, rng.integers(1, 3), False)]
    if not any("x" in term for term in chosen) or not any("y" in term for term in chosen):
        chosen.append("x y")
    return " + ".join(f"{rng.integers(1, n)}{term}" for term in chosen)


def exponential(n: int, rng: Generator) -> Values:
    """a^b, g^(ab), a^b + b^a, g^a + b^2 or a^b + c·a·b modulo n, for random g and c; 0^0 = 1."""
    a, b = sides(n)
    g, c = rng.integers(min(2, n - 1), n, 2)
    power = power_table(n)
    choices = [power, power[g][a * b % period(n)], power + power.T, power[g][a] * b + power[g][b], power + c * a * b]
    return tilted(choices[rng.integers(len(choices))], n, rng)


def power_table(n: int) -> Values:
    """a^b modulo n for a, b below n."""
    return np.array([[pow(a, b, n) for b in range(n)] for a in range(n)])


def period(n: int) -> int:
    """An exponent below n after which powers modulo a prime repeat; n itself otherwise, which cuts exponents off."""
    return n - 1 if is_prime(n) else n


def few_features(n: int, rng: Generator) -> Values:
    """h(φ(a), ψ(b)) for a random table h of a few features: a remainder, a quotient, or random classes."""

    def feature(count: int) -> Int[np.ndarray, "n"]:
        numbers = np.arange(n)
        return np.asarray([numbers % count, numbers * count // n, rng.integers(0, count, n)][rng.integers(3)])

    most = max(3, n // 3)
    k, l = rng.integers(2, most + 1, 2).tolist()  # noqa: E741
    return np.asarray(rng.integers(0, n, (k, l))[np.ix_(feature(k), feature(l))])


WRITTEN_KINDS: dict[str, Callable[[int, Generator], str]] = {"quadratic-form": quadratic_form, "cubic": cubic}
UNWRITTEN_KINDS: dict[str, Callable[[int, Generator], Values]] = {
    "group": group,
    "shuffled-group": shuffled_group,
    "lattice": from_operations(LATTICE),
    "bits": from_operations(BITS),
    "integers": from_operations(INTEGERS),
    "tropical": tropical,
    "conditional": conditional,
    "quasigroup": quasigroup,
    "damaged": damaged,
    "exponential": exponential,
    "few-features": few_features,
}
KINDS = (*WRITTEN_KINDS, *UNWRITTEN_KINDS)
