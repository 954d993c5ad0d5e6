"""One settings object for one experiment: its command line, its saved file and its key.

`TrainConfig` holds every setting of a training (`settings`) as plain values. What is not given is what suits the model
and the optimiser (`presets`), and all is checked before any work begins, so Python and the command line refuse alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, cast

import jax
import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import check_modulus, check_prime
from modgrok.algebra.fields import Field
from modgrok.algebra.function import Function, FunctionLike, from_expression, read_function
from modgrok.algebra.groups import GroupLike
from modgrok.algebra.stored_functions import words_kept
from modgrok.base.errors import InputError
from modgrok.base.results import field_values
from modgrok.inspection.order import Order, order_of
from modgrok.networks.losses import LOSSES, Loss, check_loss
from modgrok.networks.models import MODELS, Model, model_fields, model_name, model_word, trainable
from modgrok.training.data import train_count
from modgrok.training.optimisers import OPTIMISERS, Optimiser, rates_of
from modgrok.training.presets import DEFAULTS, preset
from modgrok.training.settings import REGISTRIES, SETTINGS, TRACED, Settings, check_names, checked
from modgrok.training.steps import Hyper, Shape

RATES = tuple(dict.fromkeys(name for optimiser in OPTIMISERS.values() for name in rates_of(optimiser)))
"""Settings that some optimiser takes."""


class Ensemble(NamedTuple):
    """Trainings of one shape, ready to begin side by side."""

    shape: Shape
    hyper: Hyper
    tables: Int[np.ndarray, "net row"]
    orders: list[Order]


class Task(NamedTuple):
    """One training, ready to begin."""

    shape: Shape
    hyper: Hyper
    table: Int[np.ndarray, "row"]
    order: Order


@dataclass(frozen=True)
class TrainConfig(Settings):
    """One experiment. Whatever is not given, or None, becomes what suits the model and the optimiser at once.

    Model, loss and optimiser may be objects; the config has their words (`base.objects`). `function` is read from
    `expression` and `modulus`; of a table these are its name and the number of its values.
    """

    expression: str
    modulus: int
    function: Function = field(default=cast(Function, None))

    @classmethod
    def of(
        cls,
        function: FunctionLike,
        mod: int | None = None,
        *,
        group: GroupLike | None = None,
        field: int | Field | None = None,
        **settings: Any,
    ) -> TrainConfig:
        """The training on a function that is given as an expression, a table, a file or a Python function."""
        check_names(settings, "a training")
        found = read_function(function, mod, group=group, field=field)
        return cls(found.source, found.values, function=found, **settings)

    def __post_init__(self) -> None:
        values = words_of(field_values(self))
        usual = preset(values["model"] or DEFAULTS["model"], values["optimiser"] or DEFAULTS["optimiser"])
        for name, value in (values | {name: usual[name] for name in usual if values[name] is None}).items():
            object.__setattr__(self, name, value.item() if isinstance(value, np.generic) else value)
        check_modulus(self.modulus)
        checked(field_values(self))
        train_count(self.fraction, self.modulus)
        if self.order == "multiplicative":
            check_prime(self.modulus, "for the multiplicative order")
        found, asked = self.function, (self.expression, self.modulus)
        if found is None or (found.tree is not None and (found.source, found.values) != asked):
            object.__setattr__(self, "function", from_expression(self.expression, self.modulus))
        elif found.values != self.modulus:
            raise InputError(f"{found.summary()} does not go with modulus {self.modulus}; use TrainConfig.of")
        self.check_rates()
        if model_name(self.model) in MODELS:
            self.check_settings_of_models()
            self.network_model((self.modulus,))

    @property
    def rates(self) -> tuple[str, ...]:
        """The settings that the optimiser takes; none where it is an object with its own inside."""
        return rates_of(OPTIMISERS[self.optimiser]) if self.optimiser in OPTIMISERS else RATES

    def check_rates(self) -> None:
        """A rate that an optimiser has inside is not given, and one without weight decay has none."""
        if not self.rates:
            usual = preset(self.model, self.optimiser)
            for name in (name for name in RATES if getattr(self, name) != usual[name]):
                raise InputError(f"{name} is inside the optimiser, got {getattr(self, name):g} beside it; leave it out")
        elif "weight_decay" not in self.rates and self.weight_decay:
            raise InputError(
                f"{self.optimiser} has no weight decay, got {self.weight_decay:g}; take adamw, or a weight_decay of 0"
            )

    def check_settings_of_models(self) -> None:
        """A setting of other models must stay at its default."""
        own = MODELS[model_name(self.model)].settings()
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
        kind, own = MODELS.thing(model_name(self.model)), model_fields(self.model)
        chosen: dict[str, Any] = {name: getattr(self, name) for name in kind.settings() if hasattr(self, name)}
        return kind(tuple(sizes), self.modulus, **chosen | own)

    def task(self) -> Task:
        """The table and everything else that training needs."""
        function = self.function
        if self.loss not in LOSSES.shipped:
            check_loss(LOSSES.thing(self.loss), self.modulus)
        train_rows = train_count(self.fraction, function.known_cells)
        shape = Shape(
            self.network_model(function.sizes),
            max(train_rows, self.room or 0),
            loss=self.loss if self.loss in LOSSES.shipped else LOSSES.thing(self.loss),
            optimiser=self.optimiser if self.optimiser in OPTIMISERS.shipped else OPTIMISERS.thing(self.optimiser),
            known=None if function.known is None else function.known_cells,
            repeatable=self.repeatable,
        )
        values = {field.name: getattr(self, field.name, train_rows) for field in fields(Hyper)}
        return Task(shape, hyper(**values), function.table.reshape(-1).astype(np.int32), order_of(function, self.order))

    def measured_steps(self) -> list[int]:
        """The steps at which metrics are measured: every `metrics_every` from 0 on, and the last."""
        return [*range(0, self.steps, self.metrics_every), self.steps]

    def own_objects(self) -> tuple[str, ...]:
        """Which of model, loss and optimiser are not modgrok's own: no file holds them."""
        words = {name: getattr(self, name) for name in REGISTRIES} | {"model": model_name(self.model)}
        return tuple(name for name, registry in REGISTRIES.items() if words[name] not in registry.shipped)

    def changed(self) -> dict[str, Any]:
        """The settings that are not what suits the model and the optimiser."""
        usual = preset(self.model, self.optimiser) | {name: DEFAULTS[name] for name in ("model", "optimiser")}
        return {name: value for name, value in field_values(self).items() if value != usual.get(name, value)}

    def row(self) -> dict[str, Any]:
        """The function and every setting, as a row of a table has them; rates that are inside an optimiser are null."""
        inside = dict.fromkeys(() if self.rates else RATES)
        return {"expression": self.expression, "modulus": self.modulus} | {
            name: inside.get(name, getattr(self, name)) for name in SETTINGS
        }

    def to_json(self) -> dict[str, Any]:
        """The same as JSON holds it: the config's file, and its key. A table is there by its digest."""
        found = {
            name: value
            for name, value in self.row().items()
            if name not in SETTINGS or not SETTINGS[name].quiet or value != SETTINGS[name].default
        }
        if self.function.tree is not None:
            return found
        about = {"digest": self.function.digest, "variables": list(self.function.variables)}
        return found | {"function": about | words_kept(self.function)}


