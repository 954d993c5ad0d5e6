"""Does a search tree refute every placement? Checked in plain Python, with whole numbers as sets of places.

Bit z of a number says that place z of the group is in the set. Cells below 0 are unknown, and lines that differ in a
known cell are rivals. The rules are those that any placement obeys (see
`saturate`); they are applied naively until nothing changes. A tree is a case distinction: at every node all
cases that the rules leave open must be there, and every leaf must be refuted by the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from modgrok.proofs.claims import Malformed, Work, keyed, listed, whole, word

Rows = list[tuple[int, ...]]
Node = tuple[str, int, dict[int | str, int | None]]
"""What is distinguished, of which line or value, and the number of the node for each case; None where none is
needed."""
BRANCHES = ("row", "column", "fibre")
LARGEST_PRODUCT = 1 << 9
"""The largest group that is not cyclic whose table of sums is made."""


@dataclass
class Board:
    """What is possible: `places[side][k]` for rows (side 0) and columns (side 1); for each value its possible and
    its certain preimages, and the least and greatest size of its fibre."""

    lines: tuple[Rows, Rows]
    moduli: tuple[int, ...]
    rivals: tuple[list[list[int]], list[list[int]]]
    places: tuple[list[int], list[int]]
    possible: dict[int, int]
    certain: dict[int, int]
    need: dict[int, int]
    ceiling: dict[int, int]

    def copy(self) -> Board:
        return replace(
            self,
            places=(list(self.places[0]), list(self.places[1])),
            possible=dict(self.possible),
            certain=dict(self.certain),
            need=dict(self.need),
            ceiling=dict(self.ceiling),
        )

    @property
    def m(self) -> int:
        return prod(self.moduli)

    @property
    def everywhere(self) -> int:
        return (1 << self.m) - 1

    @property
    def cells(self) -> int:
        """Steps that one round of the rules takes, about: every set of places is as long as the group, and over one
        that is not cyclic it is turned place by place."""
        rows, columns = map(len, self.places)
        turned = (rows + columns) * len(self.need) * self.m // 2 if len(self.moduli) > 1 else 0
        return (rows * columns + 16 * (rows + columns + len(self.need))) * (1 + self.m // 1024) + turned


class Contradiction(Exception):
    pass


def refuted_by_tree(
    rows: Rows,
    moduli: tuple[int, ...],
    need: dict[int, int],
    ceiling: dict[int, int],
    values: list[int],
    tree: Any,
    work: Work,
) -> bool:
    """`rows` and columns are to be placed injectively; `values` is the numbering that the tree uses."""
    columns: Rows = list(zip(*rows, strict=True))
    if len(moduli) > 1 and prod(moduli) > LARGEST_PRODUCT:
        raise Malformed(f"trees over groups that are not cyclic are checked up to order {LARGEST_PRODUCT}")
    origin, nodes = read_tree(tree, len(rows), len(columns), len(values), prod(moduli))
    work.spend((len(rows) ** 2 + len(columns) ** 2) * (1 + len(rows) // 8))
    if len(moduli) > 1:
        work.spend(8 * prod(moduli) ** 2)
    everywhere = (1 << prod(moduli)) - 1
    board = Board(
        lines=(rows, columns),
        moduli=moduli,
        rivals=(rivals_of(rows), rivals_of(columns)),
        places=([everywhere] * len(rows), [everywhere] * len(columns)),
        possible=dict.fromkeys(values, everywhere),
        certain=dict.fromkeys(values, 0),
        need=dict(need),
        ceiling=dict(ceiling),
    )
    (a0, b0), (_, a1, _) = origin, nodes[0]
    if a1 == a0:
        return False
    board.places[0][a0] = board.places[1][b0] = 1
    if refuted(board, work):
        return True
    board.places[0][a1] &= sum(1 << d for d in scales(moduli)) | (a1 not in board.rivals[0][a0])
    stack = [(board, nodes[0])]
    while stack:
        board, (kind, k, children) = stack.pop()
        work.spend(board.cells)
        for option, case in cases(board, kind, k, values):
            if refuted(case, work):
                continue
            child = children.get(option)
            if child is None:
                return False
            stack.append((case, nodes[child]))
    return True


def read_tree(tree: Any, rows: int, columns: int, values: int, m: int) -> tuple[tuple[int, int], list[Node]]:
    """The lines that stand at 0, and the nodes: [[kind, number], [[option, number of the child or null], …]].

    A child has a higher number than its parent, so that no branch runs in circles. The root distinguishes where a row
    stands up to a unit of the group, which it calls "scale".
    """
    found = keyed(tree, "a tree", ("origin", "nodes"))
    a0, b0 = listed(found["origin"], "origin", 2)
    origin = whole(a0, 0, rows - 1, "origin"), whole(b0, 0, columns - 1, "origin")
    sizes = {"row": rows, "column": columns, "fibre": values}
    nodes: list[Node] = []
    listing = listed(found["nodes"], "nodes")
    for number, node in enumerate(listing):
        branch, options = listed(node, "a node", 2)
        kind, k = listed(branch, "a branch", 2)
        kind = "row" if number == 0 and kind == "scale" else word(kind, BRANCHES if number else ("scale",), "a branch")
        children: dict[int | str, int | None] = {}
        for pair in listed(options, "options"):
            option, child = listed(pair, "an option", 2)
            case = (
                word(option, ("complete", "more"), "a case") if kind == "fibre" else whole(option, 0, m - 1, "a place")
            )
            children[case] = None if child is None else whole(child, number + 1, len(listing) - 1, "a child")
        nodes.append((kind, whole(k, 0, sizes[kind] - 1, "a line or value"), children))
    if not nodes:
        raise Malformed("a tree has a root")
    return origin, nodes


def rivals(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether two lines differ in a cell that both know."""
    return any(v != w and v >= 0 and w >= 0 for v, w in zip(first, second, strict=True))


