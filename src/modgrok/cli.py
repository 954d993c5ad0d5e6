"""The command line: parse, call, print.

A command is a module of `modgrok.commands`; it is imported only when it is called, so that `--help` and errors
answer at once. Results go to stdout (a table, CSV with --csv, or one JSON object with --json), progress and errors to
stderr.
Exit codes: 0 done, 1 checked and found wrong, or a training that diverged, 2 bad input, 130 interrupted (Ctrl-C), 143
terminated (SIGTERM).
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import signal
import sys
import textwrap
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

from modgrok.base import interrupts
from modgrok.commands import COMMANDS, EXAMPLES

LONGEST_TOLD = 60
"""Characters of what is said of an argument that is missing."""


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        if wrong := re.fullmatch(r"argument (.+): invalid (int|float) value: (.+)", message, re.DOTALL):
            name, kind, given = wrong.groups()
            message = f"{name} must be {'a whole number' if kind == 'int' else 'a number'}, got {given}"
        elif wrong := re.fullmatch(r"argument (.+): invalid choice: '(.*)' \(choose from (.+)\)", message, re.DOTALL):
            name, given, choices = wrong.groups()
            if near := get_close_matches(given, re.findall(r"[\w-]+", choices), 1):
                message = f"{name}: invalid choice: {given!r}; did you mean {near[0]}?"
        elif wrong := re.fullmatch(r"the following arguments are required: (.+)", message):
            message = message.replace(wrong[1], ", ".join(map(self.described, wrong[1].split(", "))))
        fail(f"{self.prog}: {message}" if message.endswith("?") else f"{self.prog}: {message}; see {self.prog} --help")

    def described(self, name: str) -> str:
        """An argument with what may stand there, where that is short: "action (build, list, score)"."""
        meant = next((each for each in self._actions if name in (each.dest, each.metavar, *each.option_strings)), None)
        told = "" if meant is None else ", ".join(map(str, meant.choices or ())) or meant.help or ""
        return f"{name} ({told})" if 0 < len(told) <= LONGEST_TOLD else name


class CommandParser(OneLineParser):
    """The parser of a command: options may stand before, between and after its words."""

    between_words = True

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if not self.between_words:
            return super().parse_known_args(args, namespace)
        self.between_words = False
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self.between_words = True
        for word in unknown:
            if word.startswith("--"):
                self.error(f"there is no option {word.partition('=')[0]}{self.meant(word.partition('=')[0])}")
        if unknown and "expression" in found:
            self.error(f"{' '.join(unknown)} stands behind the expression; put all of the expression in quotes")
        return found, unknown

    def meant(self, option: str) -> str:
        """The option that somebody means who gives one that is not there: --learning-rate for --lr."""
        known = [word for word in self._option_string_actions if word.startswith("--")]
        near = get_close_matches(option, known, 1, 0.75)
        if "--learning-rate" in known:
            from modgrok.training.settings import ELSEWHERE, called

            name = option.lstrip("-").replace("-", "_")
            if name in ELSEWHERE:
                return f"; {ELSEWHERE[name]}"
            near = [f"--{name.replace('_', '-')}" for name in called(name)] or near
        return f"; did you mean {near[0]}?" if near else ""


def fail(message: str) -> NoReturn:
    from modgrok.base.printing import visible

    print(visible(message), file=sys.stderr)
    raise SystemExit(2)


def main(argv: Sequence[str] | None = None) -> int:
    if argv is not None:
        return answered(argv)
    from modgrok.base.printing import warn_visibly

    interrupts.repeat_interrupts()
    warn_visibly()
    if sys.argv[1:2] != ["explore"]:  # which has children to end first
        signal.signal(signal.SIGTERM, interrupts.terminate)
    try:
        return answered(sys.argv[1:])
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: Ctrl-C has nothing to interrupt but the exit
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        gc.freeze()  # Python ends without looking through a million objects of JAX once more, half a second


def answered(argv: Sequence[str]) -> int:
    """Do what the words say; the exit code."""
    open_streams()
    try:
        code = run_command([positional(word) for word in argv])
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as error:
        print("terminated" if isinstance(error, interrupts.Terminated) else "interrupted", file=sys.stderr)
        return interrupts.exit_code()
    except BrokenPipeError:
        discard_output()
        return 0
    except OSError as error:
        discard_output()
        fail(f"modgrok: cannot write the answer: {error.strerror or error}; give a place with space")


def open_streams() -> None:
    """Closed streams swallow what is printed, and characters that an encoding lacks are printed as escapes."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open as long as the process)
        if isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Nobody reads, or there is no place: what is still to be printed must not fail again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def positional(word: str) -> str:
    """`word` with a space before its minus, so that argparse takes '-n1' for an expression and not for an option."""
    option_or_number = re.fullmatch(r"-|-h|--.*|-[0-9.]+", word, re.DOTALL)
    return f" {word}" if word.startswith("-") and not option_or_number else word


