"""Fourier spectra of an expert's weights, and how periodic they are: the inverse participation ratio.

A neuron k has one block per term, the vector embed[s, ·, k] over residues, and one for the readout, the
vector readout[k, ·]. In the analytical solutions every block is a cosine: over residues in their natural
order for sums, over residues in the order g^0, g^1, … (zero left out) for products. `order` is that list of
residues.

IPR(u) = (‖F u‖_4 / ‖F u‖_2)^4 with F the one-sided DFT including its constant bin: 1 for a pure cosine, about
2 over the number of bins for noise. It has no scale, so a block is normalised before the DFT: weight decay
drives many neurons towards zero, and their ratio must not become 0/0.

`fit_waves` reads one cosine off every block. With residues numbered r = 0 … m-1 along the order, the
analytical network for  q = c_1 r_1 + … + c_S r_S + d  modulo m  has

    embed[s, r, k]  = a_s cos(2π c_s f r / m + ψ_s)          readout[k, q] = a_Q cos(2π f q / m + ψ_Q)

with one frequency f per neuron, multipliers c_s that all neurons share (the coefficients of a sum, the
exponents of a product), and phases under one law. The only term of readout · (Σ_s embed)^S that peaks at
the right q is cos(2π f (Σ c_s r_s - q) / m + Σ ψ_s - ψ_Q), and its peak lies at q = Σ c_s r_s + d if and
only if

    ψ_1 + … + ψ_S = ψ_Q + 2π f d / m        (the phase law; d = 0 for a plain sum or product).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int

from modgrok.circuit import Expert
from modgrok.field import exp_table

ALIVE = 1e-3
"""A neuron is alive if its norm is above this share of the largest neuron's."""

CONSTANT = 1e-6
"""An embed is constant if less than this share of its squared length is anything but its mean."""

TIE = 1e-9
"""Signs and offsets whose agreement with the phase law differs by less are as good as each other."""


def additive_order(p: int) -> Int[np.ndarray, "p"]:
    return np.arange(p)


def multiplicative_order(p: int) -> Int[np.ndarray, p - 1]:
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
    """Which neurons have a norm above `ALIVE` times the largest one; none if all weights are zero."""
    norm = neuron_norm(expert)
    return norm > ALIVE * jnp.max(norm)


@dataclass(frozen=True)
class Waves:
    """The cosine fitted to every block of every neuron, in the notation of the module's docstring.

    All fields are float64 on the host. `frequency` is f; block b is fitted at c_b f, whatever its own
    strongest frequency is. Dead neurons (not `alive`) and constant ones are fitted too, but take no part in
    finding `multipliers` and `offset`.
    """

    order: Int[np.ndarray, "residue"]
    multipliers: tuple[int, ...]
    offset: int
    frequency: Int[np.ndarray, "width"]
    amplitude: Float[np.ndarray, "block width"]
    phase: Float[np.ndarray, "block width"]
    explained: Float[np.ndarray, "block width"]
    """Share of a block's squared length that its cosine carries; 0 for a block that is zero."""
    strongest: Int[np.ndarray, "block width"]
    """The block's own strongest frequency, one-sided: 0 … m/2."""
    present: Bool[np.ndarray, "block width"]
    """Which blocks are not exactly zero."""
    alive: Bool[np.ndarray, "width"]
    constant: Bool[np.ndarray, "width"]
    """Neurons whose embed is the same at every residue of the order: they act as a bias, not as a wave."""

    @property
    def period(self) -> int:
        return len(self.order)

    @property
    def active(self) -> Bool[np.ndarray, "width"]:
        """The neurons that statistics are about: alive, and not constant."""
        return self.alive & ~self.constant

    @property
    def block_frequency(self) -> Int[np.ndarray, "block width"]:
        """c_b f modulo m, with the readout's multiplier 1 last."""
        return np.outer([*self.multipliers, 1], self.frequency) % self.period

    @property
    def common(self) -> Bool[np.ndarray, "width"]:
        """Neurons whose blocks all are strongest at c_b f; a block that is zero does not object."""
        return np.all((self.strongest == fold(self.block_frequency, self.period)) | ~self.present, axis=0)

    @property
    def has_phases(self) -> Bool[np.ndarray, "width"]:
        """Active neurons with a phase in every block: at frequencies 0 and m/2 a wave has only a sign."""
        return self.active & np.all(self.present & (2 * self.block_frequency % self.period != 0), axis=0)

    @property
    def residual(self) -> Float[np.ndarray, "width"]:
        """ψ_Q + 2π f d / m - Σ ψ_s in (-π, π]; it means something where `has_phases` is true."""
        shift = 2 * np.pi * self.frequency * self.offset / self.period
        return wrap(self.phase[-1] + shift - self.phase[:-1].sum(axis=0))


