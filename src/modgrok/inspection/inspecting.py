"""What a network has learned: what its logits compute, and for circuits of experts the waves in their weights.

`inspect_network` looks at any network. The logits, and what lies inside MLPs and transformers, are looked at when they
are first asked for (`logits`, `inside`); the experts of a circuit, and the snapped network, at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from modgrok.base.errors import InputError, check_choice
from modgrok.base.results import Result, html_table, percent, plain_object
from modgrok.inspection.experts import (
    STATISTICS,
    ExpertInspection,
    accuracies,
    input_names,
    inspect_experts,
    no_waves,
    snapped_network,
    statistics,
)
from modgrok.inspection.film import Film
from modgrok.inspection.group_view import GroupView, group_view
from modgrok.inspection.inside import InsideView, inside_view
from modgrok.inspection.logits import LogitsView, logits_view
from modgrok.inspection.order import ORDER_NAMES, order_of
from modgrok.networks.network import Network

if TYPE_CHECKING:
    from modgrok.figures.style import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(Result):
    """A network looked at.

    `experts`, and how often the `snapped` network is right, are for circuits of experts; `no_weights_view` says why
    another model has none. `training` tells which rows of the table trained the network, and `film` what it was at
    earlier steps, where that is known.
    """

    network: Network
    experts: tuple[ExpertInspection, ...] = ()
    snapped: Network | None = None
    accuracy: float | None = None
    accuracy_nonzero: float | None = None
    rows_checked: int | None = None
    no_weights_view: str | None = None
    training: Bool[np.ndarray, "table"] | None = None
    film: Film | None = None
    files: tuple[Path, ...] = ()

    @cached_property
    def logits(self) -> LogitsView:
        """What the logits compute, whatever the model is."""
        return logits_view(self.network, training=self.training)

    @cached_property
    def inside(self) -> InsideView:
        """Spectra of embedding and readout, neurons as functions of the inputs, attention."""
        return inside_view(self.network)

    @cached_property
    def in_group(self) -> GroupView | None:
        """Logits and neurons by representation, where the function is a word in a group."""
        return group_view(self.network)

    @property
    def order(self) -> str:
        """The order of residues in which weights are periodic; "mixed" if the experts of a circuit differ in it."""
        if not self.experts:
            return order_of(self.network.function).name
        orders = sorted({expert.order for expert in self.experts})
        return orders[0] if len(orders) == 1 else "mixed"

    def summary(self) -> str:
        if self.in_group is not None and self.in_group.shares is not None:
            return self.in_group.summary()
        if self.snapped is None:
            return self.logits.summary()
        found = statistics(self.experts)
        return (
            f"{self.network.title}: {percent(found['common_frequency_share'], 1)} of "
            f"{found['alive']} living neurons on one frequency ({self.order} order), snapped network "
            f"{percent(self.accuracy)} right"
        )

    def to_json(self) -> dict[str, Any]:
        """What `modgrok inspect --json` prints; docs/commands.md says what each key means."""
        experts = [expert.to_json() for expert in self.experts]
        names = ("accuracy", "accuracy_nonzero", "rows_checked")
        return plain_object(
            {
                "expression": self.network.expression,
                "modulus": self.network.function.modulus,
                "model": self.network.model.name,
                "order": self.order,
                "no_weights_view": self.no_weights_view,
                **(statistics(self.experts) if experts else dict.fromkeys(STATISTICS)),
                "snapped": {name: getattr(self, name) for name in names} if self.snapped else None,
                "nearest_design": experts[-1]["nearest_design"] if experts else None,
                "experts": experts,
                "logits": self.logits,
                "in_group": self.in_group,
                "inside": self.inside.to_json(),
                "film": self.film,
                "files": self.files,
            }
        )

    def _repr_html_(self) -> str:
        facts = {"model": self.network.model.name, "order of residues": self.order}
        if self.snapped is not None:
            found = statistics(self.experts)
            facts |= {
                "neurons alive": f"{found['alive']} of {found['width']}",
                "mean IPR, all / alive": f"{found['ipr']:.3f} / {found['ipr_alive']:.3f}",
                "neurons on one frequency": percent(found["common_frequency_share"], 1),
                "snapped network": f"{percent(self.accuracy)} right",
            }
        if self.in_group is not None:
            facts["logits on the closed form"] = percent(self.in_group.closed_form_share, 1)
        else:
            facts["logits on the analytical form"] = percent(self.logits.analytical_share, 1)
        return html_table(facts, self.network.title)

    def but(self, **fields: Any) -> Inspection:
        """The same inspection with other fields; what was looked at already is kept."""
        other = replace(self, **fields)
        other.__dict__.update(
            {name: seen for name, seen in self.__dict__.items() if name in ("logits", "in_group", "inside")}
        )
        return other

    def columns(self) -> dict[str, np.ndarray]:
        """One row per expert, neuron and block, as columns."""
        return neuron_columns(self)

    # -------------------------------------------------------------------------------------- figures

    def figures(self) -> dict[str, Figure]:
        """Every figure of this network, by the name of its file."""
        from modgrok.figures.inspection import inspection_figures

        return inspection_figures(self)

    def plot_logits(self) -> Figure:
        """What the logits compute: shares by frequency, the mean logit around the right class, their spectrum."""
        return self._figure("logits")

    def plot_representations(self) -> Figure:
        """A word in a group: logits and neurons by representation, and the law of the neurons' factors."""
        return self._figure("representations")

    def plot_spectra(self, expert: int | None = None) -> Figure:
        """Power by frequency: of every neuron of an expert, or of the embedding and readout of another model."""
        return self._figure("spectrum", expert)

    def plot_neurons(self, expert: int | None = None) -> Figure:
        """A few neurons: the waves of an expert's weights, or what neurons of another model answer to (n1, n2)."""
        return self._figure("neurons", expert)

    def plot_phases(self, expert: int | None = None) -> Figure:
        """The phase law of an expert."""
        return self._figure("phases", expert)

    def plot_ipr(self, expert: int | None = None) -> Figure:
        """How periodic the neurons of an expert are."""
        return self._figure("ipr", expert)

    def plot_frequencies(self, expert: int | None = None) -> Figure:
        """Neurons per frequency of an expert."""
        return self._figure("frequencies", expert)

    def plot_attention(self) -> Figure:
        """Where the heads of a transformer look, as a function of (n1, n2)."""
        return self._figure("attention")

    def plot_film(self) -> Figure:
        """The measures over the steps of the training."""
        return self._figure("film")

    def _figure(self, name: str, expert: int | None = None) -> Figure:
        """One of `figures`; of several experts the one that is asked for, counted from 1, or the last."""
        from modgrok.figures.inspection import figure_makers

        makers = figure_makers(self)
        several = len(self.experts) > 1
        if several and any(made.endswith(f"-{name}") for made in makers):
            name = f"expert{len(self.experts) if expert is None else expert}-{name}"
        if name not in makers or (expert not in (None, 1) and not several):
            raise InputError(
                f"there is no figure {name} of this {self.network.model.name}; there are {', '.join(makers)}"
            )
        return makers[name]()


def inspect_network(network: Network, *, order: str = "auto") -> Inspection:
    """Fit waves to every expert, snap them, and check the snapped network; other models have no experts."""
    check_choice("order", order, ORDER_NAMES)
    if (why := no_waves(network)) is not None:
        return Inspection(network, no_weights_view=why)
    experts = inspect_experts(network, order)
    snapped = snapped_network(network, experts)
    return Inspection(network, experts, snapped, *accuracies(snapped))


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
