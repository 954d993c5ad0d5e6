"""Models against plain NumPy written from their formulas, what each setting does, and that they grok."""

import json
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from modgrok.training.models import Architecture, Rows
from safetensors.numpy import load_file

from modgrok.errors import InputError
from modgrok.networks import network
from modgrok.networks.circuit import Expert
from modgrok.training import models, runs
from modgrok.training import steps as training
from modgrok.training.objective import LOSSES, OPTIMISERS
from modgrok.training.presets import preset
from modgrok.training.steps import Shape, hyper

INPUTS = jnp.array(list(product(range(5), repeat=2)))
KEY = jax.random.key(3)


def shape_of(architecture, width=8, **settings):
    return Shape(5, 2, width, 2, 12, architecture=architecture, **settings)


def init(architecture, width=8):
    return models.init(shape_of(architecture, width), jnp.float32(1), key=KEY)


def numpy_norm(x, scale, shift, axis):
    deviation = np.sqrt(x.var(axis=axis, keepdims=True) + 1e-5)
    return (x - x.mean(axis=axis, keepdims=True)) / deviation * scale + shift


@pytest.mark.parametrize("norm", ["none", "layer", "batch"])
@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize("activation, function", [("relu", lambda x: np.maximum(x, 0)), ("square", lambda x: x**2)])
def test_an_mlp_is_matrices_and_activations(depth, activation, function, norm):
    architecture = Architecture("mlp", depth, activation, norm)
    params = init(architecture)
    assert len(params.hidden) == depth - 2 and len(params.norms) == (0 if norm == "none" else depth - 1)
    onehots = np.concatenate([np.eye(5)[np.asarray(INPUTS)[:, v]] for v in range(2)], axis=1)
    hidden = onehots @ np.asarray(params.embed, np.float64).reshape(10, 8)
    for k in range(depth - 1):
        hidden = hidden if k == 0 else hidden @ np.asarray(params.hidden[k - 1], np.float64)
        if norm != "none":
            hidden = numpy_norm(hidden, *(np.asarray(w) for w in params.norms[k]), axis=1 if norm == "layer" else 0)
        hidden = function(hidden)
    logits = models.apply(architecture, params, Rows(INPUTS))
    np.testing.assert_allclose(logits, hidden @ np.asarray(params.readout), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_transformer_attends_causally_and_reads_at_the_last_token(depth, norm):
    """Every token through every layer, head by head, in float64; then what stands at "="."""
    architecture = Architecture("transformer", depth, norm=norm)
    params = init(architecture)
    weights = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)

    def normed(x, norms, k):
        return numpy_norm(x, *norms[k], axis=-1) if norm == "layer" else x

    for row, logits in zip(np.asarray(INPUTS), models.apply(architecture, params, Rows(INPUTS)), strict=True):
        stream = np.stack([*(weights.embed[n] for n in row), np.zeros(8)]) + weights.positions
        for layer in weights.layers:
            x, mixed = normed(stream, layer.norms, 0), np.zeros((3, 8))
            for head in range(4):
                part = slice(2 * head, 2 * head + 2)
                q, k, v = (x @ matrix[:, part] for matrix in (layer.query, layer.key, layer.value))
                for token in range(3):
                    shares = np.exp(k[: token + 1] @ q[token] / np.sqrt(2))
                    mixed[token, part] = shares / shares.sum() @ v[: token + 1]
            stream = stream + mixed @ layer.output
            stream = stream + np.maximum(normed(stream, layer.norms, 1) @ layer.expand, 0) @ layer.contract
        expected = normed(stream[-1:], weights.norms, 0) @ weights.readout
        np.testing.assert_allclose(logits, expected[0], rtol=1e-4, atol=1e-5)


def test_dropout_keeps_the_mean_and_needs_a_key():
    x = jnp.ones((200, 300))
    once = models.dropped(x, 0.25, KEY, 0)
    assert set(np.unique(once)) == {np.float32(0), np.float32(1 / 0.75)}
    assert float(once.mean()) == pytest.approx(1, abs=0.01)
    assert not np.array_equal(once, models.dropped(x, 0.25, KEY, 1))
    assert models.dropped(x, 0.25, None, 0) is x and models.dropped(x, 0.0, KEY, 0) is x


