"""One cosine per block of weights: the frequency, amplitude and phase of every neuron, and the law between phases.

Let the residues of input s lie at places g_s(i) on a circle of m places, and the class h(t) at place t. The
analytical network for  q = h(g_1(n_1) + … + g_S(n_S))  has, with one frequency f per neuron k,

    embed[s, i, k] = a_s cos(2π f g_s(i) / m + ψ_s)
    readout[k, q]  = Σ over t with h(t) = q of a_Q cos(2π f t / m + ψ_Q)

The only term of readout · (Σ_s embed)^S that peaks at the right class is cos(2π f (Σ g_s - t) / m + Σ ψ_s - ψ_Q),
and it peaks at t = Σ g_s for every f if and only if  ψ_1 + … + ψ_S = ψ_Q: the phase law.

`fit_waves` takes the places to be those of one list of residues r = 0 … m-1 (natural order, or g^0, g^1, … for
products), up to multipliers c_s and an offset d that it finds: t = c_1 r_1 + … + c_S r_S + d. They are the
coefficients of a sum, or the exponents and the logarithm of the coefficient of a product. `fit_labels` takes any
places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

import numpy as np
from jaxtyping import Bool, Complex, Float, Int

from modgrok.inspection.order import Labels
from modgrok.inspection.spectrum import CONSTANT, alive, neuron_norm, one_sided
from modgrok.networks.circuit import Expert
from modgrok.networks.models import Blocks
from modgrok.networks.models.power import expert_blocks

TIE = 1e-9
"""Shares of power, or of agreement with the phase law, that differ by less are as good as each other."""


@dataclass(frozen=True, eq=False)
class FittedWaves:
    """The cosine fitted to every block of every neuron, in the notation of the module's docstring.

    All fields are float64 on the host. All blocks of a neuron are fitted at its one frequency f, whatever their own
    strongest is. Dead neurons (not `alive`) and constant ones are fitted too, but have no say in `multipliers` and
    `offset`. Places in `labels` include the multipliers and not the offset.
    """

    labels: Labels
    multipliers: tuple[int, ...]
    offset: int
    frequency: Int[np.ndarray, "width"]
    amplitude: Float[np.ndarray, "block width"]
    phase: Float[np.ndarray, "block width"]
    turns: Bool[np.ndarray, "block width"]
    """Whether the wave has a phase; at some frequencies, 0 and m/2 among them, it has only a sign."""
    explained: Float[np.ndarray, "block width"]
    """Share of a block's squared length that its cosine carries; 0 for a block that is zero."""
    share: Float[np.ndarray, "block width frequency"]
    """The same for every frequency 0 … m/2 of the block itself, multipliers left aside."""
    common: Bool[np.ndarray, "width"]
    """Neurons of which no block is stronger at another frequency."""
    present: Bool[np.ndarray, "block width"]
    """Which blocks are not exactly zero."""
    alive: Bool[np.ndarray, "width"]
    constant: Bool[np.ndarray, "width"]
    """Neurons whose embed is the same wherever there is a place: they act as a bias, not as a wave."""

    @property
    def period(self) -> int:
        return self.labels.period

    @property
    def active(self) -> Bool[np.ndarray, "width"]:
        """The neurons that statistics are about: alive, and not constant."""
        return np.asarray(self.alive & ~self.constant)

    @property
    def block_frequency(self) -> Int[np.ndarray, "block width"]:
        """c_b f modulo m, with the readout's multiplier 1 last."""
        return np.outer([*self.multipliers, 1], self.frequency) % self.period

    @property
    def has_phases(self) -> Bool[np.ndarray, "width"]:
        """Active neurons with a phase in every block: those that the phase law is about."""
        return np.asarray(self.active & np.all(self.present & self.turns, axis=0))

    @property
    def readout_phase(self) -> Float[np.ndarray, "width"]:
        """ψ_Q with the offset taken into account: ψ_Q + 2π f d / m, which the law says is Σ ψ_s."""
        return np.asarray(self.phase[-1] + 2 * np.pi * self.frequency * self.offset / self.period)

    @property
    def residual(self) -> Float[np.ndarray, "width"]:
        """What the law is off by, in (-π, π]; it means something where `has_phases` is true."""
        return wrap(self.readout_phase - self.phase[:-1].sum(axis=0))


