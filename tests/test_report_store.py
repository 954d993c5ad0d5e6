"""What a report reuses: results that are whole and of the same making, and pictures of the same data."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from modgrok.base import dependencies
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.provenance import UNKNOWN, provenance
from modgrok.base.repository import STUDIES
from modgrok.figures.style import Figure, drawing
from modgrok.reproduction import evidence as store
from modgrok.reproduction.evidence import png_files
from modgrok.reproduction.item import ItemResult, Verdict

MADE = provenance(time.perf_counter(), {"size": "quick"}, "modgrok.reproduction.classes")
MADE_BY = {"item": "x", "size": "quick"} | store.made_here("modgrok.reproduction.classes")
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
    provenance=(MADE,),
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
        (lambda text: text.replace(MADE.libraries["jax"], "9.9"), "damaged: its checksum is wrong"),
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


def test_a_number_in_place_of_null_is_noticed(stored):
    """NaN and infinity are stored as null, so a checksum of what is stored alone would let them through."""
    whole = stored.read_text()
    assert '"a": null' in whole
    for wrong in ("NaN", "Infinity", "-1e999", "0"):
        stored.write_text(whole.replace('"a": null', f'"a": {wrong}'))
        assert store.read_result(stored, MADE_BY) == (None, store.WRONG)
        with pytest.raises(InputError, match="its checksum is wrong"):
            store.stored_result(stored)


def test_nesting_beyond_all_bounds_and_a_missing_checksum_are_noticed(stored):
    record = read_json(stored)
    for depth in (1_500, 100_000):  # beyond what Python code can walk, and beyond what its JSON reader can
        stored.write_text(json.dumps(record)[:-1] + f', "x": {"[" * depth}{"]" * depth}}}')
        assert store.read_result(stored, MADE_BY) == (None, "damaged: not a result")
    del record["checksum"]
    write_json(stored, record)
    assert store.read_result(stored, MADE_BY) == (None, "damaged: not a result")
    with pytest.raises(InputError, match="its checksum is wrong"):
        store.stored_result(stored)


def test_bytes_that_are_no_text_are_noticed(stored):
    stored.write_bytes(b"\xff\xfe\x00")
    assert store.read_result(stored, MADE_BY).reason == "damaged: not a result"


def test_the_code_that_computes_is_part_of_the_fingerprint(tmp_path, monkeypatch):
    """A change of how results are drawn, shown or asked for leaves them valid, and so does one of what is not used."""

    def code() -> str:
        dependencies.code_digest.cache_clear()
        dependencies.imported_by.cache_clear()
        return dependencies.code_digest("modgrok.reproduction.item")

    monkeypatch.setattr(dependencies, "PACKAGE", tmp_path)
    rooms = ("reproduction", "training", "networks", "algebra", *dependencies.NOT_COMPUTING)
    for name in rooms:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "some.py").write_text("a = 1")
    (tmp_path / "__init__.py").write_text("from modgrok.algebra.some import a")
    (tmp_path / "reproduction" / "item.py").write_text(
        "from modgrok import __version__\nfrom modgrok.training import (\n    some,  # (a comment\n)\n"
        "def f():\n    import modgrok.networks.some\n    from modgrok.figures.some import a\n"
    )
    before = code()
    for name in (*dependencies.NOT_COMPUTING, "algebra", "reproduction"):
        (tmp_path / name / "some.py").write_text("a = 2")
    assert code() == before
    for path in ("training/some.py", "networks/some.py", "reproduction/item.py", "__init__.py"):
        with (tmp_path / path).open("a") as file:
            file.write("\nb = 1\n")
        assert code() != before, path
        before = code()
    dependencies.code_digest.cache_clear()
    dependencies.imported_by.cache_clear()


IMPORTS = """
import sys
from modgrok.reproduction.item import Effort
from modgrok.reproduction import classes, mixture, table2
classes.compute(Effort("quick"))
print(*(name for name in sys.modules if name.split(".")[0] in ("modgrok", "studies")))
"""


def test_all_that_is_imported_while_items_are_computed_belongs_to_their_code():
    """Python's own list of modules is the oracle."""
    words = [sys.executable, "-c", IMPORTS]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    found = dependencies.code_of(f"modgrok.reproduction.{name}" for name in ("classes", "mixture", "table2"))
    rooms = {each: each.split(".")[1] for each in loaded if "." in each}
    computing = [each for each, room in rooms.items() if room not in dependencies.NOT_COMPUTING]
    assert len(computing) > 50
    assert {each for each in computing if not set(dependencies.files_of(each)) <= found} == set()


