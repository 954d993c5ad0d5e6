"""What several commands share: tables, headings, and a network that has just been checked."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from modgrok.base.errors import InputError
from modgrok.base.printing import visible
from modgrok.base.results import Result, json_text, plain
from modgrok.networks.network import Network
from modgrok.networks.verification import Verification


@dataclass(frozen=True, repr=False)
class CheckedNetwork(Result):
    """A network with its check against integers, the files it was written to, and the time all of it took."""

    network: Network
    verification: Verification
    seconds: float
    files: tuple[Path, ...] = ()

    @property
    def correct(self) -> bool:
        return self.verification.errors == 0

    def summary(self) -> str:
        return f"{self.network.summary()}; {self.verification.summary()}"

    def to_json(self) -> dict[str, Any]:
        """The keys of the network and of its check, side by side."""
        files = [str(path) for path in self.files]
        return {**self.network.to_json(), **self.verification.to_json(), "files": files, "seconds": self.seconds}


MODULUS_KEY = {"modulus": "p; `null` for a table whose variables and values differ in number"}
FUNCTION_KEY = {
    "function": "what is asked about: `expression`, `name`, `variables`, `sizes`, `values`, `known_cells`, and "
    "`digest`, a name for the content of its table"
}
NETWORK_KEYS = {
    "expression": "as understood, in canonical spelling; of a table, its name",
    **MODULUS_KEY,
    "variables": "names of the inputs, in the order in which `predict` takes them",
    "sizes": "how many values each variable has: p, but for tables",
    "values": "how many values the function has: p, but for tables",
    "method": "how it was made: `exact`, `paper`, `mix`, `trained` or `snapped`",
    "model": "`circuit`, `power`, `mlp` or `transformer`",
    "experts": "one object for each expert of a circuit: `kind` (`sum`, `product`, `squares`, "
    "`remainders`, `relabel`, `separable`, `trained`; docs/exact.md tells them), "
    "`text` (what it computes), `inputs` (names: variables, or `e1`, `e2`, … for experts), `width`, `group_order` (of "
    "its cyclic group), `absorbing` (whether zero joins it), `frequencies`, `margin` and `beta` (inverse temperature) "
    "where they are known, `own_accuracy` (on the expert's own table), `learned` (`task`, `fraction`, `task_accuracy` "
    "of a trained expert)",
    "width": "hidden neurons in all; of a transformer, the dimension of its stream",
    "parameters": "weights in all",
    "dtype": "`float32` or `float64`",
    "proof": "what the kernel proved of these weights in this call: `holds` (right on every row), `rows_total`, "
    "`right`, `wrong`, `undecided` (rounding may choose), `dtype`, `margin` (by which the answer leads at least), "
    "`error_bound` (of a logit, by rounding), `method`; `null` where nothing is proved",
    "unproved": "why there is no proof, or `null`",
    "claimed": "whether the network's file says that it was proved, which proves nothing",
    "notes": "what the compiler had to change, in words",
    "settings": "what it was made with",
}
VERIFICATION_KEYS = {
    "accuracy": "share of the checked rows that are right; ties are wrong",
    "mse": "mean squared distance of the logits from the one-hot answer, over rows and classes",
    "min_margin": "smallest (correct logit − best wrong logit) over the checked rows",
    "rows_checked": "how many rows were checked",
    "rows_total": "rows of the whole table",
    "errors": "wrong rows",
    "first_error": "the first wrong row, or `null`",
}
FILES_KEY = {"files": "paths of what was written"}
TABLES = ("rows", "runs", "families", "claims", "experts", "cases", "items", "errors_by_setting")
"""Keys of JSON objects that list the rows of the table that a command prints."""
SECONDS_KEY = {"seconds": "how long the work took"}


def keys_in(kind: type, lead: str = "one object for each: ") -> str:
    """What a key means that holds objects of a class: their own keys are its fields."""
    return lead + ", ".join(f"`{field.name}`" for field in fields(kind))


def add_function(parser: argparse.ArgumentParser, text: str) -> None:
    """The arguments that say which function is meant; `given_function` reads them."""
    parser.add_argument("expression", nargs="?", help=text)
    parser.add_argument("--mod", type=int, metavar="P", help="the modulus, 2 or more; of a table, how many values")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="a table of values instead of an expression: .csv, .npy or .parquet"
    )


def given_function(args: argparse.Namespace, command: str) -> str | Path:
    """The expression, or the file of the table."""
    if (args.expression is None) == (args.table is None):
        raise InputError(
            f'{command} needs one function: modgrok {command} "n1 n2" --mod 97, or modgrok {command} --table mine.csv'
        )
    given: str | Path = args.table if args.expression is None else args.expression
    return given


def heading(console: Console, text: str, rest: str = "") -> None:
    """A line that begins in bold."""
    console.print(Text.assemble((visible(text), "bold"), visible(rest)), soft_wrap=True)


def say(console: Console, text: str) -> None:
    """A line of plain text."""
    console.print(visible(text))


def csv_text(command: Any, result: Any) -> str:
    """The table of a command as CSV, whose lines other tools can read; numbers in full.

    A command may have a function `csv_rows`; otherwise its rows are the list of its JSON object that is in `TABLES`, or
    one row of what the object holds beside lists. An object inside a row becomes columns such as `settings.width`, a
    list JSON; such an object that a row has not leaves its columns empty.
    """
    if hasattr(command, "csv_rows"):
        rows = command.csv_rows(result)
    else:
        found = plain(result)
        scalars = {name: value for name, value in found.items() if not isinstance(value, list)}
        rows = next((found[name] for name in TABLES if found.get(name)), [scalars])
    flat = [flattened(plain(row)) for row in rows]
    text = StringIO()
    names = list(dict.fromkeys(name for row in flat for name in row))
    objects = {name.rsplit(".", count)[0] for name in names for count in range(1, name.count(".") + 1)}
    absent = {name for name in objects if all(row.get(name) is None for row in flat)}
    fields = [name for name in names if name not in absent]
    writer = csv.DictWriter(text, fields, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def flattened(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """An object of JSON as one row."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            found |= flattened(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = json_text(value) if isinstance(value, list) else value
    return found
