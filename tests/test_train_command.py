"""The train and bench commands: flags, JSON keys, Ctrl-C, and what they refuse."""

import argparse
import json
import os
import signal

import pytest
from rich.console import Console

from modgrok.commands import bench as bench_command
from modgrok.commands import train
from modgrok.errors import InputError
from modgrok.training import runs
from modgrok.training.bench import Case, bench
from modgrok.training.steps import TrainConfig


def call(command, *words):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(words), Console(stderr=True))


SMALL = ("n1 n2", "--mod", "11", "--width", "40", "--steps", "30")


def test_every_setting_is_a_flag(tmp_path):
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    flags = {action.dest for action in parser._actions}
    assert set(vars(TrainConfig("n1", 2))) <= flags
    args = parser.parse_args(
        [*SMALL, "--learning-rate", "0.02", "--power", "3", "--order", "additive", "--eps", "1e-7"]
    )
    config, folder = train.config_and_folder(args)
    assert config == TrainConfig("n1 n2", 11, 40, 3, 30, 0.02, eps=1e-7, order="additive")
    assert folder == runs.default_folder(config)


def test_the_result_has_the_documented_keys_and_the_figure_is_drawn(tmp_path, capsys):
    result = call(train, *SMALL, "--out", str(tmp_path / "run"))
    assert set(result["final"]) == {
        *("train_loss", "test_loss", "train_accuracy", "test_accuracy"),
        *("ipr", "ipr_alive", "alive", "embed_norm", "readout_norm"),
    }
    assert {"grokked_at", "memorised_at", "steps_per_second", "run_dir", "diagnosis"} <= set(result)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert (tmp_path / "run" / "curves.png").stat().st_size > 10_000
    train.show(result, Console(width=100))
    shown = capsys.readouterr().out
    assert (
        "accuracy" in shown and result["diagnosis"]["text"][:20] in shown and str(tmp_path) in shown.replace("\n", "")
    )


def test_ctrl_c_stops_cleanly_and_resume_goes_on(tmp_path, monkeypatch, capsys):
    segment = runs.Training.segment

    def interrupted(training, steps):
        os.kill(os.getpid(), signal.SIGINT)
        return segment(training, steps)

    with monkeypatch.context() as patch:
        patch.setattr(runs.Training, "segment", interrupted)
        stopped = call(train, *SMALL, "--out", str(tmp_path / "run"))
    assert (stopped["finished"], stopped["exit_code"]) == (False, 130)
    train.show(stopped, Console(width=400))
    assert f"go on with: modgrok train --resume {tmp_path / 'run'}" in capsys.readouterr().out
    resumed = call(train, "--resume", str(tmp_path / "run"), "--steps", "40")
    assert (resumed["finished"], resumed["step"]) == (True, 40)


@pytest.mark.parametrize(
    "words, text",
    [
        (["n1 n2"], "train needs an expression and a modulus"),
        (["--resume", "x", "--width", "3"], "only --steps may be given with it"),
        (["--resume", "/nowhere"], "/nowhere is not a run"),
    ],
)
def test_incomplete_command_lines_are_refused(words, text):
    with pytest.raises(InputError, match=text):
        call(train, *words)


def test_bench_compares_contenders_that_train_the_same_thing(tmp_path, capsys):
    file = tmp_path / "bench.json"
    words = ("train", "--rounds", "2", "--seconds", "0.02", "--case", "11,50,3", "--out", str(file))
    result = call(bench_command, *words)
    assert json.loads(file.read_text()) == result.to_json()
    assert result.files == (file,) and len(repr(result)) < 200
    (case,) = result.cases
    ours, theirs = case.contenders["modgrok"], case.contenders["jax one-hot"]
    assert ours.modgrok_is_faster_by == 1 and len(ours.by_round) == 2
    assert theirs.modgrok_is_faster_by == pytest.approx(ours.network_steps_per_second / theirs.network_steps_per_second)
    assert ours.loss_after_20_steps == pytest.approx(theirs.loss_after_20_steps, rel=0.1)
    assert ours.loss_after_20_steps < 0.95 / 11
    bench_command.show(result, Console())
    assert "modgrok is faster by" in capsys.readouterr().out


def test_a_case_that_cannot_be_read_is_refused():
    assert Case.read("97,500,16") == Case(97, 500, 16)
    for text in ("97,500", "a,b,c"):
        with pytest.raises(InputError, match="a case is P,WIDTH,NETWORKS"):
            Case.read(text)
    with pytest.raises(InputError, match="needs a modulus above 1"):
        Case.read("1,2,3")
    with pytest.raises(InputError, match="at least one round and some time, got 0"):
        bench(rounds=0)
    with pytest.raises(InputError, match="bench times train, got 'predict'"):
        bench("predict")
