"""The compiler: expression and modulus -> plan -> weights -> network, in two methods.

`exact` designs the phases: any polynomial with no error, as narrow as the planner can make it. `paper` is the
network of the paper's Section 4: random phases, right by averaging. What is given out has gone through the kernel:
it proves from the weights and from the text as typed on which rows the network is right, and no exact network
leaves that it finds wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from modgrok.algebra.field import exp_table
from modgrok.algebra.fields import Field
from modgrok.algebra.function import Function, FunctionLike, read_function
from modgrok.algebra.groups import GroupLike
from modgrok.algebra.known_tasks import task_text
from modgrok.algebra.trees import Tree
from modgrok.base.errors import FaultError, InputError, check_choice
from modgrok.compiler.choosing import best_plan, best_table_plan, choose_kernel
from modgrok.compiler.codes import CodeKernel
from modgrok.compiler.exact_weights import AnyKernel, exact_expert
from modgrok.compiler.margins import ExpertMargin, expert_margins
from modgrok.compiler.plan import plan_by_terms
from modgrok.compiler.random_weights import AMPLITUDES, random_product, random_sum
from modgrok.compiler.steps import Plan
from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.network import Network
from modgrok.networks.proving import kernel_circuit, proved, stands
from modgrok.proofs.networks import needs_claims
from modgrok.proofs.waves import Claim

DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class ExactSettings:
    """`frequencies` is "all" (exact one-hot), "minimal" (fewest neurons that are right), or a number; None for what is
    usual: all of them but in groups that are not cyclic and in tables that are looked up."""

    frequencies: str | int | None = "all"
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
    group: GroupLike | None = None,
    field: int | Field | None = None,
    method: str = "exact",
    frequencies: str | int | None = None,
    dtype: str | None = None,
    mul_width: int | None = None,
    add_width: int | None = None,
    beta: float | None = None,
    normalisation: str | None = None,
    seed: int | None = None,
) -> Network:
    """A network with closed-form weights for a polynomial, a word in a group, an expression over a field, or a table.

    Args:
        function: a polynomial such as "2n1^4 n2 + n1^2 n2^2", which may end with its modulus; or a table: an
            array, the path of a .csv, .npy or .parquet file, or a Python function.
        mod: the modulus, any number of at least 2; of a table, how many values it has.
        group: the finite group of a word such as "a b a^-1": "S5", say, or an `mg.group`.
        field: the number of elements of the finite field of an expression: 81, say.
        method: "exact" designs the phases, has no error and is proved; "paper" draws them at random, as published.
        frequencies: of exact: "all" (exact one-hot outputs), "minimal" (fewest neurons that are right everywhere), or a
            number; in groups that is how many numbers a code has. By default all, but minimal in groups that are not
            cyclic, in fields that are not prime, and for tables that are looked up.
        dtype: "float32" or "float64"; by default float64 for exact and float32 for paper.
        mul_width, add_width: of paper: neurons of a product (500) and of a sum (2000).
        beta: of paper: inverse temperature between experts (100).
        normalisation: of paper: amplitudes of sums as "printed" (default), or as its "table" 1 was made.
        seed: of paper: of the random phases (0).

    Returns:
        The network; `network.proof` is what the kernel proved of it, `verify` checks it against integers.

    >>> compile("n1 n2 + 3", mod=7, frequencies="minimal")
    <Network: n1 n2 + 3 mod 7, exact circuit, 6 neurons>
    >>> compile("a b", group="S5")
    <Network: a b in S5, exact circuit, 5 neurons>
    >>> compile(lambda a, b: (a + 2 * b) ** 2, mod=7).summary()
    'function 1d9846 (7 × 7 → 7), exact circuit, 13 neurons'
    """
    check_choice("method", method, METHODS)
    told: dict[str, Any] = {"frequencies": frequencies, "dtype": dtype, "mul_width": mul_width, "add_width": add_width}
    told |= {"beta": beta, "normalisation": normalisation, "seed": seed}
    given = {name: value for name, value in told.items() if value is not None}
    known = {name: [field.name for field in fields(settings)] for name, settings in METHODS.items()}
    if unknown := [name for name in given if name not in known[method]]:
        other = next(name for name in known if unknown[0] in known[name])
        raise InputError(
            f"{unknown[0]} belongs to method {other}, but the method is {method}; its settings are "
            f"{', '.join(known[method])}"
        )
    found = read_function(function, mod, group=group, field=field)
    if method == "exact":
        if found.tree is None:
            typed = (function,) if found.written is not None and isinstance(function, str) else ()
            texts = (task_text(text, found.structure) for text in typed)
            return compile_table(found, ExactSettings(**{"frequencies": None, **given}), *texts)
        return compile_exact(found, mod, ExactSettings(**given))
    if found.tree is None:
        raise InputError("the paper's method takes a polynomial, got a table; method exact takes tables too")
    return compile_paper(found, mod, PaperSettings(**given))


def assemble(plan: Plan, experts: Sequence[Expert], betas: np.ndarray) -> Circuit:
    """The experts of a plan, joined by its wires."""
    return Circuit(tuple(experts), betas, tuple(step.inputs for step in plan.steps), len(plan.names))


def finish(
    plan: Plan,
    experts: Sequence[Expert],
    betas: np.ndarray,
    function: Function,
    method: str,
    settings: ExactSettings | PaperSettings,
) -> Network:
    """The network of a plan, its weights rounded once to the dtype of the settings; it has the canonical spelling."""
    circuit = assemble(plan, experts, betas).astype(settings.dtype)
    steps = tuple(plan.describe(step, expert.width) for step, expert in zip(plan.steps, experts, strict=True))
    function = replace(function, source=function.name)
    return Network.of_circuit(circuit, function, method, plan=steps, settings=asdict(settings))


# --------------------------------------------------------------------------------------------- exact


def compile_exact(expression: str | Function, mod: int | None = None, settings: ExactSettings | None = None) -> Network:
    """The narrowest network the planner finds, proved right in the dtype of its weights.

    Where float32 is not precise enough, more frequencies are used, and then float64.
    """
    settings = settings or ExactSettings()
    check_exact_settings(settings)
    function, tree = read_expression(expression, mod)
    plan, kernels = best_plan(tree, function.values, settings.frequencies or "all")
    return given_out(exact_network(plan, kernels, function, settings), function.source, modulus=mod)


def read_expression(expression: str | Function, mod: int | None) -> tuple[Function, Tree]:
    """A function that is written down, and its tree."""
    function = expression if isinstance(expression, Function) else read_function(expression, mod)
    if function.tree is None:
        raise InputError(f"a polynomial is needed here, got {function.summary()}")
    return function, function.tree


def compile_table(function: Function, settings: ExactSettings, *texts: str) -> Network:
    """A word in a group, an expression over a field, or a function that is known by its table alone; proved.

    A table has one expert, by the witness that the decision finds; where it finds none, the table is looked up, and the
    method says so. `texts` are what was typed, for the kernel.
    """
    check_exact_settings(settings)
    plan, kernels = best_table_plan(function, settings.frequencies)
    if settings.frequencies is None:
        settings = replace(settings, frequencies="all" if all(kernel.exact for kernel in kernels) else "minimal")
    network = exact_network(plan, kernels, function, settings)
    if any(step.kind == "lookup" for step in plan.steps):
        note = f"the table is looked up: nothing narrower is known for its {function.cells:,} cells"
        network = replace(network, method="lookup", notes=(*network.notes, note))
    return given_out(network, *texts)


def exact_network(plan: Plan, kernels: list[AnyKernel], function: Function, settings: ExactSettings) -> Network:
    """The network of a plan, with margins that rounding should not use up; nothing is proved of it yet."""
    kernels, experts, margins, dtype, notes = enough_margin(plan, kernels, settings.dtype)
    betas = np.array([expert.beta for expert in margins])
    network = finish(plan, experts, betas, function, "exact", replace(settings, dtype=dtype))
    steps = tuple(
        replace(about, frequencies=tuple(kernel.frequencies.tolist()), margin=expert.margin, beta=expert.beta)
        for about, kernel, expert in zip(network.plan, kernels, margins, strict=True)
    )
    waves = not any(isinstance(kernel, CodeKernel) for kernel in kernels)
    claims = claims_of(plan, kernels) if waves and needs_claims(kernel_circuit(network)) else ()
    return replace(network, plan=steps, notes=tuple(notes), claims=claims)


def claims_of(plan: Plan, kernels: Sequence[AnyKernel]) -> tuple[Claim, ...]:
    """What every step is said to compute: hints for the kernel, which believes none of it."""
    return tuple(
        Claim(
            step.order,
            step.tables,
            step.outputs,
            step.absorbed,
            tuple(kernel.frequencies.tolist()),
            step.rule,
            step.forms,
            step.result,
            int(exp_table(step.order + 1)[1 % step.order]) if step.rule == "product" else 1,
        )
        for step, kernel in zip(plan.steps, kernels, strict=True)
    )


def given_out(network: Network, *texts: str, modulus: int | None = None) -> Network:
    """The network with its proof; a `FaultError` instead of one that is wrong.

    `texts` and `modulus` are what was typed, which the kernel reads by itself. Where it has no proof, some rows are
    tried at least, as the kernel reads them: what the parser made of the text has no say.
    """
    found = proved(network, *texts, modulus=modulus)
    if found.proof.holds if found.proof else stands(found, *texts, modulus=modulus):
        return found
    raise FaultError(
        f"the network that was made for {network.title} does not stand the kernel's test, so it is not given out: "
        f"{found.proof_text}. This is a fault of modgrok; please report it with the command that you gave"
    )


def check_exact_settings(settings: ExactSettings) -> None:
    check_choice("dtype", settings.dtype, DTYPES)
    frequencies = settings.frequencies
    if not (frequencies in (None, "all", "minimal") or (isinstance(frequencies, int) and frequencies >= 1)):
        raise InputError(f"frequencies must be all, minimal or a number of at least 1, got {frequencies!r}")


def enough_margin(
    plan: Plan, kernels: list[AnyKernel], dtype: str
) -> tuple[list[AnyKernel], list[Expert], list[ExpertMargin], str, list[str]]:
    """Kernels, experts, margins and dtype; more frequencies and then float64 where rounding could use a margin up."""
    notes: list[str] = []
    while True:
        experts = [exact_expert(step, kernel) for step, kernel in zip(plan.steps, kernels, strict=True)]
        margins = expert_margins(plan, kernels, experts, dtype)
        weakest = next((k for k, expert in enumerate(margins) if not expert.enough), None)
        if weakest is None:
            return kernels, experts, margins, dtype, notes
        if not kernels[weakest].exact:
            count = 2 * kernels[weakest].count
            notes.append(f"{dtype} is not enough with fewer than {count} frequencies in expert {weakest + 1}")
            kernels = [
                choose_kernel(step, count) if k == weakest else kernel
                for k, (step, kernel) in enumerate(zip(plan.steps, kernels, strict=True))
            ]
        elif dtype != "float64":
            notes.append(f"{dtype} is not enough with all frequencies; float64 is used")
            dtype = "float64"
        else:
            raise InputError(
                f"no weights in float64 are precise enough for expert {weakest + 1}, "
                f"with {plan.steps[weakest].classes:,} classes; use a smaller modulus"
            )


# --------------------------------------------------------------------------------------------- paper


def compile_paper(expression: str | Function, mod: int | None = None, settings: PaperSettings | None = None) -> Network:
    """The network of the paper's Section 4, with random phases drawn from the seed, and the proof of its answers."""
    network = random_network(expression, mod, settings or PaperSettings())
    return proved(network, network.function.source, modulus=mod)


def random_network(expression: str | Function, mod: int | None, settings: PaperSettings) -> Network:
    """The same network without a proof, which takes far longer than a look at some thousand of many rows."""
    check_paper_settings(settings)
    function, tree = read_expression(expression, mod)
    plan = plan_by_terms(tree, function.values, flat=True)
    experts = []
    for k, step in enumerate(plan.steps):
        rng = np.random.default_rng([settings.seed, k])
        if step.kind == "product":
            experts.append(random_product(step, settings.mul_width, rng))
        else:
            experts.append(random_sum(step, settings.add_width, settings.normalisation, rng))
    betas = np.full(len(experts), float(settings.beta))
    return finish(plan, experts, betas, function, "paper", settings)


def check_paper_settings(settings: PaperSettings) -> None:
    check_choice("dtype", settings.dtype, DTYPES)
    check_choice("normalisation", settings.normalisation, AMPLITUDES)
    if not (np.isfinite(settings.beta) and settings.beta > 0):
        raise InputError(f"beta must be a positive number, got {settings.beta}; the paper uses 100")
    if settings.seed < 0:
        raise InputError(f"the seed must be a non-negative integer, got {settings.seed}; give seed=0 (--seed 0)")
