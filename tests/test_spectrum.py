import jax
import numpy as np
import pytest
from analytic import sum_expert

from modgrok.errors import InputError
from modgrok.inspection.spectrum import (
    additive_order,
    alive,
    block_ipr,
    multiplicative_order,
    neuron_ipr,
    neuron_norm,
)
from modgrok.networks.circuit import Expert


def expert_of(columns, readout):
    """An expert with one neuron, from its blocks."""
    return Expert(np.array(columns, float)[:, :, None], np.array(readout, float)[None], len(columns))


def test_the_multiplicative_order_starts_at_one_and_leaves_zero_out():
    assert multiplicative_order(7).tolist() == [1, 3, 2, 6, 4, 5]
    assert additive_order(4).tolist() == [0, 1, 2, 3]
    with pytest.raises(InputError, match=r"modulus must be a prime to have a generator, got 9 = 3\^2"):
        multiplicative_order(9)


def test_ipr_of_known_vectors():
    r = np.arange(12)
    wave = np.cos(2 * np.pi * 3 * r / 12 + 0.4)
    two_waves = wave + np.cos(2 * np.pi * 5 * r / 12 - 1)
    spike = np.eye(12)[4]
    with jax.enable_x64(True):
        ipr = block_ipr(expert_of([wave, two_waves, np.ones(12)], spike), additive_order(12))
    np.testing.assert_allclose(np.asarray(ipr)[:, 0], [1, 1 / 2, 1, 1 / 7], atol=1e-12)


def test_ipr_has_no_scale_and_a_zero_block_counts_as_zero():
    rng = np.random.default_rng(0)
    expert, _, _ = sum_expert(11, 20, [1, 1], rng=rng, dtype=np.float32)
    noisy = Expert(expert.embed + rng.normal(size=expert.embed.shape).astype(np.float32), expert.readout, 2)
    tiny = Expert(noisy.embed * np.float32(1e-30), noisy.readout * np.float32(1e-30), 2)
    order = additive_order(11)
    np.testing.assert_allclose(neuron_ipr(tiny, order), neuron_ipr(noisy, order), rtol=1e-4)
    silent = Expert(noisy.embed, noisy.readout * 0, 2)
    assert np.all(np.asarray(block_ipr(silent, order))[-1] == 0)
    np.testing.assert_allclose(
        neuron_ipr(silent, order), np.asarray(block_ipr(noisy, order))[:2].sum(axis=0) / 3, rtol=1e-5
    )


def test_noise_has_an_ipr_of_about_two_over_the_number_of_bins():
    rng = np.random.default_rng(0)
    expert = Expert(rng.normal(size=(2, 97, 400)), rng.normal(size=(400, 97)), 2)
    assert np.mean(neuron_ipr(expert, additive_order(97))) == pytest.approx(2 / 49, rel=0.05)


def test_alive_compares_squared_norms_with_the_largest():
    embed, readout = np.zeros((2, 5, 4)), np.zeros((4, 5))
    embed[0, 0], readout[:, 1] = [3, 0.12, 0, 0], [4, 0.16, 0.15, 0]  # squares of 25, 0.04, 0.0225 and 0
    expert = Expert(embed, readout, 2)
    np.testing.assert_allclose(neuron_norm(expert)[0], 5)
    assert np.asarray(alive(expert)).tolist() == [True, True, False, False]
    assert not np.any(alive(Expert(embed * 0, readout * 0, 2)))
