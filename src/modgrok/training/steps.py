"""Training as a pure function of (hyper-parameters, seed, table), run on the device in segments.

The functions here train one network; `modgrok.ensemble` compiles them, mapped over many. What a compilation
depends on is the static `Shape`; everything that may vary in a sweep (`Hyper`, the table itself) is traced, so that
one compilation serves it. A training is

    examples, state = start(shape, hyper, table)
    state, metrics  = advance_and_measure(shape, hyper, examples, state, steps)      # as often as wanted

and where it is measured has no influence on the numbers. The network is one of `modgrok.models`, loss and optimiser
are ones of `modgrok.objective`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from modgrok.algebra.field import check_modulus, check_prime
from modgrok.errors import InputError
from modgrok.inspection import spectrum
from modgrok.training import models
from modgrok.training.data import (
    function_table,
    natural_order,
    residue_groups,
    shuffled_rows,
    table_inputs,
    train_count,
)
from modgrok.training.models import HEADS, POWER, Architecture, Rows
from modgrok.training.objective import LOSSES, OPTIMISERS

BLOCK_BYTES = {"cpu": 1 << 21, "gpu": 1 << 28}
"""Hidden activations held at once: on a CPU training is fastest while they stay in its caches."""

STEPS_PER_LOOP = 10
"""On a GPU a loop of unknown length asks the host after every turn whether to go on; one turn is this many steps."""

DROPOUT = 1
"""Folded into the seed's key for dropout, which so draws from a stream of its own."""

ORDERS = {"additive": spectrum.additive_order, "multiplicative": spectrum.multiplicative_order}


def repeatable_gradient() -> str:
    """How to sum the gradient of gathered columns so that the same run gives the same bits: see `gathered_sum`."""
    return "scatter" if on_cpu() else "gather"


def on_cpu() -> bool:
    return jax.default_backend() == "cpu"


@dataclass(frozen=True)
class Shape:
    """What a compilation depends on. `train_rows` is the largest training set of all the networks it serves."""

    modulus: int
    variables: int
    width: int
    power: int
    train_rows: int
    order: str = "additive"
    gradient: str = "scatter"
    architecture: Architecture = POWER
    loss: str = "mse"
    optimiser: str = "adamw"

    @property
    def rows(self) -> int:
        return self.modulus**self.variables

    @property
    def block_rows(self) -> int:
        """Rows that are worked on at once."""
        return max(1, BLOCK_BYTES["cpu" if on_cpu() else "gpu"] // (4 * self.width))

    def residues(self) -> Int[np.ndarray, "residue"]:
        """The order of residues in which periodicity is measured."""
        return ORDERS[self.order](self.modulus)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Hyper:
    """Hyper-parameters of one network as scalars, or of an ensemble as arrays with an axis `net`."""

    seed: Int[Array, "*net"]
    train_rows: Int[Array, "*net"]
    learning_rate: Float[Array, "*net"]
    weight_decay: Float[Array, "*net"]
    beta1: Float[Array, "*net"]
    beta2: Float[Array, "*net"]
    eps: Float[Array, "*net"]
    init_scale: Float[Array, "*net"]


class Examples(NamedTuple):
    """A table with its split. The first `train_rows` of the `shuffled` rows, less those past Hyper's, train."""

    table: Int[Array, "row"]
    shuffled: Int[Array, "row"]
    groups: Int[Array, "variable p slot"] | None


class State(NamedTuple):
    """What training carries from step to step."""

    params: Any
    moments: Any
    step: Int[Array, ""]


class Metrics(NamedTuple):
    """Measurements of one network; test_loss and test_accuracy are NaN where every row trains."""

    train_loss: Float[Array, ""]
    test_loss: Float[Array, ""]
    train_accuracy: Float[Array, ""]
    test_accuracy: Float[Array, ""]
    ipr: Float[Array, ""]
    ipr_alive: Float[Array, ""]
    alive: Int[Array, ""]
    embed_norm: Float[Array, ""]
    readout_norm: Float[Array, ""]


@dataclass(frozen=True)
class TrainConfig:
    """One experiment: its command line, its saved file and its key.

    The defaults are the ones that reproduce the paper's losses: what it calls Adam with weight decay 5 is AdamW
    with β = (0.9, 0.98). `power` None is the number of variables; `order` is that of `Shape`, or 'auto'. For another
    model, loss or optimiser take what `defaults` says.
    """

    expression: str
    modulus: int
    width: int = 500
    power: int | None = None
    steps: int = 1000
    learning_rate: float = 0.005
    weight_decay: float = 5.0
    beta1: float = 0.9
    beta2: float = 0.98
    eps: float = 1e-8
    fraction: float = 0.5
    init_scale: float = 0.5
    seed: int = 0
    metrics_every: int = 10
    order: str = "auto"
    model: str = "power"
    depth: int = 2
    activation: str = "relu"
    norm: str = "none"
    dropout: float = 0.0
    loss: str = "mse"
    optimiser: str = "adamw"

    def __post_init__(self) -> None:
        check_modulus(self.modulus)
        train_count(self.fraction, self.modulus)
        for name, least in LEAST_COUNTS.items():
            value = getattr(self, name)
            if value is not None and not least <= value < 2**31:
                raise InputError(f"{name} must be a whole number from {least} to 2^31 - 1, got {value}")
        for name, below in UPPER_ENDS.items():
            value = getattr(self, name)
            if not 0 <= value < below:
                raise InputError(f"{name} must be a number >= 0 and below {below}, got {value}")
        if self.order not in ("auto", *ORDERS):
            raise InputError(f"order must be auto, {' or '.join(ORDERS)}, got {self.order!r}")
        if self.order == "multiplicative":
            check_prime(self.modulus, "for the multiplicative order")
        for name, known in (("loss", LOSSES), ("optimiser", OPTIMISERS)):
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be {' or '.join(known)}, got {getattr(self, name)!r}")
        if self.optimiser == "adam" and self.weight_decay:
            raise InputError(f"adam has no weight decay, got {self.weight_decay:g}; take adamw, or a weight_decay of 0")
        if self.model == "transformer" and self.width % HEADS:
            raise InputError(f"width of a transformer must be a multiple of its {HEADS} heads, got {self.width}")
        if self.model != "power" and self.power is not None:
            raise InputError(f"power is for the model power, got {self.power} for {self.model}; leave it out")
        self.architecture()

    def architecture(self) -> Architecture:
        return Architecture(self.model, self.depth, self.activation, self.norm, self.dropout)

    def task(self) -> Task:
        """The table and everything else that training needs; where the expression is wrong, it says so."""
        table, variables = function_table(self.expression, self.modulus)
        order = natural_order(table, self.modulus, variables) if self.order == "auto" else self.order
        train_rows = train_count(self.fraction, table.size)
        power = variables if self.power is None else self.power
        shape = Shape(
            self.modulus,
            variables,
            self.width,
            power,
            train_rows,
            order,
            architecture=self.architecture(),
            loss=self.loss,
            optimiser=self.optimiser,
        )
        values = {field.name: getattr(self, field.name, train_rows) for field in dataclasses.fields(Hyper)}
        return Task(shape, hyper(**values), table)

    def measured_steps(self) -> list[int]:
        """The steps at which metrics are measured: every `metrics_every` from 0 on, and the last."""
        return [*range(0, self.steps, self.metrics_every), self.steps]


def hyper(**values: Any) -> Hyper:
    """A `Hyper` from numbers and from arrays along the axis `net`, which are broadcast together.

    What is not given has `TrainConfig`'s default; `train_rows` must be given (see `data.train_count`).
    """
    defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(TrainConfig)}
    names = [field.name for field in dataclasses.fields(Hyper)]
    arrays = np.broadcast_arrays(*(values.pop(name) if name in values else defaults[name] for name in names))
    if values:
        raise InputError(f"unknown hyper-parameter {next(iter(values))}; there are {', '.join(names)}")
    kinds = [jnp.int32 if name in ("seed", "train_rows") else jnp.float32 for name in names]
    return Hyper(*(jnp.asarray(array, kind) for array, kind in zip(arrays, kinds)))


