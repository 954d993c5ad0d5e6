"""Tables with unknown cells: is there a function of the form that agrees with the known ones, and what does it predict?

An unknown cell is negative. Rows that agree wherever both are known may share a place or not, so nothing is said about
how many places there must be; only *rivals*, lines that differ in a cell known in both, need different ones. A row
whose known cells are all among those of another row may share its place: it is *covered*, and left out. As in
`reduction`, with an absorbing element every line whose known cells are all w may go to ∞, for each such w in turn.

No is proved on the lines that are kept, in the words of the search, or by counting rivals: lines that are rivals of
one another need different places, and so do the cells in which they meet one line with one value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from jaxtyping import Int

from modgrok.separable.budget import Budget, steps_for
from modgrok.separable.procedures.algebraic import guess_small_powers
from modgrok.separable.procedures.climbing import Climb
from modgrok.separable.procedures.search import Restarts, Solution
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Reduced, Table
from modgrok.separable.verdict import Refutation, Witness

UNLIMITED = 1 << 60
PLACES = 64
"""Places of a line that are compared with other lines at once."""
LOOKS = 4
"""How often each cell is looked at for one comparison."""


@dataclass(frozen=True)
class Prepared:
    """A table with unknown cells after the reduction, and the rivals in it: what no group changes.

    `cliques` are rows and columns that are rivals of one another, `by_value` such lines that meet one line in a value.
    """

    reduced: Reduced
    cliques: tuple[tuple[str, list[int]], ...]
    by_value: tuple[tuple[str, int, list[int]], ...]


class PartialTable:
    """A table with unknown cells, prepared once for each value of ∞, however many groups are asked for."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.reduced: dict[int | None, Reduced] = {}
        self.known: dict[int | None, Prepared] = {}

    def prepared(self, absorbed: int | None, budget: Budget) -> Prepared:
        """The reduced table, which costs steps at first."""
        if absorbed not in self.known:
            if absorbed not in self.reduced:
                self.reduced[absorbed] = reduce_partial(self.table, absorbed, budget)
            reduced = self.reduced[absorbed]
            sides = (("row", reduced.cells), ("column", reduced.cells.T))
            cliques = tuple((side, rivals_of_one_another(lines, range(len(lines)), budget)) for side, lines in sides)
            by_value = tuple(largest_clique(reduced, v, budget) for v in range(len(reduced.values)))
            self.known[absorbed] = Prepared(reduced, cliques, by_value)
        return self.known[absorbed]


@lru_cache(maxsize=4)
def partial_table(content: bytes, shape: tuple[int, int]) -> PartialTable:
    """The one for a table: all groups that are asked for share it."""
    return PartialTable(np.frombuffer(content, np.int64).reshape(shape))


def reduce_partial(table: Table, absorbed: int | None = None, budget: Budget | None = None) -> Reduced:
    """The lines that are neither at ∞ nor covered by others; a line without known cells is covered by any."""
    budget = budget or Budget(UNLIMITED)
    at_infinity = [
        ((lines < 0) | (lines == absorbed)).all(axis=1) & (lines >= 0).any(axis=1) & (absorbed is not None)
        for lines in (table, table.T)
    ]
    row_line, column_line = (np.where(gone, -1, np.arange(len(gone))) for gone in at_infinity)
    rows, columns = np.flatnonzero(~at_infinity[0]), np.flatnonzero(~at_infinity[1])
    while True:
        rest = table[np.ix_(rows, columns)]
        kept_rows = uncovered(rest, rows, row_line, budget)
        kept_columns = uncovered(rest[np.isin(rows, kept_rows)].T, columns, column_line, budget)
        if len(kept_rows) == len(rows) and len(kept_columns) == len(columns):
            break
        rows, columns = kept_rows, kept_columns
    return Reduced(
        absorbed=absorbed,
        table=table,
        row_line=numbered(row_line, rows),
        column_line=numbered(column_line, columns),
        row_source=rows,
        column_source=columns,
    )


def uncovered(
    lines: Table, numbers: Int[np.ndarray, "line"], leader: Int[np.ndarray, "p"], budget: Budget
) -> Int[np.ndarray, "kept"]:
    """The lines that no other covers; `leader` learns who stands for the others. One line is always kept."""
    kept: list[int] = []
    lines = np.ascontiguousarray(lines)
    for k in np.argsort(-(lines >= 0).sum(axis=1), kind="stable"):
        known = np.flatnonzero(lines[k] >= 0)
        over = agreeing(lines, int(k), known, kept, budget)
        if len(over):
            leader[leader == numbers[k]] = numbers[over[0]]
        else:
            kept.append(int(k))
    return numbers[np.sort(np.array(kept, dtype=np.int64))]


