"""The same mathematics: what trained networks compute is the analytical solution, neuron by neuron.

The paper shows that trained weights are periodic (Figures 2 and 3). Here every living neuron of a trained sum and a
trained product is compared with the closed form: one frequency in all its blocks, phases of the inputs that add up to
the phase of the readout, and the network that is left when every block is replaced by its one fitted cosine. For
models without such neurons (an MLP, a transformer) the logits are compared: the share of their variance that has the
analytical form Σ_f A_f cos(2πf(n1 + n2 - q)/p), logarithms in place of residues for products.
"""

from __future__ import annotations

import numpy as np

from modgrok.base.results import percent
from modgrok.figures.inspection import typical_neurons
from modgrok.figures.paper import mathematics_figure
from modgrok.figures.style import Figure
from modgrok.inspection.experts import ExpertInspection, statistics
from modgrok.inspection.inspecting import Inspection, inspect_network
from modgrok.inspection.waves import wrap
from modgrok.reproduction.item import Effort, ItemResult, Summary, Values, Verdict
from modgrok.training.checkpoints import begin
from modgrok.training.config import TrainConfig

FUNCTIONS = ("n1 n2", "n1 + n2")
SHOWN = 3
"""Neurons whose weights are drawn."""
SMALL_PHASE = 0.1
"""An error of the phase law in radians, in the median, that is small."""


def compute(effort: Effort) -> ItemResult:
    settings: Values = {"width": 500, "steps": 600}
    modulus = 97
    if effort.quick:
        settings, modulus = {"width": 200, "steps": 300, "fraction": 0.7}, 23
    rows, data = [], {}
    for k, text in enumerate(FUNCTIONS):
        config = TrainConfig(text, modulus, **settings)
        training = begin(config)
        for step in config.measured_steps():
            training = training.segment(step - training.step)
            effort.progress(k * config.steps + step, len(FUNCTIONS) * config.steps)
        found = inspect_network(training.network(config))
        curves = {name: training.curves()[name].tolist() for name in ("step", "train_accuracy", "test_accuracy", "ipr")}
        rows.append(row_of(text, modulus, found, curves))
        data[text] = {"curves": curves, **drawn(found.experts[0])}
    return result_of(rows, data, {"modulus": modulus, **settings})


def row_of(text: str, modulus: int, found: Inspection, curves: dict[str, list[float]]) -> Values:
    """One trained network beside the analytical solution."""
    numbers = statistics(found.experts)
    share = found.logits.analytical_share
    return {
        "function": text,
        "modulus": modulus,
        "test_accuracy": curves["test_accuracy"][-1],
        "ipr": numbers["ipr_alive"],
        "common": numbers["common_frequency_share"],
        "frequencies": numbers["frequencies_used"],
        "phase_error": numbers["phase_residual_median"],
        "snapped": found.accuracy_nonzero,
        "logits": None if share is None else float(share),
    }


def drawn(part: ExpertInspection) -> Values:
    """What the figure needs: a typical neuron's first block at each of the slowest frequencies, and all phases."""
    waves, table = part.waves, part.waves.labels.tables[0]
    neurons = np.flatnonzero(waves.has_phases)
    order = np.argsort(table[table >= 0])
    weights = np.asarray(part.expert.embed)[0][table >= 0][order]
    return {
        "period": waves.period,
        "places": np.sort(table[table >= 0]).tolist(),
        "neurons": [
            {
                "frequency": int(waves.frequency[k]),
                "amplitude": float(waves.amplitude[0, k]),
                "phase": float(waves.phase[0, k]),
                "weights": np.round(weights[:, k].astype(float), 5).tolist(),
            }
            for k in typical_neurons(part)[:SHOWN]
        ],
        "phase_sums": np.round(wrap(waves.phase[:-1].sum(axis=0))[neurons], 4).tolist(),
        "readout_phases": np.round(wrap(waves.readout_phase)[neurons], 4).tolist(),
    }


def result_of(rows: list[Values], data: Values, settings: Values) -> ItemResult:
    """The item's result; what was recorded has rows of other models, too (`benchmarks/record.py`)."""
    holds = all(row["phase_error"] < SMALL_PHASE and row["snapped"] == 1.0 for row in rows)
    return ItemResult(
        item="mathematics",
        title="The same mathematics: trained networks beside the analytical solution",
        settings=settings,
        published={"claim": "trained networks learn similar solutions upon generalisation"},
        measured={"rows": rows, "others": []},
        verdict=Verdict.REPRODUCED if holds else Verdict.PARTLY,
        notes=(
            "one frequency: living neurons with the same frequency in all their blocks. phase error: median of "
            "|ψ1 + ψ2 - ψ_Q| in radians, of π at most. snapped: accuracy on the inputs without zero after every block "
            "of weights was replaced by its one fitted cosine. logits: share of the variance of the logits that has "
            "the analytical form.",
        ),
        columns={
            "function": "trained on",
            "modulus": "mod",
            "test_accuracy": "test accuracy",
            "ipr": "IPR, living",
            "common": "one frequency",
            "frequencies": "frequencies",
            "phase_error": "phase error",
            "snapped": "snapped",
            "logits": "logits",
        },
        rows=rows,
        data=data,
    )


def summarise(result: ItemResult) -> Summary:
    rows: list[Values] = result.rows
    worst = {name: min(row[name] for row in rows) for name in ("common", "snapped")}
    error = max(row["phase_error"] for row in rows)
    trained = {row["model"]: row["analytical"] for row in result.measured["others"] if row["kind"] == "trained"}
    shares = ", ".join(f"{share} ({model})" for model, share in trained.items())
    others = f"; of the variance of the logits {shares} has the analytical form" if trained else ""
    return Summary(
        "trained networks learn weights similar to the analytical solution",
        f"{percent(worst['common'], 0)} of the living neurons have one frequency, phases add up to {error:.2g} rad, "
        f"and snapped to cosines the networks are right on {percent(worst['snapped'], 0)} of the inputs without zero",
        f"neuron by neuron the trained sum and product are the analytical ones{others}",
    )


def figures(result: ItemResult) -> dict[str, Figure]:
    return {"mathematics": mathematics_figure(result.data[FUNCTIONS[0]], result.settings["modulus"])}
