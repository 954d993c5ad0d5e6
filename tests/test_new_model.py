"""Models, losses and optimisers that only this file knows: the rest of modgrok takes them as it takes its own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import modgrok as mg
from modgrok import cli
from modgrok.base.errors import InputError
from modgrok.base.objects import fingerprint
from modgrok.networks.models import MODELS, Blocks, Mlp, Model, Power
from modgrok.networks.models.base import normal
from modgrok.networks.network import Network
from modgrok.networks.proving import proved
from modgrok.training.config import TrainConfig
from modgrok.training.settings import SETTINGS as DECLARED


class BilinearWeights(NamedTuple):
    embed: jax.Array
    readout: jax.Array


@dataclass(frozen=True)
class Bilinear(Model):
    """readout[·, q] · Π_v embed[v, n_v, ·]: the product of what the variables look up, and no activation."""

    name = "toy"
    width: int = 16
    depth: int = 2
    """A setting that trainings know already, with a meaning of its own: how often the product is taken."""

    def init(self, scale, *, key):
        embed_key, readout_key = jax.random.split(key)
        embed = normal(embed_key, (self.variables, self.largest, self.width), scale, 1)
        return BilinearWeights(embed, normal(readout_key, (self.width, self.classes), scale, self.width))

    def apply(self, params, rows, *, statistics=(), key=None):
        looked_up = [jnp.asarray(params.embed)[v][rows.inputs[:, v]] for v in range(self.variables)]
        return jnp.prod(jnp.stack(looked_up), axis=0) ** (self.depth - 1) @ params.readout

    def blocks(self, params):
        return Blocks(jnp.swapaxes(params.embed, 1, 2), tuple(range(self.variables)))

    def activations(self):
        return (self.variables + 2) * self.width


SETTINGS = {"model": "toy", "width": 24, "steps": 40, "fraction": 0.8, "learning_rate": 0.01, "weight_decay": 0.1}
EVERY_ROW = np.array(list(product(range(7), repeat=2)))


@pytest.fixture(autouse=True)
def toy_is_a_model(monkeypatch):
    monkeypatch.setitem(MODELS, "toy", Bilinear)


def numpy_logits(params, rows):
    """The formula of the class, in float64."""
    embed, readout = (np.asarray(leaf, np.float64) for leaf in (params.embed, params.readout))
    return (embed[0][rows[:, 0]] * embed[1][rows[:, 1]]) @ readout


def test_it_is_trained_and_measured():
    run = mg.train("n1 n2", 7, **SETTINGS)
    assert run.network.model == Bilinear((7, 7), 7, width=24, depth=2)
    assert run.final["train_loss"] < 0.5 * run.metrics["train_loss"][0]
    assert run.residue_order.name == "multiplicative" and run.ipr_blocks == ["n1", "n2"], "no block for the readout"
    assert 0 < run.final["ipr"] <= 1 and run.neurons["ipr_final"].shape == (24,)
    embed = np.asarray(run.network.params.embed, np.float64)
    assert run.final["embed_norm"] == pytest.approx(np.linalg.norm(embed), rel=1e-5)
    assert run.diagnosis.outcome in ("grokked", "improving", "memorised")
    assert mg.train("n1 n2", 7, **SETTINGS).final == run.final, "the same seed, the same numbers"


def test_it_is_checkpointed_and_resumed_bit_for_bit(tmp_path):
    unbroken = mg.train("n1 n2", 7, **SETTINGS, out=tmp_path / "unbroken")
    asked = iter([False, True])
    half = mg.train("n1 n2", 7, **SETTINGS, out=tmp_path / "run", stop=lambda: next(asked))
    assert (half.step, half.finished) == (10, False)
    run = mg.resume(tmp_path / "run")
    assert run.finished and run.final == unbroken.final
    for name in ("weights.safetensors", "checkpoint.safetensors", "metrics.parquet", "neurons.parquet"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "unbroken" / name).read_bytes()
    assert mg.load_run(tmp_path / "run").network.model == unbroken.network.model


def test_it_is_saved_loaded_called_verified_and_asked(tmp_path):
    run = mg.train("n1 n2", 7, **SETTINGS)
    network = mg.load(run.network.save(tmp_path / "toy.safetensors"))
    assert repr(network) == "<Network: n1 n2 mod 7, trained toy, 24 wide>"
    assert network.parameters == 3 * 7 * 24
    expected = numpy_logits(run.network.params, EVERY_ROW)
    np.testing.assert_allclose(network(EVERY_ROW), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(network(EVERY_ROW), run.network(EVERY_ROW))
    assert network([3, 4]).shape == (7,) and network.table().shape == (7, 7)
    answers = EVERY_ROW.prod(axis=1) % 7
    found = mg.verify(network)
    assert found.errors == (expected.argmax(axis=1) != answers).sum()
    assert found.accuracy == pytest.approx(
        (run.final["train_accuracy"] * run.train_rows + run.final["test_accuracy"] * (49 - run.train_rows)) / 49
    )
    asked = mg.predict(network, 3, 4)
    assert (asked.expected, asked.value) == (12 % 7, expected[3 * 7 + 4].argmax())
    assert mg.predict(network, EVERY_ROW).values.tolist() == network.table().ravel().tolist()


def test_its_settings_are_its_own():
    config = TrainConfig("n1 n2", 7, model="toy")
    assert (config.width, config.depth) == (16, 2), "what is not given is the class's own"
    assert mg.train("n1 n2", 7, **SETTINGS | {"depth": 3, "steps": 1}).network.model.depth == 3
    with pytest.raises(InputError, match="norm is for the model mlp and transformer, got layer for toy; leave it out"):
        TrainConfig("n1 n2", 7, model="toy", norm="layer")
    with pytest.raises(InputError, match="power is for the model power, got 2 for toy"):
        TrainConfig("n1 n2", 7, model="toy", power=2)


@dataclass(frozen=True)
class Ranked(Bilinear):
    """With a setting that no training has: it stays what the class says."""

    name = "ranked"
    rank: int = 3


def test_a_setting_that_no_training_knows_keeps_its_default(tmp_path, monkeypatch):
    monkeypatch.setitem(MODELS, "ranked", Ranked)
    network = mg.train("n1 n2", 7, **SETTINGS | {"model": "ranked", "steps": 1}).network
    assert network.model.rank == 3
    assert mg.load(network.save(tmp_path / "ranked.safetensors")).model == network.model
    assert TrainConfig("n1 n2", 7).model == "power", "others train as before"


def test_it_is_inspected_and_what_it_cannot_do_is_refused_with_a_sentence(tmp_path):
    run = mg.train("n1 n2", 7, **SETTINGS | {"steps": 1})
    found = mg.inspect(run, film=[])
    assert "toy is not a circuit" in found.no_weights_view and 0 <= found.logits.analytical_share <= 1
    assert list(found.inside.spectra) == ["n1", "n2", "readout"] and list(found.figures()) == ["spectrum", "logits"]
    with pytest.raises(InputError, match="the model toy has no export to onnx; power, circuit, mlp and transformer"):
        mg.export(run, "onnx", tmp_path / "toy.onnx")


def test_a_file_of_an_unknown_model_is_refused(tmp_path, monkeypatch):
    path = mg.train("n1 n2", 7, **SETTINGS | {"steps": 1}).network.save(tmp_path / "toy.safetensors")
    monkeypatch.delitem(MODELS, "toy")
    with pytest.raises(InputError, match="its model is 'toy'; this modgrok has power, mlp, transformer, circuit"):
        mg.load(path)
    with pytest.raises(InputError, match="model must be power or mlp or transformer, got 'toy'"):
        mg.train("n1 n2", 7, model="toy")


# ------------------------------------------------------------------------------------------ objects in place of words

SMALL = {"width": 8, "steps": 20, "fraction": 0.8}


def absolute(logits, targets):
    """Mean absolute distance to the one-hot."""
    return jnp.mean(jnp.abs(logits - jax.nn.one_hot(targets, logits.shape[1])), axis=1)


def absolute_by_hand(network, rows, answers):
    return np.abs(np.asarray(network(rows), np.float64) - np.eye(7)[answers]).mean(axis=1)


def test_a_loss_is_a_function_and_everything_measures_with_it():
    run = mg.train("n1 n2", 7, loss=absolute, **SMALL | {"fraction": 1.0})
    by_hand = absolute_by_hand(run.network, EVERY_ROW, EVERY_ROW.prod(axis=1) % 7)
    assert run.final["train_loss"] == pytest.approx(by_hand.mean(), rel=1e-5)
    assert run.inspect().logits.loss == run.config.loss == f"absolute-{fingerprint(absolute)}"
    collapsed = mg.train(
        "n1 n2", 7, loss=absolute, **SMALL | {"weight_decay": 20.0, "learning_rate": 0.02, "steps": 50}
    )
    assert collapsed.diagnosis.outcome == "collapsed" and f"0 itself has {1 / 7:.3f}" in collapsed.diagnosis.text


def test_an_optimiser_steps_as_optax_says():
    """Descent at rate 0.1 without momentum, from the weights of step 0, by the gradient of the same loss."""
    run = mg.train("n1 n2", 7, optimiser=optax.sgd(0.1), **SMALL | {"steps": 1, "fraction": 1.0, "snapshots": 2})
    rows, answers = jnp.asarray(EVERY_ROW), jnp.asarray(EVERY_ROW.prod(axis=1) % 7)

    def loss(weights):
        logits = ((weights[0][0][rows[:, 0]] + weights[0][1][rows[:, 1]]) ** 2) @ weights[1]
        return jnp.mean((logits - jax.nn.one_hot(answers, 7)) ** 2)

    before = [jnp.asarray(getattr(run.at(0).params, name)) for name in ("embed", "readout")]
    for weights, gradient, name in zip(before, jax.grad(loss)(before), ("embed", "readout"), strict=True):
        np.testing.assert_allclose(getattr(run.network.params, name), weights - 0.1 * gradient, atol=1e-6)
    stored = run.config.to_json()
    assert stored["learning_rate"] is None and stored["weight_decay"] is None and stored["fraction"] == 1.0
    assert " at " not in run.about and run.about.endswith(run.config.optimiser)


def test_the_rates_of_a_registered_function_are_settings_and_traced():
    mg.register("lion", optimiser=lambda learning_rate, beta1: optax.lion(learning_rate, b1=beta1))
    found = mg.sweep("n1 n2", 7, optimiser="lion", learning_rate=[0.001, 0.01], **SMALL)
    assert found.compilations == 1 and {row["learning_rate"] for row in found.rows} == {0.001, 0.01}
    alone = mg.train("n1 n2", 7, optimiser=optax.lion(0.01), **SMALL)
    assert found.rows[1]["train_loss"] == pytest.approx(alone.final["train_loss"], rel=1e-4)
    with pytest.raises(InputError, match="lion has no weight decay, got 1; take adamw, or a weight_decay of 0"):
        TrainConfig("n1 n2", 7, optimiser="lion", weight_decay=1.0)


def test_a_run_with_objects_says_what_it_needs_and_goes_on_bit_for_bit(tmp_path, capsys):
    own = {"optimiser": optax.lion(0.01), "loss": absolute, "model": Bilinear(width=8)}
    unbroken = mg.train("n1 n2", 7, **own, steps=20, out=tmp_path / "unbroken")
    asked = iter([False, True])
    mg.train("n1 n2", 7, **own, steps=20, out=tmp_path / "run", stop=lambda: next(asked))
    told = capsys.readouterr().err.splitlines()[-1]
    assert f"go on with mg.resume('{tmp_path / 'run'}', model=…, loss=…, optimiser=…)" in told
    again = {"optimiser": optax.lion(0.01), "loss": absolute, "model": Bilinear(width=8)}
    run = mg.resume(tmp_path / "run", **again)
    assert run.final == unbroken.final and run.finished
    assert (tmp_path / "run/checkpoint.safetensors").read_bytes() == (
        tmp_path / "unbroken/checkpoint.safetensors"
    ).read_bytes()
    with pytest.raises(InputError, match="optimiser is 'lion-.*' there and 'lion-.*' here.*give what it began with"):
        mg.resume(tmp_path / "run", **again | {"optimiser": optax.lion(0.02)}, steps=30)


def test_a_run_is_listed_where_its_objects_are_missing_and_not_trained(tmp_path):
    optimiser = optax.lion(0.01)
    word = mg.train("n1 n2", 7, optimiser=optimiser, **SMALL, out=tmp_path / "run").config.optimiser
    del DECLARED["optimiser"].choices[word]
    (entry,) = mg.runs(tmp_path)
    assert entry.settings == {} and entry.load().config.optimiser == word
    with pytest.raises(InputError, match=rf"the optimiser '{word}' is an object that no file can hold; give it again"):
        mg.resume(tmp_path / "run", steps=30)
    assert mg.resume(tmp_path / "run", steps=30, optimiser=optimiser).step == 30


def test_sweeps_take_objects():
    found = mg.sweep("n1 n2", 7, optimiser=[optax.sgd(0.1), optax.lion(0.01), "adamw"], loss=["mse", absolute], **SMALL)
    assert len(found.rows) == 6 and [row["loss"] for row in found.rows[:2]] == ["mse", found.varied["loss"][1]]
    alone = mg.train("n1 n2", 7, optimiser=optax.lion(0.01), **SMALL)
    assert found.rows[2]["train_loss"] == pytest.approx(alone.final["train_loss"], rel=1e-4)
    models = mg.sweep("n1 n2", 7, model=["power", Ranked(width=8), Ranked(width=8, rank=5)], steps=10)
    assert [row["model"] for row in models.rows] == ["power", "ranked", "ranked(rank=5)"]
    heads = mg.sweep("n1 n2", 7, model="transformer", heads=[2, 4], bias=[True, False], width=8, steps=10)
    assert [(row["heads"], row["bias"]) for row in heads.rows] == [(2, True), (2, False), (4, True), (4, False)]
    with pytest.raises(InputError, match=r"model must list different values, got \['toy', 'toy'\]"):
        mg.sweep("n1 n2", 7, model=[Bilinear(width=8), Bilinear(width=9)])


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"lr": 0.1}, "train has no setting lr; did you mean learning_rate?"),
        ({"optimizer": "adam"}, "did you mean optimiser?"),
        ({"wd": 1}, "did you mean weight_decay?"),
        ({"epochs": 1}, "did you mean steps?"),
        ({"n_heads": 1}, "did you mean heads?"),
        ({"overwrit": True}, "did you mean overwrite?"),
        ({"batch_size": 1}, "every step uses the whole training set"),
        ({"colour": 1}, "train has no setting colour; there are activation, "),
        (
            {"optimiser": optax.sgd(0.1), "learning_rate": 0.1},
            "learning_rate is inside the optimiser, got 0.1 beside it",
        ),
        ({"optimiser": lambda speed: optax.sgd(speed)}, "takes settings that are traced .*, got 'speed'"),
        ({"optimiser": 3}, "an optimiser must be adamw or .* or a function that makes one, got int"),
        ({"loss": 3}, "loss must be mse or cross-entropy, or a function of .logits, targets., got int"),
        ({"loss": lambda logits, targets: jnp.mean(logits)}, r"one number for each row, got the shape \(\) for 3 rows"),
        ({"loss": lambda logits: logits}, "the loss cannot be called with .logits, targets.: "),
        ({"model": 3}, "model must be power or mlp .*, or an object of a class that inherits from mg.Model, got 3"),
        ({"model": Mlp(width=8), "width": 9}, "width is 8 in the model, got 9 beside it; leave it out"),
        ({"model": "toy(depth"}, "cannot be read; write name.field=value, field=value."),
    ],
)
def test_what_is_no_setting_or_no_object_of_its_kind_is_refused(settings, text, tmp_path):
    with pytest.raises(InputError, match=text):
        mg.train("n1 n2", 7, **settings, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_names_of_modgroks_own_cannot_be_taken():
    with pytest.raises(InputError, match="mse is a loss of modgrok's own; give yours another name, such as my-mse"):
        mg.register("mse", loss=absolute)
    with pytest.raises(InputError, match="the name of a loss must be letters"):
        mg.register("a b", loss=absolute)
    with pytest.raises(InputError, match="register takes one object by its kind"):
        mg.register("mine")
    with pytest.raises(InputError, match="a model is a class that inherits from mg.Model"):
        mg.register("mine", model=Bilinear(width=3))


def test_the_command_line_runs_a_file_that_registers(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "import jax.numpy as jnp\nimport modgrok as mg\nmg.register('size', loss=lambda x, t: jnp.mean(x**2, axis=1))\n"
    )
    words = ["train", "n1 n2", "--mod", "5", "--width", "4", "--steps", "2", "--loss", "size"]
    assert cli.main([*words, "--with", str(tmp_path / "mine.py"), "--out", str(tmp_path / "run")]) == 0
    assert "the loss size: no file holds it" in capsys.readouterr().err
    (tmp_path / "wrong.py").write_text("1 / 0")
    with pytest.raises(SystemExit, match="2"):
        cli.main([*words, "--with", str(tmp_path / "wrong.py")])
    assert "wrong.py ends with ZeroDivisionError: division by zero" in capsys.readouterr().err


def test_help_shows_every_setting_with_its_type():
    import inspect

    shown = inspect.signature(mg.train).parameters
    assert list(DECLARED) == [name for name in shown if name in DECLARED]
    assert shown["heads"].annotation == "int | None" and shown["loss"].annotation == "str | Loss | None"
    assert all(f"{name}: {each.help}" in mg.train.__doc__ for name, each in DECLARED.items())


@dataclass(frozen=True)
class Doubled(Power):
    """Weights like those of a power network, and another function of them."""

    name = "doubled"

    def apply(self, params, rows, *, statistics=(), key=None):
        return -super().apply(params, rows, statistics=statistics, key=key)


def test_the_kernel_proves_nothing_of_models_it_does_not_know():
    exact = mg.compile("n1 + n2", 5)
    weights = exact.circuit.experts[0]
    known = Power((5, 5), 5, width=weights.width, power=weights.power)
    assert proved(Network(known, weights, exact.function, "trained")).proof.holds
    other = Doubled((5, 5), 5, width=weights.width, power=weights.power)
    refused = proved(Network(other, weights, exact.function, "trained"))
    assert refused.proof is None and "no bound for the rounding of a doubled" in refused.unproved
    biased = mg.train("n1 + n2", 5, model="mlp", bias=True, width=8, steps=1).network
    assert proved(biased).proof is None and "rounding of biases" in proved(biased).unproved


def test_a_loss_that_calls_another_function_has_another_word_when_that_one_changes():
    made = {}
    for exponent in (2, 3):
        there = {"jnp": jnp}
        exec(f"def weight(x):\n    return x**{exponent}\ndef loss(logits, targets):\n    return weight(logits)", there)
        made[exponent] = fingerprint(there["loss"])
    assert made[2] != made[3]
