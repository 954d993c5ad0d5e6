"""A census: rows, resuming after kill -9, limits, and the store."""

import dataclasses
import os
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import jax
import numpy as np
import pyarrow.parquet as pq
import pytest

from modgrok.base.errors import InputError
from modgrok.censuses import parts, runner, store
from modgrok.censuses.annotation import annotate
from modgrok.censuses.families import make_table
from modgrok.censuses.plan import plan_from
from modgrok.censuses.querying import query
from modgrok.experiments.workers import in_window
from modgrok.networks.models import Power
from modgrok.separable import redundancy
from modgrok.training.config import hyper
from modgrok.training.ensemble import train_ensemble
from modgrok.training.steps import Shape

PLAN = plan_from(
    {
        "steps": [5, 400],
        "tables": {"two-monomials": 6, "random": 5, "{a}x + {b}y": 1},
        "settings": [{"moduli": [11], "widths": [30], "fractions": [0.5]}],
    }
)
SCRIPT = """
import sys
from pathlib import Path
from modgrok.censuses import parts, runner, store
parts.LEAST_PARTS = 6
reports = []
def on_part(report):
    reports.append(report)
    if len(reports) == int(sys.argv[2]):
        print("so many", flush=True)
        sys.stdin.read()  # until it is killed, in the middle of the next part
runner.train_missing(store.load_stored_plan(Path(sys.argv[1])), Path(sys.argv[1]), on_part=on_part)
"""


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("census") / "unbroken"
    with pytest.MonkeyPatch.context() as patch, jax.numpy_rank_promotion("raise"):
        patch.setattr(parts, "LEAST_PARTS", 6)
        assert runner.train_missing(PLAN, folder).finished
    return folder


def start(folder, parts):
    """Begin the census, or go on; after so many parts it waits until it is killed."""
    command, pipe = [sys.executable, "-c", SCRIPT, str(folder), str(parts)], subprocess.PIPE
    return subprocess.Popen(command, env=os.environ | {"PYTHONHASHSEED": "0"}, stdin=pipe, stdout=pipe, text=True)


def test_killed_twice_and_resumed_it_has_the_rows_of_an_unbroken_one(unbroken, tmp_path):
    folder = tmp_path / "killed"
    store.claim(PLAN, folder)
    for parts_before in (0, 1):
        assert len(list(folder.glob("part-*"))) == parts_before
        with start(folder, 1) as process:
            assert process.stdout.readline() == "so many\n"
            process.kill()
    assert len(list(folder.glob("part-*"))) == 2
    with start(folder, 100) as process:
        process.communicate()
    assert process.returncode == 0
    written = [row for path in folder.glob("part-*") for row in pq.read_table(path)["network"].to_pylist()]
    assert sorted(written) == sorted([*range(12)] * 2)
    assert store.read_rows(folder) == store.read_rows(unbroken), "to the last bit"


def test_a_row_is_the_network_that_it_says(unbroken):
    row = store.read_rows(unbroken).filter(np.asarray(store.read_rows(unbroken)["network"]) == 7).to_pylist()[1]
    assert (row["family"], row["table_seed"], row["steps"], row["expression"]) == ("random", 1, 400, None)
    table = make_table("random", 11, 1).values
    settings = hyper(seed=np.array([row["seed"]] * 2), train_rows=60)
    metrics, _ = train_ensemble(
        Shape(Power((11, 11), 11, width=30), 60), settings, np.stack([table.ravel()] * 2), steps=400
    )
    assert row["train_loss"] == pytest.approx(metrics.train_loss[0, 0], rel=1e-3)
    assert row["test_accuracy"] == pytest.approx(metrics.test_accuracy[0, 0])


def test_a_finished_census_is_left_alone_and_a_folder_belongs_to_one_plan(unbroken, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in unbroken.iterdir()}
    reports = []
    found = runner.train_missing(PLAN, unbroken, on_part=reports.append)
    assert found.finished and found.networks == 0 and found.device_share is None and not reports
    assert before == {path: path.stat().st_mtime_ns for path in unbroken.iterdir()}
    other = dataclasses.replace(PLAN, steps=(5,))
    with pytest.raises(InputError, match="holds another plan's census"):
        store.claim(other, unbroken)
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match=r"is not empty and has no plan\.json"):
        store.claim(PLAN, tmp_path)


def test_the_verb_takes_a_file_trains_annotates_and_goes_on(tmp_path):
    plan, folder, parts, done = tmp_path / "plan.toml", tmp_path / "census", [], []
    plan.write_text("steps = 2\n[tables]\nrandom = 3\n[[settings]]\nmoduli = [5]\nwidths = [4]\nfractions = [0.5]\n")
    first = runner.census(plan, folder, annotate=False, on_part=parts.append, progress=lambda *now: done.append(now))
    assert (first.networks, first.planned, first.finished, first.networks_trained) == (3, 3, True, 3)
    assert first.networks_per_second > 0 and 0 < first.device_share <= 1
    assert "verdict" not in store.read_rows(folder).column_names
    assert first.files == (folder / "census.parquet",) and first.files[0].exists()
    assert len(parts) == 3 and done == [(1, 3), (2, 3), (3, 3)]
    again = runner.census(str(plan), str(folder), on_part=parts.append)
    assert len(parts) == 3 and again.finished and len(store.read_annotated(folder)) == 3
    assert again.files[0] == folder / "census.parquet" and isinstance(again.to_json()["seconds"], float)
    assert repr(again) == f"<CensusRun: 3 of 3 networks are in {folder}>"
    with pytest.raises(InputError, match="above 0 seconds"):
        runner.census(plan, folder, time_limit=0)


