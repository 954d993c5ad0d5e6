"""Hidden neurons as waves: for each its frequency, the amplitudes and phases of its parts, and what is left over.

With both inputs at their places x1, x2 on circles, a neuron of the analytical picture is

    c + a1 cos(2πf x1/m + ψ1) + a2 cos(2πf x2/m + ψ2) + a+ cos(2πf (x1 + x2)/m + ψ+) + a- cos(2πf (x1 - x2)/m + ψ-)

with one frequency f. It is read off the Fourier transform of the neuron's table; f is where most of its variance lies.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from modgrok.inspection.input_spectrum import Axes

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
