"""modgrok train: train a network on a function's table, watch it grok, and keep everything in a run folder."""

from __future__ import annotations

import argparse
from math import isfinite
from pathlib import Path
from typing import Any

from rich.console import Console

from modgrok.answers.classifying import Answer, classify
from modgrok.base import interrupts
from modgrok.base.errors import InputError
from modgrok.base.printing import visible
from modgrok.commands import sweep
from modgrok.commands.common import add_function, given_function, say, say_read_as, structure_given
from modgrok.experiments.sweep_plan import seeds_of
from modgrok.experiments.sweep_result import Sweep
from modgrok.experiments.sweeps import default_folder as sweep_folder, run_plan
from modgrok.inspection.group_view import group_view
from modgrok.inspection.order import group_of_word
from modgrok.loss_law.from_table import MODEL_NAMES
from modgrok.training.beforehand import ASKED, LARGEST_ASKED
from modgrok.training.config import TrainConfig
from modgrok.training.ensemble import check_memory
from modgrok.training.live import numbers_table
from modgrok.training.logs import LOGS
from modgrok.training.run import Run, draw_run
from modgrok.training.run_folder import FIGURE, default_folder, going_on
from modgrok.training.settings import REGISTRIES, SETTINGS
from modgrok.training.train import train_config

LARGEST_SHOWN = 1 << 23
"""Logits of a word in a group that are looked at at the end of a training: a second or two."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_function(parser, 'the function, for example "n1 n2" or "(4n1 + n2^2)^3"')
    for each in SETTINGS.values():
        if each.kind is bool:
            parser.add_argument(each.flag, action="store_true", default=argparse.SUPPRESS, help=each.help)
        else:
            words, open_to_more = each.words, each.name in REGISTRIES
            parser.add_argument(
                each.flag,
                type=each.kind,
                choices=None if open_to_more else words or None,
                metavar="|".join(words) if open_to_more else None,
                default=argparse.SUPPRESS,
                help=each.full_help,
            )
    parser.add_argument(
        "--seeds", type=int, metavar="N", help="train N seeds at once, starting at --seed: a sweep (docs/sweep.md)"
    )
    parser.add_argument("--out", type=Path, help="folder of the run (default: one under runs/, named by the settings)")
    parser.add_argument(
        "--log", choices=tuple(LOGS), help="also write the metrics for this tool into the folder; needs its extra"
    )
    parser.add_argument("--resume", type=Path, metavar="RUN", help="continue the run in this folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the run that is in the folder")
    parser.add_argument(
        "--checkpoint-seconds", type=float, default=10.0, help="seconds between checkpoints, at least (default 10)"
    )


def run(args: argparse.Namespace, console: Console) -> Run | Sweep:
    config, folder = config_and_folder(args)
    if args.seeds is not None:
        return many_seeds(args, config, console)
    with interrupts.stop_on_interrupt() as stop:
        return train_config(
            config,
            folder,
            overwrite=args.overwrite,
            checkpoint_seconds=args.checkpoint_seconds,
            live=True,
            log=args.log,
            stop=stop,
            figure=args.json or args.csv,
        )


def many_seeds(args: argparse.Namespace, config: TrainConfig, console: Console) -> Sweep:
    """The sweep that has nothing but seeds to vary."""
    if args.resume or args.overwrite or config.snapshots or args.log:
        raise InputError("--seeds makes a sweep: without --resume (call it again), --overwrite, --snapshots and --log")
    plan = seeds_of(config, args.seeds)
    folder = args.out or sweep_folder(plan)
    check_memory(config.task().shape)  # nothing is said of what cannot be trained
    say_read_as(console, config.function)
    if args.out is None:
        say(console, f"{args.seeds} seeds are a sweep; it is written to {folder} (--out for another folder)")
    return run_plan(plan, folder, live=True)


def exit_code(result: Run | Sweep) -> int:
    if isinstance(result, Sweep):
        return 0
    diverged = result.diagnosis is not None and result.diagnosis.outcome == "diverged"
    return int(diverged) if result.finished else interrupts.exit_code()


def config_and_folder(args: argparse.Namespace) -> tuple[TrainConfig, Path]:
    """What the command line asks for: a new experiment, or one that goes on, with more steps perhaps."""
    given = {name: getattr(args, name) for name in SETTINGS if hasattr(args, name)}
    if args.resume is not None:
        function = (args.expression, args.table, args.mod, args.group, args.field)
        if set(given) - {"steps"} or args.out or args.overwrite or any(part is not None for part in function):
            raise InputError("--resume takes every setting from the run; only --steps may be given with it")
        return going_on(args.resume, **given)[1], args.resume
    config = TrainConfig.of(given_function(args, "train"), args.mod, **structure_given(args), **given)
    return config, args.out or default_folder(config)


def asked_about(config: TrainConfig) -> Answer:
    """What `classify` says of a training's function, share and model."""
    model = config.model if config.model in MODEL_NAMES else "power"
    return classify(config.function, fraction=config.fraction, effort=ASKED, model=model, probe=False, measure=False)


