"""What one expert is to compute, before any weight exists: sums over cyclic groups, read from and put on wires.

A wire carries symbols 0 … n - 1 of its own alphabet: n is the modulus for a variable of a polynomial and for most
experts, twice the modulus where squares need it, and a factor of the modulus where remainders are computed apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import exp_table, log_table
from modgrok.networks.description import ExpertPlan

ABSORBED = -1
"""Stands in a table g_s for the absorbing element (the logarithm of zero)."""

Table = Int[np.ndarray, "_"]
"""One entry for every symbol of a wire."""


@dataclass(frozen=True, eq=False)
class Step:
    """One expert: `outputs`[Σ_s tables[s, x_s] mod order], or `absorbed` if any table entry is ABSORBED.

    inputs[s] is the wire that term s reads (see circuit.py for their numbering); `text` says what the step
    computes, in the names of its inputs. It puts out one of `classes` symbols. Where its wires have different
    alphabets, shorter tables are filled up with their first entry, for symbols that never come (`filled`).

    `rule`, `forms` and `result` say the same as polynomials in the symbol n1 of each wire, and of what the rule makes
    of them, for whoever proves it (`proofs.composition`); no forms where the tables are no polynomials.
    """

    kind: str
    text: str
    inputs: tuple[int, ...]
    order: int
    tables: Int[np.ndarray, "term p"]
    outputs: Int[np.ndarray, "order"]
    classes: int
    absorbed: int | None = None
    rule: str = "sum"
    forms: tuple[str, ...] = ()
    result: str = "n1"

    @property
    def terms(self) -> int:
        return len(self.inputs)

    @property
    def group_order(self) -> int | None:
        """Of the group that it is computed in; None where there is none."""
        return self.order

    @property
    def symbols(self) -> int:
        """Of the longest alphabet that it reads."""
        return int(self.tables.shape[1])


@dataclass(frozen=True)
class Plan:
    """Steps in the order of their experts; the last one is the output. `sizes` are the alphabets of the variables."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    steps: tuple[Step, ...]

    @property
    def alphabets(self) -> tuple[int, ...]:
        """How many symbols every wire carries."""
        return (*self.sizes, *(step.classes for step in self.steps))

    def wire_name(self, wire: int) -> str:
        """The variable's name, or e1, e2, … for what an expert computes."""
        return self.names[wire] if wire < len(self.names) else f"e{wire - len(self.names) + 1}"

    def describe(self, step: Step, width: int) -> ExpertPlan:
        """What an expert of that width computes, for printing and for the network's file."""
        inputs = tuple(self.wire_name(wire) for wire in step.inputs)
        return ExpertPlan(step.kind, step.text, inputs, width, step.group_order, step.absorbed is not None)


def filled(tables: Sequence[Table]) -> Int[np.ndarray, "term p"]:
    """Tables of different lengths as one array: shorter ones end with copies of their first entry.

    The symbols that these stand for never come, so any entry would do. With this one a constant table stays
    constant, and no weight made from the tables becomes larger.
    """
    longest = max(map(len, tables))
    return np.stack([np.append(table, np.full(longest - len(table), table[0])) for table in tables])


def sum_step(
    inputs: Sequence[int],
    tables: Sequence[Table],
    order: int,
    text: str,
    *,
    kind: str = "sum",
    rule: str = "sum",
    forms: Sequence[str] = (),
) -> Step:
    """Adds one-variable functions modulo any number."""
    added = filled([np.asarray(table) % order for table in tables])
    return Step(kind, text, tuple(inputs), order, added, np.arange(order), order, rule=rule, forms=tuple(forms))


def product_step(
    inputs: Sequence[int], factors: Sequence[Table], p: int, text: str, *, forms: Sequence[str] = ()
) -> Step:
    """Π_s factors[s, x_s] modulo a prime p: logarithms add modulo p - 1, and a factor zero absorbs."""
    logarithms = filled([log_table(p)[np.asarray(factor) % p] for factor in factors])
    return Step(
        "product", text, tuple(inputs), p - 1, logarithms, exp_table(p), p, 0, rule="product", forms=tuple(forms)
    )


def needed(steps: Sequence[Step], variables: int) -> tuple[Step, ...]:
    """The steps that the last one depends on, with their wires numbered anew."""
    used = {len(steps) - 1}
    for k in reversed(range(len(steps))):
        if k in used:
            used |= {wire - variables for wire in steps[k].inputs if wire >= variables}
    kept = sorted(used)
    wire = {variables + k: variables + new for new, k in enumerate(kept)}
    return tuple(replace(steps[k], inputs=tuple(wire.get(w, w) for w in steps[k].inputs)) for k in kept)
