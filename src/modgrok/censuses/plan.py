"""A census plan: which tables, at which settings. Read from TOML:

steps = [500, 1000]                 # metrics are recorded at each; the last one ends the training
fill = 0.5                          # optional: see `modgrok.censuses.parts`
shuffle = true                      # optional: what is stopped early has some of everything
[tables]                            # how many tables of each family, or of each template, per modulus
two-monomials = 90
"{a}x^2 y + {b}y^2" = 8
"mine/*.csv" = 4                    # one's own tables, each at its own modulus: the first of these files
"a b in S4" = 1                     # a function in a group or a field; its modulus is the number of elements
[[settings]]                        # every table is trained at every combination
moduli = [24, 43, 97]
widths = [250, 500]
fractions = [0.5]
families = ["two-monomials"]        # optional: only these of the families above
share = 1.0                         # of each family's tables, the first ones
seeds = 1                           # trainings of each table, which differ in split and initial weights
model = "power"                     # or mlp, transformer, with what suits it for all that is not said here
learning_rate = 0.005
weight_decay = 5.0
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from modgrok.algebra.field import check_modulus
from modgrok.base.errors import InputError, check_choice
from modgrok.base.files import read_bytes
from modgrok.censuses.families import check_family, is_own, own_functions
from modgrok.networks.models import trainable
from modgrok.training.config import TrainConfig
from modgrok.training.data import train_count
from modgrok.training.presets import DEFAULTS, preset
from modgrok.training.steps import Shape

LARGEST_CENSUS = 1_000_000
LARGEST_PLAN = 1 << 20
"""Bytes of a TOML file."""
POWER = DEFAULTS["model"]
"""The model of a block that names none: the paper's x² network."""
RATE_OF_THE_MODEL: Any = None
"""A rate that is not given is what suits the model."""


class CensusNetwork(NamedTuple):
    """One training: its number in the plan, its table, and its settings."""

    number: int
    family: str
    table_seed: int
    modulus: int
    width: int
    fraction: float
    seed: int
    learning_rate: float
    weight_decay: float
    model: str = POWER

    @property
    def train_rows(self) -> int:
        return train_count(self.fraction, self.modulus**2)

    @property
    def shape(self) -> Shape:
        config = TrainConfig("n1 + n2", self.modulus, model=self.model, width=self.width)
        return Shape(config.network_model((self.modulus,) * 2), self.train_rows, loss=config.loss)


@dataclass(frozen=True)
class Settings:
    """One block [[settings]] of a plan."""

    moduli: tuple[int, ...]
    widths: tuple[int, ...]
    fractions: tuple[float, ...]
    families: tuple[str, ...] | None = None
    share: float = 1.0
    seeds: int = 1
    learning_rate: float = RATE_OF_THE_MODEL
    weight_decay: float = RATE_OF_THE_MODEL
    model: str = POWER

    def __post_init__(self) -> None:
        check_choice("model", self.model, trainable())
        for name in ("learning_rate", "weight_decay"):
            if getattr(self, name) is RATE_OF_THE_MODEL:
                object.__setattr__(self, name, preset(self.model, DEFAULTS["optimiser"])[name])
        for modulus in self.moduli:
            check_modulus(modulus)
        for width, fraction in product(self.widths, self.fractions):
            rates: dict[str, Any] = {"learning_rate": self.learning_rate, "weight_decay": self.weight_decay}
            TrainConfig("n1", 2, model=self.model, width=width, **rates)
            train_count(fraction, 4)
        if not 0 < self.share <= 1:
            raise InputError(f"share must be above 0 and at most 1, got {self.share}")
        if not 1 <= self.seeds <= LARGEST_CENSUS:
            raise InputError(
                f"seeds is the number of trainings of each table, from 1 to {LARGEST_CENSUS:,}, got {self.seeds}"
            )


