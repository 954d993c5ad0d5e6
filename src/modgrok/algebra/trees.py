"""Expressions as immutable trees: their kinds of nodes, what occurs in them, and how they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import TypeAlias

from modgrok.base.errors import InputError


@dataclass(frozen=True)
class Integer:
    value: int


@dataclass(frozen=True)
class Variable:
    index: int


@dataclass(frozen=True)
class Sum:
    terms: tuple[Tree, ...]


@dataclass(frozen=True)
class Product:
    factors: tuple[Tree, ...]


@dataclass(frozen=True)
class Power:
    base: Tree
    exponent: int


@dataclass(frozen=True)
class Negation:
    operand: Tree


@dataclass(frozen=True)
class Quotient:
    numerator: Tree
    denominator: Tree


@dataclass(frozen=True)
class Conditional:
    """`then` where `left` and `right` are in a relation, else `otherwise`; `right` is None for odd and even."""

    relation: str
    left: Tree
    right: Tree | None
    then: Tree
    otherwise: Tree


@dataclass(frozen=True)
class Generator:
    """t, of a finite field."""


Tree: TypeAlias = Integer | Variable | Sum | Product | Power | Negation | Quotient | Conditional | Generator


def is_polynomial(tree: Tree) -> bool:
    """Whether it is made of sums, products and powers alone."""
    if isinstance(tree, (Quotient, Conditional, Generator)) or (isinstance(tree, Power) and tree.exponent < 0):
        return False
    return all(map(is_polynomial, children(tree)))


def has_condition(tree: Tree) -> bool:
    """Whether one of two values is chosen anywhere."""
    return isinstance(tree, Conditional) or any(map(has_condition, children(tree)))


def no_polynomial(tree: Tree) -> InputError:
    return InputError(f"a polynomial is needed here, got {to_text(tree)}; division and conditions are for tables")


def children(tree: Tree) -> tuple[Tree, ...]:
    match tree:
        case Quotient(numerator, denominator):
            return numerator, denominator
        case Conditional(_, left, right, then, otherwise):
            return (left, *((right,) if right is not None else ()), then, otherwise)
        case Sum(terms):
            return terms
        case Product(factors):
            return factors
        case Power(base, _):
            return (base,)
        case Negation(operand):
            return (operand,)
        case _:
            return ()


def variables(tree: Tree) -> tuple[int, ...]:
    """The indices of the variables that occur, in rising order; n1 for an expression without any."""
    return tuple(sorted(occurring(tree))) or (1,)


def filled(axes: Sequence[int], at_least: int) -> list[int]:
    """The numbers of variables, and the smallest others where there are to be more."""
    others = (k for k in count(1) if k not in axes)
    return sorted((*axes, *islice(others, max(0, at_least - len(axes)))))


def occurring(tree: Tree) -> set[int]:
    """The indices of the variables that occur; none for a constant."""
    own = {tree.index} if isinstance(tree, Variable) else set()
    return own.union(*map(occurring, children(tree)))


def joined(factors: Sequence[Tree]) -> Tree:
    return factors[0] if len(factors) == 1 else Product(tuple(factors))


def negated(tree: Tree) -> Tree:
    return tree.operand if isinstance(tree, Negation) else Negation(tree)


def variable_names(tree: Tree) -> list[str]:
    return [f"n{index}" for index in variables(tree)]


# --------------------------------------------------------------------------------------------- printing


ATOMS = (Integer, Variable, Generator, Power)
TERMS = (*ATOMS, Product, Quotient)


@dataclass(frozen=True)
class Notation:
    """How expressions are written; the first variables may have `letters` for names."""

    letters: str = ""

    def bare(self, tree: Tree) -> str:
        match tree:
            case Integer(value):
                return str(value)
            case Variable(index):
                return self.letters[index - 1] if index <= len(self.letters) else f"n{index}"
            case Generator():
                return "t"
            case Power(base, exponent):
                return f"{self.within(base, Integer, Variable, Generator)}^{exponent}"
            case Negation(operand):
                return "-" + self.within(operand, *TERMS)
            case Quotient(numerator, denominator):
                return f"{self.within(numerator, *ATOMS, Product)}/{self.within(denominator, *ATOMS)}"
            case Conditional():
                return self.conditional(tree)
            case Product(factors):
                return self.product(factors)
            case Sum(terms):
                return self.sum(*terms)

    def within(self, tree: Tree, *bare_kinds: type) -> str:
        """In parentheses, unless it is of a kind that needs none here."""
        return self.bare(tree) if isinstance(tree, bare_kinds) else f"({self.bare(tree)})"

    def sum(self, first: Tree, *rest: Tree) -> str:
        text = self.within(first, *TERMS, Negation)
        for term in rest:
            sign, term = (" - ", term.operand) if isinstance(term, Negation) else (" + ", term)
            text += sign + self.within(term, *TERMS)
        return text

    def conditional(self, tree: Conditional) -> str:
        sides = [self.within(side, *TERMS, Negation, Sum) for side in (tree.left, tree.right) if side is not None]
        condition = f" {tree.relation} ".join(sides) if len(sides) > 1 else f"{sides[0]} {tree.relation}"
        then = self.within(tree.then, *TERMS, Negation, Sum)
        return f"{then} if {condition} else {self.bare(tree.otherwise)}"

    def product(self, factors: tuple[Tree, ...]) -> str:
        text = ""
        for factor in factors:
            starts_with_digit = isinstance(factor.base if isinstance(factor, Power) else factor, Integer)
            text += ("*" if starts_with_digit else " ") if text else ""
            text += self.within(factor, *ATOMS)
        return text


def to_text(tree: Tree, letters: str = "") -> str:
    """The expression as text, which is read back to the same tree; the first variables may have letters for names."""
    return Notation(letters).bare(tree)
