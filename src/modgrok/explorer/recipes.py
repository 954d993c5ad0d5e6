"""How to do without the page what it shows: a line for the shell, and lines of Python.

A recipe holds what was asked, so that whoever runs it gets the same; `needs` names a file that it reads from the folder
where it is run.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from modgrok.algebra.expression import parse_any
from modgrok.algebra.function import Function
from modgrok.algebra.groups import Group
from modgrok.algebra.polynomial import LARGEST_TABLE
from modgrok.algebra.table_files import SUFFIXES
from modgrok.base.results import json_text

IMPORT = "import modgrok as mg\n\n"


@dataclass(frozen=True)
class Recipe:
    """A command, and the same in Python."""

    command: str
    python: str
    needs: str | None = None


class Said(NamedTuple):
    """A function as it is said: words of a command, and arguments in Python."""

    words: list[str]
    python: list[str]
    needs: str | None = None

    def recipe(self, command: str, options: Mapping[str, Any], call: str) -> Recipe:
        """`command` on the function with some options; `call` is the verb in Python, with its result's name."""
        words = ["modgrok", command, *self.words, *flags(options)]
        given = [*self.python, *(f"{name}={written(value)}" for name, value in options.items())]
        return Recipe(command_of(words), f"{IMPORT}{call}({', '.join(given)})", self.needs)


def said(function: Function) -> Said | None:
    """How a function is said; None for one that is known by its values alone, which no file holds."""
    if isinstance(function.structure, Group) and function.structure.spelling is None:
        return None
    if function.tree is not None:
        text, mod = function.source.strip(), function.values
        if parse_any(text).modulus is not None:
            return Said([no_option(text)], [written(text)])
        return Said([no_option(text), "--mod", str(mod)], [written(text), f"mod={mod}"])
    if function.written is not None:
        return Said([no_option(function.name)], [written(function.name)])
    name, values = Path(function.name).name, function.values
    if Path(name).suffix.lower() not in SUFFIXES:
        return None
    return Said(["--table", file_word(name), "--mod", str(values)], [written(name), f"mod={values}"], name)


def no_option(text: str) -> str:
    """An expression that is not taken for an option: -n1 has a space before it."""
    return f" {text}" if text.startswith("-") else text


def file_word(name: str) -> str:
    """The same for the name of a file."""
    return f"./{name}" if name.startswith("-") else name


def command_of(words: Sequence[str]) -> str:
    """Words as a shell takes them, in double quotes where these are safe, as the docs write expressions."""
    return " ".join(f'"{word}"' if shlex.quote(word) != word and is_safe(word) else shlex.quote(word) for word in words)


def is_safe(word: str) -> bool:
    """Whether no shell finds anything to do in double quotes."""
    return word.isprintable() and not set(word) & set('"$`\\!')


def flags(options: Mapping[str, Any]) -> list[str]:
    """Options of a command; one that is True is its name alone."""
    found = []
    for name, value in options.items():
        found.append(f"--{name.replace('_', '-')}")
        if value is not True:
            found.append(str(value))
    return found


def written(value: object) -> str:
    """A value as Python reads it; texts in double quotes."""
    plain = isinstance(value, str) and value.isprintable() and not {'"', "\\"} & set(value)
    return f'"{value}"' if plain else repr(value)


# ------------------------------------------------------------------------------------------ one for each view


def of_function(function: Function) -> Recipe | None:
    """The table; and what is known of it, since no command prints tables."""
    told = said(function)
    if told is None or function.cells > LARGEST_TABLE:
        return None
    python = f"{IMPORT}function = mg.read_function({', '.join(told.python)})\nfunction.table"
    return replace(told.recipe("classify", {}, "mg.classify"), python=python)


def of_verdict(function: Function, fraction: float) -> Recipe | None:
    told = said(function)
    return None if told is None else told.recipe("classify", {"fraction": fraction}, "answer = mg.classify")


def of_network(function: Function, method: str, settings: Mapping[str, Any]) -> Recipe | None:
    told = said(function)
    return None if told is None else told.recipe("compile", {"method": method, **settings}, "network = mg.compile")


def of_training(function: Function, changed: Mapping[str, Any]) -> Recipe | None:
    """A training; `changed` are the settings that are not what suits the model, as flags can say them."""
    told = said(function)
    sayable = all(value is not None and value is not False for value in changed.values())
    return told.recipe("train", changed, "run = mg.train") if told is not None and sayable else None


def of_runs(command: str, folders: Sequence[Path]) -> Recipe:
    """A verb on the folders of runs."""
    names = [file_word(folder.as_posix()) for folder in folders]
    python = f"{IMPORT}mg.{command}({', '.join(map(written, names))})"
    return Recipe(command_of(["modgrok", command, *names]), python)


def of_stranger(file: str) -> Recipe:
    """A file of weights that somebody else's network is in, looked at."""
    command = command_of(["modgrok", "inspect", file_word(file)])
    return Recipe(command, f"{IMPORT}mg.inspect(mg.wrap({written(file)}))", file)


def of_paper(item: str, quick: bool = False) -> Recipe:
    words = ["modgrok", "paper", item, *(["--quick"] if quick else [])]
    return Recipe(command_of(words), f"{IMPORT}mg.paper({written(item)}{', quick=True' if quick else ''})")


def of_census(folder: str, plan: Mapping[str, Any], where: Mapping[str, Any]) -> Recipe:
    """The trainings of a census in a folder; without one, a plan that trains others like them, and shows these."""
    if folder:
        wanted = " AND ".join(f"{name} = {sql(value)}" for name, value in where.items())
        query = f"SELECT * FROM census{f' WHERE {wanted}' if wanted else ''}"
        python = f"from modgrok.censuses.querying import query\n\nquery({written(folder)}, {written(query)})"
        return Recipe(command_of(["modgrok", "census", "query", folder, query]), python)
    made = "modgrok census plan.toml --out census\nmodgrok explore --census census"
    command = f"cat > plan.toml <<'END'\n{toml(plan)}END\n{made}"
    python = (
        f"{IMPORT}from modgrok.censuses.plan import plan_from\n\nplan = plan_from({plan!r})\n"
        'mg.census(plan, "census")\nmg.explore(census="census")'
    )
    return Recipe(command, python)


def sql(value: object) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def toml(plan: Mapping[str, Any]) -> str:
    """The keys of a plan that are numbers, its tables, and its one block of settings; JSON's values are TOML's."""
    tables = [f"{json_text(family)} = {count}" for family, count in plan["tables"].items()]
    settings = [f"{name} = {json_text(value)}" for block in plan["settings"] for name, value in block.items()]
    head = [f"steps = {plan['steps']}", "[tables]  # of each family one, to begin with"]
    return "\n".join([*head, *tables, "[[settings]]", *settings, ""])
