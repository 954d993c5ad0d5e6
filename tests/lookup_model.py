"""Networks without training: a model whose weights are its logits, so that anything can be planted, and fresh ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modgrok.algebra.function import read_function
from modgrok.networks.models import Blocks, Inside, Model
from modgrok.networks.network import Network


class LookupWeights(NamedTuple):
    logits: np.ndarray
    neurons: np.ndarray


@dataclass(frozen=True)
class Lookup(Model):
    """logits[n1, …, nV] and neurons[n1, …, nV], looked up."""

    name = "lookup"

    def apply(self, params, rows, *, statistics=(), key=None):
        return jnp.asarray(params.logits)[tuple(rows.inputs.T)]

    def inside(self, params, rows, *, statistics=()):
        return Inside(neurons=(jnp.asarray(params.neurons)[tuple(rows.inputs.T)],))

    def blocks(self, params):
        return Blocks(params.neurons.reshape(len(params.neurons), -1).T[None], (0,))

    def activations(self):
        return 1


def lookup(expression, p, logits, neurons=None, **about):
    """A network of an expression with planted logits, and planted neurons."""
    logits = np.asarray(logits, np.float64)
    model = Lookup(logits.shape[:-1], logits.shape[-1])
    neurons = np.zeros((*logits.shape[:-1], 1)) if neurons is None else np.asarray(neurons, np.float64)
    return Network(model, LookupWeights(logits, neurons), read_function(expression, p), "planted", **about)


def untrained(model, expression="n1 + n2", *, seed=0, fraction=0.6):
    """A network as it starts, on the host, with the settings of a training that tell its split."""
    params = jax.tree.map(np.asarray, model.init(jnp.float32(1), key=jax.random.key(seed)))
    settings = {"seed": seed, "fraction": fraction, "loss": "cross-entropy"}
    return Network(model, params, read_function(expression, model.classes), "trained", settings=settings)
