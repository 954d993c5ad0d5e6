"""The complexity of a table: the real tensor nuclear norm of its one-hot tensor, estimated from the table alone.

T[a, b, q] = [f(a, b) = q] can be written as Σ_k w_k u_k ⊗ v_k ⊗ x_k with unit vectors and w_k >= 0 in many ways; ‖T‖
is the least Σ w_k of them all, and its dual norm is the spectral norm σ(Y) = max ⟨Y, u ⊗ v ⊗ x⟩: ‖T‖ = max ⟨T, Y⟩ /
σ(Y).

    r = ‖T‖ / √(n1 n2 n3)                     n1 × n2 cells, n3 values; n^1.5 for a square table modulo n

**Why that divisor.** If each value stands in at most c cells, σ(T) <= √c, since the unfolding of T by values has
orthogonal rows of these lengths. So ‖T‖ >= ⟨T, T⟩ / σ(T) >= n1 n2 / √c, which is √(n1 n2 n3) where all values are
equally frequent: then r >= 1, and r = 1 for Z_2^k. And r does not change where every row, or every column, is
repeated equally often.

**The estimate.** For a level λ let X minimise |T - X|² / 2 + λ ‖X‖, and Y = T - X. Then σ(Y) = λ and ⟨X, Y⟩ = λ ‖X‖, so

    D(λ) = ⟨T, Y⟩ / λ = ‖X‖ + |Y|² / λ  <=  ‖T‖

rises to ‖T‖ as λ falls, and is ‖T‖ from the beginning where all components are equally strong, as in a group. X is
found as a sum of atoms: power iterations from random starts find atoms of Y above λ, which are added, and alternating
least squares with the penalty λ Σ w_k, majorised by λ Σ |u_k|² / 2 w_k, sets all weights and directions anew. T has
one entry a cell, so that a sweep takes about (cells + atoms · sides + atoms²) · atoms operations. What is left to λ = 0
falls about as λ².

**Unknown cells.** The norm is then the least one of all tensors that have the known cells: unknown cells are filled
with those of X, again after every sweep, and Y is 0 there.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy.random import Generator

Table = Int[np.ndarray, "n1 n2"]
Matrix: TypeAlias = Float[np.ndarray, "_ atoms"]
Directions = tuple[Matrix, Matrix, Matrix]

LEVELS = (0.5, 0.35, 0.25, 0.18, 0.125)
"""λ, in units of √(cells / values), which is σ(T) where all values are equally frequent."""
ROUNDS = 4
"""At each level: atoms are looked for, and two sweeps follow."""
STARTS, ITERATIONS = 64, 6
"""Of power iterations for new atoms."""
CLEAR = 1.02
"""A new atom must stand out of λ by that much."""
SAME = 0.9
"""Atoms more alike than that are one."""
FAINT = 1e-3
"""Atoms of less weight are dropped."""
BEYOND = 1.1
"""An estimate is at most so many times what was found."""
ATOMS_PER_SIDE, FEW_ATOMS = 8, 512
"""Most atoms, in times the largest side, or this number if it is larger; what does not fit stays in the residual."""


class OneHot:
    """The one-hot tensor of a table whose unknown cells are negative."""

    def __init__(self, table: Table, values: int) -> None:
        from scipy.sparse import csr_array

        def members(where: Int[np.ndarray, "cell"], side: int) -> Any:
            """Which of some cells stand in each row, or column, or have each value."""
            return csr_array(
                (np.ones(len(where), np.float32), (where, np.arange(len(where)))), shape=(side, len(where))
            )

        a, b = np.nonzero(table >= 0)
        self.table, self.sides, self.cells = table, (*table.shape, values), len(a)
        self.known, self.unknown = (a, b, table[a, b]), np.nonzero(table < 0)
        self.of_known = tuple(members(where, side) for where, side in zip(self.known, self.sides, strict=True))
        self.of_unknown = tuple(members(where, side) for where, side in zip(self.unknown, table.shape, strict=True))
        self.filled: Float[np.ndarray, "unknown values"] | None = None
        self.along: tuple[Matrix, Matrix] | None = None

    @property
    def scale(self) -> float:
        """What r divides by."""
        return float(np.sqrt(np.prod([float(side) for side in self.sides])))

    def times(self, mode: int, directions: Directions) -> Matrix:
        """Σ T[a, b, q] over the two other modes, times their directions: a column for each atom."""
        first, second = (directions[k][self.known[k]] for k in range(3) if k != mode)
        found = np.asarray(self.of_known[mode] @ (first * second))
        return found if self.filled is None else found + self.times_filled(mode, directions)

    def times_filled(self, mode: int, directions: Directions) -> Matrix:
        assert self.filled is not None
        if mode == 2:
            pairs = directions[0][self.unknown[0]] * directions[1][self.unknown[1]]
            return np.asarray(self.filled.T @ pairs)
        other = directions[1 - mode][self.unknown[1 - mode]]
        if self.along is None or self.along[0] is not directions[2]:
            self.along = directions[2], self.filled @ directions[2]  # rows and columns ask for the same
        return np.asarray(self.of_unknown[mode] @ (other * self.along[1]))

    def fill(self, found: Atoms) -> None:
        """Let the unknown cells have the values of a sum of atoms."""
        if len(self.unknown[0]):
            u, v, x = found.directions
            self.along, self.filled = None, (u[self.unknown[0]] * v[self.unknown[1]] * found.weights) @ x.T


@dataclass(frozen=True)
class Atoms:
    """Σ_k weights[k] u_k ⊗ v_k ⊗ x_k with unit vectors in the columns of `directions`."""

    directions: Directions
    weights: Float[np.ndarray, "atoms"]

    def chosen(self, which: Int[np.ndarray, "chosen"]) -> Atoms:
        u, v, x = (part[:, which] for part in self.directions)
        return Atoms((u, v, x), self.weights[which])

    def joined(self, others: Atoms) -> Atoms:
        u, v, x = (np.concatenate(pair, axis=1) for pair in zip(self.directions, others.directions, strict=True))
        return Atoms((u, v, x), np.concatenate([self.weights, others.weights]))


def no_atoms(sides: tuple[int, int, int]) -> Atoms:
    u, v, x = (np.zeros((side, 0), np.float32) for side in sides)
    return Atoms((u, v, x), np.zeros(0, np.float32))


def random_directions(sides: tuple[int, int, int], count: int, rng: Generator) -> Directions:
    u, v, x = (normalised(rng.standard_normal((side, count)).astype(np.float32))[0] for side in sides)
    return u, v, x


def normalised(columns: Matrix) -> tuple[Matrix, Float[np.ndarray, "atoms"]]:
    lengths = np.sqrt(np.einsum("sk,sk->k", columns, columns))
    return columns / np.maximum(lengths, 1e-12), lengths


def residual_times(tensor: OneHot, found: Atoms, mode: int, directions: Directions) -> Matrix:
    """`OneHot.times` of T - X."""
    first, second = (k for k in range(3) if k != mode)
    own = found.directions
    shared = (own[first].T @ directions[first]) * (own[second].T @ directions[second])
    return np.asarray(tensor.times(mode, directions) - (own[mode] * found.weights) @ shared)


def power_iterations(
    tensor: OneHot, found: Atoms, starts: Directions, iterations: int
) -> tuple[Directions, Float[np.ndarray, "atoms"]]:
    """Unit vectors at which the residual is large, and its value there: at most its spectral norm."""
    parts, heights = list(starts), np.zeros(starts[0].shape[1], np.float32)
    for _ in range(iterations):
        for mode in range(3):
            parts[mode], heights = normalised(residual_times(tensor, found, mode, (parts[0], parts[1], parts[2])))
    return (parts[0], parts[1], parts[2]), heights


def with_new_atoms(tensor: OneHot, found: Atoms, level: float, most: int, rng: Generator) -> tuple[Atoms, int]:
    """With atoms of the residual above a level, of which the faintest are dropped if there are too many."""
    directions, heights = power_iterations(tensor, found, random_directions(tensor.sides, STARTS, rng), ITERATIONS)
    order = np.argsort(-heights)
    new = Atoms(directions, heights / 2).chosen(order[heights[order] > CLEAR * level])
    first_, second, third = (own.T @ own for own in new.directions)
    alike = np.abs(first_ * second * third) > SAME  # the inner products of all atoms with one another
    first = np.array([k for k in range(len(alike)) if not alike[k, :k].any()], dtype=np.int64)
    joined = found.joined(new.chosen(first))
    return joined.chosen(np.sort(np.argsort(-joined.weights, kind="stable")[:most])), len(first)


@lru_cache(maxsize=1)
def libraries() -> Any:
    """Who sets the threads of NumPy's library; None where nobody can."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


