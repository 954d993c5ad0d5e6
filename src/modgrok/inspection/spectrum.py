"""Fourier spectra of an expert's weights, and how periodic they are: the inverse participation ratio.

A neuron k has one block per term, the vector embed[s, ·, k] over residues, and one for the readout, the vector
readout[k, ·]. In the analytical solutions every block is a cosine: over residues in their natural order for
sums, over residues in the order g^0, g^1, … (zero left out) for products. `order` is that list of residues.

IPR(u) = (‖F u‖_4 / ‖F u‖_2)^4 with F the one-sided DFT including its constant bin: 1 for a pure cosine, about
2 over the number of bins for noise. It has no scale, so a block is normalised before the DFT: weight decay
drives many neurons towards zero, and their ratio must not become 0/0.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int

from modgrok.algebra.field import exp_table
from modgrok.networks.circuit import Expert

ALIVE = 1e-3
"""A neuron is alive if its squared norm is above this share of the largest neuron's."""


def additive_order(p: int) -> Int[np.ndarray, "{p}"]:
    return np.arange(p)


def multiplicative_order(p: int) -> Int[np.ndarray, "{p}-1"]:
    """The non-zero residues as g^0, g^1, …: the order in which a product's weights are periodic."""
    return exp_table(p)


def blocks(expert: Expert, order: Int[np.ndarray, "residue"]) -> Float[Array, "block width residue"]:
    """The blocks of every neuron, one per term and then the readout, over residues in the given order."""
    embed = jnp.swapaxes(expert.embed[:, order, :], 1, 2)
    return jnp.concatenate([embed, expert.readout[None, :, order]])


def normalised_spectrum(expert: Expert, order: Int[np.ndarray, "residue"]) -> Complex[Array, "block width frequency"]:
    """One-sided DFT of every block scaled to unit length; a block that is exactly zero has spectrum zero."""
    block = blocks(expert, order)
    largest = jnp.max(jnp.abs(block), axis=-1, keepdims=True)
    block = block / jnp.where(largest > 0, largest, 1)
    spectrum = jnp.fft.rfft(block, axis=-1)
    norm = jnp.sqrt(jnp.sum(jnp.abs(spectrum) ** 2, axis=-1, keepdims=True))
    return spectrum / jnp.where(norm > 0, norm, 1)


def block_ipr(expert: Expert, order: Int[np.ndarray, "residue"]) -> Float[Array, "block width"]:
    """IPR of every block of every neuron; 0 for a block that is exactly zero."""
    power = jnp.abs(normalised_spectrum(expert, order)) ** 2
    return jnp.sum(power**2, axis=-1)


def neuron_ipr(expert: Expert, order: Int[np.ndarray, "residue"]) -> Float[Array, "width"]:
    """IPR_k of every neuron: the mean over its blocks. A block that is exactly zero counts as 0."""
    return jnp.mean(block_ipr(expert, order), axis=0)


def neuron_norm(expert: Expert) -> Float[Array, "width"]:
    """Length of each neuron's weights over all its blocks."""
    return jnp.sqrt(jnp.sum(expert.embed**2, axis=(0, 1)) + jnp.sum(expert.readout**2, axis=1))


def alive(expert: Expert) -> Bool[Array, "width"]:
    """Which neurons have a squared norm above `ALIVE` times the largest one; none if all weights are zero.

    The square is the share of the weights that weight decay has left to a neuron.
    """
    square = neuron_norm(expert) ** 2
    return square > ALIVE * jnp.max(square)
