"""The zoo of `benchmarks/decompile.py`: networks that grokked, memorised or were never trained, each in a file.

    python benchmarks/decompile_zoo.py FOLDER [--models power mlp transformer] [--small]

Needs jax, optax, jaxtyping, safetensors, numpy and scipy alone. Tables are made by Python's integers and tuples. A
file has the weights under modgrok's names; what they were trained for stands in its header, for the judge.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from safetensors.numpy import save_file

from modgrok.inspection.order import Places, natural_order
from modgrok.networks.models import Mlp, Model, Power, Transformer
from modgrok.networks.network import named_leaves
from modgrok.training.config import hyper
from modgrok.training.data import train_count
from modgrok.training.presets import DEFAULTS
from modgrok.training.steps import Shape, advance_and_measure, start

PRIMES = (23, 31, 43, 59)
SIDE_BY_SIDE = 24
GROKKED, NOTHING = 0.99, 0.4
"""Test accuracy of networks that have grokked, at least; of those that have only memorised, at most."""
QUOTAS = {"sum": 10, "product": 10, "subtraction": 10, "disguised": 20, "group": 17, "timing": 1}
"""Grokked networks of each model, 201 in all, and one that is timed."""
MEMORISED = {"small share": 14, "random table": 10, "hard polynomial": 10}
"""The same for memorised ones, 102 in all."""
GROUPS_OF_NETWORKS = ("grokked", "memorised", "timing")
LARGE = 113
"""The modulus of three networks whose decompilation is timed."""
OTHERS = 17
"""Untrained networks, and networks with shuffled weights, of each model."""

MODELS: dict[str, tuple[type[Model], dict[str, Any], dict[str, Any], int]] = {
    "power": (Power, {"width": 200}, {}, 2000),
    "mlp": (
        Mlp,
        {"width": 128, "depth": 2, "bias": True},
        {"learning_rate": 0.01, "weight_decay": 1.0, "init_scale": 1.0},
        4000,
    ),
    "transformer": (
        Transformer,
        {"width": 64, "heads": 4},
        {"learning_rate": 0.003, "weight_decay": 1.0, "init_scale": 1.0},
        5000,
    ),
}
"""Class, its fields, hyper-parameters, and steps."""


@dataclass(frozen=True)
class Entry:
    """A network that is to be trained: on `fraction` of the table that `function` names, `size` values a side."""

    kind: str
    model: str
    function: str
    size: int
    seed: int
    fraction: float
    weight_decay: float | None = None


# ------------------------------------------------------------------------------------------------- tables


def table(function: str, n: int) -> np.ndarray:
    """The values of a function by Python's integers, or the products of a group's elements."""
    if function in POLYNOMIALS:
        f = POLYNOMIALS[function]
        return np.array([[f(a, b) % n for b in range(n)] for a in range(n)])
    name, _, seed = function.partition(" ")
    if name in GROUPS:
        return products(GROUPS[name]())
    rng = np.random.default_rng(int(seed))
    if name == "random":
        return rng.integers(0, n, (n, n))
    g1, g2, h = (rng.permutation(n).tolist() for _ in range(3))
    assert name == "hidden"
    return np.array([[h[(g1[a] + g2[b]) % n] for b in range(n)] for a in range(n)])


POLYNOMIALS: dict[str, Callable[[int, int], int]] = {
    "n1 + n2": lambda a, b: a + b,
    "n1 n2": lambda a, b: a * b,
    "n1 - n2": lambda a, b: a - b,
    "(n1 + 2 n2)^2": lambda a, b: (a + 2 * b) ** 2,
    "n1^2 + 3 n2^2": lambda a, b: a**2 + 3 * b**2,
    "n1^3 + n1 n2": lambda a, b: a**3 + a * b,
}

Multiplied = tuple[list[Any], Callable[[Any, Any], Any]]


def boolean(k: int) -> Multiplied:
    return list(range(2**k)), lambda a, b: a ^ b


def dihedral(m: int) -> Multiplied:
    """(i, 0) is a turn by i, (i, 1) a reflection and then that turn."""
    elements = [(i, s) for s in range(2) for i in range(m)]
    return elements, lambda a, b: ((a[0] + (-b[0] if a[1] else b[0])) % m, (a[1] + b[1]) % 2)


def symmetric(k: int) -> Multiplied:
    return list(permutations(range(k))), lambda a, b: tuple(a[i] for i in b)


def direct(left: Multiplied, m: int) -> Multiplied:
    """With the integers modulo m."""
    elements, times = left
    return list(product(elements, range(m))), lambda a, b: (times(a[0], b[0]), (a[1] + b[1]) % m)


def products(group: Multiplied) -> np.ndarray:
    elements, times = group
    number = {element: k for k, element in enumerate(elements)}
    return np.array([[number[times(a, b)] for b in elements] for a in elements])


GROUPS: dict[str, Callable[[], Multiplied]] = {
    "Z2^5": lambda: boolean(5),
    "Z2xZ2xZ11": lambda: direct(boolean(2), 11),
    "D15": lambda: dihedral(15),
    "D22": lambda: dihedral(22),
    "S3xZ5": lambda: direct(symmetric(3), 5),
    "S4": lambda: symmetric(4),
}


# ---------------------------------------------------------------------------------------------------- plans


def grokking(small: bool, first: int) -> Iterator[Entry]:
    """More than are kept: those that grok first by seed are."""
    kinds = {"sum": ["n1 + n2"], "product": ["n1 n2"], "subtraction": ["n1 - n2"]}
    for model in MODELS:
        for p in PRIMES[:2] if small else PRIMES:
            for seed in range(first, first + (1 if small else 4)):
                hidden = [f"hidden {seed}"]
                disguised = ["(n1 + 2 n2)^2", "n1^2 + 3 n2^2", *hidden]
                for kind, functions in (kinds | {"disguised": disguised}).items():
                    yield from (Entry(kind, model, f, p, seed, 0.8 if p < 31 else 0.7) for f in functions)
        for seed in range(first, first + (1 if small else 5)):
            for name in GROUPS:
                size = len(GROUPS[name]()[0])
                yield Entry("group", model, name, size, seed, 0.8)


def memorising(small: bool) -> Iterator[Entry]:
    for model in MODELS:
        for seed in range(2 if small else 8):
            for p in (31,) if small else (31, 43):
                yield from (Entry("small share", model, f, p, seed, 0.15, 0.0) for f in ("n1 + n2", "n1 n2"))
                yield Entry("random table", model, f"random {seed}", p, seed, 1.0, 0.0)
                yield from (Entry("hard polynomial", model, "n1^3 + n1 n2", p, seed, f, 0.0) for f in (0.5, 0.92))


# ---------------------------------------------------------------------------------------------------- training


def model_of(entry: Entry) -> Model:
    kind, fields, _, _ = MODELS[entry.model]
    return kind((entry.size,) * 2, entry.size, **fields)


def trained(entries: list[Entry]) -> Iterator[tuple[Entry, Any, float, float]]:
    """Weights, and accuracies in training and test, of entries of one model and size."""
    first = entries[0]
    _, _, settings, steps = MODELS[first.model]
    loss = "mse" if first.model == "power" else "cross-entropy"
    rows = [train_count(entry.fraction, entry.size**2) for entry in entries]
    decay = [settings.get("weight_decay", DEFAULTS["weight_decay"]) for _ in entries]
    decay = [
        own if entry.weight_decay is None else entry.weight_decay for own, entry in zip(decay, entries, strict=True)
    ]
    shape = Shape(model_of(first), max(rows), loss=loss)
    places = Places(*map(np.asarray, natural_order("additive", first.size, 2).places))

    def one(settings: Any, table: Any) -> tuple[Any, Any]:
        examples, state = start(shape, settings, table, places)
        state, metrics = advance_and_measure(shape, settings, examples, state, steps)
        return state.params, metrics

    program, count = jax.jit(jax.vmap(one)), min(SIDE_BY_SIDE, len(entries))
    for begin in range(0, len(entries), count):
        nets = [min(k, len(entries) - 1) for k in range(begin, begin + count)]  # one shape, one compilation
        tables = np.stack([table(entries[k].function, entries[k].size).ravel() for k in nets]).astype(np.int32)
        varying = {"train_rows": rows, "weight_decay": decay, "seed": [entry.seed for entry in entries]}
        own = settings | {name: np.array([values[k] for k in nets]) for name, values in varying.items()}
        params, metrics = jax.block_until_ready(program(hyper(**own), tables))
        for k, net in enumerate(dict.fromkeys(nets)):
            weights = jax.tree.map(lambda leaf, k=k: np.asarray(leaf[k]), params)
            yield entries[net], weights, float(metrics.train_accuracy[k]), float(metrics.test_accuracy[k])


def write(folder: Path, name: str, group: str, entry: Entry, weights: Any, **measured: float) -> None:
    about = {"group": group, **asdict(entry), "fields": MODELS[entry.model][1], **measured}
    save_file(named_leaves(weights), folder / f"{name}.safetensors", {"about": json.dumps(about)})


class Found(NamedTuple):
    """A trained network, and how good it is."""

    group: str
    entry: Entry
    weights: Any
    train: float
    test: float

    @property
    def good(self) -> bool:
        """Whether it is what its group says: it has grokked, or memorised and nothing more."""
        return self.train >= GROKKED and (
            self.test >= GROKKED if self.group != "memorised" else not self.test > NOTHING
        )


def chosen(found: list[Found]) -> list[Found]:
    """As many good ones of each model and kind as the quotas say, of all moduli by turns."""
    taken: dict[tuple[str, str, str], int] = {}
    kept = []
    for each in sorted(found, key=lambda net: (net.entry.seed, net.entry.fraction, net.entry.size)):
        key = (each.group, each.entry.model, each.entry.kind)
        if each.good and taken.get(key, 0) < (QUOTAS | MEMORISED)[each.entry.kind]:
            taken[key] = taken.get(key, 0) + 1
            kept.append(each)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="*", choices=tuple(MODELS), default=tuple(MODELS))
    parser.add_argument("--groups", nargs="*", choices=GROUPS_OF_NETWORKS, default=GROUPS_OF_NETWORKS)
    parser.add_argument("--small", action="store_true", help="one seed and two moduli, to try it out")
    parser.add_argument("--first-seed", type=int, default=0, help="of networks that are to grok")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    began, found = time.time(), list[Found]()
    plans = {
        "grokked": grokking(args.small, args.first_seed),
        "memorised": memorising(args.small),
        "timing": (Entry("timing", model, "n1 + n2", LARGE, 0, 0.5) for model in MODELS),
    }
    planned = {entry: group for group in args.groups for entry in plans[group] if entry.model in args.models}
    alike: dict[tuple[str, int], list[Entry]] = {}
    for entry in planned:
        alike.setdefault((entry.model, entry.size), []).append(entry)
    for (model, size), entries in alike.items():
        found += [Found(planned[entry], entry, *rest) for entry, *rest in trained(entries)]
        good = sum(each.good for each in found)
        print(f"{time.time() - began:6.0f} s  {model} {size}: {good} of {len(found)} good", flush=True)
    kept, rng = chosen(found), np.random.default_rng(0)
    for k, each in enumerate(kept):
        name = f"{each.group}-{each.entry.model}-{each.entry.kind}-{args.first_seed + k:03d}".replace(" ", "-")
        write(args.folder, name, each.group, each.entry, each.weights, train=each.train, test=each.test)
    for model in args.models:
        grokked = [each for each in kept if each.group == "grokked" and each.entry.model == model]
        for k in rng.permutation(len(grokked))[: OTHERS if args.first_seed == 0 else 0].tolist():
            entry, weights = grokked[k].entry, grokked[k].weights
            untrained = model_of(entry).init(np.float32(1), key=jax.random.key(k))
            shuffled = jax.tree.map(lambda leaf: rng.permutation(np.ravel(leaf)).reshape(np.shape(leaf)), weights)
            for group, own in (("untrained", untrained), ("shuffled", shuffled)):
                write(args.folder, f"{group}-{model}-{k:03d}", group, entry, jax.tree.map(np.asarray, own))
    kinds = dict.fromkeys((each.group, each.entry.model, each.entry.kind) for each in found)
    told = {
        " ".join(kind): [
            sum((each.group, each.entry.model, each.entry.kind) == kind for each in some)
            for some in (found, [net for net in found if net.good], kept)
        ]
        for kind in kinds
    }
    size = sum(path.stat().st_size for path in args.folder.glob("*.safetensors"))
    print(json.dumps({"trained, good, kept": told, "bytes": size, "seconds": round(time.time() - began)}, indent=1))


if __name__ == "__main__":
    main()
