"""The train and bench commands: flags, JSON keys, Ctrl-C, and what they refuse."""

import argparse
import json
import signal
from math import isnan

import pytest
from json_keys import KEYS
from rich.console import Console

from modgrok import cli
from modgrok.answers.classifying import classify
from modgrok.base.errors import InputError
from modgrok.base.repository import folder_of
from modgrok.commands import bench as bench_command, train
from modgrok.training import run_folder
from modgrok.training.bench import Case, bench
from modgrok.training.checkpoints import Training
from modgrok.training.config import TrainConfig
from modgrok.training.steps import Metrics
from studies.as_called import timed
from studies.contenders import SCANNED, jax_loop, jax_scanned


def call(command, *words):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(words, argparse.Namespace(json=True, csv=False)), Console(stderr=True))


def shown(capsys, result, **settings):
    """What people see of a result."""
    train.show(result, Console(**settings), argparse.Namespace())
    return capsys.readouterr().out


SMALL = ("n1 n2", "--mod", "11", "--width", "40", "--steps", "30")


def test_every_setting_is_a_flag(tmp_path):
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    flags = {action.dest for action in parser._actions}
    assert set(vars(TrainConfig("n1", 2))) - {"modulus", "function"} | {"mod", "table"} <= flags
    args = parser.parse_args(
        [*SMALL, "--learning-rate", "0.02", "--power", "3", "--order", "additive", "--eps", "1e-7"]
    )
    config, folder = train.config_and_folder(args)
    assert config == TrainConfig(
        "n1 n2", 11, width=40, power=3, steps=30, learning_rate=0.02, eps=1e-7, order="additive"
    )
    assert folder == run_folder.default_folder(config)


@pytest.mark.draws
def test_the_result_has_the_documented_keys_and_the_figure_is_drawn(tmp_path, capsys):
    run = call(train, *SMALL, "--out", str(tmp_path / "run"))
    result = run.to_json()
    assert set(result) == set(KEYS["train"]["EXPRESSION"])
    assert list(result["final"]) == list(Metrics._fields)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["folder"] == str(tmp_path / "run") and train.exit_code(run) == 0
    assert (tmp_path / "run" / "curves.png").stat().st_size > 10_000
    printed = shown(capsys, run, width=100)
    assert "accuracy" in printed and run.diagnosis.text[:20] in printed
    assert f"Everything is in {tmp_path / 'run'}\n" in shown(capsys, run, width=20), "a folder is not broken"
    again = call(train, *SMALL, "--out", str(tmp_path / "run"))
    printed = shown(capsys, again, width=400)
    assert again.reused and "it was finished already (--overwrite trains it again)" in printed
    assert f"The film of its {len(run.snapshots)} snapshots, as a page: modgrok share {tmp_path / 'run'}" in printed


def test_the_verdict_comes_first_and_a_run_that_memorised_hears_what_classify_says(tmp_path, capsys):
    words = ("n1^2 + n1 n2 + n2^2", "--mod", "11", "--width", "60", "--steps", "150", "--snapshots", "0")
    run = call(train, *words, "--out", str(tmp_path / "run"))
    assert run.outcome == "memorised"
    first, second, *rest = shown(capsys, run, width=400).splitlines()
    assert first.startswith("Only memorised: 100 % of the training set right")
    assert second == " ".join(classify("n1^2 + n1 n2 + n2^2", 11, effort=train.ASKED).answer)
    assert not any("no test accuracy to expect" in line for line in rest)


def test_functions_whose_weights_are_no_waves_have_no_ipr(tmp_path, capsys):
    """Squares modulo 7, and squares of their sums: twice what is not zero, once zero, so on no circle."""
    words = ("(n1^2 + n2^2)^2", "--mod", "7", "--width", "8", "--steps", "1", "--out", str(tmp_path / "run"))
    run = call(train, *words)
    assert isnan(run.final["ipr"]) and run.to_json()["final"]["ipr"] is None and run.ipr_blocks == []
    assert "no IPR: the weights for this function are waves in no order" in shown(capsys, run, width=400)


def test_ctrl_c_stops_cleanly_and_resume_goes_on(tmp_path, monkeypatch, capsys):
    segment = Training.segment

    def interrupted(training, steps):
        signal.raise_signal(signal.SIGINT)
        return segment(training, steps)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "segment", interrupted)
        stopped = call(train, *SMALL, "--out", str(tmp_path / "run"))
    assert (stopped.finished, train.exit_code(stopped)) == (False, 130)
    assert f"go on with: modgrok train --resume {tmp_path / 'run'}" in shown(capsys, stopped, width=400)
    resumed = call(train, "--resume", str(tmp_path / "run"), "--steps", "40")
    assert (resumed.finished, resumed.step) == (True, 40)


