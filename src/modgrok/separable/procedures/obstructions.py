"""Obstructions that need no search, and the words for every kind of obstruction.

Counting. Cells of one row have different sums because y is injective; the same for columns. So the fibre of v has
at least as many members as the most times v stands in one line, and Σ_v of that must not exceed m. Nothing else of
the group is used: a table whose bounds add up to 193 is in the class of no group of order below 193.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Reduced, Table, reduce_table
from modgrok.separable.verdict import Obstruction, Refutation

MOST_VALUES_NAMED = 3


def distinct_lines(reduced: Reduced, order: int) -> Refutation | None:
    """More distinct rows or columns than the group has elements."""
    return {"kind": "distinct-lines"} if max(reduced.shape) > order else None


def counting(reduced: Reduced, order: int) -> Refutation | None:
    """The bounds on the fibres add up to more than the group; for each value, a line that shows its bound."""
    if int(reduced.fibre_bounds.sum()) <= order:
        return None
    return {"kind": "counting", "lines": showing_lines(reduced.row_counts, reduced.column_counts)}


def showing_lines(row_counts: np.ndarray, column_counts: np.ndarray) -> list[tuple[str, int]]:
    """For each value, ("row" or "column", index) of a line in which it stands most often."""
    rows, columns = row_counts.argmax(axis=0), column_counts.argmax(axis=0)
    by_row = row_counts.max(axis=0) >= column_counts.max(axis=0)
    return [("row", int(a)) if wins else ("column", int(b)) for a, b, wins in zip(rows, columns, by_row, strict=True)]


def describe(reduced: Reduced, order: int, certificate: Refutation) -> str:
    """The certificate in words."""
    kind = certificate["kind"]
    rows, columns = reduced.shape
    if kind == "distinct-lines":
        return (
            f"the table has {rows} distinct rows and {columns} distinct columns, and different rows (columns) need "
            f"different elements, but the group has {order}"
        )
    if kind == "counting":
        return describe_counting(reduced, order)
    if kind == "rivals":
        return (
            f"{len(certificate['clique'])} {certificate['side']}s differ from one another in known cells and need "
            f"different elements, but the group has {order}"
        )
    if kind == "rival-cells":
        count = sum(len(members) for _, _, members in certificate["cliques"])
        return f"lines that differ in known cells meet others in {count} sums that must differ; the group has {order}"
    if "kept" in certificate:
        return (
            f"an exhaustive search over {rows} rows and {columns} columns with their known cells "
            f"({tree_size(certificate['tree'])} cases) finds no placement in {order} elements"
        )
    if kind in LATIN_KINDS:
        return describe_full(reduced, order, certificate)
    total = int(reduced.fibre_bounds.sum())
    if kind == "no-cyclic-automorphism":
        return (
            f"rows and columns fill the group of order {order}, so adding 1 would permute rows and columns in cycles "
            f"of length {order} and keep every value; the table has no such symmetry"
        )
    if kind == "closed-trail":
        many = "rows" if certificate["side"] == "column" else "columns"
        return (
            f"with two distinct {certificate['side']}s h runs through a closed walk of {order} steps, and the "
            f"{max(rows, columns)} distinct {many} are different arcs of it; every closed trail through them is longer"
        )
    if kind == "pairs":
        side = "columns" if certificate["side"] == "column" else "rows"
        other = "rows" if side == "columns" else "columns"
        return (
            f"the {other} fill the group of order {order}, so how often each pair of values meets in two {side} "
            f"depends only on the difference of their elements; the table of these pair colours is not in the class "
            f"({certificate['certificate']['kind']})"
        )
    if kind == "symmetry":
        return (
            f"values need at least {total} preimages in {order} elements, so at most {order - total} fibres exceed "
            f"their bound; {len(certificate['symmetries'])} symmetries of the table carry "
            f"{len(certificate['core'])} of the values to disjoint sets, so some solution would keep all of these at "
            f"their bound; an exhaustive search ({tree_size(certificate['tree'])} cases) finds none"
        )
    return (
        f"values need at least {total} preimages, which fit into {order} elements, but an exhaustive search over the "
        f"{rows} distinct rows and {columns} distinct columns ({tree_size(certificate['tree'])} cases) finds none"
    )


def describe_counting(reduced: Reduced, order: int) -> str:
    bounds = reduced.fibre_bounds
    lines = showing_lines(reduced.row_counts, reduced.column_counts)
    named = []
    for v in np.argsort(-bounds, kind="stable")[:MOST_VALUES_NAMED]:
        (side, k), times = lines[v], int(bounds[v])
        where = f"row {reduced.row_source[k]}" if side == "row" else f"column {reduced.column_source[k]}"
        across = "columns" if side == "row" else "rows"
        named.append(
            f"value {reduced.values[v]} needs at least {times} preimage{'s' * (times > 1)} "
            f"({where} holds it in {times} distinct {across if times > 1 else across[:-1]})"
        )
    more = ", …" if len(bounds) > MOST_VALUES_NAMED else ""
    return f"{', '.join(named)}{more}: {int(bounds.sum())} in all, but the group has {order}"


LATIN_KINDS = ("quadrangle", "short-cycles", "intransitive")
"""Of tables that fill the group."""


def describe_full(reduced: Reduced, order: int, certificate: Refutation) -> str:
    if certificate["kind"] == "quadrangle":
        return (
            f"there are as many values as elements, {order}, so that equal values are equal products, and in a group "
            f"three agreements make a fourth; {quadrangle_text(reduced, certificate)}"
        )
    if certificate["kind"] == "short-cycles":
        return (
            f"rows, columns and values fill the group of order {order}, so the step from one row to another moves the "
            f"values in cycles, and some step in a single cycle of length {order}; no step does"
        )
    source = reduced.row_source if certificate["side"] == "row" else reduced.column_source
    side, line = certificate["side"], source[certificate["line"]]
    return (
        f"rows and columns fill the group of order {order}, so its elements would exchange all of them and keep every "
        f"value; no symmetry takes {side} {source[0]} to {side} {line}"
    )


def quadrangle_text(reduced: Reduced, certificate: Refutation) -> str:
    """'rows 0, 3 and columns 1, 2 agree with rows 5, 2 and columns 0, 4 in three cells (6, 1, 3), but 2 is not 4'."""
    rows, columns = reduced.row_source[certificate["rows"]], reduced.column_source[certificate["columns"]]
    first, second = (reduced.table[np.ix_(rows[k], columns[k])] for k in (slice(0, 2), slice(2, 4)))
    shared = ", ".join(str(first[k]) for k in ((0, 0), (0, 1), (1, 0)))
    names = [f"rows {rows[k]}, {rows[k + 1]} and columns {columns[k]}, {columns[k + 1]}" for k in (0, 2)]
    return f"{names[0]} agree with {names[1]} in three cells ({shared}), but {first[1, 1]} is not {second[1, 1]}"


def tree_size(tree: dict[str, Any]) -> int:
    """Cases that a search tree goes through."""
    size, nodes = 0, [tree]
    while nodes:
        children = nodes.pop()["children"]
        size += len(children)
        nodes.extend(child for child in children.values() if child is not None)
    return max(size, 1)


def combine(group: Group, cases: list[tuple[Reduced, Refutation]]) -> Obstruction:
    """One obstruction from one certificate for each value that ∞ could carry."""
    pairs = tuple((reduced.absorbed, certificate) for reduced, certificate in cases)
    kinds = {certificate["kind"] for _, certificate in pairs}
    texts = grouped(group, cases)
    if len(cases) == 1:
        absorbed, text = cases[0][0].absorbed, texts[0][1]
        lead = "" if absorbed is None else f"with lines of constant value {absorbed} absorbed, "
        return Obstruction(kinds.pop(), lead + text, pairs)
    text = "; ".join(f"if {names} is absorbed: {text}" for names, text in texts)
    return Obstruction(kinds.pop() if len(kinds) == 1 else "several", text, pairs)


def grouped(group: Group, cases: list[tuple[Reduced, Refutation]]) -> list[tuple[str, str]]:
    """(which constants, why): constants with reasons of one kind and size share the words of the first of them."""
    alike: dict[tuple[object, ...], list[tuple[Reduced, Refutation]]] = {}
    for reduced, certificate in cases:
        alike.setdefault((certificate["kind"], reduced.shape), []).append((reduced, certificate))
    found = []
    for members in alike.values():
        (reduced, certificate), others = members[0], len(members) - 1
        also = f" (the same for each of {others} other constants)" if others > 1 else ""
        also = f" (the same for constant {members[1][0].absorbed})" if others == 1 else also
        found.append((f"constant {reduced.absorbed}", describe(reduced, group.order, certificate) + also))
    return found


# ------------------------------------------------------------------------------------------ the lines of a proof

EVERY_LINE = "every row and column, since all take part in the proof"


class ProvingLines(NamedTuple):
    """Rows and columns of a table that an obstruction speaks of, and in words which they are and what they show."""

    rows: list[int]
    columns: list[int]
    note: str


def proving_lines(table: Table, obstruction: Obstruction, order: int) -> ProvingLines:
    """The rows and columns that prove an obstruction, to be drawn into the table; of several cases, the first's.

    `order` is that of the group which the obstruction is about.
    """
    absorbed, certificate = obstruction.cases[0]
    if "kept" in certificate:
        return rival_lines(certificate)
    reduced = reduce_table(table, absorbed)
    rows, columns = reduced.row_source.tolist(), reduced.column_source.tolist()
    if certificate["kind"] == "counting":
        return counted_lines(reduced, order)
    if certificate["kind"] == "distinct-lines":
        side = ProvingLines(rows, [], f"{len(rows)} rows, all different")
        across = ProvingLines([], columns, f"{len(columns)} columns, all different")
        return side if len(rows) >= len(columns) else across
    if certificate["kind"] == "closed-trail":
        two_columns = ProvingLines([], columns, "the two different columns")
        return two_columns if len(columns) == 2 else ProvingLines(rows, [], "the two different rows")
    if certificate["kind"] == "quadrangle":
        marked = (sorted({rows[k] for k in certificate["rows"]}), sorted({columns[k] for k in certificate["columns"]}))
        return ProvingLines(*marked, quadrangle_text(reduced, certificate))
    if certificate["kind"] == "intransitive":
        by_row = certificate["side"] == "row"
        two = [(rows if by_row else columns)[k] for k in (0, certificate["line"])]
        note = f"{certificate['side']}s {two[0]} and {two[1]}, which no symmetry exchanges"
        return ProvingLines(two, [], note) if by_row else ProvingLines([], two, note)
    return ProvingLines(rows, columns, EVERY_LINE)


def counted_lines(reduced: Reduced, order: int) -> ProvingLines:
    """As few lines as show that the fibres do not fit: the largest bounds first, one element for each other value."""
    bounds, lines = reduced.fibre_bounds, showing_lines(reduced.row_counts, reduced.column_counts)
    sources = {"row": reduced.row_source, "column": reduced.column_source}
    shown: dict[str, set[int]] = {"row": set(), "column": set()}
    largest = np.argsort(-bounds, kind="stable")
    totals = len(bounds) + np.cumsum(bounds[largest] - 1)
    needed = largest[: 1 + int(np.argmax(totals > order))].tolist()
    for v in needed:
        side, k = lines[v]
        shown[side].add(int(sources[side][k]))
    who = f"value {reduced.values[needed[0]]} needs" if len(needed) == 1 else f"{len(needed)} values need"
    total, of_all = int(totals[len(needed) - 1]), int(bounds.sum())
    note = (
        f"{named_lines(shown)}, enough for the proof: {who} {int(bounds[needed].sum())} preimages there, each of the "
        f"{len(bounds) - len(needed)} other values at least one, which makes {total}"
        f"{f' of the {of_all}' if of_all > total else ' in all'}, and the group has {order}"
    )
    return ProvingLines(sorted(shown["row"]), sorted(shown["column"]), note)


def named_lines(lines: dict[str, set[int]]) -> str:
    """'row 19', or '3 rows and 1 column'."""
    sides = {side: sorted(found) for side, found in lines.items() if found}
    if sum(map(len, sides.values())) == 1:
        return " ".join(f"{side} {found[0]}" for side, found in sides.items())
    return " and ".join(f"{len(found)} {side}{'s' * (len(found) > 1)}" for side, found in sides.items())


def rival_lines(certificate: Refutation) -> ProvingLines:
    """Of a table with unknown cells: lines that differ from one another, else all that were kept."""
    rows, columns = certificate["kept"]
    if certificate["kind"] == "rivals":
        by_row = certificate["side"] == "row"
        lines = sorted((rows if by_row else columns)[k] for k in certificate["clique"])
        note = f"{len(lines)} {certificate['side']}s that differ from one another in known cells"
        return ProvingLines(lines, [], note) if by_row else ProvingLines([], lines, note)
    return ProvingLines(rows, columns, EVERY_LINE)
