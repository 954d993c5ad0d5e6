"""Where numbers come from: who writes it, what it says, and that every file of results says it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import pyarrow.parquet as pq
import pytest

import modgrok as mg
from modgrok import cli
from modgrok.base import provenance as told_by
from modgrok.base.provenance import KEY, UNKNOWN, called_as, merged, provenance, read_made, told
from modgrok.base.stores import made_of
from modgrok.censuses.plan import plan_from
from modgrok.experiments.row_store import networks_in, ranges
from modgrok.reproduction.records import read_recorded
from modgrok.reproduction.registry import ALL
from studies.resuming import read_parts

ROOT = Path(__file__).parent.parent
RESULTS = sorted((ROOT / "benchmarks" / "results").iterdir())
REPORTS = sorted((ROOT / "benchmarks" / "census").glob("*/report/report.json"))
RECORDED = sorted((ROOT / "src" / "modgrok" / "reproduction" / "recorded").iterdir())


@pytest.mark.parametrize(
    "path", [*RESULTS, *RECORDED, *REPORTS], ids=lambda path: f"{path.parts[-3]}-{path.parent.name}-{path.name}"
)
def test_every_stored_result_says_where_it_comes_from_or_that_nobody_knows(path):
    """And what says more than that says all of it."""
    if path.suffix == ".parquet":
        metadata = pq.read_schema(path).metadata
        assert KEY.encode() in metadata
        stored = [json.loads(metadata[KEY.encode()])]
    else:
        content = json.loads(path.read_text(encoding="utf-8"))
        parts = read_parts(path) if isinstance(content, list) else [content.get("result", content)]
        stored = [part[KEY] for part in parts]
    for made in stored:
        assert made and read_made(made)
        for each in (each for each in read_made(made) if each.is_known):
            assert {"jax", "jaxlib", "optax", "numpy"} <= each.libraries.keys()
            assert each.command and each.device and each.date


def test_a_recorded_result_has_the_provenance_of_what_was_computed():
    """`record` copies."""
    for item in (item for item in ALL if item.recorded_by):
        found, source = read_recorded(item.name), ROOT / "benchmarks" / "results" / f"{item.name}.json"
        assert found is not None
        if source.exists() and item.name not in ("mathematics", "endtoend"):
            assert found.result.provenance == read_made(json.loads(source.read_text())[KEY])


def test_what_computes_says_version_commit_libraries_device_date_and_time():
    began = time.perf_counter()
    with called_as(["modgrok", "paper", "a b"]):
        made = provenance(began, {"size": "quick"}, "modgrok.reproduction.classes")
    head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    assert made.commit == (head.stdout.strip() or None) and made.version == mg.__version__
    assert (made.command, made.settings) == ("modgrok paper 'a b'", {"size": "quick"})
    assert made.libraries["jax"] == jax.__version__ and made.device == jax.devices()[0].device_kind
    assert made.date is not None and made.date[:2] == "20" and 0 <= made.seconds < 100
    assert read_made(json.loads(json.dumps([made.__dict__ | {"code_of": list(made.code_of)}]))) == (made,)
    assert (
        replace(made, commit="0123456789", changed=True)
        .code()
        .startswith(f"modgrok {mg.__version__} (0123456, changed)")
    )


def test_the_commit_is_that_of_modgrok_and_of_no_repository_around_it(monkeypatch, tmp_path):
    """An installed package may lie in somebody's own repository."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for place in ("lib/modgrok", "project/src/modgrok"):
        (tmp_path / place).mkdir(parents=True)
        told_by.commit_here.cache_clear()
        monkeypatch.setattr(told_by, "PACKAGE", tmp_path / place)
        assert told_by.commit_here() == (None, None)
    told_by.commit_here.cache_clear()


