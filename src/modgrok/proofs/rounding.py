"""How far a computed logit can be from the exact one, for the weights as they are.

The model is Higham's: an operation in a precision of unit u errs by a factor of at most 1 + u, and n of them by 1 +
γ_n, γ_n = nu / (1 - nu), in whatever order they are done; results below the smallest normal number, η, may be lost
altogether. So the bounds hold for NumPy, for JAX on any device in full precision, and for other orders of
summation.

**A layer.** Let a bound |x| and e the error of x. Then φ(x) = x^P errs by at most (a + e)^P (1 + γ_P) - a^P, ReLU by e,
GELU by 1.13 e and 16u(a + e) for its own evaluation; and the product with a matrix W of n rows by

    (e + γ_{n+1}(a + e)) |W|        beside what underflow takes.

**Reading another expert.** Its softmax is the one-hot of its answer but for a mass τ that it puts elsewhere: the
term is off by 2τ + γ_p, relative to the largest weight of its neuron. With logits that lead by at least g, g less
all errors, and an inverse temperature β, τ is at most c·e^(-βg) + (c + 8)u for c classes; βg is rounded too, which
costs 4u·max|logit|. Where β·logit is not rounded before the largest is taken away (a fused multiplication), the
exponent of the answer is no 0 but as much as u·β·|logit|, and exp of that may be infinite: where 4u·β·max|logit| is 1
or more, nothing is known of the softmax. exp and tanh are trusted to 8 units.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from modgrok.proofs.proof import NoProof

ACTIVATIONS = ("power", "relu", "gelu")
MOST_POWER = 4000


class Expert(NamedTuple):
    """Layers between symbols and classes: embed[s, x_s] summed over the terms s, then φ and a matrix, once or more.

    `alphabets` says how many symbols each term can read, and `beta` is the inverse temperature of its softmax, through
    which others read it.
    """

    embed: np.ndarray
    matrices: tuple[np.ndarray, ...]
    activation: str
    power: int
    alphabets: tuple[int, ...]
    beta: float

    @property
    def classes(self) -> int:
        return int(self.matrices[-1].shape[1])

    @property
    def dtype(self) -> np.dtype:
        return self.embed.dtype

    def check(self) -> None:
        """Refuse what is no network of finite numbers, all of one precision, whose shapes fit."""
        arrays = (self.embed, *self.matrices)
        shapes = [array.shape for array in arrays]
        fits = self.embed.ndim == 3 and all(array.ndim == 2 for array in self.matrices) and bool(self.matrices)
        fits = fits and all(before[-1] == after[0] for before, after in pairwise(shapes))
        fits = fits and len(self.alphabets) == shapes[0][0] and all(1 <= a <= shapes[0][1] for a in self.alphabets)
        if not (fits and self.activation in ACTIVATIONS and self.power >= 1 and self.classes >= 2):
            raise NoProof("its shapes do not fit together")
        if self.power > MOST_POWER:
            raise NoProof(f"a power of {self.power} is above the {MOST_POWER} whose rounding is bounded")
        if {array.dtype for array in arrays} not in ({np.dtype("float32")}, {np.dtype("float64")}):
            raise NoProof("its weights are not all float32 or all float64")
        if not all(np.isfinite(array).all() for array in arrays) or not np.isfinite(self.beta):
            raise NoProof("its weights are not all finite")


def activated(expert: Expert, x: np.ndarray) -> np.ndarray:
    if expert.activation == "relu":
        return np.asarray(np.maximum(x, 0))
    if expert.activation == "gelu":
        return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))
    found = x
    for _ in range(expert.power - 1):
        found = found * x
    return found


def exact_logits(expert: Expert, columns: Sequence[np.ndarray]) -> np.ndarray:
    """Logits of rows of symbols in float64, from the weights as they are."""
    x = sum(expert.embed[s][column].astype(float) for s, column in enumerate(columns))
    for matrix in expert.matrices:
        x = activated(expert, x) @ matrix.astype(float)
    return np.asarray(x)


class Bound(NamedTuple):
    """The most that a computed logit is off, and the most that an exact one can be in size."""

    error: float
    size: float


EXACT = None
"""The precision of real numbers: nothing is rounded."""


def logit_bound(
    expert: Expert,
    precision: np.dtype | None,
    leaks: Sequence[float | None] = (),
    shifts: np.ndarray | float = 0.0,
) -> Bound:
    """The bound of the module's head; `leaks` of the experts that terms read, None for variables.

    `shifts` are how far the sums of the first layer are off already, for weights that stand for others.
    """
    numbers = None if precision is EXACT else np.finfo(precision)
    unit, tiny = (0.0, 0.0) if numbers is None else (float(numbers.eps) / 2, float(numbers.tiny))
    limit = np.inf if numbers is None else float(numbers.max) / 16

    def fitting(ideal: np.ndarray, error: np.ndarray) -> np.ndarray:
        """The most that numbers can be in size, if the precision has such numbers: infinities have no rounding."""
        high = ideal + error
        if not (high < limit).all():
            raise NoProof(f"its numbers may overflow {precision}")
        return np.asarray(high)

    def gamma(n: int) -> float:
        if n * unit > 0.01:
            raise NoProof(f"{n} operations in {precision} are too many to bound")
        return n * unit / (1 - n * unit)

    largest = np.stack([np.abs(expert.embed[s, :a]).max(axis=0) for s, a in enumerate(expert.alphabets)]).astype(float)
    read = leaks or (None,) * len(largest)
    mixing = [
        0 if t is None else gamma(a) + 2 * t * (1 + gamma(a)) for t, a in zip(read, expert.alphabets, strict=True)
    ]
    ideal = largest.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # what is no number does not fit
        error = np.asarray(mixing) @ largest + shifts
        error = error + gamma(len(largest)) * (ideal + error) + len(largest) * tiny
        for matrix in expert.matrices:
            weights, n = np.abs(matrix).astype(float), len(matrix)
            fitting(ideal, error)
            ideal, error = activated_bound(expert, ideal, error, gamma(expert.power), unit, tiny)
            high = fitting(ideal, error)
            error = (error + gamma(n + 1) * high + tiny) @ weights + tiny * (n + high.sum())
            ideal = ideal @ weights
            fitting(ideal, error)
    slack = 1 + 1e-6  # what evaluating the bound itself rounds
    return Bound(float(error.max()) * slack, float(ideal.max()) * slack)


def activated_bound(
    expert: Expert, ideal: np.ndarray, error: np.ndarray, gamma: float, unit: float, tiny: float
) -> tuple[np.ndarray, np.ndarray]:
    high = ideal + error
    if expert.activation == "relu":
        return ideal, error
    if expert.activation == "gelu":
        return ideal, 1.13 * error + 16 * unit * high + 4 * tiny
    p = expert.power
    computed = high**p * (1 + gamma)
    here = max(16, 4 * p) * np.finfo(float).eps * computed  # what this difference rounds itself
    return ideal**p, computed - ideal**p + here + p * tiny * np.maximum(1, high) ** (p - 1)


def running_bound(expert: Expert, columns: Sequence[np.ndarray], precision: np.dtype) -> np.ndarray:
    """The same for given rows of symbols, each logit by itself, from the numbers that occur there: finer and dearer."""
    numbers = np.finfo(precision)
    unit, tiny = float(numbers.eps) / 2, float(numbers.tiny)

    def gamma(n: int) -> float:  # `logit_bound` has seen that n·u is small
        return n * unit / (1 - n * unit)

    terms = [expert.embed[s][column].astype(float) for s, column in enumerate(columns)]
    x, error = np.sum(terms, axis=0), gamma(len(terms)) * np.abs(terms).sum(axis=0) + len(terms) * tiny
    for matrix in expert.matrices:
        weights, n = matrix.astype(float), len(matrix)
        ideal, error = activated_bound(expert, np.abs(x), error, gamma(expert.power), unit, tiny)
        x, high = activated(expert, x), ideal + error
        error = (error + gamma(n + 1) * high + tiny) @ np.abs(weights)
        error += tiny * (n + high.sum(axis=1, keepdims=True))
        x = x @ weights
    return np.asarray(error * (1 + 1e-6))


def softmax_leak(expert: Expert, gap: float, bound: Bound) -> float:
    """The mass that the softmax of an expert may put elsewhere than on its answer, which leads by `gap` at least."""
    unit = float(np.finfo(expert.dtype).eps) / 2
    lead = gap - 4 * unit * (bound.size + bound.error)
    unfused = 4 * unit * expert.beta * (bound.size + bound.error)
    if not (lead > 0 and expert.beta > 0 and unfused < 1):
        return np.inf
    return float(expert.classes * np.exp(-expert.beta * lead) * (1 + 1e-6) + (expert.classes + 8) * unit)
