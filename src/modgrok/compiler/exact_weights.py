"""Experts without error: the weights of a step with designed phases instead of random ones.

The one-hot of t in Z_m is a sum of characters, δ(t - q) = (1/m) Σ_f cos(2πf(t - q)/m) over all f. A design
(phases.py) computes one cosine of t = Σ_s g_s exactly, so all frequencies give the exact one-hot of t, and
summing the readout over the fibres of h gives the one-hot of h(t), for any h. A few frequencies, with the same
weights, still rank the right class first as long as their kernel K(t - q) has its only maximum at 0.

**Zero.** In a product an input that is zero has no angle; its columns are all zero. Let n be the number of
inputs that are not zero. For the designs used here the characters then add up to something that depends on n
and q alone, not on the other angles:

  * exact design: the S-th powers combine to Π_s cos(θ_s + φ_j), which is 0 as soon as one factor is;
  * narrow design (S = 2): with z_1 = 0, u = z_2 = -v, so u² - v² = 0 and |u|² + |v|² = 2 instead of 4;
  * sign character, S = 2: (ε_1 + ε_2)²/2 is 1/2 or 0.

So a correction that depends on n and q is enough. The S + 1 neurons (n - j)^S, j = 0 … S, span every function of
n = 0 … S (shifted powers of degree S are a basis of the polynomials of degree S), which makes zero exact in
every position. Where only the ranking counts, two neurons do: a constant one, and (S - n)^S, which votes for
the class of zero and is silent when no input is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from modgrok.base.errors import InputError
from modgrok.compiler.codes import CodeKernel
from modgrok.compiler.phases import Design, best_design, exact_design, narrow_design, over_fibres, real_design
from modgrok.compiler.random_weights import check_size
from modgrok.compiler.steps import ABSORBED, Step
from modgrok.networks.circuit import Expert

ZERO_VOTE = 4.0
"""How much above the other classes, at most √2 in size, zero is ranked when only the ranking counts."""

MOST_CHOICES, CHOICE_WORK = 400, 1 << 22
"""How many choices of frequencies are compared, and the elements of the group that they may take together."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """K(d) = offset + Σ_f weight_f · cos(2πf·d/m): what the logits are for t - q = d, before h."""

    order: int
    frequencies: Int[np.ndarray, "frequency"]
    weights: Float[np.ndarray, "frequency"]
    offset: float
    exact: bool

    @property
    def count(self) -> int:
        return len(self.frequencies)

    def waves(self) -> Iterator[tuple[int, float]]:
        """Each frequency with its weight."""
        return zip(self.frequencies.tolist(), self.weights.tolist(), strict=True)

    def values(self) -> Float[np.ndarray, "{self.order}"]:
        spectrum = np.zeros(self.order)
        np.add.at(spectrum, self.frequencies, self.weights / 2)
        np.add.at(spectrum, -self.frequencies % self.order, self.weights / 2)
        return self.offset + np.fft.fft(spectrum).real


AnyKernel: TypeAlias = Kernel | CodeKernel
"""How a step is computed: by waves over a cyclic group, or by codes."""


@lru_cache(maxsize=256)
def full_kernel(order: int) -> Kernel:
    """All frequencies: K is 1 at 0 and 0 elsewhere."""
    frequencies = np.arange(1, order // 2 + 1)
    weights = np.where(2 * frequencies == order, 1.0, 2.0) / order
    return Kernel(order, frequencies, weights, 1.0 / order, True)


@lru_cache(maxsize=256)
def short_kernel(order: int, count: int) -> Kernel:
    """`count` frequencies of equal weight, with K(0) = 1 and the largest gap to the next value that was found.

    One frequency prime to m has the gap 1 - cos(2π/m) whichever it is. For more, random choices are compared;
    the generator is seeded, so the same call gives the same kernel.
    """
    available = np.arange(1, order // 2 + 1)
    if count >= len(available):
        kernel = full_kernel(order)
        return kernel if order > 1 else Kernel(1, available, np.zeros(0), 1.0, True)
    if count == 1:
        return Kernel(order, np.array([1]), np.ones(1), 0.0, False)
    rng = np.random.default_rng(order)
    tries = min(MOST_CHOICES, max(4, CHOICE_WORK // order))
    choices = [np.sort(rng.choice(available, count, replace=False)) for _ in range(tries)]
    kernels = [Kernel(order, choice, np.full(count, 1.0 / count), 0.0, False) for choice in choices]
    return max(kernels, key=kernel_gap)


def kernel_gap(kernel: Kernel) -> float:
    """K(0) minus the largest other value."""
    values = kernel.values()
    return float(values[0] - values[1:].max(initial=-np.inf))


def frequency_design(step: Step, frequency: int) -> Design:
    """The narrowest design for one frequency of a step that leaves zeros correctable."""
    real = 2 * frequency == step.order
    if step.terms == 2:
        return real_design(2) if real else narrow_design()
    if step.absorbed is not None:
        return exact_design(step.terms)
    return real_design(step.terms) if real else best_design(step.terms)


def exact_width(step: Step, kernel: AnyKernel) -> int:
    """Hidden neurons that `exact_expert` will use."""
    if isinstance(kernel, CodeKernel):
        return kernel.expert.width
    if is_constant(step):
        return 1
    designs = [frequency_design(step, f) for f in kernel.frequencies.tolist()]
    if step.absorbed is None:
        shared = int(kernel.offset != 0 or any(design.constant for design in designs))
    elif kernel.exact:
        shared = step.terms + 1
    else:
        shared = 1 + any(design.constant for design in designs)
    return sum(design.width for design in designs) + shared


def is_constant(step: Step) -> bool:
    return bool((step.tables == step.tables[:, :1]).all())


def exact_expert(step: Step, kernel: AnyKernel) -> Expert:
    """Weights in float64 whose logits are K(t - q) summed over the fibres of h, with zero handled as above."""
    if isinstance(kernel, CodeKernel):
        return kernel.expert
    if step.absorbed is not None and step.terms == 1:
        raise InputError("a step with one input needs no absorbing element; write it as a sum of one term")
    width = exact_width(step, kernel)
    check_size(step, width)
    if is_constant(step):
        return constant_expert(step)
    embeds, readouts = [], []
    for frequency, weight in kernel.waves():
        embed, readout = frequency_design(step, frequency).block(step, frequency)
        embeds.append(embed)
        readouts.append(weight * readout)
    shared_embed, shared_readout = shared_neurons(step, kernel)
    embed = np.concatenate([*embeds, shared_embed], axis=2)
    readout = np.concatenate([*readouts, shared_readout])
    assert embed.shape[2] == width, (embed.shape, width)
    return Expert(embed, readout, step.terms)


def constant_expert(step: Step) -> Expert:
    """One neuron that is always 1 and votes for the only answer there is."""
    value = (
        step.absorbed if (step.tables[:, 0] == ABSORBED).any() else step.outputs[step.tables[:, 0].sum() % step.order]
    )
    readout = (np.arange(step.classes) == value).astype(float)[None]
    return Expert(np.full((step.terms, step.symbols, 1), 1.0 / step.terms), readout, step.terms)


def shared_neurons(
    step: Step, kernel: Kernel
) -> tuple[Float[np.ndarray, "term p width"], Float[np.ndarray, "width class"]]:
    """The neurons that all frequencies share: the constant one, and those that count zeros."""
    constants = constant_row(step, kernel)
    one = np.full((step.terms, step.symbols, 1), 1.0 / step.terms)
    if step.absorbed is None:
        return (one, constants) if constants.any() else (one[:, :, :0], constants[:0])
    counts = (step.tables != ABSORBED).astype(float)[:, :, None]
    zero = (np.arange(step.classes) == step.absorbed).astype(float)
    if kernel.exact:
        wanted = np.stack([zero] * step.terms + [constants[0]])
        wanted[:-1] -= zero_residue(step, kernel)
        shifts = np.arange(step.terms + 1)
        basis = (shifts[:, None] - shifts) ** float(step.terms)
        return counts - shifts / step.terms, np.linalg.solve(basis, wanted)
    vote = (1.0 - counts, ZERO_VOTE * zero[None])
    if not constants.any():
        return vote
    return np.concatenate([one, vote[0]], axis=2), np.concatenate([constants, vote[1]])


def constant_row(step: Step, kernel: Kernel) -> Float[np.ndarray, "1 class"]:
    """What must be added when no input is zero: the kernel's offset, less the designs' constants."""
    turn = 2 * np.pi / step.order
    row = np.full(step.order, kernel.offset)
    for frequency, weight in kernel.waves():
        constant = frequency_design(step, frequency).constant
        row -= weight * constant * np.cos(turn * (np.arange(step.order) * frequency % step.order))
    return over_fibres(step, row[None])


def zero_residue(step: Step, kernel: Kernel) -> Float[np.ndarray, "nonzero class"]:
    """What the characters add up to when only n = 0 … S-1 inputs are not zero; it depends on n and q alone.

    So it is read off at angle 0 of the inputs that are present.
    """
    turn = 2 * np.pi / step.order
    residue = np.zeros((step.terms, step.order))
    for frequency, weight in kernel.waves():
        design = frequency_design(step, frequency)
        readout = weight * design.readout(turn * (np.arange(step.order) * frequency % step.order))
        columns = design.embed(np.zeros((step.terms, 1, 1)))[:, 0, :]
        hidden = np.stack([columns[:n].sum(axis=0) for n in range(step.terms)])
        residue += hidden**step.terms @ readout
    return over_fibres(step, residue)
