"""A witness in closed form: what stands behind a table that is a sum or a product in disguise.

A witness (g1, g2, h) is one of many: u·g + s for a unit u of Z_m and any shift s serves as well, with h changed to
match. Among all of them the shortest polynomials are looked for, so that (2n1 + 3n2)^4 modulo 97 is told as "u^4 with
u = 2n1 + 3n2", however the decision found it. In the multiplicative family g is a logarithm, so it stands for the
factor γ^g(n), which is 0 at ∞.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import exp_table, inverse, is_prime, log_table
from modgrok.algebra.polynomial import Polynomial, from_table, polynomial
from modgrok.separable.verdict import Witness

LARGEST_POLYNOMIAL = 127
"""Up to which prime closed forms are polynomials of any form, and not c·n^k + d alone: each of fewer than p witnesses
then takes p² steps."""
HIGHEST_POWER = 12
MOST_TERMS = 3
"""Terms in h, and in each of g1, g2, …, of a form that is worth telling."""

Residues = Int[np.ndarray, "p"]


@dataclass(frozen=True)
class Disguise:
    """h(u) of the sum or product u of `parts`, a polynomial for each variable; `outer` is h, written in n1."""

    product: bool
    parts: tuple[Polynomial, ...]
    outer: Polynomial

    @property
    def plain(self) -> bool:
        """Whether there is no disguise: h(u) = u."""
        return self.outer.terms == (((1,), 1),)

    @property
    def inner(self) -> str:
        """The sum or product itself: '2n1 + 3n2'."""
        if not self.product:
            return " + ".join(map(signed, self.parts)).replace("+ -", "- ")
        return " ".join(f"({signed(part)})" if len(part.terms) > 1 else signed(part) for part in self.parts)

    @property
    def complexity(self) -> tuple[int, int]:
        """Terms, then letters: the smaller, the better to read."""
        polynomials = (*self.parts, self.outer)
        return sum(len(found.terms) for found in polynomials), sum(len(signed(found)) for found in polynomials)

    def __str__(self) -> str:
        outer = signed(self.outer).replace("n1", "u")
        return self.inner if self.plain else f"{outer} with u = {self.inner}"


def disguise(witness: Witness, axes: Sequence[int], modulus: int) -> Disguise | None:
    """The shortest closed form of a witness for a function of n_i, i in `axes`, modulo `modulus`; None without one."""
    if any(len(part) != modulus for part in witness.g):
        return None
    if witness.group_order == modulus and not witness.absorbing:
        found = sums(witness, axes, modulus)
    elif witness.group_order == modulus - 1 and is_prime(modulus):
        found = products(witness, axes, modulus)
    else:
        return None
    short = [form for form in found if all(len(p.terms) <= MOST_TERMS for p in (*form.parts, form.outer))]
    return min(short, key=lambda form: form.complexity, default=None)


def sums(witness: Witness, axes: Sequence[int], m: int) -> Iterator[Disguise]:
    """Every u·g without constants, for the units u; a term c·t^e of h becomes c·u^(-e)·t^e."""
    shift = sum(part[0] or 0 for part in witness.g)
    parts = [fitted((np.array(part) - part[0]) % m, m, k) for k, part in zip(axes, witness.g, strict=True)]
    h = np.roll(free(witness.h), -shift)
    outer = fitted(h, m, 1) if (h >= 0).all() else shifted(h, m)
    if outer is None or any(part is None for part in parts) or not any(part.terms for part in parts if part):
        return
    for u in units(m):
        scaled = tuple(multiplied(part, u) for part in parts if part is not None and part.terms)
        back = inverse(u, m)
        terms = {monomial: c * pow(back, monomial[0], m) for monomial, c in outer.terms}
        yield Disguise(False, scaled, polynomial(m, outer.variables, terms))


def products(witness: Witness, axes: Sequence[int], p: int) -> Iterator[Disguise]:
    """Every γ^(u·g), for the units u of Z_(p-1), with leading coefficients 1 where h can take them over."""
    exponentials, logarithms = exp_table(p), log_table(p)
    h = free(witness.h)
    if witness.h_absorbing is None and (h < 0).any():
        return
    for u in units(p - 1):
        factors = [factor(part, u, exponentials) for part in witness.g]
        parts = [part for k, values in zip(axes, factors, strict=True) if (part := fitted(values, p, k)) is not None]
        if len(parts) < len(factors):
            continue
        leading = [part.terms[0][1] if part.terms else 1 for part in parts]
        shift = sum(int(logarithms[c]) for c in leading)
        places = (logarithms[1:] + shift) * inverse(u, p - 1) % (p - 1)
        outer = h[places]
        at_zero = witness.h_absorbing if witness.h_absorbing is not None else -int(outer.sum()) % p
        scaled = tuple(multiplied(part, inverse(c, p)) for part, c in zip(parts, leading, strict=True))
        varying = tuple(part for part in scaled if part.terms and any(part.terms[0][0]))
        if (whole := fitted(np.array([at_zero, *outer]), p, 1)) is not None:
            yield Disguise(True, varying, whole)


def factor(part: tuple[int | None, ...], u: int, exponentials: Int[np.ndarray, "order"]) -> Residues:
    """γ^(u·g) for each g, and 0 for ∞."""
    return np.array([0 if t is None else exponentials[t * u % len(exponentials)] for t in part])


def free(h: tuple[int | None, ...]) -> Residues:
    """A witness's h with -1 where it is free: no cell reaches it."""
    return np.array([-1 if v is None else v for v in h])


def fitted(values: Residues, m: int, index: int) -> Polynomial | None:
    """The polynomial in n_index with these values, those below 0 free: c·n^k + d if they are that, modulo small primes
    any other where none is free."""
    if values[:2].min() < 0:
        return None
    c, d, known = int(values[1] - values[0]), int(values[0]), values >= 0
    fits = ~((d + c * powers(m) - values) % m)[:, known].any(axis=1)
    if fits.any():
        return polynomial(m, (index,), {(int(fits.argmax()) + 1,): c, (0,): d})
    whole = known.all() and m <= LARGEST_POLYNOMIAL and is_prime(m)
    return from_table(values, m, (index,)) if whole else None


def shifted(h: Residues, m: int) -> Polynomial | None:
    """n1 + d, if h is that wherever it is not free, as in a sum that does not reach every residue."""
    known = np.flatnonzero(h >= 0)
    d = (h[known] - known) % m
    return polynomial(m, (1,), {(1,): 1, (0,): int(d[0])}) if len(known) and (d == d[0]).all() else None


@lru_cache(maxsize=4)
def powers(m: int) -> Int[np.ndarray, "power m"]:
    """n^1, n^2, … modulo m for all n, a row for each."""
    rows = [np.arange(m)]
    while len(rows) < HIGHEST_POWER:
        rows.append(rows[-1] * rows[0] % m)
    return np.array(rows)


def signed(part: Polynomial) -> str:
    """A polynomial with coefficients between -m/3 and 2m/3: 'u - 1' instead of 'u + 96'."""
    text = ""
    for monomial, c in part.terms:
        below = 3 * c > 2 * part.modulus
        size = replace(part, terms=((monomial, part.modulus - c if below else c),))
        text += f"{' - ' if below else ' + '}{size}"
    return ("-" if text.startswith(" - ") else "") + text[3:] if text else "0"


def multiplied(part: Polynomial, c: int) -> Polynomial:
    return polynomial(part.modulus, part.variables, {monomial: c * a for monomial, a in part.terms})


def units(m: int) -> Iterator[int]:
    return (u for u in range(1, max(m, 2)) if gcd(u, m) == 1)
