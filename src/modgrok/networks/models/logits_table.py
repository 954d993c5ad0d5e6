"""Logits that somebody computed elsewhere, and nothing else: what can be known of a network that is only called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from modgrok.networks.circuit import Weights
from modgrok.networks.models.base import Blocks, Model, Rows


class LogitsTable(NamedTuple):
    """logits[n1, …, nV, q]."""

    logits: Float[Weights, "*table class"]


@dataclass(frozen=True)
class Logits(Model):
    """A table of logits, looked up; it has neither neurons nor blocks of weights that could be waves."""

    name = "logits"
    width: int = 0

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> LogitsTable:
        """A table of zeros: it is filled by whoever computed it, and never trained."""
        return LogitsTable(jnp.zeros((*self.residues, self.classes)))

    def apply(self, params: LogitsTable, rows: Rows, **_: Any) -> Float[Array, "row class"]:
        return jnp.asarray(params.logits)[tuple(rows.inputs.T)]

    def blocks(self, params: LogitsTable) -> Blocks:
        return Blocks(jnp.zeros((0, 0, self.largest)), ())

    def activations(self) -> int:
        return 1
