"""The decision procedure: reductions, obstructions, then guesses and complete searches with growing budgets.

Everything that answers yes goes through a cell-by-cell check of the witness, whatever found it. Everything that
answers no carries a certificate. When time is up the answer is `unknown` and says what was excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from jaxtyping import Int

from modgrok.errors import InputError
from modgrok.separable.automorphisms import decide_full
from modgrok.separable.checkers import check_witness
from modgrok.separable.guesses import guess_phases, guess_sizes
from modgrok.separable.obstructions import combine, counting, describe, distinct_lines
from modgrok.separable.pairs import guess_by_shift, refute_by_pairs
from modgrok.separable.reduction import Reduced, Table, absorbable_values, reduce_table
from modgrok.separable.search import Budget, LimitReached, Solution, search
from modgrok.separable.symmetric import refute_by_symmetry
from modgrok.separable.verdict import Refutation, Verdict, Witness

TIME_LIMIT = 20.0
"""Seconds that one family gets unless told otherwise."""
LARGEST_TABLE = 1 << 24
MOST_NODES = 10**9

FIRST_NODES, GROWTH = 64, 8
"""Nodes of the first complete search, and by how much each round has more."""


def decide(
    table: Int[np.ndarray, "p q"],
    group_order: int,
    absorbing: bool,
    *,
    time_limit: float = TIME_LIMIT,
    node_limit: int = MOST_NODES,
) -> Verdict:
    """Is f(a, b) = h(g1(a) + g2(b)) over Z_group_order, with ∞ if `absorbing`? Rows are a, columns are b.

    With a limit on nodes and none on time the answer is the same on every machine.
    """
    table = check_table(table)
    if group_order < 1:
        raise InputError(f"the order of a group must be at least 1, got {group_order}")
    if not time_limit > 0:
        raise InputError(f"a time limit must be above 0 seconds, got {time_limit}")
    budget = Budget(time_limit, node_limit)
    absorbed: list[int | None] = [*absorbable_values(table)] if absorbing else []
    refuted: list[tuple[Reduced, Refutation]] = []
    open_cases: list[Reduced] = []
    for w in absorbed or [None]:
        reduced = reduce_table(table, w)
        result = decide_reduced(reduced, group_order, budget)
        if isinstance(result, Solution):
            witness = lift(reduced, result, group_order)
            if not check_witness(table, witness):
                raise AssertionError("a witness failed its check; the search that found it is wrong")
            return Verdict("in-class", group_order, absorbing, witness=witness, nodes=budget.used)
        if result is None:
            open_cases.append(reduced)
        else:
            refuted.append((reduced, result))
    if not open_cases:
        obstruction = combine(group_order, refuted)
        return Verdict("not-in-class", group_order, absorbing, obstruction=obstruction, nodes=budget.used)
    excluded = excluded_so_far(group_order, refuted, open_cases, budget)
    return Verdict("unknown", group_order, absorbing, excluded=excluded, nodes=budget.used)


def check_table(table: Int[np.ndarray, "p q"]) -> Table:
    """The table as whole numbers, if it is one that can be decided."""
    table = np.asarray(table)
    if table.ndim != 2 or not table.size or not np.issubdtype(table.dtype, np.integer):
        raise InputError(f"a value table has two axes of whole numbers, got shape {table.shape} of {table.dtype}")
    if table.size > LARGEST_TABLE:
        raise InputError(
            f"a value table may have at most {LARGEST_TABLE} cells, got {table.size}; use a smaller modulus"
        )
    return table.astype(np.int64)


def decide_reduced(reduced: Reduced, order: int, budget: Budget) -> Solution | Refutation | None:
    """A solution on the reduced table, a certificate that there is none, or None when the budget ends."""
    rows, columns = reduced.cells.shape
    refuted = distinct_lines(reduced, order)
    if refuted is not None:
        return refuted
    if min(rows, columns) <= 1:
        return Solution(np.arange(rows), np.arange(columns))
    refuted = counting(reduced, order)
    if refuted is not None:
        return refuted
    for attempt in attempts(reduced, order, budget):
        if attempt is not None:
            return attempt
    return None


def attempts(reduced: Reduced, order: int, budget: Budget) -> Iterator[Solution | Refutation | None]:
    """Procedures with growing budgets; None stands for one that came to no answer."""
    cells, need = reduced.cells, reduced.fibre_bounds
    rows, columns = cells.shape
    nodes, rng = FIRST_NODES, np.random.default_rng(0)
    while True:
        try:
            budget.check()
            if rows == columns == order:
                yield within(budget, nodes, partial(decide_full, cells))
            elif rows == order or columns == order:
                yield within(budget, nodes, partial(one_side_full, cells, order))
            for transposed in (rows > columns, rows <= columns):
                yield within(budget, nodes, partial(search, cells, order, need, transposed))
            if need.sum() < order:
                yield within(budget, 4 * nodes, partial(refute_by_symmetry, cells, order, need))
                yield within(budget, 4 * nodes, partial(guess_sizes, cells, order, need))
                yield within(budget, nodes, partial(guess_phases, cells, order, rng))
        except LimitReached:
            return
        nodes *= GROWTH


def within(
    budget: Budget, nodes: int, procedure: Callable[[Budget], Solution | Refutation | None]
) -> Solution | Refutation | None:
    """The procedure's answer, or None if its share of nodes is used up first."""
    try:
        return procedure(budget.part(nodes=nodes))
    except LimitReached:
        budget.check()
        return None


def one_side_full(cells: Table, order: int, budget: Budget) -> Solution | Refutation | None:
    """When the rows (or the columns) fill the group: a guess from shifts, else a refutation from pair colours."""
    by_rows = len(cells) == order
    cells = cells if by_rows else np.ascontiguousarray(cells.T)
    solution = guess_by_shift(cells, order, budget)
    if solution is not None:
        return solution if by_rows else Solution(solution.y, solution.x)
    refuted = refute_by_pairs(cells, order, budget)
    return None if refuted is None else refuted | {"side": "column" if by_rows else "row"}


def lift(reduced: Reduced, solution: Solution, order: int) -> Witness:
    """The witness on the whole table from a solution on the reduced one."""
    h: list[int | None] = [None] * order
    for a, x in enumerate(solution.x.tolist()):
        for y, v in zip(solution.y.tolist(), reduced.cells[a].tolist(), strict=True):
            h[(x + y) % order] = int(reduced.values[v])
    x, y = solution.x % order, solution.y % order
    return Witness(
        group_order=order,
        g=(
            tuple(None if k < 0 else int(x[k]) for k in reduced.row_line),
            tuple(None if k < 0 else int(y[k]) for k in reduced.column_line),
        ),
        h=tuple(h),
        h_absorbing=reduced.absorbed,
    )


def excluded_so_far(
    order: int, refuted: list[tuple[Reduced, Refutation]], open_cases: list[Reduced], budget: Budget
) -> str:
    """What an `unknown` rules out."""
    parts = [f"∞ cannot carry {case.absorbed}: {describe(case, order, found)}" for case, found in refuted]
    for case in open_cases:
        lead = "" if case.absorbed is None else f"with constant {case.absorbed} absorbed, "
        (rows, columns), total = case.cells.shape, int(case.fibre_bounds.sum())
        parts.append(
            f"{lead}{rows} distinct rows, {columns} distinct columns and {total} needed preimages "
            f"fit into {order} elements; no witness and no refutation within {budget.used} search steps"
        )
    return "; ".join(parts)
