"""Finite fields: GF(q) for a prime power q = p^k, by tables of logarithms.

Element n is the polynomial whose coefficients are the digits of n in base p, that of t^0 last: in GF(9), 5 = 1·3 + 2 is
t + 2. Polynomials are added coefficient by coefficient modulo p, and multiplied modulo the Conway polynomial of p and
k, as other systems do (GAP, Sage, galois): t generates all elements but 0, so that a product is a sum of logarithms.

A whole number in an expression stands for so many ones: 5 is 2 in GF(9), whose characteristic is 3. Elements outside
the prime field are written with t: t^2 + 1.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import index
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import Residues, factorise, factors_text, generator
from modgrok.algebra.named_groups import raised
from modgrok.algebra.structures import UNDEFINED, Structure
from modgrok.base.errors import InputError
from modgrok.base.results import Result

LARGEST_FIELD = 1024
"""Most elements of a field that is no prime field; tables have the square of that."""
LARGEST_PRIME_FIELD = 1 << 12

# fmt: off
CONWAY: dict[tuple[int, int], tuple[int, ...]] = {
    (2, 2): (1, 1, 1), (2, 3): (1, 0, 1, 1), (2, 4): (1, 0, 0, 1, 1), (2, 5): (1, 0, 0, 1, 0, 1),
    (2, 6): (1, 0, 1, 1, 0, 1, 1), (2, 7): (1, 0, 0, 0, 0, 0, 1, 1), (2, 8): (1, 0, 0, 0, 1, 1, 1, 0, 1),
    (2, 9): (1, 0, 0, 0, 0, 1, 0, 0, 0, 1), (2, 10): (1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1), (3, 2): (1, 2, 2),
    (3, 3): (1, 0, 2, 1), (3, 4): (1, 2, 0, 0, 2), (3, 5): (1, 0, 0, 0, 2, 1), (3, 6): (1, 0, 2, 0, 1, 2, 2),
    (5, 2): (1, 4, 2), (5, 3): (1, 0, 3, 3), (5, 4): (1, 0, 4, 4, 2), (7, 2): (1, 6, 3), (7, 3): (1, 6, 0, 4),
    (11, 2): (1, 7, 2), (13, 2): (1, 12, 2), (17, 2): (1, 16, 3), (19, 2): (1, 18, 2), (23, 2): (1, 21, 5),
    (29, 2): (1, 24, 2), (31, 2): (1, 29, 3),
}
# fmt: on
"""The Conway polynomials of p and k, highest coefficient first."""


@dataclass(frozen=True, repr=False)
class Field(Structure, Result):
    """GF(q): `order` is q = p^k, `characteristic` p, `degree` k, and `modulus` the polynomial that is zero."""

    order: int
    spelling_words = ("a polynomial", "a polynomial in t")

    def __post_init__(self) -> None:
        check_field(self.order)

    @property
    def characteristic(self) -> int:
        return factorise(self.order)[0][0]

    @property
    def degree(self) -> int:
        return factorise(self.order)[0][1]

    @property
    def modulus(self) -> tuple[int, ...]:
        """The coefficients of the Conway polynomial, the highest first; of a prime field, of t - g."""
        p = self.characteristic
        return CONWAY[p, self.degree] if self.degree > 1 else (1, -generator(p) % p)

    @property
    def title(self) -> str:
        return f"GF({self.order})"

    @property
    def words(self) -> str:
        return f"in {self.title}"

    @property
    def elements(self) -> str:
        return f"the {self.order} elements of {self.title}: 0, 1, …, {self.name(self.order - 1)}"

    # ------------------------------------------------------------------------------------------ elements

    @cached_property
    def digits(self) -> Int[np.ndarray, "q k"]:
        """The coefficients of every element, that of t^0 first."""
        return np.arange(self.order)[:, None] // self.characteristic ** np.arange(self.degree) % self.characteristic

    def name(self, element: int) -> str:
        """A polynomial in t over the prime field: 't² + 2t + 1'."""
        return polynomial_text(tuple(self.digits[self.element(element)].tolist()))

    def read(self, text: str) -> int | None:
        """The element of a polynomial in t, such as "t^2 + 2t + 1"."""
        plain = re.sub(r"[\s*^]", "", unicodedata.normalize("NFKC", text)).replace("−", "-")
        terms = re.findall(r"([+-]?)(\d{0,9})(t?)(\d{0,4})", plain)
        if not plain or len(text) > 500 or "".join(map("".join, terms)) != plain or any(map(_no_term, terms[:-1])):
            return None
        total = 0
        for sign, coefficient, t, exponent in terms[:-1]:
            times = self.constant(int(coefficient or 1) * (-1 if sign == "-" else 1))
            power = self.power(self.generator(), int(exponent or 1)) if t else 1
            total = int(self.add(total, self.multiply(times, power)))
        return total

    def constant(self, number: int) -> int:
        return number % self.characteristic

    def generator(self) -> int:
        """t, whose powers are all elements but 0; of a prime field, its smallest generator."""
        return self.characteristic if self.degree > 1 else generator(self.order)

    # ---------------------------------------------------------------------------------------- operations

    @cached_property
    def exponentials(self) -> Int[np.ndarray, "power"]:
        """The powers t^0, t^1, …; times t moves digits up, and t^k is minus the rest of the modulus."""
        p, k = self.characteristic, self.degree
        overflow = -np.array(self.modulus[:0:-1]) % p
        found, now = np.empty(self.order - 1, dtype=np.int64), np.eye(1, k, dtype=np.int64)[0]
        for r in range(self.order - 1):
            found[r] = now @ p ** np.arange(k)
            now = (np.concatenate([[0], now[:-1]]) + now[-1] * overflow) % p
        return found

    @cached_property
    def logarithms(self) -> Int[np.ndarray, "q"]:
        """The exponent of t for every element; 0 has none, and -1 in its place."""
        found = np.full(self.order, -1)
        found[self.exponentials] = np.arange(self.order - 1)
        return found

    def add(self, left: Residues, right: Residues) -> Residues:
        return self._of_digits(self.digits[self.numbers(left)] + self.digits[self.numbers(right)])

    def negate(self, element: Residues) -> Residues:
        return self._of_digits(-self.digits[self.numbers(element)])

    def _of_digits(self, digits: Int[np.ndarray, "... k"]) -> Residues:
        return np.asarray(digits % self.characteristic @ self.characteristic ** np.arange(self.degree))

    def multiply(self, left: Residues, right: Residues) -> Residues:
        left, right = self.numbers(left), self.numbers(right)
        together = (self.logarithms[left] + self.logarithms[right]) % (self.order - 1)
        return np.where((np.equal(left, 0)) | np.equal(right, 0), 0, self.exponentials[together])

    def power(self, base: Residues, exponent: int) -> Residues:
        """0^0 is 1, as modulo a number; for exponents below 0 it is -1, no element."""
        base = self.numbers(base)
        if exponent == 0:
            return np.ones_like(base)
        raised_to = self.logarithms[base] * (exponent % (self.order - 1)) % (self.order - 1)
        return np.where(np.equal(base, 0), 0 if exponent > 0 else UNDEFINED, self.exponentials[raised_to])

    def inverse(self, element: Residues) -> Residues:
        return self.power(element, -1)

    # ------------------------------------------------------------------------------------------- results

    def summary(self) -> str:
        if self.degree == 1:
            return f"{self.title}, the integers modulo {self.order}"
        return f"{self.title}, characteristic {self.characteristic}, {polynomial_text(self.modulus[::-1])} = 0"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.title,
            "order": self.order,
            "characteristic": self.characteristic,
            "degree": self.degree,
            "modulus": list(self.modulus),
            "elements": [self.name(element) for element in range(self.order)],
        }


def _no_term(parts: tuple[str, str, str, str]) -> bool:
    sign, coefficient, t, exponent = parts
    return not (coefficient or t) or bool(exponent and not t)


def polynomial_text(coefficients: tuple[int, ...]) -> str:
    """From the coefficients, that of t^0 first: 't² + 2t + 1'."""
    terms = []
    for power in range(len(coefficients) - 1, -1, -1):
        if c := coefficients[power]:
            letter = "" if power == 0 else "t" if power == 1 else f"t{raised(power)}"
            terms.append(f"{c if c > 1 or not letter else ''}{letter}")
    return " + ".join(terms) or "0"


def check_field(q: int) -> None:
    """An `InputError` where there is no field with q elements, or one that is too large."""
    if not 2 <= q <= LARGEST_PRIME_FIELD:
        raise InputError(f"fields may have 2 … {LARGEST_PRIME_FIELD:,} elements, got {q:,}; give 81, for example")
    if len(factorise(q)) > 1:
        raise InputError(
            f"a field has p^k elements for a prime p, its characteristic, got {q} = {factors_text(q)}; "
            "give 81 = 3^4 or 97, or a modulus instead"
        )
    if factorise(q)[0][1] > 1 and q > LARGEST_FIELD:
        raise InputError(f"fields of p^k elements, k > 1, may have {LARGEST_FIELD:,}, got {q:,}; give 81, for example")


@lru_cache(maxsize=32)
def finite_field(given: int | Field) -> Field:
    """The finite field with so many elements.

    Args:
        given: a prime, or a power of one, up to 1,024 (a prime up to 4,096).

    Returns:
        A `Field`: `.order`, `.characteristic`, `.name(element)`, `.element(name)`, `.add`, `.multiply`, `.inverse`.

    >>> finite_field(81)
    <Field: GF(81), characteristic 3, t⁴ + 2t³ + 2 = 0>
    """
    if isinstance(given, Field):
        return given
    try:
        return Field(index(given))
    except TypeError:
        raise InputError(f"a field is known by how many elements it has, got {given!r}; give 81, for example") from None
