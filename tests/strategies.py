"""Random circuits and networks for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from modgrok.algebra.function import read_function
from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.description import ExpertPlan, Learned
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
    expression = " + ".join(f"n{v}" for v in range(1, circuit.variables + 1))
    return Network.of_circuit(
        circuit,
        read_function(expression, circuit.classes),
        draw(st.sampled_from(["paper", "exact"])),
        plan=tuple(draw(expert_plans(expert.width)) for expert in circuit.experts),
        claimed=draw(st.booleans()),
        notes=tuple(draw(st.lists(st.text(max_size=5), max_size=2))),
        settings=draw(st.dictionaries(st.text(max_size=5), plain, max_size=3)),
    )


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def expert_plans(draw: st.DrawFn, width: int) -> ExpertPlan:
    """What an expert may say of itself, some of it left out."""
    return ExpertPlan(
        kind=draw(st.sampled_from(["sum", "product", "trained"])),
        text=draw(st.sampled_from(["", "…", "n1 + 2 n2^3", "h(g1(n1) + g2(n2)) over Z_4 with an absorbing element"])),
        inputs=tuple(draw(st.lists(st.sampled_from(["n1", "e1"]), max_size=3))),
        width=width,
        group_order=draw(st.none() | st.integers(1, 7)),
        absorbing=draw(st.booleans()),
        frequencies=draw(st.none() | st.tuples(st.integers(0, 3))),
        margin=draw(st.none() | NUMBERS),
        beta=draw(st.none() | NUMBERS),
        own_accuracy=draw(st.none() | NUMBERS),
        learned=draw(st.none() | st.builds(Learned, st.text(max_size=5), NUMBERS, NUMBERS)),
    )
