"""More than two variables: f(n1, …, nS) = h(g1(n1) + … + gS(nS)), through tables of one variable against the others.

If f is in the class, so is the table of n_s against all other variables together, for each s: its column function is
the sum of the others' g. So one such table outside the class refutes f. If a table is in the class, its witness
may or may not have a column function that is itself a sum; if it has, that is a witness for f. Otherwise another
witness of the table could have been a sum: one is searched for (`several`), and if none is found the answer is
`unknown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from modgrok.separable.budget import Budget, LimitReached
from modgrok.separable.certificates import check_witness
from modgrok.separable.decision import EFFORT, Decision, steps_of
from modgrok.separable.procedures.several import find_several
from modgrok.separable.reductions.groups import Moduli, as_group
from modgrok.separable.reductions.reduction import spread
from modgrok.separable.verdict import Verdict, Witness


def decide_grouped(
    table: Int[np.ndarray, "p ..."], group_order: int | Moduli, absorbing: bool, *, effort: float = EFFORT
) -> Verdict:
    """The verdict for a table with one axis for each of S >= 2 variables."""
    return question(table, group_order, absorbing).within(steps_of(effort))


def question(
    table: Int[np.ndarray, "p ..."], group_order: int | Moduli, absorbing: bool, guesses: Sequence[Witness] = ()
) -> Decision | GroupedDecision:
    """The decision for a table of any number of variables, to be worked on for a while."""
    kind = Decision if np.ndim(table) == 2 else GroupedDecision
    return kind(table, group_order, absorbing, guesses)


class GroupedDecision:
    """The decision for three variables or more: one table for each variable, in turns."""

    def __init__(
        self,
        table: Int[np.ndarray, "p ..."],
        group_order: int | Moduli,
        absorbing: bool,
        guesses: Sequence[Witness] = (),
    ) -> None:
        self.table, self.group, self.absorbing = table, as_group(group_order), absorbing
        self.verdict: Verdict | None = None
        self.parts: list[Decision] = []
        self.searched = 0
        for witness in guesses:
            if check_witness(table, self.group.moduli, absorbing, witness):
                self.verdict = self._fits(witness, "expression")
                return
        for axis in range(table.ndim):
            self.parts.append(Decision(one_against_rest(table, axis), self.group.moduli, absorbing))
            if self._read(axis):
                return

    @property
    def used(self) -> int:
        return self.searched + sum(part.used for part in self.parts)

    def _read(self, axis: int) -> bool:
        """Take down what the table of one variable against the others decides."""
        verdict = self.parts[axis].verdict
        if verdict is None:
            return False
        if verdict.obstruction is not None:
            explanation = f"{lead(axis)}: {verdict.obstruction.explanation}"
            obstruction = replace(verdict.obstruction, explanation=explanation, axis=axis)
            self.verdict = replace(verdict, obstruction=obstruction, steps=self.used)
        elif verdict.witness is not None:
            witness = separate(verdict.witness, self.table.shape, axis)
            if witness is not None and check_witness(self.table, self.group.moduli, self.absorbing, witness):
                self.verdict = replace(verdict, witness=witness, steps=self.used)
        return self.verdict is not None

    def advance(self, allowance: int) -> None:
        """One procedure for the table that has used the least."""
        undecided = [axis for axis, part in enumerate(self.parts) if part.verdict is None]
        if not undecided:
            self._search(allowance)
            return
        axis = min(undecided, key=lambda axis: self.parts[axis].used)
        self.parts[axis].advance(allowance)
        self._read(axis)

    def _search(self, allowance: int) -> None:
        """Every table is in the class and none separates: look for a witness of all variables at once."""
        budget = Budget(allowance)
        with suppress(LimitReached):
            witness = find_several(self.table, self.group, self.absorbing, budget)
            if witness is not None and check_witness(self.table, self.group.moduli, self.absorbing, witness):
                self.verdict = self._fits(witness, "several")
        self.searched += budget.used
        self.verdict = self.verdict or self._unknown()

    def _fits(self, witness: Witness, procedure: str) -> Verdict:
        order, moduli = self.group.order, () if self.group.cyclic else self.group.moduli
        return Verdict("in-class", order, self.absorbing, witness=witness, moduli=moduli, decided_by=procedure)

    def within(self, steps: int) -> Verdict:
        limit = self.used + steps
        while self.verdict is None and self.used < limit:
            self.advance(limit - self.used)
        return self.verdict or self._unknown()

    def _unknown(self) -> Verdict:
        notes = [
            f"{lead(axis)}: "
            + ("in the class, but its columns do not separate further" if part.verdict else part.excluded())
            for axis, part in enumerate(self.parts)
        ]
        return Verdict("unknown", self.group.order, self.absorbing, excluded="; ".join(notes), steps=self.used)


def lead(axis: int) -> str:
    return f"variable {axis + 1} (rows) against the others (columns)"


def one_against_rest(table: Int[np.ndarray, "..."], axis: int) -> Int[np.ndarray, "line rest"]:
    """The table of one variable against all others together."""
    return np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)


def separate(witness: Witness, shape: tuple[int, ...], axis: int) -> Witness | None:
    """The witness with its column function written as a sum over the other variables, if it is one."""
    rest_shape = tuple(n for k, n in enumerate(shape) if k != axis)
    columns = np.array([-1 if t is None else t for t in witness.g2]).reshape(rest_shape)
    parts = as_sum(columns, witness.moduli or (witness.group_order,))
    if parts is None:
        return None
    parts.insert(axis, witness.g1)
    return replace(witness, g=tuple(parts))


def as_sum(function: Int[np.ndarray, "p ..."], moduli: Moduli) -> list[tuple[int | None, ...]] | None:
    """g_1, g_2, … with function = g_1 + g_2 + … in the group, where -1 stands for the absorbing element.

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
    digits = np.stack(np.unravel_index(inner, moduli))
    orders = np.array(moduli).reshape([-1] + [1] * function.ndim)
    parts: list[tuple[int | None, ...]] = []
    total = np.zeros_like(digits)
    for s, lines in enumerate(finite):
        along = digits[(slice(None), *(slice(None) if k == s else slice(0, 1) for k in range(function.ndim)))]
        origin = along[(slice(None), *(slice(0, 1),) * function.ndim)]
        part = along if s == 0 else (along - origin) % orders
        total = total + part
        parts.append(spread(function.shape[s], lines, np.ravel_multi_index(tuple(part), moduli).ravel()))
    return parts if (total % orders == digits).all() else None
