"""One settings object for one experiment: its command line, its saved file and its key.

`TrainConfig` holds every setting of a training as plain values. What is not given is what suits the model and the
optimiser (`presets`), and every number is checked before any work begins, so Python and the command line refuse alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import check_modulus, check_prime
from modgrok.algebra.function import Function, FunctionLike, from_expression, read_function
from modgrok.base.errors import InputError
from modgrok.base.results import field_values
from modgrok.inspection.order import ORDER_NAMES, Order, order_of
from modgrok.networks.models import MODELS, Model, trainable
from modgrok.training.data import train_count
from modgrok.training.losses import LOSSES
from modgrok.training.optimisers import OPTIMISERS
from modgrok.training.presets import DEFAULTS, preset
from modgrok.training.steps import Hyper, Shape

LEAST_COUNTS = {"width": 1, "power": 1, "steps": 1, "seed": 0, "metrics_every": 1, "snapshots": 0, "depth": 1}
"""Whole numbers, and the least that each may be."""
BEYOND = float(np.finfo(np.float32).max)
"""The largest number that float32 holds."""
UPPER_ENDS = {
    "learning_rate": BEYOND,
    "weight_decay": BEYOND,
    "eps": BEYOND,
    "init_scale": BEYOND,
    "beta1": 1,
    "beta2": 1,
    "dropout": 1,
}
"""Numbers from 0 on, and what each must stay below."""


class Ensemble(NamedTuple):
    """Trainings of one shape, ready to begin side by side."""

    shape: Shape
    hyper: Hyper
    tables: Int[np.ndarray, "net row"]
    orders: list[Order]


PRESET: Any = None
"""Stands for what suits the model and the optimiser, until `TrainConfig` replaces it."""


class Task(NamedTuple):
    """One training, ready to begin."""

    shape: Shape
    hyper: Hyper
    table: Int[np.ndarray, "row"]
    order: Order


@dataclass(frozen=True)
class TrainConfig:
    """One experiment. Whatever is not given, or None, becomes what suits the model and the optimiser at once.

    `power` None is the number of variables; `order` is that of the residues in which periodicity is measured, "auto"
    for the function's own; `snapshots` is how many networks are kept along the way. `function` is read from
    `expression` and `modulus`; of a table these are its name and the number of its values.
    """

    expression: str
    modulus: int
    width: int = PRESET
    power: int | None = None
    steps: int = PRESET
    learning_rate: float = PRESET
    weight_decay: float = PRESET
    beta1: float = PRESET
    beta2: float = PRESET
    eps: float = PRESET
    fraction: float = PRESET
    init_scale: float = PRESET
    seed: int = PRESET
    metrics_every: int = PRESET
    snapshots: int = PRESET
    order: str = PRESET
    model: str = "power"
    depth: int = PRESET
    activation: str = PRESET
    norm: str = PRESET
    dropout: float = PRESET
    loss: str = PRESET
    optimiser: str = "adamw"
    function: Function = PRESET

    @classmethod
    def of(cls, function: FunctionLike, mod: int | None = None, **settings: Any) -> TrainConfig:
        """The training on a function that is given as an expression, a table, a file or a Python function."""
        found = read_function(function, mod)
        return cls(found.source, found.values, function=found, **settings)

    def __post_init__(self) -> None:
        check_known("model", self.model, trainable())
        check_known("optimiser", self.optimiser, OPTIMISERS)
        for name, value in preset(self.model, self.optimiser).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for name, value in field_values(self).items():
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())
        check_modulus(self.modulus)
        self.check_numbers()
        check_known("loss", self.loss, LOSSES)
        check_known("order", self.order, ORDER_NAMES)
        if self.order == "multiplicative":
            check_prime(self.modulus, "for the multiplicative order")
        found, asked = self.function, (self.expression, self.modulus)
        if found is None or (found.tree is not None and (found.source, found.values) != asked):
            object.__setattr__(self, "function", from_expression(self.expression, self.modulus))
        elif found.values != self.modulus:
            raise InputError(f"{found.summary()} does not go with modulus {self.modulus}; use TrainConfig.of")
        if self.optimiser == "adam" and self.weight_decay:
            raise InputError(f"adam has no weight decay, got {self.weight_decay:g}; take adamw, or a weight_decay of 0")
        self.check_settings_of_models()
        self.network_model((self.modulus,))

    def check_numbers(self) -> None:
        for name, least in LEAST_COUNTS.items():
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and least <= value < 2**31):
                raise InputError(f"{name} must be a whole number from {least} to 2^31 - 1, got {value}")
        for name, below in UPPER_ENDS.items():
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and 0 <= value < below):
                raise InputError(f"{name} must be a number >= 0 and below {below:g}, got {value}")
        train_count(self.fraction, self.modulus)

    def check_settings_of_models(self) -> None:
        """A setting of other models must stay at its default."""
        own = MODELS[self.model].settings()
        others = {name for model in trainable() for name in MODELS[model].settings()} - set(own)
        usual = preset(self.model, self.optimiser)
        for name in sorted(others & set(usual)):
            if getattr(self, name) != usual[name]:
                having = " and ".join(model for model in trainable() if name in MODELS[model].settings())
                raise InputError(
                    f"{name} is for the model {having}, got {getattr(self, name)} for {self.model}; leave it out"
                )

    @property
    def title(self) -> str:
        """The function in one phrase: 'n1 n2 mod 97', or 'mine.csv (30 × 40 → 17)'."""
        return self.function.titled(self.expression)

    def network_model(self, sizes: Sequence[int]) -> Model:
        """The network that is trained, on variables with so many values each."""
        kind = MODELS[self.model]
        chosen: dict[str, Any] = {name: getattr(self, name) for name in kind.settings() if hasattr(self, name)}
        return kind(tuple(sizes), self.modulus, **chosen)

    def task(self) -> Task:
        """The table and everything else that training needs."""
        function = self.function
        train_rows = train_count(self.fraction, function.known_cells)
        shape = Shape(
            self.network_model(function.sizes),
            train_rows,
            loss=self.loss,
            optimiser=self.optimiser,
            known=None if function.known is None else function.known_cells,
        )
        values = {field.name: getattr(self, field.name, train_rows) for field in fields(Hyper)}
        return Task(shape, hyper(**values), function.table.reshape(-1).astype(np.int32), order_of(function, self.order))

    def measured_steps(self) -> list[int]:
        """The steps at which metrics are measured: every `metrics_every` from 0 on, and the last."""
        return [*range(0, self.steps, self.metrics_every), self.steps]

    def changed(self) -> dict[str, Any]:
        """The settings that are not what suits the model and the optimiser."""
        usual = preset(self.model, self.optimiser) | {name: DEFAULTS[name] for name in ("model", "optimiser")}
        return {name: value for name, value in field_values(self).items() if value != usual.get(name, value)}

    def to_json(self) -> dict[str, Any]:
        """Every setting as JSON holds it: the config's file, and its key. A table is there by its digest."""
        settings = field_values(self)
        function = settings.pop("function")
        if function.tree is not None:
            return settings
        return settings | {"function": {"digest": function.digest, "variables": list(function.variables)}}


