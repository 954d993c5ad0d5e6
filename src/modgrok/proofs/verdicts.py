"""Whether a table is h(g1 + g2 + …) over a group: a witness held against every cell, a refutation against the table.

    f(a, b, …) = h(g1(a) + g2(b) + …)    over Z_m1 × Z_m2 × …, with an absorbing element ∞ if the claim has one
    f(a, b)    = h(g1(a) · g2(b))        over any finite group, by its table

Cells below 0 are unknown and agree with anything. A refutation of three variables or more is about the table of one of
them, `axis`, against all others together: if f is of the form, so is that table. Each refutation has one case for
each value that ∞ could carry, which must fill a line, or a single one for ∞ unused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from modgrok.base.fixed import fixed
from modgrok.proofs.claims import (
    ANY_GROUP,
    KINDS,
    LARGEST_ORDER,
    Claim,
    Malformed,
    Work,
    ignored_text,
    keyed,
    listed,
    read_claim,
    whole,
    word,
)
from modgrok.proofs.proof import _KERNEL, NoProof, VerdictProof
from modgrok.proofs.refutations import Merged, line_counts, named_kind, refutes_case, refutes_partial
from modgrok.proofs.structures import MOST_ELEMENTS, group_of_table, named_group
from modgrok.proofs.trees import Rows

WORK = 9_000_000
"""Steps that one claim may take: about a second."""
MOST_CELLS = 1 << 24


class Refuted(NoProof):
    """A claim of the right shape whose evidence does not prove it."""


def prove_verdict(table: np.ndarray, value: Any, *, subject: object = None, work: int = WORK) -> VerdictProof:
    """A proof of the claim in `value`, as JSON has it; `Refuted`, `Malformed` or `TooMuchWork` otherwise.

    `subject` is what the proof will say that it is about, beside the table.
    """
    claim = read_claim(value)
    table = fixed(table)
    if table.dtype.kind != "i" or table.ndim < 2 or not 0 < table.size <= MOST_CELLS:
        raise NoProof("a table has two axes or more of whole numbers")
    fits_family(table, claim)
    budget = Work(work)
    budget.spend(table.size // 16)
    if claim.verdict == "unknown":
        raise NoProof("nothing is claimed")
    if claim.verdict == "in-class":
        name = check_product(table, claim, budget) if claim.any_group else ""
        if not claim.any_group:
            check_witness(table, claim, claim.evidence)
        known = int((table >= 0).sum())
        reason = f"the witness gives all {known:,} {'cells' if known == table.size else 'known cells'}"
        reason += f", and its group is {name}" if name else ""
        return VerdictProof(True, reason, claim, subject, table, _made_by=_KERNEL)
    kind = check_obstruction(table, claim, claim.evidence, budget)
    return VerdictProof(False, f"{kind}, from the table", claim, subject, table, _made_by=_KERNEL)


def fits_family(table: np.ndarray, claim: Claim) -> None:
    if claim.any_group and table.ndim != 2:
        raise Malformed("products in any group are of two variables")
    most = {"constant": 0, "one-variable": 1}.get(claim.family, table.ndim)
    changing = sum(bool((table != table.take([0], axis)).any()) for axis in range(table.ndim))
    if changing > most:
        raise Refuted(f"the function depends on {changing} variables")


def check_product(table: np.ndarray, claim: Claim, work: Work) -> str:
    """The name of the group, or nothing, if its table is one of a group and h(g1 · g2) the table in every known cell.

    A group that is called by a name must have the very table that the kernel makes for it.
    """
    found = keyed(claim.evidence, "the witness", ("g1", "g2", "h", "h_absorbing", "products", "group_name"))
    order, name = claim.order, found["group_name"]
    if order > MOST_ELEMENTS or found["h_absorbing"] is not None:
        raise Malformed(f"products are in groups of up to {MOST_ELEMENTS} elements, and nothing absorbs")
    work.spend(order**3 // 16)
    lines = [listed(row, "products", order) for row in listed(found["products"], "products", order)]
    products = group_of_table(np.array([[whole(x, 0, order - 1, "products") for x in row] for row in lines]))
    g1, g2 = (
        np.array([whole(place, 0, order - 1, part) for place in listed(found[part], part, size)])
        for part, size in zip(("g1", "g2"), table.shape, strict=True)
    )
    largest = max(0, int(table.max()))
    h = np.array([-1 if v is None else whole(v, 0, largest, "h") for v in listed(found["h"], "h", order)])
    if not ((h[products[np.ix_(g1, g2)]] == table) | (table < 0)).all():
        raise Refuted("the witness does not give the table")
    if name is None:
        return ""
    if type(name) is not str or not re.fullmatch(r"[A-Za-z0-9(),^]{1,60}", name):
        raise Malformed("a group's name must be one that the kernel knows")
    work.spend(8 * order**2)
    if not np.array_equal(named_group(name), products):
        raise Refuted("the group is called by the name of another one")
    return name


def check_witness(table: np.ndarray, claim: Claim, value: Any) -> None:
    """Nothing, if h(g1 + g2 + …) is the table in every known cell; h may be null where no cell is."""
    names = [f"g{axis + 1}" for axis in range(table.ndim)]
    found = keyed(value, "the witness", (*names, "h", "h_absorbing"), ("moduli",))
    order, largest = claim.order, max(0, int(table.max()))
    places = []
    for name, size in zip(names, table.shape, strict=True):
        part = listed(found[name], name, size)
        if not claim.absorbing and None in part:
            raise Malformed("a group without an absorbing element has no null")
        places.append(np.array([-1 if place is None else whole(place, 0, order - 1, name) for place in part]))
    h = [-1 if v is None else whole(v, 0, largest, "h") for v in listed(found["h"], "h", order)]
    carried = found["h_absorbing"]
    h.append(-1 if carried is None else whole(carried, 0, largest, "h_absorbing"))
    if tuple(listed(found.get("moduli") or [], "moduli")) not in ((), claim.moduli):
        raise Malformed("the witness is about another group")
    if not gives_table(table, claim.moduli, places, np.array(h)):
        raise Refuted("the witness does not give the table")


def gives_table(table: np.ndarray, moduli: tuple[int, ...], places: Sequence[np.ndarray], h: np.ndarray) -> bool:
    """Whether h at the sum of the places is the table, in every known cell; -1 is ∞, whose value stands last in h.

    An element of a product of cyclic groups is the number i1·m2⋯ + i2·m3⋯ + …, added factor by factor.
    """
    order = stride = prod(moduli)
    gone, where = np.zeros((), dtype=bool), np.zeros(table.shape, dtype=np.int64)
    for part in places:
        gone = np.logical_or.outer(gone, part < 0)
    for modulus in moduli:
        stride //= modulus
        digit = np.zeros((), dtype=np.int64)
        for part in places:
            digit = np.add.outer(digit, part // stride % modulus)
        where += digit % modulus * stride
    return bool(((h[np.where(gone, order, where)] == table) | (table < 0)).all())


def check_obstruction(table: np.ndarray, claim: Claim, value: Any, work: Work) -> str:
    """The kind of the obstruction, if it excludes the group of the claim, and all smaller ones where it says so."""
    found = read_obstruction(value)
    axis = whole(found["axis"], 0, table.ndim - 1, "axis") if "axis" in found else 0
    against = table if table.ndim == 2 and not axis else np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
    allowed = ANY_GROUP if claim.any_group else KINDS
    excludes(against, claim.moduli, claim.absorbing, found["cases"], work, allowed)
    if claim.up_to and not claim.any_group:
        given = {}
        for pair in listed(found.get("smaller") or [], "smaller"):
            order, other = listed(pair, "an obstruction of smaller order", 2)
            given[whole(order, 1, LARGEST_ORDER, "order")] = read_obstruction(other)
        counted = least_order(against, claim.absorbing, work)
        for order in range(counted, claim.order):
            if order not in given:
                raise Refuted(f"Z_{order} is not excluded")
            excludes(against, (order,), claim.absorbing, given[order]["cases"], work)
    return str(found["kind"])


def read_obstruction(value: Any) -> Any:
    found = keyed(value, "an obstruction", ("kind", "cases"), ("explanation", "axis", "smaller"))
    word(found["kind"], (*KINDS, "several"), "kind")
    ignored_text(found.get("explanation"))
    return found


def excludes(
    table: np.ndarray, moduli: tuple[int, ...], absorbing: bool, cases: Any, work: Work, allowed: Sequence[str] = KINDS
) -> None:
    """Nothing, if there is a refutation for each value that ∞ could carry, of an allowed kind."""
    work.spend(table.size)
    rows: Rows = [tuple(row) for row in table.tolist()]
    columns: Rows = list(zip(*rows, strict=True))
    needed = constants(rows, columns) if absorbing else {None}
    given = [listed(case, "a case", 2) for case in listed(cases, "cases")]
    absorbed = [None if carried is None else whole(carried, 0, MOST_CELLS, "a carried value") for carried, _ in given]
    if set(absorbed) != needed or len(absorbed) != len(needed):
        raise Refuted("there is not one case for each value that the absorbing element could carry")
    partial = bool((table < 0).any())
    merged = Merged(rows, work)
    for carried, (_, certificate) in zip(absorbed, given, strict=True):
        named_kind(certificate, allowed)
        if partial:
            proved = refutes_partial(rows, columns, carried, moduli, certificate, work)
        else:
            proved = refutes_case(merged, carried, moduli, certificate, work)
        if not proved:
            raise Refuted("the obstruction does not prove the claim")


def constants(rows: Rows, columns: Rows) -> set[int | None]:
    """Values that fill the known cells of some line: only these can ∞ carry; None if there is none, and ∞ is unused."""
    known = [{v for v in line if v >= 0} for line in rows + columns]
    return {next(iter(values)) for values in known if len(values) == 1} or {None}


def least_order(table: np.ndarray, absorbing: bool, work: Work) -> int:
    """The least order that counting leaves open: as many elements as there are lines, and as values need preimages.

    Lines with unknown cells may share an element, so for them nothing is excluded.
    """
    if (table < 0).any():
        return 1
    work.spend(table.size)
    rows: Rows = [tuple(row) for row in table.tolist()]
    columns: Rows = list(zip(*rows, strict=True))
    merged, orders = Merged(rows, work), []
    for absorbed in constants(rows, columns) if absorbing else {None}:
        work.spend(3 * len(merged.rows) * len(merged.columns))
        counts = sum(line_counts(merged.without(absorbed, work)).values())
        orders.append(max(*merged.shape(absorbed), counts))
    return max(1, min(orders))
