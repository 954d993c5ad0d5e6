"""Which phases a trained or planted expert comes nearest to: the exact design, the narrow one, or random ones."""

from __future__ import annotations

import numpy as np
import pytest
from analytic import network_of, sum_expert

from modgrok.inspection.experts import inspect_expert
from modgrok.inspection.inspecting import inspect_network
from modgrok.inspection.order import natural_order
from modgrok.networks.circuit import Expert


def designed(p, phases, *, constant=0.0):
    """All frequencies of p with these phases, and one neuron that takes `constant` cos(2πfq/p) away again."""
    terms = len(phases)
    angle = 2 * np.pi * np.outer(np.arange(1, (p + 1) // 2), np.arange(p)) / p
    embed = np.concatenate([np.cos(a + phases[:, None, :].swapaxes(1, 2)) for a in angle], axis=1)
    readout = np.concatenate([np.cos(a + phases.sum(axis=0)[:, None]) for a in angle])
    if constant:
        bias = np.zeros((terms, 1, p))
        bias[0] = 1
        embed = np.concatenate([embed, bias], axis=1)
        readout = np.concatenate([readout, -constant * np.cos(angle).sum(axis=0, keepdims=True)])
    return Expert(embed.swapaxes(1, 2), readout, terms)


def test_the_nearest_design_is_the_one_the_phases_come_from():
    turn = np.arange(3) * np.pi / 3
    exact = designed(23, np.array([[*turn, *turn], [*turn, *(turn + np.pi)]]))
    a = np.pi / 8
    narrow = designed(
        23, np.array([[a, -a, 3 * a, -3 * a], [a, -a, 3 * a + np.pi, np.pi - 3 * a]]), constant=2 * 2**0.5
    )
    drawn, _, _ = sum_expert(23, 2000, (1, 1), rng=np.random.default_rng(5))
    for expert, name, count in [(exact, "exact", 6), (narrow, "narrow", 4)]:
        inspected = inspect_network(network_of(expert, "n1 + n2", 23))
        design = inspected.to_json()["nearest_design"]
        assert design["name"] == name and design["neurons_per_frequency"]["median"] == count
        assert design["leakage_ratio"] < 1e-12 and f"the {name} design" in design["words"]
        assert inspected.accuracy == 1
    design = inspect_expert(drawn, [natural_order("additive", 23, 2)]).nearest_design
    assert design.name == "random"
    assert design.leakage_ratio == pytest.approx(1, abs=0.15)
    assert design.designs == {"exact": 6, "narrow": 4}


def test_leakage_of_a_single_neuron_by_hand():
    """cos(φ+ψ)(cos x + cos y)²: of e^{-iφ}'s partner the wanted e^{i(x+y)} has 1/2, the rest is listed.

    (cos x + cos y)² = 1 + (cos 2x + cos 2y)/2 + cos(x+y) + cos(x-y), so the coefficients of characters are
    1, four times 1/4, and 1/2 for x+y, -x-y, x-y, y-x; all but one of the latter leak.
    """
    expert = designed(3, np.zeros((2, 1)))
    design = inspect_expert(expert, [natural_order("additive", 3, 2)]).nearest_design
    exact = np.sqrt(1 + 4 / 16 + 3 / 4) / (1 / 2)
    assert design.leakage == pytest.approx(exact, rel=0.05)
    assert design.leakage_ratio == pytest.approx(1)
