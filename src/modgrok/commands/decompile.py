"""modgrok decompile: which function a network computes, by which waves, and a closed-form twin of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from modgrok.base.printing import text_table
from modgrok.base.progress import line_every_few_seconds
from modgrok.base.results import percent
from modgrok.commands.common import add_network, folder_beside, given_network, heading, say, say_how_read
from modgrok.inspection.decompiling import Decompiled
from modgrok.recognition.recognising import Tried
from modgrok.training.inspecting import decompile, write_decompiled


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_network(parser)
    parser.add_argument(
        "--out",
        type=Path,
        help="folder for the twin, the figure, neurons and numbers (default: beside the network)",
    )


def run(args: argparse.Namespace, console: Console) -> Decompiled:
    folder = args.out or folder_beside(args.network, "decompiled")
    with line_every_few_seconds(console, lambda: "looking for the formula and its waves"):
        found = decompile(given_network(args))
    with line_every_few_seconds(console, lambda: f"writing what was found into {folder}"):
        return write_decompiled(found, folder)


def show(result: Decompiled, console: Console, args: argparse.Namespace) -> None:
    heading(console, result.formula or "No formula", f", {result.network.model.name}")
    say_how_read(console, result.network)
    say(console, result.paragraph())
    if result.formula is None and result.recognised.tried:
        rows = [
            (each.family, each.formula, rows_right(each, result), "–" if each.needed is None else f"{each.needed:,}")
            for each in result.recognised.tried
        ]
        console.print(text_table(("tried", "best formula", "inputs right", "chance ends at"), rows))
    if result.waves:
        headings = ("wave", "amplitude", "share of variance")
        waves = [
            (str(wave.get("representation", wave["frequency"])), f"{wave['amplitude']:.3g}", percent(wave["share"], 1))
            for wave in result.waves[:SHOWN_WAVES]
        ]
        console.print(text_table(headings, waves))
        if (more := len(result.waves) - SHOWN_WAVES) > 0:
            say(console, f"and {more} more")
    if len(wrong := result.recognised.wrong_inputs):
        shown = ", ".join(f"{row}" for row in wrong[:SHOWN_ERRORS])
        say(console, f"it is wrong at {shown}{', …' if len(wrong) > SHOWN_ERRORS else ''}")
    if result.files:
        say(console, f"written to {result.files[0].parent}")


def rows_right(tried: Tried, result: Decompiled) -> str:
    """How many; and of how many, where a formula of fewer inputs was counted on these alone."""
    every = tried.counted == result.recognised.answers.size
    return f"{tried.right:,}" + ("" if every else f" of {tried.counted:,}")


SHOWN_ERRORS, SHOWN_WAVES = 8, 8
"""How many of the inputs with wrong answers, and of the waves, are printed; --json has them all."""
