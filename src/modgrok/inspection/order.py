"""The one order of residues: where residues and classes must lie on a circle for a function's weights to be waves.

In the analytical solution of h(g_1(n_1) + … + g_S(n_S)) over Z_m the weights that read n_s are cosines of the place
g_s(n_s), and those of class q are cosines of the places t with h(t) = q. So periodicity is measured in an order, and
whatever measures it (training, census, inspection, report) asks `function_order` or `table_order` for it:

    additive         places are the residues themselves: sums with coefficients
    multiplicative   places are discrete logarithms, zero has none: monomials
    witness          places are those of g and h: any other function of the form, however it is spelled

A function in no known family gets the additive order, or the multiplicative one if it is 0 wherever a variable is. A
word in a group that is not cyclic has the order called none: its elements lie on no circle, so no weights are waves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Int

from modgrok.algebra.expression import parse
from modgrok.algebra.field import check_prime, exp_table, is_prime, log_table
from modgrok.algebra.function import Function
from modgrok.algebra.groups import Group, cyclic_logarithms
from modgrok.algebra.polynomial import LARGEST_TABLE, value_table
from modgrok.algebra.trees import Tree, variable_names
from modgrok.base.errors import InputError, check_choice
from modgrok.compiler.choosing import witnesses
from modgrok.compiler.plan import plan_by_shape, plan_by_terms, witness_tables
from modgrok.separable.verdict import Witness

ORDER_NAMES = ("auto", "additive", "multiplicative", "witness")
NO_ORDER = "none"
SOME_CELLS = 64
"""Cells that tell most slopes to be wrong."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Places on a circle: residue i of input s lies at tables[s, i], class outputs[t] at t.

    A negative place means none: the residue takes no part (zero in a product).
    """

    period: int
    tables: Int[np.ndarray, "term p"]
    outputs: Int[np.ndarray, "period"]
    """-1 where no sum of inputs lands."""

    @classmethod
    def of(cls, witness: Witness) -> Labels:
        """The places of a witness over a cyclic group."""
        outputs = np.array([-1 if value is None else value for value in witness.h])
        return cls(witness.group_order, witness_tables(witness), outputs)

    @property
    def reached(self) -> Int[np.ndarray, "place"]:
        """The places that have a class."""
        return np.flatnonzero(self.outputs >= 0)

    @property
    def classes(self) -> Int[np.ndarray, "class"]:
        """The classes that have a place."""
        return np.unique(self.outputs[self.reached])


class Places(NamedTuple):
    """Places as arrays, for measuring: axes are the variables and then the classes.

    Residue i of an axis lies at place[axis, i] of a circle with period[axis] places. Both are -1 where there is none:
    weights over squares, say, are no wave in any order of the residues.
    """

    place: Int[Array, "axis p"] | Int[np.ndarray, "axis p"]
    period: Int[Array, "axis"] | Int[np.ndarray, "axis"]


@dataclass(frozen=True, eq=False)
class Order:
    """A named order of residues for the inputs and the output of a function."""

    name: str
    labels: Labels
    circles: tuple[tuple[Int[np.ndarray, "p"], int] | None, ...] = ()
    """Where each axis lies, where that is not what the labels say."""
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        p = self.labels.tables.shape[1]
        axes = list(self.circles) or [
            *(circle_of_input(table, self.labels.period) for table in self.labels.tables),
            circle_of_output(self.labels.outputs, p),
        ]
        none = np.full(p, -1)
        place = np.stack([none if found is None else found[0] for found in axes])
        period = np.array([-1 if found is None else found[1] for found in axes])
        object.__setattr__(self, "places", Places(place, period))

    def axes(self, names: list[str]) -> list[str]:
        """Which of the variables, and of the readout, have places."""
        return [name for name, period in zip([*names, "readout"], self.places.period, strict=True) if period > 0]


def circle_of_input(table: Int[np.ndarray, "p"], period: int) -> tuple[Int[np.ndarray, "p"], int] | None:
    """Places along which every cosine of 2πf·table/period is one cosine; None if there are no such places.

    A table that takes every place once will do. So will one that is k-to-1 onto a coset c + kZ of the circle, as n² is
    in logarithms: with table = c + kℓ the fibre of ℓ gets the places ℓ, ℓ + m/k, ℓ + 2m/k, …, and cosines at f become
    cosines at kf.
    """
    placed = np.flatnonzero(table >= 0)
    values, fibres, counts = np.unique(table[placed], return_inverse=True, return_counts=True)
    k = int(counts[0]) if len(counts) else 0
    if not k or (counts != k).any() or k * len(values) != period or ((values - values[0]) % k).any():
        return None
    place = np.full(len(table), -1)
    for fibre in range(len(values)):
        members = placed[fibres == fibre]
        place[members] = (values[fibre] - values[0]) // k + np.arange(k) * (period // k)
    return place, period


def circle_of_output(outputs: Int[np.ndarray, "period"], classes: int) -> tuple[Int[np.ndarray, "p"], int] | None:
    """The place of each class where h repeats with some period m' and takes every value once within it; else None."""
    values, counts = np.unique(outputs, return_counts=True)
    once = len(values)
    if values[0] < 0 or (counts != counts[0]).any() or (outputs != np.resize(outputs[:once], len(outputs))).any():
        return None
    place = np.full(classes, -1)
    place[outputs[:once]] = np.arange(once)
    return (place, once) if once > 1 else None


