"""A model that only this file knows, in one class: everything else of modgrok takes it as it takes its own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modgrok as mg
from modgrok.base.errors import InputError
from modgrok.networks.models import MODELS, Blocks, Model
from modgrok.networks.models.base import normal
from modgrok.training.config import TrainConfig


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
    found = mg.inspect(run)
    assert "toy is not a circuit" in found.no_weights_view and 0 <= found.logits.analytical_share <= 1
    assert list(found.inside.spectra) == ["n1", "n2", "readout"] and list(found.figures()) == ["spectrum", "logits"]
    with pytest.raises(InputError, match="the model toy has no export to onnx; circuit, power, mlp and transformer"):
        mg.export(run, "onnx", tmp_path / "toy.onnx")


def test_a_file_of_an_unknown_model_is_refused(tmp_path, monkeypatch):
    path = mg.train("n1 n2", 7, **SETTINGS | {"steps": 1}).network.save(tmp_path / "toy.safetensors")
    monkeypatch.delitem(MODELS, "toy")
    with pytest.raises(InputError, match="its model is 'toy'; this modgrok has power, mlp, transformer, circuit"):
        mg.load(path)
    with pytest.raises(InputError, match="model must be power or mlp or transformer, got 'toy'"):
        mg.train("n1 n2", 7, model="toy")
