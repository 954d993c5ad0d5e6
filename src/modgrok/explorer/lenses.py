"""What a film shows of weights, moment by moment: some neurons as waves, the spectrum, and the law that phases obey.

A lens is made of the trained network and then looks at every earlier one in the same way, so that what moves in the
film is the network and not the way of looking: the neurons, the places of the residues and the offset of the law are
those of the end.

    of_expert    a network with one layer of x^S neurons: cosines in its weights, ψ1 + … + ψS against ψQ
    of_group     the same for a word in a group: weights over its elements, representations, the law of the factors
    of_activity  any other model of two inputs: its hidden neurons as functions of the inputs, ψ1 + ψ2 against ψ+
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from modgrok.algebra.cosets import coset_order
from modgrok.algebra.groups import Group
from modgrok.base.errors import InputError
from modgrok.explorer.network_answers import shown_neurons, weights_by_place
from modgrok.inspection.experts import inspect_experts
from modgrok.inspection.film import embedding_norms
from modgrok.inspection.group_view import factors_of, neurons_of, power, transform, weight_blocks
from modgrok.inspection.input_spectrum import Axes, neuron_columns
from modgrok.inspection.inside import whole_inside
from modgrok.inspection.order import NO_ORDER, order_of, witness_of
from modgrok.inspection.waves import fit_labels
from modgrok.networks.circuit import Expert
from modgrok.networks.network import Network

SHOWN, DOTS = 8, 160
"""Neurons that are drawn as waves, and those that are dots of the law, of a film."""


class Moment(NamedTuple):
    """What is drawn of one network. A wave is amplitude · cos(2π · frequency · place / period + phase)."""

    waves: Float[np.ndarray, "neuron place"]
    frequency: Int[np.ndarray, "neuron"]
    amplitude: Float[np.ndarray, "neuron"]
    phase: Float[np.ndarray, "neuron"]
    spectrum: Float[np.ndarray, "bin"]
    x: Float[np.ndarray, "dot"]
    y: Float[np.ndarray, "dot"]
    """A dot of the law: angles from 0 to 2π that are equal where it holds; in a group, y alone, from -1 to 1."""
    size: Float[np.ndarray, "dot"]
    kind: Int[np.ndarray, "dot"]
    """The frequency, or the representation, of a dot."""


@dataclass(frozen=True, eq=False)
class Lens:
    """A way to look at networks of one training; `places` and `spectrum` say what their axes are, `law` what it says.

    Without a law there are no dots, without neurons no waves.
    """

    look: Callable[[Network], Moment]
    neurons: tuple[int, ...]
    waves: str
    places: str
    spectrum: str
    bins: tuple[str, ...]
    law: str
    """One of phases, cosines, or nothing."""
    law_text: str


def lens_of(network: Network) -> Lens:
    """The lens that suits a trained network."""
    group = network.function.structure
    if (
        isinstance(group, Group)
        and witness_of(network.function) is None
        and factors_of(network.function.table, group) is not None
        and weight_blocks(network) is not None
    ):
        return of_group(network, group)
    if network.is_circuit and len(network.circuit.experts) == 1:
        try:
            return of_expert(network)
        except InputError:  # inputs and output of different sizes lie on no common circle, or no neuron is alive
            pass
    return of_activity(network)


def of_expert(network: Network) -> Lens:
    """Cosines in the weights of one expert (`inspection.waves`), at the places of the trained one."""
    (part,) = inspect_experts(network)
    final, labels, offset = part.waves, part.waves.labels, part.waves.offset
    strength = np.where(final.active, final.amplitude.prod(axis=0), -1.0)
    neurons = slowest(final.frequency, strength)
    if not neurons:
        raise InputError("no neuron of the network is alive, so none can be followed; train it again")
    dots = np.argsort(-np.where(final.has_phases, strength, -1.0), kind="stable")[:DOTS]
    dots = dots[final.has_phases[dots]]
    order = order_of(network.function)
    followed, seen = np.array([*neurons, *dots]), len(neurons)

    def look(frame: Network) -> Moment:
        (expert,) = frame.circuit.experts
        some = Expert(np.asarray(expert.embed)[..., followed], np.asarray(expert.readout)[followed], expert.power)
        fit = fit_labels(some, labels)
        readout = fit.phase[-1] + 2 * np.pi * fit.frequency * offset / labels.period
        return Moment(
            weights_by_place(some, labels, range(seen))[:, 0],
            fit.frequency[:seen],
            fit.amplitude[0, :seen],
            fit.phase[0, :seen],
            embedding_norms(frame, order),
            fit.phase[:-1].sum(axis=0)[seen:] % (2 * np.pi),
            readout[seen:] % (2 * np.pi),
            fit.amplitude.prod(axis=0)[seen:],
            fit.frequency[seen:],
        )

    terms = " + ".join(f"ψ{k}" for k in range(1, part.expert.terms + 1))
    return Lens(
        look,
        tuple(neurons),
        f"weights on {network.variables[0]}",
        {"additive": "residues in their order", "multiplicative": "residues by their logarithms"}.get(
            part.order, "residues in the order of the witness"
        ),
        "frequency",
        (),
        "phases" if len(dots) else "",
        f"{terms} = ψQ: the phases of a neuron's inputs add up to that of its readout",
    )


def slowest(frequency: Int[np.ndarray, "neuron"], strength: Float[np.ndarray, "neuron"]) -> list[int]:
    """Of the strong neurons, those whose waves have fewest turns, which are the easiest to see; each frequency once, as
    far as there are enough."""
    least = max(float(strength.max(initial=0)), 0) / 4
    strong = [k for k in np.argsort(-strength, kind="stable").tolist() if strength[k] >= least]
    first: dict[int, int] = {}
    for k in strong:
        first.setdefault(int(frequency[k]), k)
    slow = [first[f] for f in sorted(first)]
    return [*slow, *(k for k in strong if k not in slow)][:SHOWN]


def of_group(network: Network, group: Group) -> Lens:
    """Weights over a group's elements by cosets, and ⟨A B, C⟩ in the representation that each neuron uses."""
    final = neurons_of(network, group, cosets=False)
    assert final is not None
    along = coset_order(group)
    size = sum((block**2).sum(axis=0) for block in weight_blocks(network) or [])
    size = np.where(final.alive, size, -1.0)
    neurons = shown_neurons(final.used, size, SHOWN)
    has_law = np.isfinite(final.law) & final.alive
    dots = np.argsort(-np.where(has_law, size, -1.0), kind="stable")[:DOTS]
    dots = dots[has_law[dots]]

    def look(frame: Network) -> Moment:
        blocks = weight_blocks(frame)
        found = neurons_of(frame, group, cosets=False)
        assert blocks is not None and found is not None
        parts = transform(blocks[0] - blocks[0].mean(axis=0), group)
        shares = [power(each, rho, group.order).sum() for each, rho in zip(parts, group.representations, strict=True)]
        nothing = np.zeros(len(neurons))
        return Moment(
            blocks[0].T[neurons][:, along],
            found.used[neurons],
            nothing,
            nothing,
            np.sqrt(np.maximum(shares, 0)),
            np.zeros(len(dots)),
            np.nan_to_num(found.law[dots]),
            np.sum([(block**2).sum(axis=0) for block in blocks], axis=0)[dots],
            found.used[dots],
        )

    return Lens(
        look,
        tuple(neurons),
        f"weights on {network.variables[0]}",
        "elements of the group by cosets",
        "representation",
        tuple(f"{k}: {rho.kind}, degree {rho.degree}" for k, rho in enumerate(group.representations)),
        "cosines" if len(dots) else "",
        "A B = C up to a factor: what a neuron reads of a and b, multiplied in its representation, is its readout",
    )


