"""Symmetries of a table beyond equal rows: shifts and scalings of its variables that permute its values.

Functions outside the class have structure too. In c1·x^a·y^b + c2·x^c·y^d multiply x by λ^s and y by λ^t so that both
monomials get the same factor: the value is multiplied by it, so cells follow from each other along orbits. Two
measures see this in any table, in natural coordinates (shifts) and, modulo a prime, in those of logarithms of the
non-zero residues (scalings):

`translations` counts the pairs (s, t) for which f(a + s, b + t) = σ(f(a, b)) with one map σ for all cells.

`characters` is the effective number of pairs of frequencies (k, l) that the one-hot tensor T_q(a, b) = [f(a, b) = q]
needs, over all of them. With E(k, l) = Σ_q |T̂_q(k, l)|² apart from (0, 0) it is (ΣE)²/ΣE². A sum has E on k = l
alone, 1/p of the pairs; the orbits of a group of n translations leave about 1/n of them; noise has all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Complex, Float, Int

from modgrok.algebra.field import exp_table, is_prime
from modgrok.results import Result

Table = Int[np.ndarray, "p q"]


@dataclass(frozen=True, repr=False)
class Symmetries(Result):
    """What shifts (n1 + s, n2 + t) and scalings (s·n1, t·n2) tell about a table.

    `shifts` and `scalings` count those that permute the values, out of `cells` and of the cells without zeros;
    `characters` is the least share of frequency pairs that the one-hot tensor needs in either coordinates.
    """

    shifts: int
    scalings: int | None
    cells: tuple[int, int]
    characters: float

    def summary(self) -> str:
        found = [f"{self.shifts:,} of {self.cells[0]:,} shifts"]
        if self.scalings is not None:
            found.append(f"{self.scalings:,} of {self.cells[1]:,} scalings")
        return f"{' and '.join(found)} permute the values; {100 * self.characters:.1f} % of the frequency pairs"


def symmetries(table: Table, modulus: int | None) -> Symmetries:
    """The shifts of a table of two variables, and its scalings where it is one modulo a prime."""
    logarithmic = in_logarithms(table, modulus)
    found = [characters(table)] if logarithmic is None else [characters(table), characters(logarithmic)]
    return Symmetries(
        shifts=int(translations(table).sum()),
        scalings=None if logarithmic is None else int(translations(logarithmic).sum()),
        cells=(table.size, 0 if logarithmic is None else logarithmic.size),
        characters=min(found),
    )


def in_logarithms(table: Table, modulus: int | None) -> Int[np.ndarray, "r s"] | None:
    """The cells of non-zero residues in the order of logarithms; None for tables that are not modulo an odd prime."""
    if modulus is None or modulus < 3 or table.shape != (modulus, modulus) or not is_prime(modulus):
        return None
    places = exp_table(modulus)
    return table[np.ix_(places, places)]


def translations(table: Table) -> Bool[np.ndarray, "p q"]:
    """For which (s, t) is f(a + s, b + t) = σ(f(a, b)) on all cells, with places taken round the table?

    The first row tells of most that they are none: where it has equal values, the row s shifted by t must have too.
    """
    rows, columns = table.shape
    order = np.argsort(table[0], kind="stable")
    same = np.diff(table[0][order]) == 0
    shifted = table[:, (order[None, :] + np.arange(columns)[:, None]) % columns]  # [s, t, place of the first row]
    possible = ~((np.diff(shifted, axis=-1) != 0) & same).any(axis=-1)
    found = np.zeros_like(possible)
    found[0, 0] = True
    for s, t in zip(*(axis.tolist() for axis in np.nonzero(possible)), strict=True):
        if not found[s, t] and follows(table, np.roll(table, (-s, -t), axis=(0, 1))):
            found = generated(found, (s, t))
    return found


def generated(group: Bool[np.ndarray, "p q"], by: tuple[int, int]) -> Bool[np.ndarray, "p q"]:
    """The group that the given one and a further translation generate."""
    larger, moved = group.copy(), group
    while not group[(moved := np.roll(moved, by, axis=(0, 1))).nonzero()].all():
        larger |= moved
    return larger


def follows(first: Table, second: Table) -> bool:
    """Whether the values of the second table are a function of those of the first, cell by cell."""
    image = np.full(int(first.max()) + 1, -1, dtype=np.int64)
    image[first.ravel()] = second.ravel()
    return bool((image[first] == second).all())


def characters(table: Table) -> float:
    """The effective number of frequency pairs of the one-hot tensor, over all of them."""
    energy = one_hot_energy(table)
    energy[0, 0] = 0
    total = energy.sum()
    rounding = 1e-6 * energy.size**2  # a share of all energy, with that of (0, 0)
    return float(total**2 / (energy**2).sum() / energy.size) if total > rounding else 0.0


def one_hot_energy(table: Table) -> Float[np.ndarray, "p q"]:
    """E(k, l) = Σ_q |T̂_q(k, l)|², where T_q is 1 in the cells of value q."""
    rows, columns = table.shape
    left, right = fourier(rows), fourier(columns)
    energy = np.zeros(table.shape)
    for q in np.unique(table):
        a, b = np.nonzero(table == q)
        energy += np.abs(left[:, a] @ right[b]) ** 2
    return energy


def fourier(m: int) -> Complex[np.ndarray, "m m"]:
    """exp(-2πi·jk/m)."""
    turns = np.outer(np.arange(m), np.arange(m)) % m
    return np.exp(-2j * np.pi * turns / m).astype(np.complex64)
