"""The compiler: expression and modulus -> plan -> weights -> network, in two methods.

`exact` designs the phases: any polynomial with no error, as narrow as the planner can make it, with a
certificate. `paper` is the network of the paper's Section 4: random phases, right by averaging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from modgrok.algebra.expression import read, to_text
from modgrok.algebra.function import Function, FunctionLike, is_expression, read_function
from modgrok.compiler.certificate import Certificate, certify
from modgrok.compiler.choosing import best_plan, best_table_plan, choose_kernel
from modgrok.compiler.exact_weights import Kernel, exact_expert
from modgrok.compiler.plan import plan_by_terms
from modgrok.compiler.random_weights import AMPLITUDES, random_product, random_sum
from modgrok.compiler.steps import Plan
from modgrok.errors import InputError
from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.network import Network

DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class ExactSettings:
    """`frequencies` is "all" (exact one-hot), "minimal" (fewest neurons that are right), or a number."""

    frequencies: str | int = "all"
    dtype: str = "float64"


@dataclass(frozen=True)
class PaperSettings:
    """How the paper builds its networks (Section 4 and Table 1)."""

    mul_width: int = 500
    add_width: int = 2000
    beta: float = 100.0
    normalisation: str = "printed"
    seed: int = 0
    dtype: str = "float32"


METHODS = {"exact": ExactSettings, "paper": PaperSettings}


def compile(
    function: FunctionLike,
    mod: int | None = None,
    *,
    method: str = "exact",
    frequencies: str | int | None = None,
    dtype: str | None = None,
    mul_width: int | None = None,
    add_width: int | None = None,
    beta: float | None = None,
    normalisation: str | None = None,
    seed: int | None = None,
) -> Network:
    """A network with closed-form weights for a polynomial, or for a table that is h(g1 + g2) in disguise.

    Args:
        function: a polynomial such as "2n1^4 n2 + n1^2 n2^2", which may end with its modulus; or a table: an
            array, the path of a .csv, .npy or .parquet file, or a Python function.
        mod: the modulus, any number of at least 2; of a table, how many values it has.
        method: "exact" designs the phases, has no error and a certificate; "paper" draws them at random, as published.
        frequencies: of exact: "all" (exact one-hot outputs, the default), "minimal" (fewest neurons that are right
            everywhere), or a number.
        dtype: "float32" or "float64"; by default float64 for exact and float32 for paper.
        mul_width, add_width: of paper: neurons of a product (500) and of a sum (2000).
        beta: of paper: inverse temperature between experts (100).
        normalisation: of paper: amplitudes of sums as "printed" (default), or as its "table" 1 was made.
        seed: of paper: of the random phases (0).

    Returns:
        The network; `verify` checks it against integers, `network.certificate` is its proof.

    >>> compile("n1 n2 + 3", mod=7, frequencies="minimal")
    <Network: n1 n2 + 3 mod 7, exact circuit, 6 neurons>
    >>> compile(lambda a, b: (a + 2 * b) ** 2, mod=7).summary()
    'function 1d9846 (7 × 7 → 7), exact circuit, 13 neurons'
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    given: dict[str, Any] = {
        name: value
        for name, value in (
            ("frequencies", frequencies),
            ("dtype", dtype),
            ("mul_width", mul_width),
            ("add_width", add_width),
            ("beta", beta),
            ("normalisation", normalisation),
            ("seed", seed),
        )
        if value is not None
    }
    known = {name: [field.name for field in fields(settings)] for name, settings in METHODS.items()}
    if unknown := [name for name in given if name not in known[method]]:
        other = next(name for name in known if unknown[0] in known[name])
        raise InputError(
            f"{unknown[0]} belongs to method {other}, but the method is {method}; its settings are "
            f"{', '.join(known[method])}"
        )
    if is_expression(function):
        if method == "paper":
            return compile_paper(function, mod, PaperSettings(**given))
        return compile_exact(function, mod, ExactSettings(**given))
    if method == "paper":
        raise InputError("the paper's method takes a polynomial, got a table; method exact takes tables too")
    found = read_function(function, mod)
    if found.expression is not None:
        return compile_exact(found.expression, found.values, ExactSettings(**given))
    return compile_table(found, ExactSettings(**given))


def assemble(plan: Plan, experts: Sequence[Expert], betas: np.ndarray) -> Circuit:
    """The experts of a plan, joined by its wires."""
    return Circuit(tuple(experts), betas, tuple(step.inputs for step in plan.steps), len(plan.names))


def finish(
    plan: Plan,
    experts: Sequence[Expert],
    betas: np.ndarray,
    text: str,
    modulus: int,
    method: str,
    settings: Any,
    function: Function | None = None,
) -> Network:
    """The network of a plan, its weights rounded once to the dtype of the settings."""
    circuit = assemble(plan, experts, betas).astype(settings.dtype)
    steps = tuple(plan.describe(step, expert.width) for step, expert in zip(plan.steps, experts, strict=True))
    return Network.of_circuit(circuit, text, modulus, method, function=function, plan=steps, settings=asdict(settings))