def of_activity(network: Network) -> Lens:
    """Hidden neurons of the first layer as functions of both inputs (`inspection.input_spectrum`)."""
    order = order_of(network.function)
    has_waves = network.model.variables == 2 and order.name != NO_ORDER
    layers = whole_inside(network).neurons if has_waves else ()
    axes = Axes.of(witness_of(network.function), order, network.model.residues) if len(layers) else None

    if axes is None:
        nothing = np.zeros(0)
        empty = np.zeros((0, 1))

        def bare(frame: Network) -> Moment:
            none = nothing.astype(int)
            return Moment(empty, none, nothing, nothing, embedding_norms(frame, order), nothing, nothing, nothing, none)

        return Lens(bare, (), "", "", "frequency", (), "", "")
    variance = np.asarray(layers[0]).var(axis=0)
    largest = np.argsort(-variance, kind="stable")[: DOTS // 2]
    final = neuron_columns(axes, np.asarray(layers[0])[:, largest], 0)
    chosen = slowest(final["frequency"], variance[largest] * (1 - final["left_over"]))
    period = axes.shape[0] // axes.steps[0]

    def look(frame: Network) -> Moment:
        hidden = np.asarray(whole_inside(frame).neurons[0])[:, largest]
        found = neuron_columns(axes, hidden, 0)
        along = axes.table(hidden[:, chosen]).mean(axis=1)
        along = (along - along.mean(axis=0))[:period] if axes.steps[0] == 1 else along - along.mean(axis=0)
        pair = (found["phase_n1"] + found["phase_n2"]) % (2 * np.pi)
        return Moment(
            along.T,
            found["frequency"][chosen] * axes.steps[0],
            found["amplitude_n1"][chosen],
            found["phase_n1"][chosen],
            embedding_norms(frame, order),
            pair,
            found["phase_sum"] % (2 * np.pi),
            (found["amplitude_n1"] * found["amplitude_n2"] * found["amplitude_sum"]) ** (1 / 3),
            found["frequency"],
        )

    return Lens(
        look,
        tuple(int(largest[k]) for k in chosen),
        f"activity along {network.variables[0]}",
        "residues in their order" if axes.order == "additive" else "residues in the order of the function",
        "frequency",
        (),
        "phases",
        "ψ1 + ψ2 = ψ+: the phases of a neuron's two inputs add up to that of its wave in their sum",
    )
