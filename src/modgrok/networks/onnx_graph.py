"""A network as one ONNX graph: input `rows`, int64 (row, variable); outputs `logits` (row, class), `prediction` (row).

A model says its own graph (`Model.onnx`), which follows its `apply` line by line. Operators are those of opset 17,
which every runtime of the last years knows, so GELU is spelled out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike


class Graph:
    """Nodes and constants of a graph that is being built; a node's output has the name of its operator and number."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: ArrayLike, dtype: DTypeLike | None = None) -> str:
        """A tensor of weights, in the graph's dtype unless another is given."""
        from onnx import numpy_helper

        name = f"constant.{len(self.constants)}"
        array = np.array(value, dtype=dtype or self.dtype, order="C")
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def whole(self, value: ArrayLike) -> str:
        """A tensor of whole numbers: an index, a shape."""
        return self.constant(value, np.int64)

    def node(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Apply an operator; returns the name of its output."""
        from onnx import helper

        output = output or f"{operator}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def times(self, x: str, factor: ArrayLike) -> str:
        return self.node("Mul", x, self.constant(factor))

    def plus(self, x: str, summand: ArrayLike) -> str:
        return self.node("Add", x, self.constant(summand))

    def matmul(self, x: str, weights: ArrayLike, bias: ArrayLike | None = None, output: str | None = None) -> str:
        """x times a matrix, and a bias where there is one."""
        found = self.node("MatMul", x, self.constant(weights), output=output if bias is None else None)
        return found if bias is None else self.node("Add", found, self.constant(bias), output=output)

    def activation(self, name: str, x: str) -> str:
        """ReLU, tanh, x²; x/2 · (1 + erf(x/√2)), or approximated, x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))."""
        if name in ("relu", "tanh"):
            return self.node(name.capitalize(), x)
        if name == "gelu-exact":
            erf = self.node("Erf", self.times(x, sqrt(1 / 2)))
            return self.node("Mul", self.times(x, 0.5), self.plus(erf, 1))
        square = self.node("Mul", x, x)
        if name == "square":
            return square
        inner = self.node("Add", x, self.times(self.node("Mul", square, x), 0.044715))
        tanh = self.node("Tanh", self.times(inner, sqrt(2 / np.pi)))
        return self.node("Mul", self.times(x, 0.5), self.plus(tanh, 1))

    def layer_norm(self, x: str, norm: tuple[ArrayLike, ArrayLike] | None, epsilon: float) -> str:
        """x standardised along its last axis, times a scale, plus a shift; x itself where there is no norm."""
        if norm is None:
            return x
        scale, shift = map(self.constant, norm)
        return self.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)

    def column(self, variable: int) -> str:
        """The residues of one variable, one for each row."""
        return self.node("Gather", "rows", self.whole(variable), axis=1)

    def total(self, parts: Sequence[str]) -> str:
        found = parts[0]
        for part in parts[1:]:
            found = self.node("Add", found, part)
        return found

    def file(self, variables: int, classes: int, about: str) -> bytes:
        """The checked file of a graph whose nodes give `logits`."""
        import onnx
        from onnx import TensorProto, helper

        self.node("ArgMax", "logits", output="prediction", axis=1, keepdims=0)
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        made = helper.make_graph(
            self.nodes,
            "modgrok",
            [helper.make_tensor_value_info("rows", TensorProto.INT64, ["row", variables])],
            [
                helper.make_tensor_value_info("logits", kind, ["row", classes]),
                helper.make_tensor_value_info("prediction", TensorProto.INT64, ["row"]),
            ],
            self.constants,
            doc_string=about,
        )
        file = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], producer_name="modgrok")
        file.ir_version = 8
        onnx.checker.check_model(file)
        return bytes(file.SerializeToString())
