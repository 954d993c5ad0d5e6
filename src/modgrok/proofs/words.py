"""What an expression is worth in a structure of the kernel's own: words in groups, quotients and conditions, too.

value      = sum [ "if" condition "else" value ]        beside what `expressions` reads
condition  = sum [ "is" ] ( "odd" | "even" ) | sum relation sum
product    = power { [ "*" | "/" ] power }              and exponents may be negative
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from modgrok.proofs.expressions import DIGITS, LONGEST_TEXT, Reader, Tree, variables_of
from modgrok.proofs.proof import NoProof
from modgrok.proofs.structures import UNDEFINED, Place, named_group, place_of

MOST_CELLS = 1 << 24
PLACE = re.compile(r"(\\?b?mod(?![A-Za-z])|in(?![A-Za-z_0-9]))(.*)", re.DOTALL)
RELATIONS = {"=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
             ">=": np.greater_equal}  # fmt: skip


class ValueReader(Reader):
    """Reads what is no polynomial, too: ("quotient", …), ("if", relation, left, right, then, else), ("t",)."""

    def value(self) -> Tree:
        then = self.sum()
        if self.next != "if":
            return then
        self.take()
        left, right = self.sum(), None
        word = self.next == "is" and bool(self.take())
        relation = self.expect("odd", "even") if word else self.expect("odd", "even", *RELATIONS)
        if relation in RELATIONS:
            right = self.sum()
        self.expect("else")
        return ("if", relation, left, right or ("number", 0), then, self.value())

    def product(self, sign: int) -> Tree:
        found: Tree = ("product", ("number", sign), self.power())
        while self.next in ("*", "/", "(", "t") or self.next.startswith("n"):
            kind = self.take() if self.next in ("*", "/") else ""
            if kind:
                found = ("product", ("number", self.sign()), found)
            found = ("quotient" if kind == "/" else "product", found, self.power())
            if kind == "/" and (self.next in ("(", "t") or self.next.startswith("n")):
                raise NoProof("the kernel cannot tell what is divided by")
        return found

    def exponent(self) -> int:
        return self.sign() * self.number()

    def atom(self) -> Tree:
        if self.next == "t":
            self.take()
            return ("t",)
        return super().atom()


def in_place(tree: Tree, values: dict[int, np.ndarray], place: Place) -> np.ndarray:
    """The value of a tree at arrays of elements, `UNDEFINED` where it has none."""
    kind, *parts = tree
    if kind == "variable":
        return values[parts[0]]
    if kind == "number":
        if place.plus is None and parts[0] != 1:
            raise NoProof("there are no numbers in a group")
        return np.array(parts[0] % place.characteristic if place.characteristic else place.one)
    if kind == "t":
        if place.t is None:
            raise NoProof("there is no t but in a field")
        return np.array(place.t)
    if kind == "if":
        return conditional(parts, values, place)
    if kind == "power":
        return raised(in_place(parts[0], values, place), parts[1], place)
    found = in_place(parts[0], values, place)
    for part in parts[1:]:
        other = in_place(part, values, place)
        if kind == "quotient":
            other = raised(other, -1, place)
        operation = place.plus if kind == "sum" else place.times
        if operation is None:
            raise NoProof("there are no sums in a group")
        found = defined(operation, found, other)
    return found


def defined(operation: Callable[..., np.ndarray], left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """What is made of something undefined is undefined, too."""
    return np.where((left < 0) | (right < 0), UNDEFINED, operation(np.maximum(left, 0), np.maximum(right, 0)))


def raised(base: np.ndarray, exponent: int, place: Place) -> np.ndarray:
    if base.size > place.order:  # an exponent may have thousands of digits, so no element is raised twice
        return np.where(base < 0, UNDEFINED, raised(np.arange(place.order), exponent, place)[base])
    if exponent < 0:
        base = np.where(base < 0, UNDEFINED, place.inverses[np.maximum(base, 0)])
    found = np.where(base < 0, UNDEFINED, place.one)
    for bit in bin(abs(exponent))[2:]:
        found = defined(place.times, found, found)
        found = defined(place.times, found, base) if bit == "1" else found
    return found


def conditional(parts: Sequence[Any], values: dict[int, np.ndarray], place: Place) -> np.ndarray:
    relation, left_tree, right_tree, then, otherwise = parts
    left, right = in_place(left_tree, values, place), in_place(right_tree, values, place)
    if not place.ordered and relation not in ("=", "!="):
        raise NoProof("elements are not odd or even, smaller or larger, but modulo a number")
    holds = left % 2 == (relation == "odd") if relation in ("odd", "even") else RELATIONS[relation](left, right)
    chosen = np.where(holds, in_place(then, values, place), in_place(otherwise, values, place))
    return np.where((left < 0) | (right < 0), UNDEFINED, chosen)


def is_place(word: str, name: str, words: str, place: Place) -> bool:
    """Whether what stands behind "mod" or "in" is the place that is meant, in whatever spelling."""
    if f"{word}{name}".strip() == words:
        return True
    if word != "in":
        number = re.fullmatch(r"\s*(?:([0-9]{1,7})|\{\s*([0-9]{1,7})\s*\})\s*", name)
        return number is not None and f"mod {int(number[1] or number[2])}" == words
    if number := re.fullmatch(r"\s*G?F_?\s*(?:\(\s*([0-9]{1,7})\s*\)|([0-9]{1,7}))\s*", name, re.IGNORECASE):
        return f"in GF({int(number[1] or number[2])})" == words
    elements = np.arange(place.order)
    own = named_group("x".join(map(plain_factor, re.split(r"[x×](?![^<]*>)", name))))
    return place.plus is None and np.array_equal(own, place.times(elements[:, None], elements))


def plain_factor(name: str) -> str:
    """A factor of a direct product as `named_group` reads it: C_07² is Z7^2, and (1, 2) is (1 2)."""
    name = re.sub(r"\s*([⁰¹²³⁴-⁹]+)\s*$", lambda found: "^" + found[1].translate(DIGITS), name)
    if generators := re.fullmatch(r"\s*<(.*)>(.*)", name):
        cycles = re.split(r",(?![^(]*\))", generators[1])
        return f"<{','.join(re.sub('[,]', ' ', each) for each in cycles)}>{re.sub(r'[ ]', '', generators[2])}"
    plain = re.sub(r"(?<![0-9])0+(?=[0-9])", "", re.sub(r"[\s_]", "", name))
    return "Z" + plain[1:] if plain.startswith("C") else plain


def table_of_words(
    texts: Sequence[str],
    words: str,
    sizes: Sequence[int],
    given: np.ndarray | None,
    axes: Sequence[int] | None = None,
) -> np.ndarray:
    """What texts, which must mean the same, are worth on every row: "mod 97", "in GF(81)" or "in S5".

    `given` is the table of a group that has no name; `axes` are the variables, where there are more than occur.
    """
    if prod(sizes) > MOST_CELLS or not texts:
        raise NoProof(f"the kernel has tables of up to {MOST_CELLS:,} rows")
    place = place_of(words, given)
    if set(sizes) != {place.order}:
        raise NoProof("the network has another number of symbols than there are elements")
    found = [table_of_text(text, words, sizes, place, axes) for text in dict.fromkeys(texts)]
    if any((other != found[0]).any() for other in found[1:]):
        raise NoProof("what was typed and what is shown are not the same function")
    return found[0]


def table_of_text(text: str, words: str, sizes: Sequence[int], place: Place, axes: Sequence[int] | None) -> np.ndarray:
    if len(text) > LONGEST_TEXT:
        raise NoProof(f"the kernel reads expressions of {LONGEST_TEXT} characters")
    named = PLACE.search(text)
    if named is not None and not is_place(named[1], named[2], words, place):
        raise NoProof("the expression names another place than was asked for")
    reader = ValueReader(text[: named.start()] if named else text)
    tree = reader.value()
    reader.expect("")
    names = variables_of(tree) if axes is None else axes
    if len(names) != len(sizes) or [*names] != sorted({*names, *variables_of(tree)}):
        raise NoProof("the expression has another number of variables than the network")
    columns = np.indices(sizes, sparse=True)
    return np.ascontiguousarray(np.broadcast_to(in_place(tree, dict(zip(names, columns, strict=True)), place), sizes))
