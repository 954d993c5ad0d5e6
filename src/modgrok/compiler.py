"""The compiler: expression and modulus -> plan -> weights -> network."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from modgrok.circuit import Circuit, Expert
from modgrok.errors import InputError
from modgrok.experts import AMPLITUDES, random_product, random_sum
from modgrok.expression import Tree, parse, parse_with_modulus, to_text
from modgrok.field import check_modulus
from modgrok.network import Network
from modgrok.plan import Plan, plan_by_terms

DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class PaperSettings:
    """How the paper builds its networks (Section 4 and Table 1)."""

    mul_width: int = 500
    add_width: int = 2000
    beta: float = 100.0
    normalisation: str = "printed"
    seed: int = 0
    dtype: str = "float32"


def read(text: str, mod: int | None) -> tuple[Tree, int]:
    """The tree and the modulus of an expression; the modulus may be given, written at its end, or both."""
    tree, written = parse_with_modulus(text)
    modulus = mod if written is None else written
    if modulus is None:
        raise InputError(f"a modulus is needed for {text!r}; give --mod 97, or end the expression with 'mod 97'")
    parse(text, mod)  # refuses two moduli that differ
    return tree, check_modulus(modulus)


def compile_paper(text: str, mod: int | None = None, settings: PaperSettings | None = None) -> Network:
    """The network of the paper's Section 4, with random phases drawn from the seed."""
    settings = settings or PaperSettings()
    check_paper_settings(settings)
    tree, modulus = read(text, mod)
    plan = plan_by_terms(tree, modulus)
    experts = []
    for k, step in enumerate(plan.steps):
        rng = np.random.default_rng([settings.seed, k])
        if step.kind == "product":
            experts.append(random_product(step, settings.mul_width, rng))
        else:
            experts.append(random_sum(step, settings.add_width, settings.normalisation, rng))
    circuit = assemble(plan, experts, np.full(len(experts), settings.beta)).astype(settings.dtype)
    steps = tuple(plan.describe(step, expert.width) for step, expert in zip(plan.steps, experts))
    return Network(circuit, to_text(tree), modulus, "paper", steps, asdict(settings))


def check_paper_settings(settings: PaperSettings) -> None:
    if settings.normalisation not in AMPLITUDES:
        raise InputError(f"normalisation must be one of {', '.join(AMPLITUDES)}, got {settings.normalisation!r}")
    if settings.dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {settings.dtype!r}")
    if not (np.isfinite(settings.beta) and settings.beta > 0):
        raise InputError(f"beta must be a positive number, got {settings.beta}; the paper uses 100")
    if settings.seed < 0:
        raise InputError(f"the seed must be a non-negative integer, got {settings.seed}; give --seed 0")


def assemble(plan: Plan, experts: list[Expert], betas: np.ndarray) -> Circuit:
    """The experts of a plan, joined by its wires."""
    return Circuit(tuple(experts), betas, tuple(step.inputs for step in plan.steps), len(plan.names))


def compile(text: str, mod: int | None = None, *, method: str = "paper", **settings: Any) -> Network:
    """A network for a polynomial: `compile("n1 n2 + 3", mod=97)`; `settings` are those of the method."""
    if method != "paper":
        raise InputError(f"method must be paper, got {method!r}")
    return compile_paper(text, mod, PaperSettings(**settings))
