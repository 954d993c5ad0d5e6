"""Checks of witnesses and obstructions that share no code with what finds them.

A witness is compared with the whole table. An obstruction is checked in plain Python from the table alone: the
reduction is done again, and each kind of certificate is taken as a claim to be proved:

  distinct-lines          nothing to give; the lines are counted
  counting                lines: for each value, a line; how often the values stand there adds up to more than m
  closed-trail            side: the table has two columns (rows) and m is a prime; arcs are counted
  no-cyclic-automorphism  nothing to give; all symmetries are enumerated with exact refinement
  pairs                   side, colours: a table that depends only on exact contingency tables; certificate: refutes it
  search                  transposed, tree: see `tree_checker`
  symmetry                symmetries, core, transposed, tree: k + 1 symmetries, k the room the bounds leave, carry
                          `core` to disjoint sets; the tree refutes that its fibres are all at their bounds

A certificate that is malformed is refused like a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from modgrok.separable.cycle_checker import has_cyclic_automorphism
from modgrok.separable.tree_checker import check_tree, rivals
from modgrok.separable.verdict import Obstruction, Witness

Rows = list[tuple[int, ...]]
Moduli = tuple[int, ...]


def check_witness(table: np.ndarray, group_order: int | Moduli, absorbing: bool, witness: Witness) -> bool:
    """Does h(g1(n1) + g2(n2) + …) = f(n1, n2, …) hold for every known cell, over the group that was asked about?

    Cells below 0 are unknown, and so are values of h that are None: these give no cell.
    """
    moduli = orders_of(group_order)
    m = prod(moduli)
    if orders_of(witness.moduli or witness.group_order) != moduli or witness.group_order != m:
        return False
    if tuple(map(len, witness.g)) != np.shape(table) or len(witness.h) != m:
        return False
    if not all((absorbing if t is None else 0 <= t < m) for part in witness.g for t in part):
        return False
    h = np.array([-1 if v is None else v for v in (*witness.h, witness.h_absorbing)])
    absorbed = np.zeros((), dtype=bool)
    for part in witness.g:
        absorbed = np.logical_or.outer(absorbed, np.array([t is None for t in part]))
    place, stride = np.zeros(np.shape(table), dtype=np.int64), m
    for k in moduli:
        stride //= k
        digit = np.zeros((), dtype=np.int64)
        for part in witness.g:
            digit = np.add.outer(digit, np.array([(t or 0) // stride % k for t in part]))
        place += digit % k * stride
    return bool(((h[np.where(absorbed, m, place)] == table) | (np.asarray(table) < 0)).all())


def orders_of(group: int | Moduli) -> Moduli:
    """The orders of the cyclic factors of a group."""
    orders = (group,) if isinstance(group, int | np.integer) else group
    return tuple(int(k) for k in orders if k != 1) or (1,)


def check_obstruction(table: np.ndarray, group_order: int | Moduli, absorbing: bool, obstruction: Obstruction) -> bool:
    """Does the obstruction prove that the table is not in the class?"""
    moduli = orders_of(group_order)
    rows = [tuple(row) for row in np.asarray(table).tolist()]
    columns = list(zip(*rows, strict=True))
    known = [{v for v in line if v >= 0} for line in rows + columns]
    constants: set[int | None] = {next(iter(values)) for values in known if len(values) == 1} if absorbing else set()
    if {absorbed for absorbed, _ in obstruction.cases} != (constants or {None}):
        return False
    try:
        if (np.asarray(table) < 0).any():
            return all(
                check_partial_case(rows, columns, absorbed, moduli, certificate)
                for absorbed, certificate in obstruction.cases
            )
        return all(
            check_case(distinct(rows, columns, absorbed), moduli, certificate)
            for absorbed, certificate in obstruction.cases
        )
    except (KeyError, IndexError, TypeError, ValueError):
        return False


def check_up_to(
    table: np.ndarray, group_order: int | Moduli, absorbing: bool, obstruction: Obstruction, up_to: bool
) -> bool:
    """`check_obstruction`, and the same for every smaller cyclic group if the claim is about all of them."""
    if not check_obstruction(table, group_order, absorbing, obstruction):
        return False
    if not up_to:
        return True
    given = dict(obstruction.smaller)
    return len(orders_of(group_order)) == 1 and all(
        check_obstruction(table, order, absorbing, given[order])
        if order in given
        else counted_out(table, order, absorbing)
        for order in range(1, prod(orders_of(group_order)))
    )


def counted_out(table: np.ndarray, order: int, absorbing: bool) -> bool:
    """Whether the number of lines, or the counts of values in lines, exclude a group of that order.

    Lines with unknown cells may share an element, so nothing is excluded for them.
    """
    if (np.asarray(table) < 0).any():
        return False
    rows = [tuple(row) for row in np.asarray(table).tolist()]
    columns = list(zip(*rows, strict=True))
    constants: set[int | None] = {line[0] for line in rows + columns if len(set(line)) == 1} if absorbing else set()
    return all(least_order(distinct(rows, columns, absorbed)) > order for absorbed in constants or {None})


def least_order(rows: Rows) -> int:
    """A bound from below: the number of lines, and how often each value stands in one of them at most, in all."""
    lines = rows + list(zip(*rows, strict=True))
    values = {v for row in rows for v in row}
    counts = sum(max(line.count(v) for line in lines) for v in values)
    return max(len(rows), len(lines) - len(rows), counts)


def distinct(rows: Rows, columns: Rows, absorbed: int | None) -> Rows:
    """The distinct rows of distinct columns, without the lines that are constantly `absorbed`."""
    kept = [b for b, column in enumerate(columns) if absorbed is None or set(column) != {absorbed}]
    left = [tuple(row[b] for b in kept) for row in rows if absorbed is None or set(row) != {absorbed}]
    distinct_rows = list(dict.fromkeys(left))
    return list(zip(*dict.fromkeys(zip(*distinct_rows, strict=True)), strict=True))


def check_case(rows: Rows, moduli: Moduli, certificate: Mapping[str, Any]) -> bool:
    """`rows` are pairwise distinct, and so are the columns; no injective placement may exist."""
    m = prod(moduli)
    columns = list(zip(*rows, strict=True))
    if not rows or not columns:
        return False
    kind = certificate["kind"]
    if kind == "distinct-lines":
        return max(len(rows), len(columns)) > m
    values = sorted({v for row in rows for v in row})
    if kind == "counting":
        lines = [rows[k] if side == "row" else columns[k] for side, k in certificate["lines"]]
        return len(lines) == len(values) and sum(line.count(v) for v, line in zip(values, lines, strict=True)) > m
    if kind == "closed-trail":
        return check_trail(rows if certificate["side"] == "column" else columns, m)
    if kind == "no-cyclic-automorphism":
        return len(moduli) == 1 and len(rows) == len(columns) == m > 1 and not has_cyclic_automorphism(rows)
    if kind == "pairs":
        return check_pairs(rows if certificate["side"] == "column" else columns, moduli, certificate)
    need = {v: max(line.count(v) for line in rows + columns) for v in values}
    ceiling = dict.fromkeys(values, m)
    if kind == "symmetry":
        core = [values[v] for v in certificate["core"]]
        if not check_symmetries(rows, values, core, m - sum(need.values()), certificate["symmetries"]):
            return False
        ceiling |= {v: need[v] for v in core}
    elif kind != "search":
        return False
    return check_tree(
        columns if certificate["transposed"] else rows, moduli, need, ceiling, values, certificate["tree"]
    )


def check_trail(rows: Rows, m: int) -> bool:
    """Two columns over a group of prime order: is every closed trail through the rows, taken as arcs, longer than m?

    Arcs that lie in one piece are joined into one trail by as many new arcs as there are missing exits in it; two
    pieces or more need at least one new arc each.
    """
    if m < 2 or any(m % d == 0 for d in range(2, m)) or any(len(row) != 2 for row in rows):
        return False
    piece = {v: {v} for row in rows for v in row}
    for u, v in rows:
        if piece[u] is not piece[v]:
            piece[u] |= piece[v]
            for w in piece[v]:
                piece[w] = piece[u]
    pieces = {id(members): members for members in piece.values()}.values()
    added = 0
    for members in pieces:
        entries = {v: sum(row[1] == v for row in rows) - sum(row[0] == v for row in rows) for v in members}
        added += max(sum(e for e in entries.values() if e > 0), len(pieces) > 1)
    return len(rows) + added > m


def check_partial_case(
    rows: Rows, columns: Rows, absorbed: int | None, moduli: Moduli, certificate: Mapping[str, Any]
) -> bool:
    """Some lines of a table with unknown cells, none of them at ∞: their known cells alone allow no placement."""
    kept_rows, kept_columns = ([int(k) for k in kept] for kept in certificate["kept"])
    for lines, kept in ((rows, kept_rows), (columns, kept_columns)):
        if len(set(kept)) < len(kept) or not all(0 <= k < len(lines) for k in kept):
            return False
        if absorbed is not None and any({v for v in lines[k] if v >= 0} <= {absorbed} for k in kept):
            return False
    part = [tuple(rows[a][b] for b in kept_columns) for a in kept_rows]
    across = list(zip(*part, strict=True))
    m, kind = prod(moduli), certificate["kind"]
    if kind == "rivals":
        lines, clique = part if certificate["side"] == "row" else across, certificate["clique"]
        return len(clique) > m and rivals_all([lines[k] for k in clique])
    values = sorted({v for row in part for v in row if v >= 0})
    if kind == "rival-cells":
        total = 0
        for v, (side, k, members) in zip(values, certificate["cliques"], strict=True):
            lines, others = (part, across) if side == "row" else (across, part)
            if any(lines[k][j] != v for j in members) or not rivals_all([others[j] for j in members]):
                return False
            total += len(members)
        return total > m
    if kind != "search":
        return False
    need, ceiling = dict.fromkeys(values, 1), dict.fromkeys(values, m)
    return check_tree(across if certificate["transposed"] else part, moduli, need, ceiling, values, certificate["tree"])


def rivals_all(lines: Rows) -> bool:
    """Whether any two of the lines differ in a cell that both know."""
    return all(rivals(first, second) for k, first in enumerate(lines) for second in lines[:k])


def check_pairs(rows: Rows, moduli: Moduli, certificate: Mapping[str, Any]) -> bool:
    """m rows: the contingency table of two columns depends on the difference of their places alone."""
    columns, colours = list(zip(*rows, strict=True)), certificate["colours"]
    if len(rows) != prod(moduli) or len(colours) != len(columns):
        return False
    colour_of: dict[tuple, int] = {}
    for first, colour_row in zip(columns, colours, strict=True):
        if len(colour_row) != len(columns):
            return False
        for second, colour in zip(columns, colour_row, strict=True):
            if colour_of.setdefault(tuple(sorted(zip(first, second, strict=True))), colour) != colour:
                return False
    # Only a column and itself meet in equal values alone, so the lines of a true table of colours are distinct.
    lines = [tuple(row) for row in colours]
    if len(set(lines)) < len(lines) or len(set(zip(*lines, strict=True))) < len(lines):
        return False
    return check_case(lines, moduli, certificate["certificate"])


def check_symmetries(
    rows: Rows, values: list[int], core: list[int], room: int, symmetries: list[list[list[int]]]
) -> bool:
    """More symmetries than there is room, each true of every cell, with disjoint images of the core."""
    if len(symmetries) <= room:
        return False
    images: list[int] = []
    for row_map, column_map, value_map in symmetries:
        for permutation, size in ((row_map, len(rows)), (column_map, len(rows[0])), (value_map, len(values))):
            if sorted(permutation) != list(range(size)):
                return False
        image = {v: values[value_map[i]] for i, v in enumerate(values)}
        for a, row in enumerate(rows):
            target = rows[row_map[a]]
            if any(target[column_map[b]] != image[v] for b, v in enumerate(row)):
                return False
        images.extend(image[v] for v in core)
    return len(set(images)) == len(images)
