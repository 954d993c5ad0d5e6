"""Many trainings: a part of one's own, whoever trains it; and files that say who wrote them."""

import json
from contextlib import closing
from dataclasses import dataclass

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import modgrok as mg
from modgrok.base import stores
from modgrok.base.errors import InputError
from modgrok.experiments.engine import train_parts
from modgrok.experiments.executors import LocalWorkers
from modgrok.experiments.part import Part, slice_of, train_part
from modgrok.experiments.row_store import RowStore
from modgrok.experiments.workers import ThisThread
from modgrok.networks.storage import load
from modgrok.training.config import TrainConfig, ensemble_of

CONFIGS = [TrainConfig("n1 n2", 5, width=4, steps=6, seed=seed) for seed in range(5)]


@dataclass(frozen=True)
class LossPart(Part):
    """What a study needs of its own: what its networks are, and what is kept of them."""

    def ensemble(self):
        return ensemble_of([CONFIGS[number] for number in self.networks])

    def rows(self, metrics):
        return pa.table({"network": self.networks, "loss": metrics.train_loss[:, -1]})


class LossStore(RowStore):
    schema = pa.schema([("network", pa.int64()), ("loss", pa.float32()), ("later", pa.float64())])
    filled, whole, again = ("network", "loss"), "losses.parquet", "train again"

    def check(self, path, rows):
        pass


SHAPE = ensemble_of(CONFIGS).shape
PARTS = [LossPart(number, SHAPE, 2, (3, 6), nets) for number, nets in enumerate([(0, 1), (2, 3), (4,)])]


def losses(store, workers, parts=PARTS):
    todo, reports = store.unfinished(parts), []
    with closing(workers):
        found = train_parts(parts, todo, store, workers, on_part=reports.append)
    assert found.finished and found.networks == sum(report.networks for report in reports)
    return store.rows()


def test_a_part_of_ones_own_is_trained_by_anybody_and_kept_anywhere(tmp_path):
    here = losses(LossStore(None, 5), ThisThread(train_part))
    there = losses(LossStore(tmp_path, 5), LocalWorkers(PARTS))
    assert here["network"].to_pylist() == list(range(5)) and here["loss"].to_pylist() == there["loss"].to_pylist()
    alone = [mg.train("n1 n2", 5, width=4, steps=6, seed=seed).final["train_loss"] for seed in range(5)]
    assert here["loss"].to_pylist() == pytest.approx(alone, rel=1e-4)


def test_what_is_there_is_not_trained_again_and_slices_make_up_the_whole(tmp_path):
    for text in ("2/2", "1/2"):
        losses(LossStore(tmp_path, 5), ThisThread(train_part), slice_of(PARTS, text))
    store = LossStore(tmp_path, 5)
    assert not store.unfinished(PARTS) and store.finished() == set(range(5))
    store.gather()
    for path in tmp_path.glob("part-*"):
        path.unlink()
    assert not store.unfinished(PARTS) and store.rows()["later"].null_count == 5
    assert not LossStore(tmp_path, 5).unfinished(PARTS) and len(LossStore(tmp_path, 4).unfinished(PARTS)) == 3
    assert (tmp_path / "losses.parquet.damaged").exists(), "it has more networks than a plan of four"


def test_a_part_is_filled_up_with_copies_that_are_not_kept():
    trained = train_part(PARTS[2])
    assert trained.rows.num_rows == 1 and trained.params is None and len(trained.stretches) == 2
    kept = train_part(LossPart(2, SHAPE, 2, (3, 6), (4,), keep_weights=True)).params
    assert {len(np.asarray(leaf)) for leaf in jax.tree.leaves(kept)} == {1}


# ------------------------------------------------------------------------------------------ who wrote it


def test_files_say_who_wrote_them(tmp_path):
    run, sweep = tmp_path / "run", tmp_path / "sweep"
    mg.train("n1 n2", 5, width=4, steps=2, out=run)
    mg.sweep("n1 n2", 5, width=4, steps=2, out=sweep)
    said = {"modgrok": mg.__version__, "format": stores.FORMAT}
    for path in (run / "config.json", sweep / "sweep.json"):
        assert json.loads(path.read_text())["written_by"] == said
    assert json.loads(pq.read_schema(sweep / "sweep.parquet").metadata[b"written_by"]) == said
    with stores.open_tensors(run / "checkpoint.safetensors", "a checkpoint") as file:
        assert file.about["columns"][0] == "step" and "written_by" not in file.about, "who reads has checked it"
    raw = (run / "checkpoint.safetensors").read_bytes()
    assert b"written_by" in raw[: 8 + int.from_bytes(raw[:8], "little")]


def test_files_of_a_later_format_are_refused_and_left_where_they_are(tmp_path, monkeypatch):
    run, sweep = tmp_path / "run", tmp_path / "sweep"
    settings = {"mod": 5, "width": 4, "steps": 2}
    with monkeypatch.context() as later:
        later.setattr(stores, "FORMAT", stores.FORMAT + 1)
        later.setattr(stores, "__version__", "9.0")
        mg.train("n1 n2", **settings, out=run)
        mg.sweep("n1 n2", **settings, out=sweep)
    said = f"was written by modgrok 9.0, in format {stores.FORMAT + 1}, and modgrok {mg.__version__} reads up to"
    for read in (
        lambda: mg.load_run(run),
        lambda: mg.resume(run, steps=4),
        lambda: mg.sweep("n1 n2", **settings, out=sweep),
        lambda: load(run / "weights.safetensors"),
        lambda: stores.read_rows(sweep / "sweep.parquet", pa.schema([]), "train again"),
    ):
        with pytest.raises(InputError, match=said):
            read()
    assert not list(tmp_path.rglob("*.damaged*"))
