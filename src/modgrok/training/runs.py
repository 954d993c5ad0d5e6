"""A run is a folder: the config, metrics, weights and figures of one training, and a checkpoint to go on from.

    config.json             the `TrainConfig`
    metrics.parquet         one row a measured step: step, losses, accuracies, IPR, neurons alive, norms
    neurons.parquet         one row a neuron: IPR before and after training, and whether it is alive
    weights.safetensors     the trained network, in the one format of every modgrok network; a model that is no circuit
                            has its weights there by name, with the config
    checkpoint.safetensors  weights, moments and metrics at the last checkpoint, replaced whole
    result.json             the summary that the command prints
    curves.png, .svg        the figure that the command draws

The checkpoint holds everything that training carries from step to step, and where a training is interrupted has no
influence on its numbers. So a killed run, started again, ends bit for bit where an unbroken one ends.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Float
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from modgrok.algebra.expression import parse, variable_names
from modgrok.errors import InputError
from modgrok.files import read_json, whole_file, write_json
from modgrok.inspection import spectrum
from modgrok.networks.circuit import Expert, single
from modgrok.networks.network import Network
from modgrok.training.diagnosis import diagnose, passed_at
from modgrok.training.ensemble import segment_all, start_all
from modgrok.training.models import periodic_part
from modgrok.training.steps import Hyper, Metrics, Shape, State, TrainConfig, repeatable_gradient

COLUMNS = ("step", *Metrics._fields)
FILES = (
    "config.json",
    "metrics.parquet",
    "neurons.parquet",
    "weights.safetensors",
    "checkpoint.safetensors",
    "result.json",
    "curves.png",
    "curves.svg",
)


class Point(NamedTuple):
    """What a live view sees: the last row of the metrics, and the steps and seconds of this sitting."""

    row: dict[str, float]
    steps: int
    seconds: float


class Training(NamedTuple):
    """A training on the device, as an ensemble of one, and its metrics so far (one row a measured step)."""

    shape: Shape
    hyper: Hyper
    examples: Any
    state: State
    history: Float[np.ndarray, "point column"]

    @property
    def step(self) -> int:
        return int(self.state.step[0])

    @property
    def params(self) -> Any:
        return jax.tree.map(lambda leaf: np.asarray(leaf[0]), self.state.params)

    def segment(self, steps: int) -> Training:
        """Train on, measure, and add the row to the history."""
        state, metrics = segment_all(self.shape, self.hyper, self.examples, self.state, steps)
        row = [float(state.step[0]), *(float(value[0]) for value in metrics)]
        return self._replace(state=state, history=np.concatenate([self.history, [row]]))

    def compiled(self) -> Training:
        """The same, measured at step 0 if it is there; afterwards the clock measures training alone."""
        measured = self.segment(0)
        return measured if self.step == 0 else measured._replace(history=self.history)

    def curves(self) -> dict[str, np.ndarray]:
        return {name: self.history[:, k] for k, name in enumerate(COLUMNS)}


def begin(config: TrainConfig) -> Training:
    """The training of a config at step 0, nothing measured yet."""
    shape, hyper, table = config.task()
    shape = dataclasses.replace(shape, gradient=repeatable_gradient())
    hyper = jax.tree.map(lambda leaf: leaf[None], hyper)
    examples, state = start_all(shape, hyper, table[None])
    return Training(shape, hyper, examples, state, np.empty((0, len(COLUMNS))))


def default_folder(config: TrainConfig) -> Path:
    """runs/, the expression in characters that every file system takes, and every setting that is not the default.

    Without the number of steps: a run goes on in its folder.
    """
    words = "".join(c if c.isalnum() else "-" for c in config.expression.replace(" ", ""))[:40]
    changed = [
        f"-{field.name}{getattr(config, field.name)}"
        for field in dataclasses.fields(config)
        if field.name not in ("expression", "modulus", "width", "steps", "seed")
        and getattr(config, field.name) != field.default
    ]
    return Path("runs") / f"{words}-mod{config.modulus}-width{config.width}-seed{config.seed}{''.join(changed)}"


def load_config(folder: Path) -> TrainConfig:
    """The config of the run in a folder."""
    if not (folder / "config.json").exists():
        raise InputError(f"{folder} is not a run: it has no config.json; `modgrok train … --out {folder}` makes one")
    try:
        return TrainConfig(**read_json(folder / "config.json"))
    except TypeError as error:
        raise InputError(f"{folder / 'config.json'} is not the config of a run: {error}") from None


def claim_folder(config: TrainConfig, folder: Path, *, overwrite: bool = False) -> None:
    """Make `folder` the folder of this config, or refuse where it holds something else.

    A run may go on with more steps, since nothing that came before depends on their number; any other difference is
    another experiment.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder with --out")
    if overwrite:
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
    if (folder / "config.json").exists():
        stored = load_config(folder)
        changed = [
            f"{name} is {before!r} there and {after!r} here"
            for (name, before), after in zip(vars(stored).items(), vars(config).values())
            if before != after and name != "steps"
        ]
        if config.steps < stored.steps:
            changed.append(f"it has {stored.steps} steps, more than {config.steps}")
        if changed:
            raise InputError(
                f"{folder} holds another run ({'; '.join(changed)}); go on with that one by --resume {folder}, "
                "choose another folder with --out, or replace it with --overwrite"
            )
    elif folder.exists() and any(folder.iterdir()) and not overwrite:
        raise InputError(f"{folder} is not empty and not a run; choose another folder with --out")
    write_json(folder / "config.json", dataclasses.asdict(config))


