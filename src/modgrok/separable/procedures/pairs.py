"""Tables whose rows fill the group (m distinct rows, fewer columns): what two columns say about each other.

x is onto, so column b is t -> h(t + y(b)) read in some order of t. How often the values (v, w) meet in columns b and b'
is the number of t with h(t) = v and h(t + d) = w, d = y(b') - y(b): the *colour* of the pair depends on d alone. So

  * the table of pair colours is itself of the form κ(-y(b) + y(b')), and refuting it refutes f;
  * if b1 -> b1' and b2 -> b2' have one difference d, the pairs of values in (b1, b2) and in (b1', b2') are the same
    multiset, and the row permutation σ with f(σ(a), b_i) = f(a, b_i') for all i is "add d to x". Two or three such
    pairs of columns determine σ; if it is one m-cycle it is x, up to a unit. That is how a witness is guessed.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int, UInt64

from modgrok.separable.budget import Budget, steps_for
from modgrok.separable.procedures.obstructions import showing_lines
from modgrok.separable.procedures.search import Solution, search
from modgrok.separable.reductions.automorphisms import single_cycle
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Table, value_counts
from modgrok.separable.verdict import Refutation

FIRST_SHIFTS, EXTENSIONS = 8, 24
"""How many first pairs of columns, and how many columns to extend each, a guess tries."""


class PairColours:
    """Hashes of contingency tables: equal for equal tables, different for different ones but for collisions."""

    def __init__(self, cells: Table) -> None:
        self.cells = cells
        values = int(cells.max()) + 1
        self.weight = np.random.default_rng(7).integers(1, 2**63, (values, values), dtype=np.uint64)
        self.rows: dict[int, UInt64[np.ndarray, "column"]] = {}

    def row(self, b: int) -> UInt64[np.ndarray, "column"]:
        """The colours of the pairs (b, b') for all columns b'."""
        if b not in self.rows:
            self.rows[b] = self.weight[self.cells[:, b][:, None], self.cells].sum(axis=0)
        return self.rows[b]

    def table(self, budget: Budget) -> Table:
        rows = []
        for b in range(self.cells.shape[1]):
            budget.spend(steps_for(self.cells.size))
            rows.append(self.row(b))
        return np.unique(np.stack(rows), return_inverse=True)[1].reshape(len(rows), len(rows))


def refute_by_pairs(cells: Table, group: Group, budget: Budget) -> Refutation | None:
    """A refutation of the table of pair colours, by counting or by search; None if it is in the class."""
    colours = PairColours(cells).table(budget)
    number = int(colours.max()) + 1
    row_counts, column_counts = value_counts(colours, number), value_counts(colours.T, number)
    need = np.maximum(row_counts.max(axis=0), column_counts.max(axis=0))
    inner: Refutation
    if need.sum() > group.order:
        inner = {"kind": "counting", "lines": showing_lines(row_counts, column_counts)}
    else:
        result = search(colours, group, need, False, budget)
        if isinstance(result, Solution):
            return None
        inner = result
    return {"kind": "pairs", "colours": colours.tolist(), "certificate": inner}


def guess_by_shift(cells: Table, order: int, budget: Budget) -> Solution | None:
    """A solution read off a row permutation that a few pairs of columns determine; None if there is none in reach."""
    colours = PairColours(cells)
    for image in range(1, min(cells.shape[1], 1 + FIRST_SHIFTS)):
        shift = row_shift(colours, [0], [image], budget)
        cycle = None if shift is None else single_cycle(shift)
        solution = None if cycle is None else read_columns(cells, cycle)
        if solution is not None:
            return solution
    return None


def row_shift(colours: PairColours, base: list[int], image: list[int], budget: Budget) -> Int[np.ndarray, "row"] | None:
    """The permutation σ with f(σ(a), base[i]) = f(a, image[i]), growing both lists until it is unique."""
    budget.spend(steps_for(colours.cells.size))
    cells = colours.cells
    rows = len(cells)
    words = np.concatenate([cells[:, base], cells[:, image]])
    codes = np.unique(words, axis=0, return_inverse=True)[1].ravel()
    of_base, of_image = codes[:rows], codes[rows:]
    if (np.sort(of_base) != np.sort(of_image)).any():
        return None
    if len(np.unique(of_base)) == rows:
        shift = np.empty(rows, dtype=np.int64)
        shift[np.argsort(of_image)] = np.argsort(of_base)
        return shift
    first = colours.row(base[0])[image[0]]
    tried = 0
    for b in range(cells.shape[1]):
        if b in base:
            continue
        fits = colours.row(b) == first
        for old, new in zip(base, image, strict=True):
            fits &= colours.row(new) == colours.row(old)[b]
        for target in np.flatnonzero(fits):
            longer = row_shift(colours, [*base, b], [*image, int(target)], budget)
            if longer is not None:
                return longer
        tried += 1
        if tried == EXTENSIONS:
            break
    return None


def read_columns(cells: Table, cycle: Int[np.ndarray, "row"]) -> Solution | None:
    """x from the order of the rows; each column must be a rotation of column 0, by y(b)."""
    m = len(cycle)
    h, t = cells[cycle, 0], np.arange(m)
    y = np.empty(cells.shape[1], dtype=np.int64)
    for b in range(cells.shape[1]):
        column = cells[cycle, b]
        shifts = t
        for s in range(m):
            shifts = shifts[h[(shifts + s) % m] == column[s]]
            if len(shifts) < 2:
                break
        if not len(shifts) or (h[(t + shifts[0]) % m] != column).any():
            return None
        y[b] = shifts[0]
    x = np.empty(m, dtype=np.int64)
    x[cycle] = t
    return Solution(x, y)
