"""The fused step: its gradient against JAX's own, what is padded, and when it runs. Kernels are interpreted here."""

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modgrok.networks.models import Mlp, Power
from modgrok.training import fused_step
from modgrok.training.config import hyper
from modgrok.training.ensemble import stacked_places, start_all, train_ensemble, with_fused_step
from modgrok.training.steps import Shape, block_gradient, fused_gradient

BFLOAT16 = 0.01
"""Relative error of a gradient from weights and products in bfloat16: each is rounded by up to 2^-9."""


@lru_cache
def gradients(modulus, width, train_rows, counts):
    """JAX's gradient and the fused one, unpadded, of networks that train on so many rows each."""
    shape = Shape(Power((modulus, modulus), modulus, width=width), train_rows)
    settings = hyper(seed=np.arange(len(counts)), train_rows=np.array(counts), init_scale=1.5)
    tables = jnp.asarray(np.random.default_rng(0).integers(0, modulus, (len(counts), shape.rows)), jnp.int32)
    examples, states = start_all(shape, settings, tables, stacked_places(shape, len(counts), None), None)

    def fused(hyper, examples, state):
        gradient = fused_gradient(shape, hyper, examples)(fused_step.padded(state, shape.model))
        return gradient, fused_step.unpadded(gradient, state.params)

    def plain(hyper, examples, state):
        return block_gradient(shape, hyper, examples)(state)

    whole, cut = jax.jit(jax.vmap(fused))(settings, examples, states)
    expected = jax.jit(jax.vmap(plain))(settings, examples, states)
    return jax.tree.map(np.asarray, (expected, cut, whole))


@pytest.mark.parametrize("modulus, width, train_rows, counts", [(7, 24, 25, (25, 20, 1)), (11, 40, 101, (101, 33))])
def test_the_gradient_is_jaxs_own_for_any_number_of_training_rows(modulus, width, train_rows, counts):
    expected, found, _ = gradients(modulus, width, train_rows, counts)
    for net in range(len(counts)):
        for name in ("embed", "readout"):
            right, ours = getattr(expected, name)[net], getattr(found, name)[net]
            assert np.linalg.norm(ours - right) < BFLOAT16 * np.linalg.norm(right)
            assert np.max(np.abs(ours - right)) < 2 * BFLOAT16 * np.max(np.abs(right))


def test_what_is_padded_has_no_gradient():
    _, _, whole = gradients(7, 24, 25, (25, 20, 1))
    assert whole.embed.shape == (3, 2, 16, 64) and whole.readout.shape == (3, 64, 16)
    for leaf in (whole.embed[:, :, 7:], whole.embed[..., 24:], whole.readout[:, 24:], whole.readout[..., 7:]):
        assert not leaf.any()


def test_a_training_with_the_fused_step_is_the_training_without():
    shape = Shape(Power((7, 7), 7, width=24), 30)
    settings = hyper(seed=np.arange(3), train_rows=np.array([30, 24, 11]), learning_rate=0.01)
    table = np.add.outer(np.arange(7), np.arange(7)).reshape(1, -1).repeat(3, axis=0) % 7
    fused, weights = train_ensemble(shape, settings, table, steps=[0, 40], fused=True)
    plain, expected = train_ensemble(shape, settings, table, steps=[0, 40], fused=False)
    np.testing.assert_array_equal(fused.train_loss[:, 0], plain.train_loss[:, 0])
    np.testing.assert_allclose(fused.train_loss, plain.train_loss, rtol=0.01)
    np.testing.assert_allclose(fused.embed_norm, plain.embed_norm, rtol=0.002)
    assert weights.embed.shape == expected.embed.shape == (3, 2, 7, 24)
    assert (fused.train_loss[:, 1] < 0.7 * fused.train_loss[:, 0]).all(), "nothing was learned"
    assert (weights.embed != expected.embed).any(), "one path was taken twice"


def test_rows_that_do_not_count_come_last_whatever_they_are():
    model, inputs = Power((7, 7), 7, width=24), jnp.asarray([[3, 1], [6, 6], [0, 2], [5, 5], [0, 1]])
    rows = fused_step.training_rows(model, inputs, jnp.arange(5), jnp.int32(3))
    assert rows.a[:3].tolist() == [0, 3, 6] and (rows.b[:3] - 16).tolist() == [2, 1, 6]
    assert rows.targets[:3].tolist() == [2, 0, 1] and rows.counted.tolist() == [3]
    assert rows.a.size == fused_step.tiling_of(7).rows


@pytest.mark.parametrize(
    "model, loss, able",
    [
        (Power((97, 97), 97, width=500), "mse", True),
        (Power((5, 5), 5, width=1), "mse", True),
        (Power((128, 128), 128), "mse", True),
        (Power((3, 3), 3), "mse", False),
        (Power((131, 131), 131), "mse", False),
        (Power((7, 9), 7), "mse", False),
        (Power((7, 7), 9), "mse", False),
        (Power((7, 7, 7), 7), "mse", False),
        (Power((7, 7), 7, power=3), "mse", False),
        (Power((7, 7), 7, dropout=0.1), "mse", False),
        (Power((7, 7), 7), "cross-entropy", False),
        (Mlp((7, 7), 7), "mse", False),
    ],
)
def test_it_runs_for_squares_of_two_variables_on_square_tables_and_nothing_else(model, loss, able):
    shape = Shape(model, 9, loss=loss)
    assert with_fused_step(shape, 8, True) == replace(shape, fused=able)
    assert with_fused_step(shape, 8, False) == shape


def test_it_is_for_gpus_and_a_variable_turns_it_off(monkeypatch):
    shape = Shape(Power((7, 7), 7), 9)
    assert with_fused_step(shape, 8) == shape, "on a CPU the present step is taken"
    monkeypatch.setattr(fused_step.jax, "default_backend", lambda: "gpu")
    assert with_fused_step(shape, 8).fused
    assert with_fused_step(shape, 1) == shape, "one network alone is faster without"
    for word in ("off", "OFF", "0", "no"):
        monkeypatch.setenv("MODGROK_FUSED", word)
        assert with_fused_step(shape, 8) == shape


@pytest.mark.parametrize("modulus", [5, 16, 17, 64, 97, 127, 128])
def test_tiles_are_powers_of_two_and_hold_every_residue(modulus):
    tiling = fused_step.tiling_of(modulus)
    for number in (fused_step.padded_modulus(modulus), *tiling[:5]):
        assert number & (number - 1) == 0
    assert 16 <= modulus <= fused_step.padded_modulus(modulus) < 2 * modulus or fused_step.padded_modulus(modulus) == 16
