"""Circuits trained end to end by the one engine: where they begin, what they learn, and what stays fixed."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from perfect_experts import perfect_expert

from modgrok.algebra.expression import parse
from modgrok.compiler.steps import Plan
from modgrok.inspection.order import function_order
from modgrok.networks.circuit import Circuit, batch_logits
from modgrok.networks.models import CircuitModel, Rows
from modgrok.training.config import hyper
from modgrok.training.ensemble import network_bytes, train_ensemble
from modgrok.training.mixture import LearnedExpert, shortest_plan, task_of
from modgrok.training.steps import Shape
from studies.starts import STARTS, circuit_model, random_circuit, single_model, starting_circuit

POLYNOMIAL = "(4n1 + n2^2)^3 + n1 n2"
P = 7
ROWS = np.array([(x, y) for x in range(P) for y in range(P)])
TABLE = np.array([((4 * x + y**2) ** 3 + x * y) % P for x, y in ROWS.tolist()])
BETA = 10.0


def plan_and_model(width: int = 8) -> tuple[Plan, CircuitModel]:
    plan = shortest_plan(parse(POLYNOMIAL, P), P)
    return plan, circuit_model(plan, width)


def test_the_model_has_the_wires_of_the_plan():
    plan, model = plan_and_model()
    assert model.wires == tuple(step.inputs for step in plan.steps) and model.width == 3 * 8
    alone = single_model(model)
    assert (alone.wires, alone.width) == (((0, 1),), 24), "one network with as many neurons"


def test_the_forward_pass_is_that_of_a_circuit():
    _, model = plan_and_model()
    circuit = random_circuit(model, 20.0, key=jax.random.key(3))
    assert circuit.betas.tolist() == [20.0] * 3
    ours = model.apply(circuit, Rows(ROWS))
    np.testing.assert_allclose(ours, batch_logits(circuit, ROWS), rtol=1e-5, atol=1e-7)


# ------------------------------------------------------------------------------------------------ the starts


def accuracy(plan: Plan, model: CircuitModel, start: str) -> float:
    learned = [LearnedExpert(perfect_expert(task_of(step), P), 1.0, 0.5) for step in plan.steps]
    circuit = starting_circuit(start, plan, model, learned, 50.0, key=jax.random.key(0))
    return float(np.mean(np.argmax(batch_logits(circuit, ROWS), axis=1) == TABLE))


def test_only_relabelled_experts_start_with_the_polynomial():
    plan, model = plan_and_model()
    assert accuracy(plan, model, "experts") == 1.0
    for start in set(STARTS) - {"experts"}:
        assert accuracy(plan, model, start) < 0.6


def test_first_and_last_experts_are_trained_in_their_places():
    plan, model = plan_and_model()
    learned = [LearnedExpert(random_circuit(model, BETA, key=jax.random.key(k)).experts[0], 1.0, 0.5) for k in range(3)]
    scratch, first, last, generic = (
        starting_circuit(start, plan, model, learned, BETA, key=jax.random.key(9)).experts
        for start in ("scratch", "first", "last", "generic")
    )

    def same(ours: tuple, theirs: tuple) -> list[bool]:
        return [np.array_equal(a.readout, b.readout) for a, b in zip(ours, theirs, strict=True)]

    assert same(scratch, first) == [False, False, True]
    assert same(scratch, last) == [True, True, False]
    for expert, source in zip(generic, learned, strict=True):
        np.testing.assert_array_equal(expert.embed, source.expert.embed)


# ------------------------------------------------------------------------------------------------ training them


def stacked(circuit: Circuit, count: int) -> Circuit:
    return jax.tree.map(lambda leaf: jnp.stack([leaf] * count), circuit)


def trained(model: CircuitModel, steps=(0, 5, 40), **engine):
    """Three splits of the table, from one circuit."""
    start = random_circuit(model, BETA, key=jax.random.key(1))
    settings = hyper(seed=[0, 1, 2], train_rows=25, weight_decay=1.0)
    tables = np.stack([TABLE] * 3)
    return train_ensemble(Shape(model, 25), settings, tables, steps=steps, params=stacked(start, 3), **engine)


def test_training_fits_its_own_half_and_begins_at_step_zero():
    _, model = plan_and_model(width=64)
    curves, _ = trained(model, steps=(0, 5, 200))
    assert curves.train_loss.shape == (3, 3)
    assert (curves.train_accuracy[:, -1] == 1.0).all() and (curves.train_accuracy[:, 0] < 0.6).all()
    logits = np.asarray(batch_logits(random_circuit(model, BETA, key=jax.random.key(1)), ROWS))
    whole = np.mean((logits - np.eye(P)[TABLE]) ** 2)
    shares = (25 * curves.train_loss[:, 0] + 24 * curves.test_loss[:, 0]) / 49
    np.testing.assert_allclose(shares, whole, rtol=1e-5)
    assert len(set(curves.train_loss[:, 0].tolist())) == 3, "every seed has its own split"


def test_temperatures_stay_while_every_expert_learns():
    _, model = plan_and_model()
    before = random_circuit(model, BETA, key=jax.random.key(1))
    curves, circuits = trained(model)
    assert (circuits.betas == BETA).all() and circuits.wires == model.wires
    for k, expert in enumerate(before.experts):
        assert np.abs(circuits.experts[k].embed - np.asarray(expert.embed)).max() > 1e-3
    parts = [np.asarray(expert.embed).ravel() for expert in before.experts]
    np.testing.assert_allclose(curves.embed_norm[:, 0], np.linalg.norm(np.concatenate(parts)), rtol=1e-5)


def test_chunks_change_nothing():
    _, model = plan_and_model()
    reference, circuits = trained(model)
    chunked, again = trained(model, memory=2 * network_bytes(Shape(model, 25)))
    np.testing.assert_allclose(chunked.train_loss, reference.train_loss, rtol=1e-3)
    np.testing.assert_allclose(chunked.test_loss, reference.test_loss, rtol=1e-3)
    np.testing.assert_allclose(again.experts[2].embed, circuits.experts[2].embed, atol=1e-3)


def test_a_circuit_of_perfect_experts_stays_right():
    """Training leaves what is right already: the loss is that of the one-hot, zero, from the first step on."""
    plan, _ = plan_and_model()
    learned = [LearnedExpert(perfect_expert(task_of(step), P), 1.0, 0.5) for step in plan.steps]
    width = max(source.expert.width for source in learned)
    padded = [
        replace(
            source.expert,
            embed=np.pad(source.expert.embed, ((0, 0), (0, 0), (0, width - source.expert.width))).astype(np.float32),
            readout=np.pad(source.expert.readout, ((0, width - source.expert.width), (0, 0))).astype(np.float32),
        )
        for source in learned
    ]
    model = circuit_model(plan, width)
    learned = [LearnedExpert(expert, 1.0, 0.5) for expert in padded]
    start = starting_circuit("experts", plan, model, learned, 60.0, key=jax.random.key(0))
    settings = hyper(seed=[0], train_rows=25, weight_decay=0.0, learning_rate=1e-5)
    curves, _ = train_ensemble(
        Shape(model, 25),
        settings,
        TABLE[None],
        steps=[0, 20],
        params=stacked(start, 1),
        orders=[function_order(POLYNOMIAL, P)],
    )
    assert (curves.test_accuracy == 1).all() and curves.test_loss.max() < 1e-3