# ------------------------------------------------------------------------------------------ the two natural orders


def natural_order(name: str, p: int, terms: int) -> Order:
    """The order called additive or multiplicative: residues, or discrete logarithms, where zero has no place."""
    if name == "multiplicative":
        check_prime(p, "for the multiplicative order")
        logarithms = np.where(np.arange(p) > 0, log_table(p), -1)
        return Order(name, Labels(p - 1, np.tile(logarithms, (terms, 1)), np.array(exp_table(p))))
    return Order("additive", Labels(p, np.tile(np.arange(p), (terms, 1)), np.arange(p)))


def sized_order(sizes: Sequence[int], classes: int) -> Order:
    """The additive order of variables and classes that may differ in number: each lies on a circle of its own."""
    if set(sizes) == {classes}:
        return natural_order("additive", classes, len(sizes))
    p = max(*sizes, classes)

    def circle(count: int) -> Int[np.ndarray, "p"]:
        return np.where(np.arange(p) < count, np.arange(p), -1)

    labels = Labels(p, np.stack([circle(size) for size in sizes]), circle(classes))
    return Order("additive", labels, tuple((circle(size), size) for size in (*sizes, classes)))


# ------------------------------------------------------------------------------------------ the order of a function


def order_of(function: Function, name: str = "auto") -> Order:
    """The order of a function: of an expression, which tells more, or of a table."""
    if name == "auto" and (group := group_of_word(function)) is not None:
        nowhere = np.full(group.order, -1)
        return Order(NO_ORDER, Labels(group.order, np.stack([nowhere] * len(function.sizes)), nowhere))
    if function.tree is None:
        return order_of_table(function, name)
    return tree_order(function.tree, function.values, name)


def witness_of(function: Function) -> Labels | None:
    """The places g_s(n_s) and h of a function; None where none are known."""
    return table_witness(function) if function.tree is None else tree_witness(function.tree, function.values)


@lru_cache(maxsize=64)
def table_witness(function: Function) -> Labels | None:
    """The places that the decision finds for a table modulo one number, which agree with all of its known cells; None
    where it finds none."""
    found = witness_labels(function.table) if function.square else None
    if found is None and function.square and function.known is not None and (form := natural_form(function.table)):
        _, found = form
    return None if found is None or found.period < 2 else found


@lru_cache(maxsize=64)
def order_of_table(function: Function, name: str = "auto") -> Order:
    """The order of a table, which may have unknown cells and different numbers of rows, columns and values."""
    if function.square:
        return table_order(function.table, name)
    if name not in ("auto", "additive"):
        raise InputError(f"the order {name} is for tables modulo one number, got {function.summary()}; give auto")
    return sized_order(function.sizes, function.values)


