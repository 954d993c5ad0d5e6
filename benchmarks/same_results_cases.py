"""What `same_results.py` computes: small trainings of every kind, a sweep, a census, 24 networks, 300 questions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from decision_tables import KINDS, planted

Settings = dict[str, Any]

# ------------------------------------------------------------------------------------------------ trainings

STEPS = 50
TASKS = (("n1 n2", 13), ("n1 + n2", 11), ("2n1^2 + n2", 17), ("n1^2 n2 + 3", 19), ("(n1 + n2)^2", 23))
OPTIMISERS = ("adamw", "adam", "adam-l2", "sgd", "muon")
MODELS: dict[str, tuple[Settings, tuple[str, ...]]] = {
    "power": ({"width": 24}, OPTIMISERS),
    "mlp": ({"model": "mlp", "width": 24}, ("adamw", "muon")),
    "mlp, layer norm": ({"model": "mlp", "width": 24, "norm": "layer"}, OPTIMISERS),
    "mlp, batch norm": ({"model": "mlp", "width": 24, "norm": "batch"}, ("adamw", "muon")),
    "transformer": ({"model": "transformer", "width": 16, "norm": "none"}, ("adamw",)),
    "transformer, layer norm": ({"model": "transformer", "width": 16, "norm": "layer"}, OPTIMISERS),
}
"""Every model and norm, and with which optimisers it is trained."""
UNKNOWN_CELLS = [[None if (a * b) % 7 == 3 else (a + 2 * b) % 11 for b in range(11)] for a in range(13)]
OTHERS: dict[str, Settings] = {
    "three variables": {"function": "n1 n2 + n3", "mod": 11, "width": 20},
    "every row trains": {"function": "n1^2 + 5n2", "mod": 12, "width": 20, "fraction": 1.0},
    "unknown cells": {"function": UNKNOWN_CELLS, "width": 20, "loss": "cross-entropy"},
    "another beginning": {"function": "n1 n2", "mod": 13, "width": 24, "seed": 3, "init_scale": 1.0, "fraction": 0.3}
    | {"order": "additive", "metrics_every": 7},
    "mlp, deep": {"function": "n1 n2", "mod": 13, "model": "mlp", "width": 24, "depth": 4}
    | {"activation": "gelu", "dropout": 0.1},
    "mlp, squares": {"function": "n1 n2", "mod": 13, "model": "mlp", "width": 24, "depth": 2}
    | {"activation": "square", "loss": "mse"},
    "transformer, deep": {"function": "n1 n2 + n3", "mod": 11, "model": "transformer", "width": 16}
    | {"depth": 2, "dropout": 0.1},
}


def trainings() -> Iterator[tuple[str, Settings]]:
    for k, (name, (settings, optimisers)) in enumerate(MODELS.items()):
        for optimiser in optimisers:
            text, p = TASKS[(k + OPTIMISERS.index(optimiser)) % len(TASKS)]
            yield f"{name}, {optimiser}", {"function": text, "mod": p, "optimiser": optimiser} | settings
    yield from OTHERS.items()


SWEEP: Settings = {
    "function": "n1 n2",
    "mod": 11,
    "width": 16,
    "weight_decay": [1, 5],
    "fraction": [0.4, 0.8],
    "seeds": 2,
}
MIX: Settings = {"expression": "n1 n2 + 2n1^2", "mod": 11, "width": 32, "fraction": 0.8, "separate": True}
CENSUS = """steps = [20, 50]
[tables]
two-monomials = 3
relabelled-sum = 2
noisy-sum = 2
random = 2
"{a}x^2 y + {b}y^2" = 2
[[settings]]
moduli = [11, 12]
widths = [16]
fractions = [0.4, 0.8]
"""

# ------------------------------------------------------------------------------------------------ networks

POLYNOMIAL = "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3"
RELABELLED = [[(3 * a * a + 5 * b) % 11 // 2 for b in range(11)] for a in range(11)]
OBLONG = [[(a + 2 * b) % 6 for b in range(9)] for a in range(4)]
PRODUCTS = (("n1 n2 + n3", 13), ("n1 n2 + 3n1^2", 12), ("n1^3 n2", 15))
NETWORKS: tuple[tuple[Any, int | None, Settings], ...] = (
    *((POLYNOMIAL, 23, {"frequencies": f, "dtype": f"float{b}"}) for f in ("all", "minimal", 7) for b in (32, 64)),
    *((text, p, {"frequencies": kind}) for text, p in PRODUCTS for kind in ("all", "minimal")),
    ("n1 + n2 + n3 + n4", 7, {}),
    ("(n1 + 3n2)^4 - n1^2", 30, {"dtype": "float32"}),
    ("5n1^3", 17, {"frequencies": 2}),
    (RELABELLED, None, {}),
    (RELABELLED, None, {"frequencies": "minimal", "dtype": "float32"}),
    (OBLONG, None, {}),
    *((POLYNOMIAL, 23, {"method": "paper", "seed": seed}) for seed in (0, 1)),
    ("n1 n2 + n3", 13, {"method": "paper", "normalisation": "table", "mul_width": 60, "add_width": 80, "seed": 2}),
    ("n1 + 5n2^2 + 3", 12, {"method": "paper", "add_width": 100, "beta": 20.0}),
    ("n1 + n2", 97, {"frequencies": "minimal"}),
    ("n1 n2", 97, {"frequencies": "minimal", "dtype": "float32"}),
)

# ------------------------------------------------------------------------------------------------ questions

SHAPES = (
    *("{a}x + {b}y", "{a}x^{k} + {b}y^{l}", "({a}x^{k} + {b}y^{l})^{m}", "{a}x^{k} y^{l} + {c}", "{a}x^{k} + {c}"),
    *("(({a}x^{k} + {b})({c}y^{l} + {d}))^{m}", "x^2 + {a}x y + {b}y^2", "{a}x^{k} y^{l} + {b}x^{m}"),
    *("{a}x^{k} y^{l} + {b}x^{m} y^{n}", "({a}x + {b}y)^{m} + {c}x^{k} y^{l}", "({a}x^{k} + {b}y)({c}x + {d}y^{l})"),
    *("{a}x^{k} y^{l} + {b}x^{m} y^{n} + {c}x y", "({a}x y + {b}x + {c}y + {d})^{k}", "{a}x y^{k} - {a}x^{l} y"),
)
OF_THREE = ("{a}x y z + {b}", "{a}x^{k} + {b}y + {c}z^{l}", "{a}x y + {b}z^{k}")
MODULI, SMALL_MODULI = (5, 7, 8, 11, 12, 13, 15, 17, 23, 30, 31, 43, 97), (5, 6, 7, 8, 11)


def questions() -> Iterator[tuple[Any, int | None]]:
    """Expressions of every shape at every modulus, then tables: planted; changed, cut or partly unknown; random."""
    rng, numbers = random.Random(0), np.random.default_rng(0)
    for shapes, moduli in ((SHAPES, MODULI), (OF_THREE, SMALL_MODULI)):
        for shape in shapes:
            for p in moduli:
                coefficients = {letter: rng.randrange(1, p) for letter in "abcd"}
                yield shape.format(**coefficients, **{letter: rng.randrange(1, 8) for letter in "klmn"}), p
    for kind in KINDS:
        for seed, p in enumerate((7, 11, 13)):
            yield planted(kind, p, seed)[0], p
    for k in range(34):
        p = (5, 7, 11, 13)[k % 4]
        table = planted(KINDS[k % len(KINDS)], p, k)[0]
        if k % 3 == 0:
            table[tuple(numbers.integers(p, size=2))] = numbers.integers(p)
            yield table, p
        elif k % 3 == 1:
            yield np.where(numbers.random(table.shape) < 0.2, None, table).tolist(), p
        else:
            yield table[:, : p - 2], None
    for k in range(33):
        yield numbers.integers(0, 2 + k % 3, numbers.integers(2, 6, 2 + k % 2)), None
