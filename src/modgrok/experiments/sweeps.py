"""The verb sweep: many trainings in few compiled programs, as one table with curves that can go on after a kill.

A sweep in a folder has these files:

    sweep.json                   the plan, with the parts in which its networks train
    part-00000.parquet           a part that is done, until all are
    sweep.parquet                every network: settings, last metrics, and curves as lists
    weights/00000.safetensors    the trained networks, where they were asked for
    curves.png, .svg             medians and bands over the seeds
    settings.png, .svg           how good each setting is: a line, or a phase diagram where two vary
    running.json                 which process trains it, as long as it does (`modgrok.base.locks`)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
from jaxtyping import PyTree

from modgrok.algebra.fields import Field
from modgrok.algebra.function import FunctionLike
from modgrok.algebra.groups import GroupLike
from modgrok.base import printing
from modgrok.base.errors import InputError
from modgrok.base.files import claim_folder
from modgrok.base.locks import locked
from modgrok.base.progress import Progress, progress_bar
from modgrok.base.stores import DamagedError, read_object, write_object
from modgrok.experiments.elsewhere import check_address, workers_at
from modgrok.experiments.engine import PartReport, train_parts
from modgrok.experiments.part import Part, TrainedPart, train_part
from modgrok.experiments.row_store import RowStore
from modgrok.experiments.sweep_plan import (
    ROWS,
    Groups,
    SweepPart,
    SweepPlan,
    cuts_of,
    groups_of,
    parts_of,
    plan_of,
    within,
)
from modgrok.experiments.sweep_result import CURVE, Sweep
from modgrok.experiments.workers import ThisThread
from modgrok.training.checkpoints import begin
from modgrok.training.config import Task, TrainConfig
from modgrok.training.ensemble import check_memory, device_memory, pick
from modgrok.training.presets import preset
from modgrok.training.run_folder import function_name

PLAN, WEIGHTS = "sweep.json", "weights"
REMEDY = "choose another folder: out= (--out)"


def sweep(
    function: FunctionLike,
    mod: int | Iterable[int] | None = None,
    *,
    group: GroupLike | None = None,
    field: int | Field | None = None,
    seeds: int | Iterable[int] = 1,
    out: str | Path | None = None,
    keep_weights: bool = False,
    ray: str | None = None,
    live: bool | None = None,
    **settings: Any,
) -> Sweep:
    """Train a network for every combination of settings and every seed, many at once.

    Args:
        function: an expression such as "n1 n2", a table, a file with one, or a Python function, as for `mg.train`.
        mod: the modulus, or several.
        group, field: the finite group, or the finite field, in which an expression has its values.
        seeds: how many seeds each combination has, or a list of them.
        out: folder of the sweep, which goes on where an earlier sitting stopped; None keeps the sweep in memory.
        keep_weights: whether to keep the trained networks in the folder.
        ray: "local", "auto" or HOST:PORT trains on a Ray cluster (docs/cluster.md); without, in this process.
        live: whether to show how far it is; None does so in notebooks.
        settings: those of `mg.train`; each is a value, or a list of values that are tried one beside the other.

    Returns:
        A `Sweep`: `table` and `rows` (settings and last metrics), `medians`, `best`, `plot()`, `phase_diagram()`.

    >>> found = sweep("n1 + n2", mod=5, weight_decay=[1, 5], seeds=2, width=8, steps=20)
    >>> found.compilations, len(found.rows), found.rows[3]["weight_decay"]
    (1, 4, 5.0)
    """
    plan = plan_of(within(function, mod, group, field), mod, seeds, **settings)
    return run_plan(plan, None if out is None else Path(out), keep_weights=keep_weights, ray=ray, live=live)


def default_folder(plan: SweepPlan) -> Path:
    """sweeps/, the function, what varies, and a few digits that stand for the whole plan."""
    config = plan.configs[0]
    varied = "-".join(plan.varied) or "seeds"
    digits = sha256(repr(plan.to_json()).encode()).hexdigest()[:6]
    mod = "" if config.function.tree is None else f"-mod{config.modulus}"
    return Path("sweeps") / f"{function_name(config)}{mod}-{varied}-{digits}"


def run_plan(
    plan: SweepPlan,
    folder: Path | None,
    *,
    keep_weights: bool = False,
    ray: str | None = None,
    live: bool | None = None,
) -> Sweep:
    """Train what is missing of a plan; in memory, without a folder."""
    if keep_weights and folder is None:
        raise InputError("weights are kept in a folder; give one: out= (--out)")
    check_address(ray)
    tasks = [config.task() for config in plan.configs]  # what cannot be trained makes no folder
    if ray is None:  # else it is another machine's memory
        for shape in {task.shape for task in tasks}:
            check_memory(shape)
    store, console = SweepStore(folder, plan, keep_weights), printing.console(stderr=True)
    shown = console.is_jupyter if live is None else live
    with nullcontext() if folder is None else locked(folder):
        began = time.perf_counter()
        with progress_bar(console, "compiling, training; steps in all") if shown else nullcontext() as progress:
            compilations = train_missing(store, tasks, ray, progress)
        rows = store.rows()
        files = store.finish(rows)
        title = plan.configs[0].expression if "modulus" in plan.varied else plan.configs[0].title
        seconds = time.perf_counter() - began
        found = Sweep(title, plan.varied, tuple(plan.seeds), rows, compilations, seconds, folder, files, store.made())
        return found if folder is None else found.drawn()


def train_missing(store: SweepStore, tasks: Sequence[Task], ray: str | None, progress: Progress | None) -> int:
    """Train the networks that are not in the store; returns how many programs were compiled."""
    plan = store.plan
    store.check_claim()
    if len(store.finished()) == len(plan.configs):
        return 0
    steps = Steps(progress, sum(config.steps for config in plan.configs))
    own = ThisThread[SweepPart, TrainedPart](partial(train_part, progress=steps.within))
    with closing(own if ray is None else workers_at(ray, train_part)) as workers:
        memory = workers.ask(device_memory)
        groups = groups_of(plan.configs, tasks)
        cut = store.claim([(shape, cuts_of(shape, numbers, memory)) for shape, numbers in groups])
        parts = list(parts_of(plan, tasks, cut, store.keep_weights))
        todo = store.unfinished(parts)
        steps.add(steps.total - sum(part.network_steps for part in todo))
        return train_parts(parts, todo, store, workers, on_part=steps.report).compilations


class Steps:
    """Counts the network-steps of a sweep: those of parts that are done, and those within the part in training."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def within(self, done: int, _: int) -> None:
        if self.progress is not None:
            self.progress(min(self.done + done, self.total), self.total)

    def add(self, steps: int) -> None:
        self.done += steps
        self.within(0, 0)

    def report(self, done: PartReport) -> None:
        self.add(done.part.network_steps)


