"""(i) Forged network files: weights, words, wires, claims and descriptions changed, and what is then said of them.

Networks that are right, compiled or made by hand, and some that are not, are changed and written without checksums or
with new ones. Each file is loaded and given to the kernel. The truth is what NumPy computes from the weights on every
row, in the precision of the weights, and again with every number below the smallest normal one taken for 0 and with
products that are not rounded, as processors may do. A row that is proved right must be right each time; before anything
is proved, nothing may be called so; and what is refused is refused in one line.

Small networks are proved by counting their rows. What is for large ones, waves and compositions, is tried on small ones
as well: the kernel is told that all rows are too many.
"""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from forged_certificates import EXPRESSIONS, MARKER, MARKS, MEGABYTES, SECONDS, at, in_a_child, paths, put, ways
from options import called
from safetensors.numpy import save
from tally import Tally

from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.base.stores import write_tensors
from modgrok.compiler.compiling import compile
from modgrok.networks.models import MODELS, Mlp, Model
from modgrok.networks.network import Network
from modgrok.networks.proving import prove
from modgrok.networks.storage import load
from modgrok.networks.verification import predict, verify
from modgrok.proofs import networks as kernel
from modgrok.proofs.proof import NoProof, Proof

TOTAL, BATCH = 100_000, 250
ITS_FILE_SAYS = "its file says that it is proved"
"""All that may be said of a proof that is only claimed."""
STAMP = "proved right on every input"

Stored = tuple[dict[str, Any], dict[str, np.ndarray]]
"""What a file holds: one JSON object, and tensors."""


shapes_of = cache(Model.skeleton)


@contextlib.contextmanager
def known_shapes() -> Iterator[None]:
    """Shapes that a model's weights have are asked of JAX once, which takes longer than all the rest."""
    asked_of_jax = Model.skeleton

    def skeleton(model: Model) -> Any:
        try:
            return shapes_of(model)
        except TypeError:  # forged settings have no hash
            return asked_of_jax(model)

    Model.skeleton = skeleton
    try:
        yield
    finally:
        Model.skeleton = asked_of_jax


