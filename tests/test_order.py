"""The order of residues against mathematics: waves of g and h, built with NumPy, are waves in its places."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from modgrok.algebra.expression import parse
from modgrok.algebra.function import read_function
from modgrok.algebra.polynomial import value_table
from modgrok.base.errors import InputError
from modgrok.censuses.families import make_table
from modgrok.censuses.parts import prepared
from modgrok.inspection.order import (
    Labels,
    Order,
    function_order,
    natural_form,
    natural_order,
    order_of,
    table_order,
    witness_of,
)
from modgrok.inspection.spectrum import periodicity
from modgrok.networks.models import Blocks
from modgrok.training.inspecting import inspect
from modgrok.training.train import train


def logarithm(p: int) -> dict[int, int]:
    """To the largest primitive root: any of them gives the same waves."""
    roots = (root for root in range(p - 1, 0, -1) if len({pow(root, k, p) for k in range(p - 1)}) == p - 1)
    root = next(roots)
    return {pow(root, k, p): k for k in range(p - 1)}


def exponential(p: int) -> dict[int, int]:
    return {k: value for value, k in logarithm(p).items()}


class Known(NamedTuple):
    """A function that is known to be h(g_1(n_1) + … + g_S(n_S)) over Z_m; g is None where a residue takes no part."""

    text: str
    p: int
    name: str
    m: int
    g: tuple[Callable[[int], int | None], ...]
    h: Callable[[int], int]
    circles: tuple[bool, ...]
    """Which variables, and the readout last, can be waves along some order of their residues."""


LOG31, EXP31 = logarithm(31), exponential(31)
LOG97, EXP97 = logarithm(97), exponential(97)
LOG23, EXP23 = logarithm(23), exponential(23)
LOG11, EXP11 = logarithm(11), exponential(11)

KNOWN = (
    Known("n1 + n2", 97, "additive", 97, (lambda a: a, lambda b: b), lambda t: t, (True,) * 3),
    Known("2n1 - 3n2 + 5", 23, "additive", 23, (lambda a: 2 * a, lambda b: -3 * b), lambda t: t + 5, (True,) * 3),
    Known("n1 + 7n2", 12, "additive", 12, (lambda a: a, lambda b: 7 * b), lambda t: t, (True,) * 3),
    Known("n1 + n2 + n3 + n4", 11, "additive", 11, (lambda a: a,) * 4, lambda t: t, (True,) * 5),
    Known("n1 n2", 97, "multiplicative", 96, (LOG97.get, LOG97.get), EXP97.get, (True,) * 3),
    Known(
        "3n1^2 n2",
        97,
        "multiplicative",
        96,
        (lambda a: 2 * LOG97[a] if a else None, LOG97.get),
        lambda t: 3 * EXP97[t],
        (True,) * 3,
    ),
    Known("n1 n2 n3", 11, "multiplicative", 10, (LOG11.get,) * 3, EXP11.get, (True,) * 4),
    # disguised: n1 (n2 + 1), a product that is shifted, a power of a sum, sums of powers
    Known("n1 n2 + n1", 31, "witness", 30, (LOG31.get, lambda b: LOG31.get((b + 1) % 31)), EXP31.get, (True,) * 3),
    Known(
        "x^2 y + 3",
        31,
        "witness",
        30,
        (lambda a: 2 * LOG31[a] if a else None, LOG31.get),
        lambda t: EXP31[t] + 3,
        (True,) * 3,
    ),
    Known("(4n1 + n2^2)^3", 97, "witness", 97, (lambda a: 4 * a, lambda b: b**2), lambda t: t**3, (True, False, False)),
    Known("(2n1 + 3n2)^4", 23, "witness", 23, (lambda a: 2 * a, lambda b: 3 * b), lambda t: t**4, (True, True, False)),
    Known("n1^3 + n2", 11, "witness", 11, (lambda a: a**3, lambda b: b), lambda t: t, (True,) * 3),
    Known("n1^3 - 2n1^3 + n2", 11, "witness", 11, (lambda a: -(a**3), lambda b: b), lambda t: t, (True,) * 3),
    # one variable
    Known("3n1 + 1", 7, "additive", 7, (lambda a: 3 * a + 1,), lambda t: t, (True, True)),
    Known("n1^3", 11, "witness", 11, (lambda a: a**3,), lambda t: t, (True, True)),
    Known("n1^2", 7, "witness", 7, (lambda a: a**2,), lambda t: t, (False, True)),
)
IDS = [f"{case.text} mod {case.p}" for case in KNOWN]


def test_the_cases_are_what_they_say():
    """h(Σ g) is the function wherever every residue takes part."""
    for case in KNOWN:
        table = value_table(parse(case.text), case.p)
        for point in np.random.default_rng(0).integers(case.p, size=(200, len(case.g))):
            places = [g(int(x)) for g, x in zip(case.g, point, strict=True)]
            if None not in places:
                assert case.h(sum(places) % case.m) % case.p == table[tuple(point)], case.text


def waves_of(case: Known, axis: int) -> np.ndarray:
    """What a neuron of each frequency reads or gives in the analytical solution, at a random phase."""
    rng = np.random.default_rng(axis)
    waves = np.zeros((case.m // 2 + 1, case.p))
    for f, wave in enumerate(waves):
        phase = rng.uniform(0.1, 1.4)
        if axis < len(case.g):
            for n in range(case.p):
                place = case.g[axis](n)
                wave[n] = rng.normal() if place is None else np.cos(2 * np.pi * f * place / case.m + phase)
        else:
            for t in range(case.m):
                wave[case.h(t) % case.p] += np.cos(2 * np.pi * f * t / case.m + phase)
    return waves


def ipr(vectors: np.ndarray, order: Order, axis: int) -> np.ndarray:
    """(‖F u‖_4 / ‖F u‖_2)^4 of each vector along the places of an axis, by NumPy's FFT."""
    place, period = order.places.place[axis], order.places.period[axis]
    residues = np.array([int(np.flatnonzero(place == t)[0]) for t in range(period)])
    power = np.abs(np.fft.rfft(vectors[:, residues], axis=1)) ** 2
    return (power**2).sum(axis=1) / power.sum(axis=1) ** 2


