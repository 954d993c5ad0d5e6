"""Multi-layer perceptrons: an embedding of each variable, hidden layers, a readout; with biases or without."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from modgrok.base.errors import InputError, check_choice
from modgrok.networks.circuit import Weights
from modgrok.networks.models.base import (
    ACTIVATIONS,
    EPSILON,
    TORCH_PARTS,
    Inside,
    Model,
    Norm,
    Rows,
    Statistics,
    check_range,
    check_statistics,
    dropped,
    gathered_sum,
    identity_norms,
    layer_norm,
    normal,
    plus,
    standardised,
    used_rows,
)
from modgrok.networks.onnx_graph import Graph

NORMS = ("none", "layer", "batch")
DEEPEST = 100
"""Most layers: each is spelled out where a training is compiled."""


class MlpWeights(NamedTuple):
    """`norms` has one for each layer of neurons, or none; `biases` one for each layer of weights, or none."""

    embed: Float[Weights, "variable p width"]
    hidden: tuple[Float[Weights, "_ _"], ...]
    norms: tuple[Norm, ...]
    readout: Float[Weights, "width class"]
    biases: tuple[Float[Weights, "_"], ...] = ()


@dataclass(frozen=True)
class Mlp(Model):
    """`depth` layers of weights, the first an embedding; a normalisation stands in front of each activation.

    `widths` are those of the layers of neurons where they differ, which no training makes and other people's do.
    """

    name = "mlp"
    width: int = 256
    depth: int = 3
    activation: str = "relu"
    norm: str = "none"
    dropout: float = 0.0
    bias: bool = False
    widths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.widths and len(self.widths) != self.depth - 1:
            raise InputError(f"an mlp of depth {self.depth} has {self.depth - 1} layers of neurons, got {self.widths}")
        check_range("depth of an mlp", self.depth, 2, DEEPEST)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("norm of an mlp", self.norm, NORMS)

    @property
    def layers(self) -> tuple[int, ...]:
        """How many neurons each layer has."""
        return self.widths or (self.width,) * (self.depth - 1)

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> MlpWeights:
        """Normal weights of variance scale² / (number of inputs that are not zero); biases are 0."""
        keys = jax.random.split(key, self.depth)
        first, last = self.layers[0], self.layers[-1]
        embed = normal(keys[0], (self.variables, self.largest, first), scale, self.variables)
        hidden = tuple(
            normal(k, shape, scale, shape[0]) for k, shape in zip(keys[1:-1], pairwise(self.layers), strict=True)
        )
        readout = normal(keys[-1], (last, self.classes), scale, last)
        norms = tuple(norm for width in self.layers for norm in identity_norms(self.norm, width, 1))
        sizes = (*self.layers, self.classes)
        biases = tuple(jnp.zeros(size) for size in sizes) if self.bias else ()
        return MlpWeights(used_rows(embed, self.residues), hidden, norms, readout, biases)

    def apply(
        self,
        params: MlpWeights,
        rows: Rows,
        *,
        statistics: tuple[Statistics, ...] = (),
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "row class"]:
        return self.forward(params, rows, statistics, key)[0]

    def inside(self, params: MlpWeights, rows: Rows, *, statistics: tuple[Statistics, ...] = ()) -> Inside:
        return Inside(neurons=self.forward(params, rows, statistics, None)[2])

    @property
    def sees_whole_batch(self) -> bool:
        return self.norm == "batch"

    def statistics(self, params: MlpWeights, rows: Rows) -> tuple[Statistics, ...]:
        return self.forward(params, rows, (), None)[1] if self.sees_whole_batch else ()

    def forward(
        self, params: MlpWeights, rows: Rows, statistics: tuple[Statistics, ...], key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "row class"], tuple[Statistics, ...], tuple[Float[Array, "row width"], ...]]:
        """Logits, the statistics that batch normalisation used, and the neurons of every layer."""
        used: list[Statistics] = []
        neurons: list[Array] = []
        biases = params.biases or (None,) * self.depth
        hidden = gathered_sum(jnp.asarray(params.embed), rows.inputs)
        for k in range(self.depth - 1):
            if k > 0:
                hidden = hidden @ params.hidden[k - 1]
            hidden = plus(hidden, biases[k])
            if self.norm == "layer":
                hidden = layer_norm(hidden, params.norms[k])
            elif self.norm == "batch":
                used.append(statistics[k] if statistics else weighted_statistics(hidden, rows.weights))
                mean, variance = (jnp.asarray(part)[None] for part in used[-1])
                hidden = standardised(hidden, mean, variance, params.norms[k])
            neurons.append(ACTIVATIONS[self.activation](hidden))
            hidden = dropped(neurons[-1], self.dropout, key, k)
        return plus(hidden @ params.readout, biases[-1]), tuple(used), tuple(neurons)

    def activations(self) -> int:
        per_layer = 4 + 2 * (self.norm != "none") + (self.dropout > 0)
        return per_layer * sum(self.layers)

    def onnx(self, graph: Graph, params: MlpWeights, statistics: tuple[Statistics, ...]) -> None:
        """`forward`; batch normalisation has the statistics of the training rows."""
        check_statistics(self, statistics)
        embed, biases = np.asarray(params.embed), params.biases or (None,) * self.depth
        hidden = graph.total(
            [graph.node("Gather", graph.constant(embed[v]), graph.column(v)) for v in range(self.variables)]
        )
        for k in range(self.depth - 1):
            if k > 0:
                hidden = graph.matmul(hidden, params.hidden[k - 1], biases[k])
            elif (bias := biases[0]) is not None:
                hidden = graph.plus(hidden, bias)
            if self.norm == "layer":
                hidden = graph.layer_norm(hidden, params.norms[k], EPSILON)
            elif self.norm == "batch":
                scale, shift = (np.asarray(part) for part in params.norms[k])
                slope = scale / np.sqrt(np.asarray(statistics[k].variance) + EPSILON)
                hidden = graph.plus(graph.times(hidden, slope), shift - np.asarray(statistics[k].mean) * slope)
            hidden = graph.activation(self.activation, hidden)
        graph.matmul(hidden, params.readout, biases[-1], "logits")

    def torch(self, params: MlpWeights) -> tuple[dict[str, Any], str]:
        own = {"DEPTH": self.depth, "ACTIVATION": self.activation, "NORM": self.norm, "EPSILON": EPSILON}
        return own, TORCH_PARTS + TORCH


def weighted_statistics(x: Float[Array, "row width"], weights: Float[Array, "row"] | None) -> Statistics:
    if weights is None:
        weights = jnp.full(x.shape[0], 1 / x.shape[0])
    mean = weights @ x
    return Statistics(mean, weights @ (x - mean[None]) ** 2)


TORCH = '''

class Statistics(torch.nn.Module):
    """Of batch normalisation, over the training rows."""

    def __init__(self, tensors):
        super().__init__()
        self.register_buffer("mean", tensors["mean"])
        self.register_buffer("variance", tensors["variance"])


class Network(torch.nn.Module):
    """An embedding of each variable, hidden layers, a readout; biases where there are some.

    `neurons` are the layers of neurons after their activation, for hooks.
    """

    def __init__(self, tensors):
        super().__init__()
        self.embed, self.readout = (torch.nn.Parameter(tensors[name]) for name in ("embed", "readout"))
        self.hidden = parameters(tensors, DEPTH, "hidden")
        self.biases = parameters(tensors, DEPTH, "biases")
        self.norms = norms(tensors, DEPTH)
        found = [below(tensors, f"statistics.{k}.") for k in range(DEPTH)]
        self.statistics = torch.nn.ModuleList(Statistics(each) for each in found if each)
        self.neurons = torch.nn.ModuleList(torch.nn.Identity() for _ in range(DEPTH - 1))

    def forward(self, rows):
        x = sum(self.embed[v][rows[:, v]] for v in range(len(VARIABLES)))
        biases = list(self.biases) or [None] * DEPTH
        for k in range(DEPTH - 1):
            x = plus(x if k == 0 else x @ self.hidden[k - 1], biases[k])
            if NORM == "layer":
                x = self.norms[k](x)
            elif NORM == "batch":
                x = self.norms[k].standardised(x, self.statistics[k].mean, self.statistics[k].variance)
            x = self.neurons[k](activation(x))
        return plus(x @ self.readout, biases[-1])
'''
"""`Mlp.forward` in PyTorch."""