@contextlib.contextmanager
def small_limits(*, claims: bool, composed: bool) -> Iterator[None]:
    """The kernel reads claims, or composes experts, where it would count out so few rows."""
    limits = {"ENUMERATION": 0.0} if claims else {}
    limits |= {"MOST_ROWS": 0, "MOST_CIRCUIT_ROWS": 0} if composed else {}
    before = {name: getattr(kernel, name) for name in limits}
    for name, value in limits.items():
        setattr(kernel, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(kernel, name, value)


MODES = {"counted": (False, False), "waves": (True, False), "composed": (True, True), "composed by rows": (False, True)}


# ------------------------------------------------------------------------------------------ true networks


@dataclass(frozen=True, eq=False)
class Original:
    """A network as its file would hold it, and how the kernel is asked about it."""

    name: str
    stored: Stored
    modes: tuple[str, ...] = ("counted",)


@cache
def originals() -> tuple[Original, ...]:
    found = []
    for text, modulus in (("n1 + n2", 5), ("n1 n2", 5), ("n1^2 + n1 n2", 5), ("n1 n2 + n3", 3), ("n1 n2", 6)):
        for dtype in ("float64", "float32"):
            for frequencies in ("all", "minimal"):
                network = compile(text, modulus, dtype=dtype, frequencies=frequencies)
                found.append(Original(f"{text} mod {modulus}, {frequencies}", network.stored()))
    for text, modulus in (("n1 + n2", 7), ("n1 n2", 7), ("n1 n2 + n3", 3), ("n1 n2", 6), ("n1^2 + n1 n2", 5)):
        with small_limits(claims=True, composed=True):
            network = compile(text, modulus)
        modes = ("waves", "composed", "composed by rows")
        found.append(Original(f"{text} mod {modulus}, with claims", network.stored(), modes))
    found.append(Original("paper", compile("n1 n2 + n3", 3, method="paper", mul_width=40, add_width=60).stored()))
    table = [[(a + 2 * b) % 5 % 3 for b in range(4)] for a in range(5)]
    found.append(Original("table", compile(read_function(table)).stored()))
    table[0][0] = -1
    found.append(Original("table with an unknown cell", compile(read_function(table)).stored()))
    found += [Original(f"mlp, {name}", network.stored()) for name, network in by_hand().items()]
    for name in MODELS:
        if name != "circuit":
            found.append(Original(f"noise in a {name}", noise(name).stored()))
    return tuple(found)


def by_hand() -> dict[str, Network]:
    """MLPs that look up sums modulo 3 and are right: a neuron for each pair, which only its pair makes positive."""
    pairs = [(a, b) for a in range(3) for b in range(3)]
    embed = np.array([[[float(pair[side] == x) - 0.75 for pair in pairs] for x in range(3)] for side in (0, 1)])
    readout = np.eye(3)[[sum(pair) % 3 for pair in pairs]] * 10
    found = {}
    for activation, dtype in (("relu", "float32"), ("relu", "float64"), ("gelu", "float32"), ("square", "float64")):
        model = Mlp((3, 3), 3, width=9, depth=2, activation=activation)
        found[f"{activation} {dtype}"] = named(model, [(8 * embed).astype(dtype), readout.astype(dtype)])
    deep = Mlp((3, 3), 3, width=9, depth=3, activation="relu")
    found["relu, deep"] = named(deep, [(8 * embed).astype("float32"), np.eye(9, dtype="float32"), readout.astype("f4")])
    return found


def named(model: Any, leaves: list[np.ndarray], text: str = "n1 + n2") -> Network:
    import jax

    params = jax.tree.unflatten(jax.tree.structure(model.skeleton()), leaves)
    return Network(model, params, read_function(text, model.classes), "trained")


def noise(name: str) -> Network:
    import jax

    model, rng = MODELS[name]((3, 3), 3, width=8), np.random.default_rng(3)
    shapes = jax.tree.leaves(model.skeleton())
    return named(model, [rng.normal(size=leaf.shape).astype("float32") for leaf in shapes])


# ------------------------------------------------------------------------------------------ forgeries

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
    "betas": other_betas,
    "wires and sizes": other_wires,
    "any field": other_fields,
    "claims": other_claims,
    "several at once": several,
}


# ------------------------------------------------------------------------------------------ truth


def answered(network: Network) -> np.ndarray | None:
    """What integers say for each row of the table, below 0 where nobody knows; None for unknown words."""
    if network.function.tree is None:
        return np.asarray(network.function.table).reshape(-1)
    modulus, text = network.modulus, network.expression.strip()
    function = {"n2 + n1": EXPRESSIONS["n1 + n2"], "n1 + n3": EXPRESSIONS["n1 + n2"]}.get(text, EXPRESSIONS.get(text))
    if function is None:
        return None
    one_variable = text in ("3", "n1^2")
    rows = np.indices(network.model.residues).reshape(network.model.variables, -1).T
    return np.array([(function(*row, 0) if one_variable else function(*row)) % modulus for row in rows.tolist()])


def right_rows(network: Network, answers: np.ndarray, *, flush: bool) -> np.ndarray:
    """Where the right logit leads all others, computed from the weights in their precision."""
    rows = np.indices(network.model.residues).reshape(network.model.variables, -1).T
    with np.errstate(all="ignore"):
        logits = np.array(computed(network, rows, flush))
        places = np.arange(len(rows))
        right = logits[places, answers].copy()
        logits[places, answers] = -np.inf
        return np.asarray(right > logits.max(axis=1))


