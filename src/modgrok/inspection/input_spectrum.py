"""The plain Fourier spectrum over two inputs: of logits, which needs no witness, and of single neurons.

A table over (n1, n2), laid out by the places of its inputs, is a sum of waves  e^{2πi (f1 x1 + f2 x2)}.  What depends
on the sum of places alone has f1 = f2, what depends on their difference f1 = -f2, what depends on one input alone has
a zero; everything else is what no cyclic group explains.

Hidden neurons as waves: for each its frequency, the amplitudes and phases of its parts, and what is left over.

With both inputs at their places x1, x2 on circles, a neuron of the analytical picture is

    c + a1 cos(2πf x1/m + ψ1) + a2 cos(2πf x2/m + ψ2) + a+ cos(2πf (x1 + x2)/m + ψ+) + a- cos(2πf (x1 - x2)/m + ψ-)

with one frequency f. It is read off the Fourier transform of the neuron's table; f is where most of its variance lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.base.results import plain_object
from modgrok.inspection.order import Labels, Order
from modgrok.networks.network import Network

STRONGEST = 5
"""Pairs of frequencies that are named."""


@dataclass(frozen=True, eq=False)
class Axes:
    """The residues of both inputs in the order of their places, and what one step of the sum is on each axis.

    Where g takes every place k times, as n² does in logarithms, a wave of frequency f in g is one of k f on the axis.
    """

    residues: tuple[Int[np.ndarray, "first"], Int[np.ndarray, "second"]]
    steps: tuple[int, int]
    order: str
    sizes: tuple[int, int]
    """How many values each input has."""

    @classmethod
    def of(cls, labels: Labels | None, order: Order, sizes: tuple[int, ...]) -> Axes:
        """Along the places of the witness where they make a circle; along the residues of the order where not."""
        places = order.places if labels is None else Order("witness", labels).places
        residues, steps, circles = [], [], True
        for v in (0, 1):
            if places.period[v] > 0:
                placed = np.flatnonzero(places.place[v] >= 0)
                residues.append(placed[np.argsort(places.place[v][placed])])
                distinct = placed if labels is None else np.unique(labels.tables[v][placed])
                steps.append(int(places.period[v]) // len(distinct))
            else:
                residues.append(np.arange(sizes[v]))
                steps.append(1)
                circles = False
        return cls(
            (residues[0], residues[1]),
            (steps[0], steps[1]),
            order.name if circles else "additive",
            (sizes[0], sizes[1]),
        )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.residues[0]), len(self.residues[1])

    def table(self, values: Float[np.ndarray, "table k"]) -> Float[np.ndarray, "n1 n2 k"]:
        """Values on all rows as a table over both inputs, in this order."""
        return np.asarray(values.reshape(*self.sizes, -1)[np.ix_(*self.residues)])

    def diagonal(self, sign: int) -> Bool[np.ndarray, "f1 f2"]:
        """Where the waves of the sum of places lie (sign 1), or of their difference (sign -1)."""
        m1, m2 = self.shape
        found = np.zeros(self.shape, bool)
        f = np.arange(1, max(m1, m2))
        first, second = self.steps[0] * f % m1, sign * self.steps[1] * f % m2
        both = (first != 0) & (second != 0)
        found[first[both], second[both]] = True
        return found


@dataclass(frozen=True, eq=False)
class InputSpectrum:
    """Shares of the variance over rows, by the pair of frequencies of a wave over both inputs."""

    axes: Axes
    power: Float[np.ndarray, "f1 f2"]
    """Share of squared length, all frequencies of both signs; the constant is at (0, 0)."""

    def to_json(self) -> dict[str, Any]:
        sums, differences = self.axes.diagonal(1), self.axes.diagonal(-1)
        single = np.zeros(self.power.shape, bool)
        single[0], single[:, 0], single[0, 0] = True, True, False
        shares = {
            "constant": self.power[0, 0],
            "one_input": self.power[single].sum(),
            "sum": self.power[sums].sum(),
            "difference": self.power[differences & ~sums].sum(),
        }
        return plain_object(
            {
                "order": self.axes.order,
                **shares,
                "other": max(0.0, 1 - sum(shares.values())) if self.power.any() else 0.0,
                "strongest": self.strongest(),
            }
        )

    def strongest(self) -> list[dict[str, float]]:
        """The pairs (f1, f2) with the largest shares; f and -f are one wave, written with f1 >= 0."""
        m1, m2 = self.power.shape
        mirrored = np.roll(self.power[::-1, ::-1], (1, 1), axis=(0, 1))
        own_mirror = [(2 * np.arange(m)) % m == 0 for m in (m1, m2)]
        alone = np.logical_and.outer(*own_mirror)
        folded = np.where(alone, self.power, self.power + mirrored)[: m1 // 2 + 1].copy()
        for f1 in {0, m1 // 2} if m1 % 2 == 0 else {0}:
            folded[f1, m2 // 2 + 1 :] = 0  # the mirror image of the other half
        folded[0, 0] = 0
        best = np.argsort(-folded, axis=None, kind="stable")[:STRONGEST]
        pairs = [(int(f1), int(f2)) for f1, f2 in zip(*np.unravel_index(best, folded.shape), strict=True)]
        return [
            {"f1": f1, "f2": f2 - m2 if 2 * f2 > m2 else f2, "share": float(folded[f1, f2])}
            for f1, f2 in pairs
            if folded[f1, f2] > 0
        ]


def input_spectrum(
    logits: Float[np.ndarray, "table p"], network: Network, labels: Labels | None, order: Order
) -> InputSpectrum | None:
    """Of logits without their mean over classes; None for a function of another number of variables than two."""
    if network.model.variables != 2:
        return None
    axes = Axes.of(labels, order, network.model.residues)
    table = axes.table(logits - logits.mean(axis=1, keepdims=True))
    power = np.sum(np.abs(np.fft.fft2(table, axes=(0, 1))) ** 2, axis=-1)
    return InputSpectrum(axes, power / (power.sum() if power.any() else 1))


PARTS = {"n1": (1, 0), "n2": (0, 1), "sum": (1, 1), "difference": (1, -1)}
"""The waves of a neuron, and what they multiply the frequency by on each axis."""


def neuron_columns(axes: Axes, neurons: Float[np.ndarray, "row neuron"], layer: int) -> dict[str, np.ndarray]:
    """One row a neuron, as columns: `layer`, `neuron`, `frequency`, `left_over`, amplitude and phase of each part."""
    m1, m2 = axes.shape
    highest = min(m1 // axes.steps[0], m2 // axes.steps[1]) // 2
    frequencies = np.arange(1, highest + 1)
    wanted = {
        part: (s1 * axes.steps[0] * frequencies % m1, s2 * axes.steps[1] * frequencies % m2)
        for part, (s1, s2) in PARTS.items()
    }
    waves: dict[str, list[complex]] = {part: [] for part in PARTS}
    best, left = [], []
    for neuron in neurons.T:
        table = axes.table(neuron[:, None])[..., 0]
        spectrum = np.fft.fft2(table - table.mean()) / table.size
        total = float(np.sum(np.abs(spectrum) ** 2))
        found = {part: spectrum[index] * sides(index, (m1, m2)) for part, index in wanted.items()}
        held = sum(np.abs(z) ** 2 / sides(wanted[part], (m1, m2)) for part, z in found.items())
        k = int(np.argmax(held))
        best.append(k + 1)
        left.append(max(0.0, 1 - float(held[k]) / total) if total > 0 else 1.0)
        for part, z in found.items():
            waves[part].append(complex(z[k]))
    columns = {
        "layer": np.full(len(best), layer),
        "neuron": np.arange(len(best)),
        "frequency": np.array(best, int),
        "left_over": np.array(left),
    }
    for part, z in waves.items():
        columns |= {f"amplitude_{part}": np.abs(z), f"phase_{part}": np.angle(z)}
    return columns


def sides(index: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """2 where a wave and its mirror image are two entries of the spectrum, 1 where they are one."""
    own = [(2 * each) % m == 0 for each, m in zip(index, shape, strict=True)]
    return np.where(own[0] & own[1], 1, 2)