def group_of_word(function: Function) -> Group | None:
    """The group, not cyclic, that a function is a word in; None for other functions."""
    group = function.structure
    if not isinstance(group, Group) or function.written is None or cyclic_logarithms(group.table) is not None:
        return None
    return group


def function_order(expression: str, modulus: int, name: str = "auto") -> Order:
    """The order of an expression; "auto" finds it, any other name asks for that one."""
    return tree_order(parse(expression, modulus), modulus, name)


@lru_cache(maxsize=64)
def tree_order(tree: Tree, modulus: int, name: str) -> Order:
    return chosen_order(name, modulus, len(variable_names(tree)), lambda: own_order(tree, modulus))


def table_order(table: Int[np.ndarray, "p ..."], name: str = "auto") -> Order:
    """The order of a value table with one axis for each variable, all modulo its length; unknown cells are negative.

    A table does not always tell as much as an expression: where g_1 takes the places of a subgroup alone, as x² does in
    logarithms, nothing says how its cosets lie to each other, and any witness is as good.
    """

    def own() -> Order:
        form = natural_form(table)
        natural = None if form is None else natural_order(form[0], len(table), table.ndim)
        return natural or named_order(witness_labels(table)) or fallback(table)

    return chosen_order(name, len(table), table.ndim, own)


def chosen_order(name: str, modulus: int, terms: int, own: Callable[[], Order]) -> Order:
    check_choice("order", name, ORDER_NAMES)
    if name in ("additive", "multiplicative"):
        return natural_order(name, modulus, terms)
    found = own()
    if name == "witness" and found.name != "witness":
        raise InputError(f"the order called witness is for functions that need it; this one has the order {found.name}")
    return found


def own_order(tree: Tree, modulus: int) -> Order:
    """From a plan of one expert for the expression, else from the witness of the decision, else a natural order."""
    terms = len(variable_names(tree))
    found = named_order(own_labels(tree, modulus))
    if found is not None or modulus**terms > LARGEST_TABLE:
        return found or natural_order("additive", modulus, terms)
    return fallback(value_table(tree, modulus))


@lru_cache(maxsize=64)
def tree_witness(tree: Tree, modulus: int) -> Labels | None:
    """The places g_s(n_s) and h of an expression as they are, with h(Σ g_s) its values; None where none are known.

    `function_order` forgets what a natural order need not know: coefficients, exponents, constants. Here they are part
    of the places. A variable that the function does not depend on lies at place 0.
    """
    found = own_labels(tree, modulus)
    if found is None:
        return None
    unread = (found.tables < 0).all(axis=1, keepdims=True)
    return Labels(found.period, np.where(unread, 0, found.tables), found.outputs)


def own_labels(tree: Tree, modulus: int) -> Labels | None:
    """The places of a plan of one expert, else of the decision's witness, on a circle of at least two places."""
    found = plan_labels(tree, modulus)
    if (found is None or found.period < 2) and modulus ** len(variable_names(tree)) <= LARGEST_TABLE:
        found = witness_labels(value_table(tree, modulus))
    return None if found is None or found.period < 2 else found


def plan_labels(tree: Tree, modulus: int) -> Labels | None:
    """The places of one expert that computes the whole function, as typed or by its terms; None if there is none.

    A variable that the expert does not read has no places.
    """
    for make in (plan_by_shape, plan_by_terms):
        try:
            plan = make(tree, modulus, flat=True)
        except InputError:
            continue
        if len(plan.steps) == 1:
            (step,) = plan.steps
            tables = np.full((len(plan.names), modulus), -1)
            tables[list(step.inputs)] = step.tables
            return Labels(step.order, tables, step.outputs)
    return None


