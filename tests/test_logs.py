"""Metrics for TensorBoard and wandb: what is written, and what is said where a package is missing."""

import sys
from types import SimpleNamespace

import pytest

from modgrok.base.errors import InputError
from modgrok.base.results import Columns
from modgrok.training.steps import Metrics
from modgrok.training.train import train

SMALL = {"mod": 5, "width": 8, "steps": 30}


class Recorder:
    """Stands for a package that need not be installed here: it keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[object, ...]] = []

    def __getattr__(self, name):
        def tell(*args, **kwargs):
            self.said.append((name, args, kwargs))
            return self

        return tell


def test_tensorboard_gets_every_metric_of_every_step(tmp_path, monkeypatch):
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "tensorboardX", recorder)
    run = train("n1 + n2", **SMALL, out=tmp_path / "run", log="tensorboard")
    (name, (folder,), _), *scalars, (last, _, _) = recorder.said
    assert (name, folder, last) == ("SummaryWriter", str(tmp_path / "run" / "tensorboard"), "close")
    values = {(tag, step): value for _, (tag, value, step), _ in scalars}
    assert {step for _, step in values} == {10, 20, 30} and len(values) == 3 * len(Metrics._fields)
    assert values["test_loss", 30] == pytest.approx(run.final["test_loss"])


def test_wandb_is_offline_unless_it_is_told_otherwise(tmp_path, monkeypatch):
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "wandb", recorder)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    train("n1 + n2", **SMALL, out=tmp_path / "run", log="wandb")
    (name, _, about), *logs, (last, _, _) = recorder.said
    assert (name, last, about["mode"], about["config"]["width"]) == ("init", "finish", "offline", 8)
    assert [kwargs["step"] for _, _, kwargs in logs] == [10, 20, 30]


def test_a_training_without_test_rows_logs_none(tmp_path, monkeypatch):
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "tensorboardX", recorder)
    train("n1 + n2", **SMALL, fraction=1.0, out=tmp_path / "run", log="tensorboard")
    tags = {args[0] for name, args, _ in recorder.said if name == "add_scalar"}
    assert "train_loss" in tags and "test_loss" not in tags


def test_what_is_missing_is_said_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    for log, out, text in (
        (
            "wandb",
            tmp_path / "run",
            r"logging to wandb needs the package wandb; .*: pip install 'modgrok\[wandb\]'",
        ),
        ("mlflow", tmp_path / "run", "log must be tensorboard or wandb, got 'mlflow'"),
        ("wandb", None, "a log lies in the folder of its run; give one: out="),
    ):
        with pytest.raises(InputError, match=text):
            train("n1 + n2", **SMALL, out=out, log=log)
    assert list(tmp_path.iterdir()) == []


def test_metrics_are_columns_with_pandas_and_without(monkeypatch):
    run = train("n1 + n2", **SMALL)
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: ("frame", columns)))
    assert type(run.metrics) is Columns and run.metrics.to_pandas() == ("frame", run.curves)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert type(run.metrics) is Columns and list(run.metrics["step"]) == list(run.curves["step"])
    with pytest.raises(InputError, match=r"pip install 'modgrok\[pandas\]'"):
        run.metrics.to_pandas()
    shown = run.metrics._repr_html_()
    assert "train_loss" in shown and f"{run.metrics.rows} rows" in shown
