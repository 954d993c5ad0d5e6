"""The compiler from text to a checked network, on the table of cases."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest
from cases import REFUSED_BY_PAPER, REFUSED_EXPRESSIONS, REFUSED_TASKS, VALID, Valid

import modgrok as mg
from modgrok.algebra.expression import parse
from modgrok.base.errors import ExpressionError, InputError
from modgrok.compiler.compiling import PaperSettings, compile_paper
from modgrok.compiler.plan import plan_by_terms

SEVERAL_EXPERTS = "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3"


ADD_WIDTHS = {1: 500, 2: 1000, 3: 3000, 4: 20_000}
"""Random phases need a width that grows exponentially with the terms of the sum; five terms are left out here."""


def check_case(network: mg.Network, case: Valid) -> None:
    assert network.modulus == case.modulus
    assert network.variables == [f"n{index}" for index in case.variables]
    assert len(network.plan) == len(network.circuit.experts)
    found = mg.verify(network)
    assert found.rows_checked == found.rows_total == case.modulus ** len(case.variables)
    assert found.errors == 0 and found.min_margin > 0


@pytest.mark.parametrize("case", VALID, ids=lambda case: case.text[:40])
def test_the_papers_networks_of_the_cases(case):
    last = plan_by_terms(parse(case.text), case.modulus, flat=True).steps[-1]
    if last.kind == "sum" and last.terms > max(ADD_WIDTHS):
        assert case.text.startswith(("(2n1+3n2)**4", "2n₁⁴"))
        return
    network = compile_paper(case.text, case.modulus, PaperSettings(add_width=ADD_WIDTHS[last.terms]))
    assert network.method == "paper"
    check_case(network, case)


@pytest.mark.parametrize("case", VALID, ids=lambda case: case.text[:40])
def test_the_exact_networks_of_the_cases(case):
    network = mg.compile(case.text, case.modulus)
    assert network.method == "exact"
    check_case(network, case)


@pytest.mark.parametrize("case", REFUSED_EXPRESSIONS, ids=lambda case: case.text[:40])
@pytest.mark.parametrize("method", ["paper", "exact"])
def test_expressions_that_cannot_be_read(case, method):
    with pytest.raises(ExpressionError, match="^" + re.escape(case.message)):
        mg.compile(case.text, 97, method=method)


@pytest.mark.parametrize("case", REFUSED_TASKS, ids=lambda case: f"{case.text[:30]} mod {case.modulus}")
@pytest.mark.parametrize("method", ["paper", "exact"])
def test_tasks_that_are_refused(case, method):
    with pytest.raises(InputError, match="^" + re.escape(case.message)):
        mg.compile(case.text, case.modulus, method=method)


@pytest.mark.parametrize("case", REFUSED_BY_PAPER, ids=lambda case: f"{case.text[:30]} mod {case.modulus}")
def test_tasks_that_the_papers_method_refuses(case):
    with pytest.raises(InputError, match="^" + re.escape(case.message)):
        compile_paper(case.text, case.modulus)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"mul_width": 0}, "the width of a product expert must be at least 2"),
        ({"mul_width": 1}, "the width of a product expert must be at least 2"),
        ({"add_width": 0}, "the width of a sum expert must be at least 1, got 0"),
        ({"add_width": -3}, "the width of a sum expert must be at least 1, got -3"),
        ({"beta": 0.0}, "beta must be a positive number, got 0.0"),
        ({"beta": float("nan")}, "beta must be a positive number, got nan"),
        ({"beta": float("inf")}, "beta must be a positive number, got inf"),
        ({"seed": -1}, "the seed must be a non-negative integer, got -1"),
        ({"normalisation": "none"}, "normalisation must be printed or table, got 'none'"),
        ({"dtype": "float16"}, "dtype must be float32 or float64, got 'float16'"),
        (
            {"frequencies": 3},
            "frequencies belongs to method exact, but the method is paper; its settings are mul_width",
        ),
    ],
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        mg.compile(SEVERAL_EXPERTS, 11, method="paper", **settings)


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match="method must be exact or paper, got 'magic'"):
        mg.compile("n1", 7, method="magic")


def test_the_seed_decides_the_weights():
    def weights_of(seed: int) -> list[bytes]:
        network = compile_paper("n1 n2 + n1", 7, PaperSettings(seed=seed))
        return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(network.circuit)]

    assert weights_of(0) == weights_of(0)
    assert weights_of(0) != weights_of(1)


def test_experts_of_one_network_do_not_share_their_phases():
    network = compile_paper("n1 n2 + n1^2 n2^2", 7, PaperSettings(mul_width=50))
    first, second = network.circuit.experts[:2]
    assert not np.array_equal(first.readout, second.readout)


def test_settings_and_widths_are_recorded():
    network = compile_paper(SEVERAL_EXPERTS, 11, PaperSettings(mul_width=40, add_width=60, beta=50, dtype="float64"))
    assert [step.width for step in network.plan] == [40, 40, 40, 60]
    assert network.width == network.circuit.width == 180
    assert network.parameters == network.circuit.parameters == 3 * (2 * 11 * 40 + 40 * 11) + 3 * 11 * 60 + 60 * 11
    assert network.dtype == network.circuit.dtype == np.float64
    assert network.circuit.betas[:3].tolist() == [50.0] * 3
    assert network.settings["beta"] == 50 and network.settings["seed"] == 0
    assert network.expression == "2 n1^4 n2 + n1^2 n2^2 + 3 n1 n2^3"


def test_the_modulus_may_be_written_in_the_expression():
    settings = PaperSettings(add_width=50)
    assert compile_paper("n1 + n2 mod 7", None, settings).modulus == 7
    assert compile_paper("n1 + n2 mod 7", 7, settings).expression == "n1 + n2"


def test_a_network_outlives_its_own_printing():
    """What compile stores as the expression is read again by verify and load."""
    for text in ("-" * 500 + "n1 n2", "x" * 1000, "n1 - (-(-(-n2)))", "(" * 50 + "n1" + ")" * 50):
        network = compile_paper(text, 5, PaperSettings(mul_width=300, add_width=300))
        assert mg.verify(network).accuracy == 1.0
