"""Questions about trainings that are not begun: the settings there are, and whether some of them can be trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from modgrok import __version__
from modgrok.base.errors import InputError
from modgrok.explorer.asking import Params, name_of, run_folder
from modgrok.explorer.functions import asked_function
from modgrok.explorer.limits import check_settings, limits
from modgrok.networks.models import MODELS, trainable
from modgrok.training.config import TrainConfig
from modgrok.training.optimisers import OPTIMISERS
from modgrok.training.presets import preset
from modgrok.training.run_folder import CONFIG, default_folder, difference, is_finished, is_running, load_config
from modgrok.training.settings import CHOICES, HELP


def settings(params: Params) -> dict[str, Any]:
    """Every setting: presets for each model and optimiser, what it may be, what it means, how large it may be."""
    return {
        "models": list(trainable()),
        "optimisers": list(OPTIMISERS),
        "presets": {model: {name: preset(model, name) for name in OPTIMISERS} for model in trainable()},
        "own": {model: list(MODELS[model].settings()) for model in trainable()},
        "choices": {name: list(words) for name, words in CHOICES.items()},
        "help": HELP,
        "limits": limits(),
        "version": __version__,
        "runs": str(params["runs"]),
    }


def asked_config(params: Params) -> TrainConfig:
    """The training that is asked for, as the command line would make it."""
    given = params.get("settings", {})
    if unknown := [name for name in given if name not in HELP]:
        raise InputError(f"there is no setting {str(unknown[0])[:40]!r}; there are {', '.join(HELP)}")
    chosen = {name: typed(name, value) for name, value in given.items() if value is not None}
    check_settings(chosen)
    return TrainConfig.of(asked_function(params, at_least=1), **chosen)


def typed(name: str, value: Any) -> Any:
    """A setting as the command line reads it: a page's 5 is 5.0 where the setting is a fraction."""
    usual = preset("power", "adamw").get(name)
    if isinstance(usual, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(usual, str) and not isinstance(value, str):
        raise InputError(f"{name} must be a word, got {value!r}")
    return value


def training_plan(params: Params) -> dict[str, Any]:
    """The folder that a training would have, once everything about it has been checked; nothing is written."""
    config = asked_config(params)
    config.task()
    runs = Path(str(params["runs"]))
    folder = runs / default_folder(config).name
    if (folder / CONFIG).exists():
        stored = load_config(folder)
        if stored.steps > config.steps:
            raise InputError(
                f"that run is there with {stored.steps:,} steps, more than {config.steps:,}; open it in the list of "
                "runs, ask for more steps, or take another seed"
            )
        if words := difference(stored, config):
            raise InputError(f"{folder} holds another {words}; take another seed")
    return planned(config, folder, runs)


def resume_plan(params: Params) -> dict[str, Any]:
    """The same for a run that is there and goes on."""
    folder, steps = run_folder(params), params.get("steps")
    stored = load_config(folder)
    check_settings({"steps": steps})
    config = stored if steps is None else replace(stored, steps=steps)
    if config.steps < stored.steps:
        raise InputError(f"the run has {stored.steps:,} steps, more than {config.steps:,}; ask for more")
    return planned(config, folder, Path(str(params["runs"])))


def planned(config: TrainConfig, folder: Path, runs: Path) -> dict[str, Any]:
    return {
        "run": name_of(folder, runs),
        "title": config.title,
        "steps": config.steps,
        "finished": is_finished(config, folder),
        "running": is_running(folder),
    }
