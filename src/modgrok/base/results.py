"""One shape for every result: a frozen dataclass with a one-line repr, a JSON form, and HTML where there is more.

A result of a verb inherits from `Result` and says itself in one line:

    @dataclass(frozen=True, repr=False)
    class Verification(Result):
        accuracy: float

        def summary(self) -> str:
            return f"{percent(self.accuracy)} of the rows are right"

The command line prints `to_json()` for --json, so a script sees the same names as a notebook. Numbers that JSON cannot
hold (NaN, infinities) become null; no other module decides how a value becomes JSON, or writes it as text.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import numpy as np

from modgrok.base.errors import optional

LONGEST_REPR = 160
"""Characters of a repr; a longer summary ends in an ellipsis."""


class Result:
    """Base of every public result; subclasses are frozen dataclasses with repr=False."""

    told: ClassVar[tuple[str, ...]] = ()
    """Names of what JSON tells, if that is not every field."""

    def summary(self) -> str:
        """The result in one line."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Every field, or what is `told`, as plain JSON values under its own name."""
        return plain_object({name: getattr(self, name) for name in self.told} if self.told else field_values(self))

    def keys_beside(self, name: str) -> dict[str, Any]:
        """As `Result.to_json`, but the keys of the field's object stand beside the other keys, not inside one."""
        own = Result.to_json(self)
        inside: dict[str, Any] = own.pop(name)
        return inside | own

    def __repr__(self) -> str:
        text = " ".join(self.summary().split())
        shown = text if len(text) <= LONGEST_REPR else f"{text[: LONGEST_REPR - 1]}…"
        return f"<{type(self).__name__}: {shown}>"


def field_values(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by name; unlike `dataclasses.asdict`, what is inside them stays as it is."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def plain_object(items: Mapping[str, object]) -> dict[str, Any]:
    """Items under their names, each as JSON holds it."""
    return {str(name): plain(item) for name, item in items.items()}


def plain(value: object) -> Any:
    """`value` as JSON holds it: results and dataclasses as objects, arrays as lists, what is not finite as null."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Decimal):
        return plain(int(value) if value == value.to_integral_value() else float(value)) if value.is_finite() else None
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("ascii", "backslashreplace")
    if isinstance(value, Result):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return plain_object(field_values(value))
    if isinstance(value, Mapping):
        return plain_object(value)
    if isinstance(value, np.ndarray) or hasattr(value, "__jax_array__") or hasattr(value, "addressable_shards"):
        return plain(np.asarray(value).tolist())
    if isinstance(value, (Sequence, Set)):
        return [plain(item) for item in value]
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (Path, timedelta, UUID)):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def json_text(value: object, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """`value` as JSON: the same text for the command line, for files and for what files hold beside weights.

    >>> json_text({"loss": float("nan"), "rows": (1, 2)})
    '{"loss": null, "rows": [1, 2]}'
    """
    return json.dumps(plain(value), indent=indent, sort_keys=sort_keys, allow_nan=False)


class Columns(dict[str, np.ndarray]):
    """Columns of one length by name, as NumPy arrays: the same type whether pandas is installed or not.

    >>> Columns({"step": [0, 10], "train_loss": [0.5, 0.25]})
    <Columns: 2 rows of step, train_loss>
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        super().__init__({name: np.asarray(values) for name, values in columns.items()})

    @property
    def rows(self) -> int:
        return len(next(iter(self.values()), ()))

    def to_pandas(self) -> Any:
        """A pandas DataFrame of the columns; `pip install 'modgrok[pandas]'` brings pandas."""
        return optional("pandas", "a DataFrame", "pandas").DataFrame(dict(self))

    def __repr__(self) -> str:
        return f"<Columns: {self.rows} rows of {', '.join(self)}>"

    def _repr_html_(self) -> str:
        places = sorted({*range(min(SHOWN_ROWS, self.rows)), *range(max(0, self.rows - SHOWN_ROWS), self.rows)})
        rows = [
            [f"{column[k]:.5g}" if column.dtype.kind == "f" else str(column[k]) for column in self.values()]
            for k in places
        ]
        return html_rows([*self], rows) + f"<p>{self.rows} rows</p>"


SHOWN_ROWS = 5
"""Of the first and of the last rows of columns in a notebook."""


def percent(share: float | None, digits: int = 2) -> str:
    """0.9987 -> '99.87 %'; never '100.00 %' for less than 1, and a dash where there is no number."""
    if share is None or not math.isfinite(share):
        return "–"
    shown = min(100 * share, 100 - 10**-digits) if share < 1 else 100 * share
    return f"{shown:.{digits}f} %" if share not in (0, 1) else f"{100 * share:.0f} %"


def loss_text(loss: float) -> str:
    """0.0021, 1.22e-11; what a training tells as 0 is smaller than its numbers of 32 bits are exact."""
    return f"{loss:.3g}" if loss else "<1e-7"


def html_table(facts: Mapping[str, object], title: str = "") -> str:
    """Names and values as a small HTML table, for the repr of results in notebooks."""
    return html_rows((), [(name, str(value)) for name, value in facts.items()], title)


def html_rows(headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Rows under headings as a small HTML table, everything escaped; without headings the first column has them."""
    left = "style='text-align:left'"
    first = "td" if headings else "th"
    lines = [[("th", text) for text in headings]] if headings else []
    lines += [[(first if place == 0 else "td", text) for place, text in enumerate(row)] for row in rows]
    body = "".join(
        f"<tr>{''.join(f'<{tag} {left}>{html.escape(text)}</{tag}>' for tag, text in line)}</tr>" for line in lines
    )
    lead = f"<caption style='text-align:left;font-weight:bold'>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{lead}{body}</table>"
