"""Models against plain NumPy written from their formulas, what each setting does, and that they grok."""

import json
from dataclasses import replace
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

from modgrok.base.errors import InputError
from modgrok.inspection.order import natural_order
from modgrok.inspection.spectrum import periodicity
from modgrok.networks.circuit import Expert
from modgrok.networks.losses import LOSSES
from modgrok.networks.models import MODELS, CircuitModel, Mlp, Power, Rows, Transformer, base, trainable
from modgrok.networks.models.base import dropped
from modgrok.networks.models.circuit_model import ExpertSizes
from modgrok.networks.models.mlp import MlpWeights
from modgrok.networks.models.transformer import TransformerWeights
from modgrok.networks.storage import load
from modgrok.training import steps as training
from modgrok.training.checkpoints import begin
from modgrok.training.config import TrainConfig, hyper
from modgrok.training.optimisers import optimiser_with
from modgrok.training.steps import Shape
from modgrok.training.train import train, train_config

INPUTS = jnp.array(list(product(range(5), repeat=2)))
KEY = jax.random.key(3)
PLACES = natural_order("additive", 5, 2).places


def small(kind, **settings):
    """A model of two variables modulo 5."""
    return kind((5, 5), 5, width=8, **settings)


def init(model):
    return jax.jit(lambda scale, key: model.init(scale, key=key))(jnp.float32(1), KEY)


def logits_of(model, params, **how):
    """Of every row; as one program, which compiles sooner than its operations one by one."""
    return np.asarray(jax.jit(lambda *given: model.apply(given[0], Rows(given[1]), **how))(params, INPUTS))


def numpy_norm(x, scale, shift, axis):
    deviation = np.sqrt(x.var(axis=axis, keepdims=True) + 1e-5)
    return (x - x.mean(axis=axis, keepdims=True)) / deviation * scale + shift


@pytest.mark.parametrize("norm", ["none", "layer", "batch"])
@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize("activation, function", [("relu", lambda x: np.maximum(x, 0)), ("square", lambda x: x**2)])
def test_an_mlp_is_matrices_and_activations(depth, activation, function, norm):
    model = small(Mlp, depth=depth, activation=activation, norm=norm)
    params = init(model)
    assert len(params.hidden) == depth - 2 and len(params.norms) == (0 if norm == "none" else depth - 1)
    onehots = np.concatenate([np.eye(5)[np.asarray(INPUTS)[:, v]] for v in range(2)], axis=1)
    hidden = onehots @ np.asarray(params.embed, np.float64).reshape(10, 8)
    for k in range(depth - 1):
        hidden = hidden if k == 0 else hidden @ np.asarray(params.hidden[k - 1], np.float64)
        if norm != "none":
            hidden = numpy_norm(hidden, *(np.asarray(w) for w in params.norms[k]), axis=1 if norm == "layer" else 0)
        hidden = function(hidden)
    logits = logits_of(model, params)
    np.testing.assert_allclose(logits, hidden @ np.asarray(params.readout), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_transformer_attends_causally_and_reads_at_the_last_token(depth, norm):
    """Every token through every layer, head by head, in float64; then what stands at "="."""
    model = small(Transformer, depth=depth, norm=norm)
    params = init(model)
    weights = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)

    def normed(x, norms, k):
        return numpy_norm(x, *norms[k], axis=-1) if norm == "layer" else x

    for row, logits in zip(np.asarray(INPUTS), logits_of(model, params), strict=True):
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
    once = dropped(x, 0.25, KEY, 0)
    assert set(np.unique(once)) == {np.float32(0), np.float32(1 / 0.75)}
    assert float(once.mean()) == pytest.approx(1, abs=0.01)
    assert not np.array_equal(once, dropped(x, 0.25, KEY, 1))
    assert dropped(x, 0.25, None, 0) is x and dropped(x, 0.0, KEY, 0) is x


def test_every_step_drops_other_neurons():
    model, settings = small(Power, dropout=0.5), hyper(seed=0, train_rows=12, learning_rate=0.0)
    keys = [training.dropout_key(settings, jnp.int32(step)) for step in range(2)]
    first, second = (logits_of(model, init(model), key=key) for key in keys)
    assert not np.allclose(first, second)


