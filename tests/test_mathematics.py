"""The benchmark that asks whether other models find the same mathematics, in small."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "benchmarks" / "mathematics.py"


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
