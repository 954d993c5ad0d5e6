"""Closed forms that fit a table best, whatever errors it has: every formula of a family is weighed against every cell.

Sums and products are all tried at once. With e(x) = exp(2πix/m),

    #{n : A(n) = c_1 n_1 + … + c_V n_V + c}  =  (1/m) Σ_k e(-kc) Σ_n e(k (A(n) - Σ_v c_v n_v))

and the inner sum is the Fourier transform of e(kA) at (k c_1, …, k c_V): m transforms of the table count the cells of
all m^(V+1) sums. Products are sums of logarithms. Polynomials are too many for that: those through a few cells drawn at
random are solved for, again and again, until some draw has met no error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log

import numpy as np
from jaxtyping import Bool, Int

from modgrok.algebra.field import exp_table, is_prime, log_table, powers
from modgrok.algebra.polynomial import from_table, polynomial
from modgrok.recognition.disguise import signed
from modgrok.separable.verdict import Witness

Table = Int[np.ndarray, "..."]
LARGEST_TRANSFORM = 1 << 24
"""Most formulas that are counted at once."""
DEGREES = (2, 3, 4)
"""Of polynomials that are looked for."""
DRAWS = 600
"""Of cells that a polynomial is solved for."""
SAMPLE = 512
"""Cells on which a draw is judged before all are asked."""
HIGHEST_POWER = 6
"""Of g1 = n^i, g2 = c n^j in h(g1 + g2)."""
SMALL_POWER, LARGEST_COMPOSITE = 4, 256
"""Exponents of products modulo composite numbers, which have no logarithms, and the largest of these."""
MOST_TERMS, LARGEST_EXACT = 6, 256
"""Of a polynomial of any degree, which must be right in every cell, and the largest prime for it."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The formula of a family that is right in most cells: what it is called, its values, and what it was chosen
    from."""

    family: str
    log_formulas: float
    table: Table
    text: str = ""
    """The formula as an expression; empty where it has none."""
    witness: Witness | None = None
    """f as h(g1 + g2), where the family tells; see `separable.verdict`."""


def best_sum(values: Table, known: Bool[np.ndarray, "..."], m: int) -> Int[np.ndarray, "coefficient"]:
    """(c_1, …, c_V, c) of the sum modulo m that is right in most of the known cells of an m × … × m table."""
    axes, steps = values.ndim, np.arange(m)
    if m ** (axes + 1) > LARGEST_TRANSFORM:
        return commonest_sum(values, known, m)
    sums = np.empty((m, *values.shape), complex)
    for k in range(m):
        found = np.fft.fftn(np.where(known, np.exp(2j * np.pi / m * (k * values % m)), 0))
        sums[k] = found[np.ix_(*[k * steps % m] * axes)]
    counts = np.rint(np.fft.fft(sums, axis=0).real / m).astype(np.int64)
    c, *slopes = np.unravel_index(int(counts.argmax()), counts.shape)
    return np.array([*slopes, c])


def commonest_sum(values: Table, known: Bool[np.ndarray, "..."], m: int) -> Int[np.ndarray, "coefficient"]:
    """The same where there are too many sums to count: the commonest step along each axis, and what is left over."""
    slopes = []
    for axis in range(values.ndim):
        both = known & np.roll(known, -1, axis)
        steps = (np.roll(values, -1, axis) - values)[both] % m
        slopes.append(int(np.bincount(steps, minlength=1).argmax()))
    rest = (values - np.tensordot(slopes, np.indices(values.shape), 1))[known] % m
    return np.array([*slopes, int(np.bincount(rest, minlength=1).argmax())])


def linear(coefficients: Int[np.ndarray, "coefficient"], m: int) -> Table:
    """The values of c_1 n_1 + … + c."""
    n = np.indices((m,) * (len(coefficients) - 1))
    return np.asarray((np.tensordot(coefficients[:-1], n, 1) + coefficients[-1]) % m)


def sums(answers: Table) -> Iterator[Fit]:
    """c_1 n_1 + … + c."""
    m, axes = len(answers), answers.ndim
    found = best_sum(answers, np.ones(answers.shape, bool), m)
    terms = {tuple(int(k == axis) for k in range(axes)): int(c) for axis, c in enumerate(found[:-1])}
    text = signed(polynomial(m, range(1, axes + 1), terms | {(0,) * axes: int(found[-1])}))
    h = tuple(((np.arange(m) + found[-1]) % m).tolist())
    witness = Witness(m, tuple(tuple((c * np.arange(m) % m).tolist()) for c in found[:-1]), h)
    yield Fit("sums", (axes + 1) * log(m), linear(found, m), text, witness)


def products(answers: Table) -> Iterator[Fit]:
    """c n_1^i n_2^j … + d modulo a prime, d being 0 or the commonest answer where a variable is 0."""
    p, axes = len(answers), answers.ndim
    if not is_prime(p) or p < 3:
        return
    n = np.indices(answers.shape)
    zero, exponentials = (n == 0).any(axis=0), exp_table(p)
    for d in sorted({0, int(np.bincount(answers[zero]).argmax())}):
        rest = (answers - d) % p
        placed = rest[np.ix_(*[exponentials] * axes)]
        *powers, c = best_sum(log_table(p)[placed], placed > 0, p - 1)
        powers = [int(power) or p - 1 for power in powers]  # n^(p-1) is n^0, but for 0
        logarithms = np.tensordot(powers, log_table(p)[n], 1)
        values = (np.where(zero, 0, exponentials[(logarithms + c) % (p - 1)]) + d) % p
        terms = {tuple(powers): int(exponentials[c]), (0,) * axes: d}
        text = signed(polynomial(p, range(1, axes + 1), terms))
        h = (exponentials[(np.arange(p - 1) + c) % (p - 1)] + d) % p
        yield Fit("products", axes * log(p) + 2 * log(p), values, text, power_witness(powers, h, d, p))


def power_witness(powers: Sequence[int], h: Int[np.ndarray, "order"], at_zero: int, p: int) -> Witness:
    """Σ_v a_v log n_v over Z_(p-1), with 0 absorbing."""
    places = [[None, *(power * log_table(p)[1:] % (p - 1)).tolist()] for power in powers]
    return Witness(p - 1, tuple(map(tuple, places)), tuple(h.tolist()), at_zero)


def small_products(answers: Table) -> Iterator[Fit]:
    """c n1^i n2^j + d modulo a composite number, with small exponents."""
    m = len(answers)
    if is_prime(m) or answers.ndim != 2 or m > LARGEST_COMPOSITE:
        return
    n, best = np.arange(m), (-1, (0, 0, 0, 0))
    for i, j in product(range(1, SMALL_POWER + 1), repeat=2):
        monomial = np.array([pow(int(k), i, m) for k in n])[:, None] * np.array([pow(int(k), j, m) for k in n]) % m
        for c in range(1, m):
            counts = np.bincount(((answers - c * monomial) % m).ravel(), minlength=m)
            best = max(best, (int(counts.max()), (i, j, c, int(counts.argmax()))))
    i, j, c, d = best[1]
    found = polynomial(m, (1, 2), {(i, j): c, (0, 0): d})
    table = np.array([[(c * pow(a, i, m) * pow(b, j, m) + d) % m for b in range(m)] for a in range(m)])
    yield Fit("products", 2 * log(SMALL_POWER) + 2 * log(m), table, signed(found))


def polynomials(answers: Table) -> Iterator[Fit]:
    """Polynomials in two variables of small total degree, modulo a prime."""
    p = len(answers)
    if not is_prime(p) or answers.ndim != 2:
        return
    rng, cells = np.random.default_rng(0), answers.ravel()
    for degree in (d for d in DEGREES if d < p):
        monomials = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
        own = [powers(np.arange(p), e, p) for e in range(degree + 1)]
        values = np.stack([np.multiply.outer(own[i], own[j]).ravel() % p for i, j in monomials], axis=1)
        drawn = rng.integers(0, len(cells), (DRAWS, len(monomials)))
        solved = solutions(values[drawn], cells[drawn], p)
        if not len(solved):
            continue
        sample = rng.choice(len(cells), min(SAMPLE, len(cells)), replace=False)
        right = (values[sample] @ solved.T % p == cells[sample, None]).sum(axis=0)
        best = solved[int(right.argmax())]
        table = (values @ best % p).reshape(answers.shape)
        text = signed(polynomial(p, (1, 2), dict(zip(monomials, best.tolist(), strict=True))))
        yield Fit(f"polynomials of degree {degree}", len(monomials) * log(p), table, text)
    if p <= LARGEST_EXACT:
        whole = from_table(answers, p, (1, 2))
        if (terms := len(whole.terms)) <= MOST_TERMS:
            formulas = terms * log(p * p) + terms * log(p)  # which monomials, and how much of each
            yield Fit(f"polynomials of {terms} terms", formulas, answers, signed(whole))


def solutions(
    systems: Int[np.ndarray, "draw k k"], right: Int[np.ndarray, "draw k"], p: int
) -> Int[np.ndarray, "solved k"]:
    """The solutions modulo p of those square systems that have one solution, by elimination on all at once."""
    inverses = np.array([0, *(pow(a, -1, p) for a in range(1, p))])
    a = np.concatenate([systems, right[..., None]], axis=2) % p
    draws = np.arange(len(a))
    for k in range(a.shape[1]):
        pivot = k + np.argmax(a[:, k:, k] != 0, axis=1)
        a[draws, k], a[draws, pivot] = a[draws, pivot].copy(), a[draws, k].copy()
        a[:, k] = a[:, k] * inverses[a[:, k, k]][:, None] % p
        factor = a[:, :, k].copy()
        factor[:, k] = 0
        a = (a - factor[:, :, None] * a[:, k, None, :]) % p
    regular = (np.diagonal(a[:, :, :-1], axis1=1, axis2=2) == 1).all(axis=1)
    return np.asarray(a[regular, :, -1])


def powers_in_disguise(answers: Table) -> Iterator[Fit]:
    """h(n1^i + c n2^j), and h(n1^i n2^j) modulo a prime, with any h: for each sum the commonest answer is taken."""
    m = len(answers)
    if answers.ndim != 2 or m > 256:
        return
    n = np.arange(m)
    maps = {tuple(pow(int(k), i, m) for k in n): i for i in range(HIGHEST_POWER, 0, -1)}
    placements = ((np.array(x), c * np.array(y) % m) for x in maps for y in maps for c in range(1, m))
    g1, g2 = max(placements, key=lambda g: explained(answers, g[0], g[1], m))
    h = fibres(answers, (g1[:, None] + g2) % m, m)
    formulas = 2 * log(HIGHEST_POWER) + log(m) + m * log(m)
    sums = (g1[:, None] + g2) % m
    witness = Witness(m, (tuple(g1.tolist()), tuple(g2.tolist())), reached(h, sums))
    yield Fit("sums in disguise", formulas, h[sums], witness=witness)
    if is_prime(m) and m > 3:
        yield product_in_disguise(answers, m)


def product_in_disguise(answers: Table, p: int) -> Fit:
    inner, order = answers[1:, 1:], p - 1
    logarithms = log_table(p)[1:]
    pairs = [(i, j) for i in range(1, HIGHEST_POWER + 1) for j in range(1, order)]
    i, j = max(pairs, key=lambda ij: explained(inner, ij[0] * logarithms % order, ij[1] * logarithms % order, order))
    places = (i * logarithms[:, None] + j * logarithms) % order
    h = fibres(inner, places, order)
    at_zero = int(np.bincount([*answers[0], *answers[1:, 0]]).argmax())
    table = np.full(answers.shape, at_zero)
    table[1:, 1:] = h[places]
    formulas = log(HIGHEST_POWER) + log(p) + p * log(p)
    return Fit("products in disguise", formulas, table, witness=power_witness((i, j), h, at_zero, p))


def explained(cells: Table, g1: Int[np.ndarray, "row"], g2: Int[np.ndarray, "column"], m: int) -> int:
    """How many cells are right if for each sum of places the commonest answer is taken."""
    values = int(cells.max()) + 1
    keys = (g1[:, None] + g2) % m * values + cells
    return int(np.bincount(keys.ravel(), minlength=m * values).reshape(m, values).max(axis=1).sum())


def reached(h: Int[np.ndarray, "place"], places: Table) -> tuple[int | None, ...]:
    """h with None for places that no cell has."""
    found = np.isin(np.arange(len(h)), places)
    return tuple(int(value) if there else None for value, there in zip(h, found, strict=True))


def fibres(cells: Table, places: Table, m: int) -> Int[np.ndarray, "place"]:
    """h: the commonest answer of each place; 0 where no cell has it."""
    values = int(cells.max()) + 1
    counts = np.bincount((places * values + cells).ravel(), minlength=m * values)
    return np.asarray(counts.reshape(m, values).argmax(axis=1))
