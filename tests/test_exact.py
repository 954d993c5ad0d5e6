"""Exact networks: every value right, on the whole table, against integers."""

from __future__ import annotations

import random

import jax
import numpy as np
import pytest

from modgrok.algebra.expression import parse
from modgrok.base.errors import InputError
from modgrok.compiler.compiling import ExactSettings as Settings, compile_exact, enough_margin
from modgrok.compiler.exact_weights import exact_expert, exact_width, full_kernel, kernel_gap, short_kernel
from modgrok.compiler.margins import expert_margins, logit_bound, step_margin
from modgrok.compiler.plan import plan_by_shape
from modgrok.compiler.steps import ABSORBED, Plan, Step
from modgrok.networks.circuit import batch_logits, single
from modgrok.networks.verification import verify
from modgrok.reproduction.table1 import POLYNOMIALS

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)


def random_polynomial(rng: random.Random) -> tuple[str, int]:
    """A sum of 1-6 monomials in 1-4 variables, constants and one-variable terms included, and a prime."""
    variables = rng.randint(1, 4)
    p = rng.choice([q for q in PRIMES if q**variables <= 40_000])
    terms = []
    for _ in range(rng.randint(1, 6)):
        chosen = rng.sample(range(1, variables + 1), rng.randint(0, variables))
        factors = [str(rng.randint(1, 2 * p))] + [f"n{v}^{rng.randint(0, p + 2)}" for v in sorted(chosen)]
        terms.append(" ".join(factors))
    return " + ".join(terms), p


def check_polynomial(text: str, p: int, frequencies: str) -> int:
    network = compile_exact(text, p, Settings(frequencies=frequencies))
    found = verify(network)
    assert found.exhaustive and found.accuracy == 1.0, (text, p, frequencies, found)
    assert network.proof.holds, (text, p, frequencies)
    if frequencies == "all":
        assert found.mse <= 1e-20, (text, p, found)
    return network.circuit.width


@pytest.mark.parametrize("case", range(24))
def test_random_polynomials_are_exact(case: int) -> None:
    text, p = random_polynomial(random.Random(case))
    assert check_polynomial(text, p, "all") >= 1
    assert check_polynomial(text, p, "minimal") >= 1


@pytest.mark.slow
def test_three_hundred_random_polynomials() -> None:
    cases = [random_polynomial(random.Random(1000 + case)) for case in range(300)]
    widths = [check_polynomial(text, p, "all") for text, p in cases]
    assert len(widths) == 300 and {p for _, p in cases} == set(PRIMES)


@pytest.mark.parametrize("p", [97, 23])
@pytest.mark.parametrize("text", POLYNOMIALS)
def test_table_1_is_exact_and_narrow(text: str, p: int) -> None:
    assert check_polynomial(text, p, "all") < 1650
    assert check_polynomial(text, p, "minimal") <= 43


@pytest.mark.parametrize("p", [97, 2161, pytest.param(10_007, marks=pytest.mark.slow)])
def test_five_neurons_add(p: int) -> None:
    """Row by row modulo 97; from 2155 on the kernel proves it by the network's waves, which is a matter of moments."""
    network = compile_exact("n1 + n2", p, Settings(frequencies="minimal"))
    assert network.circuit.width == 5
    assert network.proof.holds
    assert verify(network, sample=2000).accuracy == 1.0


def test_long_sums_cost_width_linear_in_their_terms() -> None:
    widths = [
        compile_exact(" + ".join(f"n{s}" for s in range(1, terms + 1)), 7).circuit.width for terms in range(2, 13)
    ]
    assert set(np.diff(widths)) == {13}
    twelve = compile_exact(" + ".join(f"n{s}" for s in range(1, 13)), 7)
    assert verify(twelve, sample=20_000).accuracy == 1.0


def test_products_of_sums_follow_the_shape_of_the_expression() -> None:
    network = compile_exact("(n1+n2+n3)^5 (n1-n2)", 11)
    assert [step.kind for step in network.plan] == ["sum", "sum", "sum", "product"]
    assert verify(network).accuracy == 1.0


def test_equal_monomials_share_an_expert() -> None:
    network = compile_exact("n1 n2 + 3 (n1 n2)^2 + n3", 7)
    assert sum(step.kind == "product" for step in network.plan) == 1
    assert verify(network).accuracy == 1.0


@pytest.mark.parametrize("terms", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 2, 5, 6])
@pytest.mark.parametrize("absorbing", [False, True])
def test_separable_steps_with_any_h(terms: int, order: int, absorbing: bool) -> None:
    """h(g1 + … + gS) for random tables and a random h that is not injective, in one expert, by brute force."""
    if absorbing and terms == 1:
        return check_refused_absorbing_single(order)
    rng, classes = np.random.default_rng([terms, order, absorbing]), 7
    tables = rng.integers(order, size=(terms, classes))
    if absorbing:
        tables[rng.random(tables.shape) < 0.3] = ABSORBED
    outputs = rng.integers(classes, size=order)
    step = Step("separable", "h", tuple(range(terms)), order, tables, outputs, classes, 4 if absorbing else None)
    kernel = full_kernel(order)
    expert = exact_expert(step, kernel)
    assert expert.width == exact_width(step, kernel)
    rows = np.stack(np.unravel_index(np.arange(classes**terms), (classes,) * terms), axis=1)
    circuit = single(expert)
    with jax.enable_x64(True):
        logits = np.asarray(batch_logits(circuit, rows))
    for row, found in zip(rows, logits, strict=True):
        elements = [int(tables[s, x]) for s, x in enumerate(row)]
        value = 4 if ABSORBED in elements else int(outputs[sum(elements) % order])
        expected = [1.0 if q == value else 0.0 for q in range(classes)]
        assert found == pytest.approx(expected, abs=1e-10)


