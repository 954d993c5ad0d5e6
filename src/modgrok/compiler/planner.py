"""From an expression to the experts that compute it: a plan that can be printed before any weight exists.

Every step of a plan computes h(g_1(x_1) + … + g_S(x_S)) over a cyclic group Z_n, with an absorbing element where
needed. A sum modulo m has n = m. For a product of two values there are three ways:

  * **logarithms**, modulo a prime p: logarithms of non-zero residues add modulo n = p - 1, and zero absorbs. One step.
  * **quarter squares**, modulo any m: for integers ab = ⌊(a + b)²/4⌋ - ⌊(a - b)²/4⌋, as a + b and a - b have the same
    parity. Modulo m the two squares must be known modulo 4m up to that parity, for which a ± b modulo 2m is enough:
    ⌊(s + 2m)²/4⌋ = ⌊s²/4⌋ + ms + m². If m is odd, 4 has an inverse, ab = (a + b)²/4 - (a - b)²/4 modulo m, and a ± b
    modulo m is enough. So two sums put a ± b on wires of 2m or m symbols, and a third subtracts their quarter squares,
    which are tables. Three steps.
  * **remainders**, for m = m1·m2 with coprime m1 and m2: the products modulo m1 and modulo m2, each by any of these
    ways, joined by one sum modulo m: x = e1·x1 + e2·x2, where e1 is 1 modulo m1 and 0 modulo m2, and e2 vice versa.

Remainders serve any function, not only products: it may be computed modulo m1 and modulo m2 from the start.

While a plan is made, a value is a `Signal`: a wire and a table that relabels it. Whatever happens to one wire
alone (coefficients, constants, powers, whole one-variable functions) only changes the table and costs no
neuron; an expert is needed only where two wires meet. Equal steps are made once and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import gcd

import numpy as np

from modgrok.algebra import trees
from modgrok.algebra.field import factorise, factors_text, inverse, is_prime, powers
from modgrok.algebra.polynomial import evaluate
from modgrok.algebra.trees import Tree, no_polynomial, occurring, to_text, variable_names, variables
from modgrok.base.errors import InputError
from modgrok.compiler.steps import Plan, Step, Table, needed, product_step, sum_step

Meet = Callable[[tuple["Signal", ...]], "Signal"]


@dataclass(frozen=True, eq=False)
class Signal:
    """table[symbol on the wire]; a wire of None is a constant, table[0].

    `form` says the table as a polynomial in the symbol, which it calls n1; empty where nobody has said it.
    """

    wire: int | None
    table: Table
    text: str
    form: str = ""

    def relabelled(self, table: Table, text: str, form: str) -> Signal:
        return replace(self, table=table, text=text, form=form if self.form else "")


class Wires:
    """Steps as they are made, equal ones once; `values` is how many values the function has."""

    def __init__(self, names: Sequence[str], sizes: Sequence[int], values: int) -> None:
        self.names, self.sizes, self.values = tuple(names), tuple(sizes), values
        self.alphabets = list(sizes)
        self.steps: list[Step] = []
        self.made: dict[tuple[object, ...], Signal] = {}

    def share(self, step: Step, own: str = "") -> Signal:
        """The wire of a step, which is made if there is none like it; `own` is what its text tells besides."""
        after = getattr(getattr(step, "coded", None), "after", None)
        key = (step.kind, step.order, step.inputs, step.tables.tobytes(), None if after is None else after.tobytes())
        if key not in self.made:
            self.steps.append(replace(step, text=step.text + own))
            self.alphabets.append(step.classes)
            self.made[key] = Signal(len(self.alphabets) - 1, np.arange(step.classes), step.text)
        return self.made[key]

    def plan(self, result: Signal, *, fold: bool = True) -> Plan:
        """The plan whose last expert puts out `result`.

        Its table becomes the readout of the last step (`fold`), or a one-input expert of its own.
        """
        steps, last = list(self.steps), len(self.alphabets) - 1
        identical = np.array_equal(result.table, np.arange(self.values))
        if result.wire == last >= len(self.names) and (fold or identical):
            steps[-1] = self.folded(steps[-1], result)
        else:
            wire = 0 if result.wire is None else result.wire
            steps.append(self.relabelling(wire, np.broadcast_to(result.table, self.alphabets[wire]), result))
        return Plan(self.names, self.sizes, needed(steps, len(self.names)))

    def folded(self, step: Step, result: Signal) -> Step:
        """The step with the table of a signal in its readout."""
        absorbed = None if step.absorbed is None else int(result.table[step.absorbed])
        return replace(step, outputs=result.table[step.outputs], absorbed=absorbed, text=result.text)

    def relabelling(self, wire: int, table: Table, signal: Signal) -> Step:
        """A one-variable function as an expert."""
        raise NotImplementedError


class Planner(Wires):
    """Turns an expression tree into steps, sharing those that are equal.

    `flat` puts all terms of a sum, and all factors of a product modulo a prime, into one expert as the paper does;
    otherwise they are combined two at a time, which costs width linear in their number where a flat sum is exponential.
    `split` computes products by remainders, modulo the powers of primes that divide the modulus. `lean` computes what
    stands behind a coefficient modulo as little as that asks for; otherwise modulo m, which may be shared more often.
    """

    def __init__(self, tree: Tree, modulus: int, *, flat: bool, split: bool = False, lean: bool = True) -> None:
        names = variable_names(tree)
        super().__init__(names, [modulus] * len(names), modulus)
        self.modulus, self.flat, self.split, self.lean = modulus, flat, split, lean
        self.wires = {index: wire for wire, index in enumerate(variables(tree))}

    def share(self, step: Step, own: str = "") -> Signal:
        """The text of a step tells a modulus of its own."""
        own = own if step.classes == self.modulus else f" mod {step.classes}"
        return replace(super().share(step, own), form="n1")

    def folded(self, step: Step, result: Signal) -> Step:
        forms = step.forms if result.form else ()
        return replace(super().folded(step, result), classes=self.modulus, forms=forms, result=result.form)

    def relabelling(self, wire: int, table: Table, signal: Signal) -> Step:
        """The sum of one term."""
        return sum_step((wire,), [table], self.modulus, signal.text, kind="relabel", forms=forms_of([signal]))

    def signal(self, tree: Tree, m: int) -> Signal:
        """The value of an expression modulo m, a divisor of the modulus."""
        match tree:
            case trees.Integer(value):
                return constant(value, m)
            case trees.Variable(index):
                return Signal(self.wires[index], np.arange(self.modulus) % m, f"n{index}", "n1")
            case trees.Negation(operand):
                inner = self.signal(operand, m)
                return inner.relabelled(-inner.table % m, f"-{bracket(inner.text)}", f"-({inner.form})")
            case trees.Power(base, exponent):
                inner = self.signal(base, m)
                text = f"{bracket(inner.text)}^{exponent}"
                return inner.relabelled(powers(inner.table, exponent, m), text, f"({inner.form})^{exponent}")
            case trees.Sum(terms):
                return self.combine([self.signal(term, m) for term in terms], np.add, m, partial(self.add, m=m))
            case trees.Product(factors):
                return self.product(factors, m)
            case _:
                raise no_polynomial(tree)

    def product(self, factors: Sequence[Tree], m: int) -> Signal:
        """A product, of which a coefficient c asks less: c·x modulo m depends on x modulo m / gcd(c, m) alone."""
        fixed = [factor for factor in factors if not occurring(factor)]
        c = int(evaluate(trees.Product(tuple(fixed)), {}, m)) if fixed else 1
        if self.lean and (enough := m // gcd(c, m)) < m:
            varying = tuple(factor for factor in factors if occurring(factor))
            if not varying or enough == 1:
                return constant(0 if varying else c, m)
            inner = self.product(varying, enough)
            text, form = joined([str(c), inner.text], np.multiply), f"{c}*({inner.form})"
            return recognised(inner.relabelled(inner.table * c % m, text, form))
        if self.split and len(parts := prime_powers(m)) > 1:
            return self.join(
                [(self.product(factors, part), part) for part in parts], to_text(trees.Product(tuple(factors)))
            )
        signals = [self.signal(factor, m) for factor in factors]
        return self.combine(signals, np.multiply, m, partial(self.multiply, m=m))

    def combine(
        self, signals: Sequence[Signal], operation: Callable[[Table, Table], Table], m: int, meet: Meet
    ) -> Signal:
        """Merge signals on the same wire in their tables, then let the remaining wires meet in experts."""
        merged: dict[int | None, Signal] = {}
        for signal in signals:
            before = merged.get(signal.wire)
            if before is not None:
                table = operation(before.table, signal.table) % m
                text = joined([before.text, signal.text], operation)
                form = joined_forms(before.form, signal.form, operation) if before.form else ""
                signal = signal.relabelled(table, text, form)
            merged[signal.wire] = signal
        for wire in [wire for wire in merged if wire is not None]:
            if recognised(merged[wire]).wire is None:
                vanished = merged.pop(wire)
                table = operation(merged[None].table, vanished.table) if None in merged else vanished.table
                merged[None] = constant(int(table[0]), m)
        fixed = merged.pop(None, None)
        varying = tuple(merged[wire] for wire in sorted(wire for wire in merged if wire is not None))
        if not varying:
            return fixed if fixed is not None else constant(int(operation is np.multiply), m)
        result = self.tree(varying, meet)
        if fixed is None:
            return result
        table = operation(result.table, fixed.table) % m
        parts = [fixed.text, result.text] if operation is np.multiply else [result.text, fixed.text]
        form = joined_forms(str(int(fixed.table[0])), result.form, operation)
        return recognised(result.relabelled(table, joined(parts, operation), form))

    def tree(self, signals: tuple[Signal, ...], meet: Meet) -> Signal:
        """A balanced tree of two-input experts, or one expert if the plan is flat."""
        if len(signals) == 1:
            return signals[0]
        if self.flat or len(signals) == 2:
            return meet(signals)
        half = (len(signals) + 1) // 2
        return meet((self.tree(signals[:half], meet), self.tree(signals[half:], meet)))

    def add(self, signals: tuple[Signal, ...], *, m: int) -> Signal:
        text = joined([signal.text for signal in signals], np.add)
        return self.share(sum_step(*wires_and_tables(signals), m, text, forms=forms_of(signals)))

    def multiply(self, signals: tuple[Signal, ...], *, m: int) -> Signal:
        """By logarithms modulo a prime, where that is always narrower, and else by quarter squares."""
        if is_prime(m):
            text = joined([signal.text for signal in signals], np.multiply)
            return self.share(product_step(*wires_and_tables(signals), m, text, forms=forms_of(signals)))
        if self.flat:
            raise InputError(
                f"the paper's products of variables need a prime modulus, got {self.modulus} = "
                f"{factors_text(self.modulus)}; method exact takes any"
            )
        return self.by_squares(*signals, m=m)

    def by_squares(self, left: Signal, right: Signal, *, m: int) -> Signal:
        """The product of two signals by quarter squares, as the module's docstring derives it."""
        order = m if m % 2 else 2 * m
        symbols = np.arange(order)
        quarters = (symbols**2 * inverse(4, m) if m % 2 else symbols**2 // 4) % m
        opposite = right.relabelled(-right.table % order, f"-{bracket(right.text)}", f"-({right.form})")
        plus, minus = (self.add((left, other), m=order) for other in (right, opposite))
        text = joined([left.text, right.text], np.multiply)
        halves = plus.relabelled(quarters, text, ""), minus.relabelled(-quarters, text, "")
        forms = forms_of((left, right))
        return self.share(sum_step(*wires_and_tables(halves), m, text, kind="squares", rule="squares", forms=forms))

    def join(self, parts: Sequence[tuple[Signal, int]], text: str) -> Signal:
        """One signal modulo m1·m2·… from signals modulo the coprime m1, m2, …."""
        (joint, m), *others = parts
        for signal, part in others:
            whole = m * part
            ones = part * inverse(part, m), m * inverse(m, part)
            pair = (
                joint.relabelled(joint.table * ones[0] % whole, text, f"{ones[0]}*({joint.form})"),
                signal.relabelled(signal.table * ones[1] % whole, text, f"{ones[1]}*({signal.form})"),
            )

            def meet(signals: tuple[Signal, ...], order: int = whole) -> Signal:
                joining = sum_step(*wires_and_tables(signals), order, text, kind="remainders", forms=forms_of(signals))
                return self.share(joining)

            joint, m = replace(self.combine(pair, np.add, whole, meet), text=text), whole
        return joint


def wires_and_tables(signals: Sequence[Signal]) -> tuple[list[int], list[Table]]:
    return [int(signal.wire or 0) for signal in signals], [signal.table for signal in signals]


def forms_of(signals: Sequence[Signal]) -> tuple[str, ...]:
    """The forms of all signals, or none if one has none."""
    return tuple(signal.form for signal in signals) if all(signal.form for signal in signals) else ()


def joined_forms(first: str, second: str, operation: object) -> str:
    return f"{first} + {second}" if operation is np.add else f"({first})*({second})"


def constant(value: int, m: int) -> Signal:
    return Signal(None, np.array([value % m]), str(value), str(value % m))


def recognised(signal: Signal) -> Signal:
    """A signal whose table is constant is a constant, on no wire."""
    if (signal.table == signal.table[0]).all():
        return Signal(None, signal.table[:1], signal.text, str(int(signal.table[0])))
    return signal


def prime_powers(m: int) -> list[int]:
    """The coprime parts of m that are powers of primes: 60 has 4, 3 and 5."""
    return [prime**exponent for prime, exponent in factorise(m)]


def bracket(text: str) -> str:
    """Parentheses around anything but a single name or number."""
    return text if text.isalnum() else f"({text})"


def joined(texts: Sequence[str], operation: object) -> str:
    if operation is np.add:
        return " + ".join(texts).replace("+ -", "- ")
    return " ".join(f"({text})" if " + " in text or " - " in text or text.startswith("-") else text for text in texts)
