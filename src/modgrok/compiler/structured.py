"""Plans for words in finite groups, for expressions over finite fields, and for tables that nothing is known of.

**Words.** A word is a row of factors, each a wire with a table that says which element every symbol stands for. Factors
side by side on one wire are one factor; then two neighbours at a time meet in an expert, in an order that gives the
fewest: from the left, from the right, or in halves, where a b a b is the square of one wire. Where the same wire stands
on both sides of another, as in a b a⁻¹, one expert may be narrower than two (`codes`). A cyclic group is one of sums.

**Fields.** The sum of two elements of GF(p^k) is a product in the group Z_p^k, and their product a sum of logarithms
modulo q - 1, with zero absorbing, as modulo a prime. Whatever happens to one wire alone is a table and costs no neuron.

**Tables.** A product in a group, whatever its elements are called, is one. Other tables of two variables are looked up
in one expert. Of more, the first two become one, a number for every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from modgrok.algebra import trees
from modgrok.algebra.field import Residues
from modgrok.algebra.fields import Field
from modgrok.algebra.function import Function
from modgrok.algebra.groups import Group, cyclic_logarithms
from modgrok.algebra.representations import Representation, real_irreducibles
from modgrok.algebra.structures import Structure
from modgrok.algebra.trees import Tree, has_condition, to_text
from modgrok.base.errors import InputError
from modgrok.compiler.codes import LARGEST_LOOKUP, CodedStep, GroupProduct, Lookup, Pairing
from modgrok.compiler.planner import Signal, Wires, bracket, recognised
from modgrok.compiler.steps import Plan, Step, Table, filled, sum_step
from modgrok.separable.verdict import Witness

Cut: TypeAlias = Callable[[int], int]
"""Where a row of so many factors is cut in two."""
CUTS: tuple[Cut, ...] = (lambda count: count - 1, lambda count: 1, lambda count: count // 2)
LARGEST_PAIRING = 1 << 14
"""Pairs that one wire may carry."""


class Coded(Wires):
    """The planner of a function whose tables are looked up."""

    def __init__(self, function: Function) -> None:
        super().__init__(function.variables, function.sizes, function.values)

    def relabelling(self, wire: int, table: Table, signal: Signal) -> Step:
        return lookup_step((wire,), table, self.values, signal.text)


def numbered(function: Function) -> dict[int, int]:
    """The wire of every variable by its number: n3 and c have 3."""
    return {"abc".index(name) + 1 if name in "abc" else int(name[1:]): k for k, name in enumerate(function.variables)}


def lookup_step(inputs: tuple[int, ...], answers: Int[np.ndarray, "..."], classes: int, text: str) -> Step:
    tables, own = filled([np.arange(size) for size in answers.shape]), np.arange(classes)
    kind = "relabel" if len(inputs) == 1 else "lookup"
    return CodedStep(kind, text, inputs, classes, tables, own, classes, coded=Lookup(np.asarray(answers)))


# ------------------------------------------------------------------------------------------------------- groups


class Words(Coded):
    """The planner of words in a group; `cut` says in which order factors meet."""

    def __init__(self, function: Function, group: Group, cut: Cut, *, sandwich: bool, waves: bool) -> None:
        super().__init__(function)
        self.group, self.cut, self.sandwich = group, cut, sandwich
        self.logarithms = cyclic_logarithms(group.table) if waves else None
        self.wires = numbered(function)

    def factors(self, tree: Tree) -> list[Signal]:
        """The word of an expression, neighbours on one wire put together."""
        match tree:
            case trees.Variable(index):
                wire = self.wires[index]
                return [Signal(wire, np.arange(self.group.order), self.names[wire])]
            case trees.Product(parts):
                return self.reduced([signal for part in parts for signal in self.factors(part)])
            case trees.Quotient(numerator, denominator):
                return self.reduced([*self.factors(numerator), *self.inverted(self.factors(denominator))])
            case trees.Power(base, exponent):
                inner = self.factors(base)
                if exponent == -1:
                    return self.inverted(inner)
                joint = self.joint(inner)
                table = np.asarray(self.group.power(joint.table, exponent))
                return self.reduced([joint.relabelled(table, f"{bracket(joint.text)}^{exponent}", "")])
            case _:
                raise InputError(f"words in groups are products, inverses and powers, got {to_text(tree)}")

    def inverted(self, signals: Sequence[Signal]) -> list[Signal]:
        return [signal.relabelled(self.group.inverses[signal.table], inverse_text(signal.text), "")
                for signal in reversed(signals)]  # fmt: skip

    def reduced(self, signals: Sequence[Signal]) -> list[Signal]:
        """Without factors that are always the identity; neighbours on one wire are one, constants go to a neighbour."""
        done: list[Signal] = []
        ordered = sorted(signals, key=lambda signal: -1 if signal.wire is None else signal.wire)
        for signal in ordered if self.group.is_abelian else signals:
            while done and (done[-1].wire == signal.wire or None in (done[-1].wire, signal.wire)):
                before = done.pop()
                table = np.asarray(self.group.multiply(before.table, signal.table))
                wire = before.wire if signal.wire is None else signal.wire
                signal = Signal(wire, table, f"{before.text} {signal.text}".strip())
            signal = recognised(signal)
            if signal.wire is not None or signal.table[0] != 0:
                done.append(signal)
        return done

    def joint(self, signals: Sequence[Signal]) -> Signal:
        """One signal for a word, by experts of two factors."""
        signals = self.reduced(signals)
        if not signals:
            return Signal(None, np.zeros(1, dtype=np.int64), "1")
        if len(signals) == 1:
            return signals[0]
        if self.sandwich and len(signals) == 3 and signals[0].wire == signals[2].wire:
            return self.meet(signals[0], signals[1], signals[2])
        at = self.cut(len(signals))
        halves = [self.joint(signals[:at]), self.joint(signals[at:])]
        together = self.reduced(halves)
        return together[0] if len(together) < 2 else self.meet(*together)

    def meet(self, left: Signal, right: Signal, after: Signal | None = None) -> Signal:
        """The product of two wires, or of three factors of which the first and the last are on one wire."""
        text = " ".join(signal.text for signal in (left, right, after) if signal is not None)
        wires, order = (int(left.wire or 0), int(right.wire or 0)), self.group.order
        if self.logarithms is not None:
            step = sum_step(wires, [self.logarithms[left.table], self.logarithms[right.table]], order, text)
            return self.share(replace(step, outputs=np.argsort(self.logarithms)))
        coded = GroupProduct(self.group.representations, None if after is None else after.table)
        tables = np.stack([left.table, right.table])
        return self.share(CodedStep("group", text, wires, order, tables, np.arange(order), order, coded=coded))


def inverse_text(text: str) -> str:
    return text[:-3] if text.endswith("^-1") else f"{bracket(text)}^-1"


def word_plans(function: Function, group: Group, tree: Tree, codes: bool) -> Iterator[Plan]:
    """Every order in which factors may meet; sums in cyclic groups by waves, and with `codes` by these as well."""
    for cut, sandwich, waves in product(CUTS, (False, True), (True, False) if codes else (True,)):
        planner = Words(function, group, cut, sandwich=sandwich, waves=waves)
        result = planner.joint(planner.factors(tree))
        for fold in (True, False):
            yield planner.plan(result, fold=fold)


def product_plans(function: Function, witness: Witness) -> Iterator[Plan]:
    """h(g1 · g2) in a group that the decision has found behind a table; h in the readout, or looked up."""
    planner, order = Coded(function), witness.group_order
    tables = np.zeros((2, max(function.sizes)), dtype=np.int64)
    for row, places in zip(tables, witness.g, strict=True):
        row[: len(places)] = [place or 0 for place in places]  # none of them is missing
    coded = GroupProduct(real_irreducibles(np.array(witness.products)))
    first, second = function.variables
    text = f"g1({first}) g2({second})"
    signal = planner.share(CodedStep("group", text, (0, 1), order, tables, np.arange(order), order, coded=coded))
    for fold in (True, False):
        yield planner.plan(replace(signal, table=np.array(witness.h), text=f"h({text})"), fold=fold)


# ------------------------------------------------------------------------------------------------------- fields


class Polynomials(Coded):
    """The planner of expressions over a finite field."""

    def __init__(self, function: Function, field: Field) -> None:
        super().__init__(function)
        self.field, self.everything = field, np.arange(field.order)
        self.wires = numbered(function)

    def signal(self, tree: Tree) -> Signal:
        match tree:
            case trees.Integer(value):
                return self.constant(self.field.constant(value), str(value))
            case trees.Generator():
                return self.constant(self.field.generator(), "t")
            case trees.Variable(index):
                wire = self.wires[index]
                return Signal(wire, self.everything, self.names[wire])
            case trees.Negation(operand):
                inner = self.signal(operand)
                return inner.relabelled(np.asarray(self.field.negate(inner.table)), to_text(tree), "")
            case trees.Power(base, exponent):
                inner = self.signal(base)
                table = inner.table if exponent >= 0 else self.inverse(inner.table)
                return inner.relabelled(np.asarray(self.field.power(table, abs(exponent))), to_text(tree), "")
            case trees.Quotient(numerator, denominator):
                return self.signal(trees.Product((numerator, trees.Power(denominator, -1))))
            case trees.Sum(terms):
                return self.combined(
                    [self.signal(term) for term in terms], self.field.add, 0, self.added, to_text(tree)
                )
            case trees.Product(factors):
                signals = [self.signal(factor) for factor in factors]
                return self.combined(signals, self.field.multiply, 1, self.multiplied, to_text(tree))
            case _:
                raise InputError(f"expressions over fields are made of + - * / and powers, got {to_text(tree)}")

    def constant(self, element: int, text: str) -> Signal:
        return Signal(None, np.array([element]), text)

    def inverse(self, table: Table) -> Table:
        """0 stands for the inverse of 0, which does not exist: those cells are unknown."""
        return np.where(table == 0, 0, np.asarray(self.field.inverse(np.maximum(table, 1))))

    def combined(
        self,
        signals: Sequence[Signal],
        operation: Callable[[Residues, Residues], Residues],
        neutral: int,
        meet: Callable[[Signal, Signal], Signal],
        text: str,
    ) -> Signal:
        """Signals on one wire are one; the rest meet two at a time; a constant changes a table at the end."""
        merged: dict[int | None, Signal] = {None: self.constant(neutral, "")}
        for signal in map(recognised, signals):
            before = merged.get(signal.wire)
            table = signal.table if before is None else np.asarray(operation(before.table, signal.table))
            merged[signal.wire] = replace(signal, table=table)
        fixed, *others = map(recognised, merged.values())
        if neutral == 1 and fixed.table[0] == 0:
            return fixed
        varying = sorted((signal for signal in others if signal.wire is not None), key=lambda signal: signal.wire or 0)
        for signal in others:
            if signal.wire is None:
                fixed = self.constant(int(operation(fixed.table[0], signal.table[0])), "")
        if not varying:
            return fixed
        joint = reduce(meet, varying)
        return replace(joint, table=np.asarray(operation(joint.table, fixed.table)), text=text)

    def added(self, left: Signal, right: Signal) -> Signal:
        text = f"{left.text} + {right.text}".replace("+ -", "- ")
        wires, order = (int(left.wire or 0), int(right.wire or 0)), self.field.order
        tables = [left.table, right.table]
        if self.field.degree == 1:
            return self.share(sum_step(wires, tables, order, text))
        coded = GroupProduct(additive_representations(self.field))
        return self.share(CodedStep("group", text, wires, order, np.stack(tables), self.everything, order, coded=coded))

    def multiplied(self, left: Signal, right: Signal) -> Signal:
        """Logarithms add modulo q - 1, and zero absorbs."""
        text = f"{bracket(left.text)} {bracket(right.text)}"
        wires, order = (int(left.wire or 0), int(right.wire or 0)), self.field.order
        logarithms = np.stack([self.field.logarithms[signal.table] for signal in (left, right)])
        exponentials = np.asarray(self.field.exponentials)
        return self.share(Step("product", text, wires, order - 1, logarithms, exponentials, order, 0, rule="product"))


@lru_cache(maxsize=32)
def additive_representations(field: Field) -> tuple[Representation, ...]:
    elements = np.arange(field.order)
    return real_irreducibles(np.asarray(field.add(elements[:, None], elements)))


# ------------------------------------------------------------------------------------------------------- tables


def can_be_looked_up(function: Function) -> bool:
    return function.cells <= LARGEST_LOOKUP and prod(function.sizes[:-1]) <= LARGEST_PAIRING


def lookup_plans(function: Function) -> Iterator[Plan]:
    """The whole table in one expert, after the first variables have become one; nothing if that is too large."""
    if not can_be_looked_up(function):
        return
    planner = Coded(function)
    wire, size = 0, function.sizes[0]
    for k, other in enumerate(function.sizes[1:-1], start=1):
        tables = filled([np.arange(size), np.arange(other)])
        pairs, text = size * other, f"({', '.join(function.variables[: k + 1])})"
        pairing = CodedStep(
            "pairs", text, (wire, k), pairs, tables, np.arange(pairs), pairs, coded=Pairing((size, other))
        )
        wire, size = int(planner.share(pairing).wire or 0), pairs
    answers = np.maximum(function.table, 0).reshape(size, -1) if len(function.sizes) > 1 else function.table
    inputs = (wire, len(function.sizes) - 1) if len(function.sizes) > 1 else (0,)
    name = f"f({', '.join(function.variables)})"
    steps = [*planner.steps, lookup_step(inputs, np.maximum(answers, 0), function.values, name)]
    yield Plan(function.variables, function.sizes, tuple(steps))


def structured_plans(function: Function, *, codes: bool = True) -> Iterator[Plan]:
    """All ways to compute a function that is written over a group or a field, or known by its table."""
    structure: Structure = function.structure
    if is_structured(function) and function.written is not None:
        if isinstance(structure, Group):
            yield from word_plans(function, structure, function.written, codes)
        elif isinstance(structure, Field):
            planner = Polynomials(function, structure)
            result = planner.signal(function.written)
            yield from (planner.plan(result, fold=fold) for fold in (True, False))
    yield from lookup_plans(function)


def is_structured(function: Function) -> bool:
    """Whether it is a word in a group, or made of + - * / and powers in a field; with a condition it is a table."""
    here = isinstance(function.structure, Group | Field)
    return here and function.written is not None and not has_condition(function.written)
