"""Which groups fit a table at all, and the smallest: h(g1 + g2) over Z_m for any m, and over products.

From below: m is at least the number of distinct rows, of distinct columns, and the sum over all values of how often
each stands in one line at most. From above: every table with r distinct rows and c distinct columns fits from m = r·c
on, since a + r·b is different for every cell; then the form says nothing about the function, and such a fit is called
trivial. Between these each order is a question of its own, and fitting Z_m does not imply fitting Z_{m+1}. But a
witness over Z_m, with its elements taken as whole numbers 0 … m - 1, has sums up to some s, and h may be repeated up to
there: the table fits every order above s.

Sums over groups that are not cyclic: bitwise exclusive or, for one, is a sum over Z_2 × Z_2 × …

They are asked for where no cyclic family fits a small table. A witness is one of a cyclic group too, of a larger one:
digits that are added without a carry are the digits of whole numbers, if there is room for their sums between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, product
from math import prod

import numpy as np
from jaxtyping import Int

from modgrok.base.errors import InputError
from modgrok.base.results import Result
from modgrok.separable.decision import EFFORT, Decision, check_table, steps_of
from modgrok.separable.reductions.grouping import GroupedDecision, decide_grouped, one_against_rest, question
from modgrok.separable.reductions.groups import Group, abelian_groups
from modgrok.separable.reductions.reduction import Reduced, absorbable_values, line_classes, reductions
from modgrok.separable.verdict import Obstruction, Verdict, Witness, group_text

STEPS_OF_ORDER = 2000
"""One more order is looked at whenever the smallest had so many steps for each that is undecided."""


@dataclass(frozen=True, repr=False)
class Orders(Result):
    """The groups that fit a table, as far as they are known.

    `smallest` is the first group that fits, with its `witness`; it is the smallest of all unless some in `undecided`
    fit, or some of order `not_asked_from` or more, which this effort did not reach. No group of order below `least`
    fits, by counting. Those in `refuted` do not fit, each with a certificate among `verdicts`. Every cyclic group of
    order `every_from` or more fits, and from `trivial` on every table with as many distinct lines does.
    """

    absorbing: bool
    least: int
    smallest: Group | None
    witness: Witness | None
    refuted: tuple[Group, ...]
    undecided: tuple[Group, ...]
    not_asked_from: int | None
    every_from: int
    trivial: int
    verdicts: tuple[Verdict, ...]
    steps: int

    @property
    def says_nothing(self) -> bool:
        """Whether the smallest known group is so large that every table of this size fits it."""
        return self.smallest is None or self.smallest.order >= self.trivial

    def summary(self) -> str:
        open_ = [f"{', '.join(map(str, self.undecided[:8]))}{' …' * (len(self.undecided) > 8)}"] * bool(self.undecided)
        open_ += [f"all from order {self.not_asked_from} on"] * (self.not_asked_from is not None)
        doubt = f"; undecided: {', and '.join(open_)}" if open_ else ""
        if self.smallest is None:
            return f"no group is known to fit; none below order {self.least} does{doubt}"
        found = group_text(self.smallest.order, self.absorbing, self.smallest.moduli)
        trivial = f"; every table of this size fits from order {self.trivial} on" if self.says_nothing else ""
        return f"{found} {'fits' if open_ else 'is the smallest group that fits'}{doubt}{trivial}"

    def to_json(self) -> dict[str, object]:
        return {
            "absorbing": self.absorbing,
            "least": self.least,
            "smallest": list(self.smallest.moduli) if self.smallest else None,
            "witness": self.witness.to_json() if self.witness else None,
            "refuted": [list(group.moduli) for group in self.refuted],
            "undecided": [list(group.moduli) for group in self.undecided],
            "not_asked_from": self.not_asked_from,
            "every_from": self.every_from,
            "trivial": self.trivial,
            "steps": self.steps,
        }


def smallest_group(
    table: Int[np.ndarray, "p ..."],
    *,
    absorbing: bool = False,
    products: bool = False,
    most: int | None = None,
    effort: float = EFFORT,
) -> Orders:
    """The smallest cyclic group over which a table is h(g1 + g2 + …), and which others fit.

    Arguments:
        table: whole numbers with an axis for each variable, of any lengths; negative cells are unknown.
        absorbing: whether an element ∞ may be added to the group.
        products: whether to ask for products of cyclic groups too, Z_2 × Z_2 for example.
        most: the largest order to try; from `Orders.trivial` on every table fits.
        effort: how hard to try, in steps of search.
    """
    asked = AnyOrder(check_table(table, several=True), absorbing, products=products, most=most)
    asked.work(steps_of(effort))
    return asked.result()


class AnyOrder:
    """The question for every order at once, below the first that fits.

    Undecided orders share the steps as 1 : 1/2 : 1/3 : …, the smallest first: the least order that counting allows is
    the likeliest, and no order is left out for ever.
    """

    def __init__(
        self, table: Int[np.ndarray, "p ..."], absorbing: bool, *, products: bool = False, most: int | None = None
    ) -> None:
        self.table, self.absorbing = table, absorbing
        self.lines, self.least = bounds(table, absorbing)
        self.trivial = max(self.least, prod(self.lines))
        self.most = self.trivial if most is None else most
        if self.most < 1:
            raise InputError(f"the largest order must be at least 1, got {most}")
        orders = range(self.least, min(self.most, self.trivial) + 1)
        self.groups: Iterator[Group] = (
            g for order in orders for g in (abelian_groups(order) if products else [Group((order,))])
        )
        self.asked: list[Decision | GroupedDecision] = []
        self.exhausted = False
        self.used = 0
        self._ask()

    def _ask(self) -> None:
        """Begin with one more group."""
        group = next(self.groups, None)
        if group is None:
            self.exhausted = True
        else:
            self.asked.append(question(self.table, group.moduli, self.absorbing))
            self.used += 1 + self.asked[-1].used

    @property
    def fits(self) -> int | None:
        """The number of the first question that was answered with yes."""
        return next((k for k, asked in enumerate(self.asked) if asked.verdict and asked.verdict.in_class), None)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on "some group up to `most`", once it is known."""
        if self.fits is not None:
            return self.asked[self.fits].verdict
        if not self.exhausted or any(asked.verdict is None for asked in self.asked):
            return None
        return self._none_fits()

    def _none_fits(self) -> Verdict:
        """One refutation for all orders up to the largest: counting excludes those that were not asked."""
        refuted = [asked.verdict for asked in self.asked if asked.verdict is not None]
        if not refuted:
            last = question(self.table, self.most, self.absorbing).verdict
            if last is None or last.obstruction is None:
                return Verdict("unknown", self.most, self.absorbing, excluded="counting left this order open")
            refuted = [last]
        top = refuted[-1]
        smaller = tuple((v.group_order, v.obstruction) for v in refuted[:-1] if v.obstruction is not None)
        if top.obstruction is None or len(smaller) < len(refuted) - 1 or any(v.moduli for v in refuted):
            return Verdict("unknown", self.most, self.absorbing, excluded="not every order is refuted", steps=self.used)
        also = f"; orders from {smaller[0][0]} on are refuted one by one" if smaller else ""
        obstruction: Obstruction = replace(
            top.obstruction, smaller=smaller, explanation=top.obstruction.explanation + also
        )
        return replace(top, obstruction=obstruction, steps=self.used, up_to=True)

    def advance(self, allowance: int) -> None:
        """One procedure for the question furthest behind its share; a new one once the smallest had its turn."""
        undecided = [asked for asked in self.asked[: self.fits] if asked.verdict is None]
        had_its_turn = not undecided or undecided[0].used >= STEPS_OF_ORDER * len(undecided)
        if not self.exhausted and self.fits is None and had_its_turn:
            self._ask()
            return
        if undecided:
            least = undecided[min(range(len(undecided)), key=lambda k: (k + 1) * undecided[k].used)]
            before = least.used
            least.advance(allowance)
            self.used += least.used - before

    def work(self, steps: int) -> None:
        """Go on, also for groups below one that fits."""
        limit = self.used + steps
        while self.used < limit:
            undecided = any(asked.verdict is None for asked in self.asked[: self.fits])
            if not undecided and (self.exhausted or self.fits is not None):
                return
            self.advance(limit - self.used)

    def within(self, steps: int) -> Verdict:
        limit = self.used + steps
        while self.verdict is None and self.used < limit:
            self.advance(limit - self.used)
        return self.verdict or Verdict(
            "unknown", self.most, self.absorbing, excluded=self.excluded(), steps=self.used, up_to=True
        )

    def excluded(self) -> str:
        undecided = [str(asked.group) for asked in self.asked if asked.verdict is None]
        names = ", ".join(undecided[:6]) + (" …" if len(undecided) > 6 else "")
        below = f"no order below {self.least} fits; " if self.least > 1 else ""
        rest = "" if (order := self.not_asked_from()) is None else f", and all from order {order} on"
        return f"{below}undecided within {self.used:,} steps of search: {names}{rest}"

    def not_asked_from(self) -> int | None:
        """The order of the first group that is not trivial and that no question was begun about, where none fits."""
        if self.fits is not None or (coming := next(self.groups, None)) is None:
            return None
        self.groups = chain([coming], self.groups)
        return coming.order if coming.order < self.trivial else None

    def result(self) -> Orders:
        """What is known now; the trivial group stands in where no other is known to fit."""
        witness, smallest = None, None
        if self.fits is not None:
            smallest = self.asked[self.fits].group
            found = self.asked[self.fits].verdict
            witness = found.witness if found else None
        elif self.most >= self.trivial:
            smallest, witness = Group((self.trivial,)), trivial_witness(self.table, self.trivial)
        below = self.asked[: self.fits]
        return Orders(
            absorbing=self.absorbing,
            least=self.least,
            smallest=smallest,
            witness=witness,
            refuted=tuple(asked.group for asked in below if asked.verdict is not None),
            undecided=tuple(asked.group for asked in below if asked.verdict is None),
            not_asked_from=self.not_asked_from(),
            every_from=min(self.trivial, largest_sum(witness) + 1 if witness and not witness.moduli else self.trivial),
            trivial=self.trivial,
            verdicts=tuple(asked.verdict for asked in self.asked if asked.verdict is not None),
            steps=self.used,
        )


