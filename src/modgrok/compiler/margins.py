"""How wide the margins of a plan will be, before its weights are given out: what frequencies and temperatures
follow from.

For each expert: its margin in real arithmetic, which follows from the kernel and the tables alone; a bound on
how far the computed logits can be from the ideal ones; and the inverse temperature that makes its softmax
one-hot up to rounding. If margin > 2·bound for every expert, the argmax should be right on the whole table. That is an
estimate, from the plan; whether the weights compute what was typed is for `modgrok.proofs` to say.

**The bound** (Higham's model: every operation has relative error at most u, n of them γ_n = nu/(1 - nu)).
Let a_j = Σ_s max_i |embed[s,i,j]| bound the hidden neuron j. Term s carries a relative error δ_s: u for the rounded
weight and, if it reads another expert, γ_p for mixing p columns and 2τ for the mass τ that its softmax puts
elsewhere and takes from the right one: 1 + δ_s = (1 + u)(1 + γ_p)(1 + 2τ). So the hidden neuron is off by at most
E_j = Σ_s (δ_s + γ_S(1 + δ_s))·max_i|embed[s,i,j]|, its power by (a_j + E_j)^P(1 + γ_P) - a_j^P, and a logit by

    Σ_j |readout[j,q]| · ((a_j + E_j)^P(1 + γ_P)(1 + u)(1 + γ_N) - a_j^P).

**The softmax.** Computed logits of wrong classes are at least margin - 2·bound below that of the right one. Softmax
multiplies them by β and takes the largest away: roundings of numbers of size β·max|logit|, which cost at most
4β·u·max|logit|. With g = margin - 2·bound - 4u·max|logit| every wrong class gets at most e^(-βg), all of them together
p·e^(-βg), and sum and quotient are rounded by at most (p + 4)u:

    τ = p·e^(-βg) + (p + 4)u.

β = (log p + log 1/u)/g makes the first part as small as u. A much smaller β leaves a large τ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from modgrok.compiler.codes import CodeKernel
from modgrok.compiler.exact_weights import ZERO_VOTE, AnyKernel, Kernel, constant_row, is_constant, zero_residue
from modgrok.compiler.steps import Plan, Step
from modgrok.networks.circuit import Expert

CHUNK = 256


@dataclass(frozen=True)
class ExpertMargin:
    """The margin in real arithmetic, a bound on the error of a logit, β chosen from both, the mass on other classes."""

    margin: float
    bound: float
    beta: float
    leak: float

    @property
    def enough(self) -> bool:
        return bool(self.margin > 2 * self.bound and np.isfinite(self.leak))


def expert_margins(
    plan: Plan,
    kernels: Sequence[AnyKernel],
    experts: Sequence[Expert],
    dtype: str,
    betas: Sequence[float] | None = None,
) -> list[ExpertMargin]:
    """Those of all experts in order, each with the leaks of those that it reads.

    Without `betas` each β is chosen; with them the margins are of the network that has these.
    """
    unit = float(np.finfo(dtype).eps) / 2
    found: list[ExpertMargin] = []
    given = [None] * len(experts) if betas is None else betas
    for step, kernel, expert, beta in zip(plan.steps, kernels, experts, given, strict=True):
        leaks = [found[w - len(plan.names)].leak if w >= len(plan.names) else None for w in step.inputs]
        margin, largest = step_margin(step, kernel)
        bound = logit_bound(expert, leaks, unit)
        found.append(through_softmax(margin, bound, largest, step.classes, unit, beta))
    return found


def through_softmax(
    margin: float, bound: float, largest: float, classes: int, unit: float, beta: float | None = None
) -> ExpertMargin:
    """The leak of an expert's softmax for a given β, or for the β that makes it as small as rounding."""
    gap = margin - 2 * bound - 4 * unit * (largest + bound)
    if not gap > 0:
        return ExpertMargin(margin, bound, 1.0 if beta is None else beta, np.inf)
    beta = softmax_beta(gap, classes, unit) if beta is None else beta
    leak = float(classes * np.exp(-beta * gap) + (classes + 4) * unit)
    return ExpertMargin(margin, bound, beta, leak)


