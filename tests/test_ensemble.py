"""Ensembles: the same numbers as one network at a time, one compilation, chunks that fit."""

import numpy as np
import pytest

from modgrok.base.errors import InputError
from modgrok.inspection.order import function_order
from modgrok.networks.models import Power
from modgrok.training import ensemble
from modgrok.training.config import hyper
from modgrok.training.steps import Shape

SHAPE = Shape(Power((11, 11), 11, width=40), 60)


def tables(networks):
    """Different tables: c·n1 + n2 modulo 11 for c = 1, 2, …"""
    rows = np.arange(121)
    return np.stack([(c % 11 * (rows // 11) + rows % 11) % 11 for c in range(1, networks + 1)])


def test_a_member_of_an_ensemble_trains_like_a_network_alone():
    settings = hyper(seed=np.arange(3), train_rows=np.array([60, 40, 50]), learning_rate=np.array([0.01, 0.005, 0.02]))
    together, experts = ensemble.train_ensemble(SHAPE, settings, tables(3), steps=[0, 30])
    for net in range(3):
        alone = hyper(**{name: getattr(settings, name)[net : net + 1] for name in vars(settings)})
        single, expert = ensemble.train_ensemble(SHAPE, alone, tables(3)[net : net + 1], steps=[0, 30])
        assert single.train_loss.shape == (1, 2)
        for a, b in zip(together, single, strict=True):
            np.testing.assert_allclose(a[net], b[0], rtol=2e-3)
        np.testing.assert_allclose(experts.embed[net], expert.embed[0], atol=1e-3)
    assert len(set(together.train_loss[:, 1].tolist())) == 3


def test_the_settings_of_each_member_count():
    settings = hyper(seed=0, train_rows=60, weight_decay=np.array([0.0, 1.0, 20.0]), init_scale=np.array([0.5, 1, 2]))
    metrics, _ = ensemble.train_ensemble(SHAPE, settings, tables(1).repeat(3, axis=0), steps=[0, 40])
    start, end = metrics.embed_norm.T
    assert start[1] == pytest.approx(2 * start[0]) and start[2] == pytest.approx(4 * start[0])
    assert end[2] < end[1] < end[0] * 2


def test_sixteen_learning_rates_compile_once():
    settings = hyper(seed=0, train_rows=60, learning_rate=np.geomspace(1e-4, 1e-1, 16))
    ensemble.PROGRAMS[False][
        0
    ].clear_cache()  # other files, of which nobody knows which came before, may have its program
    others = ensemble.compiled_programs()
    metrics, _ = ensemble.train_ensemble(
        SHAPE, settings, tables(16), steps=[5, 12], memory=5 * ensemble.network_bytes(SHAPE)
    )
    assert ensemble.compiled_programs() == others + 1
    assert metrics.train_loss.shape == (16, 2) and np.isfinite(metrics.train_loss).all()


def test_chunks_follow_the_memory_and_cover_every_network_once():
    memory = 3 * ensemble.network_bytes(SHAPE)
    assert ensemble.chunk_size(SHAPE, 7, memory) == 3
    assert ensemble.chunk_size(SHAPE, 4, memory) == 2
    assert ensemble.chunk_size(SHAPE, 4, 1) == 1
    settings, done = hyper(seed=np.arange(7), train_rows=60), []
    chunks = list(
        ensemble.train_chunks(
            SHAPE, settings, tables(7), steps=4, memory=memory, progress=lambda k, n: done.append((k, n))
        )
    )
    assert [(chunk.first, len(chunk.metrics.alive)) for chunk in chunks] == [(0, 3), (3, 3), (6, 1)]
    assert done == [(12, 28), (24, 28), (28, 28)]
    whole, experts = ensemble.train_ensemble(SHAPE, settings, tables(7), steps=4)
    pieces = np.concatenate([chunk.metrics.train_loss for chunk in chunks])
    np.testing.assert_allclose(pieces, whole.train_loss, rtol=1e-4)
    assert experts.embed.shape == (7, 2, 11, 40)


@pytest.mark.parametrize(
    "shape, networks, steps, text",
    [
        ((2, 120), 2, [3], r"tables must have the shape \(networks, 121\), got \(2, 120\)"),
        ((2, 121), 3, [3], r"2 tables need hyper-parameters of shape \(2,\), got \(3,\)"),
        ((2, 121), 2, [3, 3], r"measured steps must rise, got \[3, 3\]"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(shape, networks, steps, text):
    settings = hyper(seed=np.arange(networks), train_rows=60)
    with pytest.raises(InputError, match=text):
        ensemble.train_ensemble(SHAPE, settings, np.zeros(shape, int), steps=steps)


def test_more_training_rows_than_the_shape_are_refused():
    with pytest.raises(InputError, match="the shape allows 60 training rows, a network asks for more"):
        ensemble.train_ensemble(SHAPE, hyper(seed=np.zeros(1), train_rows=61), tables(1), steps=1)


def test_every_network_is_measured_in_the_order_of_its_own_function():
    """One table, three orders; and the weights have nothing to do with where they are measured."""
    orders = [function_order(text, 11) for text in ("n1 + n2", "n1 n2", "n1 n2 + n1")]
    assert [order.name for order in orders] == ["additive", "multiplicative", "witness"]
    settings, table = hyper(seed=np.zeros(3), train_rows=60, learning_rate=0.01), tables(1).repeat(3, axis=0)
    metrics, experts = ensemble.train_ensemble(SHAPE, settings, table, steps=[0, 200], orders=orders)
    assert len(set(metrics.ipr[:, 1].tolist())) == 3
    assert metrics.ipr[0, 1] > metrics.ipr[1:, 1].max(), "the table is a sum"
    np.testing.assert_array_equal(experts.embed[0], experts.embed[2])
    additive, _ = ensemble.train_ensemble(SHAPE, settings, table, steps=[0, 200])
    np.testing.assert_array_equal(additive.ipr[1], metrics.ipr[0])
    with pytest.raises(InputError, match="3 tables need as many orders of residues, got 2"):
        ensemble.train_ensemble(SHAPE, settings, table, steps=1, orders=orders[:2])


def test_other_orders_do_not_compile_again():
    settings = hyper(seed=np.zeros(2), train_rows=60)
    before = ensemble.compiled_programs()
    for text in ("n1 + n2", "n1 n2", "n1 n2 + n1"):
        orders = [function_order(text, 11)] * 2
        ensemble.train_ensemble(SHAPE, settings, tables(2), steps=[3], orders=orders)
    assert ensemble.compiled_programs() <= before + 1


def test_training_may_start_from_given_weights():
    settings = hyper(seed=np.arange(2), train_rows=60)
    metrics, experts = ensemble.train_ensemble(SHAPE, settings, tables(2), steps=20)
    still = hyper(seed=np.arange(2), train_rows=60, learning_rate=0.0)
    again, kept = ensemble.train_ensemble(SHAPE, still, tables(2), steps=[0, 5], params=experts)
    np.testing.assert_array_equal(kept.embed, experts.embed)
    np.testing.assert_allclose(again.train_loss[:, 0], metrics.train_loss[:, -1], rtol=1e-6)


def test_many_segments_in_one_call_are_the_segments_one_by_one(monkeypatch):
    settings, steps = hyper(seed=np.arange(3), train_rows=np.array([30, 20, 10])), [0, 5, 10, 15, 20, 22]
    apart, weights = ensemble.train_ensemble(SHAPE, settings, tables(3), steps=steps)
    monkeypatch.setattr(ensemble, "on_cpu", lambda: False)
    monkeypatch.setattr(ensemble, "SEGMENTS_OF_A_CALL", 3)
    monkeypatch.setattr(ensemble, "UNTUNED", {})
    together, same = ensemble.train_ensemble(SHAPE, settings, tables(3), steps=steps)
    for name, column in apart._asdict().items():
        np.testing.assert_array_equal(getattr(together, name), column)
        assert getattr(together, name).dtype == column.dtype
    np.testing.assert_array_equal(same.embed, weights.embed)
