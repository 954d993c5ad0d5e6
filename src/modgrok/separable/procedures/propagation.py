"""What a partial placement of rows and columns in a group forces: the state of the search and its rules.

Cells of the table are numbered values, -1 where nothing is known (a table without such cells has distinct lines); x
places rows, y places columns, and h(x(a) + y(b)) = cells[a, b]. Rows that differ in a known cell are *rivals*: they
have different places; the same for columns. The fibre of v is the set of z with h(z) = v. Fibres are disjoint, so
their sizes add up to at most m. Sets of places are whole numbers, see `groups`. The state holds what is still
possible; the rules only take possibilities away:

  sums      a placed row and a placed column fix h at their sum;
  sizes     need[v] <= |fibre of v| <= ceiling[v], and Σ need <= m bounds every ceiling from above; a fibre at its
            ceiling is closed, a fibre with exactly need[v] possible members has them all;
  meet      next to a row placed at i, column b can be at j only if z = i + j may belong to the fibre of cells[a, b];
  places    rivals are never at the same place; a line with one place left is placed there, and when m lines are all
            rivals, a place with one line left takes it.

A rule that leaves nothing raises `Conflict`. Each rule is monotone, so the order of application does not matter.
"""

from __future__ import annotations

import numpy as np

from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Table

ROW, COLUMN = 0, 1

Line = tuple[int, int]
"""(ROW or COLUMN, index of the line)."""


class Conflict(Exception):
    """No placement extends this state; `line` had no place left, if it was a line that failed."""

    def __init__(self, line: Line | None = None) -> None:
        self.line = line


class State:
    """Possibilities left: places of lines, where each is placed (-1: not yet), and members of fibres."""

    __slots__ = ("at", "ceiling", "certain", "need", "places", "possible")

    def __init__(
        self,
        places: tuple[list[int], list[int]],
        at: tuple[list[int], list[int]],
        possible: list[int],
        certain: list[int],
        need: list[int],
        ceiling: list[int],
    ) -> None:
        self.places, self.at = places, at
        self.possible, self.certain, self.need, self.ceiling = possible, certain, need, ceiling

    def copy(self) -> State:
        return State(
            (self.places[0].copy(), self.places[1].copy()),
            (self.at[0].copy(), self.at[1].copy()),
            self.possible.copy(),
            self.certain.copy(),
            self.need.copy(),
            self.ceiling.copy(),
        )


