"""The gradient of the x² network on a GPU without its hidden layer in memory: two Pallas kernels (Triton).

XLA writes the hidden activations h[row, k] to memory and reads them again several times a step, and that is what a step
waits for. Here a row's activations live in registers only. With places a = n1 and b = p + n2 in the embedding E, which
holds both variables below each other, the network and its loss over m training rows are

    z[row, k] = E[a, k] + E[b, k]        h = z²        y = h W        L = Σ_row Σ_q (y - [q = f(n1, n2)])² / (m p)

and with the residual r = 2 (y - one-hot) / (m p)

    dW = hᵀ r        dz = 2 z ∘ (r Wᵀ)        dE[a, k] = Σ of dz[row, k] over the rows with that n1, and so for b.

* `residual_kernel`, one program for some rows: gathers columns of E, squares, multiplies by W, and stores r.
* `gradient_kernel`, one program for some neurons: walks over the rows, gathers and squares again, and sums dW and dE;
  the sums over rows that share a residue are products with one-hots, [a = i]ᵀ dz, which tensor cores do.

Both kernels read E and W in bfloat16, and fetch the columns of the next tile while they work on this one. Products
take bfloat16 and are summed in float32; weights, moments and optimiser stay in float32. No sum depends on the order in
which programs run, so the same training gives the same bits. Sizes are padded to those that tensor cores like; what is
padded is zero and stays zero: a neuron with no weights has no gradient, and no row reads a padded residue. Rows past
`count` are not visited, so networks of one program may train on different numbers of rows at no cost.

The kernels are those of one network, `vmap` makes them those of an ensemble. They run for what `applies` allows;
MODGROK_FUSED=off keeps to the float32 step everywhere.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from modgrok.networks.models import Model, Power

VARIABLE = "MODGROK_FUSED"
LEAST_MODULUS, LARGEST_MODULUS = 5, 128
FEWEST_NETWORKS = 8
"""One network has too few tiles to keep a GPU busy: alone, it trains faster the usual way."""


class Tiling(NamedTuple):
    """How much one program works on at once: rows, neurons of either kernel, and its threads in warps of 32."""

    rows: int
    neurons: int
    neurons_backward: int
    warps: int
    warps_backward: int
    stages: int = 1


TILINGS = {
    16: Tiling(32, 64, 64, 2, 2),
    32: Tiling(32, 64, 64, 4, 4),
    64: Tiling(64, 64, 64, 4, 4),
    128: Tiling(128, 64, 64, 8, 8),
}
"""By the padded modulus."""


def wanted(networks: int) -> bool:
    """Whether so many networks train faster with it: on a GPU, unless MODGROK_FUSED is off."""
    return (
        networks >= FEWEST_NETWORKS
        and jax.default_backend() == "gpu"
        and os.environ.get(VARIABLE, "").lower() not in ("off", "0", "no")
    )


def applies(model: Model, loss: object) -> bool:
    """Whether the kernels compute this network's gradient: x² of two variables, a square table, mean squared error."""
    return (
        type(model) is Power
        and model.residues == (model.classes,) * 2
        and LEAST_MODULUS <= model.classes <= LARGEST_MODULUS
        and (model.exponent, model.dropout, loss) == (2, 0, "mse")
    )


class TrainingRows(NamedTuple):
    """The training rows as the kernels read them: places in the embedding, targets, and how many of them count."""

    a: Int[Array, "row"]
    b: Int[Array, "row"]
    targets: Int[Array, "row"]
    counted: Int[Array, "1"]


def padded_modulus(modulus: int) -> int:
    return max(16, 1 << (modulus - 1).bit_length())


def tiling_of(modulus: int) -> Tiling:
    return TILINGS[padded_modulus(modulus)]


def round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def training_rows(
    model: Model, inputs: Int[Array, "row 2"], targets: Int[Array, "row"], count: Int[Array, ""]
) -> TrainingRows:
    """Rows of which the first `count` train, by rising n1: neighbours then gather the same columns.

    Those past `count` come last, and so does what is filled up to whole tiles.
    """
    rows, modulus = targets.size, model.classes
    key = jnp.where(jnp.arange(rows) < count, inputs[:, 0] * modulus + inputs[:, 1], modulus**2)
    order = jnp.argsort(key)
    fill = (0, round_up(rows, tiling_of(modulus).rows) - rows)
    a, b = inputs[order, 0], padded_modulus(modulus) + inputs[order, 1]
    return TrainingRows(jnp.pad(a, fill), jnp.pad(b, fill), jnp.pad(targets[order], fill), count.reshape(1))


def padded(tree: PyTree, model: Model) -> PyTree:
    """Weights, or anything with arrays of their shapes, in the sizes of whole tiles."""
    tiling = tiling_of(model.classes)
    more = (0, padded_modulus(model.classes) - model.classes)
    wider = (0, round_up(model.width, max(tiling.neurons, tiling.neurons_backward)) - model.width)
    embed, readout = (2, model.classes, model.width), (model.width, model.classes)
    fills = {embed: ((0, 0), more, wider), readout: (wider, more)}
    return jax.tree.map(lambda leaf: jnp.pad(leaf, fills.get(leaf.shape, 0)), tree)


def unpadded(tree: PyTree, like: PyTree) -> PyTree:
    """What `padded` was made from, or its successor of a later step: arrays of the shapes of `like`."""
    return jax.tree.map(lambda leaf, small: leaf[tuple(map(slice, small.shape))], tree, like)
