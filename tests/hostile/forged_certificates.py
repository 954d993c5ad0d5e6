"""(h) Forged certificates: every field of every kind of claim damaged in every way that its type allows.

True certificates of every kind are made by the package on small tables. Their claims are forged, the tables under
them swapped, evidence carried over from others or invented. What `check` then calls proved is held against
`placements`, which goes through all placements: a false claim that is accepted is a finding, and so are an exception
of the wrong kind, two seconds of processor time, and text of the file in what is said.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from options import called
from placements import in_class, witnessed
from tally import Tally

from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.base.results import plain
from modgrok.proofs.proof import NoProof
from modgrok.proofs.verdicts import WORK
from modgrok.separable import decide, verdict_to_json
from modgrok.separable.checking import FORMAT, CheckedClaim, check_claim, check_content
from modgrok.separable.classification import classify_table

TOTAL, BATCH = 1_000_000, 1_000
SECONDS, MEGABYTES = 2.0, 500
"""What one certificate may take."""
MARKER = "ZQ⁂MARK\x1b[31m"
"""Stands in texts of forged files; nothing that is said may hold a part of it."""
STEP = 1_000_003
"""A prime that is no divisor of the number of all damages, so that its multiples come to each of them."""
MARKS = ("ZQ", "MARK", "\x1b")
FAMILIES = ("constant", "one-variable", "additive", "multiplicative", "product-group")
VERDICTS = ("in-class", "not-in-class", "unknown")
KINDS = ("distinct-lines", "counting", "closed-trail", "no-cyclic-automorphism", "pairs", "search", "symmetry",
         "rivals", "rival-cells")  # fmt: skip
WORDS = (*FAMILIES, *VERDICTS, *KINDS, "several", "row", "column", "fibre", "scale", "complete", "more")
EXPRESSIONS: dict[str, Callable[..., int]] = {
    "n1 + n2": lambda a, b: a + b,
    "n1 n2": lambda a, b: a * b,
    "n1^2 + n1 n2": lambda a, b: a * a + a * b,
    "n1^2 + n2^2": lambda a, b: a * a + b * b,
    "(4n1 + n2^2)^3": lambda a, b: (4 * a + b * b) ** 3,
    "n1 n2 + n1 + n2": lambda a, b: a * b + a + b,
    "2 n1^2 n2 - 3": lambda a, b: 2 * a * a * b - 3,
    "n1^2": lambda a, b: a * a,
    "3": lambda a, b: 3,
    "n1 n2 + n3": lambda a, b, c: a * b + c,
    "n1 + n2 + n3": lambda a, b, c: a + b + c,
    "n1 n2 n3": lambda a, b, c: a * b * c,
}


def variables_of(text: str) -> int:
    return EXPRESSIONS[text].__code__.co_argcount


@cache
def values_of(text: str, modulus: int) -> np.ndarray:
    """The table of an expression by Python's integers."""
    axes = (range(modulus),) * variables_of(text)
    return np.array([EXPRESSIONS[text](*cell) % modulus for cell in product(*axes)], dtype=np.int64).reshape(
        (modulus,) * len(axes)
    )


# ------------------------------------------------------------------------------------------ true certificates


@dataclass(frozen=True, eq=False)
class Original:
    """A certificate that the package made, its table, and the groups that the table was planted in."""

    content: dict[str, Any]
    table: np.ndarray
    planted: frozenset[tuple[tuple[int, ...], bool]] = frozenset()


def certificate(about: dict[str, Any], variables: int, claims: list[Any]) -> dict[str, Any]:
    return {"format": FORMAT, **about, "variables": [f"n{k + 1}" for k in range(variables)], "claims": claims}


def of_table(table: np.ndarray, claims: list[Any], *planted: tuple[tuple[int, ...], bool]) -> Original:
    values = max(2, int(table.max()) + 1)
    about = {"table": table.tolist(), "values": values}
    return Original(certificate(about, table.ndim, claims), table, frozenset(planted))


def claim_for(table: np.ndarray, moduli: tuple[int, ...], absorbing: bool, effort: float = 0.05) -> dict[str, Any]:
    verdict = decide(table, moduli if len(moduli) > 1 else moduli[0], absorbing, effort=effort)
    family = "multiplicative" if absorbing else "product-group" if len(moduli) > 1 else "additive"
    return plain({"family": family, **verdict_to_json(verdict)})


@cache
def originals() -> tuple[Original, ...]:
    """True certificates of every kind of claim."""
    found = list(of_expressions())
    rng = np.random.default_rng(11)
    wanted = {"counting": 8, "distinct-lines": 8, "rival-cells": 8, "search": 16, "rivals": 8, "in-class": 24}
    while any(wanted.values()):
        table, moduli, absorbing, planted = random_question(rng)
        claim = claim_for(table, moduli, absorbing)
        if claim["verdict"] != "unknown" and (wanted.get(kind := kind_of(claim), 0) > 0):
            wanted[kind] -= 1
            group = moduli, absorbing
            others = [claim_for(table, (int(rng.integers(2, 9)),), bool(rng.integers(2)), 0.01)]
            if kind == "search" and (other := as_symmetry(table, claim)) is not None:
                others = [other]
            found.append(of_table(table, [claim, *others], *([group] if planted else [])))
    return (*found, *rare())


def kind_of(claim: Any) -> str:
    """What a true claim rests on."""
    return "in-class" if claim["verdict"] == "in-class" else str(claim["obstruction"]["kind"])


def of_expressions() -> Iterator[Original]:
    for text in EXPRESSIONS:
        for modulus in (2, 3, 5, 6, 7) if variables_of(text) == 2 else (2, 3, 4):
            function = read_function(text, modulus, at_least=2)
            claims = [
                plain({"family": found.family, **verdict_to_json(found.verdict)})
                for found in classify_table(function.table, modulus).families
            ]
            about = {"expression": text, "modulus": modulus}
            yield Original(certificate(about, variables_of(text), claims), values_of(text, modulus))


