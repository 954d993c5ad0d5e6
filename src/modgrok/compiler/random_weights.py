"""Weights of one two-layer expert, from the step of a plan that it computes.

All weights are closed forms in float64; rounding to the dtype of a network happens once, when it is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from modgrok.base.errors import InputError
from modgrok.compiler.phases import printed_amplitude
from modgrok.compiler.steps import ABSORBED, Step
from modgrok.networks.circuit import Expert

LARGEST_EXPERT = 1 << 28
"""Most weights that one expert may have."""


@dataclass(frozen=True, eq=False)
class Waves:
    """What makes every neuron a cosine: frequencies, and amplitude and phase of each block."""

    frequency: Int[np.ndarray, "width"]
    amplitude: Float[np.ndarray, "term width"]
    phase: Float[np.ndarray, "term width"]
    readout_amplitude: Float[np.ndarray, "width"]
    readout_phase: Float[np.ndarray, "width"]


def periodic_weights(
    step: Step, waves: Waves
) -> tuple[Float[np.ndarray, "term p width"], Float[np.ndarray, "width class"]]:
    """The embed and readout of neurons that are cosines over the group Z_m of a step.

        embed[s, i, k]  = a[s,k] · cos( 2π/m · f_k · g_s(i) + ψ[s,k])          0 where g_s(i) is absorbed
        readout[k, q]   = Σ over t with h(t) = q of  b_k · cos(-2π/m · f_k · t + ξ_k)

    Summing the readout over the fibre of q turns the indicator of t = Σ g_s into the indicator of
    q = h(Σ g_s), for any h, invertible or not. Arguments are reduced modulo m as integers, so that the
    cosines are accurate at every frequency.
    """
    turns = 2 * np.pi / step.order
    position = step.tables[:, :, None] * waves.frequency % step.order
    embed = waves.amplitude[:, None, :] * np.cos(turns * position + waves.phase[:, None, :])
    embed = np.where(step.tables[:, :, None] == ABSORBED, 0.0, embed)
    position = np.outer(waves.frequency, np.arange(step.order)) % step.order
    wave = waves.readout_amplitude[:, None] * np.cos(-turns * position + waves.readout_phase[:, None])
    readout = np.zeros((len(waves.frequency), step.classes))
    np.add.at(readout.T, step.outputs, wave.T)
    return embed, readout


def random_waves(terms: int, width: int, amplitude: float, rng: np.random.Generator) -> Waves:
    """The paper's choice: frequencies σ(k) for a permutation σ of 1 … N, phases uniform in (-π, π].

    Expanding the S-th power, the term in which every input occurs once carries cos(f(Σ g_s - q)) without any
    phase; all others keep a random phase and average away as the width grows.
    """
    phase = -rng.uniform(-np.pi, np.pi, size=(terms, width))
    return Waves(
        frequency=rng.permutation(np.arange(1, width + 1)),
        amplitude=np.full((terms, width), amplitude),
        phase=phase,
        readout_amplitude=np.full(width, amplitude),
        readout_phase=-phase.sum(axis=0),
    )


def table_amplitude(terms: int, width: int) -> float:
    """A = N^(-1/(S+1)), with which the errors printed in the paper's Table 1 come out; correct logit S!/2^S."""
    return float(width ** (-1 / (terms + 1)))


AMPLITUDES = {"printed": printed_amplitude, "table": table_amplitude}


def check_size(step: Step, width: int) -> None:
    """An `InputError` if an expert would have more weights than memory can be expected to hold."""
    weights = width * (step.symbols * step.terms + step.classes)
    if weights > LARGEST_EXPERT:
        raise InputError(
            f"one expert may have {LARGEST_EXPERT:,} weights, got {weights:,}: {width:,} neurons that read "
            f"{step.terms} values out of {step.symbols:,} and write one out of {step.classes:,}; use a smaller width, "
            "or with the exact method fewer frequencies: --frequencies minimal, or a number"
        )


def random_sum(step: Step, width: int, normalisation: str, rng: np.random.Generator) -> Expert:
    """The paper's expert for S-term addition (its equation solution_multisum), activation x^S."""
    if width < 1:
        raise InputError(f"the width of a sum expert must be at least 1, got {width}; try 2000")
    check_size(step, width)
    amplitude = AMPLITUDES[normalisation](step.terms, width)
    waves = random_waves(step.terms, width, amplitude, rng)
    return Expert(*periodic_weights(step, waves), step.terms)


def random_product(step: Step, width: int, rng: np.random.Generator) -> Expert:
    """The paper's expert for multiplication (its equation solution_mul), in any number of variables.

    Neuron 0 sees only zeros: it is 1 or more if any factor is zero, and votes for the class of zero. The
    other N - 1 neurons do not see zeros and add logarithms modulo p - 1. The printed amplitude (2/(N-1))^(-1/3)
    has a wrong sign in the exponent: with +1/3 the correct logit is 1. For S factors it is that of the sum.
    """
    if width < 2:
        raise InputError(
            f"the width of a product expert must be at least 2 (one neuron treats zero), got {width}; try 500"
        )
    check_size(step, width)
    waves = random_waves(step.terms, width - 1, printed_amplitude(step.terms, width - 1), rng)
    embed, readout = periodic_weights(step, waves)
    zero_embed = (step.tables == ABSORBED).astype(float)[:, :, None]
    zero_readout = (np.arange(step.classes) == step.absorbed).astype(float)[None, :]
    return Expert(np.concatenate([zero_embed, embed], axis=2), np.concatenate([zero_readout, readout]), step.terms)
