"""How far a table completes itself, before any network is asked.

**By a simple tensor** (`completion`). A network that trains on part of a table with weight decay looks for a small sum
of products u(a) v(b) x(q) that has the cells it sees. The tensor nuclear norm (`nuclear`) measures what small means, so
the question can be asked without any network: of all tensors that have the known cells, one of small norm fills in the
others, and the largest entry at each is its guess. X = Σ w_k u_k ⊗ v_k ⊗ x_k begins as many random atoms, turned to the
known cells by power iterations. Sweeps of penalised least squares (`nuclear.swept`) set weights and directions anew
while the penalty λ falls; unknown cells are filled with those of X after every sweep, and atoms that the penalty
starves are dropped. This finds a local minimum of |T - X|² / 2 + λ Σ w_k, as training does.

**By a vote** (`vote`). Where a row looks like another, its unseen cells are likely to be the other's. Row b speaks for
the value that it has in the column, with the logarithm of the odds that its agreement with row a is no accident:
r (1 - g) / ((1 - r) g), where of the m columns that both have seen they agree in s, r = (s + 2g) / (m + 2), and g = Σ_q
(frequency of q)² is how often random cells agree. Columns speak likewise, and the frequencies themselves. Small
networks memorise and vote where tables are small, damaged or of few features, whatever their tensor.

Both are shares of unseen cells that are guessed right, over random splits. Nothing is fitted to any network here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float, Int

from modgrok.separable.measures.nuclear import (
    Atoms,
    OneHot,
    in_one_thread,
    no_atoms,
    power_iterations,
    random_directions,
    swept,
)

Table = Int[np.ndarray, "n1 n2"]
Cells = tuple[Int[np.ndarray, "cell"], Int[np.ndarray, "cell"]]

ITERATIONS, START = 2, 0.3
"""Power iterations before the first sweep, and the weights then; random atoms are starved in a large table."""
SWEEPS, FALLING = 25, 0.7
"""All sweeps, and the share of them in which λ falls."""
FIRST, LAST = 0.25, 0.1
"""λ in the beginning and in the end, in units of √(known cells / values)."""
CELLS_JUDGED, SPLITS = 600, 12
"""Splits are drawn until so many unseen cells have been judged, and at most so many."""
PRIOR, SUREST = 2.0, 0.98
"""Columns that count as seen before two rows are compared, and the surest that their agreement can make."""


def atoms_for(side: int) -> int:
    """How many atoms a tensor begins with: more of them guess no better, and take longer.

    >>> [atoms_for(side) for side in (7, 31, 97)]
    [56, 248, 388]
    """
    return max(4 * side, min(256, 8 * side))


def completed(table: Table, values: int, *, seed: int = 0) -> Atoms:
    """A sum of atoms of small norm through the known cells of a table; unknown ones are negative."""
    tensor = OneHot(table, values)
    count = atoms_for(max(tensor.sides))
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
    """The share of unseen cells that a simple tensor gets right, where `share` of the known cells is seen.

    None if all are. The mean over as many random splits as judge some hundred cells.

    >>> table = np.add.outer(np.arange(11), np.arange(11)) % 11
    >>> completion(table, 11, 0.8), completion(table, 11, 0.1) < 0.5
    (1.0, True)
    """

    def by_tensor(part: Table, cells: Cells, split: int) -> Int[np.ndarray, "cell"]:
        return guesses(completed(part, values, seed=split), cells)

    return judged(table, share, by_tensor, seed)


def vote(table: Table, values: int, share: float, *, seed: int = 0) -> float | None:
    """The share of unseen cells that the rows and columns like theirs get right, where `share` of the known is seen.

    >>> n1, n2 = np.indices((11, 11))
    >>> round(vote(n1 // 3 + n2 // 4, 11, 0.8), 2)
    1.0
    """

    def by_vote(part: Table, cells: Cells, split: int) -> Int[np.ndarray, "cell"]:
        return np.asarray(voted(part, values)[cells].argmax(axis=1))

    return judged(table, share, by_vote, seed)


def judged(
    table: Table, share: float, guess: Callable[[Table, Cells, int], Int[np.ndarray, "cell"]], seed: int
) -> float | None:
    """How many of the unseen cells are guessed right, over random splits; None where all cells are seen."""
    right, count = 0, 0
    for split, (part, cells) in enumerate(splits(table, share, seed)):
        with in_one_thread():
            right += int((guess(part, cells, split) == table[cells]).sum())
        count += len(cells[0])
        if count >= CELLS_JUDGED:
            break
    return right / count if count else None


def splits(table: Table, share: float, seed: int) -> Iterator[tuple[Table, Cells]]:
    """A table of which a random `share` of the known cells is left, with the cells that are taken away."""
    known = np.argwhere(table >= 0)
    seen = max(1, round(share * len(known)))
    for split in range(SPLITS if seen < len(known) else 0):
        rows, columns = known[np.random.default_rng([seed, split]).permutation(len(known))[seen:]].T
        part = table.copy()
        part[rows, columns] = -1
        yield part, (rows, columns)


def voted(part: Table, values: int) -> Float[np.ndarray, "n1 n2 value"]:
    """What is said for each value at each cell, by the frequencies, the rows and the columns."""
    counts = np.bincount(part[part >= 0], minlength=values) + 0.5
    frequency = counts / counts.sum()
    alike = float(np.square(frequency).sum())
    one_hot = (part[..., None] == np.arange(values)).astype(np.float32)
    by_rows = votes_of_rows(one_hot, alike)
    by_columns = votes_of_rows(one_hot.transpose(1, 0, 2), alike).transpose(1, 0, 2)
    return np.asarray(np.log(frequency) + by_rows + by_columns)


def votes_of_rows(one_hot: Float[np.ndarray, "n1 n2 value"], alike: float) -> Float[np.ndarray, "n1 n2 value"]:
    """What the other rows say, each as loudly as it agrees with this one beyond accident."""
    n = len(one_hot)
    flat, seen = one_hot.reshape(n, -1), one_hot.sum(axis=2)
    agree, both = flat @ flat.T, seen @ seen.T
    surely = np.minimum((agree + PRIOR * alike) / (both + PRIOR), SUREST)
    odds = np.log(surely * (1 - alike) / ((1 - surely) * alike)) if alike < 1 else np.zeros_like(surely)
    weights = np.maximum(odds, 0.0).astype(np.float32)
    np.fill_diagonal(weights, 0.0)
    return np.asarray((weights @ flat).reshape(one_hot.shape))
