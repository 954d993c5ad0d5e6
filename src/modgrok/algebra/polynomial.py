"""Expressions as functions on the integers modulo p: values, tables, and the reduced polynomial.

Two expressions are the same function iff their value tables agree. Over GF(p) every function has exactly one
reduced polynomial, with all exponents below p, so it is the canonical form; `from_table` recovers it from the
values alone and `expand` from the tree. Which of the two is used is a question of cost, never of result.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product as cartesian

import numpy as np
from jaxtyping import Float, Int

from modgrok.algebra import trees
from modgrok.algebra.field import (
    IntArray,
    Residues,
    check_modulus,
    check_prime,
    exp_table,
    is_prime,
    log_table,
    power_period,
    reduce_exponent,
)
from modgrok.algebra.structures import UNDEFINED, Structure, lifted, structure_of
from modgrok.algebra.trees import Tree, children, is_polynomial, no_polynomial, to_text, variables
from modgrok.base.errors import InputError

LARGEST_TABLE = 1 << 24
"""Most cells a value table may have."""
LARGEST_WORK = 1 << 26
"""Most elementary operations (operators times cells) that filling a value table may take."""
LARGEST_EXPANSION = 50_000
"""Most products of terms that expanding an expression may take."""
LARGEST_INTERPOLATION = 1 << 30
"""Most multiplications that recovering a polynomial from its table may take: p for every cell and variable."""
POWERS_COST = 8
"""What filling one entry of the interpolation matrix takes, in multiplications."""
LARGEST_POLYNOMIAL = 200_000
"""Most terms that a polynomial recovered from its table may have."""

Operate = Callable[..., Residues]
Terms = dict[tuple[int, ...], int]
"""Coefficient of each monomial, which is its tuple of exponents; no coefficient is zero."""


# ---------------------------------------------------------------------------------------- values and tables


def evaluate(tree: Tree, values: Mapping[int, Residues], structure: Structure | int) -> IntArray:
    """The values of an expression in a structure, or modulo a number; `values` maps variables to elements, whose
    arrays are broadcast together. What is undefined, such as 1 / 0, is -1."""
    operate = directly if is_polynomial(tree) else lifted
    return np.asarray(_value(tree, values, structure_of(structure), operate))


def directly(operation: Callable[..., Residues], *elements: Residues) -> Residues:
    return operation(*elements)


def _value(tree: Tree, values: Mapping[int, Residues], structure: Structure, operate: Operate) -> Residues:
    """`operate` applies an operation of the structure: `lifted` where elements may be undefined."""

    def of(part: Tree) -> Residues:
        return _value(part, values, structure, operate)

    match tree:
        case trees.Integer(number):
            return np.asarray(structure.constant(number))
        case trees.Variable(index):
            return values[index]
        case trees.Negation(operand):
            return operate(structure.negate, of(operand))
        case trees.Power(base, exponent):
            raised = of(base)
            if exponent < 0 and operate is lifted:
                raised, exponent = operate(structure.inverse, raised), -exponent
            return operate(lambda defined: structure.power(defined, exponent), raised)
        case trees.Sum(parts) | trees.Product(parts):
            operation = structure.add if isinstance(tree, trees.Sum) else structure.multiply
            return functools.reduce(functools.partial(operate, operation), map(of, parts))
        case trees.Quotient(numerator, denominator):
            inverse = operate(structure.inverse, of(denominator))
            return operate(structure.multiply, of(numerator), inverse)
        case trees.Generator():
            return np.asarray(structure.generator())
        case trees.Conditional():
            return _chosen(tree, of, structure)


RELATIONS: Mapping[str, Callable[[Residues, Residues], Residues]] = {
    **{"=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal},
    **{"odd": lambda left, _: np.mod(left, 2) == 1, "even": lambda left, _: np.mod(left, 2) == 0},
}
"""What elements may be to each other, by their numbers."""


def _chosen(tree: trees.Conditional, of: Callable[[Tree], Residues], structure: Structure) -> Residues:
    """One of two values; residues are compared as the numbers 0 … m - 1."""
    if not structure.is_ordered and tree.relation not in ("=", "!="):
        raise InputError(
            f"elements {structure.words} have no order, got a condition with '{tree.relation}'; use = or !="
        )
    for side in (tree.left, tree.right):
        check_comparable(side, tree.relation, structure)
    left = of(tree.left)
    right = left if tree.right is None else of(tree.right)
    then, otherwise = of(tree.then), of(tree.otherwise)
    chosen = np.where(RELATIONS[tree.relation](left, right), then, otherwise)
    return np.where(np.less(left, 0) | np.less(right, 0), UNDEFINED, chosen)


def check_comparable(side: Tree | None, relation: str, structure: Structure) -> None:
    """An `InputError` for 97 or -1 beside < modulo 97, where they are 0 and 96: nobody who writes them means that."""
    operand = side.operand if isinstance(side, trees.Negation) else side
    if relation not in ("=", "!=") and isinstance(operand, trees.Integer):
        number = operand.value if operand is side else -operand.value
        if not 0 <= number < structure.order:
            raise InputError(
                f"{structure.elements} are compared as numbers, got {number} in a condition with '{relation}', which "
                f"is {number % structure.order} {structure.words}; write a number from 0 to {structure.order - 1}"
            )


def value_table(tree: Tree, structure: Structure | int, over: Sequence[int] | None = None) -> Int[np.ndarray, "p ..."]:
    """The whole table, one axis of all elements per variable in `over` (those that occur, in rising order)."""
    axes, structure = variables(tree) if over is None else tuple(over), structure_of(structure)
    order = check_modulus(structure.order)
    check_table(tree, order, len(axes))
    grid = {
        index: np.arange(order).reshape([-1 if axis == k else 1 for k in range(len(axes))])
        for axis, index in enumerate(axes)
    }
    return np.ascontiguousarray(np.broadcast_to(evaluate(tree, grid, structure), (order,) * len(axes)))


def check_table(tree: Tree, modulus: int, axes: int) -> None:
    """An `InputError` if the table of `tree` would take too much memory or time."""
    cells = modulus**axes
    if cells > LARGEST_TABLE:
        raise InputError(
            f"a table of {modulus}^{axes} values is above the limit of {LARGEST_TABLE:,}; "
            "take fewer elements or variables, or check a sample"
        )
    work = table_work(tree, modulus)
    if work > LARGEST_WORK:
        raise InputError(
            f"filling the table of {cells:,} values takes {work:,} operations, above the limit of {LARGEST_WORK:,}; "
            "shorten the expression or use a smaller modulus"
        )


def table_work(tree: Tree, modulus: int) -> int:
    """Operations that filling the table takes: a subexpression costs only as many cells as it has variables."""
    return _work(tree, modulus)[0]


def _work(tree: Tree, modulus: int) -> tuple[int, frozenset[int]]:
    """Operations for a subexpression and all below it, and the variables that occur in it."""
    below = [_work(child, modulus) for child in children(tree)]
    occurring = frozenset({tree.index} if isinstance(tree, trees.Variable) else ()).union(
        *(found for _, found in below)
    )
    own = modulus ** len(occurring) * max(1, len(below) - 1)
    return own + sum(work for work, _ in below), occurring


# -------------------------------------------------------------------------------------- reduced polynomials


@dataclass(frozen=True)
class Polynomial:
    """A polynomial in `variables` modulo `modulus`: coefficients 1 … p-1 by monomial, highest degree first.

    Equal functions over GF(p) are equal objects as long as they list the same variables.
    """

    modulus: int
    variables: tuple[int, ...]
    terms: tuple[tuple[tuple[int, ...], int], ...]

    @property
    def tree(self) -> Tree:
        return _sum_tree([_monomial_tree(self.variables, *term) for term in self.terms])

    def __str__(self) -> str:
        return to_text(self.tree)


def polynomial(modulus: int, over: Sequence[int], terms: Mapping[tuple[int, ...], int]) -> Polynomial:
    """A `Polynomial` in canonical order from coefficients that may be zero or unreduced."""
    reduced = {monomial: c % modulus for monomial, c in terms.items() if c % modulus}
    ordered = sorted(reduced.items(), key=lambda item: (-sum(item[0]), [-e for e in item[0]]))
    return Polynomial(modulus, tuple(over), tuple(ordered))


def reduce(tree: Tree, modulus: int) -> Polynomial:
    """The reduced polynomial of an expression: expanded if that is short, else recovered from the table.

    For a composite modulus the exponents are reduced as far as they act alike, but the form is not unique.
    """
    try:
        return expand(tree, modulus)
    except ExpansionTooLong:
        if not is_prime(modulus):
            raise InputError(
                f"expanding takes more than {LARGEST_EXPANSION:,} products, which a composite modulus needs; "
                "shorten the expression or use a prime modulus"
            ) from None
        axes = variables(tree)
        check_interpolation(modulus, len(axes))  # before the table is filled
        return from_table(value_table(tree, modulus), modulus, axes)


class ExpansionTooLong(Exception):
    """Expanding an expression would take more than `LARGEST_EXPANSION` products of terms."""


def expand(tree: Tree, modulus: int) -> Polynomial:
    """The reduced polynomial by multiplying out; `ExpansionTooLong` if that takes too many steps.

    Exponents are reduced on the way: as functions, b^e and b^reduce_exponent(e) are equal for any b.
    """
    axes = variables(tree)
    return polynomial(modulus, axes, Expansion(check_modulus(modulus), axes).terms(tree))


class Expansion:
    """Multiplies out one expression, and counts the products of terms that it takes."""

    def __init__(self, modulus: int, axes: tuple[int, ...]) -> None:
        self.modulus, self.axes = modulus, axes
        self.one: Terms = {(0,) * len(axes): 1}
        self.budget = LARGEST_EXPANSION
        self.start, self.period = power_period(modulus)

    def terms(self, tree: Tree) -> Terms:
        modulus = self.modulus
        match tree:
            case trees.Integer(number):
                return {monomial: number % modulus for monomial in self.one if number % modulus}
            case trees.Variable(index):
                return {tuple(int(index == axis) for axis in self.axes): 1}
            case trees.Negation(operand):
                return {monomial: -c % modulus for monomial, c in self.terms(operand).items()}
            case trees.Power(base, exponent):
                return self.power(self.terms(base), exponent)
            case trees.Sum(parts):
                total: Terms = {}
                for part in parts:
                    for monomial, c in self.terms(part).items():
                        total[monomial] = (total.get(monomial, 0) + c) % modulus
                return {monomial: c for monomial, c in total.items() if c}
            case trees.Product(parts):
                result = self.one
                for part in parts:
                    result = self.multiply(result, self.terms(part))
                return result
            case _:
                raise no_polynomial(tree)

    def multiply(self, left: Terms, right: Terms) -> Terms:
        self.budget -= len(left) * len(right)
        if self.budget < 0:
            raise ExpansionTooLong
        result: Terms = {}
        for (a, c), (b, d) in cartesian(left.items(), right.items()):
            monomial = tuple(map(operator.add, a, b))
            if max(monomial) >= self.start + self.period:
                monomial = self.reduced(monomial)
            result[monomial] = (result.get(monomial, 0) + c * d) % self.modulus
        return {monomial: c for monomial, c in result.items() if c}

    def reduced(self, exponents: Iterable[int]) -> tuple[int, ...]:
        """The smallest exponents that act alike, as `reduce_exponent` finds them."""
        start, period = self.start, self.period
        return tuple(e if e < start else (e - start) % period + start for e in exponents)

    def power(self, base: Terms, exponent: int) -> Terms:
        exponent = reduce_exponent(exponent, self.modulus)
        if len(base) <= 1:
            return {
                self.reduced(e * exponent for e in monomial): power
                for monomial, c in base.items()
                if (power := pow(c, exponent, self.modulus))
            } or ({} if exponent else self.one)
        result = self.one
        while exponent:
            if exponent & 1:
                result = self.multiply(result, base)
            exponent >>= 1
            if exponent:
                base = self.multiply(base, base)
        return result


def from_table(table: Int[np.ndarray, "p ..."], modulus: int, over: Sequence[int]) -> Polynomial:
    """The one reduced polynomial over GF(p) with these values.

    In one variable f(x) = Σ_a f(a)·(1 - (x-a)^(p-1)), whose coefficients are c_0 = f(0),
    c_e = -Σ_{a≠0} f(a)·a^(-e) for 0 < e < p-1 and c_{p-1} = -Σ_a f(a). That linear map is applied along every
    axis, a few rows at a time. Sums of p products of residues stay below 2^53, so float64 matrix products are exact.
    """
    p = check_prime(modulus, "to have a reduced polynomial")
    check_interpolation(p, table.ndim)
    coefficients = table.astype(np.float64)
    for axis in range(table.ndim):
        along = np.moveaxis(coefficients, axis, 0)
        columns = along.reshape(p, -1)
        mapped = np.concatenate([rows @ columns % p for rows in _interpolation(p)])
        coefficients = np.moveaxis(mapped.reshape(along.shape), 0, axis)
    if (count := np.count_nonzero(coefficients)) > LARGEST_POLYNOMIAL:
        raise InputError(
            f"the reduced polynomial has {count:,} terms, above the limit of {LARGEST_POLYNOMIAL:,}; "
            "use a smaller modulus or a sparser expression"
        )
    places = np.nonzero(coefficients)
    monomials = zip(*(axis.tolist() for axis in places), strict=True)
    return polynomial(p, over, dict(zip(monomials, coefficients[places].astype(int).tolist(), strict=True)))


def check_interpolation(p: int, axes: int) -> None:
    """An `InputError` if recovering a polynomial from its table would take too long."""
    work = axes * p ** (axes + 1) + POWERS_COST * p**2
    if work > LARGEST_INTERPOLATION:
        raise InputError(
            f"recovering a polynomial from {p}^{axes} values takes more multiplications than the limit of "
            f"{LARGEST_INTERPOLATION:,}; use a smaller modulus, or type it expanded"
        )


def _interpolation(p: int, block: int = 256) -> Iterator[Float[np.ndarray, "block p"]]:
    """The matrix whose row e gives the coefficient of x^e from the values f(0) … f(p-1), `block` rows at a time.

    Its entry -a^(-e) is looked up at -e·log a modulo p - 1, a sum of a part for the block and one for the row within.
    """
    logs = log_table(p)[1:]
    negative_powers = np.tile(p - exp_table(p), 2).astype(np.float64)
    within = np.arange(p - 1, p - 1 - block, -1)[:, None] * logs % (p - 1)
    for begin in range(0, p, block):
        rows = np.zeros((min(block, p - begin), p))
        rows[:, 1:] = negative_powers[within[: len(rows)] + (p - 1 - begin) * logs % (p - 1)]
        if begin == 0:
            rows[0] = np.arange(p) == 0
        if begin + len(rows) == p:
            rows[-1, 0] = p - 1
        yield rows


def _monomial_tree(over: Sequence[int], exponents: Sequence[int], coefficient: int) -> Tree:
    factors: list[Tree] = [
        trees.Variable(index) if exponent == 1 else trees.Power(trees.Variable(index), exponent)
        for index, exponent in zip(over, exponents, strict=True)
        if exponent
    ]
    if coefficient != 1 or not factors:
        factors.insert(0, trees.Integer(coefficient))
    return factors[0] if len(factors) == 1 else trees.Product(tuple(factors))


def _sum_tree(terms: Sequence[Tree]) -> Tree:
    if not terms:
        return trees.Integer(0)
    return terms[0] if len(terms) == 1 else trees.Sum(tuple(terms))