def train_run(
    config: TrainConfig,
    folder: Path,
    *,
    overwrite: bool = False,
    checkpoint_seconds: float = 10.0,
    on_point: Callable[[Point], None] = lambda point: None,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Train into a folder, going on where an earlier sitting stopped, and return the summary.

    `on_point` is called at every measured step. When `stop` says so, or the steps are done, everything is written;
    between, a checkpoint is, at the first measured step after `checkpoint_seconds`.
    """
    finished = None if overwrite else stored_result(config, folder)
    if finished is not None:
        return finished
    fresh = begin(config)
    claim_folder(config, folder, overwrite=overwrite)
    initial_ipr, _ = neuron_spectra(fresh.shape, fresh.params)
    training = load_checkpoint(config, folder / "checkpoint.safetensors", fresh).compiled()
    first_step, began = training.step, time.perf_counter()
    saved = began
    for step in (step for step in config.measured_steps() if step > first_step):
        if stop():
            break
        training = training.segment(step - training.step)
        now = time.perf_counter()
        on_point(Point(dict(zip(COLUMNS, training.history[-1])), training.step - first_step, now - began))
        if now - saved >= checkpoint_seconds:
            save_checkpoint(config, folder, training)
            saved = time.perf_counter()
    rate = (training.step - first_step) / max(time.perf_counter() - began, 1e-9)
    save_checkpoint(config, folder, training)
    save_network(config, folder / "weights.safetensors", training.params)
    write_neurons(folder / "neurons.parquet", initial_ipr, *neuron_spectra(fresh.shape, training.params))
    result = summary(config, folder, training, rate)
    write_json(folder / "result.json", result)
    return result


def summary(config: TrainConfig, folder: Path, training: Training, rate: float) -> dict[str, Any]:
    """The JSON object of a run; numbers that do not exist are null."""
    curves = training.curves()
    final = {name: finite(curves[name][-1]) for name in Metrics._fields}
    diagnosis = diagnose(config, curves)
    return {
        "config": dataclasses.asdict(config),
        "run_dir": str(folder),
        "finished": training.step == config.steps,
        "reused": False,
        "step": training.step,
        "final": final | {"alive": int(curves["alive"][-1])},
        "memorised_at": passed_at(curves, "train_accuracy"),
        "grokked_at": passed_at(curves, "test_accuracy"),
        "order": training.shape.order,
        "train_rows": training.shape.train_rows,
        "test_rows": training.shape.rows - training.shape.train_rows,
        "steps_per_second": rate,
        "device": jax.devices()[0].device_kind,
        "diagnosis": dataclasses.asdict(diagnosis),
    }


def finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def stored_result(config: TrainConfig, folder: Path) -> dict[str, Any] | None:
    """The summary of a run that has already taken all its steps."""
    if not (folder / "result.json").exists():
        return None
    result = read_json(folder / "result.json")
    done = result.get("finished") and result.get("config") == dataclasses.asdict(config)
    return result | {"run_dir": str(folder), "reused": True} if done else None


def save_checkpoint(config: TrainConfig, folder: Path, training: Training) -> None:
    """Everything needed to go on, in one file that is replaced whole; and the metrics so far for people to read."""
    tensors = dict(named_leaves(training.state)) | {"history": training.history}
    about = {"config": dataclasses.asdict(config)}
    with whole_file(folder / "checkpoint.safetensors") as temporary:
        save_file(tensors, temporary, metadata={"modgrok": json.dumps(about)})
    write_metrics(folder / "metrics.parquet", training.curves())


def load_checkpoint(config: TrainConfig, path: Path, beginning: Training) -> Training:
    """The training as a checkpoint holds it; `beginning` itself where there is none."""
    if not path.exists():
        return beginning
    try:
        with safe_open(path, framework="numpy") as file:
            leaves = [checked(file.get_tensor(name), leaf) for name, leaf in named_leaves(beginning.state)]
            history = file.get_tensor("history")
    except (OSError, SafetensorError, ValueError) as error:
        raise InputError(f"{path} was damaged ({error}); start again with --overwrite") from None
    state = jax.tree.unflatten(jax.tree.structure(beginning.state), leaves)
    planned = np.isin(history[:, 0], config.measured_steps())
    return beginning._replace(state=state, history=history[planned])


def named_leaves(tree: Any) -> list[tuple[str, np.ndarray]]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path), np.asarray(leaf)) for path, leaf in leaves]


def checked(tensor: np.ndarray, like: np.ndarray) -> jax.Array:
    if tensor.shape != like.shape or tensor.dtype != like.dtype:
        raise ValueError(f"expected shape {like.shape}, got {tensor.shape}")
    return jax.numpy.asarray(tensor)


def save_network(config: TrainConfig, path: Path, params: Any) -> None:
    if isinstance(params, Expert):
        save_expert(config, path, params)
        return
    about = {"model": config.model, "settings": dataclasses.asdict(config)}
    tensors = {name.lstrip("."): np.ascontiguousarray(leaf) for name, leaf in named_leaves(params)}
    with whole_file(path) as temporary:
        save_file(tensors, temporary, metadata={"modgrok": json.dumps(about)})


def save_expert(config: TrainConfig, path: Path, expert: Expert) -> None:
    inputs = variable_names(parse(config.expression, config.modulus))
    plan = ({"kind": "trained", "text": config.expression, "inputs": inputs, "width": expert.width},)
    Network(single(expert), config.expression, config.modulus, "trained", plan, dataclasses.asdict(config)).save(path)


def neuron_spectra(shape: Shape, params: Any) -> tuple[Float[np.ndarray, "width"], Bool[np.ndarray, "width"]]:
    """IPR of every neuron (where it is no power network, of every column of the embedding), and whether it is alive."""
    expert = periodic_part(params)
    return np.asarray(spectrum.neuron_ipr(expert, shape.residues())), np.asarray(spectrum.alive(expert))


def write_metrics(path: Path, curves: dict[str, np.ndarray]) -> None:
    whole = dict.fromkeys(("step", "alive"), np.int64)
    columns = {
        name: pa.array(column.astype(whole.get(name, np.float32)), from_pandas=True) for name, column in curves.items()
    }
    with whole_file(path) as temporary:
        pq.write_table(pa.table(columns), temporary)


def write_neurons(path: Path, initial: np.ndarray, final: np.ndarray, living: np.ndarray) -> None:
    columns = {"neuron": np.arange(initial.size), "ipr_initial": initial, "ipr_final": final, "alive": living}
    with whole_file(path) as temporary:
        pq.write_table(pa.table(columns), temporary)


def read_table(path: Path) -> dict[str, np.ndarray]:
    """The columns of a run's Parquet file; what is missing in a column is NaN."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"cannot read {path}: {error}; `modgrok train` makes it") from None
    return {name: table.column(name).to_numpy() for name in table.column_names}
