"""Multi-layer perceptrons: an embedding of each variable, hidden layers, a readout; with biases or without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from modgrok.networks.models.base import (
    EPSILON,
    TORCH_WEIGHTS,
    Inside,
    Model,
    Norm,
    Rows,
    Statistics,
    check_choice,
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

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": jax.nn.relu, "gelu": jax.nn.gelu, "square": jnp.square}
NORMS = ("none", "layer", "batch")
DEEPEST = 100
"""Most layers: each is spelled out where a training is compiled."""


class MlpWeights(NamedTuple):
    """`norms` has one for each layer of neurons, or none; `biases` one for each layer of weights, or none."""

    embed: Float[Array, "variable p width"]
    hidden: tuple[Float[Array, "width width"], ...]
    norms: tuple[Norm, ...]
    readout: Float[Array, "width class"]
    biases: tuple[Float[Array, "_"], ...] = ()


@dataclass(frozen=True)
class Mlp(Model):
    """`depth` layers of weights, the first an embedding; a normalisation stands in front of each activation."""

    name = "mlp"
    width: int = 256
    depth: int = 3
    activation: str = "relu"
    norm: str = "none"
    dropout: float = 0.0
    bias: bool = False

    def __post_init__(self) -> None:
        check_range("depth of an mlp", self.depth, 2, DEEPEST)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("norm of an mlp", self.norm, NORMS)

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> MlpWeights:
        """Normal weights of variance scale² / (number of inputs that are not zero); biases are 0."""
        keys = jax.random.split(key, self.depth)
        embed = normal(keys[0], (self.variables, self.largest, self.width), scale, self.variables)
        hidden = tuple(normal(k, (self.width, self.width), scale, self.width) for k in keys[1:-1])
        readout = normal(keys[-1], (self.width, self.classes), scale, self.width)
        norms = identity_norms(self.norm, self.width, self.depth - 1)
        sizes = (*[self.width] * (self.depth - 1), self.classes)
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
        hidden = gathered_sum(jnp.asarray(params.embed), rows.inputs, rows.groups)
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
        return (self.depth - 1) * per_layer * self.width

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
            elif self.bias:
                hidden = graph.plus(hidden, biases[k])
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
        return own, TORCH_WEIGHTS + TORCH


def weighted_statistics(x: Float[Array, "row width"], weights: Float[Array, "row"] | None) -> Statistics:
    if weights is None:
        weights = jnp.full(x.shape[0], 1 / x.shape[0])
    mean = weights @ x
    return Statistics(mean, weights @ (x - mean[None]) ** 2)


TORCH = '''

class Network(Weights):
    """An embedding of each variable, hidden layers, a readout; biases where there are some."""

    def forward(self, rows):
        w = self.weights
        hidden = sum(w["embed"][v][rows[:, v]] for v in range(len(VARIABLES)))
        for k in range(DEPTH - 1):
            if k > 0:
                hidden = hidden @ w[f"hidden_{k - 1}"]
            hidden = self.plus(hidden, f"biases_{k}")
            if NORM == "layer":
                hidden = self.layer_norm(hidden, f"norms_{k}_")
            elif NORM == "batch":
                mean, variance = (getattr(self, f"statistics_{k}_{part}") for part in ("mean", "variance"))
                hidden = self.standardised(hidden, mean, variance, f"norms_{k}_")
            hidden = self.activation(hidden)
        return self.plus(hidden @ w["readout"], f"biases_{DEPTH - 1}")

    def activation(self, x):
        if ACTIVATION == "relu":
            return torch.relu(x)
        if ACTIVATION == "square":
            return x**2
        return torch.nn.functional.gelu(x, approximate="tanh")
'''
"""`Mlp.forward` in PyTorch."""
