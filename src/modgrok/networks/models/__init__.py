"""What a network can be, one class in one file each: sizes and settings, and pure functions of the weights."""

from modgrok.networks.models.base import Blocks, Inside, Model, Rows, Statistics
from modgrok.networks.models.circuit_model import CircuitModel
from modgrok.networks.models.mlp import Mlp
from modgrok.networks.models.power import Power
from modgrok.networks.models.transformer import Transformer

MODELS: dict[str, type[Model]] = {model.name: model for model in (Power, Mlp, Transformer, CircuitModel)}
"""Every model by the name that files and settings give it."""


def trainable() -> tuple[str, ...]:
    """Models that a training can be asked for by name; a circuit needs a plan as well."""
    return tuple(name for name in MODELS if name != CircuitModel.name)


__all__ = [
    "MODELS",
    "Blocks",
    "CircuitModel",
    "Inside",
    "Mlp",
    "Model",
    "Power",
    "Rows",
    "Statistics",
    "Transformer",
    "trainable",
]
