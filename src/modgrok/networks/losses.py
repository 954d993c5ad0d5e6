"""What training minimises. A loss is one function, and a new one is an entry in `LOSSES`, or an object of the user's.

    loss(logits, targets)        logits: (row, class), targets: (row), the right classes; returns a number for each row

Training takes the mean over its rows and differentiates it, so a loss is written with `jax.numpy`. Measuring, the views
of `inspection` and the diagnosis of trainings call the same function: there is no other declaration of a loss.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from modgrok.base.errors import InputError
from modgrok.base.objects import Registry

Loss: TypeAlias = Callable[[Array, Array], Array]


def squared_error(logits: Float[Array, "row class"], targets: Int[Array, "row"]) -> Float[Array, "row"]:
    """Mean squared distance to the one-hot of the target, averaged over classes."""
    return jnp.mean((logits - jax.nn.one_hot(targets, logits.shape[-1])) ** 2, axis=-1)


def cross_entropy(logits: Float[Array, "row class"], targets: Int[Array, "row"]) -> Float[Array, "row"]:
    """-log of the softmax's share for the target."""
    return jnp.asarray(optax.softmax_cross_entropy_with_integer_labels(logits, targets))


LOSSES: Registry[Loss] = Registry("loss", {"mse": squared_error, "cross-entropy": cross_entropy})


def check_loss(loss: Loss, classes: int) -> None:
    """An `InputError` unless a loss gives one number for each row."""
    try:
        found = jax.eval_shape(loss, jnp.zeros((3, classes)), jnp.zeros(3, jnp.int32))
        shape = getattr(found, "shape", None)
    except (TypeError, ValueError) as error:
        raise InputError(f"the loss cannot be called with (logits, targets): {str(error).splitlines()[0]}") from None
    if shape != (3,):
        raise InputError(
            f"a loss gives one number for each row, got the shape {shape} for 3 rows of logits; leave out the mean "
            "over the rows, or average over the last axis alone"
        )


def losses_of_rows(
    loss: Loss, logits: Float[np.ndarray, "row class"], answers: Int[np.ndarray, "row"]
) -> Float[np.ndarray, "row"]:
    """A loss on the host, in float64."""
    with jax.enable_x64(True):
        return np.asarray(loss(jnp.asarray(logits, jnp.float64), jnp.asarray(answers)))


@lru_cache(maxsize=256)
def blank_loss(loss: Loss, classes: int) -> float:
    """The loss of a network that answers 0 everywhere: 1/p for the squared error, log p for cross-entropy."""
    return float(losses_of_rows(loss, np.zeros((1, classes)), np.zeros(1, np.int64))[0])
