"""Which function a table of answers is: a formula that no table of random answers would get, or none, with what was
tried.

Families of formulas are tried from the smallest on; each puts forward the one that is right in most cells. It is
accepted if

* it is right in more cells than luck explains, however many formulas the family has (`recognition.chance`), and
* it holds where nobody told the network, since one that has only memorised a share of a table is right there and
  nowhere else. Where it is known which cells trained it (`training`), the formula must be right in more than half of
  the others. Where it is not but there are `logits`, it must be right in three quarters of all cells, and where the
  network errs it must err by little: its logit for the formula's answer is then among its highest, 15 % from the top
  in the mean, while to a network that has memorised that answer is one as any other. Of answers alone nine in ten
  must be right.

Any g1, g2 and h: places on a circle read off phases, and moved line by line until no move makes more cells right.

It is the search of `separable.procedures` for witnesses, which wants every cell to be right, as a search for the
placement that makes most cells right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import log
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from modgrok.algebra.function import Function, from_expression, from_table
from modgrok.algebra.group_names import group_name
from modgrok.algebra.trees import to_text
from modgrok.base.errors import InputError
from modgrok.base.results import Result, percent, plain_object
from modgrok.recognition.chance import cells_needed, log_chance, luckiest, weighed
from modgrok.recognition.disguise import Disguise, disguise
from modgrok.recognition.formulas import (
    Fit,
    Table,
    fibres,
    polynomials,
    powers_in_disguise,
    products,
    reached,
    small_products,
    sums,
)
from modgrok.recognition.latin import GroupFit, groups
from modgrok.separable.procedures.climbing import Board, phases, places
from modgrok.separable.procedures.quadrangles import Placed
from modgrok.separable.reductions.groups import as_group
from modgrok.separable.reductions.reduction import spread
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
    g = tuple(spread(p, np.flatnonzero(chosen), place) for place, chosen in zip(found, (rows, columns), strict=True))
    formulas = 2 * p * log(order + 1) + (order + 1) * log(p)
    name = "any sum of places" if absorbed is None else "any product of places"
    return Fit(name, formulas, table, witness=Witness(order, g, reached(h, sums), absorbed))


SHARE_OF_ALL, SHARE_WITH_LOGITS, SHARE_OF_HELD_OUT = 0.9, 0.75, 0.5
"""Of the cells in which a formula must be right: of all, if logits are known too, and of those that did not train."""
NEAR_MISS, HARDLY_ANY = 0.15, 0.02
"""Share of classes above the formula's in the mean of the wrong cells; share of wrong cells that do not count."""
FAMILIES: tuple[Callable[[Table], Iterator[Fit]], ...] = (
    *(sums, products, small_products, groups, powers_in_disguise, polynomials, any_placement),
)
"""Makers of fits, in the order in which they are asked."""
LARGEST_ANSWERS = 1 << 22
"""Cells of a table that is recognised."""


@dataclass(frozen=True)
class Tried:
    """The best formula of a family: in how many cells it is right, and from how many on that is no luck.

    `counted` are all that were counted: those of the table, or where the formula does not read an input, of the others.
    """

    family: str
    formula: str
    right: int
    needed: int | None
    counted: int
    log10_formulas: float


@dataclass(frozen=True, eq=False, repr=False)
class Recognised(Result):
    """`function` is what the answers are; None where they are no formula, and `why` says it.

    `formula` is how it is written, `family` where it was found, `group` over which group it is h(g1 · g2), `witness`
    the places g1, g2 and h where that group is cyclic, and `placed` where not. `wrong` are the numbers of the cells
    that differ. `log10_chance` bounds the probability that random answers get so good a formula of that family.
    """

    answers: Table
    function: Function | None
    why: str | None
    formula: str | None = None
    family: str | None = None
    group: str | None = None
    witness: Witness | None = None
    placed: Placed | None = None
    wrong: Int[np.ndarray, "wrong"] = field(default_factory=lambda: np.zeros(0, int))
    log10_chance: float | None = None
    tried: tuple[Tried, ...] = ()

    @property
    def share(self) -> float | None:
        """Of the cells in which the function is right."""
        return None if self.function is None else 1 - len(self.wrong) / self.answers.size

    @property
    def wrong_inputs(self) -> list[tuple[int, ...]]:
        """The inputs on which the answers differ from the function."""
        return [tuple(map(int, cell)) for cell in zip(*np.unravel_index(self.wrong, self.answers.shape), strict=True)]

    def summary(self) -> str:
        if self.function is None:
            return f"no formula: {self.why}"
        return f"{self.formula}, {percent(self.share)} of {self.answers.size:,} answers"

    def to_json(self) -> dict[str, Any]:
        names = ("formula", "family", "group", "why", "share", "log10_chance", "tried")
        wrong = None if self.function is None else self.wrong.tolist()
        return plain_object({name: getattr(self, name) for name in names} | {"wrong_rows": wrong})


