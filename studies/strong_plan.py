"""What is trained for the strong hypothesis: settings, their variants, polynomials, and the looks at them.

A look is one ensemble: some polynomials in all variants of a setting, with two seeds, on one share of the table. The
first look is at every polynomial within the usual steps. What a setting did not learn of the class gets a second one,
together with both controls, to 10, 20 and 40 times the usual steps, and, where that did not do, a third on more of the
table. A part is a look with the points that were measured on the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from modgrok.base.results import json_text
from modgrok.reproduction.item import Values
from modgrok.training.config import TrainConfig
from studies.rest import learned_at

CONTROLS = ("n1 + n2", "n1 n2")
TABLE2 = (
    *("(4n1 + n2^2)^3", "(4n1 + n2^2)^3 + n1 n2"),
    *("(2n1 + 3n2)^4", "(2n1 + 3n2)^4 - n1^2"),
    *("(5n1^3 + 2n2^4)^2", "(5n1^3 + 2n2^4)^2 - n2"),
)
LEARNED_OUTSIDE = (
    *("8n1^5 n2 + 34n1^9 n2^5", "95n1^9 n2^7 + 30n1^11 n2^5"),
    *("55n1^12 n2^12 + 68n1 n2^3", "8n1^12 n2^12 + 29n1^2 n2^4"),
)
"""In no family modulo 97, and still learned by the paper's network."""
POLYNOMIALS = {97: (*CONTROLS, *TABLE2, *LEARNED_OUTSIDE), 23: (*CONTROLS, *TABLE2)}

MSE = {"loss": "mse", "learning_rate": 0.005, "weight_decay": 5.0}
SQUARE = {"loss": "mse", "learning_rate": 0.005, "weight_decay": 1.0}
DEEP = {"activation": "gelu", "depth": 4, "norm": "layer", "learning_rate": 0.003}

SETTINGS: dict[str, dict[str, Any]] = {
    "x², MSE, AdamW": {},
    "x², cross-entropy, AdamW": {"loss": "cross-entropy", "weight_decay": 1.0},
    "x², MSE, SGD": {"optimiser": "sgd"},
    "x², MSE, Muon": {"optimiser": "muon"},
    "x², MSE, Adam": {"optimiser": "adam"},
    "x², MSE, Adam, dropout": {"optimiser": "adam", "dropout": 0.3},
    "MLP 3 ReLU, cross-entropy, AdamW": {"model": "mlp"},
    "MLP 2 ReLU, MSE, AdamW": {"model": "mlp", "depth": 2} | MSE,
    "MLP 3 x², MSE, AdamW, LayerNorm": {"model": "mlp", "activation": "square", "norm": "layer"} | SQUARE,
    "MLP 3 ReLU, cross-entropy, AdamW, dropout": {"model": "mlp", "dropout": 0.2},
    "MLP 3 ReLU, cross-entropy, AdamW, LayerNorm": {"model": "mlp", "norm": "layer"},
    "MLP 3 GELU, cross-entropy, AdamW, BatchNorm": {"model": "mlp", "activation": "gelu", "norm": "batch"},
    "MLP 3 ReLU, cross-entropy, Muon": {"model": "mlp", "optimiser": "muon", "weight_decay": 0.5},
    "MLP 4 GELU, cross-entropy, AdamW, LayerNorm": {"model": "mlp"} | DEEP,
    "transformer 1, cross-entropy, AdamW": {"model": "transformer", "steps": 2000},
    "transformer 1, cross-entropy, Muon, LayerNorm": {
        "model": "transformer",
        "optimiser": "muon",
        "learning_rate": 0.006,
    },
    "transformer 1, MSE, AdamW, LayerNorm": {"model": "transformer", "norm": "layer", "loss": "mse", "steps": 2000},
    "transformer 1, cross-entropy, AdamW, dropout": {"model": "transformer", "dropout": 0.1, "steps": 2000},
    "transformer 2, cross-entropy, AdamW": {"model": "transformer", "depth": 2, "steps": 2000, "learning_rate": 0.0015},
}
"""Each setting, and what it has in place of its model's and optimiser's defaults."""
QUICK = ("x², MSE, AdamW", "MLP 2 ReLU, MSE, AdamW")

VARIED = ("learning_rate", "weight_decay", "init_scale")
FACTORS = ((1.0, 1.0, 1.0), (1.0, 0.4, 1.0), (0.5, 2.0, 1.0), (2.0, 0.2, 2.0), (10 / 3, 1.0, 1.5))
"""The variants of a setting: what is `VARIED`, in units of its own."""
FRACTION, MORE = 0.5, 0.8
"""Share of the table to train on, and that of the third look."""
REACHES = (10, 20, 40)
"""Ends of the stretches of a second or third look, in units of the usual steps; the last is the budget."""
EVERY = 4
"""Measurements within the usual steps."""
MEASURED = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")

Rows = list[Values]
Variant = tuple[float, ...]