def bounds(table: Int[np.ndarray, "p ..."], absorbing: bool) -> tuple[tuple[int, ...], int]:
    """How many distinct lines each axis has, and the least order that counting allows."""
    lines, least = [], 1
    for axis in range(table.ndim):
        against = one_against_rest(table, axis)
        lines.append(len(line_classes(against)[0]))
        if (table >= 0).all():
            absorbed: list[int | None] = [*absorbable_values(against)] if absorbing else []
            least = max(least, min(map(least_order, reductions(against, absorbed or [None]))))
    return tuple(lines), least


def least_order(case: Reduced) -> int:
    """The least order that the counts of lines and values of one reduced table allow."""
    return max(*case.shape, int(case.fibre_bounds.sum())) if min(case.shape) else 1


def trivial_witness(table: Int[np.ndarray, "p ..."], order: int) -> Witness:
    """Every combination of distinct lines has an element of its own."""
    stride, parts, place = 1, [], np.zeros((), dtype=np.int64)
    for axis in range(table.ndim):
        sources, classes = line_classes(one_against_rest(table, axis))
        parts.append(tuple((stride * classes).tolist()))
        place = np.add.outer(place, stride * classes)
        stride *= len(sources)
    h: list[int | None] = [None] * order
    for z, v in zip(place.ravel().tolist(), table.ravel().tolist(), strict=True):
        h[z] = v if v >= 0 else h[z]
    return Witness(order, tuple(parts), tuple(h))


