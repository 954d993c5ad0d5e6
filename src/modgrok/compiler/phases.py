"""Phase designs: which neurons one frequency needs so that S inputs add exactly.

Write θ_s = 2πf·g_s/m for the angle of input s at frequency f, z_s = e^{iθ_s}, and φ = 2πf·q/m for the angle
of the class q. Neuron j of a design contributes

    readout_amplitude[j]·cos(readout_phase[j] − φ) · (offset[j] + Σ_s amplitude[s,j]·cos(θ_s + phase[s,j]))^S

to the logit of q. With R_j = readout_amplitude[j]·e^{i·readout_phase[j]} and H_j the bracket, the sum over j
is Re(e^{−iφ} Σ_j R_j H_j^S). A design is exact if, for all angles,

    Σ_j R_j H_j^S = z_1 z_2 … z_S + constant,   that is,   logits = cos(Σ_s θ_s − φ) + constant·cos φ.

The last term does not depend on the input. One constant neuron, shared by all frequencies, removes it: its
readout is −Σ_f constant·cos(2πf·q/m). Exactness is an identity on circles, so it holds for every modulus.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from math import comb, factorial, pi

import numpy as np
from jaxtyping import Float, Int

from modgrok.base.errors import InputError
from modgrok.compiler.steps import ABSORBED, Step

Matrix = Float[np.ndarray, "term width"]
Vector = Float[np.ndarray, "width"]


@dataclass(frozen=True, eq=False)
class Design:
    """The neurons of one frequency; the module's docstring says what each field means."""

    name: str
    amplitude: Matrix
    phase: Matrix
    offset: Vector
    readout_amplitude: Vector
    readout_phase: Vector
    constant: float = 0.0

    @property
    def terms(self) -> int:
        return int(self.amplitude.shape[0])

    @property
    def width(self) -> int:
        return int(self.amplitude.shape[1])

    @property
    def gain(self) -> float:
        """The largest sum of absolute values that the logits, at most about 1, are the balance of.

        Rounding errors are at most a small multiple of gain times the machine's epsilon: smaller is better.
        """
        largest = np.abs(self.offset) + np.abs(self.amplitude).sum(axis=0)
        return float(np.sum(np.abs(self.readout_amplitude) * largest**self.terms) + abs(self.constant))

    def embed(self, angles: Float[np.ndarray, "term p neurons"]) -> Float[np.ndarray, "term p width"]:
        """Columns of an expert's embed for inputs at these angles, the same for all neurons or one for each; the terms
        share the offset equally."""
        waves = self.amplitude[:, None, :] * np.cos(angles + self.phase[:, None, :])
        return np.asarray(waves + self.offset / self.terms)

    def readout(self, angles: Float[np.ndarray, "*neurons class"]) -> Float[np.ndarray, "width class"]:
        """Rows of an expert's readout for classes at these angles."""
        return np.asarray(self.readout_amplitude[:, None] * np.cos(self.readout_phase[:, None] - angles))

    def block(
        self, step: Step, frequency: int | Int[np.ndarray, "width"]
    ) -> tuple[Float[np.ndarray, "term p width"], Float[np.ndarray, "width class"]]:
        """The neurons over the group Z_m of a step, at one frequency f or each at its own.

            embed[s, i, k]  = a[s,k] · cos( 2π/m · f_k · g_s(i) + ψ[s,k]) + offset[k]/S     0 where g_s(i) is absorbed
            readout[k, q]   = Σ over t with h(t) = q of  b_k · cos(ξ_k - 2π/m · f_k · t)

        Arguments are reduced modulo m as integers, so that the cosines are accurate at every frequency.
        """
        turn = 2 * np.pi / step.order
        embed = self.embed(turn * (step.tables[:, :, None] * frequency % step.order))
        embed = np.where((step.tables == ABSORBED)[:, :, None], 0.0, embed)
        angles = turn * (np.multiply.outer(frequency, np.arange(step.order)) % step.order)
        return embed, over_fibres(step, self.readout(angles))


def over_fibres(step: Step, rows: Float[np.ndarray, "width order"]) -> Float[np.ndarray, "width class"]:
    """Rows over the group, summed over the elements that h sends to each class.

    That turns the indicator of t = Σ g_s into the indicator of q = h(Σ g_s), for any h, invertible or not.
    """
    summed = np.zeros((step.classes, len(rows)))
    np.add.at(summed, step.outputs, rows.T)
    return summed.T


def printed_amplitude(terms: int, width: int) -> float:
    """A = (2^S / (N · S!))^(1/(S+1)): the term that survives has weight N · A^(S+1) · S!/2^S = 1."""
    return float((2**terms / (width * factorial(terms))) ** (1 / (terms + 1)))