def words_of(values: dict[str, Any]) -> dict[str, Any]:
    """Settings with words in place of objects; a model that is given as an object brings its own settings."""
    model = values["model"]
    if isinstance(model, Model):
        brought = {name: getattr(model, name) for name in type(model).settings() if name in SETTINGS}
        for name, value in brought.items():
            if values[name] not in (None, value):
                raise InputError(f"{name} is {value!r} in the model, got {values[name]!r} beside it; leave it out")
        values = values | brought | {"model": model_word(model, SETTINGS)}
    elif model is not None and not isinstance(model, str):
        raise InputError(
            f"model must be {' or '.join(trainable())}, or an object of a class that inherits from mg.Model, "
            f"got {model!r}"
        )
    if values["optimiser"] is not None and not isinstance(values["optimiser"], str):
        check_optimiser(values["optimiser"])
    if not (values["loss"] is None or isinstance(values["loss"], str) or callable(values["loss"])):
        raise InputError(
            f"loss must be {' or '.join(LOSSES.words())}, or a function of (logits, targets), "
            f"got {type(values['loss']).__name__}"
        )
    given = [name for name in ("loss", "optimiser") if values[name] is not None]
    return values | {name: setting_word(name, values[name]) for name in given}


def setting_word(name: str, value: Any) -> Any:
    """A setting as files and tables have it: the word of an object, and anything else as it is."""
    if isinstance(value, Model):
        return model_word(value, SETTINGS)
    return REGISTRIES[name].word(value) if name in REGISTRIES else value


