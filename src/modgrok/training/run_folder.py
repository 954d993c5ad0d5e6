"""The folder of a run, which belongs to one experiment:

config.json             the `TrainConfig`
function.npy            the table that is learned, -1 in unknown cells, where the function is no expression
metrics.parquet         one row for each measured step: step, losses, accuracies, IPR, neurons alive, norms
neurons.parquet         one row for each neuron: IPR before and after training, and whether it is alive
weights.safetensors     the trained network, in the one format of every modgrok network
snapshots.safetensors   the network at logarithmically spaced steps
checkpoint.safetensors  weights, state of the optimiser and metrics at the last checkpoint, replaced whole
result.json             the summary that the command prints
sittings.json           where the steps of the checkpoint come from, until the summary says it: a killed run has it
curves.png, .svg        the figure of the training
running.json            which process trains it, as long as it does (`modgrok.base.locks`)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.algebra.field import check_modulus
from modgrok.algebra.function import Function
from modgrok.algebra.stored_functions import function_from
from modgrok.algebra.table_files import read_table
from modgrok.base.errors import InputError
from modgrok.base.files import claim_folder, whole_file
from modgrok.base.locks import RUNNING, holder, locked
from modgrok.base.memory import ran_out
from modgrok.base.results import field_values
from modgrok.base.stores import DamagedError, read_object, write_object
from modgrok.networks.storage import WEIGHTS
from modgrok.training.config import TrainConfig
from modgrok.training.settings import REGISTRIES
from modgrok.training.snapshots import SNAPSHOTS

CONFIG, METRICS, NEURONS, CHECKPOINT, RESULT, SITTINGS = (
    "config.json",
    "metrics.parquet",
    "neurons.parquet",
    "checkpoint.safetensors",
    "result.json",
    "sittings.json",
)
FUNCTION, FIGURE = "function.npy", "curves.png"
FILES = (CONFIG, FUNCTION, METRICS, NEURONS, WEIGHTS, SNAPSHOTS, CHECKPOINT, RESULT, FIGURE, "curves.svg")
MADE_BY = "modgrok train"
AGAIN = f"`{MADE_BY} --resume` makes it again"
"""What to do about a damaged file of a run: the checkpoint has all that the others are made from."""
LONGEST_NAME = 40
"""Characters of an expression in the name of a folder."""


def default_folder(config: TrainConfig) -> Path:
    """runs/, the function, and every setting that is not the preset.

    Without the number of steps: a run goes on in its folder.
    """
    named = ("expression", "modulus", "width", "steps", "seed")
    changed = [f"-{name}{value}" for name, value in config.changed().items() if name not in named]
    what = function_name(config) + ("" if config.function.tree is None else f"-mod{config.modulus}")
    return Path("runs") / f"{what}-width{config.width}-seed{config.seed}{''.join(changed)}"


def function_name(config: TrainConfig) -> str:
    """The canonical spelling of the expression in characters that every file system and shell takes.

    Where it is too long, or has parentheses (which become _), a few digits of its hash tell it from others. A table has
    its name and digits of its digest.

    >>> [function_name(TrainConfig(text, 7)) for text in ("n1n2 + n3", "n1 * n2 - n3", "n1 (n2 + n3)")]
    ['n1n2+n3', 'n1n2-n3', 'n1_n2+n3-769336']
    """
    text = config.function.name
    plain = text.replace(" ", "")
    words = "".join(c if c.isalnum() or c in "+-^" else "_" for c in plain)[:LONGEST_NAME].strip("_")
    if config.function.tree is None:
        return f"{words}-{config.function.digest[:8]}"
    return words if words == plain else f"{words}-{sha256(text.encode()).hexdigest()[:6]}"


def load_config(folder: Path) -> TrainConfig:
    """The config of the run in a folder."""
    if not (folder / CONFIG).exists():
        raise InputError(f"{folder} is not a run: it has no {CONFIG}; `{MADE_BY} … --out {folder}` makes one")
    remedy = f"train again with --overwrite, --out {folder}"
    stored = read_object(folder / CONFIG, {"expression": str, "modulus": int}, remedy)
    try:
        if "function" in stored:
            stored |= {"function": load_function(folder, stored)}
        for name, registry in REGISTRIES.items():
            registry.expect(stored.get(name))
        return TrainConfig(**stored)
    except (TypeError, KeyError, AttributeError) as error:
        raise DamagedError(f"{folder / CONFIG} is not the config of a run ({error}); {remedy}") from None


def load_function(folder: Path, stored: dict[str, Any]) -> Function:
    """The table of the run in a folder."""
    found, about = read_table(folder / FUNCTION), stored["function"]
    names = tuple(about["variables"])
    values = check_modulus(stored["modulus"])
    function = function_from(about, found.table, values, stored["expression"], names, str(found.path))
    if function.digest != about["digest"]:
        raise InputError(f"{found.path} is not the table that the run was trained on; start again with --overwrite")
    return function


def is_finished(config: TrainConfig, folder: Path) -> bool:
    """Has the run of this config already taken all its steps in this folder?"""
    if not (folder / RESULT).exists():
        return False
    try:
        result = read_object(folder / RESULT, {"finished": bool, "step": int}, AGAIN)
    except DamagedError:
        return False
    return result["finished"] and result["step"] == config.steps and not difference(load_config(folder), config)


def claim(config: TrainConfig, folder: Path, *, overwrite: bool = False) -> None:
    """Make `folder` the folder of this config, or refuse where it holds something else.

    A run may go on with more steps, since nothing that came before depends on their number; any other difference is
    another experiment.
    """
    if overwrite and folder.is_dir():
        empty(folder)
    hint = f"go on with that one (--resume {folder}), choose another folder (--out), or replace it (--overwrite)"
    if not (overwrite and folder.is_dir()):
        claim_folder(folder, CONFIG, lambda: difference(load_config(folder), config), hint=hint)
    if config.function.tree is None:
        with whole_file(folder / FUNCTION) as temporary:
            np.save(temporary, config.function.table)
    write_object(folder / CONFIG, config.to_json())


def empty(folder: Path) -> None:
    """Remove the files of a run, and no others."""
    for name in (*FILES, SITTINGS):
        (folder / name).unlink(missing_ok=True)


def difference(stored: TrainConfig, config: TrainConfig) -> str:
    """How the run in a folder differs from the one that is wanted; empty if it can go on as that one."""
    ours, theirs = config.function, stored.function
    if theirs.name == ours.name or (ours.tree is None and theirs == ours):
        stored = replace(stored, expression=config.expression)
    told = {"steps"} if ours.tree is None else {"steps", "function"}
    told |= {"snapshots"} if config.snapshots is None else set()  # who does not say how many takes those there are
    changed = [
        f"{name} is {before!r} there and {after!r} here"
        for name, before in field_values(stored).items()
        if before != (after := getattr(config, name)) and name not in told
    ]
    if config.steps < stored.steps:
        changed.append(f"it has {stored.steps} steps, more than {config.steps}")
    return f"run ({'; '.join(changed)})" if changed else ""


def going_on(folder: Path, **given: Any) -> tuple[TrainConfig, TrainConfig]:
    """The run in a folder, and the same with what is given for it to go on; a run is not made shorter."""
    config = load_config(folder)
    again = replace(config, **given)
    if again.steps < config.steps:
        raise InputError(
            f"{folder} is a run of {config.steps:,} steps, and goes on to these or more, got {again.steps}"
        )
    return config, again


@contextmanager
def owned(config: TrainConfig, folder: Path, *, overwrite: bool = False) -> Iterator[None]:
    """`folder` is this config's, and nobody else writes to it, as long as the block runs.

    A run that ends in its beginning for want of memory leaves nothing there: it is to be asked for in another size.
    """
    with locked(folder):
        begun = (folder / CONFIG).exists()
        claim(config, folder, overwrite=overwrite)
        try:
            yield
        except Exception as error:
            if ran_out(error) and not begun and not (folder / CHECKPOINT).exists():
                empty(folder)
            raise


def is_running(folder: Path) -> bool:
    """Does a process train the run in a folder? One that was killed left its mark, but is no longer there."""
    return holder(folder / RUNNING) is not None
