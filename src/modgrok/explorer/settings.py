"""Questions about trainings that are not begun: the settings there are, and whether some of them can be trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from modgrok import __version__
from modgrok.base.errors import InputError
from modgrok.explorer.asking import Params, name_of, run_folder
from modgrok.explorer.functions import asked_function
from modgrok.explorer.limits import check_parameters, check_settings, here
from modgrok.explorer.recipes import of_training
from modgrok.networks.models import MODELS, trainable
from modgrok.training.config import TrainConfig
from modgrok.training.optimisers import OPTIMISERS
from modgrok.training.presets import preset
from modgrok.training.run_folder import CONFIG, default_folder, difference, is_finished, is_running, load_config
from modgrok.training.settings import SETTINGS, check_names


def most() -> dict[str, int]:
    """How large a setting may be here."""
    found = {name: here().most(name, each.most) for name, each in SETTINGS.items()}
    return {name: number for name, number in found.items() if number is not None}


def usual(model: str, optimiser: str) -> dict[str, Any]:
    """The settings that suit a model and an optimiser, as far as they are allowed here."""
    allowed = most()
    found = preset(model, optimiser)
    if found["snapshots"] is None:  # as many as take little room, where nobody shares it
        found["snapshots"] = here().settings.get("snapshots")
    return found | {name: min(found[name], allowed[name]) for name in allowed if found[name] is not None}


def settings(params: Params) -> dict[str, Any]:
    """Every setting: presets for each model and optimiser, what it may be, what it means, how large it may be."""
    return {
        "models": list(trainable()),
        "optimisers": list(OPTIMISERS),
        "presets": {model: {name: usual(model, name) for name in OPTIMISERS} for model in trainable()},
        "own": {model: list(MODELS[model].settings()) for model in trainable()},
        "choices": {name: list(each.words) for name, each in SETTINGS.items() if each.words},
        "help": {name: each.help for name, each in SETTINGS.items()},
        "limits": here().to_json(most()),
        "version": __version__,
        "runs": str(params["runs"]),
    }


def asked_config(params: Params) -> TrainConfig:
    """The training that is asked for, as the command line would make it."""
    given = params.get("settings", {})
    check_names(given, "a training")
    chosen = {name: typed(name, value) for name, value in given.items() if value is not None}
    check_settings(chosen, most())
    config = TrainConfig.of(asked_function(params, at_least=1), **chosen)
    smaller = usual(config.model, config.optimiser)
    less = {name: smaller[name] for name in most() if name not in chosen and getattr(config, name) != smaller[name]}
    return replace(config, **less) if less else config


def typed(name: str, value: Any) -> Any:
    """A setting as the command line reads it: a page's 5 is 5.0 where the setting is a fraction."""
    kind = SETTINGS[name].kind
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is str and not isinstance(value, str):
        raise InputError(f"{name} must be a word, got {value!r}")
    return value


def training_recipe(params: Params) -> dict[str, Any]:
    """How to train it without the page."""
    config = asked_config(params)
    return {"recipe": of_training(config.function, config.changed())}


def training_plan(params: Params) -> dict[str, Any]:
    """The folder that a training would have, once everything about it has been checked; nothing is written."""
    config = asked_config(params)
    check_parameters(config.task().shape.model.parameters())
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
    check_settings({"steps": steps}, most())
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
