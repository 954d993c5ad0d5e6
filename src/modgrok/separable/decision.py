"""The decision procedure: reductions, obstructions, then guesses and complete searches with growing budgets.

Everything that answers yes goes through a cell-by-cell check of the witness, whatever found it. Everything that
answers no carries a certificate. When the effort is spent the answer is `unknown` and says what was excluded.

A decision is a generator that pauses between its procedures, so that several questions (the values that ∞ could carry,
the families of a function) take turns: always the one that has used the least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.base.errors import InputError
from modgrok.separable.budget import STEPS_OF_EFFORT, Budget, LimitReached
from modgrok.separable.certificates import check_witness
from modgrok.separable.procedures.algebraic import guess_algebra, guess_small_powers
from modgrok.separable.procedures.climbing import Climb, guess_phases
from modgrok.separable.procedures.obstructions import combine, counting, distinct_lines, grouped
from modgrok.separable.procedures.pairs import guess_by_shift, refute_by_pairs
from modgrok.separable.procedures.quadrangles import decide_latin, is_latin
from modgrok.separable.procedures.search import Restarts, Solution
from modgrok.separable.procedures.trails import decide_two_columns
from modgrok.separable.reductions.automorphisms import decide_full, refute_by_symmetry
from modgrok.separable.reductions.groups import Group, Moduli, as_group
from modgrok.separable.reductions.partial import partial_at_once, partial_procedures, partial_table
from modgrok.separable.reductions.reduction import Reduced, Table, absorbable_values, reductions
from modgrok.separable.verdict import Refutation, Status, Verdict, Witness

EFFORT = 1.0
"""How hard a question is tried unless told otherwise: about ten seconds of one core at worst."""
LARGEST_TABLE = 1 << 24

BEGINNING = 500
"""Steps for what counting decides of a table with unknown cells before any other is asked."""
FIRST_STEPS, GROWTH = 256, 4
"""Steps of the first round of procedures, and by how much each round has more."""

Outcome = Solution | Refutation | None


def decide(
    table: Int[np.ndarray, "p q"], group_order: int | Moduli, absorbing: bool, *, effort: float = EFFORT
) -> Verdict:
    """Is f(a, b) = h(g1(a) + g2(b)) over Z_group_order, with ∞ if `absorbing`? Rows are a, columns are b.

    Negative cells are unknown: then the question is whether some function of that form agrees with the others.
    A tuple of orders asks for the product of these cyclic groups. `effort` is counted in steps of search and not in
    seconds, so the answer is the same on every machine, however busy it is.
    """
    decision = Decision(table, group_order, absorbing)
    return decision.within(steps_of(effort))


def steps_of(effort: float) -> int:
    """The number of steps of an effort."""
    if not effort > 0:
        raise InputError(f"the effort must be above 0, got {effort}; 1 is the default, 10 tries ten times as hard")
    return int(min(effort * STEPS_OF_EFFORT, 10**12)) + 1


def check_table(table: Int[np.ndarray, "p ..."], *, several: bool = False) -> Int[np.ndarray, "p ..."]:
    """The table as whole numbers, if it is one that can be decided; with `several` it may have more than two axes."""
    table, axes = np.asarray(table), "two axes or more" if several else "two axes"
    if table.ndim < 2 or (table.ndim > 2 and not several) or not table.size or table.dtype.kind not in "iu":
        raise InputError(f"a value table has {axes} of whole numbers, got shape {table.shape} of {table.dtype}")
    if table.size > LARGEST_TABLE:
        raise InputError(
            f"a value table may have at most {LARGEST_TABLE} cells, got {table.size}; use a smaller modulus"
        )
    return table.astype(np.int64)


class Decision:
    """A question that can be worked on for a while, and further later."""

    def __init__(
        self,
        table: Int[np.ndarray, "p q"],
        group_order: int | Moduli,
        absorbing: bool,
        guesses: Sequence[Witness] = (),
    ) -> None:
        self.table, self.group, self.absorbing = check_table(table), as_group(group_order), absorbing
        self.partial = bool((self.table < 0).any())
        self.budget = Budget(0)
        self.verdict: Verdict | None = None
        self.refuted: list[tuple[Reduced, Refutation]] = []
        self.open: list[Case] = []
        self.pending: list[int | None] = []
        self._begin(guesses)

    def _begin(self, guesses: Sequence[Witness]) -> None:
        """What needs no search: witnesses that were handed in, trivial solutions, and refutations by counting."""
        for witness in guesses:
            if check_witness(self.table, self.group.moduli, self.absorbing, witness):
                self.verdict = self._answer("in-class", witness=witness, decided_by="expression")
                return
        absorbed: list[int | None] = [*absorbable_values(self.table)] if self.absorbing else []
        if self.partial:
            if (found := self._without_unknown_lines()) is not None:
                self.verdict = found
                return
            self.pending = absorbed or [None]
            self.budget.limit = BEGINNING
            self._prepare()
            return
        for reduced in reductions(self.table, absorbed or [None]):
            if self._take(reduced, at_once(reduced, self.group)):
                return
        self._conclude()

    def _without_unknown_lines(self) -> Verdict | None:
        """A witness of what is left without the lines of which nothing is known, as of n1/n2 without n2 = 0, if all of
        that is known; such lines may be anything, and are ∞ where that is used."""
        known = self.table >= 0
        rows, columns = (np.asarray(known.any(axis=axis)) for axis in (1, 0))
        rest = self.table[np.ix_(rows, columns)]
        if rest.shape == self.table.shape or not rest.size or (rest < 0).any():
            return None
        inner = Decision(rest, self.group.moduli, self.absorbing).within(BEGINNING)
        if inner.witness is None:
            return None
        anything = None if inner.witness.h_absorbing is not None else 0
        g = []
        for part, there in zip(inner.witness.g, (rows, columns), strict=True):
            places = iter(part)
            g.append(tuple(next(places) if here else anything for here in there.tolist()))
        witness = replace(inner.witness, g=tuple(g))
        if not check_witness(self.table, self.group.moduli, self.absorbing, witness):
            raise AssertionError("a witness failed its check; the search that found it is wrong")
        return self._answer("in-class", witness=witness, decided_by=inner.decided_by)

    def _prepare(self) -> None:
        """What counting rivals decides of the next values of ∞, as far as the budget goes."""
        table = partial_table(self.table.tobytes(), (len(self.table), self.table.shape[1]))
        with suppress(LimitReached):
            while self.pending:
                case = table.prepared(self.pending[0], self.budget)
                self.pending = self.pending[1:]
                if self._take(case.reduced, partial_at_once(case, self.group)):
                    return
        self._conclude()

    def _take(self, reduced: Reduced, result: Outcome) -> bool:
        """A case that is decided, or one more to search in; whether it ends the decision."""
        if result is not None:
            return self._settle(reduced, result, "small-table")
        self.open.append(Case(reduced, self.group, self.absorbing, self.table))
        return False

    def _settle(self, reduced: Reduced, result: Solution | Refutation, procedure: str) -> bool:
        """Take a result of a procedure down; whether it ends the decision."""
        if not isinstance(result, Solution):
            self.refuted.append((reduced, result))
            return False
        witness = lift(reduced, result, self.group)
        if not check_witness(self.table, self.group.moduli, self.absorbing, witness):
            raise AssertionError("a witness failed its check; the search that found it is wrong")
        self.verdict = self._answer("in-class", witness=witness, decided_by=result.found_by or procedure)
        return True

    def _conclude(self) -> None:
        if not self.open and not self.pending:
            kinds = dict.fromkeys(refutation["kind"] for _, refutation in self.refuted)
            obstruction = combine(self.group, self.refuted)
            self.verdict = self._answer("not-in-class", obstruction=obstruction, decided_by=", ".join(kinds))

    def _answer(self, status: Status, **found: Any) -> Verdict:
        moduli = () if self.group.cyclic else self.group.moduli
        return Verdict(status, self.group.order, self.absorbing, steps=self.used, moduli=moduli, **found)

    @property
    def used(self) -> int:
        return self.budget.used

    def advance(self, allowance: int) -> None:
        """One procedure for the case that has used the least, within an allowance of steps."""
        if self.pending and (not self.open or 2 * sum(case.used for case in self.open) >= self.used):
            self.budget.limit = self.used + min(allowance, max(BEGINNING, self.used))
            self._prepare()
            return
        case = min(self.open, key=lambda case: case.used)
        before = self.budget.used
        self.budget.limit = before + allowance
        procedure, result = case.advance(self.budget)
        case.used += self.budget.used - before
        if result is not None:
            self.open.remove(case)
            if not self._settle(case.reduced, result, procedure):
                self._conclude()

    def within(self, steps: int) -> Verdict:
        """The verdict, after so many more steps at most."""
        limit = self.used + steps
        while self.verdict is None and self.used < limit:
            self.advance(limit - self.used)
        return self.verdict or self._answer("unknown", excluded=self.excluded())

    def excluded(self) -> str:
        """What an `unknown` rules out."""
        parts = [f"∞ cannot carry {names}: {text}" for names, text in grouped(self.group, self.refuted)]
        open_cases = [case.reduced for case in self.open]
        for case in open_cases[:1]:
            lead = "" if case.absorbed is None else f"with constant {case.absorbed} absorbed, "
            rows, columns = case.shape
            needed = "" if self.partial else f" and {int(case.fibre_bounds.sum())} needed preimages"
            parts.append(
                f"{lead}{rows} distinct rows, {columns} distinct columns{needed} may fit into "
                f"{self.group.order} elements; no witness and no refutation within {self.used} steps of search"
            )
        if len(open_cases) > 1:
            parts.append(f"the same for {len(open_cases) - 1} other constants")
        if self.pending:
            lead = "" if open_cases else f"no witness and no refutation within {self.used} steps of search; "
            parts.append(f"{lead}{len(self.pending)} ways to use ∞ were not looked at")
        return "; ".join(parts)


def at_once(reduced: Reduced, group: Group) -> Outcome:
    """What counting and small tables decide without search."""
    rows, columns = reduced.shape
    refuted = distinct_lines(reduced, group.order)
    if refuted is not None:
        return refuted
    if min(rows, columns) <= 1:
        return Solution(np.arange(rows), np.arange(columns))
    if group.cyclic and rows * columns <= group.order:
        return Solution(np.arange(rows), rows * np.arange(columns))
    refuted = counting(reduced, group.order)
    if refuted is not None:
        return refuted
    if group.cyclic and rows == group.order and is_latin(reduced):
        return decide_latin(reduced.cells)
    return decide_two_columns(reduced.cells, group)


class Case:
    """One reduced table, and the procedures that work on it in turns."""

    def __init__(self, reduced: Reduced, group: Group, absorbing: bool, table: Table) -> None:
        self.reduced, self.group, self.absorbing, self.table = reduced, group, absorbing, table
        self.used = 0
        if (table < 0).any():
            self.procedures = partial_procedures(reduced, group, absorbing, table)
            return
        self.procedures = self._procedures()
        taller = reduced.shape[0] > reduced.shape[1]
        self.restarts = [Restarts(reduced.cells, group, reduced.fibre_bounds, flip) for flip in (taller, not taller)]
        self.climb = Climb(reduced.cells, group)
        self.random = np.random.default_rng(0)

    def advance(self, budget: Budget) -> tuple[str, Outcome]:
        """The name of the next procedure, and what it finds within its share of steps; None if that is no answer."""
        name, share, procedure = next(self.procedures)
        part = budget.part(share)
        try:
            return name, procedure(part)
        except LimitReached:
            return name, None

    def _procedures(self) -> Iterator[tuple[str, int, Callable[[Budget], Outcome]]]:
        """(name, share of steps, procedure), round after round with growing shares."""
        reduced, group = self.reduced, self.group
        cells, need = reduced.cells, reduced.fibre_bounds
        rows, columns = cells.shape
        steps = FIRST_STEPS
        room = int(need.sum()) < group.order
        while True:
            if steps in (FIRST_STEPS, FIRST_STEPS * GROWTH**3):
                yield "algebraic", 8 * steps, partial(guess_algebra, reduced, group, self.absorbing, self.table)
                guess = partial(guess_small_powers, reduced, group, self.absorbing, self.table.shape)
                yield "small-powers", steps, guess
            if group.cyclic and rows == columns == group.order:
                yield "automorphism", 4 * steps, partial(decide_full, cells)
            elif rows == group.order or columns == group.order:
                yield "shift", steps, partial(one_side_full, cells, group)
            for restarts in self.restarts:
                yield "search", steps, restarts.run
            if group.cyclic:
                yield "phases", 2 * steps, partial(guess_phases, cells, group, self.random)
            yield "climbing", (4 if room else 2) * steps, self.climb.run
            if room:
                yield "symmetry", steps, partial(refute_by_symmetry, cells, group, need)
            steps *= GROWTH


def one_side_full(cells: Table, group: Group, budget: Budget) -> Outcome:
    """When the rows (or the columns) fill the group: a guess from shifts, else a refutation from pair colours."""
    by_rows = len(cells) == group.order
    cells = cells if by_rows else np.ascontiguousarray(cells.T)
    solution = guess_by_shift(cells, group.order, budget) if group.cyclic else None
    if solution is not None:
        return solution if by_rows else Solution(solution.y, solution.x)
    refuted = refute_by_pairs(cells, group, budget)
    return None if refuted is None else refuted | {"side": "column" if by_rows else "row"}


def lift(reduced: Reduced, solution: Solution, group: Group) -> Witness:
    """The witness on the whole table from a solution on the reduced one."""
    x, y = solution.x % group.order, solution.y % group.order
    h: list[int | None] = [None] * group.order
    for z, v in zip(group.sums[np.ix_(x, y)].ravel().tolist(), reduced.cells.ravel().tolist(), strict=True):
        if v >= 0:
            h[z] = int(reduced.values[v])
    return Witness(
        group_order=group.order,
        g=(
            tuple(None if k < 0 else int(x[k]) for k in reduced.row_line),
            tuple(None if k < 0 else int(y[k]) for k in reduced.column_line),
        ),
        h=tuple(h),
        h_absorbing=reduced.absorbed,
        moduli=() if group.cyclic else group.moduli,
    )
