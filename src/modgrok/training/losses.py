"""What training minimises."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int


def squared_error(logits: Float[Array, "row class"], targets: Int[Array, "row"]) -> Float[Array, "row"]:
    """Mean squared distance to the one-hot of the target, averaged over classes."""
    return jnp.mean((logits - jax.nn.one_hot(targets, logits.shape[-1])) ** 2, axis=-1)


def cross_entropy(logits: Float[Array, "row class"], targets: Int[Array, "row"]) -> Float[Array, "row"]:
    """-log of the softmax's share for the target."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets)


LOSSES: dict[str, Callable[[Array, Array], Array]] = {"mse": squared_error, "cross-entropy": cross_entropy}
