"""(b) Damaged files: every format cut at every length, bytes of its header flipped, fields dropped, swapped, retyped.

A reader gives what the file held, or an `InputError` (of a stored result: a reason to compute it again). A binary file
that was cut is never accepted, and a file with checksums never with another content. Warnings count as tracebacks.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import safe_open
from safetensors.numpy import save_file
from tally import Tally

from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.base.repository import study
from modgrok.censuses import runner, store as census_store
from modgrok.censuses.plan import load_plan, plan_from
from modgrok.compiler.compiling import compile
from modgrok.experiments import sweeps
from modgrok.experiments.sweep_plan import plan_of
from modgrok.loss_law.calibration import read_calibration
from modgrok.networks.storage import load
from modgrok.reproduction import classes, evidence
from modgrok.reproduction.item import Effort
from modgrok.separable import decide
from modgrok.separable.checking import check, write_certificate
from modgrok.training.checkpoints import begin, load_checkpoint
from modgrok.training.run import load_run
from modgrok.training.run_list import runs
from modgrok.training.train import train

PLAN = {"steps": [1, 2], "tables": {"random": 2}, "settings": [{"moduli": [5], "widths": [3], "fractions": [0.5]}]}
TOML = "steps = [1, 2]\n[tables]\nrandom = 2\n[[settings]]\nmoduli = [5]\nwidths = [3]\nfractions = [0.5]\nseeds = 1\n"
HEADER = 1500
"""Bytes at either end of a file that are flipped one by one."""
OTHERS = (None, 0, -1, 1.5, "x", [], {}, True, 10**30, float("nan"))
"""What a field is retyped to."""


@dataclass(frozen=True)
class Format:
    """A kind of file: an example, what reads it (or the folder it is in), and whether it can notice that it was cut."""

    path: str
    read: Callable[[Path], Any]
    folder: str | None = None
    sealed: bool = True


def network_content(network: Any) -> Any:
    about, tensors = network.stored()
    return about, {name: (t.dtype, t.shape, t.tobytes()) for name, t in tensors.items()}


def read_run(folder: Path) -> Any:
    found = load_run(folder)
    runs(folder.parent)
    return found.to_json(), [network_content(network) for network in found.snapshots.values()]


def read_checkpoint(path: Path) -> Any:
    fresh = beginning()
    training = load_checkpoint(load_run(examples() / "run").config, path, fresh)
    return training.history.tobytes(), [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(training.state)]


@cache
def beginning() -> Any:
    return begin(load_run(examples() / "run").config)


def read_sweep(folder: Path) -> Any:
    plan = plan_of("n1 n2", 5, 2, width=3, steps=2)
    store = sweeps.SweepStore(folder, plan, keep_weights=False)
    store.check_claim()
    return store.rows()


def read_result(path: Path) -> Any:
    return evidence.read_result(path, {"item": "classes"}).value


PART_OF = {"code": "a"}
FORMATS = {
    "network": Format("network.safetensors", lambda path: network_content(load(path))),
    "trained network": Format("run/weights.safetensors", lambda path: network_content(load(path))),
    "config of a run": Format("run/config.json", read_run, "run", sealed=False),
    "result of a run": Format("run/result.json", read_run, "run"),
    "metrics of a run": Format("run/metrics.parquet", read_run, "run"),
    "neurons of a run": Format("run/neurons.parquet", read_run, "run"),
    "snapshots of a run": Format("run/snapshots.safetensors", read_run, "run"),
    "checkpoint of a run": Format("run/checkpoint.safetensors", read_checkpoint),
    "plan of a sweep": Format("sweep/sweep.json", read_sweep, "sweep"),
    "rows of a sweep": Format("sweep/sweep.parquet", read_sweep, "sweep"),
    "plan of a census": Format("census/plan.json", census_store.read_rows, "census"),
    "part of a census": Format("census/part-000000.parquet", census_store.read_rows, "census"),
    "rows of a census": Format("census/census.parquet", census_store.read_annotated, "census"),
    "TOML plan": Format("plan.toml", load_plan, sealed=False),
    "calibration": Format("calibration.json", read_calibration),
    "certificate": Format("certificate.json", check),
    "result of the report": Format("classes.json", read_result),
    "parts of an item": Format("parts.json", lambda path: study("resuming").Parts(path, PART_OF).parts),
    "table in CSV": Format("table.csv", read_function, sealed=False),
    "table in npy": Format("table.npy", read_function),
    "table in Parquet": Format("table.parquet", read_function),
}
SLICES = 8
"""In how many parts the damages of a format are shared out."""
TOTAL, BATCH, UNIT = SLICES * len(FORMATS), 1, f"slices of {len(FORMATS)} formats"


@cache
def examples() -> Path:
    """One file of every format, in a folder of this process."""
    logging.getLogger("modgrok").setLevel(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    compile("n1 n2 + n1", 5).save(folder / "network.safetensors")
    train("n1 n2", 5, width=3, steps=2, snapshots=2, out=folder / "run")
    sweeps.sweep("n1 n2", 5, seeds=2, width=3, steps=2, out=folder / "sweep")
    runner.census(plan_from(PLAN), folder / "census")
    (folder / "plan.toml").write_text(TOML)
    shutil.copy(Path(evidence.PACKAGE) / "loss_law" / "calibration.json", folder)
    small = json.loads((folder / "calibration.json").read_text())
    (folder / "calibration.json").write_text(json.dumps(small | {"settings": small["settings"][:2]}, indent=1))
    asked = read_function("n1 n2 + n1^2", 5)
    write_certificate(folder / "certificate.json", asked, [("additive", decide(asked.table, 5, False))])
    result = classes.compute(Effort("quick"))
    evidence.write_result(folder / "classes.json", result, {"item": "classes"})
    study("resuming").Parts(folder / "parts.json", PART_OF).add({"width": 3}, {"accuracy": 0.5})
    table = np.add.outer(np.arange(5), np.arange(5)) % 5
    np.savetxt(folder / "table.csv", table, fmt="%d", delimiter=",")
    np.save(folder / "table.npy", table)
    pq.write_table(pa.table({f"c{k}": table[:, k] for k in range(5)}), folder / "table.parquet")
    return folder


# ------------------------------------------------------------------------------------------ damages


def cut(content: bytes) -> Iterator[bytes]:
    yield from (content[:length] for length in range(len(content)))


def flipped(content: bytes) -> Iterator[bytes]:
    ends = sorted({*range(min(HEADER, len(content))), *range(max(0, len(content) - HEADER), len(content))})
    for place in ends:
        for bits in (0x01, 0xFF):
            yield content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :]


def fields(value: Any, depth: int = 3) -> Iterator[tuple[Any, ...]]:
    """Paths to the fields of JSON, a few of every list."""
    if depth and isinstance(value, dict):
        for name in value:
            yield (name,)
            yield from ((name, *rest) for rest in fields(value[name], depth - 1))
    elif depth and isinstance(value, list):
        for place in range(min(len(value), 2)):
            yield (place,)
            yield from ((place, *rest) for rest in fields(value[place], depth - 1))


def changed(value: Any, path: tuple[Any, ...], other: Any, *, drop: bool = False) -> Any:
    copy = json.loads(json.dumps(value))
    inner = copy
    for name in path[:-1]:
        inner = inner[name]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = other
    return copy


def changed_objects(value: Any) -> Iterator[Any]:
    yield from OTHERS
    for path in fields(value):
        yield changed(value, path, None, drop=True)
        yield from (changed(value, path, other) for other in OTHERS)
    for path in fields(value):
        yield from swapped(value, path)


def swapped(value: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    """A field and the one before it, each with the other's value."""
    holder = value
    for name in path[:-1]:
        holder = holder[name]
    names = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    if (place := names.index(path[-1])) > 0:
        before = names[place - 1]
        once = changed(value, path, holder[before])
        yield changed(once, (*path[:-1], before), holder[path[-1]])


