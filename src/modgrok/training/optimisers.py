"""By which steps training goes: optimisers.

An optimiser is a function of the settings that it takes, under their names; they are traced, so that one compilation
serves all their values. An `optax.GradientTransformation` is one, too: it has its rates inside, and no settings.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import TypeAlias

import jax
import optax
from jaxtyping import Array, Float, PyTree

from modgrok.base.errors import InputError
from modgrok.base.objects import Registry

Rate: TypeAlias = Float[Array, ""]
Optimiser: TypeAlias = Callable[..., optax.GradientTransformation] | optax.GradientTransformation


def adamw(learning_rate: Rate, weight_decay: Rate, beta1: Rate, beta2: Rate, eps: Rate) -> optax.GradientTransformation:
    return optax.adamw(learning_rate, b1=beta1, b2=beta2, eps=eps, weight_decay=weight_decay)


def adam(learning_rate: Rate, beta1: Rate, beta2: Rate, eps: Rate) -> optax.GradientTransformation:
    """Without weight decay."""
    return optax.adam(learning_rate, b1=beta1, b2=beta2, eps=eps)


def adam_l2(
    learning_rate: Rate, weight_decay: Rate, beta1: Rate, beta2: Rate, eps: Rate
) -> optax.GradientTransformation:
    """Adam with weight decay added to the gradient, where its denominator undoes it: what AdamW was made to replace."""
    return optax.chain(optax.add_decayed_weights(weight_decay), adam(learning_rate, beta1, beta2, eps))


def sgd(learning_rate: Rate, weight_decay: Rate, beta1: Rate) -> optax.GradientTransformation:
    """Gradient descent with momentum beta1; weight decay is added to the gradient."""
    return optax.chain(optax.add_decayed_weights(weight_decay), optax.sgd(learning_rate, momentum=beta1))


def muon(learning_rate: Rate, weight_decay: Rate, beta1: Rate, beta2: Rate) -> optax.GradientTransformation:
    """Momentum beta1, orthogonalised, for every matrix; AdamW with the same rates for vectors."""
    return optax.contrib.muon(
        learning_rate,
        beta=beta1,
        weight_decay=weight_decay,
        adam_b1=beta1,
        adam_b2=beta2,
        muon_weight_dimension_numbers=matrix_axes,
    )


def matrix_axes(params: PyTree) -> PyTree:
    """The last two axes of every leaf that has them; an embedding of several variables is a matrix for each."""
    numbers = optax.contrib.MuonDimensionNumbers
    return jax.tree.map(lambda leaf: numbers(leaf.ndim - 2, leaf.ndim - 1) if leaf.ndim > 1 else None, params)


OPTIMISERS: Registry[Optimiser] = Registry(
    "optimiser", {"adamw": adamw, "adam": adam, "adam-l2": adam_l2, "sgd": sgd, "muon": muon}
)


def rates_of(optimiser: Optimiser) -> tuple[str, ...]:
    """The settings that an optimiser takes; none for one that is made already.

    >>> rates_of(sgd), rates_of(optax.lion(0.001))
    (('learning_rate', 'weight_decay', 'beta1'), ())
    """
    if isinstance(optimiser, optax.GradientTransformation):
        return ()
    if not callable(optimiser):
        raise InputError(
            f"an optimiser must be {' or '.join(OPTIMISERS.words())}, one of optax, or a function that makes one, "
            f"got {type(optimiser).__name__}; optax.lion(1e-3), say"
        )
    return tuple(signature(optimiser).parameters)


def optimiser_with(optimiser: str | Optimiser, settings: object) -> optax.GradientTransformation:
    """The optimiser with the rates that it takes from some settings, which have them as attributes."""
    made = OPTIMISERS.thing(optimiser)
    if isinstance(made, optax.GradientTransformation):
        return made
    return made(**{name: getattr(settings, name) for name in rates_of(made)})
