"""Claims read as hostile input: each field has a type and a range, each word stands in a list, all work has a limit.

A claim says whether a table is h(g1 + g2 + …) over an abelian group, or h(g1 · g2) over any, with a witness or a
refutation. What is not of that
shape is `Malformed`; whether it is true is for `verdicts` to find out. Text from a file is never shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from modgrok.proofs.proof import NoProof, TooMuchWork

FAMILIES = ("constant", "one-variable", "additive", "multiplicative", "product-group", "group")
VERDICTS = ("in-class", "not-in-class", "unknown")
KINDS = ("distinct-lines", "counting", "closed-trail", "no-cyclic-automorphism", "pairs", "search", "symmetry",
         "rivals", "rival-cells", "quadrangle", "short-cycles", "intransitive")  # fmt: skip
ANY_GROUP = ("distinct-lines", "counting", "quadrangle", "intransitive")
"""Kinds that use nothing of a group but its laws, and exclude all of smaller order too."""
SIDES = ("row", "column")
LARGEST_ORDER = 1 << 14
MOST_ITEMS = 1 << 21
LONGEST_WORDS = 1 << 20


class Malformed(NoProof):
    """What is no claim at all."""


class Work:
    """How much may still be done; one unit is a step of plain Python, about a tenth of a microsecond."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def spend(self, steps: int) -> None:
        """Before the steps are taken."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchWork("it would take too long to check")


def whole(value: Any, least: int, most: int, what: str) -> int:
    if type(value) is not int or not least <= value <= most:
        raise Malformed(f"{what} must be a whole number from {least} to {most}")
    return value


def flag(value: Any, what: str) -> bool:
    if type(value) is not bool:
        raise Malformed(f"{what} must be true or false")
    return value


def word(value: Any, allowed: Sequence[str], what: str) -> str:
    if type(value) is not str or value not in allowed:
        raise Malformed(f"{what} must be one of {', '.join(allowed)}")
    return value


def listed(value: Any, what: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) > MOST_ITEMS or (length is not None and len(value) != length):
        raise Malformed(f"{what} must be a list" + ("" if length is None else f" of {length}"))
    return list(value)


def wholes(value: Any, least: int, most: int, what: str) -> list[int]:
    return [whole(item, least, most, what) for item in listed(value, what)]


def keyed(value: Any, what: str, needed: Sequence[str], others: Sequence[str] = ()) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not set(needed) <= set(value) <= {*needed, *others}:
        raise Malformed(f"{what} must have the keys {', '.join(needed)} and no unknown ones")
    return value


def ignored_text(value: Any) -> None:
    """Words for people, which prove nothing and are not shown."""
    if value is not None and (type(value) is not str or len(value) > LONGEST_WORDS):
        raise Malformed("a text must be text")


class Claim(NamedTuple):
    """A claim about a table whose group is known; `evidence` is the witness or the obstruction, not read yet."""

    family: str
    verdict: str
    moduli: tuple[int, ...]
    absorbing: bool
    up_to: bool
    evidence: Any

    @property
    def order(self) -> int:
        return prod(self.moduli)

    @property
    def any_group(self) -> bool:
        """Whether it is about all finite groups, or one that its witness has the table of."""
        return self.family == "group"

    @property
    def group(self) -> str:
        if self.any_group:
            return f"any group up to order {self.order}" if self.up_to else f"a group of order {self.order}"
        names = " × ".join(f"Z_{m}" for m in self.moduli)
        return ("any group up to " if self.up_to else "") + names + " with an absorbing element" * self.absorbing


def read_claim(value: Any) -> Claim:
    """The claim in a value of JSON; `Malformed` if it is none."""
    found = keyed(
        value, "a claim", ("family", "verdict", "group_order", "absorbing"),
        ("moduli", "up_to", "witness", "obstruction", "excluded", "steps"),
    )  # fmt: skip
    family, verdict = word(found["family"], FAMILIES, "family"), word(found["verdict"], VERDICTS, "verdict")
    order = whole(found["group_order"], 1, LARGEST_ORDER, "group_order")
    moduli = tuple(wholes(found.get("moduli") or [], 2, LARGEST_ORDER, "moduli"))
    absorbing, up_to = flag(found["absorbing"], "absorbing"), flag(found.get("up_to", False), "up_to")
    ignored_text(found.get("excluded"))
    whole(found.get("steps", 0), 0, 1 << 60, "steps")
    if moduli and (len(moduli) == 1 or prod(moduli) != order):
        raise Malformed("moduli must be two or more, and their product the order of the group")
    witness, obstruction = found.get("witness"), found.get("obstruction")
    present = {"in-class": (True, False), "not-in-class": (False, True), "unknown": (False, False)}[verdict]
    if (witness is not None, obstruction is not None) != present:
        raise Malformed("a claim in-class has a witness, one not-in-class an obstruction, and none has anything else")
    kind = {"multiplicative": (True, False), "product-group": (False, True)}.get(family, (False, False))
    if (absorbing, bool(moduli)) != kind:
        raise Malformed(f"the {family} family has no such group")
    if up_to and (verdict == "in-class" or moduli):
        raise Malformed("up_to is for what is claimed of all cyclic groups up to an order, and no witness is")
    if family == "group" and up_to != (verdict != "in-class"):
        raise Malformed("what is claimed without a witness is about all groups up to an order")
    return Claim(family, verdict, moduli or (order,), absorbing, up_to, witness if witness is not None else obstruction)
