"""Questions about a function: what it is and how its table looks, the verdict on it, and tables that are sent.

What a page draws of a table: two of its axes at some values of the others, and of long axes every k-th value.

A cell that is drawn is a cell of the table, none is a mean of several: the mean of residues is no residue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra import trees
from modgrok.algebra.cosets import coset_order
from modgrok.algebra.expression import parse_any
from modgrok.algebra.field import exp_table, is_prime
from modgrok.algebra.function import Function, is_expression, read_function
from modgrok.algebra.group_names import nameless
from modgrok.algebra.groups import Group
from modgrok.algebra.known_tasks import task_text
from modgrok.algebra.structures import Integers, Structure
from modgrok.algebra.trees import Tree, no_polynomial
from modgrok.answers.classifying import Answer, classify
from modgrok.base.errors import InputError
from modgrok.base.files import whole_file
from modgrok.explorer.asking import Params, number, whole
from modgrok.explorer.encoding import UNKNOWN_CELL, encoded
from modgrok.explorer.limits import TooLarge, check_cells, check_modulus, here
from modgrok.explorer.recipes import of_function, of_verdict
from modgrok.separable.classification import FamilyVerdict
from modgrok.separable.procedures.obstructions import proving_lines

KEPT_FUNCTIONS = 32


def asked_function(params: Params, at_least: int = 2) -> Function:
    """The function that a question is about: `expression` and `mod`, or a `table` that was sent before.

    An expression that mentions fewer variables than `at_least` gets others. One that says where it has its values ("a
    b in S5", "n1 n2 mod 7", a task by its name) needs no `mod`, which a page may have from what was typed before.
    """
    if table := params.get("table"):
        return stored_table(Path(str(params["tables"])), str(table), whole(params, "mod"))
    return known_function(*asked_text(params), at_least)


def asked_text(params: Params) -> tuple[str, int | None]:
    """The expression that is asked about, and its modulus where it does not say where it has its values."""
    mod = whole(params, "mod")
    expression = str(params.get("expression") or "").strip()
    if not expression:
        raise InputError("an expression is needed; type n1 n2, for example")
    if not is_expression(expression):
        raise InputError(f"{expression!r} is the name of a file; drop the file itself on the page")
    text = task_text(expression)
    said = parse_any(text)
    own_place = text != expression or said.place is not None or said.modulus is not None
    return text, None if own_place else mod


def seen_function(params: Params) -> tuple[Function, str]:
    """The function that is looked at, and why nothing else can be asked about it where it is too large for that."""
    try:
        return asked_function(params), ""
    except TooLarge as error:
        return error.function, str(error)


@lru_cache(maxsize=KEPT_FUNCTIONS)
def known_function(expression: str, mod: int | None, at_least: int) -> Function:
    return checked_table(read_function(expression, mod, at_least=at_least))


@lru_cache(maxsize=KEPT_FUNCTIONS)
def stored_table(tables: Path, name: str, mod: int | None) -> Function:
    """A table that was sent; its name is that of its folder, its file has the name it was sent with."""
    folder = tables / name
    if not (name.isascii() and name.isalnum()) or not folder.is_dir():
        raise InputError("that table is no longer here: tables are kept as long as the explorer runs; drop it again")
    return checked_table(read_function(next(folder.iterdir()), mod))


def checked_table(function: Function) -> Function:
    try:
        check_modulus(max(*function.sizes, function.values))
        check_cells(function.sizes)
    except TooLarge as error:
        error.function = function
        raise
    return function


# ---------------------------------------------------------------------------------------------- the function


def function(params: Params) -> dict[str, Any]:
    """The function, typeset and as a picture."""
    return described(*seen_function(params))


def function_slice(params: Params) -> dict[str, Any]:
    """The picture alone, where the variables after the second have the values `at`."""
    return slice_of(seen_function(params)[0], str(params.get("at") or ""))


def described(found: Function, too_large: str = "") -> dict[str, Any]:
    picture = slice_of(found)
    orders = natural_orders(found) if picture["every"] == 1 else dict.fromkeys(("natural", "logarithmic"))
    return {
        "title": found.title,
        "form": found.form,
        **{name: value for name, value in found.to_json().items() if not (too_large and name == "digest")},
        "modulus": found.modulus,
        "typeset": None if found.tree is None else typeset(found.tree),
        **picture,
        "too_large": too_large,
        "orders": orders | {"cosets": None if too_large else coset_orders(found)},
        "elements": element_names(found.structure),
        "recipe": of_function(found),
    }


def representations(params: Params) -> dict[str, Any]:
    """The irreducible representations of the group in which a function has its values; none where it is no group.

    Over the complex numbers there are as many as classes of conjugate elements, and the squares of their degrees add
    up to the order of the group. One of the complex kind is counted with its conjugate.
    """
    group = asked_function(params).structure
    if not isinstance(group, Group):
        return {"group": None, "rows": []}
    counted = Counter((rho.degree, rho.kind) for rho in group.representations)
    kinds: dict[int, dict[str, int]] = {}
    for (degree, kind), times in sorted(counted.items()):
        kinds.setdefault(degree, {})[kind] = times * (2 if kind == "complex" else 1)
    rows = [{"degree": degree, "kinds": found} for degree, found in kinds.items()]
    return {"group": group.title, "order": group.order, "classes": len(group.classes), "rows": rows}


def element_names(structure: Structure) -> list[str] | None:
    """What people call the elements of a group or a field; None for residues, which are their own names."""
    return None if isinstance(structure, Integers) else [structure.name(k) for k in range(structure.order)]


def coset_orders(found: Function) -> dict[str, Any] | None:
    """Rows and columns by the cosets of a chain of subgroups; None where the values are in no group."""
    if not isinstance(found.structure, Group):
        return None
    along = coset_order(found.structure)
    return {"rows": along, "columns": along, "values": along}


def typeset(tree: Tree) -> dict[str, Any]:
    """The expression as a tree of plain objects, for a page to set as mathematics."""
    match tree:
        case trees.Integer(value):
            return {"kind": "number", "value": value}
        case trees.Variable(index):
            return {"kind": "variable", "letter": "n", "index": index}
        case trees.Power(base, exponent):
            return {"kind": "power", "base": typeset(base), "exponent": exponent}
        case trees.Negation(operand):
            return {"kind": "negation", "operand": typeset(operand)}
        case trees.Product(factors):
            return {"kind": "product", "factors": [typeset(factor) for factor in factors]}
        case trees.Sum(terms):
            return {"kind": "sum", "terms": [typeset(term) for term in terms]}
        case _:
            raise no_polynomial(tree)


def natural_orders(found: Function) -> dict[str, Any]:
    """Which residue stands at each place of a picture's rows and columns: as they are, and by their logarithms."""
    rows, columns = (list(range(size)) for size in found.sizes[:2])
    orders: dict[str, Any] = {"natural": {"rows": rows, "columns": columns}, "logarithmic": None}
    if found.modulus is None or not is_prime(found.modulus):
        return orders | {"logarithmic_note": "logarithms need a prime modulus"}
    along = [0, *exp_table(found.modulus).tolist()]
    return orders | {"logarithmic": {"rows": along, "columns": along}, "logarithmic_note": ""}


# ---------------------------------------------------------------------------------------------- the verdict


def verdict(params: Params) -> dict[str, Any]:
    """The verb classify, with what a page draws of its witness or its proofs; `only` the verdict, if that is asked."""
    expect = params.get("only") != "verdict"
    return verdict_on(asked_function(params), number(params, "fraction", 0.5), expect=expect)


def verdict_on(found: Function, fraction: float, *, expect: bool = True) -> dict[str, Any]:
    answer = classify(found, fraction=fraction, probe=False, measure=expect, expect=expect)
    return {
        **answer.to_json(),
        "expects": expect,
        "expected_text": answer.outlook.accuracy,
        "explain": answer.explain(),
        "facts": answer.facts(),
        "order": witness_order(answer),
        "proof": [shown for family in answer.families if (shown := shown_proof(answer.function, family)) is not None],
        "recipe": of_verdict(found, fraction),
    }


def witness_order(answer: Answer) -> dict[str, Any] | None:
    """Rows by g1 and columns by g2, ∞ first: then equal sums lie on diagonals, and so do the values.

    In any group elements are put by the cosets of a chain of subgroups, and values with them: there the blocks are.
    """
    witness = answer.witness
    if witness is None or len(witness.g) != 2:
        return None
    if not witness.products:
        rows, columns = map(by_place, witness.g)
        return {"rows": rows, "columns": columns, "values": None}
    along = coset_order(nameless(np.array(witness.products)))
    rows, columns = (by_place(part, along) for part in witness.g)
    placed = (value for place in along if (value := witness.h[place]) is not None)
    return {"rows": rows, "columns": columns, "values": list(dict.fromkeys([*placed, *range(answer.function.values)]))}


def by_place(part: Sequence[int | None], along: Sequence[int] | None = None) -> list[int]:
    """Residues in the order of their places, which come in the order `along`."""
    number = {place: k for k, place in enumerate(along or ())}
    places = [-1 if place is None else number.get(place, place) for place in part]
    return sorted(range(len(part)), key=places.__getitem__)


def shown_proof(found: Function, family: FamilyVerdict) -> dict[str, Any] | None:
    """The rows and columns that prove that a function is not in a family; None where nothing is proved."""
    obstruction = family.verdict.obstruction
    if obstruction is None or family.proof is None:
        return None
    shown = {"family": family.family, "kind": obstruction.kind, "text": obstruction.explanation}
    if found.table.ndim != 2:
        return shown | {"rows": [], "columns": [], "note": ""}
    return shown | proving_lines(found.table, obstruction, family.verdict.group_order)._asdict()


# ---------------------------------------------------------------------------------------------- tables that are sent


def table(params: Params) -> dict[str, Any]:
    """A file that was sent: read, checked, and kept under its digest as long as the explorer runs."""
    sent, tables = Path(str(params["file"])), Path(str(params["tables"]))
    try:
        found = checked_table(read_function(sent))
    except InputError as error:
        raise InputError(str(error).replace(str(sent), sent.name)) from None
    folder = tables / found.digest
    folder.mkdir(exist_ok=True)
    sent.replace(folder / sent.name)
    for other in folder.iterdir():
        if other.name != sent.name:
            other.unlink()
    stored_table.cache_clear()
    return {"table": found.digest, "title": found.title, **found.to_json()}


def put_table(tables: Path, found: Function, name: str) -> str:
    """Put a table among those that were sent, under a name that any file may have; returns what it is asked for by."""
    folder = tables / found.digest
    if not folder.exists():
        words = "".join(c if c.isalnum() or c in "-_ " else "_" for c in name) or "table"
        with whole_file(folder / f"{words}.npy") as temporary:
            np.save(temporary, found.table)
    return found.digest


def slice_of(found: Function, at: str = "") -> dict[str, Any]:
    """Rows of the first variable and columns of the second, where the others have the values `at`, with commas."""
    if found.values > UNKNOWN_CELL:
        raise InputError(f"a picture has up to {UNKNOWN_CELL:,} values, this function has {found.values:,}")
    rest = asked_values(found, at)
    cells = here().cells
    every = 1 if found.sizes[0] * found.sizes[1] <= cells else -(-max(found.sizes[:2]) // int(cells**0.5))
    rows, columns = (np.arange(0, size, every) for size in found.sizes[:2])
    values = values_at(found, rows, columns, rest)
    return {
        "table": encoded(np.where(values < 0, UNKNOWN_CELL, values), "u16"),
        "shown": [len(rows), len(columns)],
        "every": every,
        "at": rest,
    }


def asked_values(found: Function, at: str) -> list[int]:
    """One value for each variable after the second; 1 where none are said, since a product at 0 is nothing to see."""
    others = found.sizes[2:]
    words = at.split(",") if at else ["1"] * len(others)
    if len(words) != len(others) or not all(word.strip().isdecimal() and len(word) <= 9 for word in words):
        raise InputError(
            f"at must have {len(others)} whole numbers, one for each variable after the second, got {at[:40]!r}"
        )
    for word, size in zip(words, others, strict=True):
        if int(word) >= size:
            raise InputError(f"at must have values from 0 to {size - 1}, got {int(word)}")
    return [int(word) for word in words]


def values_at(
    found: Function, rows: Int[np.ndarray, "row"], columns: Int[np.ndarray, "column"], rest: list[int]
) -> Int[np.ndarray, "row column"]:
    """The cells themselves, without the whole table where the function is written down."""
    grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    others = np.broadcast_to(np.array(rest, dtype=int), (len(grid), len(rest)))
    return np.asarray(found.at(np.hstack([grid, others]))).reshape(len(rows), len(columns))
