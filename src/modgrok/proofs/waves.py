"""An expert that adds in a cyclic group, proved for all its symbols at once, however many pairs they make.

The claim: over Z_n, with places g_s and outputs h, the answer is h(g_1(x_1) + … + g_S(x_S)), and one more class,
the absorbing one, if any x_s has no place. Its neurons are waves: embed[s, x, j] = Re(α_sj·exp(2πi·f_j·g_s(x)/n)).
All that is taken from the claim is checked against the weights; how it was found does not matter.

 1. α is fitted to each block; how far the weights are from the fit is measured at every symbol.
 2. So is the readout of a neuron with a frequency, as a wave over Z_n of the same frequency, summed over the fibres
    of h. Neurons without one are constant for a given set of absorbed inputs, and their readout is taken as it is.
 3. What is left is a function of S angles φ_s for each frequency: Σ_j (Σ_s Re(α_sj·e^{iφ_s}))^P·readout_j. It is to be
    w·cos(φ_1 + … + φ_S - γ) and a constant. The rest is a trigonometric polynomial of degree P in each angle, so it is
    nowhere larger than Λ^S times its largest value on a grid of N = 2P + 1 points a side, Λ = (1/N)Σ_k
    1/sin((2k+1)π/2N) (the norm of trigonometric interpolation). Where a term takes no more than N angles, these are
    the grid and Λ is 1.
 4. So logits are K(t - t') = Σ_f w_f·cos(2πf(t - t')/n) summed over fibres, and constants, up to what 1 to 3 left.
    With an absorbed input only constants may be left.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from modgrok.proofs.proof import NoProof
from modgrok.proofs.rounding import EXACT, Expert, activated, logit_bound

ABSORBED = -1
LARGEST_GRID, LARGEST_WAVES = 1 << 22, 1 << 23
"""Numbers in the grid of angles of one frequency, with all its neurons; and in all waves over the group."""
LARGEST_FIBRES = 1 << 13
"""Largest group of which an h that is not one-to-one is checked, element by element."""
UNIT = float(np.finfo(float).eps) / 2


class Claim(NamedTuple):
    """What an expert is said to compute; see the module's head, and `composition` for the fields after
    `frequencies`."""

    order: int
    places: np.ndarray
    outputs: np.ndarray
    absorbed: int | None
    frequencies: tuple[int, ...]
    rule: str = ""
    forms: tuple[str, ...] = ()
    result: str = ""
    generator: int = 1

    def check(self, expert: Expert) -> None:
        terms, symbols, classes = len(expert.alphabets), max(expert.alphabets), expert.classes
        fits = self.places.shape[0] == terms and self.places.ndim == 2 and self.places.shape[1] >= symbols
        fits = fits and self.outputs.shape == (self.order,) and self.order >= 1
        fits = fits and bool((self.places >= ABSORBED).all() and (self.places < self.order).all())
        fits = fits and bool((self.outputs >= 0).all() and (self.outputs < classes).all())
        vote = self.absorbed is not None and 0 <= self.absorbed < classes
        if not fits or not (vote or (self.places >= 0).all()):
            raise NoProof("the claim about an expert does not fit its shapes")

    def answers(self, columns: list[np.ndarray]) -> np.ndarray:
        """What the claim says for rows of symbols."""
        places = [self.places[s][column] for s, column in enumerate(columns)]
        gone = np.any([place == ABSORBED for place in places], axis=0)
        found = self.outputs[np.sum(places, axis=0) % self.order]
        return np.where(gone, -1 if self.absorbed is None else self.absorbed, found)


def wave_lead(expert: Expert, claim: Claim) -> float:
    """By how much the right class leads at least, for all symbols, in exact arithmetic; below 0 where nothing
    is shown."""
    claim.check(expert)
    if len(expert.matrices) != 1 or expert.activation != "power":
        raise NoProof("only experts of two layers are read as waves")
    frequencies = tuple(sorted({int(f) for f in claim.frequencies}))
    if not all(1 <= f <= claim.order // 2 for f in frequencies):
        raise NoProof("a claimed frequency is none of the group's")
    if (len(frequencies) + 1) * max(*expert.alphabets, claim.order) > LARGEST_WAVES or len(expert.alphabets) > 12:
        raise NoProof("an expert of so many frequencies or terms is not read as waves")
    waves = fitted_waves(expert, claim, frequencies)
    bound = logit_bound(expert, EXACT, shifts=waves.shifts)
    hidden = np.stack([np.abs(expert.embed[s, :a]).max(axis=0) for s, a in enumerate(expert.alphabets)]).sum(axis=0)
    outside = bound.error + float(((hidden + waves.shifts) ** expert.power) @ waves.missing)
    lead = np.inf
    for pattern in patterns(expert, claim):
        weights, constant, left = logits_of_pattern(expert, claim, waves, pattern)
        if any(pattern):
            found = absorbed_lead(int(claim.absorbed or 0), constant)
        else:
            found = group_lead(claim, waves.kernel(claim, weights), constant)
        lead = min(lead, found - 2 * (outside + left))
    return float(lead)


class Waves(NamedTuple):
    """An expert's neurons as waves: the frequency of each (0: none), its amplitudes (term, neuron), what it has at
    absorbed symbols (term, neuron), its readout as a complex amplitude; how far its sum over terms, and its
    readout, can be from that."""

    own: np.ndarray
    amplitudes: np.ndarray
    gone: np.ndarray
    readout: np.ndarray
    shifts: np.ndarray
    missing: np.ndarray

    @property
    def frequencies(self) -> list[int]:
        return sorted({int(f) for f in self.own if f})

    def kernel(self, claim: Claim, weights: dict[int, float]) -> np.ndarray:
        t = np.arange(claim.order)
        return sum((w * np.cos(angles_of(t, f, claim.order)) for f, w in weights.items()), start=np.zeros(claim.order))


def patterns(expert: Expert, claim: Claim) -> list[tuple[bool, ...]]:
    """Which terms may be absorbed, each way in which some of them are."""
    can = [bool((claim.places[s, :a] == ABSORBED).any()) for s, a in enumerate(expert.alphabets)]
    must = [bool((claim.places[s, :a] == ABSORBED).all()) for s, a in enumerate(expert.alphabets)]
    return list(
        product(*([True] if all_ else [False, True] if some else [False] for some, all_ in zip(can, must, strict=True)))
    )


def angles_of(places: np.ndarray, frequency: int, order: int) -> np.ndarray:
    return 2 * np.pi * (places.astype(np.int64) * frequency % order) / order


def fitted_waves(expert: Expert, claim: Claim, frequencies: tuple[int, ...]) -> Waves:
    """The waves that come closest to an expert's weights, and how close they come."""
    terms, width = len(expert.alphabets), expert.embed.shape[2]
    blocks = [(claim.places[s, :a] >= 0, claim.places[s, :a], expert.embed[s, :a].astype(float))
              for s, a in enumerate(expert.alphabets)]  # fmt: skip
    own = likely_frequencies(expert, claim, blocks, frequencies)
    amplitudes, gone, shifts = np.zeros((terms, width), dtype=complex), np.zeros((terms, width)), np.zeros(width)
    readout, missing = np.zeros(width, dtype=complex), np.zeros(width)
    for f in sorted(set(own.tolist())):
        members = own == f
        for s, (present, places, block) in enumerate(blocks):
            found, off = fitted(angles_of(places[present], f, claim.order), block[present][:, members])
            amplitudes[s, members] = found
            shifts[members] += off
        if f:
            design = fibre_waves(claim, f, expert.classes)
            readout[members], missing[members] = fitted_to(design, expert.matrices[0][members].T.astype(float))
    for s, (present, _, block) in enumerate(blocks):
        if not present.all():
            gone[s] = block[~present][0]
            shifts = shifts + np.abs(block[~present] - gone[s]).max(axis=0)
    return Waves(own, amplitudes, gone, readout, shifts, missing)


