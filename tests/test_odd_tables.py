"""Files as people write them, tables of odd shapes, and commands that say what they do."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from modgrok.algebra.table_files import read_table
from modgrok.base.errors import InputError
from modgrok.cli import main
from modgrok.separable.classification import classify_table
from modgrok.separable.decision import BEGINNING, steps_of

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def written(path: Path, lines: list[list[object]]) -> Path:
    path.write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n", encoding="utf-8")
    return path


def lines_of(table: np.ndarray) -> list[list[object]]:
    return [[*map(int, place), int(table[place])] for place in np.ndindex(*table.shape)]


SUM = np.add.outer(np.arange(7), np.arange(7)) % 7


@pytest.mark.parametrize("names", [["x", "y", "z"], ["op", "state", "next"], ["n1", "n2", "value"]])
def test_lines_of_coordinates_are_known_by_any_names(tmp_path, names):
    order = np.random.default_rng(0).permutation(49)
    lines = [lines_of(SUM)[k] for k in order]
    found = read_table(written(tmp_path / "mine.csv", [names, *lines]))
    assert np.array_equal(found.table, SUM) and found.variables == tuple(names[:2])
    for line in lines[:15]:
        line[2] = "?"
    found = read_table(written(tmp_path / "mine.csv", [names, *lines[5:]]))
    assert (found.table < 0).sum() == 15 and np.array_equal(found.table[found.table >= 0], SUM[found.table >= 0])


@pytest.mark.parametrize("at", [0, 1])
def test_a_column_called_value_may_stand_anywhere(tmp_path, at):
    names, path = ["a", "b"], tmp_path / "mine.parquet"
    names.insert(at, "Value")
    lines = [[*place[:at], value, *place[at:]] for *place, value in lines_of(SUM)]
    pq.write_table(pa.table(dict(zip(names, np.array(lines).T, strict=True))), path)
    for found in (read_table(written(tmp_path / "mine.csv", [names, *lines])), read_table(path)):
        assert np.array_equal(found.table, SUM) and found.form == "a line for each cell: a, b, Value"


def test_lines_in_order_need_no_names_and_may_have_three_variables(tmp_path):
    found = read_table(written(tmp_path / "mine.csv", lines_of(SUM)))
    assert np.array_equal(found.table, SUM)
    cube = np.add.outer(SUM[:3, :4], np.arange(2)) % 5
    found = read_table(written(tmp_path / "cube.csv", [["a", "b", "c", "d"], *lines_of(cube)]))
    assert np.array_equal(found.table, cube) and found.variables == ("a", "b", "c")


def test_a_first_line_that_counts_is_read_as_a_row_and_said(tmp_path):
    (tmp_path / "pandas.csv").write_text("0,1,2\n" + "".join(f"{n},{(n + 1) % 3},{(n + 2) % 3}\n" for n in range(3)))
    found = read_table(tmp_path / "pandas.csv")
    assert found.table.shape == (4, 3) and "its first line, 0, 1, 2, …, is one of its rows" in found.form
    (tmp_path / "square.csv").write_text("0,1,2\n1,2,0\n2,0,1\n")
    assert read_table(tmp_path / "square.csv").form == "a matrix"


def test_an_array_of_objects_is_called_one(tmp_path):
    np.save(tmp_path / "objects.npy", np.zeros((20, 20), int).astype(object), allow_pickle=True)
    with pytest.raises(InputError, match="holds Python objects, which are not unpickled"):
        read_table(tmp_path / "objects.npy")


@pytest.mark.parametrize(
    "lines",
    [
        [[0, 0, 1], [0, 1, 2], [0, 0, 3], [1, 1, 0]],  # a place stands twice
        [[0, 0, 1], [0, 2, 2], [2, 0, 3], [1, 1, 0]],  # most cells are not there
        [[0, 0, 1], [0, 1, 2], [3, 0, 3], [3, 1, 0]],  # 1 and 2 are left out
        [[0, "", 1], [0, 1, 2], [1, 0, 3], [1, 1, 0]],  # a place is unknown
        [[4, 1, 3], [2, 2, 0], [3, 3, 1], [0, 4, 2]],
    ],
)
def test_a_matrix_of_three_columns_stays_one(tmp_path, lines):
    found = read_table(written(tmp_path / "mine.csv", [["p", "q", "r"], *lines]))
    assert found.table.shape == (4, 3) and found.form == "a matrix under a line of labels"


def test_a_line_that_stands_twice_is_said_and_a_place_with_two_values_is_refused(tmp_path):
    for names in (["x", "y", "z"], ["op", "state", "next"], ["n1", "n2", "value"], []):
        lines, first = lines_of(SUM), 1 + bool(names)
        top = [names] if names else []
        found = read_table(written(tmp_path / "mine.csv", [*top, *lines, lines[3], lines[5]]))
        assert np.array_equal(found.table, SUM)
        assert f"2 lines repeat earlier ones: row {49 + first} repeats row {3 + first}, …" in found.form
        clash = [*top, *lines, [0, 3, 6]]
        told = rf"row {49 + first}: .* = 0, .* = 3 has the value 6 here and 3 in row {3 + first}; keep one of them"
        with pytest.raises(InputError, match=told):
            read_table(written(tmp_path / "mine.csv", clash))


@pytest.mark.parametrize("names", [["x", "y", "z"], ["op", "state", "next"], ["n1", "n2", "value"]])
def test_coordinates_may_count_from_one(tmp_path, names):
    ones = [[x + 1, y + 1, z] for x, y, z in lines_of(SUM)]
    found = read_table(written(tmp_path / "mine.csv", [names, *ones]))
    assert np.array_equal(found.table, SUM) and f"{names[0]}, {names[1]} count from 1 there, so 1 is 0" in found.form
    found = read_table(written(tmp_path / "mine.csv", [names, *([x, y, z + 1] for x, y, z in ones)]))
    assert np.array_equal(found.table, SUM) and f"{names[1]}, {names[2]} count from 1 there" in found.form


@pytest.mark.parametrize("names", [["x", "y", "z"], ["op", "state", "next"], ["n1", "n2", "value"]])
def test_a_third_of_the_cells_is_enough(tmp_path, names):
    some = np.random.default_rng(4).permutation(lines_of(np.add.outer(np.arange(17), np.arange(17)) % 17))[:96]
    found = read_table(written(tmp_path / "mine.csv", [names, *some.tolist()]))
    assert found.table.shape == (17, 17) and (found.table >= 0).sum() == 96


def test_what_pandas_and_numpy_write_is_read(tmp_path):
    lines, path = np.random.default_rng(2).permutation(lines_of(SUM)), tmp_path / "mine.csv"
    for names in (["x", "y", "z"], ["op", "state", "next"]):
        found = read_table(written(path, [["", *names], *([k, *line] for k, line in enumerate(lines))]))  # an index
        assert np.array_equal(found.table, SUM) and found.variables == tuple(names[:2])
    for options in ({}, {"delimiter": ",", "header": "x,y,z"}, {"header": "x y z", "fmt": "%4d"}):
        np.savetxt(path, lines, **options)
        assert np.array_equal(read_table(path).table, SUM)
    path.write_bytes(b"x,y,z\r\r\n" + b"".join(b"%d,%d,%d\r\r\n" % tuple(line) for line in lines.tolist()))
    assert np.array_equal(read_table(path).table, SUM)
    np.savetxt(path, np.where(SUM == 3, np.nan, SUM))
    assert np.array_equal(read_table(path).table, np.where(SUM == 3, -1, SUM))
    for text in ("1 2\n3 4.5\n", "0,1\n1_0,1\n", "0,1\n1,2e9\n", "0,1\n1,-2.0\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"row 2, column [12]: .* is no whole number"):
            read_table(path)


@pytest.mark.parametrize("shape", [(12, 3), (60, 3), (200, 3), (1009, 3), (40, 4), (841, 3)])
@pytest.mark.parametrize("values", [3, 29])
def test_a_matrix_of_few_columns_is_not_taken_for_lines(tmp_path, shape, values):
    table = np.random.default_rng(1).integers(0, values, shape)
    for names in ([[f"c{k}" for k in range(shape[1])]], []):
        found = read_table(written(tmp_path / "mine.csv", [*names, *table.tolist()]))
        assert np.array_equal(found.table, table) and found.form.startswith("a matrix")


def test_what_a_file_was_read_as_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(Path("mine.csv"), [["x", "y", "z"], *lines_of(SUM)[:-2], [6, 5, ""], [6, 6, "?"]])
    training = ["--width", "8", "--steps", "2"]
    for words in (
        ["classify", "--table", "mine.csv"],
        ["classify", "mine.csv"],
        ["train", "mine.csv", *training],
        ["train", "mine.csv", "--seeds", "2", *training],
        ["sweep", "mine.csv", *training],
        ["compile", "mine.csv", "--out", "mine.safetensors"],
        ["share", "mine.csv", "--out", "mine.html"],
        ["verify", "theirs.npy", "--function", "mine.csv"],
    ):
        if words[0] == "verify":
            np.save("theirs.npy", np.eye(7)[SUM])
        assert main(words) == 0, words
        said = " ".join(" ".join(capsys.readouterr()).split())
        assert "mine.csv: 7 x × 7 y, 7 values, 2 cells unknown (a line for each cell: x, y, z)" in said, words
        assert words[0] != "classify" or "agrees in its 47 known cells with the sum n1 + n2" in said
    assert main(["classify", "n1 n2", "--mod", "5"]) == 0
    assert "read as" not in capsys.readouterr().out


@pytest.mark.usefixtures("unchecked")
def test_200_odd_tables_keep_to_their_steps(monkeypatch):
    """Steps are what the limit is counted in; each family begins with some for counting, and a node or a round of
    guesses may end beyond it. `benchmarks/odd_tables.py`
    measures the seconds."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    effort, seen = 0.01, set()
    tables = runpy.run_path(str(BENCHMARKS / "odd_tables.py"))["odd_tables"](lengths=(10, 60, 200, 1009))
    for table in tables:
        if min(table.shape) < 2 or (table < 0).all():
            continue
        found = classify_table(table, None, effort=effort)
        used = sum(family.verdict.steps for family in found.families if family.family in ("additive", "multiplicative"))
        assert used <= steps_of(effort) + 3 * BEGINNING + 200, (table.shape, used)
        seen.add((found.status, bool((table < 0).any())))
    assert len(seen) == 4, seen  # decided or not, with unknown cells and without
    assert "writing" in sys.modules