def recognise(
    answers: ArrayLike,
    *,
    classes: int | None = None,
    logits: ArrayLike | None = None,
    training: ArrayLike | None = None,
) -> Recognised:
    """Which function a table of answers is, though some of them may be wrong.

    Args:
        answers: whole numbers with one axis for each variable, all of one length.
        classes: how many answers there may be; as many as rows if not given.
        logits: of every cell, in the order of the table, if they are known: they tell near misses from memorising.
        training: which cells the network was trained on, if that is known: a formula must then hold on the others.

    Returns:
        A `Recognised`: `.function` (None if there is no formula), `.formula`, `.share`, `.wrong`, `.tried`.

    >>> recognise((np.arange(7)[:, None] * 2 + 3 * np.arange(7) + 1) % 7).formula
    '2 n1 + 3 n2 + 1 mod 7'
    """
    answers = checked(answers)
    evidence = Evidence.of(answers, logits, training)
    m = len(answers)
    if len(set(answers.shape)) > 1 or answers.max() >= m or (classes or m) < m:
        return Recognised(answers, None, "rows, columns and answers differ in number, and no formula is known for that")
    if (answers == answers.flat[0]).all():
        return Recognised(answers, None, f"every answer is {answers.flat[0]}: a constant is no formula of its inputs")
    tried, doubts = list[Tried](), dict[float, str]()
    for family in FAMILIES:
        for fit in family(answers):
            named, (own, formula) = told(fit, m), weighed(answers, fit.table)
            share, right = luckiest(own), int((own == formula).sum())
            needed = cells_needed(own.size, share, fit.log_formulas)
            tried.append(Tried(fit.family, named.text, right, needed, own.size, fit.log_formulas / log(10)))
            if needed is None or right < needed:
                continue
            luck = float(log_chance(own.size, np.array([right]), share, fit.log_formulas)[0])
            if (doubt := evidence.doubt(fit.table)) is None:
                return accepted(answers, fit, named, luck, tuple(tried))
            whole = float((fit.table == answers).mean())
            doubts[luck] = f"{named.text} is right in {percent(whole, 1)} of the inputs, {doubt}"
    count = f"{len(tried)} {'family' if len(tried) == 1 else 'families'} of formulas tried"
    none = f"{count}, none right in more cells than chance explains"
    return Recognised(answers, None, doubts[min(doubts)] if doubts else none, tried=tuple(tried))


def checked(answers: object) -> Table:
    found = np.asarray(answers)
    if found.ndim == 0 or not np.issubdtype(found.dtype, np.integer) or min(found.shape) < 2 or found.min() < 0:
        raise InputError(
            f"answers must be whole numbers from 0 on, with an axis of at least 2 values for each variable, got shape "
            f"{found.shape} of {found.dtype}"
        )
    if found.size > LARGEST_ANSWERS:
        raise InputError(f"{found.size:,} answers are above the limit of {LARGEST_ANSWERS:,}")
    return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What tells a network that computes a formula from one that has memorised as many of its values."""

    answers: Table
    logits: Float[np.ndarray, "row class"] | None
    held_out: Bool[np.ndarray, "..."] | None

    @classmethod
    def of(cls, answers: Table, logits: ArrayLike | None, training: ArrayLike | None) -> Evidence:
        held_out = None if training is None else ~np.asarray(training, bool).reshape(answers.shape)
        own = None if logits is None else np.asarray(logits).reshape(answers.size, -1)
        return cls(answers, own, held_out if held_out is not None and held_out.any() else None)

    def doubt(self, formula: Table) -> str | None:
        """Why a formula that is no luck need not be what the network computes; None if there is no such reason."""
        right = formula == self.answers
        if self.held_out is not None:
            share = float(right[self.held_out].mean())
            told = f"but in {percent(share, 1)} of those that did not train: the others are memorised"
            return None if share > SHARE_OF_HELD_OUT else told
        asked = SHARE_OF_ALL if self.logits is None else SHARE_WITH_LOGITS
        if right.mean() < asked:
            return f"fewer than {percent(asked, 0)}: a network that has memorised so many is as good"
        if self.logits is None or right.mean() >= 1 - HARDLY_ANY:
            return None
        missed = self.missed_by(formula)
        told = f"but where it errs {percent(missed, 0)} of the classes are above its answer: the others are memorised"
        return None if missed <= NEAR_MISS else told

    def missed_by(self, formula: Table) -> float:
        """The share of classes whose logits are above that of the formula's answer, in the mean of the wrong cells."""
        assert self.logits is not None
        wrong = np.flatnonzero(formula.ravel() != self.answers.ravel())
        own = np.take_along_axis(self.logits[wrong], formula.ravel()[wrong, None], axis=1)
        return float((self.logits[wrong] > own).mean())