def rivals_of(lines: Rows) -> list[list[int]]:
    """For each line those that need another place."""
    if all(v >= 0 for line in lines for v in line) and len(set(lines)) == len(lines):
        return [[j for j in range(len(lines)) if j != k] for k in range(len(lines))]
    return [[j for j, other in enumerate(lines) if rivals(line, other)] for line in lines]


def scales(moduli: tuple[int, ...]) -> list[int]:
    """A unit of Z_m turns each d into gcd(d, m); so units of the factors turn x(a1), which is not 0, into one of
    these."""
    choices = product(*([d % m for d in range(1, m + 1) if m % d == 0] for m in moduli))
    return [number(choice, moduli) for choice in choices if any(choice)]


def number(digits: Iterable[int], moduli: tuple[int, ...]) -> int:
    """The number of an element of Z_m1 × Z_m2 × …"""
    total = 0
    for digit, m in zip(digits, moduli, strict=True):
        total = total * m + digit % m
    return total


@lru_cache(maxsize=8)
def sums(moduli: tuple[int, ...]) -> list[list[int]]:
    """The table of the group."""
    elements = list(product(*map(range, moduli)))
    return [[number((a + b for a, b in zip(e, f, strict=True)), moduli) for f in elements] for e in elements]


def cases(board: Board, kind: str, k: int, values: list[int]) -> list[tuple[int | str, Board]]:
    """All cases of a branching, with the board of each."""
    if kind == "fibre":
        v = values[k]
        size = board.certain[v].bit_count()
        complete, more = board.copy(), board.copy()
        complete.ceiling[v] = min(board.ceiling[v], size)
        more.need[v] = max(board.need[v], size + 1)
        return [("complete", complete), ("more", more)]
    side = ("row", "column").index(kind)
    found: list[tuple[int | str, Board]] = []
    for place in bits(board.places[side][k]):
        case = board.copy()
        case.places[side][k] = 1 << place
        found.append((place, case))
    return found