LEAST_COUNTS = {"width": 1, "power": 1, "steps": 1, "seed": 0, "metrics_every": 1}
UPPER_ENDS = {
    "learning_rate": inf,
    "weight_decay": inf,
    "eps": inf,
    "init_scale": inf,
    "beta1": 1,
    "beta2": 1,
}


class Task(NamedTuple):
    """What `start` takes: one training, ready to go."""

    shape: Shape
    hyper: Hyper
    table: Int[np.ndarray, "row"]


def start(shape: Shape, hyper: Hyper, table: Int[Array, "row"]) -> tuple[Examples, State]:
    """The split and the untrained network that a seed stands for."""
    init_key, split_key = jax.random.split(jax.random.key(hyper.seed))
    shuffled = shuffled_rows(split_key, shape.rows)
    groups = None
    if shape.gradient == "gather":
        groups = residue_groups(shuffled, shape.train_rows, shape.modulus, shape.variables)
    params = models.init(shape, hyper.init_scale, key=init_key)
    moments = OPTIMISERS[shape.optimiser](hyper).init(params)
    return Examples(table, shuffled, groups), State(params, moments, jnp.int32(0))


def advance(shape: Shape, hyper: Hyper, examples: Examples, state: State, steps: Int[Array, ""]) -> State:
    """`steps` full-batch steps. The number is traced: one compilation serves segments of any length."""
    blocks = training_blocks(shape, hyper, examples)
    optimiser = OPTIMISERS[shape.optimiser](hyper)

    def block_loss(params: Any, block: Block, key: PRNGKeyArray) -> Float[Array, ""]:
        rows = Rows(block.inputs, examples.groups, block.weights)
        logits = models.apply(shape.architecture, params, rows, key=key)
        return jnp.sum(block.weights * LOSSES[shape.loss](logits, block.targets))

    def step(_: Array, state: State) -> State:
        gradient = summed_gradient(block_loss, state.params, blocks, dropout_key(hyper, state.step))
        updates, moments = optimiser.update(gradient, state.moments, state.params)
        return State(optax.apply_updates(state.params, updates), moments, state.step + 1)

    if on_cpu():
        return jax.lax.fori_loop(0, steps, step, state)
    turns, rest = steps // STEPS_PER_LOOP, steps % STEPS_PER_LOOP
    state = jax.lax.fori_loop(0, turns, lambda _, s: jax.lax.fori_loop(0, STEPS_PER_LOOP, step, s), state)
    return jax.lax.fori_loop(0, rest, step, state)