@dataclass(frozen=True)
class Told:
    """A formula in words: as an expression, if it is one, and over which group."""

    text: str
    expression: str | None
    group: str | None = None


def told(fit: Fit, m: int) -> Told:
    """How a fit is written, and over which group it is h(g1 · g2)."""
    if fit.text:
        group = None if fit.witness is None else group_of(fit.witness)
        return Told(f"{fit.text} mod {m}", fit.text, group)
    if isinstance(fit, GroupFit) and fit.witness is None and fit.placed is not None:
        name, word = group_name(fit.placed.products), word_of(fit.placed)
        text = f"{word} in {name}"
        return Told(text, None if word == DISGUISED else text, name)
    assert fit.witness is not None
    found, group = disguise(fit.witness, (1, 2), m), group_of(fit.witness)
    if found is None:
        return Told(f"h(g1(n1) + g2(n2)) over {group}", None, group)
    text = expression_of(found)
    return Told(f"{text} mod {m}", text, group)


def word_of(placed: Placed) -> str:
    """n1 n2, or the same with inverses, where elements have the numbers of rows, columns and answers."""
    inverse = np.argmax(placed.products == 0, axis=1)
    for first, second in product(("n1", "n1^-1"), ("n2", "n2^-1")):
        g = [inverse[each] if "^" in text else each for text, each in zip((first, second), placed.g, strict=True)]
        if all(np.array_equal(placed.h[each], np.arange(len(each))) for each in g):
            return f"{first} {second}"
    return DISGUISED


DISGUISED = "h(g1(n1) g2(n2))"


def group_of(witness: Witness) -> str:
    return f"Z_{witness.group_order}" + (" with an absorbing zero" if witness.absorbing else "")


def expression_of(found: Disguise) -> str:
    """h(u) with u written out: '3(2n1 + n2)^4 + 1'."""
    inner = found.inner
    if found.plain:
        return inner
    terms = []
    for (power,), c in found.outer.terms:
        factor = "" if power and c == 1 else str(c)
        terms.append(factor + (f"({inner})" + (f"^{power}" if power > 1 else "") if power else ""))
    return " + ".join(terms)


def written_function(named: Told, variables: int, m: int) -> Function | None:
    """The function that a formula is as an expression; None where it is none, or in a group that has no name."""
    try:
        return None if named.expression is None else from_expression(named.expression, m).with_variables(variables)
    except InputError:
        return None


def accepted(answers: Table, fit: Fit, named: Told, luck: float, tried: tuple[Tried, ...]) -> Recognised:
    m, formula = len(answers), named.text
    function = written_function(named, answers.ndim, m)
    if function is None:
        function = from_table(fit.table, m, formula)
    elif not np.array_equal(function.table, fit.table):  # the elements are numbered otherwise: no words, but a table
        function = from_table(fit.table, m, f"table {formula!r}")
    else:
        formula = f"{to_text(function.tree)} mod {m}" if function.tree is not None else formula
    wrong = np.flatnonzero(fit.table != answers)
    return Recognised(
        answers,
        function,
        None,
        formula,
        fit.family,
        named.group,
        fit.witness,
        fit.placed if isinstance(fit, GroupFit) and fit.witness is None else None,
        wrong,
        luck / log(10),
        tried,
    )
