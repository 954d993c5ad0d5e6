"""The paper's weights, entry by entry as printed (with its one wrong sign corrected), and what they compute."""

from __future__ import annotations

from math import cos, factorial, pi

import numpy as np
import pytest

from modgrok.algebra.expression import parse
from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.compiler.phases import paper_form
from modgrok.compiler.plan import plan_by_terms
from modgrok.compiler.random_weights import (
    printed_amplitude,
    random_product,
    random_sum,
    random_waves,
    table_amplitude,
)
from modgrok.compiler.steps import sum_step
from modgrok.networks.circuit import single
from modgrok.networks.network import Network
from modgrok.networks.verification import verify


def the_step(text, p):
    (step,) = plan_by_terms(parse(text), p, flat=True).steps
    return step


def test_sum_weights_are_equation_solution_multisum():
    """U^(s)_ki = A cos(2π/p σ(k) c_s i + ψ_k^(s)),  W_qk = A cos(-2π/p σ(k) q - Σ_s ψ_k^(s))."""
    p, width, coefficients = 11, 40, (3, 1, 7)
    step = the_step("3n1 + n2 + 7n3", p)
    expert = random_sum(step, width, "printed", np.random.default_rng(5))
    design, sigma = random_waves(3, width, printed_amplitude(3, width), np.random.default_rng(5))
    A = (2**3 / (width * factorial(3))) ** (1 / 4)
    psi = design.phase
    assert sorted(sigma) == list(range(1, width + 1))
    assert np.all(np.abs(psi) <= pi) and psi.std() > 1.5  # uniform on (-π, π] has 1.81
    for k in range(width):
        for i in range(p):
            for s, c in enumerate(coefficients):
                assert expert.embed[s, i, k] == pytest.approx(A * cos(2 * pi / p * sigma[k] * c * i + psi[s, k]))
        for q in range(p):
            assert expert.readout[k, q] == pytest.approx(A * cos(-2 * pi / p * sigma[k] * q - sum(psi[:, k])))
    assert expert.power == 3


@pytest.mark.parametrize("exponents", [(1, 1), (2, 3), (5, 1), (1, 2, 4)])
def test_product_weights_are_equation_solution_mul(exponents):
    """P^(1)_ki = A cos(2π/(p-1) σ(k) a log_g i + ψ_k^(1)), …; neuron 0 is for zero; for S factors A is the sum's."""
    p, width, g, terms = 13, 25, 2, len(exponents)
    log = {pow(g, r, p): r for r in range(p - 1)}
    assert len(log) == p - 1
    step = the_step(" ".join(f"n{s + 1}^{a}" for s, a in enumerate(exponents)), p)
    expert = random_product(step, width, np.random.default_rng(7))
    design, sigma = random_waves(terms, width - 1, 1.0, np.random.default_rng(7))
    A = (
        (2 / (width - 1)) ** (1 / 3)
        if terms == 2
        else (2**terms / ((width - 1) * factorial(terms))) ** (1 / (terms + 1))
    )
    if terms == 2:
        assert (2**terms / ((width - 1) * factorial(terms))) ** (1 / (terms + 1)) == pytest.approx(A)
    for s, a in enumerate(exponents):
        assert expert.embed[s, :, 0].tolist() == [1.0] + [0.0] * (p - 1)
        assert expert.embed[s, 0, 1:].tolist() == [0.0] * (width - 1)
        for k in range(1, width):
            f, psi = sigma[k - 1], design.phase[:, k - 1]
            for i in range(1, p):
                expected = A * cos(2 * pi / (p - 1) * f * a * log[i] + psi[s])
                assert expert.embed[s, i, k] == pytest.approx(expected)
    assert expert.readout[0].tolist() == [1.0] + [0.0] * (p - 1)
    for k in range(1, width):
        f, psi = sigma[k - 1], design.phase[:, k - 1]
        assert expert.readout[k, 0] == 0.0
        for q in range(1, p):
            assert expert.readout[k, q] == pytest.approx(A * cos(-2 * pi / (p - 1) * f * log[q] - sum(psi)))
    assert expert.power == terms


def test_the_two_amplitudes_are_those_printed_and_those_of_table_1():
    """The two-term sum and the paper's product have the same A = (2/N)^(1/3)."""
    assert printed_amplitude(2, 100) == pytest.approx((2 / 100) ** (1 / 3))
    assert printed_amplitude(3, 2000) == pytest.approx((8 / (2000 * 6)) ** 0.25)
    assert table_amplitude(3, 2000) == pytest.approx(2000**-0.25)