def planted_table(
    rng: np.random.Generator, shape: tuple[int, ...], moduli: tuple[int, ...], absorbing: bool, values: int
) -> np.ndarray:
    """A table that is in the class by the way in which it is made."""
    order = prod(moduli)
    h = rng.integers(0, values, order + 1)
    parts = [
        rng.permutation(order)[:size] if size <= order and rng.random() < 0.7 else rng.integers(0, order, size)
        for size in shape
    ]
    if absorbing:
        parts = [np.where(rng.random(len(part)) < 0.2, -1, part) for part in parts]
    gone, where, stride = np.zeros((), bool), np.zeros(shape, np.int64), order
    for part in parts:
        gone = np.logical_or.outer(gone, part < 0)
    for modulus in moduli:
        stride //= modulus
        digits = np.zeros((), np.int64)
        for part in parts:
            digits = np.add.outer(digits, part // stride % modulus)
        where += digits % modulus * stride
    return np.asarray(h[np.where(gone, order, where)], dtype=np.int64)


def random_question(rng: np.random.Generator) -> tuple[np.ndarray, tuple[int, ...], bool, bool]:
    """A small table, a group, and whether the table was planted in it."""
    order, values = int(rng.integers(2, 11)), int(rng.integers(2, 6))
    shape = tuple(rng.integers(2, 8, 2).tolist())
    products = ((2, 2), (2, 3), (2, 4), (3, 3), (2, 2, 2))
    product_group = rng.random() < 0.2
    moduli = products[int(rng.integers(len(products)))] if product_group else (order,)
    absorbing = not product_group and bool(rng.integers(2))
    kind = int(rng.integers(4))
    table = rng.integers(0, values, shape) if kind == 0 else planted_table(rng, shape, moduli, absorbing, values)
    for _ in range(kind - 1 if kind else 0):
        table[int(rng.integers(shape[0])), int(rng.integers(shape[1]))] = int(rng.integers(values))
    if rng.random() < 0.3:
        table = np.where(rng.random(shape) < 0.2, -1, table)
    if table.max() < 0:
        table[0, 0] = 0
    return table.astype(np.int64), moduli, absorbing, kind == 1


def rare() -> Iterator[Original]:
    """Kinds that random tables seldom have."""
    rng = np.random.default_rng(12)
    for rows, moduli, absorbing in RARE:
        table = np.array(rows, dtype=np.int64)
        yield of_table(table, [claim_for(table, moduli, absorbing)])
    for shape, moduli, absorbing in (((30, 30), (31,), False), ((16, 12), (16,), True), ((3, 3, 3), (4,), True)):
        table = planted_table(rng, shape, moduli, absorbing, 8)
        g = [[None if rng.random() < 0.1 else 0 for _ in range(size)] for size in shape]
        empty = {**{f"g{k + 1}": part for k, part in enumerate(g)}, "h": [0] * prod(moduli), "h_absorbing": 0}
        yield of_table(table, [bare_claim(moduli, absorbing, witness=empty)], (moduli, absorbing))


XOR = [[a ^ b for b in range(8)] for a in range(8)]
PERMUTATIONS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2))
RARE: tuple[tuple[list[list[int]], tuple[int, ...], bool], ...] = (
    ([row[:4] for row in XOR[:4]], (4,), False),
    (XOR, (8,), False),
    (XOR, (2, 4), False),
    (XOR, (2, 2, 2), False),
    ([[PERMUTATIONS.index(tuple(a[k] for k in b)) for b in PERMUTATIONS] for a in PERMUTATIONS], (6,), False),
    ([[0, 2, 0], [2, 0, 1], [1, 0, 0], [0, 1, 2]], (2, 2), False),
    ([[1, 0, 2, 0], [2, 3, 0, 2], [0, 3, 2, 0], [2, 1, 0, 0], [0, 0, 3, 3], [0, 2, 0, 3], [3, 0, 1, 2], [3, 2, 3, 1]],
     (2, 4), False),
    ([[0, 2, 0, 2, 0, 0], [0, 0, 0, 0, 2, 2], [0, 1, 2, 0, 2, 0], [2, 2, 0, 0, 1, 0], [2, 0, 0, 2, 2, 1],
      [1, 2, 2, 0, 0, 2], [0, 0, 2, 1, 0, 2], [2, 0, 1, 2, 0, 0]], (2, 4), False),
    ([[1, 3], [2, 0], [2, 2], [3, 1]], (5,), False),
    ([[0, 0], [0, 3], [1, 1], [1, 2], [2, 1], [3, 0]], (7,), False),
    ([[0, 0, 2, 3], [0, 3, 3, 2]], (5,), False),
    ([[1, 2], [1, 0], [2, 1], [0, -1], [-1, 0], [2, -1], [3, 0]], (4,), True),
    ([[3, 2], [3, -1], [1, 1], [3, 1], [2, 2], [1, 0], [1, -1]], (4,), True),
    ([[-1, 0, 1, 1, 1], [-1, -1, 1, 0, -1], [2, 0, 1, -1, -1]], (2,), True),
)  # fmt: skip


def as_symmetry(table: np.ndarray, claim: Any) -> Any:
    """A refutation by search as one by symmetries: the identity, often enough, and no values that it moves."""
    (absorbed, refutation_), *others = claim["obstruction"]["cases"]
    if others or refutation_["kind"] != "search" or "kept" in refutation_:
        return None
    rows, columns, values = merged(table, absorbed)
    identity = [[*range(len(rows))], [*range(len(columns))], [*range(len(values))]]
    more = refutation_ | {"kind": "symmetry", "symmetries": [identity] * (claim["group_order"] + 1), "core": []}
    obstruction = claim["obstruction"] | {"kind": "symmetry", "cases": [[absorbed, more]]}
    return claim | {"obstruction": obstruction}


def merged(table: np.ndarray, absorbed: int | None) -> tuple[list[Any], list[Any], list[int]]:
    """Rows and columns of which no two are equal, without those of one value alone, and the values in them."""
    rows = list(dict.fromkeys(map(tuple, table.tolist())))
    columns = list(dict.fromkeys(zip(*rows, strict=True)))
    rows = list(zip(*columns, strict=True))
    rows = [row for row in rows if set(row) != {absorbed}] or rows
    columns = [column for column in zip(*rows, strict=True) if set(column) != {absorbed}] or columns
    columns = [column for column in columns if len(column) == len(columns[0])]
    rows = list(zip(*columns, strict=True))
    return rows, columns, sorted({v for column in columns for v in column})


