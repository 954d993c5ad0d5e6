"""Complete depth-first search for x and y on the reduced table; its tree is a certificate when it finds none.

The group acts on solutions by translation (of x and y each) and by multiplication with units of Z_m. So one row and
one column may be put at 0, and a second row at a divisor of m: every d is a unit times gcd(d, m).

Branching is on the place of a line, or on a fibre whose needed members are all known: either it is complete, or
it has one more member. The second kind is what makes slack (m above the sum of the bounds) bearable.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.separable.propagation import COLUMN, ROW, Conflict, Rules, State
from modgrok.separable.reduction import Table
from modgrok.separable.verdict import Refutation

Tree = dict[str, Any]
"""{"origin": [a0, b0], "branch": ["scale", a1], "children": …}; below the root a node is None (the rules refute it) or
{"branch": [kind, k], "children": {option: node}} with kind row, column or fibre. The options of a fibre are
"complete" and "more"; those of a line are places."""

ORIGIN_VALUES = 16
"""How many values are compared when a starting place is chosen."""

Branch = tuple[str, int]
Option = int | str


class LimitReached(Exception):
    """A stated limit on nodes or time was reached."""


class Budget:
    """A limit on nodes and on time, and how much of it was used."""

    def __init__(self, seconds: float, nodes: int = 10**9) -> None:
        self.deadline = time.monotonic() + seconds
        self.limit = nodes
        self.used = 0
        self.parent: Budget | None = None

    def part(self, *, nodes: int = 10**9, seconds: float = float("inf")) -> Budget:
        """A share of what is left; what it uses is counted here too."""
        child = Budget(min(seconds, self.deadline - time.monotonic()), min(nodes, self.limit - self.used))
        child.parent = self
        return child

    def spend(self) -> None:
        self.check()
        budget: Budget | None = self
        while budget is not None:
            budget.used += 1
            budget = budget.parent

    def check(self) -> None:
        if self.used >= self.limit or time.monotonic() > self.deadline:
            raise LimitReached


@dataclass(frozen=True)
class Solution:
    """x and y on the reduced table."""

    x: Int[np.ndarray, "row"]
    y: Int[np.ndarray, "column"]


@dataclass
class Frame:
    """A branching of the search that is being worked through."""

    state: State
    branch: Branch
    options: Iterator[Option]
    children: dict[Option, Any]


class Search:
    """Placements of `cells` in Z_order whose fibres have sizes between `need` and `ceiling`."""

    def __init__(
        self,
        cells: Table,
        order: int,
        need: Int[np.ndarray, "value"],
        ceiling: Int[np.ndarray, "value"] | None = None,
    ) -> None:
        self.rules = Rules(cells, order)
        self.cells, self.order, self.need = cells, order, need
        self.ceiling = np.full_like(need, order) if ceiling is None else ceiling

    def run(self, budget: Budget) -> Solution | Tree:
        """A solution, or the tree that refutes all; `LimitReached` when the budget ends first."""
        a0, b0, a1 = self.origin()
        children: dict[Option, Any] = {}
        tree: Tree = {"origin": [a0, b0], "branch": ["scale", a1], "children": children}
        state = self.rules.start(self.need, self.ceiling)
        try:
            self.rules.put(state, (ROW, a0), 0)
            self.rules.put(state, (COLUMN, b0), 0)
            self.rules.propagate(state, [(ROW, a0), (COLUMN, b0)])
        except Conflict:
            return tree
        scales = [d for d in range(1, self.order) if self.order % d == 0 and state.row_domain[a1, d]]
        solution = self._work(Frame(state, ("row", a1), iter(scales), children), budget)
        return tree if solution is None else solution

    def origin(self) -> tuple[int, int, int]:
        """Rows a0, a1 and column b0 to start from: by the smallest fibre if all have a fixed size, else by pairs."""
        slack = self.order - int(self.need.sum())
        fixed_size = np.minimum(self.ceiling, self.need + slack) == self.need
        often = np.bincount(self.cells.ravel(), minlength=len(self.need))
        values = sorted(range(len(self.need)), key=lambda v: (not fixed_size[v], self.need[v], -often[v]))
        if slack > 0:
            candidates = [v for v in values if self.need[v] > 1 and fixed_size[v] == fixed_size.any()]
            paired = [self._paired_origin(v) for v in candidates[:ORIGIN_VALUES]]
            if any(paired):
                return max(found for found in paired if found)[1]
        return self._rare_origin(values[0])

    def _paired_origin(self, v: int) -> tuple[tuple[int, int], tuple[int, int, int]] | None:
        """Two rows that hold v in one column and hold it elsewhere too: their sums lie in one small fibre."""
        here = self.cells == v
        in_row, in_column = here.sum(axis=1), here.sum(axis=0)
        most = np.where(here, in_row[:, None], 0).max(axis=0)
        together = in_row @ here
        if in_column.max() < 2:
            return None
        b0 = max(np.flatnonzero(in_column >= 2), key=lambda b: (most[b], together[b]))
        a0, a1 = sorted(np.flatnonzero(here[:, b0]), key=lambda a: -in_row[a])[:2]
        return (int(most[b0]), int(together[b0])), (int(a0), int(b0), int(a1))

    def _rare_origin(self, v0: int) -> tuple[int, int, int]:
        """A row and column that meet in v0, the value of the smallest fibre, and a row as close to it as can be."""
        b0 = int((self.cells == v0).sum(axis=0).argmax())
        a0 = int(np.flatnonzero(self.cells[:, b0] == v0)[0])

        def closeness(a: int) -> tuple[bool, int, int]:
            v = self.cells[a, b0]
            return bool(v == v0), -int(self.need[v]), int((self.cells[a] == v0).sum())

        return a0, b0, max((a for a in range(len(self.cells)) if a != a0), key=closeness)

    def _work(self, root: Frame, budget: Budget) -> Solution | None:
        stack = [root]
        while stack:
            frame = stack[-1]
            option = next(frame.options, None)
            if option is None:
                stack.pop()
                continue
            budget.spend()
            state = frame.state.copy()
            try:
                self._take(state, frame.branch, option)
            except Conflict:
                frame.children[option] = None
                continue
            branch = self._choose(state)
            if branch is None:
                return Solution(state.row_place, state.column_place)
            children: dict[Option, Any] = {}
            frame.children[option] = {"branch": list(branch), "children": children}
            stack.append(Frame(state, branch, self._options(state, branch), children))
        return None

    def _take(self, state: State, branch: Branch, option: Option) -> None:
        kind, k = branch
        if kind == "fibre":
            if option == "complete":
                state.ceiling[k] = state.known[k]
            else:
                state.need[k] = state.known[k] + 1
            self.rules.propagate(state, [])
            return
        line = (ROW if kind == "row" else COLUMN, k)
        if state.place(line[0])[k] != option:
            self.rules.put(state, line, int(option))
        self.rules.propagate(state, [line])

    def _options(self, state: State, branch: Branch) -> Iterator[Option]:
        kind, k = branch
        if kind == "fibre":
            return iter(("complete", "more"))
        return iter([int(z) for z in np.flatnonzero(state.domain(ROW if kind == "row" else COLUMN)[k])])

    def _choose(self, state: State) -> Branch | None:
        """The line with the fewest places, the more so the fuller the fibres it meets; or a fibre to decide first."""
        room = np.minimum(state.ceiling, state.need + state.slack()) - state.known
        fullness = np.where(state.known > 0, 1 / (1 + room), 0.0)
        best: tuple[float, int, int] | None = None
        for side in (ROW, COLUMN):
            open_lines = np.flatnonzero(state.place(side) < 0)
            if not len(open_lines):
                continue
            placed = np.flatnonzero(state.place(1 - side) >= 0)
            places = np.count_nonzero(state.domain(side)[open_lines], axis=1)
            met = fullness[self.rules.lines[side][np.ix_(open_lines, placed)]].sum(axis=1)
            score = np.log(places) - np.log1p(met)
            k = int(score.argmin())
            if best is None or score[k] < best[0]:
                best = (float(score[k]), side, int(open_lines[k]))
        if best is None:
            return None
        _, side, k = best
        if np.count_nonzero(state.domain(side)[k]) > 2:
            v = self._undecided_fibre(state)
            if v is not None:
                return "fibre", v
        return ("column" if side else "row"), k

    def _undecided_fibre(self, state: State) -> int | None:
        """The value most met by half-placed cells among those whose needed members are known but may have more."""
        undecided = (state.known == state.need) & ~state.closed
        if not undecided.any():
            return None
        rows, columns = state.row_place >= 0, state.column_place >= 0
        half_placed = self.cells[rows[:, None] != columns[None, :]]
        met = np.bincount(half_placed, minlength=len(self.need)) * undecided
        v = int(met.argmax())
        return v if met[v] else None


def search(
    cells: Table,
    order: int,
    need: Int[np.ndarray, "value"],
    transposed: bool,
    budget: Budget,
    ceiling: Int[np.ndarray, "value"] | None = None,
) -> Solution | Refutation:
    """One complete search over the table or its transpose: a solution, or a certificate that there is none."""
    result = Search(np.ascontiguousarray(cells.T) if transposed else cells, order, need, ceiling).run(budget)
    if isinstance(result, Solution):
        return Solution(result.y, result.x) if transposed else result
    return {"kind": "search", "transposed": transposed, "tree": result}
