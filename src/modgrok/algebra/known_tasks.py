"""The twelve tasks of *Grokking: generalization beyond overfitting on small algorithmic datasets* (2022), by name.

A name can be given wherever an expression can: `modgrok train power2022:x/y`, `mg.classify("power2022:aba^-1")`. It
stands for the expression in its own structure, the integers modulo 97 or S5; with a modulus beside it, for the
expression there.
Every task is also known by its number in the paper's list: power2022:3.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches

from modgrok.algebra.groups import Group
from modgrok.algebra.structures import Structure
from modgrok.base.errors import InputError
from modgrok.base.results import Result, html_rows

PAPER = "power2022"
MODULUS = 97


@dataclass(frozen=True, repr=False)
class KnownTask(Result):
    """A task of a paper: `name`, its `number` there, the `expression` and the `structure` that it has its values in."""

    name: str
    number: int
    expression: str
    structure: str
    told = ("name", "number", "expression", "structure", "text")

    @property
    def text(self) -> str:
        """The expression with its structure, as every door takes it."""
        return f"{self.expression} {self.structure}"

    def summary(self) -> str:
        return f"{self.name}: {self.text}"


def modular(number: int, short: str, expression: str) -> KnownTask:
    return KnownTask(f"{PAPER}:{short}", number, expression, f"mod {MODULUS}")


def in_s5(number: int, short: str, expression: str) -> KnownTask:
    return KnownTask(f"{PAPER}:{short}", number, expression, "in S5")


TASKS = (
    modular(1, "x+y", "x + y"),
    modular(2, "x-y", "x - y"),
    modular(3, "x/y", "x/y"),
    modular(4, "x/y-or-x-y", "x/y if y odd else x - y"),
    modular(5, "x^2+y^2", "x^2 + y^2"),
    modular(6, "x^2+xy+y^2", "x^2 + x y + y^2"),
    modular(7, "x^2+xy+y^2+x", "x^2 + x y + y^2 + x"),
    modular(8, "x^3+xy", "x^3 + x y"),
    modular(9, "x^3+xy^2+y", "x^3 + x y^2 + y"),
    in_s5(10, "ab", "a b"),
    in_s5(11, "aba^-1", "a b a^-1"),
    in_s5(12, "aba", "a b a"),
)


@dataclass(frozen=True, repr=False)
class TaskList(Result):
    """Tasks of the literature that have a name."""

    tasks: tuple[KnownTask, ...]

    def summary(self) -> str:
        return f"{len(self.tasks)} tasks of {PAPER}, from {self.tasks[0].name} to {self.tasks[-1].name}"

    def __getitem__(self, place: int) -> KnownTask:
        return self.tasks[place]

    def __len__(self) -> int:
        return len(self.tasks)

    def _repr_html_(self) -> str:
        rows = [[str(task.number), task.name, task.expression, task.structure] for task in self.tasks]
        return html_rows(["", "name", "function", "values"], rows)


def tasks() -> TaskList:
    """The twelve tasks of Power et al., 2022, by their names, which can be given wherever an expression can.

    Returns:
        A list of tasks: `.name`, `.number`, `.expression`, `.structure`, `.text`.

    >>> tasks()[2]
    <KnownTask: power2022:x/y: x/y mod 97>
    """
    return TaskList(TASKS)


def task_text(text: str, given: int | Structure | None = None) -> str:
    """The expression that a task's name stands for; any other text as it is.

    `given` is a modulus, a group or a field beside it: then the expression stands alone, in another one of its kind.

    >>> task_text("power2022:x/y"), task_text("power2022: 3", 59), task_text("x + y")
    ('x/y mod 97', 'x/y', 'x + y')
    """
    paper, colon, short = text.partition(":")
    if not colon or paper.strip().lower() != PAPER:
        return text
    found = BY_NAME.get(plain_name(short))
    if found is None:
        near = [] if short.strip().isdigit() else get_close_matches(plain_name(short), BY_NAME, 1, 0.5)
        meant = f"did you mean {BY_NAME[near[0]].name}? " if near else ""
        names = ", ".join(task.name.partition(":")[2] for task in TASKS)
        raise InputError(f"{PAPER} has no task {short.strip()[:40]!r}; {meant}there are {names}, or 1 … {len(TASKS)}")
    if given is None:
        return found.text
    if isinstance(given, Group) != found.structure.startswith("in"):
        kind = "group" if found.structure.startswith("in") else "modulus or field"
        raise InputError(f"{found.name} is {found.text}; give another {kind} with it, or nothing")
    return found.expression


def plain_name(short: str) -> str:
    """A name for comparison: x², x^2 and x ^ 2 are the same."""
    plain = unicodedata.normalize("NFKC", short).lower().replace("−", "-").replace("⁻", "-")
    return re.sub(r"[\s*·^]", "", plain)


BY_NAME = {plain_name(task.name.partition(":")[2]): task for task in TASKS} | {str(task.number): task for task in TASKS}
