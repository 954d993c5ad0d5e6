"""The page docs/commands.md, made from the commands themselves: python release/reference.py > docs/commands.md

Words, options and defaults come from each command's parser, the JSON keys from `json_keys`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from importlib import import_module

from json_keys import KEYS

from modgrok.cli import wrapped
from modgrok.commands import COMMANDS, EXAMPLES

Keys = Mapping[str, str]

LONGEST_LINE = 110
"""Characters of a line of usage."""

INTRODUCTION = """\
# Commands and their JSON

This page is made from the code: `python release/reference.py > docs/commands.md`.

Every command takes `--json` and then prints one object on stdout; progress and errors go to stderr. Numbers that JSON
cannot hold (NaN, infinities) are `null`. A key has one meaning and one type in all commands; the names of settings, of
the columns of tables and of what an item of the paper measures are data. With `--csv` a command prints its table as
CSV instead: of `train` and `watch` the metrics, a row for each measured step. Options may stand before, between and
after the words of a command. `--with FILE` runs a Python file first, which gives names to objects of your own
([your-own.md](your-own.md)).

Exit codes: 0 done; 1 checked and found wrong, or a training that diverged; 2 bad input, one line on stderr; 130 Ctrl-C;
143 SIGTERM."""

PAGES = {
    "compile": "exact.md",
    "classify": "classify.md",
    "check": "classify.md",
    "tasks": "tasks.md",
    "train": "training.md",
    "inspect": "inspect.md",
    "census": "census.md",
    "dataset": "dataset.md",
    "zoo": "zoo.md",
    "bench": "training.md",
    "mix": "mix.md",
    "sweep": "sweep.md",
    "runs": "runs.md",
    "compare": "runs.md",
    "watch": "runs.md",
    "paper": "report.md",
    "explore": "explorer.md",
}
"""Where more is said about a command."""


def keys_of(command: str) -> dict[str, Keys]:
    """The JSON keys of each action of a command; a command without actions has one, with no name."""
    keys = KEYS[command]
    several = any(isinstance(meaning, Mapping) for meaning in keys.values())
    return dict(keys) if several else {"": keys}


def page() -> str:
    """The whole page."""
    return "\n\n".join([INTRODUCTION, *(part for name in COMMANDS for part in section(name))]) + "\n"


def section(command: str) -> Iterator[str]:
    """What the page says about one command."""
    parser = argparse.ArgumentParser(prog=f"modgrok {command}", add_help=False)
    import_module(f"modgrok.commands.{command}").add_arguments(parser)
    purpose = COMMANDS[command]
    more = f" More in [{PAGES[command]}]({PAGES[command]})." if command in PAGES else ""
    yield f"## {command}"
    yield f"{purpose[0].upper()}{purpose[1:]}.{more}"
    yield f"```\n{usage(parser)}\n```"
    yield f"For example: `{EXAMPLES[command]}`"
    if parser.epilog:
        lines = "\n".join(wrapped(line, 80) for line in parser.epilog.strip().splitlines())
        yield f"```\n{lines}\n```"
    yield table("argument", {form(action): meaning(action, parser.prog) for action in parser._actions})
    for action, keys in keys_of(command).items():
        if action:
            yield f"`{parser.prog} {action}`:"
        if keys:
            yield table("JSON key", keys)


def usage(parser: argparse.ArgumentParser) -> str:
    """How the command is called, words first; what the parser says itself where it has something to say."""
    if parser.usage:
        return "\n".join(line.strip() for line in parser.usage.splitlines())
    words = [form(action) for action in parser._actions if not action.option_strings]
    options = [
        form(action) if action.required else f"[{form(action)}]" for action in parser._actions if action.option_strings
    ]
    lines = [parser.prog]
    for part in words + options:
        if len(lines[-1]) + len(part) >= LONGEST_LINE:
            lines.append(" " * len(parser.prog))
        lines[-1] += f" {part}"
    return "\n".join(lines)


def form(action: argparse.Action) -> str:
    """An argument as it is typed: 'EXPRESSION', 'VALUE …', '--mod P', '--json'."""
    name = str(action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper()))
    if action.option_strings:
        return action.option_strings[-1] if action.nargs == 0 else f"{action.option_strings[-1]} {name}"
    return {"?": f"[{name}]", "+": f"{name} …", "*": f"[{name} …]"}.get(str(action.nargs), name)


def meaning(action: argparse.Action, prog: str) -> str:
    """The help of an argument, with its default unless the help says it or there is nothing to say."""
    text = (action.help or "") % (vars(action) | {"prog": prog})
    silent = action.default in (None, argparse.SUPPRESS) or action.nargs == 0 or "default" in text
    default = f"{action.default:g}" if isinstance(action.default, float) else action.default
    return text if silent else f"{text} (default {default})"


def table(heading: str, rows: Keys) -> str:
    cells = [(f"`{name}`", text) for name, text in rows.items()]
    lines = [(heading, "meaning"), ("---", "---"), *cells]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


if __name__ == "__main__":
    print(page(), end="")
