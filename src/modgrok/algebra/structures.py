"""Where expressions have values: a finite set whose elements are numbered from 0 on, and what can be done with them.

A `Structure` is all that functions, tables, networks and answers need to know of it: how many elements there are, what
each is called, which one somebody means, and sums, products and powers on whole arrays of elements at once. The
integers modulo m are one; there the number of an element is its name.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import index
from typing import Any

import numpy as np

from modgrok.algebra.field import Residues, power_period, powers
from modgrok.base.errors import InputError

UNDEFINED = -1
"""Stands for a value that does not exist; in a table, for that of a cell which is not known."""


class Structure(ABC):
    """Elements 0 … order - 1; arrays of any shape are arrays of elements."""

    order: int
    """How many elements there are."""
    is_ordered = False
    """Whether elements are smaller or larger, odd or even, as their numbers are."""

    @property
    @abstractmethod
    def words(self) -> str:
        """Where an expression has its values, to be said after it: 'mod 97'."""

    @property
    @abstractmethod
    def elements(self) -> str:
        """All of them, for errors: 'residues 0 … 96'."""

    @abstractmethod
    def name(self, element: int) -> str:
        """What people call an element."""

    spelling_words = ("a name", "one of these names")
    """What a name is, in errors: for an object that is none, and for a text."""

    def element(self, given: Any) -> int:
        """The element of a name, of its number, or of "#17", its number as text; an `InputError` where it is none."""
        told, spelled = self.spelling_words
        if isinstance(given, str):
            numbered = re.fullmatch(r"\s*#\s*(\d{1,9})\s*", given)
            found = int(numbered[1]) if numbered and int(numbered[1]) < self.order else self.read(given)
            if found is None:
                raise InputError(f"{given[:60]!r} is none of {self.elements}; give {spelled}, or #3 for number 3")
            return found
        try:
            number = index(given)
        except TypeError:
            number = -1
        if not 0 <= number < self.order:
            raise InputError(f"{given} is none of {self.elements}; give {told}, or a number below {self.order}")
        return number

    def numbers(self, given: Any) -> Residues:
        """The numbers of elements that are given as what `element` takes, in an array of any shape."""
        found = np.asarray(given)
        if found.dtype.kind in "iu" and not np.any((found < 0) | (found >= self.order)):
            return found
        return np.array([self.element(each) for each in found.ravel().tolist()], np.int64).reshape(found.shape)

    def read(self, text: str) -> int | None:
        """The element of a name; None where it is that of none."""
        raise NotImplementedError

    @abstractmethod
    def constant(self, number: int) -> int:
        """The element that a whole number in an expression stands for."""

    @abstractmethod
    def add(self, left: Residues, right: Residues) -> Residues: ...
    @abstractmethod
    def multiply(self, left: Residues, right: Residues) -> Residues: ...
    @abstractmethod
    def negate(self, element: Residues) -> Residues: ...
    @abstractmethod
    def power(self, base: Residues, exponent: int) -> Residues:
        """For exponents from 0 on."""

    def inverse(self, element: Residues) -> Residues:
        """What times an element is one; -1 where there is none."""
        raise InputError(f"there is no division {self.words}; use sums, products and powers")

    def generator(self) -> int:
        """The element t of an expression."""
        raise InputError(f"t is the generator of a finite field, and there is none {self.words}; give field=81, say")

    def names(self, elements: tuple[int, ...]) -> str:
        """Several elements, with commas."""
        return ", ".join(map(self.name, elements))


@dataclass(frozen=True)
class Integers(Structure):
    """The integers modulo `order`: element k is the residue k."""

    order: int
    is_ordered = True

    @property
    def words(self) -> str:
        return f"mod {self.order}"

    @property
    def elements(self) -> str:
        return f"residues 0 … {self.order - 1}"

    def name(self, element: int) -> str:
        return str(element)

    def element(self, given: Any) -> int:
        try:
            number = int(given) if isinstance(given, str) else index(given)
        except (TypeError, ValueError):
            number = -1
        if not 0 <= number < self.order:
            advice = f"reduce it modulo {self.order}" if str(given).strip("-").isdigit() else "give whole numbers"
            raise InputError(f"values must be {self.elements}, got {given}; {advice}")
        return number

    def constant(self, number: int) -> int:
        return number % self.order

    def add(self, left: Residues, right: Residues) -> Residues:
        return np.add(left, right) % self.order

    def multiply(self, left: Residues, right: Residues) -> Residues:
        return np.multiply(left, right) % self.order

    def negate(self, element: Residues) -> Residues:
        return np.negative(element) % self.order

    def power(self, base: Residues, exponent: int) -> Residues:
        """Powers of residues, looked up in the table of all of them where that is shorter."""
        if np.size(base) <= self.order:
            return powers(np.asarray(base), exponent, self.order)
        return powers(np.arange(self.order), exponent, self.order)[base]

    def inverse(self, element: Residues) -> Residues:
        """x^(period - 1) is the inverse of a unit x."""
        _, period = power_period(self.order)
        return np.where(np.gcd(element, self.order) == 1, self.power(element, period - 1), UNDEFINED)


def lifted(operation: Callable[..., Residues], *elements: Residues) -> Residues:
    """An operation where all its elements are defined, and -1 elsewhere."""
    undefined = reduce(np.logical_or, (np.less(each, 0) for each in elements))
    return np.where(undefined, UNDEFINED, operation(*(np.where(np.less(each, 0), 0, each) for each in elements)))


def structure_of(given: Structure | int) -> Structure:
    """The structure itself; a modulus stands for the integers modulo it."""
    return given if isinstance(given, Structure) else Integers(given)
