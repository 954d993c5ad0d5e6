"""The answer as a value: a verdict with a witness or an obstruction, never a guess.

A function f on p1 × p2 residues is *in the class* of the cyclic group Z_m, optionally with an absorbing element ∞,
if f(a, b) = h(g1(a) + g2(b)) for some g1, g2 into Z_m ∪ {∞} and some h; ∞ plus anything is ∞.

Being in the class is known to be enough for a two-layer network to generalise. It is not necessary, so the
opposite of `in-class` is `not-in-class` and says nothing about what a network can reach.

The families that the decision asks about, declared once: their names, in the order in which the best is chosen.

A new family is an entry here, a question in `classification.ask`, and a line in the kernel's own list
(`proofs.claims`), which takes nobody's word for what a family is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Required, TypedDict

from modgrok.base.results import Result


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


Status = Literal["in-class", "not-in-class", "unknown"]
PROCEDURES = {
    "expression": "how the function is written",
    "small-table": "so few lines that each has a place of its own",
    "closed-trail": "a closed walk through the values of two lines",
    "algebraic": "powers and logarithms of shifted powers modulo a prime",
    "small-powers": "small powers modulo any number",
    "automorphism": "a symmetry that moves all lines round in one cycle",
    "shift": "a permutation of the rows that a few columns determine",
    "search": "a complete search by propagation",
    "phases": "a power iteration over phases",
    "climbing": "a climb that moves line by line",
    "symmetry": "a search in the room that symmetries leave",
    "several": "a search over three variables or more at once",
    "isotope": "the table itself, its rows called by one column and its columns by one row",
    "symmetries": "symmetries of the table that take every row to every other, and every column",
}
"""Who finds a witness, and how; refutations are decided by their kind (`Refutation`)."""


class Refutation(TypedDict, total=False):
    """Why one reduced table has no witness, as plain data; each kind has the keys that `proofs.refutations`
    asks of it."""

    kind: Required[str]
    lines: list[tuple[str, int]]
    """counting: for each value, a row or column in which it stands most often."""
    side: str
    """closed-trail: whether the table has two columns or two rows."""
    colours: list[list[int]]
    certificate: Refutation
    """pairs: `side` whose pairs are coloured, their colours, and what refutes the table of colours."""
    symmetries: list[list[list[int]]]
    core: list[int]
    """symmetry: maps of rows, columns and values, and the values that they carry to disjoint sets."""
    kept: list[list[int]]
    clique: list[int]
    cliques: list[tuple[str, int, list[int]]]
    """tables with unknown cells: the rows and columns that the refutation is about; rivals: lines of one `side`;
    rival-cells: for each value a side, a line, and rivals across it that meet it in this value."""
    rows: list[int]
    columns: list[int]
    """quadrangle: two times two rows and columns; three cells of the two agree, and the fourth does not."""
    line: int
    """intransitive: the row or column (`side`) that no symmetry takes the first one to."""
    transposed: bool
    tree: dict[str, Any]
    """search and symmetry: the case distinction, see `proofs.trees`."""


@dataclass(frozen=True, repr=False)
class Witness(Result):
    """f(n1, n2, …) = h[(g[0][n1] + g[1][n2] + …) % group_order], or h_absorbing where one of them is None.

    None stands for ∞ in g, and for a value that is free in h and h_absorbing. Over a product of cyclic groups
    `moduli` has their orders and the element (i1, i2, …) is the number i1·m2⋯ + i2·m3⋯ + …, added factor by factor;
    for a cyclic group `moduli` is empty. Over any other group `products` is its multiplication table, with the identity
    first, and f(n1, n2) = h[products[g[0][n1]][g[1][n2]]]; where the group has a name it has the table of that name.
    """

    group_order: int
    g: tuple[tuple[int | None, ...], ...]
    h: tuple[int | None, ...]
    h_absorbing: int | None = None
    moduli: tuple[int, ...] = ()
    products: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    group_name: str | None = None

    @property
    def cyclic(self) -> bool:
        """Whether places are residues that are added modulo `group_order`."""
        return not self.moduli and not self.products

    @property
    def commutes(self) -> bool:
        """Whether the group is abelian."""
        return all(column == row for column, row in zip(zip(*self.products, strict=True), self.products, strict=True))

    @property
    def group(self) -> str:
        if self.products:
            return self.group_name or f"a group of order {self.group_order}"
        return group_text(self.group_order, self.absorbing, self.moduli)

    @property
    def form(self) -> str:
        """'g1 + g2', or in any group 'g1 · g2'."""
        return (" · " if self.products else " + ").join(f"g{s}" for s in range(1, len(self.g) + 1))

    @property
    def g1(self) -> tuple[int | None, ...]:
        return self.g[0]

    @property
    def g2(self) -> tuple[int | None, ...]:
        return self.g[1]

    @property
    def absorbing(self) -> bool:
        """Whether some g reaches ∞."""
        return any(t is None for part in self.g for t in part)

    def summary(self) -> str:
        return f"h({self.form}) over {self.group}"

    def to_json(self) -> dict[str, Any]:
        parts = {f"g{s}": list(part) for s, part in enumerate(self.g, start=1)}
        product: dict[str, Any] = {"moduli": list(self.moduli)} if self.moduli else {}
        if self.products:
            product = {"products": [list(row) for row in self.products], "group_name": self.group_name}
        return {**parts, "h": list(self.h), "h_absorbing": self.h_absorbing, **product}


ABSORBING = " with an absorbing element"


def group_text(order: int, absorbing: bool, moduli: tuple[int, ...] = ()) -> str:
    return " × ".join(f"Z_{m}" for m in moduli or (order,)) + ABSORBING * absorbing


def in_symbols(group: str) -> str:
    """A group's text for a column of a table.

    >>> in_symbols(group_text(6, True))
    'Z_6 ∪ {∞}'
    """
    return group.replace(ABSORBING, " ∪ {∞}")


@dataclass(frozen=True, repr=False)
class Obstruction(Result):
    """Why no witness exists: one refutation for each value w that ∞ could carry (None: ∞ is not used).

    For three variables or more the refutations are about the table of variable `axis` against all others.
    The kernel proves them from the table, without trusting what found them (`proofs.verdicts`).
    """

    kind: str
    explanation: str
    cases: tuple[tuple[int | None, Refutation], ...] = field(repr=False)
    axis: int = 0
    smaller: tuple[tuple[int, Obstruction], ...] = field(default=(), repr=False)
    """For a claim about all orders up to that of the group: obstructions for those that counting leaves open."""
    told = ("kind", "explanation")

    def summary(self) -> str:
        return f"{self.kind}: {self.explanation}"


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """The decision for one group (`moduli` as in `Witness`), and the steps of search that it took.

    `excluded` says what an `unknown` has ruled out before its limit; `decided_by` is the procedure that came to the
    verdict, one of `PROCEDURES`, or the kinds of refutation that make up an obstruction; empty where it is `unknown`.
    """

    status: Status
    group_order: int
    absorbing: bool
    witness: Witness | None = None
    obstruction: Obstruction | None = None
    excluded: str = ""
    steps: int = 0
    moduli: tuple[int, ...] = ()
    up_to: bool = False
    """Whether a refutation, or what is not known, is about all cyclic groups of order up to `group_order`."""
    any_group: bool = False
    """Whether the question is about all finite groups: then what is refuted, or not known, is about all of order up to
    `group_order`."""
    decided_by: str = ""

    @property
    def in_class(self) -> bool:
        return self.status == "in-class"

    @property
    def group(self) -> str:
        if self.any_group:
            return f"any group up to order {self.group_order}" if self.witness is None else self.witness.group
        return ("any group up to " if self.up_to else "") + group_text(self.group_order, self.absorbing, self.moduli)

    def summary(self) -> str:
        found = self.witness or self.obstruction
        return f"{self.status} over {self.group}: {found.summary() if found else self.excluded}"

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.status,
            "group_order": self.group_order,
            "absorbing": self.absorbing,
            **({"moduli": list(self.moduli)} if self.moduli else {}),
            **({"up_to": True} if self.up_to else {}),
            "witness": self.witness.to_json() if self.witness else None,
            "obstruction": self.obstruction.to_json() if self.obstruction else None,
            "excluded": self.excluded or None,
            "steps": self.steps,
            "decided_by": self.decided_by or None,
        }