class SweepStore(RowStore):
    """The folder of a sweep, or its rows in memory: see above for the files."""

    schema, filled = ROWS, ("network", "outcome", f"step{CURVE}")
    whole, part = "sweep.parquet", "part-{:05}.parquet"
    again = "it is trained again"

    def __init__(
        self,
        folder: Path | None,
        plan: SweepPlan,
        keep_weights: bool = False,
        made_by: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, len(plan.configs), made_by)
        self.plan, self.keep_weights = plan, keep_weights

    def check(self, path: Path, rows: pa.Table) -> None:
        for number, curve in zip(rows["network"].to_pylist(), rows[f"step{CURVE}"].to_pylist(), strict=True):
            if curve != self.plan.configs[number].measured_steps():
                raise DamagedError(f"{path} lacks measured steps of network {number}")

    def read_file(self, path: Path) -> pa.Table:
        """The rows in a file; settings that it does not know are those of the plan."""
        rows = super().read_file(path)
        configs = [self.plan.configs[number] for number in rows["network"].to_pylist()]
        for field in ROWS:
            if field.name in TrainConfig.__dataclass_fields__ and rows[field.name].null_count == len(rows):
                column = pa.array([getattr(config, field.name) for config in configs], field.type)
                rows = rows.set_column(rows.schema.get_field_index(field.name), field, column)
        return rows

    def check_claim(self) -> None:
        """Refuse a folder that holds something else than this sweep."""
        if (folder := self.folder) is not None:
            claim_folder(folder, PLAN, lambda: "" if self.is_claimed(folder) else "sweep", hint=REMEDY)

    def is_claimed(self, folder: Path) -> bool:
        """Is the sweep in a folder this one? A setting that it does not know was what suits the model."""
        stored, wanted = read_object(folder / PLAN, {"parts": list, "configs": list}, REMEDY), self.claimed()
        usual = [preset(config.model, config.optimiser) for config in self.plan.configs]
        if len(stored["configs"]) == len(usual) and all(isinstance(each, dict) for each in stored["configs"]):
            wanted["configs"] = [
                {name: value for name, value in config.items() if name in known or value != default.get(name)}
                for config, known, default in zip(wanted["configs"], stored["configs"], usual, strict=True)
            ]
        return {name: stored.get(name) for name in wanted} == wanted

    def claimed(self) -> dict[str, Any]:
        return self.plan.to_json() | {"keep_weights": self.keep_weights}

    def claim(self, groups: Groups) -> Groups:
        """Write down the parts of a sweep; one that was begun before has those that it began with."""
        if self.folder is None:
            return groups
        if (self.folder / PLAN).exists():
            return stored_parts(self.folder / PLAN, groups)
        parts = [[{"networks": numbers, "size": size} for numbers, size in cuts] for _, cuts in groups]
        write_object(self.folder / PLAN, self.claimed() | {"parts": parts})
        return groups

    def keep(self, part: Part, trained: TrainedPart) -> None:
        if self.folder is not None and isinstance(part, SweepPart) and part.keep_weights:
            write_weights(self.folder / WEIGHTS, part, trained.params)
        super().keep(part, trained)

    def finish(self, rows: pa.Table) -> tuple[Path, ...]:
        """The whole table in place of its parts; returns the files that hold the results."""
        if self.folder is None:
            return ()
        if not (self.folder / self.whole).exists():
            self.gather(rows)
        for part in self.folder.glob("part-*.parquet"):
            part.unlink()
        weights = sorted((self.folder / WEIGHTS).glob("*.safetensors"))
        return (self.folder / PLAN, self.folder / self.whole, *weights)


