"""A function as it is given: an expression, a table of values, a file with one, or a Python function.

Whatever takes a function asks `read_function` for it, so that all of these do wherever one of them does:

    read_function("x^2 y + 3", mod=31)             # a polynomial
    read_function("a b a^-1", group="S5")          # a word in a finite group, or an expression over a finite field
    read_function("n1/n2 in GF(81)")               # its place may stand at its end, as a modulus may
    read_function(array)                           # whole numbers, one axis for each variable
    read_function("mine.csv")                      # a table in a file (`algebra.table_files`)
    read_function(lambda a, b: a**b, mod=31)       # called with residues on every cell

Variable v takes the values 0 … sizes[v] - 1, and the function 0 … values - 1: rows, columns and values may differ in
number. A cell may be unknown, where the array has NaN, None, a mask or -1; the table has -1 there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from jaxtyping import Bool, Int

from modgrok.algebra.callables import table_of
from modgrok.algebra.cells import whole_numbers
from modgrok.algebra.expression import parse_any
from modgrok.algebra.field import check_modulus
from modgrok.algebra.fields import Field
from modgrok.algebra.groups import Group, GroupLike
from modgrok.algebra.known_tasks import task_text
from modgrok.algebra.polynomial import LARGEST_TABLE, LARGEST_WORK, evaluate, table_work, value_table
from modgrok.algebra.structure_words import chosen_structure, place_of
from modgrok.algebra.structures import Integers, Structure
from modgrok.algebra.table_files import SUFFIXES, read_table
from modgrok.algebra.trees import Tree, filled, is_polynomial, to_text, variables
from modgrok.base.errors import InputError
from modgrok.base.fixed import fixed
from modgrok.base.results import Result, field_values, json_text


@dataclass(frozen=True, eq=False, repr=False)
class Function(Result):
    """A function of `variables`, which have so many values each (`sizes`), with values in a `structure`.

    `tree` is how it is written, as a polynomial over the integers modulo m, and its table is made when it is first
    asked for; None where it was given by its values, and where it is written over another structure: there `written`
    is its tree, to be read with the structure beside it. `name` is the canonical spelling, or what a table is called;
    `source` what it was read from, as typed, and `form` what a file was taken for.

    Two functions are equal if their tables and their numbers of values are, whatever their names.
    """

    name: str
    variables: tuple[str, ...]
    sizes: tuple[int, ...]
    structure: Structure
    source: str
    tree: Tree | None = None
    given: Int[np.ndarray, "..."] | None = None
    written: Tree | None = None
    form: str = ""
    told = ("expression", "name", "variables", "sizes", "values", "known_cells", "digest")

    def __post_init__(self) -> None:
        plain = isinstance(self.structure, Integers) and (self.tree is None or is_polynomial(self.tree))
        if self.tree is not None and not plain:
            raise InputError(f"{self.name} {self.structure.words} is known by its values; make it by from_expression")
        if self.given is not None:
            object.__setattr__(self, "given", fixed(self.given))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made anew: their tables cannot be changed either, and have digests of their own."""
        return type(self), tuple(field_values(self).values())

    @property
    def expression(self) -> str | None:
        """The canonical spelling; None where it was not written as an expression."""
        return None if self.tree is None else self.name

    @property
    def values(self) -> int:
        """How many values the function may have."""
        return self.structure.order

    @property
    def modulus(self) -> int | None:
        """p, where every variable and the function have p values; None where their numbers differ."""
        return self.values if set(self.sizes) == {self.values} else None

    @property
    def square(self) -> bool:
        """Whether every variable and the function have the same number of values."""
        return self.modulus is not None

    @property
    def inputs(self) -> tuple[Structure, ...]:
        """Where each variable takes its values."""
        return tuple(self.structure if size == self.values else Integers(size) for size in self.sizes)

    @property
    def cells(self) -> int:
        return prod(self.sizes)

    @cached_property
    def table(self) -> Int[np.ndarray, "..."]:
        """The value of every cell, -1 where it is unknown."""
        if self.tree is None:
            assert self.given is not None
            return self.given
        return fixed(value_table(self.tree, self.structure, self.indices))

    @property
    def indices(self) -> tuple[int, ...]:
        """The numbers of variables n1, n2, …; variables with other names are numbered."""
        if all(name[:1] == "n" and name[1:].isdigit() for name in self.variables):
            return tuple(int(name[1:]) for name in self.variables)
        return tuple(range(1, len(self.variables) + 1))

    def at(self, rows: Int[np.ndarray, "row variable"]) -> Int[np.ndarray, "row"]:
        """The values at some rows, without the whole table where the function is written down."""
        if self.tree is None:
            return np.asarray(self.table[tuple(rows.T)])
        columns = dict(zip(self.indices, rows.T, strict=True))
        return np.broadcast_to(evaluate(self.tree, columns, self.structure), len(rows))

    @cached_property
    def known(self) -> Bool[np.ndarray, "..."] | None:
        """Which cells are known; None where all are."""
        if self.tree is not None:
            return None
        found = self.table >= 0
        return None if found.all() else found

    @property
    def known_cells(self) -> int:
        return self.cells if self.known is None else int(self.known.sum())

    @cached_property
    def digest(self) -> str:
        """A name for the table's content: equal tables have equal digests on every machine.

        Where a table would be too large, that of how the function is written.
        """
        about = json_text({"sizes": self.sizes, "values": self.values}).encode()
        work = 0 if self.tree is None else table_work(self.tree, self.values)
        small = self.cells <= LARGEST_TABLE and work <= LARGEST_WORK
        content = self.table.astype("<i8").tobytes() if small else self.name.encode()
        return hashlib.sha256(about + content).hexdigest()[:32]

    @property
    def shape_text(self) -> str:
        """How many values each variable and the function have: '30 × 40 → 17'."""
        return f"{' × '.join(map(str, self.sizes))} → {self.values}"

    @property
    def title(self) -> str:
        """The function in one phrase: 'n1 n2 mod 97', or 'mine.csv (30 × 40 → 17)'."""
        return self.titled(self.name)

    def titled(self, name: str) -> str:
        """The same with another name, such as the text that was typed, which may end with its modulus."""
        if self.tree is not None:
            return name if "mod" in name else f"{name} {self.structure.words}"
        return name if self.written is not None else f"{name} ({self.shape_text})"

    def summary(self) -> str:
        unknown = self.cells - self.known_cells
        return self.title + (f", {unknown:,} of {self.cells:,} cells unknown" if unknown else "")

    @property
    def read_as(self) -> str:
        """What a file was taken for, so that a misreading is seen; empty for what is no file."""
        unknown = self.cells - self.known_cells
        axes = " × ".join(f"{size} {name}" for name, size in zip(self.variables, self.sizes, strict=True))
        missing = f", {unknown:,} cells unknown" if unknown else ""
        return f"{self.source}: {axes}, {self.values} values{missing} ({self.form})" if self.form else ""

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Function):
            return self is other
        if (self.sizes, self.values) != (other.sizes, other.values):
            return False
        same = self.tree is not None and (self.tree, self.variables) == (other.tree, other.variables)
        return same or self.digest == other.digest

    def __hash__(self) -> int:
        return hash((self.sizes, self.values))

    def with_values(self, values: int | None) -> Function:
        """The function itself, or a table with another number of values."""
        if values in (None, self.values):
            return self
        if self.tree is not None or self.written is not None:
            raise InputError(
                f"{self.title} has {self.values} values, but {values} is given; give one of them, or the same number"
            )
        return from_table(self.table, values, self.name, self.variables)

    def with_variables(self, at_least: int) -> Function:
        """The function itself, or an expression with variables that it does not mention."""
        if len(self.sizes) >= at_least:
            return self
        if self.written is not None:
            return over_structure(self.written, self.structure, at_least)
        if self.tree is None:
            raise InputError(
                f"a function of {at_least} variables or more is needed here, got one of {len(self.sizes)}: "
                f"{self.summary()}; give a table with an axis for each variable"
            )
        axes = filled(self.indices, at_least)
        return replace(self, variables=tuple(f"n{k}" for k in axes), sizes=(self.values,) * at_least)


