"""What lies inside an MLP or a transformer: spectra of its embedding and readout, its neurons as functions of the
inputs, and where its attention looks.

A neuron of the analytical picture depends on its inputs through one frequency f: as a function of the places (x1, x2)
it is a sum of waves with frequencies 0 and ±f on either axis. The share of its variance on the best such f is 1 for
that picture, and for white noise about the largest of m/2 draws of 8 in m² waves, next to nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from modgrok.base.results import plain_object
from modgrok.inspection.input_spectrum import Axes
from modgrok.inspection.order import NO_ORDER, Order, Places, order_of, witness_of
from modgrok.inspection.spectrum import axis_power
from modgrok.networks.circuit import Weights
from modgrok.networks.models import Blocks, Inside, Model, Rows, Statistics
from modgrok.networks.network import Network, chunk_rows

ONE_FREQUENCY = 0.85
"""A neuron is on one frequency if that holds at least this share of its variance over the inputs."""
SILENT = 1e-6
"""A neuron is silent if its variance over the inputs is below this share of the largest one of its layer."""
SHOWN = 6
"""Neurons of a layer whose whole table is kept, to be drawn."""


@dataclass(frozen=True, eq=False)
class LayerActivity:
    """The hidden neurons of one layer as functions of (n1, n2), both in the order of their places."""

    variance: Float[np.ndarray, "neuron"]
    frequency: Int[np.ndarray, "neuron"]
    """The frequency that holds most of the neuron's variance."""
    explained: Float[np.ndarray, "neuron"]
    """The share that it holds."""
    shown: dict[int, Float[np.ndarray, "n1 n2"]]

    @property
    def active(self) -> Bool[np.ndarray, "neuron"]:
        return np.asarray(self.variance > SILENT * self.variance.max())

    @property
    def on_one_frequency(self) -> Bool[np.ndarray, "neuron"]:
        return self.active & (self.explained >= ONE_FREQUENCY)

    def to_json(self) -> dict[str, Any]:
        active = self.active
        counts = Counter(self.frequency[self.on_one_frequency].tolist())
        return plain_object(
            {
                "neurons": len(self.variance),
                "active": int(active.sum()),
                "explained": float(self.explained[active].mean()) if active.any() else None,
                "one_frequency_share": float(self.on_one_frequency[active].mean()) if active.any() else None,
                "neurons_per_frequency": {f: counts[f] for f in sorted(counts)},
            }
        )


@dataclass(frozen=True, eq=False)
class InsideView:
    """Spectra by name of a block, the layers' neurons, and for each layer of attention a table for every head.

    `spectra[name][f]` is the share of a block's squared weights, without their mean over residues, at frequency f.
    `attention[layer][head, token]` is over (n1, n2): the share that "=" gives to the token.
    """

    order: str
    axes: Axes | None
    spectra: dict[str, Float[np.ndarray, "frequency"]]
    layers: tuple[LayerActivity, ...]
    attention: tuple[Float[np.ndarray, "head token n1 n2"], ...]
    tokens: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        spectra = {
            name: {f: share for f, share in enumerate(shares.tolist()) if f and share}
            for name, shares in self.spectra.items()
        }
        heads = [
            [dict(zip(self.tokens, head.mean(axis=(1, 2)).tolist(), strict=True)) for head in layer]
            for layer in self.attention
        ]
        layers = [layer.to_json() for layer in self.layers]
        return plain_object({"order": self.order, "spectra": spectra, "layers": layers, "attention": heads})


def inside_view(network: Network) -> InsideView:
    """Spectra for every model; neurons and attention where the model tells them and has two inputs."""
    order = order_of(network.function)
    tokens = (*network.variables, "=")
    spectra = block_spectra(network, order)
    if network.model.variables != 2:
        return InsideView(order.name, None, spectra, (), (), tokens)
    axes = Axes.of(witness_of(network.function), order, network.model.residues)
    inside = whole_inside(network)
    attention = tuple(
        np.moveaxis(axes.table(np.asarray(heads).reshape(len(heads), -1)), -1, 0).reshape(*heads.shape[1:], *axes.shape)
        for heads in inside.attention
    )
    neurons = () if order.name == NO_ORDER else inside.neurons  # no frequency means anything there
    layers = tuple(layer_activity(axes, np.asarray(layer)) for layer in neurons)
    return InsideView(order.name, axes, spectra, layers, attention, tokens)


