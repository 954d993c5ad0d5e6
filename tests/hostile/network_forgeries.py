"""Ways from a stored network to a forged one: weights, words, wires, claims, types and shapes."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from true_certificates import EXPRESSIONS, MARKER, at, paths, put, ways
from true_networks import STAMP, Stored

from modgrok.algebra.function import from_expression
from modgrok.algebra.stored_functions import structure_from
from modgrok.base.errors import InputError

Forge = Callable[[random.Random, dict[str, Any], dict[str, np.ndarray]], Stored]


def weights_of(rng: random.Random, tensors: dict[str, np.ndarray]) -> tuple[str, np.ndarray, np.random.Generator]:
    """One tensor of weights, a copy of it, and chance."""
    name = rng.choice([name for name, tensor in tensors.items() if tensor.dtype.kind == "f"])
    return name, tensors[name].copy(), np.random.default_rng(rng.getrandbits(40))


def other_weights(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """One tensor: noise, nothing, no numbers, too large or too small."""
    name, old, chance = weights_of(rng, tensors)
    kind = rng.randrange(9)
    new = {
        0: lambda: chance.normal(size=old.shape), 1: lambda: np.full(old.shape, np.nan), 2: lambda: np.zeros(old.shape),
        3: lambda: old * 1e30, 4: lambda: old * 1e-30, 5: lambda: np.full(old.shape, np.inf), 6: lambda: -old,
        7: lambda: chance.permutation(old.reshape(-1)).reshape(old.shape), 8: lambda: np.round(old, rng.randrange(4)),
    }[kind]()  # fmt: skip
    return about, tensors | {name: np.asarray(new).astype(old.dtype)}


def all_weights(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """Every tensor at once: noise of some size on all, or of no other meaning than noise."""
    chance, size = np.random.default_rng(rng.getrandbits(40)), 10.0 ** rng.uniform(-16, 1)
    kind = rng.randrange(4)

    def changed(old: np.ndarray) -> np.ndarray:
        if old.dtype.kind != "f":
            return old
        new = [old * (1 + size * chance.normal(size=old.shape)), old + size * chance.normal(size=old.shape),
               chance.normal(size=old.shape), old * 10.0 ** rng.choice([-38, -30, -20, 20, 30, 37])][kind]  # fmt: skip
        return new.astype(old.dtype)

    return about, {name: changed(tensor) for name, tensor in tensors.items()}


def one_weight(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """A single number changed by much or by little."""
    name, old, _ = weights_of(rng, tensors)
    flat = old.reshape(-1)
    place = rng.randrange(max(1, flat.size))
    if flat.size:
        step = rng.choice([-1, 1]) * 10.0 ** rng.uniform(-12, 3)
        flat[place] = rng.choice([flat[place] + step, flat[place] * (1 + step), -flat[place], 0, 1e-30, 1e30, np.nan])
    return about, tensors | {name: old}


def moved(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """Rows, columns, or the order of symbols permuted."""
    name, old, chance = weights_of(rng, tensors)
    if not old.ndim:
        return about, tensors
    axis = rng.randrange(old.ndim)
    order = chance.permutation(old.shape[axis])
    if rng.random() < 0.5 and old.shape[axis] > 1:
        order = np.arange(old.shape[axis])
        order[[0, 1]] = 1, 0
    return about, tensors | {name: np.ascontiguousarray(np.take(old, order, axis=axis))}


def scaled(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """Two layers scaled against each other, so that what lies between them is too large or too small to be held."""
    power, other = 10.0 ** rng.uniform(-25, 25), 10.0 ** rng.uniform(-30, 30)
    found = dict(tensors)
    for name, old in tensors.items():
        if name.endswith("embed"):
            found[name] = cast(old.astype(float) * power, old.dtype)
        elif name.endswith("readout"):
            found[name] = cast(old.astype(float) * (power**-2 if rng.random() < 0.5 else other), old.dtype)
    return about, found


def offset(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """The same number on the logits of all classes: the answer is as before, and rounding eats it."""
    found = dict(tensors)
    for name, old in tensors.items():
        if name.endswith("readout"):
            share = 10.0 ** rng.uniform(-6, 0)
            found[name] = cast(old * share + 10.0 ** rng.uniform(-3, 16), old.dtype)
    return about, found


def cancelling(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """More neurons, in pairs that take each other away but for rounding; the sizes say so."""
    found, model = dict(tensors), json.loads(json.dumps(about["model"]))
    embeds = [name for name in tensors if name.endswith("embed") and name.replace("embed", "readout") in tensors]
    if not embeds or model["name"] not in ("circuit", "power"):
        return one_weight(rng, about, tensors)
    embed = rng.choice(embeds)
    readout = embed.replace("embed", "readout")
    more, height = rng.randint(1, 3), 10.0 ** rng.uniform(0, 20)
    chance = np.random.default_rng(rng.getrandbits(40))
    added = chance.normal(size=(*tensors[embed].shape[:2], more))
    given = height * chance.normal(size=(more, tensors[readout].shape[1]))
    found[embed] = cast(np.concatenate([tensors[embed], added, added], axis=2), tensors[embed].dtype)
    found[readout] = cast(np.concatenate([tensors[readout], given, -given]), tensors[readout].dtype)
    if model["name"] == "circuit":
        model["experts"][int(embed.split(".")[1])][2] += 2 * more
    model["width"] = model.get("width", 0) + 2 * more
    return about | {"model": model}, found


def cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(dtype)


def other_types(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """Precisions, shapes and names of tensors."""
    name = rng.choice(list(tensors))
    old, kind = tensors[name], rng.randrange(6)
    if kind == 0:
        return about, tensors | {name: cast(old, np.dtype(rng.choice(["f2", "f4", "f8", "i4", "i8", "u1"])))}
    if kind == 1:
        return about, {k: v for k, v in tensors.items() if k != name}
    if kind == 2:
        return about, tensors | {name: old.reshape(-1)}
    if kind == 3:
        return about, tensors | {f"{name}.more": old}
    if kind == 4:
        return about, tensors | {name: np.ascontiguousarray(old[..., :-1]) if old.ndim else old}
    dtype = np.dtype(rng.choice(["f4", "f8"]))
    return about, {k: cast(v, dtype) if v.dtype.kind == "f" and rng.random() < 0.6 else v for k, v in tensors.items()}


def other_words(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """The expression, the modulus, or what the file says of itself."""
    kind = rng.randrange(8)
    proof = {"holds": True, "dtype": "float64", "experts": [{"margin": 1.0}], "error_bound": 0.0}
    changes: dict[str, Any] = {
        0: {"expression": rng.choice([*EXPRESSIONS, "n2 + n1", "n1 + n3", MARKER, "n1 +", 7, None])},
        1: {"modulus": rng.choice([2, 3, 4, 5, 6, 7, 11, True, 5.0, "5", None, 10**30, float("inf")])},
        2: {"claimed": rng.choice([True, False, 1, "true", None, [True], {"holds": True}])},
        3: {
            "certificate": rng.choice([proof, {}, True, "proved", [proof]]),
            "claimed": rng.choice([True, False, None]),
        },
        4: {"method": rng.choice([STAMP, "proved", MARKER, "exact", "", None, 7, ["exact"], "<b>proved</b>"])},
        5: {"notes": rng.choice([[STAMP], STAMP, None, [None], [MARKER] * 3, 7])},
        6: {"settings": rng.choice([{"proof": STAMP}, {}, None, [], {"certificate": proof}])},
        7: {"proof": proof, "unproved": STAMP},
    }[kind]
    plan = about.get("plan") or []
    if plan and rng.random() < 0.3:
        changes["plan"] = [step | {rng.choice(["kind", "text"]): rng.choice([STAMP, MARKER, 7, None])} for step in plan]
    return about | changes, tensors


def other_betas(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    if "betas" not in tensors:
        return one_weight(rng, about, tensors)
    new = tensors["betas"].copy()
    value = rng.choice([0, -1, 1e-30, 1e-300, 1e30, 1e300, np.nan, np.inf, -np.inf, 1, 10.0 ** rng.uniform(-4, 4)])
    which = rng.choice([slice(None), rng.randrange(len(new))])
    new[which] = cast(np.array(value), new.dtype)
    return about, tensors | {"betas": new if rng.random() < 0.9 else cast(new, np.dtype("f4"))}


def other_wires(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    model = json.loads(json.dumps(about["model"]))
    if "wires" not in model:
        return other_fields(rng, about, tensors)
    group = rng.choice(model["wires"])
    kind = rng.randrange(5)
    if kind == 0:
        group.reverse()
    elif kind == 1:
        group[rng.randrange(len(group))] = rng.choice([0, 1, 2, 3, -1, 1.5, True, "0", None, 10**30, float("inf")])
    elif kind == 2:
        rng.shuffle(model["wires"])
    elif kind == 3:
        group.append(0)
    else:
        sizes = rng.choice(model["experts"])
        sizes[rng.randrange(len(sizes))] = rng.choice([0, 1, 2, 3, 4, -1, 1.5, True, None, 10**30, float("inf"), 1000])
    return about | {"model": model}, tensors


def other_fields(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """Any field of the JSON object, in any way that its type allows."""
    path = rng.choice([path for path in paths(about) if path])
    changed = put(about, path, rng.choice(ways(at(about, path))))
    return changed if isinstance(changed, dict) else about, tensors


def other_claims(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """Hints about experts: tables, orders, frequencies, rules and forms."""
    claims = json.loads(json.dumps(about.get("claims") or []))
    found = dict(tensors)
    if not claims:
        return other_fields(rng, about, tensors)
    number = rng.randrange(len(claims))
    claim, kind = claims[number], rng.randrange(7)
    if kind == 0:
        name = rng.choice(list(claim))
        claim[name] = rng.choice([*ways(claim[name]), "sum", "product", "squares"])
    elif kind == 1:
        claim["rule"] = rng.choice(["sum", "product", "squares", "", MARKER])
        claim["forms"] = rng.choice(
            [["n1"] * rng.randint(0, 3), ["n2", "n1"], ["n1^2", "n1"], [MARKER], claim["forms"]]
        )
    elif kind == 2:
        claim["result"] = rng.choice(["n1", "n2", "n1 + 1", "2 n1", "n1^2", "0", "", MARKER, "n1^" + "9" * 900])
        claim["forms"] = rng.choice([[rng.choice(["n1", "-n1", "2 n1", "n1^2", "n1 n2"]) for _ in claim["forms"]],
                                     claim["forms"]])  # fmt: skip
    elif kind == 3:
        claim["order"] = rng.choice([claim["order"] + 1, claim["order"] - 1, 1, 0, -1, 2**31 - 1, True])
        claim["generator"] = rng.choice([0, 1, 2, 3, -1, 2**31 - 1])
    elif kind == 4:
        claim["absorbed"] = rng.choice([None, 0, 1, 2, 6, 7, -1, True])
        claim["frequencies"] = rng.choice([[], [1], [2], [1, 2, 3], [0], [-1], [99], [1, 1], claim["frequencies"]])
    elif kind == 5:
        claims = rng.choice([[], claims[:-1], claims + claims[-1:], claims[::-1], None, {}])
    else:
        name = f"claims.{number}.{rng.choice(['places', 'outputs'])}"
        table = found[name].copy()
        flat = table.reshape(-1)
        flat[rng.randrange(flat.size)] = rng.choice([0, 1, 2, 3, -1, -2, 99, 2**31 - 1])
        if rng.random() < 0.5:
            table = np.random.default_rng(rng.getrandbits(40)).permutation(table, axis=table.ndim - 1)
        found[name] = table
    if rng.random() < 0.3:
        _, found = rng.choice([one_weight, moved, all_weights])(rng, about, found)
    return about | {"claims": claims}, found


def several(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    for _ in range(rng.randint(2, 3)):
        with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
            about, tensors = rng.choice(list(FORGERIES.values())[:-1])(rng, about, tensors)
    return about, tensors


TABLE_NAMES = ("xy", "n1n2", "x", "n1 n2 mod 5", "function n1 + n2 mod 3", "table n1 + n2", "a b in S3", "mine",
               "mine.csv", "x_y mod 5.csv", "its own answers", f"table, {STAMP}", STAMP, MARKER, "", 7)  # fmt: skip


def other_table(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """Another name for a table or its variables, other values, more or fewer unknown cells."""
    function, cells, kind = dict(about["function"]), np.array(tensors["function"]), rng.randrange(4)
    if kind == 0:
        function["name"] = rng.choice(TABLE_NAMES)
    elif kind == 1:
        function["variables"] = rng.choice([["x", "y"], ["n2", "n1"], [MARKER, "n2"], [STAMP, "b"], ["n1"], [], None])
    elif kind == 2:
        cells.flat[rng.randrange(cells.size)] = rng.choice([-1, -2, 0, 1, 2, about["modulus"]])
    else:
        cells[np.random.default_rng(rng.getrandbits(40)).random(cells.shape) < rng.random()] = rng.choice([-1, 0])
    notes = rng.choice([[], [STAMP]])
    about = about | {"function": function, "notes": notes, "method": rng.choice(["lookup", "exact", "wrapped", "twin"])}
    return about | {"expression": function["name"]}, tensors | {"function": cells}


def other_structure(rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    """The group or field that a word is in, its name, its table, or the word itself; the rest is made to fit. Of a
    table its name and those of its variables, the values, the unknown cells."""
    old = about.get("function")
    if not isinstance(old, dict):
        return other_words(rng, about, tensors)
    if "written" not in old:
        return other_table(rng, about, tensors)
    function, found = json.loads(json.dumps(old)), dict(tensors)
    order, kind = about["modulus"], rng.randrange(8)
    names = ["S3", "Z6", "D3", "Q8", "D4", "Z8", "Z2^3", "Z4", "Z2^2", "S8", "s3", "S 3", MARKER, STAMP, "", 7, None]
    table = np.add.outer(np.arange(order), np.arange(order)) % order
    if kind == 0:
        function["structure"] = rng.choice(
            [{"group": rng.choice(names)}, {"field": rng.choice([4, 5, 6, 8, "4"])}, None]
        )
    elif kind == 1:  # another group under a name that somebody knows
        elements = [str(k) for k in range(order)]
        function["structure"] = {"group": rng.choice(names), "elements": elements, "table": table.tolist()}
        found["function"] = table.astype(np.int32)
    elif kind == 2:
        function["written"] = rng.choice(["a b", "b a", "a b a^-1", "n1 + n2", "n1 n2", "a", "a +", MARKER, 7, None])
    elif kind == 3:
        cells = np.array(tensors["function"])
        cells.flat[rng.randrange(cells.size)] = rng.randrange(-1, order + 1)
        found["function"] = cells
    elif kind == 6:  # the elements are others, under the same names or with them
        moved = [0, *rng.sample(range(1, order), order - 1)]
        back = [moved.index(k) for k in range(order)]
        own = np.array(old["structure"]["table"]) if "table" in (old.get("structure") or {}) else table
        cells = np.array(moved)[own[np.ix_(back, back)]]
        names = [str(k) for k in (range(order) if rng.random() < 0.5 else back)]
        function["structure"] = {"group": "the table 'S3'", "elements": names, "table": cells.tolist()}
        function |= {"name": "a b in the table 'S3'", "written": "a b"}
        found["function"] = cells.astype(np.int32)
        return about | {"function": function, "expression": function["name"]}, found
    elif kind == 7:  # words that are worth something else, with the table that these are worth
        function["written"] = rng.choice(["a b", "b a", "a b a^-1", "n1 n2", "n1 + n2", "n1/n2"])
        with contextlib.suppress(InputError):
            place = structure_from(old.get("structure"), order)
            made = from_expression(function["written"], place)
            function |= {"name": made.name, "variables": list(made.variables)}
            found["function"] = made.table.astype(np.int32)
        return about | {"function": function, "expression": function["name"]}, found
    elif kind == 4:
        function["name"] = rng.choice(["a b in S3", "a b in Q8", "a b in Z6", STAMP, MARKER, "", None])
    else:
        function["structure"] = {"group": "a group", "elements": ["x"] * order, "table": table[::-1].tolist()}
    if rng.random() < 0.7 and isinstance(function.get("structure"), dict) and isinstance(function.get("written"), str):
        place = function["structure"].get("group", f"GF({function['structure'].get('field')})")
        function["name"] = f"{function['written']} in {place}"
    return about | {"function": function, "expression": function["name"]}, found


FORGERIES: dict[str, Forge] = {
    "one tensor": other_weights,
    "all weights": all_weights,
    "one weight": one_weight,
    "rows and columns": moved,
    "layers scaled": scaled,
    "logits shifted": offset,
    "neurons that cancel": cancelling,
    "types and shapes": other_types,
    "words": other_words,
    "groups and fields": other_structure,
    "betas": other_betas,
    "wires and sizes": other_wires,
    "any field": other_fields,
    "claims": other_claims,
    "several at once": several,
}
