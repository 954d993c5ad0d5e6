"""A folder that is removed or emptied while it is written: nothing is said to be there, nothing half comes back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from modgrok import cli
from modgrok.base.errors import InputError
from modgrok.base.files import HELD, write_text
from modgrok.base.locks import RUNNING, locked
from modgrok.censuses import runner
from modgrok.censuses.plan import plan_from
from modgrok.experiments import row_store, sweeps
from modgrok.training.checkpoints import Training
from modgrok.training.train import train


def remove(folder: Path) -> None:
    shutil.rmtree(folder)


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def replace(folder: Path) -> None:
    """As another process does that takes the place."""
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / RUNNING).write_text("{}")


GONE = pytest.mark.parametrize("gone", [remove, empty, replace])


@GONE
def test_a_run_whose_folder_vanishes_is_no_success(gone, tmp_path):
    def on_point(point) -> None:
        if point.row["step"] == 20:
            gone(tmp_path / "run")

    with pytest.raises(InputError, match=r"run has vanished: .* while it was being written, .*; start again"):
        train("n1 n2", 5, width=4, steps=40, metrics_every=10, out=tmp_path / "run", on_point=on_point)
    left = [path.name for path in (tmp_path / "run").glob("*")]
    assert left == ([RUNNING] if gone is replace else []), "what another process put there stays"
    assert not HELD


def test_the_command_says_so_with_its_code(tmp_path, monkeypatch, capsys):
    segment = Training.segment

    def removed(training, steps, **how):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        return segment(training, steps, **how)

    monkeypatch.setattr(Training, "segment", removed)
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", "n1 n2", "--mod", "5", "--width", "4", "--steps", "2", "--out", str(tmp_path / "run")])
    answer = capsys.readouterr()
    assert stop.value.code == 2 and answer.out == "" and "has vanished" in answer.err and answer.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@GONE
def test_sweeps_and_censuses_are_no_success_either(gone, tmp_path, monkeypatch):
    write_rows = row_store.write_rows

    def written(*arguments) -> None:
        gone(tmp_path / "sweep")
        write_rows(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(row_store, "write_rows", written)
        with pytest.raises(InputError, match="has vanished"):
            sweeps.sweep("n1 n2", 5, width=4, steps=2, out=tmp_path / "sweep")
    plan = plan_from(
        {"steps": 2, "tables": {"random": 2}, "settings": [{"moduli": [5], "widths": [4], "fractions": [0.5]}]}
    )
    with pytest.raises(InputError, match="has vanished"):
        runner.census(plan, tmp_path / "census", on_part=lambda _: gone(tmp_path / "census"))


def test_a_folder_that_nobody_holds_is_made_by_who_writes_to_it(tmp_path):
    with locked(tmp_path / "held"):
        write_text(tmp_path / "held" / "deeper" / "a.txt", "a")
        write_text(tmp_path / "other" / "a.txt", "a")
    assert (tmp_path / "held" / "deeper" / "a.txt").exists() and (tmp_path / "other" / "a.txt").exists()


def test_a_folder_that_was_made_for_nothing_is_removed_again(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "a"):
        raise ZeroDivisionError
    (tmp_path / "b").mkdir()
    with locked(tmp_path / "b"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
