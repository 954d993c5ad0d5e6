"""Every setting of a training, declared once: its type and default, its meaning, what it may be, whether it is traced.

The command line, the signature of `train`, the form of the explorer with its limits, checks and files are made of the
fields of `Settings`; a new setting is a new field here. What is traced varies within one compilation, and an optimiser
takes it as an argument of that name (`training.optimisers`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from inspect import Parameter
from types import NoneType
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_type_hints

import numpy as np

from modgrok.base.errors import InputError, check_choice
from modgrok.base.objects import Registry
from modgrok.inspection.order import ORDER_NAMES
from modgrok.networks.losses import LOSSES
from modgrok.networks.models import MODELS
from modgrok.networks.models.base import ACTIVATIONS
from modgrok.networks.models.mlp import NORMS
from modgrok.training.optimisers import OPTIMISERS

BEYOND = float(np.finfo(np.float32).max)
"""The largest number that float32 holds."""

T = TypeVar("T")


class Setting(NamedTuple):
    """One of them. Whole numbers begin at `least`, other numbers at 0 and stay below `below`.

    `most` is where the explorer stops, and `also` are words that others have for it. One that is `quiet` is left out of
    files where it is the default, so that files of versions without it stay what they were.
    """

    name: str
    kind: type
    default: Any
    help: str
    least: int | None = None
    below: float | None = None
    choices: Collection[str] = ()
    traced: bool = False
    most: int | None = None
    also: str = ""
    quiet: bool = False

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def words(self) -> tuple[str, ...]:
        """What it may be, where it is one of some words."""
        return self.choices.words() if isinstance(self.choices, Registry) else tuple(self.choices)

    @property
    def full_help(self) -> str:
        """What it means, with its default."""
        return self.help if self.default is None else f"{self.help} (default {self.default})"

    def check(self, value: Any) -> None:
        """An `InputError` for what it cannot be."""
        if isinstance(self.choices, Registry):
            self.choices.check(value)
        elif self.choices:
            check_choice(self.name, value, self.choices)
        if self.kind is bool and not isinstance(value, bool):
            raise InputError(f"{self.name} must be True or False, got {value!r}")
        if self.least is not None and not (isinstance(value, int) and self.least <= value < 2**31):
            raise InputError(f"{self.name} must be a whole number from {self.least} to 2^31 - 1, got {value!r}")
        if self.below is not None and not (isinstance(value, (int, float)) and 0 <= value < self.below):
            raise InputError(f"{self.name} must be a number >= 0 and below {self.below:g}, got {value!r}")


def setting(default: T, help: str, **about: Any) -> T:
    """A field of `Settings`. What is not given is None until `TrainConfig` puts there what suits the model."""
    return cast(T, field(default=None, metadata={"default": default, "help": help} | about))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a training; the defaults are those of the paper's network with AdamW (`presets` has others)."""

    width: int = setting(
        500,
        "hidden neurons; in a transformer, the dimension of the residual stream",
        least=1,
        most=4096,
        also="hidden hidden_size hidden_dim d_model n_embd",
    )
    power: int | None = setting(
        None, "activation x^power of the power network; the number of variables if not given", least=1
    )
    steps: int = setting(
        1000,
        "full-batch steps; a finished run goes on if more are asked for",
        least=1,
        most=200_000,
        also="epochs iterations",
    )
    learning_rate: float = setting(0.005, "learning rate", below=BEYOND, traced=True, also="lr step_size")
    weight_decay: float = setting(5.0, "weight decay", below=BEYOND, traced=True, also="wd decay l2")
    beta1: float = setting(
        0.9, "decay of the mean of gradients; momentum of sgd and muon", below=1, traced=True, also="momentum b1 betas"
    )
    beta2: float = setting(0.98, "decay of the mean of squared gradients in Adam", below=1, traced=True, also="b2")
    eps: float = setting(1e-8, "the term in Adam's denominator", below=BEYOND, traced=True, also="epsilon")
    fraction: float = setting(
        0.5, "share of the table to train on; the rest is for testing", also="train_fraction frac_train train_size"
    )
    init_scale: float = setting(
        0.5,
        "size of the initial weights; init_scale / (2 width)^(1/3) is their deviation in the power network",
        below=BEYOND,
        traced=True,
        also="scale alpha",
    )
    seed: int = setting(
        0, "seed of the split and of the initial weights", least=0, traced=True, also="random_state random_seed"
    )
    metrics_every: int = setting(10, "steps between measurements", least=1, also="log_every eval_every")
    snapshots: int | None = setting(
        None,
        "networks to keep on the way, at logarithmically spaced steps, for the film; 32 if not given, fewer where they "
        "would take more than 64 MB",
        least=0,
        most=200,
        also="checkpoints",
    )
    order: str = setting(
        "auto", "order of residues in which the IPR is measured; auto is the function's own", choices=ORDER_NAMES
    )
    model: str = setting(
        "power",
        "the paper's two-layer network, an mlp, or a transformer; other defaults follow the model",
        choices=MODELS,
        also="network architecture net",
    )
    depth: int = setting(
        2,
        "layers of weights in an mlp (2 or more), or layers of a transformer",
        least=1,
        most=4,
        also="layers num_layers",
    )
    activation: str = setting(
        "relu", "of an mlp or a transformer", choices=tuple(ACTIVATIONS), also="act nonlinearity act_fn"
    )
    norm: str = setting(
        "none",
        "layer normalisation (mlp, transformer) or batch normalisation (mlp)",
        choices=NORMS,
        also="normalization layer_norm batch_norm",
    )
    dropout: float = setting(
        0.0, "share of the hidden neurons dropped at random in every step", below=1, also="p_dropout"
    )
    loss: str = setting(
        "mse", "mean squared error to the one-hot, or cross-entropy", choices=LOSSES, also="criterion loss_fn objective"
    )
    optimiser: str = setting(
        "adamw",
        "adam has no weight decay, adam-l2 has it inside the gradient, sgd has momentum beta1",
        choices=OPTIMISERS,
        also="optimizer optim opt",
    )
    heads: int = setting(
        4, "attention heads of a layer of a transformer", least=1, most=64, quiet=True, also="n_heads num_heads"
    )
    mlp_width: int | None = setting(
        None,
        "hidden neurons of a layer's MLP in a transformer; four times the width if not given",
        least=1,
        most=16384,
        quiet=True,
        also="d_mlp d_ff expansion",
    )
    bias: bool = setting(
        False, "give an mlp or a transformer biases; they start at 0", quiet=True, also="biases use_bias"
    )
    repeatable: bool = setting(
        False,
        "on a GPU: the same command gives the same bits in every process, at about half the speed (a CPU, and 8 "
        "networks or more side by side, always do)",
        quiet=True,
        also="deterministic reproducible",
    )
    beside: int = setting(
        1,
        "train this many copies side by side, to repeat a row of a sweep or census bit for bit (its column beside)",
        least=1,
        most=64,
        quiet=True,
    )
    room: int | None = setting(
        None,
        "size of the training set that the program has room for (column room of a sweep or census)",
        least=1,
        most=1 << 17,
        quiet=True,
    )


