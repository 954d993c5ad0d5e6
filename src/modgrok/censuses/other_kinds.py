"""More kinds of tables, none of them a kind of `kinds` or a family of `families`, for a census of their own.

They were written to try the law of learning on; since other questions do that (`benchmarks/question_kinds.py`) the law
is fitted to these as well, each judged by members that have not seen it. Each gives one table over 0 … n - 1 from a
side n and a random generator.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np
from jaxtyping import Float
from numpy.random import Generator

from modgrok.censuses.kinds import Values, sides


def rational(n: int, rng: Generator) -> Values:
    """(A a b + B a + C b + D) / (E a b + F a + G b + H) modulo n; a divisor without inverse gives a random constant."""
    a, b = sides(n)
    above, below = rng.integers(0, n, (2, 4))
    inverses = np.full(n, -1)
    for x in range(1, n):
        if np.gcd(x, n) == 1:
            inverses[x] = pow(x, -1, n)
    basis = np.stack([a * b, a, b, np.ones_like(a)])
    divisor = inverses[np.tensordot(below, basis, 1) % n]
    return np.where(divisor < 0, rng.integers(n), np.tensordot(above, basis, 1) % n * divisor % n)


def combinatorial(n: int, rng: Generator) -> Values:
    """Binomial, Delannoy or Stirling-like numbers modulo n: T(a, b) = x T(a-1, b) + y T(a, b-1) + z T(a-1, b-1)."""
    if rng.integers(3) == 0:
        return np.array([[comb(a + b, a) % n for b in range(n)] for a in range(n)])
    x, y, z = rng.integers(0, n, 3)
    table = np.ones((n, n), dtype=np.int64)
    for a in range(1, n):
        for b in range(1, n):
            table[a, b] = (x * table[a - 1, b] + y * table[a, b - 1] + z * table[a - 1, b - 1]) % n
    return table


def rounded(n: int, rng: Generator) -> Values:
    """A smooth function of the plane, rounded to n levels: hypotenuse, angle, ripple, saddle or hill."""
    a, b = (side / n for side in sides(n))
    u, v, w = rng.uniform(0.5, 2.0, 3)
    surfaces = [
        np.hypot(u * a, v * b),
        np.arctan2(u * b + 0.01, v * a + 0.01),
        np.sin(3 * u * a + 2 * v * b) + np.cos(3 * w * b),
        (a - 0.3 * u) * (b - 0.3 * v),
        np.exp(-3 * u * (a - 0.5) ** 2 - 3 * v * (b - 0.4) ** 2),
    ]
    return levels(surfaces[rng.integers(len(surfaces))], n)


def levels(surface: Float[np.ndarray, "n n"], n: int) -> Values:
    scaled = (surface - surface.min()) / max(float(np.ptp(surface)), 1e-12)
    return np.asarray(np.minimum((scaled * n).astype(np.int64), n - 1))


def regions(n: int, rng: Generator) -> Values:
    """The nearest of some random points of the plane, by one of three distances; every point has a value."""
    count = int(rng.integers(min(4, n), n + 1))
    points, values = rng.uniform(0, n, (2, count)), rng.integers(0, n, count)
    a, b = sides(n)
    far = [np.abs(side[..., None] - place) for side, place in zip((a, b), points, strict=True)]
    distances = [far[0] + far[1], np.maximum(*far), np.hypot(*far)]
    return np.asarray(values[distances[rng.integers(3)].argmin(axis=2)])


def digits(n: int, rng: Generator) -> Values:
    """Digits of a and b in a base, put together anew: some of one, some of the other, some added without carry."""
    base = int(rng.integers(2, 6))
    places = [base**k for k in range(8) if base**k < n]
    a, b = sides(n)
    found = np.zeros((n, n), dtype=np.int64)
    for place in places:
        x, y = a // place % base, b // place % base
        takes = [x, y, (x + y) % base, x * y % base, np.minimum(x, y)]
        found += place * takes[rng.integers(len(takes))]
    return np.asarray(found % n)


def euclid(n: int, rng: Generator) -> Values:
    """What Euclid's algorithm on (a + s, b + t) leaves: its number of steps, sum of quotients, or last quotient."""
    a, b = (side + shift for side, shift in zip(sides(n), rng.integers(1, n, 2), strict=True))
    steps, total, last = (np.zeros((n, n), dtype=np.int64) for _ in range(3))
    while (b > 0).any():
        going = b > 0
        quotient = np.where(going, a // np.maximum(b, 1), 0)
        steps, total, last = steps + going, total + quotient, np.where(going, quotient, last)
        a, b = np.where(going, b, a), np.where(going, a - quotient * b, 0)
    return np.asarray((steps, total, last)[rng.integers(3)] % n)


def characters(n: int, rng: Generator) -> Values:
    """Few values that look like noise: a quadratic residue or not of a - b, parity of common bits, signs of a wave."""
    a, b = sides(n)
    squares = np.zeros(n, dtype=np.int64)
    squares[np.arange(1, n) ** 2 % n] = 1
    common = np.array([[(x & y).bit_count() for y in range(n)] for x in range(n)])
    k = int(rng.integers(1, n))
    choices = [squares[(a - b) % n], squares[(a * b + k) % n], common % 2, common % 3, (k * a * b % n) * 2 // n]
    return np.asarray(choices[rng.integers(len(choices))] % n)


def automaton(n: int, rng: Generator) -> Values:
    """One step of a cellular automaton of a random rule on the bits of a, with the bits of b as second neighbours."""
    bits = max(1, (n - 1).bit_length())
    rule = rng.integers(0, 2, 8)
    a, b = sides(n)
    found = np.zeros((n, n), dtype=np.int64)
    for k in range(bits):
        left, here, other = a >> ((k + 1) % bits) & 1, a >> k & 1, b >> k & 1
        found += rule[4 * left + 2 * here + other] << k
    return np.asarray(found % n)


def low_rank(n: int, rng: Generator) -> Values:
    """The largest of n random trilinear forms of a low rank: Σ_k u_k(a) v_k(b) w_k(q), over q."""
    rank = int(rng.integers(2, 9))
    u, v, w = rng.standard_normal((3, rank, n))
    return np.asarray(np.einsum("ka,kb,kq->abq", u, v, w).argmax(axis=2))


def semigroup(n: int, rng: Generator) -> Values:
    """An associative table that is no group: a Rees matrix semigroup over a cyclic group, or a semilattice of sets.

    Elements of the first are triples (i, g, j), multiplied as (i, g, j)(k, h, l) = (i, g + P[j, k] + h, l); what is
    left over of n elements is a zero.
    """
    a, b = sides(n)
    if rng.integers(3) == 0:
        masks = rng.permutation(1 << max(1, (n - 1).bit_length()))[:n]
        joined = masks[a] | masks[b]
        return np.asarray(np.searchsorted(np.sort(masks), joined) % n)
    rows, columns = rng.integers(2, 4, 2)
    order = max(1, n // int(rows * columns))
    used = int(rows * order * columns)
    sandwich = rng.integers(0, order, (columns, rows))
    i, g, j = np.unravel_index(np.minimum(np.arange(n), used - 1), (rows, order, columns))
    product = (g[a] + sandwich[j[a], i[b]] + g[b]) % order
    found = np.ravel_multi_index((i[a], product, j[b]), (rows, order, columns))
    return np.where((a >= used) | (b >= used), n - 1, found)


def steiner(n: int, rng: Generator) -> Values:
    """A commutative idempotent quasigroup, a∘b = (a + b)/2 in a relabelled Z_m, m odd, with a wall where n is even.

    An element is kept apart where n is even: it answers with the other operand.
    """
    m = n - 1 + n % 2
    names = rng.permutation(m)
    a, b = sides(n)
    inside = (a < m) & (b < m)
    half = (m + 1) // 2
    middle = np.argsort(names)[(names[a % m] + names[b % m]) * half % m]
    twisted = np.where((a + b) % 3 == 0, middle, np.argsort(names)[(names[a % m] * 2 - names[b % m]) % m])
    return np.where(inside, middle if rng.integers(2) else twisted, np.where(a < m, a, b))


def patchwork(n: int, rng: Generator) -> Values:
    """A chessboard of k × k fields, on each of which another affine function modulo n stands."""
    a, b = sides(n)
    k = int(rng.integers(2, 7))
    field = (a * k // n) * k + b * k // n
    c, d, e = rng.integers(0, n, (3, k * k))
    return np.asarray((c[field] * a + d[field] * b + e[field]) % n)


def walk(n: int, rng: Generator) -> Values:
    """Row after row a little changed: a random row, of which each next one has a few cells drawn anew or is shifted."""
    rate = float(rng.uniform(0.02, 0.3))
    shift = int(rng.integers(0, 3))
    rows = [rng.integers(0, n, n)]
    for _ in range(n - 1):
        rows.append(np.where(rng.random(n) < rate, rng.integers(0, n, n), np.roll(rows[-1], shift)))
    return np.stack(rows)


OTHER_KINDS: dict[str, Callable[[int, Generator], Values]] = {
    "rational": rational,
    "combinatorial": combinatorial,
    "rounded": rounded,
    "regions": regions,
    "digits": digits,
    "euclid": euclid,
    "characters": characters,
    "automaton": automaton,
    "low-rank": low_rank,
    "semigroup": semigroup,
    "steiner": steiner,
    "patchwork": patchwork,
    "walk": walk,
}