@dataclass(frozen=True)
class CensusPlan:
    """A whole plan; `tables` maps a family, a template or a path to its number of tables.

    `digests` are those of the tables in files: what they hold is part of the plan. In a plan with `shuffle` the parts
    have networks of all kinds, and those of one modulus take turns with those of the others.
    """

    steps: tuple[int, ...]
    tables: Mapping[str, int]
    settings: tuple[Settings, ...]
    fill: float = 0.5
    digests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shuffle: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.fill <= 1:
            raise InputError(f"fill must be above 0 and at most 1, got {self.fill}")
        if (
            not self.steps
            or list(self.steps) != sorted(set(self.steps))
            or not 1 <= self.steps[0] <= self.steps[-1] < 2**31
        ):
            raise InputError(f"steps must be rising whole numbers from 1 to 2^31 - 1, got {list(self.steps)}")
        for family, count in self.tables.items():
            check_family(family)
            if not 1 <= count <= LARGEST_CENSUS:
                raise InputError(
                    f"tables.{family} must be from 1 to {LARGEST_CENSUS:,}, got {count}; leave the family out for none"
                )
            if is_own(family):
                self.check_files(family, count)
        for family in (name for s in self.settings for name in s.families or ()):
            if family not in self.tables:
                raise InputError(f"settings ask for {family!r}, which has no number under [tables]; give it one")
        if self.size() > LARGEST_CENSUS:
            raise InputError(f"a census may have at most {LARGEST_CENSUS:,} networks, this plan has {self.size():,}")
        if self.size() != len({network[1:] for network in self.networks()}):
            raise InputError("two blocks of settings ask for the same networks; merge them")

    def check_files(self, family: str, count: int) -> None:
        """Own tables must be there, at moduli of the plan; their digests become part of it."""
        functions = own_functions(family)
        if count > len(functions):
            raise InputError(f"tables.{family} asks for {count} tables, there are {len(functions)} such files")
        for function in functions[:count]:
            if not any(function.modulus in s.moduli for s in self.settings):
                raise InputError(f"{function.title}: no block of settings has the modulus {function.modulus}")
        if family not in self.digests:
            known = {family: tuple(function.digest for function in functions[:count])}
            object.__setattr__(self, "digests", {**self.digests, **known})

    def size(self) -> int:
        return sum(
            len(s.widths) * len(s.fractions) * s.seeds * len(members(family, count, modulus))
            for s in self.settings
            for modulus in s.moduli
            for family, count in self.shared(s).items()
        )

    def shared(self, settings: Settings) -> dict[str, int]:
        """How many tables of each family a block of settings trains."""
        chosen = self.tables if settings.families is None else settings.families
        return {family: ceil(settings.share * count) for family, count in self.tables.items() if family in chosen}

    def networks(self) -> Iterator[CensusNetwork]:
        """Every training in order: networks of one shape follow each other."""
        number = 0
        for s in self.settings:
            for modulus, width, fraction in product(s.moduli, s.widths, s.fractions):
                for family, count in self.shared(s).items():
                    for table_seed, k in product(members(family, count, modulus), range(s.seeds)):
                        word = np.random.SeedSequence([table_seed, k]).generate_state(1)[0]
                        seed = int(word >> 1)  # tables of one family train on different splits
                        rates = s.learning_rate, s.weight_decay
                        about = number, family, table_seed, modulus, width, fraction, seed
                        yield CensusNetwork(*about, *rates, s.model)
                        number += 1

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data; `plan_from` reads it back."""
        own: dict[str, Any] = {"digests": self.digests} if self.digests else {}
        own |= {"shuffle": True} if self.shuffle else {}
        settings = [dataclasses.asdict(s) for s in self.settings]
        for each in settings:
            if each["model"] == POWER:
                del each["model"]
        return {"steps": self.steps, "tables": self.tables, "settings": settings, "fill": self.fill, **own}


def members(family: str, count: int, modulus: int) -> Sequence[int]:
    """The seeds of a family's first tables at a modulus; own tables have one modulus each."""
    if not is_own(family):
        return range(count)
    return [k for k, function in enumerate(own_functions(family)[:count]) if function.modulus == modulus]