def computed(network: Network, rows: np.ndarray, flush: bool) -> np.ndarray:
    """Logits, layer by layer; with `flush` whatever falls below the smallest normal number is 0, and β·logit is not
    rounded before the largest is taken from it."""
    params, dtype = network.params, network.dtype
    tiny = np.finfo(dtype).tiny

    def kept(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=dtype)
        return np.where(np.abs(x) < tiny, dtype.type(0), x) if flush else x

    def times(x: np.ndarray, matrix: Any) -> np.ndarray:
        if not flush:
            return x @ np.asarray(matrix, dtype=dtype)
        return kept(kept(x[:, :, None] * kept(matrix)[None]).sum(axis=1, dtype=dtype))

    if isinstance(network.model, Mlp):
        x = kept(sum(kept(params.embed)[s][rows[:, s]] for s in range(rows.shape[1])))
        for matrix in (*params.hidden, params.readout):
            x = times(kept(activated(network.model.activation, x)), matrix)
        return x
    circuit = network.circuit
    signals: list[Any] = list(rows.T)
    for k, (expert, wires) in enumerate(zip(circuit.experts, circuit.wires, strict=True)):
        embed = kept(expert.embed)
        read = [signals[wire] for wire in wires]
        parts = [embed[s][x] if x.ndim == 1 else times(x, embed[s][: x.shape[1]]) for s, x in enumerate(read)]
        x = kept(sum(parts[1:], start=parts[0]))
        raised = x
        for _ in range(int(expert.power) - 1):
            raised = kept(raised * x)
        logits = times(raised, expert.readout)
        if k + 1 == len(circuit.experts):
            return logits
        scaled_ = kept(kept(circuit.betas)[k] * logits)
        shifted = scaled_ - scaled_.max(axis=1, keepdims=True)
        if flush:  # and where a product need not be rounded before something is taken from it, it is not
            wide = np.longdouble if dtype == np.float64 else np.float64
            product = np.asarray(circuit.betas)[k].astype(wide) * logits.astype(wide)
            shifted = product - scaled_.max(axis=1, keepdims=True)
        mass = kept(np.exp(kept(shifted)))
        signals.append(kept(mass / mass.sum(axis=1, keepdims=True)))
    raise AssertionError("a circuit has experts")


def activated(name: str, x: np.ndarray) -> np.ndarray:
    if name == "relu":
        return np.maximum(x, 0)
    if name == "square":
        return x * x
    half, root = x.dtype.type(0.5), x.dtype.type(np.sqrt(2 / np.pi))
    return half * x * (1 + np.tanh(root * (x + x.dtype.type(0.044715) * x**3)))


# ------------------------------------------------------------------------------------------ trials


