"""Networks in groups looked at by representation: closed forms, mixtures that are known, and noise."""

import numpy as np
import pytest

import modgrok as mg
from modgrok.algebra.function import read_function
from modgrok.algebra.groups import group
from modgrok.cli import main
from modgrok.inspection.group_view import coset_orders, factors_of, group_view, logits_shares, subgroups_of
from modgrok.inspection.order import order_of
from modgrok.networks.circuit import Expert
from modgrok.networks.models import Power
from modgrok.networks.network import Network


def test_the_exact_one_hot_is_the_closed_form_and_each_representation_has_its_part():
    own = group("S4")
    view = group_view(mg.compile("a b", group=own, frequencies="all"))
    assert view.closed_form_share == pytest.approx(1) and view.word_share == pytest.approx(1)
    parts = [rho.degree**2 / (own.order - 1) for rho in own.representations[1:]]  # d χ_ρ / n has the square d² n
    assert view.shares[1:] == pytest.approx(parts)
    assert view.neurons.one.sum() == view.neurons.alive.sum()
    used = view.neurons.used[view.neurons.alive]
    assert np.bincount(used).tolist() == [0, 1, 8, 27, 27]  # D³ neurons each; the constant one is not alive


def test_the_narrowest_network_obeys_the_law_in_one_representation():
    view = group_view(mg.compile("a b", group="S5"))
    alive = view.neurons.alive
    assert set(view.neurons.used[alive]) == {2} and view.neurons.one[alive].all()
    assert view.summary().startswith("a b in S5, circuit: ")


def test_planted_shares_are_found_and_noise_has_none():
    own, rng = group("A4"), np.random.default_rng(2)
    right = own.table.reshape(-1)
    between = own.table[right[:, None], own.inverses[None, :]]
    wanted = [0.0, 0.5, 2.0]
    logits = sum(weight * rho.character[between] for weight, rho in zip(wanted, own.representations, strict=True))
    shares, code_share, word_share = logits_shares(logits, right, own)
    powers = np.array([w**2 * (rho.character**2).sum() for w, rho in zip(wanted, own.representations, strict=True)])
    assert shares == pytest.approx(powers / powers.sum()) and (code_share, word_share) == pytest.approx((1, 1))
    entry = own.representations[2].matrices[:, 0, 1]  # a code: an entry of a matrix
    shares, code_share, word_share = logits_shares(entry[right][:, None] * entry, right, own)
    assert (code_share, word_share) == pytest.approx((1, 1)) and shares.sum() < 0.2
    crossed = entry[right][:, None] * own.representations[1].character
    assert logits_shares(crossed, right, own)[1] < 1e-12
    noise = rng.normal(size=logits.shape)
    shares, _, _ = logits_shares(noise, right, own)
    assert shares.sum() < 20 * 2 / noise.size


def test_words_are_pulled_apart_into_their_factors():
    own = group("S3")
    for word in ("a b", "a^-1 b", "b a", "a/b"):
        found = factors_of(read_function(word, group=own).table, own)
        if word == "b a":  # no product of a function of a with one of b, in this order
            assert found is None
        else:
            left, right = found
            assert np.array_equal(own.table[left[:, None], right], read_function(word, group=own).table)
    assert factors_of(read_function("a b a", group=own).table, own) is None


def test_subgroups_and_cosets_of_small_groups():
    assert len(subgroups_of(group("S3"))) == 5  # three of order 2, one of order 3, the group
    assert len(subgroups_of(group("S4"))) == 29 and len(subgroups_of(group("Q8"))) == 5
    own = group("S3")
    a3 = next(subgroup for subgroup in subgroups_of(own) if len(subgroup) == 3)
    sign = np.where(np.isin(np.arange(6), a3), 1.0, -1.0)
    other = np.arange(6.0) ** 2
    assert coset_orders(np.stack([sign, other], axis=1), own).tolist() == [3, 1]


def test_random_weights_have_no_representation_and_no_law():
    own, rng = group("S4"), np.random.default_rng(0)
    weights = Expert(rng.normal(size=(2, 24, 40)), rng.normal(size=(40, 24)), 2)
    network = Network(Power((24, 24), 24, 40, 2), weights, read_function("a b", group=own), "trained")
    view = group_view(network)
    assert view.closed_form_share < 0.2 and abs(view.neurons.median_law()) < 0.5
    assert view.neurons.one.sum() <= 2


