"""What a network can be, one class in one file each: sizes and settings, and pure functions of the weights."""

import json
from collections.abc import Collection
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.objects import Registry
from modgrok.base.results import field_values, json_text
from modgrok.networks.models.base import (
    Blocks as Blocks,
    Inside as Inside,
    Model as Model,
    Rows as Rows,
    Statistics as Statistics,
)
from modgrok.networks.models.circuit_model import CircuitModel as CircuitModel
from modgrok.networks.models.logits_table import Logits as Logits
from modgrok.networks.models.mlp import Mlp as Mlp
from modgrok.networks.models.power import Power as Power
from modgrok.networks.models.transformer import Transformer as Transformer

MODELS: Registry[type[Model]] = Registry(
    "model",
    {model.name: model for model in (Power, Mlp, Transformer, CircuitModel, Logits)},
    hidden=("circuit", "logits"),
)
"""Every model by the name that files and settings give it; no training asks for a circuit, which needs a plan, nor for
logits, which others computed."""


def trainable() -> tuple[str, ...]:
    """Models that a training can be asked for by name."""
    return MODELS.words()


def model_word(model: Model, known: Collection[str]) -> str:
    """A model as a word: its name, and fields that are no settings of trainings where they are not the class's.

    The class goes by that name from now on, unless the name is that of a model of modgrok's own.
    """
    kind = type(model)
    MODELS.register(kind.name, kind)
    own = {name: value for name, value in field_values(model).items() if name in kind.settings() and name not in known}
    changed = {name: value for name, value in own.items() if value != getattr(kind, name, None)}
    inside = ", ".join(f"{name}={json_text(value)}" for name, value in changed.items())
    return f"{kind.name}({inside})" if changed else kind.name


def model_name(word: str) -> str:
    """The name of a model, without the fields that its word may have.

    >>> model_name("ranked(rank=5)"), model_fields("ranked(rank=5)")
    ('ranked', {'rank': 5})
    """
    return word.partition("(")[0]


def model_fields(word: str) -> dict[str, Any]:
    """The fields that the word of a model has."""
    inside = word.partition("(")[2].removesuffix(")")
    try:
        pairs = [part.split("=", 1) for part in inside.split(", ")] if inside else []
        return {name: json.loads(value) for name, value in pairs}
    except ValueError:
        raise InputError(f"the model {word!r} cannot be read; write name(field=value, field=value)") from None
