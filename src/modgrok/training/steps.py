"""The one training engine: training as a pure function of (hyper-parameters, seed, table), on the device.

The functions here train one network; `training.ensemble` compiles them, mapped over many. What a compilation depends
on is the static `Shape`; everything that may vary in a sweep (`Hyper`, the table itself, the order in which its
periodicity is measured) is traced, so that one compilation serves it. A training is

    examples, state = start(shape, hyper, table, places)
    state, metrics  = advance_and_measure(shape, hyper, examples, state, steps)      # as often as wanted

and where it is measured has no influence on the numbers. The network is one of `networks.models`, loss and optimiser
are ones of `networks.losses` and `training.optimisers`, or objects of the user's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, PyTree

from modgrok.inspection.order import Places
from modgrok.inspection.spectrum import periodicity
from modgrok.networks.losses import LOSSES, Loss
from modgrok.networks.models import Model, Rows, Statistics
from modgrok.networks.models.base import on_cpu
from modgrok.training import fused_step
from modgrok.training.data import known_rows, shuffled_rows, table_inputs
from modgrok.training.optimisers import Optimiser, optimiser_with
from modgrok.training.settings import TRACED

BLOCK_BYTES = {"cpu": 1 << 21, "gpu": 1 << 28}
"""Hidden activations held at once: on a CPU training is fastest while they stay in its caches."""

STEPS_PER_LOOP = 10
"""On a GPU a loop of unknown length asks the host after every turn whether to go on; one turn is this many steps."""

MOST_SEGMENTS = 256
"""Measured segments that one call may take."""

DROPOUT = 1
"""Folded into the seed's key, so that dropout draws from a stream of its own."""


