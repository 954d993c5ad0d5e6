"""Networks that are right, compiled or made by hand, and some that are not, as their files hold them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from random_words import random_case, random_table

from modgrok.algebra.function import read_function
from modgrok.compiler.compiling import compile
from modgrok.networks.models import MODELS, Mlp, Model
from modgrok.networks.network import Network
from modgrok.proofs import networks as kernel

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


@dataclass(frozen=True, eq=False)
class Original:
    """A network as its file would hold it, and how the kernel is asked about it."""

    name: str
    stored: Stored
    modes: tuple[str, ...] = ("counted",)


WORTH: dict[tuple[str, bytes], np.ndarray] = {}
"""What random words of the originals are worth on every row."""


def words_of(network: Network) -> tuple[str, bytes]:
    """Words with their place; with its table, where that is a group that has no name."""
    structure = network.function.structure
    unnamed = getattr(structure, "spelling", "") is None
    return network.function.name, structure.table.tobytes() if unnamed else b""


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
    table = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]
    places: list[tuple[str, dict[str, Any]]] = [
        ("a b", {"group": "S3"}), ("a b", {"group": "Q8"}), ("a b a^-1", {"group": "S3"}), ("a b", {"group": table}),
        ("n1 n2 + t", {"field": 4}), ("n1 + n2", {"field": 4}), ("n1/n2", {"mod": 5}),
    ]  # fmt: skip
    for text, place in places:
        for frequencies in ("all", "minimal"):
            network = compile(text, **place, frequencies=frequencies)
            found.append(Original(f"{network.title}, {frequencies}", network.stored()))
    found.append(Original("paper", compile("n1 n2 + n3", 3, method="paper", mul_width=40, add_width=60).stored()))
    table = [[(a + 2 * b) % 5 % 3 for b in range(4)] for a in range(5)]
    found.append(Original("table", compile(read_function(table)).stored()))
    table[0][0] = -1
    found.append(Original("table with an unknown cell", compile(read_function(table)).stored()))
    rng = random.Random(26)
    for kind in ("a group by its name", "a group by its table", "a field", "modulo m", "a table"):
        for frequencies in ("minimal", 2):
            case = random_table(rng) if kind == "a table" else random_case(rng)
            while case.kind != kind or len(case.answers) > 200 or max(case.sizes) > 12:
                case = random_table(rng) if kind == "a table" else random_case(rng)
            network = compile(case.text, **case.given, frequencies=frequencies)
            found.append(Original(f"{case.kind}, {network.title}", network.stored()))
            WORTH[words_of(network)] = np.array(case.answers)
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
