"""The kernels of the fused step, in Pallas (Triton): see `fused_step` for what they compute and when they run.

Of its own, because Pallas takes a quarter of a second to import and only GPUs need it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, PyTree

from modgrok.networks.circuit import Expert
from modgrok.training.fused_step import Tiling, TrainingRows, tiling_of

Ref: TypeAlias = Any
"""A block of memory that a kernel reads or writes, for which Pallas has no public type."""


def gradient(params: Expert, rows: TrainingRows, modulus: int, *, interpret: bool = False) -> Expert:
    """The gradient of the loss at padded weights, padded as they are."""
    tiling = tiling_of(modulus)
    _, size, width = params.embed.shape
    embed, readout = (w.astype(jnp.bfloat16) for w in (params.embed.reshape(2 * size, width), params.readout))
    blocks = rows.targets.size // tiling.rows
    whole = partial(pl.BlockSpec, index_map=lambda k: (0, 0))
    all_rows, count = pl.BlockSpec((rows.targets.size,), lambda k: (0,)), pl.BlockSpec((1,), lambda k: (0,))
    some_rows = pl.BlockSpec((tiling.rows,), lambda k: (k,))
    by_rows = pl.BlockSpec((tiling.rows, size), lambda k: (k, 0))
    call = partial(pl.pallas_call, interpret=interpret)
    residual = call(
        partial(residual_kernel, modulus=modulus, tiling=tiling),
        grid=(blocks,),
        in_specs=[count, some_rows, some_rows, some_rows, whole(embed.shape), whole(readout.shape)],
        out_specs=by_rows,
        out_shape=jax.ShapeDtypeStruct((rows.targets.size, size), jnp.bfloat16),
        compiler_params=triton.CompilerParams(num_warps=tiling.warps, num_stages=tiling.stages),
    )(rows.counted, rows.a, rows.b, rows.targets, embed, readout)
    tile = tiling.neurons_backward
    columns = pl.BlockSpec((2 * size, tile), lambda k: (0, k))
    some_neurons = pl.BlockSpec((tile, size), lambda k: (k, 0))
    d_embed, d_readout = call(
        partial(gradient_kernel, tiling=tiling),
        grid=(width // tile,),
        in_specs=[count, all_rows, all_rows, whole(residual.shape), whole(embed.shape), some_neurons],
        out_specs=[columns, some_neurons],
        out_shape=[
            jax.ShapeDtypeStruct((2 * size, width), jnp.float32),
            jax.ShapeDtypeStruct((width, size), jnp.float32),
        ],
        compiler_params=triton.CompilerParams(num_warps=tiling.warps_backward, num_stages=tiling.stages),
    )(rows.counted, rows.a, rows.b, residual, embed, readout)
    return Expert(d_embed.reshape(params.embed.shape), d_readout, params.power)


def residual_kernel(
    count: Ref, a: Ref, b: Ref, targets: Ref, embed: Ref, readout: Ref, residual: Ref, *, modulus: int, tiling: Tiling
) -> None:
    """r of some rows; zero past the rows that count."""
    width, size = readout.shape
    first, counted = pl.program_id(0) * tiling.rows, count[0]
    a, b, targets, tile = a[...], b[...], targets[...], tiling.neurons

    def columns(k: Array | int) -> tuple[Array, Array]:
        return both_columns(embed, a, b, k * tile, tile)

    def add_neurons(k: Array, carried: PyTree) -> PyTree:
        logits, (first_part, second_part) = carried
        following = columns(jnp.minimum(k + 1, width // tile - 1))
        z = first_part.astype(jnp.float32) + second_part.astype(jnp.float32)
        return logits + triton.dot((z * z).astype(jnp.bfloat16), readout[pl.ds(k * tile, tile), :]), following

    tiles = jnp.clip(counted - first, 0, 1) * (width // tile)  # no comparison: Triton's loops end at whole numbers
    zeros = jnp.zeros((tiling.rows, size), jnp.float32)
    logits, _ = jax.lax.fori_loop(0, tiles, add_neurons, (zeros, columns(0)))
    hot = (targets[:, None] == jnp.arange(size)[None, :]).astype(jnp.float32)
    weights = jnp.where(first + jnp.arange(tiling.rows) < counted, 2 / (counted.astype(jnp.float32) * modulus), 0.0)
    residual[...] = ((logits - hot) * weights[:, None]).astype(residual.dtype)


def gradient_kernel(
    count: Ref, a: Ref, b: Ref, residual: Ref, embed: Ref, readout: Ref, d_embed: Ref, d_readout: Ref, *, tiling: Tiling
) -> None:
    """dE and dW of some neurons, summed over the rows that count."""
    tile, size = readout.shape
    neurons = pl.program_id(0) * tile
    weights, residues = readout[...], jnp.arange(size)[:, None]
    blocks = pl.cdiv(count[0], tiling.rows)

    def gathered(block: Array | int) -> tuple[Array, ...]:
        rows = pl.ds(block * tiling.rows, tiling.rows)
        places, others = a[rows], b[rows]
        return places, others, *both_columns(embed, places, others, neurons, tile)

    def add_rows(block: Array, carried: PyTree) -> PyTree:
        d_first, d_second, d_weights, (places, others, first, second) = carried
        following = gathered(jnp.minimum(block + 1, blocks - 1))
        z = first.astype(jnp.float32) + second.astype(jnp.float32)
        r = residual[pl.ds(block * tiling.rows, tiling.rows), :]
        d_weights += triton.dot((z * z).astype(jnp.bfloat16), r, trans_a=True)
        dz = (2 * z * triton.dot(r, weights, trans_b=True)).astype(jnp.bfloat16)
        hots = ((residues + k == n[None, :]).astype(jnp.bfloat16) for k, n in ((0, places), (size, others)))
        d_first, d_second = (d + triton.dot(hot, dz) for d, hot in zip((d_first, d_second), hots, strict=True))
        return d_first, d_second, d_weights, following

    columns, zeros = jnp.zeros((size, tile), jnp.float32), jnp.zeros((tile, size), jnp.float32)
    start = (columns, columns, zeros, gathered(0))
    d_first, d_second, d_weights, _ = jax.lax.fori_loop(0, blocks, add_rows, start)
    d_embed[pl.ds(0, size), :] = d_first
    d_embed[pl.ds(size, size), :] = d_second
    d_readout[...] = d_weights


def both_columns(embed: Ref, a: Array, b: Array, first: Array | int, neurons: int) -> tuple[Array, Array]:
    """The summands of z of some rows at the neurons `first` …"""
    k = (first + jnp.arange(neurons))[None, :]
    return embed[a[:, None], k], embed[b[:, None], k]
