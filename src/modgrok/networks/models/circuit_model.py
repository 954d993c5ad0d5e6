"""A circuit of experts joined by softmax as one model: what `compile` and `mix` make, and end-to-end training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from modgrok.networks.circuit import Circuit, Expert, logits
from modgrok.networks.models.base import Blocks, Model, Rows, Statistics, length
from modgrok.networks.models.power import TORCH, Power, circuit_graph, expert_blocks
from modgrok.networks.onnx_graph import Graph


class ExpertSizes(NamedTuple):
    """The shape of one expert."""

    terms: int
    residues: int
    width: int
    classes: int
    power: int


@dataclass(frozen=True, kw_only=True)
class CircuitModel(Model):
    """Experts of these sizes, joined by `wires` (see `networks.circuit`).

    The inverse temperatures of the softmax between experts are weights of the circuit that training holds fixed.
    """

    name = "circuit"
    experts: tuple[ExpertSizes, ...]
    wires: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, circuit: Circuit, residues: tuple[int, ...]) -> CircuitModel:
        """The model whose weights this circuit is."""
        sizes = tuple(
            ExpertSizes(e.terms, e.embed.shape[-2], e.width, e.readout.shape[-1], e.power) for e in circuit.experts
        )
        return cls(residues, circuit.classes, width=circuit.width, experts=sizes, wires=circuit.wires)

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> Circuit:
        """Every expert as a power network starts; all inverse temperatures 1."""
        keys = jax.random.split(key, len(self.experts))
        experts = tuple(
            Power((e.residues,) * e.terms, e.classes, width=e.width, power=e.power).init(scale, key=k)
            for e, k in zip(self.experts, keys, strict=True)
        )
        return Circuit(experts, jnp.ones(len(experts)), self.wires, self.variables)

    def apply(self, params: Circuit, rows: Rows, **_: Any) -> Float[Array, "row class"]:
        on_device = jax.tree.map(jnp.asarray, params)
        return jax.vmap(logits, in_axes=(None, 0))(on_device, jnp.asarray(rows.inputs))

    def applied(self, updates: Circuit) -> Circuit:
        """Everything but the inverse temperatures."""
        return replace(updates, betas=jnp.zeros_like(updates.betas))

    def blocks(self, params: Circuit) -> Blocks:
        """Those of the last expert, whose readout is the circuit's; its inputs are laid out by the first variables."""
        last: Expert = params.experts[-1]
        return expert_blocks(last, tuple(min(s, self.variables - 1) for s in range(last.terms)), self.variables)

    def norms(self, params: Circuit) -> tuple[Float[Array, ""], Float[Array, ""]]:
        embeds, readouts = (
            jnp.stack([length(getattr(expert, part)) for expert in params.experts]) for part in ("embed", "readout")
        )
        return length(embeds), length(readouts)

    def activations(self) -> int:
        return sum(4 * expert.width + 4 * expert.classes for expert in self.experts)

    def onnx(self, graph: Graph, params: Circuit, statistics: tuple[Statistics, ...]) -> None:
        circuit_graph(graph, params)

    def torch(self, params: Circuit) -> tuple[dict[str, Any], str]:
        """Names of the experts' tensors in the file, their wires and powers."""
        own = {
            "EXPERTS": [f"experts.{k}." for k in range(len(params.experts))],
            "WIRES": [list(group) for group in params.wires],
            "POWERS": [expert.power for expert in params.experts],
        }
        return own, TORCH
