"""One expert of a circuit: the order in which it is periodic, its waves, and the numbers of one or several experts.

Statistics are over the active neurons, those that are alive and not constant; `waves` says what frequency, multiplier,
offset and residual mean, `order` in which order of the residues.

Which of the compiler's phase designs the neurons of a trained expert resemble, and how closely.

The snapped network: one cosine per block, with phases that obey the law, and nothing else.

If it still computes the function, the cosines are the solution and not just a feature of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.algebra.expression import parse
from modgrok.algebra.field import is_prime
from modgrok.algebra.trees import Tree
from modgrok.base.errors import InputError
from modgrok.base.results import plain
from modgrok.compiler.choosing import candidate_plans
from modgrok.compiler.phases import exact_design, narrow_design
from modgrok.compiler.plan import plan_by_terms
from modgrok.compiler.steps import Plan
from modgrok.inspection.order import Labels, Order, group_of_word, natural_order, order_of
from modgrok.inspection.spectrum import Periodicity, periodicity
from modgrok.inspection.waves import FittedWaves, fit_labels, fit_waves, host_blocks
from modgrok.networks.circuit import Expert
from modgrok.networks.network import Network, chunk_rows
from modgrok.networks.verification import answers, row_chunks

ANGLES = 4096
"""Random angles over which leakage is averaged."""
CANCELS = 1e-3
"""A design cancels exactly if its leakage is below this share of what random phases leave."""


@dataclass(frozen=True)
class NearestDesign:
    """`designs` are the neurons per frequency that each design needs; `neurons_per_frequency` is what there is."""

    words: str
    designs: dict[str, int]
    name: str | None = None
    neurons_per_frequency: dict[str, float] | None = field(default=None)
    leakage: float | None = None
    leakage_ratio: float | None = None


def nearest_design(expert: Expert, waves: FittedWaves) -> NearestDesign:
    """The design, by what its phases leave of the terms that must cancel.

    Write θ_s for the angle 2π c_s f r_s / m of input s and φ for that of the class. The neurons of
    frequency f add up to Re(e^{-iφ} G) with G = Σ_k a_Q e^{-iψ_Q} (Σ_s a_s cos(θ_s + ψ_s))^S. Only one term
    of G is wanted, C e^{iΣθ_s} with C = S!/2^S Σ_k a_Q Π_s a_s e^{i(Σψ_s - ψ_Q)}; the others must cancel
    between neurons. The leakage is the root mean square over angles of G - C e^{iΣθ_s}, divided by |C|.
    Were phases independent, squares of the single neurons' leaks would add up; the leakage over that value
    is about 1 for the random design and 0 for an exact one. What no input moves does not count if constant
    neurons can remove it.
    """
    phased = waves.frequency[waves.has_phases]
    counts = [int(np.sum(phased == f)) for f in np.unique(phased)]
    designs = {"exact": exact_design(expert.terms).width}
    if expert.terms == 2:
        designs["narrow"] = narrow_design().width
    if not counts or expert.power != expert.terms or mean(waves.common[waves.active]) < 0.5:
        return NearestDesign("the neurons do not have the form of a design in this order", designs)
    median = float(np.median(counts))
    leakage, of_random = leakages(expert, waves)
    ratio = leakage / of_random
    if ratio < CANCELS:
        name = next((name for name, width in designs.items() if width == median), "exact")
        words = f"the {name} design: unwanted terms cancel to {leakage:.0e} of the wanted one"
    else:
        name = "random" if ratio > 0.5 else "exact"
        words = f"between random and exact phases: unwanted terms are {100 * ratio:.0f} % of what random phases leave"
    if ratio > 0.9:
        words = f"random phases: unwanted terms are {100 * ratio:.0f} % of what independent ones leave"
    needs = ", ".join(f"{name} needs {width}" for name, width in designs.items())
    return NearestDesign(
        f"{words}; {median:g} neurons per frequency ({needs})",
        designs,
        name,
        {"median": median, "least": min(counts), "most": max(counts)},
        leakage,
        ratio,
    )


def leakages(expert: Expert, waves: FittedWaves) -> tuple[float, float]:
    """The leakage as it is, and as it would be with independent phases, pooled over frequencies by power."""
    terms = expert.terms
    theta = np.random.default_rng(0).uniform(-np.pi, np.pi, (terms, ANGLES, 1))
    removable = bool((waves.alive & waves.constant).any())
    unwanted = independent = wanted = 0.0
    for f in np.unique(waves.frequency[waves.has_phases]):
        k = waves.has_phases & (waves.frequency == f)
        a, psi, a_q = waves.amplitude[:-1, None, k], waves.phase[:-1, None, k], waves.amplitude[-1, k]
        turn = a_q * np.exp(-1j * waves.readout_phase[k])
        signal = factorial(terms) / 2**terms * turn * np.prod(a * np.exp(1j * psi), axis=0)
        leak = turn * np.sum(a * np.cos(theta + psi), axis=0) ** terms - signal * np.exp(1j * theta.sum(axis=0))
        if removable:
            leak -= leak.mean(axis=0)
        unwanted += np.mean(np.abs(leak.sum(axis=1)) ** 2)
        independent += np.mean(np.sum(np.abs(leak) ** 2, axis=1))
        wanted += np.abs(signal.sum()) ** 2
    return float(np.sqrt(unwanted / wanted)), float(np.sqrt(independent / wanted))


TIE_DIGITS = 6
"""Orders that explain the same power to so many digits are as good as each other; the first is taken."""
LARGEST_RELABELLED = 2048
"""Largest modulus at which the places of a plan are tried: least squares takes p²/2 complex numbers per block."""
HISTOGRAM_BINS = 20


@dataclass(frozen=True, eq=False)
class ExpertInspection:
    """One expert, the order in which it is looked at, and its waves."""

    expert: Expert
    residue_order: Order
    waves: FittedWaves

    @property
    def order(self) -> str:
        return self.residue_order.name

    @cached_property
    def periodicity(self) -> Periodicity:
        """The measure that training uses too, here in float64."""
        return periodicity(host_blocks(self.expert), self.residue_order.places)

    @property
    def block_ipr(self) -> Float[np.ndarray, "block width"]:
        return np.asarray(self.periodicity.block_ipr)

    @property
    def ipr(self) -> Float[np.ndarray, "width"]:
        return np.asarray(self.periodicity.ipr)

    @cached_property
    def explained(self) -> Float[np.ndarray, "width"]:
        """Mean share of squared length that one cosine explains, over the blocks that are not zero."""
        return np.asarray(self.waves.explained.sum(axis=0) / np.maximum(self.waves.present.sum(axis=0), 1))

    @cached_property
    def answers_zero(self) -> Bool[np.ndarray, "width"]:
        """Active neurons with most of their readout's squared length at zero, if the order leaves it out."""
        square = np.asarray(self.expert.readout, np.float64) ** 2
        placed = self.waves.labels.classes
        return np.asarray(self.waves.active & (square[:, placed].sum(axis=1) < square.sum(axis=1) / 2))

    @cached_property
    def nearest_design(self) -> NearestDesign:
        return nearest_design(self.expert, self.waves)

    def to_json(self) -> dict[str, Any]:
        active, periods = self.waves.active, self.residue_order.places.period
        return {
            "order": self.order,
            "multipliers": list(self.waves.multipliers),
            "offset": self.waves.offset,
            **statistics([self]),
            "ipr_by_block": [
                mean(ipr[active & here]) if period > 0 else None
                for ipr, here, period in zip(self.block_ipr, self.waves.present, periods, strict=True)
            ],
            "neurons_per_frequency": neurons_per_frequency(self.waves),
            "nearest_design": plain(self.nearest_design),
        }