def test_sums_of_whole_numbers_are_whole_numbers(unbroken):
    (row,) = query(unbroken, "SELECT sum(steps) AS steps, [1, 2] AS list, date '2026-01-02' AS day FROM census").rows
    assert row == {"steps": 12 * 405, "list": [1, 2], "day": "2026-01-02"}


def test_a_time_limit_stops_after_a_part_and_reports_what_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "LEAST_PARTS", 6)
    reports = []
    found = runner.train_missing(PLAN, tmp_path / "limited", time_limit=0.01, on_part=reports.append)
    assert not found.finished and found.networks == 2 * len(reports) < 12
    assert (reports[0].networks_done, reports[0].networks_total, reports[0].networks) == (2, 12, 2)
    assert reports[0].seconds_left == pytest.approx(5 * reports[0].elapsed)
    assert reports[0].networks_per_second == pytest.approx(2 / reports[0].elapsed)
    assert store.stored(tmp_path / "limited").finished() == set(range(found.networks))


def test_slices_make_up_the_census(unbroken, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "LEAST_PARTS", 6)
    for part in ("2/2", "1/2"):
        assert runner.train_missing(PLAN, tmp_path / "sliced", part=part).networks == 6
    assert store.read_rows(tmp_path / "sliced") == store.read_rows(unbroken).select(store.ROWS.names)


def test_what_another_process_finished_meanwhile_is_left_alone(unbroken, tmp_path, monkeypatch):
    """Two processes on one folder: the other one is as fast as this one, and does the parts from the end."""
    monkeypatch.setattr(parts, "LEAST_PARTS", 6)
    folder, others = tmp_path / "two", sorted(unbroken.glob("part-*"))

    def copy(_):
        path = others.pop()
        if not (folder / path.name).exists():
            (folder / path.name).write_bytes(path.read_bytes())

    found = runner.train_missing(PLAN, folder, on_part=copy)
    assert found.finished and found.networks < 12
    assert store.read_rows(folder) == store.read_rows(unbroken).select(store.ROWS.names)


def test_an_interruption_lets_what_is_in_training_end_and_begins_nothing_new(tmp_path):
    """The pool of this test interrupts the process when the third part is submitted, and trains nothing."""

    class Pool:
        window = 3
        devices = 1
        submitted = 0

        def submit(self, part):
            self.submitted += 1
            if self.submitted == 3:
                raise KeyboardInterrupt
            future = Future()
            if self.submitted == 1:
                future.set_running_or_notify_cancel()
                future.set_result(part)
            return future

        def close(self):
            raise AssertionError("the caller's business")

    pool, ended = Pool(), []

    def collect():
        for part, _ in in_window(pool, iter("abcdef")):
            ended.append(part)

    with pytest.raises(KeyboardInterrupt):
        collect()
    assert ended == ["a"] and pool.submitted == 3


def test_annotations_stand_in_every_row_and_once(unbroken):
    found, rows = annotate(unbroken), store.read_annotated(unbroken)
    assert (found.rows_total, found.rows_annotated) == (24, 24) == (len(rows), len(store.read_rows(unbroken)))
    assert found.files == (unbroken / "census.parquet",) and found.files[0].exists()
    assert annotate(unbroken).rows_annotated == 0
    by_family = dict(zip(rows["family"].to_pylist(), rows["verdict"].to_pylist(), strict=True))
    assert by_family["{a}x + {b}y"] == "in-class" and by_family["random"] == "not-in-class"
    row = rows.to_pylist()[0]
    assert row["redundancy"] == redundancy(make_table("two-monomials", 11, 0).values, 0.5)
    assert query(unbroken, "SELECT count(*) AS n FROM census WHERE verdict IS NOT NULL").rows == ({"n": 24},)


def test_queries_see_the_census_and_nothing_else(unbroken):
    counts = "SELECT family, count(*) AS n FROM census WHERE steps = 5 GROUP BY family ORDER BY n"
    found = query(unbroken, counts)
    assert found.rows == (
        {"family": "{a}x + {b}y", "n": 1}, {"family": "random", "n": 5}, {"family": "two-monomials", "n": 6}
    )  # fmt: skip
    assert found.column_names == ("family", "n") and repr(found) == "<QueryResult: 3 rows of family, n>"
    with pytest.raises(InputError, match="the table is census, with network, family"):
        query(unbroken, "SELECT nothing FROM census")
    with pytest.raises(InputError, match="cannot be answered"):
        query(unbroken, f"SELECT * FROM read_csv('{Path(__file__)}')")
    with pytest.raises(InputError, match="is not a census"):
        store.read_rows(unbroken.parent)