def stored_parts(path: Path, groups: Groups) -> Groups:
    """The parts with which the sweep of a folder began; another machine may have cut it into others than these."""
    stored = read_object(path, {"parts": list}, REMEDY)["parts"]
    try:
        found = [
            (shape, [(tuple(part["networks"]), part["size"]) for part in parts])
            for (shape, _), parts in zip(groups, stored, strict=True)
        ]
    except (TypeError, KeyError, ValueError) as error:
        raise DamagedError(f"{path} is not the plan of a sweep ({error}); {REMEDY}") from None
    for (_, wanted), (_, parts) in zip(groups, found, strict=True):
        if sorted(k for numbers, _ in wanted for k in numbers) != sorted(k for numbers, _ in parts for k in numbers):
            raise DamagedError(f"{path} has other networks than the sweep; {REMEDY}")
        if any(not (isinstance(size, int) and len(numbers) <= size < 2**20) for numbers, size in parts):
            raise DamagedError(f"{path} has parts of impossible sizes; {REMEDY}")
    return found


def write_weights(folder: Path, part: SweepPart, params: PyTree) -> None:
    """The trained networks of a part, each in a file that every command takes."""
    for place, (number, config) in enumerate(zip(part.networks, part.configs, strict=True)):
        training = begin(config)
        state = training.state._replace(params=pick(params, slice(place, place + 1)))
        training._replace(state=state).network(config).save(folder / f"{number:05}.safetensors")