def fitted(angles: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes α with block ≈ Re(α·e^{i·angle}), and how far the columns of the block are from it."""
    if not len(angles):
        return np.zeros(block.shape[1], dtype=complex), np.zeros(block.shape[1])
    return fitted_to(np.stack([np.cos(angles), -np.sin(angles)], axis=1), block)


def fitted_to(design: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two coefficients of each column as a complex number; what they leave, the rounding of this line included."""
    found = np.linalg.lstsq(design, block, rcond=None)[0]
    rounded = 64 * UNIT * max(1.0, float(np.abs(design).max())) * np.abs(found).sum(axis=0)
    return found[0] + 1j * found[1], np.abs(block - design @ found).max(axis=0, initial=0) + rounded


def fibre_waves(claim: Claim, frequency: int, classes: int) -> np.ndarray:
    """cos and sin over Z_n, summed over the fibre of each class."""
    angles = angles_of(np.arange(claim.order), frequency, claim.order)
    return np.stack(
        [np.bincount(claim.outputs, weights=wave(angles), minlength=classes) for wave in (np.cos, np.sin)], axis=1
    )


def likely_frequencies(
    expert: Expert, claim: Claim, blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]], frequencies: tuple[int, ...]
) -> np.ndarray:
    """For each neuron the frequency that takes up most of its weights, or 0; where places leave out much of the group
    several do, and the readout tells. A wrong guess leaves more unexplained, and nothing wrong proved."""
    names = np.array((0, *frequencies))
    twice = np.where((names == 0) | (2 * names == claim.order), 1, 2)[:, None]

    def taken(places: np.ndarray, block: np.ndarray) -> np.ndarray:
        waves = np.exp(-2j * np.pi * (names[:, None] * places.astype(np.int64) % claim.order) / claim.order)
        return np.asarray(twice * np.abs(waves @ block) ** 2 / max(1, len(places)))

    found = np.sum([taken(places[present], block[present]) for present, places, block in blocks], axis=0)
    seen = taken(np.arange(claim.order), expert.matrices[0].T[claim.outputs].astype(float))
    most = found.max(axis=0)
    chosen = names[(found / (most + 1e-300) + 1e-3 * seen / (seen.max(axis=0) + 1e-300)).argmax(axis=0)]
    return np.where(most > 1e-20 * most.max(), chosen, 0)


