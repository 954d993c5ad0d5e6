"""Grokking as a film: the measures of `inspect` at every step whose weights were kept.

The key frequencies are those of the trained network, at every step: the restricted loss falls while the network builds
its solution, and the excluded loss on the training rows rises as it forgets what it had memorised. Of a word in a group
that is not cyclic, representations stand in place of frequencies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.algebra.cosets import coset_order
from modgrok.algebra.groups import Group
from modgrok.base.progress import Progress
from modgrok.base.results import Result, percent
from modgrok.inspection.experts import accuracies, inspect_experts, no_waves, snapped_network, statistics
from modgrok.inspection.group_view import GroupView, group_view, power, share_of, transform
from modgrok.inspection.logits import VERSIONS, LogitsView, logits_view
from modgrok.inspection.order import Order, group_of_word, order_of
from modgrok.inspection.spectrum import axis_power, periodicity
from modgrok.networks.models import Blocks
from modgrok.networks.network import Network

if TYPE_CHECKING:
    from modgrok.figures.style import Figure

FOLLOWED = 4
"""Neurons whose weights are kept at every step, to be drawn on their waves."""
OF_WEIGHTS = ("common_frequency_share", "phase_residual_median", "snapped_accuracy")
"""Measures of circuits of experts alone."""
IN_GROUP = ("one_representation_share", "law_median")
"""Measures of neurons in a group alone."""


@dataclass(frozen=True, eq=False, repr=False)
class Film(Result):
    """`measures` are columns with one value for each step, NaN where a measure does not exist.

    `norms[k, f]` is the norm of the embedding's weights at frequency f, at step k. `waves[k, n, x]` is what neuron
    `neurons[n]` of the embedding has at place x of the first input. In a `group` f is the number of a representation, x
    a place in the order by cosets, and `held[k, n, f]` the share of a neuron's weights in a representation.
    """

    title: str
    model: str
    order: str
    loss: str
    key_frequencies: tuple[int, ...]
    measures: dict[str, Float[np.ndarray, "step"] | Int[np.ndarray, "step"]]
    norms: Float[np.ndarray, "step frequency"]
    neurons: tuple[int, ...]
    waves: Float[np.ndarray, "step neuron place"]
    group: Group | None = None
    held: Float[np.ndarray, "step neuron representation"] | None = None
    told = ("order", "loss", "key_frequencies", "measures", "norm_per_frequency")

    @property
    def norm_per_frequency(self) -> Float[np.ndarray, "step frequency"]:
        """The norms, as JSON calls them."""
        return self.norms

    @property
    def steps(self) -> Int[np.ndarray, "step"]:
        return self.measures["step"]

    def known(self, name: str) -> bool:
        """Whether a measure exists at any step."""
        return name in self.measures and bool(np.isfinite(self.measures[name]).any())

    def summary(self) -> str:
        share = self.measures["analytical_share"]
        return (
            f"{self.title}, {self.model}: {len(self.steps)} steps from {self.steps[0]} to "
            f"{self.steps[-1]}, analytical share {percent(share[0], 1)} to {percent(share[-1], 1)}"
        )

    def columns(self) -> dict[str, np.ndarray]:
        """One row for each step, the norm at frequency f in the column norm_f."""
        return {**self.measures, **{f"norm_{f}": column for f, column in enumerate(self.norms.T)}}

    def plot(self) -> Figure:
        """The measures over the steps, as a figure."""
        from modgrok.figures.film import film_figure

        return film_figure(self)


def film_of(
    frames: Iterable[tuple[int, Network]],
    *,
    final: LogitsView,
    training: Bool[np.ndarray, "table"] | None = None,
    progress: Progress | None = None,
) -> Film:
    """The film of a training: `frames` are its steps with their networks, `final` looks at the trained network."""
    frames = list(frames) if not isinstance(frames, Collection) else frames
    network = final.network
    order, group = order_of(network.function), group_of_word(network.function)
    if group is None:
        spectrum = np.abs(np.fft.rfft(embedding_along(network, order), axis=1)) ** 2
        neurons, key_frequencies = followed_neurons(spectrum), final.key_frequencies
    else:
        neurons, key_frequencies = followed_neurons(group_power(network, group)[0]), in_group(network).key
    rows, norms, waves, held = [], [], [], []
    for done, (step, frame) in enumerate(frames, start=1):
        seen = logits_view(frame, training=training, key_frequencies=final.key_frequencies, spectrum=False)
        rows.append({"step": step} | logits_measures(seen) | weight_measures(frame, order))
        if group is None:
            norms.append(embedding_norms(frame, order))
            waves.append(embedding_along(frame, order)[list(neurons)])
        else:
            rows[-1] |= group_measures(in_group(frame))
            by_representation = group_power(frame, group)
            norms.append(np.sqrt(by_representation.sum(axis=(0, 1))))
            own = by_representation[0, list(neurons)]
            held.append(own / np.maximum(own.sum(axis=1, keepdims=True), 1e-300))
            waves.append(embedding_along(frame, order)[list(neurons)][:, coset_order(group)])
        if progress is not None:
            progress(done, len(frames))
    return Film(
        network.title,
        network.model.name,
        order.name,
        final.loss,
        key_frequencies,
        {name: np.array([row[name] for row in rows]) for name in rows[0]},
        np.stack(norms),
        neurons,
        np.stack(waves),
        group,
        np.stack(held) if held else None,
    )


def in_group(network: Network) -> GroupView:
    """The view of a word in a group."""
    found = group_view(network, cosets=False)
    assert found is not None
    return found


def group_measures(found: GroupView) -> dict[str, float]:
    """The share of the logits' variance on the closed form, and what holds of the neurons, in a group."""
    one = None if found.neurons is None else share_of(found.neurons.one, found.neurons.alive)
    law = None if found.neurons is None else found.neurons.median_law()
    values = map(nan_for_none, (found.closed_form_share, one, law))
    return dict(zip(("analytical_share", *IN_GROUP), values, strict=True))


