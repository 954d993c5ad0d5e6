"""Margins of chains of experts: what they promise holds on every row, expert by expert, and not with a small β."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modgrok.algebra.expression import parse
from modgrok.compiler.choosing import best_plan
from modgrok.compiler.compiling import assemble, enough_margin
from modgrok.compiler.exact_weights import Kernel
from modgrok.compiler.margins import ExpertMargin, expert_margins
from modgrok.compiler.steps import ABSORBED, Plan, Step
from modgrok.networks.circuit import Circuit, Expert, batch_logits, expert_logits


@dataclass(frozen=True)
class Chain:
    """A polynomial, its meaning on Python integers, and how many experts stand on the longest way to its output."""

    text: str
    modulus: int
    value: Callable[..., int]
    depth: int


CHAINS = (
    Chain("2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", 23, lambda x, y: 2 * x**4 * y + x**2 * y**2 + 3 * x * y**3, 3),
    Chain("((n1 n2 + n3)^2 + n1) n2 + n3", 7, lambda x, y, z: ((x * y + z) ** 2 + x) * y + z, 5),
    Chain("(n1 n2 + n3)(n1 + n2^2 + 4)", 11, lambda x, y, z: (x * y + z) * (x + y**2 + 4), 3),
    Chain("n1 + n2^3 + 5n3 + n4", 6, lambda a, b, c, d: a + b**3 + 5 * c + d, 2),
    Chain("(n1 n2 + 1) n2 + 3n1", 8, lambda x, y: (x * y + 1) * y + 3 * x, 3),  # wires of 16 symbols
    Chain("n1 n2 + n1^2 + n2", 6, lambda x, y: x * y + x**2 + y, 3),  # and of 2 and 3
)

every_chain = pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: f"{chain.text} mod {chain.modulus}")
every_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
every_kernel = pytest.mark.parametrize("frequencies", ["all", "minimal"])


@dataclass(frozen=True)
class Planned:
    plan: Plan
    kernels: list[Kernel]
    experts: list[Expert]
    margins: list[ExpertMargin]
    dtype: str
    circuit: Circuit

    def with_betas(self, share: float) -> tuple[Circuit, list[ExpertMargin]]:
        """The circuit with this share of every β, and the margins recomputed for it."""
        betas = [share * expert.beta for expert in self.margins]
        circuit = replace(self.circuit, betas=np.array(betas, self.circuit.dtype))
        return circuit, expert_margins(self.plan, self.kernels, self.experts, self.dtype, betas)


@lru_cache
def planned(chain: Chain, frequencies: str, dtype: str) -> Planned:
    plan, kernels = best_plan(parse(chain.text), chain.modulus, frequencies)
    kernels, experts, margins, chosen, notes = enough_margin(plan, kernels, dtype)
    assert chosen == dtype and not notes
    circuit = assemble(plan, experts, np.array([expert.beta for expert in margins])).astype(dtype)
    return Planned(plan, kernels, experts, margins, dtype, circuit)


def all_rows(chain: Chain) -> np.ndarray:
    variables = chain.value.__code__.co_argcount
    return np.stack(np.unravel_index(np.arange(chain.modulus**variables), (chain.modulus,) * variables), axis=1)


def step_values(plan: Plan, rows: np.ndarray) -> list[np.ndarray]:
    """What every step of a plan must answer on every row, on integers."""
    signals = list(rows.T)
    for step in plan.steps:
        places = np.stack([table[signals[w]] for table, w in zip(step.tables, step.inputs, strict=True)])
        answers = step.outputs[places.sum(axis=0) % step.order]
        signals.append(np.where((places == ABSORBED).any(axis=0), step.absorbed or 0, answers))
    return signals[rows.shape[1] :]


def ideal_logits(
    step: Step, kernel: Kernel, expert: Expert, inputs: list[np.ndarray], values: np.ndarray
) -> np.ndarray:
    """In real arithmetic: with all frequencies the one-hot of the answer, otherwise in extended precision."""
    if kernel.exact:
        return np.eye(step.classes)[values]
    embed, readout = expert.embed.astype(np.longdouble), expert.readout.astype(np.longdouble)
    hidden = sum(embed[s, residues] for s, residues in enumerate(inputs))
    return hidden**expert.power @ readout


@jax.jit
def every_logit(circuit: Circuit, rows: jax.Array) -> tuple[list[jax.Array], list[jax.Array]]:
    """The logits of every expert and the softmax through which it is read, in the precision of the weights."""
    signals, logits = list(rows.T), []
    with jax.default_matmul_precision("highest"):
        for expert, wires, beta in zip(circuit.experts, circuit.wires, circuit.betas, strict=True):
            logits.append(jax.vmap(lambda *x, e=expert: expert_logits(e, x))(*(signals[w] for w in wires)))
            signals.append(jax.nn.softmax(beta * logits[-1]))
    return logits, signals[rows.shape[1] :]


@dataclass(frozen=True)
class Measured:
    """The largest error of a logit, the largest mass on wrong classes, and what the right class lacks of 1."""

    error: float
    wrong_mass: float
    right_lacks: float


def measure(chain: Chain, found: Planned, circuit: Circuit) -> list[Measured]:
    """Each expert of a circuit on every row, against real arithmetic."""
    rows = all_rows(chain)
    values = step_values(found.plan, rows)
    with jax.enable_x64(circuit.dtype == np.float64):
        outputs, masses = jax.tree.map(np.asarray, every_logit(circuit, jnp.asarray(rows)))
        final = np.asarray(batch_logits(circuit, jnp.asarray(rows)))
    signals, measured = [*rows.T, *values], []
    for k, (step, kernel, expert) in enumerate(zip(found.plan.steps, found.kernels, found.experts, strict=True)):
        ideal = ideal_logits(step, kernel, expert, [signals[w] for w in step.inputs], values[k])
        error = np.abs(outputs[k] - ideal).max()
        if k + 1 == len(found.experts):
            error = max(error, np.abs(final - ideal).max())
        right = np.eye(step.classes, dtype=bool)[values[k]]
        mass = masses[k].astype(np.float64)
        wrong, lacking = np.where(right, 0, mass).sum(axis=1), np.abs(1 - mass[right])
        measured.append(Measured(float(error), float(wrong.max()), float(lacking.max())))
    return measured


def depth(plan: Plan) -> int:
    """Experts on the longest way from a variable to the output."""
    depths = [0] * len(plan.names)
    for step in plan.steps:
        depths.append(1 + max(depths[w] for w in step.inputs))
    return depths[-1]


@every_chain
def test_the_chains_are_chains_whose_steps_compute_the_polynomial(chain):
    plan = planned(chain, "all", "float64").plan
    assert depth(plan) == chain.depth
    rows = all_rows(chain)
    assert step_values(plan, rows)[-1].tolist() == [chain.value(*map(int, row)) % chain.modulus for row in rows]


@every_chain
@every_kernel
@every_dtype
def test_every_expert_errs_less_than_its_bound_and_leaks_less_than_it_says(chain, frequencies, dtype):
    found = planned(chain, frequencies, dtype)
    for real, promised in zip(measure(chain, found, found.circuit), found.margins, strict=True):
        assert real.error < promised.bound < promised.margin / 2
        assert max(real.wrong_mass, real.right_lacks) < promised.leak


@every_chain
@every_dtype
@pytest.mark.parametrize("share", [0.6, 0.4])
def test_margins_recomputed_for_another_beta_are_about_the_network_that_has_it(chain, dtype, share):
    """Here the leak is far above rounding: the bounds are about mass on wrong classes, and still hold."""
    found = planned(chain, "all", dtype)
    circuit, margins = found.with_betas(share)
    leaks = [expert.leak for expert in margins[:-1]]
    assert min(leaks) > 10 * max(expert.leak for expert in found.margins[:-1])
    for real, promised in zip(measure(chain, found, circuit), margins, strict=True):
        assert real.error < promised.bound
        assert max(real.wrong_mass, real.right_lacks) < promised.leak


@every_chain
@every_dtype
def test_a_hundredth_of_beta_is_not_enough_and_errs_more_than_the_margins_allow(chain, dtype):
    found = planned(chain, "all", dtype)
    circuit, margins = found.with_betas(0.01)
    assert not all(expert.enough for expert in margins)
    measured = measure(chain, found, circuit)
    assert measured[-1].error > found.margins[-1].bound
    for real, promised in zip(measured[:-1], found.margins[:-1], strict=True):
        assert real.wrong_mass > promised.leak


def test_the_chosen_betas_given_back_give_the_same_margins():
    found = planned(CHAINS[0], "minimal", "float64")
    assert found.with_betas(1.0)[1] == found.margins


def test_leaks_add_up_along_a_chain():
    """The more leaks out of what an expert reads, the more it errs; where nothing is proved of that, without bound."""
    found = planned(CHAINS[1], "all", "float64")
    bounds = [found.with_betas(share)[1][-1].bound for share in (1.0, 0.9, 0.8, 0.01)]
    assert bounds == sorted(set(bounds)) and bounds[-1] == np.inf
