"""What a network has learned: its waves, their phase law, and what the network does with nothing but them.

`inspect_network` measures every expert of a network. Statistics are over the active neurons, those that are
alive and not constant; `waves` says what frequency, multiplier, offset and residual mean. The
snapped network keeps one cosine per block, with phases that obey the law, and nothing else: if it still
computes the function, the cosines are the solution and not just a feature of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.algebra.expression import Tree, parse
from modgrok.algebra.field import is_prime
from modgrok.compiler.compiling import candidate_plans
from modgrok.compiler.phases import exact_design, narrow_design
from modgrok.compiler.plan import Plan, plan_by_terms
from modgrok.errors import InputError
from modgrok.inspection.spectrum import additive_order, multiplicative_order
from modgrok.inspection.waves import FittedWaves, Labels, fit_labels, fit_waves
from modgrok.networks.circuit import Circuit, Expert, batch_logits
from modgrok.networks.network import Network
from modgrok.networks.verification import answers, chunk_rows, double_precision, row_chunks

ORDER_NAMES = ("auto", "additive", "multiplicative", "plan")
TIE_DIGITS = 6
"""Orders that explain the same power to so many digits are as good as each other; the first is taken."""
LARGEST_RELABELLED = 2048
"""Largest modulus at which the places of a plan are tried: least squares takes p²/2 complex numbers per block."""
MOST_WORK = 1 << 38
"""The snapped network is checked on the whole table, or on as many random rows as take so many multiplications."""
HISTOGRAM_BINS = 20
ANGLES = 4096
"""Random angles over which leakage is averaged."""
CANCELS = 1e-3
"""A design cancels exactly if its leakage is below this share of what random phases leave."""


@dataclass(frozen=True, eq=False)
class ExpertInspection:
    """One expert, the order in which it is periodic, and its waves."""

    expert: Expert
    order: str
    waves: FittedWaves

    @cached_property
    def block_ipr(self) -> Float[np.ndarray, "block width"]:
        return self.waves.ipr

    @cached_property
    def ipr(self) -> Float[np.ndarray, "width"]:
        """Mean IPR over the blocks of a neuron that have one and are not zero; 0 if there is none."""
        counted = self.waves.present & self.waves.has_ipr[:, None]
        return self.block_ipr.sum(axis=0) / np.maximum(counted.sum(axis=0), 1)

    @cached_property
    def explained(self) -> Float[np.ndarray, "width"]:
        """Mean share of squared length that one cosine explains, over the blocks that are not zero."""
        return self.waves.explained.sum(axis=0) / np.maximum(self.waves.present.sum(axis=0), 1)

    @cached_property
    def answers_zero(self) -> Bool[np.ndarray, "width"]:
        """Active neurons with most of their readout's squared length at zero, if the order leaves it out."""
        square = np.asarray(self.expert.readout, np.float64) ** 2
        placed = np.unique(self.waves.labels.outputs)
        return self.waves.active & (square[:, placed].sum(axis=1) < square.sum(axis=1) / 2)

    @cached_property
    def nearest_design(self) -> dict[str, Any]:
        return nearest_design(self.expert, self.waves)

    def json(self) -> dict[str, Any]:
        active = self.waves.active
        return {
            "order": self.order,
            "multipliers": list(self.waves.multipliers),
            "offset": self.waves.offset,
            **statistics([self]),
            "ipr_blocks": [
                mean(ipr[active & here]) if has_ipr else None
                for ipr, here, has_ipr in zip(self.block_ipr, self.waves.present, self.waves.has_ipr)
            ],
            "neurons_per_frequency": neurons_per_frequency(self.waves),
            "nearest_design": self.nearest_design,
        }