def in_one_thread() -> AbstractContextManager[object]:
    """Matrices of some hundred rows gain nothing by threads, which wait for each other where others work too: on a
    busy machine of two cores ten times as long as the work takes."""
    return nullcontext() if libraries() is None else libraries().limit(limits=1, user_api="blas")


def swept(tensor: OneHot, found: Atoms, level: float) -> Atoms:
    """One sweep of penalised least squares: directions and weights of all atoms, mode after mode.

    Solved by NumPy, as all products here are: SciPy has threads of its own, and on a busy machine both wait for each
    other, tens of times as long as the work takes.
    """
    parts, weights = list(found.directions), found.weights
    for mode in range(3):
        first, second = (parts[k] for k in range(3) if k != mode)
        gram = (first.T @ first) * (second.T @ second)
        gram[np.diag_indices(len(weights))] += level / np.maximum(weights, 1e-6)
        moved = np.linalg.solve(gram, tensor.times(mode, (parts[0], parts[1], parts[2])).T).T
        parts[mode], weights = normalised(np.ascontiguousarray(moved, np.float32))
    kept = Atoms((parts[0], parts[1], parts[2]), weights).chosen(np.flatnonzero(weights > FAINT))
    tensor.fill(kept)
    return kept


@dataclass(frozen=True)
class Level:
    """What was found at a level λ; `height` is the largest value of T - X that was found, λ where X is the best one."""

    level: float
    atoms: Atoms
    norm: float
    explained: float
    dual: float
    height: float
    full: bool
    """Whether there were more atoms than fit."""


