"""Primes, generators, and the exponential and logarithm tables of GF(p).

The multiplicative group of GF(p) is cyclic of order p - 1: every non-zero residue is g^r for one r in
0 … p-2, where g is a generator. `log_table` and `exp_table` are that relabelling and its inverse; they turn
a product of residues into a sum of logarithms modulo p - 1.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from math import gcd, isqrt, lcm
from typing import SupportsIndex, TypeAlias

import numpy as np
from jaxtyping import Int

from modgrok.base.errors import InputError

LARGEST_MODULUS = 1 << 20

IntArray: TypeAlias = Int[np.ndarray, "..."]
Residues: TypeAlias = IntArray | np.integer | int
"""Residues of any shape; NumPy makes a scalar of what has no axes."""


def check_modulus(modulus: SupportsIndex) -> int:
    """`modulus` itself if networks can be built for it; an `InputError` otherwise."""
    try:
        modulus = operator.index(modulus)
    except TypeError:
        raise InputError(f"modulus must be a whole number, got {modulus!r}; give 97, for example") from None
    if modulus < 2:
        raise InputError(f"modulus must be at least 2, got {modulus}; give 97, for example")
    if modulus > LARGEST_MODULUS:
        raise InputError(
            f"modulus must be at most {LARGEST_MODULUS} (weights have one column per residue), got {modulus}"
        )
    return modulus


@lru_cache(maxsize=1024)
def factorise(n: int) -> tuple[tuple[int, int], ...]:
    """The prime factorisation of n >= 1 as ((prime, exponent), …), by trial division."""
    factors = []
    for d in [2, *range(3, isqrt(n) + 1, 2)]:
        if d * d > n:
            break
        exponent = 0
        while n % d == 0:
            n, exponent = n // d, exponent + 1
        if exponent:
            factors.append((d, exponent))
    if n > 1:
        factors.append((n, 1))
    return tuple(factors)


def is_prime(n: int) -> bool:
    return n >= 2 and factorise(n) == ((n, 1),)


def factors_text(n: int) -> str:
    """91 -> '7 · 13', 8 -> '2^3': for error messages."""
    return " · ".join(f"{q}^{e}" if e > 1 else str(q) for q, e in factorise(n))


def check_prime(modulus: int, what: str = "to multiply") -> int:
    """`modulus` itself if it is a prime; otherwise an `InputError` that shows its factors."""
    check_modulus(modulus)
    if not is_prime(modulus):
        raise InputError(
            f"modulus must be a prime {what}, got {modulus} = {factors_text(modulus)}; "
            "sums of one-variable terms work for any modulus"
        )
    return modulus


@lru_cache(maxsize=1024)
def generator(p: int) -> int:
    """The smallest generator of the multiplicative group of GF(p).

    g generates iff g^((p-1)/q) != 1 for every prime q dividing p - 1.
    """
    check_prime(p, "to have a generator")
    cofactors = [(p - 1) // q for q, _ in factorise(p - 1)]
    return next(g for g in range(1, p) if all(pow(g, c, p) != 1 for c in cofactors))


@lru_cache(maxsize=64)
def exp_table(p: int) -> Int[np.ndarray, "{p}-1"]:
    """exp_table(p)[r] = g^r for r = 0 … p-2."""
    g, power, powers = generator(p), 1, np.empty(p - 1, dtype=np.int64)
    for r in range(p - 1):
        powers[r] = power
        power = power * g % p
    powers.flags.writeable = False
    return powers


@lru_cache(maxsize=64)
def log_table(p: int) -> Int[np.ndarray, "{p}"]:
    """log_table(p)[g^r] = r; the logarithm of 0 does not exist and stands as -1."""
    logs = np.full(p, -1, dtype=np.int64)
    logs[exp_table(p)] = np.arange(p - 1)
    logs.flags.writeable = False
    return logs


@lru_cache(maxsize=1024)
def power_period(m: int) -> tuple[int, int]:
    """(start, period) such that a^(e + period) = a^e modulo m for every a and every e >= start.

    Let m = Π q^k. Modulo q^k a unit has order dividing λ(q^k) and a non-unit is 0 from the k-th power on; so
    start = max k and period = lcm of the λ(q^k). For a prime that is (1, p - 1): a^0 = 1 also at a = 0,
    and exponents e >= 1 act as ((e - 1) mod (p - 1)) + 1.
    """
    start, period = 0, 1
    for q, k in factorise(m):
        order = (q - 1) * q ** (k - 1)
        if q == 2 and k >= 3:
            order //= 2
        start, period = max(start, k), lcm(period, order)
    return start, period


def reduce_exponent(exponent: int, m: int) -> int:
    """The smallest exponent that acts like `exponent` on the integers modulo m."""
    start, period = power_period(m)
    return exponent if exponent < start else (exponent - start) % period + start


def powers(base: IntArray, exponent: int, m: int) -> IntArray:
    """base ** exponent modulo m, elementwise on residues, by repeated squaring."""
    exponent = reduce_exponent(exponent, m)
    result, square = np.full_like(base, 1 % m), base % m
    while exponent:
        if exponent & 1:
            result = result * square % m
        square, exponent = square * square % m, exponent >> 1
    return np.asarray(result)


def inverse(a: int, m: int) -> int:
    """The inverse of a modulo m."""
    if gcd(a, m) != 1:
        raise InputError(f"{a} has no inverse modulo {m}; its greatest common divisor with {m} is {gcd(a, m)}")
    return pow(a, -1, m)
