"""Probes: one small network and the loss law."""

import numpy as np
import pytest

from modgrok.algebra.function import read_function
from modgrok.answers import probe as probing
from modgrok.answers.classifying import classify, is_quick
from modgrok.answers.probe import probe_function
from modgrok.censuses.families import expression_values
from modgrok.training import presets


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setitem(presets.DEFAULTS, "steps", 2)
    monkeypatch.setitem(presets.OF_MODEL["transformer"], "steps", 2)
    monkeypatch.setattr(probing, "SEGMENT", 2)


def test_probes_where_the_law_was_not_measured_say_what_they_measured_and_why_that_is_all(short):
    for table, reason in (
        (expression_values("x y", 7), "for modulus 13 to 127, not 7"),
        (np.zeros((5, 5, 5), int), "for modulus 13 to 127, not 5"),
    ):
        found = probe_function(read_function(table))
        assert (found.expected.value, found.expected.covered, found.expected.source) == (None, False, "probe")
        assert reason in found.expected.reason
        assert found.train_loss > 0 and 0 <= found.test_accuracy <= 1
        assert found.summary().startswith("a network of width 500 got ")
        assert f"stands for is not known: {found.expected.reason}" in found.summary()


@pytest.mark.parametrize(
    "model, called", [("mlp", "an MLP of width 256"), ("transformer", "a transformer of width 128")]
)
def test_who_asks_about_another_model_gets_a_probe_of_that_model(short, model, called):
    """Once an x² network was trained, and compared with what is expected of the other."""
    found = classify("n1 n2 + n1^2", 3, model=model, probe=True)
    assert (found.probe.model, found.probe.to_json()["model"]) == (model, model)
    assert f"probe: {called} got " in found.explain()
    assert f"the law was measured with model power, not {model}" in found.probe.expected.reason


def test_where_no_cell_is_left_to_test_a_probe_is_trained_only_if_it_is_asked_for(short):
    alone = read_function(lambda a, b: 5 if (a, b) == (3, 4) else None, 7)
    assert classify(alone).probe is None and not classify(alone).outlook.advice
    found = classify(alone, probe=True)
    assert found.probe.test_accuracy is None and found.outlook.outcome == "unknown"
    assert found.probe.summary().startswith("a network of width 500 had no unseen cell to be tested on after 2 steps")


def test_by_itself_a_probe_is_trained_where_it_takes_seconds_alone():
    few, many = (read_function(np.indices((side, side + 1)).sum(axis=0) % 2) for side in (38, 95))
    assert is_quick(few, 0.5, "power") and is_quick(few, 0.5, "mlp") and not is_quick(few, 0.5, "transformer")
    assert is_quick(many, 0.4, "power") and not is_quick(many, 0.5, "power") and not is_quick(many, 0.4, "mlp")


def test_a_table_too_large_is_not_trained_on():
    found = probe_function(read_function(np.zeros((43, 43, 43), int)))
    assert (found.train_loss, found.test_accuracy, found.expected.value) == (None, None, None)
    assert "up to 65,536 cells, this one has 79,507" in found.expected.reason
    assert found.to_json()["train_loss"] is None


@pytest.mark.slow
@pytest.mark.parametrize("text, low, high", [("8x^5 y + 34x^9 y^5", 0.95, 1.0), ("46x y^5 + 33x^3 y^10", 0.0, 0.1)])
def test_a_probe_knows_what_networks_learn_outside_the_class(text, low, high):
    found = probe_function(read_function(text, 97)).to_json()
    assert low <= found["value"] <= high and found["source"] == "probe"
    assert abs(found["value"] - found["test_accuracy"]) < 0.1
