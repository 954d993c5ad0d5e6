"""From an expression to the experts that compute it: a plan that can be printed before any weight exists.

Every step of a plan computes h(g_1(x_1) + … + g_S(x_S)) over a cyclic group Z_m, with an absorbing element
where needed: a sum modulo p has m = p; a product modulo p has m = p - 1, since logarithms of non-zero
residues add modulo p - 1 and zero absorbs.

While a plan is made, a value is a `Signal`: a wire and a table that relabels it. Whatever happens to one wire
alone (coefficients, constants, powers, whole one-variable functions) only changes the table and costs no
neuron; an expert is needed only where two wires meet. Equal steps are made once and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.expression import Integer, Negation, Power, Product, Sum, Tree, Variable, variable_names, variables
from modgrok.algebra.field import exp_table, factors_text, is_prime, log_table, powers
from modgrok.algebra.polynomial import LARGEST_TABLE, reduce, value_table
from modgrok.errors import InputError
from modgrok.networks.description import ExpertPlan
from modgrok.separable import Witness

ABSORBED = -1
"""Stands in a table g_s for the absorbing element (the logarithm of zero)."""

Table = Int[np.ndarray, "p"]


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

    @property
    def classes(self) -> int:
        return self.tables.shape[1]


@dataclass(frozen=True)
class Plan:
    """Steps in the order of their experts; the last one is the output."""

    modulus: int
    names: tuple[str, ...]
    steps: tuple[Step, ...]

    def wire_name(self, wire: int) -> str:
        """The variable's name, or e1, e2, … for what an expert computes."""
        return self.names[wire] if wire < len(self.names) else f"e{wire - len(self.names) + 1}"

    def describe(self, step: Step, width: int) -> ExpertPlan:
        """What an expert of that width computes, for printing and for the network's file."""
        inputs = tuple(self.wire_name(wire) for wire in step.inputs)
        return ExpertPlan(step.kind, step.text, inputs, width, step.order, step.absorbed is not None)


@dataclass(frozen=True, eq=False)
class Signal:
    """table[residue on the wire]; a wire of None is a constant, table[0]."""

    wire: int | None
    table: Table
    text: str

    def relabelled(self, table: Table, text: str) -> Signal:
        return replace(self, table=table, text=text)