def agreeing(
    lines: Table, k: int, places: Int[np.ndarray, "place"], others: list[int], budget: Budget, missing: bool = False
) -> Int[np.ndarray, "other"]:
    """Those of the others that have what line k has in all of these places; with `missing`, or nothing known there.

    Lines that differ mostly do so early, so a few places are looked at at once.
    """
    left = np.array(others, dtype=np.int64)
    for first in range(0, len(places), PLACES):
        if not len(left):
            break
        here = places[first : first + PLACES]
        budget.spend(steps_for(LOOKS * len(left) * len(here)))
        theirs = lines[np.ix_(left, here)]
        same = theirs == lines[k, here]
        left = left[((same | (theirs < 0)) if missing else same).all(axis=1)]
    return left


def numbered(leader: Int[np.ndarray, "p"], kept: Int[np.ndarray, "kept"]) -> Int[np.ndarray, "p"]:
    """The number among the kept lines of who stands for each line; -1 at ∞."""
    return np.where(leader < 0, -1, np.searchsorted(kept, leader))


def partial_at_once(case: Prepared, group: Group) -> Solution | Refutation | None:
    """What counting rivals, and tables of one line, decide without search."""
    reduced, shape = case.reduced, case.reduced.shape
    kept = [reduced.row_source.tolist(), reduced.column_source.tolist()]
    if min(shape) <= 1 and max(shape) <= group.order:
        return Solution(np.arange(shape[0]), np.arange(shape[1]))
    for side, clique in case.cliques:
        if len(clique) > group.order:
            return {"kind": "rivals", "kept": kept, "side": side, "clique": clique}
    if sum(len(members) for _, _, members in case.by_value) > group.order:
        return {"kind": "rival-cells", "kept": kept, "cliques": list(case.by_value)}
    return None


def rivals_of_one_another(lines: Table, candidates: range | list[int], budget: Budget) -> list[int]:
    """Lines that differ pairwise in known cells, gathered greedily, those with most known cells first."""
    clique: list[int] = []
    for k in sorted(candidates, key=lambda k: -int((lines[k] >= 0).sum())):
        if not len(agreeing(lines, int(k), np.flatnonzero(lines[k] >= 0), clique, budget, missing=True)):
            clique.append(int(k))
    return clique


def largest_clique(reduced: Reduced, v: int, budget: Budget) -> tuple[str, int, list[int]]:
    """(side, line, rivals across it that meet it in the value v): as many as a greedy choice finds."""
    best: tuple[str, int, list[int]] = ("row", 0, [])
    cells = reduced.cells
    for side, lines, across in (("row", cells, cells.T), ("column", cells.T, cells)):
        budget.spend(steps_for(cells.size))
        counts = (lines == v).sum(axis=1)
        for k in np.flatnonzero(counts > len(best[2])).tolist():
            if counts[k] > len(best[2]):
                clique = rivals_of_one_another(across, np.flatnonzero(lines[k] == v).tolist(), budget)
                best = max(best, (side, k, clique), key=lambda found: len(found[2]))
    return best


def partial_procedures(
    reduced: Reduced, group: Group, absorbing: bool, table: Table
) -> Iterator[tuple[str, int, Callable[[Budget], Solution | Refutation | None]]]:
    """(name, share of steps, procedure), round after round: powers once, then restarted searches."""
    yield "small-powers", 2000, partial(guess_small_powers, reduced, group, absorbing, table.shape)
    need = np.ones(len(reduced.values), dtype=np.int64)
    searches = [Restarts(reduced.cells, group, need, flip) for flip in (False, True)]
    climb = Climb(reduced.cells, group)
    steps = 512
    while True:
        for restarts in searches:
            yield "search", steps, partial(searched, restarts, reduced)
        yield "climbing", steps, climb.run
        steps *= 4


def searched(restarts: Restarts, reduced: Reduced, budget: Budget) -> Solution | Refutation:
    found = restarts.run(budget)
    if isinstance(found, Solution):
        return found
    return {**found, "kept": [reduced.row_source.tolist(), reduced.column_source.tolist()]}


def predicted(witness: Witness, shape: tuple[int, ...]) -> Int[np.ndarray, "p ..."]:
    """What a witness says of every cell; -1 where its h is free. Another witness may say something else."""
    products = np.array(witness.products) if witness.products else Group(witness.moduli or (witness.group_order,)).sums
    h = np.array([-1 if v is None else v for v in (*witness.h, witness.h_absorbing)])
    place = np.zeros((), dtype=np.int64)
    absorbed = np.zeros((), dtype=bool)
    for part in witness.g:
        numbers = np.array([t or 0 for t in part])
        place = products[place[..., None], numbers] if place.ndim else numbers
        absorbed = np.logical_or.outer(absorbed, np.array([t is None for t in part]))
    return h[np.where(absorbed, witness.group_order, place)].reshape(shape)
