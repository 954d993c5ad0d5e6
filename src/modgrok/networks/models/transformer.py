"""A causal transformer on the tokens n1 … nV and "=", read out at "="."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from modgrok.base.errors import InputError
from modgrok.networks.models.base import (
    EPSILON,
    TORCH_WEIGHTS,
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
    plus,
)
from modgrok.networks.models.mlp import DEEPEST
from modgrok.networks.onnx_graph import Graph

NORMS = ("none", "layer")


class LayerBiases(NamedTuple):
    """What is added behind each matrix of a layer."""

    query: Float[Array, "width"] | None = None
    key: Float[Array, "width"] | None = None
    value: Float[Array, "width"] | None = None
    output: Float[Array, "width"] | None = None
    expand: Float[Array, "neuron"] | None = None
    contract: Float[Array, "width"] | None = None


class Layer(NamedTuple):
    """Attention, then an MLP, each added to the stream; `norms` are in front of them, or there are none."""

    query: Float[Array, "width width"]
    key: Float[Array, "width width"]
    value: Float[Array, "width width"]
    output: Float[Array, "width width"]
    expand: Float[Array, "width neuron"]
    contract: Float[Array, "neuron width"]
    norms: tuple[Norm, ...]
    biases: LayerBiases = LayerBiases()


class TransformerWeights(NamedTuple):
    """`positions` are added to the tokens; that of "=" is its embedding. `norms`: one before the readout, or none.

    `bias` is that of the readout.
    """

    embed: Float[Array, "p width"]
    positions: Float[Array, "token width"]
    layers: tuple[Layer, ...]
    norms: tuple[Norm, ...]
    readout: Float[Array, "width class"]
    bias: Float[Array, "class"] | None = None


@dataclass(frozen=True)
class Transformer(Model):
    """`depth` layers of attention and MLP on a stream of `width` dimensions.

    `mlp_width` None is four times the width.
    """

    name = "transformer"
    width: int = 128
    depth: int = 1
    norm: str = "none"
    dropout: float = 0.0
    heads: int = 4
    mlp_width: int | None = None
    bias: bool = False

    def __post_init__(self) -> None:
        check_range("depth of a transformer", self.depth, 1, DEEPEST)
        check_choice("norm of a transformer", self.norm, NORMS)
        if self.width % self.heads:
            raise InputError(f"width of a transformer must be a multiple of its {self.heads} heads, got {self.width}")

    @property
    def neurons(self) -> int:
        """Hidden neurons of a layer's MLP."""
        return 4 * self.width if self.mlp_width is None else self.mlp_width

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> TransformerWeights:
        """Normal weights of variance scale² / (number of inputs); embeddings have that of scale² / width.

        Biases are 0.
        """
        d = self.width
        embed_key, position_key, layers_key, readout_key = jax.random.split(key, 4)

        def layer(key: PRNGKeyArray) -> Layer:
            keys = jax.random.split(key, 6)
            shapes = [(d, d)] * 4 + [(d, self.neurons), (self.neurons, d)]
            biases = LayerBiases(*(jnp.zeros(shape[1]) for shape in shapes)) if self.bias else LayerBiases()
            q, k, v, o, up, down = (
                normal(key, shape, scale, shape[0]) for key, shape in zip(keys, shapes, strict=True)
            )
            return Layer(q, k, v, o, up, down, identity_norms(self.norm, d, 2), biases)

        return TransformerWeights(
            embed=normal(embed_key, (self.largest, d), scale, d),
            positions=normal(position_key, (self.variables + 1, d), scale, d),
            layers=tuple(layer(k) for k in jax.random.split(layers_key, self.depth)),
            norms=identity_norms(self.norm, d, 1),
            readout=normal(readout_key, (d, self.classes), scale, d),
            bias=jnp.zeros(self.classes) if self.bias else None,
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
            mixed, shares = attend(layer, layer_norm(stream, attention_norm), read, self.heads)
            stream = stream[:, -read:] + dropped(mixed, self.dropout, key, 2 * k)
            neurons = jax.nn.relu(plus(layer_norm(stream, mlp_norm) @ layer.expand, layer.biases.expand))
            added = plus(neurons @ layer.contract, layer.biases.contract)
            stream = stream + dropped(added, self.dropout, key, 2 * k + 1)
            layers.append((neurons[:, -1], shares[:, :, -1]))
        logits = layer_norm(stream[:, -1], params.norms[0] if params.norms else None) @ params.readout
        return plus(logits, params.bias), Inside(*map(tuple, zip(*layers, strict=True)))

    def blocks(self, params: TransformerWeights) -> Blocks:
        """The dimensions of the embedding, which all variables share; laid out by the first with most values."""
        return Blocks(jnp.swapaxes(params.embed[None], 1, 2), (self.residues.index(self.largest),))

    def activations(self) -> int:
        token = 8 * self.width + 2 * self.neurons
        return token * ((self.depth - 1) * (self.variables + 1) + 1) + 4 * (self.variables + 1) * self.width

    def onnx(self, graph: Graph, params: TransformerWeights, statistics: tuple[Statistics, ...]) -> None:
        """`forward`, with every token followed through the last layer and "=" read out."""
        tokens = self.variables + 1
        positions = np.asarray(params.positions)
        inputs = graph.plus(graph.node("Gather", graph.constant(params.embed), "rows"), positions[:-1])
        first = graph.node("Gather", inputs, graph.whole([0]), axis=1)
        equals = graph.plus(graph.times(first, 0), positions[-1])  # as many rows as there are
        stream = graph.node("Concat", inputs, equals, axis=1)
        for layer in params.layers:
            attention_norm, mlp_norm = layer.norms or (None, None)
            mixed = self.onnx_attention(graph, layer, graph.layer_norm(stream, attention_norm, EPSILON))
            stream = graph.node("Add", stream, mixed)
            normed = graph.layer_norm(stream, mlp_norm, EPSILON)
            neurons = graph.node("Relu", graph.matmul(normed, layer.expand, layer.biases.expand))
            stream = graph.node("Add", stream, graph.matmul(neurons, layer.contract, layer.biases.contract))
        last = graph.node("Gather", stream, graph.whole(tokens - 1), axis=1)
        normed = graph.layer_norm(last, params.norms[0] if params.norms else None, EPSILON)
        graph.matmul(normed, params.readout, params.bias, "logits")

    def onnx_attention(self, graph: Graph, layer: Layer, stream: str) -> str:
        """Causal attention of all tokens: axes are row, head, token, part of the width."""
        tokens, part = self.variables + 1, self.width // self.heads

        def heads(name: str, order: tuple[int, ...]) -> str:
            projected = graph.matmul(stream, getattr(layer, name), getattr(layer.biases, name))
            split = graph.node("Reshape", projected, graph.whole([0, tokens, self.heads, part]))
            return graph.node("Transpose", split, perm=order)

        queries, keys, values = heads("query", (0, 2, 1, 3)), heads("key", (0, 2, 3, 1)), heads("value", (0, 2, 1, 3))
        scores = graph.times(graph.node("MatMul", queries, keys), 1 / sqrt(part))
        later = np.where(np.tri(tokens, dtype=bool), 0, -np.inf)
        shares = graph.node("Softmax", graph.plus(scores, later), axis=-1)
        mixed = graph.node("Transpose", graph.node("MatMul", shares, values), perm=(0, 2, 1, 3))
        joined = graph.node("Reshape", mixed, graph.whole([0, tokens, self.width]))
        return graph.matmul(joined, layer.output, layer.biases.output)

    def torch(self, params: TransformerWeights) -> tuple[dict[str, Any], str]:
        return {"DEPTH": self.depth, "HEADS": self.heads, "EPSILON": EPSILON}, TORCH_WEIGHTS + TORCH


def attend(
    layer: Layer, stream: Float[Array, "row token width"], read: int, heads: int
) -> tuple[Float[Array, "row read width"], Float[Array, "row head read token"]]:
    """Causal attention of the last `read` tokens, and the shares that their heads give to each token."""
    rows, tokens, width = stream.shape
    part, biases = width // heads, layer.biases

    def split(x: Array, bias: Array | None) -> Float[Array, "row token head part"]:
        return plus(x, bias).reshape(rows, -1, heads, part)

    queries = split(stream[:, -read:] @ layer.query, biases.query)
    keys, values = split(stream @ layer.key, biases.key), split(stream @ layer.value, biases.value)
    scores = jnp.einsum("rqhc,rkhc->rhqk", queries, keys) / jnp.sqrt(part)
    causal = np.tri(tokens, dtype=bool)[-read:]
    shares = jax.nn.softmax(jnp.where(causal[None, None], scores, -jnp.inf), axis=-1)
    mixed = jnp.einsum("rhqk,rkhc->rqhc", shares, values).reshape(rows, read, width) @ layer.output
    return plus(mixed, biases.output), shares


TORCH = '''

class Network(Weights):
    """A causal transformer on the variables and "=", whose embedding is its position, read out at "="."""

    def __init__(self, tensors):
        super().__init__(tensors)
        tokens = len(VARIABLES) + 1
        self.register_buffer("later", torch.triu(torch.full((tokens, tokens), float("-inf")), 1))

    def forward(self, rows):
        w = self.weights
        inputs = w["embed"][rows] + w["positions"][:-1]
        stream = torch.cat([inputs, torch.zeros_like(inputs[:, :1]) + w["positions"][-1]], 1)
        for layer in (f"layers_{k}_" for k in range(DEPTH)):
            stream = stream + self.attend(self.layer_norm(stream, layer + "norms_0_"), layer)
            neurons = torch.relu(self.times(self.layer_norm(stream, layer + "norms_1_"), layer, "expand"))
            stream = stream + self.times(neurons, layer, "contract")
        return self.plus(self.layer_norm(stream[:, -1], "norms_0_") @ w["readout"], "bias")

    def times(self, x, layer, name):
        return self.plus(x @ self.weights[layer + name], layer + "biases_" + name)

    def attend(self, stream, layer):
        rows, tokens, width = stream.shape
        queries, keys, values = (
            self.times(stream, layer, name).reshape(rows, tokens, HEADS, width // HEADS)
            for name in ("query", "key", "value")
        )
        scores = torch.einsum("rqhc,rkhc->rhqk", queries, keys) / (width // HEADS) ** 0.5
        shares = torch.softmax(scores + self.later, dim=-1)
        mixed = torch.einsum("rhqk,rkhc->rqhc", shares, values).reshape(rows, tokens, width)
        return self.times(mixed, layer, "output")
'''
"""`Transformer.forward` in PyTorch."""
