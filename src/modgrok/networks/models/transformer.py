"""A causal transformer on the tokens n1 … nV and "=", read out at "="."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from modgrok.base.errors import InputError
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
)

HEADS = 4
"""Attention heads of a layer."""

EXPANSION = 4
"""Hidden neurons of a layer's MLP for each dimension of the stream."""

NORMS = ("none", "layer")


class Layer(NamedTuple):
    """Attention, then an MLP, each added to the stream; `norms` are in front of them, or there are none."""

    query: Float[Array, "width width"]
    key: Float[Array, "width width"]
    value: Float[Array, "width width"]
    output: Float[Array, "width width"]
    expand: Float[Array, "width neuron"]
    contract: Float[Array, "neuron width"]
    norms: tuple[Norm, ...]


class TransformerWeights(NamedTuple):
    """`positions` are added to the tokens; that of "=" is its embedding. `norms`: one before the readout, or none."""

    embed: Float[Array, "p width"]
    positions: Float[Array, "token width"]
    layers: tuple[Layer, ...]
    norms: tuple[Norm, ...]
    readout: Float[Array, "width class"]


@dataclass(frozen=True)
class Transformer(Model):
    """`depth` layers of attention and MLP on a stream of `width` dimensions."""

    name = "transformer"
    width: int = 128
    depth: int = 1
    norm: str = "none"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_range("depth of a transformer", self.depth, 1, 2)
        check_choice("norm of a transformer", self.norm, NORMS)
        if self.width % HEADS:
            raise InputError(f"width of a transformer must be a multiple of its {HEADS} heads, got {self.width}")

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> TransformerWeights:
        """Normal weights of variance scale² / (number of inputs); embeddings have that of scale² / width."""
        d = self.width
        embed_key, position_key, layers_key, readout_key = jax.random.split(key, 4)

        def layer(key: PRNGKeyArray) -> Layer:
            keys = jax.random.split(key, 6)
            shapes = [(d, d)] * 4 + [(d, EXPANSION * d), (EXPANSION * d, d)]
            q, k, v, o, up, down = (
                normal(key, shape, scale, shape[0]) for key, shape in zip(keys, shapes, strict=True)
            )
            return Layer(q, k, v, o, up, down, identity_norms(self.norm, d, 2))

        return TransformerWeights(
            embed=normal(embed_key, (self.largest, d), scale, d),
            positions=normal(position_key, (self.variables + 1, d), scale, d),
            layers=tuple(layer(k) for k in jax.random.split(layers_key, self.depth)),
            norms=identity_norms(self.norm, d, 1),
            readout=normal(readout_key, (d, self.classes), scale, d),
        )

    def apply(
        self,
        params: TransformerWeights,
        rows: Rows,
        *,
        statistics: tuple[Statistics, ...] = (),
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "row class"]:
        return self.forward(params, rows, key)[0]

    def inside(self, params: TransformerWeights, rows: Rows, *, statistics: tuple[Statistics, ...] = ()) -> Inside:
        """Neurons and attention at "=", which alone is read out."""
        return self.forward(params, rows, None)[1]

    def forward(
        self, params: TransformerWeights, rows: Rows, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "row class"], Inside]:
        """Only the stream at "=" is followed through the last layer: nothing else is read out."""
        layers: list[tuple[Array, Array]] = []
        embed = jnp.asarray(params.embed)[None]
        tokens = [
            gathered_sum(embed, rows.inputs[:, v : v + 1], None if rows.groups is None else rows.groups[v, None])
            for v in range(self.variables)
        ]
        stream = jnp.stack([*tokens, jnp.zeros_like(tokens[0])], axis=1) + params.positions[None]
        for k, layer in enumerate(params.layers):
            read = 1 if k + 1 == len(params.layers) else self.variables + 1
            attention_norm, mlp_norm = layer.norms or (None, None)
            mixed, shares = attend(layer, layer_norm(stream, attention_norm), read)
            stream = stream[:, -read:] + dropped(mixed, self.dropout, key, 2 * k)
            neurons = jax.nn.relu(layer_norm(stream, mlp_norm) @ layer.expand)
            stream = stream + dropped(neurons @ layer.contract, self.dropout, key, 2 * k + 1)
            layers.append((neurons[:, -1], shares[:, :, -1]))
        logits = layer_norm(stream[:, -1], params.norms[0] if params.norms else None) @ params.readout
        return logits, Inside(*map(tuple, zip(*layers, strict=True)))

    def blocks(self, params: TransformerWeights) -> Blocks:
        """The dimensions of the embedding, which all variables share; laid out by the first with most values."""
        return Blocks(jnp.swapaxes(params.embed[None], 1, 2), (self.residues.index(self.largest),))

    def activations(self) -> int:
        token = (8 + 2 * EXPANSION) * self.width
        return token * ((self.depth - 1) * (self.variables + 1) + 1) + 4 * (self.variables + 1) * self.width


def attend(
    layer: Layer, stream: Float[Array, "row token width"], read: int
) -> tuple[Float[Array, "row read width"], Float[Array, "row head read token"]]:
    """Causal attention of the last `read` tokens, and the shares that their heads give to each token."""
    rows, tokens, width = stream.shape

    def heads(x: Array) -> Float[Array, "row token head part"]:
        return x.reshape(rows, -1, HEADS, width // HEADS)

    queries, keys, values = (
        heads(stream[:, -read:] @ layer.query),
        heads(stream @ layer.key),
        heads(stream @ layer.value),
    )
    scores = jnp.einsum("rqhc,rkhc->rhqk", queries, keys) / jnp.sqrt(width // HEADS)
    causal = np.tri(tokens, dtype=bool)[-read:]
    shares = jax.nn.softmax(jnp.where(causal[None, None], scores, -jnp.inf), axis=-1)
    return jnp.einsum("rhqk,rkhc->rqhc", shares, values).reshape(rows, read, width) @ layer.output, shares
