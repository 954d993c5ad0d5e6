"""Which structure is meant: by a modulus, a group or a field that is given, or by words at the end of an expression.

"n1 n2 mod 97"          the integers modulo 97
"n1 n2 + t in GF(81)"   a finite field; F81 does as well
"a b in S5"             a finite group, by its name or by generators
"""

from __future__ import annotations

import re

from modgrok.algebra.expression import Reading, agreed
from modgrok.algebra.field import check_modulus
from modgrok.algebra.fields import Field, finite_field
from modgrok.algebra.groups import GroupLike, group, named_group
from modgrok.algebra.structures import Integers, Structure
from modgrok.base.errors import InputError

FIELD_NAME = re.compile(r"(?:GF|F)_?\s*(?:\(\s*(\d{1,9})\s*\)|(\d{1,9}))", re.IGNORECASE)


def chosen_structure(
    mod: int | Structure | None, group_: GroupLike | None, field: int | Field | None
) -> int | Structure | None:
    """The one of a modulus, a group and a field that is given; None where none is."""
    given = {"mod": mod, "group": group_, "field": field}
    if len(names := [name for name, value in given.items() if value is not None]) > 1:
        raise InputError(f"an expression has its values in one structure, got {' and '.join(names)}; leave one out")
    if group_ is not None:
        return group(group_)
    return mod if field is None else finite_field(field)


def place_of(text: str, reading: Reading, given: int | Structure | None) -> Structure:
    """Where a text has its values; an `InputError` where it says another place than is given, and where none is."""
    given = given.order if isinstance(given, Integers) else given
    written: Structure | None = None
    if reading.place is not None:  # a text comes from web pages and files: it is never the path of a table
        name = FIELD_NAME.fullmatch(reading.place.strip())
        written = named_group(reading.place) if name is None else finite_field(int(name[1] or name[2]))
    if written is None and not isinstance(given, Structure):
        modulus = agreed(text, reading.modulus, given)
        if modulus is None:
            raise InputError(
                "a modulus is needed; give mod=97 (--mod 97), or end the expression with 'mod 97'; a group or a field "
                "does as well (--group S5, --field 81)"
            )
        return Integers(check_modulus(modulus))
    here = [place for place in (written, given) if isinstance(place, Structure)]
    number = reading.modulus if reading.modulus is not None else given
    if len(set(here)) > 1 or (isinstance(number, int) and (reading.modulus is not None or number != here[0].order)):
        places = [f"mod {number}" if isinstance(number, int) else "", *(place.words for place in here)]
        raise InputError(f"{text} is to have its values {' and '.join(filter(None, places))}; leave one of them out")
    return here[0]