def logits_of_pattern(
    expert: Expert, claim: Claim, waves: Waves, pattern: tuple[bool, ...]
) -> tuple[dict[int, float], np.ndarray, float]:
    """For one pattern of absorbed terms: the weight w of each frequency, what is constant for each class, and how
    far the
    logits can be from what these say."""
    absorbed = [s for s, gone in enumerate(pattern) if gone]
    weights: dict[int, float] = {}
    still = waves.own == 0
    sums = waves.gone[absorbed][:, still].sum(axis=0) + waves.amplitudes[:, still].real[
        [s for s in range(len(pattern)) if s not in absorbed]
    ].sum(axis=0)
    powers = activated(expert, sums)
    readout = expert.matrices[0][still].astype(float)
    constant = powers @ readout
    left = 8 * (len(sums) + expert.power + 16) * UNIT * float((np.abs(powers) @ np.abs(readout)).max(initial=0))
    for f in waves.frequencies:
        members, pair = waves.own == f, fibre_waves(claim, f, expert.classes)
        grid, norm = angle_grid(expert, claim, f, pattern)
        sums = np.tile(waves.gone[absorbed][:, members].sum(axis=0), (len(grid), 1))
        for column, s in enumerate(s for s in range(len(pattern)) if s not in absorbed):
            sums += (waves.amplitudes[s, members] * np.exp(1j * grid[:, column])[:, None]).real
        powers = activated(expert, sums)
        values = powers @ waves.readout[members]
        turning = np.exp(1j * grid.sum(axis=1)) * (not absorbed)
        weight, steady = fitted_turning(values, turning)
        if not absorbed:
            weights[f] = weight
        constant = constant + pair @ [steady.real, steady.imag]
        rest = values - weight * turning - steady
        rounded = (
            8
            * (members.sum() + expert.power + 16)
            * UNIT
            * float((np.abs(powers) @ np.abs(waves.readout[members])).max())
        )
        left += norm * (float(np.abs(rest).max()) + rounded) * float(np.hypot(*pair.T).max())
    return weights, constant, left


