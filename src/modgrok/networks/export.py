"""Compiled and trained networks in other people's tools: ONNX and PyTorch.

Both exports compute the same logits as `circuit.logits`: columns of `embed` gathered for variables, mixed for
distributions; summed; raised to the power; read out; softmax_β between experts.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.errors import InputError
from modgrok.files import whole_file, write_text
from modgrok.networks.network import Network

FORMATS = {"onnx": ".onnx", "torch": ".py"}


def export(network: Network, to: str, path: str | Path) -> list[Path]:
    """Write `network` in the format `to`; returns the files written."""
    if to not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, got {to!r}; safetensors is the native one")
    path = Path(path)
    if path.suffix != FORMATS[to]:
        raise InputError(
            f"an export to {to} is a {FORMATS[to]} file, got {path}; name it {path.with_suffix(FORMATS[to])}"
        )
    return export_onnx(network, path) if to == "onnx" else export_torch(network, path)


def export_onnx(network: Network, path: Path) -> list[Path]:
    """One ONNX graph: input `rows`, int64 (row, variable); outputs `logits` (row, class) and `prediction` (row)."""
    if find_spec("onnx") is None:
        raise InputError("exporting to ONNX needs the package onnx; install it with: pip install 'modgrok[onnx]'")
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    circuit = network.circuit
    kind = helper.np_dtype_to_tensor_dtype(circuit.dtype)
    nodes, constants = [], []

    def constant(name: str, value: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    signals = []
    for v in range(circuit.variables):
        index = constant(f"variable.{v}", np.array(v, dtype=np.int64))
        signals.append(node("Gather", ["rows", index], f"n{v + 1}", axis=1))
    for k, (expert, wires) in enumerate(zip(circuit.experts, circuit.wires, strict=True)):
        hidden = ""
        for s, wire in enumerate(wires):
            embed = constant(f"expert.{k}.embed.{s}", np.asarray(expert.embed[s]))
            reads_variable = wire < circuit.variables
            inputs = [embed, signals[wire]] if reads_variable else [signals[wire], embed]
            columns = node("Gather" if reads_variable else "MatMul", inputs, f"e{k + 1}.term{s + 1}")
            hidden = node("Add", [hidden, columns], f"e{k + 1}.sum{s + 1}") if hidden else columns
        power = hidden
        for exponent in range(2, expert.power + 1):
            power = node("Mul", [power, hidden], f"e{k + 1}.power{exponent}")
        readout = constant(f"expert.{k}.readout", np.asarray(expert.readout))
        last = k + 1 == len(circuit.experts)
        output = node("MatMul", [power, readout], "logits" if last else f"e{k + 1}.logits")
        if not last:
            beta = constant(f"beta.{k}", np.asarray(circuit.betas[k], dtype=circuit.dtype))
            scaled = node("Mul", [output, beta], f"e{k + 1}.scaled")
            signals.append(node("Softmax", [scaled], f"e{k + 1}", axis=-1))
    node("ArgMax", ["logits"], "prediction", axis=1, keepdims=0)
    graph = helper.make_graph(
        nodes,
        "modgrok",
        [helper.make_tensor_value_info("rows", TensorProto.INT64, ["row", circuit.variables])],
        [
            helper.make_tensor_value_info("logits", kind, ["row", circuit.classes]),
            helper.make_tensor_value_info("prediction", TensorProto.INT64, ["row"]),
        ],
        constants,
        doc_string=f"{network.expression} mod {network.modulus}",
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="modgrok")
    model.ir_version = 8
    onnx.checker.check_model(model)
    with whole_file(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return [path]


TORCH_MODULE = '''"""{expression} mod {modulus} as a PyTorch module, written by modgrok.

    from {stem} import load
    network = load()
    network(torch.tensor([[{example}]])).argmax(-1)      # rows of residues {names} -> the value of the polynomial
"""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

WIRES = {wires}
POWERS = {powers}
VARIABLES = {variables}


class Network(torch.nn.Module):
    """Two-layer experts joined by softmax: wire k is variable k, or what expert k - {variables} computes."""

    def __init__(self, tensors):
        super().__init__()
        experts = range(len(WIRES))
        self.embeds = torch.nn.ParameterList(tensors[f"expert.{{k}}.embed"] for k in experts)
        self.readouts = torch.nn.ParameterList(tensors[f"expert.{{k}}.readout"] for k in experts)
        self.register_buffer("betas", tensors["betas"])

    def forward(self, rows):
        signals = [rows[:, v] for v in range(VARIABLES)]
        for k, (wires, power) in enumerate(zip(WIRES, POWERS)):
            columns = [
                embed[signals[w]] if w < VARIABLES else signals[w] @ embed for embed, w in zip(self.embeds[k], wires)
            ]
            logits = sum(columns) ** power @ self.readouts[k]
            signals.append(torch.softmax(self.betas[k] * logits, dim=-1))
        return logits


def load(path=Path(__file__).with_suffix(".safetensors")):
    return Network(load_file(path))
'''


def export_torch(network: Network, path: Path) -> list[Path]:
    """A Python module for PyTorch users, with the weights beside it as safetensors; needs no torch to write."""
    if not path.stem.isidentifier():
        raise InputError(f"the file must be importable, got {path.name}; use letters, digits and _ such as network.py")
    circuit = network.circuit
    weights = path.with_suffix(".safetensors")
    text = TORCH_MODULE.format(
        expression=network.expression,
        modulus=network.modulus,
        stem=path.stem,
        example=", ".join(str(min(12 + 22 * v, network.modulus - 1)) for v in range(circuit.variables)),
        names=", ".join(network.variables),
        wires=[list(group) for group in circuit.wires],
        powers=[expert.power for expert in circuit.experts],
        variables=circuit.variables,
    )
    network.save(weights)
    write_text(path, text)
    return [path, weights]