def largest_sum(witness: Witness) -> int:
    """The largest sum of the elements as whole numbers, each g moved down to begin at 0."""
    total = 0
    for part in witness.g:
        finite = [t for t in part if t is not None]
        total += max(finite) - min(finite) if finite else 0
    return total


LARGEST = 64
"""Lines of the longest side of a table for which groups that are not cyclic are tried."""
SHARE = 0.5
"""The share of the effort that all of them have together."""


def product_verdict(table: Int[np.ndarray, "p ..."], *, effort: float = EFFORT) -> Verdict | None:
    """The first group, not cyclic and no larger than the table's sides or values, over which it is h(g1 + g2 + …)."""
    largest = max(*table.shape, int(table.max()) + 1)
    if largest > LARGEST:
        return None
    _, least = bounds(table, False)
    groups = [group for order in range(least, largest + 1) for group in abelian_groups(order) if not group.cyclic]
    for group in groups:
        verdict = decide_grouped(table, group.moduli, False, effort=SHARE * effort / len(groups))
        if verdict.in_class:
            return verdict
    return None


def as_cyclic(witness: Witness) -> Witness:
    """The same function over a cyclic group: a witness over Z_m1 × … × Z_mk has one over Z_(m1·r2⋯rk).

    The sum of S digits of Z_m is at most S(m - 1), so that r = S(m - 1) + 1 leaves room for it: with the digits taken
    as those of a number of mixed radix, sums never carry. The first digit needs no room, it may wrap.
    """
    if not witness.moduli:
        return witness
    moduli = tuple(sorted(witness.moduli, reverse=True))
    first = sorted(range(len(moduli)), key=lambda k: -witness.moduli[k])
    group, terms = Group(witness.moduli), len(witness.g)
    radices = (moduli[0], *(terms * (m - 1) + 1 for m in moduli[1:]))
    wide = Group(radices)

    def embedded(element: int | None) -> int | None:
        if element is None:
            return None
        digits = group.coordinates(element)
        return wide.number(digits[k] for k in first)

    def value(digits: tuple[int, ...]) -> int | None:
        narrow = dict(zip(first, digits, strict=True))
        return witness.h[group.number(narrow[k] for k in range(len(moduli)))]

    h = tuple(value(digits) for digits in product(*map(range, radices)))
    g = tuple(tuple(map(embedded, part)) for part in witness.g)
    return Witness(prod(radices), g, h, witness.h_absorbing)
