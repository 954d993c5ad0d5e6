"""The networks of the zoo: which model is trained on which function, from how much of its table, with which seed.

Two hundred small networks of three models that a core trains in minutes. Most learn a function whose mathematics is
known: a sum, a product, one of these in disguise, a group. The others are trained to memorise and nothing more: on a
random table, or without weight decay on too little of a function, or on one that is no h(g1 + g2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.function import FunctionLike, from_table
from modgrok.training.config import TrainConfig

SNAPSHOTS, METRICS_EVERY, ENOUGH, TOO_LITTLE = 20, 50, 0.8, 0.2
"""Networks kept on the way; steps between measurements; shares of a table to learn it from, and to memorise."""
SIZES = (19, 23, 29, 31)
MODELS: dict[str, dict[str, Any]] = {
    "power": {"width": 128, "steps": 1000},
    "mlp": {"width": 128, "depth": 2, "weight_decay": 1.0, "init_scale": 1.0, "steps": 4000},
    "transformer": {"width": 48, "heads": 4, "weight_decay": 2.0, "steps": 4000},
}
"""Settings that grok at these sizes, where they are not the model's presets."""
HIDDEN, ALIKE, RANDOM = "a sum with all names permuted", "a sum with both inputs renamed alike", "random values"
"""Functions that are known by their tables alone."""
PRODUCTS, DISGUISED_PRODUCT = ("n1 n2", "3n1 n2 + 2"), "n1 n2 + n1 + n2"
LEARNED = {
    "sum": ("n1 + n2", "n1 - n2", "3n1 + 2n2 + 1"),
    "product": PRODUCTS,
    "disguised": ("(n1 + 2n2)^2", "n1^2 + 3n2^2", DISGUISED_PRODUCT, HIDDEN),
}
BY_TRANSFORMERS = {
    "sum": ("n1 + n2", "n1 - n2", "n1 + n2 + 5"),
    "product": PRODUCTS,
    "disguised": ("(n1 + n2)^2", "n1^2 + n2^2", DISGUISED_PRODUCT, ALIKE),
}
"""Small ones, which have one embedding for both inputs, hardly learn what treats their inputs differently."""
GROUPS = ("S4", "D12", "D15", "Q8xZ3", "A4xZ2", "SL(2,3)", "Z2xZ2xZ2xZ2")
OF_TRANSFORMERS = ("D12", "D15", "Z2xZ2xZ7", "Z2xZ2xZ2xZ2")
MEMORISED = (RANDOM, RANDOM, "n1 + n2", "n1 n2", "n1^3 + n1 n2")


@dataclass(frozen=True)
class Entry:
    """A network of the zoo before it is trained; `group` is None for functions modulo `size`."""

    name: str
    kind: str
    model: str
    function: str
    size: int
    group: str | None
    seed: int

    def config(self) -> TrainConfig:
        """The experiment that makes it, from its seed alone."""
        settings: dict[str, Any] = {"fraction": ENOUGH} | MODELS[self.model]
        if self.kind == "memorised":
            settings |= {"weight_decay": 0.0, "fraction": TOO_LITTLE if self.function in LEARNABLE else ENOUGH}
        where: dict[str, Any] = {"group": self.group} if self.group else {"mod": self.size}
        return TrainConfig.of(
            self.given(), **where, model=self.model, seed=self.seed, snapshots=SNAPSHOTS, metrics_every=METRICS_EVERY,
            **settings,
        )  # fmt: skip

    def given(self) -> FunctionLike:
        if self.function not in (HIDDEN, ALIKE, RANDOM):
            return self.function
        return from_table(table_of(self.function, self.size, self.seed), self.size, self.function)


LEARNABLE = tuple(text for texts in LEARNED.values() for text in texts)


def table_of(function: str, n: int, seed: int) -> Int[np.ndarray, "n n"]:
    """h(g1(a) + g2(b)) for random permutations, with g1 = g2 or not; or random values."""
    rng = np.random.default_rng([n, seed])
    if function == RANDOM:
        return rng.integers(0, n, (n, n))
    g1, g2, h = (rng.permutation(n) for _ in range(3))
    return np.asarray(h[(g1[:, None] + (g1 if function == ALIKE else g2)[None, :]) % n])


def entries() -> tuple[Entry, ...]:
    """All networks of the zoo, in the order in which they are trained: one compiled program serves many in a row."""
    count: Counter[tuple[str, str, int]] = Counter()
    found = []
    for model, kind, function, size, group in planned():
        seed = count[model, kind, size]
        count[model, kind, size] += 1
        found.append(Entry(f"{model}-{kind}-{size}-{seed}", kind, model, function, size, group, seed))
    return tuple(found)


def planned() -> Iterator[tuple[str, str, str, int, str | None]]:
    """Model, kind, function, size and group of each."""
    for model in MODELS:
        for size in SIZES:
            for kind, functions in (BY_TRANSFORMERS if model == "transformer" else LEARNED).items():
                yield from ((model, kind, function, size, None) for function in functions)
            yield from ((model, "memorised", function, size, None) for function in MEMORISED)
        for name in OF_TRANSFORMERS if model == "transformer" else GROUPS * 2:
            yield model, "group", "a b", group_order(name), name


def group_order(name: str) -> int:
    from modgrok.algebra.groups import group

    return group(name).order
