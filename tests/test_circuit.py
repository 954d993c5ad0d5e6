"""The forward pass against explicit loops, and the checks of a circuit's shape."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from strategies import circuits

from modgrok.base.errors import InputError
from modgrok.networks.circuit import Circuit, Expert, batch_logits, check_circuit, expert_logits, single

pytestmark = pytest.mark.usefixtures("strict_types")


def loop_logits(circuit: Circuit, row: np.ndarray) -> list[float]:
    """The same function, one multiplication at a time, on Python floats and one-hot vectors."""
    p = circuit.experts[0].embed.shape[1]
    signals = [[1.0 if i == x else 0.0 for i in range(p)] for x in row]
    for expert, wires, beta in zip(circuit.experts, circuit.wires, circuit.betas, strict=True):
        hidden = [
            sum(
                signals[wire][i] * float(expert.embed[s, i, k])
                for s, wire in enumerate(wires)
                for i in range(expert.embed.shape[1])
            )
            for k in range(expert.width)
        ]
        output = [
            sum(float(expert.readout[k, q]) * hidden[k] ** expert.power for k in range(expert.width))
            for q in range(expert.readout.shape[1])
        ]
        weights = np.exp(float(beta) * (np.array(output) - max(output)))
        signals.append(list(weights / weights.sum()))
    return output


@settings(max_examples=15)  # each is compiled
@given(circuits(), st.integers(0, 2**32 - 1))
def test_the_forward_pass_agrees_with_loops(circuit, seed):
    rows = np.random.default_rng(seed).integers(circuit.classes, size=(3, circuit.variables))
    with jax.enable_x64(True):
        computed = batch_logits(circuit.astype(np.float64), rows)
    assert computed.dtype == np.float64
    expected = np.array([loop_logits(circuit, row) for row in rows])
    np.testing.assert_allclose(computed, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@given(circuits())
def test_random_circuits_are_whole(circuit):
    assert check_circuit(circuit) is circuit
    assert circuit.width == sum(expert.readout.shape[0] for expert in circuit.experts)
    leaves = jax.tree.leaves(circuit)
    assert circuit.parameters == sum(leaf.size for leaf in leaves) - len(circuit.experts)
    assert {leaf.dtype for leaf in jax.tree.leaves(circuit.astype(np.float32))} == {np.dtype(np.float32)}


def test_a_residue_and_its_one_hot_vector_are_the_same_input():
    rng = np.random.default_rng(0)
    expert = Expert(jnp.asarray(rng.normal(size=(2, 5, 3)), "f4"), jnp.asarray(rng.normal(size=(3, 5)), "f4"), 2)
    eye = jnp.eye(5, dtype="f4")
    by_residue = expert_logits(expert, [jnp.int32(4), jnp.int32(1)])
    by_vector = expert_logits(expert, [eye[4], eye[1]])
    np.testing.assert_allclose(by_residue, by_vector, rtol=1e-6)


def test_a_single_expert_reads_the_variables_in_order():
    expert = Expert(np.zeros((3, 5, 7)), np.zeros((7, 5)), 3)
    circuit = check_circuit(single(expert))
    assert (circuit.wires, circuit.variables, circuit.width, circuit.classes) == (((0, 1, 2),), 3, 7, 5)
    assert circuit.parameters == 3 * 5 * 7 + 7 * 5
    assert circuit.dtype == np.float64


ONE = single(Expert(np.zeros((1, 5, 2)), np.zeros((2, 5)), 1))
TWO = Circuit((*ONE.experts, Expert(np.zeros((1, 5, 2)), np.zeros((2, 5)), 1)), np.ones(2), ((0,), (1,)), 1)


@pytest.mark.parametrize(
    "circuit, message",
    [
        (lambda: Circuit((), np.ones(0), (), 1), "needs at least one expert"),
        (lambda: replace(ONE, wires=()), "one group of wires for each expert"),
        (lambda: replace(ONE, variables=0), "at least one expert and variable"),
        (lambda: replace(ONE, betas=np.ones(2)), r"1 experts need as many betas, got shape \(2,\)"),
        (
            lambda: replace(ONE, experts=(Expert(np.zeros((5, 2)), np.zeros((2, 5)), 1),)),
            "expert 0 needs an embed of 3 axes",
        ),
        (lambda: replace(ONE, experts=(replace(ONE.experts[0], power=0),)), "a power of at least 1"),
        (lambda: replace(ONE, experts=(replace(ONE.experts[0], readout=np.zeros((3, 5))),)), "a readout that must fit"),
        (lambda: replace(ONE, wires=((0, 0),)), "expert 0 has 1 terms, 2 wires"),
        (lambda: replace(ONE, wires=((1,),)), "expert 0 reads wire 1; it may read 0 … 0"),
        (lambda: replace(ONE, wires=((-1,),)), "expert 0 reads wire -1"),
        (lambda: replace(TWO, wires=((0,), (2,))), "expert 1 reads wire 2; it may read 0 … 1"),
        (
            lambda: replace(TWO, experts=(TWO.experts[0], replace(TWO.experts[1], embed=np.zeros((1, 4, 2))))),
            "expert 1 reads 4 symbols, but its source puts out 5",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_circuits_that_do_not_fit_together_are_refused_with_the_part_that_does_not(circuit, message):
    with pytest.raises(InputError, match=message):
        check_circuit(circuit())
