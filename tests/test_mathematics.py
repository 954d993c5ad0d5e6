"""The same mathematics: the paper's item on trained sums and products, and the benchmark on other models, in small."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from modgrok.reproduction import mathematics
from modgrok.reproduction.item import Effort, ItemResult, Verdict

FILE = Path(__file__).parent.parent / "benchmarks" / "mathematics.py"


def test_trained_sums_and_products_are_the_analytical_solution_neuron_by_neuron():
    """The waves that are drawn explain the weights, by cosines made here; the phases lie on the diagonal."""
    shares = []
    result = mathematics.compute(Effort("quick", progress=lambda done, total: shares.append(done / total)))
    assert result.verdict is Verdict.REPRODUCED and ItemResult.from_json(result.to_json()) == result
    assert shares[-1] == 1 and shares == sorted(shares)
    assert [(row["function"], row["modulus"]) for row in result.rows] == [("n1 n2", 23), ("n1 + n2", 23)]
    for row, period in zip(result.rows, (22, 23), strict=True):
        assert row["test_accuracy"] > 0.99 and row["snapped"] == 1 and row["logits"] > 0.9
        drawn = result.data[row["function"]]
        assert drawn["period"] == period and drawn["places"] == list(range(period))
        for neuron in drawn["neurons"]:
            weights, angles = np.array(neuron["weights"]), 2 * np.pi * neuron["frequency"] * np.arange(period) / period
            left = weights - neuron["amplitude"] * np.cos(angles + neuron["phase"])
            assert np.square(left).sum() < 0.3 * np.square(weights).sum()
        away = np.abs(np.angle(np.exp(1j * (np.array(drawn["phase_sums"]) - drawn["readout_phases"]))))
        assert np.median(away) == pytest.approx(row["phase_error"], abs=1e-3) and np.median(away) < 0.1
    assert mathematics.summarise(result).why.startswith("neuron by neuron")


def test_a_trained_network_has_the_analytical_form_and_no_other_has(tmp_path):
    spec = spec_from_file_location("mathematics", FILE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(["--mod", "23", "--quick", "--models", "power", "--out", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    rows = {row["kind"]: row for row in found["rows"]}
    assert list(rows) == ["untrained", "trained", "memorised"] and found["modulus"] == 23
    assert rows["trained"]["test_accuracy"] > 0.99 and rows["trained"]["analytical_share"] > 0.9
    assert rows["memorised"]["train_accuracy"] > 0.99 and rows["memorised"]["test_accuracy"] < 0.2
    for kind in ("untrained", "memorised"):
        assert rows[kind]["analytical_share"] < 0.01
    noise = 11 / (22 * 22 * 21)  # eleven waves in the logits of 22² rows, each with a mean of 0 over 22 classes
    assert rows["trained"]["noise_share"] == pytest.approx(noise)
