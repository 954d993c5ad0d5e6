"""IPR of known vectors, in given places; `test_order` has the places of functions."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from analytic import sum_expert

from modgrok.inspection.order import Places, natural_order
from modgrok.inspection.spectrum import alive, block_power, neuron_norm, periodicity
from modgrok.networks.circuit import Expert
from modgrok.networks.models import Blocks
from modgrok.networks.models.power import expert_blocks


def blocks_of(expert: Expert) -> Blocks:
    return expert_blocks(expert, tuple(range(expert.terms)), expert.terms)


def expert_of(columns, readout) -> Expert:
    """An expert with one neuron, from its blocks."""
    return Expert(np.array(columns, float)[:, :, None], np.array(readout, float)[None], len(columns))


def additive(p: int, terms: int = 2) -> Places:
    return natural_order("additive", p, terms).places


def test_ipr_of_known_vectors():
    r = np.arange(12)
    wave = np.cos(2 * np.pi * 3 * r / 12 + 0.4)
    two_waves = wave + np.cos(2 * np.pi * 5 * r / 12 - 1)
    spike = np.eye(12)[4]
    with jax.enable_x64(True):
        found = periodicity(blocks_of(expert_of([wave, two_waves, np.ones(12)], spike)), additive(12, 3))
    np.testing.assert_allclose(np.asarray(found.block_ipr)[:, 0], [1, 1 / 2, 1, 1 / 7], atol=1e-12)
    np.testing.assert_allclose(found.ipr, [(1 + 1 / 2 + 1 + 1 / 7) / 4], atol=1e-12)


def test_the_spectrum_is_that_of_numpy_along_the_places():
    """Over all places in order it is rfft; places that are permuted permute the vector."""
    rng, p = np.random.default_rng(0), 11
    expert = Expert(rng.normal(size=(2, p, 5)), rng.normal(size=(5, p)), 2)
    shuffled = rng.permutation(p)
    places = additive(p)._replace(place=np.stack([np.arange(p), shuffled, np.arange(p)]))
    with jax.enable_x64(True):
        power = np.asarray(block_power(blocks_of(expert), places))
    for block, order in enumerate((np.arange(p), np.argsort(shuffled), np.arange(p))):
        vectors = expert.embed[block].T if block < 2 else expert.readout
        scaled = vectors / np.abs(vectors).max(axis=1, keepdims=True)
        np.testing.assert_allclose(power[block], np.abs(np.fft.rfft(scaled[:, order])) ** 2, atol=1e-10)


def test_residues_without_a_place_take_no_part():
    """In logarithms of 1 … 6 modulo 7 a wave is a wave, whatever stands at zero."""
    logarithms = {1: 0, 3: 1, 2: 2, 6: 3, 4: 4, 5: 5}
    wave = np.array([9.0] + [np.cos(2 * np.pi * 2 * logarithms[a] / 6 + 1) for a in range(1, 7)])
    found = periodicity(blocks_of(expert_of([wave, wave], wave)), natural_order("multiplicative", 7, 2).places)
    np.testing.assert_allclose(found.block_ipr, 1, rtol=1e-5)
    assert periodicity(blocks_of(expert_of([wave, wave], wave)), additive(7)).ipr[0] < 0.9


def test_ipr_has_no_scale_and_zero_blocks_count_in_no_mean():
    rng = np.random.default_rng(0)
    expert, _, _ = sum_expert(11, 20, [1, 1], rng=rng, dtype=np.float32)
    noisy = Expert(expert.embed + rng.normal(size=expert.embed.shape).astype(np.float32), expert.readout, 2)
    tiny = Expert(noisy.embed * np.float32(1e-30), noisy.readout * np.float32(1e-30), 2)
    places, loud = additive(11), periodicity(blocks_of(noisy), additive(11))
    np.testing.assert_allclose(periodicity(blocks_of(tiny), places).ipr, loud.ipr, rtol=1e-4)
    silent = periodicity(blocks_of(Expert(noisy.embed, noisy.readout * 0, 2)), places)
    assert np.all(np.asarray(silent.block_ipr)[-1] == 0)
    np.testing.assert_allclose(silent.ipr, np.asarray(loud.block_ipr)[:2].mean(axis=0), rtol=1e-5)
    dead = periodicity(blocks_of(Expert(noisy.embed * 0, noisy.readout * 0, 2)), places)
    assert not np.any(dead.ipr) and not np.any(dead.alive) and dead.mean_alive() == 0


def test_blocks_without_places_count_in_no_mean():
    """Weights over squares are waves along no circle; their axis has the period -1."""
    rng, p = np.random.default_rng(1), 11
    blocks = blocks_of(Expert(rng.normal(size=(2, p, 6)), rng.normal(size=(6, p)), 2))
    whole = periodicity(blocks, additive(p))
    place, period = additive(p)
    gone = Places(np.where([[False], [True], [False]], -1, place), np.array([period[0], -1, period[2]]))
    part = periodicity(blocks, gone)
    assert np.all(np.asarray(part.block_ipr)[1] == 0)
    np.testing.assert_allclose(part.ipr, np.asarray(whole.block_ipr)[[0, 2]].mean(axis=0), rtol=1e-5)
    nowhere = periodicity(blocks, Places(np.full_like(place, -1), np.full_like(period, -1)))
    assert np.isnan(nowhere.ipr).all() and np.isnan(nowhere.mean()), "no number, and not a small one"


def test_constant_neurons_are_no_waves():
    wave = np.cos(2 * np.pi * np.arange(11) / 11)
    noise = np.random.default_rng(2).normal(size=11)
    embed = np.stack([[wave, np.ones(11), noise], [wave, 3 * np.ones(11), noise]]).transpose(0, 2, 1)
    found = periodicity(blocks_of(Expert(embed, np.stack([wave, noise, noise]), 2)), additive(11))
    assert np.asarray(found.constant).tolist() == [False, True, False], "whatever a constant neuron reads out"
    assert found.mean() == pytest.approx(np.mean(np.asarray(found.ipr)[[0, 2]]), rel=1e-5)
    assert np.asarray(found.active).tolist() == [True, False, True]


def test_noise_has_an_ipr_of_about_two_over_the_number_of_bins():
    rng = np.random.default_rng(0)
    expert = Expert(rng.normal(size=(2, 97, 400)), rng.normal(size=(400, 97)), 2)
    assert periodicity(blocks_of(expert), additive(97)).mean() == pytest.approx(2 / 49, rel=0.05)


def test_alive_compares_squared_norms_with_the_largest():
    embed, readout = np.zeros((2, 5, 4)), np.zeros((4, 5))
    embed[0, 0], readout[:, 1] = [3, 0.12, 0, 0], [4, 0.16, 0.15, 0]  # squares of 25, 0.04, 0.0225 and 0
    blocks = blocks_of(Expert(embed, readout, 2))
    np.testing.assert_allclose(neuron_norm(blocks)[0], 5)
    assert np.asarray(alive(blocks)).tolist() == [True, True, False, False]
    assert not np.any(alive(blocks_of(Expert(embed * 0, readout * 0, 2))))
