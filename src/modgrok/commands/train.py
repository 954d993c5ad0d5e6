"""modgrok train: train a network on a function's table, watch it grok, and keep everything in a run folder."""

from __future__ import annotations

import argparse
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from rich.console import Console

from modgrok.base import interrupts
from modgrok.base.errors import InputError
from modgrok.commands import sweep
from modgrok.commands.common import FILES_KEY, add_function, given_function, heading, say
from modgrok.experiments.sweep_plan import seeds_of
from modgrok.experiments.sweep_result import Sweep
from modgrok.experiments.sweeps import default_folder as sweep_folder
from modgrok.experiments.sweeps import run_plan
from modgrok.training.config import TrainConfig
from modgrok.training.live import numbers_table
from modgrok.training.logs import LOGS
from modgrok.training.presets import preset
from modgrok.training.run_folder import default_folder, load_config
from modgrok.training.settings import CHOICES, HELP
from modgrok.training.steps import Metrics
from modgrok.training.train import Run, train_config

RUN_KEYS = {
    "config": "every setting of the training",
    "folder": "where the run is",
    "finished": "whether all steps were taken",
    "reused": "whether the run had been finished before",
    "step": "the last step",
    "final": f"the metrics there: {', '.join(f'`{name}`' for name in Metrics._fields)}",
    "memorised_at": "first measured step with 99 % of the training rows right, or `null`",
    "grokked_at": "first measured step with 99 % of the test rows right, or `null`",
    "order": "the order of residues in which the IPR is measured: `additive`, `multiplicative` or `witness`",
    "ipr_blocks": "the variables, and the readout, whose weights the IPR is the mean over",
    "train_rows": "rows trained on",
    "test_rows": "rows tested on",
    "unknown_cells": "cells of a table whose values are not known; the network predicts them",
    "seconds": "how long the last sitting trained, without compilation",
    "steps_per_second": "in the last sitting",
    "device": "what it was trained on",
    "diagnosis": "`outcome` (grokked, fitted, diverged, collapsed, improving, memorised, underfit) and `text`; `null` "
    "where Ctrl-C or SIGTERM stopped the run before its first measurement",
    "expected_accuracy": "the test accuracy that the training loss alone stands for: `value`, `low`, `high`, "
    "`reason`, `source`; the numbers are `null` where the loss law was not measured",
} | FILES_KEY
KEYS = {"EXPRESSION": RUN_KEYS, "EXPRESSION --seeds N": sweep.KEYS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_function(parser, 'the function, for example "n1 n2" or "(4n1 + n2^2)^3"')
    usual = preset("power", "adamw") | {"model": "power"}
    for name, text in HELP.items():
        default = "" if usual[name] is None else f" (default {usual[name]})"
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=int if usual[name] is None else type(usual[name]),
            choices=CHOICES.get(name),
            default=argparse.SUPPRESS,
            help=text + default,
        )
    parser.add_argument(
        "--seeds", type=int, metavar="N", help="train so many seeds at once, from --seed on: a sweep (docs/sweep.md)"
    )
    parser.add_argument("--out", type=Path, help="folder of the run; by default one under runs/, named by the settings")
    parser.add_argument(
        "--log", choices=tuple(LOGS), help="write the metrics for this tool into the folder, too; needs its extra"
    )
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with the run in this folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the run that is in the folder")
    parser.add_argument(
        "--checkpoint-seconds", type=float, default=10.0, help="least time between checkpoints (default 10)"
    )


def run(args: argparse.Namespace, console: Console) -> Run | Sweep:
    config, folder = config_and_folder(args)
    if args.seeds is not None:
        return many_seeds(args, config)
    with interrupts.stop_on_interrupt() as stop:
        return train_config(
            config,
            folder,
            overwrite=args.overwrite,
            checkpoint_seconds=args.checkpoint_seconds,
            live=True,
            log=args.log,
            stop=stop,
        )


def many_seeds(args: argparse.Namespace, config: TrainConfig) -> Sweep:
    """The sweep that has nothing but seeds to vary."""
    if args.resume or args.overwrite or config.snapshots or args.log:
        raise InputError("--seeds makes a sweep: without --resume (call it again), --overwrite, --snapshots and --log")
    plan = seeds_of(config, args.seeds)
    return run_plan(plan, args.out or sweep_folder(plan), live=True)


def exit_code(result: Run | Sweep) -> int:
    return 0 if isinstance(result, Sweep) or result.finished else interrupts.exit_code()


def config_and_folder(args: argparse.Namespace) -> tuple[TrainConfig, Path]:
    """What the command line asks for: a new experiment, or one that goes on, with more steps perhaps."""
    given = {name: getattr(args, name) for name in HELP if hasattr(args, name)}
    if args.resume is not None:
        function = (args.expression, args.table, args.mod)
        if set(given) - {"steps"} or args.out or args.overwrite or function != (None, None, None):
            raise InputError("--resume takes every setting from the run; only --steps may be given with it")
        return replace(load_config(args.resume), **given), args.resume
    config = TrainConfig.of(given_function(args, "train"), args.mod, **given)
    return config, args.out or default_folder(config)


def csv_rows(result: Run | Sweep) -> list[dict[str, Any]]:
    """A row for each measured step; of a sweep, for each training."""
    if isinstance(result, Sweep):
        return result.rows
    return [dict(zip(result.curves, row, strict=True)) for row in zip(*result.curves.values(), strict=True)]


def show(result: Run | Sweep, console: Console, args: argparse.Namespace) -> None:
    if isinstance(result, Sweep):
        sweep.show(result, console, args)
        return
    final, config = result.final, result.config
    heading(console, result.title, f", {result.about}")
    say(console, f"step {result.step}, {result.steps_per_second:.1f} steps/s")
    console.print(numbers_table(final, {"train": result.memorised_at, "test": result.grokked_at}))
    if isfinite(final["ipr"]):
        blocks = ", ".join(result.ipr_blocks)
        say(
            console,
            f"mean IPR {final['ipr']:.3f}, of the living {final['ipr_alive']:.3f} ({result.residue_order.name} order; "
            f"{blocks}); {final['alive']} of {config.width} neurons alive",
        )
    else:
        say(console, "no IPR: in no order of the residues are the weights for this function waves")
    if result.diagnosis is not None:
        say(console, result.diagnosis.text)
        text = result.expected.summary()
        say(console, f"{text[0].upper()}{text[1:]}.")
    if result.snapshots:
        say(console, f"{len(result.snapshots)} snapshots from step 0 on: run.at(step) in Python")
    if unknown := result.unknown_cells:
        where = f"mg.load({str(result.folder)!r}).table()"
        say(console, f"{unknown:,} cells are unknown and took no part; {where} predicts them.")
    if not result.finished:
        say(
            console,
            f"Stopped before its {config.steps} steps; go on with: modgrok train --resume {result.folder}",
        )
    reused = "; it had finished before, train again with --overwrite" if result.reused else ""
    say(console, f"Everything is in {result.folder}{reused}")
