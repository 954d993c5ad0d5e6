"""(f) Tables through the decision: is f(a, b) = h(g1(a) + g2(b))? Verdicts against checkers that share nothing with it.

The first tables are all of 2 × 2 and all of 3 × 3, for both families; of the others seven in eight are 4 × 4. Up to
four values the truth about every table is known: all tables of the class are listed, by going through all g1, g2 and h
(`all_in_class`). Larger tables are planted in the class, which no verdict may deny, or are such tables with some cells
changed, or random. A yes must come with a witness that gives every cell, and a no with a certificate that the separate
checker accepts (`modgrok.proofs`, which shares no code with the decision).
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from tally import Tally

from modgrok.separable import check_obstruction
from modgrok.separable.decision import decide
from modgrok.separable.verdict import Verdict

TOTAL, BATCH = 1_000_000, 1_000
ALL_OF = (2, 3)
SIZES = (4,) * 35 + (5, 6, 7, 8, 11)
LARGEST_KNOWN = 4
KINDS = (*("random",) * 7, *("changed",) * 3, "planted")
EFFORT = 0.05


def families(p: int) -> tuple[tuple[int, bool], ...]:
    """(order of the group, whether there is an absorbing element): sums, and products of a prime modulus."""
    return (p, False), (p - 1, True)


def sums_of(order: int, absorbing: bool) -> np.ndarray:
    """The addition table of the group; the last element is ∞."""
    elements = np.arange(order)
    table = np.add.outer(elements, elements) % order
    return np.pad(table, (0, int(absorbing)), constant_values=order) if absorbing else table


@cache
def all_in_class(p: int, order: int, absorbing: bool) -> np.ndarray:
    """Codes of all p × p tables h(g1 + g2) with values below p, sorted; the cells are the digits of a code.

    g1 and g2 say which cells have equal places, h gives every place any value: so the tables are all colourings of the
    partitions of the cells that some g1 and g2 make.
    """
    add = sums_of(order, absorbing)
    places = np.array(list(product(range(len(add)), repeat=p)))
    cells = np.unique(add[places[:, None, :, None], places[None, :, None, :]].reshape(-1, p * p), axis=0)
    first = np.argmax(cells[:, :, None] == cells[:, None, :], axis=2)
    weights, found = p ** np.arange(p * p), []
    for partition in np.unique(first, axis=0):
        blocks, block_of = np.unique(partition, return_inverse=True)
        colours = np.array(list(product(range(p), repeat=len(blocks))))
        found.append(colours[:, block_of] @ weights)
    return np.unique(np.concatenate(found))


def truth(table: np.ndarray, order: int, absorbing: bool) -> bool:
    p = len(table)
    code, known = int(table.reshape(-1) @ (p ** np.arange(p * p))), all_in_class(p, order, absorbing)
    place = int(np.searchsorted(known, code))
    return place < len(known) and known[place] == code


def planted(rng: np.random.Generator, p: int, order: int, absorbing: bool) -> np.ndarray:
    add = sums_of(order, absorbing)
    g1, g2 = rng.integers(len(add), size=(2, p))
    if rng.random() < 0.5 and len(add) >= p:
        g1, g2 = rng.permutation(len(add))[:p], rng.permutation(len(add))[:p]
    return rng.integers(p, size=len(add))[add[np.ix_(g1, g2)]]


def witnessed(table: np.ndarray, verdict: Verdict, order: int, absorbing: bool) -> bool:
    """Does the witness give every cell? Written out cell by cell."""
    found = verdict.witness
    if found is None or len(found.h) != order or any(len(g) != len(table) for g in found.g):
        return False
    for a, x in enumerate(found.g[0]):
        for b, y in enumerate(found.g[1]):
            if (x is None or y is None) and not absorbing:
                return False
            value = found.h_absorbing if x is None or y is None else found.h[(x + y) % order]
            if value != table[a, b]:
                return False
    return True


def problems(table: np.ndarray, order: int, absorbing: bool, *, in_class: bool | None) -> list[str]:
    what = f"{table.tolist()} over Z_{order}{' with ∞' * absorbing}"
    try:
        verdict = decide(table, order, absorbing, effort=EFFORT)
    except Exception as error:
        return [f"{what}: {type(error).__name__}: {error}"]
    if verdict.status == "unknown":
        return [f"{what}: undecided, and it has at most 16 cells"] if table.size <= 16 else []
    if in_class is not None and (verdict.status == "in-class") != in_class:
        return [f"{what}: {verdict.status}, and the truth is {in_class}"]
    if verdict.status == "in-class":
        return [] if witnessed(table, verdict, order, absorbing) else [f"{what}: its witness gives another table"]
    if verdict.obstruction is None or not check_obstruction(
        table, order, absorbing, verdict.obstruction, verdict.up_to
    ):
        return [f"{what}: its certificate is not accepted"]
    return []


def exhaustive(number: int) -> tuple[np.ndarray, int, bool] | None:
    """The table of this number in the list of all small ones, with its family; None behind its end."""
    for p in ALL_OF:
        if number < 2 * p ** (p * p):
            code, family = divmod(number, 2)
            return code // p ** np.arange(p * p).reshape(p, p) % p, *families(p)[family]
        number -= 2 * p ** (p * p)
    return None


def drawn(rng: np.random.Generator, number: int) -> tuple[str, np.ndarray, int, bool]:
    """A larger table of some kind, with its family."""
    p, kind = SIZES[number % len(SIZES)], KINDS[number % len(KINDS)]
    order, absorbing = families(p)[int(rng.integers(2))]
    table = rng.integers(p, size=(p, p)) if kind == "random" else planted(rng, p, order, absorbing)
    if kind == "changed":
        table[tuple(rng.integers(p, size=(2, rng.integers(1, 3))))] = rng.integers(p)
    return kind, table, order, absorbing


def run_batch(number: int) -> Tally:
    """A thousand tables that follow from the number of the batch alone."""
    rng, tally = np.random.default_rng([2027, number]), Tally()
    for k in range(number * BATCH, (number + 1) * BATCH):
        if (small := exhaustive(k)) is not None:
            kind, (table, order, absorbing) = "all of them", small
        else:
            kind, table, order, absorbing = drawn(rng, k)
        p = len(table)
        known = truth(table, order, absorbing) if p <= LARGEST_KNOWN else True if kind == "planted" else None
        category = f"{p} × {p}, {kind}" + ", truth known" * (p <= LARGEST_KNOWN)
        tally.trial(category, *problems(table, order, absorbing, in_class=known))
    return tally