def run_batch(number: int) -> Tally:
    """Files that follow from the number of the batch alone."""
    tally, rng = Tally(), random.Random(f"forged networks {number}")
    originals()
    with (
        tempfile.TemporaryDirectory() as place, warnings.catch_warnings(), known_shapes(), tally.weighed(MEGABYTES),
    ):  # fmt: skip
        warnings.simplefilter("error")
        path = Path(place) / "forged.safetensors"
        for k in range(number * BATCH, (number + 1) * BATCH - 4):
            one = originals()[k % len(originals())]
            name = list(FORGERIES)[k // len(originals()) % len(FORGERIES)]
            with np.errstate(all="ignore"):
                forged = FORGERIES[name](rng, *one.stored)
            written(path, rng, *forged)
            tally.trial(name, *problems(path, rng.choice(one.modes), f"{one.name}, {name}, batch {number}, {k}"))
        for verb in (verified, predicted, predicted, on_command_line):
            tally.trial(verb.__name__.replace("_", " "), *verb(path, rng))
        if number % EVERY_LARGE == 0:
            name = list(LARGE)[number // EVERY_LARGE % len(LARGE)]
            tally.trial(f"large: {name}", *judged_large(path, name))
    return tally


# ------------------------------------------------------------------------------------------ large ones


def blank(model: dict[str, Any], expression: str, modulus: int, shapes: dict[str, tuple[int, ...]]) -> Stored:
    """A file of noise under a model's settings, float32, that says it is proved."""
    chance = np.random.default_rng(7)
    about = originals()[0].stored[0] | {"model": model, "expression": expression, "modulus": modulus, "claims": []}
    return about | {"claimed": True}, {name: chance.normal(size=s).astype("float32") for name, s in shapes.items()}


def many_rows() -> Stored:
    """Two million rows of one expert that says nothing of its waves."""
    return circuit_of(1021, 2, [(0, 1)], "n1 + n2")


def many_variables() -> Stored:
    """2^20 rows through a chain of experts, each of which reads the one before."""
    wires = [(0, 1), *((19 + k, k + 1) for k in range(1, 19))]
    return circuit_of(2, 20, wires, " + ".join(f"n{k}" for k in range(1, 21)))


def many_experts() -> Stored:
    """Three hundred experts one after another."""
    wires = [(0, 1), *((1 + k, k % 2) for k in range(1, 300))]
    return circuit_of(31, 2, wires, "n1 + n2")


def circuit_of(modulus: int, variables: int, wires: list[tuple[int, int]], expression: str) -> Stored:
    width = 9
    experts = [[2, modulus, width, modulus, 2] for _ in wires]
    model = {"name": "circuit", "residues": [modulus] * variables, "classes": modulus, "width": width * len(wires)}
    model |= {"experts": experts, "wires": [list(pair) for pair in wires]}
    shapes: dict[str, tuple[int, ...]] = {"betas": (len(wires),)}
    for k in range(len(wires)):
        shapes |= {f"experts.{k}.embed": (2, modulus, width), f"experts.{k}.readout": (width, modulus)}
    return blank(model, expression, modulus, shapes)


EVERY_LARGE = 40
LARGE: dict[str, Callable[[], Stored]] = {
    "two variables modulo 1021": many_rows, "twenty variables": many_variables, "three hundred experts": many_experts,
}  # fmt: skip
"""Files that ask for much work. They are read at once; what is then asked of the kernel takes its time, and tells how
far it is, but not more memory than others."""

CHILD = """
import sys, time
from tally import held_megabytes
from modgrok.networks.proving import prove
from modgrok.networks.storage import load
from modgrok.proofs.proof import NoProof
before, began = held_megabytes("VmRSS"), time.process_time()
network = load(sys.argv[1])
seconds = time.process_time() - began
try:
    holds = prove(network).holds
except NoProof:
    holds = False
print(seconds, held_megabytes("VmHWM") - before, holds)
"""


def judged_large(path: Path, name: str) -> list[str]:
    about, tensors = LARGE[name]()
    path.write_bytes(save(tensors, metadata={"modgrok": json.dumps(about)}))
    done = in_a_child(CHILD, str(path))
    if done.returncode or done.stderr:
        return [f"ends with {done.returncode}: {done.stderr[-300:]}"]
    seconds, megabytes, holds = done.stdout.split()
    problems = [f"reading it took {seconds} s"] if float(seconds) > SECONDS else []
    problems += [f"took {megabytes} MB"] if float(megabytes) > MEGABYTES else []
    return problems + (["noise is proved"] if holds != "False" else [])


def written(path: Path, rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    """The file, without checksums, or with new ones."""
    if rng.random() < 0.1:
        with contextlib.suppress(ValueError):  # what the package cannot write, others can
            write_tensors(path, about, tensors)
            return
    path.write_bytes(save(tensors, metadata={"modgrok": json.dumps(about)}))


def problems(path: Path, mode: str, what: str) -> list[str]:
    """What is wrong with what is said of a forged file."""
    began = time.process_time()
    try:
        network = load(path)
    except InputError as error:
        return [f"{what}: two lines: {error}"] if "\n" in str(error) or not str(error) else []
    except Exception as error:
        return [f"{what}: load: {type(error).__name__}: {str(error)[:200]}"]
    try:
        found = [f"{what}: {line}" for line in said(network)]
    except Exception as error:
        return [f"{what}: shown: {type(error).__name__}: {str(error)[:200]}"]
    claims, composed = MODES[mode]
    proof = None
    try:
        with small_limits(claims=claims, composed=composed):
            proof = prove(network)
    except NoProof as reason:
        found += [f"{what}: two lines: {reason}"] if "\n" in str(reason) else []
    except Exception as error:
        return [*found, f"{what}, {mode}: prove: {type(error).__name__}: {str(error)[:200]}"]
    seconds = time.process_time() - began
    found += [f"{what}, {mode}: took {seconds:.1f} s"] if seconds > SECONDS else []
    return found + ([f"{what}, {mode}: {line}" for line in untrue(network, proof)] if proof is not None else [])


def said(network: Network) -> Iterator[str]:
    """Words that call something proved which nobody has proved, or that come from the file."""
    if network.proof is not None or network.to_json()["proof"] is not None:
        yield "it has a proof that nobody made"
    shown = {"summary": network.summary(), "repr": repr(network), "html": network._repr_html_(),
             "proof text": network.proof_text or ""}  # fmt: skip
    for where, shown_text in shown.items():
        text = shown_text.replace(network.title if network.title.isprintable() else "", "")  # a name is its table's own
        if "proved" in text.replace(ITS_FILE_SAYS, ""):
            yield f"its {where} says {text[:300]!r}"
        if any(mark in text for mark in MARKS):
            yield f"its {where} repeats a text of its file: {text[:300]!r}"


def untrue(network: Network, proof: Proof) -> Iterator[str]:
    """What a proof says of rows, held against what the weights compute."""
    answers = answered(network)
    if answers is None:
        if proof.holds:
            yield f"{proof.summary()}, of words that are in no list: {network.expression!r}"
        return
    known = answers >= 0
    if proof.rows != known.sum() or proof.right + proof.wrong + proof.undecided != proof.rows:
        yield f"{proof.summary()}, of {known.sum()} rows"
    for flush in (False, True):
        right = int(right_rows(network, answers, flush=flush)[known].sum())
        if proof.right > right or proof.wrong > proof.rows - right:
            yield f"{proof.summary()}; {right} of {proof.rows} are right{' with small numbers lost' * flush}"


@cache
def asked() -> tuple[Original, ...]:
    """Networks whose computation is compiled once: only their numbers change."""
    names = ("n1 + n2 mod 5, all", "n1 n2 + n3 mod 3, all", "mlp, relu float32")
    return tuple(one for one in originals() if one.name in names)


def forged_numbers(path: Path, rng: random.Random) -> Network:
    one = rng.choice(asked())
    forge = rng.choice([other_weights, all_weights, one_weight, moved, scaled, offset, other_betas])
    with np.errstate(all="ignore"):
        forged = forge(rng, *one.stored)
    written(path, rng, *forged)
    return load(path)


def verified(path: Path, rng: random.Random) -> list[str]:
    """`verify` computes every row with JAX, and says what is proved beside it."""
    try:
        with warnings.catch_warnings():
            found = verify(forged_numbers(path, rng))
    except InputError as error:
        return [] if "\n" not in str(error) else [f"two lines: {error}"]
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]}"]
    proof, right = found.proof, found.rows_checked - found.errors
    if proof is not None and (proof.right > right or (proof.holds and found.accuracy < 1)):
        return [f"{proof.summary()}; {found.summary()}"]
    return []


def predicted(path: Path, rng: random.Random) -> list[str]:
    """A network without numbers, or of zeros, is never correct; and none is whose right logit does not lead."""
    one = rng.choice(asked())
    about, tensors = one.stored
    value = rng.choice([np.nan, 0.0])
    written(path, rng, about, {k: np.full_like(v, value) if v.dtype.kind == "f" else v for k, v in tensors.items()})
    network = load(path)
    row = [rng.randrange(size) for size in network.model.residues]
    found, many = predict(network, *row), predict(network, np.array([row, row]))
    shown = found.summary() + json.dumps(found.to_json())
    if found.correct or many.correct or many.right.any() or "(correct" in shown or "proved" in shown:
        return [f"{one.name} of {value} at {row}: {shown}"]
    return []


def on_command_line(path: Path, rng: random.Random) -> list[str]:
    """`modgrok verify` of a forged file: 0 only if all is right, else 1 or 2, and no traceback."""
    one = rng.choice(asked())
    forge = rng.choice([other_weights, one_weight, other_words, other_types])
    with np.errstate(all="ignore"):
        forged = forge(rng, *one.stored)
    written(path, rng, *forged)
    code, out, err = called(["verify", str(path), "--json"])
    if code not in (0, 1, 2) or "Traceback" in err:
        return [f"{one.name} ends with {code}: {err[-300:]}"]
    if code == 2:
        return [] if err.count("\n") == 1 and not out else [f"{one.name} does not say one line: {err[-300:]!r}"]
    found = json.loads(out)
    proof = found.get("proof")
    if (code == 0) != (found["accuracy"] == 1) or (proof and proof["holds"] and found["accuracy"] < 1):
        return [f"{one.name} ends with {code}: {out[:300]}"]
    return []
