"""What several commands share: tables, headings, and a network that has just been checked."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from modgrok.algebra.function import Function
from modgrok.algebra.named_groups import FAMILIES
from modgrok.algebra.table_files import npy_array
from modgrok.base.errors import InputError
from modgrok.base.files import read_bytes, read_json
from modgrok.base.printing import visible
from modgrok.base.results import Result, json_text, plain
from modgrok.inspection.wrapping import wrap
from modgrok.networks.models.base import ACTIVATIONS
from modgrok.networks.network import Network
from modgrok.networks.readers.weight_files import SUFFIXES, SUFFIXES_TEXT
from modgrok.networks.storage import WEIGHTS, is_own_file
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

    @property
    def exit_code(self) -> int:
        return 0 if self.correct else 1

    def summary(self) -> str:
        return f"{self.network.summary()}; {self.verification.summary()}"

    def to_json(self) -> dict[str, Any]:
        """The keys of the network and of its check, side by side."""
        files = [str(path) for path in self.files]
        return {**self.network.to_json(), **self.verification.to_json(), "files": files, "seconds": self.seconds}


FOREIGN = frozenset(SUFFIXES)
SAID = ("function", "mod", "group", "field", "training", "equals", "activation", "heads")
"""Options that say what other people's files do not."""
TABLES = ("rows", "runs", "tasks", "families", "claims", "experts", "cases", "items", "errors_by_setting")
"""Keys of JSON objects that list the rows of the table that a command prints."""


def add_function(parser: argparse.ArgumentParser, text: str) -> None:
    """The arguments that say which function is meant; `given_function` reads them."""
    parser.add_argument("expression", nargs="?", help=text)
    parser.add_argument(
        "--mod", type=int, metavar="P", help="the modulus, 2 or more; for a table, how many values it has"
    )
    add_structures(parser)
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="a table of values instead of an expression: .csv, .npy or .parquet"
    )


def add_structures(parser: argparse._ActionsContainer) -> None:
    """The arguments that say in which group or field an expression has its values; `structure_given` reads them."""
    examples = ", ".join(family.example for family in FAMILIES)
    parser.add_argument(
        "--group",
        metavar="NAME",
        help=f"the finite group of a word such as 'a b a^-1': {examples}, S3xZ10, '<(1 2 3), (1 2)>', or a file",
    )
    parser.add_argument("--field", type=int, metavar="Q", help="the finite field with Q elements: 81, 97, …")


def structure_given(args: argparse.Namespace) -> dict[str, Any]:
    """The group or the field, as verbs take them."""
    return {"group": args.group, "field": args.field}


def given_function(args: argparse.Namespace, command: str) -> str | Path:
    """The expression, or the file of the table."""
    if (args.expression is None) == (args.table is None):
        raise InputError(
            f'{command} needs one function: modgrok {command} "n1 n2" --mod 97, or modgrok {command} --table mine.csv'
        )
    given: str | Path = args.table if args.expression is None else args.expression.strip()  # ' -n1' is no option
    return given


def add_network(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which network is meant, also one of other people's; `given_network` reads them."""
    parser.add_argument(
        "network",
        type=Path,
        help=f"a run folder or network of modgrok's; of other people a {SUFFIXES_TEXT} file, or folder of checkpoints",
    )
    others = parser.add_argument_group(
        "networks of other people", "options for what their files do not say (docs/your-network.md)"
    )
    others.add_argument("--function", metavar="F", help="what it was trained on: 'n1 + n2', or the file of a table")
    others.add_argument("--mod", type=int, metavar="P", help="the modulus; for a table, how many values it has")
    add_structures(others)
    others.add_argument(
        "--training", type=Path, metavar="FILE", help="its training set: .npy (a mask or numbers of inputs) or .json"
    )
    others.add_argument(
        "--equals",
        metavar="TOKEN",
        help="the token of '=' after the variables, or 'none' (default: found from the file)",
    )
    others.add_argument(
        "--activation", choices=list(ACTIVATIONS), help="of an MLP or a transformer (default: found from the file)"
    )
    others.add_argument(
        "--heads", type=int, metavar="N", help="attention heads of a transformer, where the file does not say"
    )


def given_network(args: argparse.Namespace) -> Network | Path:
    """The path of a run or network of modgrok's; other people's network, wrapped."""
    path: Path = args.network
    said = {name: getattr(args, name) for name in SAID}
    if path.is_dir():
        own = (path / WEIGHTS).exists() or not any(file.suffix.lower() in FOREIGN for file in path.iterdir())
    else:
        own = is_own_file(path) or path.suffix.lower() not in FOREIGN
    if own and not any(value is not None for value in said.values()):
        return path
    if not path.exists():
        raise InputError(f"no such network: {path}; `modgrok compile … --out {path}` makes one")
    return wrap(path, **said | {"training": training_file(args.training), "equals": equals_word(args.equals)})


def training_file(path: Path | None) -> np.ndarray | None:
    """The training rows in a file: a mask, numbers of rows, or rows."""
    if path is None:
        return None
    try:
        return npy_array(path, read_bytes(path)) if path.suffix.lower() == ".npy" else np.asarray(read_json(path))
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"cannot read the training set in {path}: {error}; give a .npy or .json file") from None


def equals_word(word: str | None) -> int | bool | None:
    if word is None or word == "none":
        return None if word is None else False
    if not word.isdecimal() or len(word) > 9:
        raise InputError(f"--equals must be the number of a token, or none, got {word!r}")
    return int(word)


def folder_beside(path: Path, what: str) -> Path:
    """RUN/inspection for a run folder, NET-inspection for NET.safetensors."""
    return path / what if path.is_dir() else path.with_name(f"{path.stem}-{what}")


def heading(console: Console, text: str, rest: str = "") -> None:
    """A line that begins in bold."""
    console.print(Text.assemble((visible(text), "bold"), visible(rest)), soft_wrap=True)


def say(console: Console, text: str) -> None:
    """A line of plain text."""
    console.print(visible(text))


def say_read_as(console: Console, function: Function) -> None:
    """What the file of a table was taken for, if it was one."""
    if function.read_as:
        say(console, f"read as {function.read_as}")


def say_how_read(console: Console, network: Network) -> None:
    """How the file of somebody else's network was read: the activation may be a guess, a class left out."""
    say_read_as(console, network.function)
    if network.method == "wrapped" and network.notes:
        say(console, "; ".join(network.notes))


def csv_text(command: ModuleType, result: object) -> str:
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
