"""The folder of a run, which belongs to one experiment:

config.json             the `TrainConfig`
function.npy            the table that is learned, -1 in unknown cells, where the function is no expression
metrics.parquet         one row for each measured step: step, losses, accuracies, IPR, neurons alive, norms
neurons.parquet         one row for each neuron: IPR before and after training, and whether it is alive
weights.safetensors     the trained network, in the one format of every modgrok network
checkpoint.safetensors  weights, state of the optimiser and metrics at the last checkpoint, replaced whole
result.json             the summary that the command prints
curves.png, .svg        the figure of the training
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from modgrok.algebra.function import Function, from_table
from modgrok.algebra.table_files import read_table
from modgrok.errors import InputError
from modgrok.files import claim_folder, read_json, whole_file, write_json
from modgrok.networks.storage import WEIGHTS
from modgrok.training.config import TrainConfig

CONFIG, METRICS, NEURONS, CHECKPOINT, RESULT = (
    "config.json",
    "metrics.parquet",
    "neurons.parquet",
    "checkpoint.safetensors",
    "result.json",
)
FUNCTION = "function.npy"
FILES = (CONFIG, FUNCTION, METRICS, NEURONS, WEIGHTS, CHECKPOINT, RESULT, "curves.png", "curves.svg")
MADE_BY = "modgrok train"


def default_folder(config: TrainConfig) -> Path:
    """runs/, the expression in characters that every file system takes, and every setting that is not the preset.

    Without the number of steps: a run goes on in its folder.
    """
    words = "".join(c if c.isalnum() else "-" for c in config.expression.replace(" ", ""))[:40]
    named = ("expression", "modulus", "width", "steps", "seed")
    changed = [f"-{name}{value}" for name, value in config.changed().items() if name not in named]
    what = f"mod{config.modulus}" if config.function is None else config.function.digest[:8]
    return Path("runs") / f"{words}-{what}-width{config.width}-seed{config.seed}{''.join(changed)}"


def load_config(folder: Path) -> TrainConfig:
    """The config of the run in a folder."""
    if not (folder / CONFIG).exists():
        raise InputError(f"{folder} is not a run: it has no {CONFIG}; `{MADE_BY} … --out {folder}` makes one")
    stored = read_json(folder / CONFIG)
    try:
        if "function" in stored:
            stored |= {"function": load_function(folder, stored)}
        return TrainConfig(**stored)
    except (TypeError, KeyError) as error:
        raise InputError(f"{folder / CONFIG} is not the config of a run: {error}") from None


def load_function(folder: Path, stored: dict[str, Any]) -> Function:
    """The table of the run in a folder."""
    found, about = read_table(folder / FUNCTION), stored["function"]
    names = tuple(about["variables"])
    function = from_table(found.table, stored["modulus"], stored["expression"], names, str(found.path))
    if function.digest != about["digest"]:
        raise InputError(f"{found.path} is not the table that the run was trained on; start again with --overwrite")
    return function


def is_finished(config: TrainConfig, folder: Path) -> bool:
    """Has the run of this config already taken all its steps in this folder?"""
    if not (folder / RESULT).exists():
        return False
    result = read_json(folder / RESULT)
    return bool(isinstance(result, dict) and result.get("finished") and result.get("config") == config.to_json())


def claim(config: TrainConfig, folder: Path, *, overwrite: bool = False) -> None:
    """Make `folder` the folder of this config, or refuse where it holds something else.

    A run may go on with more steps, since nothing that came before depends on their number; any other difference is
    another experiment.
    """
    if overwrite and folder.is_dir():
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
    hint = f"go on with that one (--resume {folder}), choose another folder (--out), or replace it (--overwrite)"
    if not (overwrite and folder.is_dir()):
        claim_folder(folder, CONFIG, lambda: difference(load_config(folder), config), hint=hint)
    if config.function is not None:
        with whole_file(folder / FUNCTION) as temporary:
            np.save(temporary, config.function.table)
    write_json(folder / CONFIG, config.to_json())


def difference(stored: TrainConfig, config: TrainConfig) -> str:
    """How the run in a folder differs from the one that is wanted; empty if it can go on as that one."""
    changed = [
        f"{name} is {before!r} there and {after!r} here"
        for name, before in (stored.to_json() | {"function": stored.function}).items()
        if before != (after := getattr(config, name)) and name != "steps"
    ]
    if config.steps < stored.steps:
        changed.append(f"it has {stored.steps} steps, more than {config.steps}")
    return f"run ({'; '.join(changed)})" if changed else ""