def check_waves(case: Known, order: Order) -> None:
    """Every wave of the solution has IPR 1 along an axis that has places, by NumPy and by `periodicity`."""
    for axis, circle in enumerate(case.circles):
        assert (order.places.period[axis] > 0) == circle, (case.text, axis)
        if circle:
            waves = waves_of(case, axis)
            np.testing.assert_allclose(ipr(waves, order, axis), 1, rtol=1e-9, err_msg=f"{case.text}, axis {axis}")
            found = periodicity(Blocks(waves[None].astype(np.float32), (axis,)), order.places)
            np.testing.assert_allclose(found.ipr, 1, rtol=1e-3)
        else:
            assert np.all(order.places.place[axis] == -1)


@pytest.mark.parametrize("case", KNOWN, ids=IDS)
def test_waves_of_the_solution_are_waves_in_the_order_of_the_expression(case):
    order = function_order(case.text, case.p)
    assert order.name == case.name
    check_waves(case, order)


@pytest.mark.parametrize("case", [case for case in KNOWN if case.text != "x^2 y + 3"], ids=lambda case: case.text)
def test_the_table_alone_calls_the_same_waves_periodic(case):
    check_waves(case, table_order(value_table(parse(case.text), case.p)))


def test_where_one_input_takes_a_subgroup_the_table_leaves_its_cosets_open():
    """x² y + 3: squares have even logarithms, so odd places may be turned against even ones, and h with them."""
    log, p = logarithm(31), 31
    table = value_table(parse("x^2 y + 3"), p)
    labels = table_order(table).labels
    assert labels.period == 30 and set(labels.tables[0][1:] % 2) in ({0}, {1})
    x, y = np.indices((p - 1, p - 1)) + 1
    found = labels.outputs[(labels.tables[0][x] + labels.tables[1][y]) % 30]
    np.testing.assert_array_equal(found, table[1:, 1:], "it is a witness, whichever")
    by_coset = [[labels.tables[1][n] for n in range(1, p) if log[n] % 2 == odd] for odd in (0, 1)]
    assert {len({place % 2 for place in places}) for places in by_coset} == {1}


@pytest.mark.parametrize("case", [case for case in KNOWN if case.m == case.p - 1 > 20], ids=lambda case: case.text)
def test_waves_in_another_order_are_none_in_this_one(case):
    """Cosines of the residues themselves spread over the spectrum of a product."""
    additive = np.cos(2 * np.pi * np.outer(np.arange(1, 10), np.arange(case.p)) / case.p)
    assert ipr(additive, function_order(case.text, case.p), 0).mean() < 0.5


