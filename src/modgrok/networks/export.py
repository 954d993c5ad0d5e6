"""Compiled and trained networks in other people's tools: ONNX and PyTorch.

Both exports compute the same logits as `networks.circuit.logits`: columns of `embed` gathered for variables, mixed for
distributions; summed; raised to the power; read out; softmax_β between experts.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.errors import InputError
from modgrok.files import whole_file, write_text
from modgrok.networks.network import Network
from modgrok.networks.verification import NetworkLike, as_network
from modgrok.results import Result

FORMATS = {"onnx": ".onnx", "torch": ".py"}


@dataclass(frozen=True, repr=False)
class Exported(Result):
    """A network that was written for another tool."""

    expression: str
    modulus: int
    format: str
    files: tuple[Path, ...]

    def summary(self) -> str:
        return f"{self.expression} mod {self.modulus} as {self.format}: {', '.join(map(str, self.files))}"


def export(network: NetworkLike, to: str, path: str | Path | None = None) -> Exported:
    """Write a network for ONNX runtimes or PyTorch.

    Args:
        network: a network, a run, or the path of either. It must be a circuit of experts, compiled or trained.
        to: "onnx", or "torch" for a Python module with its weights beside it.
        path: the file to write; beside the network's file by default.

    Returns:
        `Exported`, with the `files` that were written.
    """
    if to not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, got {to!r}; safetensors is the native one")
    found = as_network(network)
    path = beside(network, to) if path is None else Path(path)
    if path.suffix != FORMATS[to]:
        raise InputError(
            f"an export to {to} is a {FORMATS[to]} file, got {path}; name it {path.with_suffix(FORMATS[to])}"
        )
    files = export_onnx(found, path) if to == "onnx" else export_torch(found, path)
    return Exported(found.expression, found.modulus, to, tuple(files))


def beside(network: Any, to: str) -> Path:
    """The default file of an export: NET.onnx for NET.safetensors, RUN/network.onnx for a run folder."""
    if not isinstance(network, (str, Path)):
        raise InputError("a network that is in no file needs a path to export to, such as network" + FORMATS[to])
    place = Path(network)
    return (place / "network" if place.is_dir() else place).with_suffix(FORMATS[to])


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
            reads_variable = wire < circuit.variables
            symbols = None if reads_variable else circuit.experts[wire - circuit.variables].readout.shape[1]
            embed = constant(f"expert.{k}.embed.{s}", np.asarray(expert.embed[s])[:symbols])
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

import torch
from safetensors.torch import load_file

EXPERTS = {experts}
WIRES = {wires}
POWERS = {powers}
VARIABLES = {variables}


class Network(torch.nn.Module):
    """Two-layer experts joined by softmax: wire k is variable k, or what expert k - {variables} computes."""

    def __init__(self, tensors):
        super().__init__()
        self.embeds = torch.nn.ParameterList(tensors[name + "embed"] for name in EXPERTS)
        self.readouts = torch.nn.ParameterList(tensors[name + "readout"] for name in EXPERTS)
        self.register_buffer("betas", tensors.get("betas", torch.ones(1)))

    def forward(self, rows):
        signals = [rows[:, v] for v in range(VARIABLES)]
        for k, (wires, power) in enumerate(zip(WIRES, POWERS)):
            columns = [
                embed[signals[w]] if w < VARIABLES else signals[w] @ embed[: signals[w].shape[1]]
                for embed, w in zip(self.embeds[k], wires)
            ]
            logits = sum(columns) ** power @ self.readouts[k]
            signals.append(torch.softmax(self.betas[k] * logits, dim=-1))
        return logits


def load(path=Path(__file__).with_suffix(".safetensors")):
    return Network(load_file(path))
'''


def export_torch(network: Network, path: Path) -> list[Path]:
    """A Python module for PyTorch users, with the network's own file beside it; needs no torch to write.

    That file is what `Network.save` writes, so an export beside a network leaves the network as it is.
    """
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
        experts=[f"experts.{k}." for k in range(len(circuit.experts))] if network.params is circuit else [""],
        wires=[list(group) for group in circuit.wires],
        powers=[expert.power for expert in circuit.experts],
        variables=circuit.variables,
    )
    network.save(weights)
    write_text(path, text)
    return [path, weights]
