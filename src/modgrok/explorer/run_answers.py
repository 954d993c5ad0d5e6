"""Questions about runs: the list of them, one with its curves, and its film."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError, check_choice
from modgrok.base.files import read_json
from modgrok.base.results import plain_object
from modgrok.explorer.asking import Params, name_of, run_folder
from modgrok.explorer.films import film
from modgrok.explorer.functions import put_table
from modgrok.explorer.limits import PUBLIC, here
from modgrok.explorer.recipes import of_runs, of_training
from modgrok.networks.network import Network
from modgrok.networks.storage import WEIGHTS, load
from modgrok.training.config import TrainConfig
from modgrok.training.run import Measured
from modgrok.training.run_folder import METRICS, RESULT
from modgrok.training.run_list import Recorded, compare, differences, recorded, runs as list_runs, setting_text
from modgrok.training.snapshots import SNAPSHOTS, snapshots_in

FROM_RESULT = (
    *("order", "ipr_blocks", "train_rows", "test_rows", "unknown_cells"),
    *("seconds", "steps_per_second", "device", "files"),
)
"""What the summary of a finished or stopped run says beside its curves."""
MOST_COMPARED = 6
"""Runs on one axis: as many as there are colours that the colour-blind can tell apart."""
COMPARED_CURVES = ("step", "train_accuracy", "test_accuracy", "train_loss", "test_loss", "ipr")


def runs(params: Params) -> dict[str, Any]:
    """The verb runs; a folder that is not there yet has none."""
    folder = Path(str(params["runs"]))
    found = list_runs(folder) if folder.is_dir() else ()
    return {
        "folder": str(folder),
        "runs": [{"run": name_of(entry.folder, folder), **entry.to_json()} for entry in found],
    }


def run(params: Params) -> dict[str, Any]:
    """One run, as far as it was written."""
    folder = run_folder(params)
    record = recorded(folder)
    config = record.config
    whole_run = (folder / RESULT).exists() and not record.running
    stored = read_json(folder / RESULT) if whole_run else {}
    return measured(record) | plain_object(
        {
            "run": name_of(folder, Path(str(params["runs"]))),
            "state": record.state,
            "function": function_of(config, Path(str(params["tables"]))),
            "config": config.to_json(),
            "recipe": None if config.own_objects() else of_training(config.function, config.changed()),
            "curves": record.curves if (folder / METRICS).exists() else {name: [] for name in record.curves},
            "snapshots": sorted(snapshots_in(folder)),
            "has_network": (folder / WEIGHTS).exists(),
            "expected_accuracy": record.expected if record.step > 0 else None,
            **{name: stored.get(name) for name in FROM_RESULT},
        }
    )


def measured(found: Measured) -> dict[str, Any]:
    """What the settings and the curves of a run say, in a folder or in memory."""
    told = found.diagnosis
    return plain_object(
        {
            "title": found.title,
            "about": found.about,
            "step": found.step,
            "steps": found.config.steps,
            "curves": found.curves,
            "diagnosis": told,
            "memorised_at": found.memorised_at,
            "grokked_at": found.grokked_at,
            "expected_text": None if told is None else told.expectation,
        }
    )


def compared(params: Params) -> dict[str, Any]:
    """The verb compare for the runs whose names `compared` has, a line each; with their curves."""
    names = list(dict.fromkeys(str(params.get("compared") or "").splitlines()))
    if not 2 <= len(names) <= MOST_COMPARED:
        raise InputError(f"compared must name 2 to {MOST_COMPARED} runs, a line each; got {len(names)}")
    folders = [run_folder({**params, "run": name}) for name in names]
    found = compare(*folders)
    return plain_object(
        {
            "text": found.summary(),
            "rows": found.rows(),
            "recipe": None if here() is PUBLIC else of_runs("compare", folders),  # a visitor has no such folders
            "runs": [
                {
                    "run": name,
                    "label": label,
                    "title": record.title,
                    "state": record.state,
                    "loss": record.config.loss,
                    "curves": {key: record.curves[key] for key in COMPARED_CURVES},
                }
                for name, label, record in zip(names, short_labels(found.records), found.records, strict=True)
            ],
        }
    )


def short_labels(records: Sequence[Recorded]) -> list[str]:
    """What tells runs apart, in few words: the function, the model, and the settings that were chosen and differ."""
    differing = set(differences([record.config for record in records])) - {"expression", "model", "snapshots"}
    several = len({record.title for record in records}) > 1
    found = []
    for record in records:
        chosen = [item for item in record.config.changed().items() if item[0] in differing]
        parts = [*([record.title] if several else []), record.config.model, *map(setting_text, chosen)]
        found.append(", ".join(parts))
    return found


def function_of(config: TrainConfig, tables: Path) -> dict[str, Any]:
    """What opens the function of a run; the table of one that is no expression is put among those that were sent."""
    function = config.function
    in_words = function.written is not None and getattr(function.structure, "spelling", "") is not None
    if function.tree is not None or in_words:
        return {"expression": config.expression, "modulus": config.modulus, "table": None}
    table = put_table(tables, config.function, Path(config.expression).stem)
    return {"expression": None, "modulus": config.modulus, "table": table}


def last_of(folder: Path) -> tuple[int, Network]:
    """The last network that was written, and its step."""
    if (folder / WEIGHTS).exists():
        return recorded(folder).step, load(folder)
    if kept := snapshots_in(folder):
        return max(kept), kept[max(kept)]
    raise InputError("this run has no network yet: it is written when the run ends or is stopped")


def run_film(params: Params) -> dict[str, Any]:
    """The film of a run: which cells are right at every kept step, with neurons; of the `last` step alone at once."""
    folder, frames = run_folder(params), str(params.get("frames") or "all")
    check_choice("frames", frames[:40], ("all", "last"))
    step, network = last_of(folder)
    if frames == "last":
        return film({}, step, network)
    return whole_film(folder, (folder / SNAPSHOTS).stat().st_mtime if (folder / SNAPSHOTS).exists() else 0.0, step)


@lru_cache(maxsize=4)
def whole_film(folder: Path, changed: float, last: int) -> dict[str, Any]:
    """All of it; kept, since it takes seconds to make."""
    step, network = last_of(folder)
    return film(snapshots_in(folder), step, network)