@pytest.mark.parametrize("case", KNOWN, ids=IDS)
def test_places_are_a_circle_of_those_residues_that_take_part(case):
    order = function_order(case.text, case.p)
    assert order.places.place.shape == (len(case.g) + 1, case.p)
    for axis, g in enumerate(case.g):
        if case.circles[axis]:
            place = order.places.place[axis]
            takes_part = np.array([g(n) is not None for n in range(case.p)])
            np.testing.assert_array_equal(place >= 0, takes_part)
            assert sorted(place[takes_part]) == list(range(order.places.period[axis])), "every place once"
    names = [f"n{s + 1}" for s in range(len(case.g))]
    assert order.axes(names) == [n for n, circle in zip([*names, "readout"], case.circles, strict=True) if circle]


# ------------------------------------------------------------------------------------------ what has no such form


@pytest.mark.parametrize(
    "text, p, name",
    [
        ("n1 n2", 2, "additive"),  # one residue that is not zero: no circle
        ("n1 + n2", 2, "additive"),
        ("n1 n2", 3, "multiplicative"),
        ("5", 7, "additive"),
        ("0 n3", 7, "additive"),
        ("n1^3 + n1 n2^2 + n2", 13, "additive"),  # in no family
        ("n1 n2^2 + n1^2 n2", 13, "multiplicative"),  # nor this, but zero absorbs
        ("n1 n2 + n2 n3 + n1 n3", 5, "additive"),
        ("n1 n2 n3 + n1^2 n2 n3", 5, "multiplicative"),
    ],
)
def test_functions_without_an_order_of_their_own_get_a_natural_one(text, p, name):
    table = value_table(parse(text), p)
    for order in (function_order(text, p), table_order(table)):
        assert order.name == name
        natural = natural_order(name, p, table.ndim)
        for ours, theirs in zip(order.places, natural.places, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "function, modulus, name",
    [
        (lambda a, b: a * b, 7, "multiplicative"),
        (lambda a, b: 3 * a**2 * b**5, 7, "multiplicative"),
        (lambda a, b: a + b, 7, "additive"),
        (lambda a, b: a * b + a, 7, "witness"),
        (lambda a, b: a * b, 8, "additive"),
    ],
)
def test_tables_tell_products_from_the_rest(function, modulus, name):
    table = function(*np.indices((modulus, modulus))) % modulus
    found = table_order(table)
    if name == "multiplicative":
        assert found.places.period.tolist() == [modulus - 1] * 3 and (found.places.place[:, 0] == -1).all()
    else:
        assert found.name == name


def test_a_variable_that_has_no_say_has_no_places():
    order = function_order("n1 - n1 + n2", 7)
    assert order.places.period.tolist() == [-1, 7, 7] and order.axes(["n1", "n2"]) == ["n2", "readout"]


@pytest.mark.parametrize("text", ["5n1^2 n2^4", "2n1^3 n2^3", "3n1 + 6n2 + 2", "n1^6 n2^2"])
def test_exponents_that_share_a_factor_with_the_group_keep_the_natural_order(text):
    """A witness of n1² n2² over Z_6 need not be logarithms; the table is recognised before one is searched for."""
    table = value_table(parse(text), 7)
    for order in (function_order(text, 7), table_order(table)):
        assert order.name == ("additive" if "+" in text else "multiplicative")


def test_a_census_measures_written_functions_as_training_does():
    for family in ("two-monomials", "composed-product", "{a}x^2 y + 3"):
        for seed in range(3):
            made = make_table(family, 31, seed)
            ours, theirs = prepared(family, 31, seed).order, function_order(made.expression, 31)
            assert ours.name == theirs.name
            np.testing.assert_array_equal(ours.places.place, theirs.places.place)


def test_random_tables_have_the_additive_order():
    table = np.random.default_rng(0).integers(11, size=(11, 11))
    assert table_order(table).name == "additive"


# ------------------------------------------------------------------------------------------ orders by name