def paper_form(name: str, phases: Matrix, constant: float = 0.0, amplitude: float | None = None) -> Design:
    """Equal amplitudes A, the printed ones unless others are given, and readout phase −Σ_s ψ_s: the form of the paper's
    `eq:solution_multisum`.

    H^S contains S!·Π_s A cos(θ_s + ψ_s), whose part e^{i(Σθ_s + Σψ_s)} meets the readout's e^{−iΣψ_s} and
    adds A^{S+1}·S!/2^S to the wanted logit. N neurons must add up to 1, so A = (2^S / (N·S!))^{1/(S+1)}.
    """
    terms, width = phases.shape
    scale = printed_amplitude(terms, width) if amplitude is None else amplitude
    return Design(
        name,
        np.full_like(phases, scale),
        phases,
        np.zeros(width),
        np.full(width, scale),
        -phases.sum(axis=0),
        constant,
    )


@lru_cache
def exact_design(terms: int) -> Design:
    """(S+1)·2^{S−1} neurons, no constant: 2, 6, 16, 40, 96 for S = 1 … 5.

    Neuron (j, b), j = 0 … S and b ∈ {0,1}^{S−1}, has phases ψ_1 = φ_j = jπ/(S+1) and ψ_s = φ_j + π b_s.

    1. The signs (−1)^{b_s} come with (−1)^{Σb} from the readout. Polarisation keeps the product alone of the
       S-th power: Σ_b (−1)^{Σb} (c_1 + Σ_{s>1} (−1)^{b_s} c_s)^S = 2^{S−1} S! Π_s c_s, c_s = cos(θ_s + φ_j).
    2. Π_s c_s = 2^{−S} Σ_ε exp(i Σ_s ε_s (θ_s + φ_j)) over signs ε. With the readout's e^{−iSφ_j} the pattern
       with l minus signs turns as e^{−2ilφ_j}; the sum over j is 0 for l = 1 … S and S+1 for l = 0, the
       wanted z_1 … z_S.

    Every H_j^S enters through Π_s c_s, so an input whose columns are all zero makes the logits exactly zero.
    """
    check_terms(terms)
    turns = np.arange(terms + 1) * pi / (terms + 1)
    flips = np.array([[0, *(b >> s & 1 for s in range(terms - 1))] for b in range(2 ** (terms - 1))])
    phases = turns[None, :, None] + pi * flips.T[:, None, :]
    return paper_form("exact", phases.reshape(terms, -1))


@lru_cache
def narrow_design() -> Design:
    """S = 2 with four neurons per frequency and constant √2, the least possible (docs/designs.md).

    4 z_1 z_2 = u² − v² with u = z_1 + z_2, v = z_1 − z_2. For L± = Re(u e^{±iα}), M± = Re(v e^{±i(π/2−α)}),

        L+² + L−² = |u|² + cos 2α·Re u²     L+² − L−² = −sin 2α·Im u²
        M+² + M−² = |v|² − cos 2α·Re v²     M+² − M−² = −sin 2α·Im v²

    and |u|² + |v|² = 4 on the data, so that four squares carry both parts of u² − v²:

        4 z_1 z_2 = (L+² + L−² + M+² + M−² − 4)/cos 2α − i(L+² − L−² − M+² + M−²)/sin 2α.

    This diagonalises the real quadratic forms Re(z_1 z_2) + γ(|z_1|² + |z_2|²) and Im(z_1 z_2) together.
    α = π/8 makes all |R_j| equal and least; the phases are then in the paper's form.
    """
    a = pi / 8
    phases = np.array([[a, -a, 3 * a, -3 * a], [a, -a, 3 * a + pi, -3 * a + pi]])
    return paper_form("narrow", phases, constant=2**0.5)


@lru_cache
def compact_design(terms: int) -> Design:
    """15 neurons for S = 3 and 35 with a constant for S = 4, against 16 and 40 of `exact_design`.

    In the paper's form with equal amplitudes, the Fourier mode e^{ik·θ} of H^S, k ∈ Z^S, comes out multiplied by
    Σ_j e^{i(k − (1,…,1))·ψ_j}. If the ψ_j form a group, that sum is 0 or the number of neurons, and a finite
    list of k (|k_1| + … + |k_S| ≤ S, of the parity of S) decides what survives beside z_1 … z_S.

    S = 3: ψ_j = (1, 7, 2)·jπ/6, j = 0 … 11. Survive: k·(1, 7, 2) ≡ 10 mod 12, that is (1,1,1) and (0,0,−1).
    S = 4: ψ_j = (1, 1, 1, 3)·jπ/8, j = 0 … 7, each with the 4 even patterns of flips by π. The flips leave k all
    odd or all even; k·(1,1,1,3) ≡ 6 mod 16 then leaves (1,1,1,1) and (0,0,0,2).

    The neurons add up to 1 at z_1 … z_S, where each H^S has S!/2^S; at the other mode it has 15/8 instead of 6/8,
    and 40/16 instead of 24/16. So they give z_1 z_2 z_3 + (5/2) z̄_3 and z_1 z_2 z_3 z_4 + (5/3) z_4².
    Three neurons on the last input alone take the unwanted mode away, with ω = e^{2πi/3}:

        Σ_{j<3} ω^j cos³(θ + 2πj/3) = (9/8) z̄
        cos⁴ θ + ((1−i)/2) cos⁴(θ + π/4) + ((1+i)/2) cos⁴(θ − π/4) = z²/2 + 3/4.
    """
    if terms == 3:
        group = np.outer((1, 7, 2), np.arange(12)) * pi / 6
        nodes, weights = np.arange(3) * 2 * pi / 3, -20 / 9 * np.exp(2j * pi / 3 * np.arange(3))
    elif terms == 4:
        turns = np.outer((1, 1, 1, 3), np.arange(8)) * pi / 8
        flips = pi * np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]).T
        group = (turns[:, :, None] + flips[:, None, :]).reshape(terms, -1)
        nodes, weights = np.array([0, pi / 4, -pi / 4]), -10 / 3 * np.array([1, (1 - 1j) / 2, (1 + 1j) / 2])
    else:
        raise InputError(f"a compact design is known for 3 and 4 terms, got {terms}; use exact_design")
    main, last = paper_form("compact", group), np.zeros((terms, 3))
    last[-1] = 1
    return Design(
        "compact",
        np.hstack([main.amplitude, last]),
        np.hstack([main.phase, last * nodes]),
        np.zeros(main.width + 3),
        np.append(main.readout_amplitude, np.abs(weights)),
        np.append(main.readout_phase, np.angle(weights)),
        constant=0.0 if terms == 3 else -2.5,
    )


