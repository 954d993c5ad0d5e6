"""Runs as folders: what they hold, that they resume bit for bit, and that they are never mixed."""

import json
import re
import shutil
import signal
import socket
import string
import subprocess
import sys
import time
from dataclasses import replace
from importlib import import_module
from itertools import count
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from modgrok.algebra.function import from_table
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.networks.storage import WEIGHTS, load
from modgrok.networks.verification import verify
from modgrok.training import run_folder
from modgrok.training.checkpoints import COLUMNS
from modgrok.training.config import TrainConfig
from modgrok.training.train import load_run, resume, train, train_config

CONFIG = TrainConfig("n1 n2", 11, width=60, steps=60, fraction=0.7, snapshots=6)
FILM = [0, 1, 3, 8, 22, 60]
SAME_FILES = ("metrics.parquet", "neurons.parquet", "weights.safetensors", "checkpoint.safetensors")
WORDS = string.ascii_letters + string.digits
ALL_SAME = (*SAME_FILES, "snapshots.safetensors")


def columns_of(path):
    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def contents(folder, names=ALL_SAME):
    return {name: (folder / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "unbroken"
    return folder, train_config(CONFIG, folder)


def test_a_run_folder_holds_everything(unbroken):
    folder, run = unbroken
    assert json.loads((folder / "config.json").read_text())["width"] == 60
    assert run_folder.load_config(folder) == CONFIG
    assert json.loads((folder / "result.json").read_text()) == run.to_json()
    assert run.files == sorted(folder.iterdir(), key=lambda path: run_folder.FILES.index(path.name))
    metrics = columns_of(folder / "metrics.parquet")
    assert tuple(metrics) == COLUMNS
    assert metrics["step"].tolist() == [0, 10, 20, 30, 40, 50, 60]
    assert metrics["test_loss"][-1] == np.float32(run.final["test_loss"])
    neurons = columns_of(folder / "neurons.parquet")
    assert neurons["ipr_final"].shape == (60,)
    assert neurons["ipr_final"].mean() == pytest.approx(run.final["ipr"], rel=1e-4)
    assert neurons["ipr_initial"].mean() == pytest.approx(metrics["ipr"][0], rel=1e-4)


def test_the_saved_weights_are_the_network_that_was_measured(unbroken):
    folder, run = unbroken
    trained = load(folder)
    assert (trained.method, trained.expression, trained.modulus) == ("trained", "n1 n2", 11)
    assert trained.settings["learning_rate"] == 0.005
    rows = np.stack(np.unravel_index(np.arange(121), (11, 11)), axis=1)
    np.testing.assert_array_equal(trained(rows), run.network(rows))
    train, test = run.train_rows, 121 - run.train_rows
    final = run.final
    hits = final["train_accuracy"] * train + final["test_accuracy"] * test
    assert verify(trained).accuracy == pytest.approx(hits / 121)
    assert verify(trained).mse == pytest.approx(
        (final["train_loss"] * train + final["test_loss"] * test) / 121, rel=1e-3
    )


def test_a_stopped_run_goes_on_bit_for_bit(unbroken, tmp_path):
    seen = []
    run = train_config(CONFIG, tmp_path / "run", on_point=seen.append, stop=lambda: len(seen) == 3)
    assert (run.finished, run.step) == (False, 30)
    assert [point.row["step"] for point in seen] == [10, 20, 30]
    assert [point.steps for point in seen] == [10, 20, 30]
    half = load_run(tmp_path / "run")
    assert (half.finished, half.step, half.config) == (False, 30, CONFIG)
    run = resume(tmp_path / "run")
    assert run.finished and run.final == unbroken[1].final
    assert contents(tmp_path / "run") == contents(unbroken[0])


def test_more_steps_go_on_from_a_finished_run(unbroken, tmp_path):
    train_config(replace(CONFIG, steps=25), tmp_path / "run")
    assert list(load_run(tmp_path / "run").snapshots) == [0, 1, 2, 5, 11, 25]
    run = resume(tmp_path / "run", steps=60)
    assert run.final == unbroken[1].final and run.config == CONFIG
    with pytest.raises(InputError, match="run is a run of 60 steps, and goes on to these or more, got 10"):
        resume(tmp_path / "run", steps=10)
    assert contents(tmp_path / "run", SAME_FILES) == contents(unbroken[0], SAME_FILES)
    assert list(run.snapshots) == [0, 1, 2, 5, 11, 25, 60], "those of before, and those that the new plan has left"


def test_a_finished_run_is_reused_and_overwritten_on_request(unbroken):
    folder, run = unbroken
    before, stored = contents(folder), json.loads((folder / "result.json").read_text())
    again = train_config(CONFIG, folder, on_point=lambda point: pytest.fail("it trained"))
    assert again.reused and again.to_json() == stored | {"reused": True}
    for name in ("metrics", "neurons"):
        ours, theirs = getattr(again, name), getattr(run, name)
        assert list(ours) == list(theirs)
        for column in ours:
            np.testing.assert_array_equal(ours[column], theirs[column])
    trained = train_config(CONFIG, folder, overwrite=True)
    assert not trained.reused
    assert contents(folder) == before


def test_a_run_in_memory_is_the_run_in_a_folder(unbroken):
    """`train` takes the settings as keywords, and leaves no trace without a folder."""
    run = train("n1 n2", 11, width=60, steps=60, fraction=0.7, snapshots=6)
    assert run.config == CONFIG and run.final == unbroken[1].final
    assert run.folder is None and run.files == []
    for name, column in unbroken[1].metrics.items():
        np.testing.assert_array_equal(run.metrics[name], column)
    written = train("n1 n2 mod 11", width=60, steps=1)
    assert written.config.modulus == 11, "the modulus may stand in the expression"


def test_a_run_says_what_was_measured_where(unbroken):
    run = unbroken[1]
    assert run.residue_order.name == "multiplicative" and run.ipr_blocks == ["n1", "n2", "readout"]
    composed = train("(n1 + n2^2)^3", 7, width=8, steps=1)
    assert composed.ipr_blocks == ["n1"], "squares and cubes modulo 7 lie on no circle"
    transformer = train("n1 n2", 7, model="transformer", width=8, steps=1)
    assert transformer.ipr_blocks == ["n1"], "its embedding is shared, and its readout is no block"


KILLED = """
import sys
from pathlib import Path
from modgrok.training.config import TrainConfig
from modgrok.training.train import train_config
config = TrainConfig("n1 n2", 11, width=60, steps=60, fraction=0.7, snapshots=6)
def on_point(point):
    print(int(point.row["step"]), flush=True)
    if "die" in sys.argv and point.row["step"] >= 30:
        sys.stdin.read()  # until it is killed
train_config(config, Path(sys.argv[1]), checkpoint_seconds=0, on_point=on_point)
"""


def test_a_killed_run_resumes_and_ends_where_an_unbroken_one_ends(unbroken, tmp_path):
    folder = tmp_path / "run"
    command, pipe = [sys.executable, "-c", KILLED, folder, "die"], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert [process.stdout.readline() for _ in range(3)] == ["10\n", "20\n", "30\n"]
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "weights.safetensors").exists()
    assert columns_of(folder / "metrics.parquet")["step"][-1] == 20
    said = read_json(folder / "sittings.json")
    said["provenance"][0]["command"] = "another command"  # the one that was killed is told apart from the one that ends
    write_json(folder / "sittings.json", said)
    resumed = subprocess.run([sys.executable, "-c", KILLED, folder], stdout=subprocess.PIPE, text=True, check=True)
    assert resumed.stdout.split() == ["30", "40", "50", "60"]
    assert contents(folder) == contents(unbroken[0])
    assert [each.command for each in load_run(folder).provenance] == ["another command", "a Python session"]
    assert not (folder / "sittings.json").exists(), "the summary says it now"


@pytest.mark.parametrize(
    "change, text",
    [
        (
            {"learning_rate": 0.01},
            "holds another run .learning_rate is 0.005 there and 0.01 here.*--resume .*--out.*--overwrite",
        ),
        ({"seed": 3, "width": 5}, "width is 60 there and 5 here; seed is 0 there and 3 here"),
        ({"steps": 10}, "it has 60 steps, more than 10"),
    ],
)
def test_another_experiment_does_not_enter_the_folder(unbroken, change, text):
    before = contents(unbroken[0])
    with pytest.raises(InputError, match=text):
        train_config(replace(CONFIG, **change), unbroken[0])
    assert contents(unbroken[0]) == before


def test_folders_that_are_not_runs_are_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match=r"is not empty and has no config\.json; choose another folder"):
        train_config(CONFIG, tmp_path)
    with pytest.raises(InputError, match="is a file; give a folder: out="):
        train_config(CONFIG, tmp_path / "thesis.tex")
    with pytest.raises(InputError, match=r"is not a run: it has no config\.json"):
        run_folder.load_config(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("name", ["checkpoint", "snapshots"])
def test_a_damaged_checkpoint_is_set_aside_and_its_steps_are_taken_again(unbroken, name, tmp_path, caplog):
    caplog.set_level("WARNING", logger="modgrok")
    train_config(CONFIG, tmp_path / "run", stop=iter([False, False, True]).__next__)
    damaged = tmp_path / "run" / f"{name}.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    train_config(CONFIG, tmp_path / "run")
    assert f"{name}.safetensors is damaged and was set aside as {name}.safetensors.damaged" in caplog.text
    assert damaged.with_name(f"{damaged.name}.damaged").exists()
    for kept in ("weights.safetensors", "metrics.parquet", "snapshots.safetensors"):
        assert (tmp_path / "run" / kept).read_bytes() == (unbroken[0] / kept).read_bytes(), kept


@pytest.mark.parametrize("name", ["metrics.parquet", "neurons.parquet", "weights.safetensors", "result.json"])
def test_a_finished_run_with_a_damaged_file_is_written_again_from_its_checkpoint(unbroken, name, tmp_path):
    shutil.copytree(unbroken[0], tmp_path / "run")
    (tmp_path / "run" / name).write_bytes((tmp_path / "run" / name).read_bytes()[:-9])
    with pytest.raises(InputError, match=re.escape(name)):
        load_run(tmp_path / "run")
    train_config(CONFIG, tmp_path / "run")
    if name != "result.json":  # it tells the seconds
        assert (tmp_path / "run" / name).read_bytes() == (unbroken[0] / name).read_bytes()
    assert load_run(tmp_path / "run").finished


def test_a_wrong_expression_leaves_no_folder(tmp_path):
    with pytest.raises(InputError, match="the expression ends too early"):
        train_config(replace(CONFIG, expression="n1 +"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_wrong_expression_empties_no_folder(tmp_path):
    train_config(replace(CONFIG, steps=1), tmp_path)
    files = [name for name in run_folder.FILES if name != run_folder.FUNCTION]
    before = contents(tmp_path, files)
    with pytest.raises(InputError, match="the order called witness is for functions that need it"):
        train_config(replace(CONFIG, order="witness"), tmp_path, overwrite=True)
    assert contents(tmp_path, files) == before


PLAIN = replace(CONFIG, snapshots=None)


def test_default_folders_tell_experiments_apart():
    names = [
        run_folder.default_folder(config).name
        for config in (PLAIN, replace(PLAIN, learning_rate=0.01), replace(PLAIN, seed=1), replace(PLAIN, steps=5))
    ]
    assert names[0] == "n1n2-mod11-width60-seed0-fraction0.7"
    assert names[1] == "n1n2-mod11-width60-seed0-learning_rate0.01-fraction0.7"
    assert len(set(names)) == 3 and names[3] == names[0]


def test_folders_are_named_by_the_function_and_not_by_its_spelling():
    def name(text):
        return run_folder.default_folder(replace(PLAIN, expression=text)).name

    assert name("n1 n2 + n3") != name("n1 n2 - n3")
    assert name("n1n2") == name("n1 * n2") == name("x y") == name("n1 n2")
    nested = "2(n1 + n2 (n3 + n4) n5 + n6)", "2(n1 + n2) n3 + n4 (n5 + n6)"
    long = " + ".join(f"n{k}^2" for k in range(1, 30))
    names = {name(text) for text in (*nested, long, long + " + n31", long + " + n32")}
    assert len(names) == 5
    assert all(set(each) <= set(WORDS + "+-^_.") and len(each) < 120 for each in names)


def test_another_spelling_goes_on_with_the_same_run(unbroken):
    again = train_config(replace(CONFIG, expression="x*y"), unbroken[0], on_point=lambda point: pytest.fail("trained"))
    assert again.reused and again.final == unbroken[1].final


def test_snapshots_are_the_networks_of_their_steps(unbroken):
    """Step 22 is no measured one: a training that ends there has the same weights, and the metrics are as ever."""
    folder, run = unbroken
    assert list(run.snapshots) == FILM and list(run.curves["step"]) == [0, 10, 20, 30, 40, 50, 60]
    shorter = train_config(replace(CONFIG, steps=22, snapshots=0)).network
    stored = load_run(folder)
    assert list(stored.snapshots) == FILM
    for network in (run.at(22), stored.at(22), stored.snapshots[22]):
        for name in ("embed", "readout"):
            np.testing.assert_array_equal(getattr(network.params, name), getattr(shorter.params, name))
    np.testing.assert_array_equal(stored.at(60).table(), run.network.table())
    with pytest.raises(InputError, match="no network was kept at step 25; nearest are those at 8 and 22"):
        run.at(25)
    where = folder / "snapshots.safetensors"
    assert repr(stored.snapshots) == f"<SnapshotFile: {len(FILM)} networks at steps 0 to 60, in {where}>"
    with pytest.raises(InputError, match="at step 25, only the last one, of step 60; train with snapshots=32"):
        replace(run, snapshots={}).at(25)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("step", [22.0, "22", None, True])
def test_a_step_is_a_whole_number(unbroken, step):
    with pytest.raises(InputError, match="a step is a whole number, got .*; list"):
        load_run(unbroken[0]).at(step)
    assert (load_run(unbroken[0]).at(np.int64(22)).table() == unbroken[1].at(22).table()).all()


def test_networks_with_batch_normalisation_keep_their_statistics(tmp_path):
    run = train("n1 n2", 7, model="mlp", width=8, norm="batch", steps=3, snapshots=3, out=tmp_path / "run")
    stored = load_run(tmp_path / "run").snapshots
    assert list(stored) == [0, 1, 3] and stored[1].statistics
    rows = np.stack(np.unravel_index(np.arange(49), (7, 7)), axis=1)
    np.testing.assert_array_equal(stored[3](rows), run.network(rows))


def test_a_run_shows_itself(unbroken):
    run = unbroken[1]
    assert repr(run).startswith("<Run: n1 n2 mod 11, power of width 60, adamw at 0.005, decay 5, step 60: train ")
    assert len(run.plot().axes) == 3
    assert run.inspect().order == "multiplicative"


def test_a_run_that_was_stopped_at_once_has_no_diagnosis(tmp_path):
    run = train_config(PLAIN, tmp_path / "run", stop=lambda: True)
    assert (run.step, run.diagnosis, run.outcome) == (0, None, "untrained")
    assert run.to_json()["diagnosis"] is None and run.expected.value is None
    assert "untrained" in repr(run) and "stopped before the first measurement" in run._repr_html_()
    assert load_run(tmp_path / "run").diagnosis is None


def test_a_folder_says_whether_a_process_trains_it(tmp_path):
    seen = []
    train_config(PLAIN, tmp_path / "run", on_point=lambda point: seen.append(run_folder.is_running(tmp_path / "run")))
    assert all(seen) and not run_folder.is_running(tmp_path / "run")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mark = {"pid": gone.pid, "host": socket.gethostname()}
    (tmp_path / "run" / "running.json").write_text(json.dumps(mark))
    assert not run_folder.is_running(tmp_path / "run"), "it was killed"


def test_the_rate_counts_this_sitting_only(unbroken, tmp_path):
    began = time.perf_counter()
    run = train_config(CONFIG, tmp_path / "run")
    assert run.steps_per_second > 60 / (time.perf_counter() - began)


def test_many_segments_in_one_call_are_the_segments_one_by_one(tmp_path, monkeypatch):
    """As on a GPU: the same bits, snapshots and points, stopped in between and gone on with.

    How many go into a call depends on how fast they are: by the clock of this test, a millisecond passes at every look.
    """
    settings = {"mod": 7, "width": 16, "steps": 333, "snapshots": 5, "seed": 3}
    expected = train("n1 n2", **settings)
    seen, asked = [], iter([False] * 4 + [True] * 99)
    monkeypatch.setattr(import_module(train.__module__), "on_cpu", lambda: False)
    with monkeypatch.context() as clock:
        ticks = SimpleNamespace(perf_counter=count(0, 0.001).__next__)
        clock.setattr(import_module(train.__module__), "time", ticks)
        looking = train_config(
            TrainConfig.of("n1 n2", **settings), tmp_path / "run", on_look=seen.append, stop=lambda: next(asked)
        )
    assert 0 < looking.step < 333
    whole = resume(tmp_path / "run")
    assert whole.final == expected.final and list(whole.snapshots) == list(expected.snapshots)
    for name, column in expected.curves.items():
        np.testing.assert_array_equal(whole.curves[name], column)
    for step in expected.snapshots:
        np.testing.assert_array_equal(whole.at(step).params.embed, expected.at(step).params.embed)
    steps = [int(point.row["step"]) for point in seen if point.measured]
    assert steps == list(range(10, looking.step + 1, 10)), "every measured step was told once"
    seconds = [point.seconds for point in seen]
    assert seconds == sorted(seconds) and any(point.network is None for point in seen)


def test_who_asks_for_points_gets_the_network_of_each(monkeypatch):
    monkeypatch.setattr(import_module(train.__module__), "on_cpu", lambda: False)
    points = []
    train("n1 n2", mod=5, width=8, steps=30, on_point=points.append)
    assert [point.row["step"] for point in points] == [10, 20, 30] and all(point.network for point in points)


# ---------------------------------------------------------------------------------------------- the film by default


def test_a_training_keeps_a_film_of_itself_unless_told_otherwise(tmp_path):
    """And is the same training, to the last bit, as one that keeps none."""
    config = TrainConfig("n1 n2", 11, width=20, steps=60, fraction=0.7)
    filmed, plain = train_config(config, tmp_path / "filmed"), train_config(replace(config, snapshots=0))
    assert list(filmed.snapshots) == list(load_run(tmp_path / "filmed").snapshots) and len(filmed.snapshots) == 32
    assert list(filmed.snapshots)[:3] == [0, 1, 2] and list(filmed.snapshots)[-1] == 60 and not plain.snapshots
    for name in ("embed", "readout"):
        np.testing.assert_array_equal(getattr(filmed.network.params, name), getattr(plain.network.params, name))
    for name, column in plain.curves.items():
        np.testing.assert_array_equal(filmed.curves[name], column)


def test_a_run_from_before_films_is_found_again_by_the_same_command(tmp_path):
    config = TrainConfig("n1 n2", 5, width=4, steps=3, fraction=0.7)
    train_config(replace(config, snapshots=0), tmp_path / "run")
    again = train_config(config, tmp_path / "run")
    assert again.reused and not again.snapshots
    with pytest.raises(InputError, match="snapshots is 0 there and 3 here"):
        train_config(replace(config, snapshots=3), tmp_path / "run")


def test_a_large_network_keeps_fewer_snapshots_and_a_huge_one_none(monkeypatch):
    monkeypatch.setattr("modgrok.training.snapshots.USUAL_BYTES", 3 * 5 * 4 * 4 * 9)
    config = TrainConfig("n1 n2", 5, width=4, steps=40, fraction=0.7)
    assert len(train_config(config).snapshots) == 9
    assert not train_config(replace(config, width=5)).snapshots, "seven fit, which are no film"


def test_a_run_on_a_table_with_a_name_of_several_words_is_loaded(tmp_path):
    """A network file calls it a table, so that nobody takes its name for an expression; the run is still its own."""
    function = from_table(np.add.outer(np.arange(5), np.arange(5)) % 5, 5, "my own sums", ("n1", "n2"))
    train(function, width=8, steps=2, out=tmp_path / "run")
    run = load_run(tmp_path / "run")
    assert run.config.expression == "my own sums" and run.network.expression == "table 'my own sums'"
    assert resume(tmp_path / "run", steps=3).step == 3


def test_a_run_whose_network_is_of_another_modulus_is_refused(tmp_path):
    train("n1 n2", 5, width=4, steps=1, out=tmp_path / "run")
    train("n1 n2", 7, width=4, steps=1, out=tmp_path / "other")
    (tmp_path / "run" / WEIGHTS).write_bytes((tmp_path / "other" / WEIGHTS).read_bytes())
    with pytest.raises(InputError, match="network of another n1 n2 mod 7"):
        load_run(tmp_path / "run")
