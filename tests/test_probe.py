"""Probes: one small network and the loss law."""

import numpy as np
import pytest

from modgrok.answers.probe import probe_table
from modgrok.census.families import expression_values
from modgrok.errors import InputError


@pytest.mark.usefixtures("unchecked")
def test_probes_where_the_law_was_not_measured_are_refused():
    with pytest.raises(InputError, match="for modulus 43 to 113, not 23"):
        probe_table(expression_values("x y", 23), 23)
    with pytest.raises(InputError, match="functions of two variables, got 3"):
        probe_table(np.zeros((43, 43, 43), int), 43)


@pytest.mark.slow
@pytest.mark.parametrize("text, low, high", [("8x^5 y + 34x^9 y^5", 0.95, 1.0), ("46x y^5 + 33x^3 y^10", 0.0, 0.1)])
def test_a_probe_knows_what_networks_learn_outside_the_class(text, low, high):
    found = probe_table(expression_values(text, 97), 97).json()
    assert low <= found["predicted_test_accuracy"] <= high
    assert abs(found["predicted_test_accuracy"] - found["measured_test_accuracy"]) < 0.1
