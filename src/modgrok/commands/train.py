"""modgrok train: train a network on a function's table, watch it grok, and keep everything in a run folder."""

from __future__ import annotations

import argparse
import dataclasses
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from modgrok.errors import InputError
from modgrok.figures.training import draw_training
from modgrok.loss_law.law import expected_from_loss
from modgrok.training import runs
from modgrok.training.diagnosis import PASSED
from modgrok.training.models import ACTIVATIONS, NORMS
from modgrok.training.objective import LOSSES, OPTIMISERS
from modgrok.training.presets import preset
from modgrok.training.steps import ORDERS, TrainConfig

CHOICES = {
    "order": ("auto", *ORDERS),
    "model": tuple(NORMS),
    "activation": tuple(ACTIVATIONS),
    "norm": ("none", "layer", "batch"),
    "loss": tuple(LOSSES),
    "optimiser": tuple(OPTIMISERS),
}
HELP = {
    "model": "the paper's two-layer network, a deeper mlp, or a transformer; it has settings of its own by default",
    "depth": "layers of weights of an mlp (2 to 4), or layers of a transformer (1 or 2)",
    "activation": "of an mlp",
    "norm": "layer normalisation (mlp, transformer) or batch normalisation (mlp)",
    "dropout": "share of the hidden neurons that is dropped at random in every step",
    "loss": "mean squared error to the one-hot, or cross-entropy",
    "optimiser": "adam has no weight decay, sgd has momentum beta1; it has settings of its own by default",
    "width": "hidden neurons; of a transformer, the dimension of its stream",
    "power": "the activation of the power network is x^power; the number of variables if not given",
    "steps": "full-batch steps; more than before lets a run go on",
    "learning_rate": "learning rate",
    "weight_decay": "weight decay",
    "beta1": "decay of the mean of gradients; momentum of sgd and muon",
    "beta2": "decay of the mean of squared gradients in Adam",
    "eps": "the term in Adam's denominator",
    "fraction": "share of the table to train on; the rest is for testing",
    "init_scale": "size of the initial weights; init_scale / (2 width)^(1/3) is their deviation in the power network",
    "seed": "seed of the split and of the initial weights",
    "metrics_every": "steps between measurements",
    "order": "order of residues in which periodicity is measured; auto takes discrete logarithms for products",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", nargs="?", help='the function, for example "n1 n2" or "(4n1 + n2^2)^3"')
    parser.add_argument(
        "--mod", dest="modulus", type=int, default=argparse.SUPPRESS, help="the modulus, for example 97"
    )
    for field in dataclasses.fields(TrainConfig):
        if field.name in HELP:
            default = "" if field.default is None else f" (default {field.default})"
            parser.add_argument(
                f"--{field.name.replace('_', '-')}",
                type=int if field.name == "power" else type(field.default),
                choices=CHOICES.get(field.name),
                default=argparse.SUPPRESS,
                help=HELP[field.name] + default,
            )
    parser.add_argument("--out", type=Path, help="folder of the run; by default one under runs/, named by the settings")
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with the run in this folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the run that is in the folder")
    parser.add_argument(
        "--checkpoint-seconds", type=float, default=10.0, help="least time between checkpoints (default 10)"
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    config, folder = config_and_folder(args)
    with live_view(config, folder, console) as on_point, stop_on_interrupt() as stop:
        result = runs.train_run(
            config,
            folder,
            overwrite=args.overwrite,
            checkpoint_seconds=args.checkpoint_seconds,
            on_point=on_point,
            stop=stop,
        )
    curves, neurons = runs.read_table(folder / "metrics.parquet"), runs.read_table(folder / "neurons.parquet")
    draw_training(curves, neurons, f"{config.expression} mod {config.modulus}", folder / "curves")
    taken = dataclasses.replace(config, steps=max(1, result["step"]))
    expected = expected_from_loss(result["final"]["train_loss"], taken)
    result = result | {"expected_test_accuracy": expected.to_json() | {"text": expected.summary()}}
    return result if result["finished"] else result | {"exit_code": 130}


def config_and_folder(args: argparse.Namespace) -> tuple[TrainConfig, Path]:
    """What the command line asks for: a new experiment, or one that goes on, with more steps perhaps."""
    names = [field.name for field in dataclasses.fields(TrainConfig)]
    given = {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}
    if args.resume is not None:
        if set(given) - {"steps"} or args.out or args.overwrite:
            raise InputError("--resume takes every setting from the run; only --steps may be given with it")
        return dataclasses.replace(runs.load_config(args.resume), **given), args.resume
    if not {"expression", "modulus"} <= set(given):
        raise InputError('train needs an expression and a modulus: modgrok train "n1 n2" --mod 97')
    config = preset(**given)
    return config, args.out or runs.default_folder(config)


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """A function that says whether Ctrl-C was pressed; a second Ctrl-C interrupts at once."""
    pressed = False

    def remember(signum: int, frame: object) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def live_view(config: TrainConfig, folder: Path, console: Console) -> Iterator[Callable[[runs.Point], None]]:
    """A bar with the current numbers below it, on a terminal; nothing elsewhere."""
    if not console.is_terminal:
        yield lambda point: None
        return
    bar = Progress(
        TextColumn(f"{config.expression} mod {config.modulus}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
    )
    task = bar.add_task("", total=config.steps, rate="compiling …")
    passed: dict[str, int] = {}

    with Live(bar, console=console, refresh_per_second=8, transient=True) as live:

        def on_point(point: runs.Point) -> None:
            step = int(point.row["step"])
            for part in ("train", "test"):
                if point.row[f"{part}_accuracy"] >= PASSED:
                    passed.setdefault(part, step)
            bar.update(task, completed=step, rate=f"{point.steps / point.seconds:.0f} steps/s")
            live.update(Group(bar, numbers_table(point.row, passed)))

        yield on_point


def numbers_table(row: dict[str, float], passed: dict[str, int]) -> Table:
    """Loss, accuracy, and when the accuracy passed 99 %, for the training and the test rows."""
    table = Table(box=None, pad_edge=False)
    for heading in ("", "loss", "accuracy", "99 % at step"):
        table.add_column(heading, justify="right" if heading else "left")
    for part in ("train", "test"):
        accuracy = row[f"{part}_accuracy"]
        if accuracy is not None and accuracy == accuracy:
            table.add_row(part, f"{row[f'{part}_loss']:.6f}", f"{accuracy:.2%}", str(passed.get(part, "not yet")))
    return table


def show(result: dict[str, Any], console: Console) -> None:
    final, config = result["final"], result["config"]
    passed = {"train": result["memorised_at"], "test": result["grokked_at"]}
    console.print(f"[bold]{config['expression']} mod {config['modulus']}[/], step {result['step']}", highlight=False)
    console.print(numbers_table(final, {part: step for part, step in passed.items() if step is not None}))
    if final["ipr"] is not None:
        console.print(
            f"mean IPR {final['ipr']:.3f}, of the living {final['ipr_alive']:.3f}; "
            f"{final['alive']} of {config['width']} neurons alive; {result['steps_per_second']:.1f} steps/s"
        )
    console.print(result["diagnosis"]["text"])
    console.print(result["expected_test_accuracy"]["text"], highlight=False)
    if not result["finished"]:
        console.print(
            f"Stopped before its {config['steps']} steps; go on with: modgrok train --resume {result['run_dir']}"
        )
    reused = "; it had finished before, train again with --overwrite" if result["reused"] else ""
    console.print(f"Everything is in {result['run_dir']}{reused}")
