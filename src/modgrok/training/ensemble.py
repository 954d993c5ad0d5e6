"""Many networks in one compiled program: `training.steps` mapped over (table, seed, hyper-parameters).

Networks of one `Shape` train side by side in chunks that fit a memory budget. All chunks have the same size (the
last one is filled up with copies of its last network), so that a whole ensemble compiles once. A single network is
an ensemble of one.

**Which bits.** On a CPU a training repeats to the last bit. On a GPU three things decide the last bits of a float32
sum: the order in which it is added, which kernel multiplies, and how many networks are in the product. No sum is
atomic (`networks.models.base.gathered_sum`, `fused_step`). Which kernel multiplies XLA finds out by timing them, in
every process anew, so the same program may have other bits tomorrow; a `repeatable` shape is compiled without that
(`UNTUNED`). And a network has the bits of its program, which has so many networks side by side and room for so many
training rows: rows of sweeps and censuses say both (`beside`, `room`), and a single run with these settings trains as
one of as many copies, with the bits of the row. `benchmarks/repeatable.py` measures all of it, and what it costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PyTree

from modgrok.base.errors import InputError
from modgrok.base.memory import machine_memory, size_text
from modgrok.base.progress import Progress
from modgrok.inspection.order import Order, Places, sized_order
from modgrok.networks.circuit import Weights
from modgrok.networks.models.base import on_cpu
from modgrok.training import fused_step
from modgrok.training.steps import (
    WHOLE_NUMBERS,
    Examples,
    Hyper,
    Metrics,
    Shape,
    State,
    advance_and_measure,
    advance_and_measure_often,
    measure,
    start,
)

UNTUNED = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}
"""Products by the library's first choice of kernel, the same in every process."""
FEWEST_UNTUNED = 8
"""From so many networks on, products are large enough for it: it costs at most a tenth. One alone loses half."""
SEGMENTS_OF_A_CALL = 16
"""Measured segments that an ensemble on a GPU takes in one call."""
CPU_MEMORY = 1 << 24
"""Bytes for a chunk on a CPU, where networks train fastest while their activations stay in its caches."""


OnDevice = Callable[[float, float], None]
"""Called with the beginning and the end (`time.monotonic`) of each stretch of steps that the device has taken."""


class Chunk(NamedTuple):
    """Networks `first` … of an ensemble: metrics with axes (net, measured step), and their final weights."""

    first: int
    metrics: Metrics
    params: PyTree


def network_bytes(shape: Shape) -> int:
    """Memory of one network in training, estimated: activations, logits, data, weights with gradient and moments."""
    rows = min(shape.rows, shape.block_rows)
    numbers = rows * (shape.model.activations() + 4 * shape.model.classes) + 6 * shape.model.parameters()
    return 4 * (numbers + (3 + shape.model.variables) * shape.rows)


def device_memory() -> int:
    """Bytes that a chunk may take on the default device."""
    statistics = jax.devices()[0].memory_stats() or {}
    return int(0.6 * statistics["bytes_limit"]) if "bytes_limit" in statistics else CPU_MEMORY


def check_memory(shape: Shape, beside: int = 1) -> None:
    """An `InputError` where not even one network of this shape can be trained, before anything of it is made.

    `beside` are the networks that must train side by side.

    On the host a training has been measured to take twice as much as `network_bytes` at its height: untrained weights
    are drawn, spectra measured and networks written beside it.
    """
    statistics = jax.devices()[0].memory_stats() or {}
    needed, there = beside * network_bytes(shape), statistics.get("bytes_limit")
    if there is None:
        needed, there = 2 * needed, machine_memory()
    if needed > there:
        model = shape.model
        several = f"{beside:,} {model.name} networks" if beside > 1 else f"a {model.name} network"
        raise InputError(
            f"training {several} of width {model.width:,} with {model.classes:,} classes takes about "
            f"{size_text(needed)} of memory, and there are {size_text(there)}; lower width (--width) or the modulus "
            "(--mod)"
        )