def block_spectra(network: Network, order: Order) -> dict[str, Float[np.ndarray, "frequency"]]:
    """The spectra of the blocks that have places: embeddings by the variables that read them, and the readout."""
    blocks = network.model.blocks(network.params)
    named = list(
        zip([named_axes(network, k, blocks) for k in blocks.places], blocks.places, blocks.weights, strict=True)
    )
    readout = getattr(network.params, "readout", None)
    if readout is not None and network.model.variables not in blocks.places:
        named.append(("readout", network.model.variables, np.asarray(readout)))
    return {
        name: frequency_shares(np.asarray(weights, np.float64), order.places, axis)
        for name, axis, weights in named
        if order.places.period[axis] > 0
    }


def named_axes(network: Network, axis: int, blocks: Blocks) -> str:
    """What a block is called: its variable, all variables where one embedding serves them, or the readout."""
    if axis == network.model.variables:
        return "readout"
    shared = len([k for k in blocks.places if k < network.model.variables]) < network.model.variables
    return ", ".join(network.variables) if shared else network.variables[axis]


def frequency_shares(
    weights: Float[np.ndarray, "width p"], places: Places, axis: int
) -> Float[np.ndarray, "frequency"]:
    """The share of squared weights at every frequency, without the constant."""
    power = axis_power(weights, places, axis)
    power[0] = 0
    return power / (power.sum() if power.any() else 1)


def layer_activity(axes: Axes, neurons: Float[np.ndarray, "table neuron"]) -> LayerActivity:
    """Every neuron's best frequency, and the tables of the `SHOWN` with the largest variance on different ones."""
    power = np.stack([neuron_power(axes, neuron) for neuron in neurons.T])
    variance, frequency = power[:, 0], 1 + np.argmax(power[:, 1:], axis=1)
    held = np.take_along_axis(power, frequency[:, None], axis=1)[:, 0]
    explained = held / np.where(variance > 0, variance, 1)
    seen: dict[int, int] = {}
    for k in np.argsort(-variance, kind="stable").tolist():
        seen.setdefault(int(frequency[k]), k)
    shown = {k: axes.table(neurons[:, k : k + 1])[..., 0] for k in list(seen.values())[:SHOWN]}
    return LayerActivity(variance, frequency, explained, shown)


def neuron_power(axes: Axes, neuron: Float[np.ndarray, "table"]) -> Float[np.ndarray, "frequency"]:
    """A neuron's variance over the inputs, and after it what each frequency f = 1 … holds of it."""
    table = axes.table(neuron[:, None])[..., 0]
    power = np.abs(np.fft.fft2(table - table.mean()) / table.size) ** 2
    m1, m2 = axes.shape
    held = [power.sum()]
    for f in range(1, min(m1, m2) // 2 + 1):
        first, second = (sorted({0, step * f % m, -step * f % m}) for step, m in zip(axes.steps, (m1, m2), strict=True))
        held.append(power[np.ix_(first, second)].sum())
    return np.array(held)


def whole_inside(network: Network) -> Inside:
    """Hidden neurons and attention on every row of the table, in float64 on the host."""
    rows = network.inputs()
    size = chunk_rows(network.model, len(rows), network.dtype)
    with network.precision():
        parts = [
            model_inside(network.model, network.params, network.statistics, rows[first : first + size])
            for first in range(0, len(rows), size)
        ]
    whole: Inside = jax.tree.map(lambda *pieces: np.concatenate(pieces).astype(np.float64), *parts)
    return whole


@partial(jax.jit, static_argnums=0)
def model_inside(
    model: Model, params: PyTree, statistics: tuple[Statistics, ...], rows: Int[Weights, "row variable"] | Array
) -> Inside:
    with jax.default_matmul_precision("highest"):
        return model.inside(params, Rows(rows), statistics=statistics)