def run_command(argv: list[str]) -> int:
    from modgrok.base.compilation_cache import use_compilation_cache
    from modgrok.base.errors import FaultError, InputError
    from modgrok.base.memory import ran_out
    from modgrok.base.provenance import called_as
    from modgrok.base.results import json_text

    use_compilation_cache()  # before a command's module imports jax
    if any(word.split("=")[0] == "--ray" for word in argv):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # the GPU belongs to those who work for this process
    name = next((word for word in argv if not word.startswith("-")), None)
    args = build_parser(name).parse_args(argv or ["--help"])
    from modgrok.base.printing import console, visible

    command = import_module(f"modgrok.commands.{args.command}")
    try:
        if args.first is not None:
            run_first(args.first)
        with called_as(["modgrok", *(word.strip() for word in argv)]):
            result = command.run(args, console(stderr=True))
    except InputError as error:
        fail(f"modgrok {args.command}: {error}")
    except FaultError as error:
        print(visible(f"modgrok {args.command}: {error}"), file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        fail(f"modgrok {args.command}: the system refused{place}: {error.strerror or error}; see to it and try again")
    except Exception as error:
        if not ran_out(error):
            raise
        fail(f"modgrok {args.command}: this needs more memory than there is; use a smaller width or modulus")
    if args.json:
        print(json_text(result))
    elif args.csv:
        from modgrok.commands.common import csv_text

        text = csv_text(command, result)
        print(visible(text) if sys.stdout.isatty() else text, end="")
    else:
        command.show(result, console(), args)
    return command.exit_code(result) if hasattr(command, "exit_code") else getattr(result, "exit_code", 0)


def run_first(file: str) -> None:
    """Run a Python file of the user's, which gives names to models, losses and optimisers."""
    from runpy import run_path

    from modgrok.base.errors import InputError

    try:
        run_path(file)
    except (InputError, OSError):
        raise
    except Exception as error:
        raise InputError(f"--with {file} ends with {type(error).__name__}: {error}; see to it and try again") from None


class Help(argparse.RawDescriptionHelpFormatter):
    """Lines that end where they were written to end, as far as they fit; none is broken at a hyphen."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(wrapped(line, width + 2) for line in text.splitlines())  # argparse leaves two columns free


def wrapped(line: str, width: int) -> str:
    """A line, or several that begin below the words of the first: behind its first column, if it has one."""
    place = re.match(r" *(\S.*? {2,})?", line)
    return textwrap.fill(line, width, subsequent_indent=" " * (place.end() if place else 0), break_on_hyphens=False)


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser; only the chosen command's own arguments are added, since that imports its module."""
    from modgrok import __version__

    parser = OneLineParser(
        prog="modgrok",
        description="A compiler and a laboratory for modular arithmetic in neural networks.",
        epilog='To begin: modgrok train "n1 n2" --mod 23, or modgrok explore for all of it in a browser. '
        "Every command takes --json (one JSON object) and --csv (its table); see `modgrok COMMAND --help`.",
    )
    parser.add_argument("--version", action="version", version=f"modgrok {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=CommandParser)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        if name == chosen:
            with interrupts.held_back():
                module = import_module(f"modgrok.commands.{name}")
            module.add_arguments(command)
            command.formatter_class = Help
            command.epilog = "\n\n".join(filter(None, [(command.epilog or "").strip(), f"example: {EXAMPLES[name]}"]))
        form = command.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
        form.add_argument("--csv", action="store_true", help="print the table as CSV")
        command.add_argument("--with", dest="first", metavar="FILE", help="a Python file to run first: mg.register(…)")
    return parser
