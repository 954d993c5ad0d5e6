"""One shape for every result: JSON of every kind of value, one line for people, HTML that is escaped."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from html_elements import Elements

import modgrok as mg
from modgrok.algebra.function import read_function
from modgrok.base.results import Result, html_table, loss_text, percent, plain
from modgrok.commands.common import CheckedNetwork
from modgrok.commands.predict import Answered
from modgrok.training.live import line_of, numbers_table

# ------------------------------------------------------------------------------------------ values as JSON


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Pair(NamedTuple):
    left: int
    right: float


@dataclass(frozen=True)
class Inner:
    values: np.ndarray
    path: Path


@dataclass(frozen=True, repr=False)
class Outer(Result):
    inner: Inner
    share: float
    text: str = "one line"

    def summary(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Shy(Result):
    secret: int

    def summary(self) -> str:
        return "shy"

    def to_json(self) -> dict[str, int]:
        return {"told": 1}


NAN, INF = float("nan"), float("inf")
VALUES = (
    (None, None),
    (True, True),
    (3, 3),
    (10**30, 10**30),
    (2.5, 2.5),
    ("n1 n2", "n1 n2"),
    (NAN, None),
    (-INF, None),
    (np.float32(0.5), 0.5),
    (np.float64("nan"), None),
    (np.int64(7), 7),
    (np.bool_(True), True),
    (np.str_("x"), "x"),
    (np.array([1, 2]), [1, 2]),
    (np.array([[1.5, np.inf], [np.nan, -2.0]]), [[1.5, None], [None, -2.0]]),
    (np.array(4), 4),
    (np.array(["a", "b"]), ["a", "b"]),
    (np.zeros((0, 2)), []),
    (jnp.array([1, 2]), [1, 2]),
    (jnp.float32(jnp.nan), None),
    ((1, (2, 3.0)), [1, [2, 3.0]]),
    ([], []),
    ({5}, [5]),
    (frozenset({"a"}), ["a"]),
    ({2: "x", "y": (NAN,)}, {"2": "x", "y": [None]}),
    (Path("runs") / "a", "runs/a"),
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    (Pair(1, INF), [1, None]),
    (range(3), [0, 1, 2]),
    (Inner(np.array([1.0]), Path("a")), {"values": [1.0], "path": "a"}),
    (Outer(Inner(np.array([NAN]), Path("a")), 0.5), {"inner": {"values": [None], "path": "a"}, "share": 0.5}),
    ({"deep": [Shy(5)]}, {"deep": [{"told": 1}]}),
)


@pytest.mark.parametrize("value, expected", VALUES, ids=lambda value: f"{type(value).__name__}"[:30])
def test_every_kind_of_value_becomes_json(value, expected):
    found = plain(value)
    if isinstance(value, Outer):
        expected = expected | {"text": "one line"}
    assert found == expected
    assert json.loads(json.dumps(found, allow_nan=False)) == expected
    assert plain(found) == found, "what is plain stays"


@pytest.mark.parametrize("value", [1 + 2j, object(), len, Outer, iter([1]), {"a": object()}, [object()]])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(TypeError, match="has no JSON form"):
        plain(value)


# ------------------------------------------------------------------------------------------ people


@pytest.mark.parametrize(
    "share, digits, text",
    [
        (1, 2, "100 %"),
        (1.0, 4, "100 %"),
        (0, 2, "0 %"),
        (0.5, 2, "50.00 %"),
        (0.123456, 1, "12.3 %"),
        (0.99994, 2, "99.99 %"),
        (0.99996, 2, "99.99 %"),
        (1 - 1e-9, 4, "99.9999 %"),
        (0.9999, 0, "99 %"),
        (float(np.float32(0.99999994)), 2, "99.99 %"),
        (None, 2, "–"),
        (NAN, 2, "–"),
        (INF, 2, "–"),
    ],
)
def test_percent_never_rounds_up_to_the_whole(share, digits, text):
    assert percent(share, digits) == text


def test_no_share_below_one_is_shown_as_all_of_it():
    for share in np.nextafter(1, 0) ** np.geomspace(1, 1e13, 50):
        for digits in range(6):
            assert not percent(float(share), digits).startswith("100")


def test_no_loss_is_told_as_0():
    assert [loss_text(loss) for loss in (0.0, 1.2218e-11, 2e-06, 0.200858, 44.946766)] == [
        "<1e-7", "1.22e-11", "2e-06", "0.201", "44.9",
    ]  # fmt: skip
    row = {"step": 60, "train_loss": 3e-8, "train_accuracy": 1.0, "test_loss": 0.0, "test_accuracy": 1.0}
    cells = [cell for column in numbers_table(row, {"train": 10, "test": 20}).columns for cell in column.cells]
    assert {"3e-08", "<1e-7"} < set(cells) and "step 60 of 60, train 100 % (loss 3e-08)" in line_of(row, 60)


def test_a_check_with_one_error_in_a_hundred_million_rows_does_not_say_100_percent():
    found = mg.Verification(1 - 1e-8, 0.1, -0.2, 10**8, 10**8, 1, (0, 1), None, "", 1.0)
    assert found.facts()["accuracy"] == "99.9999 % of all 100,000,000 inputs" and "99.99 %" in found.summary()


@pytest.mark.parametrize("text", ["short", "x" * 1000, "many\nlines\n of \t it", "ü" * 500])
def test_a_repr_is_one_short_line(text):
    shown = repr(Outer(Inner(np.zeros(3), Path("a")), 0.5, text))
    assert shown.startswith("<Outer: ") and shown.endswith(">")
    assert len(shown) < 200 and "\n" not in shown
    assert ("…" in shown) == (len(text) > 200)


def test_html_is_escaped():
    text = html_table({"<b>": "<script>alert('n1 & n2')</script>"}, "x < y & z")
    elements = Elements(text)
    assert not elements.all("script") and not elements.all("b")
    assert "&lt;script&gt;" in text and "x &lt; y &amp; z" in text
    assert not Elements(html_table({"a": 1})).all("caption")


# ------------------------------------------------------------------------------------------ a small session


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> dict[str, Result]:
    """Every verb of networks once."""
    folder = tmp_path_factory.mktemp("session")
    network = mg.compile("n1 n2 + 3", 7)
    verification = mg.verify(network)
    run = mg.train("n1 n2", 7, width=12, steps=5, out=folder / "run")
    inspection = mg.inspect(run, out=folder / "inspection")
    prediction = mg.predict(network, 4, 5)
    return {
        "compile": network,
        "proof": network.proof,
        "verify": verification,
        "verify a sample": mg.verify(run, sample=10),
        "predict": prediction,
        "predict many": mg.predict(network, np.array([[1, 2], [3, 4]])),
        "train": run,
        "train on every row": mg.train("n1 n2", 7, width=12, steps=1, fraction=1.0),
        "train a transformer": mg.train("n1 + n2", 5, model="transformer", width=8, steps=1),
        "load a run": mg.load_run(folder / "run"),
        "load": mg.load(folder / "run"),
        "inspect": inspection,
        "snapped": inspection.snapped,
        "mix": mg.mix("n1 n2 + n1", 5, width=16, steps=2),
        "export": mg.export(network, "torch", folder / "net.py"),
        "a checked network": CheckedNetwork(network, verification, 1.5, (folder / "net.py",)),
        "an answer": Answered(network, prediction),
        "a long expression": replace(network, function=read_function(" + ".join(f"n{k}" for k in range(1, 99)), 5)),
    }


NAMES = (
    *("compile", "proof", "verify", "verify a sample", "predict", "predict many"),
    *("train", "train on every row", "train a transformer", "load a run", "load"),
    *("inspect", "snapped", "mix", "export", "a checked network", "an answer", "a long expression"),
)


def test_every_result_of_the_session_is_here(session):
    assert set(NAMES) == set(session)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_says_itself_in_one_line(session, name):
    result = session[name]
    shown = repr(result)
    assert isinstance(result, Result)
    assert shown.startswith(f"<{type(result).__name__}: ") and shown.endswith(">")
    assert len(shown) < 200 and "\n" not in shown
    assert "object at 0x" not in shown and "array(" not in shown


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_json(session, name):
    found = session[name].to_json()
    assert isinstance(found, dict) and all(isinstance(key, str) for key in found)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert plain(session[name]) == found


@pytest.mark.parametrize("name", NAMES)
def test_html_for_notebooks_parses(session, name):
    if hasattr(session[name], "_repr_html_"):
        elements = Elements(session[name]._repr_html_())
        assert len(elements.all("table")) == 1 and elements.all("tr")


def test_results_cannot_be_changed(session):
    for result in session.values():
        with pytest.raises(AttributeError, match="cannot assign to field"):
            result.expression = "n1"