def csv_rows(result: Run | Sweep) -> list[dict[str, Any]]:
    """A row for each measured step; of a sweep, for each training."""
    if isinstance(result, Sweep):
        return result.rows
    return [dict(zip(result.curves, row, strict=True)) for row in zip(*result.curves.values(), strict=True)]


def show(result: Run | Sweep, console: Console, args: argparse.Namespace) -> None:
    if isinstance(result, Sweep):
        sweep.show(result, console, args)
        return
    final, config, told = result.final, result.config, result.diagnosis
    if told is not None:
        console.print(told.text, style="bold")
        if told.outcome == "memorised" and config.function.cells <= LARGEST_ASKED:
            say(console, " ".join(asked_about(config).answer))
    say(console, f"{result.title}, {result.about}, step {result.step}, {result.steps_per_second:.1f} steps/s")
    say_read_as(console, config.function)
    console.print(numbers_table(final, {"train": result.memorised_at, "test": result.grokked_at}))
    if config.order == "auto" and group_of_word(config.function) is not None:
        say(console, closed_form(result))
    elif isfinite(final["ipr"]):
        alive = f"{final['alive']} of {config.width} neurons alive"
        some = f" (mean IPR {final['ipr_alive']:.3f})" if 0 < final["alive"] < config.width else ""
        order = f"{result.residue_order.name} order; {', '.join(result.ipr_blocks)}"
        say(console, f"mean IPR {final['ipr']:.3f} ({order}); {alive}{some}")
    else:
        say(console, "no IPR: the weights for this function are waves in no order of the residues")
    if told is not None and told.expectation:
        say(console, told.expectation)
    if result.snapshots:
        say_whole(
            console, f"The film of its {len(result.snapshots)} snapshots, as a page: modgrok share {result.folder}"
        )
    if unknown := result.unknown_cells:
        where = f"mg.load({str(result.folder)!r}).table()"
        say(console, f"{unknown:,} unknown cells were left out of both sets; {where} predicts them.")
    if not result.finished:
        going = "go on with" if told is None or told.go_on_to is not None else "to continue all the same"
        say_whole(
            console, f"Stopped before its {config.steps:,} steps; {going}: modgrok train --resume {result.folder}"
        )
    elif told is not None and told.go_on_to is not None:
        say_whole(console, f"Go on with: modgrok train --resume {result.folder}{told.go_on}")
    if result.folder is not None and not (result.reused and (result.folder / FIGURE).exists()):
        draw_run(result, result.folder)  # after the answer, since it takes as long as a second
    reused = "; it was finished already (--overwrite trains it again)" if result.reused else ""
    say_whole(console, f"Everything is in {result.folder}{reused}")


def closed_form(result: Run) -> str:
    """What holds in a group, where no weights are waves: how much of the logits is on the closed form."""
    function = result.config.function
    if function.cells * function.values > LARGEST_SHOWN:
        return "modgrok inspect says how much of its logits is on the closed form."
    found = group_view(result.network, cosets=False)
    assert found is not None
    return f"{found.why or found.words}; {result.final['alive']} of {result.config.width} neurons alive."


def say_whole(console: Console, text: str) -> None:
    """A line with a command or a folder, which is copied: it is not broken where the terminal ends."""
    console.print(visible(text), soft_wrap=True)
