"""A causal transformer on the tokens n1 … nV and mostly "=", read out at the last one."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
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
    Blocks,
    Inside,
    Model,
    Norm,
    Rows,
    Statistics,
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

    query: Float[Weights, "parts"] | None = None
    key: Float[Weights, "parts"] | None = None
    value: Float[Weights, "parts"] | None = None
    output: Float[Weights, "width"] | None = None
    expand: Float[Weights, "neuron"] | None = None
    contract: Float[Weights, "width"] | None = None


class Layer(NamedTuple):
    """Attention, then an MLP, each added to the stream; `norms` are in front of them, or there are none.

    The parts of all heads stand side by side.
    """

    query: Float[Weights, "width parts"]
    key: Float[Weights, "width parts"]
    value: Float[Weights, "width parts"]
    output: Float[Weights, "parts width"]
    expand: Float[Weights, "width neuron"]
    contract: Float[Weights, "neuron width"]
    norms: tuple[Norm, ...]
    biases: LayerBiases = LayerBiases()


class TransformerWeights(NamedTuple):
    """`positions` are added to the tokens; that of "=" is its embedding. `norms`: one before the readout, or none.

    `bias` is that of the readout.
    """

    embed: Float[Weights, "p width"]
    positions: Float[Weights, "token width"]
    layers: tuple[Layer, ...]
    norms: tuple[Norm, ...]
    readout: Float[Weights, "width class"]
    bias: Float[Weights, "class"] | None = None


def with_zeros(weights: TransformerWeights) -> TransformerWeights:
    """The weights with all biases, 0 where there is none."""

    def filled(layer: Layer) -> Layer:
        pairs = zip(layer[:6], layer.biases, strict=True)
        biases = [np.zeros(matrix.shape[1], matrix.dtype) if bias is None else bias for matrix, bias in pairs]
        return layer._replace(biases=LayerBiases(*biases))

    bias = np.zeros(weights.readout.shape[1], weights.readout.dtype) if weights.bias is None else weights.bias
    return weights._replace(layers=tuple(map(filled, weights.layers)), bias=bias)


@dataclass(frozen=True)
class Transformer(Model):
    """`depth` layers of attention and MLP on a stream of `width` dimensions.

    `mlp_width` None is four times the width, `head_width` None that the heads share the width. Without `equals` the
    last variable is the last token. Trainings leave these two as they are; other people's networks have others.
    """

    name = "transformer"
    width: int = 128
    depth: int = 1
    norm: str = "none"
    dropout: float = 0.0
    heads: int = 4
    mlp_width: int | None = None
    bias: bool = False
    activation: str = "relu"
    head_width: int | None = None
    equals: bool = True

    def __post_init__(self) -> None:
        check_range("depth of a transformer", self.depth, 1, DEEPEST)
        check_choice("norm of a transformer", self.norm, NORMS)
        check_choice("activation", self.activation, ACTIVATIONS)
        if self.head_width is None and self.width % self.heads:
            raise InputError(f"width of a transformer must be a multiple of its {self.heads} heads, got {self.width}")

    @property
    def neurons(self) -> int:
        """Hidden neurons of a layer's MLP."""
        return 4 * self.width if self.mlp_width is None else self.mlp_width

    @property
    def part(self) -> int:
        """Dimensions of a head."""
        return self.width // self.heads if self.head_width is None else self.head_width

    @property
    def tokens(self) -> int:
        return self.variables + self.equals

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> TransformerWeights:
        """Normal weights of variance scale² / (number of inputs); embeddings have that of scale² / width.

        Biases are 0.
        """
        d, parts = self.width, self.heads * self.part
        embed_key, position_key, layers_key, readout_key = jax.random.split(key, 4)

        def layer(key: PRNGKeyArray) -> Layer:
            keys = jax.random.split(key, 6)
            shapes = [(d, parts)] * 3 + [(parts, d), (d, self.neurons), (self.neurons, d)]
            biases = LayerBiases(*(jnp.zeros(shape[1]) for shape in shapes)) if self.bias else LayerBiases()
            q, k, v, o, up, down = (
                normal(key, shape, scale, shape[0]) for key, shape in zip(keys, shapes, strict=True)
            )
            return Layer(q, k, v, o, up, down, identity_norms(self.norm, d, 2), biases)

        return TransformerWeights(
            embed=normal(embed_key, (self.largest, d), scale, d),
            positions=normal(position_key, (self.tokens, d), scale, d),
            layers=tuple(layer(k) for k in jax.random.split(layers_key, self.depth)),
            norms=identity_norms(self.norm, d, 1),
            readout=normal(readout_key, (d, self.classes), scale, d),
            bias=jnp.zeros(self.classes) if self.bias else None,
        )

    def apply(
        self, params: TransformerWeights, rows: Rows, *, key: PRNGKeyArray | None = None, **_: Any
    ) -> Float[Array, "row class"]:
        return self.forward(params, rows, key)[0]

    def inside(self, params: TransformerWeights, rows: Rows, *, statistics: tuple[Statistics, ...] = ()) -> Inside:
        """Neurons and attention at the last token, which alone is read out."""
        return self.forward(params, rows, None)[1]

    def forward(
        self, params: TransformerWeights, rows: Rows, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "row class"], Inside]:
        """Only the stream at the last token is followed through the last layer: nothing else is read out."""
        layers: list[tuple[Array, Array]] = []
        embed = jnp.asarray(params.embed)[None]
        tokens = [gathered_sum(embed, rows.inputs[:, v : v + 1]) for v in range(self.variables)]
        behind = [jnp.zeros_like(tokens[0])] if self.equals else []
        stream = jnp.stack([*tokens, *behind], axis=1) + params.positions[None]
        for k, layer in enumerate(params.layers):
            read = 1 if k + 1 == len(params.layers) else self.tokens
            attention_norm, mlp_norm = layer.norms or (None, None)
            mixed, shares = attend(layer, layer_norm(stream, attention_norm), read, self.heads)
            stream = stream[:, -read:] + dropped(mixed, self.dropout, key, 2 * k)
            reached = plus(layer_norm(stream, mlp_norm) @ layer.expand, layer.biases.expand)
            neurons = ACTIVATIONS[self.activation](reached)
            added = plus(neurons @ layer.contract, layer.biases.contract)
            stream = stream + dropped(added, self.dropout, key, 2 * k + 1)
            layers.append((neurons[:, -1], shares[:, :, -1]))
        logits = layer_norm(stream[:, -1], params.norms[0] if params.norms else None) @ params.readout
        return plus(logits, params.bias), Inside(*map(tuple, zip(*layers, strict=True)))

    def blocks(self, params: TransformerWeights) -> Blocks:
        """The dimensions of the embedding, which all variables share; laid out by the first with most values."""
        return Blocks(params.embed[None].swapaxes(1, 2), (self.residues.index(self.largest),))

    def activations(self) -> int:
        token = 8 * self.width + 2 * self.neurons
        return token * ((self.depth - 1) * self.tokens + 1) + 4 * self.tokens * self.width

    def onnx(self, graph: Graph, params: TransformerWeights, statistics: tuple[Statistics, ...]) -> None:
        """`forward`, with every token followed through the last layer and the last one read out."""
        positions = np.asarray(params.positions)
        stream = graph.plus(graph.node("Gather", graph.constant(params.embed), "rows"), positions[: self.variables])
        if self.equals:
            first = graph.node("Gather", stream, graph.whole([0]), axis=1)
            equals = graph.plus(graph.times(first, 0), positions[-1])  # as many rows as there are
            stream = graph.node("Concat", stream, equals, axis=1)
        for layer in params.layers:
            attention_norm, mlp_norm = layer.norms or (None, None)
            mixed = self.onnx_attention(graph, layer, graph.layer_norm(stream, attention_norm, EPSILON))
            stream = graph.node("Add", stream, mixed)
            normed = graph.layer_norm(stream, mlp_norm, EPSILON)
            neurons = graph.activation(self.activation, graph.matmul(normed, layer.expand, layer.biases.expand))
            stream = graph.node("Add", stream, graph.matmul(neurons, layer.contract, layer.biases.contract))
        last = graph.node("Gather", stream, graph.whole(self.tokens - 1), axis=1)
        normed = graph.layer_norm(last, params.norms[0] if params.norms else None, EPSILON)
        graph.matmul(normed, params.readout, params.bias, "logits")

    def onnx_attention(self, graph: Graph, layer: Layer, stream: str) -> str:
        """Causal attention of all tokens: axes are row, head, token, part of the width."""
        tokens, part = self.tokens, self.part

        def heads(name: str, order: tuple[int, ...]) -> str:
            projected = graph.matmul(stream, getattr(layer, name), getattr(layer.biases, name))
            split = graph.node("Reshape", projected, graph.whole([0, tokens, self.heads, part]))
            return graph.node("Transpose", split, perm=order)

        queries, keys, values = heads("query", (0, 2, 1, 3)), heads("key", (0, 2, 3, 1)), heads("value", (0, 2, 1, 3))
        scores = graph.times(graph.node("MatMul", queries, keys), 1 / sqrt(part))
        later = np.where(np.tri(tokens, dtype=bool), 0, -np.inf)
        shares = graph.node("Softmax", graph.plus(scores, later), axis=-1)
        mixed = graph.node("Transpose", graph.node("MatMul", shares, values), perm=(0, 2, 1, 3))
        joined = graph.node("Reshape", mixed, graph.whole([0, tokens, self.heads * part]))
        return graph.matmul(joined, layer.output, layer.biases.output)

    def torch(self, params: TransformerWeights) -> tuple[dict[str, Any], str]:
        own = {"DEPTH": self.depth, "HEADS": self.heads, "EPSILON": EPSILON, "ACTIVATION": self.activation}
        return own, TORCH_PARTS + TORCH


