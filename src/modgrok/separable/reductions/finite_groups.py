"""Is f(a, b) = h(g1(a) · g2(b)) over any finite group?

Every table is, over a group that is large enough: every cell gets an element of its own. So the question is about
groups that are no larger than the table, with at most as many elements as it has rows, columns or values, whichever are
most. Three things are known of them:

  counting     lines that differ need different elements, and cells of one line different products
  quadrangles  where the table has as many values as the group may have elements, h is one-to-one (`quadrangles`)
  symmetries   where g1 and g2 are onto, symmetries take every line to every other (`transitive`)

Tables whose rows and columns are permutations are decided. Others are found where g1 and g2 are onto, and refuted by
counting, or where they have as many rows and columns as the group may have elements. What is left is unknown.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from modgrok.algebra.group_names import abelian_moduli, abelian_name, named_form, nameless
from modgrok.separable.budget import Budget, LimitReached
from modgrok.separable.decision import EFFORT, check_table, steps_of
from modgrok.separable.procedures.obstructions import combine, counting
from modgrok.separable.procedures.quadrangles import Placed, group_behind, is_latin
from modgrok.separable.procedures.transitive import group_of_symmetries
from modgrok.separable.reductions.groups import Group
from modgrok.separable.reductions.reduction import Reduced, reduce_table
from modgrok.separable.verdict import Refutation, Verdict, Witness

LARGEST_LATIN = 1000
"""Order of the largest group that is looked for."""


def decide_group(table: Int[np.ndarray, "p q"], *, effort: float = EFFORT) -> Verdict:
    """The verdict on h(g1 · g2) over some group with no more elements than the table has rows, columns or values.

    Arguments:
        table: whole numbers, a row for each a and a column for each b; those below 0 are unknown.
        effort: how hard to try, in steps of search.

    Returns:
        A `Verdict`: its witness has the group's multiplication table, and its name where it has one.
    """
    table, budget = check_table(table), Budget(steps_of(effort))
    most = max(*table.shape, len(np.unique(table[table >= 0])))  # as many elements as rows, columns or values
    if (table < 0).any():
        return unknown(most, "groups are looked for in tables without unknown cells alone", budget)
    reduced = reduce_table(table)
    try:
        found, procedure = placed(reduced, most, budget)
    except LimitReached:
        return unknown(most, f"no witness and no refutation within {budget.used:,} steps of search", budget)
    if isinstance(found, Placed):
        witness = named_witness(reduced, found)
        return Verdict(
            "in-class", witness.group_order, False, witness, steps=budget.used, any_group=True, decided_by=procedure
        )
    if isinstance(found, str):
        return unknown(most, found, budget)
    obstruction = combine(Group((most,)), [(reduced, found)])
    return Verdict(
        "not-in-class", most, False, obstruction=obstruction, steps=budget.used, up_to=True, any_group=True,
        decided_by=obstruction.kind,
    )  # fmt: skip


def latin_verdict(table: Int[np.ndarray, "p ..."]) -> Verdict | None:
    """The verdict on a table whose rows and columns are permutations, which needs no search; None for others."""
    square = table.ndim == 2 and table.shape[0] == table.shape[1] and (table >= 0).all()
    if not square or len(np.unique(table[0])) < len(table) or not is_latin(reduce_table(table)):
        return None
    return decide_group(table)


def as_sums(verdict: Verdict) -> Verdict | None:
    """A verdict over an abelian group that is not cyclic, told as sums over a product of cyclic ones."""
    witness = verdict.witness
    if witness is None or not witness.commutes:
        return None
    moduli = abelian_moduli(nameless(np.array(witness.products)))
    if len(moduli) < 2 or witness.group_name != abelian_name(moduli):
        return None
    sums = replace(witness, moduli=moduli, products=(), group_name=None)
    return replace(verdict, witness=sums, moduli=moduli, any_group=False)


def unknown(most: int, why: str, budget: Budget) -> Verdict:
    return Verdict("unknown", most, False, excluded=why, steps=budget.used, up_to=True, any_group=True)


def placed(reduced: Reduced, most: int, budget: Budget) -> tuple[Placed | Refutation | str, str]:
    """A placement and who found it, a refutation, or why nothing is known."""
    if (refuted := counting(reduced, most)) is not None:
        return refuted, ""
    if most > LARGEST_LATIN:
        return f"groups of up to {LARGEST_LATIN:,} elements are looked for", ""
    if is_latin(reduced):
        behind = group_behind(reduced.cells)
        if isinstance(behind, Placed) or len(reduced.values) == most:
            return behind, "isotope"
        return f"equal lines leave room for groups of order {len(reduced.values) + 1} to {most}", ""
    found = group_of_symmetries(reduced.cells, budget)
    if isinstance(found, Placed):
        return found, "symmetries"
    if found is None:
        return "the table has more symmetries than are looked through", ""
    if reduced.shape == (most, most):
        return found, ""
    return "no symmetry exchanges all rows and columns, so g1 or g2 would leave elements out", ""


def named_witness(reduced: Reduced, found: Placed) -> Witness:
    """The witness on the whole table; a group with a name gets the numbers that its elements have under that name."""
    known = named_form(nameless(found.products))
    elements = np.arange(len(found.products)) if known is None else known.elements
    number = np.argsort(elements)
    products = number[found.products[np.ix_(elements, elements)]]
    return Witness(
        len(products),
        tuple(
            tuple(number[places][line].tolist())
            for places, line in zip(found.g, (reduced.row_line, reduced.column_line), strict=True)
        ),
        tuple(reduced.values[found.h[elements]].tolist()),
        products=tuple(map(tuple, products.tolist())),
        group_name=None if known is None else known.name,
    )
