"""From a network back to mathematics: which function its answers are, which waves compute it, and a closed-form twin.

The function comes from the answers alone (`recognition`), so it does not matter what a file says. Everything else is
about that function: in the order of residues, or the group, in which it is h(g1 · g2), the share of the logits'
variance on the analytical form, the loss without the rest and without it (restricted and excluded loss), waves for
every neuron, and a network that is made of these numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from modgrok.algebra.function import Function
from modgrok.base.results import Columns, Result, html_table, percent, plain_object
from modgrok.inspection.group_view import GroupTemplates, group_columns
from modgrok.inspection.input_spectrum import Axes, neuron_columns
from modgrok.inspection.inside import whole_inside
from modgrok.inspection.logits import LARGEST_LOGITS, LogitsView, Templates, logits_view
from modgrok.inspection.order import Labels, Order, witness_of
from modgrok.inspection.twins import Twin, neuron_twin, representation_twin, twin_of, wave_twin
from modgrok.inspection.waves import FittedWaves, fit_labels
from modgrok.networks.circuit import row_margins
from modgrok.networks.network import Network
from modgrok.recognition.recognising import Recognised, recognise

if TYPE_CHECKING:
    from modgrok.figures.style import Figure

SHOWN_FORMULAS = 3
"""Frequencies that are named in the words; all are in the JSON object."""


@dataclass(frozen=True, eq=False, repr=False)
class Decompiled(Result):
    """A network read back: `recognised` is the function, `view` what the logits compute of it, `twin` the closed form.

    `neurons` has a row for every hidden neuron, where the model tells them; `no_twin` says why there is no twin. On
    `tied` inputs the best logits are equal: the first of them is read as the answer, and it is none. None where the
    logits are too many to be looked at.
    """

    network: Network
    recognised: Recognised
    view: LogitsView | None = None
    neurons: Columns | None = None
    twin: Twin | None = None
    no_twin: str | None = None
    files: tuple[Path, ...] = ()
    tied: int | None = None

    @property
    def function(self) -> Function | None:
        """What the network computes; None where there is no formula."""
        return self.recognised.function

    @property
    def formula(self) -> str | None:
        return self.recognised.formula

    @property
    def order(self) -> str | None:
        """The order of residues in which its waves are waves; "group" where that is a group that is not cyclic."""
        if self.recognised.placed is not None:
            return "group"
        return None if self.view is None or self.view.templates is None else self.view.order

    @property
    def waves(self) -> list[dict[str, Any]]:
        """The key frequencies, or representations: their amplitude, and their share of the logits' variance."""
        view = self.view
        if view is None or view.templates is None or view.coefficients is None or view.shares is None:
            return []
        shares = view.shares
        titles = (
            [rho.title for rho in view.templates.irreducibles] if isinstance(view.templates, GroupTemplates) else None
        )
        return [
            {"frequency": f, "amplitude": float(view.coefficients[f]), "share": float(shares[f])}
            | ({} if titles is None else {"representation": titles[f]})
            for f in sorted(view.key_frequencies, key=lambda f: (-round(float(shares[f]), 6), f))
        ]

    def summary(self) -> str:
        if self.function is None:
            return self.recognised.summary()
        twin = (
            ""
            if self.twin is None
            else f"; its twin gives the same answer on {percent(self.twin.agreement)} of the inputs"
        )
        ties = f", {self.tied:,} of them by the first of equal logits" if self.tied else ""
        return f"{self.recognised.summary()}{ties}{twin}"

    def paragraph(self) -> str:
        """All of it in words."""
        return " ".join(sentences(self))

    def to_json(self) -> dict[str, Any]:
        """What `modgrok decompile --json` prints; docs/commands.md says what each key means."""
        view = None if self.view is None else self.view.to_json()
        return plain_object(
            {
                "model": self.network.model.name,
                "modulus": self.network.model.classes,
                **self.recognised.to_json(),
                "tied": self.tied,
                "order": self.order,
                "waves": self.waves,
                "logits": view,
                "neuron_waves": self.neuron_rows(),
                "twin": None if self.twin is None else self.twin.to_json(),
                "no_twin": self.no_twin,
                "paragraph": self.paragraph(),
                "files": self.files,
            }
        )

    def neuron_rows(self) -> list[dict[str, Any]] | None:
        """The columns of `neurons` as an object for each neuron."""
        if self.neurons is None:
            return None
        columns = [values.tolist() for values in self.neurons.values()]
        return [dict(zip(self.neurons, row, strict=True)) for row in zip(*columns, strict=True)]

    def _repr_html_(self) -> str:
        facts = {"function": self.formula or "no formula"}
        if self.function is not None:
            facts["right"] = f"{percent(self.recognised.share)} of the inputs"
        facts |= {"in words": self.paragraph()}
        return html_table(facts, f"decompiled {self.network.model.name}")

    def plot(self) -> Figure:
        """The original and its twin side by side; the answers alone where there is no formula."""
        from modgrok.figures.decompiled import decompiled_figure

        return decompiled_figure(self)