def changed_json(path: Path) -> Iterator[bytes]:
    for value in changed_objects(json.loads(path.read_text())):
        yield json.dumps(value).encode()
    yield b"[" * 100_000


def changed_parquet(path: Path) -> Iterator[bytes]:
    rows = pq.read_table(path)
    tables = [rows.slice(0, 0), pa.concat_tables([rows, rows]), rows.slice(0, len(rows) // 2), pa.table({})]
    for k, name in enumerate(rows.column_names):
        tables += [rows.drop_columns(name)]
        others = (pa.nulls(len(rows)), pa.array(["x"] * len(rows)), pa.array([True] * len(rows)))
        numbers = (pa.array([-1] * len(rows)), pa.array([2**62] * len(rows)), pa.array([1e308] * len(rows)))
        tables += [rows.set_column(k, name, column) for column in (*others, *numbers)]
        tables += [rows.rename_columns([*rows.column_names[:k], rows.column_names[0], *rows.column_names[k + 1 :]])]
    for table in tables:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        yield sink.getvalue().to_pybytes()


def changed_tensors(path: Path) -> Iterator[bytes]:
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["modgrok"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    del about["checksums"]
    variants = [(about, {k: v for k, v in tensors.items() if k != name}) for name in tensors]
    for name, tensor in tensors.items():
        for other in (tensor.astype(np.float16), tensor.reshape(-1), tensor[..., None], np.zeros(0, tensor.dtype)):
            variants.append((about, tensors | {name: np.ascontiguousarray(other)}))
        variants.append((about, tensors | {name: next(reversed(tensors.values()))}))
    variants += [(value, tensors) for value in changed_objects(about)]
    target = path.with_name("changed.safetensors")
    for described, kept in variants:
        save_file(kept, target, metadata={"modgrok": json.dumps(described)})
        yield target.read_bytes()
    target.unlink()


def changed_npy(path: Path) -> Iterator[bytes]:
    table, target = np.load(path), path.with_name("changed.npy")
    others = (table.astype(float) + 0.5, table - 9, table[0, 0], table[:0], table.astype("U3"), table.astype(bool))
    for other in (*others, table.astype(complex), table.astype(object), table[None], table + 2**40):
        np.save(target, other)
        yield target.read_bytes()
    target.unlink()


CHANGED = {".json": changed_json, ".parquet": changed_parquet, ".safetensors": changed_tensors, ".npy": changed_npy}


# ------------------------------------------------------------------------------------------ trials


def run_batch(number: int) -> Tally:
    """Every eighth damage of one format."""
    return damages(list(FORMATS)[number % len(FORMATS)], SLICES, number // len(FORMATS))


def damages(name: str, every: int, first: int = 0) -> Tally:
    """Each `every`-th damage of a format."""
    form, tally = FORMATS[name], Tally()
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("error")
        work = Path(place)
        if form.folder:
            shutil.copytree(examples() / form.folder, work / form.folder)
        target = work / form.path
        target.parent.mkdir(exist_ok=True)
        asked = work / form.folder if form.folder else target
        content = (examples() / form.path).read_bytes()
        target.write_bytes(content)
        whole = form.read(asked)
        kinds = {"cut": cut(content), "flipped": flipped(content)}
        if target.suffix in CHANGED:
            kinds["fields changed"] = CHANGED[target.suffix](examples() / form.path)
        for kind, variants in kinds.items():
            for k, variant in enumerate(variants):
                if k % every != first:
                    continue
                target.write_bytes(variant)
                for old in target.parent.glob("*.damaged*"):
                    old.unlink()
                tally.trial(f"{name}, {kind}", *problems(form, asked, kind, k, whole, target.suffix))
    return tally


def problems(form: Format, asked: Path, kind: str, k: int, whole: Any, suffix: str) -> list[str]:
    try:
        found = form.read(asked)
    except InputError as error:
        return [] if "\n" not in str(error) or suffix in (".json", ".toml") else [f"{k}: two lines: {error}"]
    except Exception as error:
        return [f"{k}: {type(error).__name__}: {str(error)[:160]}"]
    if kind == "cut" and form.sealed and found not in (None, []) and not equal(found, whole):
        return [f"{k}: the file was cut and taken for whole"]
    if kind == "flipped" and suffix == ".safetensors" and not equal(found, whole):
        return [f"{k}: a flipped byte makes another content"]
    return []


def equal(one: Any, other: Any) -> bool:
    if hasattr(one, "to_json"):
        one, other = one.to_json(), other.to_json()
        return {k: v for k, v in one.items() if k != "seconds"} == {k: v for k, v in other.items() if k != "seconds"}
    return bool(one == other)
