"""What suits a model and an optimiser: settings that grok n1 + n2 modulo 97, as far as docs/models.md says so.

`TrainConfig` takes from here whatever is not given, so Python and the command line train the same network.
"""

from __future__ import annotations

from typing import Any

from modgrok.networks.models import MODELS, model_name
from modgrok.training.optimisers import OPTIMISERS, rates_of
from modgrok.training.settings import SETTINGS

DEFAULTS: dict[str, Any] = {name: each.default for name, each in SETTINGS.items()}
"""Of the paper's network. What the paper calls Adam with weight decay 5 is AdamW with β = (0.9, 0.98)."""

OF_MODEL: dict[str, dict[str, Any]] = {
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
"""What a model has in place of that."""

OF_OPTIMISER: dict[str, dict[str, dict[str, Any]]] = {
    "power": {
        "sgd": {"learning_rate": 50.0, "weight_decay": 2e-6, "steps": 5000},
        "muon": {"learning_rate": 0.01, "weight_decay": 1.0, "beta1": 0.95},
    },
    "mlp": {
        "sgd": {"learning_rate": 0.5, "weight_decay": 1e-3, "steps": 5000},
        "muon": {"learning_rate": 0.1, "weight_decay": 0.2, "beta1": 0.95, "steps": 2000},
    },
    "transformer": {
        "sgd": {"learning_rate": 0.05, "weight_decay": 1e-3, "steps": 10000},
        "muon": {"norm": "layer", "learning_rate": 0.01, "weight_decay": 0.6, "beta1": 0.95, "steps": 1000},
    },
}
"""What a model has in place of that, with another optimiser than AdamW."""


def preset(model: str, optimiser: str) -> dict[str, Any]:
    """Every setting of a training with this model and optimiser; a model without presets has its class's defaults."""
    name = model_name(model)
    kind = MODELS.get(name)
    own = () if kind is None or name == "power" else kind.settings()
    chosen = OF_MODEL.get(name, {each: getattr(kind, each) for each in own if each in DEFAULTS})
    chosen = chosen | OF_OPTIMISER.get(name, {}).get(optimiser, {}) | {"model": model, "optimiser": optimiser}
    if optimiser in OPTIMISERS and "weight_decay" not in rates_of(OPTIMISERS[optimiser]):
        chosen["weight_decay"] = 0.0
    return DEFAULTS | chosen
