"""Weights of one two-layer expert, from the step of a plan that it computes.

All weights are closed forms in float64; rounding to the dtype of a network happens once, when it is made.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from modgrok.base.errors import InputError
from modgrok.compiler.phases import Design, paper_form, printed_amplitude
from modgrok.compiler.steps import ABSORBED, Step
from modgrok.networks.circuit import Expert

LARGEST_EXPERT = 1 << 28
"""Most weights that one expert may have."""


def random_waves(
    terms: int, width: int, amplitude: float, rng: np.random.Generator
) -> tuple[Design, Int[np.ndarray, "width"]]:
    """The paper's choice: phases uniform in (-π, π], and frequencies σ(k) for a permutation σ of 1 … N.

    Expanding the S-th power, the term in which every input occurs once carries cos(f(Σ g_s - q)) without any
    phase; all others keep a random phase and average away as the width grows.
    """
    design = paper_form("random", -rng.uniform(-np.pi, np.pi, size=(terms, width)), amplitude=amplitude)
    return design, rng.permutation(np.arange(1, width + 1))


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
    design, frequency = random_waves(step.terms, width, amplitude, rng)
    embed, readout = design.block(step, frequency)
    return Expert(embed, np.ascontiguousarray(readout), step.terms)


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
    design, frequency = random_waves(step.terms, width - 1, printed_amplitude(step.terms, width - 1), rng)
    embed, readout = design.block(step, frequency)
    readout = np.ascontiguousarray(readout)
    zero_embed = (step.tables == ABSORBED).astype(float)[:, :, None]
    zero_readout = (np.arange(step.classes) == step.absorbed).astype(float)[None, :]
    return Expert(np.concatenate([zero_embed, embed], axis=2), np.concatenate([zero_readout, readout]), step.terms)