@dataclass(frozen=True)
class Shape:
    """What a compilation depends on. `train_rows` is the largest training set of all the networks it serves.

    `known` is the number of cells whose values are known; None where that is all of them. `fused` takes the step of
    `fused_step`, and `repeatable` a program with the same bits in every process (`training.ensemble`).
    """

    model: Model
    train_rows: int
    loss: str | Loss = "mse"
    optimiser: str | Optimiser = "adamw"
    known: int | None = None
    fused: bool = False
    repeatable: bool = False

    @property
    def cells(self) -> int:
        """Cells of the table, known or not."""
        return prod(self.model.residues)

    @property
    def rows(self) -> int:
        """Rows that train or test."""
        return self.cells if self.known is None else self.known

    @property
    def block_rows(self) -> int:
        """Rows that are worked on at once."""
        return max(1, BLOCK_BYTES["cpu" if on_cpu() else "gpu"] // (4 * self.model.width))


if TYPE_CHECKING:

    class Hyper:
        """Every setting that is traced, as an attribute, and `train_rows`."""

        __dataclass_fields__: ClassVar[dict[str, Any]]

        def __init__(self, *values: Num[Array, "*net"]) -> None: ...
        def __getattr__(self, name: str) -> Num[Array, "*net"]: ...

else:
    Hyper = make_dataclass(
        "Hyper",
        [(name, Num[Array, "*net"]) for name in ("seed", "train_rows", *(n for n in TRACED if n != "seed"))],
        namespace={
            "__module__": __name__,
            "__doc__": "Hyper-parameters of one network as scalars, or of an ensemble as arrays with an axis `net`.",
        },
        frozen=True,
    )
    jax.tree_util.register_dataclass(Hyper)


class Examples(NamedTuple):
    """A table with its split. The first `train_rows` of the `shuffled` rows, less those past Hyper's, train."""

    table: Int[Array, "cell"]
    shuffled: Int[Array, "row"]
    places: Places


class State(NamedTuple):
    """What training carries from step to step."""

    params: PyTree
    optimiser: PyTree
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


WHOLE_NUMBERS = ("alive",)
"""Those of the metrics that are counts."""


def start(
    shape: Shape, hyper: Hyper, table: Int[Array, "cell"], places: Places, params: PyTree = None
) -> tuple[Examples, State]:
    """The split and the untrained network that a seed stands for; `params` are weights to start from instead."""
    init_key, _ = jax.random.split(jax.random.key(hyper.seed))
    shuffled = split_of(hyper.seed, shape.rows)
    if shape.known is not None:
        shuffled = known_rows(table, shape.known)[shuffled]
    if params is None:
        params = shape.model.init(hyper.init_scale, key=init_key)
    state = State(params, optimiser_with(shape.optimiser, hyper).init(params), jnp.int32(0))
    return Examples(table, shuffled, places), state


def split_of(seed: Int[Array, ""] | int, rows: int) -> Int[Array, "row"]:
    """The rows of a table in the order that a seed stands for: the first ones train."""
    _, split_key = jax.random.split(jax.random.key(seed))
    return shuffled_rows(split_key, rows)


def advance(shape: Shape, hyper: Hyper, examples: Examples, state: State, steps: Int[Array, ""] | int) -> State:
    """`steps` full-batch steps. The number is traced: one compilation serves segments of any length."""
    optimiser = optimiser_with(shape.optimiser, hyper)
    gradient_at = (fused_gradient if shape.fused else block_gradient)(shape, hyper, examples)

    def step(_: Any, state: State) -> State:
        updates, moments = optimiser.update(gradient_at(state), state.optimiser, state.params)
        params = optax.apply_updates(state.params, shape.model.applied(updates))
        return State(params, moments, state.step + 1)

    if shape.fused:
        found: State = fused_step.unpadded(repeated(step, steps, fused_step.padded(state, shape.model)), state)
        return found
    return repeated(step, steps, state)


def repeated(step: Callable[[Any, State], State], steps: Int[Array, ""] | int, state: State) -> State:
    if on_cpu():
        found: State = jax.lax.fori_loop(0, steps, step, state)
        return found
    turns, rest = steps // STEPS_PER_LOOP, steps % STEPS_PER_LOOP
    state = jax.lax.fori_loop(0, turns, lambda _, s: jax.lax.fori_loop(0, STEPS_PER_LOOP, step, s), state)
    state = jax.lax.fori_loop(0, rest, step, state)
    return state


def block_gradient(shape: Shape, hyper: Hyper, examples: Examples) -> Callable[[State], PyTree]:
    """The gradient of any model's loss at a state, by JAX, a block of rows at a time."""
    blocks, loss = training_blocks(shape, hyper, examples), LOSSES.thing(shape.loss)

    def block_loss(params: PyTree, block: Block, key: PRNGKeyArray) -> Float[Array, ""]:
        rows = Rows(block.inputs, block.weights)
        logits = shape.model.apply(params, rows, key=key)
        return jnp.sum(block.weights * loss(logits, block.targets))

    return lambda state: summed_gradient(block_loss, state.params, blocks, dropout_key(hyper, state.step))


def fused_gradient(shape: Shape, hyper: Hyper, examples: Examples) -> Callable[[State], PyTree]:
    """The gradient of the x² network's loss at a padded state, by kernels; on a CPU they are interpreted, slowly."""
    from modgrok.training import fused_kernels

    rows = examples.shuffled[: shape.train_rows]
    inputs, targets = table_inputs(rows, shape.model.residues), examples.table[rows]
    order = fused_step.training_rows(shape.model, inputs, targets, hyper.train_rows)
    return lambda state: fused_kernels.gradient(state.params, order, shape.model.classes, interpret=on_cpu())


def dropout_key(hyper: Hyper, step: Int[Array, ""]) -> PRNGKeyArray:
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(hyper.seed), DROPOUT), step)


class Block(NamedTuple):
    """Training rows that are worked on at once, in blocks along a leading axis where there are several.

    What makes the loss a mean stands in their weights.
    """

    inputs: Int[Array, "*block row variable"]
    targets: Int[Array, "*block row"]
    weights: Float[Array, "*block row"]


def training_blocks(shape: Shape, hyper: Hyper, examples: Examples) -> Block:
    """The training rows in equal blocks along a leading axis; one block where they must be seen together."""
    count = 1 if shape.model.sees_whole_batch else -(-shape.train_rows // shape.block_rows)
    places = even_blocks(shape.train_rows, count)
    rows = examples.shuffled[jnp.minimum(places, shape.train_rows - 1)]
    weights = jnp.where(places < hyper.train_rows, 1 / hyper.train_rows, 0)
    return Block(table_inputs(rows, shape.model.residues), examples.table[rows], weights)


def even_blocks(rows: int, count: int) -> Int[np.ndarray, "block place"]:
    """0, 1, … in `count` blocks of equal length; the last ones may be past `rows`."""
    return np.arange(count * -(-rows // count)).reshape(count, -1)


def summed_gradient(
    loss: Callable[[PyTree, Block, PRNGKeyArray], Array], params: PyTree, blocks: Block, key: PRNGKeyArray
) -> Any:
    """The gradient of the sum of the blocks' losses, one block at a time, each with a key of its own."""

    def add(total: PyTree, keyed: tuple[Block, PRNGKeyArray]) -> tuple[PyTree, None]:
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, *keyed)), None

    keys = jax.random.split(key, blocks.targets.shape[0])
    return jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), (blocks, keys))[0]


