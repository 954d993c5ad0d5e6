"""Settings that grok n1 + n2 modulo 97, for every model, loss and optimiser."""

from __future__ import annotations

from typing import Any

from modgrok.errors import InputError
from modgrok.training import TrainConfig

MODELS: dict[str, dict[str, Any]] = {
    "power": {},
    "mlp": {
        "depth": 3,
        "width": 256,
        "loss": "cross-entropy",
        "learning_rate": 0.003,
        "weight_decay": 3.0,
    },
    "transformer": {
        "depth": 1,
        "width": 128,
        "loss": "cross-entropy",
        "learning_rate": 0.001,
        "weight_decay": 1.0,
        "init_scale": 1.0,
        "steps": 4000,
    },
}
"""What each model has in place of `TrainConfig`'s own defaults."""

OPTIMISER: dict[str, dict[str, Any]] = {
    "adamw": {},
    "adam": {"weight_decay": 0.0},
    "sgd": {"learning_rate": 1.0, "weight_decay": 1e-4},
    "muon": {"learning_rate": 0.01, "weight_decay": 1.0, "beta1": 0.95},
}
"""What each optimiser has in place of that."""


def preset(**given: Any) -> TrainConfig:
    """The config of these settings; what is not given is what suits the model and the optimiser."""
    model, optimiser = given.get("model", "power"), given.get("optimiser", "adamw")
    for name, value, known in (("model", model, MODELS), ("optimiser", optimiser, OPTIMISER)):
        if value not in known:
            raise InputError(f"{name} must be {' or '.join(known)}, got {value!r}")
    return TrainConfig(**(MODELS[model] | OPTIMISER[optimiser] | given))