def decompile_network(network: Network, training: Bool[np.ndarray, "table"] | None = None) -> Decompiled:
    """Read a network back; `training` tells which rows of the table it was trained on, where that is known."""
    few = network.rows * network.model.classes <= LARGEST_LOGITS
    logits = network.logits(network.inputs()) if few else None
    answers = network.table() if logits is None else logits.argmax(axis=1).reshape(network.model.residues)
    recognised = recognise(answers, classes=network.model.classes, logits=logits, training=training)
    tied = None if logits is None else int((row_margins(logits.copy(), answers.reshape(-1)) == 0).sum())
    if recognised.function is None:
        return Decompiled(network, recognised, no_twin="there is no formula to make one of", tied=tied)
    named = replace(network, function=recognised.function, proof=None, unproved="", claimed=False)
    templates, absorbed = analytical_form(recognised)
    view = logits_view(named, training=training, templates=templates)
    if view.templates is None or view.coefficients is None:
        return Decompiled(network, recognised, view, no_twin=view.why, tied=tied)
    waves = expert_waves(named, view.templates)
    neurons = neuron_table(named, view.templates, waves)
    made = list(twins(named, recognised, view, waves, absorbed))
    best = max(made, key=lambda twin: (twin.agreement, twin.made_of == "neurons", -twin.waves), default=None)
    why = None if made else "none of its frequencies has a positive amplitude"
    return Decompiled(network, recognised, view, neurons, best, why, tied=tied)


def analytical_form(recognised: Recognised) -> tuple[Templates | None, int | None]:
    """The templates of the places that the recognition found, and the class of an absorbing zero.

    A polynomial has none yet; its witness is asked for when the logits are looked at.
    """
    if recognised.placed is not None:
        return GroupTemplates.of_group(recognised.placed), None
    witness, function = recognised.witness, recognised.function
    if witness is not None:
        return Templates.of(Labels.of(witness)), witness.h_absorbing
    labels = None if function is None else witness_of(function)
    if labels is None or function is None:
        return None, None
    return Templates.of(labels), absorbed_class(labels, function)


def absorbed_class(labels: Labels, function: Function) -> int | None:
    """The answer where an input has no place; None where all have one."""
    for axis, table in enumerate(labels.tables):
        for residue in np.flatnonzero(table < 0):
            return int(function.table[tuple(residue if k == axis else 0 for k in range(len(labels.tables)))])
    return None


def expert_waves(network: Network, templates: Templates) -> FittedWaves | None:
    """The waves of the neurons of an x² network along these places; None for other models, and over other groups."""
    if not network.is_circuit or isinstance(templates, GroupTemplates) or len(network.circuit.experts) > 1:
        return None
    (expert,), p = network.circuit.experts, len(templates.labels.tables[0])
    return fit_labels(expert, templates.labels) if expert.embed.shape[1] == expert.readout.shape[1] == p else None


