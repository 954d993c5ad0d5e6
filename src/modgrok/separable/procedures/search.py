"""Depth-first search for x and y on the reduced table, restarted; its tree is a certificate when it finds none.

The group acts on solutions by translation (of x and y each) and by units of its cyclic factors. So one row and one
column may be put at 0, and a second row at a divisor of m: every d is a unit times gcd(d, m).

Branching is on the place of a line, or on a fibre whose needed members are all known: either it is complete, or
it has one more member. The second kind is what makes slack (m above the sum of the bounds) bearable. Lines at which
earlier branches failed weigh more and come first, and a search that ends without an answer starts again elsewhere,
with these weights and a longer limit: what is hard about a table is found out once. Each run is complete in itself, so
a tree comes from one run. Random choices come from a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.separable.budget import Budget, LimitReached, steps_for
from modgrok.separable.procedures.propagation import COLUMN, ROW, Conflict, Rules, State
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Table
from modgrok.separable.verdict import Refutation

Tree = dict[str, Any]
"""{"origin": [a0, b0], "branch": ["scale", a1], "children": …}; below the root a node is None (the rules refute it) or
{"branch": [kind, k], "children": {option: node}} with kind row, column or fibre. The options of a fibre are
"complete" and "more"; those of a line are places."""

ORIGIN_VALUES = 16
"""How many values are compared when a starting place is chosen."""
LONG, LINES_OF_STEP = 128, 12
"""Where a table has more lines or values than the first, a node costs a step more for as many of them as the second:
the rules go through lists of lines and of values, whatever the cells are."""
FIRST_NODES, GROWTH = 24, 1.25
"""Nodes of the first run, and by how much each later one has more."""
FORGET = 0.98
"""What is left of old weights after each conflict."""

Branch = tuple[str, int]
Option = int | str


@dataclass(frozen=True)
class Solution:
    """x and y on the reduced table; `found_by` where a procedure has parts of its own."""

    x: Int[np.ndarray, "row"]
    y: Int[np.ndarray, "column"]
    found_by: str = ""


@dataclass
class Frame:
    """A branching of the search that is being worked through."""

    state: State
    branch: Branch
    options: Iterator[Option]
    children: dict[Option, Any]


class Search:
    """Placements of `cells` in the group whose fibres have sizes between `need` and `ceiling`."""

    def __init__(
        self,
        cells: Table,
        group: Group,
        need: Int[np.ndarray, "value"],
        ceiling: Int[np.ndarray, "value"] | None = None,
    ) -> None:
        self.rules = Rules(cells, group)
        self.cells, self.group, self.need = cells, group, need
        self.ceiling = np.full_like(need, group.order) if ceiling is None else ceiling
        self.weights = ([1.0] * cells.shape[0], [1.0] * cells.shape[1])
        self.gain = 1.0
        longest = max(*cells.shape, len(need))
        self.price = steps_for(cells.size) + max(0, longest - LONG) // LINES_OF_STEP
        self.random: random.Random | None = None
        self.sizes_too = True

    def run(self, budget: Budget, number: int = 0) -> Solution | Tree:
        """A solution, or the tree that refutes all; `LimitReached` when the budget ends first."""
        self.random = random.Random(number) if number else None
        self.sizes_too = number % 2 == 0
        a0, b0, a1 = self.origin() if self.random is None else self._random_origin(self.random)
        children: dict[Option, Any] = {}
        tree: Tree = {"origin": [a0, b0], "branch": ["scale", a1], "children": children}
        state = self.rules.start(self.need.tolist(), self.ceiling.tolist())
        budget.spend(self.price)
        try:
            self.rules.propagate(state, [((ROW, a0), 0), ((COLUMN, b0), 0)])
        except Conflict:
            return tree
        allowed = state.places[ROW][a1]
        scales = [d for d in [0, *self.group.scales] if allowed >> d & 1]
        solution = self._work(Frame(state, ("row", a1), iter(scales), children), budget)
        return tree if solution is None else solution

    # ------------------------------------------------------------------------------------------ where to start

    def _random_origin(self, rng: random.Random) -> tuple[int, int, int]:
        """Lines drawn by their weights."""
        rows = range(len(self.cells))
        a0 = rng.choices(rows, self.weights[ROW])[0]
        b0 = rng.choices(range(self.cells.shape[1]), self.weights[COLUMN])[0]
        others = [a for a in self.rules.rivals[ROW][a0] if a != a0] or [a for a in rows if a != a0]
        return a0, b0, rng.choices(others, [self.weights[ROW][a] for a in others])[0]

    def origin(self) -> tuple[int, int, int]:
        """Rows a0, a1 and column b0 to start from: by the smallest fibre if all have a fixed size, else by pairs."""
        slack = self.group.order - int(self.need.sum())
        fixed_size = np.minimum(self.ceiling, self.need + slack) == self.need
        often = np.bincount(self.cells[self.cells >= 0], minlength=len(self.need))
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

    # ------------------------------------------------------------------------------------------- the walk

    def _work(self, root: Frame, budget: Budget) -> Solution | None:
        stack = [root]
        while stack:
            frame = stack[-1]
            option = next(frame.options, None)
            if option is None:
                stack.pop()
                continue
            budget.spend(self.price)
            state = frame.state.copy()
            try:
                self._take(state, frame.branch, option)
            except Conflict as conflict:
                frame.children[option] = None
                self._blame(conflict, frame.branch)
                continue
            branch = self._choose(state)
            if branch is None:
                return Solution(np.array(state.at[ROW]), np.array(state.at[COLUMN]))
            children: dict[Option, Any] = {}
            frame.children[option] = {"branch": list(branch), "children": children}
            stack.append(Frame(state, branch, iter(self._options(state, branch)), children))
        return None

    def _blame(self, conflict: Conflict, branch: Branch) -> None:
        """Newer conflicts weigh more: instead of shrinking all old weights, the gain grows."""
        line = conflict.line
        if line is None and branch[0] != "fibre":
            line = (ROW if branch[0] == "row" else COLUMN, branch[1])
        if line is not None:
            self.gain /= FORGET
            self.weights[line[0]][line[1]] += self.gain

    def _take(self, state: State, branch: Branch, option: Option) -> None:
        kind, k = branch
        if kind == "fibre":
            if option == "complete":
                state.ceiling[k] = state.certain[k].bit_count()
            else:
                state.need[k] = state.certain[k].bit_count() + 1
            self.rules.propagate(state, [])
            return
        self.rules.propagate(state, [((ROW if kind == "row" else COLUMN, k), int(option))])

    def _options(self, state: State, branch: Branch) -> list[Option]:
        kind, k = branch
        options: list[Option]
        if kind == "fibre":
            options = ["complete", "more"]
        else:
            places = state.places[ROW if kind == "row" else COLUMN][k]
            options = [z for z in range(places.bit_length()) if places >> z & 1]
        if self.random is not None:
            self.random.shuffle(options)
        return options

    def _choose(self, state: State) -> Branch | None:
        """The line with the fewest places for its weight; or a fibre to decide first."""
        best, chosen = float("inf"), None
        for side in (ROW, COLUMN):
            places, weights = state.places[side], self.weights[side]
            for k, place in enumerate(state.at[side]):
                if place < 0:
                    score = places[k].bit_count() / weights[k]
                    if score < best:
                        best, chosen = score, (side, k)
        if chosen is None:
            return None
        side, k = chosen
        if self.sizes_too and state.places[side][k].bit_count() > 2:
            v = self._undecided_fibre(state)
            if v is not None:
                return "fibre", v
        return ("column" if side else "row"), k

    def _undecided_fibre(self, state: State) -> int | None:
        """The value most met by half-placed cells among those whose needed members are known but may have more."""
        undecided = np.array(
            [
                members.bit_count() == need and members != possible
                for members, need, possible in zip(state.certain, state.need, state.possible, strict=True)
            ]
        )
        if not undecided.any():
            return None
        rows, columns = np.array(state.at[ROW]) >= 0, np.array(state.at[COLUMN]) >= 0
        half_placed = self.cells[rows[:, None] != columns[None, :]]
        met = np.bincount(half_placed[half_placed >= 0], minlength=len(self.need)) * undecided
        v = int(met.argmax())
        return v if met[v] else None


class Restarts:
    """A search over the table, or over its transpose, that is run again and again with growing limits."""

    def __init__(self, cells: Table, group: Group, need: Int[np.ndarray, "value"], transposed: bool) -> None:
        self.cells, self.group, self.need, self.transposed = cells, group, need, transposed
        self.search: Search | None = None
        self.runs, self.nodes = 0, float(FIRST_NODES)

    def run(self, budget: Budget) -> Solution | Refutation:
        """Run after run, until one ends or the budget does; the next call goes on."""
        if self.search is None:
            cells = np.ascontiguousarray(self.cells.T) if self.transposed else self.cells
            self.search = Search(cells, self.group, self.need)
        while True:
            part = budget.part(int(self.nodes) * self.search.price)
            try:
                return oriented(self.search.run(part, self.runs), self.transposed)
            except LimitReached:
                self.runs += 1
                if part.limit >= int(self.nodes) * self.search.price:
                    self.nodes *= GROWTH
                budget.check()


def search(
    cells: Table,
    group: Group,
    need: Int[np.ndarray, "value"],
    transposed: bool,
    budget: Budget,
    ceiling: Int[np.ndarray, "value"] | None = None,
) -> Solution | Refutation:
    """One complete search over the table or its transpose: a solution, or a certificate that there is none."""
    result = Search(np.ascontiguousarray(cells.T) if transposed else cells, group, need, ceiling).run(budget)
    return oriented(result, transposed)


def oriented(result: Solution | Tree, transposed: bool) -> Solution | Refutation:
    """What a search over the table, or over its transpose, says about the table."""
    if isinstance(result, Solution):
        return Solution(result.y, result.x) if transposed else result
    return {"kind": "search", "transposed": transposed, "tree": result}
