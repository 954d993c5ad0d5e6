"""Questions about networks: compiled ones and those of runs, their experts, and one input on its way through them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from modgrok.algebra.cosets import coset_order
from modgrok.algebra.function import Function
from modgrok.algebra.groups import Group
from modgrok.base.errors import InputError, check_choice
from modgrok.base.results import plain_object
from modgrok.compiler.compiling import compile
from modgrok.explorer.asking import Params, number, run_folder, whole
from modgrok.explorer.encoding import encoded
from modgrok.explorer.functions import asked_function
from modgrok.explorer.limits import check_settings, here
from modgrok.explorer.recipes import Recipe, of_network
from modgrok.inspection.experts import ExpertInspection, input_names, inspect_experts, neurons_per_frequency
from modgrok.inspection.group_view import neurons_of
from modgrok.inspection.order import NO_ORDER, Labels, witness_of
from modgrok.networks.circuit import Expert, hidden_neurons, row_margins, wire_signals
from modgrok.networks.export import export
from modgrok.networks.network import Network, check_rows
from modgrok.networks.predicting import Prediction
from modgrok.networks.storage import WEIGHTS, load
from modgrok.networks.verification import answers, verify
from modgrok.training.inspecting import inspect

KEPT_NETWORKS = 16
DROPPED, NETWORK_FILE = "network-", "network.safetensors"
"""Where a network lies that was dropped on the page."""
SHOWN_NEURONS = 12
SHOWN_FREQUENCIES = 16
"""Frequencies whose part in the logits is shown on its own."""
WAVES = 0.5
"""Share of weights that cosines must explain for an expert to be shown as waves."""


@dataclass(frozen=True, eq=False)
class Examined:
    """A network, and what is found out about its experts when they are first asked for."""

    network: Network

    @cached_property
    def experts(self) -> tuple[ExpertInspection, ...]:
        return inspect_experts(self.network)

    def waves_of(self, count: int) -> ExpertInspection | None:
        """An expert whose weights are waves; None for one that looks cells up, or has no circle to be a wave on."""
        try:
            part = self.experts[count - 1]
        except InputError:  # inputs and output of different sizes lie on no common circle
            return None
        explained = part.explained[part.waves.active]
        return None if part.order == NO_ORDER or (len(explained) and np.median(explained) < WAVES) else part

    @cached_property
    def used(self) -> Int[np.ndarray, "width"] | None:
        """The representation of its group that each neuron uses, 0 where none; None for what is no word in a group, or
        has waves."""
        group = self.network.function.structure
        if not isinstance(group, Group) or witness_of(self.network.function) is not None:
            return None
        found = neurons_of(self.network, group, cosets=False)
        return None if found is None else np.where(found.alive, found.used, 0)

    def split(self) -> tuple[str, Int[np.ndarray, "width"]] | None:
        """By what the neurons of the last expert are told apart, and the number of each; 0 is constant."""
        part = self.waves_of(len(self.network.circuit.experts))
        if part is not None:
            return "frequency", part.waves.frequency
        return None if self.used is None else ("representation", self.used)


def compiled(function: Function, method: str, settings: tuple[tuple[str, Any], ...]) -> Examined:
    return compiled_once(function, (function.title, function.source, function.variables), method, settings)


@lru_cache(maxsize=KEPT_NETWORKS)
def compiled_once(
    function: Function, called: tuple[Any, ...], method: str, settings: tuple[tuple[str, Any], ...]
) -> Examined:
    """Functions are equal where their values are; what one is `called`, another is not told."""
    given = function if function.expression is None else f"{function.expression} mod {function.values}"
    return Examined(compile(given, method=method, **dict(settings)))


@lru_cache(maxsize=KEPT_NETWORKS)
def of_run(folder: Path, changed: float) -> Examined:
    return Examined(load(folder))


@lru_cache(maxsize=KEPT_NETWORKS)
def of_dropped(tables: Path, name: str) -> Examined:
    file = tables / f"{DROPPED}{name}" / NETWORK_FILE
    if not re.fullmatch(r"[0-9a-f]{32}", name) or not file.exists():
        raise InputError("this network is not kept any more; drop its file on the page again")
    return Examined(load(file))


def asked_network(params: Params) -> Examined:
    """The network that a question is about: one that was dropped, that of a `run`, or one that is compiled."""
    if params.get("network"):
        return of_dropped(Path(str(params["tables"])), str(params["network"]))
    if params.get("run"):
        folder = run_folder(params)
        weights = folder / WEIGHTS
        return of_run(folder, weights.stat().st_mtime if weights.exists() else 0.0)
    method, chosen = asked_design(params)
    return compiled(asked_function(params), method, tuple(sorted(chosen.items())))


def asked_design(params: Params) -> tuple[str, dict[str, Any]]:
    """How a network is to be compiled: the method and its settings."""
    method = str(params.get("method") or "exact")
    settings = {name: whole(params, name) for name in ("seed", "mul_width", "add_width")}
    settings = {name: value for name, value in settings.items() if value is not None}
    check_settings(settings, here().settings)
    chosen: dict[str, Any] = dict(settings)
    if params.get("beta"):
        chosen["beta"] = number(params, "beta", 100.0)
    if text := str(params.get("frequencies") or ""):
        chosen["frequencies"] = text if text in ("all", "minimal") else whole(params, "frequencies")
    return method, chosen


def network(params: Params) -> dict[str, Any]:
    """The network without its weights, and its plan as a graph."""
    return network_view(asked_network(params).network) | {"recipe": recipe(params)}


def network_view(found: Network) -> dict[str, Any]:
    orders = [expert.group_order or 0 for expert in found.plan]
    return {
        **found.to_json(),
        "title": found.title,
        "proof_text": found.proof_text,
        "most_frequencies": max([1, *(order // 2 for order in orders)]),
        "graph": graph(found),
    }


def recipe(params: Params) -> Recipe | None:
    """How to make the network without the page; that of a run, and one that was dropped, are there already."""
    if params.get("network") or params.get("run"):
        return None
    return of_network(asked_function(params), *asked_design(params))


def graph(found: Network) -> dict[str, Any]:
    """Variables and experts as nodes, wires as edges."""
    circuit, names = found.circuit, wire_names(found)
    variables = [
        {"id": name, "kind": "variable", "text": name, "symbols": size}
        for name, size in zip(found.variables, found.model.residues, strict=True)
    ]
    experts = [
        {
            "id": f"e{k}",
            "kind": about.kind,
            "text": about.text,
            "symbols": expert.readout.shape[-1],
            "expert": k,
            "width": expert.width,
        }
        for k, (about, expert) in enumerate(zip(found.plan, circuit.experts, strict=True), start=1)
    ]
    edges = [[names[wire], f"e{k}"] for k, wires in enumerate(circuit.wires, start=1) for wire in dict.fromkeys(wires)]
    return {"nodes": variables + experts, "edges": edges, "output": f"e{len(experts)}"}


def wire_names(found: Network) -> list[str]:
    return [*found.variables, *(f"e{k + 1}" for k in range(len(found.circuit.experts)))]


def verification(params: Params) -> dict[str, Any]:
    """The verb verify."""
    found = verify(asked_network(params).network)
    return {**found.to_json(), "text": found.summary()}


def inspection(params: Params) -> dict[str, Any]:
    """The verb inspect, without a film; a run's network knows its split."""
    found = inspect(asked_network(params).network, film=[])
    return {**found.to_json(), "text": found.summary()}