def test_batch_norm_is_evaluated_with_the_statistics_of_the_training_rows():
    model = small(Mlp, depth=3, norm="batch")
    shape = Shape(model, 12)
    settings, table = hyper(seed=1, train_rows=10), jnp.asarray(np.arange(25) % 5)
    examples, state = jax.jit(training.start, static_argnums=0)(shape, settings, table, PLACES)
    train = training.table_inputs(examples.shuffled[:10], (5, 5))
    statistics = jax.jit(lambda params, rows: model.statistics(params, Rows(rows)))(state.params, train)
    assert [part.mean.shape for part in statistics] == [(8,), (8,)]
    of_training = jax.jit(training.batch_statistics, static_argnums=0)(shape, settings, examples, state.params)
    for ours, theirs in zip(jax.tree.leaves(statistics), jax.tree.leaves(of_training), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    logits, test = logits_of(model, state.params, statistics=statistics), np.asarray(examples.shuffled)[10:]
    metrics = jax.jit(training.measure, static_argnums=0)(shape, settings, examples, state.params)
    assert metrics.test_accuracy == pytest.approx((logits.argmax(axis=1) == np.arange(25) % 5)[test].mean())
    losses = ((logits - np.eye(5)[np.arange(25) % 5]) ** 2).mean(axis=1)
    assert metrics.test_loss == pytest.approx(losses[test].mean(), rel=1e-4)


def test_cross_entropy_is_the_log_of_the_share():
    logits, targets = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]]), np.array([1, 2])
    expected = [-np.log(np.exp(2) / np.exp(logits[0]).sum()), np.log(3)]
    np.testing.assert_allclose(LOSSES["cross-entropy"](jnp.asarray(logits), jnp.asarray(targets)), expected, rtol=1e-5)


def two_steps(optimiser, gradient, weight=1.0, **rates):
    rule = optimiser_with(optimiser, hyper(train_rows=1, **rates))
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


def test_adam_with_l2_hides_the_decay_in_its_denominator():
    """Without another gradient the decay is all there is: a step has the size of the rate, however strong it is."""
    still = np.zeros((4, 4))
    for decay in (0.1, 5.0):
        after = two_steps("adam-l2", still, learning_rate=0.1, weight_decay=decay)
        assert after[0, 0] == pytest.approx(0.8, abs=0.01)


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
    config = TrainConfig("n1 + n2", 5, model=model, optimiser=optimiser, learning_rate=rate, width=8, steps=30)
    training = begin(config)
    losses = [training.segment(steps).history[-1][1] for steps in (0, 30)]
    assert np.isfinite(losses).all() and losses[1] < losses[0]


def test_periodicity_is_that_of_the_embedding():
    waves = np.cos(2 * np.pi * np.arange(11)[:, None] * np.arange(1, 5) / 11)
    mlp = MlpWeights(jnp.asarray(np.stack([waves, waves])), (), (), jnp.ones((4, 11)))
    transformer = TransformerWeights(jnp.asarray(waves), jnp.zeros((3, 4)), (), (), jnp.ones((4, 11)))
    for model, params in ((Mlp((11, 11), 11, width=4), mlp), (Transformer((11, 11), 11, width=4), transformer)):
        found = jax.jit(periodicity)(model.blocks(params), natural_order("additive", 11, 2).places)
        np.testing.assert_allclose(found.ipr, 1, rtol=1e-5)
        assert found.alive.all()