def load_plan(path: Path) -> CensusPlan:
    """The plan in a TOML file; an `InputError` that says what is wrong with it otherwise."""
    try:
        content = tomllib.loads(read_bytes(path, LARGEST_PLAN).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{path} is no plan: its values are nested too deeply; a plan has two levels") from None
    try:
        return plan_from(content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def plan_from(content: object) -> CensusPlan:
    """A plan from the plain data of a TOML or JSON file."""
    if not isinstance(content, Mapping):
        raise InputError(f"a plan is a table of keys, got {type(content).__name__}")
    kinds = {"steps": list | int, "tables": dict, "settings": list}
    check_keys("a plan", content, kinds, optional=("fill", "digests", "shuffle"))
    steps = content["steps"]
    tables = {name: checked(f"tables.{name}", count, int) for name, count in content["tables"].items()}
    blocks = [checked("settings", block, dict) for block in content["settings"]]
    if not tables or not blocks:
        raise InputError("a plan needs at least one family under [tables] and one block [[settings]]")
    return CensusPlan(
        tuple(checked("steps", step, int) for step in (steps if isinstance(steps, list) else [steps])),
        tables,
        tuple(settings_from(block) for block in blocks),
        checked("fill", content.get("fill", 0.5), float),
        digests_from(content.get("digests", {})),
        checked("shuffle", content.get("shuffle", False), bool),
    )


def digests_from(content: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(content, Mapping) or not all(isinstance(found, list) for found in content.values()):
        raise InputError(f"digests must be lists of digests by family, got {content!r}")
    return {family: tuple(checked("digests", each, str) for each in found) for family, found in content.items()}


LISTS = {"moduli": int, "widths": int, "fractions": float}
OPTIONAL_LISTS = {"families": str}
SINGLE = {"share": float, "seeds": int, "learning_rate": float, "weight_decay": float, "model": str}


def settings_from(block: Mapping[str, Any]) -> Settings:
    given = {name: kind for name, kind in OPTIONAL_LISTS.items() if block.get(name) is not None}
    kinds = LISTS | given
    check_keys("settings", block, dict.fromkeys(kinds, list), optional=(*OPTIONAL_LISTS, *SINGLE))
    lists: dict[str, Any] = {
        name: tuple(checked(name, value, kind) for value in block[name]) for name, kind in kinds.items()
    }
    for name, values in lists.items():
        if not values:
            raise InputError(f"settings.{name} is empty; give at least one, or leave the block out")
    single = {name: checked(name, block[name], kind) for name, kind in SINGLE.items() if name in block}
    return Settings(**lists, **single)


def check_keys(
    what: str, content: Mapping[str, Any], kinds: Mapping[str, Any], *, optional: tuple[str, ...] = ()
) -> None:
    """An `InputError` where a key is missing, unknown or of the wrong kind."""
    known = (*kinds, *optional)
    for key in content:
        if key not in known:
            raise InputError(f"unknown key {key!r} in {what}; there are {', '.join(known)}")
    for key, kind in kinds.items():
        if key not in content:
            raise InputError(f"{what} needs the key {key!r}; there are {', '.join(known)}")
        if not isinstance(content[key], kind) or isinstance(content[key], bool):
            raise InputError(f"{key!r} in {what} has the wrong kind of value: {content[key]!r}")


def checked(name: str, value: Any, kind: type) -> Any:
    """`value` as `kind`, if it is one; a whole number stands for a decimal one."""
    if isinstance(value, int) and not isinstance(value, bool) and kind is float:
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        words = {int: "whole numbers", float: "numbers", bool: "true or false", dict: "blocks [[settings]]"}
        raise InputError(f"{name} takes {words.get(kind, 'names in quotes')}, got {value!r}")
    return value