def test_no_odd_table_that_was_measured_took_longer_than_the_help_says():
    found = json.loads((BENCHMARKS / "results" / "odd-tables.json").read_text())
    page = (BENCHMARKS.parent / "docs" / "classify.md").read_text()
    assert len(found["rows"]) == 200 and max(row["seconds"] for row in found["rows"]) <= found["limit"] == 10
    assert f"took {found['worst']['seconds']:.1f} s, so none was" in page
    help_texts = (BENCHMARKS.parent / "docs" / "commands.md").read_text()
    assert "default 1: at most about 10 seconds of one core" in help_texts


def test_a_row_that_is_not_reduced_is_answered_with_the_reduced_one(tmp_path, capsys):
    path = str(tmp_path / "net.safetensors")
    assert main(["compile", "n1 n2", "--mod", "31", "--out", path]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(["predict", path, "12", "34"])
    assert "got 34; reduce it modulo 31: 12 3" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit, match="2"):
        main(["predict", path, "12", "x"])
    assert ": 12" not in capsys.readouterr().err
    table = written(tmp_path / "mine.csv", [[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1]])
    assert main(["compile", str(table), "--out", path]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(["predict", path, "5", "7"])
    assert "got 5; reduce it modulo 3: 2 3" in " ".join(capsys.readouterr().err.split())


def test_seeds_say_where_they_are_written_and_compare_writes_nothing_unasked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    settings = ["--width", "4", "--steps", "10"]
    assert main(["train", "n1 n2", "--mod", "5", "--seeds", "2", *settings]) == 0
    folder = next((tmp_path / "sweeps").iterdir())
    assert f"written to sweeps/{folder.name}" in " ".join(capsys.readouterr().err.split())
    for name in ("a", "b"):
        assert main(["train", "n1 n2", "--mod", "5", "--out", name, "--seed", str(ord(name)), *settings]) == 0
    before = sorted(tmp_path.rglob("*"))
    capsys.readouterr()
    assert main(["compare", "a", "b", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [] and sorted(tmp_path.rglob("*")) == before
    assert main(["compare", "a", "b", "--out", "ab"]) == 0
    assert (tmp_path / "ab.png").exists() and "ab.png" in capsys.readouterr().out


def test_a_place_that_stands_twice_under_value_is_still_refused(tmp_path):
    path = written(tmp_path / "mine.csv", [["x", "y", "value"], [0, 0, 1], [0, 0, 2]])
    with pytest.raises(InputError, match="mine.csv"):
        read_table(path)


@pytest.mark.parametrize(
    "words", [["inspect"], ["decompile"], ["verify"], ["predict", "0", "0"], ["export", "--to", "onnx"]]
)
def test_a_table_where_a_network_is_meant_is_called_a_table(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    written(Path("mine.csv"), lines_of(SUM))
    with pytest.raises(SystemExit, match="2"):
        main([words[0], "mine.csv", *words[1:]])
    said = capsys.readouterr().err
    assert "mine.csv is a table of values and no network; give the folder of a run, or a file of weights" in said
    assert "`modgrok compile mine.csv --out net.safetensors` makes one" in said and "Error" not in said
