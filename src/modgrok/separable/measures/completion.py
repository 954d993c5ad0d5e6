"""How far a table completes itself: the share of unseen cells that a simple tensor through the others gets right.

A network that trains on part of a table with weight decay looks for a small sum of products u(a) v(b) x(q) that has the
cells it sees. The tensor nuclear norm (`nuclear`) measures what small means, so the question can be asked without any
network: of all tensors that have the known cells, one of small norm fills in the others, and the largest entry at each
is its guess. Nothing is fitted to any network here.

X = Σ w_k u_k ⊗ v_k ⊗ x_k begins as many random atoms, turned to the known cells by power iterations. Sweeps of
penalised least squares (`nuclear.swept`) set weights and directions anew while the penalty λ falls; unknown cells are
filled with those of X after every sweep, and atoms that the penalty starves are dropped. This finds a local minimum of
|T - X|² / 2 + λ Σ w_k, as training does.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from modgrok.separable.measures.nuclear import Atoms, OneHot, no_atoms, power_iterations, random_directions, swept

Table = Int[np.ndarray, "n1 n2"]
Cells = tuple[Int[np.ndarray, "cell"], Int[np.ndarray, "cell"]]

ATOMS, ATOMS_PER_SIDE = 256, 4
"""Least number of atoms, and how many there are for each row of a large table."""
ITERATIONS, START = 2, 0.3
"""Power iterations before the first sweep, and the weights then; random atoms are starved in a large table."""
SWEEPS, FALLING = 25, 0.7
"""All sweeps, and the share of them in which λ falls."""
FIRST, LAST = 0.25, 0.1
"""λ in the beginning and in the end, in units of √(known cells / values)."""
CELLS_JUDGED, SPLITS = 1500, 4
"""Splits are drawn until so many unseen cells have been judged, and at most so many."""


def completed(table: Table, values: int, *, seed: int = 0) -> Atoms:
    """A sum of atoms of small norm through the known cells of a table; unknown ones are negative."""
    tensor = OneHot(table, values)
    count = max(ATOMS, ATOMS_PER_SIDE * max(tensor.sides))
    starts = random_directions(tensor.sides, count, np.random.default_rng(seed))
    directions, _ = power_iterations(tensor, no_atoms(tensor.sides), starts, ITERATIONS)
    found = Atoms(directions, np.full(count, START, np.float32))
    tensor.fill(found)
    for level in np.sqrt(tensor.cells / values) * penalties():
        found = swept(tensor, found, float(level))
        if not len(found.weights):
            break
    return found


def penalties() -> np.ndarray:
    """λ of each sweep: falling by equal factors, then at rest."""
    progress = np.minimum(1.0, np.arange(SWEEPS) / (FALLING * SWEEPS))
    return np.asarray(FIRST * (LAST / FIRST) ** progress)


def guesses(found: Atoms, cells: Cells) -> Int[np.ndarray, "cell"]:
    """The value of the largest entry at each of some cells."""
    u, v, x = found.directions
    return np.asarray(((u[cells[0]] * v[cells[1]] * found.weights) @ x.T).argmax(axis=1))


def completion(table: Table, values: int, share: float, *, seed: int = 0) -> float | None:
    """The share of unseen cells that are guessed right, where `share` of the known cells is seen; None if all are.

    The mean over as many random splits as judge some thousand cells.

    >>> table = np.add.outer(np.arange(11), np.arange(11)) % 11
    >>> completion(table, 11, 0.8), completion(table, 11, 0.1) < 0.5
    (1.0, True)
    """
    known = np.argwhere(table >= 0)
    seen = max(1, round(share * len(known)))
    if seen >= len(known):
        return None
    right, judged = 0, 0
    for split in range(SPLITS):
        rows, columns = known[np.random.default_rng([seed, split]).permutation(len(known))[seen:]].T
        part = table.copy()
        part[rows, columns] = -1
        right += int((guesses(completed(part, values, seed=split), (rows, columns)) == table[rows, columns]).sum())
        judged += len(rows)
        if judged >= CELLS_JUDGED:
            break
    return right / judged