def mean_correct_logit(expert, step, p):
    """Over all inputs: the logit of the class that integers say, by a plain loop."""
    total, rows = 0.0, 0
    for point in np.ndindex(*(p,) * step.terms):
        hidden = sum(expert.embed[s, x] for s, x in enumerate(point)) ** expert.power
        places = [step.tables[s, x] for s, x in enumerate(point)]
        answer = step.absorbed if -1 in places else step.outputs[sum(places) % step.order]
        total, rows = total + hidden @ expert.readout[:, answer], rows + 1
    return total / rows


@pytest.mark.parametrize(
    "text, normalisation, logit",
    [
        ("n1 + n2", "printed", 1.0),
        ("n1 + n2", "table", 2 / 4),
        ("n1 + 4n2 + n3", "printed", 1.0),
        ("n1 + 4n2 + n3", "table", 6 / 8),
    ],
)
def test_the_correct_logit_of_a_sum(text, normalisation, logit):
    """1 as printed, S!/2^S as in Table 1."""
    step = the_step(text, 7)
    expert = random_sum(step, 4000, normalisation, np.random.default_rng(0))
    assert mean_correct_logit(expert, step, 7) == pytest.approx(logit, abs=0.05)


def test_the_correct_logit_of_a_product_is_one():
    """With the printed exponent -1/3 it would be 1/A^6, in the thousands."""
    step = the_step("n1^3 n2", 11)
    expert = random_product(step, 4000, np.random.default_rng(0))
    assert mean_correct_logit(expert, step, 11) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize(
    "text, p",
    [
        ("n1 n2", 2),
        ("n1 n2", 3),
        ("n1^2 n2^3", 7),
        ("n1 n2", 23),
        ("2n1^3 n2 + 4", 11),
        ("n1 n2 n3", 5),
        ("n1^2 n2 n3^3", 7),
    ],
)
def test_products_with_every_zero(text, p):
    step = the_step(text, p)
    expert = random_product(step, 1500 if step.terms == 3 else 500, np.random.default_rng(3))
    found = verify(Network.of_circuit(single(expert), read_function(text, p), "paper"))
    assert found.accuracy == 1.0 and found.rows_checked == p**step.terms


@pytest.mark.parametrize(
    "text, p",
    [
        ("n1 + n2", 2),
        ("n1 + 2n2", 3),
        ("n1 + n2", 12),
        ("5n1 + 3n2^2 + 1", 15),
        ("n1^3 + n2", 8),
        ("n1", 7),
        ("n1^2 + 3", 9),
        ("6", 7),
    ],
)
def test_sums_at_any_modulus(text, p):
    step = the_step(text, p)
    found = verify(
        Network.of_circuit(
            single(random_sum(step, 1000, "printed", np.random.default_rng(1))), read_function(text, p), "paper"
        )
    )
    assert found.accuracy == 1.0 and found.rows_checked == p**step.terms


def test_readouts_add_over_the_fibres_of_any_relabelling():
    """h(t) = t² modulo 7 is not invertible: class q reads the waves of both of its roots."""
    step = sum_step([0, 1], [np.arange(7)] * 2, 7, "")
    squared = type(step)("sum", "", (0, 1), 7, step.tables, np.arange(7) ** 2 % 7, 7)
    design, sigma = random_waves(2, 9, 1.0, np.random.default_rng(0))
    _, plain = design.block(step, sigma)
    _, folded = design.block(squared, sigma)
    for q in range(7):
        roots = [t for t in range(7) if t * t % 7 == q]
        np.testing.assert_allclose(folded[:, q], sum((plain[:, t] for t in roots), np.zeros(9)), atol=1e-12)


def test_large_frequencies_are_accurate():
    """Angles are reduced as integers: frequency p + 1 gives what frequency 1 gives, to the last bit."""
    step = sum_step([0], [np.arange(101)], 101, "")
    embed, readout = paper_form("ones", np.ones((1, 3))).block(step, np.array([1, 102, 1 + 101 * 10**6]))
    assert np.array_equal(embed[:, :, 0], embed[:, :, 2]) and np.array_equal(readout[0], readout[1])


def test_widths_that_are_too_small():
    step = the_step("n1 + n2", 5)
    with pytest.raises(InputError, match="the width of a sum expert must be at least 1, got 0; try 2000"):
        random_sum(step, 0, "printed", np.random.default_rng(0))
    with pytest.raises(InputError, match=r"the width of a product expert must be at least 2 .*, got 1; try 500"):
        random_product(the_step("n1 n2", 5), 1, np.random.default_rng(0))
