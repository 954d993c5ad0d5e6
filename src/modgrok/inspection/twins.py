"""The twin of a network: a closed-form network that is made of what was read off it, and of nothing else.

Where neurons are waves themselves, as in x² networks, each becomes the neuron with its frequency, amplitudes and
phases. For any model the logits have a twin: Σ_f A_f K_f with the amplitudes that `inspection.logits` fits, by the
compiler's designs (`compiler.exact_weights`). A function of a group has a representation ρ in place of a frequency, and

    tr ρ(x) ρ(y) ρ(z)ᵀ = Σ_ijk ρ(x)_ik ρ(y)_kj ρ(z)_ij,      2uv = (u + v)² - u² - v²

where the squares of a row, and of a column, of an orthogonal matrix sum to 1: D³ neurons (ρ(x)_ik + ρ(y)_kj)² with
readout ρ(z)_ij / 2, and a constant one.

What no wave tells, how a product treats zero, is a neuron that counts inputs without a place and votes for one class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.function import Function
from modgrok.algebra.representations import Representation
from modgrok.base.results import plain_object
from modgrok.compiler.exact_weights import Kernel, exact_expert
from modgrok.compiler.steps import Step
from modgrok.inspection.order import Labels
from modgrok.inspection.waves import FittedWaves
from modgrok.networks.circuit import Expert, single
from modgrok.networks.network import Network
from modgrok.separable.procedures.quadrangles import Placed

VOTE = 2.0
"""How much a vote for the class of zero is above the largest logit of the waves."""
METHOD = "twin"


@dataclass(frozen=True, eq=False)
class Twin:
    """A closed-form network beside the one that it was read off, on every row of the table.

    `made_of` is "neurons" or "logits"; `waves` counts the frequencies, or representations, that it has.
    """

    network: Network
    made_of: str
    waves: int
    answers: Int[np.ndarray, "row"]
    original: Int[np.ndarray, "row"]
    right: Int[np.ndarray, "row"]

    @property
    def agreement(self) -> float:
        """The share of rows on which both answer alike."""
        return float((self.answers == self.original).mean())

    def to_json(self) -> dict[str, Any]:
        errs, twin_errs = self.original != self.right, self.answers != self.right
        return plain_object(
            {
                "made_of": self.made_of,
                "width": self.network.width,
                "wave_count": self.waves,
                "agreement": self.agreement,
                "original_errors": int(errs.sum()),
                "twin_errors": int(twin_errs.sum()),
                "both_err": int((errs & twin_errs).sum()),
                "same_error": int((errs & (self.answers == self.original)).sum()),
            }
        )


def twin_of(network: Network, function: Function, expert: Expert, made_of: str, waves: int) -> Twin:
    """The twin with this expert, compared on every row."""
    settings = {"twin_of": network.title, "made_of": made_of}
    made = Network.of_circuit(single(expert).astype(np.float32), function, METHOD, settings=settings)
    own, original = (each.table().reshape(-1) for each in (made, network))
    return Twin(made, made_of, waves, own, original, function.table.reshape(-1))


# ------------------------------------------------------------------------------------------------- of neurons


def neuron_twin(waves: FittedWaves, power: int, classes: int, absorbed: int | None) -> Expert:
    """Every living neuron by its numbers: a_s cos(2πf g_s/m + ψ_s), and a_Q cos(2πf t/m + ψ_Q) summed over fibres."""
    labels, alive = waves.labels, np.flatnonzero(waves.alive)
    angle = 2 * np.pi / labels.period * waves.frequency[alive]
    amplitude, phase = waves.amplitude[:, alive], waves.phase[:, alive]
    turns = angle * labels.tables[..., None] + phase[:-1, None]
    embed = np.where(labels.tables[..., None] >= 0, amplitude[:-1, None] * np.cos(turns), 0)
    over_places = amplitude[-1] * np.cos(angle * labels.reached[:, None] + phase[-1])
    readout = np.zeros((classes, len(alive)))
    np.add.at(readout, labels.outputs[labels.reached], over_places)
    return with_vote(Expert(embed, readout.T, power), labels.tables, absorbed)


def with_vote(expert: Expert, tables: Int[np.ndarray, "term p"], absorbed: int | None) -> Expert:
    """The expert with a neuron that votes for the class of zero, once for each input without a place, if there are."""
    if absorbed is None:
        return expert
    largest = np.abs(expert.embed).max(axis=1).sum(axis=0) ** expert.power @ np.abs(expert.readout)
    embed = np.concatenate([expert.embed, (tables < 0)[..., None].astype(float)], axis=2)
    vote = VOTE * largest.max() * (np.arange(expert.readout.shape[1]) == absorbed)
    return Expert(embed, np.concatenate([expert.readout, vote[None]]), expert.power)


# ------------------------------------------------------------------------------------------------- of logits


def wave_twin(labels: Labels, amplitudes: dict[int, float], classes: int, absorbed: int | None) -> Expert:
    """Σ_f A_f K_f by the compiler's designs; elements of the circle that no row reaches vote for no class."""
    total = sum(amplitudes.values())
    kernel = Kernel(labels.period, np.array([*amplitudes]), np.array([*amplitudes.values()]) / total, 0.0, exact=False)
    outputs = np.where(labels.outputs < 0, classes, labels.outputs)
    inputs = tuple(range(len(labels.tables)))
    step = Step("separable", "", inputs, labels.period, labels.tables, outputs, classes + 1, absorbed)
    made = exact_expert(step, kernel)
    return Expert(made.embed, total * made.readout[:, :classes], made.power)


def representation_twin(placed: Placed, irreducibles: Sequence[Representation], amplitudes: Sequence[float]) -> Expert:
    """Σ_ρ A_ρ tr ρ(g1)ρ(g2)ρ(z)ᵀ for the class h(z)."""
    n = len(placed.products)
    first, second, readouts = [np.full((n, 1), 0.5)], [np.full((n, 1), 0.5)], [np.zeros((1, n))]
    for rho, a in zip(irreducibles, amplitudes, strict=True):
        d, matrices = rho.dimension, rho.matrices
        i, k, j = (axis.ravel() for axis in np.indices((d, d, d)))
        first.append(matrices[placed.g[0]][:, i, k])
        second.append(matrices[placed.g[1]][:, k, j])
        readouts.append(a * matrices[:, i, j].T / 2)
        readouts[0] = readouts[0] - a * matrices.sum(axis=(1, 2))
    readout = np.empty((sum(map(len, readouts)), n))
    readout[:, placed.h] = np.concatenate(readouts)
    return Expert(np.stack([np.concatenate(first, axis=1), np.concatenate(second, axis=1)]), readout, 2)
