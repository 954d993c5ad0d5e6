"""By which steps training goes: optimisers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
import optax
from jaxtyping import Array


@runtime_checkable
class Rates(Protocol):
    """What an optimiser is set by; a `training.Hyper` has it."""

    @property
    def learning_rate(self) -> Array: ...
    @property
    def weight_decay(self) -> Array: ...
    @property
    def beta1(self) -> Array: ...
    @property
    def beta2(self) -> Array: ...
    @property
    def eps(self) -> Array: ...


def adamw(rates: Rates) -> optax.GradientTransformation:
    return optax.adamw(
        rates.learning_rate, b1=rates.beta1, b2=rates.beta2, eps=rates.eps, weight_decay=rates.weight_decay
    )


def adam(rates: Rates) -> optax.GradientTransformation:
    """Without weight decay."""
    return optax.adam(rates.learning_rate, b1=rates.beta1, b2=rates.beta2, eps=rates.eps)


def adam_l2(rates: Rates) -> optax.GradientTransformation:
    """Adam with weight decay added to the gradient, where its denominator undoes it: what AdamW was made to replace."""
    adam = optax.adam(rates.learning_rate, b1=rates.beta1, b2=rates.beta2, eps=rates.eps)
    return optax.chain(optax.add_decayed_weights(rates.weight_decay), adam)


def sgd(rates: Rates) -> optax.GradientTransformation:
    """Gradient descent with momentum beta1; weight decay is added to the gradient."""
    descent = optax.sgd(rates.learning_rate, momentum=rates.beta1)
    return optax.chain(optax.add_decayed_weights(rates.weight_decay), descent)


def muon(rates: Rates) -> optax.GradientTransformation:
    """Momentum beta1, orthogonalised, for every matrix; AdamW with the same rates for vectors."""
    return optax.contrib.muon(
        rates.learning_rate,
        beta=rates.beta1,
        weight_decay=rates.weight_decay,
        adam_b1=rates.beta1,
        adam_b2=rates.beta2,
        muon_weight_dimension_numbers=matrix_axes,
    )


def matrix_axes(params: Any) -> Any:
    """The last two axes of every leaf that has them; an embedding of several variables is a matrix for each."""
    numbers = optax.contrib.MuonDimensionNumbers
    return jax.tree.map(lambda leaf: numbers(leaf.ndim - 2, leaf.ndim - 1) if leaf.ndim > 1 else None, params)


OPTIMISERS: dict[str, Callable[[Rates], optax.GradientTransformation]] = {
    "adamw": adamw,
    "adam": adam,
    "adam-l2": adam_l2,
    "sgd": sgd,
    "muon": muon,
}