def best_design(terms: int) -> Design:
    """The narrowest design of this module; docs/designs.md has a narrower, ill-conditioned one for S = 3."""
    if terms == 2:
        return narrow_design()
    return compact_design(terms) if terms in (3, 4) else exact_design(terms)


@lru_cache
def count_design(values: tuple[float, ...]) -> Design:
    """values[t] if t of the S = len(values) − 1 inputs are at angle 0 and the others at π, plus a constant.

    The inputs then are signs ε_s = ±1, the answer a polynomial P(x) of degree S in x = Σ_s ε_s = 2t − S.
    Neurons (x + c_j)^S suffice. Up to its constant P is the integral of P' = Σ_i C(S−1, i) a_i x^{S−1−i}, and

        P'(x) = S Σ_j r_j (x + c_j)^{S−1}   iff   a_i = S Σ_j r_j c_j^i for i = 0 … S−1.

    That has a solution with S−1 nodes iff Σ_i a_i q_i = 0, where q(c) = Π_j (c − c_j) = Σ_i q_i c^i: choose
    all nodes but one, and this condition, linear in the last node, gives it. The chosen ones are equally
    spaced, around the centre and at the radius of least gain. So S−1 neurons (one for S = 1) and a constant:
    for the product of S signs (`real_design`), or for the conjunction of S bits, values 0, …, 0, 1.
    """
    terms = len(values) - 1
    check_terms(terms)
    sums = 2.0 * np.arange(terms + 1) - terms
    polynomial = np.linalg.solve(np.vander(sums), np.asarray(values, float))
    derivative = polynomial[:-1] * np.arange(terms, 0, -1)
    moments = derivative / [comb(terms - 1, i) for i in range(terms)]
    if terms == 1:
        return _count_design(np.zeros(1), moments, polynomial)
    candidates = []
    for centre, radius in itertools.product(np.linspace(0, 1, 11) * terms, np.geomspace(0.1, 4, 25) * terms):
        free = centre + radius * np.linspace(-1, 1, terms - 2)
        rest = np.polynomial.polynomial.polyfromroots(free)
        denominator = moments[:-1] @ rest
        if abs(denominator) > 1e-9 * np.abs(moments).max():
            nodes = np.append(free, moments[1:] @ rest / denominator)
            if np.min(np.abs(nodes[-1] - free), initial=1) > 1e-2:
                candidates.append(_count_design(nodes, moments, polynomial))
    if not candidates:
        raise InputError(f"values of a count design must need the full power {terms}, got {values}")
    return min(candidates, key=lambda design: design.gain)


def _count_design(
    nodes: Vector, moments: Float[np.ndarray, "moment"], polynomial: Float[np.ndarray, "degree"]
) -> Design:
    terms, width = len(moments), len(nodes)
    weights = np.linalg.solve(np.vander(nodes, increasing=True).T, moments[:width]) / terms
    shape = (terms, width)
    constant = float(weights @ nodes**terms - polynomial[-1])
    return Design("count", np.ones(shape), np.zeros(shape), nodes, weights, np.zeros(width), constant)


def real_design(terms: int) -> Design:
    """The frequency m/2 of an even m, where every character is a sign: max(1, S−1) neurons and a constant.

    At θ_s, φ ∈ {0, π} the wanted cos(Σθ_s − φ) is the product of all signs, a function of how many are +1.
    """
    check_terms(terms)
    return count_design(tuple((-1.0) ** (terms - t) for t in range(terms + 1)))


def check_terms(terms: int) -> int:
    """`terms` itself if a design can have so many; widths grow as 2^terms."""
    if not 1 <= terms <= 12:
        raise InputError(f"a sum in one expert has 1 to 12 terms, got {terms}; add more terms with a tree of experts")
    return terms
