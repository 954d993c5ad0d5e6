"""The data set of `modgrok dataset build`; `make dataset-check` reads the whole one with other people's tools."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tomllib

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from planted_census import CENSUSES, slice_of

from modgrok import cli
from modgrok.base import repository
from modgrok.base.errors import InputError
from modgrok.censuses import dataset, store
from modgrok.censuses.store import ANNOTATIONS, ROWS
from studies.dataset_building import TABLES, censuses_in
from studies.dataset_columns import COLUMNS, described

PAGE = (CENSUSES.parents[1] / "docs" / "dataset.md").read_text(encoding="utf-8")
MODEL = pa.field("model", pa.string())
TAKEN = {"large": "results", "results": "results", "kinds": "other-kinds", "other-kinds": "other-kinds"}
"""Every census of the test is a slice of one of the two small ones, whose plans are read at once."""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("censuses")
    for name, taken in TAKEN.items():
        slice_of(taken, folder / name, 60)
    return folder


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "folder_of", lambda name: source)
        return dataset.build_dataset(tmp_path_factory.mktemp("built") / "set")


def test_every_column_of_a_census_has_a_description_and_a_unit():
    names = {*ROWS.names, *ANNOTATIONS.names, *TABLES.names}
    assert names | {"table_id", "model"} == set(COLUMNS)
    assert all(about.text.strip() and about.unit.strip() for about in COLUMNS.values())


def test_a_column_without_a_description_is_refused_by_name():
    with pytest.raises(InputError, match="no description of novelty"):
        described(pa.table({"network": [1], "novelty": [2]}))


def test_rows_are_those_of_the_census_files(built, source):
    assert set(built.configurations) == {"large", "kinds", "other-kinds", "older", "tables"}
    for name, where in censuses_in(source).items():
        ours, theirs = (
            pq.read_table(path) for path in (built.folder / "data" / f"{name}.parquet", where / "census.parquet")
        )
        assert len(ours) == len(theirs) > 50
        assert pc.count_distinct(ours["network"]) == pc.count_distinct(theirs["network"])
        for column in set(theirs.column_names) & set(ours.column_names):
            assert ours[column].combine_chunks().equals(theirs[column].combine_chunks()), column
        lost = set(theirs.column_names) - set(ours.column_names)
        assert all(theirs[column].null_count == len(theirs) for column in lost)
        for field in ours.schema:
            assert field.metadata[b"description"].decode() == COLUMNS[field.name].text
            assert field.metadata[b"unit"].decode() == COLUMNS[field.name].unit


def test_tables_stand_there_once_and_are_the_function_that_was_trained_on(built):
    tables = {row["table_id"]: row for row in pq.read_table(built.folder / "data" / "tables.parquet").to_pylist()}
    assert len(tables) == built.tables
    named = pq.read_table(built.folder / "data" / "large.parquet")["table_id"].to_pylist()
    assert set(named) <= set(tables)
    right = tables["two-monomials/43/0"]
    assert right["expression"] == "2x^3 y^9 + 22x^8 y^5"
    assert right["values"] == [(2 * a**3 * b**9 + 22 * a**8 * b**5) % 43 for a in range(43) for b in range(43)]


def test_the_card_and_the_metadata_say_what_is_there(built):
    card = (built.folder / "README.md").read_text(encoding="utf-8")
    assert (
        card.startswith("---\nlicense: cc-by-4.0\n") and "size_categories:\n- n<1K" in card and built.rows_total < 1000
    )
    assert f"{built.networks:,} small networks" in card and "version unknown" in card
    assert card.count("duckdb.sql") == 3
    said = json.loads((built.folder / "croissant.json").read_text())
    project = tomllib.loads((CENSUSES.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert said["url"] == project["urls"]["Homepage"]
    assert {each["name"] for each in said["recordSet"]} == set(built.configurations)
    assert all(said[f"rai:{name}"] for name in ("dataCollection", "dataBiases", "dataLimitations", "dataUseCases"))
    sums = dict(line.split("  ")[::-1] for line in (built.folder / "SHA256SUMS").read_text().splitlines())
    present = {str(path.relative_to(built.folder)) for path in built.folder.rglob("*") if path.is_file()}
    assert present == {*sums, "SHA256SUMS"}
    assert all(
        hashlib.sha256((built.folder / name).read_bytes()).hexdigest() == digest for name, digest in sums.items()
    )
    assert "--out other-kinds" in card and "/other-kinds " not in card  # no folder of the machine that trained


def test_a_census_that_is_put_there_is_published_without_a_word_said_about_it(built, source, tmp_path, monkeypatch):
    shutil.copytree(source, tmp_path / "more")
    shutil.copytree(source / "kinds", tmp_path / "more" / "by-others")
    path = tmp_path / "more" / "by-others" / "census.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.append_column("model", pa.array(["mlp"] * len(rows))), path)
    monkeypatch.setattr(store.CensusStore, "schema", pa.schema([*ROWS, *([] if "model" in ROWS.names else [MODEL])]))
    monkeypatch.setattr(dataset, "folder_of", lambda name: tmp_path / "more")
    found = dataset.build_dataset(tmp_path / "set")
    assert found.configurations == ("large", "kinds", "other-kinds", "older", "by-others", "tables")
    assert (
        found.tables == built.tables and found.networks == built.networks + pc.count_distinct(rows["network"]).as_py()
    )
    assert set(pq.read_table(found.folder / "data" / "by-others.parquet")["model"].to_pylist()) == {"mlp"}
    assert set(pq.read_table(found.folder / "data" / "older.parquet")["model"].to_pylist()) == {"power"}
    card = (found.folder / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^\| by-others \| .* \| mlp, \d+ families, n from \d+ to \d+ \|$", card, re.MULTILINE)
    assert f"Of the networks {built.networks:,} are `power` (two layers" in card and "are `mlp` (three layers" in card
    with pytest.raises(InputError, match="no census in .*; make one with modgrok census"):
        censuses_in(tmp_path)


def test_the_page_on_the_data_set_counts_what_is_in_the_repository():
    columns = ["network", "family", "modulus", "table_seed"]
    found = [pq.read_table(path, columns=columns) for path in CENSUSES.glob("*/census.parquet")]
    networks = sum(pc.count_distinct(rows["network"]).as_py() for rows in found)
    tables = pa.concat_tables(rows.select(columns[1:]) for rows in found).group_by(columns[1:]).aggregate([])
    counts = f"{networks:,} networks in {sum(map(len, found)):,} rows and {len(tables):,} tables, "
    assert counts in PAGE, f"docs/dataset.md must have {counts!r}: it is the only page that counts the data set"
    names = [*censuses_in(CENSUSES), "tables"]
    assert f'load_dataset("dataset", NAME) takes {", ".join(names)}\n' in PAGE


def test_the_same_censuses_give_the_same_bytes_in_place_of_an_earlier_one(built, source, monkeypatch):
    monkeypatch.setattr(dataset, "folder_of", lambda name: source)
    before = {path: path.read_bytes() for path in built.files}
    (built.folder / "README.md").write_text("older")
    assert dataset.build_dataset(built.folder).files == built.files
    assert {path: path.read_bytes() for path in built.files} == before


def test_a_table_that_is_not_the_one_that_was_trained_on_is_refused(source, tmp_path, monkeypatch):
    shutil.copytree(source, tmp_path / "changed")
    path = tmp_path / "changed" / "large" / "census.parquet"
    rows = pq.read_table(path)
    entropy = rows.column_names.index("entropy")
    pq.write_table(rows.set_column(entropy, "entropy", pc.add(rows["entropy"], 1.0)), path)
    monkeypatch.setattr(dataset, "folder_of", lambda name: tmp_path / "changed")
    with pytest.raises(InputError, match="no longer the table that was trained on"):
        dataset.build_dataset(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("there", ["README.md", "croissant.json"])
def test_a_folder_of_something_else_is_left_alone(there, tmp_path, capsys):
    (tmp_path / there).write_text("{}")
    with pytest.raises(SystemExit) as end:
        cli.main(["dataset", "build", "--out", str(tmp_path)])
    assert end.value.code == 2 and "choose another folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [there]


def test_without_a_clone_one_line_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(repository, "STUDIES", tmp_path / "studies")
    with pytest.raises(SystemExit) as end:
        cli.main(["dataset", "build", "--out", str(tmp_path / "out")])
    told = capsys.readouterr().err
    assert end.value.code == 2 and "needs benchmarks/census of the repository, got the package alone" in told
    assert told.count("\n") == 1 and not (tmp_path / "out").exists()
