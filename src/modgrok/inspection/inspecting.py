"""What a network has learned: its waves, their phase law, and what the network does with nothing but them.

`inspect` measures every expert of a network. Statistics are over the active neurons, those that are alive and not
constant; `waves` says what frequency, multiplier, offset and residual mean, `order` in which order of the residues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.algebra.expression import Tree, parse
from modgrok.algebra.field import is_prime
from modgrok.compiler.choosing import candidate_plans
from modgrok.compiler.plan import plan_by_terms
from modgrok.compiler.steps import Plan
from modgrok.errors import InputError
from modgrok.files import write_parquet
from modgrok.inspection.design import NearestDesign, nearest_design
from modgrok.inspection.order import ORDER_NAMES, Labels, Order, function_order, natural_order
from modgrok.inspection.snap import accuracies, mean, snap
from modgrok.inspection.spectrum import Periodicity, periodicity
from modgrok.inspection.waves import FittedWaves, fit_labels, fit_waves, host_blocks
from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.network import Network
from modgrok.networks.verification import as_network
from modgrok.results import Result, html_table, percent, plain

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
        return self.waves.explained.sum(axis=0) / np.maximum(self.waves.present.sum(axis=0), 1)

    @cached_property
    def answers_zero(self) -> Bool[np.ndarray, "width"]:
        """Active neurons with most of their readout's squared length at zero, if the order leaves it out."""
        square = np.asarray(self.expert.readout, np.float64) ** 2
        placed = self.waves.labels.classes
        return self.waves.active & (square[:, placed].sum(axis=1) < square.sum(axis=1) / 2)

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
            "ipr_blocks": [
                mean(ipr[active & here]) if period > 0 else None
                for ipr, here, period in zip(self.block_ipr, self.waves.present, periods, strict=True)
            ],
            "neurons_per_frequency": neurons_per_frequency(self.waves),
            "nearest_design": plain(self.nearest_design),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(Result):
    """All experts of a network, the snapped network, and how often that is right."""

    network: Network
    experts: tuple[ExpertInspection, ...]
    snapped: Network
    accuracy: float
    accuracy_nonzero: float
    rows_checked: int
    files: tuple[Path, ...] = ()

    @property
    def order(self) -> str:
        """The order of residues in which the experts are periodic; "mixed" if they differ."""
        orders = sorted({expert.order for expert in self.experts})
        return orders[0] if len(orders) == 1 else "mixed"

    def summary(self) -> str:
        found = statistics(self.experts)
        return (
            f"{self.network.expression} mod {self.network.modulus}: {percent(found['common_frequency_share'], 1)} of "
            f"{found['alive']} living neurons on one frequency ({self.order} order), snapped network "
            f"{percent(self.accuracy)} right"
        )

    def to_json(self) -> dict[str, Any]:
        """What `modgrok inspect --json` prints; docs/commands.md says what each key means."""
        experts = [expert.to_json() for expert in self.experts]
        return plain(
            {
                "expression": self.network.expression,
                "modulus": self.network.modulus,
                "order": self.order,
                **statistics(self.experts),
                "snapped": {
                    "accuracy": self.accuracy,
                    "accuracy_nonzero": self.accuracy_nonzero,
                    "rows_checked": self.rows_checked,
                },
                "nearest_design": experts[-1]["nearest_design"],
                "experts": experts,
                "files": self.files,
            }
        )

    def _repr_html_(self) -> str:
        found = statistics(self.experts)
        facts = {
            "order of residues": self.order,
            "neurons alive": f"{found['alive']} of {found['width']}",
            "mean IPR, all / alive": f"{found['ipr']:.3f} / {found['ipr_alive']:.3f}",
            "one common frequency": percent(found["common_frequency_share"], 1),
            "snapped network": f"{percent(self.accuracy)} right",
        }
        return html_table(facts, f"{self.network.expression} mod {self.network.modulus}")

    def columns(self) -> dict[str, np.ndarray]:
        """One row per expert, neuron and block, as columns."""
        return neuron_columns(self)


def inspect(network: Any, *, order: str = "auto", out: str | Path | None = None) -> Inspection:
    """What a network computes with: waves, their phase law, and the snapped network.

    Args:
        network: a network, a run, or the path of either. It must be a circuit of two-layer experts.
        order: the order of residues: additive, multiplicative, witness, or auto, the one of the function.
        out: a folder for figures, neurons.parquet and the snapped network; nothing is written without it.

    Returns:
        An `Inspection`; `to_json()` has the numbers, `experts[k].waves` the fitted waves.

    >>> from modgrok.compiler.compiling import compile
    >>> inspect(compile("n1 + n2", 11)).order
    'additive'
    """
    found = inspect_network(as_network(network), order=order)
    if out is None:
        return found
    from modgrok.figures.inspection import inspection_figures
    from modgrok.figures.style import save_figures

    files = [Path(out) / "neurons.parquet", Path(out) / "snapped.safetensors"]
    write_parquet(files[0], neuron_columns(found))
    found.snapped.save(files[1])
    return replace(found, files=(*files, *save_figures(inspection_figures(found), out)))


def inspect_network(
    network: Network,
    *,
    order: str = "auto",
    labels: Sequence[Labels] | None = None,
    table: Int[np.ndarray, "..."] | None = None,
) -> Inspection:
    """Fit waves to every expert, snap them, and check the snapped network.

    `labels` says for each expert where residues lie in the order called witness, if not where the function or plans of
    the polynomial place them. `table` holds the right answers, one axis per variable; without it they are the values
    of the network's expression.
    """
    if order not in ORDER_NAMES:
        raise InputError(f"order must be one of {', '.join(ORDER_NAMES)}, got {order!r}")
    circuit = network.circuit
    if labels is not None:
        orders = [[Order("witness", own)] for own in labels]
    elif len(circuit.experts) == 1:
        orders = [[function_order(network.expression, network.modulus, order)]]
    else:
        orders = [
            list(expert_orders(e, order, own)) for e, own in zip(circuit.experts, plan_labels(network), strict=True)
        ]
    experts = tuple(inspect_expert(expert, own) for expert, own in zip(circuit.experts, orders, strict=True))
    snapped = snapped_network(network, circuit, experts)
    return Inspection(network, experts, snapped, *accuracies(snapped, table))


def snapped_network(network: Network, circuit: Circuit, experts: Sequence[ExpertInspection]) -> Network:
    snapped = replace(circuit, experts=tuple(snap(part.expert, part.waves) for part in experts))
    return Network.of_circuit(
        snapped, network.expression, network.modulus, "snapped", plan=network.plan, settings=network.settings
    )


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
    for number, (part, wires) in enumerate(zip(inspection.experts, wires_of, strict=True), start=1):
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
