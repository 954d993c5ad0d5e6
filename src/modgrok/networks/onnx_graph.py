"""A network as one ONNX graph: input `rows`, int64 (row, variable); outputs `logits` (row, class), `prediction` (row).

Each model's graph follows its `apply` line by line. Operators are those of opset 17, which every runtime of the last
years knows, so GELU is spelled out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from modgrok.base.errors import InputError
from modgrok.networks.circuit import Circuit
from modgrok.networks.models import Mlp, Model, Statistics, Transformer
from modgrok.networks.models.base import EPSILON, Norm, check_statistics
from modgrok.networks.models.mlp import MlpWeights
from modgrok.networks.models.transformer import HEADS, Layer, TransformerWeights


class Graph:
    """Nodes and constants of a graph that is being built; a node's output has the name of its operator and number."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = None) -> str:
        """A tensor of weights, in the graph's dtype unless another is given."""
        from onnx import numpy_helper

        name = f"constant.{len(self.constants)}"
        array = np.array(value, dtype=dtype or self.dtype, order="C")
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def whole(self, value: Any) -> str:
        """A tensor of whole numbers: an index, a shape."""
        return self.constant(value, np.int64)

    def node(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Apply an operator; returns the name of its output."""
        from onnx import helper

        output = output or f"{operator}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def times(self, x: str, factor: Any) -> str:
        return self.node("Mul", x, self.constant(factor))

    def plus(self, x: str, summand: Any) -> str:
        return self.node("Add", x, self.constant(summand))

    def matmul(self, x: str, weights: Any, output: str | None = None) -> str:
        return self.node("MatMul", x, self.constant(weights), output=output)

    def column(self, variable: int) -> str:
        """The residues of one variable, one for each row."""
        return self.node("Gather", "rows", self.whole(variable), axis=1)

    def total(self, parts: Sequence[str]) -> str:
        found = parts[0]
        for part in parts[1:]:
            found = self.node("Add", found, part)
        return found

    def layer_norm(self, x: str, norm: Norm | None) -> str:
        if norm is None:
            return x
        scale, shift = self.constant(norm.scale), self.constant(norm.shift)
        return self.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=EPSILON)


def circuit_graph(graph: Graph, circuit: Circuit) -> None:
    """`networks.circuit.logits`: columns gathered for variables and mixed for distributions, softmax_β in between."""
    signals = [graph.column(v) for v in range(circuit.variables)]
    for k, (expert, wires) in enumerate(zip(circuit.experts, circuit.wires, strict=True)):
        columns = [
            graph.node("Gather", graph.constant(embed), signals[wire])
            if wire < circuit.variables
            else graph.matmul(signals[wire], embed[: circuit.experts[wire - circuit.variables].readout.shape[1]])
            for embed, wire in zip(np.asarray(expert.embed), wires, strict=True)
        ]
        hidden = graph.total(columns)
        power = hidden
        for _ in range(expert.power - 1):
            power = graph.node("Mul", power, hidden)
        last = k + 1 == len(circuit.experts)
        output = graph.matmul(power, expert.readout, "logits" if last else None)
        if not last:
            signals.append(graph.node("Softmax", graph.times(output, circuit.betas[k]), axis=-1))


def mlp_graph(graph: Graph, model: Mlp, params: MlpWeights, statistics: tuple[Statistics, ...]) -> None:
    """`Mlp.forward`; batch normalisation has the statistics of the training rows."""
    check_statistics(model, statistics)
    embed = np.asarray(params.embed)
    hidden = graph.total(
        [graph.node("Gather", graph.constant(embed[v]), graph.column(v)) for v in range(model.variables)]
    )
    for k in range(model.depth - 1):
        if k > 0:
            hidden = graph.matmul(hidden, params.hidden[k - 1])
        if model.norm == "layer":
            hidden = graph.layer_norm(hidden, params.norms[k])
        elif model.norm == "batch":
            scale, shift = (np.asarray(part) for part in params.norms[k])
            slope = scale / np.sqrt(np.asarray(statistics[k].variance) + EPSILON)
            hidden = graph.plus(graph.times(hidden, slope), shift - np.asarray(statistics[k].mean) * slope)
        hidden = activation(graph, model.activation, hidden)
    graph.matmul(hidden, params.readout, "logits")


def activation(graph: Graph, name: str, x: str) -> str:
    """ReLU, x², or x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), which is JAX's GELU."""
    if name == "relu":
        return graph.node("Relu", x)
    square = graph.node("Mul", x, x)
    if name == "square":
        return square
    inner = graph.node("Add", x, graph.times(graph.node("Mul", square, x), 0.044715))
    tanh = graph.node("Tanh", graph.times(inner, sqrt(2 / np.pi)))
    return graph.node("Mul", graph.times(x, 0.5), graph.plus(tanh, 1))