def inspect_experts(network: Network, order: str = "auto") -> tuple[ExpertInspection, ...]:
    """Every expert of a circuit in its order."""
    experts = network.circuit.experts
    if len(experts) == 1:
        orders = [[order_of(network.function, order)]]
    else:
        orders = [list(expert_orders(e, order, own)) for e, own in zip(experts, plan_labels(network), strict=True)]
    return tuple(inspect_expert(expert, own) for expert, own in zip(experts, orders, strict=True))


def snapped_network(network: Network, experts: Sequence[ExpertInspection]) -> Network:
    """The network with nothing left of its experts but one cosine per block."""
    snapped = replace(network.circuit, experts=tuple(snap(part.expert, part.waves) for part in experts))
    return Network.of_circuit(snapped, network.function, "snapped", plan=network.plan, settings=network.settings)


def no_waves(network: Network) -> str | None:
    """Why the weights of a network are no waves on one circle, so that it has no experts to inspect; or `None`."""
    if not network.is_circuit:
        return f"the model {network.model.name} is not a circuit of two-layer experts, so it has no phase law"
    if not network.function.square:
        return f"{network.title} has other numbers of inputs and classes, so there is no one circle for its waves"
    if (group := group_of_word(network.function)) is not None:
        return f"{group.title} is not cyclic, so its weights are no waves: they are read by representation"
    return None


