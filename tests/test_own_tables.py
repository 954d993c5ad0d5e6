"""Networks on users' own tables: other numbers of rows, columns and values, and cells that nobody knows."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest

from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.cli import main
from modgrok.inspection.order import order_of_table, sized_order
from modgrok.inspection.spectrum import periodicity
from modgrok.networks.export import export
from modgrok.networks.models import MODELS, trainable
from modgrok.networks.predicting import predict
from modgrok.networks.storage import load
from modgrok.networks.verification import verify
from modgrok.training.config import TrainConfig, ensemble_of
from modgrok.training.ensemble import train_ensemble
from modgrok.training.inspecting import inspect
from modgrok.training.run_folder import default_folder, load_config
from modgrok.training.train import load_run, resume, train

RNG = np.random.default_rng(7)
WHOLE = RNG.integers(0, 6, (4, 5))
WHOLE[0, :2] = 5, 0
"""4 × 5 → 6: the sizes, and the number of values, all differ."""
PARTIAL = np.where(RNG.random(WHOLE.shape) < 0.3, -1, WHOLE)
PARTIAL[0, 0] = 5
SMALL = {"width": 8, "steps": 4, "metrics_every": 2}


def disguised_sum(seed: int = 5) -> np.ndarray:
    """h(g1(n1) + g2(n2)) over Z_53 for random relabellings, 30 × 40 → 17."""
    rng = np.random.default_rng(seed)
    g1, g2, h = rng.permutation(53)[:30], rng.permutation(53)[:40], rng.permutation(np.arange(53) % 17)
    return np.array([[h[(a + b) % 53] for b in g2] for a in g1])


@pytest.fixture(scope="module")
def partial_run(tmp_path_factory):
    return train(PARTIAL, out=tmp_path_factory.mktemp("runs") / "partial", **SMALL)


# -------------------------------------------------------------------------------------------- what is trained


@pytest.mark.parametrize("model", trainable())
def test_losses_and_accuracies_are_over_the_known_cells_alone(model):
    run = train(PARTIAL, model=model, width=8, steps=2, fraction=0.6)
    known = [cell for cell in np.ndindex(PARTIAL.shape) if PARTIAL[cell] >= 0]
    logits = np.array([run.network(cell) for cell in known], np.float64)
    targets = np.array([PARTIAL[cell] for cell in known])
    if model == "power":
        losses = ((logits - np.eye(6)[targets]) ** 2).mean(axis=1)
    else:
        losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(known)), targets]
    train_rows, test_rows = run.to_json()["train_rows"], run.to_json()["test_rows"]
    assert (train_rows, test_rows) == (round(0.6 * len(known)), len(known) - round(0.6 * len(known)))
    assert logits.shape == (len(known), 6) and run.to_json()["unknown_cells"] == 20 - len(known) > 0
    final = run.final
    assert train_rows * final["train_loss"] + test_rows * final["test_loss"] == pytest.approx(losses.sum(), rel=1e-4)
    hits = (logits.argmax(axis=1) == targets).sum()
    assert train_rows * final["train_accuracy"] + test_rows * final["test_accuracy"] == pytest.approx(hits, rel=1e-4)


def test_an_unknown_cell_has_no_influence_and_a_known_one_has():
    table, settings = WHOLE.copy(), {"fraction": 1.0, "weight_decay": 0.0, "width": 8}
    table[:, 2] = -1  # nothing is known of n2 = 2: without decay its weights stay what they were
    first, last = (train(table, steps=k, **settings).network.params.embed for k in (1, 4))
    assert np.array_equal(first[1, 2], last[1, 2]) and not np.array_equal(first[1, 1], last[1, 1])
    table[0, 0] = 1
    assert not np.array_equal(last, train(table, steps=4, **settings).network.params.embed)


@pytest.mark.parametrize("name", ["power", "mlp"])
def test_residues_that_a_variable_does_not_have_have_no_weights(name):
    weights = MODELS[name]((3, 5), 4, width=6).init(jax.numpy.float32(1), key=jax.random.key(0)).embed
    assert np.all(weights[0, 3:] == 0) and np.all(weights[0, :3] != 0) and np.all(weights[1] != 0)
    square = MODELS[name]((5, 5), 4, width=6).init(jax.numpy.float32(1), key=jax.random.key(0)).embed
    assert np.array_equal(weights[1], square[1]) and np.array_equal(weights[0, :3], square[0, :3])


def test_tables_that_train_side_by_side_know_as_many_cells():
    ensemble = ensemble_of([TrainConfig.of(PARTIAL, width=4)])
    with pytest.raises(InputError, match=r"every table must have \d+ known cells, got 20 to 20"):
        train_ensemble(ensemble.shape, ensemble.hyper, WHOLE.reshape(1, -1), steps=1)


def test_a_table_of_a_disguised_sum_is_learned_and_its_unknown_cells_are_predicted():
    table = disguised_sum()
    unknown = np.random.default_rng(1).random(table.shape) < 0.2
    run = train(np.where(unknown, -1, table), fraction=1.0, width=200, steps=500, learning_rate=0.01, metrics_every=500)
    assert (run.network.table() == table)[unknown].mean() > 0.95
    assert f"predicts the {unknown.sum():,} unknown cells" in repr(run)


# ------------------------------------------------------------------------------------- settings and run folders


def test_one_experiment_has_one_identity_however_its_table_is_given(tmp_path):
    np.save(tmp_path / "mine.npy", WHOLE)
    called = read_function(lambda a, b: WHOLE[a, b], sizes=(4, 5))
    given = TrainConfig.of(WHOLE), TrainConfig.of(WHOLE.tolist()), TrainConfig.of(called)
    assert given[0] == given[1] and hash(given[0]) == hash(given[1])
    assert given[0].function == given[2].function == TrainConfig.of(tmp_path / "mine.npy").function
    assert given[0].title == f"{given[0].expression} (4 × 5 → 6)" and given[0].modulus == 6
    other = WHOLE.copy()
    other[3, 4] = (other[3, 4] + 1) % 6
    assert TrainConfig.of(other) != given[0] and default_folder(TrainConfig.of(other)) != default_folder(given[0])
    assert TrainConfig.of("n1 n2 mod 7") == TrainConfig("n1 n2 mod 7", 7)
    assert "function" not in TrainConfig("n1 n2", 7).to_json()


def test_a_run_is_whole_in_its_folder_and_goes_on_bit_for_bit(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,b,value\n" + "".join(f"{a},{b},{PARTIAL[a, b]}\n" for a, b in np.ndindex(4, 5)))
    unbroken = train(path, **SMALL | {"steps": 8})
    first = train(path, out=tmp_path / "run", **SMALL)
    path.unlink()
    stored = load_run(tmp_path / "run")
    assert stored.config == first.config and stored.network.variables == ["a", "b"]
    assert json.loads((tmp_path / "run" / "config.json").read_text())["function"]["variables"] == ["a", "b"]
    resumed = resume(tmp_path / "run", steps=8)
    assert np.array_equal(resumed.network.params.embed, unbroken.network.params.embed)
    assert np.array_equal(resumed.network.params.readout, unbroken.network.params.readout)
    assert resumed.metrics["test_loss"].tolist() == unbroken.metrics["test_loss"].tolist()
    assert read_function(tmp_path / "run" / "function.npy", 6) == first.config.function


def test_another_table_does_not_go_on_in_the_folder(tmp_path, partial_run):
    with pytest.raises(InputError, match=r"holds another run \(expression is .* function is <Function: table"):
        train(WHOLE, out=partial_run.folder, **SMALL)
    folder = tmp_path / "damaged"
    train(WHOLE, out=folder, **SMALL)
    np.save(folder / "function.npy", WHOLE[::-1])
    with pytest.raises(InputError, match=r"function\.npy is not the table that the run was trained on"):
        load_config(folder)


# ------------------------------------------------------------------------------------------------ the networks


def test_a_network_of_a_table_is_verified_against_the_table(partial_run):
    answers, found = partial_run.network.table(), verify(partial_run.folder)
    known = PARTIAL >= 0
    assert found.rows_checked == found.rows_total == known.sum()
    assert found.accuracy == pytest.approx((answers == PARTIAL)[known].mean())
    assert verify(partial_run, sample=3).rows_checked == 3
    assert answers.shape == PARTIAL.shape and answers.min() >= 0
    assert "measured for whole tables modulo one number, not for table" in partial_run.expected.reason


def test_predict_says_what_nobody_knows(partial_run):
    cell = tuple(int(k) for k in np.argwhere(PARTIAL < 0)[0])
    one, many = predict(partial_run, *cell), predict(partial_run, [cell, (0, 0)])
    logits = np.sort(partial_run.network(cell))
    assert (one.expected, one.correct) == (None, None) and one.margin == pytest.approx(logits[-1] - logits[-2])
    assert "predicted: the table does not say" in repr(one)
    assert many.expected.tolist() == [-1, 5] and "1 unknown ones predicted" in many.summary()
    with pytest.raises(InputError, match="residues 0 … 3, got 4"):
        predict(partial_run, 4, 4)
    with pytest.raises(InputError, match="residues 0 … 3 and 0 … 4"):
        partial_run.network([4, 4])


def test_a_network_keeps_its_table_in_its_file(tmp_path, partial_run):
    path = partial_run.network.save(tmp_path / "mine.safetensors")
    again = load(path)
    assert again.function == partial_run.config.function and again.title == partial_run.network.title
    about = again.to_json()
    assert (about["modulus"], about["sizes"], about["values"]) == (None, [4, 5], 6)
    assert np.array_equal(again.table(), partial_run.network.table())


def test_a_table_without_a_modulus_has_none_in_any_command(tmp_path, partial_run, capsys):
    partial_run.network.save(tmp_path / "mine.safetensors")
    path = str(tmp_path / "mine.safetensors")
    for words in (["verify", path], ["predict", path, "0", "0"], ["export", path, "--to", "torch"], ["inspect", path]):
        capsys.readouterr()
        assert main([*words, "--json"]) in (0, 1)
        assert json.loads(capsys.readouterr().out)["modulus"] is None, words
    assert "mod 6" not in repr(export(path, "torch", out=tmp_path / "mine.py"))


def test_a_square_table_is_inspected_in_the_order_of_its_function():
    found = inspect(train(lambda a, b: 3 * a * b, mod=7, width=8, steps=2))
    assert found.order == "multiplicative" and "(7 × 7 → 7)" in repr(found)


def test_a_partial_table_of_any_shape_can_be_inspected(partial_run):
    found = inspect(partial_run)
    assert "other numbers of inputs and classes" in found.no_weights_view
    assert found.logits.input_spectrum.power.shape == PARTIAL.shape
    assert found.training.sum() == partial_run.train_rows and not found.training[PARTIAL.reshape(-1) < 0].any()


# ------------------------------------------------------------------------------------------------- the order


def test_each_axis_lies_on_a_circle_of_its_own():
    order = sized_order((4, 5), 6)
    assert order.places.period.tolist() == [4, 5, 6]
    assert order.places.place.tolist() == [[0, 1, 2, 3, -1, -1], [0, 1, 2, 3, 4, -1], [0, 1, 2, 3, 4, 5]]
    assert order_of_table(read_function(PARTIAL)).places.period.tolist() == [4, 5, 6]
    with pytest.raises(InputError, match="the order multiplicative is for tables modulo one number"):
        order_of_table(read_function(WHOLE), "multiplicative")


def test_a_cosine_along_each_axis_is_a_pure_wave():
    model = MODELS["mlp"]((4, 5), 6, width=1)
    embed = np.zeros((2, 5, 1))
    embed[0, :4, 0], embed[1, :, 0] = np.cos(2 * np.pi * np.arange(4) / 4), np.cos(2 * np.pi * np.arange(5) * 2 / 5)
    params = model.init(jax.numpy.float32(1), key=jax.random.key(0))._replace(embed=embed)
    found = jax.jit(periodicity)(model.blocks(params), sized_order((4, 5), 6).places)
    assert np.allclose(found.block_ipr, 1)


# ----------------------------------------------------------------------------------------------- the command


def test_train_takes_a_table(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("\n".join(",".join("" if v < 0 else str(v) for v in row) for row in PARTIAL))
    assert main(["train", "--table", "mine.csv", "--width", "8", "--steps", "2"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "mine.csv (4 × 5 → 6), power of width 8" in shown and "unknown cells were left out of both sets" in shown
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("mine_csv-") and main(["verify", str(folder)]) in (0, 1)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "train needs one function"),
        (["n1 n2", "--table", "mine.csv"], "train needs one function"),
        (["--table", "missing.csv"], "cannot read missing.csv: No such file"),
        (["--table", "mine.txt"], "a table is a .csv, .npy or .parquet file"),
    ],
)
def test_a_command_line_without_one_function_is_refused(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["train", *arguments])
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not list(tmp_path.iterdir())