def test_the_natural_orders():
    products, sums = natural_order("multiplicative", 7, 2), natural_order("additive", 4, 2)
    assert products.labels.outputs.tolist() == [1, 3, 2, 6, 4, 5], "from g^0 on; zero is left out"
    assert products.places.place[0].tolist() == [-1, 0, 2, 1, 4, 5, 3]
    assert sums.labels.outputs.tolist() == [0, 1, 2, 3]
    assert sums.labels.classes.tolist() == [0, 1, 2, 3] and products.labels.classes.tolist() == [1, 2, 3, 4, 5, 6]


def test_orders_may_be_asked_for_by_name():
    assert function_order("n1 n2", 7, "additive").name == "additive"
    assert function_order("n1 + n2", 7, "multiplicative").places.period.tolist() == [6, 6, 6]
    assert function_order("n1 n2 + 3", 7, "witness").name == "witness"
    with pytest.raises(InputError, match="the order called witness is for functions that need it; this one has the"):
        function_order("n1 n2", 7, "witness")
    with pytest.raises(InputError, match="order must be auto or additive or multiplicative or witness, got 'natural'"):
        function_order("n1 n2", 7, "natural")
    with pytest.raises(InputError, match=r"modulus must be a prime for the multiplicative order, got 9 = 3\^2"):
        natural_order("multiplicative", 9, 2)


def test_places_repeat_where_a_coset_is_covered_evenly_and_nowhere_else():
    """n² in logarithms of Z_6 takes 0, 2, 4 twice each: the fibres share ℓ and ℓ + 3. Other tables are no circle."""

    def place(table, period):
        return Order("witness", Labels(period, np.array([table]), np.arange(len(table)))).places.place[0].tolist()

    assert place([-1, 0, 4, 2, 2, 4, 0], 6) == [-1, 0, 2, 1, 4, 5, 3]
    assert place([-1, 1, 5, 3, 3, 5, 1], 6) == [-1, 0, 2, 1, 4, 5, 3], "a coset that does not begin at 0"
    assert place([0, 1, 4, 2, 2, 4, 1], 7) == [-1] * 7, "zero once, squares twice"
    assert place([0, 0, 1, 1, 2, 2], 6) == [-1] * 6, "0, 1, 2 twice each are no coset of Z_6"


# ------------------------------------------------------------------------------------------ one measure of periodicity


@pytest.mark.parametrize("text, p", [("n1 n2", 31), ("x^2 y + 3", 31), ("(2n1 + 3n2)^4", 23), ("n1 + n2", 12)])
def test_training_and_inspection_measure_the_same_ipr(text, p):
    run = train(text, p, width=40, steps=60, metrics_every=60)
    found = inspect(run).to_json()
    assert found["order"] == run.residue_order.name
    for name in ("ipr", "ipr_alive", "alive"):
        assert found[name] == pytest.approx(run.final[name], abs=1e-4), name
    neurons = run.neurons["ipr_final"]
    np.testing.assert_allclose(inspect(run).experts[0].ipr, neurons, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x/y", "multiplicative"),
        ("5n1^2 n2", "multiplicative"),
        ("2n1 + 3n2 + 7", "additive"),
        ("n1 n2 + n1", "witness"),
    ],
)
def test_a_table_with_unknown_cells_has_the_order_of_its_function(text, name):
    """Unknown cells say nothing against an order; the places agree with every known cell."""
    whole = read_function(text, 23).table
    unknown = np.random.default_rng(1).random(whole.shape) < 0.3
    for table in (np.where(unknown, -1, whole), whole):
        function = read_function(table, 23)
        assert order_of(function).name == name
        for places in (witness_of(function), (natural_form(table) or [None, None])[1]):
            assert places is not None or name == "witness"
            if places is not None:
                sums = places.tables[0][:, None] + places.tables[1]
                met = (places.tables[0] >= 0)[:, None] & (places.tables[1] >= 0) & (table >= 0)
                assert met.sum() > 100
                assert np.array_equal(places.outputs[sums % places.period][met], table[met])
    noise = np.where(unknown, -1, np.random.default_rng(2).integers(0, 23, whole.shape))
    assert order_of(read_function(noise, 23)).name == "additive" and witness_of(read_function(noise, 23)) is None


def test_what_a_quotient_learns_are_waves_over_logarithms():
    run = train("x/y", 23, width=200, steps=300)
    found = inspect(run)
    assert run.outcome == "grokked" and found.order == "multiplicative"
    assert found.to_json()["common_frequency_share"] > 0.8 and found.logits.to_json()["analytical_share"] > 0.8
    assert run.final["ipr"] > 0.4