def bare_claim(moduli: tuple[int, ...], absorbing: bool, **evidence: Any) -> dict[str, Any]:
    family = "multiplicative" if absorbing else "product-group" if len(moduli) > 1 else "additive"
    verdict = "in-class" if "witness" in evidence else "not-in-class"
    group = {"moduli": list(moduli)} if len(moduli) > 1 else {}
    return {"family": family, "verdict": verdict, "group_order": prod(moduli), "absorbing": absorbing, **group,
            **evidence}  # fmt: skip


# ------------------------------------------------------------------------------------------ ways to damage a value

ANYTHING = (
    None, True, False, 0, -1, 1, 2, 7, 10**30, -(10**30), float("inf"), float("-inf"), float("nan"), 1.0, 0.5, -0.0,
    "1", "", "x", MARKER, "\x00", [], [[]], {}, [0], [None], [[0, None]], {"kind": "distinct-lines"}, [True], [-7],
    [0, 0], [7, 0], [7, -1], [1, 7], [1e999], ["\ud800"],
)  # fmt: skip


def ways(value: Any) -> list[Any]:
    """What a field is damaged to: anything at all, and what looks most like it."""
    if isinstance(value, bool) or value is None:
        return [*ANYTHING, not value, int(bool(value)), str(value).lower()]
    if isinstance(value, int):
        near = (value + 1, value - 1, -value, 2 * value, float(value), str(value), [value], value + 0.5)
        return [*ANYTHING, *near, 1 << 14, (1 << 14) + 1, 1 << 63, 3, 4, 5, 6, 8, 9]
    if isinstance(value, str):
        spelled = (value.upper(), value + " ", value.replace("c", "с"), value.replace("e", "\u200be"), value + MARKER)
        return [*ANYTHING, *spelled, *WORDS]
    if isinstance(value, list):
        return [*ANYTHING, *damaged_lists(value)]
    if isinstance(value, dict):
        dropped = [{k: v for k, v in value.items() if k != name} for name in value]
        renamed = [{f"{k} " if k == name else k: v for k, v in value.items()} for name in list(value)[:2]]
        return [*ANYTHING, *dropped, *renamed, value | {MARKER: MARKER}, [value], list(value.items())]
    return list(ANYTHING)


def damaged_lists(value: list[Any]) -> list[Any]:
    first, rest = value[:1], value[1:]
    return [
        value[:-1], rest, value + value[-1:], first + value, value[::-1], [*rest, *first], value + value, [value],
        [*value[1:2], *first, *value[2:]], [None, *rest], [*value[:-1], None], [first, *rest], [MARKER, *rest],
        [-1, *rest], [True, *rest], [1e999, *rest], [0] * len(value), first * len(value), value[: len(value) // 2],
        {"0": value}, [*value, *([[]] * 3)], dict.fromkeys(map(str, range(len(value))), 0), (value or [0]) * 40,
    ]  # fmt: skip


Path_ = tuple[Any, ...]


def paths(value: Any) -> Iterator[Path_]:
    yield ()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from ((name, *rest) for rest in paths(inner))


def at(value: Any, path: Path_) -> Any:
    for name in path:
        value = value[name]
    return value


def put(value: Any, path: Path_, other: Any) -> Any:
    """The value with another one at a path; what is not on the path is shared."""
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], other)
    return copy


class Fields:
    """The fields of a claim: paths by their shape, in which all places of a list are one."""

    def __init__(self, claim: Any) -> None:
        shapes: dict[Path_, list[Path_]] = {}
        for path in paths(claim):
            shape = tuple("*" if isinstance(name, int) else name for name in path)
            if len(known := shapes.setdefault(shape, [])) < 60:
                known.append(path)
        self.shapes = list(shapes.values())


@cache
def claims() -> list[tuple[Original, Any, Fields]]:
    """Every claim of the originals."""
    return [(one, claim, Fields(claim)) for one in originals() for claim in one.content["claims"]]


@cache
def by_shape() -> dict[tuple[int, ...], list[Original]]:
    found: dict[tuple[int, ...], list[Original]] = {}
    for one in originals():
        found.setdefault(one.table.shape, []).append(one)
    return found


# ------------------------------------------------------------------------------------------ forgeries

Forged = tuple[Original, np.ndarray, Any]
"""What it was made from, the table, and the claim about it."""


@cache
def damages() -> list[int]:
    """How many ways there are to damage the fields up to each one of all claims."""
    return list(accumulate(len(ways(at(claim, shape[0]))) for _, claim, fields in claims() for shape in fields.shapes))


@cache
def all_fields() -> list[tuple[Original, Any, list[Path_]]]:
    return [(one, claim, shape) for one, claim, fields in claims() for shape in fields.shapes]


def one_field(rng: random.Random, number: int) -> Forged:
    """Every field of every claim in every way, in an order that goes to and fro between them."""
    total = damages()[-1]
    first, number = number < total, number * STEP % total
    which = bisect_right(damages(), number)
    one, claim, shape = all_fields()[which]
    path = shape[0] if first else rng.choice(shape)
    found = ways(at(claim, path))
    return one, one.table, put(claim, path, found[(damages()[which] - number - 1) % len(found)])


def several_fields(rng: random.Random, number: int) -> Forged:
    one, claim, fields = rng.choice(claims())
    for _ in range(rng.randint(2, 4)):
        path = rng.choice(rng.choice(fields.shapes))
        with contextlib.suppress(LookupError, TypeError):
            claim = put(claim, path, rng.choice(ways(at(claim, path))))
    return one, one.table, claim