def check_optimiser(optimiser: object) -> None:
    """An `InputError` unless it is one of optax, or makes one from settings that are traced."""
    if unknown := [name for name in rates_of(optimiser) if name not in TRACED]:
        raise InputError(
            f"a function that makes an optimiser takes settings that are traced ({', '.join(TRACED)}), got "
            f"{unknown[0]!r}; give it those names, or give the optimiser itself"
        )


def register(
    name: str,
    *,
    model: type[Model] | None = None,
    loss: Loss | None = None,
    optimiser: Optimiser | None = None,
) -> str:
    """Give an object a name, for settings, for files and for the command line (`--with FILE`), in this process.

    Args:
        name: what it is called from now on; names of modgrok's own cannot be taken.
        model: a class that inherits from `mg.Model`.
        loss: a function of (logits, targets) that gives one number for each row.
        optimiser: one of optax; or a function that makes one from settings, under their names, such as
            `lambda learning_rate, weight_decay: optax.lion(learning_rate, weight_decay=weight_decay)`.

    Returns:
        The name: `mg.train(…, loss=mg.register("focal", loss=focal))`.

    >>> import optax
    >>> register("my-lion", optimiser=lambda learning_rate: optax.lion(learning_rate))
    'my-lion'
    >>> TrainConfig("n1 n2", 23, optimiser="my-lion", learning_rate=0.001).rates
    ('learning_rate',)
    """
    objects = {"model": model, "loss": loss, "optimiser": optimiser}
    given = [(kind, thing) for kind, thing in objects.items() if thing is not None]
    if len(given) != 1:
        raise InputError('register takes one object by its kind: mg.register("focal", loss=focal), for example')
    if optimiser is not None:
        check_optimiser(optimiser)
    if model is not None and not (isinstance(model, type) and issubclass(model, Model)):
        raise InputError(f"a model is a class that inherits from mg.Model, got {model!r}; register its class")
    ((kind, thing),) = given
    REGISTRIES[kind].register(name, thing)
    if model is not None:
        model.name = name
    return name


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


def hyper(**values: Any) -> Hyper:
    """A `Hyper` from numbers and from arrays along the axis `net`, which are broadcast together.

    What is not given is the paper's (`presets.DEFAULTS`); `train_rows` must be given (see `data.train_count`).
    """
    names = [field.name for field in fields(Hyper)]
    if unknown := [name for name in values if name not in names]:
        raise InputError(f"unknown hyper-parameter {unknown[0]}; there are {', '.join(names)}")
    arrays = np.broadcast_arrays(*(values[name] if name in values else DEFAULTS[name] for name in names))
    kinds = [np.int32 if name in ("seed", "train_rows") else np.float32 for name in names]
    return Hyper(*(jax.device_put(array.astype(kind)) for array, kind in zip(arrays, kinds, strict=True)))
