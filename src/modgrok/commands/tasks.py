"""modgrok tasks: functions of the literature by name, which every command takes in place of an expression."""

from __future__ import annotations

import argparse

from rich.console import Console

from modgrok.algebra.known_tasks import TaskList, tasks
from modgrok.base.printing import print_table, text_table
from modgrok.commands.common import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Give a name in place of an expression: modgrok train power2022:x/y,\nor with another modulus: --mod 59."
    )


def run(args: argparse.Namespace, console: Console) -> TaskList:
    return tasks()


def show(result: TaskList, console: Console, args: argparse.Namespace) -> None:
    rows = [(str(task.number), task.name, task.expression, task.structure) for task in result.tasks]
    print_table(console, text_table(("", "name", "function", "values"), rows))
    say(
        console,
        "From: Grokking: generalization beyond overfitting on small algorithmic datasets (2022). A name can stand for "
        "an expression: modgrok train power2022:x/y. docs/tasks.md says how well networks learn them.",
    )