def inspect_expert(expert: Expert, orders: Sequence[Order]) -> ExpertInspection:
    """The expert in that one of the orders in which a cosine per block explains most."""
    p, classes = expert.embed.shape[1], expert.readout.shape[1]
    if p != classes:
        raise InputError(f"to inspect an expert, inputs and output need the same modulus, got {p} and {classes}")
    candidates = [ExpertInspection(expert, own, fitted(expert, own)) for own in orders]
    return max(candidates, key=lambda part: round(mean(part.explained[part.waves.active]), TIE_DIGITS))


def fitted(expert: Expert, order: Order) -> FittedWaves:
    """Waves along an order: in the natural ones with multipliers and an offset that fit, else at given places."""
    return fit_labels(expert, order.labels) if order.name == "witness" else fit_waves(expert, order.labels.outputs)


def expert_orders(expert: Expert, name: str, labels: Sequence[Labels]) -> Iterator[Order]:
    """The orders that are tried for one of several experts. Logarithms need a prime above 2 to order anything."""
    p = expert.embed.shape[1]
    if name in ("auto", "additive"):
        yield natural_order("additive", p, expert.terms)
    if name == "multiplicative" or (name == "auto" and p > 2 and is_prime(p)):
        yield natural_order("multiplicative", p, expert.terms)
    if name == "witness" and not labels:
        raise InputError("order witness needs a network whose experts are those of a plan of its polynomial; give auto")
    if name in ("auto", "witness"):
        yield from (Order("witness", places) for places in labels)


def plan_labels(network: Network) -> list[list[Labels]]:
    """For each expert, where residues lie in those plans of the polynomial that have the network's wires."""
    found: list[dict[bytes, Labels]] = [{} for _ in network.circuit.experts]
    if network.modulus <= LARGEST_RELABELLED:
        for plan in possible_plans(parse(network.expression), network.modulus):
            if tuple(step.inputs for step in plan.steps) == network.circuit.wires:
                for labels, step in zip(found, plan.steps, strict=True):
                    key = step.tables.tobytes() + step.outputs.tobytes()
                    labels[key] = Labels(step.order, step.tables, step.outputs)
    return [list(labels.values()) for labels in found]


def possible_plans(tree: Tree, modulus: int) -> list[Plan]:
    """The plans of all methods; none for products modulo a composite number."""
    try:
        return [plan_by_terms(tree, modulus), *candidate_plans(tree, modulus)]
    except InputError:
        return []


# --------------------------------------------------------------------------------------------- numbers


STATISTICS = (
    *("width", "alive", "constant", "answer_zero", "ipr", "ipr_alive", "ipr_histogram", "common_frequency_share"),
    *("phase_residual_median", "phase_residual_quantiles", "neurons_with_phases", "power_explained"),
    "frequencies_used",
)
"""What `statistics` counts and measures."""


