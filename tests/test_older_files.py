"""What modgrok 0.2.0 wrote is read, goes on and answers, and so do files that lack what later versions measure.

`fixtures/v020/README.md` says how the files were made. Only public verbs and the command line are used here.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import modgrok as mg
from modgrok import cli

FILES = Path(__file__).parent / "fixtures" / "v020"
POWER = {"function": "n1 n2", "mod": 5, "width": 6, "steps": 40, "fraction": 0.7, "snapshots": 3}
MLP = {"function": "n1 + n2", "mod": 5, "model": "mlp", "depth": 2, "norm": "batch", "optimiser": "muon"}
MLP |= {"width": 6, "steps": 30}
SWEEP = {"function": "n1 n2", "mod": 5, "width": [3, 6], "steps": 20, "metrics_every": 20, "seeds": 2}
STOPPED = {"run-stopped": (POWER, 20), "run-stopped-mlp": (MLP, 10)}
"""What was asked for, and the step of the checkpoint."""
LATEST = "readout_norm"
"""The last of the metrics; a file without it stands for one of a version that did not measure it yet."""
MARK = 0.125
"""A value of `ipr` that no training gives: rows that have it were not trained again."""


def copied(name, tmp_path):
    return Path(shutil.copytree(FILES / name, tmp_path / name))


def columns_of(path):
    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def same_columns(ours, theirs):
    return all(np.array_equal(np.asarray(ours[name]), theirs[name], equal_nan=True) for name in theirs)


def weights_of(network, folder):
    return load_file(network.save(folder / "network.safetensors"))


def same_tensors(ours, theirs):
    return ours.keys() == theirs.keys() and all((ours[name] == theirs[name]).all() for name in ours)


def stop_at(step):
    """Asked before each stretch of ten steps."""
    return iter([k >= step for k in range(0, 1000, 10)]).__next__


def never(*_):
    pytest.fail("it trained")


def no_file_was_set_aside(folder):
    return not list(folder.rglob("*.damaged*"))


def ask(capsys, folder, sql):
    assert cli.main(["census", "query", str(folder), sql, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["rows"]


# ------------------------------------------------------------------------------------------ runs


def test_a_finished_run_is_what_it_was():
    run, stored = mg.load_run(FILES / "run-finished"), json.loads((FILES / "run-finished/result.json").read_text())
    assert run.finished and run.config.to_json() == stored["config"]
    assert {name: run.final[name] for name in stored["final"]} == stored["final"]
    assert same_columns(run.metrics, columns_of(FILES / "run-finished/metrics.parquet"))
    assert list(run.metrics["step"]) == [0, 10, 20, 30, 40] and list(run.snapshots) == [0, 1, 40]
    assert same_columns(run.neurons, columns_of(FILES / "run-finished/neurons.parquet"))
    assert (run.at(40).table() == run.network.table()).all() and run.outcome == stored["diagnosis"]["outcome"]
    new = ("folder", "files", "reused", "final", "diagnosis", "provenance")
    assert [each.text() for each in run.provenance] == ["version unknown"]
    assert {k: v for k, v in run.to_json().items() if k not in new} == {k: stored[k] for k in stored if k not in new}


def test_a_finished_run_is_reused_and_answers(tmp_path):
    folder = copied("run-finished", tmp_path)
    assert mg.train(**POWER, out=folder, on_point=never).reused
    final, network = mg.load_run(folder).final, mg.load(folder)
    rows = network.rows
    hits = round(18 * final["train_accuracy"]) + round(7 * final["test_accuracy"])
    assert mg.verify(folder).accuracy == pytest.approx(hits / rows) and rows == 25
    assert mg.inspect(folder).order == "multiplicative" and mg.predict(folder, 2, 3).value == network.predict([2, 3])


def test_a_finished_run_goes_on_with_more_steps(tmp_path):
    seen = []
    run = mg.resume(copied("run-finished", tmp_path), steps=50, on_point=lambda point: seen.append(point.row["step"]))
    assert seen == [50] and run.finished and list(run.snapshots) == [0, 1, 40, 50]


def test_a_run_on_a_table_has_its_unknown_cells():
    run = mg.load_run(FILES / "run-table")
    assert run.unknown_cells == 2 and run.network.function.sizes == (4, 3) and run.network.table().shape == (4, 3)
    assert mg.verify(FILES / "run-table").rows_checked == 10


def test_runs_are_listed_and_compared():
    found = {entry.folder.name: (entry.state, entry.step, entry.steps) for entry in mg.runs(FILES)}
    assert found == {
        "run-finished": ("finished", 40, 40),
        "run-stopped": ("stopped", 20, 40),
        "run-stopped-mlp": ("stopped", 10, 30),
        "run-table": ("finished", 10, 10),
    }
    compared = mg.compare(FILES / "run-finished", FILES / "run-stopped-mlp")
    assert compared.settings["model"] == ["power", "mlp"] and "2 runs; best on the test set" in compared.summary()


@pytest.mark.parametrize("name", STOPPED)
def test_a_stopped_run_goes_on_from_its_checkpoint_to_where_an_unbroken_one_ends(name, tmp_path):
    """To the last bit, where this processor came to the bits of the checkpoint; elsewhere nearly."""
    (settings, step), folder, seen = STOPPED[name], copied(name, tmp_path), []
    half, before = mg.load_run(folder), columns_of(FILES / name / "metrics.parquet")
    assert (half.finished, half.step, before["step"][-1]) == (False, step, step)
    run = mg.resume(folder, on_point=lambda point: seen.append(point.row["step"]))
    assert seen == list(range(step + 10, settings["steps"] + 1, 10)) and run.finished
    assert same_columns({key: run.metrics[key][: len(before["step"])] for key in before}, before)
    assert no_file_was_set_aside(folder)

    twice = copied(name, tmp_path / "twice")
    mg.resume(twice, stop=stop_at(10))
    assert mg.load_run(twice).step == step + 10
    assert same_tensors(weights_of(mg.resume(twice).network, tmp_path), weights_of(run.network, tmp_path))

    ours, unbroken = mg.train(**settings, stop=stop_at(step)), mg.train(**settings)
    stored, found, whole = (
        load_file(FILES / name / "weights.safetensors"),
        weights_of(run.network, tmp_path),
        weights_of(unbroken.network, tmp_path),
    )
    if same_tensors(weights_of(ours.network, tmp_path), stored) and same_columns(ours.metrics, before):
        assert same_tensors(found, whole)
        assert same_columns(run.metrics, {key: unbroken.metrics[key] for key in before}), "what was measured then"
    for key in whole:
        np.testing.assert_allclose(found[key], whole[key], rtol=1e-2, atol=1e-4)


# ------------------------------------------------------------------------------------------ sweeps


def marked(path, *, without=()):
    """Rewrite a file of rows with `MARK`, and without some columns."""
    rows = pq.read_table(path).drop_columns(list(without))
    place = rows.schema.get_field_index("ipr")
    pq.write_table(rows.set_column(place, rows.schema.field(place), pa.array([MARK] * len(rows), pa.float32())), path)


def test_a_finished_sweep_is_what_it_was(tmp_path):
    folder = copied("sweep-finished", tmp_path)
    found, stored = mg.sweep(**SWEEP, out=folder), columns_of(FILES / "sweep-finished/sweep.parquet")
    assert found.compilations == 0 and [row["width"] for row in found.rows] == [3, 3, 6, 6]
    for name in found.rows[0].keys() & stored.keys():
        column = [row[name] for row in found.rows]
        then = pq.read_table(FILES / "sweep-finished/sweep.parquet")
        assert column == (then[name].to_pylist() if name in stored else [None] * 4), name
    assert found.curves(3)["train_loss"].tolist() == stored["train_loss_curve"][3].tolist()
    assert [median.settings for median in found.medians] == [{"width": 3}, {"width": 6}]
    assert found.words.startswith("Best with width") and no_file_was_set_aside(folder)


def test_a_stopped_sweep_trains_what_is_missing(tmp_path):
    folder = copied("sweep-stopped", tmp_path)
    marked(folder / "part-00000.parquet")
    found = mg.sweep(**SWEEP, out=folder)
    finished = pq.read_table(FILES / "sweep-finished/sweep.parquet").to_pylist()
    assert [row["ipr"] == MARK for row in found.rows] == [True, True, False, False]
    for row, theirs in zip(found.rows, finished, strict=True):
        assert row["train_loss"] == pytest.approx(theirs["train_loss"], rel=1e-3), "of the same network"
    assert [row["train_loss"] for row in found.rows[:2]] == [row["train_loss"] for row in finished[:2]]
    assert no_file_was_set_aside(folder) and not list(folder.glob("part-*"))


# ------------------------------------------------------------------------------------------ censuses


def test_a_finished_census_is_what_it_was(tmp_path, capsys):
    folder = copied("census-finished", tmp_path)
    found = mg.census(FILES / "plan.toml", folder)
    assert (found.networks, found.planned, found.finished, found.networks_trained) == (2, 2, True, 0)
    ours, theirs = (pq.read_table(place / "census-finished/census.parquet") for place in (tmp_path, FILES))
    assert ours.select(theirs.column_names).to_pylist() == theirs.to_pylist() and no_file_was_set_aside(folder)
    asked = ask(capsys, folder, "SELECT family, steps, verdict FROM census ORDER BY network, steps")
    assert [(row["family"], row["steps"]) for row in asked] == [
        ("two-monomials", 2), ("two-monomials", 4), ("random", 2), ("random", 4)
    ]  # fmt: skip
    assert all(row["verdict"] in ("in-class", "not-in-class") for row in asked)


def test_a_stopped_census_trains_what_is_missing(tmp_path, capsys):
    folder = copied("census-stopped", tmp_path)
    marked(folder / "part-000000.parquet")
    assert ask(capsys, folder, "SELECT count(*) AS n, max(network) AS last FROM census") == [{"n": 2, "last": 0}]
    found = mg.census(FILES / "plan.toml", folder)
    assert found.finished and found.networks_trained == 1 and no_file_was_set_aside(folder)
    asked = ask(capsys, folder, "SELECT ipr, train_loss FROM census ORDER BY network, steps")
    assert [row["ipr"] == MARK for row in asked] == [True, True, False, False]
    finished = pq.read_table(FILES / "census-finished/census.parquet")["train_loss"].to_pylist()
    assert [row["train_loss"] for row in asked] == pytest.approx(finished, rel=1e-3)


# ------------------------------------------------------------------------------------------ a network


def test_a_network_computes_what_it_did():
    network = mg.load(FILES / "network.safetensors")
    expected = [[(a * b + 3) % 7 for b in range(7)] for a in range(7)]
    assert (network.expression, network.modulus, network.method) == ("n1 n2 + 3", 7, "exact")
    assert network.table().tolist() == expected and network.dtype == np.float64
    tensors = load_file(FILES / "network.safetensors")
    assert network.parameters == sum(tensor.size for name, tensor in tensors.items() if "beta" not in name)


def test_a_certificate_of_0_2_is_a_claim_that_is_proved_anew():
    network = mg.load(FILES / "network.safetensors")
    assert network.claimed and network.proof is None
    assert mg.verify(network).accuracy == 1 and mg.verify(network).proof.holds


# ---------------------------------------------------------------------------------------- settings not there yet


def without_setting(path, *places, name):
    """Rewrite a JSON file without one setting, in the objects at these places."""
    stored = json.loads(path.read_text())
    for place in places or (lambda found: [found],):
        for settings in place(stored):
            del settings[name]
    path.write_text(json.dumps(stored))


def test_a_run_without_a_later_setting_has_its_default(tmp_path):
    folder = copied("run-stopped", tmp_path)
    without_setting(folder / "config.json", name="dropout")
    assert mg.load_run(folder).config.dropout == 0
    assert mg.train(**POWER, out=folder, stop=stop_at(10)).step == 30, "it is the run of the same settings"


def test_a_census_without_a_later_setting_has_its_default(tmp_path):
    folder = copied("census-finished", tmp_path)
    without_setting(folder / "plan.json", lambda plan: [plan], name="fill")
    without_setting(folder / "plan.json", lambda plan: plan["settings"], name="share")
    assert mg.census(FILES / "plan.toml", folder).networks_trained == 0


def test_a_sweep_without_a_later_setting_has_its_default(tmp_path):
    folder = copied("sweep-stopped", tmp_path)
    without_setting(folder / "sweep.json", lambda plan: plan["configs"], name="dropout")
    marked(folder / "part-00000.parquet", without=("dropout",))
    found = mg.sweep(**SWEEP, out=folder)
    assert [row["ipr"] == MARK for row in found.rows] == [True, True, False, False]
    assert found.best.networks == 2 and [row["dropout"] for row in found.rows] == [0.0] * 4


# ---------------------------------------------------------------------------------------- metrics not there yet


def without_latest(folder):
    """The run as a version without the latest metric would have written it; checkpoints do not name their columns."""
    path = folder / "metrics.parquet"
    pq.write_table(pq.read_table(path).drop_columns(LATEST), path)
    path = folder / "checkpoint.safetensors"
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["modgrok"])
    del about["checksums"]
    tensors = load_file(path)
    tensors["history"] = np.ascontiguousarray(tensors["history"][:, :-1])
    save_file(tensors, path, metadata={"modgrok": json.dumps(about)})
    result = json.loads((folder / "result.json").read_text())
    del result["final"][LATEST]
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def test_a_run_without_the_latest_metric_loads_with_nulls(tmp_path):
    folder = without_latest(copied("run-finished", tmp_path))
    run, before = mg.load_run(folder), columns_of(FILES / "run-finished/metrics.parquet")
    assert np.isnan(np.asarray(run.metrics[LATEST], float)).all() and len(run.metrics[LATEST]) == 5
    assert same_columns(run.metrics, {name: column for name, column in before.items() if name != LATEST})
    assert run.finished and run.to_json()["final"][LATEST] is None
    assert mg.train(**POWER, out=folder, on_point=never).reused
    assert [entry.step for entry in mg.runs(tmp_path)] == [40]
    assert len(mg.compare(folder, FILES / "run-finished").names) == 2 and len(run.plot().axes) == 3


def test_a_run_without_the_latest_metric_goes_on_from_its_checkpoint(tmp_path):
    folder, seen = without_latest(copied("run-stopped", tmp_path)), []
    run = mg.resume(folder, on_point=lambda point: seen.append(point.row["step"]))
    assert seen == [30, 40] and no_file_was_set_aside(folder)
    whole = mg.resume(copied("run-stopped", tmp_path / "whole"))
    assert same_tensors(weights_of(run.network, tmp_path), weights_of(whole.network, tmp_path))
    assert np.isnan(np.asarray(run.metrics[LATEST], float)).tolist() == [True, True, True, False, False]
    for name in columns_of(folder / "metrics.parquet"):
        known = slice(3 * (name == LATEST), None)
        np.testing.assert_array_equal(np.asarray(run.metrics[name])[known], np.asarray(whole.metrics[name])[known])
    assert np.isnan(np.asarray(mg.load_run(folder).metrics[LATEST], float)).sum() == 3, "and again from the folder"


@pytest.mark.parametrize("name, trained", [("sweep-finished", 0), ("sweep-stopped", 2)])
def test_a_sweep_without_the_latest_metric_is_read_and_goes_on(name, trained, tmp_path):
    folder = copied(name, tmp_path)
    (stored,) = folder.glob("*.parquet")
    marked(stored, without=(LATEST, f"{LATEST}_curve"))
    found = mg.sweep(**SWEEP, out=folder)
    assert [row["ipr"] == MARK for row in found.rows] == [k < 4 - trained for k in range(4)]
    assert [row[LATEST] is None for row in found.rows] == [k < 4 - trained for k in range(4)]
    assert no_file_was_set_aside(folder)
    assert found.best.networks == 2 and len(found.medians) == 2 and len(found.table[LATEST]) == 4
    assert np.isnan(found.curves(0)[LATEST]).tolist() == [True, True] and len(found.curves(0)["train_loss"]) == 2
    assert len(found.plot().axes) and mg.sweep(**SWEEP, out=folder).rows == found.rows


@pytest.mark.parametrize("name, trained", [("census-finished", 0), ("census-stopped", 1)])
def test_a_census_without_the_latest_metric_is_read_and_goes_on(name, trained, tmp_path, capsys):
    folder = copied(name, tmp_path)
    for path in folder.glob("*.parquet"):
        marked(path, without=(LATEST,))
    counts = f"SELECT count(*) AS n, count({LATEST}) AS known, count(*) FILTER (ipr = {MARK}) AS kept FROM census"
    assert ask(capsys, folder, counts) == [{"n": 4 - 2 * trained, "known": 0, "kept": 4 - 2 * trained}]
    found = mg.census(FILES / "plan.toml", folder)
    assert found.finished and found.networks_trained == trained and no_file_was_set_aside(folder)
    assert ask(capsys, folder, counts) == [{"n": 4, "known": 2 * trained, "kept": 4 - 2 * trained}]