def test_libraries_data_and_studies_are_part_of_the_fingerprint(monkeypatch, tmp_path):
    before = store.fingerprint("strong", "full")
    assert {"item", "size", "version", "device", "code", "data", "libraries"} == set(before)
    assert STUDIES / "strong_plan.py" in dependencies.code_of([STUDIES / "strong.py"])
    monkeypatch.setattr(dependencies.importlib.metadata, "version", lambda name: "another")
    after = store.fingerprint("strong", "full")
    assert {name for name in before if before[name] != after[name]} == {"libraries"}
    data = [path for path in dependencies.PACKAGE.rglob("*") if path.is_file() and path.parent.name == "loss_law"]
    shipped = {path.suffix for path in data} - {".py", ".pyc"}
    assert shipped == {".json", ".safetensors"} and shipped <= set(dependencies.DATA)
    file = tmp_path / "read.csv"
    file.write_text("1")
    one = dependencies.data_digest("modgrok.loss_law.calibration", read=(file,))
    assert one != dependencies.data_digest("modgrok.loss_law.calibration")


def test_a_result_of_another_jax_version_is_not_reused(tmp_path, monkeypatch):
    """Nor one of another kind of device."""
    path, made_by = tmp_path / "classes.json", store.fingerprint("classes", "quick")
    store.write_result(path, replace(RESULT, item="classes"), made_by)
    assert store.read_result(path, made_by).value is not None
    with monkeypatch.context() as patch:
        other = {**dependencies.libraries(), "jax": "9.9.9"}
        patch.setattr(store, "libraries", lambda: other)
        assert store.read_result(path, store.fingerprint("classes", "quick")) == (None, "of another libraries")
    assert store.read_result(path, made_by | {"device": "NVIDIA H200"}) == (None, "of another device")
    assert store.read_result(path, store.fingerprint("classes", "full")) == (None, "of another size")


def test_a_result_without_provenance_is_of_an_unknown_version(stored):
    record = read_json(stored)
    assert record["result"]["provenance"][0]["version"] == MADE.version
    del record["result"]["provenance"], record["checksum"]
    write_json(stored, store.sealed(record))
    assert store.read_result(stored, MADE_BY).value.provenance == (UNKNOWN,)
    for wrong in ("abc", [1], [{"version": 3}], [{"version": "1", "libraries": {"jax": []}}], [{"cores": True}],
                  [{"version": "1", "seconds": "x"}], [{"code_of": [1]}], {"version": "1"}):  # fmt: skip
        record["result"]["provenance"] = wrong
        record.pop("checksum", None)
        write_json(stored, store.sealed(record))
        assert store.read_result(stored, MADE_BY).reason == "damaged: not a result", wrong


def test_a_sealed_result_that_denies_its_own_fingerprint_is_not_taken(stored):
    """Whoever copies a fingerprint and makes the checksum anew must lie in every place at once."""
    record = read_json(stored)
    del record["checksum"]

    def reason(**changes: object) -> str:
        write_json(stored, store.sealed(record | {"result": record["result"] | changes}))
        return store.read_result(stored, MADE_BY).reason

    assert reason() == ""
    assert reason(item="table1") == "damaged: a result of 'table1'"
    (said,) = record["result"]["provenance"]
    for name, value, field in (
        ("version", "0.2", "version"),
        ("device", "NVIDIA H200", "device"),
        ("code_digest", "abc", "code"),
        ("data_digest", "abc", "data"),
        ("libraries", said["libraries"] | {"jax": "9.9"}, "libraries"),
    ):
        other = said | {name: value}
        assert reason(provenance=[other]) == f"damaged: its provenance is of another {field}"
        assert reason(provenance=[other, said]) == "", "a part of it was computed before"


def test_what_was_computed_while_its_code_was_edited_counts_in_no_other_process(monkeypatch, tmp_path):
    """The fingerprint is made of the files, and what is loaded may be what they were before."""
    assert store.fingerprint("classes", "quick")["code"] == dependencies.code_digest("modgrok.reproduction.classes")
    monkeypatch.setattr(dependencies, "BEGAN", 0.0)
    made_by = store.fingerprint("classes", "quick")
    assert made_by["code"].endswith(", edited while it ran")
    made = provenance(time.perf_counter(), {}, "modgrok.reproduction.classes")
    assert made.changed is True
    store.write_result(tmp_path / "x.json", replace(RESULT, item="classes", provenance=(made,)), made_by)
    assert store.read_result(tmp_path / "x.json", made_by).reason == ""
    monkeypatch.undo()
    found = store.read_result(tmp_path / "x.json", store.fingerprint("classes", "quick"))
    assert found == (None, "of another code")


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
    png.with_suffix(".svg").write_text("<svg><text>99 %</text></svg>")
    assert [drawn(2), drawn(2)] == [6, 6], "the picture beside it that can be edited is looked at too"