@dataclass(frozen=True, eq=False)
class Inspection:
    """All experts of a network, the snapped network, and how often that is right."""

    network: Network
    experts: tuple[ExpertInspection, ...]
    snapped: Circuit
    accuracy: float
    accuracy_nonzero: float
    rows_checked: int

    def json(self) -> dict[str, Any]:
        """What `modgrok inspect --json` prints; docs/inspect.md says what each key means."""
        experts = [expert.json() for expert in self.experts]
        orders = sorted({expert.order for expert in self.experts})
        return {
            "expression": self.network.expression,
            "modulus": self.network.modulus,
            "order": orders[0] if len(orders) == 1 else "mixed",
            **statistics(self.experts),
            "snapped": {
                "accuracy": self.accuracy,
                "accuracy_nonzero": self.accuracy_nonzero,
                "rows_checked": self.rows_checked,
            },
            "nearest_design": experts[-1]["nearest_design"],
            "experts": experts,
        }


def inspect_network(
    network: Network,
    *,
    order: str = "auto",
    labels: Sequence[Labels] | None = None,
    table: Int[np.ndarray, "..."] | None = None,
) -> Inspection:
    """Fit waves to every expert, snap them, and check the snapped network.

    `order` is one of `ORDER_NAMES`. `labels` says for each expert where residues lie in the order called plan, if not
    where plans of the polynomial place them. `table` holds the right answers, one axis per variable; without it they
    are the values of the network's expression.
    """
    if order not in ORDER_NAMES:
        raise InputError(f"order must be one of {', '.join(ORDER_NAMES)}, got {order!r}")
    places = plan_labels(network) if labels is None else [[own] for own in labels]
    experts = tuple(
        inspect_expert(expert, order=order, labels=own) for expert, own in zip(network.circuit.experts, places)
    )
    snapped = replace(network.circuit, experts=tuple(snap(part.expert, part.waves) for part in experts))
    return Inspection(network, experts, snapped, *accuracies(replace(network, circuit=snapped), table))


def inspect_expert(expert: Expert, *, order: str = "auto", labels: Sequence[Labels] = ()) -> ExpertInspection:
    """The expert in the given order; auto is the one in which a cosine per block explains most.

    The order called plan is the best of `labels`. Logarithms need a prime, and at p = 2 they order nothing: the only
    non-zero residue is 1.
    """
    p, classes = expert.embed.shape[1], expert.readout.shape[1]
    if p != classes:
        raise InputError(f"to inspect an expert, inputs and output need the same modulus, got {p} and {classes}")
    if order == "plan" and not labels:
        raise InputError("order plan needs a network whose experts are those of a plan of its polynomial; give auto")
    fits = []
    if order in ("auto", "additive"):
        fits.append(("additive", fit_waves(expert, additive_order(p))))
    if order == "multiplicative" or (order == "auto" and p > 2 and is_prime(p)):
        fits.append(("multiplicative", fit_waves(expert, multiplicative_order(p))))
    if order in ("auto", "plan"):
        fits += [("plan", fit_labels(expert, places)) for places in labels]
    candidates = [ExpertInspection(expert, name, waves) for name, waves in fits]
    return max(candidates, key=lambda part: round(mean(part.explained[part.waves.active]), TIE_DIGITS))


def plan_labels(network: Network) -> list[list[Labels]]:
    """For each expert, where residues may lie according to the plans of the polynomial that have the network's wires.

    A plan may relabel an input by any one-variable function, and the output too. A network trained on a polynomial
    that is one step of a plan is looked at in the same places.
    """
    found: list[dict[bytes, Labels]] = [{} for _ in network.circuit.experts]
    if network.modulus <= LARGEST_RELABELLED:
        for plan in possible_plans(parse(network.expression), network.modulus):
            if tuple(step.inputs for step in plan.steps) == network.circuit.wires:
                for labels, step in zip(found, plan.steps):
                    labels[step.tables.tobytes() + step.outputs.tobytes()] = Labels(
                        step.order, step.tables, step.outputs
                    )
    return [list(labels.values()) for labels in found]


