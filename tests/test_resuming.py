"""Finished parts of a study: found by their settings, and counted only under what they were made by."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import modgrok
from modgrok.base.files import read_json, write_json
from modgrok.base.provenance import UNKNOWN
from modgrok.experiments.row_store import write_rows
from modgrok.reproduction import table2
from modgrok.reproduction.evidence import made_here
from modgrok.reproduction.item import Effort
from studies import endtoend
from studies.resuming import Parts

MADE_BY = {"code": "a", "libraries": "jax 1"}


DEEP, DEEPER = ('[{"settings": 1, "result": ' + "[" * depth + "]" * depth + "}]" for depth in (1_500, 100_000))


@pytest.mark.parametrize("text", ["", "[{", '{"a": 1}', "[1, 2]", '[{"settings": 1}]', DEEP, DEEPER])
def test_damaged_parts_count_as_none_and_the_file_is_named(tmp_path, text, caplog):
    caplog.set_level("WARNING", logger="modgrok")
    file = tmp_path / "parts.json"
    file.write_text(text)
    parts = Parts(file, MADE_BY)
    assert str(file) in caplog.text and "parts.json.damaged" in caplog.text
    assert parts.get({"a": 1}) is None
    parts.add({"a": 1}, {"b": 2})
    assert Parts(file, MADE_BY).get({"a": 1}) == {"b": 2} and (tmp_path / "parts.json.damaged").read_text() == text


def test_parts_are_found_by_their_settings_and_counted_under_their_making(tmp_path):
    path, said = tmp_path / "parts.json", []
    write_json(path, [{"settings": {"seed": 0}, "result": 5}, {"settings": {"seed": 1}, "result": 7}])
    known = Parts(path, MADE_BY, said.append)
    assert known.get({"seed": 1}) is None
    assert said == [f"{path}: 2 parts left aside (nobody knows what made it)"]
    known.add({"seed": 1}, 8)
    again = Parts(path, MADE_BY)
    assert again.get({"seed": 1}) == 8 and len(again.made()) == 1 and again.get({"seed": 0}) is None
    said.clear()
    assert Parts(path, MADE_BY | {"libraries": "jax 2"}, said.append).get({"seed": 1}) is None
    assert f"{path}: 1 part left aside (of another libraries)" in said
    assert len(read_json(path)) == 3, "they stay in the file"
    memory = Parts(None, MADE_BY)
    memory.add({"seed": 3}, 9)
    assert memory.get({"seed": 3}) == 9


def test_parts_are_read_whatever_made_them_where_nothing_is_asked(tmp_path):
    path = tmp_path / "parts.json"
    write_json(path, [{"settings": {"seed": 0}, "result": 5}])
    assert Parts(path).get({"seed": 0}) == 5 and [each.text() for each in Parts(path).made()] == ["version unknown"]
    Parts(path, MADE_BY).add({"seed": 1}, 7)
    assert len(Parts(path).parts) == 2 and len(Parts(path).made()) == 2
    assert Parts(path, MADE_BY).made()[0].version == modgrok.__version__


def test_a_part_that_was_changed_by_hand_is_left_aside(tmp_path):
    path, said = tmp_path / "parts.json", []
    Parts(path, MADE_BY).add({"seed": 1}, 0.25)
    path.write_text(path.read_text().replace("0.25", "0.99"))
    assert Parts(path, MADE_BY, said.append).get({"seed": 1}) is None
    assert said == [f"{path}: 1 part left aside (damaged: its checksum is wrong)"]


def test_invented_parts_of_a_study_are_refused(tmp_path, monkeypatch):
    """Six results under the right settings, which nobody computed: none is taken, and all are named."""
    studies = endtoend.studies(Effort("standard"))[:6]
    assert len(studies) == 6
    invented = [{"settings": study.key(), "result": [{"test_accuracy": [1.0]}]} for study in studies]
    write_json(tmp_path / "endtoend-parts.json", invented)
    asked, said = [], []
    monkeypatch.setattr(endtoend, "studies", lambda effort: studies)
    monkeypatch.setattr(endtoend, "run_study", lambda study, share: asked.append(study) or [])
    monkeypatch.setattr(
        endtoend, "report", lambda finished, controls: pytest.fail("stop") if asked != studies else None
    )
    monkeypatch.setattr(endtoend, "replace", lambda result, **changes: result)
    endtoend.compute(Effort("standard", folder=tmp_path, say=said.append))
    assert asked == studies
    assert said == [f"{tmp_path / 'endtoend-parts.json'}: 6 parts left aside (nobody knows what made it)"]
    asked.clear()
    monkeypatch.setattr(endtoend, "report", lambda finished, controls: len(finished))
    assert endtoend.compute(Effort("standard", folder=tmp_path)) == 6 and asked == [], "what was computed counts"


def test_invented_rows_of_table_2_are_refused(tmp_path, monkeypatch, caplog):
    """The same rows count where they were computed, and not where somebody put them, or another jax made them."""
    caplog.set_level("WARNING", logger="modgrok")
    monkeypatch.setattr(table2, "WIDTH", 4)
    monkeypatch.setattr(table2, "QUICK_STEPS", 2)
    monkeypatch.setattr(table2, "estimate", lambda group: "soon")
    monkeypatch.setattr(table2, "report", lambda runs, settings, made: runs)
    computed = table2.compute(Effort("quick", folder=tmp_path))
    (folder,) = tmp_path.glob("table2-*")
    parts = sorted(folder.glob("part-*.parquet")) + sorted(folder.glob("sweep.parquet"))
    said = made_here("modgrok.reproduction.table2")
    for path in parts:
        rows = pq.read_table(path)
        assert rows.schema.metadata[b"provenance"] and len(rows) == 6
        invented = rows.set_column(
            rows.schema.get_field_index("test_accuracy"), "test_accuracy", rows["train_accuracy"]
        )
        for made_by in (None, said | {"libraries": "jax 9.9"}):
            write_rows(path, invented, (UNKNOWN,), made_by)
            caplog.clear()
            again = table2.compute(Effort("quick", folder=tmp_path))
            assert again == computed
            assert str(path) in caplog.text and "was made by another" in caplog.text
        for table in (invented, rows.slice(1)):
            pq.write_table(table.replace_schema_metadata(rows.schema.metadata), path)  # the fingerprint is copied
            caplog.clear()
            assert table2.compute(Effort("quick", folder=tmp_path)) == computed
            assert f"{path} has other rows than were computed" in caplog.text
