"""What the layouts of state dicts share: what is said of a network, what a reading is, tensors of the right shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import PyTree, Shaped

from modgrok.base.errors import InputError
from modgrok.networks.circuit import Expert
from modgrok.networks.models import Mlp, Model, Transformer
from modgrok.networks.models.mlp import MlpWeights
from modgrok.networks.readers.asking import Sizes

WEIGHTS = {"relu": 1.0, "square": 1 / 1.75}
"""Weights do not say what stands between them. ReLU is what people take. Networks that were trained with x² are 2 to 3
times as sure of their answers when they are read with x² as when they are read with ReLU, and networks that were
trained with ReLU or GELU up to 1.5 times, so that x² must be surer by more than that. GELU and tanh cannot be told from
ReLU."""

TensorsByName: TypeAlias = Mapping[str, Shaped[np.ndarray, "..."]]


@dataclass(frozen=True)
class Said:
    """What the user says of a network, None where nothing: sizes, token of "=", activation, heads."""

    sizes: Sizes | None = None
    equals: int | bool | None = None
    activation: str | None = None
    heads: int | None = None

    @property
    def variables(self) -> int:
        return 2 if self.sizes is None else len(self.sizes.residues)

    def of(self, modulus: int, variables: int | None = None) -> Sizes:
        """The sizes that were said, or those of a modulus that the shapes tell."""
        return Sizes((modulus,) * (variables or self.variables), modulus) if self.sizes is None else self.sizes

    def activations(self, usual: Sequence[str]) -> Sequence[str]:
        return usual if self.activation is None else (self.activation,)


class Reading(NamedTuple):
    """A model with weights that a state dict may be, and what was taken for it, in words.

    Where nothing but weights is known, `weight` multiplies its sureness; 0 is taken only if somebody says so. Where the
    file has one class more than there are values, that of "=", `equals` are the weights that give its logit alone.
    """

    model: Model
    params: PyTree
    words: str
    weight: float = 1.0
    equals: PyTree | None = None

    def without_equals(self) -> Reading:
        """The reading with as many classes as its model has."""
        classes = self.model.classes
        if self.params.readout.shape[1] <= classes:
            return self
        values, behind = (of_classes(self.params, part) for part in (slice(classes), slice(classes, None)))
        return self._replace(params=values, equals=behind)


def of_classes(params: Any, part: slice) -> Any:
    """The weights that give the logits of some classes."""
    readout = np.ascontiguousarray(params.readout[:, part])
    if isinstance(params, Expert):
        return replace(params, readout=readout)
    if isinstance(params, MlpWeights):
        biases = (*params.biases[:-1], *(bias[part] for bias in params.biases[-1:]))
        return params._replace(readout=readout, biases=biases)
    return params._replace(readout=readout, bias=None if params.bias is None else params.bias[part])


class Misfit(InputError):
    """A layout is recognised by its names and does not hold together; the message says what is missing or wrong."""


def check_shape(tensors: TensorsByName, name: str, shape: Sequence[int]) -> np.ndarray:
    """A tensor of the shape that its layout must have; a `Misfit` otherwise."""
    if name not in tensors:
        raise Misfit(f"{name} of shape {tuple(shape)} is missing")
    if tensors[name].shape != tuple(shape):
        raise Misfit(f"{name} must have the shape {tuple(shape)}, got {tensors[name].shape}")
    return np.asarray(tensors[name])


def check_used(tensors: TensorsByName, used: set[str]) -> None:
    if unused := sorted(set(tensors) - used):
        raise Misfit(f"{unused[0]} of shape {tensors[unused[0]].shape} has no place in it")


def with_activations(model: Mlp | Transformer, params: PyTree, words: str, names: Sequence[str]) -> list[Reading]:
    """A reading with each of these activations."""
    return [
        Reading(replace(model, activation=name), params, f"{words}, {name}", weight_of(name, names)) for name in names
    ]


def weight_of(activation: str, among: Sequence[str]) -> float:
    """The weight of an activation: 1 for the one that was said."""
    return 1.0 if len(among) == 1 else WEIGHTS.get(activation, 0.0)