def fitted_turning(values: np.ndarray, turning: np.ndarray) -> tuple[float, complex]:
    """w and c with values ≈ w·turning + c, w a real number."""
    one, zero = np.ones(len(values)), np.zeros(len(values))
    design = np.concatenate([np.stack([turning.real, one, zero], axis=1), np.stack([turning.imag, zero, one], axis=1)])
    found = np.linalg.lstsq(design, np.concatenate([values.real, values.imag]), rcond=None)[0]
    return float(found[0]), complex(found[1], found[2])


def angle_grid(expert: Expert, claim: Claim, frequency: int, pattern: tuple[bool, ...]) -> tuple[np.ndarray, float]:
    """Points for the angles of the terms that are not absorbed, and the norm Λ of interpolation on them."""
    count, norm, sides = 2 * expert.power + 1, 1.0, []
    for s, gone in enumerate(pattern):
        if not gone:
            places = claim.places[s, : expert.alphabets[s]].astype(np.int64)
            taken = np.unique(places[places >= 0] * frequency % claim.order)
            if len(taken) > count:
                norm *= float((1 / np.sin((2 * np.arange(count) + 1) * np.pi / (2 * count))).mean())
            sides.append(
                angles_of(taken, 1, claim.order) if len(taken) <= count else 2 * np.pi * np.arange(count) / count
            )
    if prod(map(len, sides)) * expert.embed.shape[2] > LARGEST_GRID:
        raise NoProof("an expert of so many terms is not read as waves")
    return np.array(list(product(*sides))).reshape(prod(map(len, sides)), len(sides)), norm


def absorbed_lead(absorbed: int, constant: np.ndarray) -> float:
    """With an absorbed input the logits are constants: by how much the absorbing class leads."""
    lead = constant[absorbed] - np.delete(constant, absorbed).max()
    return float(lead) - 64 * UNIT * float(np.abs(constant).max())


def group_lead(claim: Claim, kernel: np.ndarray, constant: np.ndarray) -> float:
    """With no absorbed input: K summed over fibres, and what is constant for each class."""
    n, classes = claim.order, len(constant)
    counts = np.bincount(claim.outputs, minlength=classes)
    rounded = (
        128 * UNIT * (float(np.abs(kernel).max()) * counts.max() + float(np.abs(constant).max())) * max(1.0, np.log2(n))
    )
    if counts.max() == 1:
        inside, outside = constant[counts == 1], constant[counts == 0]
        among = kernel[0] - kernel[1:].max(initial=-np.inf) - (inside.max() - inside.min())
        return float(float(min(among, kernel[0] + inside.min() - outside.max(initial=-np.inf))) - rounded)
    if n > LARGEST_FIBRES:
        raise NoProof(f"an h that is not one-to-one is checked up to Z_{LARGEST_FIBRES}, got Z_{n}")
    t, lead = np.arange(n), np.inf
    for place in range(n):
        logits = np.bincount(claim.outputs, weights=kernel[(place - t) % n], minlength=classes) + constant
        right = claim.outputs[place]
        lead = min(lead, logits[right] - np.delete(logits, right).max())
    return float(float(lead) - rounded)
