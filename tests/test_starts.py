"""Circuits trained end to end: the forward pass, the starts and chunks; the study is in test_paper_endtoend.py."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from modgrok.training.endtoend import (
    STARTS,
    apply,
    layout_of,
    random_experts,
    single_layout,
    starting_experts,
    train_circuits,
)
from perfect_experts import perfect_expert

from modgrok.compiler.compiling import candidate_plans, read
from modgrok.networks.circuit import Circuit, batch_logits
from modgrok.training import endtoend
from modgrok.training.mixture import Learnt, task_of
from modgrok.training.steps import hyper

POLYNOMIAL = "(4n1 + n2^2)^3 + n1 n2"
P = 7
ROWS = np.array([(x, y) for x in range(P) for y in range(P)])
TABLE = np.array([((4 * x + y**2) ** 3 + x * y) % P for x, y in ROWS])


def small_layout(train_rows: int = 25, width: int = 8):
    tree, _ = read(POLYNOMIAL, P)
    plan = min(candidate_plans(tree, P), key=lambda plan: len(plan.steps))
    return plan, layout_of(plan, width, train_rows)


def stacked(experts: tuple, count: int):
    return jax.tree.map(lambda leaf: jnp.stack([leaf] * count), experts)


def test_the_forward_pass_is_that_of_a_circuit():
    _, layout = small_layout()
    experts = random_experts(layout, jax.random.key(3))
    circuit = Circuit(experts, np.full(3, 20.0, np.float32), layout.wires, 2)
    ours = apply(layout, experts, jnp.float32(20), jnp.asarray(ROWS))
    np.testing.assert_allclose(ours, batch_logits(circuit, jnp.asarray(ROWS)), rtol=1e-5, atol=1e-7)


def accuracy(plan, layout, start: str) -> float:
    learnt = [Learnt(perfect_expert(task_of(step), P), 1.0) for step in plan.steps]
    experts = starting_experts(start, plan, layout, learnt, jax.random.key(0))
    logits = apply(layout, experts, jnp.float32(50), jnp.asarray(ROWS))
    return float(np.mean(np.argmax(logits, axis=1) == TABLE))


def test_only_relabelled_experts_start_with_the_polynomial():
    plan, layout = small_layout()
    assert accuracy(plan, layout, "experts") == 1.0
    for start in set(STARTS) - {"experts"}:
        assert accuracy(plan, layout, start) < 0.6


def test_first_and_last_experts_are_trained_in_their_places():
    plan, layout = small_layout()
    learnt = [Learnt(random_experts(layout, jax.random.key(k))[0], 1.0) for k in range(3)]
    scratch, first, last, generic = (
        starting_experts(start, plan, layout, learnt, jax.random.key(9))
        for start in ("scratch", "first", "last", "generic")
    )
    same = lambda a, b: [bool(np.array_equal(x.readout, y.readout)) for x, y in zip(a, b, strict=True)]  # noqa: E731
    assert same(scratch, first) == [False, False, True]
    assert same(scratch, last) == [True, True, False]
    for expert, source in zip(generic, learnt, strict=True):
        np.testing.assert_array_equal(expert.embed, source.expert.embed)


def trained(layout, seeds=(0, 1, 2), steps=(0, 5, 40), experts=None):
    count = len(seeds)
    experts = experts or random_experts(layout, jax.random.key(1))
    settings = hyper(seed=list(seeds), train_rows=layout.train_rows, weight_decay=1.0)
    tables = np.stack([TABLE] * count)
    return train_circuits(layout, settings, np.full(count, 10.0), tables, stacked(experts, count), measured=steps)


def test_training_fits_its_own_half_and_begins_at_step_zero():
    _, layout = small_layout(width=64)
    curves = trained(layout, steps=(0, 5, 200))
    assert curves.train_loss.shape == (3, 3)
    assert (curves.train_accuracy[:, -1] == 1.0).all() and (curves.train_accuracy[:, 0] < 0.6).all()
    logits = np.asarray(apply(layout, random_experts(layout, jax.random.key(1)), jnp.float32(10), jnp.asarray(ROWS)))
    whole = np.mean((logits - np.eye(P)[TABLE]) ** 2)
    shares = (25 * curves.train_loss[:, 0] + 24 * curves.test_loss[:, 0]) / 49
    np.testing.assert_allclose(shares, whole, rtol=1e-5)
    assert len(set(curves.train_loss[:, 0].tolist())) == 3, "every seed has its own split"


def test_chunks_change_nothing(monkeypatch):
    _, layout = small_layout()
    reference = trained(layout)
    monkeypatch.setattr(endtoend, "device_memory", lambda: 2 * endtoend.network_bytes(layout))
    chunked = trained(layout)
    np.testing.assert_allclose(chunked.train_loss, reference.train_loss, rtol=1e-3)
    np.testing.assert_allclose(chunked.test_loss, reference.test_loss, rtol=1e-3)


def test_the_single_network_has_as_many_neurons():
    _, layout = small_layout()
    alone = single_layout(layout)
    assert (alone.wires, alone.width) == (((0, 1),), 24)
