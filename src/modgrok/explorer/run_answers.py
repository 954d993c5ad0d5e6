"""Questions about runs: the list of them, one with its curves, and its table and neurons at a step."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import read_json
from modgrok.base.results import plain
from modgrok.explorer.asking import Params, name_of, run_folder, whole
from modgrok.explorer.functions import put_table
from modgrok.explorer.views import cell_view, neuron_view
from modgrok.networks.network import Network
from modgrok.networks.storage import WEIGHTS, load
from modgrok.training.config import TrainConfig
from modgrok.training.run_folder import METRICS, RESULT
from modgrok.training.run_list import recorded
from modgrok.training.run_list import runs as list_runs
from modgrok.training.snapshots import snapshots_in

FROM_RESULT = (
    *("memorised_at", "grokked_at", "order", "ipr_blocks", "train_rows", "test_rows", "unknown_cells"),
    *("seconds", "steps_per_second", "device", "files"),
)
"""What the summary of a finished or stopped run says beside its curves."""


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
    config, step = record.config, record.step
    whole_run = (folder / RESULT).exists() and not record.running
    stored = read_json(folder / RESULT) if whole_run else {}
    expected = record.expected if step > 0 else None
    told: dict[str, Any] = plain(
        {
            "run": name_of(folder, Path(str(params["runs"]))),
            "title": record.title,
            "about": record.about,
            "state": record.state,
            "function": function_of(config, Path(str(params["tables"]))),
            "config": config.to_json(),
            "step": step,
            "steps": config.steps,
            "curves": record.curves if (folder / METRICS).exists() else {name: [] for name in record.curves},
            "snapshots": sorted(snapshots_in(folder)),
            "has_network": (folder / WEIGHTS).exists(),
            "diagnosis": record.diagnosis,
            "expected_accuracy": expected,
            "expected_text": None if expected is None else expected.summary(),
            **{name: stored.get(name) for name in FROM_RESULT},
        }
    )
    return told


def function_of(config: TrainConfig, tables: Path) -> dict[str, Any]:
    """What opens the function of a run; the table of one that is no expression is put among those that were sent."""
    if config.function.tree is not None:
        return {"expression": config.expression, "modulus": config.modulus, "table": None}
    table = put_table(tables, config.function, Path(config.expression).stem)
    return {"expression": None, "modulus": config.modulus, "table": table}


def network_at(folder: Path, step: int | None) -> tuple[int, Network]:
    """The network at a step, or the last that was written; with the step."""
    kept = snapshots_in(folder)
    if step is not None and step in kept:
        return step, kept[step]
    if not (folder / WEIGHTS).exists():
        if kept:
            return max(kept), kept[max(kept)]
        raise InputError("this run has no network yet: it is written when the run ends or is stopped")
    last = recorded(folder).step
    if step not in (None, last):
        raise InputError(f"no network was kept at step {step}; there are those at {', '.join(map(str, [*kept, last]))}")
    return last, last_network(folder, (folder / WEIGHTS).stat().st_mtime)


@lru_cache(maxsize=4)
def last_network(folder: Path, changed: float) -> Network:
    return load(folder)


def run_table(params: Params) -> dict[str, Any]:
    """Which cells are right at a step, those that train and those that test apart."""
    folder = run_folder(params)
    step, network = network_at(folder, whole(params, "step"))
    return {"run": str(params["run"]), "step": step, **cell_view(network)}


def run_neurons(params: Params) -> dict[str, Any]:
    """Some neurons at a step: those that are largest at the end."""
    folder = run_folder(params)
    step, network = network_at(folder, whole(params, "step"))
    _, last = network_at(folder, None)
    return {"run": str(params["run"]), "step": step, **neuron_view(network, like=last)}
