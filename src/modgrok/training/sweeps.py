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
from collections.abc import Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from modgrok.algebra.function import FunctionLike
from modgrok.base import printing
from modgrok.base.errors import InputError
from modgrok.base.files import claim_folder, whole_file, write_json
from modgrok.base.locks import locked
from modgrok.base.progress import Progress, progress_bar
from modgrok.base.ray_workers import RayWorkers, check_ray
from modgrok.base.stores import DamagedError, read_object, read_rows, set_aside
from modgrok.base.workers import ThisThread, in_window
from modgrok.training.checkpoints import begin
from modgrok.training.config import Task, TrainConfig
from modgrok.training.ensemble import check_memory, pick
from modgrok.training.run_folder import function_name
from modgrok.training.steps import Shape
from modgrok.training.sweep_parts import ROWS, TrainedPart, Work, train_part
from modgrok.training.sweep_plan import Device, Part, SweepPlan, groups_of, parts_of, plan_of, this_device
from modgrok.training.sweep_result import CURVE, Sweep

PLAN, TABLE, WEIGHTS = "sweep.json", "sweep.parquet", "weights"


def sweep(
    function: FunctionLike,
    mod: int | Iterable[int] | None = None,
    *,
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
    plan = plan_of(function, mod, seeds, **settings)
    return run_plan(plan, None if out is None else Path(out), keep_weights=keep_weights, ray=ray, live=live)


def default_folder(plan: SweepPlan) -> Path:
    """sweeps/, the function, what varies, and a few digits that stand for the whole plan."""
    config = plan.configs[0]
    varied = "-".join(plan.varied) or "seeds"
    digits = sha256(repr(plan.to_json()).encode()).hexdigest()[:6]
    mod = "" if config.function else f"-mod{config.modulus}"
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
    check_ray(ray)
    tasks = [config.task() for config in plan.configs]  # what cannot be trained makes no folder
    if ray is None:  # else it is another machine's memory
        for shape in {task.shape for task in tasks}:
            check_memory(shape)
    with nullcontext() if folder is None else locked(folder):
        return run_tasks(plan, tasks, folder, keep_weights, ray, live)


def run_tasks(
    plan: SweepPlan,
    tasks: Sequence[Task],
    folder: Path | None,
    keep_weights: bool,
    ray: str | None,
    live: bool | None,
) -> Sweep:
    """`run_plan` in a folder that is this process's."""
    began, console = time.perf_counter(), printing.console(stderr=True)
    shown = console.is_jupyter if live is None else live
    files: tuple[Path, ...] = ()
    if folder is not None:
        check_claim(plan, folder, keep_weights)
    with progress_bar(console, "network-steps") if shown else nullcontext() as progress:
        rows, compilations = all_rows(plan, tasks, folder, keep_weights, ray, progress)
    if folder is not None:
        files = finish(folder, rows)
    title = plan.configs[0].expression if "modulus" in plan.varied else plan.configs[0].title
    found = Sweep(title, plan.varied, tuple(plan.seeds), rows, compilations, time.perf_counter() - began, folder, files)
    return found if folder is None else found.drawn()


REMEDY = "choose another folder: out= (--out)"


def check_claim(plan: SweepPlan, folder: Path, keep_weights: bool) -> None:
    """Refuse a folder that holds something else than this sweep."""
    wanted = claimed(plan, keep_weights)

    def difference() -> str:
        stored = read_object(folder / PLAN, {"parts": list}, REMEDY)
        return "" if {name: stored.get(name) for name in wanted} == wanted else "sweep"

    claim_folder(folder, PLAN, difference, hint=REMEDY)


def claimed(plan: SweepPlan, keep_weights: bool) -> dict[str, Any]:
    return plan.to_json() | {"keep_weights": keep_weights}


Groups = list[tuple[Shape, list[Part]]]


def claim(plan: SweepPlan, folder: Path, groups: Groups, keep_weights: bool) -> Groups:
    """Write down the parts of a sweep; one that was begun before has those that it began with."""
    if (folder / PLAN).exists():
        return stored_parts(folder / PLAN, groups)
    parts = [[asdict(part) for part in parts] for _, parts in groups]
    write_json(folder / PLAN, claimed(plan, keep_weights) | {"parts": parts})
    return groups


def stored_parts(path: Path, groups: Groups) -> Groups:
    """The parts with which the sweep of a folder began; another machine may have cut it into others than these."""
    stored = read_object(path, {"parts": list}, REMEDY)["parts"]
    try:
        found = [
            (shape, [Part(tuple(part["networks"]), part["size"]) for part in parts])
            for (shape, _), parts in zip(groups, stored, strict=True)
        ]
    except (TypeError, KeyError, ValueError) as error:
        raise DamagedError(f"{path} is not the plan of a sweep ({error}); {REMEDY}") from None
    for (_, wanted), (_, parts) in zip(groups, found, strict=True):
        members = sorted(number for part in wanted for number in part.networks)
        if members != sorted(number for part in parts for number in part.networks):
            raise DamagedError(f"{path} has other networks than the sweep; {REMEDY}")
        if any(not (isinstance(part.size, int) and len(part.networks) <= part.size < 2**20) for part in parts):
            raise DamagedError(f"{path} has parts of impossible sizes; {REMEDY}")
    return found


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


def all_rows(
    plan: SweepPlan,
    tasks: Sequence[Task],
    folder: Path | None,
    keep_weights: bool,
    ray: str | None,
    progress: Progress | None,
) -> tuple[pa.Table, int]:
    """Every row of the plan, and how many programs were compiled; parts that are done are read, not trained."""
    if folder is not None and (rows := whole_rows(folder / TABLE, range(len(plan.configs)), plan.configs)) is not None:
        return rows, 0
    steps = Steps(progress, sum(config.steps for config in plan.configs))
    with closing(sweep_workers(ray, steps)) as workers:
        device = workers.ask(this_device) if isinstance(workers, RayWorkers) else this_device()
        tables, missing, compilations = [], [], 0
        for work in works(plan, tasks, folder, keep_weights, device):
            path = part_path(folder, work.part)
            rows = None if path is None else whole_rows(path, work.part.networks, work.configs)
            if rows is not None:
                tables.append(rows)
                steps.add(work.steps)
            else:
                missing.append(work)
        for work, trained in in_window(workers, iter(missing)):
            if folder is not None and keep_weights:
                write_weights(folder / WEIGHTS, work, trained.params)
            if (path := part_path(folder, work.part)) is not None:
                write_rows(path, trained.rows)
            tables.append(trained.rows)
            compilations += trained.compilations
            steps.add(work.steps)
    return pa.concat_tables(tables).sort_by("network").combine_chunks(), compilations


def sweep_workers(ray: str | None, steps: Steps) -> ThisThread[Work, TrainedPart] | RayWorkers[Work, TrainedPart]:
    return ThisThread(partial(train_part, progress=steps.within)) if ray is None else RayWorkers(train_part, ray)


def works(
    plan: SweepPlan, tasks: Sequence[Task], folder: Path | None, keep_weights: bool, device: Device
) -> list[Work]:
    """The parts of a plan, with all that is needed to train them."""
    groups = [(shape, parts_of(shape, numbers, device)) for shape, numbers in groups_of(plan.configs, tasks, device)]
    if folder is not None:
        groups = claim(plan, folder, groups, keep_weights)
    return [
        Work(
            shape,
            part,
            tuple(plan.configs[number] for number in part.networks),
            tuple(tasks[number] for number in part.networks),
            keep_weights,
        )
        for shape, parts in groups
        for part in parts
    ]


def part_path(folder: Path | None, part: Part) -> Path | None:
    return None if folder is None else folder / f"part-{part.networks[0]:05}.parquet"


def write_weights(folder: Path, work: Work, params: Any) -> None:
    """The trained networks of a part, each in a file that every command takes."""
    for place, (number, config) in enumerate(zip(work.part.networks, work.configs, strict=True)):
        training = begin(config)
        state = training.state._replace(params=pick(params, slice(place, place + 1)))
        training._replace(state=state).network(config).save(folder / f"{number:05}.safetensors")


def write_rows(path: Path, rows: pa.Table) -> None:
    with whole_file(path) as temporary:
        pq.write_table(rows, temporary, compression="zstd", write_page_checksum=True)


def whole_rows(path: Path, networks: Sequence[int], configs: Sequence[TrainConfig]) -> pa.Table | None:
    """The rows of these networks in a file; None where there is none, or where it was damaged and is set aside."""
    if not path.exists():
        return None
    try:
        rows = read_rows(path, ROWS, "it is trained again", filled=("network", "outcome", f"step{CURVE}"))
        if sorted(rows["network"].to_pylist()) != sorted(networks):
            raise DamagedError(f"{path} holds other networks than it must")
        steps = dict(zip(networks, (config.measured_steps() for config in configs), strict=True))
        for number, curve in zip(rows["network"].to_pylist(), rows[f"step{CURVE}"].to_pylist(), strict=True):
            if curve != steps[number]:
                raise DamagedError(f"{path} lacks measured steps of network {number}")
        return rows
    except DamagedError as error:
        set_aside(path, error)
        return None


def finish(folder: Path, rows: pa.Table) -> tuple[Path, ...]:
    """The whole table in place of its parts; returns the files that hold the results."""
    if not (folder / TABLE).exists():
        write_rows(folder / TABLE, rows)
    for part in folder.glob("part-*.parquet"):
        part.unlink()
    return (folder / PLAN, folder / TABLE, *sorted((folder / WEIGHTS).glob("*.safetensors")))
