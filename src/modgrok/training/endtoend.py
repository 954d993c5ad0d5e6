"""Training a whole circuit end to end, on the polynomial's own table.

A circuit of experts joined by softmax_β is one differentiable function. Here all its experts learn at once from
half of the polynomial's table, by the loss and optimiser of a single network (training.py), from one of these starts:

    experts   trained sums and products, relabelled for the polynomial: the network that `mix` makes
    generic   trained sums and products with the polynomial's wiring, but not relabelled: coefficients and exponents
              are to be found
    first     trained and relabelled where they read variables alone; those that read other experts start at random
    last      the other way round: what the first experts should compute is to be found
    scratch   every expert at random

As in training.py, `Layout` is what a compilation depends on, everything else is traced, and the functions train one
network; `train_circuits` maps them over many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from modgrok.compiler.plan import Plan
from modgrok.networks.circuit import Expert
from modgrok.progress import Progress
from modgrok.training.data import shuffled_rows, table_inputs
from modgrok.training.ensemble import device_memory, pick
from modgrok.training.mixture import Learnt, relabelled
from modgrok.training.models import init_power
from modgrok.training.objective import adamw, squared_error
from modgrok.training.steps import Examples, Hyper, Shape, State

STARTS = ("experts", "generic", "first", "last", "scratch")

Experts = tuple[Expert, ...]
Wires = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Layout:
    """The shape of a circuit of experts of equal width with activation x²."""

    modulus: int
    variables: int
    wires: Wires
    width: int
    train_rows: int

    @property
    def rows(self) -> int:
        return self.modulus**self.variables


class Curves(NamedTuple):
    """Losses and accuracies with axes (net, measured step)."""

    train_loss: Float[np.ndarray, "net step"]
    test_loss: Float[np.ndarray, "net step"]
    train_accuracy: Float[np.ndarray, "net step"]
    test_accuracy: Float[np.ndarray, "net step"]


def layout_of(plan: Plan, width: int, train_rows: int) -> Layout:
    return Layout(plan.modulus, len(plan.names), tuple(step.inputs for step in plan.steps), width, train_rows)


def single_layout(layout: Layout) -> Layout:
    """One two-layer network with as many neurons as the circuit has in all."""
    wires = (tuple(range(layout.variables)),)
    width = layout.width * len(layout.wires)
    return Layout(layout.modulus, layout.variables, wires, width, layout.train_rows)


def random_experts(layout: Layout, key: Array) -> Experts:
    """Experts as training.py starts them."""
    shapes = [Shape(layout.modulus, len(wires), layout.width, 2, layout.train_rows) for wires in layout.wires]
    keys = jax.random.split(key, len(shapes))
    return tuple(init_power(shape, jnp.float32(0.5), key=key) for shape, key in zip(shapes, keys))


def starting_experts(start: str, plan: Plan, layout: Layout, learnt: Sequence[Learnt], key: Array) -> Experts:
    """The experts of a circuit at step 0; learnt[k] has been trained on the task of step k."""
    experts = list(random_experts(layout, key))
    for k, (step, source) in enumerate(zip(plan.steps, learnt)):
        place = "first" if max(step.inputs) < len(plan.names) else "last"
        if start == "generic":
            experts[k] = source.expert
        elif start in ("experts", place):
            experts[k] = relabelled(source.expert, step)
    return jax.tree.map(jnp.asarray, tuple(experts))


def apply(
    layout: Layout,
    experts: Experts,
    beta: Float[Array, ""],
    inputs: Int[Array, "row variable"],
) -> Float[Array, "row class"]:
    """The circuit on many rows, with one β for all experts."""
    signals: list[Array] = []
    output: Array
    for k, (expert, wires) in enumerate(zip(experts, layout.wires)):
        columns = []
        for s, wire in enumerate(wires):
            if wire < layout.variables:
                columns.append(jnp.asarray(expert.embed[s])[inputs[:, wire]])
            else:
                columns.append(signals[wire - layout.variables] @ expert.embed[s])
        output = sum(columns[1:], start=columns[0]) ** expert.power @ expert.readout
        if k + 1 < len(experts):
            signals.append(jax.nn.softmax(beta * output))
    return output


def split(layout: Layout, hyper: Hyper, table: Int[Array, "row"]) -> Examples:
    """The training half that a seed stands for, the same for every start."""
    shuffled = shuffled_rows(jax.random.key(hyper.seed), layout.rows)
    return Examples(table, shuffled, None)


def begin(hyper: Hyper, experts: Experts) -> State:
    return State(experts, adamw(hyper).init(experts), jnp.int32(0))


def advance(
    layout: Layout, hyper: Hyper, beta: Float[Array, ""], examples: Examples, state: State, steps: Int[Array, ""]
) -> State:
    """`steps` full-batch steps of all experts; β stays."""
    rows = examples.shuffled[: layout.train_rows]
    inputs, targets = table_inputs(rows, layout.modulus, layout.variables), examples.table[rows]

    def loss(experts: Experts) -> Float[Array, ""]:
        return jnp.mean(squared_error(apply(layout, experts, beta, inputs), targets))

    def step(_: Array, state: State) -> State:
        updates, moments = adamw(hyper).update(jax.grad(loss)(state.params), state.moments, state.params)
        return State(optax.apply_updates(state.params, updates), moments, state.step + 1)

    return jax.lax.fori_loop(0, steps, step, state)


def measure(
    layout: Layout, beta: Float[Array, ""], examples: Examples, experts: Experts
) -> tuple[Array, Array, Array, Array]:
    """The four numbers of `Curves` for one network, training and test rows one after the other."""

    def part(rows: Int[Array, "row"]) -> tuple[Array, Array]:
        logits = apply(layout, experts, beta, table_inputs(rows, layout.modulus, layout.variables))
        targets = examples.table[rows]
        return jnp.mean(squared_error(logits, targets)), jnp.mean(jnp.argmax(logits, axis=-1) == targets)

    train_loss, train_accuracy = part(examples.shuffled[: layout.train_rows])
    test_loss, test_accuracy = part(examples.shuffled[layout.train_rows :])
    return train_loss, test_loss, train_accuracy, test_accuracy


split_all = jax.jit(jax.vmap(split, in_axes=(None, 0, 0)), static_argnums=0)
begin_all = jax.jit(jax.vmap(begin))
advance_all = jax.jit(jax.vmap(advance, in_axes=(None, 0, 0, 0, 0, None)), static_argnums=0)
measure_all = jax.jit(jax.vmap(measure, in_axes=(None, 0, 0, 0)), static_argnums=0)


def network_bytes(layout: Layout) -> int:
    """Memory of one circuit in training, estimated: hidden activations four times over, and logits."""
    rows = max(layout.train_rows, layout.rows - layout.train_rows)
    return 4 * len(layout.wires) * rows * (4 * layout.width + 4 * layout.modulus)


def train_circuits(
    layout: Layout,
    hyper: Hyper,
    betas: Float[np.ndarray, "net"],
    tables: Int[np.ndarray, "net row"],
    experts: Experts,
    *,
    measured: Sequence[int],
    progress: Progress | None = None,
) -> Curves:
    """Train circuits of one layout; `experts` and `hyper` have an axis `net`, and `measured` are rising steps.

    They train side by side in chunks of one size that fits the memory; the last is filled up with its last circuit.
    """
    networks = len(betas)
    chunks = -(-networks // max(1, device_memory() // network_bytes(layout)))
    size = -(-networks // chunks)
    found = []
    for first in range(0, networks, size):
        nets = np.minimum(np.arange(first, first + size), networks - 1)
        settings, beta = pick(hyper, nets), jnp.asarray(betas[nets], jnp.float32)
        examples = split_all(layout, settings, jnp.asarray(tables[nets], jnp.int32))
        state, points = begin_all(settings, pick(experts, nets)), []
        for before, step in pairwise([0, *measured]):
            state = advance_all(layout, settings, beta, examples, state, step - before)
            points.append([np.asarray(number) for number in measure_all(layout, beta, examples, state.params)])
            if progress:
                progress(first * measured[-1] + size * step, chunks * size * measured[-1])
        found.append([np.stack(column, axis=1)[: networks - first] for column in zip(*points)])
    return Curves(*(np.concatenate(parts) for parts in zip(*found)))
