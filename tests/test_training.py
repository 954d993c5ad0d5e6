"""Training against a plain NumPy loop with one-hot inputs in float64, written from the formulas."""

import json
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modgrok.base.errors import InputError
from modgrok.inspection.order import natural_order
from modgrok.networks.circuit import Expert
from modgrok.networks.losses import squared_error
from modgrok.networks.models import MODELS, Power, Rows, base
from modgrok.training import steps as training
from modgrok.training.config import TrainConfig, hyper
from modgrok.training.presets import DEFAULTS, preset
from modgrok.training.steps import Shape

advance, measure, advance_and_measure = (
    jax.jit(function, static_argnums=0)
    for function in (training.advance, training.measure, training.advance_and_measure)
)


def power(modulus, variables, width):
    return Power((modulus,) * variables, modulus, width=width)


def start(shape, settings, table):
    """At step 0; periodicity is measured in the additive order."""
    places = natural_order("additive", shape.model.classes, shape.model.variables).places
    return jax.jit(training.start, static_argnums=0)(shape, settings, jnp.asarray(table), places)


def sum_table(modulus, variables):
    return np.array([sum(row) % modulus for row in product(range(modulus), repeat=variables)], np.int32)


def numpy_forward(embed, readout, power, inputs):
    hidden = sum(embed[s][[row[s] for row in inputs]] for s in range(len(embed)))
    return hidden, hidden**power @ readout


def numpy_adamw(embed, readout, power, inputs, targets, steps, rate=0.005, decay=5.0, b1=0.9, b2=0.98, eps=1e-8):
    """AdamW on mean squared error as in Loshchilov and Hutter, with explicit gradients."""
    p = embed.shape[1]
    onehots = [np.eye(p)[[row[s] for row in inputs]] for s in range(len(embed))]
    weights = [embed.astype(np.float64), readout.astype(np.float64)]
    first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    for t in range(1, steps + 1):
        hidden, logits = numpy_forward(*weights, power, inputs)
        error = 2 * (logits - np.eye(p)[targets]) / logits.size
        back = power * hidden ** (power - 1) * (error @ weights[1].T)
        gradients = [np.stack([onehot.T @ back for onehot in onehots]), (hidden**power).T @ error]
        for k, g in enumerate(gradients):
            first[k] = b1 * first[k] + (1 - b1) * g
            second[k] = b2 * second[k] + (1 - b2) * g**2
            update = first[k] / (1 - b1**t) / (np.sqrt(second[k] / (1 - b2**t)) + eps)
            weights[k] = weights[k] - rate * (update + decay * weights[k])
    return weights


