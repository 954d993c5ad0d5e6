"""Polynomials u and v with f = h(u(x) + v(y)), from the derivatives of f.

If f = h(u(x) + v(y)) holds for polynomials of degree below p in each variable, then f_x v'(y) = f_y u'(x): where
neither vanishes, f_x / f_y = u'(x) / v'(y) is a function of x times a function of y. So u' is read off, up to a
factor, and integrated. The indicator of 0 modulo p is 1 - x^(p-1) with derivative x^(p-2), which is 1/x (and 0 at 0);
so the derivative of a table is f'(x) = Σ_{t≠x} f(t) / (x - t).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import powers

Square = Int[np.ndarray, "p p"]


@lru_cache(maxsize=4)
def inverses(p: int) -> Int[np.ndarray, "{p}"]:
    """1/x modulo p, and 0 at 0."""
    return powers(np.arange(p), p - 2, p)


def integral_places(table: Square, p: int) -> Int[np.ndarray, "p"] | None:
    """u with f = h(u(x) + v(y)), as far as derivatives tell; None where they contradict that."""
    derivative = inverses(p)[np.subtract.outer(np.arange(p), np.arange(p)) % p].astype(np.float64)
    along_x = np.rint(derivative @ table).astype(np.int64) % p
    along_y = np.rint(table @ derivative.T).astype(np.int64) % p
    slopes = row_factor(along_x, along_y, p)
    return None if slopes is None else integral(slopes, p)


def row_factor(along_x: Square, along_y: Square, p: int) -> Int[np.ndarray, "p"] | None:
    """α with along_x / along_y = α(x)·β(y), from the column in which most of the quotients exist."""
    exists = along_y != 0
    quotient = along_x * inverses(p)[along_y] % p
    b0 = int(exists.sum(axis=0).argmax())
    if not exists[:, b0].any() or not quotient[exists[:, b0], b0].any():
        return None
    factor, known = quotient[:, b0].copy(), exists[:, b0].copy()
    for b in np.argsort(-exists.sum(axis=0), kind="stable"):
        both = known & exists[:, b] & (factor != 0) & (quotient[:, b] != 0)
        if not both.any():
            continue
        a = int(np.flatnonzero(both)[0])
        scale = int(factor[a] * inverses(p)[quotient[a, b]] % p)
        here = exists[:, b]
        if (factor[known & here] != quotient[known & here, b] * scale % p).any():
            return None
        factor[here] = quotient[here, b] * scale % p
        known |= here
    return factor if known.all() else None


def integral(slopes: Int[np.ndarray, "p"], p: int) -> Int[np.ndarray, "p"] | None:
    """Values of a polynomial with these values of its derivative: x^j becomes x^(j+1) / (j+1).

    The coefficient of x^j in the polynomial of degree below p with values s is -Σ_x s(x) x^(p-1-j), and s(0) for j = 0;
    there is no integral if that of x^(p-1) is not 0.
    """
    x = np.arange(p)
    table = np.empty((p, p), dtype=np.int64)
    table[0] = 1
    for j in range(1, p):
        table[j] = table[j - 1] * x % p
    coefficients = -(table[::-1] @ slopes) % p
    coefficients[0] = slopes[0]
    if coefficients[p - 1]:
        return None
    return np.asarray(coefficients[: p - 1] * inverses(p)[1:] % p @ table[1:] % p)