FunctionLike: TypeAlias = str | Path | np.ndarray | Sequence[Any] | Callable[..., Any] | Function
"""An expression, a table, the path of one, or a Python function: what every verb takes."""


def read_function(
    function: FunctionLike,
    mod: int | None = None,
    *,
    group: GroupLike | None = None,
    field: int | Field | None = None,
    sizes: Sequence[int] | None = None,
    at_least: int = 1,
) -> Function:
    """The function that is meant by an expression, a table, a file or a Python function.

    Args:
        function: an expression such as "x^2 y + 3", which may end with its modulus ("mod 97") or its structure ("in
            S5", "in GF(81)"); the name of a task (`mg.tasks`); an array of whole numbers with an axis for each
            variable; the path of a .csv, .npy or .parquet file; or a Python function, which is called with residues
            and whose values are reduced modulo `mod` where that is given (None is an unknown cell).
        mod: the modulus. Of a table, the number of its values: by default its length where all axes have one length
            and all values are below it, else the largest value and one.
        group: the finite group that a word such as "a b a^-1" has its values in: its name, its table or a `Group`.
        field: the number of elements of the finite field that an expression has its values in.
        sizes: how many values each variable of a Python function has; `mod` each if not given.
        at_least: how many variables there must be; an expression gets those that it does not mention.

    Returns:
        A `Function`: `.table` (made when it is first asked for), `.sizes`, `.values`, `.modulus`, `.known`.

    >>> read_function([[0, 1, 2], [1, 2, 3]])
    <Function: table 60f358 (2 × 3 → 4)>
    >>> read_function(lambda a, b: a * b, mod=5).table[3, 4]
    np.int64(2)
    """
    structure = chosen_structure(mod, group, field)
    if isinstance(structure, Structure) and not (isinstance(function, Function) or is_expression(function)):
        raise InputError(f"expressions have their values {structure.words}, and tables their own; give 'a b', say")
    if isinstance(function, Function):
        if isinstance(structure, Structure) and structure != function.structure:
            raise InputError(f"{function.title} does not have its values {structure.words}; leave one of them out")
        found = function.with_values(mod)
    elif is_expression(function):
        found = from_expression(task_text(function, structure), structure)
    elif isinstance(function, (str, Path)):
        read = read_table(function)
        whole = from_table(read.table, mod, read.path.name, read.variables, str(read.path))
        found = replace(whole, form=read.form)
    elif callable(function):
        found = from_callable(function, mod, sizes)
    else:
        found = from_array(function, mod)
    if sizes is not None and not callable(function):
        raise InputError(f"sizes are for Python functions, got {tuple(sizes)}; a table has its own")
    return found.with_variables(at_least)


