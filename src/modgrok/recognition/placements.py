"""Any g1, g2 and h: places on a circle read off phases, and moved line by line until no move makes more cells right.

It is the search of `separable.procedures` for witnesses, which wants every cell to be right, as a search for the
placement that makes most cells right.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import numpy as np
from jaxtyping import Bool, Int

from modgrok.recognition.formulas import Fit, Table, fibres, reached
from modgrok.separable.procedures.climbing import Board
from modgrok.separable.procedures.phases import phases, places
from modgrok.separable.reductions.groups import as_group
from modgrok.separable.verdict import Witness

STARTS = 8
"""Of the power iteration."""
LARGEST_MODULUS = 128
CONSTANT_LINE = 0.8
"""A line is one of an absorbing zero if so many of its answers are the commonest of the table's."""


def any_placement(answers: Table) -> Iterator[Fit]:
    """h(g1 + g2) over Z_m, and over Z_(m-1) with a zero that absorbs, as in a field of m elements."""
    m = len(answers)
    if answers.ndim != 2 or not 4 < m <= LARGEST_MODULUS:
        return
    every = np.ones(m, bool)
    yield placed(answers, m, every, every, None)
    value = int(np.bincount(answers.ravel()).argmax())
    rows, columns = ((answers == value).mean(axis=axis) < CONSTANT_LINE for axis in (1, 0))
    if rows.any() and columns.any() and not (rows.all() and columns.all()):
        yield placed(answers, m - 1, rows, columns, value)


def placed(
    answers: Table, order: int, rows: Bool[np.ndarray, "p"], columns: Bool[np.ndarray, "p"], absorbed: int | None
) -> Fit:
    """The best placement of the lines that have places in Z_order; all others hold the answer `absorbed`."""
    cells, p = answers[np.ix_(rows, columns)], len(answers)
    board, best, found = Board(cells, as_group(order)), -1, None
    for first, second in phases(cells, np.random.default_rng(0), STARTS):
        x, y, right = board.ascend(places(first, order), places(second, order))
        if right.max() > best:
            k = int(right.argmax())
            best, found = int(right[k]), (x[k], y[k])
    assert found is not None
    sums = np.add.outer(*found) % order
    h = fibres(cells, sums, order)
    table = np.full(answers.shape, 0 if absorbed is None else absorbed)
    table[np.ix_(rows, columns)] = h[sums]
    g = tuple(lifted(place, chosen) for place, chosen in zip(found, (rows, columns), strict=True))
    formulas = 2 * p * log(order + 1) + (order + 1) * log(p)
    name = "any sum of places" if absorbed is None else "any product of places"
    return Fit(name, formulas, table, witness=Witness(order, g, reached(h, sums), absorbed))


def lifted(place: Int[np.ndarray, "line"], chosen: Bool[np.ndarray, "p"]) -> tuple[int | None, ...]:
    """Places of all lines, None for those that have none."""
    number = np.cumsum(chosen) - 1
    return tuple(int(place[number[k]]) if each else None for k, each in enumerate(chosen))
