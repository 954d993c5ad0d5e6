"""What a report reuses: results that are whole and of the same making, and pictures of the same data."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgrok.figures.style import Figure, drawing
from modgrok.reproduction import evidence as store
from modgrok.reproduction.evidence import png_files
from modgrok.reproduction.item import ItemResult, Verdict

MADE_BY = {"item": "x", "size": "quick", "version": "1", "device": "cpu", "code": "abc"}
RESULT = ItemResult(
    item="x",
    title="made up",
    settings={"seeds": 3},
    published={},
    measured={"error": 0.125},
    verdict=Verdict.FINDING,
    notes=("β",),
    columns={"a": "a"},
    rows=[{"a": 1}, {"a": None}],
    seconds=2.5,
)


@pytest.fixture
def stored(tmp_path) -> Path:
    path = tmp_path / "x.json"
    store.write_result(path, RESULT, MADE_BY)
    return path


def test_a_stored_result_comes_back_as_it_was(stored):
    assert store.read_result(stored, MADE_BY) == (RESULT, "")


def test_what_is_not_stored_is_said(tmp_path):
    assert store.read_result(tmp_path / "x.json", MADE_BY) == (None, "not stored yet")


@pytest.mark.parametrize("key", MADE_BY)
def test_a_result_of_another_making_is_not_taken(stored, key):
    assert store.read_result(stored, MADE_BY | {key: "other"}) == (None, f"of another {key}")


@pytest.mark.parametrize(
    "damage, reason",
    [
        (lambda text: text.replace("0.125", "0.126"), "damaged: its checksum is wrong"),
        (lambda text: text.replace("2.5", "3.5"), "damaged: its checksum is wrong"),
        (lambda text: text.replace('"quick"', '"full"'), "damaged: its checksum is wrong"),
        (lambda text: text[: len(text) // 2], "damaged: not a result"),
        (lambda text: "", "damaged: not a result"),
        (lambda text: "[1, 2]", "damaged: not a result"),
        (lambda text: "{}", "damaged: not a result"),
    ],
)
def test_damage_is_noticed(stored, damage, reason):
    stored.write_text(damage(stored.read_text()))
    assert store.read_result(stored, MADE_BY) == (None, reason)


def test_bytes_that_are_no_text_are_noticed(stored):
    stored.write_bytes(b"\xff\xfe\x00")
    assert store.read_result(stored, MADE_BY).reason == "damaged: not a result"


def test_the_code_that_computes_is_part_of_the_fingerprint(tmp_path, monkeypatch):
    """A change of how results are drawn, shown or asked for leaves them valid; any other change does not."""

    def code() -> str:
        store.source_hash.cache_clear()
        return store.fingerprint("x", "quick")["code"]

    monkeypatch.setattr(store, "PACKAGE", tmp_path)
    for name in ("paper", "training", *(part for part in store.NOT_COMPUTING if not part.endswith(".py"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "some.py").write_text("a = 1")
    before = code()
    for name in store.NOT_COMPUTING:
        path = tmp_path / name
        (path if name.endswith(".py") else path / "some.py").write_text("a = 2")
    assert code() == before
    for name in ("paper", "training"):
        (tmp_path / name / "some.py").write_text("a = 2")
        assert code() != before
        before = code()
    store.source_hash.cache_clear()


def test_libraries_data_and_studies_are_part_of_the_fingerprint(monkeypatch):
    before = store.fingerprint("strong", "full")
    assert {"data", "libraries", "study"} <= set(before) and "study" not in store.fingerprint("table1", "full")
    monkeypatch.setattr(store.importlib.metadata, "version", lambda name: "another")
    after = store.fingerprint("strong", "full")
    assert {name for name in before if before[name] != after[name]} == {"libraries"}


def test_pictures_are_drawn_when_they_must_be(tmp_path):
    drawings, png = [], tmp_path / "images" / "a.png"

    def drawn(x: int) -> int:
        """How many drawings there have been, once the picture of `x` is wanted."""

        def draw() -> dict[str, Figure]:
            drawings.append(x)
            with drawing(1, 1) as figure:
                figure.suptitle(str(x))
            return {"a": figure}

        assert png_files("record", draw, {"x": x}, png.parent) == {"a": png}
        assert png.read_bytes().startswith(b"\x89PNG") and png.with_suffix(".svg").exists()
        return len(drawings)

    assert [drawn(1), drawn(1), drawn(2), drawn(2)] == [1, 1, 2, 2]
    png.write_text("damaged")
    assert drawn(2) == 3
    png.unlink()
    assert drawn(2) == 4
    (png.parent / "record.json").write_text("{}")
    assert [drawn(2), drawn(2)] == [5, 5]
