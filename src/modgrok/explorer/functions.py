"""Questions about a function: what it is and how its table looks, the verdict on it, and tables that are sent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.algebra.expression import Integer, Negation, Power, Product, Sum, Tree, Variable
from modgrok.algebra.field import exp_table, is_prime
from modgrok.algebra.function import Function, is_expression, read_function
from modgrok.answers.classifying import Answer, classify
from modgrok.base.errors import InputError
from modgrok.base.files import whole_file
from modgrok.explorer.asking import Params, number, whole
from modgrok.explorer.encoding import UNKNOWN_CELL, encoded
from modgrok.explorer.limits import check_cells, check_modulus
from modgrok.separable.classification import FamilyVerdict
from modgrok.separable.procedures.obstructions import proving_lines

KEPT_FUNCTIONS = 32


def asked_function(params: Params, at_least: int = 2) -> Function:
    """The function that a question is about: `expression` and `mod`, or a `table` that was sent before.

    An expression that mentions fewer variables than `at_least` gets others.
    """
    mod = whole(params, "mod")
    table = params.get("table")
    if table:
        return stored_table(Path(str(params["tables"])), str(table), mod)
    expression = str(params.get("expression") or "").strip()
    if not expression:
        raise InputError("an expression is needed; type n1 n2, for example")
    if not is_expression(expression):
        raise InputError(f"{expression!r} is the name of a file; drop the file itself on the page")
    return known_function(expression, mod, at_least)


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
    check_modulus(max(*function.sizes, function.values))
    check_cells(function.sizes)
    return function


# ---------------------------------------------------------------------------------------------- the function


def function(params: Params) -> dict[str, Any]:
    """The function, typeset and as a picture."""
    return described(asked_function(params))


def described(found: Function) -> dict[str, Any]:
    flat = found.table.ndim == 2
    note = "" if flat else f"a picture is of two variables, this function has {found.table.ndim}"
    return {
        "title": found.title,
        **found.to_json(),
        "modulus": found.modulus,
        "typeset": None if found.tree is None else typeset(found.tree),
        "table": encoded(np.where(found.table < 0, UNKNOWN_CELL, found.table), "u16") if flat else None,
        "table_note": note,
        "orders": natural_orders(found),
    }


def typeset(tree: Tree) -> dict[str, Any]:
    """The expression as a tree of plain objects, for a page to set as mathematics."""
    match tree:
        case Integer(value):
            return {"kind": "number", "value": value}
        case Variable(index):
            return {"kind": "variable", "letter": "n", "index": index}
        case Power(base, exponent):
            return {"kind": "power", "base": typeset(base), "exponent": exponent}
        case Negation(operand):
            return {"kind": "negation", "operand": typeset(operand)}
        case Product(factors):
            return {"kind": "product", "factors": [typeset(factor) for factor in factors]}
        case Sum(terms):
            return {"kind": "sum", "terms": [typeset(term) for term in terms]}


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
    """The verb classify, with what a page draws of its witness or its proofs."""
    answer = classify(asked_function(params), fraction=number(params, "fraction", 0.5))
    return {
        **answer.to_json(),
        "expected_text": answer.expected.text,
        "explain": answer.explain(),
        "facts": answer.facts(),
        "order": witness_order(answer),
        "proof": [found for family in answer.families if (found := shown_proof(answer.function, family)) is not None],
    }


def witness_order(answer: Answer) -> dict[str, Any] | None:
    """Rows by g1 and columns by g2, ∞ first: then equal sums lie on diagonals, and so do the values."""
    witness = answer.witness
    if witness is None or len(witness.g) != 2:
        return None
    rows, columns = (by_place(part) for part in witness.g)
    return {"rows": rows, "columns": columns}


def by_place(part: Sequence[int | None]) -> list[int]:
    """Residues in the order of their places."""
    places = [-1 if place is None else place for place in part]
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
