"""Where end-to-end training of a whole circuit begins.

A circuit of experts joined by softmax_β is one differentiable function, and one model of the engine
(`networks.models.CircuitModel`). All its experts learn at once from the polynomial's own table, from one of these:

    experts   trained sums and products, relabelled for the polynomial: the network that `mix` makes
    generic   trained sums and products with the polynomial's wiring, but not relabelled: coefficients and exponents
              are to be found
    first     trained and relabelled where they read variables alone; those that read other experts start at random
    last      the other way round: what the first experts should compute is to be found
    scratch   every expert at random
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from modgrok.compiler.steps import Plan
from modgrok.networks.circuit import Circuit
from modgrok.networks.models import CircuitModel
from modgrok.networks.models.circuit_model import ExpertSizes
from modgrok.training.mixture import LearnedExpert, relabelled
from modgrok.training.presets import DEFAULTS

STARTS = ("experts", "generic", "first", "last", "scratch")


def circuit_model(plan: Plan, width: int) -> CircuitModel:
    """Experts of equal width with activation x², wired as the plan says."""
    sizes = tuple(ExpertSizes(step.terms, step.symbols, width, step.classes, 2) for step in plan.steps)
    wires = tuple(step.inputs for step in plan.steps)
    return CircuitModel(plan.sizes, plan.steps[-1].classes, width=width * len(sizes), experts=sizes, wires=wires)


def single_model(model: CircuitModel) -> CircuitModel:
    """One two-layer network with as many neurons as the circuit has in all."""
    p, variables = model.classes, model.variables
    sizes = (ExpertSizes(variables, p, model.width, p, 2),)
    return replace(model, experts=sizes, wires=(tuple(range(variables)),))


def starting_circuit(
    start: str,
    plan: Plan,
    model: CircuitModel,
    learned: Sequence[LearnedExpert],
    beta: float,
    *,
    key: PRNGKeyArray,
) -> Circuit:
    """The circuit at step 0, with one β for all experts; learned[k] has been trained on the task of step k."""
    circuit = random_circuit(model, beta, key=key)
    experts = list(circuit.experts)
    for k, (step, source) in enumerate(zip(plan.steps, learned, strict=False)):  # none where none is needed
        place = "first" if max(step.inputs) < len(plan.names) else "last"
        if start == "generic":
            experts[k] = source.expert
        elif start in ("experts", place):
            experts[k] = relabelled(source.expert, step)
    return replace(circuit, experts=jax.tree.map(jnp.asarray, tuple(experts)))


def random_circuit(model: CircuitModel, beta: float, *, key: PRNGKeyArray) -> Circuit:
    """Experts as a power network starts."""
    circuit = model.init(jnp.float32(DEFAULTS["init_scale"]), key=key)
    return replace(circuit, betas=jnp.full(len(circuit.experts), beta, jnp.float32))