def other_group(rng: random.Random, number: int) -> Forged:
    """The evidence of one group for another, with the fields of the claim in order, or not quite."""
    one, claim, _ = rng.choice(claims())
    order = rng.choice([*range(1, 13), 16, 49, 97, 16384, 16385, 0, -1, -7])
    moduli = rng.choice([[order], [2, 2], [2, 3], [3, 2], [2, 4], [4, 2], [2, 2, 2], [7, 0], [7, -1], [1, 7], [-7],
                         [order, 1], [2, True], [2.0, 3], [], [128, 128], [7], [0], None])  # fmt: skip
    absorbing = rng.choice([True, False, claim["absorbing"]])
    changes: dict[str, Any] = rng.choice([
        {"group_order": order},
        {"moduli": moduli},
        {"moduli": moduli, "group_order": whole_product(moduli)},
        {"moduli": moduli, "group_order": whole_product(moduli), "family": "product-group", "absorbing": False},
        {"absorbing": absorbing},
        {"absorbing": absorbing, "family": "multiplicative" if absorbing else "additive"},
        {"absorbing": absorbing, "family": "multiplicative" if absorbing else "additive", "group_order": order},
        {"up_to": rng.choice([True, False, 1, None])},
        {"up_to": True, "group_order": order},
        {"family": rng.choice(FAMILIES)},
        {"family": rng.choice(FAMILIES), "group_order": order},
    ])  # fmt: skip
    forged = claim | changes
    if claim.get("witness") and rng.random() < 0.7 and isinstance(forged["group_order"], int):
        h = claim["witness"]["h"]
        size = max(0, min(200, forged["group_order"]))
        h = (h * (size // max(1, len(h)) + 1))[:size] if rng.random() < 0.5 else (h + [0] * size)[:size]
        forged["witness"] = claim["witness"] | {"h": h}
    return one, one.table, forged


def whole_product(moduli: Any) -> Any:
    with contextlib.suppress(TypeError):
        return prod(moduli)
    return 0


def transplanted(rng: random.Random, number: int) -> Forged:
    """The evidence of another claim, about the same table or another one of its shape; verdicts flipped to fit."""
    one, claim, _ = rng.choice(claims())
    donor = rng.choice(rng.choice(by_shape()[one.table.shape]).content["claims"])
    if rng.random() < 0.2:
        donor = rng.choice(claims())[1]
    kept = rng.choice(["group", "all", "none"])
    forged = dict(claim) | {k: donor.get(k) for k in ("verdict", "witness", "obstruction")}
    if kept == "none":
        forged = dict(donor)
    elif kept == "group":
        names = ("group_order", "moduli", "up_to", "absorbing", "family")
        forged = {k: v for k, v in forged.items() if k not in names} | {k: donor[k] for k in names if k in donor}
    return one, one.table, forged


def other_table(rng: random.Random, number: int) -> Forged:
    """The claim as it is, about another table: one of the same shape, one with cells changed, or one in the class."""
    one, claim, _ = rng.choice(claims())
    table, kind = one.table, rng.randrange(5)
    chance = np.random.default_rng(rng.getrandbits(40))
    if kind == 0:
        other = rng.choice(by_shape()[table.shape])
        return other, other.table, claim
    if kind == 1:
        table = table.copy()
        for _ in range(rng.randint(1, 3)):
            table[tuple(rng.randrange(size) for size in table.shape)] = rng.randrange(int(table.max()) + 1)
    elif kind == 2:
        table = np.take(table, chance.permutation(table.shape[0]), axis=0)
    elif kind == 3:
        table = np.where(chance.random(table.shape) < 0.2, -1, table)
    else:
        moduli = tuple(claim.get("moduli") or [claim["group_order"]])
        table = planted_table(chance, table.shape, moduli, claim["absorbing"], int(table.max()) + 1)
        planted = frozenset({(moduli, claim["absorbing"])})
        return Original(one.content, table, planted), table, claim
    if table.max() < 0:
        table.flat[0] = 0
    return Original(one.content, table), np.ascontiguousarray(table), claim


def invented(rng: random.Random, number: int) -> Forged:
    """A refutation made up for a table that is in the class by the way it was made, or for any other."""
    chance = np.random.default_rng(rng.getrandbits(40))
    moduli = rng.choice([(2,), (3,), (4,), (5,), (6,), (7,), (8,), (9,), (2, 2), (2, 3), (2, 4)])
    absorbing = len(moduli) == 1 and rng.random() < 0.4
    shape = tuple(rng.randint(2, 6) for _ in range(3 if rng.random() < 0.1 else 2))
    if rng.random() < 0.3:
        shape = (prod(moduli), max(2, prod(moduli) - rng.randrange(2)))
    if rng.random() < 0.15:
        shape = (shape[0], 2)
    table = planted_table(chance, shape, moduli, absorbing, rng.randint(2, 5))
    if rng.random() < 0.25:
        hidden = chance.random(shape) < 0.25
        hidden.flat[0] = False
        table = np.where(hidden, -1, table)
    order = prod(moduli)
    axis = rng.randrange(len(shape))
    flat = np.moveaxis(table, axis, 0).reshape(shape[axis], -1)
    carried: list[int | None] = [None]
    if absorbing:
        lines = [set(line[line >= 0].tolist()) for line in (*flat, *flat.T)]
        carried = sorted({v for values in lines if len(values) == 1 for v in values}) or [None]
    cases = [[value, refutation(rng, flat, value, moduli)] for value in carried]
    obstruction: dict[str, Any] = {"kind": rng.choice(KINDS), "cases": cases, "explanation": MARKER, "axis": axis}
    claim = bare_claim(moduli, absorbing, obstruction=obstruction)
    if len(moduli) == 1 and rng.random() < 0.2:
        claim["up_to"] = True
        smaller = [[k, obstruction | {"cases": [[v, refutation(rng, flat, v, (k,))] for v in carried]}]
                   for k in range(1, order)]  # fmt: skip
        obstruction["smaller"] = smaller
    made = Original({}, table, frozenset({(moduli, absorbing)}))
    return made, table, claim


def refutation(rng: random.Random, table: np.ndarray, absorbed: int | None, moduli: tuple[int, ...]) -> dict[str, Any]:
    """A refutation that has the right keys, and the best that can be said of each."""
    kept_rows, kept_columns, values = merged(table, absorbed)
    kind = rng.choice(KINDS)
    found: dict[str, Any] = {"kind": kind}
    shape = (len(kept_rows), len(kept_columns), len(values))
    if (table < 0).any():
        found["kept"] = [rng.sample(range(size), rng.randint(1, size)) for size in table.shape]
        shape = (len(found["kept"][0]), len(found["kept"][1]), len(set(table[table >= 0].tolist())))
    if kind == "counting":
        found["lines"] = [best_line(kept_rows, kept_columns, v) for v in values]
    if kind in ("closed-trail", "pairs", "rivals"):
        found["side"] = rng.choice(("row", "column"))
    if kind == "pairs":
        across = kept_columns if found["side"] == "column" else kept_rows
        names: dict[Any, int] = {}
        pairs = [[tuple(sorted(zip(a, b, strict=True))) for b in across] for a in across]
        found["colours"] = [[names.setdefault(pair, len(names)) for pair in line] for line in pairs]
        if rng.random() < 0.5:
            found["colours"] = [[min(c, rng.randint(1, 4)) for c in line] for line in found["colours"]]
        found["certificate"] = refutation(rng, np.array(found["colours"]), None, moduli)
    if kind == "symmetry":
        moved = [[rng.sample(range(size), size) if rng.random() < 0.2 else list(range(size)) for size in shape]
                 for _ in range(rng.randint(0, 3))]  # fmt: skip
        found |= {"symmetries": moved, "core": rng.sample(range(shape[2]), rng.randint(0, min(2, shape[2])))}
    if kind in ("search", "symmetry"):
        transposed = rng.random() < 0.5
        sides = (shape[1], shape[0]) if transposed else shape[:2]
        found |= {"transposed": transposed, "tree": tree(rng, (*sides, shape[2]), prod(moduli))}
    if kind == "rivals":
        found.setdefault("kept", [list(range(shape[0])), list(range(shape[1]))])
        size = shape[0] if found["side"] == "row" else shape[1]
        found["clique"] = rng.choice([list(range(size)), [rng.randrange(size) for _ in range(prod(moduli) + 1)]])
    if kind == "rival-cells":
        found.setdefault("kept", [list(range(shape[0])), list(range(shape[1]))])
        found["cliques"] = [["row", rng.randrange(shape[0]), rng.choice([[], list(range(shape[1])), [0] * 9])]
                            for _ in range(shape[2])]  # fmt: skip
    return found


def best_line(rows: list[Any], columns: list[Any], value: int) -> list[Any]:
    lines = [("row", k, row) for k, row in enumerate(rows)] + [("column", k, line) for k, line in enumerate(columns)]
    side, number, _ = max(lines, key=lambda line: line[2].count(value))
    return [side, number]


def tree(rng: random.Random, sizes: tuple[int, int, int], order: int) -> dict[str, Any]:
    """A case distinction whose children are shared, so that few nodes stand for many."""
    length = rng.randint(1, 5)
    nodes: list[Any] = []
    for number in range(length):
        kind = "scale" if not number else rng.choice(("row", "column", "fibre"))
        k = rng.randrange(max(1, sizes[{"scale": 0, "row": 0, "column": 1, "fibre": 2}[kind]]))
        child = None if number + 1 == length else number + 1
        options: list[Any] = ["complete", "more"] if kind == "fibre" else list(range(order))
        chosen = options if rng.random() < 0.8 else options[: rng.randrange(len(options) + 1)]
        nodes.append([[kind, k], [[option, child if rng.random() < 0.9 else None] for option in chosen]])
    return {"origin": [rng.randrange(max(1, sizes[0])), rng.randrange(max(1, sizes[1]))], "nodes": nodes}


@cache
def with_trees() -> list[tuple[Original, Any, list[Path_]]]:
    found = [(one, claim, [path for path in paths(claim) if path[-1:] == ("nodes",)]) for one, claim, _ in claims()]
    return [(one, claim, places) for one, claim, places in found if places]


def other_tree(rng: random.Random, number: int) -> Forged:
    """A true tree with options dropped, children shared, moved or taken away, its origin or its branches changed."""
    one, claim, places = rng.choice(with_trees())
    place = rng.choice(places)
    nodes = [[list(branch), [list(pair) for pair in options]] for branch, options in at(claim, place)]
    for _ in range(rng.randint(1, 3)):
        which = rng.randrange(len(nodes))
        branch, options = nodes[which]
        kind = rng.randrange(8)
        if kind == 0 and options:
            del options[rng.randrange(len(options))]
        elif kind == 1 and options:
            rng.choice(options)[1] = None
        elif kind == 2 and options:
            rng.choice(options)[1] = rng.randint(0, len(nodes))
        elif kind == 3:
            branch[0] = rng.choice(("scale", "row", "column", "fibre", MARKER))
        elif kind == 4:
            branch[1] = rng.randint(-1, 7)
        elif kind == 5 and len(nodes) > 1:
            del nodes[rng.randrange(1, len(nodes))]
        elif kind == 6:
            nodes.append([list(branch), [[option, None] for option, _ in options]])
        elif kind == 7 and options:
            rng.choice(options)[0] = rng.choice([0, 1, 2, 3, 10**30, "complete", "more", -1])
    claim = put(claim, place, nodes)
    if rng.random() < 0.3:
        claim = put(claim, (*place[:-1], "origin"), [rng.randint(-1, 6), rng.randint(-1, 6)])
    if rng.random() < 0.3:
        flag = (*place[:-2], "transposed")
        claim = put(claim, flag, not at(claim, flag))
    if rng.random() < 0.5:
        return one, one.table, claim
    moduli = tuple(claim.get("moduli") or [claim["group_order"]])
    chance = np.random.default_rng(rng.getrandbits(40))
    table = planted_table(chance, one.table.shape, moduli, claim["absorbing"], max(1, int(one.table.max()) + 1))
    if (one.table < 0).any():
        table = np.where(one.table < 0, -1, table)
        if table.max() < 0:
            return one, one.table, claim
    return Original({}, table, frozenset({(moduli, claim["absorbing"])})), table, claim


@cache
def with_cases() -> list[tuple[Original, Any]]:
    return [(one, claim) for one, claim, _ in claims() if claim.get("obstruction")]


def other_cases(rng: random.Random, number: int) -> Forged:
    """Cases dropped, doubled, in another order or of other values; another axis; smaller orders left out."""
    one, claim = rng.choice(with_cases())
    obstruction = dict(claim["obstruction"])
    cases, smaller = list(obstruction["cases"]), list(obstruction.get("smaller") or [])
    kind = rng.randrange(8)
    if kind == 0:
        del cases[rng.randrange(len(cases))]
    elif kind == 1:
        cases.append(rng.choice(cases))
    elif kind == 2:
        cases.reverse()
    elif kind == 3:
        which = rng.randrange(len(cases))
        cases[which] = [rng.choice([None, 0, 1, 2, 3, -1, True, 1.0, [], {}, 10**30]), cases[which][1]]
    elif kind == 4:
        obstruction["axis"] = rng.choice([0, 1, 2, -1, True, 10**30, float("inf"), None, "0"])
    elif kind == 5:
        smaller = smaller[: rng.randrange(len(smaller) + 1)]
    elif kind == 6:
        smaller = [[k, obstruction] for k in range(rng.randrange(9))]
    else:
        claim = claim | {"up_to": True}
    changed = obstruction | {"cases": cases, "smaller": smaller}
    return one, one.table, claim | {"obstruction": changed}


CLAIMS: dict[str, tuple[int, Callable[[random.Random, int], Forged]]] = {
    "one field": (450, one_field),
    "several fields": (90, several_fields),
    "another group": (90, other_group),
    "evidence of another claim": (90, transplanted),
    "another table": (86, other_table),
    "invented refutation": (90, invented),
    "another tree": (60, other_tree),
    "cases and axis": (20, other_cases),
}
"""Kinds of forged claims, and how many of each are in a batch."""


# ------------------------------------------------------------------------------------------ trials


def run_batch(number: int) -> Tally:
    """A thousand forgeries that follow from the number of the batch alone."""
    tally, rng = Tally(), random.Random(f"forged {number}")
    with tally.weighed(MEGABYTES):
        try_all(tally, number, rng)
    return tally


def try_all(tally: Tally, number: int, rng: random.Random) -> None:
    for category, (count, forge) in CLAIMS.items():
        for k in range(number * count, (number + 1) * count):
            one, table, claim = forge(rng, k)
            tally.trial(category, *judged_claim(one, table, claim))
    for _ in range(20):
        one, content = forged_content(rng)
        tally.trial("whole file", *judged_content(one, content))
    for _ in range(3):
        tally.trial("command line", *on_command_line(rng))
    if number % 4 == 0:
        name = list(LARGE)[number // 4 % len(LARGE)]
        tally.trial(f"large: {name}", *judged_large(name, apart=number // 4 % 5 == 0))
    else:
        one, content = forged_content(rng)
        tally.trial("whole file", *judged_content(one, content))


def judged_claim(one: Original, table: np.ndarray, claim: Any) -> list[str]:
    """What is wrong with the answer about a forged claim."""
    began = time.process_time()
    try:
        found = check_claim(table, claim, WORK)
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]}: {shown(table, claim)}"]
    seconds = time.process_time() - began
    problems = [f"{seconds:.1f} s: {shown(table, claim)}"] if seconds > SECONDS else []
    return problems + said(found, claim, table) + wrongly_accepted(one, table, claim, found)


def wrongly_accepted(one: Original, table: np.ndarray, claim: Any, found: CheckedClaim) -> list[str]:
    if found.outcome != "proved":
        return []
    true = truth(one, table, claim)
    return [] if true else [f"{'accepted and false' if true is False else 'truth unknown'}: {shown(table, claim)}"]


def said(found: CheckedClaim, claim: Any, table: np.ndarray) -> list[str]:
    """Words of the answer that come from the file, or do not name what is claimed."""
    text = " ".join((found.family, found.verdict, found.group, found.outcome, found.reason))
    if any(mark in text for mark in MARKS) or "\n" in text:
        return [f"it repeats {text!r}"]
    if found.outcome != "proved":
        return []
    moduli = claim.get("moduli") or [claim["group_order"]]
    group = " × ".join(f"Z_{m}" for m in moduli) + " with an absorbing element" * claim["absorbing"]
    named = ("any group up to " if claim.get("up_to") else "") + group
    if (found.family, found.verdict, found.group) != (claim["family"], claim["verdict"], named):
        return [f"it says {text!r}: {shown(table, claim)}"]
    return []


def truth(one: Original, table: np.ndarray, claim: Any) -> bool | None:
    """Whether a claim is true, by other means than the package's; None where these do not reach."""
    moduli, absorbing = tuple(claim.get("moduli") or [claim["group_order"]]), claim["absorbing"]
    if not all(type(m) is int and m >= 1 for m in moduli) or prod(moduli) != claim["group_order"]:
        return False
    changing = sum(bool((table != table.take([0], axis)).any()) for axis in range(table.ndim))
    if changing > {"constant": 0, "one-variable": 1}.get(claim["family"], table.ndim):
        return False
    if (claim["family"] == "multiplicative") != absorbing or (claim["family"] == "product-group") != (len(moduli) > 1):
        return False
    if claim["verdict"] == "in-class":
        return not claim.get("up_to") and witnessed(table, moduli, absorbing, claim["witness"])
    if (moduli, absorbing) in one.planted:
        return False
    groups = [(k,) for k in range(1, moduli[0] + 1)] if claim.get("up_to") else [moduli]
    found = {in_class(table, group, absorbing) for group in groups}
    return False if True in found else None if None in found else True


def shown(table: np.ndarray, claim: Any) -> str:
    return f"{str(table.tolist())[:300]} {str(claim)[:600]!r}"


# ------------------------------------------------------------------------------------------ whole files


def forged_content(rng: random.Random) -> tuple[Original, Any]:
    """A certificate whose function is another than the one that its claims are about, or none at all."""
    one = rng.choice(originals())
    content = dict(one.content)
    while not content:
        one = rng.choice(originals())
        content = dict(one.content)
    kind = rng.randrange(7)
    if kind == 0:
        content |= {"expression": rng.choice([*EXPRESSIONS, MARKER, "n1 +", "", 7, None, "table.csv", "/dev/zero"])}
    elif kind == 1:
        content |= {"modulus": rng.choice([2, 3, 4, 5, 6, 7, 11, 0, 1, -7, True, 7.0, 10**30, float("inf"), "7", None])}
    elif kind == 2:
        content |= {"values": rng.choice([1, 2, 3, 7, 10**9, -1, True, 2.0, None, float("nan")])}
    elif kind == 3:
        names = rng.choice([[], ["n1"], ["n2", "n1"], ["n1", "n3"], ["n1", "n2", "n3"], [MARKER, "n2"], "n1",
                            ["n1"] * 2, ["n0", "n1"], ["n1", "n²"], ["n01", "n2"], [None, 1], ["n100"]])  # fmt: skip
        content["variables"] = names
    elif kind == 4 and "table" in content:
        path = rng.choice([path for path in paths(content["table"]) if path] or [()])
        content["table"] = put(content["table"], path, rng.choice(ways(at(content["table"], path))))
    elif kind == 5:
        content |= {rng.choice([MARKER, "proof", "table", "expression"]): rng.choice([MARKER, [[0, 1], [1, 0]], None])}
    else:
        content["claims"] = rng.choice([[], content["claims"] * 17, [MARKER], content["claims"][::-1], [None], [[]]])
    return one, content


def stated(content: Any) -> np.ndarray | None:
    """The table that a forged file is about, in so far as it is one at all."""
    with contextlib.suppress(Exception):
        if "table" in content:
            return np.array(content["table"], dtype=np.int64)
        table, count = values_of(content["expression"], content["modulus"]), len(content["variables"])
        used = variables_of(content["expression"])
        grown = table.reshape(table.shape + (1,) * (count - used))
        return np.broadcast_to(grown, (content["modulus"],) * count)
    return None


def judged_content(one: Original, content: Any) -> list[str]:
    began = time.process_time()
    try:
        found = check_content(content, 0.0)
    except (NoProof, InputError) as error:
        text = str(error)
        return [f"it repeats {text!r}"] if any(mark in text for mark in MARKS) else []
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]}: {str(content)[:600]!r}"]
    seconds = time.process_time() - began
    problems = [f"{seconds:.1f} s: {str(content)[:600]!r}"] if seconds > SECONDS else []
    table = stated(content)
    if table is None or table.shape != found.function.table.shape or (table != found.function.table).any():
        return [*problems, f"it is about another table than {str(content)[:600]!r} says"]
    table = np.ascontiguousarray(table)
    asked = one if np.array_equal(table, one.table) else Original({}, table)
    for claim, answer in zip(content["claims"], found.claims, strict=True):
        problems += said(answer, claim, table) + wrongly_accepted(asked, table, claim, answer)
    return problems


def on_command_line(rng: random.Random) -> list[str]:
    """A forged file given to `modgrok check`: exit code 0, 1 or 2, one line or a table, nothing of its texts."""
    one, content = forged_content(rng)
    if rng.random() < 0.7:
        one = rng.choice([one for one in originals() if one.content])
        _, _, claim = rng.choice([several_fields, other_group, transplanted, other_cases])(rng, 0)
        content = one.content | {"claims": [claim]}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "forged.json"
        path.write_text(json.dumps(content))
        return answers(path, rng.choice([[], ["--json"]]), allowed=(0, 1, 2))


def answers(path: Path, options: list[str], allowed: tuple[int, ...]) -> list[str]:
    code, out, err = called(["check", str(path), *options])
    text = out + err
    problems = [f"ends with {code}: {err[-300:]}"] if code not in allowed or "Traceback" in text else []
    problems += [f"it repeats the file: {text[:300]!r}"] if any(mark in text for mark in MARKS) else []
    if code == 2 and not out and err.count("\n") != 1:
        problems.append(f"it does not say one line: {err[-300:]!r}")
    if code == 0 and "proved" not in out:
        problems.append("it ends with 0 and does not say what is proved")
    return problems


# ------------------------------------------------------------------------------------------ large ones


def refuting(moduli: tuple[int, ...], given: Any, **more: Any) -> dict[str, Any]:
    obstruction = {"kind": "search", "cases": [[None, given]], **more}
    return bare_claim(moduli, False, obstruction=obstruction)


def random_table(shape: tuple[int, int], values: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, values, shape)


def of_large(table: np.ndarray, *claims_: Any) -> dict[str, Any]:
    return of_table(table, list(claims_)).content


def chain(sizes: tuple[int, int], order: int, length: int) -> dict[str, Any]:
    """A tree of few nodes, each the only child of the one before, that stands for order^length cases."""
    nodes = []
    for number in range(length):
        kind = "scale" if not number else ("column", "row")[number % 2]
        child = number + 1 if number + 1 < length else None
        line = (number + 1) // 2 % sizes[number % 2]
        nodes.append([[kind, max(1, line)], [[option, child] for option in range(order)]])
    return {"kind": "search", "transposed": False, "tree": {"origin": [0, 0], "nodes": nodes}}


def of_powers(exponent: str, modulus: int) -> dict[str, Any]:
    lines = refuting((7,), {"kind": "distinct-lines"})
    return certificate({"expression": f"(n1 + n2)^{exponent}", "modulus": modulus}, 2, [lines])


def colours(side: int, depth: int) -> dict[str, Any]:
    """Pairs of pairs of pairs …"""
    found: dict[str, Any] = {"kind": "distinct-lines"}
    for _ in range(depth):
        table = [[(a - b) % side for b in range(side)] for a in range(side)]
        found = {"kind": "pairs", "side": "row", "colours": table, "certificate": found}
    return found


def many_lines(modulus: int) -> dict[str, Any]:
    lines = [["row", 0]] + [["row", 1]] * (modulus - 1)
    claim = refuting((modulus,), {"kind": "counting", "lines": lines}, smaller=[]) | {"up_to": True}
    return certificate({"expression": "n1 n2", "modulus": modulus}, 2, [claim])


def witness_of_order(order: int, side: int) -> dict[str, Any]:
    places = {"g1": [order - 1] * side, "g2": [0] * side, "h": [0] * order, "h_absorbing": None}
    return bare_claim((order,), False, witness=places)


def deep(depth: int) -> dict[str, Any]:
    found: Any = 0
    for _ in range(depth):
        found = [found]
    return certificate({"table": found, "values": 2}, 2, [])


def sums(side: int) -> np.ndarray:
    return np.add.outer(np.arange(side), np.arange(side)) % side


LARGE: dict[str, Callable[[], Any]] = {
    "a tree of shared children": lambda: of_large(
        random_table((10, 10), 3), refuting((40,), chain((10, 10), 40, 12), axis=0)
    ),
    "a tree of shared children over 16384": lambda: of_large(
        random_table((10, 10), 3), refuting((16384,), chain((10, 10), 16384, 3))
    ),
    "a tree over 128 × 128": lambda: of_large(random_table((6, 6), 3), refuting((128, 128), chain((6, 6), 50, 4))),
    "a tree over 2^9": lambda: of_large(random_table((9, 9), 3), refuting((2,) * 9, chain((9, 9), 512, 4))),
    "a chain of 200,000 nodes": lambda: of_large(random_table((4, 4), 3), refuting((7,), chain((4, 4), 1, 200_000))),
    "all groups up to 1000": lambda: many_lines(1000),
    "all groups up to 1448": lambda: many_lines(1448),
    "two million cells": lambda: of_large(random_table((1448, 1448), 1448), refuting((7,), {"kind": "distinct-lines"})),
    "two million cells, unknown ones": lambda: of_large(
        random_table((1448, 1448), 1448) - 1,
        refuting((7,), {"kind": "rivals", "kept": [[*range(1448)]] * 2, "side": "row", "clique": [*range(1448)]}),
    ),
    "two million cells, sixteen claims": lambda: of_large(
        random_table((1448, 1448), 1448), *[refuting((7,), {"kind": "distinct-lines"})] * 16
    ),
    "two million values of an expression": lambda: certificate(
        {"expression": "n1 n2 + n1", "modulus": 1448}, 2, [refuting((1448,), {"kind": "distinct-lines"})] * 16
    ),
    "two million cells and a witness": lambda: of_large(np.zeros((1448, 1448), int), witness_of_order(16384, 1448)),
    "a long thin table": lambda: of_large(random_table((2, 1 << 20), 5), refuting((7,), {"kind": "distinct-lines"})),
    "symmetries of a large table": lambda: of_large(
        np.eye(60, dtype=int), refuting((60,), {"kind": "no-cyclic-automorphism"})
    ),
    "symmetries of a sum": lambda: of_large(sums(200), refuting((200,), {"kind": "no-cyclic-automorphism"})),
    "a closed trail over a large prime": lambda: of_large(
        random_table((16000, 2), 90), refuting((16381,), {"kind": "closed-trail", "side": "column"})
    ),
    "pairs of pairs": lambda: of_large(sums(60), refuting((60,), colours(60, 9))),
    "many symmetries": lambda: of_large(
        np.eye(40, dtype=int),
        refuting((80,), {
            "kind": "symmetry", "symmetries": [[[*range(40)], [*range(40)], [0, 1]]] * 2000, "core": [],
            "transposed": False, "tree": chain((40, 40), 80, 3)["tree"],
        }),
    ),
    "an exponent of 3,900 digits": lambda: of_powers("9" * 3900, 1000),
    "an exponent of 300 digits": lambda: of_powers("9" * 300, 1448),
    "a long expression": lambda: certificate(
        {"expression": "n1 n2" + " + n1 n2" * 400, "modulus": 60}, 2, [refuting((7,), {"kind": "distinct-lines"})]
    ),
    "eight variables": lambda: certificate(
        {"expression": "n1 n2 n3 n4 n5 n6 n7 n8", "modulus": 6}, 8, [refuting((7,), {"kind": "distinct-lines"}, axis=7)]
    ),
    "a deep table": lambda: deep(900),
    "a long text": lambda: of_large(sums(5), refuting((4,), {"kind": "distinct-lines"}, explanation="x" * (1 << 21))),
}  # fmt: skip
"""Files that ask for much work: within the limits each is answered, beyond them refused."""

CHILD = """
import sys, time
from tally import held_megabytes
from modgrok.base.errors import InputError
from modgrok.separable.checking import check
began = time.process_time()
try:
    said = check(sys.argv[1]).outcome
except InputError as error:
    said = str(error)
print(time.process_time() - began, held_megabytes("VmHWM"), len(said.splitlines()))
"""


def in_a_child(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own that finds this folder's modules."""
    found = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=found)


def judged_large(name: str, *, apart: bool) -> list[str]:
    """A file that asks for much: in two seconds it is refused, proved or called too much work."""
    content = LARGE[name]()
    if not apart:
        began = time.process_time()
        try:
            check_content(content, 0.0)
        except (NoProof, InputError):
            pass
        except Exception as error:
            return [f"{type(error).__name__}: {str(error)[:200]}"]
        seconds = time.process_time() - began
        return [f"took {seconds:.1f} s"] if seconds > SECONDS else []
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "forged.json"
        path.write_text(json.dumps(content))
        done = in_a_child(CHILD, str(path))
    if done.returncode or done.stderr:
        return [f"ends with {done.returncode}: {done.stderr[-300:]}"]
    seconds, megabytes, lines = map(float, done.stdout.split())
    problems = [f"took {seconds:.1f} s"] if seconds > SECONDS else []
    problems += [f"took {megabytes:.0f} MB"] if megabytes > MEGABYTES else []
    return problems + (["it does not say one line"] if lines != 1 else [])