def witness_labels(table: Int[np.ndarray, "p ..."]) -> Labels | None:
    """The places that the decision finds for a function of two variables; None if it finds no witness.

    A function of one variable is the sum of one term, as it is to the compiler.
    """
    if table.ndim == 1:
        return Labels(len(table), table[None], np.arange(len(table)))
    if table.ndim != 2:
        return None
    return next(map(Labels.of, witnesses(table, len(table))), None)


def named_order(labels: Labels | None) -> Order | None:
    """The natural order that these places are multiples of, else the order called witness."""
    if labels is None or labels.period < 2:
        return None
    terms, modulus = labels.tables.shape
    for name in ("additive", "multiplicative") if is_prime(modulus) and modulus > 2 else ("additive",):
        natural = natural_order(name, modulus, terms)
        if is_affine(labels, natural.labels):
            return natural
    return Order("witness", labels)


def is_affine(labels: Labels, natural: Labels) -> bool:
    """Are the places multiples of the natural ones, up to shifts, for every input and for the output?"""
    if labels.period != natural.period:
        return False
    pairs = list(zip(labels.tables, natural.tables, strict=True))
    place = np.full(natural.tables.shape[1], -1)
    place[natural.outputs] = np.arange(natural.period)
    pairs.append((place[labels.outputs], np.arange(labels.period)))
    for own, usual in pairs:
        if ((own < 0) != (usual < 0)).any():
            return False
        along = own[np.argsort(usual)][(usual < 0).sum() :]
        if len(np.unique(np.diff(along) % labels.period)) > 1:
            return False
    return True


def natural_form(table: Int[np.ndarray, "p ..."]) -> tuple[str, Labels] | None:
    """The natural order in which the known cells of a table are c + Σ_v c_v n_v, or a product c Π_v n_v^a_v, and the
    places of that form; else None."""
    p, n, known = len(table), np.indices(table.shape), table >= 0
    for name in ("additive", "multiplicative") if table.ndim > 1 and is_prime(p) and p > 2 else ("additive",):
        natural = natural_order(name, p, table.ndim)
        place = np.full(p, -1)
        place[natural.labels.outputs] = np.arange(natural.labels.period)
        places = natural.labels.tables[0][n]
        placed, value = known & (places >= 0).all(axis=0), place[table]
        if (value[placed] < 0).any() or (table[known & ~placed] != 0).any() or not placed.any():
            continue
        slopes = [slope(value, along, placed, axis, natural.labels.period) for axis, along in enumerate(places)]
        if None not in slopes:
            rest = (value - np.tensordot(np.array(slopes), places, 1))[placed] % natural.labels.period
            if (rest == rest[0]).all():
                tables = natural.labels.tables
                own = np.where(tables < 0, -1, np.array(slopes)[:, None] * tables % natural.labels.period)
                return name, Labels(natural.labels.period, own, np.roll(natural.labels.outputs, -rest[0]))
    return None


def slope(
    value: Int[np.ndarray, "..."],
    along: Int[np.ndarray, "..."],
    placed: Bool[np.ndarray, "..."],
    axis: int,
    period: int,
) -> int | None:
    """By how much the values rise along an axis for each place, in all lines alike; None if they do not."""
    first = placed.argmax(axis=axis, keepdims=True)
    rise = (value - np.take_along_axis(value, first, axis))[placed]
    run = (along - np.take_along_axis(along, first, axis))[placed]
    few = np.random.default_rng(0).integers(0, len(rise), SOME_CELLS)
    fitting = (each for each in range(period) if not ((rise[few] - each * run[few]) % period).any())
    return next((each for each in fitting if not ((rise - each * run) % period).any()), None)


def fallback(table: Int[np.ndarray, "p ..."]) -> Order:
    """Logarithms for a function that is 0 wherever a variable is, as far as it is known, modulo a prime; else the
    residues themselves."""
    modulus, variables = len(table), table.ndim
    if variables < 2 or not is_prime(modulus):
        return natural_order("additive", modulus, variables)
    absorbs = all(not np.any(np.take(table, 0, axis=v) > 0) for v in range(variables))
    return natural_order("multiplicative" if absorbs and modulus > 2 else "additive", modulus, variables)
