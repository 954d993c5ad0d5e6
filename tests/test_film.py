"""Grokking as a film: the measures of single networks, step by step."""

from __future__ import annotations

import json
from dataclasses import replace

import jax
import numpy as np
import pytest
from lookup_model import untrained
from PIL import Image

from modgrok.explorer.films import film as kept_film
from modgrok.inspection.film import embedding_along, embedding_norms, followed_neurons
from modgrok.inspection.order import function_order
from modgrok.networks.models import Transformer
from modgrok.training.checkpoints import begin
from modgrok.training.config import TrainConfig
from modgrok.training.inspecting import inspect
from modgrok.training.train import train

STEPS = (0, 5, 40)


@pytest.fixture(scope="module")
def power():
    """A training's networks at the steps, as a run with snapshots keeps them."""
    config = TrainConfig("n1 + n2", 7, steps=STEPS[-1], fraction=0.7, width=20)
    training, frames = begin(config), []
    for step in STEPS:
        training = training.segment(step - training.step)
        frames.append((step, training.network(config)))
    return frames


def test_a_film_has_the_measures_of_every_network(power):
    found = inspect(power[-1][1], film=iter(power))
    film = found.film
    assert film.steps.tolist() == list(STEPS) and film.key_frequencies == found.logits.key_frequencies
    for k, (_, network) in enumerate(power):
        alone = inspect(network)
        assert film.measures["analytical_share"][k] == pytest.approx(alone.logits.analytical_share)
        assert film.measures["full_loss_train"][k] == pytest.approx(alone.logits.losses["full"]["train"])
        result = alone.to_json()
        for name in ("ipr", "common_frequency_share", "phase_residual_median"):
            assert film.measures[name][k] == pytest.approx(result[name])
        assert film.measures["snapped_accuracy"][k] == alone.accuracy
    assert film.measures["restricted_loss_all"][-1] == pytest.approx(found.logits.losses["restricted"]["all"])
    assert film.measures["excluded_loss_train"][-1] == pytest.approx(found.logits.losses["excluded"]["train"])
    assert film.measures["analytical_share"][-1] > 3 * film.measures["analytical_share"][0]
    assert repr(film).startswith("<Film: n1 + n2 mod 7, power: 3 steps from 0 to 40, analytical share")


def test_norms_by_frequency_are_all_of_the_embedding(power):
    network = power[-1][1]
    norms = embedding_norms(network, function_order("n1 + n2", 7))
    assert norms.shape == (4,)
    assert np.sum(norms**2) == pytest.approx(np.sum(np.asarray(network.params.embed, float) ** 2))


def test_neurons_are_followed_from_the_strongest_frequencies(power):
    along = embedding_along(power[-1][1], function_order("n1 + n2", 7))
    neurons = followed_neurons(np.abs(np.fft.rfft(along, axis=1)) ** 2)
    assert len(set(neurons)) == len(neurons) == 3  # as many as frequencies modulo 7


def test_the_film_is_written_as_a_figure_an_animation_and_a_table(power, tmp_path):
    found = inspect(power[-1][1], film=power, out=tmp_path)
    names = {path.name for path in found.files}
    assert {"film.png", "film.svg", "film.gif", "film.parquet"} <= names == {path.name for path in tmp_path.iterdir()}
    with Image.open(tmp_path / "film.gif") as gif:
        assert gif.n_frames >= len(STEPS)
    result = json.loads(json.dumps(found.to_json(), allow_nan=False))["film"]
    assert result["measures"]["step"] == list(STEPS) and len(result["norm_per_frequency"]) == len(STEPS)
    assert found.plot_film().axes and found.film.plot()._repr_png_().startswith(b"\x89PNG")


def test_a_transformer_that_groks_addition_builds_its_frequencies_and_gives_up_what_it_memorised(tmp_path):
    """The best-known transformer study in small: few key frequencies, restricted loss falls, excluded loss rises."""
    settings = {"model": "transformer", "width": 32, "steps": 800, "fraction": 0.8, "snapshots": 8}
    run = train("n1 + n2", 23, out=tmp_path / "run", **settings)
    found = inspect(tmp_path / "run")
    film = found.film.measures
    assert film["step"].tolist() == list(run.snapshots) and run.final["test_accuracy"] > 0.9
    assert 1 <= len(found.logits.key_frequencies) <= 5
    assert film["analytical_share"][0] < 0.01 and film["analytical_share"][-1] > 0.6
    assert film["restricted_loss_all"][0] > 3 and film["restricted_loss_all"][-1] < 0.1
    assert (
        film["full_loss_train"][-1] < 0.1 and film["excluded_loss_train"][-1] > 1.5 * film["excluded_loss_train"].min()
    )
    assert inspect(tmp_path / "run", film=()).film is None
    assert inspect(run).film.measures["ipr"].tolist() == film["ipr"].tolist()


@pytest.mark.draws
def test_a_training_that_diverged_is_told(power, tmp_path):
    broken = replace(power[-1][1], params=jax.tree.map(lambda leaf: leaf * np.nan, power[-1][1].params))
    found = inspect(broken, film=[*power[:1], (50, broken)], out=tmp_path)
    assert (tmp_path / "film.gif").exists()
    shared = kept_film(dict(power[:1]), 50, broken, None)
    assert shared["steps"] == [] and "the training diverged" in shared["why"]
    assert "no finite numbers" in found.logits.why and found.to_json()["logits"]["analytical_share"] is None
    assert np.isfinite(found.film.measures["ipr"][0]) and np.isnan(found.film.measures["analytical_share"][1])


def test_other_models_have_a_film_without_phases():
    model = Transformer((7, 7), 7, width=8)
    frames = [(step, untrained(model, seed=step)) for step in STEPS]
    film = inspect(frames[-1][1], film=frames).film
    assert np.isfinite(film.measures["ipr"]).all() and not film.known("snapped_accuracy")
    assert np.isfinite(film.measures["excluded_loss_train"]).all()
    assert film.to_json()["measures"]["phase_residual_median"] == [None] * len(STEPS)
    assert film.plot().axes
