"""The families that the decision asks about, declared once: their names, in the order in which the best is chosen.

A new family is an entry here, a question in `classification.ask`, and a line in the kernel's own list
(`proofs.claims`), which takes nobody's word for what a family is.
"""

from __future__ import annotations

from typing import NamedTuple


class Family(NamedTuple):
    """`noun` is what a function of it is called: a `noun` in disguise. `relabelling` says it of a family in which
    nothing is added; `measured` whether it is known from how much of a table networks learn it."""

    name: str
    noun: str
    relabelling: str = ""
    measured: bool = False


CONSTANT = Family("constant", "constant", "constant")
ONE_VARIABLE = Family("one-variable", "one-variable function", "a function of one variable")
ADDITIVE = Family("additive", "sum", measured=True)
MULTIPLICATIVE = Family("multiplicative", "product", measured=True)
PRODUCT_GROUP = Family("product-group", "sum")
GROUP = Family("group", "product in a group")
FAMILIES = {family.name: family for family in (CONSTANT, ONE_VARIABLE, ADDITIVE, MULTIPLICATIVE, PRODUCT_GROUP, GROUP)}
MEASURED = tuple(family.name for family in FAMILIES.values() if family.measured)


def family_over(moduli: tuple[int, ...], absorbing: bool) -> Family:
    """The family of sums over a group: a product of cyclic ones, or a cyclic one with or without ∞."""
    return PRODUCT_GROUP if len(moduli) > 1 else MULTIPLICATIVE if absorbing else ADDITIVE
