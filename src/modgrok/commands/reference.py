"""The page docs/commands.md, made from the commands themselves: python -m modgrok.commands.reference > docs/commands.md

Words, options and defaults come from each command's parser, the JSON keys from its constant KEYS: a mapping from each
key to its meaning, or, for a command with several actions, from each action to such a mapping.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from modgrok.commands import COMMANDS

Keys = Mapping[str, str]

LONGEST_LINE = 110
"""Characters of a line of usage."""

INTRODUCTION = """\
# Commands and their JSON

This page is made from the code: `python -m modgrok.commands.reference > docs/commands.md`.

Every command takes `--json` and then prints one object on stdout; progress and errors go to stderr. Numbers that JSON
cannot hold (NaN, infinities) are `null`. Options may stand before, between and after the words of a command.

Exit codes: 0 done; 1 checked and found wrong; 2 bad input, one line on stderr; 130 interrupted."""

PAGES = {
    "compile": "exact.md",
    "classify": "classify.md",
    "train": "training.md",
    "inspect": "inspect.md",
    "census": "census.md",
    "bench": "training.md",
    "mix": "mix.md",
    "paper": "report.md",
}
"""Where more is said about a command."""

NETWORK = {
    "expression": "as understood, in canonical spelling",
    "modulus": "p",
    "variables": "names of the inputs, in the order in which `predict` takes them",
    "method": "how it was made: `paper`, `exact`, or by a command that trains",
    "experts": "one object each: `kind` (`sum`, `product`, `relabel`, `separable`), `text` (what it computes), "
    "`inputs` (names: variables, or `e1`, `e2`, … for experts), `width`, `order` (of its cyclic group), `absorbing` "
    "(whether zero joins it); with exact also `frequencies`, `margin`, `beta`",
    "width": "hidden neurons in all",
    "parameters": "weights in all",
    "dtype": "`float32` or `float64`",
    "accuracy": "share of the checked rows that are right; ties are wrong",
    "mse": "mean squared distance of the logits from the one-hot answer, over rows and classes",
    "min_margin": "smallest (correct logit − best wrong logit) over the checked rows",
    "rows_checked": "the whole table where that takes seconds, else a sample of up to 100,000 rows",
    "rows_total": "rows of the table",
    "errors": "wrong rows",
    "first_error": "the first of them, or `null`",
}
EARLIER: dict[str, Keys] = {
    "compile": NETWORK
    | {
        "certificate": "with exact: `holds`, `dtype`, `margin`, `error_bound`, and the same for `experts`; else `null`",
        "notes": "what the compiler had to change, in words",
        "settings": "what it was made with",
        "file": "where it was written, or `null`",
        "seconds": "`compile`, `verify`, `save`",
        "explain": "whether `--explain` was given",
    },
    "verify": NETWORK | {"seconds": "`verify`"},
    "predict": {
        "expression": "of the network",
        "modulus": "of the network",
        "inputs": "value by variable",
        "prediction": "the network's answer",
        "expected": "that of integers",
        "correct": "whether they agree",
        "margin": "correct logit − best wrong logit",
    },
    "export": {
        "expression": "of the network",
        "modulus": "of the network",
        "format": "`onnx` or `torch`",
        "files": "what was written",
    },
    "train": {
        "config": "every setting",
        "run_dir": "the folder",
        "finished": "whether all steps are done",
        "reused": "whether they were done before",
        "step": "the last step",
        "final": "`train_loss`, `test_loss`, `train_accuracy`, `test_accuracy`, `ipr`, `ipr_alive`, `alive`, "
        "`embed_norm`, `readout_norm`",
        "memorised_at": "first measured step at which the accuracy on training rows passed 99 %, or `null`",
        "grokked_at": "the same for test rows",
        "order": "of residues in which periodicity is measured",
        "train_rows": "size of the training part",
        "test_rows": "size of the test part",
        "steps_per_second": "speed",
        "device": "where it ran",
        "diagnosis": "`outcome`, and `text` in words",
        "expected_test_accuracy": "`value`, `error`, `reason` and `source` of the accuracy that the training loss "
        "stands for, and `text` in words",
    },
    "mix": NETWORK
    | {
        "settings": "what it was trained with",
        "file": "where it was written, or `null`",
        "seconds": "`train`, `verify`",
    },
    "paper": {
        "item": "what was computed",
        "title": "in words",
        "settings": "how",
        "published": "the paper's numbers",
        "measured": "ours",
        "verdict": "`reproduced`, `partly reproduced`, `differs`, or in words where that does not fit",
        "notes": "what to know when reading the table",
        "columns": "heading of the table by key",
        "rows": "one object a row",
        "curves": "figure1: `terms`, `widths`, `best_accuracy`, `width_100` for each number of terms",
        "seconds": "time taken",
        "files": "what was written",
    },
}
"""Keys of commands whose modules do not say them yet; they belong there."""


def keys_of(command: str) -> dict[str, Keys]:
    """The JSON keys of each action of a command; a command without actions has one, with no name."""
    keys: Any = getattr(import_module(f"modgrok.commands.{command}"), "KEYS", EARLIER.get(command, {}))
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
    if parser.epilog:
        yield f"```\n{parser.epilog.strip()}\n```"
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
