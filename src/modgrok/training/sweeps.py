"""The verb sweep: many trainings in few compiled programs, as one table with curves that can go on after a kill.

A sweep in a folder has these files:

    sweep.json                   the plan, with the parts in which its networks train
    part-00000.parquet           a part that is done, until all are
    sweep.parquet                every network: settings, last metrics, and curves as lists
    weights/00000.safetensors    the trained networks, where they were asked for
    curves.png, .svg             medians and bands over the seeds
    settings.png, .svg           how good each setting is: a line, or a phase diagram where two vary
    running.json                 which process trains it, as long as it does (`modgrok.locks`)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modgrok import printing
from modgrok.algebra.function import FunctionLike
from modgrok.errors import InputError
from modgrok.files import claim_folder, whole_file, write_json
from modgrok.locks import locked
from modgrok.progress import Progress, progress_bar
from modgrok.stores import DamagedError, read_object, read_rows, set_aside
from modgrok.training.checkpoints import COLUMNS, begin
from modgrok.training.config import Task, TrainConfig, hyper
from modgrok.training.diagnosis import diagnose, passed_at
from modgrok.training.ensemble import Chunk, pick, segment_all, train_chunks
from modgrok.training.run_folder import function_name
from modgrok.training.steps import Hyper, Metrics, Shape
from modgrok.training.sweep_plan import Part, SweepPlan, groups_of, parts_of, plan_of
from modgrok.training.sweep_result import CURVE, Sweep

PLAN, TABLE, WEIGHTS = "sweep.json", "sweep.parquet", "weights"


def sweep(
    function: FunctionLike,
    mod: int | Iterable[int] | None = None,
    *,
    seeds: int | Iterable[int] = 1,
    out: str | Path | None = None,
    keep_weights: bool = False,
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
        live: whether to show how far it is; None does so in notebooks.
        settings: those of `mg.train`; each is a value, or a list of values that are tried one beside the other.

    Returns:
        A `Sweep`: `table` and `rows` (settings and last metrics), `medians`, `best`, `plot()`, `phase_diagram()`.

    >>> found = sweep("n1 + n2", mod=5, weight_decay=[1, 5], seeds=2, width=8, steps=20)
    >>> found.compilations, len(found.rows), found.rows[3]["weight_decay"]
    (1, 4, 5.0)
    """
    plan = plan_of(function, mod, seeds, **settings)
    return run_plan(plan, None if out is None else Path(out), keep_weights=keep_weights, live=live)


def default_folder(plan: SweepPlan) -> Path:
    """sweeps/, the function, what varies, and a few digits that stand for the whole plan."""
    config = plan.configs[0]
    varied = "-".join(plan.varied) or "seeds"
    digits = sha256(repr(plan.to_json()).encode()).hexdigest()[:6]
    mod = "" if config.function else f"-mod{config.modulus}"
    return Path("sweeps") / f"{function_name(config)}{mod}-{varied}-{digits}"


def run_plan(plan: SweepPlan, folder: Path | None, *, keep_weights: bool = False, live: bool | None = None) -> Sweep:
    """Train what is missing of a plan; in memory, without a folder."""
    if keep_weights and folder is None:
        raise InputError("weights are kept in a folder; give one: out= (--out)")
    tasks = [config.task() for config in plan.configs]  # what cannot be trained makes no folder
    with nullcontext() if folder is None else locked(folder):
        return run_tasks(plan, tasks, folder, keep_weights, live)


def run_tasks(
    plan: SweepPlan, tasks: Sequence[Task], folder: Path | None, keep_weights: bool, live: bool | None
) -> Sweep:
    """`run_plan` in a folder that is this process's."""
    began, programs = time.perf_counter(), compiled_programs()
    groups = [(shape, parts_of(shape, numbers)) for shape, numbers in groups_of(plan.configs, tasks)]
    if folder is not None:
        groups = claim(plan, folder, groups, keep_weights)
    console = printing.console(stderr=True)
    shown = console.is_jupyter if live is None else live
    with progress_bar(console, "network-steps") if shown else nullcontext() as progress:
        tables = list(trained_parts(plan, tasks, groups, folder, keep_weights, progress))
    rows = pa.concat_tables(tables).sort_by("network").combine_chunks()
    files: tuple[Path, ...] = ()
    if folder is not None:
        files = finish(folder, rows)
    compilations = compiled_programs() - programs
    title = plan.configs[0].expression if "modulus" in plan.varied else plan.configs[0].title
    found = Sweep(title, plan.varied, tuple(plan.seeds), rows, compilations, time.perf_counter() - began, folder, files)
    return found if folder is None else found.drawn()


def compiled_programs() -> int:
    """How many training programs this process has compiled."""
    return int(segment_all._cache_size())  # type: ignore[attr-defined]


def claim(
    plan: SweepPlan, folder: Path, groups: list[tuple[Shape, list[Part]]], keep_weights: bool
) -> list[tuple[Shape, list[Part]]]:
    """Make `folder` the folder of this sweep, or refuse; the parts are those with which it began."""
    wanted = plan.to_json() | {"keep_weights": keep_weights}

    remedy = "choose another folder: out= (--out)"

    def difference() -> str:
        stored = read_object(folder / PLAN, {"parts": list}, remedy)
        return "" if {name: stored.get(name) for name in wanted} == wanted else "sweep"

    claim_folder(folder, PLAN, difference, hint=remedy)
    if (folder / PLAN).exists():
        return stored_parts(folder / PLAN, groups, remedy)
    write_json(folder / PLAN, wanted | {"parts": [[asdict(part) for part in parts] for _, parts in groups]})
    return groups


