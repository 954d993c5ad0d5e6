"""Checking a network against integer arithmetic, row by row, in chunks that fit memory; and single answers.

The answers come from evaluating the network's expression on integers; nothing of the network's construction
is used. What was *computed* is told as accuracy, squared error and margin; what is *proved* is for the kernel to
say, and stands beside it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from modgrok.base.errors import InputError
from modgrok.base.progress import Progress
from modgrok.base.results import Result, html_table, percent
from modgrok.networks.models import Model, Statistics
from modgrok.networks.network import Network, chunk_rows, model_logits
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
    """What was found: `min_margin` is the smallest (correct logit - best wrong one) over the rows checked.

    On `led` inputs a class that was left out leads (`Network.led`): what is right there is so among the values alone.
    """

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
    led: int = 0

    @property
    def exhaustive(self) -> bool:
        return self.rows_checked == self.rows_total

    @property
    def verdict(self) -> str:
        """What was found, in a few words."""
        if self.errors:
            return f"wrong on {count_text(self.errors)} of {count_text(self.rows_checked)} inputs"
        if self.proof is not None and self.proof.holds:
            return self.proof.whole
        return f"right on {self.checked}{self.among}"

    @property
    def among(self) -> str:
        """Among which classes it is right, where one was left out and leads."""
        return f', among its values: on {count_text(self.led)} the class of "=" leads' if self.led else ""

    @property
    def checked(self) -> str:
        """How many inputs were checked, and whether these are all."""
        if self.exhaustive:
            return f"all {count_text(self.rows_total)} inputs"
        return f"{count_text(self.rows_checked)} random inputs of {count_text(self.rows_total)}"

    def summary(self) -> str:
        if not self.rows_checked and self.proof is not None:
            return self.proof.summary()
        return (
            f"{percent(self.accuracy)} of {self.checked} right{self.among}, "
            f"smallest margin {self.min_margin:.4g}, mean squared error {self.mse:.3g}"
        )

    def facts(self) -> dict[str, str]:
        """The report of a check, for people."""
        facts = {"accuracy": percent(self.accuracy, 4)}
        if self.rows_checked:
            facts = {
                "accuracy": f"{percent(self.accuracy, 4)} of {self.checked}",
                "mean squared error": f"{self.mse:.4g}",
                "smallest margin": f"{self.min_margin:.4g}",
            }
        if self.first_error:
            facts["first wrong input"] = ", ".join(map(str, self.first_error))
        if self.proof is not None:
            facts["proof"] = self.proof.summary()
        elif self.unproved:
            facts["proof"] = f"none: {self.unproved}"
        return facts

    def _repr_html_(self) -> str:
        return html_table(self.facts())


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
    if network.answers_itself:
        raise InputError(
            "nobody says what this network is to compute, and its answers are no formula that is known; "
            'give one: mg.wrap(…, "n1 + n2", mod=113) (--function "n1 + n2" --mod 113)'
        )
    total = network.known_rows
    if sample is not None and not (isinstance(sample, (int, np.integer)) and sample >= 1):
        raise InputError(f"the sample must have at least 1 input, got {sample}; leave it out to check them all")
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
    return Verification(
        1 - errors / count, mse, margin, count, total, errors, first, proof, unproved, seconds, network.led
    )


def proved_whole(network: Network, start: float) -> Verification:
    """What a proof of the whole table says, with no row computed."""
    if network.proof is None or not network.proof.holds:
        raise ValueError("the network is not proved right on its whole table")
    seconds = time.perf_counter() - start
    return Verification(1.0, np.nan, network.proof.margin, 0, network.known_rows, 0, None, network.proof, "", seconds)


def count_text(rows: int) -> str:
    """1,234,567, or 1.2e+99 for numbers that nobody reads out."""
    return f"{rows:,}" if rows < 10**15 else f"about 10^{len(str(rows)) - 1}"


def as_network(network: object) -> Network:
    """A network itself, the network of a run, or the one in a file or folder."""
    if isinstance(network, Network):
        return network
    if isinstance(network, (str, Path)):
        return load(network)
    if isinstance(found := getattr(network, "network", None), Network):
        return found
    raise InputError(
        f"a network, a run or a path is needed, got {type(network).__name__}; mg.wrap makes a network of your logits"
    )


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
    params: PyTree,
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