def declared() -> dict[str, Setting]:
    hints = get_type_hints(Settings)
    found = {}
    for each in fields(Settings):
        (kind,) = [part for part in get_args(hints[each.name]) if part is not NoneType] or [hints[each.name]]
        found[each.name] = Setting(name=each.name, kind=kind, **each.metadata)
    return found


SETTINGS = declared()
"""Every setting by its name."""
TRACED = tuple(name for name, each in SETTINGS.items() if each.traced)
"""Those that vary within one compilation; the share of the table does so as well, as a number of rows."""
REGISTRIES: dict[str, Registry[Any]] = {
    name: each.choices for name, each in SETTINGS.items() if isinstance(each.choices, Registry)
}
"""Settings that take an object in place of a word."""
ELSEWHERE = {
    "batch_size": "every step uses the whole training set; fraction sets its size",
    **dict.fromkeys(("modulus", "p", "prime"), "the modulus is mod"),
    **dict.fromkeys(("device", "dtype"), "JAX chooses the device (JAX_PLATFORMS), and trains in float32"),
    "verbose": "live shows how far a training is",
}
"""Words that others use and that are no setting here."""


def check_names(given: Iterable[str], what: str, known: Collection[str] = SETTINGS) -> None:
    """An `InputError` for the first word that is no setting, with the one that is meant."""
    for name in given:
        if name not in known:
            raise InputError(f"{what} has no setting {str(name)[:40]}; {remedy(str(name), known)}")


def remedy(name: str, known: Collection[str] = SETTINGS) -> str:
    """What somebody means by a word that is no setting.

    >>> remedy("lr"), remedy("optimzer")
    ('did you mean learning_rate?', 'did you mean optimiser?')
    """
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    meant = called(name, known)
    return f"did you mean {meant[0]}?" if meant else f"there are {', '.join(sorted(known))}"


def called(name: str, known: Collection[str] = SETTINGS) -> list[str]:
    """The setting that a word is nearest to, by its name or by what others call it; none where none is near."""
    words = {word: word for word in known}
    words |= {word: each.name for each in SETTINGS.values() for word in each.also.split() if each.name in known}
    return [words[word] for word in get_close_matches(name.lower(), words, 1, 0.75)]


def parameters() -> list[Parameter]:
    """The settings as parameters of a function, for `help` and for whatever completes what people type."""
    found = []
    for name, each in SETTINGS.items():
        takes = f" | {name.capitalize()}" if name in REGISTRIES else ""
        kind = f"{each.kind.__name__}{takes} | None"
        found.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind))
    return found


def described(names: Iterable[str] = SETTINGS) -> str:
    """The settings for a docstring, a line each."""
    return "\n".join(f"    {name}: {SETTINGS[name].full_help}." for name in names)


def checked(values: Mapping[str, Any]) -> None:
    """An `InputError` for the first setting that is not what it can be; None is what suits a model."""
    for name, each in SETTINGS.items():
        if values[name] is not None:
            each.check(values[name])
