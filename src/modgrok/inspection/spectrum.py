"""Fourier spectra of weights, and how periodic they are: the inverse participation ratio.

A model has blocks of weights (`Model.blocks`): in the power network a neuron k has one for each term, the vector
embed[s, ·, k] over residues, and one for the readout, the vector readout[k, ·] over classes. In the analytical
solutions every block is a cosine of the places that an order gives its residues (`inspection.order`).

IPR(u) = (‖F u‖_4 / ‖F u‖_2)^4 with F the one-sided DFT over places, including its constant bin: 1 for a pure cosine,
about 2 over the number of bins for noise. It has no scale, so a block is normalised before the DFT: weight decay
drives many neurons towards zero, and their ratio must not become 0/0.

`periodicity` is the only measure of it: training, census, inspection and report call it with the function's order.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.inspection.order import Places
from modgrok.networks.circuit import Weights
from modgrok.networks.models import Blocks

ALIVE = 1e-3
"""A neuron is alive if its squared norm is above this share of the largest neuron's."""

CONSTANT = 1e-6
"""An embed is constant if less than this share of its squared length is anything but its mean."""


class Periodicity(NamedTuple):
    """How periodic each neuron is. A constant neuron acts as a bias, not as a wave, and counts in no mean."""

    block_ipr: Float[Weights, "block width"]
    """0 for a block that is exactly zero, or that has no places."""
    ipr: Float[Weights, "width"]
    """The mean over a neuron's blocks that are not zero and have places; NaN where no block has places."""
    alive: Bool[Weights, "width"]
    constant: Bool[Weights, "width"]

    @property
    def active(self) -> Bool[Weights, "width"]:
        return self.alive & ~self.constant

    def mean(self) -> Float[Weights, ""]:
        """The mean IPR over all neurons."""
        return masked_mean(self.ipr, ~self.constant)

    def mean_alive(self) -> Float[Weights, ""]:
        """The mean IPR over the living ones."""
        return masked_mean(self.ipr, self.active)


def masked_mean(values: Float[Weights, "width"], mask: Bool[Weights, "width"]) -> Float[Weights, ""]:
    """The mean where the mask is true; 0 of nothing: networks may have no living neuron."""
    xp = arrays_of(values)
    mean: Weights = xp.asarray(xp.sum(xp.where(mask, values, 0)) / xp.maximum(xp.sum(mask), 1))
    return mean


def arrays_of(weights: Weights) -> ModuleType:
    """NumPy for weights on the host, where nothing has to be compiled, else JAX; the formulas are the same."""
    return np if isinstance(weights, np.ndarray) else jnp


def periodicity(blocks: Blocks, places: Places, *, constants: bool = True) -> Periodicity:
    """IPR of every neuron in an order, which neurons are alive, and which are constant.

    Without `constants` the bin of frequency zero is left out, and no neuron counts as constant.
    """
    xp = arrays_of(blocks.weights)
    power = block_power(blocks, places)
    if not constants:
        power = power * (xp.arange(power.shape[-1]) > 0)
    total = xp.sum(power, axis=-1)
    share = power / xp.where(total > 0, total, 1)[..., None]
    block_ipr = xp.sum(share**2, axis=-1)
    axes = xp.asarray(blocks.places)
    has_places = xp.asarray(places.period)[axes] > 0
    counted = (total > 0) & has_places[:, None]
    count = xp.sum(counted, axis=0)
    ipr = xp.sum(xp.where(counted, block_ipr, 0), axis=0) / xp.maximum(count, 1)
    flat = xp.where((axes < len(places.period) - 1)[:, None], (share[..., 0] > 1 - CONSTANT) | (total == 0), True)
    living = alive(blocks)
    constant = xp.all(flat, axis=0) & xp.any(counted, axis=0)
    return Periodicity(block_ipr, xp.where(xp.any(has_places), ipr, xp.nan), living, constant)


def block_power(blocks: Blocks, places: Places) -> Float[Weights, "block width frequency"]:
    """Squared one-sided DFT of every block scaled to largest weight 1, over its places; 0 past half of the period."""
    xp = arrays_of(blocks.weights)
    weights, axes = blocks.weights, xp.asarray(blocks.places)
    largest = xp.max(xp.abs(weights), axis=-1, keepdims=True)
    weights = weights / xp.where(largest > 0, largest, 1)
    length = weights.shape[-1]
    place, period = xp.asarray(places.place)[axes, :length], xp.asarray(places.period)[axes]
    frequency = xp.arange(length // 2 + 1)
    turns = (frequency[None, :, None] * place[:, None, :]) % xp.maximum(period, 1)[:, None, None]
    angle = 2 * xp.pi * turns / xp.maximum(period, 1)[:, None, None]
    used = (place >= 0)[:, None, :] & (2 * frequency[None, :] <= period[:, None])[:, :, None]
    cosine, sine = (xp.where(used, wave(angle), 0).astype(weights.dtype) for wave in (xp.cos, xp.sin))
    power: Weights = along(cosine, weights) ** 2 + along(sine, weights) ** 2
    return power


def along(
    waves: Float[Weights, "block frequency p"], weights: Float[Weights, "block width p"]
) -> Float[Weights, "block width frequency"]:
    """The products of weights and waves; NumPy leaves only those of matrices to its library."""
    if isinstance(weights, np.ndarray):
        found: np.ndarray = weights @ np.asarray(waves).swapaxes(1, 2)
        return found
    return jnp.einsum("bfp,bwp->bwf", waves, weights)


def axis_power(weights: Float[np.ndarray, "width p"], places: Places, axis: int) -> Float[np.ndarray, "frequency"]:
    """The squared weights of a block, all neurons together, by frequency f = 0 … m/2; their sum is that of squares.

    The root of an entry is the norm of the weights at that frequency.
    """
    place, period = np.asarray(places.place)[axis], int(places.period[axis])
    placed = np.flatnonzero(place >= 0)
    along = weights[:, placed[np.argsort(place[placed])]]
    return np.asarray(one_sided(period) * np.sum(np.abs(np.fft.rfft(along, axis=1)) ** 2, axis=0) / period)


def one_sided(period: int) -> Int[np.ndarray, "frequency"]:
    """How many of ±f there are for f = 0 … m/2: one for 0 and m/2, else two."""
    frequency = np.arange(period // 2 + 1)
    return np.where(2 * frequency % period == 0, 1, 2)


def neuron_norm(blocks: Blocks) -> Float[Weights, "width"]:
    """Length of each neuron's weights over all its blocks."""
    xp = arrays_of(blocks.weights)
    norms: Weights = xp.sqrt(xp.sum(blocks.weights**2, axis=(0, 2)))
    return norms


def alive(blocks: Blocks) -> Bool[Weights, "width"]:
    """Which neurons have a squared norm above `ALIVE` times the largest one; none if all weights are zero.

    The square is the share of the weights that weight decay has left to a neuron.
    """
    square = neuron_norm(blocks) ** 2
    return square > ALIVE * square.max()
