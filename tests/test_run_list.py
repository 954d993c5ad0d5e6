"""Runs side by side: the list, the comparison, and the view of a run that another process trains."""

import json
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import modgrok as mg
from modgrok import cli
from modgrok.base.errors import InputError
from modgrok.base.locks import locked
from modgrok.base.progress import html_bar
from modgrok.training import live, run_folder, run_list
from modgrok.training.config import TrainConfig
from modgrok.training.run import read_curves
from modgrok.training.train import train

SETTINGS = {"mod": 5, "width": 8, "steps": 30}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three runs: two that differ in weight decay, one of them spelt in another way, and one that was stopped."""
    place = tmp_path_factory.mktemp("runs")
    train("n1 + n2", **SETTINGS, out=place / "plain")
    train("x+y", **SETTINGS, weight_decay=1.0, seed=1, out=place / "deeper" / "decay")
    asked = iter([False, True])
    train("n1 n2", **SETTINGS, out=place / "stopped", stop=lambda: next(asked))
    (place / "other").mkdir()
    (place / "other" / "config.json").write_text('{"not": "a run"}')
    return place


def test_the_list_has_every_run_with_what_tells_it_apart(folder):
    found = mg.runs(folder)
    assert [run.folder.name for run in found] == ["plain", "decay", "stopped"], "the latest last"
    assert [(run.state, run.step, run.steps) for run in found] == [
        ("finished", 30, 30),
        ("finished", 30, 30),
        ("stopped", 10, 30),
    ]
    assert [run.settings for run in found] == [{}, {"weight_decay": 1.0, "seed": 1}, {}]
    for run in found:
        metrics = mg.load_run(run.folder).curves
        assert (run.train_accuracy, run.test_accuracy) == (metrics["train_accuracy"][-1], metrics["test_accuracy"][-1])
    assert found[1].load().config.weight_decay == 1.0
    assert len(found.table["folder"]) == 3 and [seed == 1 for seed in found.table["seed"]] == [False, True, False]
    assert "decay" in found._repr_html_() and repr(found) == f"<RunList: 3 runs in {folder}>"


def test_runs_that_are_being_trained_say_so(tmp_path):
    states = []
    train("n1 + n2", **SETTINGS, out=tmp_path / "r", on_point=lambda point: states.append(mg.runs(tmp_path)[0].state))
    assert set(states) == {"running"} and mg.runs(tmp_path)[0].state == "finished"


@pytest.mark.draws
def test_a_comparison_has_settings_that_differ_and_numbers(folder):
    runs = [mg.load_run(folder / "plain"), folder / "deeper" / "decay"]
    found = mg.compare(*runs, out=folder / "figures" / "both")
    assert found.names == ("plain", "decay")
    assert dict(found.settings) == {"weight_decay": [5.0, 1.0], "seed": [0, 1]}, "spelling does not count"
    decayed = mg.load_run(folder / "deeper" / "decay")
    assert found.numbers["test_loss"] == [runs[0].final["test_loss"], decayed.final["test_loss"]]
    assert found.numbers["grokked_at"] == [runs[0].grokked_at, decayed.grokked_at]
    assert [path.name for path in found.files] == ["both.png", "both.svg"] and found.files[0].stat().st_size > 10_000
    drawn = found.plot().axes[0].get_lines()
    np.testing.assert_array_equal(drawn[1].get_ydata(), runs[0].curves["test_loss"])
    np.testing.assert_array_equal(drawn[2].get_ydata(), decayed.curves["train_loss"])
    with pytest.raises(InputError, match="compare takes two runs or more, got 1"):
        mg.compare(folder / "plain")
    with pytest.raises(InputError, match="is not a run"):
        mg.compare(folder / "plain", folder)


def test_narrow_terminals_and_pipes_lose_nothing(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    for columns in ("80", "120", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert cli.main(["runs", "."]) == 0
        printed = capsys.readouterr().out
        assert all(name in printed for name in ("plain", "deeper/decay", "stopped", "weight decay 1", "10 of 30"))
    monkeypatch.delenv("FORCE_COLOR")
    assert cli.main(["runs", "."]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[2].split()[-1] == "deeper/decay", "one line for each run, however long"


def test_a_run_that_ends_while_it_is_listed_was_not_stopped(tmp_path, folder, monkeypatch):
    shutil.copytree(folder / "stopped", tmp_path / "run")
    with ExitStack() as lock:

        def read_and_end(place):
            found = read_curves(place)
            lock.close()
            return found

        monkeypatch.setattr(run_list, "read_curves", read_and_end)
        lock.enter_context(locked(tmp_path / "run"))
        assert mg.runs(tmp_path)[0].state == "running"
    assert mg.runs(tmp_path)[0].state == "stopped"


TRAINER = """
import sys
from modgrok.training.train import train
train("n1 + n2", 5, width=8, steps=30, out=sys.argv[1], checkpoint_seconds=0, on_point=lambda _: sys.stdin.readline())
"""
"""It takes its next steps when it is told to, so that however long this process or that one is stopped, it waits."""


@contextmanager
def trainer_of(folder):
    with subprocess.Popen([sys.executable, "-c", TRAINER, folder], stdin=subprocess.PIPE, text=True) as process:
        yield process
        with suppress(BrokenPipeError):
            process.stdin.close()


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None
        time.sleep(0.02)


def test_a_run_of_another_process_is_watched_to_its_end(tmp_path, monkeypatch, capsys):
    with trainer_of(tmp_path / "run") as trainer:
        wait_for(lambda: run_folder.is_running(tmp_path / "run"), trainer)
        looks = []

        def next_look(seconds):
            looks.append(seconds)
            with suppress(BrokenPipeError):
                print(file=trainer.stdin, flush=True)
            time.sleep(0.02)

        monkeypatch.setattr(live, "time", SimpleNamespace(sleep=next_look, perf_counter=time.perf_counter))
        assert cli.main(["watch", str(tmp_path / "run")]) == 0
    assert len(looks) >= 3, "it was watched while it trained"
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines[:4]] == [f"step {step} of 30" for step in (0, 10, 20, 30)]
    assert any("step 30, " in line for line in lines[4:]), "then what train prints"
    assert cli.main(["watch", str(tmp_path / "run"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["finished"] is True


def test_a_folder_that_was_just_taken_is_watched_although_it_has_no_config_yet(tmp_path, folder, monkeypatch):
    steps = iter(
        [lambda: shutil.copytree(folder / "plain", tmp_path / "run", dirs_exist_ok=True), lambda: lock.close()]
    )
    next_look = SimpleNamespace(sleep=lambda seconds: next(steps)(), perf_counter=time.perf_counter)
    monkeypatch.setattr(live, "time", next_look)
    with ExitStack() as lock:
        lock.enter_context(locked(tmp_path / "run"))
        assert mg.watch(tmp_path / "run", console=Console(file=StringIO())).finished
    assert next(steps, None) is None, "it waited for the config, and then for the end"


def test_watching_a_run_that_was_killed_ends_with_a_sentence(tmp_path):
    with trainer_of(tmp_path / "run") as trainer:
        wait_for((tmp_path / "run" / "metrics.parquet").exists, trainer)
        trainer.kill()
    with pytest.raises(InputError, match="did not come to its end; go on with: modgrok train --resume"):
        mg.watch(tmp_path / "run", console=Console(stderr=True))
    assert mg.runs(tmp_path)[0].state == "stopped"


CONFIG = TrainConfig("n1 n2", 97, steps=100)


def point(step, train, test):
    row = {"step": step, "train_accuracy": train, "test_accuracy": test, "train_loss": 0.5, "test_loss": 0.25}
    return live.Point(row, step, 2.0)


def test_a_terminal_shows_numbers_and_a_small_curve():
    console = Console(force_terminal=True, width=80, file=StringIO(), record=True)
    with live.live_view(CONFIG, console) as on_point:
        on_point(point(10, 0.5, 0.0))
        on_point(point(20, 1.0, 0.25))
    text = console.export_text()
    assert "10 steps/s" in text and "25.00 %" in text and "▅█" in text and "▁▃" in text and "not yet" in text


def test_a_notebook_shows_a_bar_without_widgets(monkeypatch):
    shown = []
    monkeypatch.setattr(live, "notebook_output", lambda: lambda text, always: shown.append(text))
    with live.live_view(CONFIG, Console(force_jupyter=True)) as on_point:
        on_point(point(50, 1.0, 0.25))
        on_point(point(100, 1.0, float("nan")))
    assert "compiling" in shown[0] and "value='50' max='100'" in shown[1] and "<polyline" in shown[1]
    assert "test" not in shown[2].split("<small>")[1], "without test rows there is nothing to say of them"
    assert html_bar("<b>", 1, 2).count("<") == 2, "what users type is escaped"


def test_a_folder_without_runs_is_empty(tmp_path):
    assert repr(mg.runs(tmp_path)) == f"<RunList: 0 runs in {tmp_path}>"
    with pytest.raises(InputError, match="there is no folder .*nowhere"):
        mg.runs(tmp_path / "nowhere")


def test_running_is_asked_of_this_machine_alone(tmp_path):
    (tmp_path / "running.json").write_text(json.dumps({"pid": 1, "host": "elsewhere"}))
    assert run_folder.is_running(tmp_path), "what another machine does cannot be seen from here"