def wrap(angle: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The same angle in (-π, π]."""
    return -((np.pi - angle) % (2 * np.pi) - np.pi)


def fold(frequency: Int[np.ndarray, "..."], period: int) -> Int[np.ndarray, "..."]:
    """A frequency modulo the period as the one-sided DFT sees it: f and -f are the same."""
    return np.minimum(frequency % period, -frequency % period)


def fit_waves(expert: Expert, order: Int[np.ndarray, "residue"]) -> Waves:
    """One cosine per block: frequencies from where the neuron's spectra peak together, by least squares."""
    with jax.enable_x64(True):
        block = np.asarray(blocks(expert, order), dtype=np.float64)
        living, norm = np.asarray(alive(expert)), np.asarray(neuron_norm(expert), dtype=np.float64)
    period = len(order)
    coefficient = np.fft.fft(block, axis=-1) / period
    power = np.abs(coefficient[..., : period // 2 + 1]) ** 2
    power[..., 1 : (period + 1) // 2] *= 2  # both f and -f; 0 and m/2 stand alone
    total = np.mean(block**2, axis=-1)
    present = total > 0
    share = power / np.where(present, total, 1)[..., None]
    strongest = np.argmax(power, axis=-1)
    constant = (norm > 0) & np.all((share[:-1, :, 0] > 1 - CONSTANT) | ~present[:-1], axis=0)

    weight = np.where(living & ~constant, np.sqrt(total).prod(axis=0), 0)  # what it adds to the output
    multipliers = [_multiplier(strongest[-1], own, weight, period) for own in strongest[:-1]]
    aligned = fold(np.outer([*multipliers, 1], np.arange(period // 2 + 1)), period)
    together = sum(share[b][:, index] for b, index in enumerate(aligned))
    frequency = np.argmax(together, axis=-1)

    own = np.outer([*multipliers, 1], frequency) % period
    fitted = np.take_along_axis(coefficient, own[..., None], axis=-1)[..., 0]
    alone = 2 * own % period == 0
    signs, offset = _signs_and_offset(
        np.angle(fitted), frequency, np.where(alone.any(axis=0), 0, weight), period
    )
    turned = np.where(np.array([*signs, 1])[:, None] < 0, fitted.conj(), fitted)
    return Waves(
        order=order,
        multipliers=tuple(sign * c for sign, c in zip(signs, multipliers)),
        offset=offset,
        frequency=frequency,
        amplitude=np.abs(fitted) * np.where(alone, 1, 2),
        phase=np.angle(turned),
        explained=np.take_along_axis(share, fold(own, period)[..., None], axis=-1)[..., 0],
        strongest=strongest,
        present=present,
        alive=living,
        constant=constant,
    )


def _multiplier(
    readout: Int[np.ndarray, "width"],
    embed: Int[np.ndarray, "width"],
    weight: Float[np.ndarray, "width"],
    period: int,
) -> int:
    """The smallest c with  c · readout ≡ ± embed  for the most neurons, by weight; 1 if most do not agree.

    For one neuron the solutions are c_0 + j m/g with g = gcd(readout, m), if g divides embed, and their
    negatives.
    """
    votes = np.zeros(period)
    pairs, index = np.unique(np.stack([readout, embed]), axis=1, return_inverse=True)
    for f, f_s, w in zip(*pairs.tolist(), np.bincount(index.ravel(), weight)):
        g = gcd(f, period)
        if f_s % g == 0:
            c = f_s // g * pow(f // g, -1, period // g) % (period // g)
            for start in {c, -c % (period // g)}:
                votes[start :: period // g] += w
    best = 1 + int(np.argmax(np.roll(votes, -1)[: max(period // 2, 1)]))
    return best if 2 * votes[best % period] > weight.sum() else 1


def _signs_and_offset(
    phase: Float[np.ndarray, "block width"],
    frequency: Int[np.ndarray, "width"],
    weight: Float[np.ndarray, "width"],
    period: int,
) -> tuple[Sequence[int], int]:
    """The signs of the multipliers and the offset d that fit the phase law best; +1 and 0 if none fits.

    A one-sided spectrum cannot tell c_s from -c_s: turning the sign turns ψ_s. For given signs, the
    weighted mean cosine of the residual, as a function of d, is the DFT over f of  Σ_k w_k exp(i(Σ ± ψ_s -
    ψ_Q)).
    """
    best: tuple[Sequence[int], int] = ((1,) * (len(phase) - 1), 0)
    highest = 0.5  # noise reaches less; without a law there is nothing to align
    for signs in product((1, -1), repeat=len(phase) - 1):
        gap = np.exp(1j * (np.array(signs) @ phase[:-1] - phase[-1])) * weight
        at_frequency = np.bincount(frequency, gap.real, period) + 1j * np.bincount(
            frequency, gap.imag, period
        )
        agreement = np.fft.fft(at_frequency).real / max(weight.sum(), np.finfo(float).tiny)
        offset = int(np.argmax(agreement > agreement.max() - TIE))
        if agreement[offset] > highest + TIE:
            best, highest = (signs, offset), agreement[offset]
    return best
