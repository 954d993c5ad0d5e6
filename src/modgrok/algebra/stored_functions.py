"""What files hold of a function that is written over a structure, beside its table; read back as hostile input.

A file has the words (`a b`), the structure (`{"group": "S5"}`, `{"field": 81}`; a group that was given by a table with
that table and the names of its elements) and the table of values. The words are evaluated again, and the table must be
theirs: whoever changes one of them changes nothing but whether the file can be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.expression import parse_any
from modgrok.algebra.fields import Field, finite_field
from modgrok.algebra.function import Function, from_table, over_structure
from modgrok.algebra.groups import Group, from_table as group_from_table, named_group
from modgrok.algebra.named_groups import LARGEST_ORDER
from modgrok.algebra.structures import Integers, Structure
from modgrok.algebra.trees import to_text
from modgrok.base.errors import InputError


def words_kept(function: Function) -> dict[str, Any]:
    """What a file holds of a function beside its name, variables and table: nothing, if it is but a table."""
    if function.written is None or not isinstance(function.structure, (Integers, Field, Group)):
        return {}
    kept = structure_kept(function.structure)
    return {"written": to_text(function.written)} | ({} if kept is None else {"structure": kept})


def function_from(
    about: Mapping[str, Any],
    table: Int[np.ndarray, "..."],
    values: int,
    name: str,
    variables: tuple[str, ...],
    where: str,
) -> Function:
    """The function of a file; an `InputError` where its table is not that of its words."""
    if "written" not in about:
        return from_table(table, values, name, variables, where)
    reading = parse_any(about["written"])
    if reading.modulus is not None or reading.place is not None:
        raise InputError("its words must be an expression, and its structure stand apart")
    structure = structure_from(about.get("structure"), values)
    found = over_structure(reading.tree, structure, len(variables))
    if (found.name, found.variables) != (name, variables) or not np.array_equal(found.table, table):
        raise InputError(f"{where} is not that of {found.name}, which it says it is")
    return found


def structure_kept(structure: Structure) -> dict[str, Any] | None:
    """What a file holds of a structure, beside the number of its elements; None for the integers modulo m."""
    if isinstance(structure, Field):
        return {"field": structure.order}
    if isinstance(structure, Group):
        if structure.spelling is not None:
            return {"group": structure.spelling}
        about = {"group": structure.title, "elements": list(structure.words_of_elements)}
        return about | {"table": structure.table.tolist()}
    return None


def structure_from(about: Any, order: int) -> Structure:
    """The structure that a file tells of, which must have so many elements; an `InputError` for anything else."""
    if about is None:
        return Integers(order)
    if not isinstance(about, Mapping) or set(about) not in ({"field"}, {"group"}, {"group", "elements", "table"}):
        raise InputError("its structure must be a field, a group, or a group with its elements and table")
    found = _restored(dict(about))
    if found.order != order:
        raise InputError(f"it has {order} values, but {found.words[3:]} has {found.order} elements")
    return found


def _restored(about: dict[str, Any]) -> Structure:
    if "field" in about:
        if type(about["field"]) is not int:
            raise InputError("its field must be a whole number")
        return finite_field(about["field"])
    title, table, names = about["group"], about.get("table"), about.get("elements")
    if not isinstance(title, str) or len(title) > 1000 or not title.isprintable():
        raise InputError("its group must have a name")
    if table is None:
        return named_group(title)
    if not isinstance(table, list) or not 1 <= len(table) <= LARGEST_ORDER:
        raise InputError(f"the table of its group must have 1 … {LARGEST_ORDER} rows")
    whole = all(isinstance(row, list) and len(row) == len(table) and {*map(type, row)} == {int} for row in table)
    if not whole or not all(0 <= value < len(table) for row in table for value in row):
        raise InputError("the table of its group must be square, with the numbers of elements in it")
    if not isinstance(names, list) or len(names) != len(table) or len(set(map(str, names))) != len(names):
        raise InputError("the elements of its group must have names that differ")
    if not all(isinstance(name, str) and name.isprintable() and 0 < len(name) <= 200 for name in names):
        raise InputError("the elements of its group must have names of up to 200 characters that can be printed")
    found = group_from_table(np.array(table), title, names)
    if found.words_of_elements != tuple(names):
        raise InputError("the first element of its group must be the identity")
    return found