def download(params: Params) -> tuple[bytes, str]:
    """The network as a file, and a name for it."""
    found, form = asked_network(params).network, str(params.get("format") or "safetensors")
    check_choice("format", form[:40], ("safetensors", "onnx"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"network.{form}"
        if form == "onnx":
            export(found, "onnx", path)
        else:
            found.save(path)
        words = "".join(c if c.isascii() and (c.isalnum() or c in "+-^") else "_" for c in found.title.replace(" ", ""))
        return path.read_bytes(), f"{words[:60]}-{found.method}.{form}"


# ------------------------------------------------------------------------------------------ one expert


def expert(params: Params) -> dict[str, Any]:
    """One expert: what its neurons are told apart by, and for some of them the weights themselves.

    Of waves, a residue lies where its multiple, or its place by the witness, lies; there every block of a neuron is the
    wave amplitude · cos(2π · frequency · place / period + phase), with one frequency for all blocks. In a group that is
    not cyclic weights stand over the elements by cosets, and a neuron has a representation.
    """
    return expert_view(asked_network(params), whole(params, "expert") or 1)


def expert_view(examined: Examined, count: int) -> dict[str, Any]:
    network = examined.network
    experts, wires = network.circuit.experts, network.circuit.wires
    if not 1 <= count <= len(experts):
        raise InputError(f"this network has the experts 1 … {len(experts)}, got {count}")
    about = network.plan[count - 1] if network.plan else None
    part = examined.waves_of(count)
    return plain_object(
        {
            "expert": count,
            "text": network.title if about is None else about.text,
            "blocks": [*input_names(network, wires[count - 1]), "readout"],
            "width": experts[count - 1].width,
            **(drawn_weights(examined, count) if part is None else drawn_waves(part)),
        }
    )


def drawn_waves(part: ExpertInspection) -> dict[str, Any]:
    """Neurons whose weights are cosines along a circle."""
    waves = part.waves
    shown = shown_neurons(waves.frequency, np.where(waves.alive, waves.amplitude.sum(axis=0), -1))
    return {
        "order": part.order,
        "period": waves.period,
        "split": "frequency",
        "kinds": None,
        "neurons": {
            "frequency": waves.frequency,
            "amplitude": waves.amplitude.T,
            "phase": waves.phase.T,
            "alive": waves.alive,
        },
        "frequencies": neurons_per_frequency(waves),
        "shown": shown,
        "waves": encoded(weights_by_place(part.expert, waves.labels, shown), "f32"),
    }


def drawn_weights(examined: Examined, count: int) -> dict[str, Any]:
    """Neurons whose weights are no waves: as they are, over the elements of a group by cosets."""
    found, used = examined.network, examined.used
    circuit, group = found.circuit, found.function.structure
    expert = circuit.experts[count - 1]
    sizes = [*found.model.residues, *(each.readout.shape[-1] for each in circuit.experts)]
    embed, readout = np.asarray(expert.embed, np.float64), np.asarray(expert.readout, np.float64)
    blocks = [*(embed[s][: sizes[wire]] for s, wire in enumerate(circuit.wires[count - 1])), readout.T]
    order, kinds, told = "natural", None, {}
    if isinstance(group, Group) and all(len(block) == group.order for block in blocks):
        order, along = "cosets", coset_order(group)
        blocks = [block[along] for block in blocks]
        if used is not None:
            kinds = [f"{rho.kind}, degree {rho.degree}" for rho in group.representations]
            told = {number: int((used == number).sum()) for number in np.unique(used[used > 0]).tolist()}
    numbers = np.zeros(expert.width, int) if used is None else used
    shown = shown_neurons(numbers, np.sum([(block**2).sum(axis=0) for block in blocks], axis=0))
    placed = np.full((len(shown), len(blocks), max(map(len, blocks))), np.nan)
    for k, block in enumerate(blocks):
        placed[:, k, : len(block)] = block.T[shown]
    return {
        "order": order,
        "period": placed.shape[2],
        "split": None if kinds is None else "representation",
        "kinds": kinds,
        "neurons": {"frequency": numbers, "amplitude": None, "phase": None, "alive": np.ones(expert.width, bool)},
        "frequencies": told,
        "shown": shown,
        "waves": encoded(placed, "f32"),
    }


def shown_neurons(
    frequency: Int[np.ndarray, "width"], size: Float[np.ndarray, "width"], most: int = SHOWN_NEURONS
) -> list[int]:
    """The largest neurons, of different frequencies as far as there are enough."""
    first: dict[int, int] = {}
    largest = [k for k in np.argsort(-size, kind="stable").tolist() if size[k] >= 0]
    for k in largest:
        first.setdefault(int(frequency[k]), k)
    chosen = dict.fromkeys([*first.values(), *largest])
    return sorted(list(chosen)[:most])


def weights_by_place(part: Expert, labels: Labels, neurons: Sequence[int]) -> Float[np.ndarray, "neuron block place"]:
    """The weights of some neurons at every place of the circle, NaN where no residue lies; means where several do."""
    embed, readout = np.asarray(part.embed, np.float64), np.asarray(part.readout, np.float64)
    placed = [mean_at(labels.tables[s], embed[s][:, neurons], labels.period) for s in range(part.terms)]
    spread = np.full((labels.period, len(neurons)), np.nan)
    spread[labels.reached] = readout[neurons][:, labels.outputs[labels.reached]].T
    return np.stack([*placed, spread]).transpose(2, 0, 1)


def mean_at(
    place: Int[np.ndarray, "p"], weights: Float[np.ndarray, "p neuron"], period: int
) -> Float[np.ndarray, "place neuron"]:
    """The mean of the rows of `weights` at each place."""
    kept = place >= 0
    total, count = np.zeros((period, weights.shape[1])), np.zeros(period)
    np.add.at(total, place[kept], weights[: len(place)][kept])
    np.add.at(count, place[kept], 1)
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], np.nan)