def batch_statistics(shape: Shape, hyper: Hyper, examples: Examples, params: PyTree) -> tuple[Statistics, ...]:
    """What batch normalisation takes from the training rows; nothing for models without it."""
    batch = jax.tree.map(lambda leaf: leaf[0], training_blocks(shape, hyper, examples))
    return shape.model.statistics(params, Rows(batch.inputs, weights=batch.weights))


def measure(shape: Shape, hyper: Hyper, examples: Examples, params: PyTree) -> Metrics:
    """Losses and accuracies over all known rows, a block of rows at a time, and how periodic the weights are."""
    places = jnp.asarray(even_blocks(shape.rows, -(-shape.rows // shape.block_rows)))
    statistics = batch_statistics(shape, hyper, examples, params)

    def add_block(sums: Float[Array, "4"], place: Int[Array, "place"]) -> tuple[Float[Array, "4"], None]:
        rows = examples.shuffled[jnp.minimum(place, shape.rows - 1)]
        targets = examples.table[rows]
        inputs = Rows(table_inputs(rows, shape.model.residues))
        logits = shape.model.apply(params, inputs, statistics=statistics)
        losses = LOSSES.thing(shape.loss)(logits, targets)
        hits = (jnp.argmax(logits, axis=-1) == targets) & ~jnp.isnan(losses)  # argmax gives NaN an answer
        train = place < hyper.train_rows
        test = ~train & (place < shape.rows)
        parts = [jnp.where(part, value, 0) for value in (losses, hits) for part in (train, test)]
        return sums + jnp.sum(jnp.stack(parts), axis=1), None

    sums, _ = jax.lax.scan(add_block, jnp.zeros(4), places)
    train_rows, test_rows = hyper.train_rows, shape.rows - hyper.train_rows
    train_loss, test_loss, train_hits, test_hits = sums
    waves = periodicity(shape.model.blocks(params), examples.places)
    embed_norm, readout_norm = shape.model.norms(params)
    return Metrics(
        train_loss=train_loss / train_rows,
        test_loss=jnp.where(test_rows > 0, test_loss / jnp.maximum(test_rows, 1), jnp.nan),
        train_accuracy=train_hits / train_rows,
        test_accuracy=jnp.where(test_rows > 0, test_hits / jnp.maximum(test_rows, 1), jnp.nan),
        ipr=jnp.asarray(waves.mean()),
        ipr_alive=jnp.asarray(waves.mean_alive()),
        alive=jnp.sum(waves.alive),
        embed_norm=embed_norm,
        readout_norm=readout_norm,
    )


def advance_and_measure(
    shape: Shape, hyper: Hyper, examples: Examples, state: State, steps: Int[Array, ""] | int
) -> tuple[State, Metrics]:
    state = advance(shape, hyper, examples, state, steps)
    return state, measure(shape, hyper, examples, state.params)


def advance_and_measure_often(
    shape: Shape, every: int, hyper: Hyper, examples: Examples, state: State, count: Int[Array, ""] | int
) -> tuple[State, Float[Array, "segment metric"]]:
    """`count` segments of `every` steps each, and the metrics after each of them: one call, and one array to fetch.

    A GPU takes ten steps of a small network in less time than the host needs to ask for them. Rows past `count` are 0.
    """

    def segment(k: Int[Array, ""], carried: tuple[State, Array]) -> tuple[State, Array]:
        state, measured = carried
        state, metrics = advance_and_measure(shape, hyper, examples, state, every)
        row = jnp.stack([jnp.asarray(value, measured.dtype) for value in metrics])
        return state, measured.at[k].set(row)

    nothing = jnp.zeros((MOST_SEGMENTS, len(Metrics._fields)))
    found: tuple[State, Array] = jax.lax.fori_loop(0, count, segment, (state, nothing))
    return found
