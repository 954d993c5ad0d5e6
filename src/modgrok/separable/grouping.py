"""More than two variables: f(n1, …, nS) = h(g1(n1) + … + gS(nS)), through tables of one variable against the others.

If f is in the class, so is the table of n_s against all other variables together, for each s: its column function is
the sum of the others' g. So one such table outside the class refutes f. If a table is in the class, its witness
may or may not have a column function that is itself a sum; if it has, that is a witness for f. Otherwise the
answer is `unknown`: another witness of the table could have been a sum.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from modgrok.separable.checkers import check_witness
from modgrok.separable.decision import TIME_LIMIT, decide
from modgrok.separable.verdict import Verdict, Witness


def decide_grouped(
    table: Int[np.ndarray, "p ..."], group_order: int, absorbing: bool, *, time_limit: float = TIME_LIMIT
) -> Verdict:
    """The verdict for a table with one axis for each of S >= 2 variables; the time limit holds for each grouping."""
    if table.ndim == 2:
        return decide(table, group_order, absorbing, time_limit=time_limit)
    notes, nodes = [], 0
    for axis in range(table.ndim):
        against = one_against_rest(table, axis)
        verdict = decide(against, group_order, absorbing, time_limit=time_limit)
        nodes += verdict.nodes
        lead = f"variable {axis + 1} (rows) against the others (columns)"
        if verdict.obstruction is not None:
            explanation = f"{lead}: {verdict.obstruction.explanation}"
            obstruction = replace(verdict.obstruction, explanation=explanation, axis=axis)
            return replace(verdict, obstruction=obstruction, nodes=nodes)
        if verdict.witness is not None:
            witness = separate(verdict.witness, table.shape, axis)
            if witness is not None and check_witness(table, witness):
                return replace(verdict, witness=witness, nodes=nodes)
        notes.append(f"{lead}: {verdict.excluded or 'in the class, but its columns do not separate further'}")
    return Verdict("unknown", group_order, absorbing, excluded="; ".join(notes), nodes=nodes)


def one_against_rest(table: Int[np.ndarray, "p ..."], axis: int) -> Int[np.ndarray, "p q"]:
    """The table of one variable against all others together."""
    return np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)


def separate(witness: Witness, shape: tuple[int, ...], axis: int) -> Witness | None:
    """The witness with its column function written as a sum over the other variables, if it is one."""
    rest_shape = tuple(n for k, n in enumerate(shape) if k != axis)
    columns = np.array([-1 if t is None else t for t in witness.g2]).reshape(rest_shape)
    parts = as_sum(columns, witness.group_order)
    if parts is None:
        return None
    parts.insert(axis, witness.g1)
    return replace(witness, g=tuple(parts))


def as_sum(function: Int[np.ndarray, "p ..."], order: int) -> list[tuple[int | None, ...]] | None:
    """g_1, g_2, … with function = g_1 + g_2 + … modulo `order`, where -1 stands for the absorbing element.

    ∞ must fill whole lines. Away from them, with a base point o, the only candidate (up to constants that may be moved
    between the parts) is g_s(n) = F(o with n at s) - F(o), plus F(o) once.
    """
    absorbed = function < 0
    finite = [np.flatnonzero(~absorbed.all(axis=tuple(k for k in range(function.ndim) if k != s)))
              for s in range(function.ndim)]  # fmt: skip
    if any(not len(lines) for lines in finite):
        return [(None,) * n for n in function.shape]
    inner = function[np.ix_(*finite)]
    if (inner < 0).any():
        return None
    parts: list[tuple[int | None, ...]] = []
    total = np.zeros_like(inner)
    for s, lines in enumerate(finite):
        along = inner[tuple(slice(None) if k == s else 0 for k in range(function.ndim))]
        part = along if s == 0 else (along - along[0]) % order
        total = total + part.reshape([-1 if k == s else 1 for k in range(function.ndim)])
        full: list[int | None] = [None] * function.shape[s]
        for n, t in zip(lines.tolist(), part.tolist(), strict=True):
            full[n] = t
        parts.append(tuple(full))
    return parts if (total % order == inner).all() else None
