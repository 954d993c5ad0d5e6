"""What suits a model and an optimiser: settings that grok n1 + n2 modulo 97, as far as docs/models.md says so."""

from __future__ import annotations

from typing import Any

from modgrok.errors import InputError
from modgrok.training.steps import TrainConfig

MODELS: dict[str, dict[str, Any]] = {
    "power": {},
    "mlp": {"depth": 3, "width": 256, "loss": "cross-entropy", "learning_rate": 0.01, "weight_decay": 3.0},
    "transformer": {
        "depth": 1,
        "width": 128,
        "loss": "cross-entropy",
        "learning_rate": 0.003,
        "weight_decay": 1.0,
        "init_scale": 1.0,
        "steps": 3000,
    },
}
"""What a model has in place of `TrainConfig`'s own defaults."""

OPTIMISER: dict[str, dict[str, dict[str, Any]]] = {
    "power": {
        "adam": {"weight_decay": 0.0},
        "sgd": {"learning_rate": 50.0, "weight_decay": 2e-6, "steps": 5000},
        "muon": {"learning_rate": 0.01, "weight_decay": 1.0, "beta1": 0.95},
    },
    "mlp": {
        "adam": {"weight_decay": 0.0},
        "sgd": {"learning_rate": 0.5, "weight_decay": 1e-3, "steps": 5000},
        "muon": {"learning_rate": 0.1, "weight_decay": 0.2, "beta1": 0.95, "steps": 2000},
    },
    "transformer": {
        "adam": {"weight_decay": 0.0},
        "sgd": {"learning_rate": 0.05, "weight_decay": 1e-3, "steps": 10000},
        "muon": {"norm": "layer", "learning_rate": 0.01, "weight_decay": 0.6, "beta1": 0.95, "steps": 1000},
    },
}
"""What a model has in place of that, with another optimiser than AdamW."""


def preset(**given: Any) -> TrainConfig:
    """The config of these settings; what is not given is what suits the model and the optimiser."""
    model = given.get("model", "power")
    if model not in MODELS:
        raise InputError(f"model must be {' or '.join(MODELS)}, got {model!r}")
    settings = MODELS[model] | OPTIMISER[model].get(given.get("optimiser", "adamw"), {})
    return TrainConfig(**(settings | given))
