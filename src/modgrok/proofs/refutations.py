"""Why a table has no placement of its lines in a group, each kind a claim to be proved from the table in plain Python.

Rows and columns are distinct once equal lines are merged, so they need distinct places; a value's fibre has as many
members as the value stands in one line. A refutation shows that this cannot be had:

  distinct-lines          nothing to give; the lines are counted
  counting                lines: for each value, a line; how often the values stand there adds up to more than m
  closed-trail            side: the table has two columns (rows) and m is a prime; arcs are counted
  no-cyclic-automorphism  nothing to give; all symmetries are enumerated (`cycles`)
  pairs                   side, colours: a table that depends only on exact contingency tables; certificate: refutes it
  search                  transposed, tree: a case distinction (`trees`)
  symmetry                symmetries, core, transposed, tree: k + 1 symmetries, k the room the bounds leave, carry
                          `core` to disjoint sets; the tree refutes that its fibres are all at their bounds
  quadrangle              rows, columns: four each; in two quadrangles of cells three agree and the fourth does not
  short-cycles            nothing to give; rows, columns and values fill Z_m, and no row is another moved in one cycle
  intransitive            side, line: rows and columns fill the group, and no symmetry takes the first line to this one
  rivals, rival-cells     for tables with unknown cells, about the lines `kept`: lines that differ in a known cell are
                          rivals
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from modgrok.proofs.claims import KINDS, SIDES, Malformed, Work, flag, keyed, listed, whole, wholes, word
from modgrok.proofs.cycles import has_cyclic_automorphism, one_cycle, refine, symmetries
from modgrok.proofs.trees import Rows, refuted_by_tree, rivals

Moduli = tuple[int, ...]
KEYS = {
    "distinct-lines": (), "counting": ("lines",), "closed-trail": ("side",), "no-cyclic-automorphism": (),
    "pairs": ("side", "colours", "certificate"), "search": ("transposed", "tree"),
    "symmetry": ("symmetries", "core", "transposed", "tree"), "rivals": ("kept", "side", "clique"),
    "rival-cells": ("kept", "cliques"), "quadrangle": ("rows", "columns"), "short-cycles": (),
    "intransitive": ("side", "line"),
}  # fmt: skip
DEEPEST = 8
"""Tables of pair colours within one another."""


def named_kind(certificate: Any, allowed: Sequence[str] = KINDS) -> str:
    if not isinstance(certificate, dict):
        raise Malformed("a refutation must be an object")
    return word(certificate.get("kind"), allowed, "kind")


def kind_of(certificate: Any, *others: str) -> str:
    """The kind of a refutation, which has the keys of its kind and no others."""
    kind = named_kind(certificate)
    keyed(certificate, "a refutation", ("kind", *dict.fromkeys((*KEYS[kind], *others))))
    return kind


class Merged:
    """A table whose equal rows are one, and equal columns; and what is left of it where constant lines are taken away.

    Lines that differ do so outside of a constant line across them, so what is left has no equal lines either.
    """

    def __init__(self, rows: Rows, work: Work) -> None:
        work.spend(2 * len(rows) * len(rows[0]))
        self.columns: Rows = list(dict.fromkeys(zip(*dict.fromkeys(rows), strict=True)))
        self.rows: Rows = list(zip(*self.columns, strict=True))
        self.constant = [{line[0] for line in lines if len(set(line)) == 1} for lines in (self.rows, self.columns)]

    def shape(self, absorbed: int | None) -> tuple[int, int]:
        return len(self.rows) - (absorbed in self.constant[0]), len(self.columns) - (absorbed in self.constant[1])

    def without(self, absorbed: int | None, work: Work) -> Rows:
        """The rows, without the lines that are constantly `absorbed`."""
        if absorbed is None:
            return self.rows
        work.spend(len(self.rows) * len(self.columns))
        kept = [b for b, column in enumerate(self.columns) if set(column) != {absorbed}]
        return [tuple(row[b] for b in kept) for row in self.rows if set(row) != {absorbed}]


def line_counts(rows: Rows) -> dict[int, int]:
    """For each value how often it stands in one line at most."""
    most: dict[int, int] = {}
    for line in (*rows, *zip(*rows, strict=True)):
        counts: dict[int, int] = {}
        for v in line:
            counts[v] = counts.get(v, 0) + 1
        for v, count in counts.items():
            if count > most.get(v, 0):
                most[v] = count
    return most


def refutes_case(merged: Merged, absorbed: int | None, moduli: Moduli, certificate: Any, work: Work) -> bool:
    """A refutation of the table without the lines that are constantly `absorbed`."""
    if kind_of(certificate) == "distinct-lines":
        rows, columns = merged.shape(absorbed)
        return min(rows, columns) > 0 and max(rows, columns) > prod(moduli)
    return refutes(merged.without(absorbed, work), moduli, certificate, work)


def refutes(rows: Rows, moduli: Moduli, certificate: Any, work: Work, depth: int = 0) -> bool:
    """`rows` are pairwise distinct, and so are the columns; does the certificate exclude every injective placement?"""
    kind, m = kind_of(certificate), prod(moduli)
    if not rows or not rows[0] or "kept" in KEYS[kind]:
        return False
    columns: Rows = list(zip(*rows, strict=True))
    work.spend(3 * len(rows) * len(columns))
    if kind == "distinct-lines":
        return max(len(rows), len(columns)) > m
    most = line_counts(rows)
    values = sorted(most)
    if kind == "counting":
        return counted(rows, columns, values, certificate["lines"]) > m
    if kind == "closed-trail":
        return long_trails(rows if side_of(certificate) == "column" else columns, m)
    if kind == "no-cyclic-automorphism":
        return len(moduli) == 1 and len(rows) == len(columns) == m > 1 and not has_cyclic_automorphism(rows, work)
    if kind == "pairs":
        return depth < DEEPEST and by_pairs(
            rows if side_of(certificate) == "column" else columns, moduli, certificate, work, depth
        )
    if kind == "quadrangle":
        return len(values) == m and broken_quadrangle(rows, certificate)
    if kind == "short-cycles":
        return len(moduli) == 1 and len(rows) == len(columns) == len(values) == m and no_single_cycle(rows, values)
    if kind == "intransitive":
        across = (rows, columns) if side_of(certificate) == "row" else (columns, rows)
        return len(rows) == len(columns) == m and keeps_apart(*across, certificate["line"], work)
    ceiling = dict.fromkeys(values, m)
    if kind == "symmetry":
        core = [values[v] for v in wholes(certificate["core"], 0, len(values) - 1, "core")]
        if not symmetric(rows, values, core, m - sum(most.values()), certificate["symmetries"], work):
            return False
        ceiling |= {v: most[v] for v in core}
    placed = columns if flag(certificate["transposed"], "transposed") else rows
    return refuted_by_tree(placed, moduli, most, ceiling, values, certificate["tree"], work)


def broken_quadrangle(rows: Rows, certificate: Any) -> bool:
    """There are as many values as elements, so equal values are equal products. Then f(a1, b1) = f(a3, b3),
    f(a1, b2) = f(a3, b4) and f(a2, b1) = f(a4, b3) make f(a2, b2) = f(a4, b4): a2 b2 = (a2 b1)(a1 b1)⁻¹(a1 b2)."""
    a = wholes(listed(certificate["rows"], "rows", 4), 0, len(rows) - 1, "rows")
    b = wholes(listed(certificate["columns"], "columns", 4), 0, len(rows[0]) - 1, "columns")
    first, second = ([rows[a[i]][b[j]] for i in (k, k + 1) for j in (k, k + 1)] for k in (0, 2))
    return min(*first, *second) >= 0 and first[:3] == second[:3] and first[3] != second[3]


def no_single_cycle(rows: Rows, values: list[int]) -> bool:
    """If g1 takes the value g1(0) + 1 in row a, the columns where rows 0 and a have equal values are one step apart."""
    if any(sorted(row) != values for row in rows):
        return False
    place = {v: b for b, v in enumerate(rows[0])}
    return not any(one_cycle([place[v] for v in row]) for row in rows)


def keeps_apart(rows: Rows, columns: Rows, line: Any, work: Work) -> bool:
    """Whether no permutation of rows and columns that keeps every value takes row 0 to this one: in a group with as
    many elements, row x to x c⁻¹ and column y to c y would."""
    left, right = [0] * len(rows), [0] * len(rows)
    left[0] = right[whole(line, 1, len(rows) - 1, "line")] = 1
    refined = refine(rows, columns, (left, [0] * len(columns)), (right, [0] * len(columns)), work)
    return refined is None or next(symmetries(rows, columns, *refined, work), None) is None


def side_of(certificate: Any) -> str:
    return word(certificate["side"], SIDES, "side")


def line_of(value: Any, rows: Rows, columns: Rows) -> tuple[int, ...]:
    """A line that a certificate names by its side and number."""
    side, number = listed(value, "a line", 2)
    lines = rows if word(side, SIDES, "side") == "row" else columns
    return lines[whole(number, 0, len(lines) - 1, "a line")]


def counted(rows: Rows, columns: Rows, values: list[int], lines: Any) -> int:
    named = listed(lines, "lines", len(values))
    return sum(line_of(line, rows, columns).count(v) for v, line in zip(values, named, strict=True))


def long_trails(rows: Rows, m: int) -> bool:
    """Two columns over a group of prime order: is every closed trail through the rows, taken as arcs, longer than m?

    Arcs that lie in one piece are joined into one trail by as many new arcs as there are missing exits in it; two
    pieces or more need at least one new arc each.
    """
    if m < 2 or any(m % d == 0 for d in range(2, m)) or any(len(row) != 2 for row in rows):
        return False
    piece = {v: v for row in rows for v in row}

    def root(v: int) -> int:
        while piece[v] != v:
            piece[v] = v = piece[piece[v]]
        return v

    excess = dict.fromkeys(piece, 0)
    for u, v in rows:
        piece[root(u)] = root(v)
        excess[u] -= 1
        excess[v] += 1
    missing: dict[int, int] = {}
    for v, entries in excess.items():
        missing[root(v)] = missing.get(root(v), 0) + max(entries, 0)
    added = sum(max(count, len(missing) > 1) for count in missing.values())
    return len(rows) + added > m


def by_pairs(rows: Rows, moduli: Moduli, certificate: Any, work: Work, depth: int) -> bool:
    """m rows: the contingency table of two columns depends on the difference of their places alone."""
    columns: Rows = list(zip(*rows, strict=True))
    if len(rows) != prod(moduli):
        return False
    count = len(columns)
    colours = [tuple(wholes(listed(row, "colours", count), 0, count * count, "colours"))
               for row in listed(certificate["colours"], "colours", count)]  # fmt: skip
    work.spend(4 * count * count * len(rows))
    colour_of: dict[tuple[int, ...], int] = {}
    apart = 1 + max(max(row) for row in rows)
    for first, colour_row in zip(columns, colours, strict=True):
        for second, colour in zip(columns, colour_row, strict=True):
            pairs = tuple(sorted(u * apart + v for u, v in zip(first, second, strict=True)))
            if colour_of.setdefault(pairs, colour) != colour:
                return False
    # Only a column and itself meet in equal values alone, so the lines of a true table of colours are distinct.
    if len(set(colours)) < count or len(set(zip(*colours, strict=True))) < count:
        return False
    return refutes(colours, moduli, certificate["certificate"], work, depth + 1)


def symmetric(rows: Rows, values: list[int], core: list[int], room: int, symmetries: Any, work: Work) -> bool:
    """More symmetries than there is room, each true of every cell, with disjoint images of the core."""
    given = listed(symmetries, "symmetries")
    work.spend(2 * len(given) * (len(rows) * len(rows[0]) + len(values)))
    if len(given) <= room:
        return False
    images: list[int] = []
    for maps in given:
        row_map, column_map, value_map = (
            permutation(part, size)
            for part, size in zip(listed(maps, "a symmetry", 3), (len(rows), len(rows[0]), len(values)), strict=True)
        )
        image = {v: values[value_map[i]] for i, v in enumerate(values)}
        for a, row in enumerate(rows):
            target = rows[row_map[a]]
            if any(target[column_map[b]] != image[v] for b, v in enumerate(row)):
                return False
        images.extend(image[v] for v in core)
    return len(set(images)) == len(images)


def permutation(value: Any, size: int) -> list[int]:
    found = wholes(listed(value, "a permutation", size), 0, size - 1, "a permutation")
    if len(set(found)) < size:
        raise Malformed("a permutation takes every number once")
    return found


def refutes_partial(
    rows: Rows, columns: Rows, absorbed: int | None, moduli: Moduli, certificate: Any, work: Work
) -> bool:
    """Some lines of a table with unknown cells, none of them at ∞: their known cells alone allow no placement."""
    kind, m = kind_of(certificate, "kept"), prod(moduli)
    chosen = listed(certificate["kept"], "kept", 2)
    kept_rows, kept_columns = (
        wholes(kept, 0, len(lines) - 1, "kept") for kept, lines in zip(chosen, (rows, columns), strict=True)
    )
    work.spend(2 * len(rows) * len(columns) + len(kept_rows) * len(kept_columns))
    for lines, kept in ((rows, kept_rows), (columns, kept_columns)):
        if len(set(kept)) < len(kept):
            return False
        if absorbed is not None and any({v for v in lines[k] if v >= 0} <= {absorbed} for k in kept):
            return False
    part: Rows = [tuple(rows[a][b] for b in kept_columns) for a in kept_rows]
    across: Rows = list(zip(*part, strict=True))
    if not part or not across:
        return False
    if kind == "rivals":
        lines = part if side_of(certificate) == "row" else across
        clique = wholes(certificate["clique"], 0, len(lines) - 1, "clique")
        return len(clique) > m and all_rivals([lines[k] for k in clique], work)
    values = sorted({v for row in part for v in row if v >= 0})
    if kind == "rival-cells":
        return rival_cells(part, across, values, certificate["cliques"], work) > m
    if kind == "quadrangle":
        return len(values) == m and broken_quadrangle(part, certificate)
    if kind != "search" or not values:
        return False
    placed = across if flag(certificate["transposed"], "transposed") else part
    return refuted_by_tree(
        placed, moduli, dict.fromkeys(values, 1), dict.fromkeys(values, m), values, certificate["tree"], work
    )


def rival_cells(part: Rows, across: Rows, values: list[int], cliques: Any, work: Work) -> int:
    """Sums that must differ: for each value a line, and rivals across it that meet it in this value; 0 if that
    is untrue."""
    total = 0
    for v, clique in zip(values, listed(cliques, "cliques", len(values)), strict=True):
        side, number, members = listed(clique, "a clique", 3)
        lines, others = (part, across) if word(side, SIDES, "side") == "row" else (across, part)
        line = lines[whole(number, 0, len(lines) - 1, "a line")]
        met = wholes(members, 0, len(others) - 1, "members")
        if any(line[j] != v for j in met) or not all_rivals([others[j] for j in met], work):
            return 0
        total += len(met)
    return total


def all_rivals(lines: Rows, work: Work) -> bool:
    """Whether any two of the lines differ in a cell that both know."""
    work.spend(len(lines) ** 2 * (1 + len(lines[0]) // 8 if lines else 1))
    return all(rivals(first, second) for k, first in enumerate(lines) for second in lines[:k])