@pytest.mark.parametrize(
    "words, text",
    [
        ([], 'train needs one function: modgrok train "n1 n2" --mod 97, or modgrok train --table mine.csv'),
        (["n1 n2"], "a modulus is needed; give mod=97"),
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
    assert ours.loss_after_20_steps == pytest.approx(theirs.loss_after_20_steps, rel=0.03), "on its own rows"
    assert ours.loss_after_20_steps < 0.95 / 11
    scanned = case.contenders["jax vmap scan"]
    assert scanned.loss_after_20_steps == pytest.approx(theirs.loss_after_20_steps, rel=1e-4), "the same first network"
    bench_command.show(result, Console(), argparse.Namespace())
    out = capsys.readouterr().out
    assert out.startswith("modgrok's speed as a multiple of") and "modgrok's speed over theirs" in out


def test_the_figure_is_drawn_after_the_answer(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(train, "draw_run", lambda run, folder: print("DRAWN"))
    assert cli.main(["train", *SMALL, "--out", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out
    assert told.index("mean IPR") < told.index("DRAWN") < told.index("Everything is in")
    assert (tmp_path / "run" / "result.json").exists()


def test_a_run_whose_figure_was_not_drawn_gets_it_when_it_is_asked_for_again(tmp_path, capsys):
    words = ["train", *SMALL, "--out", str(tmp_path / "run")]
    assert cli.main(words) == 0
    (tmp_path / "run" / "curves.png").unlink()
    assert cli.main(words) == 0 and (tmp_path / "run" / "curves.png").exists()
    assert "it was finished already" in capsys.readouterr().out


def test_a_training_as_called_is_timed_from_the_start_of_python_beside_plain_scripts(capsys):
    result = call(
        bench_command, "train", "--rounds", "1", "--seconds", "0.01", "--case", "7,200,1", "--called-steps", "40"
    )
    called = result.cases[0].called
    assert set(called) >= {"modgrok", "jax"}
    assert (called["modgrok"].cold_ratio, called["modgrok"].warm_ratio) == (1, 1)
    assert called["jax"].warm_ratio == pytest.approx(called["jax"].warm_seconds / called["modgrok"].warm_seconds)
    for each in called.values():
        assert each.cold_seconds > 0.2 < each.warm_seconds, "a process that imports JAX or PyTorch takes longer"
        assert 0 <= each.test_accuracy <= 1
    bench_command.show(result, Console(), argparse.Namespace())
    assert "seconds from the start of Python to the result of 40 steps" in capsys.readouterr().out


def test_a_plain_script_that_fails_is_told_in_one_line():
    with pytest.raises(InputError, match="ended with: ModuleNotFoundError: No module named 'nothing'; run it "):
        timed(["-c", "import nothing"], "")


def test_plain_scripts_learn_what_modgrok_learns(tmp_path):
    """With the same settings, so that it is the same work that is timed."""
    _, theirs = timed([str(folder_of("benchmarks") / "plain_jax.py"), "23", "200", "300"], str(tmp_path))
    assert theirs > 0.9


def test_the_scanned_loop_takes_as_many_steps_as_it_is_told():
    case = Case(11, 50, 3)
    scanned, plain = jax_scanned(case), jax_loop(case)
    assert scanned(SCANNED + 2) == pytest.approx(plain(SCANNED + 2), rel=1e-3)
    assert scanned(1) == pytest.approx(plain(1), rel=1e-3)


def test_a_case_that_cannot_be_read_is_refused():
    assert Case.read("97,500,16") == Case(97, 500, 16)
    for text in ("97,500", "a,b,c"):
        with pytest.raises(InputError, match="a case is P,WIDTH,NETWORKS"):
            Case.read(text)
    with pytest.raises(InputError, match="needs a modulus above 1"):
        Case.read("1,2,3")
    with pytest.raises(InputError, match="bench takes 1 to 1,000 rounds of at most 3,600 seconds, got 0 of 1; "):
        bench(rounds=0)
    with pytest.raises(InputError, match="called_steps must be 10 to 100,000, or 0 for none, got 5; 300 is usual"):
        bench(called_steps=5)
    with pytest.raises(InputError, match="bench times train, got 'predict'"):
        bench("predict")


def test_a_training_that_diverges_at_once_ends_with_its_diagnosis(tmp_path, capsys):
    words = ["train", "n1 n2", "--mod", "5", "--steps", "2", "--width", "3", "--init-scale", "1e20"]
    assert cli.main([*words, "--out", str(tmp_path / "run")]) == 1
    assert "Diverged: by step 0" in capsys.readouterr().out
    assert cli.main([*words, "--out", str(tmp_path / "run"), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["diagnosis"]["outcome"], result["final"]["train_loss"]) == ("diverged", None)
    assert (tmp_path / "run" / "weights.safetensors").exists() and cli.main(["watch", str(tmp_path / "run")]) == 1
    assert result["expected_accuracy"]["value"] is None
