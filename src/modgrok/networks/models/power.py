"""The paper's two-layer network: x^power between an embedding and a readout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from modgrok.base.errors import InputError
from modgrok.networks.circuit import Circuit, Expert, Weights, single
from modgrok.networks.models.base import Blocks, Model, Rows, Statistics, dropped, gathered_sum, used_rows
from modgrok.networks.onnx_graph import Graph


@dataclass(frozen=True)
class Power(Model):
    """`readout[·, q] · (Σ_s embed[s, n_s, ·])^power`; `power` None is the number of variables."""

    name = "power"
    width: int = 500
    power: int | None = None
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.power is None and self.residues:
            object.__setattr__(self, "power", self.variables)

    @property
    def exponent(self) -> int:
        if self.power is None:
            raise InputError("a power network needs its power")
        return self.power

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> Expert:
        """Normal weights of standard deviation scale / (2 · width)^(1/3), in both layers."""
        embed_key, readout_key = jax.random.split(key)
        std = scale / (2 * self.width) ** (1 / 3)
        embed = std * jax.random.normal(embed_key, (self.variables, self.largest, self.width))
        readout = std * jax.random.normal(readout_key, (self.width, self.classes))
        return Expert(used_rows(embed, self.residues), readout, self.exponent)

    def apply(
        self, params: Expert, rows: Rows, *, key: PRNGKeyArray | None = None, **_: Any
    ) -> Float[Array, "row class"]:
        hidden = gathered_sum(jnp.asarray(params.embed), rows.inputs) ** params.power
        return dropped(hidden, self.dropout, key, 0) @ params.readout

    def blocks(self, params: Expert) -> Blocks:
        """A neuron's columns of the embedding, and its row of the readout."""
        return expert_blocks(params, tuple(range(self.variables)), self.variables)

    def activations(self) -> int:
        return (4 + (self.dropout > 0)) * self.width

    def onnx(self, graph: Graph, params: Expert, statistics: tuple[Statistics, ...]) -> None:
        circuit_graph(graph, single(params))

    def torch(self, params: Expert) -> tuple[dict[str, Any], str]:
        return {"EXPERTS": [""], "WIRES": [list(range(params.terms))], "POWERS": [params.power]}, TORCH


def expert_blocks(expert: Expert, inputs: tuple[int, ...], output: int) -> Blocks:
    """The blocks of an expert whose terms are laid out by `inputs` and whose readout by `output`.

    Where inputs and classes differ in number, the shorter blocks are filled up with zeros.
    """
    xp = np if isinstance(expert.embed, np.ndarray) else jnp
    embed, readout = xp.swapaxes(expert.embed, 1, 2), xp.asarray(expert.readout)[None]
    length = max(embed.shape[-1], readout.shape[-1])

    def padded(weights: Weights) -> Weights:
        found: Weights = xp.pad(weights, ((0, 0), (0, 0), (0, length - weights.shape[-1])))
        return found

    return Blocks(xp.concatenate([padded(embed), padded(readout)]), (*inputs, output))


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
        output = graph.matmul(power, expert.readout, output="logits" if last else None)
        if not last:
            signals.append(graph.node("Softmax", graph.times(output, circuit.betas[k]), axis=-1))


TORCH = '''

class Expert(torch.nn.Module):
    """Two layers, with a power between them; `neurons` is what stands behind the power, for hooks."""

    def __init__(self, tensors, lead):
        super().__init__()
        self.embed, self.readout = (torch.nn.Parameter(tensors[lead + name]) for name in ("embed", "readout"))
        self.neurons = torch.nn.Identity()

    def forward(self, signals, power):
        columns = [
            signal @ embed[: signal.shape[1]] if len(signal.shape) > 1 else embed[signal]
            for embed, signal in zip(self.embed, signals)
        ]
        return self.neurons(sum(columns) ** power) @ self.readout


class Network(torch.nn.Module):
    """Two-layer experts joined by softmax: a wire is a variable, or what an earlier expert computes."""

    def __init__(self, tensors):
        super().__init__()
        self.experts = torch.nn.ModuleList(Expert(tensors, lead) for lead in EXPERTS)
        self.register_buffer("betas", tensors.get("betas", torch.ones(1)))

    def forward(self, rows):
        signals = [rows[:, v] for v in range(len(VARIABLES))]
        for k, (expert, wires, power) in enumerate(zip(self.experts, WIRES, POWERS)):
            logits = expert([signals[w] for w in wires], power)
            signals.append(torch.softmax(self.betas[k] * logits, dim=-1))
        return logits
'''
"""A circuit in PyTorch; a power network is a circuit of one expert."""