# ------------------------------------------------------------------------------------------ one input


def flow(params: Params) -> dict[str, Any]:
    """One input on its way: what every wire carries, the logits, and which frequency adds what to them."""
    examined = asked_network(params)
    found = examined.network
    row = asked_row(params, found)
    circuit, last, names = found.circuit, found.circuit.experts[-1], wire_names(found)
    with found.precision():
        signals = [np.asarray(signal) for signal in wire_signals(circuit, row)]
    hidden = np.asarray(hidden_neurons(last, [signals[wire] for wire in circuit.wires[-1]])) ** last.power
    logits, expected = signals[-1], int(answers(found, row[None])[0])
    value = int(logits.argmax())
    margin = float(row_margins(logits[None].copy(), np.array([value if expected < 0 else expected]))[0])
    answer = Prediction(tuple(row.tolist()), value, None if expected < 0 else expected, margin, found.function)
    wires = [{"id": names[k], "value": int(value), "distribution": None} for k, value in enumerate(row)]
    wires += [
        {"id": names[k], "value": int(signal.argmax()), "distribution": encoded(signal, "f32")}
        for k, signal in enumerate(signals[len(row) : -1], start=len(row))
    ]
    wires.append({"id": names[-1], "value": value, "distribution": None})
    return {
        **answer.to_json(),
        "variables": found.variables,
        "wires": wires,
        "logits": encoded(logits, "f32"),
        **by_frequency(examined, hidden),
    }