class Look(NamedTuple):
    """One ensemble. `base` has the setting's own rates and the usual number of steps."""

    setting: str
    base: TrainConfig
    polynomials: tuple[str, ...]
    seeds: int = 2
    fraction: float = FRACTION
    reaches: tuple[int, ...] = (1,)

    @property
    def is_first(self) -> bool:
        return self.reaches == (1,)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """With three digits, so that a command can name them."""
        own = [getattr(self.base, name) for name in VARIED]
        scaled = (tuple(float(f"{a * b:.3g}") for a, b in zip(own, factors, strict=True)) for factors in FACTORS)
        return tuple(dict.fromkeys(scaled))

    def settings(self) -> Values:
        """As a part has them."""
        return {
            "setting": self.setting,
            "modulus": self.base.modulus,
            "width": self.base.width,
            "steps": self.base.steps,
            "fraction": self.fraction,
            "seeds": self.seeds,
            "polynomials": list(self.polynomials),
            "variants": [list(variant) for variant in self.variants],
            "reaches": list(self.reaches),
        }

    def configs(self) -> list[TrainConfig]:
        """The networks, each as a single run would train it."""
        return [config_of(network) for network in planned(self.settings())]


def first_looks(*, quick: bool) -> list[Look]:
    """The first look of every setting modulo 97, transformers before all others, then modulo 23."""
    small = {"width": 256} if quick else {}
    names = QUICK if quick else sorted(SETTINGS, key=lambda name: model_of(name) != "transformer")
    return [
        Look(name, TrainConfig(CONTROLS[0], p, **(SETTINGS[name] | small)), POLYNOMIALS[p], 1 if quick else 2)
        for p in ((23,) if quick else (97, 23))
        for name in names
    ]


def model_of(setting: str) -> str:
    """The model that a setting trains."""
    return str(SETTINGS.get(setting, {}).get("model", "power"))


# ------------------------------------------------------------------------------------------ networks of parts


def planned(look: Values) -> Rows:
    """The networks of a look by its settings, as far as they are known before training."""
    known = {name: look[name] for name in ("setting", "modulus", "fraction", "steps", "width")}
    return [
        known | {"polynomial": polynomial, "seed": seed} | dict(zip(VARIED, variant, strict=True))
        for variant, polynomial, seed in product(look["variants"], look["polynomials"], range(look["seeds"]))
    ]


def config_of(network: Values) -> TrainConfig:
    """A network as a single run trains it: to the last bit, once it is known what it was trained beside."""
    names = ("width", "steps", "fraction", "seed", *VARIED, "beside", "room")
    known = {name: network[name] for name in names if network.get(name) is not None}
    return TrainConfig(network["polynomial"], network["modulus"], **(SETTINGS[network["setting"]] | known))


def trained(look: Values, points: Values) -> Rows:
    """The networks of a look with their curves, from its settings and points."""
    about = {name: points[name] for name in ("beside", "room", "device")}
    columns = {name: as_numbers(points[name]) for name in MEASURED}
    return [
        network | about | {"curves": {"step": np.array(points["step"])} | {name: columns[name][k] for name in MEASURED}}
        for k, network in enumerate(planned(look))
    ]


def as_numbers(rows: Any) -> Float[np.ndarray, "net point"]:
    return np.asarray(rows if isinstance(rows, np.ndarray) else [row.split() for row in rows], float)


def networks_of(parts: Iterable[Values]) -> tuple[Rows, Rows]:
    """The networks of first looks, and of later ones; of a look that was stored twice those that came further."""
    looks: dict[str, Values] = {}
    for part in sorted(parts, key=lambda part: part["result"]["step"][-1]):
        looks[json_text(part["settings"])] = part
    first: Rows = []
    later: Rows = []
    for part in looks.values():
        (first if part["settings"]["reaches"] == [1] else later).extend(trained(part["settings"], part["result"]))
    return first, later


def variant_of(network: Values) -> Variant:
    return tuple(network[name] for name in VARIED)


def learned_by(networks: Rows) -> set[tuple[Variant, str]]:
    """The variants that have learned a polynomial, each with it: all of their seeds have."""
    found: dict[tuple[Variant, str], bool] = {}
    for network in networks:
        pair = (variant_of(network), network["polynomial"])
        found[pair] = found.get(pair, True) and learned_at(network["curves"]) is not None
    return {pair for pair, learned in found.items() if learned}


def qualified(networks: Rows) -> set[Variant]:
    """The variants that have learned both controls."""
    learned = learned_by(networks)
    return {variant for variant, _ in learned if all((variant, control) in learned for control in CONTROLS)}


def is_settled(networks: Rows) -> bool:
    """Whether some qualified variant has learned each of the polynomials that are no controls."""
    learned, variants = learned_by(networks), qualified(networks)
    missing = {network["polynomial"] for network in networks} - set(CONTROLS)
    return all(any((variant, polynomial) in learned for variant in variants) for polynomial in missing)


def is_over(look: Look, points: Values, reach: int) -> bool:
    """Whether a look has come to so many times the usual steps, or need not, since it is settled."""
    if points["step"][-1] >= reach * look.base.steps:
        return True
    return not look.is_first and is_settled(trained(look.settings(), points))