def test_every_step_drops_other_neurons():
    shape, settings = shape_of(Architecture(dropout=0.5)), hyper(seed=0, train_rows=12, learning_rate=0.0)
    keys = [training.dropout_key(settings, jnp.int32(step)) for step in range(2)]
    params = models.init(shape, jnp.float32(1), key=KEY)
    first, second = (models.apply(shape.architecture, params, Rows(INPUTS), key=key) for key in keys)
    assert not np.allclose(first, second)


def test_batch_norm_is_evaluated_with_the_moments_of_the_training_rows():
    shape = shape_of(Architecture("mlp", 3, norm="batch"))
    settings, table = hyper(seed=1, train_rows=10), jnp.asarray(np.arange(25) % 5)
    examples, state = training.start(shape, settings, table)
    train = training.table_inputs(examples.shuffled[:10], 5, 2)
    moments = models.batch_moments(shape.architecture, state.params, Rows(train))
    logits = models.apply(shape.architecture, state.params, Rows(INPUTS), moments=moments)
    hits = np.asarray(jnp.argmax(logits, axis=1) == table)
    metrics = training.measure(shape, settings, examples, state.params)
    assert metrics.test_accuracy == pytest.approx(hits[np.asarray(examples.shuffled)[10:]].mean())
    losses = LOSSES["mse"](logits, table)
    assert metrics.test_loss == pytest.approx(float(losses[examples.shuffled[10:]].mean()), rel=1e-4)


def test_cross_entropy_is_the_log_of_the_share():
    logits, targets = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]]), np.array([1, 2])
    expected = [-np.log(np.exp(2) / np.exp(logits[0]).sum()), np.log(3)]
    np.testing.assert_allclose(LOSSES["cross-entropy"](jnp.asarray(logits), jnp.asarray(targets)), expected, rtol=1e-5)


def two_steps(optimiser, gradient, weight=1.0, **rates):
    rule = OPTIMISERS[optimiser](hyper(train_rows=1, **rates))
    params = {"matrix": jnp.full((4, 4), weight)}
    state = rule.init(params)
    for _ in range(2):
        updates, state = rule.update({"matrix": jnp.asarray(gradient)}, state, params)
        params = {"matrix": params["matrix"] + updates["matrix"]}
    return np.asarray(params["matrix"])


def test_sgd_has_momentum_and_decay_in_the_gradient():
    after = two_steps("sgd", np.full((4, 4), 2.0), learning_rate=0.1, weight_decay=0.5, beta1=0.9)
    first = 1 - 0.1 * 2.5
    assert after[0, 0] == pytest.approx(first - 0.1 * (0.9 * 2.5 + 2 + 0.5 * first))


def test_adam_has_no_decay_and_adamw_has():
    still = np.zeros((4, 4))
    rates = {"learning_rate": 0.1, "weight_decay": 0.5}
    assert two_steps("adam", still, **rates)[0, 0] == 1
    assert two_steps("adamw", still, **rates)[0, 0] == pytest.approx(0.95**2)


def test_muon_steps_are_nearly_orthogonal():
    gradient = np.random.default_rng(0).normal(size=(4, 4))
    moved = two_steps("muon", gradient, weight=0.0, learning_rate=0.5, weight_decay=0.0)
    singular = np.linalg.svd(moved, compute_uv=False)
    assert singular.min() > 0.5 and singular.max() < 1.3


@pytest.mark.parametrize(
    "model, optimiser, rate",
    [("power", "sgd", 1.0), ("power", "muon", 0.01), ("mlp", "adam", 0.01), ("transformer", "muon", 0.02)],
)
def test_optimisers_lower_the_loss_of_models(model, optimiser, rate):
    config = preset(
        expression="n1 + n2", modulus=5, model=model, optimiser=optimiser, learning_rate=rate, width=8, steps=30
    )
    run = runs.begin(config)
    losses = [run.segment(steps).history[-1][1] for steps in (0, 30)]
    assert np.isfinite(losses).all() and losses[1] < losses[0]


def test_periodicity_is_that_of_the_embedding():
    waves = np.cos(2 * np.pi * np.arange(11)[:, None] * np.arange(1, 4) / 11)
    mlp = models.Mlp(jnp.asarray(np.stack([waves, waves])), (), (), jnp.ones((3, 11)))
    transformer = models.Transformer(jnp.asarray(waves), jnp.zeros((3, 3)), (), (), jnp.ones((3, 11)))
    shape = Shape(11, 2, 3, 2, 5)
    for params in (mlp, transformer):
        ipr, alive = runs.neuron_spectra(shape, params)
        np.testing.assert_allclose(ipr, 1, rtol=1e-5)
        assert alive.all()