def dropout_key(hyper: Hyper, step: Int[Array, ""]) -> PRNGKeyArray:
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(hyper.seed), DROPOUT), step)


class Block(NamedTuple):
    """Training rows that are worked on at once; what makes the loss a mean stands in their weights."""

    inputs: Int[Array, "*block row variable"]
    targets: Int[Array, "*block row"]
    weights: Float[Array, "*block row"]


def training_blocks(shape: Shape, hyper: Hyper, examples: Examples) -> Block:
    """The training rows in equal blocks along a leading axis; one block where they must be seen together."""
    together = shape.gradient == "gather" or shape.architecture.norm == "batch"
    count = 1 if together else -(-shape.train_rows // shape.block_rows)
    places = even_blocks(shape.train_rows, count)
    rows = examples.shuffled[jnp.minimum(places, shape.train_rows - 1)]
    weights = jnp.where(places < hyper.train_rows, 1 / hyper.train_rows, 0)
    return Block(table_inputs(rows, shape.modulus, shape.variables), examples.table[rows], weights)


def even_blocks(rows: int, count: int) -> Int[np.ndarray, "block place"]:
    """0, 1, … in `count` blocks of equal length; the last ones may be past `rows`."""
    return np.arange(count * -(-rows // count)).reshape(count, -1)


def summed_gradient(
    loss: Callable[[Any, Block, PRNGKeyArray], Array], params: Any, blocks: Block, key: PRNGKeyArray
) -> Any:
    """The gradient of the sum of the blocks' losses, one block at a time, each with a key of its own."""

    def add(total: Any, keyed: tuple[Block, PRNGKeyArray]) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, *keyed)), None

    keys = jax.random.split(key, blocks.targets.shape[0])
    return jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), (blocks, keys))[0]


def measure(shape: Shape, hyper: Hyper, examples: Examples, params: Any) -> Metrics:
    """Losses and accuracies over the whole table, a block of rows at a time, and how periodic the weights are."""
    places = jnp.asarray(even_blocks(shape.rows, -(-shape.rows // shape.block_rows)))
    batch = jax.tree.map(lambda leaf: leaf[0], training_blocks(shape, hyper, examples))
    moments = models.batch_moments(shape.architecture, params, Rows(batch.inputs, weights=batch.weights))

    def add_block(sums: Float[Array, "4"], place: Int[Array, "place"]) -> tuple[Float[Array, "4"], None]:
        rows = examples.shuffled[jnp.minimum(place, shape.rows - 1)]
        targets = examples.table[rows]
        inputs = Rows(table_inputs(rows, shape.modulus, shape.variables))
        logits = models.apply(shape.architecture, params, inputs, moments=moments)
        losses, hits = LOSSES[shape.loss](logits, targets), jnp.argmax(logits, axis=-1) == targets
        train = place < hyper.train_rows
        test = ~train & (place < shape.rows)
        parts = [jnp.where(part, value, 0) for value in (losses, hits) for part in (train, test)]
        return sums + jnp.sum(jnp.stack(parts), axis=1), None

    sums, _ = jax.lax.scan(add_block, jnp.zeros(4), places)
    train_rows, test_rows = hyper.train_rows, shape.rows - hyper.train_rows
    train_loss, test_loss, train_hits, test_hits = sums
    neurons = models.periodic_part(params)
    ipr, living = spectrum.neuron_ipr(neurons, shape.residues()), spectrum.alive(neurons)
    count = jnp.sum(living)
    return Metrics(
        train_loss=train_loss / train_rows,
        test_loss=jnp.where(test_rows > 0, test_loss / jnp.maximum(test_rows, 1), jnp.nan),
        train_accuracy=train_hits / train_rows,
        test_accuracy=jnp.where(test_rows > 0, test_hits / jnp.maximum(test_rows, 1), jnp.nan),
        ipr=jnp.mean(ipr),
        ipr_alive=jnp.sum(jnp.where(living, ipr, 0)) / jnp.maximum(count, 1),
        alive=count,
        embed_norm=jnp.sqrt(jnp.sum(params.embed**2)),
        readout_norm=jnp.sqrt(jnp.sum(params.readout**2)),
    )


def advance_and_measure(
    shape: Shape, hyper: Hyper, examples: Examples, state: State, steps: Int[Array, ""]
) -> tuple[State, Metrics]:
    state = advance(shape, hyper, examples, state, steps)
    return state, measure(shape, hyper, examples, state.params)
