"""Single answers: what a network says at a row, beside what is right there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.algebra.cells import UNKNOWN
from modgrok.algebra.function import Function
from modgrok.algebra.structures import Integers
from modgrok.base.errors import InputError
from modgrok.base.results import Result, field_values, plain
from modgrok.networks.circuit import row_margins
from modgrok.networks.network import Network, check_rows
from modgrok.networks.verification import NetworkLike, answers, as_network


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

    @property
    def row_names(self) -> tuple[str, ...]:
        """What people call the inputs."""
        if self.function is None:
            return tuple(map(str, self.row))
        return tuple(part.name(value) for part, value in zip(self.function.inputs, self.row, strict=True))

    def summary(self) -> str:
        at = f"({', '.join(self.row_names)})"
        return f"{self.named(self.value)} at {at} ({self.judgement}, margin {self.margin:.4g})"

    def to_json(self) -> dict[str, Any]:
        told = {name: value for name, value in field_values(self).items() if name != "function"}
        expected = None if self.expected is None else self.named(self.expected)
        names = {"row_names": list(self.row_names), "value_name": self.named(self.value), "expected_name": expected}
        return {**plain(told), "correct": self.correct, **names}


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Result):
    """Many rows: `values` and `margins` of the network, and what integers `expected` say (-1: nobody knows)."""

    rows: Int[np.ndarray, "row variable"]
    values: Int[np.ndarray, "row"]
    expected: Int[np.ndarray, "row"]
    margins: Float[np.ndarray, "row"]
    told = ("rows", "values", "expected", "margins", "correct")

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
        return f"{right:,} of {known:,} inputs right{rest}, {margin}"


def predict(network: NetworkLike, *values: Any) -> Prediction | Predictions:
    """The network's answer for one value of each variable, or for many rows at once.

    Args:
        network: a network, a run, or the path of either.
        values: one residue for each variable, or one row of them, or an array of shape (rows, variables). In a group or
            a field an element has a name, which may stand for its number: "(1 2 3)", "t + 1".

    Returns:
        A `Prediction`, or `Predictions` for an array of rows.

    >>> from modgrok.compiler.compiling import compile
    >>> predict(compile("n1 n2 + 3", 7), 4, 5)
    <Prediction: 2 at (4, 5) (correct, margin 1)>
    """
    network = as_network(network)
    names = network.variables
    if len(values) == 1 and np.iterable(values[0]) and not isinstance(values[0], str):
        rows = check_rows(network.model, numbered(network.function, values[0]))
        if rows.ndim > 1:
            return predictions(network, rows)
        values = tuple(rows.tolist())
    if len(values) != len(names):
        raise InputError(f"this network takes {len(names)} values ({', '.join(names)}), got {len(values)}")
    try:
        residues = tuple(part.element(value) for part, value in zip(network.function.inputs, values, strict=True))
    except InputError as error:
        raise InputError(f"{error}{reduced_row(network.function, values)}") from None
    found = predictions(network, check_rows(network.model, [residues]))
    expected = int(found.expected[0]) if found.known[0] else None
    return Prediction(residues, int(found.values[0]), expected, float(found.margins[0]), network.function)


def reduced_row(function: Function, values: Sequence[Any]) -> str:
    """The reduced row, to be given instead of a row of whole numbers; empty where there is none."""
    try:
        row = [int(value) if isinstance(value, str) else index(value) for value in values]
    except (TypeError, ValueError):
        return ""
    modular = all(isinstance(part, Integers) for part in function.inputs)
    reduced = (str(value % part.order) for value, part in zip(row, function.inputs, strict=True))
    return f": {' '.join(reduced)}" if modular else ""


def numbered(function: Function, rows: Any) -> Any:
    """Rows with the numbers of elements in place of their names."""
    try:
        words = np.asarray(rows) if isinstance(rows, (list, tuple)) and len(rows) else np.empty(0)
    except ValueError:
        return rows  # they differ in length, which `check_rows` says
    if words.dtype.kind != "U" or words.shape[-1] != len(function.sizes):
        return rows
    columns = [np.vectorize(part.element, otypes=[int])(words[..., k]) for k, part in enumerate(function.inputs)]
    return np.stack(columns, axis=-1)


def predictions(network: Network, rows: Int[np.ndarray, "..."]) -> Predictions:
    if rows.ndim != 2:
        raise InputError(f"rows must be an array of shape (rows, variables), got {rows.shape}")
    logits, expected = network.logits(rows), answers(network, rows)
    if network.answers_itself:
        expected = np.full_like(expected, UNKNOWN)
    given = logits.argmax(axis=1)
    return Predictions(rows, given, expected, row_margins(logits, np.where(expected >= 0, expected, given)))


ROWS_AT_ONCE = 1 << 14


def answered_table(network: Network) -> Int[np.ndarray, "..."]:
    """The answers on the whole table, `UNKNOWN` where there is none: the best logits are equal, or no numbers."""
    parts = []
    for first in range(0, network.rows, ROWS_AT_ONCE):
        places = np.arange(first, min(first + ROWS_AT_ONCE, network.rows))
        logits = network.logits(np.stack(np.unravel_index(places, network.model.residues), axis=1))
        given = logits.argmax(axis=1)
        parts.append(np.where(row_margins(logits, given) > 0, given, UNKNOWN))
    return np.concatenate(parts).reshape(network.model.residues)