def possible_plans(tree: Tree, modulus: int) -> list[Plan]:
    """The plans of all methods; none for products modulo a composite number."""
    try:
        return [plan_by_terms(tree, modulus), *candidate_plans(tree, modulus)]
    except InputError:
        return []


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
        return waves.amplitude[block, neurons] * np.cos(2 * np.pi * turns + phase[block, neurons])

    embed, readout = np.array(expert.embed), np.array(expert.readout)
    embed[:, :, ~waves.alive], readout[~waves.alive] = 0, 0
    for s, table in enumerate(waves.labels.tables):
        placed = np.flatnonzero(table >= 0)
        embed[s][np.ix_(placed, neurons)] = cosine(s, table[placed])
    readout[np.ix_(neurons, np.unique(waves.labels.outputs))] = 0
    for t, q in enumerate(waves.labels.outputs):
        readout[neurons, q] += cosine(-1, np.array([t]))[0]
    return Expert(embed, readout, expert.power)


def accuracies(network: Network, table: Int[np.ndarray, "p ..."] | None = None) -> tuple[float, float, int]:
    """Share of right answers over the whole table, and over its rows without a zero; and the number of rows checked.

    Right are the values of the network's expression, or of `table`, one axis per variable. Where the whole table takes
    more than `MOST_WORK`, random rows are checked.
    """
    total = network.modulus**network.circuit.variables
    count = min(total, max(1, MOST_WORK // network.circuit.parameters))
    size = chunk_rows(network.circuit, count)
    right, nonzero = [], []
    with double_precision(network.circuit):
        for rows in row_chunks(network, count, total, size, np.random.default_rng(0)):
            values = answers(network, rows) if table is None else table[tuple(rows.T)]
            right.append(np.asarray(batch_logits(network.circuit, rows)).argmax(axis=1) == values)
            nonzero.append(np.all(rows != 0, axis=1))
    every = np.concatenate(right)
    return mean(every), mean(every[np.concatenate(nonzero)]), count


def mean(values: np.ndarray) -> float:
    """The mean, or 0 of nothing: networks may have no living neuron."""
    return float(np.mean(values)) if values.size else 0.0


def statistics(parts: Sequence[ExpertInspection]) -> dict[str, Any]:
    """The numbers of one expert, or of several with their neurons pooled."""

    def pool(values: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(values)

    wavy = pool([~part.waves.constant for part in parts])
    active = pool([part.waves.active for part in parts])
    ipr = pool([part.ipr for part in parts])
    residual = pool([np.abs(part.waves.residual[part.waves.has_phases]) for part in parts])
    quantiles = np.quantile(residual, [0.1, 0.5, 0.9]).tolist() if residual.size else [None] * 3
    counts, edges = np.histogram(ipr[active], bins=HISTOGRAM_BINS, range=(0, 1 + 1e-9))
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
        "phase_residual_quantiles": dict(zip(["0.1", "0.5", "0.9"], quantiles)),
        "neurons_with_phases": int(residual.size),
        "power_explained": mean(pool([part.explained for part in parts])[active]),
        "frequencies_used": sum(len(neurons_per_frequency(part.waves)) for part in parts),
    }


def neurons_per_frequency(waves: FittedWaves) -> dict[str, int]:
    """How many active neurons each frequency has; those without neurons are left out."""
    count = Counter(waves.frequency[waves.active].tolist())
    return {str(f): count[f] for f in sorted(count)}


def input_names(network: Network, wires: Sequence[int]) -> list[str]:
    """Names of what an expert reads: variables, or e1, e2, … for what earlier experts compute."""
    names = [*network.variables, *(f"e{k + 1}" for k in range(len(network.circuit.experts)))]
    return [names[wire] for wire in wires]


def neuron_columns(inspection: Inspection) -> dict[str, np.ndarray]:
    """One row per expert, neuron and block, as columns; a residual only where the neuron has phases."""
    columns: dict[str, list[np.ndarray]] = {}
    wires_of = inspection.network.circuit.wires
    for number, (part, wires) in enumerate(zip(inspection.experts, wires_of), start=1):
        waves = part.waves
        names = np.array([*input_names(inspection.network, wires), "readout"])
        table = {
            "expert": np.full(waves.phase.shape, number),
            "neuron": np.broadcast_to(np.arange(part.expert.width), waves.phase.shape),
            "block": np.broadcast_to(names[:, None], waves.phase.shape),
            "frequency": np.broadcast_to(waves.frequency, waves.phase.shape),
            "block_frequency": waves.block_frequency,
            "strongest_frequency": np.argmax(waves.share, axis=-1),
            "amplitude": waves.amplitude,
            "phase": waves.phase,
            "power_explained": waves.explained,
            "ipr": part.block_ipr,
            "alive": np.broadcast_to(waves.alive, waves.phase.shape),
            "constant": np.broadcast_to(waves.constant, waves.phase.shape),
            "answers_zero": np.broadcast_to(part.answers_zero, waves.phase.shape),
            "common_frequency": np.broadcast_to(waves.common, waves.phase.shape),
            "phase_residual": np.broadcast_to(np.where(waves.has_phases, waves.residual, np.nan), waves.phase.shape),
        }
        for name, values in table.items():
            columns.setdefault(name, []).append(values.T.ravel())
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def nearest_design(expert: Expert, waves: FittedWaves) -> dict[str, Any]:
    """Which of the compiler's phase designs the neurons of a frequency resemble, and how closely.

    Write θ_s for the angle 2π c_s f r_s / m of input s and φ for that of the class. The neurons of
    frequency f add up to Re(e^{-iφ} G) with G = Σ_k a_Q e^{-iψ_Q} (Σ_s a_s cos(θ_s + ψ_s))^S. Only one term
    of G is wanted, C e^{iΣθ_s} with C = S!/2^S Σ_k a_Q Π_s a_s e^{i(Σψ_s - ψ_Q)}; the others must cancel
    between neurons. The leakage is the root mean square over angles of G - C e^{iΣθ_s}, divided by |C|.
    Were phases independent, squares of the single neurons' leaks would add up; the leakage over that value
    is about 1 for the random design and 0 for an exact one. What no input moves does not count if constant
    neurons can remove it.
    """
    counts = [np.sum(waves.frequency[waves.has_phases] == f) for f in np.unique(waves.frequency[waves.has_phases])]
    designs = {"exact": exact_design(expert.terms).width}
    if expert.terms == 2:
        designs["narrow"] = narrow_design().width
    result: dict[str, Any] = {"name": None, "designs": designs, "leakage": None, "leakage_ratio": None}
    if not counts or expert.power != expert.terms or mean(waves.common[waves.active]) < 0.5:
        return {
            **result,
            "neurons_per_frequency": None,
            "words": "the neurons do not have the form of a design in this order",
        }
    median = float(np.median(counts))
    leakage, of_random = leakages(expert, waves)
    ratio = leakage / of_random
    if ratio < CANCELS:
        name = next((name for name, width in designs.items() if width == median), "exact")
        words = f"the {name} design: unwanted terms cancel to {leakage:.0e} of the wanted one"
    else:
        name = "random" if ratio > 0.5 else "exact"
        words = f"between random and exact phases: unwanted terms are {ratio:.0%} of what random phases leave"
    if ratio > 0.9:
        words = f"random phases: unwanted terms are {ratio:.0%} of what independent ones leave"
    needs = ", ".join(f"{name} needs {width}" for name, width in designs.items())
    return {
        **result,
        "name": name,
        "neurons_per_frequency": {"median": median, "least": int(min(counts)), "most": int(max(counts))},
        "leakage": leakage,
        "leakage_ratio": ratio,
        "words": f"{words}; {median:g} neurons per frequency ({needs})",
    }


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