def group_power(network: Network, group: Group) -> Float[np.ndarray, "block neuron representation"]:
    """The squared weights that read inputs by representation; the trivial one has nothing but their mean."""
    weights, axes = host_blocks_of(network)
    read = [block.T for block, axis in zip(weights, axes, strict=True) if axis < network.model.variables]
    found = np.zeros((max(1, len(read)), len(group.representations), weights.shape[1]))
    for block, u in enumerate(read):
        for k, (part, rho) in enumerate(zip(transform(u, group), group.representations, strict=True)):
            found[block, k] = power(part, rho, group.order)
    return found.transpose(0, 2, 1)


def logits_measures(seen: LogitsView) -> dict[str, float]:
    """The analytical share, and losses and accuracies of the three versions on all parts of the table."""
    parts = ("all", "train", "test")
    measures = {"analytical_share": nan_for_none(seen.analytical_share)}
    for kind, values in (("loss", seen.losses), ("accuracy", seen.accuracies)):
        for version in VERSIONS:
            found: Mapping[str, float] = (values or {}).get(version, {})
            measures |= {f"{version}_{kind}_{part}": found.get(part, np.nan) for part in parts}
    return measures


def weight_measures(frame: Network, order: Order) -> dict[str, float]:
    """The mean IPR of every model; the rest for circuits of experts whose weights are waves."""
    if no_waves(frame) is None:
        experts = inspect_experts(frame)
        found = statistics(experts)
        snapped = accuracies(snapped_network(frame, experts))[0]
        values = (found["common_frequency_share"], found["phase_residual_median"], snapped)
        return {"ipr": nan_for_none(found["ipr"])} | dict(zip(OF_WEIGHTS, map(nan_for_none, values), strict=True))
    blocks = host_blocks_of(frame)
    ipr = float(periodicity(blocks, order.places).mean()) if len(blocks.weights) else np.nan
    return {"ipr": ipr} | dict.fromkeys(OF_WEIGHTS, np.nan)


def nan_for_none(value: float | None) -> float:
    return np.nan if value is None else value


def host_blocks_of(network: Network) -> Blocks:
    """The blocks of any model, in float64 on the host."""
    weights, places = network.model.blocks(network.params)
    return Blocks(np.asarray(weights, np.float64), places)


def embedding_norms(network: Network, order: Order) -> Float[np.ndarray, "frequency"]:
    """The norm of the weights that read inputs, at every frequency, over the inputs that have places."""
    blocks = host_blocks_of(network)
    power = [
        axis_power(weights, order.places, axis)
        for weights, axis in zip(blocks.weights, blocks.places, strict=True)
        if axis < network.model.variables and order.places.period[axis] > 0
    ]
    length = max((len(part) for part in power), default=1)
    return np.asarray(
        np.sqrt(np.sum([np.pad(part, (0, length - len(part))) for part in power] or [np.zeros(1)], axis=0))
    )


def embedding_along(network: Network, order: Order) -> Float[np.ndarray, "neuron place"]:
    """The weights of every neuron for the first input, in the order of its places, or of residues if it has none.

    A network of which only logits are known has no neurons.
    """
    blocks, place = np.asarray(host_blocks_of(network).weights), np.asarray(order.places.place)[0]
    weights = blocks[0] if len(blocks) else blocks.reshape(0, blocks.shape[-1])
    placed = np.flatnonzero(place >= 0)
    return weights[:, placed[np.argsort(place[placed])]] if len(placed) else weights


def followed_neurons(power: Float[np.ndarray, "neuron bin"]) -> tuple[int, ...]:
    """From each of the bins with most power in the trained embedding its strongest neuron; the first is the mean."""
    power = power[:, 1:]
    chosen: list[int] = []
    for f in np.argsort(-power.sum(axis=0), kind="stable").tolist():
        best: Sequence[int] = [k for k in np.argsort(-power[:, f], kind="stable").tolist() if k not in chosen]
        chosen += best[:1]
        if len(chosen) == FOLLOWED:
            break
    return tuple(chosen)