# --------------------------------------------------------------------------------------------- exact


def compile_exact(text: str, mod: int | None = None, settings: ExactSettings | None = None) -> Network:
    """The narrowest network the planner finds, proved right in the dtype of its weights.

    Where the proof fails in float32, more frequencies are used, and then float64.
    """
    settings = settings or ExactSettings()
    check_exact_settings(settings)
    tree, modulus = read(text, mod)
    plan, kernels = best_plan(tree, modulus, settings.frequencies)
    return proved(plan, kernels, to_text(tree), modulus, settings)


def compile_table(function: Function, settings: ExactSettings | None = None) -> Network:
    """One expert for a function that is known by its table alone, where the decision finds a witness; proved."""
    settings = settings or ExactSettings()
    check_exact_settings(settings)
    plan, kernels = best_table_plan(function, settings.frequencies)
    return proved(plan, kernels, function.name, function.values, settings, function)


def proved(
    plan: Plan,
    kernels: list[Kernel],
    text: str,
    modulus: int,
    settings: ExactSettings,
    function: Function | None = None,
) -> Network:
    """The network of a plan with its certificate."""
    kernels, experts, certificate, notes = prove(plan, kernels, settings.dtype)
    chosen = replace(settings, dtype=certificate.dtype)
    betas = np.array([expert.beta for expert in certificate.experts])
    network = finish(plan, experts, betas, text, modulus, "exact", chosen, function)
    steps = tuple(
        replace(about, frequencies=tuple(kernel.frequencies.tolist()), margin=proof.margin, beta=proof.beta)
        for about, kernel, proof in zip(network.plan, kernels, certificate.experts, strict=True)
    )
    return replace(network, plan=steps, certificate=certificate, notes=tuple(notes))


def check_exact_settings(settings: ExactSettings) -> None:
    check_dtype(settings.dtype)
    frequencies = settings.frequencies
    if not (frequencies in ("all", "minimal") or (isinstance(frequencies, int) and frequencies >= 1)):
        raise InputError(f"frequencies must be all, minimal or a number of at least 1, got {frequencies!r}")


def check_dtype(dtype: str) -> None:
    if dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")


def prove(plan: Plan, kernels: list[Kernel], dtype: str) -> tuple[list[Kernel], list[Expert], Certificate, list[str]]:
    """Kernels, experts and certificate; more frequencies and then float64 where the proof fails."""
    notes: list[str] = []
    while True:
        experts = [exact_expert(step, kernel) for step, kernel in zip(plan.steps, kernels, strict=True)]
        certificate = certify(plan, kernels, experts, dtype)
        if certificate.holds:
            return kernels, experts, certificate, notes
        weakest = next(k for k, expert in enumerate(certificate.experts) if not expert.holds)
        if not kernels[weakest].exact:
            count = 2 * len(kernels[weakest].frequencies)
            notes.append(f"{dtype} is not proved with fewer than {count} frequencies in expert {weakest + 1}")
            kernels = [
                choose_kernel(step, count) if k == weakest else kernel
                for k, (step, kernel) in enumerate(zip(plan.steps, kernels, strict=True))
            ]
        elif dtype != "float64":
            notes.append(f"{dtype} is not proved with all frequencies; float64 is used")
            dtype = "float64"
        else:
            return kernels, experts, certificate, [*notes, "no proof in float64: rounding may exceed the margin"]


# --------------------------------------------------------------------------------------------- paper


def compile_paper(text: str, mod: int | None = None, settings: PaperSettings | None = None) -> Network:
    """The network of the paper's Section 4, with random phases drawn from the seed."""
    settings = settings or PaperSettings()
    check_paper_settings(settings)
    tree, modulus = read(text, mod)
    plan = plan_by_terms(tree, modulus, flat=True)
    experts = []
    for k, step in enumerate(plan.steps):
        rng = np.random.default_rng([settings.seed, k])
        if step.kind == "product":
            experts.append(random_product(step, settings.mul_width, rng))
        else:
            experts.append(random_sum(step, settings.add_width, settings.normalisation, rng))
    betas = np.full(len(experts), float(settings.beta))
    return finish(plan, experts, betas, to_text(tree), modulus, "paper", settings)


def check_paper_settings(settings: PaperSettings) -> None:
    check_dtype(settings.dtype)
    if settings.normalisation not in AMPLITUDES:
        raise InputError(f"normalisation must be one of {', '.join(AMPLITUDES)}, got {settings.normalisation!r}")
    if not (np.isfinite(settings.beta) and settings.beta > 0):
        raise InputError(f"beta must be a positive number, got {settings.beta}; the paper uses 100")
    if settings.seed < 0:
        raise InputError(f"the seed must be a non-negative integer, got {settings.seed}; give seed=0 (--seed 0)")