def statistics(parts: Sequence[ExpertInspection]) -> dict[str, Any]:
    """The numbers of one expert, or of several with their neurons pooled."""

    def pool(values: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(values)

    wavy = pool([~part.waves.constant for part in parts])
    active = pool([part.waves.active for part in parts])
    ipr = pool([part.ipr for part in parts])
    residual = pool([np.abs(part.waves.residual[part.waves.has_phases]) for part in parts])
    quantiles = np.quantile(residual, [0.1, 0.5, 0.9]).tolist() if residual.size else [None] * 3
    counts, edges = np.histogram(ipr[active & np.isfinite(ipr)], bins=HISTOGRAM_BINS, range=(0, 1 + 1e-9))
    return {
        "width": len(active),
        "alive": int(sum(part.waves.alive.sum() for part in parts)),
        "constant": int(sum((part.waves.alive & part.waves.constant).sum() for part in parts)),
        "answer_zero": int(sum(part.answers_zero.sum() for part in parts)),
        "ipr": mean(ipr[wavy]),
        "ipr_alive": mean(ipr[active]),
        "ipr_histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
        "common_frequency_share": mean(pool([part.waves.common for part in parts])[active]),
        "phase_residual_median": quantiles[1],
        "phase_residual_quantiles": dict(zip(["0.1", "0.5", "0.9"], quantiles, strict=True)),
        "neurons_with_phases": int(residual.size),
        "power_explained": mean(pool([part.explained for part in parts])[active]),
        "frequencies_used": sum(len(neurons_per_frequency(part.waves).keys() - {"0"}) for part in parts),
    }


def neurons_per_frequency(waves: FittedWaves) -> dict[str, int]:
    """How many active neurons each frequency has; those without neurons are left out."""
    count = Counter(waves.frequency[waves.active].tolist())
    return {str(f): count[f] for f in sorted(count)}


def input_names(network: Network, wires: Sequence[int]) -> list[str]:
    """Names of what an expert reads: variables, or e1, e2, … for what earlier experts compute."""
    names = [*network.variables, *(f"e{k + 1}" for k in range(len(network.circuit.experts)))]
    return [names[wire] for wire in wires]


MOST_WORK = 1 << 38
"""The snapped network is checked on the whole table, or on as many random rows as take so many multiplications."""


def snap(expert: Expert, waves: FittedWaves) -> Expert:
    """The expert with each block of an active neuron replaced by its fitted cosine, and dead neurons by zero.

    The law's residual δ is shared equally: ψ_s + δ/(S+1) and ψ_Q - δ/(S+1) obey it exactly. Where a wave has a sign
    instead of a phase, signs stay. Constant neurons stay, and so do the weights of residues without a place: no cosine
    describes how a product treats zero.
    """
    share = np.where(waves.has_phases, waves.residual / (expert.terms + 1), 0)
    phase = waves.phase + share * np.array([*[1] * expert.terms, -1])[:, None]
    neurons = np.flatnonzero(waves.active)

    def cosine(block: int, places: Int[np.ndarray, "place"]) -> Float[np.ndarray, "place width"]:
        turns = np.outer(places, waves.frequency[neurons]) % waves.period / waves.period
        return np.asarray(waves.amplitude[block, neurons] * np.cos(2 * np.pi * turns + phase[block, neurons]))

    embed, readout = np.array(expert.embed), np.array(expert.readout)
    embed[:, :, ~waves.alive], readout[~waves.alive] = 0, 0
    for s, table in enumerate(waves.labels.tables):
        placed = np.flatnonzero(table >= 0)
        embed[s][np.ix_(placed, neurons)] = cosine(s, table[placed])
    readout[np.ix_(neurons, waves.labels.classes)] = 0
    for t in waves.labels.reached:
        readout[neurons, waves.labels.outputs[t]] += cosine(-1, np.array([t]))[0]
    return Expert(embed, readout, expert.power)


def accuracies(network: Network) -> tuple[float, float, int]:
    """Share of right answers over the whole table, and over its rows without a zero; and the number of rows checked.

    Where the whole table takes more than `MOST_WORK`, random rows are checked.
    """
    count = min(network.known_rows, max(1, MOST_WORK // network.parameters))
    size = chunk_rows(network.model, count, network.dtype)
    right, nonzero = [], []
    for rows in row_chunks(network, count, size, np.random.default_rng(0)):
        right.append(network.predict(rows) == answers(network, rows))
        nonzero.append(np.all(rows != 0, axis=1))
    every = np.concatenate(right)
    return mean(every), mean(every[np.concatenate(nonzero)]), count


def mean(values: np.ndarray) -> float:
    """The mean, or 0 of nothing: networks may have no living neuron."""
    return float(np.mean(values)) if values.size else 0.0
