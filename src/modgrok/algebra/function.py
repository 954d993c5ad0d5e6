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
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product
from math import prod
from operator import index
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from modgrok.algebra.expression import Tree, parse, read, to_text, variables
from modgrok.algebra.field import check_modulus
from modgrok.algebra.polynomial import LARGEST_TABLE, value_table
from modgrok.algebra.table_files import SUFFIXES, UNKNOWN, TableFile, read_table, whole_numbers
from modgrok.base.errors import InputError
from modgrok.base.results import Result, json_text


@dataclass(frozen=True, eq=False, repr=False)
class Function(Result):
    """A function with its whole table; `expression` is None where it was not written as one.

    Two functions are equal if their tables and their numbers of values are, whatever their names.
    """

    expression: str | None
    name: str
    variables: tuple[str, ...]
    sizes: tuple[int, ...]
    values: int
    table: Int[np.ndarray, "..."]

    @property
    def modulus(self) -> int | None:
        """p, where every variable and the function have p values; None where their numbers differ."""
        return self.values if set(self.sizes) == {self.values} else None

    @property
    def square(self) -> bool:
        """Whether every variable and the function have the same number of values."""
        return self.modulus is not None

    @property
    def tree(self) -> Tree | None:
        return None if self.expression is None else parse(self.expression, self.modulus)

    @cached_property
    def known(self) -> Bool[np.ndarray, "..."] | None:
        """Which cells are known; None where all are."""
        found = self.table >= 0
        return None if found.all() else found

    @property
    def known_cells(self) -> int:
        return self.table.size if self.known is None else int(self.known.sum())

    @cached_property
    def digest(self) -> str:
        """A name for the table's content: equal tables have equal digests on every machine."""
        about = json_text({"sizes": self.sizes, "values": self.values}).encode()
        return hashlib.sha256(about + self.table.astype("<i8").tobytes()).hexdigest()[:32]

    @property
    def shape_text(self) -> str:
        """How many values each variable and the function have: '30 × 40 → 17'."""
        return f"{' × '.join(map(str, self.sizes))} → {self.values}"

    @property
    def title(self) -> str:
        """The function in one phrase: 'n1 n2 mod 97', or 'mine.csv (30 × 40 → 17)'."""
        return f"{self.name} ({self.shape_text})" if self.expression is None else f"{self.name} mod {self.values}"

    def summary(self) -> str:
        unknown = self.table.size - self.known_cells
        return self.title + (f", {unknown:,} of {self.table.size:,} cells unknown" if unknown else "")

    def to_json(self) -> dict[str, Any]:
        """What the function is; its table is known by its digest."""
        names = ("expression", "name", "variables", "sizes", "values", "known_cells", "digest")
        return {name: list(x) if isinstance(x := getattr(self, name), tuple) else x for name in names}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@runtime_checkable
class Given(Protocol):
    """What says which function is meant, as a network and the config of a training do."""

    @property
    def expression(self) -> str: ...
    @property
    def modulus(self) -> int: ...
    @property
    def function(self) -> Function | None: ...


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
        A `Function`: `.table`, `.sizes`, `.values`, `.modulus`, `.known`.

    >>> read_function([[0, 1, 2], [1, 2, 3]])
    <Function: table 60f358 (2 × 3 → 4)>
    >>> read_function(lambda a, b: a * b, mod=5).table[3, 4]
    np.int64(2)
    """
    if isinstance(function, Function):
        found = again(function, mod, at_least)
    elif is_expression(function):
        found = from_expression(function, mod, at_least)
    elif isinstance(function, (str, Path)):
        found = from_file(read_table(function), mod)
    elif callable(function):
        found = from_callable(function, mod, sizes)
    else:
        found = from_array(function, mod)
    if sizes is not None and not callable(function):
        raise InputError(f"sizes are for Python functions, got {tuple(sizes)}; a table has its own")
    if len(found.sizes) < at_least:
        raise InputError(
            f"a function of {at_least} variables or more is needed here, got one of {len(found.sizes)}: "
            f"{found.summary()}; give a table with an axis for each variable"
        )
    return found


# ---------------------------------------------------------------------------------------------- expressions


def is_expression(function: Any) -> TypeGuard[str]:
    """Whether it is the text of a polynomial, and not the path of a table."""
    return isinstance(function, str) and Path(function).suffix.lower() not in SUFFIXES


def from_expression(text: str, mod: int | None, at_least: int = 1) -> Function:
    tree, modulus = read(text, mod)
    axes = variables(tree)
    others = (k for k in count(1) if k not in variables(tree))
    while len(axes) < at_least:
        axes = tuple(sorted((*axes, next(others))))
    table, written = value_table(tree, modulus, axes), to_text(tree)
    return Function(written, written, tuple(f"n{k}" for k in axes), table.shape, modulus, table)


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
        limit = f"below the {allowed:,} cells of the table" if mod is None else f"residues 0 … {allowed - 1}"
        raise InputError(f"{where}: values must be {limit}, got {largest} in cell {cell}; number them 0, 1, 2, …")
    square = len(set(table.shape)) == 1 and largest < table.shape[0]
    values = mod if mod is not None else table.shape[0] if square else max(2, largest + 1)
    axes = names or tuple(f"n{axis + 1}" for axis in range(table.ndim))
    found = Function(None, name, axes, tuple(map(int, table.shape)), int(values), table)
    return found if name else named_by_digest(found, "table")


def named_by_digest(function: Function, kind: str) -> Function:
    name = f"{kind} {function.digest[:6]}"
    return Function(None, name, function.variables, function.sizes, function.values, function.table)


def again(function: Function, mod: int | None, at_least: int) -> Function:
    """The function itself; a table with another number of values, an expression with more variables, where asked."""
    if function.expression is not None:
        return from_expression(f"{function.expression} mod {function.values}", mod, at_least)
    if mod in (None, function.values):
        return function
    return from_table(function.table, mod, function.name, function.variables)


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
    return number if modulus is None else number % modulus