class Planner:
    """Turns an expression tree into steps, sharing those that are equal.

    `flat` puts all terms of a sum, and all factors of a product, into one expert as the paper does; otherwise
    they are combined two at a time, which costs width linear in their number where a flat sum is exponential.
    """

    def __init__(self, tree: Tree, modulus: int, *, flat: bool) -> None:
        self.modulus, self.flat = modulus, flat
        self.residues = np.arange(modulus)
        self.names = tuple(variable_names(tree))
        self.wires = {index: wire for wire, index in enumerate(variables(tree))}
        self.steps: list[Step] = []
        self.made: dict[tuple[Any, ...], Signal] = {}

    def plan(self, result: Signal, *, fold: bool = True) -> Plan:
        """The plan whose last expert puts out `result`.

        Its table becomes the readout of the last step (`fold`), or a one-input expert of its own.
        """
        last = len(self.names) + len(self.steps) - 1
        steps = list(self.steps)
        identical = np.array_equal(result.table, self.residues)
        if result.wire == last >= len(self.names) and (fold or identical):
            table, step = result.table, steps[-1]
            absorbed = None if step.absorbed is None else int(table[step.absorbed])
            steps[-1] = replace(step, outputs=table[step.outputs], absorbed=absorbed, text=result.text)
        else:
            steps.append(self.relabelling(result))
        return Plan(self.modulus, self.names, needed(steps, len(self.names)))

    def relabelling(self, signal: Signal) -> Step:
        """A one-variable function as an expert: the sum of one term."""
        wire = 0 if signal.wire is None else signal.wire
        table = np.broadcast_to(signal.table, self.modulus)[None]
        return Step("relabel", signal.text, (wire,), self.modulus, table, self.residues)

    def signal(self, tree: Tree) -> Signal:
        match tree:
            case Integer(value):
                return self.constant(value)
            case Variable(index):
                return Signal(self.wires[index], self.residues, f"n{index}")
            case Negation(operand):
                inner = self.signal(operand)
                return inner.relabelled(-inner.table % self.modulus, f"-{bracket(inner.text)}")
            case Power(base, exponent):
                inner = self.signal(base)
                return inner.relabelled(
                    powers(inner.table, exponent, self.modulus), f"{bracket(inner.text)}^{exponent}"
                )
            case Sum(terms):
                return self.combine([self.signal(term) for term in terms], np.add, 0, self.add)
            case Product(factors):
                return self.combine([self.signal(factor) for factor in factors], np.multiply, 1, self.multiply)

    def constant(self, value: int) -> Signal:
        return Signal(None, np.full(self.modulus, value % self.modulus), str(value))

    def combine(
        self,
        signals: Sequence[Signal],
        operation: Callable[[Table, Table], Table],
        neutral: int,
        meet: Callable[[tuple[Signal, ...]], Signal],
    ) -> Signal:
        """Merge signals on the same wire in their tables, then let the remaining wires meet in experts."""
        merged: dict[int | None, Signal] = {}
        for signal in signals:
            before = merged.get(signal.wire)
            if before is not None:
                table = operation(before.table, signal.table) % self.modulus
                text = joined([before.text, signal.text], operation)
                signal = signal.relabelled(table, text)
            merged[signal.wire] = signal
        for wire in [wire for wire in merged if wire is not None]:
            if self.recognised(merged[wire]).wire is None:
                vanished = merged.pop(wire)
                table = operation(merged[None].table, vanished.table) if None in merged else vanished.table
                merged[None] = self.constant(int(table[0]))
        constant = merged.pop(None, None)
        varying = tuple(merged[wire] for wire in sorted(wire for wire in merged if wire is not None))
        if not varying:
            return constant if constant is not None else self.constant(neutral)
        result = self.tree(varying, meet)
        if constant is None:
            return result
        table = operation(result.table, constant.table) % self.modulus
        parts = [constant.text, result.text] if operation is np.multiply else [result.text, constant.text]
        return self.recognised(result.relabelled(table, joined(parts, operation)))

    def recognised(self, signal: Signal) -> Signal:
        """A signal whose table is constant is a constant, on no wire."""
        constant = bool((signal.table == signal.table[0]).all())
        return replace(signal, wire=None) if constant else signal

    def tree(self, signals: tuple[Signal, ...], meet: Callable[[tuple[Signal, ...]], Signal]) -> Signal:
        """A balanced tree of two-input experts, or one expert if the plan is flat."""
        if len(signals) == 1:
            return signals[0]
        if self.flat or len(signals) == 2:
            return meet(signals)
        half = (len(signals) + 1) // 2
        return meet((self.tree(signals[:half], meet), self.tree(signals[half:], meet)))

    def add(self, signals: tuple[Signal, ...]) -> Signal:
        tables = np.stack([signal.table for signal in signals])
        text = joined([signal.text for signal in signals], np.add)
        return self.share(sum_step([int(signal.wire or 0) for signal in signals], tables, self.modulus, text))

    def multiply(self, signals: tuple[Signal, ...]) -> Signal:
        if not is_prime(self.modulus):
            raise InputError(
                f"products of variables need a prime modulus, got {self.modulus} = {factors_text(self.modulus)}; "
                "sums of one-variable terms work for any modulus"
            )
        tables = np.stack([signal.table for signal in signals])
        text = joined([signal.text for signal in signals], np.multiply)
        return self.share(product_step([int(signal.wire or 0) for signal in signals], tables, self.residues, text))

    def share(self, step: Step) -> Signal:
        key = (step.kind, step.inputs, step.tables.tobytes())
        if key not in self.made:
            self.steps.append(step)
            wire = len(self.names) + len(self.steps) - 1
            self.made[key] = Signal(wire, self.residues, step.text)
        return self.made[key]


def needed(steps: Sequence[Step], variables: int) -> tuple[Step, ...]:
    """The steps that the last one depends on, with their wires numbered anew."""
    used = {len(steps) - 1}
    for k in reversed(range(len(steps))):
        if k in used:
            used |= {wire - variables for wire in steps[k].inputs if wire >= variables}
    kept = sorted(used)
    wire = {variables + k: variables + new for new, k in enumerate(kept)}
    return tuple(replace(steps[k], inputs=tuple(wire.get(w, w) for w in steps[k].inputs)) for k in kept)


def bracket(text: str) -> str:
    """Parentheses around anything but a single name or number."""
    return text if text.isalnum() else f"({text})"