def stored_parts(path: Path, groups: Sequence[tuple[Shape, list[Part]]], remedy: str) -> list[tuple[Shape, list[Part]]]:
    """The parts with which the sweep of a folder began; another machine may have cut it into others than these."""
    stored = read_object(path, {"parts": list}, remedy)["parts"]
    try:
        found = [
            (shape, [Part(tuple(part["networks"]), part["size"]) for part in parts])
            for (shape, _), parts in zip(groups, stored, strict=True)
        ]
    except (TypeError, KeyError, ValueError) as error:
        raise DamagedError(f"{path} is not the plan of a sweep ({error}); {remedy}") from None
    for (_, wanted), (_, parts) in zip(groups, found, strict=True):
        members = sorted(number for part in wanted for number in part.networks)
        if members != sorted(number for part in parts for number in part.networks):
            raise DamagedError(f"{path} has other networks than the sweep; {remedy}")
        if any(not (isinstance(part.size, int) and len(part.networks) <= part.size < 2**20) for part in parts):
            raise DamagedError(f"{path} has parts of impossible sizes; {remedy}")
    return found


def trained_parts(
    plan: SweepPlan,
    tasks: Sequence[Task],
    groups: Sequence[tuple[Shape, list[Part]]],
    folder: Path | None,
    keep_weights: bool,
    progress: Progress | None,
) -> Iterator[pa.Table]:
    """The rows of each part: read where it is done, else trained and written before the next begins."""
    if folder is not None and (rows := whole_rows(folder / TABLE, range(len(plan.configs)), plan.configs)) is not None:
        yield rows
        return
    total, done = sum(config.steps for config in plan.configs), 0
    for shape, parts in groups:
        for part in parts:
            configs = [plan.configs[number] for number in part.networks]
            path = None if folder is None else folder / f"part-{part.networks[0]:05}.parquet"
            rows = None if path is None else whole_rows(path, part.networks, configs)
            if rows is None:
                own = [tasks[number] for number in part.networks]
                chunk = train_part(shape, part, configs, own, counted(progress, done, total))
                if folder is not None and keep_weights:
                    write_weights(folder / WEIGHTS, part, configs, chunk)
                rows = rows_of(part, configs, chunk.metrics)
                if path is not None:
                    write_rows(path, rows)
            done += sum(config.steps for config in configs)
            if progress is not None:
                progress(done, total)
            yield rows


def train_part(
    shape: Shape,
    part: Part,
    configs: Sequence[TrainConfig],
    tasks: Sequence[Task],
    progress: Progress,
) -> Chunk:
    """A part in one chunk, filled up to its size with copies of its last network."""
    filled = [*tasks, *[tasks[-1]] * (part.size - len(tasks))]
    settings = hyper(**{name: np.array([getattr(task.hyper, name) for task in filled]) for name in HYPER})
    tables = np.stack([task.table for task in filled])
    chunks = train_chunks(
        shape,
        settings,
        tables,
        steps=configs[0].measured_steps(),
        orders=[task.order for task in filled],
        memory=2**62,
        progress=progress,
    )
    (chunk,) = chunks
    kept = slice(len(tasks))
    return Chunk(chunk.first, pick(chunk.metrics, kept), pick(chunk.params, kept))


def counted(progress: Progress | None, before: int, total: int) -> Progress:
    """Reports of a part as reports of the whole: its network-steps come on top of those `before`."""
    return lambda done, _: None if progress is None else progress(min(before + done, total), total)


HYPER = tuple(Hyper.__dataclass_fields__)


def rows_of(part: Part, configs: Sequence[TrainConfig], metrics: Metrics) -> pa.Table:
    """One row for each network: its number, settings, last metrics, outcome, and curves as lists."""
    rows = []
    for place, (number, config) in enumerate(zip(part.networks, configs, strict=True)):
        steps = np.array(config.measured_steps())
        curves = {"step": steps} | {name: np.asarray(values[place]) for name, values in metrics._asdict().items()}
        rows.append(
            {"network": number}
            | config.to_json()
            | {name: curves[name][-1].item() for name in Metrics._fields}
            | {"memorised_at": passed_at(curves, "train_accuracy"), "grokked_at": passed_at(curves, "test_accuracy")}
            | {"outcome": diagnose(config, curves).outcome}
            | {f"{name}{CURVE}": curves[name].tolist() for name in COLUMNS}
        )
    return pa.Table.from_pylist(rows, schema=ROWS)


def kind(value: Any) -> pa.DataType:
    return {int: pa.int64(), float: pa.float64()}.get(type(value), pa.string())


SETTINGS = [(name, kind(value)) for name, value in TrainConfig("n1", 2, power=1).to_json().items()]
MEASURED = [(name, pa.int64() if name in ("step", "alive") else pa.float32()) for name in COLUMNS]
ROWS = pa.schema(
    [
        ("network", pa.int64()),
        *SETTINGS,
        *MEASURED[1:],
        ("memorised_at", pa.int64()),
        ("grokked_at", pa.int64()),
        ("outcome", pa.string()),
        *(
            (f"{name}{CURVE}", pa.list_(pa.field("element", values))) for name, values in MEASURED
        ),  # as Parquet calls it
    ]
)
"""Items of a list have the name that Parquet gives them: a table that was read is written as the same bytes."""


def write_weights(folder: Path, part: Part, configs: Sequence[TrainConfig], chunk: Chunk) -> None:
    """The trained networks of a part, each in a file that every command takes."""
    for place, (number, config) in enumerate(zip(part.networks, configs, strict=True)):
        training = begin(config)
        state = training.state._replace(params=pick(chunk.params, slice(place, place + 1)))
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