def check_refused_absorbing_single(order: int) -> None:
    step = Step("separable", "h", (0,), order, np.array([[0, ABSORBED]]), np.zeros(order, int), 2, 1)
    with pytest.raises(InputError, match="one input"):
        exact_expert(step, full_kernel(order))


@pytest.mark.parametrize("order", [5, 12, 96, 97])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_kernels_have_their_only_maximum_at_zero(order: int, count: int) -> None:
    kernel = short_kernel(order, count)
    expected = [
        kernel.offset
        + sum(w * np.cos(2 * np.pi * f * d / order) for f, w in zip(kernel.frequencies, kernel.weights, strict=True))
        for d in range(order)
    ]
    assert kernel.values() == pytest.approx(expected, abs=1e-12)
    assert kernel_gap(kernel) > 0
    assert kernel_gap(short_kernel(order, 1)) == pytest.approx(1 - np.cos(2 * np.pi / order))


def test_real_margin_is_what_the_network_shows() -> None:
    for text, p in [("n1 n2", 13), ("n1 + n2", 12), ("(n1 + 2n2)^3", 7), ("n1 n2 + 4", 3)]:
        plan = plan_by_shape(parse(text), p)
        for kernel in (full_kernel(plan.steps[0].order), short_kernel(plan.steps[0].order, 2)):
            margin, _ = step_margin(plan.steps[0], kernel)
            circuit = single(exact_expert(plan.steps[0], kernel))
            rows = np.stack(np.unravel_index(np.arange(p**2), (p, p)), axis=1)
            with jax.enable_x64(True):
                logits = np.asarray(batch_logits(circuit, rows))
            right = {  # the oracle: integers
                "n1 n2": lambda x, y: x * y,
                "n1 + n2": lambda x, y: x + y,
                "(n1 + 2n2)^3": lambda x, y: (x + 2 * y) ** 3,
                "n1 n2 + 4": lambda x, y: x * y + 4,
            }[text]
            values = [right(int(x), int(y)) % p for x, y in rows]
            margins = [row[v] - np.delete(row, v).max() for row, v in zip(logits, values, strict=True)]
            assert min(margins) == pytest.approx(margin, abs=1e-9)


def test_rounding_bound_covers_the_real_error() -> None:
    """float32 logits differ from float64 ones by less than the bound, which is not absurdly large."""
    plan = plan_by_shape(parse("n1 n2"), 97)
    expert = exact_expert(plan.steps[0], full_kernel(96))
    rows = np.stack(np.unravel_index(np.arange(97**2), (97, 97)), axis=1)
    exact = single(expert)
    with jax.enable_x64(True):
        ideal = np.asarray(batch_logits(exact, rows))
    rounded = np.asarray(batch_logits(exact.astype("float32"), rows))
    error = np.abs(rounded - ideal).max()
    bound = logit_bound(expert, [None, None], float(np.finfo(np.float32).eps) / 2)
    assert 0 < error < bound < 1e-3


def test_float32_that_cannot_be_proved_takes_more_frequencies_or_float64() -> None:
    network = compile_exact("n1 + n2", 2161, Settings(frequencies="minimal", dtype="float32"))
    assert network.circuit.width > 5 and "float32 is not enough" in network.notes[0]
    assert network.proof.holds and network.circuit.dtype == np.float32
    step = plan_by_shape(parse("n1 + n2"), 23).steps[0]
    huge = Step("sum", "", step.inputs, 23, step.tables, step.outputs, 23)
    plan = Plan(("n1", "n2"), (23, 23), (huge,))
    kernels, _, margins, dtype, notes = enough_margin(plan, [short_kernel(23, 1)], "float64")
    assert margins[0].enough and dtype == "float64" and notes == [] and len(kernels) == 1


def test_a_margin_is_not_enough_when_rounding_exceeds_it() -> None:
    plan = plan_by_shape(parse("n1 + n2"), 4999)
    kernel = short_kernel(4999, 1)
    assert not expert_margins(plan, [kernel], [exact_expert(plan.steps[0], kernel)], "float32")[0].enough


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="frequencies must be all, minimal or a number"):
        compile_exact("n1", 5, Settings(frequencies=0))
    with pytest.raises(InputError, match="dtype must be float32 or float64"):
        compile_exact("n1", 5, Settings(dtype="float16"))
    with pytest.raises(
        InputError, match="one expert may have 268,435,456 weights, got .* values out of .* use a smaller width"
    ):
        compile_exact("n1 + n2", 10007)
