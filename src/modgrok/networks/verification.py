"""Checking a network against integer arithmetic, row by row, in chunks that fit memory.

The answers come from evaluating the network's expression on integers; nothing of the network's construction
is used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from modgrok.algebra.expression import parse, variables
from modgrok.algebra.polynomial import evaluate
from modgrok.errors import InputError
from modgrok.networks.circuit import Circuit, batch_logits, logits
from modgrok.networks.network import Network
from modgrok.progress import Progress

CHUNK_BYTES = 1 << 24
"""Memory that the activations of one chunk of rows may take: small enough to stay in the cache."""
LARGEST_CHECK = 1 << 27
"""Most rows that `verify` walks through without being asked for a sample."""


@dataclass(frozen=True)
class Verification:
    """What was found: `min_margin` is the smallest (correct logit - best wrong one) over the rows checked."""

    accuracy: float
    mse: float
    min_margin: float
    rows_checked: int
    rows_total: int
    errors: int
    first_error: tuple[int, ...] | None
    seconds: float

    @property
    def exhaustive(self) -> bool:
        return self.rows_checked == self.rows_total


@dataclass(frozen=True)
class Prediction:
    """One row: the network's answer, the integers' answer, and the margin of the latter."""

    inputs: tuple[int, ...]
    value: int
    expected: int
    margin: float

    @property
    def correct(self) -> bool:
        return self.value == self.expected


def predict(network: Network, *values: int) -> Prediction:
    """The network's answer for one value of each variable."""
    names = network.variables
    if len(values) != len(names):
        raise InputError(f"this network takes {len(names)} values ({' '.join(names)}), got {len(values)}")
    for value in values:
        if not 0 <= value < network.modulus:
            raise InputError(f"values must be residues 0 … {network.modulus - 1}, got {value}; reduce it modulo p")
    rows = np.array([values])
    (expected,) = answers(network, rows)
    with double_precision(network.circuit):
        (output,) = np.asarray(batch_logits(network.circuit, rows))
    wrong = np.delete(output, expected).max()
    return Prediction(tuple(values), int(output.argmax()), int(expected), float(output[expected] - wrong))


def verify(
    network: Network, *, sample: int | None = None, seed: int = 0, progress: Progress | None = None
) -> Verification:
    """Compare a network with integer arithmetic on its whole table, or on `sample` rows drawn from `seed`."""
    total = network.modulus**network.circuit.variables
    if sample is not None and sample < 1:
        raise InputError(f"the sample must have at least 1 row, got {sample}; leave it out to check every row")
    if sample is None and total > LARGEST_CHECK:
        raise InputError(
            f"the table has {network.modulus}^{network.circuit.variables} rows, more than {LARGEST_CHECK:,}; "
            "check a sample with --sample 100000"
        )
    count = total if sample is None else min(sample, total)
    start, done, errors, squares, margin, first = time.perf_counter(), 0, 0, 0.0, np.inf, None
    size = chunk_rows(network.circuit, count)
    with double_precision(network.circuit):
        for rows in row_chunks(network, count, total, size, np.random.default_rng(seed)):
            margins, square = _check(network.circuit, *_padded(rows, answers(network, rows), size))
            margins, square = np.asarray(margins)[: len(rows)], np.asarray(square)[: len(rows)]
            wrong = ~(margins > 0)
            if first is None and wrong.any():
                first = tuple(int(value) for value in rows[wrong.argmax()])
            errors += int(wrong.sum())
            squares += float(square.sum(dtype=np.float64))
            margin = float(np.minimum(margin, margins.min()))  # a NaN stays
            done += len(rows)
            if progress:
                progress(done, count)
    mse = squares / (count * network.circuit.classes)
    return Verification(1 - errors / count, mse, margin, count, total, errors, first, time.perf_counter() - start)


def answers(network: Network, rows: Int[np.ndarray, "row variable"]) -> Int[np.ndarray, "row"]:
    """What integer arithmetic says."""
    tree = parse(network.expression)
    values = {index: rows[:, axis] for axis, index in enumerate(variables(tree))}
    return np.broadcast_to(evaluate(tree, values, network.modulus), len(rows))


def row_chunks(
    network: Network, count: int, total: int, size: int, rng: np.random.Generator
) -> Iterator[Int[np.ndarray, "row variable"]]:
    """All rows in order if `count` is all of them, else as many random ones, `size` at a time."""
    shape = (network.modulus,) * network.circuit.variables
    for begin in range(0, count, size):
        end = min(begin + size, count)
        if count == total:
            yield np.stack(np.unravel_index(np.arange(begin, end), shape), axis=1)
        else:
            yield rng.integers(network.modulus, size=(end - begin, len(shape)))


def chunk_rows(circuit: Circuit, count: int) -> int:
    """Rows whose activations (hidden layers and logits, a few copies each) take about `CHUNK_BYTES`."""
    values = sum(3 * expert.width + 4 * expert.readout.shape[1] for expert in circuit.experts)
    return max(1, min(count, CHUNK_BYTES // (values * circuit.dtype.itemsize)))


def double_precision(circuit: Circuit) -> AbstractContextManager[None]:
    """A context in which JAX computes in the precision of the circuit's weights."""
    return jax.enable_x64(circuit.dtype == np.float64)


def _padded(
    rows: Int[np.ndarray, "row variable"], labels: Int[np.ndarray, "row"], size: int
) -> tuple[Int[np.ndarray, "size variable"], Int[np.ndarray, "size"]]:
    """The last chunk filled up with zeros, so that one compilation serves all chunks."""
    missing = size - len(rows)
    return np.pad(rows, ((0, missing), (0, 0))), np.pad(labels, (0, missing))


@jax.jit
def _check(
    circuit: Circuit, rows: Int[Array, "row variable"], labels: Int[Array, "row"]
) -> tuple[Float[Array, "row"], Float[Array, "row"]]:
    """Margin and summed squared error of every row."""

    def check_row(row: Int[Array, "variable"], label: Int[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        output = logits(circuit, row)
        target = jnp.arange(output.size) == label
        wrong = jnp.max(jnp.where(target, -jnp.inf, output))
        return output[label] - wrong, jnp.sum((output - target) ** 2)

    with jax.default_matmul_precision("highest"):
        return jax.vmap(check_row)(rows, labels)
