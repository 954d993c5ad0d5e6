"""Finite fields against the library galois (pip install galois): python benchmarks/galois_fields.py OUT.json

Sums, products, quotients and powers of every pair of elements of every field with up to 128 elements; the names of the
elements; then 1,000 random expressions over GF(4) … GF(81), in which every production of the grammar occurs. galois
computes them from the tree that made the text, never from the text.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import galois
import numpy as np
from writing import write_found

from modgrok.algebra.fields import finite_field
from modgrok.algebra.function import table
from modgrok.base.errors import InputError

ORDERS = [q for q in range(2, 129) if len(galois.factors(q)[0]) == 1]
EXPRESSIONS = 1000
OVER = (4, 8, 9, 16, 25, 27, 32, 49, 64, 81)
PRODUCTIONS = (
    *("integer", "variable", "generator", "sum", "difference", "negation", "product", "product with a sign"),
    *("power", "negative power", "quotient", "equal", "unequal", "parentheses"),
)

Values = tuple[Any, np.ndarray]
"""Elements of galois on the whole grid, and where they are defined."""


def every_pair(q: int) -> int:
    """How many results differ."""
    ours, theirs = finite_field(q), galois.GF(q)
    left, right = np.meshgrid(np.arange(q), np.arange(q), indexing="ij")
    a, b = theirs(left), theirs(right)
    wrong = (ours.add(left, right) != np.asarray(a + b)).sum() + (ours.multiply(left, right) != np.asarray(a * b)).sum()
    wrong += (ours.negate(left) != np.asarray(-a)).sum()
    wrong += (ours.multiply(left, ours.inverse(right))[:, 1:] != np.asarray(a[:, 1:] / b[:, 1:])).sum()
    for exponent in range(1, q + 2):
        wrong += (ours.power(np.arange(q), exponent) != np.asarray(theirs.elements**exponent)).sum()
    coefficients = theirs.irreducible_poly.coefficients() if ours.degree > 1 else None
    wrong += coefficients is not None and tuple(int(c) for c in coefficients) != ours.modulus
    return int(wrong)


class Expressions:
    """Random expressions as text, with their values by galois."""

    def __init__(self, q: int, rng: np.random.Generator, seen: Counter[str]) -> None:
        self.q, self.rng, self.seen, self.field = q, rng, seen, galois.GF(q)
        self.letters = str(rng.choice(["xy", "ab"]))  # an expression has one of the two alphabets
        grid = np.meshgrid(np.arange(q), np.arange(q), indexing="ij")
        self.variables = [self.field(part) for part in grid]
        self.everywhere = np.ones((q, q), dtype=bool)

    def constant(self, element: int) -> Values:
        return self.field(np.full((self.q, self.q), element)), self.everywhere

    def leaf(self) -> tuple[str, Values]:
        kind = str(self.rng.choice(["integer", "variable", "variable", "generator"]))
        self.seen[kind] += 1
        if kind == "integer":
            number = int(self.rng.integers(0, 20))
            return str(number), self.constant(number % self.field.characteristic)
        if kind == "generator":
            return "t", self.constant(int(self.field.primitive_element))
        v = int(self.rng.integers(2))
        return str(self.rng.choice([f"n{v + 1}", self.letters[v]])), (self.variables[v], self.everywhere)

    def made(self, depth: int) -> tuple[str, Values]:
        """An atom: a leaf, or anything in parentheses."""
        if depth == 0 or self.rng.random() < 0.15:
            return self.leaf()
        self.seen["parentheses"] += 1
        text, values = self.inner(depth)
        return f"({text})", values

    def inner(self, depth: int) -> tuple[str, Values]:
        kind = str(self.rng.choice(PRODUCTIONS[3:-1]))
        self.seen[kind] += 1
        (one, (u, known)), (two, (v, known2)) = self.made(depth - 1), self.made(depth - 1)
        both = known & known2
        if kind == "sum":
            return f"{one} + {two}", (u + v, both)
        if kind == "difference":
            return f"{one} - {two}", (u - v, both)
        if kind == "negation":
            return f"-{one}", (-u, known)
        if kind == "product":
            gap = "*" if two[0].isdigit() else " "
            return f"{one}{gap}{two}", (u * v, both)
        if kind == "product with a sign":
            return f"{one}*-{two}", (-(u * v), both)
        if kind == "power":
            exponent = int(self.rng.integers(0, 2 * self.q))
            return f"{one}^{exponent}", (u**exponent if exponent else self.constant(1)[0], known)
        if kind == "negative power":
            exponent, nonzero = int(self.rng.integers(1, self.q)), np.asarray(u) != 0
            return f"{one}^-{exponent}", (self.safe(u, nonzero) ** -exponent, known & nonzero)
        if kind == "quotient":
            nonzero = np.asarray(v) != 0
            return f"{one}/{two}", (u / self.safe(v, nonzero), both & nonzero)
        three, (w, known3) = self.made(depth - 1)
        equal = (np.asarray(u) == np.asarray(v)) == (kind == "equal")
        chosen = self.field(np.where(equal, np.asarray(w), np.asarray(u)))
        sign = "=" if kind == "equal" else "!="
        return f"{three} if {one} {sign} {two} else {one}", (chosen, both & np.where(equal, known3, known))

    def safe(self, values: Any, defined: np.ndarray) -> Any:
        return self.field(np.where(defined, np.asarray(values), 1))


def random_expressions() -> tuple[int, Counter[str], list[str]]:
    rng, seen, wrong, done = np.random.default_rng(0), Counter[str](), [], 0
    while done < EXPRESSIONS:
        q = OVER[done % len(OVER)]
        text, (values, known) = Expressions(q, rng, seen).inner(3)
        if not known.any() or len(text) > 400:
            continue
        expected = np.where(known, np.asarray(values).astype(int), -1)
        try:
            found = table(f"({text}) + 0 n1 n2", field=q)
        except InputError as error:
            wrong.append(f"{text} in GF({q}): {error}")
        else:
            if found.shape != expected.shape or (found != expected).any():
                wrong.append(f"{text} in GF({q})")
        done += 1
    missing = [kind for kind in PRODUCTIONS if not seen[kind]]
    assert not missing, f"no expression has {missing}"
    return done, seen, wrong


def main() -> None:
    fields = {q: every_pair(q) for q in ORDERS}
    done, seen, wrong = random_expressions()
    print(
        f"{len(fields)} fields, {sum(fields.values())} of their results differ; {done} expressions, {len(wrong)} wrong"
    )
    print(dict(seen), *wrong, sep="\n")
    found = {"fields": {str(q): count for q, count in fields.items()}, "expressions": done, "productions": dict(seen)}
    write_found(__file__, Path(sys.argv[1]), found | {"galois": galois.__version__, "wrong": wrong})


if __name__ == "__main__":
    main()