def joined(texts: Sequence[str], operation: Callable[..., Any]) -> str:
    if operation is np.add:
        return " + ".join(texts).replace("+ -", "- ")
    return " ".join(f"({text})" if " + " in text or " - " in text or text.startswith("-") else text for text in texts)


def sum_step(inputs: Sequence[int], tables: Int[np.ndarray, "term p"], modulus: int, text: str) -> Step:
    """Adds one-variable functions modulo any modulus."""
    return Step("sum", text, tuple(inputs), modulus, tables % modulus, np.arange(modulus))


def product_step(inputs: Sequence[int], factors: Int[np.ndarray, "term p"], outputs: Table, text: str) -> Step:
    """outputs[Π_s factors[s, x_s] mod p]: logarithms add modulo p - 1, and a factor zero absorbs."""
    p = factors.shape[1]
    return Step(
        "product", text, tuple(inputs), p - 1, log_table(p)[factors % p], outputs[exp_table(p)], int(outputs[0])
    )


def plan_by_shape(tree: Tree, modulus: int, *, flat: bool = False, fold: bool = True) -> Plan:
    """A plan that follows the expression as typed: a power of a sum is a relabelled sum, not its expansion."""
    planner = Planner(tree, modulus, flat=flat)
    return planner.plan(planner.signal(tree), fold=fold)


def plan_by_terms(tree: Tree, modulus: int, *, flat: bool = True, fold: bool = True) -> Plan:
    """Section 4 of the paper: one product expert per monomial in several variables, one sum expert over them.

    Terms in one variable are relabelled inputs of the sum: they must not pass through a product expert, whose
    zero rule is wrong for exponent 0.
    """
    planner = Planner(tree, modulus, flat=flat)
    try:
        result = planner.signal(reduce(tree, modulus).tree)
    except InputError:
        lines = one_variable_parts(tree, modulus)
        if lines is None:
            raise
        planner = Planner(tree, modulus, flat=flat)
        parts = [
            Signal(wire, line, f"g({name})") for wire, (name, line) in enumerate(zip(planner.names, lines, strict=True))
        ]
        result = planner.combine(parts, np.add, 0, planner.add)
    return planner.plan(result, fold=fold)


def plan_from_witness(tree: Tree, modulus: int, witness: Witness, *, fold: bool = True) -> Plan:
    """One expert for a function that is h(g1 + g2) over some cyclic group, as a witness says.

    Not folded, the expert puts out the element of the group (the last class stands for the absorbing one) and h
    is an expert of its own.
    """
    planner = Planner(tree, modulus, flat=False)
    tables = witness_tables(witness)
    values = [0 if value is None else value for value in (*witness.h, witness.h_absorbing)]
    h = np.pad(np.array(values[:modulus]), (0, max(0, modulus - len(values))))
    absorbs = bool((tables == ABSORBED).any())
    text = f"h(g1({planner.names[0]}) + g2({planner.names[1]})) over Z_{witness.group_order}"
    elements = np.arange(witness.group_order)
    step = Step("separable", text, (0, 1), witness.group_order, tables, elements, modulus - 1 if absorbs else None)
    return planner.plan(planner.share(step).relabelled(h, text), fold=fold)


def witness_tables(witness: Witness) -> Int[np.ndarray, "term p"]:
    """The places g of a witness, ABSORBED where they are ∞."""
    return np.array([[ABSORBED if element is None else element for element in g] for g in witness.g])


def one_variable_parts(tree: Tree, modulus: int) -> list[Table] | None:
    """Tables g_v with f = Σ_v g_v(n_v), for a function that is such a sum however it is spelled; else None.

    f is one iff f(x) = Σ_v f(0, …, x_v, …, 0) - (V - 1)·f(0). The first table carries the constant. This lets
    composite moduli have products that vanish, as 3·n1·n2·(n1 - 1) does modulo 6.
    """
    axes = len(variables(tree))
    if is_prime(modulus) or modulus**axes > LARGEST_TABLE:
        return None
    table = value_table(tree, modulus)
    corner = table[(0,) * axes]
    lines = [table[tuple(slice(None) if k == axis else 0 for k in range(axes))] - corner for axis in range(axes)]
    lines[0] = lines[0] + corner
    total = sum(line.reshape([-1 if k == axis else 1 for k in range(axes)]) for axis, line in enumerate(lines))
    return [line % modulus for line in lines] if np.array_equal(table, total % modulus) else None
