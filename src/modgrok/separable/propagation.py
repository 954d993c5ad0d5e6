"""What a partial placement of rows and columns in Z_m forces: the state of the search and its rules.

Cells of the reduced table are numbered values; x places rows, y places columns, both injectively, and
h(x(a) + y(b)) = cells[a, b]. The fibre of v is the set of z with h(z) = v. Fibres are disjoint, so their sizes add
up to at most m. The state holds what is still possible; the rules only ever take possibilities away:

  sums      a placed row and a placed column fix h at their sum;
  fibres    need[v] <= |fibre of v| <= ceiling[v], and Σ need <= m bounds every ceiling from above; a fibre at its
            ceiling is closed, a fibre with exactly need[v] possible members has them all;
  cells     next to a row placed at i, column b can be at j only if z = i + j may belong to the fibre of cells[a, b];
  lines     two rows (columns) are never at the same place; a line with one place left is placed there, and when
            there are as many lines as places, a place with one line left takes it.

A rule that leaves nothing raises `Conflict`. Each rule is monotone, so the order of application does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Int

from modgrok.separable.reduction import Table

ROW, COLUMN = 0, 1

Line = tuple[int, int]
"""(ROW or COLUMN, index of the line)."""


class Conflict(Exception):
    """No placement extends this state."""


@dataclass
class State:
    """Possibilities left; -1 in `place` and `h` means not yet known. `fibre` is doubled along z to avoid wrapping."""

    row_place: Int[np.ndarray, "row"]
    column_place: Int[np.ndarray, "column"]
    row_domain: Bool[np.ndarray, "row m"]
    column_domain: Bool[np.ndarray, "column m"]
    fibre: Bool[np.ndarray, "value 2*m"]
    h: Int[np.ndarray, "m"]
    need: Int[np.ndarray, "value"]
    ceiling: Int[np.ndarray, "value"]
    known: Int[np.ndarray, "value"]
    closed: Bool[np.ndarray, "value"]

    def copy(self) -> State:
        return State(*(getattr(self, f.name).copy() for f in fields(self)))

    def place(self, side: int) -> Int[np.ndarray, "line"]:
        return self.column_place if side else self.row_place

    def domain(self, side: int) -> Bool[np.ndarray, "line m"]:
        return self.column_domain if side else self.row_domain

    def slack(self) -> int:
        """How many members all fibres together may have beyond what they need."""
        return len(self.h) - int(self.need.sum())


class Rules:
    """The rules above for one table and one group order."""

    def __init__(self, cells: Table, order: int) -> None:
        self.order = order
        self.lines = (np.ascontiguousarray(cells), np.ascontiguousarray(cells.T))
        self.values = int(cells.max()) + 1

    def start(self, need: Int[np.ndarray, "value"], ceiling: Int[np.ndarray, "value"]) -> State:
        (rows, columns), m, values = self.lines[ROW].shape, self.order, self.values
        return State(
            row_place=np.full(rows, -1),
            column_place=np.full(columns, -1),
            row_domain=np.ones((rows, m), dtype=bool),
            column_domain=np.ones((columns, m), dtype=bool),
            fibre=np.ones((values, 2 * m), dtype=bool),
            h=np.full(m, -1),
            need=need.copy(),
            ceiling=ceiling.copy(),
            known=np.zeros(values, dtype=np.int64),
            closed=np.zeros(values, dtype=bool),
        )

    def put(self, state: State, line: Line, place: int) -> None:
        """Place one line; its place is taken from all others."""
        side, k = line
        domain = state.domain(side)
        if not domain[k, place]:
            raise Conflict
        domain[:, place] = False
        domain[k] = False
        domain[k, place] = True
        state.place(side)[k] = place

    def propagate(self, state: State, fresh: list[Line]) -> None:
        """Apply all rules until nothing changes; `fresh` are the lines placed since the last time."""
        while True:
            h_before, closed_before = state.h.copy(), state.closed.copy()
            self._sums(state, fresh)
            self._fibres(state)
            learned = np.flatnonzero(state.h != h_before)
            closed = state.closed & ~closed_before
            for side in (ROW, COLUMN):
                self._cells(state, side, [k for s, k in fresh if s == side], learned, closed)
            fresh = self._lines(state, ROW) + self._lines(state, COLUMN)
            if not fresh:
                return

    def _sums(self, state: State, fresh: list[Line]) -> None:
        for side, k in fresh:
            others = np.flatnonzero(state.place(1 - side) >= 0)
            z = (state.place(side)[k] + state.place(1 - side)[others]) % self.order
            self._learn(state, z, self.lines[side][k, others])

    def _learn(self, state: State, z: Int[np.ndarray, "z"], v: Int[np.ndarray, "z"]) -> None:
        """h(z) = v, for different z."""
        old = state.h[z]
        if ((old >= 0) & (old != v)).any():
            raise Conflict
        z, v = z[old < 0], v[old < 0]
        if not state.fibre[v, z].all():
            raise Conflict
        for half in (z, z + self.order):
            state.fibre[:, half] = False
            state.fibre[v, half] = True
        state.h[z] = v
        np.add.at(state.known, v, 1)

    def _fibres(self, state: State) -> None:
        m = self.order
        while True:
            np.maximum(state.need, state.known, out=state.need)
            slack = state.slack()
            if slack < 0:
                raise Conflict
            np.minimum(state.ceiling, state.need + slack, out=state.ceiling)
            if (state.need > state.ceiling).any():
                raise Conflict
            for v in np.flatnonzero((state.known == state.ceiling) & ~state.closed):
                members = state.h == v
                state.fibre[v, :m] = members
                state.fibre[v, m:] = members
                state.closed[v] = True
            size = np.count_nonzero(state.fibre[:, :m], axis=1)
            if (size < state.need).any():
                raise Conflict
            exact = np.flatnonzero((size == state.need) & (size > state.known))
            if not len(exact):
                return
            for v in exact:
                z = np.flatnonzero(state.fibre[v, :m] & (state.h < 0))
                self._learn(state, z, np.full(len(z), v))

    def _cells(
        self,
        state: State,
        side: int,
        fresh: list[int],
        learned: Int[np.ndarray, "z"],
        closed: Bool[np.ndarray, "value"],
    ) -> None:
        """Filter the lines across `side` through its placed lines: wholly through fresh ones, else by what is new."""
        m = self.order
        place, lines = state.place(side), self.lines[side]
        placed = np.flatnonzero(place >= 0)
        open_lines = np.flatnonzero(state.place(1 - side) < 0)
        if not len(placed) or not len(open_lines) or not (len(fresh) or len(learned) or closed.any()):
            return
        domain = state.domain(1 - side)[open_lines]
        across = lines[np.ix_(placed, open_lines)]
        for k in fresh:
            domain &= state.fibre[:, place[k] : place[k] + m][lines[k, open_lines]]
        for z in learned:
            domain[:, (z - place[placed]) % m] &= state.h[z] == across.T
        if closed.any():
            for i, values in zip(place[placed], across, strict=True):
                hit = np.flatnonzero(closed[values])
                domain[hit] &= state.fibre[:, i : i + m][values[hit]]
        state.domain(1 - side)[open_lines] = domain

    def _lines(self, state: State, side: int) -> list[Line]:
        """All-different: lines with one place left, and places with one line left when all places are used."""
        place, domain = state.place(side), state.domain(side)
        fresh: list[Line] = []
        while True:
            places_left = np.count_nonzero(domain, axis=1)
            if (places_left == 0).any():
                raise Conflict
            singles = np.flatnonzero((places_left == 1) & (place < 0))
            if not len(singles):
                break
            for k in singles:
                where = np.flatnonzero(domain[k])
                if not len(where):
                    raise Conflict
                self.put(state, (side, int(k)), int(where[0]))
                fresh.append((side, int(k)))
        if len(place) == self.order:
            lines_left = np.count_nonzero(domain, axis=0)
            if (lines_left == 0).any():
                raise Conflict
            for z in np.flatnonzero(lines_left == 1):
                who = np.flatnonzero(domain[:, z])
                if not len(who):
                    raise Conflict
                if place[who[0]] < 0:
                    self.put(state, (side, int(who[0])), int(z))
                    fresh.append((side, int(who[0])))
        return fresh
