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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.algebra.field import exp_table, is_prime
from modgrok.base.results import Result

Table = Int[np.ndarray, "p q"]

PAIRS = 128
"""About how many pairs of cells sort out what is no symmetry."""
MANY_CELLS = 2
"""Times the columns of a table: in more cells of one value than that, pairs are counted by transforms."""


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
    return np.asarray(table[np.ix_(places, places)])


def translations(table: Table) -> Bool[np.ndarray, "p q"]:
    """For which (s, t) is f(a + s, b + t) = σ(f(a, b)) on all cells, with places taken round the table?

    Some pairs of cells with equal values tell of most (s, t) that they are none: shifted, they must be equal too.
    """
    possible = np.ones(table.shape, bool)
    around = np.tile(table, (2, 2))
    for first, second in equal_pairs(table):
        possible &= window(around, first) == window(around, second)
    found = np.zeros_like(possible)
    found[0, 0] = True
    for s, t in zip(*(axis.tolist() for axis in np.nonzero(possible)), strict=True):
        if not found[s, t] and follows(table, window(around, (s, t))):
            found = generated(found, (s, t))
    return found


def equal_pairs(table: Table) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Some pairs of cells with equal values, from all over the table and of as many values as can be."""
    order = np.argsort(table, axis=None, kind="stable")
    sorted_values = table.ravel()[order]
    equal = np.flatnonzero(sorted_values[1:] == sorted_values[:-1])
    for k in equal[:: max(1, len(equal) // PAIRS)].tolist():
        (a, b), (c, d) = (divmod(int(cell), table.shape[1]) for cell in order[k : k + 2])
        yield (a, b), (c, d)


def window(around: Int[np.ndarray, "_ _"], corner: tuple[int, int]) -> Table:
    """The table shifted so that the corner comes first; `around` is the table twice along each axis."""
    (a, b), rows, columns = corner, around.shape[0] // 2, around.shape[1] // 2
    return around[a : a + rows, b : b + columns]


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
    """E(k, l) = Σ_q |T̂_q(k, l)|², where T_q is 1 in the cells of value q: the Fourier transform of `equal_cells`."""
    return np.fft.fft2(equal_cells(table)).real


def equal_cells(table: Table) -> Float[np.ndarray, "p q"]:
    """For every (s, t), how many cells have the value of the cell (s, t) further on, with places taken round the table.

    A value in n cells has n² pairs, whose differences are counted; a value in many cells is transformed and back, which
    takes as long whatever n is. What comes back are whole numbers but for rounding.
    """
    rows, columns = table.shape
    wide = 2 * columns
    found, counts = [np.zeros(0, np.int64)], np.zeros(table.shape)
    in_order = np.divmod(np.argsort(table, axis=None, kind="stable"), columns)
    for cells in np.split(np.stack(in_order), np.cumsum(np.bincount(table.ravel()))[:-1], axis=1):
        if cells.shape[1] > MANY_CELLS * columns:
            counts += transformed_and_back(cells, table.shape)
        else:
            places = cells[0] * wide + cells[1]
            found.append(np.subtract.outer(places + rows * wide + columns, places).ravel())  # from (-rows, -columns) on
    differences = np.bincount(np.concatenate(found), minlength=2 * rows * wide).reshape(2, rows, 2, columns)
    return np.asarray(counts + differences.sum(axis=(0, 2)))


def transformed_and_back(cells: Int[np.ndarray, "2 cell"], shape: tuple[int, int]) -> Float[np.ndarray, "p q"]:
    """How many of these cells lie (s, t) further on from one of them, by the convolution theorem."""
    one_hot = np.zeros(shape)
    one_hot[tuple(cells)] = 1
    return np.rint(np.fft.irfft2(np.abs(np.fft.rfft2(one_hot)) ** 2, s=shape))