class Rules:
    """The rules above for one table and one group."""

    def __init__(self, cells: Table, group: Group) -> None:
        self.group = group
        self.lines = (cells.tolist(), cells.T.tolist())
        self.values = int(cells.max(initial=-1)) + 1
        self.rivals = (rivals(cells), rivals(cells.T))
        self.full = tuple(
            len(against) == group.order and all(len(others) == group.order for others in against)
            for against in self.rivals
        )
        self.minus = [group.negative(e) for e in range(group.order)]

    def start(self, need: list[int], ceiling: list[int]) -> State:
        rows, columns = map(len, self.lines)
        return State(
            places=([self.group.everything] * rows, [self.group.everything] * columns),
            at=([-1] * rows, [-1] * columns),
            possible=[self.group.everything] * self.values,
            certain=[0] * self.values,
            need=list(need),
            ceiling=list(ceiling),
        )

    def propagate(self, state: State, fresh: list[tuple[Line, int]]) -> None:
        """Put lines at places and apply all rules until nothing changes."""
        waiting = [self.put(state, line, place) for line, place in fresh]
        lines = [line for line, _ in fresh]
        touched = [line for found in waiting for line in found]
        while True:
            before = state.possible.copy()
            self._sums(state, lines)
            self._sizes(state)
            changed = {v for v, (old, new) in enumerate(zip(before, state.possible, strict=True)) if old != new}
            for side in (ROW, COLUMN):
                touched += self._meet(state, side, {k for s, k in lines if s == side}, changed)
            lines = self._settle(state, touched)
            touched = []
            if not lines:
                return

    def put(self, state: State, line: Line, place: int) -> list[Line]:
        """Place one line; its place is taken from its rivals. Lines that lost a place."""
        side, k = line
        places, bit = state.places[side], 1 << place
        if not places[k] & bit:
            raise Conflict(line)
        places[k] = bit
        state.at[side][k] = place
        touched = []
        for other in self.rivals[side][k]:
            if places[other] & bit and other != k:
                places[other] ^= bit
                if not places[other]:
                    raise Conflict((side, other))
                touched.append((side, other))
        return touched

    def _sums(self, state: State, fresh: list[Line]) -> None:
        """h at the sum of each fresh line and each placed line across."""
        add, certain, possible = self.group.add, state.certain, state.possible
        cyclic, m = self.group.cyclic, self.group.order
        for side, k in fresh:
            i, row = state.at[side][k], self.lines[side][k]
            for other, j in enumerate(state.at[1 - side]):
                v = row[other]
                if j < 0 or v < 0:
                    continue
                bit = 1 << ((i + j) % m if cyclic else add(i, j))
                if not certain[v] & bit:
                    if not possible[v] & bit:
                        raise Conflict((side, k))
                    certain[v] |= bit

    def _sizes(self, state: State) -> None:
        m, need, ceiling = self.group.order, state.need, state.ceiling
        possible, certain = state.possible, state.certain
        while True:
            taken = 0
            for members in certain:
                if taken & members:
                    raise Conflict
                taken |= members
            for v, members in enumerate(certain):
                size = members.bit_count()
                if size > need[v]:
                    need[v] = size
            room = m - sum(need)
            if room < 0:
                raise Conflict
            again = False
            for v, members in enumerate(certain):
                if ceiling[v] > need[v] + room:
                    ceiling[v] = need[v] + room
                elif ceiling[v] < need[v]:
                    raise Conflict
                left = members if members.bit_count() == ceiling[v] else possible[v] & ~(taken ^ members)
                size = left.bit_count()
                if size < need[v] or members & ~left:
                    raise Conflict
                possible[v] = left
                if size == need[v] and left != members:
                    certain[v] = left
                    again = True
            if not again:
                return

    def _meet(self, state: State, side: int, fresh: set[int], changed: set[int]) -> list[Line]:
        """Filter the lines across `side` through its placed lines: wholly through fresh ones, else by what changed."""
        if not fresh and not changed:
            return []
        translate, possible, across = self.group.translate, state.possible, state.places[1 - side]
        cyclic, m, all_places = self.group.cyclic, self.group.order, self.group.everything
        open_lines = [other for other, place in enumerate(state.at[1 - side]) if place < 0]
        touched = []
        for k, i in enumerate(state.at[side]):
            if i < 0:
                continue
            everything, back, row = k in fresh, self.minus[i], self.lines[side][k]
            turned: dict[int, int] = {}
            for other in open_lines:
                v = row[other]
                if v < 0 or not (everything or v in changed):
                    continue
                allowed = turned.get(v)
                if allowed is None:
                    h = possible[v]  # as `translate`, whose call would take most of the time here
                    around = (h << back | h >> (m - back)) & all_places if cyclic else translate(h, back)
                    allowed = turned[v] = around
                places = across[other]
                left = places & allowed
                if left != places:
                    if not left:
                        raise Conflict((1 - side, other))
                    across[other] = left
                    touched.append((1 - side, other))
        return touched

    def _settle(self, state: State, touched: list[Line]) -> list[Line]:
        """Place what has one place left, of the lines that lost some; and fill places that one line is left for."""
        placed: list[Line] = []
        while True:
            while touched:
                side, k = touched.pop()
                places = state.places[side][k]
                if state.at[side][k] < 0 and not places & (places - 1):
                    touched += self.put(state, (side, k), places.bit_length() - 1)
                    placed.append((side, k))
            for side in (ROW, COLUMN):
                if self.full[side]:
                    touched += self._fill(state, side, placed)
            if not touched:
                return placed

    def _fill(self, state: State, side: int, placed: list[Line]) -> list[Line]:
        once = twice = 0
        places = state.places[side]
        for s in places:
            twice |= once & s
            once |= s
        if once != self.group.everything:
            raise Conflict
        touched: list[Line] = []
        for k, s in enumerate(places):
            only_here = s & ~twice
            if only_here and state.at[side][k] < 0:
                if only_here & (only_here - 1):
                    raise Conflict((side, k))
                touched += self.put(state, (side, k), only_here.bit_length() - 1)
                placed.append((side, k))
        return touched


def rivals(cells: Table) -> list[list[int]]:
    """For each row itself and the rows that differ from it in a cell known in both."""
    if (cells >= 0).all():
        return [list(range(len(cells)))] * len(cells)
    found = []
    for k, row in enumerate(cells):
        differs = ((cells != row) & (cells >= 0) & (row >= 0)).any(axis=1)
        differs[k] = True
        found.append(np.flatnonzero(differs).tolist())
    return found