def attend(
    layer: Layer, stream: Float[Array, "row token width"], read: int, heads: int
) -> tuple[Float[Array, "row read width"], Float[Array, "row head read token"]]:
    """Causal attention of the last `read` tokens, and the shares that their heads give to each token."""
    rows, tokens, _ = stream.shape
    part, biases = layer.query.shape[1] // heads, layer.biases

    def split(x: Array, bias: Weights | None) -> Float[Array, "row token head part"]:
        return plus(x, bias).reshape(rows, -1, heads, part)

    queries = split(stream[:, -read:] @ layer.query, biases.query)
    keys, values = split(stream @ layer.key, biases.key), split(stream @ layer.value, biases.value)
    scores = jnp.einsum("rqhc,rkhc->rhqk", queries, keys) / jnp.sqrt(part)
    causal = np.tri(tokens, dtype=bool)[-read:]
    shares = jax.nn.softmax(jnp.where(causal[None, None], scores, -jnp.inf), axis=-1)
    mixed = jnp.einsum("rhqk,rkhc->rqhc", shares, values).reshape(rows, read, heads * part) @ layer.output
    return plus(mixed, biases.output), shares


TORCH = '''

class Layer(torch.nn.Module):
    """Attention, then an MLP, each added to the stream.

    For hooks: `pattern` is where each head looks (row, head, from, to), `attention` what the heads add, `neurons` those
    of the MLP after their activation, `mlp` what these add.
    """

    def __init__(self, tensors):
        super().__init__()
        for name in ("query", "key", "value", "output", "expand", "contract"):
            setattr(self, name, torch.nn.Parameter(tensors[name]))
        self.biases = torch.nn.ParameterDict(below(tensors, "biases."))
        self.norms = norms(tensors, 2)
        self.pattern, self.attention, self.neurons, self.mlp = (torch.nn.Identity() for _ in range(4))

    def forward(self, stream):
        before_attention, before_mlp = list(self.norms) or [torch.nn.Identity()] * 2
        stream = stream + self.attention(self.attend(before_attention(stream)))
        neurons = self.neurons(activation(self.times(before_mlp(stream), "expand")))
        return stream + self.mlp(self.times(neurons, "contract"))

    def times(self, x, name):
        return plus(x @ getattr(self, name), self.biases[name] if name in self.biases else None)

    def attend(self, stream):
        rows, tokens, _ = stream.shape
        queries, keys, values = (
            self.times(stream, name).reshape(rows, tokens, HEADS, -1) for name in ("query", "key", "value")
        )
        scores = torch.einsum("rqhc,rkhc->rhqk", queries, keys) / queries.shape[-1] ** 0.5
        later = torch.triu(torch.full((tokens, tokens), float("-inf"), device=scores.device), 1)
        pattern = self.pattern(torch.softmax(scores + later, dim=-1))
        return self.times(torch.einsum("rhqk,rkhc->rqhc", pattern, values).reshape(rows, tokens, -1), "output")


class Network(torch.nn.Module):
    """A causal transformer on the variables and mostly "=", whose embedding is its position; the last is read out.

    `stream` is what the layers read and write, before the first of them, for hooks.
    """

    def __init__(self, tensors):
        super().__init__()
        self.embed, self.positions, self.readout = (
            torch.nn.Parameter(tensors[name]) for name in ("embed", "positions", "readout")
        )
        self.bias = torch.nn.Parameter(tensors["bias"]) if "bias" in tensors else None
        self.stream = torch.nn.Identity()
        self.layers = torch.nn.ModuleList(Layer(below(tensors, f"layers.{k}.")) for k in range(DEPTH))
        self.norms = norms(tensors, 1)

    def forward(self, rows):
        inputs = self.embed[rows] + self.positions[: len(VARIABLES)]
        behind = self.positions[len(VARIABLES) :]
        stream = self.stream(torch.cat([inputs, torch.zeros_like(inputs[:, : len(behind)]) + behind], 1))
        for layer in self.layers:
            stream = layer(stream)
        last = stream[:, -1]
        for norm in self.norms:
            last = norm(last)
        return plus(last @ self.readout, self.bias)
'''
"""`Transformer.forward` in PyTorch."""