def transformer_graph(graph: Graph, model: Transformer, params: TransformerWeights) -> None:
    """`Transformer.forward`, with every token followed through the last layer and "=" read out."""
    tokens = model.variables + 1
    positions = np.asarray(params.positions)
    inputs = graph.plus(graph.node("Gather", graph.constant(params.embed), "rows"), positions[:-1])
    first = graph.node("Gather", inputs, graph.whole([0]), axis=1)
    equals = graph.plus(graph.times(first, 0), positions[-1])  # as many rows as there are
    stream = graph.node("Concat", inputs, equals, axis=1)
    for layer in params.layers:
        attention_norm, mlp_norm = layer.norms or (None, None)
        mixed = attend(graph, layer, graph.layer_norm(stream, attention_norm), tokens, model.width)
        stream = graph.node("Add", stream, mixed)
        neurons = graph.node("Relu", graph.matmul(graph.layer_norm(stream, mlp_norm), layer.expand))
        stream = graph.node("Add", stream, graph.matmul(neurons, layer.contract))
    last = graph.node("Gather", stream, graph.whole(tokens - 1), axis=1)
    graph.matmul(graph.layer_norm(last, params.norms[0] if params.norms else None), params.readout, "logits")


def attend(graph: Graph, layer: Layer, stream: str, tokens: int, width: int) -> str:
    """Causal attention of all tokens: axes are row, head, token, part of the width."""
    part = width // HEADS

    def heads(weights: Any, order: tuple[int, ...]) -> str:
        split = graph.node("Reshape", graph.matmul(stream, weights), graph.whole([0, tokens, HEADS, part]))
        return graph.node("Transpose", split, perm=order)

    queries, keys, values = (
        heads(layer.query, (0, 2, 1, 3)),
        heads(layer.key, (0, 2, 3, 1)),
        heads(layer.value, (0, 2, 1, 3)),
    )
    scores = graph.times(graph.node("MatMul", queries, keys), 1 / sqrt(part))
    later = np.where(np.tri(tokens, dtype=bool), 0, -np.inf)
    shares = graph.node("Softmax", graph.plus(scores, later), axis=-1)
    mixed = graph.node("Transpose", graph.node("MatMul", shares, values), perm=(0, 2, 1, 3))
    return graph.matmul(graph.node("Reshape", mixed, graph.whole([0, tokens, width])), layer.output)


def onnx_model(model: Model, params: Any, statistics: tuple[Statistics, ...], dtype: np.dtype, about: str) -> bytes:
    """The checked file of a network: `params` are a circuit, or the weights of an MLP or a transformer."""
    import onnx
    from onnx import TensorProto, helper

    graph = Graph(dtype)
    if isinstance(params, Circuit):
        circuit_graph(graph, params)
    elif isinstance(model, Mlp):
        mlp_graph(graph, model, params, statistics)
    elif isinstance(model, Transformer):
        transformer_graph(graph, model, params)
    else:
        raise InputError(f"the model {model.name} has no export to onnx; circuit, power, mlp and transformer have one")
    graph.node("ArgMax", "logits", output="prediction", axis=1, keepdims=0)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    made = helper.make_graph(
        graph.nodes,
        "modgrok",
        [helper.make_tensor_value_info("rows", TensorProto.INT64, ["row", model.variables])],
        [
            helper.make_tensor_value_info("logits", kind, ["row", model.classes]),
            helper.make_tensor_value_info("prediction", TensorProto.INT64, ["row"]),
        ],
        graph.constants,
        doc_string=about,
    )
    file = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], producer_name="modgrok")
    file.ir_version = 8
    onnx.checker.check_model(file)
    return bytes(file.SerializeToString())
