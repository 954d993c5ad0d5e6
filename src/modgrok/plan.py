"""From a polynomial to the experts that compute it: a plan that can be printed before any weight exists.

Every step of a plan computes h(g_1(x_1) + … + g_S(x_S)) over a cyclic group Z_m, with an absorbing element
where needed: a sum modulo p has m = p; a product modulo p has m = p - 1, since logarithms of non-zero residues
add modulo p - 1 and zero absorbs. Coefficients, exponents, constants and whole one-variable functions fold into
the tables g_s and h, so they cost no neuron.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.errors import InputError
from modgrok.expression import Tree, variables
from modgrok.field import exp_table, factors_text, is_prime, log_table, powers
from modgrok.polynomial import LARGEST_TABLE, Polynomial, polynomial, reduce, value_table

ABSORBED = -1
"""Stands in a table g_s for the absorbing element (the logarithm of zero)."""


@dataclass(frozen=True, eq=False)
class Step:
    """One expert: `outputs`[Σ_s tables[s, x_s] mod order], or `absorbed` if any table entry is ABSORBED.

    inputs[s] is the wire that term s reads (see circuit.py for their numbering); `text` says what the step
    computes, in the names of its inputs.
    """

    kind: str
    text: str
    inputs: tuple[int, ...]
    order: int
    tables: Int[np.ndarray, "term p"]
    outputs: Int[np.ndarray, "order"]
    absorbed: int | None = None

    @property
    def terms(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True)
class Plan:
    """Steps in the order of their experts; the last one is the output."""

    modulus: int
    names: tuple[str, ...]
    steps: tuple[Step, ...]

    def wire_name(self, wire: int) -> str:
        """The variable's name, or e1, e2, … for what an expert computes."""
        return self.names[wire] if wire < len(self.names) else f"e{wire - len(self.names) + 1}"

    def describe(self, step: Step, width: int) -> dict[str, Any]:
        """A step as plain values, for printing and for the network's file."""
        inputs = [self.wire_name(wire) for wire in step.inputs]
        return {"kind": step.kind, "text": step.text, "inputs": inputs, "width": width, "order": step.order}


def sum_step(inputs: Sequence[int], tables: Int[np.ndarray, "term p"], modulus: int, text: str) -> Step:
    """Adds one-variable functions modulo any modulus."""
    return Step("sum", text, tuple(inputs), modulus, tables % modulus, np.arange(modulus))


def product_step(
    inputs: Sequence[int], factors: Int[np.ndarray, "term p"], outputs: Int[np.ndarray, "p"], text: str
) -> Step:
    """outputs[Π_s factors[s, x_s] mod p]: logarithms add modulo p - 1, and a factor zero absorbs."""
    p = factors.shape[1]
    return Step(
        "product",
        text,
        tuple(inputs),
        p - 1,
        log_table(p)[factors % p],
        outputs[exp_table(p)],
        int(outputs[0]),
    )


def plan_by_terms(tree: Tree, modulus: int) -> Plan:
    """Section 4 of the paper: one product expert per monomial in several variables, one sum expert over them.

    All terms in one variable are one relabelled input of the sum, and the constant joins the first input: a
    one-variable term must not pass through a product expert, whose zero rule is wrong for exponent 0.
    A single monomial with a constant is one product expert whose outputs are relabelled.
    """
    poly = reduce(tree, modulus)
    names = tuple(f"n{index}" for index in poly.variables)
    mixed, singles, constant = split_terms(poly)
    if mixed and not is_prime(modulus):
        singles, constant = _separate_composite(tree, modulus)
        mixed = []
    residues = np.arange(modulus)
    if len(mixed) == 1 and not singles:
        ((exponents, coefficient),) = mixed
        outputs = (coefficient * residues + constant) % modulus
        return Plan(modulus, names, (_monomial_step(poly, exponents, outputs, str(poly)),))
    steps = [
        _monomial_step(poly, exponents, residues, str(polynomial(modulus, poly.variables, {exponents: 1})))
        for exponents, _ in mixed
    ]
    rows = [coefficient * residues % modulus for _, coefficient in mixed] + list(singles.values())
    inputs = [len(names) + k for k in range(len(mixed))] + list(singles)
    if not rows:
        rows, inputs = [np.zeros(modulus, dtype=np.int64)], [0]
    rows[0] = (rows[0] + constant) % modulus
    steps.append(sum_step(inputs, np.stack(rows), modulus, str(poly)))
    return Plan(modulus, names, tuple(steps))


def split_terms(
    poly: Polynomial,
) -> tuple[list[tuple[tuple[int, ...], int]], dict[int, Int[np.ndarray, "p"]], int]:
    """(monomials in several variables, value table of the terms in each single variable, constant)."""
    mixed: list[tuple[tuple[int, ...], int]] = []
    singles: dict[int, Int[np.ndarray, "p"]] = {}
    constant = 0
    for exponents, coefficient in poly.terms:
        occurring = [axis for axis, exponent in enumerate(exponents) if exponent]
        if len(occurring) > 1:
            mixed.append((exponents, coefficient))
        elif occurring:
            (axis,) = occurring
            values = coefficient * powers(np.arange(poly.modulus), exponents[axis], poly.modulus)
            singles[axis] = (singles.get(axis, np.zeros_like(values)) + values) % poly.modulus
        else:
            constant = coefficient
    return mixed, dict(sorted(singles.items())), constant


def _monomial_step(poly: Polynomial, exponents: Sequence[int], outputs: Int[np.ndarray, "p"], text: str) -> Step:
    """outputs[Π_v n_v^e_v], read from the variables with a positive exponent."""
    inputs = [axis for axis, exponent in enumerate(exponents) if exponent]
    factors = [powers(np.arange(poly.modulus), exponents[axis], poly.modulus) for axis in inputs]
    return product_step(inputs, np.stack(factors), outputs, text)


def _separate_composite(tree: Tree, modulus: int) -> tuple[dict[int, Int[np.ndarray, "p"]], int]:
    """One-variable tables of a function modulo a composite number that is a sum of such, however spelled.

    f is such a sum iff f(x) = Σ_v f(0, …, x_v, …, 0) - (V - 1)·f(0).
    """
    axes = variables(tree)
    if modulus ** len(axes) <= LARGEST_TABLE:
        table = value_table(tree, modulus)
        zero, total = (0,) * len(axes), 0
        singles = {}
        for axis in range(len(axes)):
            line = table[tuple(slice(None) if k == axis else 0 for k in range(len(axes)))] - table[zero]
            singles[axis] = line % modulus
            total = total + line.reshape([-1 if k == axis else 1 for k in range(len(axes))])
        if np.array_equal(table, (total + table[zero]) % modulus):
            return {axis: line for axis, line in singles.items() if line.any()}, int(table[zero])
    raise InputError(
        f"products of variables need a prime modulus, got {modulus} = {factors_text(modulus)}; "
        "sums of one-variable terms work for any modulus"
    )