def bits(places: int) -> list[int]:
    return [z for z in range(places.bit_length()) if places >> z & 1]


def refuted(board: Board, work: Work) -> bool:
    try:
        work.spend(board.cells)
        while saturate(board):
            work.spend(board.cells)
    except Contradiction:
        return True
    return False


def require(condition: bool) -> None:
    if not condition:
        raise Contradiction


def saturate(board: Board) -> bool:
    """Apply every rule once; whether anything changed."""
    before = (
        list(board.places[0]), list(board.places[1]), dict(board.possible), dict(board.certain),
        dict(board.need), dict(board.ceiling),
    )  # fmt: skip
    for side in (0, 1):
        different_places(board.places[side], board.rivals[side], board.everywhere, board.m)
    placed = [[(k, s.bit_length() - 1) for k, s in enumerate(board.places[side]) if single(s)] for side in (0, 1)]
    added = sums(board.moduli) if len(board.moduli) > 1 else None
    for a, i in placed[0]:
        for b, j in placed[1]:
            if board.lines[0][a][b] < 0:
                continue
            board.certain[board.lines[0][a][b]] |= 1 << (added[i][j] if added else (i + j) % board.m)
    sizes(board)
    for side in (0, 1):
        meet(board, side, placed[side])
    after = (*board.places, board.possible, board.certain, board.need, board.ceiling)
    return before != after


def single(places: int) -> bool:
    return places.bit_count() == 1


def different_places(places: list[int], rivals: list[list[int]], everywhere: int, m: int) -> None:
    """Rivals have different places; if there are m lines, all rivals, every place is somebody's."""
    require(all(places))
    for k, s in enumerate(places):
        if single(s):
            for other in rivals[k]:
                places[other] &= ~s
    require(all(places))
    if len(places) == m and all(len(others) == m - 1 for others in rivals):
        once = twice = 0
        for s in places:
            twice |= once & s
            once |= s
        require(once == everywhere)
        for k, s in enumerate(places):
            only_here = s & ~twice
            if only_here:
                require(single(only_here))
                places[k] = only_here


def sizes(board: Board) -> None:
    """Fibres are disjoint, have between `need` and `ceiling` members, and together at most m."""
    taken = 0
    for members in board.certain.values():
        require(not taken & members)
        taken |= members
    for v, members in board.certain.items():
        board.need[v] = max(board.need[v], members.bit_count())
    room = board.m - sum(board.need.values())
    require(room >= 0)
    for v, members in board.certain.items():
        board.ceiling[v] = min(board.ceiling[v], board.need[v] + room)
        require(board.need[v] <= board.ceiling[v])
        board.possible[v] &= ~(taken & ~members)
        if members.bit_count() == board.ceiling[v]:
            board.possible[v] &= members
        require(not members & ~board.possible[v])
        size = board.possible[v].bit_count()
        require(size >= board.need[v])
        if size == board.need[v]:
            board.certain[v] = board.possible[v]


def meet(board: Board, side: int, placed: list[tuple[int, int]]) -> None:
    """Across a line placed at i, a line can be at j only if i + j may be in the fibre of the value where they meet."""
    across = board.places[1 - side]
    for k, i in placed:
        turned = {v: turned_back(s, i, board.moduli) for v, s in board.possible.items()}
        for other, v in enumerate(board.lines[side][k]):
            if v < 0:
                continue
            across[other] &= turned[v]
            require(across[other] != 0)


def turned_back(places: int, i: int, moduli: tuple[int, ...]) -> int:
    """{j : i + j in places}."""
    if len(moduli) == 1:
        return (places >> i | places << (moduli[0] - i)) & (1 << moduli[0]) - 1
    return sum(1 << j for j, z in enumerate(sums(moduli)[i]) if places >> z & 1)
