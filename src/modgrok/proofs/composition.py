"""That experts together compute the typed expression, where there are too many rows to count them out.

By then every expert is proved to answer h(g_1(x_1) + … + g_S(x_S)) on all symbols of its wires. A claim says which
polynomial that is, in the symbols that it reads, by one of three rules; each is checked on every symbol of every
wire alone:

  sum      result(Σ_s form_s(x_s)) modulo the group's order n
  product  result(Π_s form_s(x_s)), for a generator γ with γ^n = 1 modulo the classes: places are its logarithms,
           and 0 is absorbed
  squares  result(⌊x_1²/4⌋ - ⌊x_2²/4⌋), where experts put A(u) + B(v) and A(u) - B(v) modulo 2n onto the wires: that is
           result(A·B) modulo n, and forms say what A and B are. For an odd n, modulo n and with 4 inverted, alike

A wire of c symbols carries a polynomial in the variables modulo c. What an expert makes of it must not depend on
which number stands for its class: form(x + c·y) and form(x) must be one polynomial modulo n, which is checked as
such. So polynomials are put into polynomials from the variables on, and the last one is compared with the typed
one, monomial by monomial.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from modgrok.proofs.expressions import (
    Polynomial,
    Tree,
    expanded,
    is_prime,
    plus,
    read_expression,
    times,
    value,
    variables_of,
)
from modgrok.proofs.proof import NoProof
from modgrok.proofs.waves import ABSORBED, Claim

SYMBOL: Polynomial = {((1, 1),): 1}
LARGEST_FORM = 1 << 21
"""Symbols of a wire on which a form is evaluated."""


class Composition:
    """The polynomials that wires carry, each computed when it is asked for."""

    def __init__(
        self, tree: Tree, modulus: int, claims: Sequence[Claim], wires: Sequence[Sequence[int]], classes: Sequence[int]
    ) -> None:
        self.variables = variables_of(tree)
        self.claims, self.wires, self.symbols = claims, wires, (*([modulus] * len(self.variables)), *classes)
        self.known: dict[int, Polynomial] = {wire: {((name, 1),): 1} for wire, name in enumerate(self.variables)}

    def claim(self, wire: int) -> Claim:
        if wire < len(self.variables):
            raise NoProof("an expert of squares reads a variable")
        return self.claims[wire - len(self.variables)]

    def inputs(self, wire: int) -> Sequence[int]:
        return self.wires[wire - len(self.variables)]

    def carried(self, wire: int) -> Polynomial:
        if wire not in self.known:
            claim, inputs, symbols = self.claim(wire), self.inputs(wire), self.symbols[wire]
            if claim.rule not in RULES or len(claim.forms) != len(inputs):
                raise NoProof("an expert has no claim about its polynomial")
            inner, modulus = RULES[claim.rule](self, claim, inputs, symbols)
            result = read_form(claim.result, symbols)
            well_defined(result, modulus, symbols)
            self.known[wire] = expanded(result, {1: inner}, symbols)
        return self.known[wire]

    def term(self, wire: int, table: np.ndarray, text: str, modulus: int) -> Polynomial:
        """form(what the wire carries) modulo `modulus`, if the table of the wire's symbols is that form."""
        form, count = read_form(text, modulus), self.symbols[wire]
        same(table[:count], form, modulus)
        well_defined(form, count, modulus)
        return expanded(form, {1: self.carried(wire)}, modulus)


def check_composition(
    tree: Tree, modulus: int, claims: Sequence[Claim], wires: Sequence[Sequence[int]], classes: Sequence[int]
) -> None:
    """Nothing, if the claims of all experts compose to the typed polynomial; `NoProof` otherwise."""
    composition = Composition(tree, modulus, claims, wires, classes)
    found = composition.carried(len(composition.symbols) - 1)
    typed = expanded(tree, {name: {((name, 1),): 1} for name in composition.variables}, modulus)
    if classes[-1] != modulus or found != typed:
        raise NoProof("the experts were not shown to compose to the typed expression")


