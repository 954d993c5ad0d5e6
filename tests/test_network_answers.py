"""Networks as functions, whatever their model: logits of rows, values, whole tables, and what they refuse."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product

import jax
import numpy as np
import pytest

import modgrok as mg
from modgrok import cli
from modgrok.base.errors import InputError
from modgrok.networks import network as module
from modgrok.networks.models import MODELS

P = 5
EVERY_ROW = np.array(list(product(range(P), repeat=2)))


@pytest.fixture(scope="module")
def every_model() -> dict[str, mg.Network]:
    """One network of every model, and one that is mixed."""

    def trained(model: str, **settings: object) -> mg.Network:
        return mg.train("n1 n2 + n1", P, model=model, width=8, steps=2, fraction=0.6, **settings).network

    return {
        "circuit": mg.compile("n1 n2 + n1", P),
        "power": trained("power"),
        "mlp": trained("mlp", norm="batch"),
        "transformer": trained("transformer"),
        "mixed": mg.mix("n1 n2 + n1", P, trained="none"),
        "logits": mg.wrap(mg.compile("n1 n2 + n1", P)(EVERY_ROW).reshape(P, P, P).astype(np.float32), "n1 n2 + n1", P),
    }


NAMES = (*MODELS, "mixed")


def test_there_is_one_network_of_every_model(every_model):
    assert {network.model.name for network in every_model.values()} == set(MODELS)


@pytest.mark.parametrize(
    "name, text",
    [
        ("circuit", r"<Network: n1 n2 \+ n1 mod 5, exact circuit, \d+ neurons>"),
        ("power", r"<Network: n1 n2 \+ n1 mod 5, trained power, 8 neurons>"),
        ("mlp", r"<Network: n1 n2 \+ n1 mod 5, trained mlp, 8 wide>"),
        ("transformer", r"<Network: n1 n2 \+ n1 mod 5, trained transformer, 8 wide>"),
        ("mixed", r"<Network: n1 n2 \+ n1 mod 5, mix circuit, \d+ neurons>"),
    ],
)
def test_a_network_says_what_it_is(every_model, name, text):
    network = every_model[name]
    assert re.fullmatch(text, repr(network))
    assert "n1 n2 + n1 mod 5" in network._repr_html_()
    about = json.loads(json.dumps(network.to_json(), allow_nan=False))
    assert (about["model"], about["variables"], about["width"]) == (network.model.name, ["n1", "n2"], network.width)
    assert network.variables == ["n1", "n2"] and network.rows == 25


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_weights_and_no_temperatures(every_model, name):
    network = every_model[name]
    counted = sum(np.size(leaf) for leaf in jax.tree.leaves(network.params))
    assert network.parameters == counted - (len(network.circuit.betas) if network.model.name == "circuit" else 0)
    assert network.dtype == (np.float64 if name == "circuit" else np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_one_row_many_rows_and_grids_of_rows_give_the_same_logits(every_model, name):
    network = every_model[name]
    logits = network(EVERY_ROW)
    assert logits.shape == (25, P) and logits.dtype == network.dtype and isinstance(logits, np.ndarray)
    for row, expected in zip(EVERY_ROW.tolist(), logits, strict=True):
        alone = network(row)
        assert alone.shape == (P,)
        np.testing.assert_allclose(alone, expected, rtol=1e-5, atol=1e-6)
    grid = network(EVERY_ROW.reshape(P, P, 2))
    np.testing.assert_allclose(grid.reshape(25, P), logits, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(network.logits(EVERY_ROW), logits)
    assert network(np.empty((0, 2), int)).shape == (0, P)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_tables_are_the_largest_logits(every_model, name):
    network = every_model[name]
    values = network(EVERY_ROW).argmax(axis=1)
    np.testing.assert_array_equal(network.predict(EVERY_ROW), values)
    assert network.predict([3, 4]) == values[3 * P + 4]
    table = network.table()
    assert table.shape == (P, P)
    np.testing.assert_array_equal(table.ravel(), values)
    if network.model.name == "circuit":
        assert table.tolist() == [[(a * b + a) % P for b in range(P)] for a in range(P)]


@pytest.mark.parametrize("name", NAMES)
def test_chunks_change_nothing(every_model, name, monkeypatch):
    network = every_model[name]
    logits, table = network(EVERY_ROW), network.table()
    monkeypatch.setattr(module, "CHUNK_BYTES", 1)
    assert module.chunk_rows(network.model, 25, network.dtype) == 1
    np.testing.assert_allclose(network(EVERY_ROW), logits, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(network.table(), table)


REFUSED_ROWS = (
    ([5, 0], "rows must hold residues 0 … 4, got 0 … 5; reduce them first"),
    ([[0, 0], [-1, 2]], "rows must hold residues 0 … 4, got -1 … 2; reduce them first"),
    (
        [1, 2, 3],
        r"rows need 2 whole numbers each, got shape \(3,\) of int64; give an array of shape \(rows, variables\)",
    ),
    ([[1], [2]], r"rows need 2 whole numbers each, got shape \(2, 1\) of int64"),
    (3, r"rows need 2 whole numbers each, got shape \(\) of int64"),
    ([1.0, 2.0], r"rows need 2 whole numbers each, got shape \(2,\) of float64"),
    (["1", "2"], r"rows need 2 whole numbers each, got shape \(2,\) of <U1"),
    ([True, False], r"rows need 2 whole numbers each, got shape \(2,\) of bool"),
    ([], r"rows need 2 whole numbers each, got shape \(0,\) of float64"),
)


@pytest.mark.parametrize("rows, message", REFUSED_ROWS, ids=lambda value: str(value)[:30])
@pytest.mark.usefixtures("unchecked")
def test_rows_that_no_network_can_read_are_refused(every_model, rows, message):
    """JAX would clamp residues out of range, and answer."""
    for network in every_model.values():
        for ask in (network, network.logits, network.predict):
            with pytest.raises(InputError, match=message):
                ask(rows)


def test_variables_may_be_asked_for_by_any_kind_of_whole_number(every_model):
    network = every_model["circuit"]
    for rows in (
        EVERY_ROW.astype(np.uint8),
        EVERY_ROW.astype(np.int16),
        jax.numpy.asarray(EVERY_ROW),
        EVERY_ROW.tolist(),
    ):
        np.testing.assert_array_equal(network.predict(rows), network.table().ravel())


def test_a_table_too_large_to_hold_is_refused():
    network = mg.compile("n1 + n2 + n3 + n4", 499, method="paper", add_width=2)
    with pytest.raises(InputError, match="the table has 62,001,498,001 rows, more than 134,217,728; ask for some rows"):
        network.table()
    assert network.predict([[1, 2, 3, 4]]).shape == (1,)


# ------------------------------------------------------------------------------------------ batch normalisation


@pytest.fixture(scope="module")
def normalised(tmp_path_factory) -> mg.Run:
    folder = tmp_path_factory.mktemp("runs") / "normalised"
    return mg.train("n1 + n2", 7, model="mlp", norm="batch", width=24, steps=40, fraction=0.6, out=folder)


def test_batch_normalised_networks_answer_as_training_measured_them(normalised):
    """Losses and accuracies of both halves, from logits of the loaded file."""
    for network in (normalised.network, mg.load(normalised.folder)):
        found = mg.verify(network)
        final, train, test = normalised.final, normalised.train_rows, 49 - normalised.train_rows
        hits = final["train_accuracy"] * train + final["test_accuracy"] * test
        assert found.accuracy == pytest.approx(hits / 49)
        rows = np.array(list(product(range(7), repeat=2)))
        logits = network(rows).astype(np.float64)
        targets = rows.sum(axis=1) % 7
        losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(49), targets]
        whole = (final["train_loss"] * train + final["test_loss"] * test) / 49
        assert losses.mean() == pytest.approx(whole, rel=1e-4)


def test_statistics_of_batch_normalisation_are_in_the_file(normalised):
    loaded = mg.load(normalised.folder)
    assert len(loaded.statistics) == len(normalised.network.statistics) == loaded.model.depth - 1
    for ours, theirs in zip(
        jax.tree.leaves(loaded.statistics), jax.tree.leaves(normalised.network.statistics), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    rows = np.array([[3, 4], [0, 6]])
    np.testing.assert_array_equal(loaded(rows), normalised.network(rows))
    alone = [loaded(row) for row in rows]
    np.testing.assert_allclose(alone, loaded(rows), rtol=1e-5, atol=1e-6, err_msg="a row does not see the others")


def test_inputs_without_an_answer_are_unknown_cells(tmp_path, capsys):
    """Equal logits, and no numbers, are no answers: a network of nothing else computes no constant."""
    network = mg.compile("n1 + n2", 5)
    for change in (np.zeros_like, lambda weights: np.full_like(weights, np.nan)):
        path = replace(network, params=jax.tree.map(change, network.params)).save(tmp_path / "net.safetensors")
        with pytest.raises(SystemExit, match="2"):
            cli.main(["classify", "--network", str(path)])
        assert "has no answer on any input" in capsys.readouterr().err
        assert cli.main(["share", str(path), "--out", str(tmp_path / "page.html"), "--overwrite"]) == 0
        assert "wrong on 25 of 25 inputs" in (tmp_path / "page.html").read_text(encoding="utf-8")
    logits = np.eye(5)[np.add.outer(np.arange(5), np.arange(5)) % 5]
    logits[0, 0] = 1
    np.save(tmp_path / "logits.npy", logits)
    assert cli.main(["classify", "--network", str(tmp_path / "logits.npy"), "--no-probe"]) == 0
    assert "agrees in its 24 known cells" in " ".join(capsys.readouterr().out.split())