@pytest.mark.parametrize(
    "setting, text",
    [
        ({"model": "mlp", "depth": 5}, "depth of a mlp must be from 2 to 4, got 5"),
        ({"model": "transformer", "depth": 3}, "depth of a transformer must be from 1 to 2, got 3"),
        ({"model": "transformer", "norm": "batch"}, "norm of a transformer must be none or layer, got 'batch'"),
        ({"norm": "layer"}, "norm of a power must be none, got 'layer'"),
        ({"model": "transformer", "width": 30}, "width of a transformer must be a multiple of its 4 heads, got 30"),
        ({"model": "mlp", "power": 2}, "power is for the model power, got 2 for mlp"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"optimiser": "adam", "weight_decay": 1.0}, "adam has no weight decay, got 1; take adamw"),
        ({"loss": "hinge"}, "loss must be mse or cross-entropy, got 'hinge'"),
        ({"optimiser": "lion"}, "optimiser must be adamw or adam or adam-l2 or sgd or muon, got 'lion'"),
        ({"model": "rnn"}, "model must be power or mlp or transformer, got 'rnn'"),
        ({"model": "mlp", "activation": "tanh"}, "activation must be relu or gelu or square, got 'tanh'"),
    ],
)
def test_what_makes_no_sense_is_refused(setting, text):
    with pytest.raises(InputError, match=text):
        preset(expression="n1 n2", modulus=97, **setting)


def test_a_preset_is_for_the_model_and_the_optimiser():
    assert preset(expression="n1", modulus=5) == training.TrainConfig("n1", 5)
    config = preset(expression="n1", modulus=5, model="transformer", learning_rate=0.5)
    assert (config.width, config.loss, config.learning_rate) == (128, "cross-entropy", 0.5)
    assert preset(expression="n1", modulus=5, optimiser="adam").weight_decay == 0


def test_a_run_of_another_model_keeps_its_weights_and_is_no_circuit(tmp_path):
    config = preset(expression="n1 + n2", modulus=5, model="transformer", width=8, steps=4, metrics_every=2)
    result = runs.train_run(config, tmp_path / "run")
    assert result["finished"] and json.dumps(result, allow_nan=False)
    stored = load_file(tmp_path / "run" / "weights.safetensors")
    assert stored["layers[0].query"].shape == (8, 8) and stored["positions"].shape == (3, 8)
    with pytest.raises(InputError, match="holds a trained transformer, which is no two-layer power network"):
        network.load(tmp_path / "run")
    longer = preset(expression="n1 + n2", modulus=5, model="transformer", width=8, steps=8, metrics_every=2)
    whole = runs.train_run(longer, tmp_path / "whole")
    assert runs.train_run(longer, tmp_path / "run")["final"] == whole["final"]


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "mlp", "width": 96, "norm": "layer", "steps": 400},
        {"model": "transformer", "width": 32, "learning_rate": 0.01, "steps": 500},
    ],
)
def test_other_models_grok_addition(settings):
    config = preset(expression="n1 + n2", modulus=23, fraction=0.8, metrics_every=50, **settings)
    run = runs.begin(config)
    for _ in range(config.steps // 50):
        run = run.segment(50)
        if run.curves()["test_accuracy"][-1] == 1:
            break
    assert run.curves()["test_accuracy"][-1] == 1
    assert not isinstance(run.params, Expert)


@pytest.mark.parametrize("architecture", [Architecture("mlp", 3, norm="batch"), Architecture("transformer", 2)])
def test_gathered_gradients_are_the_scattered_ones(architecture):
    table, settings, ends = jnp.asarray(np.arange(25) % 5), hyper(seed=0, train_rows=10, learning_rate=0.1), []
    for gradient in ("scatter", "gather"):
        shape = shape_of(architecture, gradient=gradient, optimiser="sgd")
        examples, state = jax.jit(training.start, static_argnums=0)(shape, settings, table)
        ends.append(jax.jit(training.advance, static_argnums=0)(shape, settings, examples, state, 3).params)
    assert float(jnp.abs(ends[0].embed - state.params.embed).max()) > 1e-3
    for a, b in zip(*map(jax.tree.leaves, ends), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