def summed(known: Composition, claim: Claim, wires: Sequence[int], symbols: int) -> tuple[Polynomial, int]:
    n = claim.order
    total: Polynomial = {}
    for s, wire in enumerate(wires):
        total = plus(total, known.term(wire, claim.places[s], claim.forms[s], n), n)
    same(claim.outputs, read_form(claim.result, symbols), symbols)
    return total, n


def multiplied(known: Composition, claim: Claim, wires: Sequence[int], symbols: int) -> tuple[Polynomial, int]:
    n, p = claim.order, claim.order + 1
    powers = [1]
    for _ in range(n):
        powers.append(powers[-1] * claim.generator % p)
    if powers[n] != 1:
        raise NoProof("a claimed generator is none")
    exponential = np.array(powers[:n], dtype=object)
    product: Polynomial = {(): 1}
    for s, wire in enumerate(wires):
        factors = np.where(claim.places[s] == ABSORBED, 0, exponential[claim.places[s]])
        product = times(product, known.term(wire, factors, claim.forms[s], p), p, is_prime(p))
    result = read_form(claim.result, symbols)
    same(claim.outputs, result, symbols, exponential)
    if claim.absorbed is not None and value(result, {1: 0}, symbols) != claim.absorbed:
        raise NoProof("an expert answers something else for zero")
    return product, p


def squared(known: Composition, claim: Claim, wires: Sequence[int], symbols: int) -> tuple[Polynomial, int]:
    n, both = claim.order, [known.claim(wire) for wire in wires]
    if len(both) != 2:
        raise NoProof("an expert of squares reads two others")
    (plus_, minus), (double, other) = both, (each.order for each in both)
    sources = [known.inputs(wire) for wire in wires]
    if double != other or double not in ((n, 2 * n) if n % 2 else (2 * n,)) or len(sources[0]) != 2:
        raise NoProof("an expert of squares reads other moduli than twice its own")
    counts = [known.symbols[wire] for wire in sources[0]]
    a, b = (plus_.places[s, :count] for s, count in enumerate(counts))
    x = np.arange(double).astype(object)
    quarters = (x * x * pow(4, -1, n) if double == n else x * x // 4) % n
    right = (
        sources[0] == sources[1]
        and all(known.symbols[wire] == double and (each.outputs == np.arange(double)).all()
                for wire, each in zip(wires, both, strict=True))
        and (minus.places[0, : counts[0]] == a).all()
        and (minus.places[1, : counts[1]] == -b % double).all()
        and (claim.places[0, :double] == quarters).all()
        and (claim.places[1, :double] == -quarters % n).all()
    )  # fmt: skip
    if not right:
        raise NoProof("the tables of an expert are no quarter squares")
    same(claim.outputs, read_form(claim.result, symbols), symbols)
    left, right_ = (known.term(wire, t, form, n) for wire, t, form in zip(sources[0], (a, b), claim.forms, strict=True))
    return times(left, right_, n, is_prime(n)), n


RULES = {"sum": summed, "product": multiplied, "squares": squared}


def read_form(text: str, modulus: int) -> Tree:
    """A polynomial in one symbol, which is called n1."""
    form = read_expression(text, modulus)
    if variables_of(form) != (1,):
        raise NoProof("a form of a claim has other variables than n1")
    return form


def same(table: np.ndarray, form: Tree, modulus: int, symbols: np.ndarray | None = None) -> None:
    """Whether a table holds the values of a form, at 0, 1, 2, … or at the symbols that are given."""
    if len(table) > LARGEST_FORM:
        raise NoProof("a wire has too many symbols to compare")
    at = np.arange(len(table)).astype(object) if symbols is None else symbols
    found = np.broadcast_to(np.asarray(value(form, {1: at}, modulus)), len(table))
    if (found != np.asarray(table).astype(object) % modulus).any():
        raise NoProof("the table of an expert is not what its claim says")


def well_defined(form: Tree, count: int, modulus: int) -> None:
    """Whether form(x + count·y) and form(x) are one polynomial modulo `modulus`."""
    if count % modulus == 0:
        return
    moved = expanded(form, {1: plus(SYMBOL, {((2, 1),): count}, modulus)}, modulus)
    if moved != expanded(form, {1: SYMBOL}, modulus):
        raise NoProof("an expert reads too little of a wire")
