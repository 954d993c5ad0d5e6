"""How far a table completes itself: the share of unseen cells that the simplest tensor through the others gets right.

A network that trains on part of a table with weight decay looks for a small sum of products u(a) v(b) x(q) that has the
cells it sees. The tensor nuclear norm (`nuclear`) measures what small means, so the question can be asked without any
network: of all tensors that have the known cells, the one of least norm fills in the others, and the largest entry of
each is its guess. Nothing is fitted to any network here; how far networks do what this says is measured by the law that
is made of it (`loss_law.from_table`).

Atoms are found and weighed as in `nuclear`, at one level λ after another, with unknown cells filled by the atoms found so
far. The largest λ alone would leave faint components out, the smallest alone would find noise first.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from modgrok.separable.measures.nuclear import Atoms, OneHot, most_atoms, no_atoms, swept, with_new_atoms

Table = Int[np.ndarray, "n1 n2"]

LEVELS = (0.25, 0.12)
"""λ, in units of √(known cells / values)."""
ROUNDS = 3
"""At each level: atoms are looked for, and two sweeps follow."""
CELLS_JUDGED = 1500
"""Splits are drawn until so many unseen cells have been judged, or `SPLITS` of them."""
SPLITS = 4


def completed(table: Table, values: int, *, seed: int = 0) -> Atoms:
    """A sum of atoms of small norm through the known cells of a table; unknown ones are negative."""
    tensor, rng = OneHot(table, values), np.random.default_rng(seed)
    unit, most, found = np.sqrt(tensor.cells / values), most_atoms(tensor.sides), no_atoms(tensor.sides)
    for level in (float(unit * part) for part in LEVELS):
        for _ in range(ROUNDS):
            found, added = with_new_atoms(tensor, found, level, most, rng)
            found = swept(tensor, swept(tensor, found, level), level)
            if not added:
                break
    return found


def guesses(found: Atoms, cells: tuple[Int[np.ndarray, "cell"], Int[np.ndarray, "cell"]]) -> Int[np.ndarray, "cell"]:
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
        order = np.random.default_rng([seed, split]).permutation(len(known))
        cells = tuple(known[order[seen:]].T)
        right += int((guesses(completed(hidden(table, cells), values, seed=split), cells) == table[cells]).sum())
        judged += len(known) - seen
        if judged >= CELLS_JUDGED:
            break
    return right / judged


def hidden(table: Table, cells: tuple[Int[np.ndarray, "cell"], ...]) -> Table:
    """The table with some cells unknown."""
    seen: Bool[np.ndarray, "n1 n2"] = np.ones(table.shape, bool)
    seen[cells] = False
    return np.where(seen, table, -1)