def softmax_beta(gap: float, classes: int, unit: float) -> float:
    """The β at which softmax puts no more than about a rounding unit on classes that are `gap` or more below."""
    return float((np.log(classes) + np.log(1 / unit)) / gap)


def logit_bound(expert: Expert, leaks: Sequence[float | None], unit: float) -> float:
    """The largest possible difference between a computed logit and the ideal one; infinite where a leak is."""
    if any(leak == np.inf for leak in leaks):
        return np.inf

    def gamma(n: int) -> float:
        return n * unit / (1 - n * unit)

    def both(a: float, b: float) -> float:
        """(1 + a)(1 + b) - 1"""
        return a + b + a * b

    residues = expert.embed.shape[1]
    largest = np.abs(np.asarray(expert.embed)).max(axis=1)
    relative = np.array([unit if leak is None else both(unit, both(gamma(residues), 2 * leak)) for leak in leaks])
    error = ((relative + gamma(expert.terms) * (1 + relative))[:, None] * largest).sum(axis=0)
    ideal = largest.sum(axis=0)
    power, width = expert.power, expert.width
    computed = (ideal + error) ** power * (1 + gamma(power)) * (1 + unit) * (1 + gamma(width))
    here = max(16, power * (expert.terms + 1)) * np.finfo(float).eps  # what evaluating the bound rounds itself
    off = computed - ideal**power + here * computed
    return float((off @ np.abs(np.asarray(expert.readout))).max())


def step_margin(step: Step, kernel: AnyKernel) -> tuple[float, float]:
    """(smallest correct logit minus best wrong one, largest logit in size) over all inputs, in real arithmetic.

    With no input zero the logits are K(t - t') summed over the t' in each fibre of h; with some input zero
    they depend only on how many are not.
    """
    if isinstance(kernel, CodeKernel):
        return kernel.margin, kernel.largest
    if is_constant(step):
        return 1.0, 1.0
    injective = np.bincount(step.outputs).max() == 1
    margin, largest = _injective(step, kernel) if injective else _by_fibres(step, kernel)
    if step.absorbed is None:
        return margin, largest
    logits = zero_logits(step, kernel)
    right = logits[:, step.absorbed]
    wrong = np.delete(logits, step.absorbed, axis=1).max(axis=1)
    return min(margin, float((right - wrong).min())), max(largest, float(np.abs(logits).max()))


def zero_logits(step: Step, kernel: Kernel) -> Float[np.ndarray, "nonzero class"]:
    """Ideal logits when n = 0 … S-1 of the inputs are not zero."""
    zero = (np.arange(step.classes) == step.absorbed).astype(float)
    if kernel.exact:
        return np.stack([zero] * step.terms)
    votes = ZERO_VOTE * (step.terms - np.arange(step.terms)) ** float(step.terms)
    return np.asarray(zero_residue(step, kernel) + constant_row(step, kernel) + votes[:, None] * zero)


def _injective(step: Step, kernel: Kernel) -> tuple[float, float]:
    """Every class has at most one preimage: only t - t' counts; classes without one have logit 0."""
    values = kernel.values()
    others = values[1:].max(initial=-np.inf)
    if step.classes > step.order:
        others = max(others, 0.0)
    return float(values[0] - others), float(np.abs(values).max())


def _by_fibres(step: Step, kernel: Kernel) -> tuple[float, float]:
    """Any h: the logits of a class are the kernel convolved with the indicator of its fibre."""
    transform = np.fft.rfft(kernel.values())
    right, wrong, largest = np.empty(step.order), np.full(step.order, -np.inf), 0.0
    for begin in range(0, step.classes, CHUNK):
        classes = np.arange(begin, min(begin + CHUNK, step.classes))
        fibres = step.outputs[None, :] == classes[:, None]
        logits = np.fft.irfft(np.fft.rfft(fibres) * transform, step.order)
        inside = fibres.any(axis=0)
        right[inside] = (logits * fibres).sum(axis=0)[inside]
        wrong = np.maximum(wrong, np.where(fibres, -np.inf, logits).max(axis=0))
        largest = max(largest, float(np.abs(logits).max()))
    return float((right - wrong).min()), largest
