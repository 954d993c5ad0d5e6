"""The kernel's own reading of an expression: a second, plain parser, its value by Python's integers, its monomials.

Nothing here is shared with `algebra`: a fault there shows as a disagreement, and then nothing is proved. Polynomials
are evaluated on arrays of Python integers (NumPy's dtype object), which never overflow.

    expression = signs product { sign … product } [ "mod" number ]      a tree is a tuple that begins with its kind:
    product    = power { [ "*" signs ] power }                          ("number", k), ("variable", k), ("sum", …),
    power      = atom [ "^" number ]                                    ("product", …), ("power", base, exponent)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from modgrok.proofs.proof import NoProof, TooMuchWork

Tree = tuple[Any, ...]
Polynomial = dict[tuple[tuple[int, int], ...], int]
"""Coefficients by monomials, each the sorted pairs (variable, exponent above 0)."""

LONGEST_TEXT, DEEPEST = 4000, 60
MOST_TERMS = 20_000
SPELLINGS = {"**": "^", "·": "*", "×": "*", "−": "-", "\\cdot": "*", "\\times": "*", "\\left(": "(", "\\right)": ")",
             "\\bmod": "mod", "\\mod": "mod", "bmod": "mod", "x": "n1", "y": "n2", "z": "n3",
             "a": "n1", "b": "n2", "c": "n3", "÷": "/", "==": "=", "≤": "<=", "≥": ">=", "≠": "!="}  # fmt: skip
TOKEN = re.compile(
    r"(?P<gap>(?:\s|\\[,;:! ]|\\quad)+)|(?P<number>[0-9]+)|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|n_?(?P<name>[0-9]+|\{[0-9]+\}|[₀-₉]+)|(?P<word>\\bmod|\\mod|bmod|mod|if|is|else|odd|even)(?![A-Za-z])"
    r"|(?P<sign>\*\*|\\left\(|\\right\)|\\cdot|\\times|[<>=!]=|[-+*/^(){}·×÷−<>=≤≥≠abctxyz])"
)
DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "01234567890123456789", "{}")


def tokens_of(text: str) -> list[str]:
    """Numbers, names n1 … n99, and one spelling of every sign; a raised number is ^ and the number."""
    found, at = [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise NoProof(f"the kernel cannot read {text[at]!r} in the expression")
        at, kind, part = token.end(), token.lastgroup, token[0]
        if kind == "raised":
            found += ["^", *part[: part[0] == "⁻"].replace("⁻", "-"), str(int(part.strip("⁻").translate(DIGITS)))]
        elif kind == "name":
            found.append(f"n{int(token['name'].translate(DIGITS))}")
        elif kind != "gap":
            found.append(SPELLINGS.get(part, part))
    return found


class Reader:
    def __init__(self, text: str) -> None:
        self.tokens, self.at, self.depth = [*tokens_of(text), ""], 0, 0

    @property
    def next(self) -> str:
        return self.tokens[self.at]

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, *allowed: str) -> str:
        if self.next not in allowed:
            raise NoProof(f"the kernel expects {' or '.join(allowed)} in the expression, not {self.next!r}")
        return self.take()

    def number(self) -> int:
        if not self.next.isdigit():
            raise NoProof(f"the kernel expects a number in the expression, not {self.next!r}")
        return int(self.take())

    def sign(self) -> int:
        sign = 1
        while self.next in ("+", "-"):
            sign = -sign if self.take() == "-" else sign
        return sign

    def value(self) -> Tree:
        return self.sum()

    def exponent(self) -> int:
        return self.number()

    def sum(self) -> Tree:
        terms = [self.product(self.sign())]
        while self.next in ("+", "-"):
            terms.append(self.product(self.sign()))
        return ("sum", *terms)

    def product(self, sign: int) -> Tree:
        factors = [self.power()]
        while self.next == "*" or self.next == "(" or self.next.startswith("n"):
            if self.next == "*":
                self.take()
                sign *= self.sign()
            factors.append(self.power())
        return ("product", ("number", sign), *factors)

    def power(self) -> Tree:
        base = self.atom()
        if self.next != "^":
            return base
        self.take()
        closing = {"(": ")", "{": "}"}.get(self.next)
        if closing:
            self.take()
        exponent = self.exponent()
        if closing:
            self.expect(closing)
        if self.next == "^":
            raise NoProof("the kernel reads one exponent at a time")
        return ("power", base, exponent)

    def atom(self) -> Tree:
        if self.next == "(":
            self.take()
            self.depth += 1
            if self.depth > DEEPEST:
                raise NoProof(f"the kernel reads {DEEPEST} levels of parentheses")
            inner = self.value()
            self.expect(")")
            self.depth -= 1
            return inner
        if self.next.startswith("n"):
            return ("variable", int(self.take()[1:]))
        return ("number", self.number())


def read_expression(text: str, modulus: int) -> Tree:
    """The tree of a text; a modulus that it names must be the one that is meant."""
    if len(text) > LONGEST_TEXT:
        raise NoProof(f"the kernel reads expressions of {LONGEST_TEXT} characters")
    reader = Reader(text)
    tree = reader.sum()
    if reader.next == "mod":
        reader.take()
        braced = reader.next == "{" and reader.take()
        if reader.number() != modulus:
            raise NoProof(f"the expression names another modulus than {modulus}")
        if braced:
            reader.expect("}")
    reader.expect("")
    return tree


def variables_of(tree: Tree) -> tuple[int, ...]:
    """The variables that occur, in rising order; n1 for a constant, as networks have one input at least."""
    found, todo = set(), [tree]
    while todo:
        node = todo.pop()
        found |= {node[1]} if node[0] == "variable" else set()
        todo += [part for part in node[1:] if isinstance(part, tuple)]
    return tuple(sorted(found)) or (1,)


def operations(tree: Tree) -> int:
    """How many operations an evaluation takes."""
    return 1 + sum(operations(part) for part in tree[1:] if isinstance(part, tuple))


POWER = np.frompyfunc(pow, 3, 1)


def value(tree: Tree, values: Mapping[int, Any], modulus: int) -> Any:
    """The tree modulo `modulus` at Python integers, or at arrays of them that broadcast together."""
    kind, *parts = tree
    if kind == "number":
        return parts[0] % modulus
    if kind == "variable":
        return values[parts[0]] % modulus
    if kind == "power":
        return raised(value(parts[0], values, modulus), parts[1], modulus)
    found = value(parts[0], values, modulus)
    for part in parts[1:]:
        other = value(part, values, modulus)
        found = (found + other if kind == "sum" else found * other) % modulus
    return found


def raised(base: Any, exponent: int, modulus: int) -> Any:
    """Residues to a power; an exponent may have thousands of digits, so none is raised twice where there are many."""
    if np.size(base) <= modulus:
        return POWER(base, exponent, modulus)
    found = np.array([pow(residue, exponent, modulus) for residue in range(modulus)], dtype=object)
    return found[base.astype(np.int64)]


def values_of_rows(tree: Tree, modulus: int, sizes: Sequence[int], begin: int, end: int) -> np.ndarray:
    """Right answers of the rows begin … end - 1 of the table, whose last variable changes first."""
    rows = np.unravel_index(np.arange(begin, end), sizes)
    named = {name: column.astype(object) for name, column in zip(variables_of(tree), rows, strict=True)}
    return np.broadcast_to(np.asarray(value(tree, named, modulus)), end - begin).astype(np.int64)


def value_table(tree: Tree, modulus: int, axes: Sequence[int]) -> np.ndarray:
    """The whole table with an axis of `modulus` values for each of these variables."""
    indices = np.indices((modulus,) * len(axes), dtype=object, sparse=True)
    found = np.asarray(value(tree, dict(zip(axes, indices, strict=True)), modulus))
    return np.broadcast_to(found, (modulus,) * len(axes)).astype(np.int64)


# --------------------------------------------------------------------------------------------- monomials


@lru_cache(maxsize=64)
def is_prime(m: int) -> bool:
    return m > 1 and all(m % d for d in range(2, int(m**0.5) + 2) if d < m)


def plus(a: Polynomial, b: Polynomial, m: int) -> Polynomial:
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, 0) + coefficient
    return {monomial: c % m for monomial, c in total.items() if c % m}


def times(a: Polynomial, b: Polynomial, m: int, prime: bool) -> Polynomial:
    """The product; modulo a prime x^p is x as a function, so exponents from 1 on count modulo p - 1."""
    if len(a) * len(b) > 64 * MOST_TERMS:
        raise TooMuchWork("its monomials are too many to compare")
    total: Polynomial = {}
    for left, c in a.items():
        for right, d in b.items():
            powers = dict(left)
            for variable, exponent in right:
                powers[variable] = powers.get(variable, 0) + exponent
            if prime:
                powers = {variable: (e - 1) % (m - 1) + 1 for variable, e in powers.items()}
            monomial = tuple(sorted(powers.items()))
            total[monomial] = (total.get(monomial, 0) + c * d) % m
    if len(total) > MOST_TERMS:
        raise TooMuchWork(f"it has more than {MOST_TERMS} monomials, too many to compare")
    return {monomial: c for monomial, c in total.items() if c}


def expanded(tree: Tree, inner: Mapping[int, Polynomial], m: int) -> Polynomial:
    """The tree as a sum of monomials modulo m, with a polynomial in place of each variable.

    Two polynomials with the same monomials have the same values, at all integers: that is all that is used of it.
    """
    prime = is_prime(m)
    kind, *parts = tree
    if kind == "number":
        return plus({(): parts[0]}, {}, m)
    if kind == "variable":
        return plus(inner[parts[0]], {}, m)
    if kind == "power":
        base, exponent, found = expanded(parts[0], inner, m), parts[1], plus({(): 1}, {}, m)
        if len(base) == 1 and not prime:
            ((monomial, c),) = base.items()
            return plus({tuple((v, e * exponent) for v, e in monomial if exponent): pow(c, exponent, m)}, {}, m)
        while exponent:
            if exponent & 1:
                found = times(found, base, m, prime)
            exponent >>= 1
            base = times(base, base, m, prime) if exponent else base
        return found
    found = expanded(parts[0], inner, m)
    for part in parts[1:]:
        other = expanded(part, inner, m)
        found = plus(found, other, m) if kind == "sum" else times(found, other, m, prime)
    return found
