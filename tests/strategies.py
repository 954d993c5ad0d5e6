"""Random circuits and networks for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.network import Network


@st.composite
def circuits(draw: st.DrawFn) -> Circuit:
    """A circuit with random shapes, wires and weights; its variables are residues modulo its number of classes."""
    p, variables = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    experts, wires = [], []
    for k in range(draw(st.integers(1, 4))):
        wires.append(tuple(draw(st.lists(st.integers(0, variables + k - 1), min_size=1, max_size=4))))
        width, power = draw(st.integers(1, 6)), draw(st.integers(1, 4))
        embed = rng.normal(size=(len(wires[k]), p, width)).astype(dtype)
        experts.append(Expert(embed, rng.normal(size=(width, p)).astype(dtype), power))
    betas = rng.uniform(0.5, 3, size=len(experts)).astype(dtype)
    return Circuit(tuple(experts), betas, tuple(wires), variables)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """A random circuit that claims to compute a sum of its variables."""
    circuit = draw(circuits())
    plain = st.one_of(st.integers(-100, 100), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5))
    plan = tuple({"kind": "any", "inputs": ["n1"], "width": expert.width} for expert in circuit.experts)
    settings = draw(st.dictionaries(st.text(max_size=5), plain, max_size=3))
    expression = " + ".join(f"n{v}" for v in range(1, circuit.variables + 1))
    return Network(circuit, expression, circuit.classes, draw(st.sampled_from(["paper", "exact"])), plan, settings)
