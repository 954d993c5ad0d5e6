"""Functions as users give them: expressions, tables, files, Python functions; and one line for every bad one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from modgrok import classify, compile, load, verify
from modgrok.algebra.expression import parse
from modgrok.algebra.function import Function, from_expression, read_function
from modgrok.algebra.structures import Integers, Structure
from modgrok.algebra.table_files import read_table
from modgrok.base.errors import InputError

SUM = [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
"""n1 + n2 for three rows and four columns."""


def lines(rows: list[list[object]], mark: str = ",") -> str:
    return "\n".join(mark.join("" if cell is None else str(cell) for cell in row) for row in rows) + "\n"


def file(folder: Path, text: str, name: str = "mine.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# ---------------------------------------------------------------------------------------------- what is read


def test_an_expression_has_its_table_and_its_modulus():
    found = read_function("x^2 y + 3", 31)
    assert (found.expression, found.name, found.variables) == ("n1^2 n2 + 3", "n1^2 n2 + 3", ("n1", "n2"))
    assert (found.sizes, found.values, found.modulus, found.square, found.known) == ((31, 31), 31, 31, True, None)
    assert all(found.table[a, b] == (a * a * b + 3) % 31 for a in range(31) for b in range(31))
    assert found.tree is not None and found.title == "n1^2 n2 + 3 mod 31"


def test_an_expression_gets_the_variables_that_it_does_not_mention():
    found = read_function("n2^2 mod 7", at_least=2)
    assert found.variables == ("n1", "n2") and (found.table == found.table[0]).all()
    assert read_function(read_function("n2^2 mod 7"), at_least=2) == found


def test_rows_columns_and_values_may_differ_in_number():
    found = read_function(np.array(SUM))
    assert (found.expression, found.sizes, found.values, found.modulus, found.tree) == (None, (3, 4), 6, None, None)
    assert found.shape_text == "3 × 4 → 6" and found.known is None
    assert read_function(SUM, 9).values == 9 and read_function(found, 9).values == 9


def test_a_square_table_of_residues_has_their_modulus():
    table = np.add.outer(np.arange(5), np.arange(5)) % 3
    assert read_function(table).modulus == 5 and read_function(table, 3).modulus is None
    assert read_function(table.astype(np.uint8)).table.dtype == np.int64
    assert read_function(table > 0).table.max() == 1


@pytest.mark.parametrize(
    "given",
    [
        [[0, None, 2], [1, 2, float("nan")]],
        np.array([[0, np.nan, 2], [1, 2, np.nan]]),
        np.array([[0, -1, 2], [1, 2, -1]]),
        np.array([[0, None, 2], [1, 2, None]], dtype=object),
        np.ma.array([[0, 7, 2], [1, 2, -9]], mask=[[0, 1, 0], [0, 0, 1]]),
    ],
    ids=["lists", "nan", "-1", "object", "masked"],
)
def test_cells_may_be_unknown(given):
    found = read_function(given)
    assert found.table.tolist() == [[0, -1, 2], [1, 2, -1]]
    assert found.known.tolist() == [[True, False, True], [True, True, False]] and found.known_cells == 4
    assert "2 of 6 cells unknown" in found.summary()


def test_a_python_function_is_called_with_residues():
    assert read_function(lambda a, b: a**b - 7, 11).table[3, 4] == (3**4 - 7) % 11
    found = read_function(lambda a, b, c: a + b * c if a else None, sizes=(2, 3, 4))
    assert (found.sizes, found.values, found.known_cells) == ((2, 3, 4), 1 + 2 * 3 + 1, 12)
    assert found.table[1, 2, 3] == 7 and found.table[0, 0, 0] == -1

    def gcd(a: int, b: int) -> int:
        return a if b == 0 else gcd(b, a % b)

    assert read_function(gcd, 12).title == "gcd (12 × 12 → 12)"


def test_content_and_not_the_name_tells_functions_apart(tmp_path):
    first, second = read_function(SUM), read_function(file(tmp_path, lines(SUM)))
    assert first == second and hash(first) == hash(second) and first.name != second.name == "mine.csv"
    assert first != read_function(SUM, 9) and first != read_function(np.array(SUM).T)
    assert first.to_json()["digest"] == "967bc6940dd8cec9bad5162f99ee0043"  # the same on every machine


# ---------------------------------------------------------------------------------------------------- files

LABELLED = {
    "bare": SUM,
    "header": [list("abcd"), *SUM],
    "counted": [["", 0, 1, 2, 3], *([k, *row] for k, row in enumerate(SUM))],
    "counted with a word": [["n1/n2", 0, 1, 2, 3], *([k, *row] for k, row in enumerate(SUM))],
    "words on both edges": [["", *"abcd"], *([word, *row] for word, row in zip("xyz", SUM, strict=True))],
    "words left": [[word, *row] for word, row in zip("xyz", SUM, strict=True)],
    "numbered rows": [["", *"abcd"], *([k, *row] for k, row in enumerate(SUM, start=1))],
    "long": [["n1", "n2", "value"], *([a, b, a + b] for b in range(4) for a in range(3))],
}


@pytest.mark.parametrize("rows", LABELLED.values(), ids=LABELLED)
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_labels_are_no_data(tmp_path, rows, mark):
    assert read_table(file(tmp_path, lines(rows, mark) + "\n\n")).table.tolist() == SUM


def test_an_unknown_corner_is_no_label(tmp_path):
    rows = [[None, 1, 2, 3], *SUM[1:]]
    assert read_table(file(tmp_path, lines(rows))).table.tolist() == [[-1, 1, 2, 3], *SUM[1:]]


def test_empty_cells_of_a_csv_are_unknown(tmp_path):
    text = "0,?,2\r\n, NaN ,3.0\r\n1,-1,\r\n"
    assert read_table(file(tmp_path, text)).table.tolist() == [[0, -1, 2], [-1, -1, 3], [1, -1, -1]]


def test_a_long_file_may_have_three_variables_and_names_for_them(tmp_path):
    text = "a,b,c,Value\n" + "".join(f"{a},{b},{c},{a + b * c}\n" for a in range(2) for b in range(3) for c in range(2))
    found = read_function(str(file(tmp_path, text + "1,2,4,\n")))
    assert (found.variables, found.sizes, found.known_cells) == (("a", "b", "c"), (2, 3, 5), 12)
    assert found.table[1, 2, 1] == 3 and found.table[1, 2, 4] == -1


def test_npy_and_parquet_hold_the_same_table(tmp_path):
    partial = np.array([[0, 1, -1], [2, -1, 4]])
    np.save(tmp_path / "mine.npy", partial)
    wide = {
        name: [None if cell < 0 else int(cell) for cell in column]
        for name, column in zip("abc", partial.T, strict=True)
    }
    pq.write_table(pa.table(wide | {"__index_level_0__": [0, 1]}), tmp_path / "wide.parquet")
    cells = [(a, b, partial[a, b]) for a in range(2) for b in range(3) if partial[a, b] >= 0]
    long = dict(
        zip(("n1", "n2", "value"), (list(map(int, column)) for column in zip(*cells, strict=True)), strict=True)
    )
    pq.write_table(pa.table(long), tmp_path / "long.PARQUET")
    for name in ("mine.npy", "wide.parquet", "long.PARQUET"):
        assert read_table(tmp_path / name).table.tolist() == partial.tolist(), name


BAD_FILES = {
    "word": ("0,1,2\n1,two,0\n", r"row 2, column 2: 'two' is no whole number from 0 on"),
    "decimal": ("0,1,2\n1,2,0.5\n", r"row 2, column 3: '0\.5' is no whole number"),
    "decimal in row 1": ("0,1.5,2\n1,2,0\n", r"row 1, column 2: '1\.5' is no whole number"),
    "typo in row 1": ("0,1x,2\n1,2,0\n", r"row 1, column 2: '1x' is no whole number"),
    "negative": ("0,1,2\n1,2,-4\n", r"row 2, column 3: '-4' is no whole number from 0 on"),
    "infinite": ("0,1,2\ninf,2,0\n", r"row 2, column 1: 'inf' is no whole number"),
    "huge": ("0,1,2\n1,2,99999999999999999999\n", r"row 2, column 3: '99999999999999999999' is too large for a value"),
    "too large": ("0,1,2\n1,2,6\n", r"values must be below the 6 cells of the table, got 6 in cell \(1, 2\)"),
    "below labels": ("a,b,c\n0,1,2\n1,oops,0\n", r"row 3, column 2: 'oops' is no whole number"),
    "ragged": ("0,1,2\n1,2\n", r"row 2: 2 columns, and row 1 has 3; every row needs the same number"),
    "hole": ("0,1,2\n\n1,2,0\n", r"row 2: 0 columns, and row 1 has 3"),
    "empty": ("", r"is empty; give a matrix of whole numbers, or lines n1,n2,value"),
    "only labels": ("a,b,c\n", r"has labels and no values"),
    "all unknown": (",,\n,,\n", r"has no known cell; give at least one value"),
    "one row": ("0,1,2\n", r"must have at least 2 values of each variable, got the shape 1 × 3"),
    "one column": ("0\n1\n", r"at least 2 values of each variable, got the shape 2 × 1"),
    "open quote": ('0,"1,2\n1,2,0\n', r"is not a CSV file: unexpected end of data"),
    "two values": ("n1,n2,value\n0,0,1\n1,1,0\n0,0,2\n", r"row 4: n1 = 0, n2 = 0 has the value 2 here and 1 in row 2"),
    "long without a place": ("n1,n2,value\n0,0,1\n1,,0\n", r"row 3: n2 is missing; only a value may be unknown"),
    "long and far": ("n1,n2,value\n0,0,1\n9999999,9999999,0\n", r"make 100,000,000,000,000 cells, above"),
    "long with a word": ("n1,n2,value\n0,0,1\n1,b,0\n", r"row 3, column 2: 'b' is no whole number"),
}


@pytest.mark.parametrize("text, message", BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_csv_gets_one_line_that_names_the_place(tmp_path, text, message):
    path = file(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        read_function(path)
    assert "mine.csv" in str(caught.value) and "\n" not in str(caught.value)


def bad_binary_files(folder: Path) -> dict[str, str]:
    """Names of files that hold no table, and what is said about them."""
    (folder / "latin.csv").write_bytes("0,1\n1,é\n".encode("latin-1"))
    np.save(folder / "objects.npy", np.array([[0, None]], dtype=object), allow_pickle=True)
    np.save(folder / "complex.npy", np.zeros((2, 2), complex))
    np.save(folder / "half.npy", np.array([[0, 1], [0.5, 1]]))
    np.save(folder / "number.npy", np.int64(3))
    np.save(folder / "deep.npy", np.array([[[0, 1], [1, -5]], [[0, 1], [1, 0]]]))
    (folder / "cut.npy").write_bytes((folder / "half.npy").read_bytes()[:100])
    (folder / "text.parquet").write_text("0,1\n1,0\n")
    pq.write_table(pa.table({"a": [0, 1], "b": ["x", "1"]}), folder / "words.parquet")
    pq.write_table(pa.table({"a": []}), folder / "empty.parquet")
    (folder / "folder.csv").mkdir()
    return {
        "latin.csv": r"is not a text file in UTF-8",
        "objects.npy": r"is not an \.npy file of numbers: it holds Python objects, which are not unpickled",
        "complex.npy": r"must hold whole numbers, got complex128",
        "half.npy": r"row 2, column 1: 0\.5 is no whole number from 0 on",
        "number.npy": r"holds no array with an axis for each variable",
        "deep.npy": r"cell \(0, 1, 1\): -5 is no whole number from 0 on",
        "cut.npy": r"is not an \.npy file of numbers",
        "text.parquet": r"is not a Parquet file",
        "words.parquet": r"row 1, column b: 'x' is no whole number",
        "empty.parquet": r"has no rows or no columns",
        "folder.csv": r"is a folder; give the name of a file",
        "missing.csv": r"cannot read .*missing\.csv: No such file or directory",
        "mine.xlsx": r"a table is a \.csv, \.npy or \.parquet file, got '\.xlsx'",
    }


def test_other_bad_files_get_one_line_too(tmp_path):
    for name, message in bad_binary_files(tmp_path).items():
        with pytest.raises(InputError, match=message) as caught:
            read_function(tmp_path / name)
        assert name in str(caught.value) and "\n" not in str(caught.value), name


# ------------------------------------------------------------------------------------------ other structures


@dataclass(frozen=True)
class Pairs(Structure):
    """Pairs of residues modulo 3, added and multiplied one by one: element k is (k // 3, k % 3)."""

    order: int = 9
    words = "in pairs"
    elements = "pairs (0, 0) … (2, 2)"

    def name(self, element):
        return str(divmod(element, 3))

    def element(self, given):
        return 3 * given[0] + given[1]

    def constant(self, number):
        return number % 3 * 4

    def joined(self, operation, *elements):
        left, right = (operation(*parts) % 3 for parts in zip(*(divmod(k, 3) for k in elements), strict=True))
        return 3 * left + right

    def add(self, left, right):
        return self.joined(np.add, left, right)

    def multiply(self, left, right):
        return self.joined(np.multiply, left, right)

    def negate(self, element):
        return self.joined(np.negative, element)

    def power(self, base, exponent):
        return self.joined(lambda part: part**exponent, base)


@pytest.mark.parametrize(
    "text, value",
    [
        ("n1 n2", lambda a, b: a * b),
        ("n1 + n2", lambda a, b: a + b),
        ("2 n1^2 - n2 + 1", lambda a, b: 2 * a**2 - b + 1),
    ],
)
def test_an_expression_over_another_structure_has_the_values_of_that_structure(text, value):
    function = from_expression(text, Pairs())
    for a, b, c, d in product(range(3), repeat=4):
        assert function.table[3 * a + b, 3 * c + d] == 3 * (value(a, c) % 3) + value(b, d) % 3
    assert function != from_expression(text, 9) and function.name == f"{text} in pairs"


def test_nobody_takes_an_expression_over_another_structure_for_one_over_the_integers(tmp_path):
    function = from_expression("n1 + n2", Pairs())
    assert classify(function).witness.moduli == (3, 3)
    network = compile(function)
    assert network.proof is not None and (network.table() == function.table).all()
    network.save(tmp_path / "pairs.safetensors")
    assert verify(tmp_path / "pairs.safetensors").accuracy == 1
    assert (load(tmp_path / "pairs.safetensors").function.table == function.table).all()
    with pytest.raises(InputError, match="n1 in pairs is known by its values"):
        Function("n1", ("n1",), (9,), Pairs(), "n1", parse("n1"))
    with pytest.raises(InputError, match="n1 mod 9 is to have its values mod 9 and in pairs"):
        from_expression("n1 mod 9", Pairs())
    assert from_expression("n1 mod 9", Integers(9)) == from_expression("n1", 9)


# ------------------------------------------------------------------------------------------ what is refused


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "given, options, message",
    [
        (None, {}, "an expression, a table or a Python function, got None"),
        ([[0, 1], [0]], {}, "the rows of the table differ in length"),
        ([[0, 1], [0, "b"]], {}, r"the table, cell \(1, 1\): 'b' is no whole number"),
        (np.array([[0, 1], [0, 0.5]]), {}, r"the table, cell \(1, 1\): 0\.5 is no whole number"),
        (np.array([[0, 1], [0, -2]]), {}, r"cell \(1, 1\): -2 is no whole number"),
        (np.array([[0, 1], [0, 2**40]]), {}, r"cell \(1, 1\): 1099511627776 is too large for a value"),
        (np.zeros((5, 5), int) + 6, {"mod": 5}, r"values must be residues 0 … 4, got 6 in cell \(0, 0\)"),
        (np.zeros(5, int), {"at_least": 2}, r"2 variables or more is needed here, got one of 1"),
        (np.zeros((5, 5), int), {"sizes": (5, 5)}, "sizes are for Python functions"),
        (lambda a, b: a, {}, "needs a modulus: give mod=97, or sizes"),
        (lambda *a: 0, {"mod": 5}, "does not say how many values it takes; give lambda a, b"),
        (lambda a, b: a / 2, {"mod": 5}, r"must be whole numbers, the function gives 0\.0 at \(0, 0\)"),
        (lambda a, b: a - b, {"sizes": (5, 4)}, r"from 0 on, the function gives -1 at \(0, 1\); give mod="),
        (lambda a, b: a // b, {"mod": 5}, r"the function failed at \(0, 0\): ZeroDivisionError"),
        (lambda a, b: a, {"sizes": (5000, 5000)}, "25,000,000 values is above the limit"),
        (lambda a, b: None, {"mod": 5}, "has no known cell"),
        ("n1 + n2", {}, "a modulus is needed"),
        ("n1 + n2 mod 5", {"mod": 7}, "says mod 5"),
    ],
)
def test_what_is_no_function_is_refused(given, options, message):
    with pytest.raises(InputError, match=message):
        read_function(given, **options)
