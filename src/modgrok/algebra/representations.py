"""The real irreducible representations of a finite group, as orthogonal matrices, from its multiplication table alone.

A group is its table t[a, b] over 0 … n - 1, with 0 the identity. Right multiplications commute with left ones, so the
eigenspaces of a random symmetric combination of right multiplications are invariant under the left ones: they are real
irreducible representations, each as often as its degree says, and one eigenvalue problem finds them all. With an
orthonormal basis b of an eigenspace the matrices are ρ(g) = bᵀ L(g) b. An error ε of b stands at right angles to the
space, which L(g) keeps, so ρ(g) is off by ε² only, and float64 is as good as it gets.

**Kinds.** What commutes with ρ is a skew field K: the reals, the complex numbers or the quaternions, of dimension
κ = 1, 2 or 4, and ⟨χ, χ⟩ = κ for the real character χ. With the complex degree d the real dimension is D = d for the
real kind and 2d for the others, and Σ D²/κ = n. The basis is chosen so that K keeps e_0 … e_{κ-1}, e_κ … e_{2κ-1}, …
together: D/κ rows of a matrix, every κ-th one, then say all of it, and tr ρ(a)ρ(c)ᵀ is κ times the sum over these rows.

**One basis everywhere.** How an eigenspace is turned is up to LAPACK. `settled` turns it so that the same table gives
the same matrices on every machine, up to rounding, and so the same networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.base.errors import FaultError

Multiplication: TypeAlias = Int[np.ndarray, "n n"]

KINDS = {1: "real", 2: "complex", 4: "quaternionic"}
"""By the dimension κ of what commutes with a representation."""
SEEDS = range(16)
"""Of the random combinations that are tried; the first is nearly always good."""
SEPARATE = 1e-7
"""Eigenvalues that differ by more, relative to the largest, are different ones."""
EQUAL = 1e-5
"""Characters that differ by less are the same."""
TIE_DIGITS = 6
"""Lengths that agree so far are equal: the first is taken, whatever rounding says."""


@dataclass(frozen=True, eq=False)
class Representation:
    """Orthogonal matrices of all elements, `kind` "real", "complex" or "quaternionic", and the complex degree d."""

    matrices: Float[np.ndarray, "n D D"]
    kind: str
    degree: int

    @property
    def dimension(self) -> int:
        """D, the real dimension: d, or 2d where the kind is not real."""
        return int(self.matrices.shape[1])

    @property
    def division(self) -> int:
        """κ, the dimension of what commutes with it."""
        return next(size for size, kind in KINDS.items() if kind == self.kind)

    @cached_property
    def character(self) -> Float[np.ndarray, "n"]:
        """The traces of the real matrices."""
        return np.asarray(np.trace(self.matrices, axis1=1, axis2=2))

    @cached_property
    def kernel(self) -> Bool[np.ndarray, "n"]:
        """The elements that it does not tell from the identity."""
        return self.character > self.dimension - EQUAL

    @property
    def multiplicity(self) -> int:
        """How often it occurs in the functions on the group: D/κ."""
        return self.dimension // self.division

    @property
    def title(self) -> str:
        """In words: 'real, degree 4'."""
        return f"{self.kind}, degree {self.degree}"


def inverses_of(table: Multiplication) -> Int[np.ndarray, "n"]:
    return np.asarray(np.argmax(table == 0, axis=1))


def classes_of(table: Multiplication) -> Int[np.ndarray, "n"]:
    """The conjugacy class of every element, named by its smallest element."""
    return np.asarray(table[table, inverses_of(table)[:, None]].min(axis=0))  # of g x g^-1 at [g, x]


def real_irreducibles(table: Multiplication) -> tuple[Representation, ...]:
    """Every real irreducible representation of a group once: the trivial one first, by degree, kind and character.

    >>> [(rho.kind, rho.degree) for rho in real_irreducibles(np.add.outer(np.arange(5), np.arange(5)) % 5)]
    [('real', 1), ('complex', 1), ('complex', 1)]
    """
    table = np.asarray(table)
    for seed in SEEDS:
        spaces = invariant_spaces(table, np.random.default_rng(seed))
        if spaces is not None:
            break
    else:
        raise FaultError(f"no representations were found of a table of order {len(table)}; is it one of a group?")
    chain = list(doubling_chain(table, np.random.default_rng(0)))
    found = [representation(table, chain, settled(space)) for space in spaces]
    return tuple(
        sorted(found, key=lambda rho: (rho.degree, rho.division, (-np.round(rho.character, 6) + 0.0).tolist()))
    )


def invariant_spaces(table: Multiplication, rng: np.random.Generator) -> list[Float[np.ndarray, "n D"]] | None:
    """An orthonormal basis of one space for every real irreducible representation; None if the combination was bad."""
    n, inverse, classes = len(table), inverses_of(table), classes_of(table)
    weights = rng.normal(size=n)
    moved = np.zeros((n, n))
    moved[table, np.arange(n)[:, None]] = weights + weights[inverse]  # a to ag, over all g
    values, vectors = np.linalg.eigh(moved)
    ends = np.flatnonzero(np.diff(values) > SEPARATE * np.abs(values).max()) + 1
    sizes = np.bincount(classes, minlength=n)
    found: list[np.ndarray] = []
    characters: list[np.ndarray] = []
    total = 0.0
    for begin, end in pairwise([0, *ends.tolist(), n]):
        space = vectors[:, begin:end]
        projection = np.bincount(classes, space @ space[0], minlength=n)
        character = n * (projection / np.maximum(sizes, 1))[classes]
        if any(np.abs(character - known).max() < EQUAL for known in characters):
            continue
        division = float((character**2).mean())
        if min(abs(division - size) for size in KINDS) > EQUAL:
            return None
        total += (end - begin) ** 2 / division
        characters.append(character)
        found.append(space)
    return found if abs(total - n) < EQUAL * n else None


def settled(space: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n D"]:
    """The space in the basis that Gram and Schmidt make of what it has of single elements, longest rest first."""
    rest, basis = space.copy(), np.empty((space.shape[1], 0))
    while basis.shape[1] < space.shape[1]:
        vector = rest[np.argmax(np.round(len(space) * (rest**2).sum(axis=1), TIE_DIGITS))]
        vector = vector - basis @ (basis.T @ vector)
        basis = np.column_stack([basis, vector / np.linalg.norm(vector)])
        rest = space - space @ basis @ basis.T
    return np.asarray(space @ basis)


def doubling_chain(
    table: Multiplication, rng: np.random.Generator
) -> Iterator[tuple[int, Int[np.ndarray, "_"], Int[np.ndarray, "_"]]]:
    """(x, old, new) with old·x = new, until all elements have come: the known ones are about doubled each time."""
    known = np.zeros(len(table), dtype=bool)
    known[0] = True
    while not known.all():
        old, unknown = np.flatnonzero(known), np.flatnonzero(~known)
        tried = rng.choice(unknown, min(8, len(unknown)), replace=False)
        x = max(tried.tolist(), key=lambda element: int((~known[table[old, element]]).sum()))
        fresh = ~known[table[old, x]]
        yield x, old[fresh], table[old[fresh], x]
        known[table[old, x]] = True


def representation(
    table: Multiplication,
    chain: list[tuple[int, Int[np.ndarray, "_"], Int[np.ndarray, "_"]]],
    space: Float[np.ndarray, "n D"],
) -> Representation:
    """The matrices of all elements on a space that left multiplication keeps, in a basis that suits its kind."""
    n, dimension = space.shape
    matrices = np.empty((n, dimension, dimension))
    matrices[0] = np.eye(dimension)
    for x, old, new in chain:
        matrices[new] = matrices[old] @ (space[table[x]].T @ space)  # x moves the function at a to xa
    division = round(float((np.trace(matrices, axis1=1, axis2=2) ** 2).mean()))
    basis = suitable_basis(matrices, division)
    matrices = basis.T @ matrices @ basis
    matrices.flags.writeable = False
    return Representation(matrices, KINDS[division], dimension if division == 1 else dimension // 2)


def suitable_basis(matrices: Float[np.ndarray, "n D D"], division: int) -> Float[np.ndarray, "D D"]:
    """An orthonormal basis v, J1 v, …, w, J1 w, … with the units J of what commutes with the matrices."""
    dimension = matrices.shape[1]
    units = [np.eye(dimension), *imaginary_units(matrices, division)]
    basis = np.empty((dimension, 0))
    while basis.shape[1] < dimension:
        left = np.eye(dimension) - basis @ basis.T
        vector = left[:, np.argmax(np.round(np.diag(left), TIE_DIGITS))]
        vector = vector - basis @ (basis.T @ vector)
        vector /= np.linalg.norm(vector)
        basis = np.column_stack([basis, *(unit @ vector for unit in units)])
    return basis


def imaginary_units(matrices: Float[np.ndarray, "n D D"], division: int) -> list[Float[np.ndarray, "D D"]]:
    """Orthogonal antisymmetric matrices that commute with all: none, J, or the i, j and k of quaternions."""
    rng = np.random.default_rng(0)
    found: list[np.ndarray] = []
    while len(found) < min(division - 1, 2):
        given = rng.normal(size=matrices.shape[1:])
        mean = (matrices @ (given - given.T) @ matrices.transpose(0, 2, 1)).mean(axis=0)
        for known in found:
            mean = mean - known * np.vdot(known, mean) / len(mean)
        found.append(mean / np.sqrt(np.vdot(mean, mean) / len(mean)))
    return [*found, found[0] @ found[1]] if division == 4 else found