# ---------------------------------------------------------------------------------------------- expressions


def is_expression(function: object) -> TypeGuard[str]:
    """Whether it is the text of a polynomial, and not the path of a table."""
    return isinstance(function, str) and Path(function).suffix.lower() not in SUFFIXES


def from_expression(text: str, mod: int | Structure | None) -> Function:
    """The function of a text, modulo a number or in a structure, which may be given or stand at its end.

    Whoever reads a tree (compiler, kernel, orders of residues, files) takes it for a polynomial over the integers
    modulo m. What is written over another structure, and what is no polynomial, is therefore known by its table, and
    by the name it has there.
    """
    reading = parse_any(text)
    structure = place_of(text, reading, mod)
    if not isinstance(structure, Integers) or not is_polynomial(reading.tree):
        return over_structure(reading.tree, structure)
    names = tuple(f"n{k}" for k in variables(reading.tree))
    return Function(to_text(reading.tree), names, (structure.order,) * len(names), structure, text, tree=reading.tree)


def over_structure(tree: Tree, structure: Structure, at_least: int = 1) -> Function:
    """A function that is known by its table; variables of words in groups are a, b, c."""
    if structure.order < 2:
        raise InputError(f"a function has at least 2 values, got {structure.elements}; take a larger structure")
    axes = filled(variables(tree), at_least)
    letters = "abc" if isinstance(structure, Group) and axes[-1] <= 3 else ""
    names = tuple(letters[k - 1] if letters else f"n{k}" for k in axes)
    name = f"{to_text(tree, letters)} {structure.words}"
    values = value_table(tree, structure, axes)
    if values.max() < 0:
        raise InputError(f"{name} has no value anywhere; what is divided by is never 0 in a function that is learned")
    return Function(name, names, values.shape, structure, name, given=values, written=tree)


