"""What lies inside MLPs and transformers: neurons and attention against plain NumPy, and planted neurons."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from lookup_model import lookup, untrained
from scipy.special import softmax

import modgrok as mg
from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.base.printing import console
from modgrok.cli import main
from modgrok.commands.inspect import found_in, lines_of
from modgrok.inspection.inside import inside_view, whole_inside
from modgrok.networks.models import Mlp, Transformer
from modgrok.training.inspecting import inspect

P = 5
ROWS = np.array([(a, b) for a in range(P) for b in range(P)])


@pytest.fixture(scope="module")
def mlp():
    return untrained(Mlp((P, P), P, width=8))


@pytest.fixture(scope="module")
def transformer():
    return untrained(Transformer((P, P), P, width=8))


def test_the_neurons_of_an_mlp_are_those_that_its_logits_come_from(mlp):
    first, second = (np.asarray(layer) for layer in whole_inside(mlp).neurons)
    embed = np.asarray(mlp.params.embed)
    np.testing.assert_allclose(first, np.maximum(embed[0][ROWS[:, 0]] + embed[1][ROWS[:, 1]], 0), atol=1e-6)
    np.testing.assert_allclose(second, np.maximum(first @ mlp.params.hidden[0], 0), atol=1e-5)
    np.testing.assert_allclose(second @ mlp.params.readout, mlp(ROWS), atol=1e-5)


def test_attention_and_neurons_of_a_transformer_are_those_of_the_formula(transformer):
    params, (layer,) = transformer.params, transformer.params.layers
    inside = whole_inside(transformer)
    embed, positions = np.asarray(params.embed), np.asarray(params.positions)
    for row, (a, b) in enumerate(ROWS):
        stream = np.stack([embed[a], embed[b], np.zeros(8)]) + positions
        query, keys, values = stream[-1] @ layer.query, stream @ layer.key, stream @ layer.value
        size, mixed = 8 // 4, []
        for head in range(4):
            part = slice(head * size, (head + 1) * size)
            shares = softmax(keys[:, part] @ query[part] / np.sqrt(size))
            np.testing.assert_allclose(inside.attention[0][row, head], shares, atol=1e-5)
            mixed.append(shares @ values[:, part])
        final = stream[-1] + np.concatenate(mixed) @ layer.output
        neurons = np.maximum(final @ layer.expand, 0)
        np.testing.assert_allclose(inside.neurons[0][row], neurons, atol=1e-5)
        logits = (final + neurons @ layer.contract) @ params.readout
        np.testing.assert_allclose(transformer([[a, b]])[0], logits, atol=1e-5)


def test_a_planted_neuron_is_explained_by_its_frequency():
    """In logarithms to the base 2 modulo 11; the second neuron has a quarter of its variance elsewhere."""
    p, logarithm = 11, {2**k % 11: k for k in range(10)}
    x = np.array([[logarithm.get(n, 0) for n in range(p)]]).repeat(p, axis=0)
    x1, x2 = x.T, x
    wave = np.cos(2 * np.pi * 3 * x1 / 10 + 1) * np.cos(2 * np.pi * 3 * x2 / 10 - 2)
    second = np.cos(2 * np.pi * x1 / 10) / np.sqrt(3) * np.sqrt(2) / 2  # variance 1/12 beside 1/4
    neurons = np.stack([5 + wave, wave + second, np.zeros((p, p))], axis=-1)
    neurons[0], neurons[:, 0] = 100, 100
    view = inside_view(lookup("n1 n2", p, np.zeros((p, p, p)), neurons))
    (layer,) = view.layers
    assert view.order == "multiplicative" and layer.frequency[:2].tolist() == [3, 3]
    np.testing.assert_allclose(layer.explained[:2], [1, 0.75], atol=1e-9)
    found = layer.to_json()
    assert (found["neurons"], found["active"], found["one_frequency_share"]) == (3, 2, 0.5)
    assert found["neurons_per_frequency"] == {"3": 1}


def test_spectra_hold_all_of_the_power_but_the_constant(mlp, transformer):
    assert list(inside_view(mlp).spectra) == ["n1", "n2", "readout"]
    spectra = inside_view(transformer).spectra
    assert list(spectra) == ["n1, n2", "readout"]
    embed = np.asarray(transformer.params.embed, float)
    angle = 2 * np.pi * np.arange(P) / P
    power = [((np.cos(f * angle) @ embed) ** 2 + (np.sin(f * angle) @ embed) ** 2).sum() for f in (1, 2)]
    np.testing.assert_allclose(spectra["n1, n2"], [0, *np.array(power) / sum(power)], atol=1e-6)


def test_every_model_is_inspected_with_its_figures(mlp, transformer, tmp_path):
    for network, names in ((mlp, ["spectrum", "neurons"]), (transformer, ["spectrum", "neurons", "attention"])):
        found = inspect(network, out=tmp_path / network.model.name)
        names = [*names, "logits"]
        assert [path.name for path in found.files] == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
        assert found.experts == () and found.snapped is None
        result = json.loads(json.dumps(found.to_json(), allow_nan=False))
        assert f"the model {network.model.name} is not a circuit" in result["no_weights_view"]
        assert result["ipr"] is None and result["snapped"] is None and result["experts"] == []
        assert len(result["inside"]["layers"]) == (2 if network is mlp else 1)
        assert "analytical form" in repr(found) and "analytical form" in found._repr_html_()
        with pytest.raises(InputError, match=f"there is no figure phases of this {network.model.name}; there are spec"):
            found.plot_phases()
        assert found.plot_logits().axes and found.plot_neurons().axes and found.plot_spectra().axes
    drawn = (found.plot_logits(), found.plot_neurons(), found.plot_spectra(), found.plot_attention())
    assert all(figure._repr_png_().startswith(b"\x89PNG") for figure in drawn)
    heads = result["inside"]["attention"][0]
    assert len(heads) == 4 and all(sum(head.values()) == pytest.approx(1) for head in heads)


def test_the_command_shows_a_transformer(transformer, tmp_path, capsys):
    transformer.save(tmp_path / "net.safetensors")
    assert main(["inspect", str(tmp_path / "net.safetensors")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in ("n1 + n2 mod 5, transformer", "of 32 neurons active", "on the analytical form", "no key frequencies"):
        assert words in shown
    assert "without these" in shown and "left out" not in shown


@pytest.mark.parametrize(
    ("given", "words"), [("compile", "their phases obey the"), ("train", "their phases do not obey the")]
)
def test_the_command_says_that_phases_obey_their_law_only_where_they_do(given, words):
    """At its first steps a network has the phases that chance gave it."""
    network = mg.compile("n1 n2", mod=7) if given == "compile" else mg.train("n1 n2", mod=7, width=40, steps=1)
    assert words in found_in(inspect(network))


def test_the_lines_of_many_experts_fit_a_terminal():
    found = {"order": "multiplicative", "alive": 192, "width": 192, "common_frequency_share": 0.9999}
    found |= {"phase_residual_median": 4.4e-16, "power_explained": 0.9999, "frequencies_used": 48}
    printed = StringIO()
    console(file=printed, width=80).print(lines_of([("expert 10", found)] * 4))
    assert [line.split()[:3] for line in printed.getvalue().splitlines()[1:]] == [
        ["expert", "10", "multiplicative"]
    ] * 4


def test_the_command_says_which_rows_are_left_out(mlp, tmp_path, capsys):
    """A product modulo 5 has nine rows with a zero, which no wave answers: these accuracies are not the run's."""
    replace(mlp, function=read_function("n1 n2", 5)).save(tmp_path / "net.safetensors")
    assert main(["inspect", str(tmp_path / "net.safetensors")]) == 0
    assert "left out: 9 inputs" in " ".join(capsys.readouterr().out.split())