def wrap(angle: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The same angle in (-π, π]."""
    return -((np.pi - angle) % (2 * np.pi) - np.pi)


def fold(frequency: Int[np.ndarray, "..."], period: int) -> Int[np.ndarray, "..."]:
    """A frequency modulo the period as the one-sided DFT sees it: f and -f are the same."""
    return np.asarray(np.minimum(frequency % period, -frequency % period))


def fit_waves(expert: Expert, order: Int[np.ndarray, "residue"]) -> FittedWaves:
    """The waves of an expert along a list of residues, with the multipliers and the offset that fit best."""
    embed, readout = (np.asarray(weights, np.float64) for weights in (expert.embed, expert.readout))
    block = np.concatenate([embed[:, order].transpose(0, 2, 1), readout[None, :, order]])
    period = len(order)
    phasor = np.fft.rfft(block, axis=-1) / period * one_sided(period)
    total = np.mean(block**2, axis=-1)
    share = np.abs(phasor) ** 2 / one_sided(period) / np.where(total > 0, total, 1)[..., None]
    living, constant = _alive_and_constant(expert, share, total)
    vote = np.where(living & ~constant, np.sqrt(total).prod(axis=0), 0)  # what the neuron adds to the output
    strongest = np.argmax(share, axis=-1)
    multipliers = [_multiplier(strongest[-1], own, vote, period) for own in strongest[:-1]]

    index = np.outer([*multipliers, 1], np.arange(period // 2 + 1)) % period
    aligned = np.stack([values[:, fold(own, period)] for values, own in zip(share, index, strict=True)])
    frequency = np.argmax(aligned.sum(axis=0), axis=-1)
    own = index[:, frequency]
    fitted = np.take_along_axis(phasor, fold(own, period)[..., None], axis=-1)[..., 0]
    fitted = np.where(2 * own > period, fitted.conj(), fitted)
    turns = 2 * own % period != 0
    signs, offset = _signs_and_offset(np.angle(fitted), frequency, np.where(turns.all(axis=0), vote, 0), period)
    fitted = np.where(np.array([*signs, 1])[:, None] < 0, fitted.conj(), fitted)
    signed = tuple(sign * c for sign, c in zip(signs, multipliers, strict=True))
    tables = np.full(expert.embed.shape[:2], -1)
    tables[:, order] = np.outer(signed, np.arange(period)) % period
    labels = Labels(period, tables, np.asarray(order))
    return _collect(expert, labels, signed, offset, frequency, fitted, turns, aligned, share, total)


def fit_labels(expert: Expert, labels: Labels) -> FittedWaves:
    """The waves of an expert along given places, by least squares.

    For one block and frequency let x_i be e^{2πi f g(i)/m}, or for the readout the sum of e^{2πi f t/m} over the places
    of class i, and u_i the weights. The best z = a e^{iψ} in  u ≈ Re(z x)  solves  2P = z A + z̄ C̄  with
    P = Σ u x̄,  A = Σ |x|²,  C = Σ x², so that  z = 2(A P - C̄ P̄) / (A² - |C|²); it explains Re(z̄ P) of Σ u². Where
    A = |C| the wave has only a sign, and z = P / A.
    """
    weights = [*np.asarray(expert.embed, np.float64), np.asarray(expert.readout, np.float64).T]
    phasors, shares, totals, turning = [], [], [], []
    for u, x in zip(weights, label_waves(labels), strict=True):
        placed = np.abs(x[:, 0]) > 0
        total = np.sum(u[placed] ** 2, axis=0)
        p, a, c = u.T @ x.conj(), np.sum(np.abs(x) ** 2, axis=0), np.sum(x**2, axis=0)
        determinant = a**2 - np.abs(c) ** 2
        turns = determinant > TIE * a**2
        alone = p / np.where(a > 0, a, 1)
        z = np.where(turns, 2 * (a * p - (c * p).conj()) / np.where(turns, determinant, 1), alone)
        phasors.append(z)
        shares.append((z.conj() * p).real / np.where(total > 0, total, 1)[:, None])
        totals.append(total)
        turning.append(turns)
    share, total = np.stack(shares), np.stack(totals)
    frequency = np.argmax(share.sum(axis=0), axis=-1)
    fitted = np.take_along_axis(np.stack(phasors), np.broadcast_to(frequency, total.shape)[..., None], axis=-1)[..., 0]
    turns, ones = np.stack(turning)[:, frequency], (1,) * expert.terms
    return _collect(expert, labels, ones, 0, frequency, fitted, turns, share, share, total)


def label_waves(labels: Labels) -> list[Complex[np.ndarray, "p frequency"]]:
    """The waves x of `fit_labels`, for each input and the readout, at all frequencies 0 … m/2; 0 off the circle."""
    frequency = np.arange(labels.period // 2 + 1)

    def turn(places: Int[np.ndarray, "n"]) -> Complex[np.ndarray, "n frequency"]:
        return np.exp(2j * np.pi / labels.period * (np.outer(places, frequency) % labels.period))

    inputs = [np.where(table[:, None] >= 0, turn(table), 0) for table in labels.tables]
    readout = np.zeros_like(inputs[0])
    np.add.at(readout, labels.outputs[labels.reached], turn(labels.reached))
    return [*inputs, readout]


def host_blocks(expert: Expert) -> Blocks:
    """The blocks of an expert in float64 on the host."""
    embed, readout = (np.asarray(weights, np.float64) for weights in (expert.embed, expert.readout))
    return expert_blocks(Expert(embed, readout, expert.power), tuple(range(expert.terms)), expert.terms)


def _alive_and_constant(
    expert: Expert, share: Float[np.ndarray, "block width frequency"], total: Float[np.ndarray, "block width"]
) -> tuple[Bool[np.ndarray, "width"], Bool[np.ndarray, "width"]]:
    blocks = host_blocks(expert)
    living, norm = np.asarray(alive(blocks)), np.asarray(neuron_norm(blocks))
    flat = (share[:-1, :, 0] > 1 - CONSTANT) | (total[:-1] == 0)
    return living, (norm > 0) & flat.all(axis=0)


def _collect(
    expert: Expert,
    labels: Labels,
    multipliers: tuple[int, ...],
    offset: int,
    frequency: Int[np.ndarray, "width"],
    fitted: Complex[np.ndarray, "block width"],
    turns: Bool[np.ndarray, "block width"],
    aligned: Float[np.ndarray, "block width frequency"],
    share: Float[np.ndarray, "block width frequency"],
    total: Float[np.ndarray, "block width"],
) -> FittedWaves:
    """The result of either fit; `aligned` is `share` at the multiples c_s f of each f."""
    living, constant = _alive_and_constant(expert, share, total)
    explained = np.take_along_axis(aligned, np.broadcast_to(frequency, total.shape)[..., None], axis=-1)[..., 0]
    return FittedWaves(
        labels=labels,
        multipliers=multipliers,
        offset=offset,
        frequency=frequency,
        amplitude=np.abs(fitted),
        phase=np.angle(fitted),
        turns=turns,
        explained=explained,
        share=share,
        common=np.all(explained > share.max(axis=-1) - TIE, axis=0),
        present=total > 0,
        alive=living,
        constant=constant,
    )


def _multiplier(
    readout: Int[np.ndarray, "width"],
    embed: Int[np.ndarray, "width"],
    vote: Float[np.ndarray, "width"],
    period: int,
) -> int:
    """The smallest c >= 1 with  c · readout ≡ ± embed  for the most neurons, by vote; 1 if most do not agree.

    For one neuron the solutions are c_0 + j m/g with g = gcd(readout, m), if g divides embed, and their negatives.
    """
    votes = np.zeros(period)
    pairs, index = np.unique(np.stack([readout, embed]), axis=1, return_inverse=True)
    for f, f_s, v in zip(*pairs.tolist(), np.bincount(index.ravel(), vote), strict=True):
        g = gcd(f, period)
        if f_s % g == 0:
            c = f_s // g * pow(f // g, -1, period // g) % (period // g)
            for start in {c, -c % (period // g)}:
                votes[start :: period // g] += v
    best = 1 + int(np.argmax(np.roll(votes, -1)[: max(period // 2, 1)]))
    return best if 2 * votes[best % period] > vote.sum() else 1


def _signs_and_offset(
    phase: Float[np.ndarray, "block width"],
    frequency: Int[np.ndarray, "width"],
    vote: Float[np.ndarray, "width"],
    period: int,
) -> tuple[Sequence[int], int]:
    """The signs of the multipliers and the offset d that fit the phase law best; +1 and 0 if none fits.

    A one-sided spectrum cannot tell c_s from -c_s: turning the sign turns ψ_s. For given signs, the mean cosine of the
    residual, weighted with votes, is as a function of d the DFT over f of  Σ_k v_k exp(i(Σ ± ψ_s - ψ_Q)).
    """
    best: tuple[Sequence[int], int] = ((1,) * (len(phase) - 1), 0)
    highest = 0.5  # noise reaches less; without a law there is nothing to align
    for signs in product((1, -1), repeat=len(phase) - 1):
        gap = np.exp(1j * (np.array(signs) @ phase[:-1] - phase[-1])) * vote
        at_frequency = np.bincount(frequency, gap.real, period) + 1j * np.bincount(frequency, gap.imag, period)
        agreement = np.fft.fft(at_frequency).real / max(vote.sum(), np.finfo(float).tiny)
        offset = int(np.argmax(agreement > agreement.max() - TIE))
        if agreement[offset] > highest + TIE:
            best, highest = (signs, offset), agreement[offset]
    return best
