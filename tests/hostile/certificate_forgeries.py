"""Ways from a true claim to a forged one: single fields, several, other groups, other tables, claims made up."""

from __future__ import annotations

import contextlib
import random
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from random_words import products
from true_certificates import (
    FAMILIES,
    KINDS,
    MARKER,
    STEP,
    Original,
    Path_,
    at,
    bare_claim,
    by_shape,
    claims,
    merged,
    paths,
    planted_table,
    put,
    ways,
)

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


NAMES = ("S3", "Z6", "Z2xZ3", "D3", "Q8", "Dic2", "D4", "Z8", "Z2xZ4", "Z2^3", "A4", "Z12", "D6", "Dic3", "S3xZ2", "C6",
         "s3", "S3 ", "Sym(3)", "Z2^0", "", "<(1 2)>", MARKER, 6, None)  # fmt: skip
"""Of groups, and what is none to the kernel."""


def another_group(rng: random.Random, number: int) -> Forged:
    """A product in a finite group under another name, with its elements moved, another group of as many elements, a
    product that is not associative, or another h; or a refutation of it."""
    one, claim = rng.choice(group_claims())
    witness, order, kind = dict(claim["witness"]), claim["group_order"], rng.randrange(6)
    table = [list(row) for row in witness["products"]]
    if kind == 0 or rng.random() < 0.2:
        witness["group_name"] = rng.choice(NAMES)
    if kind == 1:
        moved = rng.sample(range(order), order)
        if rng.random() < 0.8:
            moved = [0, *(k for k in moved if k)]
        back = [moved.index(k) for k in range(order)]
        witness["products"] = [[moved[table[x][y]] for y in back] for x in back]
        witness |= {name: [moved[k] for k in witness[name]] for name in ("g1", "g2")}
        witness["h"] = [witness["h"][k] for k in back]
    elif kind == 2:
        other = rng.choice([name for name in NAMES[:15] if len(products(name)) == order])
        witness |= {"products": products(other), "group_name": rng.choice((other, witness["group_name"], None))}
    elif kind == 3:
        x, y = rng.sample(range(1, order), 2)
        row = rng.randrange(1, order)
        table[row][x], table[row][y] = table[row][y], table[row][x]
        witness["products"] = table
    elif kind == 4:
        part = rng.choice(("g1", "g2", "h"))
        changed = list(witness[part])
        changed[rng.randrange(len(changed))] = rng.choice((None, 0, 1, order - 1, order, -1, True))
        witness[part] = changed
    elif kind == 5:
        refuted = {"kind": rng.choice(KINDS), "axis": 0, "cases": [[None, refutation(rng, one.table, None, (order,))]]}
        claim = {k: v for k, v in claim.items() if k != "witness"} | {"verdict": "not-in-class", "up_to": True}
        return one, one.table, claim | {"obstruction": refuted}
    return one, one.table, claim | {"witness": witness}


@cache
def group_claims() -> list[tuple[Original, Any]]:
    return [(one, claim) for one, claim, _ in claims() if claim["family"] == "group" and claim.get("witness")]


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
    if rng.random() < 0.3:
        claim = {k: v for k, v in claim.items() if k != "moduli"} | {"family": "group", "up_to": True}
    elif len(moduli) == 1 and rng.random() < 0.2:
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
    if kind in ("closed-trail", "pairs", "rivals", "intransitive"):
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
    if kind == "intransitive":
        found["line"] = rng.randint(0, max(shape))
    if kind == "quadrangle":
        found |= quadrangle(rng, kept_rows)
    if kind == "rivals":
        found.setdefault("kept", [list(range(shape[0])), list(range(shape[1]))])
        size = shape[0] if found["side"] == "row" else shape[1]
        found["clique"] = rng.choice([list(range(size)), [rng.randrange(size) for _ in range(prod(moduli) + 1)]])
    if kind == "rival-cells":
        found.setdefault("kept", [list(range(shape[0])), list(range(shape[1]))])
        found["cliques"] = [["row", rng.randrange(shape[0]), rng.choice([[], list(range(shape[1])), [0] * 9])]
                            for _ in range(shape[2])]  # fmt: skip
    return found


def quadrangle(rng: random.Random, rows: list[Any]) -> dict[str, Any]:
    """Four rows and columns; with luck three of their cells agree, and not the fourth."""
    for _ in range(100):
        a, b = ([rng.randrange(size) for _ in range(4)] for size in (len(rows), len(rows[0])))
        first, second = ([rows[a[i]][b[j]] for i in (k, k + 1) for j in (k, k + 1)] for k in (0, 2))
        if first[:3] == second[:3] and first[3] != second[3]:
            break
    return {"rows": a, "columns": b}


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
    "several fields": (70, several_fields),
    "another group": (90, other_group),
    "another finite group": (20, another_group),
    "evidence of another claim": (90, transplanted),
    "another table": (86, other_table),
    "invented refutation": (90, invented),
    "another tree": (60, other_tree),
    "cases and axis": (20, other_cases),
}
"""Kinds of forged claims, and how many of each are in a batch."""