@pytest.mark.parametrize(
    "setting, text",
    [
        ({"model": "mlp", "depth": 1}, "depth of an mlp must be from 2 to 100, got 1"),
        ({"model": "transformer", "depth": 101}, "depth of a transformer must be from 1 to 100, got 101"),
        ({"model": "transformer", "heads": 3}, "width of a transformer must be a multiple of its 3 heads, got 128"),
        ({"model": "mlp", "heads": 2}, "heads is for the model transformer, got 2 for mlp; leave it out"),
        ({"bias": True}, "bias is for the model mlp and transformer, got True for power; leave it out"),
        ({"model": "mlp", "bias": 1}, "bias must be True or False, got 1"),
        ({"model": "transformer", "norm": "batch"}, "norm of a transformer must be none or layer, got 'batch'"),
        ({"norm": "layer"}, "norm is for the model mlp and transformer, got layer for power; leave it out"),
        ({"depth": 3}, "depth is for the model mlp and transformer, got 3 for power; leave it out"),
        ({"model": "transformer", "width": 30}, "width of a transformer must be a multiple of its 4 heads, got 30"),
        ({"model": "mlp", "power": 2}, "power is for the model power, got 2 for mlp; leave it out"),
        ({"dropout": 1.0}, "dropout must be a number >= 0 and below 1, got 1.0"),
        ({"optimiser": "adam", "weight_decay": 1.0}, "adam has no weight decay, got 1; take adamw"),
        ({"loss": "hinge"}, "loss must be mse or cross-entropy, got 'hinge'"),
        ({"optimiser": "lion"}, "optimiser must be adamw or adam or adam-l2 or sgd or muon, got 'lion'"),
        ({"model": "rnn"}, "model must be power or mlp or transformer, got 'rnn'"),
        ({"model": "mlp", "activation": "sine"}, "activation must be .*gelu-exact or square or tanh, got 'sine'"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_makes_no_sense_is_refused(setting, text):
    with pytest.raises(InputError, match=text):
        TrainConfig("n1 n2", 97, **setting)


def test_a_run_of_another_model_keeps_its_weights_and_is_no_circuit(tmp_path):
    config = TrainConfig("n1 + n2", 5, model="transformer", width=8, steps=4, metrics_every=2)
    run = train_config(config, tmp_path / "run")
    assert run.finished and json.dumps(run.to_json(), allow_nan=False)
    stored = load_file(tmp_path / "run" / "weights.safetensors")
    assert stored["layers.0.query"].shape == (8, 8) and stored["positions"].shape == (3, 8)
    loaded = load(tmp_path / "run")
    assert loaded.model == small(Transformer)
    np.testing.assert_array_equal(loaded(INPUTS), run.network(INPUTS))
    with pytest.raises(InputError, match="the model transformer is not a circuit of two-layer experts, which this"):
        _ = loaded.circuit
    longer = replace(config, steps=8)
    whole = train_config(longer, tmp_path / "whole")
    assert train_config(longer, tmp_path / "run").final == whole.final


def test_a_circuit_is_trained_from_a_plan_and_logits_by_others_and_neither_by_its_name():
    assert trainable() == tuple(name for name in MODELS if name not in ("circuit", "logits"))
    with pytest.raises(InputError, match="model must be power or mlp or transformer, got 'circuit'"):
        train("n1 + n2", 5, model="circuit")


def test_a_circuit_model_computes_what_its_experts_compute_and_holds_its_temperatures():
    """(n1 + n2) + n1: the second expert reads the first through softmax."""
    sizes = (ExpertSizes(2, 5, 6, 5, 2), ExpertSizes(2, 5, 4, 5, 3))
    model = CircuitModel((5, 5), 5, width=10, experts=sizes, wires=((0, 1), (2, 0)))
    circuit = replace(init(model), betas=jnp.array([3.0, 1.0]))
    first, second = (jax.tree.map(np.asarray, expert) for expert in circuit.experts)
    for row, logits in zip(np.asarray(INPUTS), logits_of(model, circuit), strict=True):
        between = (first.embed[0, row[0]] + first.embed[1, row[1]]) ** 2 @ first.readout
        shares = np.exp(3 * between) / np.exp(3 * between).sum()
        hidden = shares @ second.embed[0] + second.embed[1, row[0]]
        np.testing.assert_allclose(logits, hidden**3 @ second.readout, rtol=1e-4, atol=1e-5)
    assert CircuitModel.of(circuit, (5, 5)) == model
    moved = model.applied(jax.tree.map(jnp.ones_like, circuit))
    assert not moved.betas.any() and all(np.all(leaf == 1) for leaf in jax.tree.leaves(moved.experts))
    for part, length in zip(("embed", "readout"), model.norms(circuit), strict=True):
        every = np.concatenate([getattr(expert, part).ravel() for expert in (first, second)])
        assert length == pytest.approx(np.linalg.norm(every), rel=1e-5)


@pytest.mark.parametrize("model", [small(Power, power=3), small(Mlp, depth=4, norm="layer"), small(Transformer)])
def test_the_skeleton_has_the_shapes_of_the_weights(model):
    params, skeleton = init(model), model.skeleton()
    assert jax.tree.structure(params) == jax.tree.structure(skeleton)
    assert [leaf.shape for leaf in jax.tree.leaves(params)] == [leaf.shape for leaf in jax.tree.leaves(skeleton)]
    assert model.parameters() == sum(leaf.size for leaf in jax.tree.leaves(params))
    assert model.activations() >= model.width


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "mlp", "width": 96, "norm": "layer", "steps": 400},
        {"model": "transformer", "width": 32, "learning_rate": 0.01, "steps": 500},
    ],
)
def test_other_models_grok_addition(settings):
    config = TrainConfig("n1 + n2", 23, fraction=0.8, metrics_every=50, **settings)
    training = begin(config)
    for _ in range(config.steps // 50):
        training = training.segment(50)
        if training.curves()["test_accuracy"][-1] == 1:
            break
    assert training.curves()["test_accuracy"][-1] == 1
    assert not isinstance(training.params, Expert)


@pytest.mark.parametrize("model", [small(Mlp, depth=3, norm="batch"), small(Transformer, depth=2)])
def test_gradients_summed_as_on_a_gpu_are_those_of_a_cpu(model, monkeypatch):
    table, settings, ends = jnp.asarray(np.arange(25) % 5), hyper(seed=0, train_rows=10, learning_rate=0.1), []
    for cpu in (True, False):
        monkeypatch.setattr(base, "on_cpu", lambda cpu=cpu: cpu)
        shape = Shape(model, 12, optimiser="sgd")
        examples, state = training.start(shape, settings, table, PLACES)
        ends.append(jax.jit(partial(training.advance, shape))(settings, examples, state, 3).params)
    assert float(jnp.abs(ends[0].embed - state.params.embed).max()) > 1e-3
    for a, b in zip(*map(jax.tree.leaves, ends), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
