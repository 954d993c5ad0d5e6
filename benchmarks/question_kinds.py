"""Kinds of tables for questions to `classify` that no law was fitted to, and no choice of a law has seen.

Written before the law was fitted, and none of them a kind or family of a census. Each gives a table over 0 … n - 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

Table = np.ndarray


def sides(n: int) -> tuple[Table, Table]:
    a, b = np.indices((n, n))
    return a, b


def scaled_sum(n: int, rng: Generator) -> Table:
    """⌊(x a + y b) / z⌋ modulo n."""
    a, b = sides(n)
    x, y, z = rng.integers(1, 8, 3)
    return (x * a + y * b) // z % n


def distances(n: int, rng: Generator) -> Table:
    """Lengths of shortest ways in a random graph of weighted edges, a ring with chords."""
    far = np.full((n, n), 4 * n)
    ends = [np.arange(n), rng.integers(0, n, n // 2)]
    others = [(np.arange(n) + 1) % n, rng.integers(0, n, n // 2)]
    x, y = np.concatenate(ends), np.concatenate(others)
    far[x, y] = far[y, x] = rng.integers(1, 6, len(x))
    np.fill_diagonal(far, 0)
    for k in range(n):
        far = np.minimum(far, far[:, k, None] + far[None, k, :])
    return far % n


def tournament(n: int, rng: Generator) -> Table:
    """The winner of a and b: by strength, with some upsets."""
    a, b = sides(n)
    strength, upset = rng.permutation(n), rng.random((n, n)) < rng.uniform(0, 0.3)
    return np.where((strength[a] < strength[b]) ^ upset, b, a)


def nim_product(n: int, rng: Generator) -> Table:
    """Products of polynomials over GF(2) modulo a random one, modulo n: not always one-to-one."""
    bits = max(1, (n - 1).bit_length())
    divisor = (1 << bits) | int(rng.integers(1 << bits)) | 1
    a, b = sides(n)
    found = np.zeros((n, n), np.int64)
    for k in range(bits):
        found ^= np.where(b >> k & 1, a << k, 0)
    for k in range(2 * bits, bits - 1, -1):
        found ^= np.where(found >> k & 1, divisor << (k - bits), 0)
    return found % n


def prefix(n: int, rng: Generator) -> Table:
    """The common beginning of two random words as a number, or how long it is."""
    letters, length = int(rng.integers(2, 4)), 8
    words = rng.integers(0, letters, (n, length))
    same = np.cumprod(words[:, None] == words[None], axis=2)
    long = same.sum(axis=2)
    if rng.integers(2):
        return long % n
    code = (same * (words[:, None] + 1) * (letters + 1) ** np.arange(length)).sum(axis=2)
    return np.unique(code, return_inverse=True)[1].reshape(n, n) % n


def digit_sum(n: int, rng: Generator) -> Table:
    """The sum of the digits of c a b, or of a² + c b, in a base."""
    a, b = sides(n)
    c, base = rng.integers(1, n), int(rng.integers(2, 11))
    number = c * a * b if rng.integers(2) else a * a + c * b
    total = np.zeros_like(number)
    while number.any():
        total, number = total + number % base, number // base
    return total % n


def pairing(n: int, rng: Generator) -> Table:
    """A number for a pair: Cantor's diagonals, shells, interleaved bits; modulo n, or its first part of n."""
    a, b = sides(n)
    shell = np.maximum(a, b)
    mixed = sum(((a >> k & 1) << 2 * k) + ((b >> k & 1) << (2 * k + 1)) for k in range(8))
    code = [(a + b) * (a + b + 1) // 2 + b, shell * shell + shell + a - b, mixed][rng.integers(3)]
    return code % n if rng.integers(2) else code * n // (int(code.max()) + 1)


def mixed_rows(n: int, rng: Generator) -> Table:
    """A sum in some rows and a product in the others, chosen at random."""
    a, b = sides(n)
    c, d = rng.integers(1, n, 2)
    return np.where(rng.random(n)[:, None] < rng.uniform(0.2, 0.8), a + c * b, d * a * b) % n


def smooth_noise(n: int, rng: Generator) -> Table:
    """A random smooth surface in levels, of equal heights or of equal areas."""
    waves = rng.uniform(0.5, 4.0, (6, 2)) * rng.choice([-1, 1], (6, 2))
    a, b = (side / n for side in sides(n))
    surface = sum(
        np.cos(2 * np.pi * (u * a + v * b) + phase) for (u, v), phase in zip(waves, rng.uniform(0, 6, 6), strict=True)
    )
    count = int(rng.integers(2, n + 1))
    if rng.integers(2):
        return np.argsort(np.argsort(surface.ravel())).reshape(n, n) * count // (n * n)
    return np.minimum((surface - surface.min()) / np.ptp(surface) * count, count - 1).astype(np.int64)


def block_permutations(n: int, rng: Generator) -> Table:
    """π_k(b) + a, with a random permutation π_k for each of some classes k of rows."""
    a, b = sides(n)
    count = int(rng.integers(2, max(3, n // 2)))
    permutations = np.stack([rng.permutation(n) for _ in range(count)])
    return (permutations[rng.integers(0, count, n)[a], b] + a * rng.integers(2)) % n


def ancestors(n: int, rng: Generator) -> Table:
    """The lowest common ancestor of two nodes of a random tree."""
    parent = np.array([0, *(int(rng.integers(max(0, k - 6), k)) for k in range(1, n))])
    names = rng.permutation(n) if rng.integers(2) else np.arange(n)
    a, b = (side.copy() for side in sides(n))
    while (a != b).any():  # a parent comes before its children
        a, b = np.where(a > b, parent[a], a), np.where(b > a, parent[b], b)
    return names[a]


def game(n: int, rng: Generator) -> Table:
    """Grundy values of a game of two heaps: some moves take from one, some from both."""
    single = set(rng.integers(1, n, int(rng.integers(2, 6))).tolist()) | {1}
    both = set(rng.integers(1, n, int(rng.integers(0, 4))).tolist())
    table = np.zeros((n, n), np.int64)
    for a in range(n):
        for b in range(n):
            seen = {int(table[a - k, b]) for k in single if k <= a} | {int(table[a, b - k]) for k in single if k <= b}
            seen |= {int(table[a - k, b - k]) for k in both if k <= min(a, b)}
            table[a, b] = next(k for k in range(n) if k not in seen)
    return table


def iterates(n: int, rng: Generator) -> Table:
    """f applied a times to b, for a random permutation, a random map, or c b + d."""
    c, d = rng.integers(1, n, 2)
    step = [rng.permutation(n), rng.integers(0, n, n), (c * np.arange(n) + d) % n][rng.integers(3)]
    rows = [np.arange(n)]
    for _ in range(n - 1):
        rows.append(step[rows[-1]])
    return np.stack(rows)


def collatz(n: int, rng: Generator) -> Table:
    """How many steps of Collatz's rule a + c b + d takes, or its number of odd ones."""
    a, b = sides(n)
    c, d = rng.integers(1, n, 2)
    number, steps, odd = a + c * b + d, np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
    while (number > 1).any():
        is_odd = (number % 2 == 1) & (number > 1)
        steps, odd = steps + (number > 1), odd + is_odd
        number = np.where(is_odd, 3 * number + 1, np.where(number > 1, number // 2, number))
    return (odd if rng.integers(2) else steps) % n


def median_of(n: int, rng: Generator) -> Table:
    """The middle one of a, b and a third number: a constant, a reversed sum, or a product."""
    a, b = sides(n)
    c = int(rng.integers(1, n))
    third = [np.full((n, n), c), (c - a - b) % n, a * b % n][rng.integers(3)]
    return np.median(np.stack([a, b, third]), axis=0).astype(np.int64)


QUESTION_KINDS: dict[str, Callable[[int, Generator], Table]] = {
    "scaled-sum": scaled_sum,
    "distances": distances,
    "tournament": tournament,
    "nim-product": nim_product,
    "prefix": prefix,
    "digit-sum": digit_sum,
    "pairing": pairing,
    "mixed-rows": mixed_rows,
    "smooth-noise": smooth_noise,
    "block-permutations": block_permutations,
    "ancestors": ancestors,
    "game": game,
    "iterates": iterates,
    "collatz": collatz,
    "median": median_of,
}
SIDES = (13, 17, 22, 26, 29, 37, 42, 47, 55, 67, 83, 91, 103)
"""None of them of the censuses of kinds."""
