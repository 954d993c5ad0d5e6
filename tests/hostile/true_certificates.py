"""Certificates that are true: claims of every kind about small tables, and every way to damage a value of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from placements import permuted

from modgrok.algebra.function import read_function
from modgrok.base.results import plain
from modgrok.separable import decide, decide_group, verdict_to_json
from modgrok.separable.checking import FORMAT
from modgrok.separable.classification import classify_table

SECONDS, MEGABYTES = 2.0, 500
"""What one certificate may take."""
MARKER = "ZQ⁂MARK\x1b[31m"
"""Stands in texts of forged files; nothing that is said may hold a part of it."""
STEP = 1_000_003
"""A prime that is no divisor of the number of all damages, so that its multiples come to each of them."""
MARKS = ("ZQ", "MARK", "\x1b")
FAMILIES = ("constant", "one-variable", "additive", "multiplicative", "product-group", "group")
VERDICTS = ("in-class", "not-in-class", "unknown")
KINDS = ("distinct-lines", "counting", "closed-trail", "no-cyclic-automorphism", "pairs", "search", "symmetry",
         "rivals", "rival-cells", "quadrangle", "short-cycles", "intransitive")  # fmt: skip
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
    for table in in_groups(rng):
        yield of_table(table, [plain({"family": "group", **verdict_to_json(decide_group(table))})])
    for shape, moduli, absorbing in (((30, 30), (31,), False), ((16, 12), (16,), True), ((3, 3, 3), (4,), True)):
        table = planted_table(rng, shape, moduli, absorbing, 8)
        g = [[None if rng.random() < 0.1 else 0 for _ in range(size)] for size in shape]
        empty = {**{f"g{k + 1}": part for k, part in enumerate(g)}, "h": [0] * prod(moduli), "h_absorbing": 0}
        yield of_table(table, [bare_claim(moduli, absorbing, witness=empty)], (moduli, absorbing))


def in_groups(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Products in groups with rows, columns and values shuffled, one-to-one and not, with equal lines and without; and
    the same of Latin squares that are no group, since two rows have exchanged a cycle of values."""
    for name in ("S3", "D4", "Q8", "A4"):
        products = np.array(permuted(name))
        n = len(products)
        table = rng.permutation(n)[products[np.ix_(rng.permutation(n), rng.permutation(n))]]
        switched, column = table.copy(), 0
        while True:
            switched[[0, 1], column] = table[[1, 0], column]
            column = int(np.flatnonzero(table[0] == table[1, column])[0])
            if column == 0:
                break
        h = np.array([0, 0, 1, 2, *[3] * (n - 4)])
        yield from (table, switched, h[table], h[switched], h[table[np.ix_([*range(n), 0], [*range(n), 1, 2])]])


XOR = [[a ^ b for b in range(8)] for a in range(8)]
PERMUTATIONS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2))
RARE: tuple[tuple[list[list[int]], tuple[int, ...], bool], ...] = (
    ([row[:4] for row in XOR[:4]], (4,), False),
    (XOR, (8,), False),
    (XOR, (2, 4), False),
    (XOR, (2, 2, 2), False),
    ([[PERMUTATIONS.index(tuple(a[k] for k in b)) for b in PERMUTATIONS] for a in PERMUTATIONS], (6,), False),
    ([[(0, 0, 1, 1, 2, 3)[PERMUTATIONS.index(tuple(a[k] for k in b))] for b in PERMUTATIONS] for a in PERMUTATIONS],
     (6,), False),
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