def ensemble_of(configs: Sequence[TrainConfig]) -> Ensemble:
    """Configs that differ only in the function, the seed and the rates, as one ensemble."""
    tasks = [config.task() for config in configs]
    if len({task.shape for task in tasks}) > 1:
        raise InputError("networks that train side by side need the same model, modulus, fraction, loss and optimiser")
    return side_by_side(tasks[0].shape, tasks)


def side_by_side(shape: Shape, tasks: Sequence[Task]) -> Ensemble:
    """Trainings as one ensemble, of a shape that has room for each of them."""
    values = {field.name: np.array([getattr(task.hyper, field.name) for task in tasks]) for field in fields(Hyper)}
    return Ensemble(shape, hyper(**values), np.stack([task.table for task in tasks]), [task.order for task in tasks])


def check_known(name: str, value: Any, known: Any) -> None:
    if value not in known:
        raise InputError(f"{name} must be {' or '.join(known)}, got {value!r}")


def hyper(**values: Any) -> Hyper:
    """A `Hyper` from numbers and from arrays along the axis `net`, which are broadcast together.

    What is not given is the paper's (`presets.DEFAULTS`); `train_rows` must be given (see `data.train_count`).
    """
    names = [field.name for field in fields(Hyper)]
    if unknown := [name for name in values if name not in names]:
        raise InputError(f"unknown hyper-parameter {unknown[0]}; there are {', '.join(names)}")
    arrays = np.broadcast_arrays(*(values[name] if name in values else DEFAULTS[name] for name in names))
    kinds = [jnp.int32 if name in ("seed", "train_rows") else jnp.float32 for name in names]
    return Hyper(*(jnp.asarray(array, kind) for array, kind in zip(arrays, kinds, strict=True)))
