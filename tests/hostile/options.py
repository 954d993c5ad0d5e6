"""(c) Options: every option and word of every command at 0, −1, huge, tiny, nan, inf and words.

Options and words are read from the parsers, so a new one is tried by being there. A command is called in a folder with
a small example of what it needs, and must end with 0, 1, 2 or 130, print one JSON object if it ends with 0 or 1, and
one clear line if it ends with 2 (an expression is shown below it, with the place). Numbers that would be accepted and
take forever (a width of a billion) are not asked for: huge is 10³⁰.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
from damaged_files import examples
from tally import Tally

from modgrok import cli
from modgrok.commands import COMMANDS

VALUES = ("0", "-1", "1" + "0" * 30, "1e-300", "1e300", "nan", "inf", "-inf", "words", "", "0x10", "1_0", "٣")
SECONDS = 200
"""No call of these may take longer of processor time."""
CALLS: dict[str, tuple[str, ...]] = {
    "classify": ("classify", "n1 n2", "--mod", "5"),
    "check": ("check", "certificate.json"),
    "census": ("census", "plan.toml", "--out", "trained"),
    "bench": ("bench", "train", "--case", "5,4,1", "--rounds", "1", "--seconds", "0.001"),
    "compile": ("compile", "n1 n2", "--mod", "5", "--out", "compiled.safetensors"),
    "verify": ("verify", "network.safetensors"),
    "predict": ("predict", "network.safetensors", "3", "4"),
    "export": ("export", "network.safetensors", "--to", "torch"),
    "sweep": ("sweep", "n1 + n2", "--mod", "5", "--width", "4", "--steps", "2", "--out", "swept"),
    "train": ("train", "n1 + n2", "--mod", "5", "--width", "4", "--steps", "2", "--out", "trained-run"),
    "runs": ("runs", "run"),
    "compare": ("compare", "run", "run"),
    "watch": ("watch", "run"),
    "inspect": ("inspect", "network.safetensors"),
    "paper": ("paper", "classes", "--quick", "--out", "item"),
    "explore": ("explore", "--no-open", "--port", "0", "--seconds", "0.01", "--runs", "runs"),
    "decompile": ("decompile", "network.safetensors"),
    "tasks": ("tasks",),
    "share": ("share", "n1 n2", "--mod", "5", "--out", "page.html"),
    "dataset": ("dataset", "build", "--out", "dataset"),
    "zoo": ("zoo", "list", "zoo"),
    "mix": ("mix", "n1 n2", "--mod", "5", "--trained", "sums", "--width", "4", "--steps", "2"),
}
"""A small call of each command."""


class TooLong(BaseException):
    """A call that does not come to its end; nothing in modgrok takes it for an error of its own."""


def numeric(action: argparse.Action) -> bool:
    """Does an option or a word take numbers, or text that may hold some?"""
    return action.nargs != 0 and action.choices is None and action.type is not Path


@cache
def questions() -> tuple[tuple[str, str, str], ...]:
    """(command, option, value) for all of them; in place of an option, a word of the call that is replaced."""
    found = []
    for command in COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        import_module(f"modgrok.commands.{command}").add_arguments(parser)
        given = vars(parser.parse_args(CALLS[command][1:]))
        for action in filter(numeric, parser._actions):
            if action.option_strings:
                places = [action.option_strings[-1]]
            else:
                words = given[action.dest]
                places = [str(word) for word in (words if isinstance(words, list) else [words]) if word is not None]
            found += [(command, place, value) for place in places for value in VALUES]
    return tuple(found)


TOTAL, BATCH, UNIT = len(questions()), 13, "calls"


def run_batch(number: int) -> Tally:
    tally = Tally()
    for command, option, value in questions()[number * BATCH : (number + 1) * BATCH]:
        tally.trial(command, *problems(command, option, value))
    return tally


def problems(command: str, option: str, value: str) -> list[str]:
    """What is wrong with the way a call ends."""
    words = [*changed(CALLS[command], option, value), "--json"]
    with in_example():
        code, out, err = called(words)
    what = f"modgrok {' '.join(map(repr, words))}"
    if code not in (0, 1, 2, 130):
        return [f"{what} ends with {code}: {err[-300:]}"]
    said = [line for line in err.splitlines() if not line.startswith("  ")]
    if code == 2 and (out or not said or not re.match(r"modgrok[^:]*: .", said[-1])):
        return [f"{what} says {err[-300:]!r}"]
    if code == 2 and sum(line.startswith("modgrok") for line in said) != 1:
        return [f"{what} does not say one line: {err[-300:]!r}"]
    if code in (0, 1):
        try:
            json.loads(out, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
        except ValueError as error:
            return [f"{what} prints no JSON: {error}: {out[:100]!r}"]
    return []


def changed(words: tuple[str, ...], place: str, value: str) -> Iterator[str]:
    """The words of a call with another value of an option, or with another word."""
    left = iter(words)
    for word in left:
        if word == place and place.startswith("-"):
            next(left)
        else:
            yield value if word == place else word
    if place.startswith("-"):
        yield f"{place}={value}"


@contextlib.contextmanager
def in_example() -> Iterator[Path]:
    """A fresh folder with the examples, as the working directory."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(examples(), place, dirs_exist_ok=True)
        os.chdir(place)
        try:
            yield Path(place)
        finally:
            os.chdir(before)


def called(words: list[str]) -> tuple[int, str, str]:
    """Exit code (3 for an exception or a call that takes too long), stdout and stderr of a call in this process."""
    out, err = io.StringIO(), io.StringIO()

    def too_long(signum: int, frame: object) -> None:
        raise TooLong(f"took more than {SECONDS} s")

    signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings(), np.errstate():
            warnings.simplefilter("error")
            try:
                code = cli.main(words)
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 3
            except BaseException:
                code = 3
                err.write(traceback.format_exc())
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return code, out.getvalue(), err.getvalue()