@pytest.mark.parametrize("cpu", [True, False])
@pytest.mark.parametrize("modulus, variables, width", [(7, 2, 12), (5, 3, 8), (11, 1, 6)])
def test_training_is_adamw_on_the_training_rows(modulus, variables, width, cpu, monkeypatch):
    monkeypatch.setattr(base, "on_cpu", lambda: cpu)  # gradients summed as on a CPU, and as on a GPU
    rows = modulus**variables
    shape = Shape(power(modulus, variables, width), rows // 2)
    settings, table = hyper(seed=4, train_rows=rows // 2), sum_table(modulus, variables)
    examples, state = start(shape, settings, table)
    train = np.asarray(examples.shuffled)[: rows // 2]
    inputs = [list(product(range(modulus), repeat=variables))[row] for row in train]
    expected = numpy_adamw(
        np.asarray(state.params.embed), np.asarray(state.params.readout), variables, inputs, table[train], steps=8
    )
    trained = advance(shape, settings, examples, state, 8)
    assert trained.step == 8
    np.testing.assert_allclose(trained.params.embed, expected[0], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(trained.params.readout, expected[1], rtol=2e-4, atol=2e-5)


def test_the_two_gradients_are_one_gradient():
    rng = np.random.default_rng(0)
    embed, cotangent = jnp.asarray(rng.normal(size=(2, 7, 10))), jnp.asarray(rng.normal(size=(24, 10)))
    inputs = jnp.asarray(rng.integers(0, 7, (24, 2)))
    expected = np.zeros((2, 7, 10))
    for row, variable in np.ndindex(24, 2):
        expected[variable, inputs[row, variable]] += cotangent[row]
    for way in (base.gathered_columns, base.gathered_by_products):
        found = jax.jit(jax.grad(lambda embed, way=way: jnp.sum(cotangent * way(embed, inputs))))(embed)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(way(embed, inputs), embed[0][inputs[:, 0]] + embed[1][inputs[:, 1]])


def test_rows_past_the_training_set_have_no_influence():
    table, settings = sum_table(7, 2), hyper(seed=1, train_rows=20)
    results = []
    for capacity in (20, 40):
        shape = Shape(power(7, 2, 16), capacity)
        examples, state = start(shape, settings, table)
        results.append(advance_and_measure(shape, settings, examples, state, 10)[1])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


def test_metrics_are_what_the_whole_table_says(monkeypatch):
    monkeypatch.setitem(training.BLOCK_BYTES, "cpu", 4 * 20 * 30)
    shape, settings, table = Shape(power(11, 2, 20), 70), hyper(seed=2, train_rows=70), sum_table(11, 2)
    examples, state = start(shape, settings, table)
    state, metrics = advance_and_measure(shape, settings, examples, state, 20)
    embed, readout = (np.asarray(leaf, np.float64) for leaf in (state.params.embed, state.params.readout))
    _, logits = numpy_forward(embed, readout, 2, list(product(range(11), repeat=2)))
    losses, hits = ((logits - np.eye(11)[table]) ** 2).mean(axis=1), logits.argmax(axis=1) == table
    train, test = np.split(np.asarray(examples.shuffled), [70])
    assert metrics.train_loss == pytest.approx(losses[train].mean(), rel=1e-4)
    assert metrics.test_loss == pytest.approx(losses[test].mean(), rel=1e-4)
    assert metrics.train_accuracy == pytest.approx(hits[train].mean())
    assert metrics.test_accuracy == pytest.approx(hits[test].mean())
    assert metrics.embed_norm == pytest.approx(np.linalg.norm(embed), rel=1e-5)
    assert metrics.readout_norm == pytest.approx(np.linalg.norm(readout), rel=1e-5)


def test_blocks_add_up_to_the_whole_gradient(monkeypatch):
    shape, settings = Shape(power(7, 2, 16), 30), hyper(seed=1, train_rows=25)
    examples, state = start(shape, settings, sum_table(7, 2))

    @jax.jit
    def gradient(params, blocks):
        def loss(params, block, key):
            logits = shape.model.apply(params, Rows(block.inputs, block.weights))
            return jnp.sum(block.weights * squared_error(logits, block.targets))

        return training.summed_gradient(loss, params, blocks, jax.random.key(0))

    found = []
    for rows_at_once, blocks in ((30, (1, 30)), (4, (8, 4))):
        monkeypatch.setitem(training.BLOCK_BYTES, "cpu", 4 * 16 * rows_at_once)
        split = training.training_blocks(shape, settings, examples)
        assert split.weights.shape == blocks
        assert np.sum(split.weights) == pytest.approx(1) and np.count_nonzero(split.weights) == 25
        found.append(gradient(state.params, split))
    np.testing.assert_allclose(found[0].embed, found[1].embed, atol=1e-7)
    assert np.abs(found[0].embed).max() > 1e-4


def test_where_it_is_measured_does_not_matter():
    shape, settings = Shape(power(7, 2, 16), 24), hyper(seed=1, train_rows=24)
    examples, state = start(shape, settings, sum_table(7, 2))
    whole = advance(shape, settings, examples, state, 30)
    for steps in (1, 9, 20):
        state = advance(shape, settings, examples, state, steps)
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(state), strict=True))


def test_dead_neurons_leave_no_nan():
    shape, settings = Shape(power(11, 2, 50), 60), hyper(seed=0, train_rows=60, weight_decay=40.0)
    examples, state = start(shape, settings, sum_table(11, 2))
    state, metrics = advance_and_measure(shape, settings, examples, state, 400)
    assert metrics.alive < 25
    assert all(np.isfinite(value) for value in metrics)
    zero = Expert(jnp.zeros((2, 11, 50)), jnp.zeros((50, 11)), 2)
    metrics = measure(shape, settings, examples, zero)
    assert metrics.alive == 0 and metrics.ipr_alive == 0
    assert metrics.train_loss == pytest.approx(1 / 11)


def test_without_test_rows_the_test_metrics_do_not_exist():
    shape, settings = Shape(power(5, 2, 10), 25), hyper(seed=0, train_rows=25)
    examples, state = start(shape, settings, sum_table(5, 2))
    metrics = measure(shape, settings, examples, state.params)
    assert np.isnan(metrics.test_loss) and np.isnan(metrics.test_accuracy)
    assert np.isfinite(metrics.train_loss)


def test_initial_weights_have_the_published_scale():
    expert = power(97, 2, 500).init(jnp.float32(0.5), key=jax.random.key(0))
    for leaf in (expert.embed, expert.readout):
        assert np.std(leaf) == pytest.approx(0.5 / 1000 ** (1 / 3), rel=0.02)


def test_config_becomes_a_task():
    task = TrainConfig("n1 n2", 11, width=30, seed=5, fraction=0.25).task()
    assert task.shape == Shape(Power((11, 11), 11, width=30, power=2), 30)
    assert task.order.name == "multiplicative"
    assert (task.hyper.seed, task.hyper.train_rows) == (5, 30)
    assert task.hyper.weight_decay == 5 and task.hyper.beta2 == np.float32(0.98)
    assert task.table.tolist() == [a * b % 11 for a, b in product(range(11), repeat=2)]
    other = TrainConfig("n1 n2", 11, order="additive", power=3).task()
    assert other.shape.model.power == 3 and other.order.name == "additive"


@pytest.mark.parametrize("model, optimiser", [("power", "adamw"), ("mlp", "sgd"), ("transformer", "muon")])
def test_what_is_not_given_is_the_preset_and_what_is_given_stays(model, optimiser):
    config = TrainConfig("n1 + n2", 97, model=model, optimiser=optimiser)
    for name, value in preset(model, optimiser).items():
        assert getattr(config, name) == value
    given = TrainConfig("n1 + n2", 97, model=model, optimiser=optimiser, width=8, learning_rate=0.25, seed=3)
    assert (given.width, given.learning_rate, given.seed) == (8, 0.25, 3)
    assert {"width": 8, "learning_rate": 0.25, "seed": 3}.items() <= given.changed().items()
    assert config.changed().keys() <= {"model", "optimiser"}


def test_presets_are_those_of_their_model_and_the_rest_is_the_papers():
    assert preset("power", "adamw") == DEFAULTS
    assert TrainConfig("n1", 5, optimiser="adam").weight_decay == 0
    transformer = TrainConfig("n1", 5, model="transformer", learning_rate=0.5)
    assert (transformer.width, transformer.loss, transformer.learning_rate) == (128, "cross-entropy", 0.5)
    assert all(preset(model, "adamw")["beta2"] == 0.98 for model in MODELS if model != "circuit")


def test_measured_steps_end_with_the_last():
    assert TrainConfig("n1", 5, steps=25, metrics_every=10).measured_steps() == [0, 10, 20, 25]
    assert TrainConfig("n1", 5, steps=20, metrics_every=10).measured_steps() == [0, 10, 20]


@pytest.mark.parametrize(
    "setting, text",
    [
        ({"width": 0}, r"width must be a whole number from 1 to 2\^31 - 1, got 0"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number >= 0 and below 3.40282e\\+38, got nan"),
        ({"beta2": 1.0}, "beta2 must be a number >= 0 and below 1, got 1.0"),
        ({"order": "random"}, "order must be auto or additive or multiplicative or witness, got 'random'"),
        ({"modulus": 91, "order": "multiplicative"}, "modulus must be a prime for the multiplicative order, got 91"),
        ({"modulus": 1}, "modulus must be at least 2, got 1"),
        ({"fraction": 0.0}, "fraction must be above 0"),
    ],
)
def test_settings_outside_their_range_are_refused(setting, text):
    with pytest.raises(InputError, match=text):
        TrainConfig(**({"expression": "n1 n2", "modulus": 97} | setting))


@pytest.mark.parametrize("name", ["width", "learning_rate", "fraction", "steps", "dropout"])
@pytest.mark.usefixtures("unchecked")
def test_words_are_no_numbers(name):
    with pytest.raises(InputError, match=f"{name} must be .*, got 'half'"):
        TrainConfig("n1 n2", 97, **{name: "half"})


@pytest.mark.usefixtures("unchecked")
def test_numbers_of_numpy_are_numbers():
    """They come from sweeps; a config is plain values, which its file holds."""
    config = TrainConfig("n1 n2", np.int64(97), width=np.int32(40), learning_rate=np.float64(0.01), seed=np.uint8(3))
    assert config == TrainConfig("n1 n2", 97, width=40, learning_rate=0.01, seed=3)
    assert json.loads(json.dumps(config.to_json()))["width"] == 40


def test_an_unknown_hyper_parameter_is_refused():
    with pytest.raises(InputError, match="unknown hyper-parameter momentum; there are seed, train_rows"):
        hyper(train_rows=5, momentum=0.9)