def neuron_table(network: Network, templates: Templates, waves: FittedWaves | None) -> Columns | None:
    """A row for every hidden neuron; None for models that do not tell theirs."""
    if waves is not None:
        return Columns(expert_columns(waves, network.variables))
    if network.model.variables != 2:
        return None
    layers = [np.asarray(layer) for layer in whole_inside(network).neurons]
    if network.is_circuit and len(network.circuit.experts) == 1:
        expert, rows = network.circuit.experts[0], network.inputs()
        layers = [np.asarray(sum(expert.embed[s][rows[:, s]] for s in (0, 1)), np.float64) ** expert.power]
    if not layers:
        return None
    if isinstance(templates, GroupTemplates):
        parts = [group_columns(templates, layer, k) for k, layer in enumerate(layers, start=1)]
    else:
        order = Order("witness", templates.labels)
        axes = Axes.of(templates.labels, order, network.model.residues)
        parts = [neuron_columns(axes, layer, k) for k, layer in enumerate(layers, start=1)]
    return Columns({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def expert_columns(waves: FittedWaves, names: list[str]) -> dict[str, np.ndarray]:
    """The fitted waves of an expert's living neurons: one frequency, an amplitude and a phase for every block."""
    alive = np.flatnonzero(waves.alive)
    blocks = [*names, "readout"]
    explained = waves.explained.sum(axis=0) / np.maximum(waves.present.sum(axis=0), 1)
    columns = {
        "layer": np.ones(len(alive), int),
        "neuron": alive,
        "frequency": waves.frequency[alive],
        "left_over": np.clip(1 - explained[alive], 0, 1),
    }
    for block, amplitude, phase in zip(blocks, waves.amplitude[:, alive], waves.phase[:, alive], strict=True):
        columns |= {f"amplitude_{block}": amplitude, f"phase_{block}": phase}
    return columns


def twins(
    network: Network, recognised: Recognised, view: LogitsView, waves: FittedWaves | None, absorbed: int | None
) -> Iterator[Twin]:
    """Closed-form networks of the neurons' waves, and of the logits': key frequencies alone, and all that count."""
    templates, coefficients, function = view.templates, view.coefficients, recognised.function
    assert templates is not None and coefficients is not None and function is not None
    classes = network.model.classes
    if waves is not None:
        expert = neuron_twin(waves, network.circuit.experts[0].power, classes, absorbed)
        frequencies = np.unique(waves.frequency[waves.active])
        yield twin_of(network, function, expert, "neurons", len(frequencies))
    positive = tuple(f for f in range(1, len(coefficients)) if coefficients[f] > 0)
    for chosen in dict.fromkeys((view.key_frequencies, positive)):
        amplitudes = {f: float(coefficients[f]) for f in chosen}
        if not chosen:
            continue
        if isinstance(templates, GroupTemplates):
            irreducibles = [templates.irreducibles[f] for f in chosen]
            expert = representation_twin(templates.placed, irreducibles, list(amplitudes.values()))
        else:
            expert = wave_twin(templates.labels, amplitudes, classes, absorbed)
        yield twin_of(network, function, expert, "logits", len(chosen))


# ------------------------------------------------------------------------------------------------------ words


def sentences(found: Decompiled) -> Iterator[str]:
    """The paragraph, sentence by sentence."""
    recognised, view = found.recognised, found.view
    names = {"power": "x² network", "mlp": "MLP", "logits": "network of logits"}
    name = names.get(found.network.model.name, found.network.model.name)
    if recognised.function is None:
        yield f"This {name} has no formula: {recognised.why}."
        return
    errors = len(recognised.wrong)
    rows = recognised.answers.size
    right = "on every input" if not errors else f"on {rows - errors:,} of {rows:,} inputs ({percent(recognised.share)})"
    if found.tied:
        right += (
            f", if the first of its best logits counts: on {found.tied:,} inputs they are equal, which is no answer"
        )
    if found.network.led:
        right += f', among its values: on {found.network.led:,} inputs the class of "=", which is left out, leads'
    yield f"This {name} computes {recognised.formula} {right}."
    if (chance := recognised.log10_chance) is not None:
        yield f"Random answers would fit a formula of this family so well with a probability below 10^{int(chance)}."
    if view is None or view.templates is None or view.losses is None:
        yield f"No twin: {found.no_twin}."
        return
    yield from logits_sentences(found, view)
    if found.twin is not None:
        yield from twin_sentences(found.twin, errors)


def logits_sentences(found: Decompiled, view: LogitsView) -> Iterator[str]:
    group = isinstance(view.templates, GroupTemplates)
    what = "representation" if group else "frequency"
    several = "representations" if group else "frequencies"
    keys = [wave.get("representation", wave["frequency"]) for wave in found.waves]
    shown = ", ".join(map(str, keys[:SHOWN_FORMULAS])) + (", …" if len(keys) > SHOWN_FORMULAS else "")
    over = found.recognised.group or f"the {view.order} order of residues"
    yield (
        f"Over {over}, {percent(view.analytical_share, 1)} of the variance of its logits lies on the analytical form, "
        f"most of it on {len(keys)} {what if len(keys) == 1 else several} ({shown})."
    )
    losses = view.losses or {}
    part = "train" if "train" in losses["excluded"] else "all"
    where = "on its training set" if part == "train" else "on all inputs"
    yield (
        f"Its loss ({view.loss}) is {losses['full']['all']:.3g}; with these {several} alone it is "
        f"{losses['restricted']['all']:.3g} (restricted loss), and without them {losses['excluded'][part]:.3g} "
        f"{where} (excluded loss)."
    )
    if found.neurons is not None and len(found.neurons["left_over"]):
        median = float(np.median(found.neurons["left_over"]))
        yield f"One {what} explains {percent(1 - median, 1)} of a neuron (median)."


def twin_sentences(twin: Twin, errors: int) -> Iterator[str]:
    numbers = twin.to_json()
    source = "the waves of its neurons" if twin.made_of == "neurons" else "the amplitudes of its logits"
    yield (
        f"A closed-form twin with {twin.network.width:,} neurons, made of {source} alone, gives the same answer on "
        f"{percent(twin.agreement)} of the inputs"
        + (f", and on {numbers['same_error']:,} of its {errors:,} errors." if errors else ".")
    )
    if errors and not numbers["twin_errors"]:
        yield "The twin makes no errors: those of the network do not come from its waves."