def test_random_inputs_stand_for_those_of_a_large_group(monkeypatch):
    network = mg.compile("a b", group="D12", frequencies="all")
    whole = group_view(network)
    monkeypatch.setattr("modgrok.inspection.group_view.LARGEST_LOGITS", 24 * 300)
    view = group_view(network)
    assert (whole.seen, view.seen) == (576, 300) == (whole.to_json()["rows_seen"], view.to_json()["rows_seen"])
    assert view.shares == pytest.approx(whole.shares, abs=0.02) and view.closed_form_share == pytest.approx(1)
    assert view.neurons.one.sum() == whole.neurons.one.sum() and view.noise_share > whole.noise_share


def test_a_network_that_knows_its_rows_by_heart_is_not_told_by_representations():
    own, rng = group("A4"), np.random.default_rng(1)
    function = read_function("a b", group=own)
    rows = np.stack(np.unravel_index(rng.permutation(144)[:20], (12, 12)), axis=1)
    embed, readout = np.zeros((2, 12, 20)), np.zeros((20, 12))  # one neuron lights up for each row
    embed[0, rows[:, 0], np.arange(20)] = embed[1, rows[:, 1], np.arange(20)] = 1
    readout[np.arange(20), function.at(rows)] = 1
    view = group_view(Network(Power((12, 12), 12, 20, 2), Expert(embed, readout, 2), function, "trained"))
    assert view.words.endswith(" % of it on no function of the word's value") and view.word_share < 0.1
    assert f"{100 * (1 - view.word_share):.1f} % of it" in view.words


def test_functions_that_are_no_words_have_no_such_view():
    assert group_view(mg.compile("n1 + n2", 5)) is None
    assert mg.inspect(mg.compile("n1 + n2", 5)).to_json()["in_group"] is None


def test_inspect_shows_a_word_in_a_group(tmp_path):
    found = mg.inspect(mg.compile("a b", group="S3", frequencies="all"), out=tmp_path)
    assert "S3 is not cyclic" in found.no_weights_view
    json = found.to_json()["in_group"]
    assert json["name"] == "S3" and json["closed_form_share"] == pytest.approx(1)
    assert [row["degree"] for row in json["representations"]] == [1, 1, 2]
    assert (tmp_path / "representations.png").exists()


def test_a_run_in_a_group_is_told_by_representation_and_nothing_in_it_is_nan(tmp_path, capsys):
    words = ("--group", "S3", "--fraction", "1", "--steps", "300", "--width", "32", "--snapshots", "4", "--out")
    assert main(["train", "a b", *words, str(tmp_path / "run")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "of the logits' variance on the closed form, 2 of 2 representations hold most of it" in told
    assert "IPR" not in told and "nan" not in told
    assert main(["inspect", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out
    assert "closed form" in told and "neurons in one representation" in told and "nan" not in told
    found = mg.inspect(tmp_path / "run")
    assert found.order == found.logits.order == "none" and found.logits.input_spectrum is None
    film, last = found.film, group_view(found.network)
    assert film.measures["analytical_share"][-1] == pytest.approx(last.closed_form_share)
    assert film.measures["one_representation_share"][-1] == pytest.approx(last.to_json()["one_representation_share"])
    assert film.measures["law_median"][-1] == pytest.approx(last.neurons.median_law())
    assert film.key_frequencies == last.key == (1, 2) and not film.known("ipr") and film.held[-1].max() > 0.9
    norms = np.sum(film.norms**2, axis=1)
    assert norms[-1] == pytest.approx(np.sum(np.asarray(found.network.params.embed, float) ** 2))


@pytest.mark.parametrize("model", ["mlp", "transformer"])
def test_other_models_in_a_group_have_no_frequencies(model):
    run = mg.train("a b", group="S3", model=model, fraction=1, steps=20, width=8, snapshots=3)
    found = mg.inspect(run)
    assert not found.inside.layers and not found.inside.spectra and "logits" not in found.figures()
    assert found.film.known("analytical_share") and not np.isfinite(found.film.measures["ipr"]).any()


def test_cyclic_groups_keep_their_waves():
    assert order_of(read_function("a b", group="Z3xZ4")).name == "witness"
    assert order_of(read_function("a b", group="Z7")).name == "additive"
    assert order_of(read_function("a b", group="S3"), "additive").places.period.tolist() == [6, 6, 6]
