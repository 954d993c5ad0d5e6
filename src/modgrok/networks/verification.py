"""Checking a network against integer arithmetic, row by row, in chunks that fit memory; and single answers.

The answers come from evaluating the network's expression on integers; nothing of the network's construction
is used. What was *computed* is told as accuracy, squared error and margin; what is *proved* is for the kernel to
say, and stands beside it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from modgrok.algebra.function import Function
from modgrok.base.errors import InputError
from modgrok.base.progress import Progress
from modgrok.base.results import Result, field_values, html_table, percent, plain
from modgrok.networks.models import Model, Statistics
from modgrok.networks.network import Network, check_rows, chunk_rows, model_logits
from modgrok.networks.proving import proved
from modgrok.networks.storage import load
from modgrok.proofs.proof import Proof

LARGEST_CHECK = 1 << 27
"""Most rows that `verify` walks through without being asked for a sample."""
LARGEST_PROVED = 1 << 22
"""Most rows that it walks through although all of them are proved."""


@runtime_checkable
class HasNetwork(Protocol):
    """What holds a network, as a run does."""

    @property
    def network(self) -> Network: ...


NetworkLike: TypeAlias = Network | HasNetwork | str | Path
"""A network, a run, or the path of either: what every verb takes."""


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """What was found: `min_margin` is the smallest (correct logit - best wrong one) over the rows checked."""

    accuracy: float
    mse: float
    min_margin: float
    rows_checked: int
    rows_total: int
    errors: int
    first_error: tuple[int, ...] | None
    proof: Proof | None
    unproved: str
    seconds: float

    @property
    def exhaustive(self) -> bool:
        return self.rows_checked == self.rows_total

    def summary(self) -> str:
        if not self.rows_checked and self.proof is not None:
            return self.proof.summary()
        rows = "every row" if self.exhaustive else "random rows"
        return (
            f"{percent(self.accuracy)} of {self.rows_checked:,} rows right ({rows}), "
            f"smallest margin {self.min_margin:.4g}, mean squared error {self.mse:.3g}"
        )

    def facts(self) -> dict[str, str]:
        """The report of a check, for people."""
        checked = "every row" if self.exhaustive else "a random sample"
        facts = {"accuracy": percent(self.accuracy, 4)}
        if self.rows_checked:
            facts |= {
                "mean squared error": f"{self.mse:.4g}",
                "smallest margin": f"{self.min_margin:.4g}",
                "rows checked": f"{count_text(self.rows_checked)} of {count_text(self.rows_total)} ({checked})",
            }
        if self.first_error:
            facts["first wrong row"] = ", ".join(map(str, self.first_error))
        if self.proof is not None:
            facts["proof"] = self.proof.summary()
        elif self.unproved:
            facts["proof"] = f"none: {self.unproved}"
        return facts

    def _repr_html_(self) -> str:
        return html_table(self.facts())


@dataclass(frozen=True, repr=False)
class Prediction(Result):
    """One row: the network's answer, the integers' answer, and the margin of the latter.

    Where a table does not know the answer, `expected` is None and the margin that of the network's own.
    """

    row: tuple[int, ...]
    value: int
    expected: int | None
    margin: float
    function: Function | None = field(default=None, compare=False)
    """What is predicted, which knows what its elements are called; it is no part of the JSON object."""

    @property
    def correct(self) -> bool | None:
        """Whether the right logit leads; one that ties, or is no number, is no answer."""
        return None if self.expected is None else self.value == self.expected and self.margin > 0

    @property
    def judgement(self) -> str:
        if self.expected is None:
            return "predicted: the table does not say"
        if self.correct:
            return "correct"
        why = "its logits are no numbers" if np.isnan(self.margin) else "its best logits are equal"
        none = f"no answer, {why}; " if self.value == self.expected or np.isnan(self.margin) else ""
        return f"wrong: {none}integers give {self.named(self.expected)}"

    def named(self, value: int) -> str:
        """What people call a value."""
        return str(value) if self.function is None else self.function.structure.name(value)

    def summary(self) -> str:
        return f"{self.named(self.value)} at {self.row} ({self.judgement}, margin {self.margin:.4g})"

    def to_json(self) -> dict[str, Any]:
        told = {name: value for name, value in field_values(self).items() if name != "function"}
        return {**plain(told), "correct": self.correct}


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Result):
    """Many rows: `values` and `margins` of the network, and what integers `expected` say (-1: nobody knows)."""

    rows: Int[np.ndarray, "row variable"]
    values: Int[np.ndarray, "row"]
    expected: Int[np.ndarray, "row"]
    margins: Float[np.ndarray, "row"]

    @property
    def known(self) -> Bool[np.ndarray, "row"]:
        return self.expected >= 0

    @property
    def correct(self) -> bool:
        """Whether every row that is known is right: its right logit leads."""
        return bool(self.right[self.known].all())

    @property
    def right(self) -> Bool[np.ndarray, "row"]:
        return np.asarray((self.values == self.expected) & (self.margins > 0))

    def summary(self) -> str:
        right, known = int(self.right.sum()), int(self.known.sum())
        margin = f"smallest margin {self.margins.min(initial=np.inf):.4g}"
        rest = "" if known == len(self.rows) else f", {len(self.rows) - known:,} unknown ones predicted"
        return f"{right:,} of {known:,} rows right{rest}, {margin}"

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "correct": self.correct}


def predict(network: NetworkLike, *values: Any) -> Prediction | Predictions:
    """The network's answer for one value of each variable, or for many rows at once.

    Args:
        network: a network, a run, or the path of either.
        values: one residue for each variable, or one row of them, or an array of shape (rows, variables).

    Returns:
        A `Prediction`, or `Predictions` for an array of rows.

    >>> from modgrok.compiler.compiling import compile
    >>> predict(compile("n1 n2 + 3", 7), 4, 5)
    <Prediction: 2 at (4, 5) (correct, margin 1)>
    """
    network = as_network(network)
    names = network.variables
    if len(values) == 1 and np.iterable(values[0]) and not isinstance(values[0], str):
        rows = check_rows(network.model, values[0])
        if rows.ndim > 1:
            return predictions(network, rows)
        values = tuple(rows.tolist())
    if len(values) != len(names):
        raise InputError(f"this network takes {len(names)} values ({', '.join(names)}), got {len(values)}")
    residues = tuple(part.element(value) for part, value in zip(network.function.inputs, values, strict=True))
    found = predictions(network, check_rows(network.model, [residues]))
    expected = int(found.expected[0]) if found.known[0] else None
    return Prediction(residues, int(found.values[0]), expected, float(found.margins[0]), network.function)


def predictions(network: Network, rows: Int[np.ndarray, "..."]) -> Predictions:
    if rows.ndim != 2:
        raise InputError(f"rows must be an array of shape (rows, variables), got {rows.shape}")
    logits, expected = network.logits(rows), answers(network, rows)
    given = logits.argmax(axis=1)
    return Predictions(rows, given, expected, row_margins(logits, np.where(expected >= 0, expected, given)))


def row_margins(logits: Float[np.ndarray, "row class"], labels: Int[np.ndarray, "row"]) -> Float[np.ndarray, "row"]:
    """Correct logit less the best wrong one; the logits are overwritten."""
    places = np.arange(len(labels))
    right = logits[places, labels].copy()
    logits[places, labels] = -np.inf
    with np.errstate(invalid="ignore"):  # infinite logits have no margin
        return np.asarray(right - logits.max(axis=1))


def verify(
    network: NetworkLike,
    *,
    sample: int | None = None,
    seed: int = 0,
    proving: bool = True,
    progress: Progress | None = None,
) -> Verification:
    """Compare a network with integer arithmetic on its whole table, or on some of its rows.

    Args:
        network: a network, a run, or the path of either.
        sample: how many random rows to check instead of the whole table.
        seed: of the sample.
        proving: whether the kernel is asked, too, on how many rows of the whole table it proves the network right.
            Where it proves all of a large table, no row is computed.
        progress: called with the rows done and those in all.

    Returns:
        A `Verification`: accuracy, squared error, smallest margin, the first wrong row, and the proof.

    >>> from modgrok.compiler.compiling import compile
    >>> verify(compile("n1 n2 + 3", 7)).accuracy
    1.0
    """
    network = as_network(network)
    total = network.known_rows
    if sample is not None and not (isinstance(sample, (int, np.integer)) and sample >= 1):
        raise InputError(f"the sample must have at least 1 row, got {sample}; leave it out to check every row")
    if seed < 0:
        raise InputError(f"the seed must be a whole number of at least 0, got {seed}")
    start = time.perf_counter()
    if proving and network.proof is None:
        network = proved(network, progress=progress)
    proof, unproved = (network.proof, network.unproved) if proving else (None, "")
    if sample is None and total > LARGEST_PROVED and proof is not None and proof.holds:
        return proved_whole(network, start)
    if sample is None and total > LARGEST_CHECK:
        why = f" ({unproved})" if unproved else ""
        raise InputError(
            f"the table has {network.modulus}^{network.model.variables} rows, more than {LARGEST_CHECK:,}, and they "
            f"are not proved{why}; check some of them: sample=100000 (--sample 100000)"
        )
    count = total if sample is None else min(sample, total)
    done, errors, squares, margin, first = 0, 0, 0.0, np.inf, None
    size = chunk_rows(network.model, count, network.dtype)
    with network.precision():
        for rows in row_chunks(network, count, size, np.random.default_rng(seed)):
            chunk = padded(rows, answers(network, rows), size)
            margins, square = check_chunk(network.model, network.params, network.statistics, *chunk)
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
    mse = squares / (count * network.model.classes)
    seconds = time.perf_counter() - start
    return Verification(1 - errors / count, mse, margin, count, total, errors, first, proof, unproved, seconds)


def proved_whole(network: Network, start: float) -> Verification:
    """What a proof of the whole table says, with no row computed."""
    if network.proof is None or not network.proof.holds:
        raise ValueError("the network is not proved right on its whole table")
    seconds = time.perf_counter() - start
    return Verification(1.0, np.nan, network.proof.margin, 0, network.known_rows, 0, None, network.proof, "", seconds)


def count_text(rows: int) -> str:
    """1,234,567, or 1.2e+99 for numbers that nobody reads out."""
    return f"{rows:,}" if rows < 10**15 else f"about 10^{len(str(rows)) - 1}"


def as_network(network: Any) -> Network:
    """A network itself, the network of a run, or the one in a file or folder."""
    if isinstance(network, Network):
        return network
    if isinstance(network, (str, Path)):
        return load(network)
    if isinstance(found := getattr(network, "network", None), Network):
        return found
    raise InputError(f"a network, a run or a path is needed, got {type(network).__name__}")


def answers(network: Network, rows: Int[np.ndarray, "row variable"]) -> Int[np.ndarray, "row"]:
    """What integer arithmetic says, or the table that the network was made for: -1 where that is unknown."""
    return network.function.at(rows)


def row_chunks(
    network: Network, count: int, size: int, rng: np.random.Generator
) -> Iterator[Int[np.ndarray, "row variable"]]:
    """All known rows in order if `count` is all of them, else as many random ones, `size` at a time."""
    shape, known = network.model.residues, known_cells(network)
    for begin in range(0, count, size):
        end = min(begin + size, count)
        if known is not None:
            cells = known[begin:end] if count == len(known) else rng.choice(known, end - begin)
            yield np.stack(np.unravel_index(cells, shape), axis=1)
        elif count == network.rows:
            yield np.stack(np.unravel_index(np.arange(begin, end), shape), axis=1)
        else:
            yield rng.integers(network.modulus, size=(end - begin, len(shape)))


def known_cells(network: Network) -> Int[np.ndarray, "cell"] | None:
    """The rows of a network's table whose values are known; None for an expression, which knows all."""
    return None if network.function.tree is not None else np.flatnonzero(network.function.table.reshape(-1) >= 0)


def padded(
    rows: Int[np.ndarray, "row variable"], labels: Int[np.ndarray, "row"], size: int
) -> tuple[Int[np.ndarray, "size variable"], Int[np.ndarray, "size"]]:
    """The last chunk filled up with zeros, so that one compilation serves all chunks."""
    missing = size - len(rows)
    return np.pad(rows, ((0, missing), (0, 0))), np.pad(labels, (0, missing))


@partial(jax.jit, static_argnums=0)
def check_chunk(
    model: Model,
    params: Any,
    statistics: tuple[Statistics, ...],
    rows: Int[Array, "row variable"],
    labels: Int[Array, "row"],
) -> tuple[Float[Array, "row"], Float[Array, "row"]]:
    """Margin and summed squared error of every row."""
    output = model_logits(model, params, statistics, rows)
    target = jnp.arange(model.classes)[None] == labels[:, None]
    wrong = jnp.max(jnp.where(target, -jnp.inf, output), axis=1)
    right = jnp.take_along_axis(output, labels[:, None], axis=1)[:, 0]
    return right - wrong, jnp.sum((output - target) ** 2, axis=1)
