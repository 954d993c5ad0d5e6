"""A function as it is given: an expression, a table of values, a file with one, or a Python function.

Whatever takes a function asks `read_function` for it, so that all of these do wherever one of them does:

    read_function("x^2 y + 3", mod=31)             # a polynomial
    read_function(array)                           # whole numbers, one axis for each variable
    read_function("mine.csv")                      # a table in a file (`algebra.table_files`)
    read_function(lambda a, b: a**b, mod=31)       # called with residues on every cell

Variable v takes the values 0 … sizes[v] - 1, and the function 0 … values - 1: rows, columns and values may differ in
number. A cell may be unknown, where the array has NaN, None, a mask or -1; the table has -1 there.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, islice, product
from math import prod
from operator import index
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from jaxtyping import Bool, Int

from modgrok.algebra.expression import Tree, parse_with_modulus, read, to_text, variable_names
from modgrok.algebra.field import check_modulus
from modgrok.algebra.polynomial import LARGEST_TABLE, LARGEST_WORK, evaluate, table_work, value_table
from modgrok.algebra.structures import Integers, Structure
from modgrok.algebra.table_files import SUFFIXES, UNKNOWN, TableFile, read_table, whole_numbers
from modgrok.base.errors import InputError
from modgrok.base.results import Result, json_text


@dataclass(frozen=True, eq=False, repr=False)
class Function(Result):
    """A function of `variables`, which have so many values each (`sizes`), with values in a `structure`.

    `tree` is how it is written, as a polynomial over the integers modulo m, and its table is made when it is first
    asked for; None where it was given by its values, and where it is written over another structure. `name` is the
    canonical spelling, or what a table is called; `source` what it was read from, as typed.

    Two functions are equal if their tables and their numbers of values are, whatever their names.
    """

    name: str
    variables: tuple[str, ...]
    sizes: tuple[int, ...]
    structure: Structure
    source: str
    tree: Tree | None = None
    given: Int[np.ndarray, "..."] | None = None

    def __post_init__(self) -> None:
        if self.tree is not None and not isinstance(self.structure, Integers):
            raise InputError(f"{self.name} {self.structure.words} is known by its values; make it by from_expression")

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
        return value_table(self.tree, self.structure, self.indices)

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
        return f"{name} ({self.shape_text})" if self.tree is None else f"{name} {self.structure.words}"

    def summary(self) -> str:
        unknown = self.cells - self.known_cells
        return self.title + (f", {unknown:,} of {self.cells:,} cells unknown" if unknown else "")

    def to_json(self) -> dict[str, Any]:
        """What the function is; its table is known by its digest."""
        names = ("expression", "name", "variables", "sizes", "values", "known_cells", "digest")
        return {name: list(x) if isinstance(x := getattr(self, name), tuple) else x for name in names}

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
        if self.tree is not None:
            raise InputError(f"{self.title} has a modulus, but {values} is given; give one of them, or the same number")
        return from_table(self.table, values, self.name, self.variables)

    def with_variables(self, at_least: int) -> Function:
        """The function itself, or an expression with variables that it does not mention."""
        if len(self.sizes) >= at_least:
            return self
        if self.tree is None:
            raise InputError(
                f"a function of {at_least} variables or more is needed here, got one of {len(self.sizes)}: "
                f"{self.summary()}; give a table with an axis for each variable"
            )
        others = (k for k in count(1) if k not in self.indices)
        axes = sorted((*self.indices, *islice(others, at_least - len(self.sizes))))
        return replace(self, variables=tuple(f"n{k}" for k in axes), sizes=(self.values,) * at_least)


FunctionLike: TypeAlias = str | Path | np.ndarray | Sequence[Any] | Callable[..., Any] | Function
"""An expression, a table, the path of one, or a Python function: what every verb takes."""


def read_function(
    function: FunctionLike, mod: int | None = None, *, sizes: Sequence[int] | None = None, at_least: int = 1
) -> Function:
    """The function that is meant by an expression, a table, a file or a Python function.

    Args:
        function: a polynomial such as "x^2 y + 3", which may end with its modulus; an array of whole numbers with an
            axis for each variable; the path of a .csv, .npy or .parquet file; or a Python function, which is called
            with residues and whose values are reduced modulo `mod` where that is given (None is an unknown cell).
        mod: the modulus. Of a table, the number of its values: by default its length where all axes have one length
            and all values are below it, else the largest value and one.
        sizes: how many values each variable of a Python function has; `mod` each if not given.
        at_least: how many variables there must be; an expression gets those that it does not mention.

    Returns:
        A `Function`: `.table` (made when it is first asked for), `.sizes`, `.values`, `.modulus`, `.known`.

    >>> read_function([[0, 1, 2], [1, 2, 3]])
    <Function: table 60f358 (2 × 3 → 4)>
    >>> read_function(lambda a, b: a * b, mod=5).table[3, 4]
    np.int64(2)
    """
    if isinstance(function, Function):
        found = function.with_values(mod)
    elif is_expression(function):
        found = from_expression(function, mod)
    elif isinstance(function, (str, Path)):
        found = from_file(read_table(function), mod)
    elif callable(function):
        found = from_callable(function, mod, sizes)
    else:
        found = from_array(function, mod)
    if sizes is not None and not callable(function):
        raise InputError(f"sizes are for Python functions, got {tuple(sizes)}; a table has its own")
    return found.with_variables(at_least)


# ---------------------------------------------------------------------------------------------- expressions


def is_expression(function: Any) -> TypeGuard[str]:
    """Whether it is the text of a polynomial, and not the path of a table."""
    return isinstance(function, str) and Path(function).suffix.lower() not in SUFFIXES


def from_expression(text: str, mod: int | Structure | None) -> Function:
    """The function of a text, modulo a number or in a structure.

    Whoever reads a tree (compiler, kernel, orders of residues, files) takes it for a polynomial over the integers
    modulo m. What is written over another structure is therefore known by its table, and by the name it has there.
    """
    if isinstance(mod, Structure) and not isinstance(mod, Integers):
        return over_structure(text, mod)
    tree, modulus = read(text, mod.order if isinstance(mod, Integers) else mod)
    names = tuple(variable_names(tree))
    return Function(to_text(tree), names, (modulus,) * len(names), Integers(modulus), text, tree)


def over_structure(text: str, structure: Structure) -> Function:
    tree, written = parse_with_modulus(text)
    if written is not None:
        raise InputError(f"{text} has a modulus, and its values are to be {structure.elements}; leave one of them out")
    name, names = f"{to_text(tree)} {structure.words}", tuple(variable_names(tree))
    sizes = (structure.order,) * len(names)
    return Function(name, names, sizes, structure, name, given=value_table(tree, structure))


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


def from_file(found: TableFile, mod: int | None) -> Function:
    return from_table(found.table, mod, found.path.name, found.variables, str(found.path))


def from_table(
    table: Int[np.ndarray, "..."],
    mod: int | None,
    name: str,
    names: tuple[str, ...] = (),
    where: str = "the table",
) -> Function:
    """The function of a checked table, -1 in the cells that are unknown; without a name, its digest names it."""
    if min(table.shape) < 2:
        raise InputError(f"{where} must have at least 2 values of each variable, got the shape {shape_text(table)}")
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


def shape_text(table: Int[np.ndarray, "..."]) -> str:
    return " × ".join(map(str, table.shape))


# ----------------------------------------------------------------------------------------- Python functions


def from_callable(function: Callable[..., Any], mod: int | None, sizes: Sequence[int] | None) -> Function:
    """The table of a Python function, cell by cell."""
    modulus = None if mod is None else check_modulus(mod)
    if sizes is not None:
        shape = tuple(map(check_modulus, sizes))
    elif modulus is not None:
        shape = (modulus,) * arguments(function)
    else:
        raise InputError(
            "a Python function needs a modulus: give mod=97, or sizes=(30, 40) for other numbers of values"
        )
    if (cells := prod(shape)) > LARGEST_TABLE:
        raise InputError(f"a table of {cells:,} values is above the limit of {LARGEST_TABLE:,}; use smaller sizes")
    flat = [value_at(function, cell, modulus) for cell in product(*map(range, shape))]
    table = np.array(flat, dtype=np.int64).reshape(shape)
    name = getattr(function, "__name__", "")  # "<lambda>" is none
    found = from_table(table, modulus, name if name.isidentifier() else "", where="the function")
    return found if name.isidentifier() else named_by_digest(found, "function")


def arguments(function: Callable[..., Any]) -> int:
    """How many values a Python function takes."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        taken = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds and p.default is p.empty]
    except (TypeError, ValueError):
        taken = []
    if not taken:
        raise InputError(
            "the function does not say how many values it takes; give lambda a, b: f(a, b), or "
            "mg.read_function(f, sizes=(97, 97))"
        )
    return len(taken)


def value_at(function: Callable[..., Any], cell: tuple[int, ...], modulus: int | None) -> int:
    """The value at a cell as a whole number, modulo `modulus` if given; `UNKNOWN` where the function gives None."""
    try:
        value = function(*cell)
    except Exception as error:
        raise InputError(f"the function failed at {cell}: {type(error).__name__}: {error}") from error
    if value is None:
        return UNKNOWN
    try:
        number = index(value)
    except TypeError:
        raise InputError(f"values must be whole numbers, the function gives {value!r} at {cell}") from None
    if modulus is None and not 0 <= number < LARGEST_TABLE:
        raise InputError(f"values must be from 0 on, the function gives {number} at {cell}; give mod= to reduce them")
    return number if modulus is None else Integers(modulus).constant(number)
