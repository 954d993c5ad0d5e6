"""`completion` of many tables of one side at once, in JAX: what takes a second each there takes milliseconds on a GPU.

The same atoms, splits and sweeps as `separable.measures.completion`, so that both agree up to rounding. The tensor is
dense here: known cells hold their value's unit vector, the others what the atoms say, and starved atoms stay as zeros.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from modgrok.separable.measures import completion as single
from modgrok.separable.measures.nuclear import FAINT, random_directions

CELLS_AT_ONCE = 1 << 26
"""Entries of n × n × atoms that are worked on together."""

dot = partial(jnp.einsum, precision=jax.lax.Precision.HIGHEST)


def normalised(columns: jax.Array) -> tuple[jax.Array, jax.Array]:
    lengths = jnp.sqrt((columns**2).sum(axis=0))
    return columns / jnp.maximum(lengths, 1e-12), lengths


def times(tensor: jax.Array, mode: int, u: jax.Array, v: jax.Array, x: jax.Array) -> jax.Array:
    """The tensor times the directions of the two other modes."""
    if mode == 2:
        n, _, values = tensor.shape
        pairs = (u[:, None] * v[None]).reshape(n * n, -1)
        return dot("cq,ck->qk", tensor.reshape(n * n, values), pairs)
    half = dot("abq,qk->abk", tensor, x)
    return (half * v[None]).sum(axis=1) if mode == 0 else (half * u[:, None]).sum(axis=0)


def filled(known: jax.Array, seen: jax.Array, parts: list[jax.Array], weights: jax.Array) -> jax.Array:
    """The known cells as they are, the others as the atoms say."""
    n = len(known)
    u, v, x = parts
    pairs = (u[:, None] * v[None] * weights).reshape(n * n, -1)
    return jnp.where(seen[..., None], known, dot("ck,qk->cq", pairs, x).reshape(known.shape))


def guessed(table: jax.Array, seen: jax.Array, starts: list[jax.Array]) -> jax.Array:
    """The value of the largest entry in every cell, from those that are seen."""
    n, count = starts[0].shape
    known = jnp.where(seen[..., None], jax.nn.one_hot(table, n), 0.0)
    parts = list(starts)
    for _ in range(single.ITERATIONS):
        for mode in range(3):
            parts[mode] = normalised(times(known, mode, *parts))[0]
    weights = jnp.full(count, single.START)
    unit = jnp.sqrt(seen.sum() / n)
    levels = jnp.asarray(single.penalties(), jnp.float32)

    def sweep(
        number: jax.Array, state: tuple[list[jax.Array], jax.Array, jax.Array]
    ) -> tuple[list[jax.Array], jax.Array, jax.Array]:
        parts, weights, tensor = state
        for mode in range(3):
            first, second = (parts[k] for k in range(3) if k != mode)
            gram = dot("ak,al->kl", first, first) * dot("ak,al->kl", second, second)
            gram = gram + jnp.diag(unit * levels[number] / jnp.maximum(weights, 1e-6))
            factor = jax.scipy.linalg.cho_factor(gram)
            moved = jax.scipy.linalg.cho_solve(factor, times(tensor, mode, *parts).T).T
            parts[mode], weights = normalised(moved)
        alive = weights > FAINT
        parts, weights = [part * alive for part in parts], weights * alive
        return parts, weights, filled(known, seen, parts, weights)

    state = (parts, weights, filled(known, seen, parts, weights))
    parts, weights, _ = jax.lax.fori_loop(0, single.SWEEPS, sweep, state)
    u, v, x = parts
    pairs = (u[:, None] * v[None] * weights).reshape(n * n, -1)
    return dot("ck,qk->cq", pairs, x).argmax(axis=1).reshape(n, n)


guessed_at_once = jax.jit(jax.vmap(guessed, in_axes=(0, 0, None)))


def completions(tables: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """`completion` of whole square tables of one side, each at its share; those without unseen cells are NaN."""
    count, n = tables.shape[:2]
    atoms = single.atoms_for(n)
    seen_cells = np.maximum(1, np.round(shares * n * n).astype(int))
    right, judged = np.zeros(count), np.zeros(count)
    at_once = max(1, CELLS_AT_ONCE // (n * n * atoms))
    for split in range(single.SPLITS):
        todo = np.flatnonzero((judged < single.CELLS_JUDGED) & (seen_cells < n * n))
        place = np.argsort(np.random.default_rng([0, split]).permutation(n * n)).reshape(n, n)
        starts = [jnp.asarray(part) for part in random_directions((n, n, n), atoms, np.random.default_rng(split))]
        for first in range(0, len(todo), at_once):
            some = todo[first : first + at_once]
            padded = np.resize(some, at_once)
            seen = place[None] < seen_cells[padded, None, None]
            found = np.asarray(guessed_at_once(jnp.asarray(tables[padded]), jnp.asarray(seen), starts))
            same = (found == tables[padded]) & ~seen
            right[some] += same.sum(axis=(1, 2))[: len(some)]
            judged[some] += (~seen).sum(axis=(1, 2))[: len(some)]
    return right / np.where(judged, judged, np.nan)