def test_the_commit_is_that_of_modgrok_where_a_hook_names_another_repository(monkeypatch, tmp_path):
    """git tells hooks by its variables which repository they belong to."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    here = told_by.commit_here()
    told_by.commit_here.cache_clear()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert told_by.commit_here() == here
    told_by.commit_here.cache_clear()


def test_the_command_is_what_was_called(monkeypatch):
    for words, command in (
        (["/usr/bin/modgrok", "train", "n1 n2"], "modgrok train 'n1 n2'"),
        ([str(ROOT / "benchmarks" / "proofs.py"), "--repeat", "2"], "python benchmarks/proofs.py --repeat 2"),
        (["/home/somebody/secret/mine.py"], "python mine.py"),
        ([""], "a Python session"),
    ):
        monkeypatch.setattr(sys, "argv", words)
        assert told_by.called() == command
    with called_as(["modgrok", "paper", "all", "--out=/home/somebody/secret/mine", "/home/somebody/secret/mine"]):
        assert told_by.called() == "modgrok paper all --out=mine mine"


def test_sittings_that_differ_in_date_and_time_alone_are_one():
    one = replace(UNKNOWN, version="1", date="2026-01-01", seconds=2.0)
    assert merged((one,), (replace(one, date="2026-01-02", seconds=3.5),)) == (
        replace(one, date="2026-01-02", seconds=5.5),
    )
    assert len(merged((one,), (replace(one, version="2"),))) == 2 and merged() == (UNKNOWN,)
    assert told((one, UNKNOWN)).endswith("; and version unknown")


# ------------------------------------------------------------------------------------------ rows


def test_numbers_are_written_as_ranges_and_nothing_is_made_of_what_an_enemy_writes():
    assert networks_in(ranges([5, 1, 2, 3]), 6) == {1, 2, 3, 5} and ranges([]) == ""
    for text in ("0-99999999999999", "3-x", "-1", "1-2-3", 7, None, "9"):
        assert networks_in(text, 9) == set()


def test_sweeps_and_censuses_say_where_their_rows_come_from(tmp_path):
    small = {"width": 4, "steps": 2, "seeds": 2}
    found = mg.sweep("n1 n2", 5, **small, out=tmp_path / "sweep")
    (made,) = found.provenance
    assert (made.version, made.settings) == (mg.__version__, {"networks": "0-1"})
    assert made_of(pq.read_table(tmp_path / "sweep" / "sweep.parquet")) == (made,)
    assert mg.sweep("n1 n2", 5, **small).provenance[0].settings == {"networks": "0-1"}, "in memory too"
    assert mg.sweep("n1 n2", 5, **small, out=tmp_path / "sweep").provenance == (made,), "it is not made again"
    settings = {"moduli": [5], "widths": [4], "fractions": [0.5]}
    plan = plan_from({"steps": 2, "tables": {"random": 3}, "settings": [settings]})
    assert [each.settings for each in mg.census(plan, tmp_path / "census").provenance] == [{"networks": "0-2"}]


def test_a_census_that_another_version_began_tells_of_both(tmp_path):
    settings = {"moduli": [5, 7], "widths": [4], "fractions": [0.5]}
    plan = plan_from({"steps": 2, "tables": {"random": 2}, "settings": [settings]})
    mg.census(plan, tmp_path, annotate=False)
    (tmp_path / "census.parquet").unlink()
    first, *_ = sorted(tmp_path.glob("part-*.parquet"))
    rows = pq.read_table(first)
    pq.write_table(rows.replace_schema_metadata(None), first)
    networks = sorted(set(rows["network"].to_pylist()))
    sorted(tmp_path.glob("part-*.parquet"))[-1].unlink()
    for _ in range(2):
        made = mg.census(plan, tmp_path).provenance
        assert [each.version for each in made] == ["unknown", mg.__version__]
        assert networks_in(made[1].settings["networks"], plan.size()) == set(range(plan.size())) - set(networks)


def test_a_run_says_where_each_of_its_sittings_comes_from(tmp_path, capsys):
    words = ["train", "n1 n2", "--mod", "5", "--width", "4", "--out", str(tmp_path / "run")]
    assert cli.main([*words, "--steps", "2", "--json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)[KEY]
    assert made["command"].startswith("modgrok train 'n1 n2' --mod 5") and made["commit"] == provenance(0, {}).commit
    assert cli.main([*words, "--steps", "4", "--json"]) == 0
    both = json.loads(capsys.readouterr().out)[KEY]
    assert len(both) == 2 and both[0] == made
    assert [each.command for each in mg.load_run(tmp_path / "run").provenance] == [each["command"] for each in both]
    stored = tmp_path / "run" / "result.json"
    stored.write_text(stored.read_text().replace(f'"{made["version"]}"', "7"))
    with pytest.raises(mg.InputError, match=r"result.json: version of a provenance is of another type"):
        mg.load_run(tmp_path / "run")


def test_results_of_another_machine_are_taken_over_with_the_commit_of_their_code(tmp_path, monkeypatch):
    """Only where the code is that of this clone, and nothing else of it is touched."""
    spec = importlib.util.spec_from_file_location("adopt", ROOT / "benchmarks" / "adopt.py")
    adopt = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adopt)
    here = replace(provenance(time.perf_counter(), {}, "modgrok.reproduction.classes"), commit=None, changed=None)
    script = replace(provenance(time.perf_counter(), {}, ROOT / "benchmarks" / "proofs.py"), commit=None, changed=None)
    monkeypatch.setattr(adopt, "commit_here", lambda: ("abc", False))
    assert [adopt.with_commit(each).commit for each in (here, script)] == ["abc", "abc"]
    assert adopt.with_commit(replace(here, code_digest="other")).commit is None
    assert adopt.with_commit(replace(here, code_of=("benchmarks/none.py",))).commit is None
    monkeypatch.setattr(adopt, "commit_here", lambda: ("abc", True))
    assert adopt.with_commit(here).commit is None and adopt.with_commit(UNKNOWN) == UNKNOWN
    (tmp_path / "x.json").write_text(json.dumps({"a": 1, "files": ["/there"]}))
    monkeypatch.setattr(sys, "argv", ["adopt.py", str(tmp_path / "x.json"), "--out", str(tmp_path / "out")])
    adopt.main()
    taken = json.loads((tmp_path / "out" / "x.json").read_text())
    assert taken["a"] == 1 and "files" not in taken and taken[KEY][0]["version"] == "unknown"
