"""The twelve tasks of Power et al., 2022: each name means the function that the paper writes down."""

from __future__ import annotations

import itertools

import pytest

import modgrok as mg
from modgrok.algebra.known_tasks import TASKS, task_text
from modgrok.training.config import TrainConfig

P = 97
PAPER = {
    "x+y": lambda x, y: (x + y) % P,
    "x-y": lambda x, y: (x - y) % P,
    "x/y": lambda x, y: x * pow(y, P - 2, P) % P if y else None,
    "x/y-or-x-y": lambda x, y: (x * pow(y, P - 2, P) if y % 2 else x - y) % P,
    "x^2+y^2": lambda x, y: (x * x + y * y) % P,
    "x^2+xy+y^2": lambda x, y: (x * x + x * y + y * y) % P,
    "x^2+xy+y^2+x": lambda x, y: (x * x + x * y + y * y + x) % P,
    "x^3+xy": lambda x, y: (x**3 + x * y) % P,
    "x^3+xy^2+y": lambda x, y: (x**3 + x * y * y + y) % P,
}
"""As the paper's list has them."""


@pytest.mark.parametrize("short", PAPER)
def test_modular_tasks_have_the_values_of_integers(short):
    function = mg.read_function(f"power2022:{short}")
    table = function.table.tolist()
    for x, y in itertools.product(range(P), repeat=2):
        expected = PAPER[short](x, y)
        assert table[x][y] == (-1 if expected is None else expected)
    assert mg.read_function(f"power2022:{1 + [*PAPER].index(short)}") == function


@pytest.mark.parametrize("short", ["ab", "aba^-1", "aba"])
def test_tasks_in_s5_are_words_of_permutations(short):
    group, function = mg.group("S5"), mg.read_function(f"power2022:{short}")
    place = {p: k for k, p in enumerate(itertools.permutations(range(5)))}  # S5's own order is that of the tuples
    images = [*place]

    def times(*factors):
        found = tuple(range(5))
        for factor in factors:
            found = tuple(found[i] for i in factor)
        return found

    for a, b in itertools.product(range(0, 120, 7), range(120)):
        x, y = images[a], images[b]
        back = tuple(x.index(i) for i in range(5))
        word = {"ab": (x, y), "aba^-1": (x, y, back), "aba": (x, y, x)}[short]
        assert function.table[a, b] == place[times(*word)]
    assert function.structure == group and function.known_cells == 14_400


def test_there_are_twelve_and_every_door_takes_their_names():
    assert len(mg.tasks()) == 12 and [task.number for task in TASKS] == list(range(1, 13))
    assert mg.classify("power2022:x/y", mod=11).verdict == "in-class"
    assert mg.train("power2022:x-y", mod=5, width=4, steps=1).config.title == "x - y mod 5"
    assert mg.compile("power2022:x+y").title == "n1 + n2 mod 97"
    assert task_text("POWER2022: x² + x·y + y²") == "x^2 + x y + y^2 mod 97"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_is_compiled_by_its_name_and_proved(task):
    smaller = {"group": "S3"} if task.structure == "in S5" else {"mod": 11}
    for name in (task.name, f"power2022:{task.number}"):
        assert mg.compile(name, frequencies="minimal", **smaller).proof.holds
    if task.number in (3, 11):
        assert mg.compile(task.name).proof.holds


def test_a_task_stands_in_another_structure_of_its_kind_but_in_no_other():
    assert mg.read_function("power2022:ab", group="A4") == mg.read_function("a b", group="A4")
    assert mg.read_function("power2022:x/y", field=9) == mg.read_function("x/y", field=9)
    with pytest.raises(mg.InputError, match="power2022:ab is a b in S5; give another group with it, or nothing"):
        mg.read_function("power2022:ab", mod=97)
    with pytest.raises(mg.InputError, match="give another modulus or field with it"):
        mg.read_function("power2022:x/y", group="S5")


@pytest.mark.parametrize("name", ["power2022:x*y^9", "power2022:13", "power2022:", "power2022:" + "x" * 5000])
def test_a_task_that_there_is_not_is_refused_with_those_that_there_are(name):
    with pytest.raises(mg.InputError, match=r"power2022 has no task .*there are x\+y, x-y, x/y") as caught:
        mg.read_function(name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_the_modulus_is_said_once():
    for text in ("n1 + n2 mod 97", "power2022:x+y", "x/y mod 97"):
        assert TrainConfig.of(text).title.count("mod 97") == 1
    assert TrainConfig.of("n1 + n2", 97).title == "n1 + n2 mod 97"