def measured(tensor: OneHot, found: Atoms, level: float, full: bool, rng: Generator) -> Level:
    """‖X‖, ⟨X, T⟩ and ⟨T, Y⟩ without any dense tensor; Y is 0 in unknown cells, where T - X is by the filling."""
    starts = random_directions(tensor.sides, STARTS, rng)
    heights = [power_iterations(tensor, found, starts, 2 * ITERATIONS)[1].max()]
    if len(found.weights):
        strongest = found.chosen(np.argsort(-found.weights)[:STARTS])
        heights.append(power_iterations(tensor, found, strongest.directions, ITERATIONS)[1].max())
    norm = float(found.weights.sum())
    filled, tensor.filled = tensor.filled, None
    inner = np.einsum("sk,sk->k", found.directions[0], tensor.times(0, found.directions))
    tensor.filled = filled
    explained = float((found.weights * inner).sum())
    return Level(level, found, norm, explained, tensor.cells - explained, float(max(heights)), full)


def levels(tensor: OneHot, *, seed: int = 0) -> list[Level]:
    """X at falling levels, each from the one before."""
    rng = np.random.default_rng(seed)
    most, unit = max(FEW_ATOMS, ATOMS_PER_SIDE * max(tensor.sides)), np.sqrt(tensor.cells / tensor.sides[2])
    found, full, history = no_atoms(tensor.sides), False, []
    for level in (float(unit * part) for part in LEVELS):
        for _ in range(ROUNDS):
            found, added = with_new_atoms(tensor, found, level, most, rng)
            full = full or len(found.weights) >= most
            found = swept(tensor, swept(tensor, found, level), level)
            if not added:
                break
        history.append(measured(tensor, found, level, full, rng))
    return history


@dataclass(frozen=True)
class Estimate:
    """Norms of a table, not divided yet: `value`, the best estimate; `below`, D at a height that was searched for,
    which is at most ‖T‖ unless the search missed the highest point of Y; `shrunk`, ‖X‖ |T|² / ⟨X, T⟩ at the last level,
    what the norm would be if all of T were like the part that X explains; and the levels behind them."""

    value: float
    below: float
    shrunk: float
    history: tuple[Level, ...]


def estimate(tensor: OneHot, *, seed: int = 0) -> Estimate:
    """‖T‖ from D(λ) at the last two levels that had room for all atoms, on the way to λ = 0 as N - c λ².

    D of the best X rises, and D is too large where X is not the best one. So what is above a later D is lowered to it.
    Where the atoms of a table do not fit, near random ones, D is too large at the levels that follow, and is not
    passed on the way; the shrunk norm is used if it is larger.
    """
    with in_one_thread():
        history = levels(tensor, seed=seed)
    below = max(level.dual / max(level.height, level.level) for level in history)
    duals = np.minimum.accumulate([level.dual / level.level for level in history][::-1])[::-1].tolist()
    roomy = sum(not level.full for level in history)
    value = max(below, *duals[roomy - 1 : roomy])
    if roomy > 1:
        left = max(0.0, duals[roomy - 1] - duals[roomy - 2])
        ahead = value + left / ((history[roomy - 2].level / history[roomy - 1].level) ** 2 - 1)
        value = max(value, min([ahead, *duals[roomy:]]))
    shrunk = history[-1].norm * tensor.cells / max(history[-1].explained, 1e-9)
    value = believed(max(value, shrunk) if history[-1].full else value, below, shrunk)
    return Estimate(value, below, shrunk, tuple(history))


def believed(value: float, below: float, shrunk: float) -> float:
    """An estimate that is no more than a tenth above what was found: D at a height that was searched for, or ‖X‖.

    In large tables near random ones there are more atoms above λ than power iterations find. Then σ(Y) is above λ, and
    D(λ) = ⟨T, Y⟩ / λ above ‖T‖, by a factor of two at 97 × 97.

    >>> believed(4.0, 3.0, 2.9), believed(1.41, 1.41, 1.4)
    (3.3000000000000003, 1.41)
    """
    return min(value, BEYOND * max(below, shrunk))
