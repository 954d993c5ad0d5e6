"""Ways from an expression to a plan: as typed, by its terms, by remainders, or from a witness of the decision.

`planner` turns expressions into steps; `choosing` compares the plans that these ways make.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import is_prime
from modgrok.algebra.polynomial import reduce, value_table
from modgrok.algebra.trees import Tree, to_text, variables
from modgrok.base.errors import InputError
from modgrok.compiler.planner import Planner, Signal
from modgrok.compiler.steps import ABSORBED, Plan, Step, Table, filled, sum_step
from modgrok.separable import Witness

LARGEST_LINES = 1 << 20
"""Most cells of a table in which the planner looks for a sum of one-variable functions."""


def plan_by_shape(tree: Tree, modulus: int, *, flat: bool = False, lean: bool = True, fold: bool = True) -> Plan:
    """A plan that follows the expression as typed: a power of a sum is a relabelled sum, not its expansion."""
    planner = Planner(tree, modulus, flat=flat, lean=lean)
    return planner.plan(planner.signal(tree, modulus), fold=fold)


def plan_by_terms(tree: Tree, modulus: int, *, flat: bool = True, lean: bool = True, fold: bool = True) -> Plan:
    """Section 4 of the paper: one product expert per monomial in several variables, one sum expert over them.

    Terms in one variable are relabelled inputs of the sum: they must not pass through a product expert, whose
    zero rule is wrong for exponent 0. Modulo a composite number products may vanish, as 3·n1·n2·(n1 - 1) does
    modulo 6, which only the table shows: then the terms are those of `one_variable_parts`.
    """
    planner = Planner(tree, modulus, flat=flat, lean=lean)
    try:
        result = planner.signal(reduce(tree, modulus).tree, modulus)
        if len(planner.steps) <= 1:
            return planner.plan(result, fold=fold)
        refusal = None
    except InputError as error:
        refusal = error
    lines = one_variable_parts(tree, modulus)
    if lines is not None:
        planner = Planner(tree, modulus, flat=flat)
        parts = [
            Signal(wire, line, f"g({name})") for wire, (name, line) in enumerate(zip(planner.names, lines, strict=True))
        ]
        result = planner.combine(parts, np.add, modulus, partial(planner.add, m=modulus))
    elif refusal is not None:
        raise refusal
    return planner.plan(result, fold=fold)


def plan_by_remainders(
    tree: Tree, modulus: int, parts: Sequence[int], *, expand: bool, split: bool = False, fold: bool = True
) -> Plan:
    """The function modulo each of the coprime parts of the modulus, joined; typed or expanded into monomials."""
    planner = Planner(tree, modulus, flat=False, split=split)
    signals = [(planner.signal(reduce(tree, m).tree if expand else tree, m), m) for m in parts]
    return planner.plan(planner.join(signals, to_text(tree)), fold=fold)


def plans_from_witness(names: Sequence[str], sizes: Sequence[int], values: int, witness: Witness) -> Iterator[Plan]:
    """One expert for a function that is h(g1 + g2 + …) over some cyclic group, as a witness says; or two, of which the
    first puts out the element of the group (one more symbol stands for the absorbing one) and the other h."""
    parts = " + ".join(f"g{s}({name})" for s, name in enumerate(names, start=1))
    over = f"over Z_{witness.group_order}"
    text = f"h({parts}) {over}"
    step = witness_step(witness, f"{parts} {over}")
    h = np.array([0 if value is None else value for value in (*witness.h, witness.h_absorbing)])[: step.classes]
    absorbed = None if step.absorbed is None else int(h[step.absorbed])
    folded = replace(step, text=text, outputs=h[step.outputs], absorbed=absorbed, classes=values)
    relabelling = sum_step((len(names),), [h], values, text, kind="relabel")
    for steps in ((folded,), (step, relabelling)):
        yield Plan(tuple(names), tuple(sizes), steps)


def witness_step(witness: Witness, text: str) -> Step:
    """The expert that puts out g1 + g2 + …, with the symbol after the last one for the absorbing element."""
    tables, order = witness_tables(witness), witness.group_order
    absorbed = order if bool((tables == ABSORBED).any()) else None
    classes = order if absorbed is None else order + 1
    return Step("separable", text, tuple(range(len(tables))), order, tables, np.arange(order), classes, absorbed)


def witness_tables(witness: Witness) -> Int[np.ndarray, "term p"]:
    """The places g of a witness, ABSORBED where they are ∞."""
    return filled([np.array([ABSORBED if element is None else element for element in g]) for g in witness.g])


def one_variable_parts(tree: Tree, modulus: int) -> list[Table] | None:
    """Tables g_v with f = Σ_v g_v(n_v), for a function that is such a sum however it is spelled; else None.

    f is one iff f(x) = Σ_v f(0, …, x_v, …, 0) - (V - 1)·f(0). The first table carries the constant. Modulo a prime
    the reduced polynomial shows it; only composite moduli are asked here.
    """
    axes = len(variables(tree))
    if is_prime(modulus) or modulus**axes > LARGEST_LINES:
        return None
    table = value_table(tree, modulus)
    corner = table[(0,) * axes]
    lines = [table[tuple(slice(None) if k == axis else 0 for k in range(axes))] - corner for axis in range(axes)]
    lines[0] = lines[0] + corner
    total = sum(line.reshape([-1 if k == axis else 1 for k in range(axes)]) for axis, line in enumerate(lines))
    return [line % modulus for line in lines] if np.array_equal(table, total % modulus) else None
