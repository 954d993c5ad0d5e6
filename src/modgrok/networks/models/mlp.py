"""Multi-layer perceptrons: an embedding of each variable, hidden layers, a readout; no biases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from modgrok.networks.models.base import (
    Blocks,
    Inside,
    Model,
    Norm,
    Rows,
    Statistics,
    check_choice,
    check_range,
    dropped,
    gathered_sum,
    identity_norms,
    layer_norm,
    normal,
    standardised,
    used_rows,
)

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": jax.nn.relu, "gelu": jax.nn.gelu, "square": jnp.square}
NORMS = ("none", "layer", "batch")


class MlpWeights(NamedTuple):
    """`norms` has one for each layer of neurons, or none."""

    embed: Float[Array, "variable p width"]
    hidden: tuple[Float[Array, "width width"], ...]
    norms: tuple[Norm, ...]
    readout: Float[Array, "width class"]


@dataclass(frozen=True)
class Mlp(Model):
    """`depth` layers of weights, the first an embedding; a normalisation stands in front of each activation."""

    name = "mlp"
    width: int = 256
    depth: int = 3
    activation: str = "relu"
    norm: str = "none"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_range("depth of an mlp", self.depth, 2, 4)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("norm of an mlp", self.norm, NORMS)

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> MlpWeights:
        """Normal weights of variance scale² / (number of inputs that are not zero)."""
        keys = jax.random.split(key, self.depth)
        embed = normal(keys[0], (self.variables, self.largest, self.width), scale, self.variables)
        hidden = tuple(normal(k, (self.width, self.width), scale, self.width) for k in keys[1:-1])
        readout = normal(keys[-1], (self.width, self.classes), scale, self.width)
        norms = identity_norms(self.norm, self.width, self.depth - 1)
        return MlpWeights(used_rows(embed, self.residues), hidden, norms, readout)

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
        hidden = gathered_sum(jnp.asarray(params.embed), rows.inputs, rows.groups)
        for k in range(self.depth - 1):
            if k > 0:
                hidden = hidden @ params.hidden[k - 1]
            if self.norm == "layer":
                hidden = layer_norm(hidden, params.norms[k])
            elif self.norm == "batch":
                used.append(statistics[k] if statistics else weighted_statistics(hidden, rows.weights))
                mean, variance = (jnp.asarray(part)[None] for part in used[-1])
                hidden = standardised(hidden, mean, variance, params.norms[k])
            neurons.append(ACTIVATIONS[self.activation](hidden))
            hidden = dropped(neurons[-1], self.dropout, key, k)
        return hidden @ params.readout, tuple(used), tuple(neurons)

    def blocks(self, params: MlpWeights) -> Blocks:
        """A neuron's columns of the embedding."""
        return Blocks(jnp.swapaxes(params.embed, 1, 2), tuple(range(self.variables)))

    def activations(self) -> int:
        per_layer = 4 + 2 * (self.norm != "none") + (self.dropout > 0)
        return (self.depth - 1) * per_layer * self.width


def weighted_statistics(x: Float[Array, "row width"], weights: Float[Array, "row"] | None) -> Statistics:
    if weights is None:
        weights = jnp.full(x.shape[0], 1 / x.shape[0])
    mean = weights @ x
    return Statistics(mean, weights @ (x - mean[None]) ** 2)
