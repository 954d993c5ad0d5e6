"""What is trained for the strong hypothesis: settings, polynomials and variants; and the rows that are kept of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modgrok.base.files import whole_file
from modgrok.inspection.order import function_order
from modgrok.reproduction.classes import LEARNED_OUTSIDE
from modgrok.reproduction.item import Values
from modgrok.reproduction.table2 import PUBLISHED
from modgrok.training.config import Ensemble, TrainConfig, hyper
from modgrok.training.data import function_table, train_count

CONTROLS = ("n1 + n2", "n1 n2")

TABLE2 = tuple(dict.fromkeys(row.polynomial for row in PUBLISHED))

POLYNOMIALS = {97: (*CONTROLS, *TABLE2, *LEARNED_OUTSIDE), 23: (*CONTROLS, *TABLE2)}

MSE = {"loss": "mse", "learning_rate": 0.005, "weight_decay": 5.0}
FASTER = {"learning_rate": 0.02, "weight_decay": 0.3}
SQUARE = {"loss": "mse", "learning_rate": 0.005, "weight_decay": 1.0}

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
    "MLP 4 GELU, cross-entropy, AdamW, LayerNorm": {"model": "mlp", "activation": "gelu", "depth": 4, "norm": "layer"},
    "transformer 1, cross-entropy, AdamW": {"model": "transformer", "steps": 2000},
    "transformer 1, cross-entropy, Muon, LayerNorm": {"model": "transformer", "optimiser": "muon"} | FASTER,
    "transformer 1, MSE, AdamW, LayerNorm": {"model": "transformer", "norm": "layer", "loss": "mse", "steps": 2000},
    "transformer 1, cross-entropy, AdamW, dropout": {"model": "transformer", "dropout": 0.1, "steps": 2000},
    "transformer 2, cross-entropy, AdamW": {"model": "transformer", "depth": 2, "steps": 2000, "learning_rate": 0.0015},
}
"""Each setting, and what it has in place of its model's and optimiser's defaults."""


def model_of(setting: str) -> str:
    """The model that a setting trains."""
    return str(SETTINGS.get(setting, {}).get("model", "power"))


QUICK = ("x², MSE, AdamW", "MLP 2 ReLU, MSE, AdamW")
FACTORS = ((1.0, 1.0), (1.0, 0.4), (0.5, 2.0))
"""(learning rate, weight decay) of the variants of a setting, in units of its own."""

FRACTION, MORE = 0.5, 0.8
"""Share of the table to train on; and the larger one of the second look."""

KEYS = ("setting", "modulus", "polynomial", "seed", "fraction", "learning_rate", "weight_decay", "steps", "width")
MEASURED = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")

Rows = list[Values]


class Group(NamedTuple):
    """One ensemble: a setting in several variants (learning rate, weight decay), on some polynomials."""

    setting: str
    config: TrainConfig
    seeds: int
    polynomials: tuple[str, ...]
    variants: tuple[tuple[float, float], ...]
    fractions: tuple[float, ...] = (FRACTION,)

    def rows(self) -> Rows:
        """The networks, as far as they are known before training."""
        return [
            {
                "setting": self.setting,
                "modulus": self.config.modulus,
                "polynomial": polynomial,
                "seed": seed,
                "fraction": fraction,
                "learning_rate": rate,
                "weight_decay": decay,
                "steps": self.config.steps,
                "width": self.config.width,
            }
            for rate, decay in self.variants
            for fraction in self.fractions
            for polynomial in self.polynomials
            for seed in range(self.seeds)
        ]


def groups(*, quick: bool) -> list[Group]:
    """All ensembles; modulo 97 first."""
    small = {"width": 256} if quick else {}
    return [
        first_look(name, TrainConfig(CONTROLS[0], modulus, **(SETTINGS[name] | small)), 1 if quick else 2)
        for modulus in ((23,) if quick else (97, 23))
        for name in (QUICK if quick else SETTINGS)
    ]


def first_look(name: str, config: TrainConfig, seeds: int) -> Group:
    variants = dict.fromkeys((config.learning_rate * rate, config.weight_decay * decay) for rate, decay in FACTORS)
    return Group(name, config, seeds, POLYNOMIALS[config.modulus], tuple(variants))


def ensemble(group: Group) -> Ensemble:
    """The networks of a group, ready to begin side by side."""
    rows, config = group.rows(), group.config
    shape, *_ = replace(config, fraction=max(group.fractions)).task()
    tables = {text: function_table(text, config.modulus)[0] for text in group.polynomials}
    orders = {text: function_order(text, config.modulus) for text in group.polynomials}
    varied = {name: np.array([row[name] for row in rows]) for name in ("seed", "learning_rate", "weight_decay")}
    fixed = {name: getattr(config, name) for name in ("beta1", "beta2", "eps", "init_scale")}
    counts = np.array([train_count(row["fraction"], shape.rows) for row in rows])
    return Ensemble(
        shape,
        hyper(train_rows=counts, **varied, **fixed),
        np.stack([tables[row["polynomial"]] for row in rows]),
        [orders[row["polynomial"]] for row in rows],
    )


def key(row: Values) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEYS)


def read_rows(path: Path) -> Rows:
    return pq.read_table(path).to_pylist() if path.exists() else []


def write_rows(path: Path, rows: Rows) -> None:
    with whole_file(path) as temporary:
        pq.write_table(pa.Table.from_pylist(rows), temporary)