def chunk_size(shape: Shape, networks: int, memory: int | None = None) -> int:
    """How many networks train side by side: as many as the memory holds, in chunks of nearly equal size."""
    largest = max(1, (memory or device_memory()) // network_bytes(shape))
    chunks = -(-networks // largest)
    return -(-networks // chunks)


def with_fused_step(shape: Shape, networks: int, fused: bool | None = None) -> Shape:
    """The shape with the fused step, if it has one and is asked for; None asks where it is faster (`fused_step`)."""
    asked = fused_step.wanted(networks) if fused is None else fused
    return replace(shape, fused=asked and fused_step.applies(shape.model, shape.loss))


def as_trained(shape: Shape, networks: int, fused: bool | None = None) -> Shape:
    """The shape of the program that trains so many networks side by side."""
    repeatable = not on_cpu() and (shape.repeatable or networks >= FEWEST_UNTUNED)
    return replace(with_fused_step(shape, networks, fused), repeatable=repeatable)


start_all = jax.jit(jax.vmap(start, in_axes=(None, 0, 0, 0, 0)), static_argnums=0)
measure_all = jax.jit(jax.vmap(measure, in_axes=(None, 0, 0, 0)), static_argnums=0)
mapped = jax.vmap(advance_and_measure, in_axes=(None, 0, 0, 0, None))
mapped_often = jax.vmap(advance_and_measure_often, in_axes=(None, None, 0, 0, 0, None))
PROGRAMS: dict[bool, tuple[Any, Any]] = {
    repeatable: (
        jax.jit(mapped, static_argnums=0, compiler_options=options),
        jax.jit(mapped_often, static_argnums=(0, 1), compiler_options=options),
    )
    for repeatable, options in ((False, None), (True, UNTUNED))
}
"""What takes one segment, and what takes several, by whether the shape is repeatable."""


def segments_all(
    shape: Shape, every: int, hyper: Hyper, examples: Examples, state: State, count: int
) -> tuple[State, Float[jax.Array, "net segment metric"]]:
    """`advance_and_measure_often` for networks side by side."""
    found: tuple[State, jax.Array] = PROGRAMS[shape.repeatable][1](shape, every, hyper, examples, state, count)
    return found


def segment_all(
    shape: Shape, hyper: Hyper, examples: Examples, state: State, steps: Int[jax.Array, ""] | int
) -> tuple[State, Metrics]:
    """`advance_and_measure` for networks side by side."""
    found: tuple[State, Metrics] = PROGRAMS[shape.repeatable][0](shape, hyper, examples, state, steps)
    return found


def compiled_programs() -> int:
    """How many training programs this process has compiled."""
    return sum(program._cache_size() for pair in PROGRAMS.values() for program in pair)


def train_chunks(
    shape: Shape,
    hyper: Hyper,
    tables: Int[Weights, "net row"],
    *,
    steps: int | Sequence[int],
    orders: Sequence[Order] | None = None,
    params: PyTree = None,
    memory: int | None = None,
    progress: Progress | None = None,
    on_device: OnDevice | None = None,
    fused: bool | None = None,
) -> Iterator[Chunk]:
    """Train an ensemble, chunk by chunk; metrics are measured at `steps`, rising steps of which the last ends it.

    `orders` are the orders of residues of the tables' functions, one for each network (`inspection.order`); without
    them periodicity is measured in the additive one. `params` are weights to start from, with an axis `net`.
    `fused` turns the fused step on or off (`with_fused_step`).
    """
    check_memory(shape)
    measured = [steps] if isinstance(steps, int) else list(steps)
    networks = check_ensemble(shape, hyper, tables, measured)
    size = chunk_size(shape, networks, memory)
    shape = as_trained(shape, size, fused)
    places = stacked_places(shape, networks, orders)
    for first in range(0, networks, size):
        nets = np.minimum(np.arange(first, first + size), networks - 1)
        kept = min(size, networks - first)
        settings = pick(hyper, nets)
        table = jnp.asarray(tables[nets], jnp.int32)
        started = start_all(shape, settings, table, pick(places, nets), pick(params, nets))
        examples, state = jax.block_until_ready(started)
        points, step = [], 0
        for every, count in stretches(measured, 1 if on_cpu() else SEGMENTS_OF_A_CALL):
            began = time.monotonic()
            if count == 1:
                state, metrics = jax.block_until_ready(segment_all(shape, settings, examples, state, every))
                points.append(jax.tree.map(np.asarray, metrics))
            else:
                state, found = segments_all(shape, every, settings, examples, state, count)
                points += metrics_of(np.asarray(found)[:, :count])
            if on_device is not None:
                on_device(began, time.monotonic())
            step += every * count
            if progress is not None:
                progress(first * measured[-1] + kept * step, networks * measured[-1])
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *points)
        weights = jax.tree.map(np.asarray, state.params)
        yield Chunk(first, pick(stacked, slice(kept)), pick(weights, slice(kept)))


def stretches(measured: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Rising steps as (steps of a segment, how many such segments), at most so many of them in one.

    >>> list(stretches([0, 10, 20, 30, 35, 40], 2))
    [(0, 1), (10, 2), (10, 1), (5, 2)]
    """
    for every, same in groupby(later - before for before, later in pairwise([0, *measured])):
        left = len(list(same))
        while left:
            yield every, min(left, most)
            left -= min(left, most)


def metrics_of(measured: Float[np.ndarray, "net segment metric"]) -> list[Metrics]:
    """What `segments_all` measured, segment by segment."""
    kinds = {name: np.int32 if name in WHOLE_NUMBERS else np.float32 for name in Metrics._fields}
    return [
        Metrics(*(column.astype(kind) for column, kind in zip(rows.T, kinds.values(), strict=True)))
        for rows in np.moveaxis(measured, 1, 0)
    ]


def stacked_places(shape: Shape, networks: int, orders: Sequence[Order] | None) -> Places:
    """The places of every network's order, with an axis `net`."""
    if orders is None:
        orders = [sized_order(shape.model.residues, shape.model.classes)] * networks
    if len(orders) != networks:
        raise InputError(f"{networks} tables need as many orders of residues, got {len(orders)}")
    return Places(*(np.stack(arrays) for arrays in zip(*(order.places for order in orders), strict=True)))


def pick(tree: PyTree, nets: Int[np.ndarray, "chosen"] | slice | int) -> PyTree:
    """Some networks of an ensemble's arrays."""
    return jax.tree.map(lambda leaf: leaf[nets], tree)


def train_ensemble(
    shape: Shape, hyper: Hyper, tables: Int[Weights, "net row"], *, steps: int | Sequence[int], **how: Any
) -> tuple[Metrics, PyTree]:
    """Metrics with axes (net, measured step) and final weights with an axis (net) of a whole ensemble, trained as
    `train_chunks` does."""
    pairs = ((chunk.metrics, chunk.params) for chunk in train_chunks(shape, hyper, tables, steps=steps, **how))
    whole: tuple[Metrics, PyTree] = jax.tree.map(lambda *leaves: np.concatenate(leaves), *pairs)
    return whole


def check_ensemble(shape: Shape, hyper: Hyper, tables: Weights, measured: list[int]) -> int:
    """The number of networks, if the arrays of an ensemble fit together; an `InputError` otherwise."""
    networks = tables.shape[0]
    if networks == 0 or tables.shape != (networks, shape.cells):
        raise InputError(f"tables must have the shape (networks, {shape.cells}), got {tables.shape}")
    known = np.count_nonzero(np.asarray(tables) >= 0, axis=1)
    if (known != shape.rows).any():
        raise InputError(f"every table must have {shape.rows} known cells, got {known.min()} to {known.max()}")
    for leaf in jax.tree.leaves(hyper):
        if leaf.shape != (networks,):
            raise InputError(f"{networks} tables need hyper-parameters of shape ({networks},), got {leaf.shape}")
    if int(jnp.max(hyper.train_rows)) > shape.train_rows:
        raise InputError(f"the shape allows {shape.train_rows} training rows, a network asks for more")
    if not measured or measured[0] < 0 or any(b <= a for a, b in pairwise(measured)):
        raise InputError(f"measured steps must rise, got {measured}")
    return networks