def table(
    expression: str, mod: int | None = None, *, group: GroupLike | None = None, field: int | Field | None = None
) -> Int[np.ndarray, "p ..."]:
    """The values of an expression on every input.

    Args:
        expression: a polynomial, or any other expression, which may end with its modulus or its structure.
        mod: the modulus.
        group: the finite group in which it has its values.
        field: how many elements the finite field has.

    Returns:
        Whole numbers, with one axis for each variable that occurs, in rising order; -1 where there is no value.

    >>> table("n1 n2 + 3", mod=5)[4, 2]
    np.int64(1)
    >>> table("1/x", mod=5)
    array([-1,  1,  3,  2,  4])
    """
    return from_expression(expression, chosen_structure(mod, group, field)).table


# --------------------------------------------------------------------------------------------------- tables


def from_array(given: Any, mod: int | None) -> Function:
    lists = isinstance(given, (list, tuple))  # which may hold None
    array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object if lists else None)
    if array.ndim == 0:
        raise InputError(f"a function is an expression, a table or a Python function, got {given!r}")
    if lists and any(isinstance(cell, (list, tuple)) for cell in array.flat):
        raise InputError("the rows of the table differ in length; give as many cells in each, None for unknown ones")
    table = whole_numbers(array, "the table", lambda cell: f"cell {cell}")
    return from_table(table, mod, "")


def from_table(
    table: Int[np.ndarray, "..."],
    mod: int | None,
    name: str,
    names: tuple[str, ...] = (),
    where: str = "the table",
) -> Function:
    """The function of a checked table, -1 in the cells that are unknown; without a name, its digest names it."""
    if min(table.shape) < 2:
        shape = " × ".join(map(str, table.shape))
        raise InputError(f"{where} must have at least 2 values of each variable, got the shape {shape}")
    if table.size > LARGEST_TABLE:
        raise InputError(f"{where} has {table.size:,} cells, above the limit of {LARGEST_TABLE:,}")
    largest = int(table.max())
    if largest < 0:
        raise InputError(f"{where} has no known cell; give at least one value")
    allowed = table.size if mod is None else check_modulus(mod)
    if largest >= allowed:
        cell = tuple(int(k) for k in np.unravel_index(table.argmax(), table.shape))
        limit = f"below the {allowed:,} cells of the table" if mod is None else Integers(allowed).elements
        raise InputError(f"{where}: values must be {limit}, got {largest} in cell {cell}; number them 0, 1, 2, …")
    square = len(set(table.shape)) == 1 and largest < table.shape[0]
    values = mod if mod is not None else table.shape[0] if square else max(2, largest + 1)
    axes = names or tuple(f"n{axis + 1}" for axis in range(table.ndim))
    found = Function(name, axes, tuple(map(int, table.shape)), Integers(int(values)), name, given=table)
    return found if name else named_by_digest(found, "table")


def named_by_digest(function: Function, kind: str) -> Function:
    name = f"{kind} {function.digest[:6]}"
    return replace(function, name=name, source=name)


def from_callable(function: Callable[..., Any], mod: int | None, sizes: Sequence[int] | None) -> Function:
    """The table of a Python function, cell by cell."""
    modulus = None if mod is None else check_modulus(mod)
    values = table_of(function, modulus, sizes)
    name = getattr(function, "__name__", "")  # "<lambda>" is none
    found = from_table(values, modulus, name if name.isidentifier() else "", where="the function")
    return found if name.isidentifier() else named_by_digest(found, "function")