def asked_row(params: Params, found: Network) -> Int[np.ndarray, "variable"]:
    """The residues that are asked about: `n` lists them, with commas."""
    words = [word for word in str(params.get("n") or "").split(",") if word.strip()]
    if len(words) != len(found.variables):
        raise InputError(f"this network takes {len(found.variables)} values, as in n=12,34; got {len(words)}")
    return check_rows(
        found.model,
        [part.element(whole({"n": word}, "n")) for word, part in zip(words, found.function.inputs, strict=True)],
    )


def by_frequency(examined: Examined, hidden: Float[np.ndarray, "width"]) -> dict[str, Any]:
    """The logits as a sum over what tells the last expert's neurons apart, frequencies or representations of a group,
    the largest parts first."""
    contributions = hidden[:, None] * np.asarray(examined.network.circuit.experts[-1].readout, np.float64)
    split = examined.split()
    if split is None:
        return {"split": None, "by_frequency": [], "rest": encoded(contributions.sum(axis=0), "f32")}
    what, own = split
    parts = {int(f): contributions[own == f].sum(axis=0) for f in np.unique(own)}
    largest = sorted(parts, key=lambda f: -float(np.ptp(parts[f])))
    shown = [{"frequency": f, "logits": encoded(parts[f], "f32")} for f in largest[:SHOWN_FREQUENCIES]]
    rest = [parts[f] for f in largest[SHOWN_FREQUENCIES:]]
    return {"split": what, "by_frequency": shown, "rest": encoded(np.sum(rest, axis=0), "f32") if rest else None}
